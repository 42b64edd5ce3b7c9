"""The first hit is read with the question: what seems to be no answer is told as doubtful, and what is one is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.encode import builtin
from holdfast.encode.builtin import AnswerReader, BuiltinEncoder
from holdfast.encode.computed import Layers
from holdfast.engine.agent.doubting import MAY_NOT_ANSWER, Reading, bare, first_read
from holdfast.engine.omi.memories import MemoryRecall, memory_recall
from holdfast.engine.runtime import Memory
from holdfast.engine.state import Warmth
from holdfast.errors import EncoderError
from holdfast.model.note import Note, title_of
from holdfast.model.ranking import Ranked, levelled
from worlds import CALLER, WordBag, ask, keep, living

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
    """Tells the same of every note, or of each question its own, and keeps what it was asked."""

    def __init__(self, odds: float | None, **of_questions: float) -> None:
        self._odds = odds
        self._of_questions = of_questions
        self.given: list[tuple[str, str]] = []
        self.loads = 0

    async def loaded(self) -> Callable[[str, str], float]:
        self.loads += 1
        if self._odds is None:
            raise EncoderError("The model was mislaid.")
        return self._read

    def _read(self, question: str, note: str) -> float:
        self.given.append((question, note))
        return self._of_questions.get(question.partition(" ")[0], self._odds or 0.0)


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
        "boiler",
        "harbour office boiler Kessler",  # what has all of it is what was looked for
        "why did the burner stop with E-4711?",  # an identifier tells by itself
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


@pytest.mark.parametrize(
    "query",
    [
        "harbour office boiler warranty",  # a word of it is missing
        "what does Kessler drink?",  # no project is called so
        "does the boiler of the harbour office need oil next month?",
    ],
)
async def test_keywords_and_what_is_to_come_are_read_as_well(tmp_path: Path, query: str) -> None:
    reader = Says(-9.0)
    async with asked_of(tmp_path, reader) as memory:
        hit = (await ask(memory, query)).hits[0]
    assert (query, NOTES[0]) in reader.given
    assert hit.ranked.weak


def test_what_shares_more_words_with_the_question_has_to_say_more() -> None:
    hit = strong_hit("a", 0.9)
    few_words, many_words = (hit._replace(candidate=hit.candidate._replace(coverage=share)) for share in (0.2, 0.8))
    few, many = (read_as({"a": -1.0}, [each])[0].relevance for each in (few_words, many_words))
    assert few > 0.85 > many
    turn = many_words._replace(candidate=many_words.candidate._replace(session="talk"))
    assert read_as({"a": -1.0}, [turn])[0].relevance > many  # whatever it shares, it may be of what stands beside it


def strong_hit(name: str, relevance: float, *, doubt: str = "") -> Ranked:
    return Ranked(bare(told(name, name)), relevance, relevance, doubt=doubt)


def told(name: str, content: str) -> Note:
    return Note(name, content, title_of(content), "2026-11-01T00:00:00Z", "2026-11-01T00:00:00Z")


def read_as(odds: dict[str, float], ranked: list[Ranked], content: str = "") -> list[Ranked]:
    """The hits after reading, where each note has so much odds."""
    reading = Reading(("who has the key?",), lambda _, text: odds[text])
    return first_read(ranked, reading, lambda name: [told(name, content or name)])


def test_what_does_not_answer_gives_way_to_what_is_strong_behind_it_and_does() -> None:
    first, second, third = strong_hit("first", 0.9), strong_hit("second", 0.85), strong_hit("third", 0.4)
    found = read_as({"first": -9.0, "second": 2.0}, [first, second, third])
    assert [item.candidate.id for item in found] == ["second", "first", "third"]
    assert [item.weak for item in found] == [False, True, True]
    assert [item.doubt for item in found] == ["", MAY_NOT_ANSWER, ""]
    assert found[1].score <= found[0].score


def test_what_does_not_answer_stands_behind_all_that_is_strong() -> None:
    ranked = [strong_hit(name, worth) for name, worth in (("a", 0.95), ("b", 0.9), ("c", 0.6), ("d", 0.95), ("e", 0.3))]
    found = levelled(read_as({"a": -9.0, "b": 2.0}, ranked))
    assert [(item.candidate.id, item.weak) for item in found] == [
        *((name, False) for name in "bcd"),  # in front of "d", "c" is worth as much as both together
        ("a", True),
        ("e", True),
    ]
    assert found[3].score == min(item.score for item in found[:4])


@example([(0.95, -9.0), (0.9, 2.0), (0.6, 0.0), (0.95, 0.0)])
@given(st.lists(st.tuples(st.floats(0.05, 0.999), st.floats(-9.0, 9.0)), max_size=8))
def test_what_does_not_answer_is_never_strong_and_makes_nothing_else_weak(hits: list[tuple[float, float]]) -> None:
    ranked = [strong_hit(name, worth) for name, (worth, _) in zip("abcdefgh", hits, strict=False)]
    read = read_as({name: odds for name, (_, odds) in zip("abcdefgh", hits, strict=False)}, ranked)
    found = {item.candidate.id: item for item in levelled(read)}
    assert found.keys() == {item.candidate.id for item in ranked}
    assert all(item.weak for item in found.values() if item.doubt)
    without = levelled([item for item in read if not item.doubt])
    assert [item.candidate.id for item in without if item.weak != found[item.candidate.id].weak] == []


def test_where_none_answers_the_order_stays_and_no_more_than_three_are_read() -> None:
    ranked = [strong_hit(name, 0.9 - place / 100) for place, name in enumerate("abcd")]
    found = read_as(dict.fromkeys("abc", -9.0), ranked)  # of the fourth it knows nothing
    assert [(item.candidate.id, item.weak) for item in found] == [("d", False), ("a", True), ("b", True), ("c", True)]


@pytest.mark.parametrize("relevance", [0.2, 0.995])
def test_what_is_far_from_the_line_or_doubted_or_in_another_language_is_not_read(relevance: float) -> None:
    for hit, content in (
        (strong_hit("far", relevance), ""),
        (strong_hit("doubted", 0.6, doubt="no price"), ""),
        (strong_hit("other", 0.8), "Der Schlüssel liegt unter der Matte vor der Tür."),
        (strong_hit("script", 0.8), "钥匙在门口的垫子下面。"),
    ):
        assert read_as({}, [hit], content) == [hit]


def test_reading_alone_makes_nothing_so_sure_that_others_are_left_out() -> None:
    (only,) = read_as({"only": 9.0}, [strong_hit("only", 0.95)])
    assert 0.95 < only.relevance < 0.98
    assert read_as({"sure": 9.0}, [strong_hit("sure", 0.985)])[0].relevance == 0.985


def test_what_has_the_words_but_no_answer_is_doubtful_however_many_words_it_has() -> None:
    (only,) = read_as({"only": -7.0}, [strong_hit("only", 0.985)])
    assert only.weak
    assert only.doubt == MAY_NOT_ANSWER


async def test_what_answers_the_question_in_other_words_speaks_for_it(tmp_path: Path) -> None:
    reader = Says(-5.0, whom=2.0)
    async with asked_of(tmp_path, reader) as memory:
        found = await ask(memory, QUESTION, also=["whom do we call for the boiler?"])
    assert {question for question, _ in reader.given} == {QUESTION, "whom do we call for the boiler?"}
    assert not found.hits[0].ranked.weak


async def test_hooks_do_not_wait_for_what_reads_answers_once_they_have_the_encoder() -> None:
    reader = Says(0.0)
    warmth = Warmth(WordBag(), answers=reader)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(warmth.run)
        assert await warmth.is_ready(5.0)
    assert reader.loads == 1


@pytest.mark.files("nothing is kept: the folder stands for one that lacks the model")
async def test_a_reader_that_cannot_be_loaded_is_not_tried_at_every_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builtin._answer_model.cache_clear()
    with monkeypatch.context() as broken:
        broken.setattr(builtin, "ANSWERS", tmp_path / "missing.npz")
        reader = AnswerReader()
        for _ in range(2):
            with pytest.raises(EncoderError, match="missing or cannot be read"):
                await reader.loaded()
    with pytest.raises(EncoderError, match="missing or cannot be read"):
        await reader.loaded()
    assert callable(await AnswerReader().loaded())


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
    assert "Answers were not read with the question: The model was mislaid." in after.notices


async def test_a_model_that_fails_on_a_question_fails_no_recall(tmp_path: Path) -> None:
    def fail(*_: str) -> float:
        raise EncoderError("The model failed on it.")

    reader = Says(9.0)
    async with asked_of(tmp_path, None) as memory:
        before = await ask(memory, QUESTION)
        memory.ports = replace(memory.ports, answers=reader)
        reader._read = fail  # type: ignore[method-assign]
        after = await ask(memory, QUESTION)
        by_words = await memory.attend(lambda ports: memory_recall(ports, CALLER, MemoryRecall(QUESTION)))
    assert [(hit.note.id, hit.ranked.relevance) for hit in after.hits] == [
        (hit.note.id, hit.ranked.relevance) for hit in before.hits
    ]
    for answer in (after, by_words):
        (told,) = [notice for notice in answer.notices if "read with the question" in notice]
        assert told == "Answers were not read with the question: The model failed on it."


async def test_a_model_that_cannot_compute_is_known_before_an_answer_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = Counter[str]()

    def fail(*_: object) -> None:
        tried["computed"] += 1
        raise RuntimeError

    builtin._answer_model.cache_clear()
    with monkeypatch.context() as broken:
        broken.setattr(Layers, "states", fail)
        reader = AnswerReader()
        for _ in range(2):
            with pytest.raises(EncoderError, match="reads two texts together failed"):
                await reader.loaded()
    assert tried["computed"] == 1  # whoever asks again is told the same, and nothing is loaded for it
    read = await AnswerReader().loaded()
    assert read(QUESTION, NOTES[0]) > read(QUESTION, NOTES[2])


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
