"""That a note was of use is written behind the answer, and nobody waits for it while others are written."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import anyio
import pytest

import worlds
from holdfast.engine.agent.browse import Node, use_node
from holdfast.engine.runtime import Memory
from holdfast.errors import IndexSchemaError
from holdfast.model.records import JournalRecord
from holdfast.store.notes import NoteFiles
from worlds import CALLER, keep, living, memory_on

pytestmark = pytest.mark.anyio

LONG = 60.0


def used(home: Path) -> list[str]:
    """The notes of all lines that tell of a use."""
    lines = [line for file in home.glob("journal/*.jsonl") for line in file.read_text("utf-8").splitlines()]
    return [each["use"]["note"] for each in map(json.loads, lines) if each.get("op") == "use"]


async def look(memory: Memory, note: str) -> Node:
    return await memory.attend(lambda ports: use_node(ports, CALLER, note))


class Gate(NoteFiles):
    """A store whose journal takes no single line before it is opened."""

    opened = False
    tried = 0

    async def record(self, record: JournalRecord, *, flush: bool = False) -> int:
        Gate.tried += 1
        while not Gate.opened:  # noqa: ASYNC110 - a class has no loop
            await anyio.sleep(0.01)
        return await super().record(record, flush=flush)


async def test_one_who_asks_alone_has_the_line_with_the_answer(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        note = (await keep(memory, "A buoy.")).note.id
        with patch("holdfast.engine.state.PATIENT_SECONDS", LONG):
            await look(memory, note)
            await look(memory, note)
            assert used(tmp_path) == [note]


async def test_answers_go_out_while_the_lines_wait_and_closing_loses_none(tmp_path: Path) -> None:
    with patch.object(worlds, "NoteFiles", Gate):
        async with living(tmp_path) as memory:
            notes = [(await keep(memory, f"Buoy {number} is by the quay.")).note.id for number in range(5)]
            with anyio.fail_after(LONG):
                for note in (*notes, *notes):
                    assert (await look(memory, note)).note.id == note
                while not Gate.tried:  # noqa: ASYNC110 - it is another task that tries
                    await anyio.sleep(0.01)
            assert used(tmp_path) == []
            Gate.opened = True
    assert sorted(used(tmp_path)) == sorted(notes)
    async with living(tmp_path) as memory:
        for note in notes:
            await look(memory, note)
    assert sorted(used(tmp_path)) == sorted(notes)


async def test_without_anybody_to_follow_the_line_is_written_at_once(tmp_path: Path) -> None:
    memory = memory_on(tmp_path)
    note = (await keep(memory, "A buoy.")).note.id
    await look(memory, note)
    assert used(tmp_path) == [note]
    await memory.aclose()


class Refusing(NoteFiles):
    """A store whose journal refuses lines in a way that is no matter of the disk."""

    refusal: Exception = OSError()

    async def record(self, record: JournalRecord, *, flush: bool = False) -> int:
        del record, flush
        raise Refusing.refusal


@pytest.mark.parametrize("refusal", [IndexSchemaError("It is newer."), OSError("No file.")])
async def test_a_use_that_cannot_be_written_ends_nothing_else(tmp_path: Path, refusal: Exception) -> None:
    Refusing.refusal = refusal
    with patch.object(worlds, "NoteFiles", Refusing):
        async with living(tmp_path) as memory:
            note = (await keep(memory, "A buoy.")).note.id
            for _ in range(3):
                assert (await look(memory, note)).note.id == note
                await anyio.wait_all_tasks_blocked()
            assert (await keep(memory, "A second buoy lies astern.")).note.id != note
