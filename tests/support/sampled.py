"""Which of a change's calls are made to fail, and how: all that differ, and a share of those that are alike.

Two calls are of one sort when they do the same to the same kind of file: a backup's writes into notes that it copies
are all of one sort, the write of a journal line is another.
"""

from __future__ import annotations

import errno
import zlib
from collections.abc import Sequence
from pathlib import PurePosixPath

from disks import LOOKING, seeded

Fault = tuple[int, bool]  # an error's number, and whether the disk stays broken
FAULTS: tuple[Fault, ...] = ((errno.EIO, False), (errno.ENOSPC, False), (errno.EIO, True), (errno.ENOSPC, True))
FIRST = ((FAULTS[0], FAULTS[3]), (FAULTS[1], FAULTS[2]))  # how the first call of a sort fails: once, and from there on
ALIKE = 8  # calls of one sort that fail besides its first and its last
ALIKE_LOOKS = 2  # of those that change nothing themselves


def sort_of(name: str, path: str) -> str:
    """What a call does and to which kind of file; `path` is below the memory's folder."""
    parts = PurePosixPath(path.removesuffix(" (deleted)")).parts
    parts = tuple(part for part in parts if part != "/")
    if not parts:
        return f"{name} the folder"
    if parts[0] == ".holdfast":  # each of these is a file of its own kind
        return f"{name} {'/'.join(parts)}"
    kind = "hidden" if parts[-1].startswith(".") else PurePosixPath(parts[-1]).suffix or f"at depth {len(parts)}"
    return f"{name} {parts[0]} {kind}"


def moments(sorts: Sequence[str], name: str) -> list[tuple[int, Fault]]:
    """Which calls fail, by their numbers, each with how it fails.

    The first call of a sort fails once, and in another run so that the disk stays broken, with one error each; which,
    changes from sort to sort. The last, and all in between or as many of them as `ALIKE` by a chance that `name`
    determines, fail in one way each, in turn. What only looks fails in one way, and less often.

    Args:
        sorts: of the calls that the change makes on a sound disk, in their order.
        name: the change's.
    """
    chance = seeded(zlib.crc32(name.encode()))
    numbers: dict[str, list[int]] = {}
    for number, sort in enumerate(sorts):
        numbers.setdefault(sort, []).append(number)
    found: list[tuple[int, Fault]] = []
    turn = chance.randrange(len(FAULTS))
    for sort, (first, *others) in numbers.items():
        turn += 1
        looks = sort.partition(" ")[0] in LOOKING
        found += [(first, fault) for fault in (FAULTS[turn % 4 : turn % 4 + 1] if looks else FIRST[turn % 2])]
        between, last = others[:-1], others[-1:]
        few = chance.sample(between, min(ALIKE_LOOKS if looks else ALIKE, len(between)))
        found += [(number, FAULTS[place % 4]) for place, number in enumerate([*sorted(few), *last], turn)]
    return sorted(found)


def unfailed(sorts: Sequence[str], failed: set[str]) -> list[int]:
    """The numbers of calls whose sort never failed, one each: what runs beside a call may come at another number."""
    missing = dict.fromkeys(sort for sort in sorts if sort not in failed)
    return [sorts.index(sort) for sort in missing]
