"""admin_rebuild_index: the index is thrown away; the next request builds it anew from the notes."""

from __future__ import annotations

from holdfast.engine.ports import Ports


async def discard_index(ports: Ports) -> None:
    """Take the index away, unless somebody is building it just now, which is waited for.

    Raises:
        StorageError: it cannot be removed.
    """
    async with ports.store.alone():
        await ports.index.erase()


async def count_notes(ports: Ports) -> int:
    """How many notes the index knows."""
    return await ports.index.read(lambda view: view.count_notes())
