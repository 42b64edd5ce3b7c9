"""Disks that refuse a step, fill up, or forget at a power cut what nobody flushed."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Self
from unittest import mock

from holdfast.store import filesystem
from holdfast.store.filesystem import FileSystem

LOOKING = ("read", "exists", "signature", "size", "scan", "list_folder", "list_hidden", "look")
CHANGING = ("create", "append", "truncate", "move", "swap", "set_time", "remove", "flush_folder", "make_folder")
STEPS = (*LOOKING, *CHANGING)
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO, errno.EROFS)
FORGOTTEN = (".holdfast", "locks")  # what a restart makes anew
BLOCK = 64  # what a name costs on a disk that fills up

_LINK = os.link  # the real one, for a disk's own use

State = dict[str, bytes | None]  # contents by path below the folder; None is a folder
Found = tuple[tuple[str, bytes | None], ...]  # the same, in order


class Watched(FileSystem):
    """The real disk, one step at a time; `before` is told of each step before it is made."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[str, tuple[Any, ...]], None] = lambda _name, _arguments: None
        self._turn = threading.RLock()


def _watched(name: str) -> Callable[..., Any]:
    def step(self: Watched, *arguments: Any, **options: Any) -> Any:
        with self._turn:
            self.before(name, arguments)
            return getattr(FileSystem, name)(self, *arguments, **options)

    return step


for _name in STEPS:
    setattr(Watched, _name, _watched(_name))


