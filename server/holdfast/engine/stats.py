"""What is stored, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.engine.ports import Ports, View
from holdfast.engine.vectorsets import count_waiting
from holdfast.index.statistics import Statistics


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of notes; those of spaces, types and tiers are of current ones.

    `pending_vectors` wait for the encoder of the settings; `last_backup` is an instant.
    """

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

    def look(view: View) -> tuple[Statistics, int]:
        return view.statistics(), len(view.problems())

    counts, quarantined = await ports.index.read(look)
    pending = await count_waiting(ports)
    backups = await ports.vault.backups() if ports.vault is not None else []
    return Stats(
        notes=counts.notes,
        spaces=counts.by_space,
        types=counts.by_type,
        tiers=counts.by_tier,
        outdated=counts.retired,
        quarantined=quarantined,
        pending_vectors=pending,
        last_backup=backups[0].created_at if backups else None,
    )
