"""What a text states: only its beginning is looked at and kept, and each word of our lists is one that texts have."""

from __future__ import annotations

import pytest

from holdfast.model import numbers, words
from holdfast.model import statement as model
from holdfast.model.claims import claim, say_the_same
from holdfast.model.identifiers import content_of
from holdfast.model.statement import LONGEST, statement


def test_texts_that_begin_alike_are_taken_apart_once() -> None:
    begins = "The crane stands at the north quay. " * 20
    assert len(begins) > LONGEST
    assert statement(f"{begins} One.") is statement(f"{begins} Another.")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Anna is our contact at the bank.", "Our contact at the bank is Anna.", True),
        ("Anna is our contact at the bank.", "Our contact at the bank is Bert.", False),
        ("Anna manages Ben.", "Ben manages Anna.", False),
        ("The gate opens at 12 am.", "The gate opens at 00:00.", True),
        ("The gate opens at 9:30 p.m.", "The gate opens at 21:30.", True),
        ("The gate opens at 9 am.", "The gate opens at 21:00.", False),
        ("The ratio is 3:1.", "The ratio is 03:01.", False),
    ],
)
def test_the_same_said_in_another_order_or_with_another_clock_is_the_same(one: str, other: str, *, same: bool) -> None:
    assert say_the_same(one, other) is same


def test_a_word_with_signs_that_are_no_letters_is_one_word() -> None:
    said = "पुल की सीमा अब बदली है"  # the bridge's limit has now changed
    assert [term.text for term in claim(said).head] == ["पुल", "सीमा"]
    assert [word.text for word in statement(said).words] == ["पुल", "सीमा"]
    assert claim(said).changed
    assert claim(said).words == set(said.split())


LISTS = {
    "words that are left out of searches": (words.STOP_WORDS, words.folded_words),
    "open words": (words.OPEN_WORDS, words.folded_words),
    **{f"frame {place}": (frame, words.folded_words) for place, frame in enumerate(words.FRAMES)},
    "negations": (model.NEGATIONS, model._SAID.findall),
    "changes": (model.CHANGE_WORDS, model._SAID.findall),
    "axes": (model.AXIS_OF, model.TOKEN.findall),
    "numbered": (numbers.NUMBERED, model.TOKEN.findall),
    "generic": (model.GENERIC, model.TOKEN.findall),
    "verbs": (model.VERBS, model.TOKEN.findall),
    "copulas": (model.COPULAS, model.TOKEN.findall),
    "roles": (model.ROLES, model.TOKEN.findall),
    "happenings": (model.HAPPENINGS, model.TOKEN.findall),
    "days": (numbers.DAYS, model.TOKEN.findall),
    "numerals": (numbers.NUMERALS, model.TOKEN.findall),
    "ordinals": (numbers.ORDINALS, model.TOKEN.findall),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_listed_word_is_one_that_a_text_can_have(name: str) -> None:
    listed, words_of = LISTS[name]
    assert {word: (words.folded(word), words_of(word)) for word in listed} == {word: (word, [word]) for word in listed}


@pytest.mark.parametrize(
    ("text", "negated", "changed"),
    [
        ("बैकअप सर्वर पर नहीं है।", True, False),
        ("बैकअप सर्वर पर है।", False, False),
        ("बंदरगाह में नया सर्वर है।", False, True),
        ("The backup doesn't run at night.", True, False),
    ],
)
def test_what_a_text_denies_or_says_is_new_is_read_in_hindi_too(text: str, *, negated: bool, changed: bool) -> None:
    assert (statement(text).negated, statement(text).changed) == (negated, changed)


def test_a_greek_word_of_the_conversation_around_a_question_names_nothing() -> None:
    assert content_of("πες μας τι έγινε με τους γερανούς της αποβάθρας") == {"γερανουσ", "αποβαθρασ"}
    assert content_of("пам'ятаєш пароль?") == {"пароль"}


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("This Thursday the lunch is with Sunniva, as Leif is away.", True),
        ("Margery stood in at the bar last Monday because Niamh had a cold; it was a single favour.", True),
        ("The hall was let to the chess club, only once.", True),
        ("The chess club had the hall, just that evening.", True),
        ("From this Friday on the stand-up is at 10.", False),
        ("This Friday we switched the stand-up to 10.", False),
        ("The deploy window is Tuesday now. This Friday we still use the old one.", False),
        ("The report is sent only once a month.", False),
        ("Der Bericht kommt nur einmal im Monat.", False),
        ("The hall is let to the chess club.", False),
    ],
)
def test_what_is_said_of_one_time_alone(text: str, *, is_so: bool) -> None:
    assert statement(text).one_time is is_so


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("By May we want to have 2,000 euros in the fund.", True),
        ("Our goal is a start in one second.", True),
        ("Ada would like to move to Lyon.", True),
        ("Nora has cello lessons with Herr Demir, since she wants to play jazz.", False),
        ("We moved to Fly, as Ada wants to save money.", False),
        ("We moved to Fly because Ada wants to save money.", False),
    ],
)
def test_what_is_wanted_is_an_aim_and_not_its_reason(text: str, *, is_so: bool) -> None:
    assert statement(text).wanted is is_so
