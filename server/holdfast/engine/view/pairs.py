"""Near duplicates and what may be contradictions, looked for a few notes at a time: searching for each takes long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.engine.arguments import space as space_named
from holdfast.engine.maintenance.candidates import HOP, look_around
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError
from holdfast.model.maintenance import Candidate
from holdfast.model.note import Note
from holdfast.model.ranking import Filter

STEP = HOP // 2  # notes whose surroundings one call looks at: each is a search through the whole memory


@dataclass(frozen=True, slots=True)
class Pair:
    """Two notes that maintenance would have judged: near duplicates, or what may be a contradiction."""

    first: str
    second: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """What was found around some notes; `notes` has every note that is named.

    `looked` is how many notes have been looked at, those before `offset` included, of `total`.
    """

    conflicts: tuple[Pair, ...]
    alike: tuple[Pair, ...]
    notes: dict[str, Note]
    looked: int
    total: int


async def pairs(ports: Ports, caller: Caller, space: str | None, offset: int) -> Pairs:
    """Pairs with the next current notes of a space or of all, those that happened last first, from `offset` on.

    Looking settles nothing, and takes nothing off an agent's maintenance.

    Raises:
        InvalidArgumentError: `space` can be no space's name, or `offset` is below 0.
    """
    if offset < 0:
        raise InvalidArgumentError("offset is below 0.")
    name = None if space is None else space_named("space", space)
    wanted = Filter(ports.now, spaces=(name,) if name else ())
    page = await ports.index.read(lambda view: view.by_time(wanted, STEP, offset))
    found = await look_around(ports, caller.principal, page.ids, ("conflicts", "merges"))
    notes = {text.note.id: text.note for item in found for text in item.texts}
    looked = min(offset + STEP, page.total)
    return Pairs(_of("conflicts", found), _of("merges", found), notes, looked, page.total)


def _of(kind: str, candidates: Iterable[Candidate]) -> tuple[Pair, ...]:
    return tuple(
        Pair(first.note.id, second.note.id, item.similarity)
        for item in candidates
        if item.kind == kind
        for first, second in [item.texts]
    )
