"""What is stored, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.engine.ports import Ports, View
from holdfast.engine.vectorsets import identity
from holdfast.index.listings import Kinds


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of notes. `pending_vectors` wait for the encoder of the settings; `last_backup` is an instant."""

    notes: int
    spaces: Mapping[str, int]
    types: Mapping[str, int]
    tiers: Mapping[str, int]
    outdated: int
    quarantined: int
    pending_vectors: int
    last_backup: str | None


async def stats(ports: Ports) -> Stats:
    """Count what there is.

    Raises:
        StorageError: the folder cannot be read.
    """
    own = identity(ports.encoder)

    def look(view: View) -> tuple[list[Kinds], int, int]:
        return view.kinds(), len(view.problems()), view.count_pending(own.key) if own else 0

    kinds, quarantined, pending = await ports.index.read(look)
    backups = await ports.vault.backups() if ports.vault is not None else []
    spaces, types, tiers = Counter[str](), Counter[str](), Counter[str]()
    for kind in kinds:
        spaces[kind.space] += kind.count
        types[kind.type] += kind.count
        tiers[kind.tier] += kind.count
    return Stats(
        notes=spaces.total(),
        spaces=dict(spaces),
        types=dict(types),
        tiers=dict(tiers),
        outdated=sum(kind.count for kind in kinds if kind.outdated),
        quarantined=quarantined,
        pending_vectors=pending,
        last_backup=backups[0].created_at if backups else None,
    )
