"""One question to a memory, in this process: opened for it and closed after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from holdfast.app import build_memory, place
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, InvalidArgumentError
from holdfast.running import configure_logs, warn_of_unknown
from holdfast.settings import Settings, load_settings

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
