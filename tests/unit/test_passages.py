"""Of a long note the part that answers is shown, with its heading, cut between sentences, within its tokens."""

from __future__ import annotations

import random
import time

import pytest

from holdfast.model.passages import first_sentence, line_around, passage
from holdfast.model.tokens import most_tokens
from holdfast.model.words import query_terms

FILLER = "The harbour office keeps a list of every vessel. Ropes are checked each week. "
LONG = (
    f"# Log\n\n{FILLER * 30}\n\n## Accident\n\nOn 3 May the hook broke because it was never oiled. Nobody was hurt. "
    f"{FILLER * 30}\n\n## Plans\n\n{FILLER * 20}"
)


def shown(content: str, query: str, most: int = 60) -> str:
    return passage(content, query_terms(query), most).text


def test_a_note_that_fits_is_shown_whole() -> None:
    found = passage("The crane lifts forty tonnes.\n\n* steel\n", ["crane"], 60)
    assert (found.text, found.cut) == ("The crane lifts forty tonnes.\n\n* steel\n", 0)


def test_of_a_long_note_the_sentences_that_answer_are_shown_with_their_heading() -> None:
    found = passage(LONG, query_terms("Why did the hook break?"), 60)
    assert found.text.startswith("## Accident\n… On 3 May the hook broke because it was never oiled.")
    assert found.text.endswith(". …")
    assert found.cut > len(LONG) - 400


@pytest.mark.parametrize("query", ["why was the hook oiled", "hooks", "HOOK", "breaks or broke"])
def test_other_forms_of_the_words_lead_there_too(query: str) -> None:
    assert "never oiled" in shown(LONG, query)


def test_a_word_that_is_rare_in_the_note_counts_more_than_one_that_is_everywhere() -> None:
    assert "never oiled" in shown(LONG, "which vessel of the harbour office had its hook broken")


@pytest.mark.parametrize("most", [120, 200, 250, 300])
@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("plot 33", "a young couple"),
        ("on 20 April", "Onion sets"),
        ("33 pounds", "water charge"),
        ("6 April", "pricked out"),
    ],
)
def test_what_is_shown_holds_what_it_was_chosen_for(query: str, answer: str, most: int) -> None:
    weeks = (
        ("16 March", "Rain all week. Slugs already. Paid the water charge of 33 pounds to the committee."),
        ("30 March", "Broad beans up, 18 of 333. Covered rhubarb. Had words with the neighbour about the bonfire."),
        (
            "6 April",
            "Tomatoes pricked out at home, 33 pots, two sorts. Hung the new gutter on the shed, bought in 2020.",
        ),
        ("13 April", "Asparagus: first 9 spears. Frost forecast, fleeced the potatoes. No rotavator yet."),
        ("20 April", "Onion sets in, 120 of them. Fixed the hinge on the cold frame. Wasps nest in the compost lid."),
        ("27 April", "Sowed carrots with sand, in the raised bed at the back. The committee meets on 4 May."),
        ("4 May", "Hedge to be cut to 1.5 m by July. Two plots change hands, plot 33 is given to a young couple."),
    )
    diary = "# Diary, 2026\n\n" + "\n\n".join(f"## {day}\n\n{text}" for day, text in weeks)
    assert answer in shown(diary, query, most)


@pytest.mark.parametrize("most", [90, 120, 300])
@pytest.mark.parametrize(
    "query", ["KX-7741-B Puddlewick", "Puddlewick KX-7741-B", "where does Puddlewick keep KX-7741-B?"]
)
def test_telling_words_far_apart_are_both_shown(query: str, most: int) -> None:
    for one, other in (("KX-7741-B", "Puddlewick"), ("Puddlewick", "KX-7741-B")):
        text = f"# Log\n\n{FILLER * 20}Then {one} came.\n\n## Later\n\n{FILLER * 20}It was {other} again. {FILLER * 9}"
        told = shown(text, query, most)
        assert one in told
        assert other in told
        assert told.index(one) < told.index(other), "in the order of the note"
        assert "## Later\n… It was" in told


def test_a_word_that_is_everywhere_brings_no_second_place() -> None:
    assert shown(LONG, "hook vessel ropes checked week", 200).count("…") == 2


@pytest.mark.parametrize("most", [25, 40, 60])
@pytest.mark.parametrize(
    "text",
    [
        f"{'rope and lamp and paint ' * 11} KX-7741-B {'rope and lamp ' * 200}",
        f"{'канат и лампа и краска ' * 11} KX-7741-B {'канат и лампа ' * 200}",
        f"{'繩索燈籠油漆' * 40}KX-7741-B{'繩索燈籠油漆' * 200}",
        f"{'เชือกและโคมไฟ' * 18}KX-7741-B{'เชือกและโคมไฟ' * 200}",
    ],
)
def test_of_a_sentence_that_is_too_long_the_part_is_shown_that_has_the_words(text: str, most: int) -> None:
    assert "KX-7741-B" in shown(text, "KX-7741-B", most)


def test_the_number_that_tells_one_of_many_belongs_to_the_word_before_it() -> None:
    sites = "\n\n".join(
        f"## Site {n}\nSite {n} has cabinet C{n * 7 % 90}, key K-{n * 13 % 97}, and {20 + n} m of cable in its wall."
        for n in range(1, 60)
    )
    assert shown(sites, "which cabinet does site 52 have?").startswith("## Site 52\n")  # "K-52" is the key of site 4
    assert shown(sites, "where is key K-52?").startswith("## Site 4\n")


def test_where_no_word_of_the_question_stands_the_beginning_is_shown() -> None:
    assert shown(LONG, "zanzibar").startswith("# Log")


