"""Commands as a shell would run them, in this process where nothing depends on having one's own."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

from structlog.testing import capture_logs

import holdfast.cli.verbs
from holdfast.__main__ import main


@dataclass(frozen=True)
class Ran:
    stdout: str
    stderr: str


def ran(environment: Mapping[str, str], *arguments: str, given: str | bytes = b"", code: int = 0) -> Ran:
    """What a command says, which must end with this exit code."""
    data = given.encode() if isinstance(given, str) else given
    said, complained = (io.TextIOWrapper(io.BytesIO(), "ascii") for _ in range(2))
    umask = os.umask(0o022)
    try:
        with ExitStack() as around:
            around.enter_context(patch.dict(os.environ, environment, clear=True))
            around.enter_context(patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "ascii")))
            around.enter_context(patch.object(holdfast.cli.verbs, "configure_logs"))  # this process has its own
            around.enter_context(capture_logs())
            around.enter_context(redirect_stdout(said))
            around.enter_context(redirect_stderr(complained))
            ended = _ended(arguments)
    finally:
        os.umask(umask)
    found = Ran(_text(said), _text(complained))
    assert ended == code, found
    return found


def _ended(arguments: tuple[str, ...]) -> int:
    try:
        return main(list(arguments))
    except SystemExit as end:  # argparse's way
        return int(str(end.code))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.detach().getvalue().decode("utf-8")  # type: ignore[attr-defined,no-any-return]
