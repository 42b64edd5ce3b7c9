"""Feedback in the index and in the journal: replayed in any order, compared by meaning, cheap where there is none."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import numpy as np
import pytest

from holdfast.encode.provider import VectorSet
from holdfast.engine import encoding
from holdfast.engine import runtime as engine_memory
from holdfast.engine.agent.feedback import Feedback, Rated, submit_feedback
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError, EventNotFoundError
from holdfast.index import recalls
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.index.projection import Update
from holdfast.index.recalls import EVENT_PREFIX, FeedbackRow, QuestionVector, RatedQuestion
from holdfast.model.note import PREFIX, note_id
from holdfast.model.ranking import QueryVector
from holdfast.model.words import question_key
from holdfast.store.records import read_record
from indexes import opened
from worlds import CALLER, PATIENCE, ask, keep, living

pytestmark = pytest.mark.anyio

NOW = "2026-11-20T12:00:00Z"
NOTE, OTHER = note_id(1, 1), note_id(2, 2)
SET, OTHER_SET = "0123456789abcdef", "fedcba9876543210"


def unit(*numbers: float) -> bytes:
    vector = np.array([*numbers, *[0.0] * (4 - len(numbers))], "<f4")
    return bytes((vector / np.linalg.norm(vector)).tobytes())


def question(text: str, embedded: str | None = None) -> RatedQuestion:
    return RatedQuestion(question_key(text), text, embedded or text)


def given(
    asked: str | None = "where is the crane", signal: int = 1, *, explicit: bool = True, seq: int = 1, event: str = "e"
) -> FeedbackRow:
    return FeedbackRow(NOTE, event, seq, signal, explicit, NOW, question(asked) if asked else None)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[NoteIndex]:
    index = NoteIndex(tmp_path / "index.db")
    await index.open()
    await index.mark_built()
    yield index
    await index.aclose()


async def affinities(
    index: NoteIndex, ids: list[str], query: str, asked: QueryVector | None = None
) -> Mapping[str, float]:
    return await index.read(lambda view: view.affinities(ids, query, asked, NOW))


async def pending(index: NoteIndex, key: str, since: str, most: int = 9) -> list[RatedQuestion]:
    return await index.read(lambda view: view.pending_questions(key, since, most))


async def moved(index: NoteIndex, query: str, vector: bytes | None = None, key: str = SET) -> float:
    asked = None if vector is None else QueryVector(key, vector, 0.0, 0.1)
    return (await affinities(index, [NOTE, OTHER], query, asked)).get(NOTE, 0.0)


# --- the index ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_an_explicit_signal_and_then_the_later_one_counts_in_whatever_order_it_is_replayed(
    index: NoteIndex, order: tuple[int, ...]
) -> None:
    rows = [given(signal=1, seq=1), given(signal=-1, seq=2), given(signal=1, explicit=False, seq=3)]
    for _ in range(2):
        for place in order:
            await index.apply(Update(feedback=[rows[place]]))
    assert await index.read(lambda view: view.feedback(NOTE)) == [rows[1]]
    assert await moved(index, "where is the crane") < 0


async def test_another_connection_sees_it_at_once(index: NoteIndex, tmp_path: Path) -> None:
    other = NoteIndex(tmp_path / "index.db")
    await other.open()
    try:
        for signal, seq in ((1, 1), (-1, 2)):
            await index.apply(Update(feedback=[given(signal=signal, seq=seq)]))
            assert (await moved(other, "where is the crane") > 0) is (signal > 0)
    finally:
        await other.aclose()


async def test_only_notes_that_were_rated_have_an_affinity(index: NoteIndex) -> None:
    await index.apply(Update(feedback=[given(), given(None, event="day_2026-11-20")]))
    assert (await affinities(index, [OTHER], "where is the crane")) == {}
    assert (await affinities(index, [NOTE, OTHER], "where is the crane")).keys() == {NOTE}
    assert (await affinities(index, [NOTE], "who is Anna")) == {}


async def test_questions_are_compared_by_their_vectors_of_the_same_set(index: NoteIndex) -> None:
    asked = question("where is the crane")
    await index.apply(Update(feedback=[given()], question_vectors=[QuestionVector(asked.key, SET, unit(1, 0))]))
    whole = await moved(index, "where is the crane")
    assert await moved(index, "in which place does it stand", unit(1, 0.1)) == pytest.approx(whole)
    assert 0 < await moved(index, "in which place does it stand", unit(1, 0.9)) < whole
    assert await moved(index, "in which place does it stand", unit(1, 2)) == 0
    assert await moved(index, "in which place does it stand", unit(1, 0), OTHER_SET) == 0
    assert await moved(index, "is the crane there", unit(0, 1)) == 0, "their vectors differ, whatever their words"
    assert await moved(index, "is the crane there", unit(0, 1), OTHER_SET) == pytest.approx(whole), "by their words"


async def test_names_that_are_not_embedded_and_words_with_digits_must_be_the_same(index: NoteIndex) -> None:
    asked = question("where does Anna keep form 17", "where does keep form 17")
    row = replace(given(), question=asked)
    await index.apply(Update(feedback=[row], question_vectors=[QuestionVector(asked.key, SET, unit(1))]))
    assert await moved(index, "where did Anna put form 17", unit(1)) > 0
    for different in ("where did Bert put form 17", "where did Anna put form 18", "where did Anna put form 17 and 18"):
        assert await moved(index, different, unit(1)) == 0, different


async def test_a_question_waits_for_a_vector_of_each_set_until_it_is_forgotten(index: NoteIndex) -> None:
    long_ago = replace(given("who is Anna", event="f"), at="2025-01-01T00:00:00Z")
    await index.apply(Update(feedback=[given(), given("what is a buoy", event="g", seq=3), long_ago]))
    since = "2026-01-01T00:00:00Z"
    waiting = [question("what is a buoy"), question("where is the crane")]
    assert await pending(index, SET, since) == waiting
    assert await pending(index, SET, since, 1) == waiting[:1]
    await index.apply(Update(question_vectors=[QuestionVector(item.key, SET, unit(1)) for item in waiting]))
    for _ in range(2):
        assert await pending(index, SET, since) == []
        assert await pending(index, OTHER_SET, since) == waiting
    await index.apply(Update(feedback=[given("who is Bert", event="h", seq=4)]))
    assert await pending(index, SET, since) == [question("who is Bert")]


async def overheard(index: NoteIndex) -> list[str]:
    """The statements that its readers send from now on."""
    statements: list[str] = []
    for reader in index._readers:
        await reader.run(lambda connection: connection.set_trace_callback(statements.append))
    return statements


def _without_sets(statements: list[str]) -> list[str]:
    """What was asked besides which vector sets there are, with which every reading begins."""
    return [statement for statement in statements if "FROM vector_sets" not in statement]


async def test_where_every_question_has_its_vector_the_background_reads_one_number(index: NoteIndex) -> None:
    asked = question("where is the crane")
    await index.apply(Update(feedback=[given()], question_vectors=[QuestionVector(asked.key, SET, unit(1))]))
    await pending(index, SET, NOW)
    statements = await overheard(index)
    assert await pending(index, SET, NOW) == []
    assert _without_sets(statements) == ["BEGIN", "SELECT max(changed) FROM feedback", "ROLLBACK"]


async def test_without_feedback_for_the_notes_found_a_recall_reads_one_number(index: NoteIndex) -> None:
    await index.apply(Update(feedback=[given()]))
    await moved(index, "where is the crane")  # takes it in
    statements = await overheard(index)
    assert await affinities(index, [OTHER], "where is the crane") == {}
    assert _without_sets(statements) == ["BEGIN", "SELECT value FROM meta WHERE key = 'change_seq'", "ROLLBACK"]


async def test_ten_thousand_signals_are_read_once(index: NoteIndex) -> None:
    texts = [f"question about {'abcdefgh'[n % 8]} {'ijklmnop'[n // 8 % 8]} of {n}" for n in range(10_000)]
    rows = [given(text, event=f"e{place}", seq=place + 1) for place, text in enumerate(texts)]
    vectors = [QuestionVector(question(text).key, SET, unit(1)) for text in texts]
    await index.apply(Update(feedback=rows, question_vectors=vectors))
    assert await moved(index, "something else entirely", unit(1)) == 0
    statements = await overheard(index)
    assert await moved(index, texts[7], unit(0, 1)) > 0
    assert len(statements) <= 4


# --- the verb -------------------------------------------------------------------------------------


class Fake:
    """Questions about the same thing lie together: the vector is told by whether the text says crane."""

    vector_set = VectorSet("fake", "fake", "0", 4, ("", ""), 0.0, 0.1)
    backlog = 0
    broken = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def encode_documents(self, texts: list[str]) -> list[list[bytes]]:
        return [[await self.encode_query(text)] for text in texts]

    async def encode_query(self, text: str) -> bytes:
        if self.broken or "poison" in text:
            raise EncoderError("It is broken.")
        self.asked.append(text)
        return unit(1, 0) if "crane" in text else unit(0, 1)

    async def aclose(self) -> None:
        pass


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background begins when the server does."""
    monkeypatch.setattr(engine_memory, "START_SECONDS", 0.0)


