"""Watched folders whose server is killed again and again: no note twice, none missing, and the files as they were."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from conftest import Effort
from holdfast.engine.sync.watched import Hippocampus
from holdfast.importers.markdown import Watched, WatchedFolders
from processes import ROOT
from transcripts_worker import built

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


def watching(home: Path, docs: Path) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(ROOT / "server"), str(ROOT / "tests" / "support")])
    command = [sys.executable, str(ROOT / "tests" / "support" / "watch_worker.py"), str(home), str(docs)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL)


async def test_two_servers_that_are_killed_leave_each_file_as_one_note(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    docs, count, drawn = tmp_path / "docs", effort.of(40, 400), random.Random(3)  # noqa: S311 - when to kill
    docs.mkdir()
    for number in range(count):
        file = docs / f"{number}.md"
        file.write_text(f"Quay {number} has the crane CR-{1000 + number}.", "utf-8")
        os.utime(file, (1e9, 1e9))
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in docs.iterdir()}
    notes = tmp_path / "memory" / "memories" / "docs"
    for _ in range(effort.of(3, 60)):
        had = len(list(notes.glob("*.md")))
        with ExitStack() as stack:
            both = [stack.enter_context(watching(tmp_path, docs)) for _ in range(2)]
            deadline = time.monotonic() + 60
            while len(list(notes.glob("*.md"))) == had and had < count:
                assert time.monotonic() < deadline, "neither of the two took a file"
                time.sleep(0.01)  # noqa: ASYNC251 - other processes work
            time.sleep(drawn.uniform(0, 0.3))  # noqa: ASYNC251 - as above
            for process in both:
                process.kill()
        tally["kills of a watcher"] += 2
    memory = built(tmp_path)
    async with memory.running():
        watcher = Hippocampus(memory, WatchedFolders(tmp_path / "memory", [Watched(docs, "docs")], (), 1 << 20))
        while await watcher.look():
            pass
    texts = [path.read_text("utf-8") for path in notes.glob("*.md")]
    cranes = Counter(word.strip(".") for text in texts for word in text.split("---")[-1].split() if "CR-" in word)
    assert cranes == Counter({f"CR-{1000 + number}": 1 for number in range(count)})
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in docs.iterdir()} == before
