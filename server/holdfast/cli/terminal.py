"""What is said on a terminal: colours and progress only where a person looks, and never a note's control characters."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from holdfast.errors import StorageError

DONE: Final = 0
NOTHING: Final = 1  # nothing was found, or something is not as it should be

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # what steers a terminal
_BAR: Final = 24
_BACK: Final = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Screen:
    """A stream to say things on. `colour`: with colours; `live`: a line of it may be written over."""

    stream: TextIO
    colour: bool
    live: bool

    @classmethod
    def of(cls, stream: TextIO, environ: Mapping[str, str]) -> Screen:
        """How a stream may be written to: by who looks at it, and by `NO_COLOR` and `TERM`."""
        live = stream.isatty() and environ.get("TERM") != "dumb"
        return cls(stream, live and not environ.get("NO_COLOR"), live)

    def say(self, text: str = "") -> None:
        """One or more lines.

        Raises:
            StorageError: what the stream leads to is full, say.
            BrokenPipeError: nobody reads any more.
        """
        try:
            self.stream.write(text + "\n")
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            let_go(self.stream)
            sentence = f"The answer cannot be written: {error.strerror}."
            raise StorageError(sentence, "Look what was done before you call again.") from error

    def paint(self, text: str, style: str) -> str:
        """Text in a style, where there are colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour else text

    def progress(self, done: int, total: int, what: str) -> None:
        """Write a bar over the current line; nothing where nobody looks."""
        if self.live:
            filled = _BAR * done // max(total, 1)
            self.stream.write(f"{_BACK}[{'#' * filled}{'.' * (_BAR - filled)}] {done:,} of {total:,} {what}")
            self.stream.flush()

    def clear(self) -> None:
        """Take the bar away."""
        if self.live:
            self.stream.write(_BACK)
            self.stream.flush()


def let_go(stream: TextIO) -> None:
    """Send whatever a stream still holds nowhere: Python would try to write it once more when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def out() -> Screen:
    return Screen.of(sys.stdout, os.environ)


def err() -> Screen:
    return Screen.of(sys.stderr, os.environ)


def clean(text: str) -> str:
    """A stored text without what would steer the terminal that shows it."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def as_json(value: Any) -> str:
    """A result for programs; letters of all scripts as they are."""
    return json.dumps(value, ensure_ascii=False, indent=2)