async def rate(world: Memory, note: str, signal: int = 1, event_id: str | None = None) -> Rated:
    return await world.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(note, signal, event_id=event_id)))


async def score(world: Memory, query: str, note: str) -> float:
    return next(hit.ranked.score for hit in (await ask(world, query, explain=True)).hits if hit.note.id == note)


async def test_questions_get_their_vectors_again_in_the_background(tmp_path: Path) -> None:
    fake = Fake()
    async with living(tmp_path, encoder=fake) as world:  # type: ignore[arg-type] # enough of one
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        await keep(world, "Seven lamps.")
        plain = await score(world, "which spot has the tall crane thing", note)
        event = (await ask(world, "where is the crane")).event_id
        value = (await rate(world, note, event_id=event)).affinity
        assert value is not None
        assert await score(world, "which spot has the tall crane thing", note) - plain == pytest.approx(
            value, abs=1e-4
        )  # it fades
    for path in (tmp_path / ".holdfast").glob("*.db*"):
        path.unlink()
    fake.asked.clear()
    async with living(tmp_path, encoder=fake) as world:  # type: ignore[arg-type] # enough of one
        await world.attend(lambda ports: ports.index.count_files())
        with anyio.fail_after(30):
            while "where is the crane" not in fake.asked:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
            while await score(world, "which spot has the tall crane thing", note) < plain + value - 0.001:  # noqa: ASYNC110
                await anyio.sleep(0.01)


