"""An editor that saves in place: it opens a file, cuts it, writes it in two parts and closes it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.store.filesystem import FileSystem

STAGES = ("opened", "cut", "half", "written", "closed")
SECOND = 1_000_000_000


class Editor:
    """Saves a text into a file, stage by stage."""

    def __init__(self, path: Path, text: bytes) -> None:
        self._path = path
        self._text = text
        self._done = 0
        self._handle = -1

    def save_until(self, stage: str) -> None:
        """Go on with saving as far as to this stage; "" for not having begun."""
        while self._done < (STAGES.index(stage) + 1 if stage else 0):
            self._step(STAGES[self._done])
            self._done += 1

    def finish(self) -> None:
        self.save_until(STAGES[-1])

    def write_again(self, text: bytes) -> None:
        """Save once more through the same handle, which must not be closed yet."""
        self._text = text
        os.ftruncate(self._handle, 0)
        os.lseek(self._handle, 0, os.SEEK_SET)
        self._done = STAGES.index("cut") + 1

    def _step(self, stage: str) -> None:
        half = len(self._text) - 8  # the frontmatter is whole, so that it is a note
        if stage == "opened":
            self._handle = os.open(self._path, os.O_WRONLY)
        elif stage == "cut":
            os.ftruncate(self._handle, 0)
        elif stage == "half":
            os.write(self._handle, self._text[:half])
        elif stage == "written":
            os.write(self._handle, self._text[half:])
        else:
            os.close(self._handle)


class Dated(FileSystem):
    """A disk whose clock a test can put forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0

    def now_ns(self) -> int:
        return super().now_ns() + self.ahead


class Unknowing(Dated):
    """A system that cannot tell who has a file open."""

    @contextmanager
    def lone_reader(self, path: Path) -> Iterator[bool | None]:
        path.lstat()
        yield None
