"""What a killed process left open is settled before anybody builds on it, whatever else goes on in the journal."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint

from holdfast.model.records import JournalRecord
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.locks import Lock
from plans import HALF_MADE, IDS, die_half_way, make_template, opened, texts

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("patience", [None, 5.0])
async def test_a_lock_taken_while_the_journal_is_busy_has_no_open_change_behind_it(
    tmp_path: Path, patience: float | None
) -> None:
    await make_template(tmp_path)
    store = opened(tmp_path)
    await store.open()
    await die_half_way(tmp_path)
    found: dict[str, str] = {}

    async def look() -> None:
        async with store.hold({IDS["b"]}) if patience is None else store.try_hold({IDS["b"]}, patience):
            found.update(await texts(store))

    writing = Lock(Folder(tmp_path).locks / "journal")
    async with anyio.create_task_group() as tasks, writing.hold():  # somebody else writes a line
        tasks.start_soon(store.record, JournalRecord("use"))
        while not store._journal._appends._turn.locked():  # until ours waits for it
            await checkpoint()
        tasks.start_soon(look)
        for _ in range(100):
            await checkpoint()
    assert found == HALF_MADE
    await store.aclose()


async def test_a_line_of_ours_that_is_being_flushed_keeps_nobody_waiting(tmp_path: Path) -> None:
    class Slow(FileSystem):
        began, go_on = anyio.Event(), anyio.Event()
        armed = False

        def append(self, path: Path, data: bytes, *, flush: bool) -> None:
            super().append(path, data, flush=flush)
            if self.armed:
                anyio.from_thread.run_sync(self.began.set)
                anyio.from_thread.run(self.go_on.wait)

    await make_template(tmp_path)
    files = Slow()
    store = opened(tmp_path, files)
    await store.open()
    await die_half_way(tmp_path)
    files.armed = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(store.record, JournalRecord("use"))
        await files.began.wait()
        with anyio.fail_after(20):  # the line that is there and not flushed yet is our own: it is no news
            assert [record["op"] for record in await store._journal.news()] == ["change"]
        files.armed = False
        files.go_on.set()
    await store.aclose()