async def test_a_long_question_has_the_vector_that_can_be_made_again_from_what_is_kept(tmp_path: Path) -> None:
    fake = Fake()
    async with living(tmp_path, encoder=fake) as world:  # type: ignore[arg-type] # enough of one
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        query = "crane pier nine " + "and a line of the trace " * 40
        await rate(world, note, event_id=(await ask(world, query)).event_id)
        with anyio.fail_after(30):
            while " ".join(query[:500].split()) not in fake.asked:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)


async def test_a_question_that_cannot_be_encoded_holds_up_no_other(tmp_path: Path) -> None:
    fake = Fake()
    fake.broken = True
    async with living(tmp_path, encoder=fake) as world:  # type: ignore[arg-type] # enough of one
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        for query in ("poison crane pier", "crane pier nine"):
            await rate(world, note, event_id=(await ask(world, query)).event_id)
        fake.broken = False
        while await world.attend(encoding.drain):
            pass
        key = fake.vector_set.key
        left = await world.attend(
            lambda ports: ports.index.read(lambda view: view.pending_questions(key, "2000-01-01T00:00:00Z", 9))
        )
        assert [item.asked for item in left] == ["poison crane pier"]


async def test_two_servers_that_hear_the_same_at_once_record_it_once(tmp_path: Path) -> None:
    async with living(tmp_path) as one, living(tmp_path) as two:
        note = (await keep(one, "The crane stands on pier nine.")).note.id
        event = (await ask(one, "crane pier")).event_id
        rated: list[bool] = []

        async def say(world: Memory) -> None:
            rated.append((await rate(world, note, event_id=event)).recorded)

        async with anyio.create_task_group() as tasks:
            for world in (one, two) * 4:
                tasks.start_soon(say, world)
        assert sorted(rated) == [False] * 7 + [True]


