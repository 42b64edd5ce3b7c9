"""The first hit is read with the question: what seems to be no answer is told as doubtful, and what is one is not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.encode.builtin import AnswerReader, BuiltinEncoder
from holdfast.engine.agent.doubting import MAY_NOT_ANSWER
from holdfast.engine.omi.memories import MemoryRecall, memory_recall
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError
from worlds import CALLER, ask, keep, living

pytestmark = pytest.mark.anyio

NOTES = (
    "The boiler in the harbour office is serviced by Kessler every spring.",
    "Parcels for the harbour office go to the side door.",
    "The crane by the quay lifts forty tonnes.",
)
QUESTION = "who looks after the heating at the harbour office?"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Says:
    """Tells the same of every note, and keeps what it was asked."""

    def __init__(self, odds: float | None) -> None:
        self._odds = odds
        self.given: list[tuple[str, str]] = []

    async def loaded(self) -> Callable[[str, str], float]:
        if self._odds is None:
            raise EncoderError("The model was mislaid.")
        return self._read

    def _read(self, question: str, note: str) -> float:
        self.given.append((question, note))
        return self._odds or 0.0


@asynccontextmanager
async def asked_of(home: Path, answers: Says | None, *notes: str) -> AsyncIterator[Memory]:
    async with living(home, encoder=BuiltinEncoder()) as memory:
        memory.ports = replace(memory.ports, answers=answers)
        for note in notes or NOTES:
            await keep(memory, note)
        yield memory


async def test_what_seems_to_be_no_answer_is_doubtful_and_says_why_but_is_shown(tmp_path: Path) -> None:
    reader = Says(-5.0)
    async with asked_of(tmp_path, None) as memory:
        before = (await ask(memory, QUESTION)).hits[0]
        memory.ports = replace(memory.ports, answers=reader)
        after = (await ask(memory, QUESTION)).hits[0]
    assert before.note == after.note
    assert not before.ranked.weak
    assert after.ranked.weak
    assert after.ranked.doubt == MAY_NOT_ANSWER
    assert reader.given == [(QUESTION, NOTES[0])]


async def test_what_seems_to_answer_is_more_relevant_and_nothing_else_is_read(tmp_path: Path) -> None:
    reader = Says(2.0)
    async with asked_of(tmp_path, None) as memory:
        before = await ask(memory, "where do couriers put the parcels?")
        memory.ports = replace(memory.ports, answers=reader)
        after = await ask(memory, "where do couriers put the parcels?")
    assert after.hits[0].ranked.relevance > before.hits[0].ranked.relevance
    assert [text for _, text in reader.given] == [NOTES[1]]
    assert [hit.note.id for hit in before.hits] == [hit.note.id for hit in after.hits]


@pytest.mark.parametrize("odds", [-9.0, 9.0])
async def test_one_scale_for_recall_and_memory_recall(tmp_path: Path, odds: float) -> None:
    async with asked_of(tmp_path, Says(odds)) as memory:
        hit = (await ask(memory, QUESTION)).hits[0]
        found = await memory.attend(
            lambda ports: memory_recall(ports, CALLER, MemoryRecall(QUESTION, min_relevance=0.0))
        )
    assert found.memories[0].relevance == pytest.approx(hit.ranked.relevance, abs=1e-4)


@pytest.mark.parametrize(
    "query",
    [
        "boiler",  # keywords ask nothing
        "harbour office boiler Kessler",
        "what is E-4711?",  # an identifier tells by itself
        "what did we do last week about the boiler?",  # a list, or a time
        "recent decisions about the boiler",
        "wer wartet den Kessel im Hafenbüro?",  # not what it learned
        "thanks, that is all",
    ],
)
async def test_what_is_no_question_of_one_thing_in_english_is_not_read(tmp_path: Path, query: str) -> None:
    reader = Says(-9.0)
    async with asked_of(tmp_path, reader, *NOTES, "The burner stopped with E-4711 in May.") as memory:
        await ask(memory, query)
    assert reader.given == []


async def test_of_a_long_note_what_has_the_words_of_the_question_is_read(tmp_path: Path) -> None:
    reader = Says(0.0)
    long = " ".join(f"Berth {number} is swept on day {number} by whoever is there." for number in range(60))
    async with asked_of(tmp_path, reader, f"{long} {NOTES[0]} {long}", NOTES[2]) as memory:
        await ask(memory, "whom do we call when the boiler of the office fails?")
    ((_, text),) = reader.given
    assert NOTES[0] in text
    assert len(text) < 400


async def test_where_it_cannot_be_read_the_answer_is_as_without_and_says_so(tmp_path: Path) -> None:
    async with asked_of(tmp_path, None) as memory:
        before = await ask(memory, QUESTION)
        memory.ports = replace(memory.ports, answers=Says(None))
        after = await ask(memory, QUESTION)
    assert [(hit.note.id, hit.ranked.relevance) for hit in after.hits] == [
        (hit.note.id, hit.ranked.relevance) for hit in before.hits
    ]
    assert "Questions are not read with what was found: The model was mislaid." in after.notices


# A question, a note that answers it, and one of the same thing that does not. None of these texts was learned from.
NEAR = (
    ("who services the boiler in the harbour office?", NOTES[0], "The boiler in the harbour office is from 2009."),
    ("how much can the quay crane lift?", NOTES[2], "The quay crane was painted yellow by Ole in March."),
    (
        "where do couriers leave things for the harbour office?",
        NOTES[1],
        "The front door of the harbour office sticks when it rains.",
    ),
    (
        "what does the ferry to Skarholm cost?",
        "A single to Skarholm is 85 kroner, children half.",
        "The ferry to Skarholm sails at seven and at noon.",
    ),
    (
        "who looks after Nora's tortoise in August?",
        "While Nora is in Lisbon in August her tortoise stays with the Brandts.",
        "Nora's tortoise is called Otto and is eleven years old.",
    ),
    (
        "which colour is the new van?",
        "We took the van in dark green, the white one had a dent.",
        "The new van has seven seats and a tow bar.",
    ),
    (
        "when does the choir rehearse?",
        "Rehearsals of the choir are on Tuesdays from half past seven.",
        "The choir rehearses in the parish hall.",
    ),
    (
        "why was the release put off?",
        "The release waits for two weeks because the vendor's certificate ran out.",
        "The release was put off to the ninth of May.",
    ),
    (
        "what is the password policy for contractors?",
        "Contractors have to change their passwords every thirty days.",
        "Contractors get a badge from the front desk on their first day.",
    ),
    (
        "how long is the lease of the studio?",
        "The studio is rented for three years from June.",
        "The studio's rent is 640 euros a month.",
    ),
    (
        "which database does billing use?",
        "Billing keeps its data in Postgres 16.",
        "Billing is deployed on Mondays by Anil.",
    ),
    (
        "does Ida eat fish?",
        "Ida is a vegetarian and eats neither meat nor fish.",
        "Ida's birthday dinner is at the fish restaurant on Friday.",
    ),
)


async def test_what_was_learned_tells_an_answer_from_what_is_of_the_same_thing() -> None:
    """Not always: of the release the new day is taken for the reason."""
    answers = await AnswerReader().loaded()
    apart = [answers(question, right) - answers(question, near) for question, right, near in NEAR]
    assert sum(difference > 1.0 for difference in apart) >= len(NEAR) - 1
