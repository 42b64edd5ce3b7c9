"""Which vector set answers, which one is built, how far that is, and what can be dropped.

A process answers from the set of its own settings once that is ready; until then, and while its provider fails, from
another one that is ready and that it can encode a query for. A comparison is always within one set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import anyio

from holdfast.encode.vectorset import VectorSet, read_set
from holdfast.engine.ports import Encoder, Ports, View
from holdfast.errors import EncoderError, InvalidArgumentError
from holdfast.index.sets import SetRow
from holdfast.index.update import Update

BRIEF_SECONDS = 1.0  # how long a provider is waited for by what only looks


@dataclass(frozen=True, slots=True)
class Progress:
    """A vector set of the folder: `done` of `notes` are encoded. `wanted` is the set that the settings name."""

    key: str
    provider: str
    model: str
    dimension: int
    done: int
    notes: int
    ready: bool
    wanted: bool
    answering: bool


@dataclass(frozen=True, slots=True)
class Speaker:
    """An encoder that may answer. `key` is the set that it has to make; None where it has not told yet."""

    encoder: Encoder
    key: str | None
    is_wanted: bool
    is_remote: bool


def identity(encoder: Encoder | None) -> VectorSet | None:
    """The set that an encoder makes, as far as that is known without asking anybody."""
    if encoder is None:
        return None
    try:
        return encoder.vector_set
    except EncoderError:
        return None


async def identified(encoder: Encoder) -> VectorSet:
    """The same, asked for where it is not known.

    Raises:
        EncoderError: the provider does not tell.
    """
    return identity(encoder) or await encoder.identify()


def speakers(ports: Ports) -> list[Speaker]:
    """Who may encode what is to be compared, in the order in which they are asked."""
    if ports.encoder is None:
        return []
    mine = identity(ports.encoder)
    own = Speaker(ports.encoder, mine.key if mine else None, is_wanted=True, is_remote=mine is None or mine.is_remote)
    may_answer = is_answering(ports, own.key)
    if may_answer and not own.is_remote:
        return [own]
    others = list(_others(ports, own.key))
    return [own, *others] if may_answer else [*others, own]


def is_answering(ports: Ports, key: str | None) -> bool:
    """Whether vectors of this set may be compared: it is ready, or there is no other that is."""
    ready = {row.key for row in ports.index.vector_sets if row.ready}
    return key is None or key in ready or not ready


def _others(ports: Ports, own: str | None) -> Iterator[Speaker]:
    """Encoders of ready sets that the settings do not name; what runs in this process first."""
    if ports.kept is None:
        return
    sets = [read_set(row.described) for row in ports.index.vector_sets if row.ready and row.key != own]
    for vector_set in sorted((item for item in sets if item), key=lambda item: item.is_remote):
        encoder = ports.kept.of(vector_set)
        if encoder is not None:
            yield Speaker(encoder, vector_set.key, is_wanted=False, is_remote=vector_set.is_remote)


async def open_own(ports: Ports, opened: str) -> str:
    """Make the set of the settings known to the folder, so that it is built; returns its key.

    Args:
        ports: the world.
        opened: the key that this process opened before, empty for none.

    Raises:
        EncoderError: the provider cannot be asked.
    """
    if ports.encoder is None:
        return ""
    own = await identified(ports.encoder)

    def is_needed(view: View) -> bool:
        row = next((row for row in ports.index.vector_sets if row.key == own.key), None)
        if row is None or not row.described:
            return True
        if row.ready:
            return own.key != opened and view.is_stale(own.key)
        return view.count_pending(own.key) == 0

    if await ports.index.read(is_needed):
        await ports.index.apply(Update(opened=[SetRow(own.key, own.described)]))
    return own.key


async def count_waiting(ports: Ports) -> int:
    """How many notes wait for a vector of the settings' encoder.

    A remote provider that has not told what it is has a second to do so. Then the remote set that was begun last is
    taken for its own, and where there is none all notes wait.
    """
    if ports.encoder is None:
        return 0
    try:
        with anyio.fail_after(BRIEF_SECONDS):
            key = (await identified(ports.encoder)).key
    except (EncoderError, TimeoutError):
        remote = [row.key for row in ports.index.vector_sets if (known := read_set(row.described)) and known.is_remote]
        key = next(iter(remote), "")  # of no set is known: that counts all
    return await ports.index.count_pending(key)


async def progress(ports: Ports) -> list[Progress]:
    """All vector sets of the folder, the one that was begun last first."""

    def read(view: View) -> list[Progress]:
        mine = identity(ports.encoder)
        answering = next((speaker.key for speaker in speakers(ports)), None)
        notes = view.count_notes()
        return [_progress(row, view.count_pending(row.key), notes, mine, answering) for row in ports.index.vector_sets]

    return await ports.index.read(read)


def _progress(row: SetRow, pending: int, notes: int, own: VectorSet | None, answering: str | None) -> Progress:
    wanted = own.key if own else None
    told = own if row.key == wanted else read_set(row.described)
    provider, model, dimension = (told.provider, told.model, told.dimension) if told else ("", "", 0)
    return Progress(
        row.key, provider, model, dimension, notes - pending, notes, row.ready, row.key == wanted, row.key == answering
    )


async def drop(ports: Ports, key: str) -> None:
    """Forget a vector set that is not in use.

    Raises:
        InvalidArgumentError: there is no such set, or it is the one of the settings, or the only one that is ready.
    """
    rows = await ports.index.read(lambda _: ports.index.vector_sets)
    if key not in {row.key for row in rows}:
        raise InvalidArgumentError("There is no such vector set.")
    mine = identity(ports.encoder)
    if {row.key for row in rows if row.ready} == {key} or (mine is not None and mine.key == key):
        raise InvalidArgumentError("This vector set is in use.", "Another one has to answer before it can go.")
    await ports.index.apply(Update(dropped=[key]))
    while await ports.index.clear_dropped(key):
        pass