def test_unspaced_scripts_are_cut_between_their_sentences() -> None:
    text = "港口辦公室保存船隻清單。" * 60 + "起重機在五月壞了。" + "繩索每週檢查。" * 60
    assert "起重機在五月壞了。" in shown(text, "起重機什麼時候壞了", 80)


def test_a_passage_never_costs_more_than_it_may_and_what_is_cut_is_counted() -> None:
    chance = random.Random(1)  # noqa: S311 - the same texts each time
    pieces = ["a. ", "# x\n", "crane ", "的。", "\n", "🎉", "     ", "word " * 20, "!", "x" * 400, "```\n", "\r\n"]
    for _ in range(400):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 60)))
        most = chance.randint(20, 80)
        found = passage(text, ["crane"], most)
        assert most_tokens(found.text) <= most
        assert 0 <= found.cut <= len(text)
        assert found.cut > 0 or found.text.strip() == text.strip()


@pytest.mark.parametrize("text", ["x" * 250_000, "x\n" * 125_000, " " * 250_000, "a. " * 83_000, "\n " * 100_000 + "x"])
def test_the_longest_notes_take_no_time(text: str) -> None:
    begin = time.process_time()
    passage(text, query_terms("why did the hook break on the third of May"), 200)
    assert time.process_time() - begin < 2.0


def test_the_day_of_a_german_date_ends_no_sentence() -> None:
    date = "Zahnarzt am 8. Dezember um 9:30 Uhr."
    assert first_sentence(f"{date} Karte mitnehmen.", 30) == date
    assert first_sentence("Our gate is the 8. Then turn left.", 30) == "Our gate is the 8."


def test_what_a_note_begins_with_is_its_first_sentence_without_marks() -> None:
    assert first_sentence("# Crane log\n\nIt lifts.", 20) == "Crane log"
    assert first_sentence("* The crane lifts. It is red.", 20) == "The crane lifts."
    assert first_sentence("", 20) == ""
    assert first_sentence("Our vet is Dr. Okafor. Her surgery is in Mill Lane.", 20) == "Our vet is Dr. Okafor."
    assert first_sentence("St. Jude's has its sports day in June, e.g. the relay. Bring water.", 30).endswith("relay.")
    assert most_tokens(first_sentence("crane " * 5000, 20)) <= 20


FERRY = "The ferry to Ulvik, run by Fjordline with the boats Alma, Siri and Thea, leaves every day at 9:30 from pier 4."
FERRY_LINE = first_sentence(FERRY, 20)


@pytest.mark.parametrize(
    ("query", "known", "told"),
    [
        ("from which pier does the ferry leave?", "The ferry leaves at 10.", "from pier 4."),
        ("when does it leave, from which pier?", "", "leaves every day at 9:30"),
        ("who runs the ferry to Ulvik?", "", "The ferry to Ulvik, run by Fjordline"),
        ("does it take cars?", "", "The ferry to Ulvik"),
    ],
)
def test_a_line_of_a_text_is_cut_around_what_is_asked(query: str, known: str, told: str) -> None:
    line = line_around(FERRY_LINE, FERRY, query_terms(query), 20, known)
    assert told in line
    assert most_tokens(line) <= 20


def test_a_word_at_the_end_of_a_line_that_is_cut_tells_nothing_of_it() -> None:
    text = "Dr. Brandt, whom Marte knows from school, has her surgery in Elm Street 4, third floor."
    cut = text[: text.index("Elm")] + "\u2026"
    assert "Elm Street 4" in line_around(
        cut, text, query_terms("where is Dr. Brandt's surgery?"), 20, "Dr. Brandt is away."
    )


def test_a_line_that_has_what_is_asked_stays_as_it_is() -> None:
    assert line_around("The limit is 100.", "The limit is 100.", query_terms("what is the limit?"), 20) == (
        "The limit is 100."
    )


RUNBOOK = """# Runbook: MQTT broker

## What it is
The lockers hold one connection each to a cluster of two nodes behind a proxy. Sessions last two hours, so that a locker
which comes back in this time gets what it missed. Commands are never retained.

## Symptoms
A short dip of connected clients by some 5 % is a carrier's maintenance, mostly between 3 and 4 in the night.

## Restarting a node
Drain it first, watch the dashboard until fewer than 40 clients are left, then restart the service.

## Rotating the certificate
The certificate is issued by our own authority. Put the new pair into /etc/emqx/certs and clean the cache.
"""


@pytest.mark.parametrize("most", [60, 90, 120])
@pytest.mark.parametrize(
    ("query", "heading", "answer"),
    [
        ("how do I restart a node of the MQTT broker?", "## Restarting a node", "Drain it first"),
        ("how is the certificate of the MQTT broker rotated?", "## Rotating the certificate", "issued by our own"),
        ("MQTT broker: which symptoms are there?", "## Symptoms", "A short dip of connected clients"),
    ],
)
def test_the_words_of_its_title_draw_no_passage_to_the_beginning(
    query: str, heading: str, answer: str, most: int
) -> None:
    shown = passage(RUNBOOK, query_terms(query), most)
    assert shown.text.startswith(f"{heading}\n")
    assert answer in shown.text


@pytest.mark.parametrize("most", range(30, 200, 7))
def test_no_passage_ends_with_a_heading(most: int) -> None:
    for query in ("how do I restart a node?", "rotate the certificate", "symptoms of the broker", "what is it"):
        lines = [line for line in passage(RUNBOOK, query_terms(query), most).text.splitlines() if line.strip(" \u2026")]
        assert not lines[-1].lstrip("\u2026 ").startswith("#")
