"""A server that never saw a memory: its first answer waits for the notes and for what ranks them, for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

import postgres
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.agent.recall import Recall, Recalled, recall
from holdfast.engine.runtime import Memory
from holdfast.engine.sync import follow
from holdfast.store.rows.texts import number_of
from tables import server
from worlds import CALLER, ask, found, keep, show

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

QUESTION = "Which berth has the crane?"


async def ask_at_once(memory: Memory, query: str) -> Recalled:
    """As the tool asks."""
    return await memory.attend(lambda ports: recall(ports, CALLER, Recall(query)), past=False)


def ranked(answer: Recalled) -> list[tuple[str, float, float]]:
    return [(hit.note.id, hit.ranked.score, hit.ranked.relevance) for hit in answer.hits]


def as_ranked(answer: list[tuple[str, float, float]]) -> list[tuple[str, object, object]]:
    """The same notes in the same order; a rating counts for less with every millisecond that passes."""
    return [(note, pytest.approx(score), pytest.approx(relevance)) for note, score, relevance in answer]


def _score(answer: list[tuple[str, float, float]], note: str) -> float:
    return next(score for found_, score, _ in answer if found_ == note)


async def lines_known(memory: Memory) -> int:
    """How far the index knows the journal."""
    known = await memory.ports.index.read(lambda view: view.known_journal())
    return number_of(known.place)


async def test_the_first_answer_of_a_new_server_is_ranked_by_what_was_rated_and_does_not_wait_for_the_history(
    tmp_path: Path, tenant: str
) -> None:
    url = postgres.shared().url
    async with server(tmp_path / "one", url, tenant) as one:
        notes = [(await keep(one, f"The crane stands at berth {number}.")).note.id for number in range(6)]
        before = ranked(await ask(one, QUESTION))
        worst = next(note for note, *_ in reversed(before) if note != notes[0])
        for _ in range(2):
            answer = await ask(one, QUESTION)
            rating = Feedback(worst, 1, event_id=answer.event_id)
            await one.attend(lambda ports, rating=rating: submit_feedback(ports, CALLER, rating))
        await one.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(notes[0], "it was sold")))
        expected = ranked(await ask(one, QUESTION))
        assert _score(expected, worst) > _score(before, worst)  # what was rated counts
        changes = {note: (await show(one, note)).changes for note in notes}
    async with server(tmp_path / "new", url, tenant) as new:
        first = ranked(await ask_at_once(new, QUESTION))
        assert first == as_ranked(expected)
        assert await lines_known(new) == 0
        assert {note: (await show(new, note)).changes for note in notes} == changes  # whoever asks for it waits for it
        assert await lines_known(new) > len(notes)
        assert ranked(await ask_at_once(new, QUESTION)) == as_ranked(first)
        assert notes[0] not in [each[0] for each in first]


async def test_a_new_server_that_ends_before_it_has_read_the_history_reads_it_when_it_is_started_again(
    tmp_path: Path, tenant: str
) -> None:
    url = postgres.shared().url
    async with server(tmp_path / "one", url, tenant) as one:
        note = (await keep(one, "The crane stands at berth 4.")).note.id
        await keep(one, "Ferries leave at noon.")  # which says that the change before it is made
    async with server(tmp_path / "new", url, tenant) as new:
        assert found(await ask_at_once(new, QUESTION)) == ["The crane stands at berth 4."]
        assert await lines_known(new) == 0
    async with server(tmp_path / "new", url, tenant) as again:
        assert found(await ask_at_once(again, QUESTION)) == ["The crane stands at berth 4."]
        assert await lines_known(again) > 0
        assert (await show(again, note)).changes == 1


async def test_a_new_server_that_reads_a_page_at_a_time_has_every_note_and_each_once(
    tmp_path: Path, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.shared().url
    texts = [f"Item {number} of the manifest is a barrel." for number in range(7)]
    async with server(tmp_path / "one", url, tenant) as one:
        for text in texts:
            await keep(one, text)
    for size in (1, 3, 7, 8):
        monkeypatch.setattr(follow, "_BATCH", size)
        async with server(tmp_path / f"new-{size}", url, tenant) as new:
            assert sorted(found(await ask_at_once(new, "manifest"))) == texts
            assert await new.ports.index.problems() == []
