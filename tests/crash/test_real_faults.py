"""A real server on a disk that is really full, too small for its files or read-only, or with no handle left."""

from __future__ import annotations

import resource
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import Effort
from mounts import MOUNTING, UNPRIVILEGED, can_mount, fill
from processes import HOLDFAST, Stdio, stdio

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of a running process can be set on Linux")

LARGE = 6000  # bytes, more than a page


@dataclass
class Ledger:
    """What a server said of each word that it was to remember."""

    server: Stdio
    tally: Counter[str]
    stored: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def store(self, word: str, size: int = 0) -> bool:
        more = f" and the {word} stays there" * (size // 20)
        answer = self.server.tool("remember", content=f"The {word} is where it was left{more}")
        text = answer["content"][0]["text"]
        if answer.get("isError"):
            assert text.startswith("StorageError"), text
            assert "look before you repeat it" not in text
            self.refused.add(word)
            self.tally["faults injected"] += 1
        else:
            self.stored.add(word)
        return word in self.stored

    def check(self, server: Stdio | None = None) -> None:
        """Every word that was stored is found, and none that was refused."""
        for word in self.stored | self.refused:
            answer = (server or self.server).tool("recall", query=word, limit=3)
            assert "isError" not in answer or not answer["isError"], answer
            hits = [hit for hit in answer["structuredContent"]["results"] if word in hit["content"].split()]
            assert len(hits) == (word in self.stored), word


@contextmanager
def working(environment: dict[str, str], tally: Counter[str], *command: str) -> Iterator[Ledger]:
    with stdio(environment, command=command or HOLDFAST) as server:
        server.begin()
        ledger = Ledger(server, tally)
        ledger.store("anchor")
        ledger.store("compass")
        yield ledger


def killed_and_checked(environment: dict[str, str], ledger: Ledger) -> None:
    ledger.server.process.kill()
    ledger.server.process.wait()
    with stdio(environment) as server:
        server.begin()
        ledger.check(server)
        code, _ = server.end()
        assert code == 0


def limit(server: Stdio, which: int, most: int | None) -> None:
    _, hard = resource.prlimit(server.process.pid, which)
    resource.prlimit(server.process.pid, which, (hard if most is None else most, hard))


def test_a_write_that_is_cut_short_at_a_limit_is_refused_whole_and_made_when_the_limit_is_lifted(
    environment: dict[str, str], tally: Counter[str], effort: Effort
) -> None:
    """No file may grow beyond a size: the journal, the note or the index is cut short, whichever is the first."""
    home = Path(environment["HOLDFAST_HOME"])
    with working(environment, tally) as ledger:
        sizes = sorted({path.stat().st_size for path in home.rglob("*") if path.is_file()} - {0})
        for size in sizes:
            for more in range(effort.of(2, 20)):
                limit(ledger.server, resource.RLIMIT_FSIZE, size + 97 * more)
                ledger.store(f"limit{size}x{more}", LARGE if more % 2 else 0)
                limit(ledger.server, resource.RLIMIT_FSIZE, None)
                assert ledger.store(f"lifted{size}x{more}")
        assert ledger.refused
        ledger.check()
        killed_and_checked(environment, ledger)


def test_a_server_that_cannot_write_its_last_line_ends_all_the_same(
    environment: dict[str, str], tally: Counter[str]
) -> None:
    with working(environment, tally) as ledger:
        journal = next(Path(environment["HOLDFAST_HOME"]).glob("journal/*.jsonl"))
        limit(ledger.server, resource.RLIMIT_FSIZE, journal.stat().st_size)
        code, _ = ledger.server.end()
        assert code == 0
        killed_and_checked(environment, ledger)


def test_a_server_without_a_free_file_handle_says_so_and_works_again_when_there_are_some(
    environment: dict[str, str], tally: Counter[str], effort: Effort
) -> None:
    with working(environment, tally) as ledger:
        handles = Path(f"/proc/{ledger.server.process.pid}/fd")
        for more in range(effort.of(12, 40)):
            limit(ledger.server, resource.RLIMIT_NOFILE, max(int(path.name) for path in handles.iterdir()) + 1 + more)
            ledger.store(f"handle{more}")
            asked = ledger.server.tool("recall", query="anchor")
            assert "anchor" in asked["content"][0]["text"] or "Error: " in asked["content"][0]["text"]
            limit(ledger.server, resource.RLIMIT_NOFILE, None)
            assert ledger.store(f"again{more}")
        assert ledger.refused
        ledger.check()
        killed_and_checked(environment, ledger)


@pytest.mark.parametrize("place", ["memories/harbour", "memories", "journal", "history", ".holdfast", "locks", "."])
def test_in_a_folder_that_may_not_be_written_a_store_is_refused_until_it_may(
    place: str, environment: dict[str, str], tally: Counter[str]
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    with working(environment, tally, sys.executable, "-c", UNPRIVILEGED) as ledger:
        below = [path for path in (home / place).rglob("*") if ".holdfast" not in path.parts]
        closed = [home / place, *(path for path in below if place not in {".", ".holdfast"})]
        modes = {path: path.stat().st_mode for path in closed}
        for path in closed:
            path.chmod(modes[path] & ~0o222)
        try:
            ledger.store("closed")
            ledger.check()
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        assert ledger.store("open")
        ledger.check()
        killed_and_checked(environment, ledger)


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a small disk of its own")
def test_a_disk_that_is_really_full_refuses_notes_whole_and_takes_them_when_there_is_room(
    environment: dict[str, str], tally: Counter[str], tmp_path: Path, effort: Effort
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    home.mkdir()
    script = f'mount -t tmpfs -o size=8m tmpfs "$HOLDFAST_HOME" && exec "{sys.executable}" -m holdfast'
    with working(environment, tally, *MOUNTING, "sh", "-c", script) as ledger:
        inside = Path(f"/proc/{ledger.server.process.pid}/root") / home.relative_to("/")
        ballast = inside / "ballast"
        rooms = range(0, 60, effort.of(2, 1))  # a store of today needs some 28 pages
        for pages in rooms:
            fill(ballast, spare=pages * 4096)
            ledger.store(f"full{pages}", LARGE if pages % 3 == 0 else 0)
            ledger.check()
            ballast.unlink()
            assert ledger.store(f"room{pages}")
        assert ledger.refused
        assert len(ledger.stored) > len(rooms) + 2
        shutil.copytree(inside, tmp_path / "taken out")
        fill(ballast, spare=0)
        code, _ = ledger.server.end()
        assert code == 0
        with stdio(environment | {"HOLDFAST_HOME": str(tmp_path / "taken out")}) as server:
            server.begin()
            ledger.check(server)