class Failing(Watched):
    """Fails at the n-th step, and at all later ones if it `stays` broken.

    A failing write leaves half of it behind, unless `torn` is off: then nothing is done any more, as by a process
    that was killed.
    """

    def __init__(
        self, at: int, *, stays: bool, steps: Sequence[str] = STEPS, torn: bool = True, error: int | None = None
    ) -> None:
        super().__init__()
        self.before = self._fail
        self.armed = False
        self.fired = False
        self.made: list[tuple[str, str]] = []  # the steps that counted: their names and paths
        self._at = self._left = at
        self._stays = stays
        self._steps = steps
        self._torn = torn
        self._error = ERRORS[at % len(ERRORS)] if error is None else error

    @property
    def seen(self) -> int:
        """How many steps there were."""
        return self._at - self._left

    def _fail(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed or not (name in self._steps or (self._stays and self.fired)):
            return
        self._left -= 1
        self.made.append((name, str(arguments[0])))
        if self._left == -1 or (self._stays and self._left < 0):
            self.fired = True
            if self._torn and name in {"create", "append"} and self._left == -1:
                with suppress(OSError), arguments[0].open("ab") as file:
                    file.write(arguments[1][: len(arguments[1]) // 2])
            raise OSError(self._error, os.strerror(self._error), str(arguments[0]))


# A disk that fills up, or fails beneath a step


class _Written:
    """A file that is being written; `take` says how many of the next bytes the disk accepts."""

    def __init__(self, file: BinaryIO, take: Callable[[int], int]) -> None:
        self._file = file
        self._take = take

    def write(self, data: bytes) -> int:
        room = self._take(len(data))
        written = self._file.write(data[:room])
        if room < len(data):
            self._file.flush()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class Small(Watched):
    """A disk with room for so many bytes more; what is removed or cut off makes room again."""

    def __init__(self) -> None:
        super().__init__()
        self.room = 1 << 40
        self.refused = 0

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Every file that is opened for writing meanwhile is on this disk."""
        fdopen = os.fdopen

        def opened(handle: int, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            file = fdopen(handle, mode, *arguments, **options)
            return _Written(file, self._take) if mode in {"wb", "ab"} else file

        with mock.patch.object(os, "fdopen", opened):
            yield

    def _take(self, wanted: int) -> int:
        given = min(wanted, max(self.room, 0))
        self.room -= given
        self.refused += given < wanted
        return given

    def create(self, path: Path, data: bytes) -> None:
        with self._turn:
            if self._take(BLOCK) < BLOCK:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            room = self.room
            try:
                super().create(path, data)
            except OSError:
                if not path.exists():
                    self.room = room
                raise

    def remove(self, path: Path) -> None:
        with self._turn:
            size = self.size(path)
            super().remove(path)
            self.room += size

    def truncate(self, path: Path, size: int) -> None:
        with self._turn:
            before = self.size(path)
            super().truncate(path, size)
            self.room += before - size


@contextmanager
def failing_flush(at: int) -> Iterator[list[int]]:
    """The n-th flush to the disk fails, and only that; yields a list that tells how many there were."""
    made = [0]

    def fsync(_handle: int) -> None:
        made[0] += 1
        if made[0] == at + 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with mock.patch.object(os, "fsync", fsync):
        yield made


# A disk that forgets


class Disk:
    """What may be found after a power cut: what was flushed, and any part of what was not.

    Of names that were made, moved or removed, and whose folder was not flushed since, any may be kept and any lost, in
    whatever order they were made; one move within a folder is never half done, one between two folders may be. A text
    that was not flushed may be torn at any byte and have holes.
    """

    def __init__(self, home: Path, kept: Path) -> None:
        self.home = home
        self._kept = kept  # second names, so that no inode is used twice
        self._kept.mkdir()
        self._names: dict[int, dict[str, int]] = {}
        self._texts: dict[int, bytes] = {}
        self._seen: dict[int, dict[str, int]] = {}
        self._marks: dict[int, tuple[int, int]] = {}
        self._late_names: list[tuple[int, dict[str, int | None]]] = []
        self._late_texts: dict[int, bytes] = {}
        self.notice()
        self._names = {folder: dict(names) for folder, names in self._seen.items()}
        self._texts |= self._late_texts
        self._late_names, self._late_texts = [], {}

    def notice(self) -> None:
        """Take in what was done since the last look."""
        for folder, entries in self._walk(self.home):
            inode = folder.stat().st_ino
            names = {entry.name: entry.inode() for entry in entries}
            before = self._seen.get(inode, {})
            late = {name: names.get(name) for name in before | names if before.get(name) != names.get(name)}
            if late:
                self._late_names.append((inode, late))
            self._seen[inode] = names
            self._names.setdefault(inode, {})
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    self._notice_text(Path(entry.path))

    def _walk(self, folder: Path) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
        with os.scandir(folder) as found:
            entries = [entry for entry in found if entry.name not in FORGOTTEN]
        yield folder, entries
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(Path(entry.path))

    def _notice_text(self, path: Path) -> None:
        status = path.stat()
        mark = status.st_size, status.st_mtime_ns
        if self._marks.get(status.st_ino) != mark:
            if status.st_ino not in self._marks:
                _LINK(path, self._kept / str(status.st_ino))
            self._marks[status.st_ino] = mark
            text = path.read_bytes()
            if text != self._late_texts.get(status.st_ino, self._texts.get(status.st_ino)):
                self._late_texts[status.st_ino] = text

    def flush(self, inode: int) -> None:
        self.notice()
        if inode in self._seen:
            self._names[inode] = dict(self._seen[inode])
            self._late_names = [(folder, late) for folder, late in self._late_names if folder != inode]
        elif inode in self._late_texts:
            self._texts[inode] = self._late_texts.pop(inode)

    @property
    def late(self) -> int:
        """How many things a power cut may keep or lose."""
        return len(self._late_names) + len(self._late_texts)

    def image(self, kept: Sequence[int], chance: Random) -> State:
        """What is found when of the late things only these were kept."""
        names = {folder: dict(found) for folder, found in self._names.items()}
        for number, (folder, late) in enumerate(self._late_names):
            if number in kept:
                names[folder] |= {name: inode for name, inode in late.items() if inode is not None}
                for name in (name for name, inode in late.items() if inode is None):
                    names[folder].pop(name, None)
        texts = dict(self._texts)
        for number, (inode, text) in enumerate(self._late_texts.items(), len(self._late_names)):
            texts[inode] = text if number in kept else _torn(self._texts.get(inode, b""), text, chance)
        state: State = {}
        self._build(self.home.stat().st_ino, "", names, texts, state)
        return state

    def _build(
        self, folder: int, path: str, names: dict[int, dict[str, int]], texts: dict[int, bytes], state: State
    ) -> None:
        for name, inode in names[folder].items():
            if inode in names:
                state[f"{path}{name}"] = None
                self._build(inode, f"{path}{name}/", names, texts, state)
            else:
                state[f"{path}{name}"] = texts.get(inode, b"")


def _torn(old: bytes, new: bytes, chance: Random) -> bytes:
    if not new.startswith(old):
        return old
    end = chance.randint(len(old), len(new))
    hole = sorted((chance.randint(len(old), end), chance.randint(len(old), end)))
    whole = chance.random() < 0.5
    return new[:end] if whole else new[: hole[0]] + bytes(hole[1] - hole[0]) + new[hole[1] : end]


def seeded(seed: int) -> Random:
    """Chance that can be repeated."""
    return Random(seed)  # noqa: S311 - a moment, not a secret


def parts(count: int, chance: Random, most: int) -> list[tuple[int, ...]]:
    """Which of so many things are kept: every combination where there are few, else a sample with the extremes."""
    everything = tuple(range(count))
    if 2**count <= most:
        return [some for size in range(count + 1) for some in combinations(everything, size)]
    extremes = [(), everything, *((number,) for number in everything)]
    extremes += [tuple(number for number in everything if number != lost) for lost in everything]
    some = [tuple(number for number in everything if chance.getrandbits(1)) for _ in range(most)]
    return [*chance.sample(extremes[2:], min(len(extremes) - 2, most)), *extremes[:2], *some]


class KilledError(BaseException):
    """Ends a process in the middle of a step: nothing is tidied up behind it."""


class Recorded(Watched):
    """Notes before every step what a kill and what power cuts would leave of the folder.

    `images` tells of each state that may be found when; `acknowledged` is for whoever makes the calls. At the step
    `dies_at` the process is killed, and touches nothing any more.
    """

    def __init__(self, disk: Disk, chance: Random, most: int, dies_at: int | None = None) -> None:
        super().__init__()
        self.disk = disk
        self.before = self._take
        self.recording = False
        self.acknowledged = False
        self.images: dict[tuple[bool, Found], str] = {}
        self.dead = False
        self._chance = chance
        self._most = most
        self._left = dies_at

    def _take(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in CHANGING or self.dead:
            self._live(f"{name} {arguments[0].name}")

    def _live(self, step: str) -> None:
        if self._left is not None and self.recording:
            self._left -= 1
            self.dead = self._left < 0
        if self.dead:
            raise KilledError(step)
        if self.recording:
            self.take(step)

    def take(self, step: str) -> None:
        self.disk.notice()
        if self._most == 0:
            return
        for kept in parts(self.disk.late, self._chance, self._most):
            state = tuple(sorted(self.disk.image(kept, self._chance).items()))
            moment = "after the answer, " if self.acknowledged else ""
            self.images.setdefault((self.acknowledged, state), f"{moment}before {step}, kept {kept}/{self.disk.late}")

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """Flushes and moves of the whole process meanwhile are noted; nothing is really flushed."""

        def fsync(handle: int) -> None:
            with self._turn:
                self._live("a flush")
                self.disk.flush(os.fstat(handle).st_ino)

        def noted(call: Callable[..., None]) -> Callable[..., None]:
            def step(*arguments: Any, **options: Any) -> None:
                with self._turn:
                    call(*arguments, **options)
                    self._live(f"what follows a {call.__name__}")

            return step

        with (
            mock.patch.object(os, "fsync", fsync),
            mock.patch.object(os, "link", noted(os.link)),
            mock.patch.object(os, "replace", noted(os.replace)),
            mock.patch.object(os, "rename", noted(os.rename)),
        ):
            yield


def lay_out(state: Found, home: Path) -> None:
    """Make a folder as a state tells."""
    home.mkdir()
    for path, text in state:  # sorted: a folder before what is in it
        if text is None:
            (home / path).mkdir()
        else:
            (home / path).write_bytes(text)


def one_by_one(*, backwards: bool) -> Callable[..., Awaitable[None]]:
    """What runs side by side, one after the other: always the same, forwards or backwards."""

    async def together(*calls: Callable[[], Awaitable[object]]) -> None:
        errors = []
        for call in reversed(calls) if backwards else calls:
            try:
                await call()
            except Exception as error:  # noqa: BLE001 - as the real one does
                errors.append(error)
        if errors:
            raise errors[0]

    return together


@contextmanager
def without_exchange() -> Iterator[None]:
    """A kernel that can neither exchange two names nor refuse to take one that is taken."""
    with mock.patch.object(filesystem, "_renameat2", return_value=None):
        yield