async def test_a_signal_whose_index_is_lost_meanwhile_is_recorded_once_and_said_to_be(tmp_path: Path) -> None:
    async with living(tmp_path) as world:
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        event = (await ask(world, "crane pier")).event_id
        with patch.object(NoteIndex, "apply", side_effect=IndexLostError("gone")):
            answer = await rate(world, note, event_id=event)
        assert (answer.recorded, "rebuilt" in answer.effect) == (True, True)
        with patch("holdfast.engine.agent.feedback._rated", side_effect=[IndexLostError("gone")]):
            answer = await rate(world, (await keep(world, "The tug pulls.")).note.id)
        assert (answer.recorded, "rebuilt" in answer.effect) == (True, True)
        records = [read.record for read in await world.ports.store.journal_since("", 100) or ()]
        assert len([record for record in records if record.op == "feedback"]) == 2


async def test_a_log_of_recalls_that_is_harmed_is_as_good_as_none(tmp_path: Path) -> None:
    path = tmp_path / ".holdfast" / "recalls.db"
    async with living(tmp_path) as world:
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        await ask(world, "crane pier")
    path.write_bytes(b"\xff" * path.stat().st_size)
    async with living(tmp_path) as world:
        assert (await rate(world, note)).affinity is None
        await ask(world, "crane pier")
        assert (await rate(world, note)).affinity is not None


async def test_a_log_of_recalls_of_an_earlier_version_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / ".holdfast").mkdir()
    connection = sqlite3.connect(tmp_path / ".holdfast" / "recalls.db")
    connection.execute("CREATE TABLE recalls (id TEXT PRIMARY KEY, at, query, space, shown, vector_set, vector)")
    connection.close()
    async with living(tmp_path) as world:
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        event = (await ask(world, "crane pier")).event_id
        assert (await rate(world, note, event_id=event)).affinity


async def test_a_line_of_the_journal_says_all_that_a_rebuilt_index_needs(tmp_path: Path) -> None:
    told = {"note": NOTE, "event": "evt_1", "signal": -1, "source": "implicit"}
    line = {
        "seq": 7,
        "at": NOW,
        "op": "feedback",
        "feedback": told | {"question": "k", "asked": "who", "embedded": "w"},
    }
    row = FeedbackRow(NOTE, "evt_1", 7, -1, False, NOW, RatedQuestion("k", "who", "w"))  # noqa: FBT003
    assert await kept_of(tmp_path, line) == [row]
    assert await kept_of(tmp_path, line | {"feedback": told}) == [replace(row, question=None)]
    assert await kept_of(tmp_path, line | {"op": "remember"}) == []
    for harm in ({"signal": 2}, {"signal": True}, {"note": "x"}, {"event": ""}, {"event": "e" * 99}, {"source": "x"}):
        assert await kept_of(tmp_path, line | {"feedback": told | harm}) == [], harm
    assert await kept_of(tmp_path, line | {"at": "x"}) == []


async def kept_of(folder: Path, line: dict[str, Any]) -> list[FeedbackRow]:
    """What an index keeps of a line of the journal."""
    path = folder / "lines.db"
    path.unlink(missing_ok=True)
    async with opened(path) as index:
        await index.apply(Update(records=[read_record(line)]))
        return await index.read(lambda view: view.feedback(NOTE))


async def test_a_server_waits_for_the_recall_that_another_is_still_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalls, "BEHIND_SECONDS", 0.5)
    async with living(tmp_path) as one, living(tmp_path) as two:
        note = (await keep(one, "The crane stands on pier nine.")).note.id
        event = (await ask(one, "crane pier")).event_id
        assert await two.ports.recalls.get(event, "") is None
        assert (await rate(two, note, event_id=event)).recorded


async def test_nobody_waits_long_for_a_recall_that_never_was(tmp_path: Path) -> None:
    async with living(tmp_path) as world:
        note = (await keep(world, "The crane stands on pier nine.")).note.id
        young = EVENT_PREFIX + world.ports.new_id().removeprefix(PREFIX)
        for event in (young, "evt_0000000000000000", "of another kind"):
            with anyio.fail_after(PATIENCE), pytest.raises(EventNotFoundError):
                await rate(world, note, event_id=event)
