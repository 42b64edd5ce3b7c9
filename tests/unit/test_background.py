"""Work in the background: an error that it does not know of ends neither it nor the memory."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import anyio
import pytest
from structlog.testing import capture_logs

from holdfast.engine import runtime
from transcripts_worker import built
from worlds import keep

pytestmark = pytest.mark.anyio
PATIENCE = 60.0
WORDS = "the words of a note"


async def test_background_work_that_fails_is_told_and_begun_anew_while_the_memory_goes_on(tmp_path: Path) -> None:
    memory, begun, goes = built(tmp_path), 0, anyio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun < 3:
            raise UnicodeEncodeError("utf-8", WORDS, 0, 1, WORDS)
        goes.set()
        await anyio.sleep_forever()

    memory.beside(work)
    with patch.object(runtime, "AGAIN_SECONDS", 0.0), capture_logs() as logs:
        async with memory.running():
            with anyio.fail_after(PATIENCE):
                await goes.wait()
            await keep(memory, "The lamp stands in the tower.")
    told = [line for line in logs if line["event"] == "background_work_failed"]
    assert [line["error"] for line in told] == ["UnicodeEncodeError"] * 2
    assert all("test_background.py:" in line["at"] and "work" in line["work"] for line in told)
    assert WORDS not in str(logs)


async def test_an_error_that_the_tending_of_a_memory_does_not_know_of_ends_no_server(tmp_path: Path) -> None:
    memory, looked = built(tmp_path), anyio.Event()
    tend, failures = memory._reconciler.tend, iter([ValueError(WORDS)])

    async def failing_once(_self: object) -> float | None:
        for error in failures:
            raise error
        looked.set()
        return await tend()

    with (
        patch.object(type(memory._reconciler), "tend", failing_once),
        patch.multiple(runtime, START_SECONDS=0.0, AGAIN_SECONDS=0.0),
        capture_logs() as logs,
    ):
        async with memory.running():
            with anyio.fail_after(PATIENCE):
                await looked.wait()
            await keep(memory, "The lamp stands in the tower.")
    assert [line["error"] for line in logs if line["event"] == "background_work_failed"] == ["ValueError"]


async def test_background_work_that_ends_by_itself_is_not_begun_anew() -> None:
    begun = []

    async def work() -> None:
        begun.append(1)

    with anyio.fail_after(PATIENCE):
        await runtime.kept_going(work)
    assert begun == [1]
