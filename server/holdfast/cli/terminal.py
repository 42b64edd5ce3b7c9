"""What is shown on a terminal, without a note's control characters; and one question to a memory of its own."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO, TypeVar

import anyio

from holdfast.app import build_memory, place
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, InvalidArgumentError, StorageError
from holdfast.running import configure_logs, warn_of_unknown
from holdfast.settings import Settings, load_settings

DONE: Final = 0
NOTHING: Final = 1  # nothing was found, or something is not as it should be
FAILED: Final = 2  # a wrong call, or an error

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
            told = f"The answer cannot be written: {error.strerror}."
            raise StorageError(told, "Look what was done before you call again.") from error

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


Answer = TypeVar("Answer")

SOURCE = "holdfast-cli"


def settings_here(*, warn: bool = True) -> Settings:
    """The settings of this run, with logs as they say, and nobody else allowed to read what is made.

    Args:
        warn: log what of them nobody reads.
    """
    settings = load_settings(os.environ)
    os.umask(0o077)
    configure_logs(settings.log_level)
    if warn:
        warn_of_unknown(settings)
    return settings


def caller_in(settings: Settings) -> Caller:
    """Who asks: a person at work in the current folder."""
    return Caller(*place(settings), SOURCE)


def run(settings: Settings, work: Callable[[Memory], Awaitable[Answer]]) -> Answer:
    """Open the memory, do the work, close it.

    Raises:
        HoldfastError: whatever the work raises.
    """
    memory = build_memory(settings)

    async def whole() -> Answer | HoldfastError:
        async with memory.running():
            try:
                return await work(memory)
            except HoldfastError as error:  # raised here it would come out as a group
                return error

    outcome = anyio.run(whole)
    if isinstance(outcome, HoldfastError):
        raise outcome
    return outcome


def text_of(given: str) -> str:
    """Text from the command line, or from standard input for `-`.

    Raises:
        InvalidArgumentError: nothing can come in, or what comes in is no UTF-8.
    """
    if given != "-":
        return given
    if sys.stdin is None:
        raise InvalidArgumentError("There is no standard input to read from.", "Pipe the text in.")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError("Standard input is no UTF-8.", "Convert it first.") from error
