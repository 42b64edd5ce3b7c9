"""ingest: markdown and text files become notes, each once, however often it is called."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.cli.session import caller_in, run, settings_here
from holdfast.cli.terminal import DONE, NOTHING, as_json, clean, err, out
from holdfast.engine.arguments import LARGEST_CONTENT
from holdfast.engine.memory import Memory
from holdfast.engine.ports import Caller
from holdfast.engine.remember import Duplicate, Remember, remember
from holdfast.errors import ConflictError, InvalidArgumentError, LimitExceededError, SecretRefusedError

SUFFIXES: Final = frozenset({".md", ".markdown", ".txt"})
_ITS_OWN: Final = (ConflictError, InvalidArgumentError, SecretRefusedError)  # of one file: the others go on
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Ingested:
    """What became of the files: `known` ones had been stored before, `refused` tells a sentence for each path."""

    stored: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def run_ingest(options: argparse.Namespace) -> int:
    """Store every file; 1 where some were refused."""
    settings = settings_here()
    files = list(_files([Path(path) for path in options.paths], settings.home))
    given = Remember("", type=options.type, space=options.space, tags=options.tag, once=True)
    who = caller_in(settings)
    done = run(settings, lambda memory: _ingest(memory, who, files, given))
    _tell(options, done)
    return NOTHING if done.refused else DONE


async def _ingest(memory: Memory, who: Caller, files: Sequence[Path], given: Remember) -> Ingested:
    done, screen = Ingested(), err()
    for number, path in enumerate(files, 1):
        screen.progress(number, len(files), "files")
        try:
            await _ingest_file(memory, who, path, given, done)
        except _ITS_OWN as error:
            done.refused[str(path)] = str(error)
    screen.clear()
    return done


async def _ingest_file(memory: Memory, who: Caller, path: Path, given: Remember, done: Ingested) -> None:
    request = replace(given, content=_text(path))
    outcome = await memory.attend(lambda ports: remember(ports, who, request), anew=True)
    among = done.known if isinstance(outcome, Duplicate) else done.stored
    among[str(path)] = outcome.note.id


def _files(paths: Sequence[Path], home: Path) -> Iterator[Path]:
    """The files that are named, and those of named folders; never what is hidden, or the memory's own.

    Raises:
        InvalidArgumentError: a path leads to nothing, or to what is in the memory already.
    """
    home = home.resolve()
    for path in paths:
        if path.resolve().is_relative_to(home):
            raise InvalidArgumentError("A path is in the memory folder.", "What is there is found already.")
        if path.is_dir():
            yield from _below(path, home)
        elif path.is_file():
            yield path
        else:
            raise InvalidArgumentError("A path leads to no file and no folder.", "Nothing was stored; check the paths.")


def _below(top: Path, home: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(top):
        seen = (name for name in inner if not name.startswith("."))
        inner[:] = sorted(name for name in seen if (Path(folder) / name).resolve() != home)
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and path.is_file():
                yield path


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_CONTENT + len(_MARK) + 1).removeprefix(_MARK)
        if len(data) > LARGEST_CONTENT:
            raise LimitExceededError("The file is larger than a note may be.", "Split it.")
        return data.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise InvalidArgumentError(f"The file cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError("The file is no UTF-8 text.", "Convert it first.") from error


def _tell(options: argparse.Namespace, done: Ingested) -> None:
    if options.json:
        out().say(as_json(asdict(done)))
        return
    out().say(f"{len(done.stored):,} stored, {len(done.known):,} known already, {len(done.refused):,} refused")
    screen = err()
    for path, sentence in done.refused.items():
        screen.say(f"{clean(path)}: {sentence}")
