"""A change is found in the journal also where another request has just begun to read that anew, as after a purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.ports import Ports
from holdfast.engine.sync import replay
from worlds import keep, living

pytestmark = pytest.mark.anyio


async def test_a_change_is_found_while_the_journal_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with living(tmp_path) as memory:
        stored = await keep(memory, "The mole is closed in winter.")
        assert isinstance(stored, NoteStored)
        plain, interrupted = replay.follow, 0

        async def follow(ports: Ports, slices: int | None = None, until: int | None = None) -> bool:
            nonlocal interrupted
            ended = await plain(ports, slices, until)
            if not interrupted:
                interrupted += 1
                await replay._begin_anew(ports)  # what the other request does at that moment
            return ended

        monkeypatch.setattr(replay, "follow", follow)
        found = await memory.attend(lambda ports: replay.find_line(ports, stored.change_id or ""))
        assert interrupted
        assert found is not None
        assert found.record.change == stored.change_id
