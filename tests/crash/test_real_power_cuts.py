"""A power cut on a real file system: ext4 loses whatever was not flushed, and gives what it has after its recovery."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conftest import Effort
from crowd import HANG, LostError, Piped, RefusedError, cleared
from disks import seeded
from ledger import assert_journal_is_whole
from processes import until

FIRST_WORDS = ("anchor", "ballast", "capstan", "davit")
IMAGE_BYTES = 48 << 20
SHUT_DOWN, WITHOUT_JOURNAL = 0x8004587D, (2).to_bytes(4, "little")  # of linux/fs.h: as if the power went
MOUNTED = "loop,commit=3600,noauto_da_alloc,data={mode}"  # nothing is written behind by itself
UNHEARD = "look before you repeat it"


def can_cut() -> bool:
    """Whether this user may mount an image with an ext4 in a namespace of their own."""
    if sys.platform != "linux" or os.geteuid() != 0 or not (shutil.which("mkfs.ext4") and shutil.which("unshare")):
        return False
    probe = "t=$(mktemp -d) && truncate -s 8M $t/i && mkfs.ext4 -q -F $t/i && mount -o loop $t/i /mnt && umount /mnt"
    return subprocess.run(["unshare", "--mount", "sh", "-c", probe], check=False, capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(not can_cut(), reason="NOT TESTED: a real power cut needs root, loop devices and mkfs.ext4"),
]


@dataclass
class Disk:
    """An image with an ext4, and a server whose memory lies on it."""

    image: Path
    environment: dict[str, str]
    mode: str

    def __post_init__(self) -> None:
        with self.image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self.image)], check=True)
        self.home.mkdir()

    @property
    def home(self) -> Path:
        return Path(self.environment["HOLDFAST_HOME"])

    @property
    def command(self) -> Sequence[str]:
        mount = f'mount -o {MOUNTED.format(mode=self.mode)} "{self.image}" "{self.home}"'
        return ("unshare", "--mount", "sh", "-c", f'{mount} && exec "{sys.executable}" -m holdfast')

    def server(self) -> Piped:
        until(self._is_free)  # the mount of a process that has ended goes a moment after it
        return Piped(self.environment, command=self.command)

    def _is_free(self) -> bool:
        return not any(str(self.image) in _backing(path) for path in Path("/sys/block").glob("loop*/loop/backing_file"))

    def seen_by(self, server: Piped) -> Path:
        return Path(f"/proc/{server.process.pid}/root") / self.home.relative_to("/")

    def cut(self, server: Piped) -> None:
        handle = os.open(self.seen_by(server), os.O_RDONLY)
        try:
            fcntl.ioctl(handle, SHUT_DOWN, WITHOUT_JOURNAL)
        finally:
            os.close(handle)


def _backing(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@dataclass
class Book:
    """What was asked of the notes by their words, and how it was answered."""

    ids: dict[str, str] = field(default_factory=dict)
    fates: dict[tuple[str, str], str] = field(default_factory=dict)  # of a word and what was asked: done, refused, ?

    def note(self, asked: tuple[str, str], future: Future[dict[str, Any]]) -> None:
        try:
            told = future.result(HANG)
        except RefusedError as error:
            self.fates[asked] = "?" if UNHEARD in str(error) else "refused"
        except LostError:
            self.fates[asked] = "?"
        else:
            self.fates[asked] = "done"
            if asked[1] == "store":
                self.ids[asked[0]] = told["id"]

    def check(self, server: Piped) -> None:
        for (word, what), fate in self.fates.items():
            hits = server.ask("recall", query=word, include_outdated=True, limit=5)["results"]
            [*found] = (hit for hit in hits if word in hit["content"].split())
            assert len(found) <= 1
            if what == "store" and fate != "?":
                assert len(found) == (fate == "done"), (word, fate)
            if what == "outdate" and fate != "?":
                assert found[0]["outdated"] is (fate == "done"), (word, fate)


@pytest.mark.parametrize("mode", ["ordered", "writeback"])
def test_what_was_acknowledged_is_there_after_the_power_went_and_what_was_refused_is_not(
    mode: str, tmp_path: Path, environment: dict[str, str], tally: Counter[str], effort: Effort
) -> None:
    book, chance = Book(), seeded(len(mode))
    disk = Disk(tmp_path / "image", environment, mode)
    for number in range(effort.of(3, 30)):
        with cleared() as servers:
            server = disk.server()
            servers.append(server)
            book.check(server)
            asked = dict(some_calls(server, book, chance, number))
            wait_for_some(list(asked.values()), chance)
            disk.cut(server)
            for what, future in asked.items():
                book.note(what, future)
            server.kill()
        tally["power cuts of a real file system"] += 1
    with cleared() as servers:
        server = disk.server()
        servers.append(server)
        book.check(server)
        assert_journal_is_whole(disk.seen_by(server))
    assert "done" in book.fates.values()
    tally["calls that were under way at one"] += sum(fate != "done" for fate in book.fates.values())


def some_calls(
    server: Piped, book: Book, chance: Random, number: int
) -> Iterator[tuple[tuple[str, str], Future[dict[str, Any]]]]:
    """New notes, and older ones retired, all asked at once."""
    older = [word for word in book.ids if (word, "outdate") not in book.fates]
    for each in range(24):
        word = f"{FIRST_WORDS[each % 4]}{number}n{each}"
        yield (word, "store"), server.call("remember", content=f"{word} is where it was left")
        if older and each % 2:
            old = older.pop(chance.randrange(len(older)))
            yield (old, "outdate"), server.call("mark_outdated", node_id=book.ids[old], reason="it was moved")


def wait_for_some(futures: Sequence[Future[dict[str, Any]]], chance: Random) -> None:
    """Until so many were answered: the others are somewhere on their way."""
    most = chance.randrange(1, len(futures))
    until(lambda: sum(future.done() for future in futures) >= most)
