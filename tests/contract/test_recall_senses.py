"""What is like a question and does not answer it: another sense of a word, a value that lacks, another value."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.omi.memories import MemoryRecall, memory_recall
from holdfast.engine.runtime import Memory
from holdfast.index.spelling import may_be_slips
from holdfast.model.doubts import against, sought
from holdfast.model.note import Note
from holdfast.model.ranking import ASKED_GATE, GATE, MOST_DOUBTFUL
from holdfast.tools.render import structured_of, text_of
from worlds import CALLER, ask, keep, living

pytestmark = pytest.mark.anyio

NOTES = (
    "Feature flags live in the table app_flags.",
    "The database password is in vault under kv/prod/db.",
    "Webhooks are signed with HMAC; the secret is in the vault.",
    "The Hetzner bill for October was 48.30 euros.",
    "Restore of the Postgres backup takes 40 minutes; the script is ops/restore.sh.",
    "We deploy with colmena from the flake.",
    "The staging server is in Falkenstein and restarts every Sunday at four.",
    "Anna prefers tea over coffee in meetings.",
    "Release 2.4 dropped support for Python 3.9.",
    "Invoices are numbered per year and sent by Nadia on the first of each month.",
)


@pytest.fixture
async def memory(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Memory]:
    """Notes of a small project, compared by the built-in encoder."""
    async with living(tmp_path, encoder=BuiltinEncoder()) as ready:
        for text in NOTES:
            await keep(ready, text)
        yield ready


def strong(answer: Recalled) -> list[str]:
    return [hit.note.content for hit in answer.hits if not hit.ranked.weak]


async def test_what_shares_a_word_and_does_not_answer_is_no_strong_hit(memory: Memory) -> None:
    for question in [
        "Where do I live?",
        "Which database do we use?",
        "How often are webhooks retried?",
        "How much did Hetzner cost in September?",
        "What did release 2.5 drop?",
    ]:
        answer = await ask(memory, question)
        assert answer.hits, "it is shown all the same"
        assert strong(answer) == []


async def test_what_answers_stays_strong(memory: Memory) -> None:
    for question, place in [
        ("Where do feature flags live?", 0),
        ("Where is the database password?", 1),
        ("How are webhooks signed?", 2),
        ("How much did Hetzner cost in October?", 3),
        ("How long does a restore of the backup take?", 4),
        ("What did release 2.4 drop?", 8),
        ("backup", 4),
        ("password", 1),
    ]:
        assert strong(await ask(memory, question))[:1] == [NOTES[place]]


async def test_an_answer_says_why_it_is_in_doubt(memory: Memory) -> None:
    for question, why in (
        ("How much did Hetzner cost in September?", "October, not September"),
        ("What did release 2.5 drop?", "release 2.4, not 2.5"),
        ("How often are webhooks retried?", "no frequency"),
        ("What does Bertha prefer in meetings?", "Bertha is named nowhere"),
        ("What is Bertha's wish for meetings?", "Bertha is named nowhere"),
    ):
        first = (await ask(memory, question)).hits[0]
        assert first.ranked.doubt == why
        assert why in first.ranked.why


def test_may_that_asks_for_leave_is_no_month() -> None:
    for question in ("May I deploy on Friday?", "May we retry the webhook?"):
        asked = sought(question)
        assert asked is None or not asked.months
    for question in ("What did we pay in May?", "In May we moved the office: where to?", "May bill of Hetzner?"):
        asked = sought(question)
        assert asked is not None
        assert asked.months == {5}


async def test_the_text_tells_the_reason_behind_the_weak_match(memory: Memory) -> None:
    answer = await ask(memory, "How much did Hetzner cost in September?")
    assert " WEAK MATCH (October, not September)" in text_of(answer, CALLER)


async def test_recall_and_memory_recall_show_the_same_relevance(memory: Memory) -> None:
    compared = 0
    for question in ("Where is the database password?", "How are webhooks signed?", "Where do I live?", "the script"):
        shown = {hit.note.id: round(hit.ranked.relevance, 4) for hit in (await ask(memory, question)).hits}
        request = MemoryRecall(question, min_relevance=0.0)
        theirs = await memory.attend(lambda ports, request=request: memory_recall(ports, CALLER, request))  # type: ignore[misc]
        both = {item.note.id: item.relevance for item in theirs.memories if item.note.id in shown}
        assert both == shown
        compared += len(both)
    assert compared > 4


async def test_the_shown_relevance_never_rises_from_hit_to_hit_and_the_line_of_a_strong_one_is_seven_tenths(
    memory: Memory,
) -> None:
    seen = 0
    for question in (
        "Where is the database password?",
        "How much did Hetzner cost in September?",
        "What does Bertha prefer in meetings?",
        "How often are webhooks retried?",
        "the backup and the password",
        "what do we pay for machines?",
    ):
        hits = structured_of(await ask(memory, question), CALLER)["results"]
        shown = [hit["relevance"] for hit in hits]
        assert shown == sorted(shown, reverse=True)
        assert [hit["weak"] for hit in hits] == [worth < 0.7 for worth in shown]
        seen += len(hits)
    assert seen > 10


async def test_memory_recall_says_what_stands_just_below_its_line_where_nothing_reaches_it(memory: Memory) -> None:
    found = await memory.attend(
        lambda ports: memory_recall(ports, CALLER, MemoryRecall("How much did Hetzner cost in September?"))
    )
    assert not found.memories
    (told,) = [notice for notice in found.notices if notice.startswith("None reaches 0.7")]
    ids, line = re.findall("mem_[0-9a-z]+", told), float(told.split("min_relevance=")[1].split()[0])
    assert 0.0 < line < 0.7
    lower = await memory.attend(
        lambda ports: memory_recall(ports, CALLER, MemoryRecall("How much did Hetzner cost in September?", 10, line))
    )
    assert {item.note.id for item in lower.memories} >= set(ids)


async def test_a_question_in_quite_other_words_gets_a_few_weak_lines_and_keywords_about_nothing_stored_get_none(
    memory: Memory,
) -> None:
    asked = await ask(memory, "how do we recover from total loss?")
    assert asked.hits[0].note.content == NOTES[4]
    best = max(hit.ranked.likeness for hit in asked.hits)
    assert ASKED_GATE <= best < GATE
    assert len(asked.hits) <= MOST_DOUBTFUL
    assert strong(asked) == []
    vague = await ask(memory, "what happens when everything is gone?")
    assert vague.hits[0].note.content == NOTES[4]
    assert len(vague.hits) <= MOST_DOUBTFUL
    assert strong(vague) == []
    assert not (await ask(memory, "kubernetes ingress certificate rotation")).hits


async def test_what_was_true_once_is_told_where_the_past_is_asked_for_and_nothing_took_its_place(
    memory: Memory,
) -> None:
    code = (await keep(memory, "The gate code of the yard is 4471.")).note.id
    request = MarkOutdated(code, "the lock was changed")
    await memory.attend(lambda ports: mark_outdated(ports, CALLER, request))
    for question in ("what was the gate code?", "which gate code did we have?", "was war der gate code?"):
        answer = await ask(memory, question)
        assert [hit.note.id for hit in answer.hits][:1] == [code], question
        assert "OUTDATED since" in text_of(answer, CALLER)
    assert code not in [hit.note.id for hit in (await ask(memory, "what is the gate code?")).hits]


async def test_memory_recall_names_nothing_where_nothing_is_near(memory: Memory) -> None:
    found = await memory.attend(lambda ports: memory_recall(ports, CALLER, MemoryRecall("ok thanks")))
    assert not found.memories
    assert not any("min_relevance" in notice for notice in found.notices)


# --- in a text by itself ------------------------------------------------------------------------------


def why(question: str, content: str, happened: str = "2026-11-02T00:00:00Z", type: str = "fact") -> str:  # noqa: A002 - the note's
    asked = sought(question)
    found = against(asked, Note("mem_1", content, "", happened, happened, type=type)) if asked else None
    return found.why if found else ""


@pytest.mark.parametrize(
    ("question", "content", "expected"),
    [
        ("how often is the cache cleared?", "The cache is cleared by a script.", "no frequency"),
        ("how often is the cache cleared?", "The cache is cleared each night.", ""),
        ("how often is the cache cleared?", "The cache is cleared after 30 minutes.", ""),
        ("what does the course cost?", "The course is in two weeks, on 12 March.", "no price"),
        ("what does the course cost?", "The course is free.", ""),
        ("how much does the course cost?", "The course: 220 euros.", ""),
        ("how long does bottling take?", "Six people are needed for bottling.", "no duration"),
        ("how long does bottling take?", "Bottling takes two whole days.", ""),
        ("how many hives are there?", "Hives stand at the fence.", "no figure"),
        ("how many hives are there?", "Four hives stand at the fence.", ""),
        ("when is the inspection?", "The inspection is done by Ben.", "no time"),
        ("when is the inspection?", "The inspection is on Monday.", ""),
        ("what happens when the disk is full?", "A full disk stops the writer.", ""),
        ("Was kostet der Kurs?", "Der Kurs ist in Kempten.", "no price"),
        ("Wie oft wird gesichert?", "Gesichert wird jeden Freitag.", ""),
        ("combien coûte le cours ?", "Le cours est à Kempten.", "no price"),
        ("コースの費用はいくらですか", "コースはケンプテンです。", ""),
        ("what happened to tank 5?", "Tank 3 leaks.", "tank 3, not 5"),
        ("what happened to tank 3?", "Tank 3 leaks, tank 4 does not.", ""),
        ("is tank 5 leaking?", "Tank 3 leaks.", ""),
        ("who led the Postgres 17 upgrade?", "Ben led the upgrade to Postgres 17.5.", ""),
        ("what was the bill for May?", "The bill for August came to 312 euros.", "August, not May"),
        ("what may I change?", "In August nothing may be changed.", ""),
        ("where was the holiday in 2024?", "The holiday in 2023 was on Bornholm.", "2023, not 2024"),
    ],
)
def test_what_speaks_against_a_note_is_read_from_its_own_words(question: str, content: str, expected: str) -> None:
    assert why(question, content) == expected


def test_the_date_of_an_event_answers_when_it_was() -> None:
    assert why("when was the bike stolen?", "The bike was stolen.", type="event") == ""
    assert why("when was the bike stolen?", "The bike was stolen.") == "no time"
    assert why("what did we decide in November?", "Since October nothing is painted.") == "", "it is of November itself"


def test_of_a_long_note_the_words_around_are_looked_at() -> None:
    filler = "The office keeps a list of 40 ships. " * 60
    assert why("how much is the mooring fee?", f"The mooring fee was raised. {filler}") == ""
    far = f"The mooring fee was raised. {'Nobody knows. ' * 100}{filler}"
    assert why("how much is the mooring fee?", far) == "no price"


# --- slips of the pen -----------------------------------------------------------------------------------


async def test_slips_of_the_pen_are_corrected_and_told(memory: Memory) -> None:
    answer = await ask(memory, "resotre bakup postgers")
    assert strong(answer)[:1] == [NOTES[4]]
    assert 'Read as: "restore backup postgres".' in answer.notices


async def test_a_slip_is_corrected_where_words_alone_are_compared(anyio_backend: str, tmp_path: Path) -> None:
    async with living(tmp_path) as words:
        for text in NOTES:
            await keep(words, text)
        answer = await ask(words, "webhoks signed")
    assert answer.hits[0].note.content == NOTES[2]
    assert 'Read as: "webhooks signed".' in answer.notices


async def test_a_word_that_is_not_found_as_it_is_written_is_not_said_to_be_read_as_itself(memory: Memory) -> None:
    await keep(memory, "Das Gerät heißt Straßenöffner.")
    answer = await ask(memory, "Straßenoeffner")
    assert answer.hits[0].note.content == "Das Gerät heißt Straßenöffner."
    assert 'Read as: "strassenoffner".' in answer.notices


async def test_what_is_known_or_like_nothing_is_left_as_it_is(memory: Memory) -> None:
    for question in [
        "restore backup postgres",
        "where is the flake?",
        "how do we tune the violin?",
        "zorvekmal",
        "webhooks",
    ]:
        assert not any(notice.startswith("Read") for notice in (await ask(memory, question)).notices)


@pytest.mark.parametrize(
    "question",
    [
        'what is "bakup"?',
        "PROJ-3227 bakups7",
        "ask Postgers about it",
        "bakup_job failed",
        "wo liegt der bakup von heute",
    ],
)
def test_names_identifiers_quotes_and_other_languages_are_never_corrected(question: str) -> None:
    strange = frozenset({"bakup", "bakups7", "proj", "3227", "postgers", "bakup_job", "job", "liegt"})
    assert may_be_slips(question, strange) == []


@pytest.mark.parametrize(
    "question",
    ["wann hat lea geburtstag?", "quand est la fete", "cuando abrimos", "wanneer is het feest", "wohin fahren wir"],
)
async def test_a_question_word_of_another_language_is_no_slip(memory: Memory, question: str) -> None:
    await keep(memory, "Restores are tried when the quarter ends; whoever is on call waits.")
    assert not any(notice.startswith("Read") for notice in (await ask(memory, question)).notices)


async def test_nothing_is_read_as_a_word_of_grammar(memory: Memory) -> None:
    assert not any(notice.startswith("Read") for notice in (await ask(memory, "wich backup wiht whta?")).notices)
