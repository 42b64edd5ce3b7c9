"""What waits for a person: proposals, contradictions, doubted beliefs, files that are no notes; pairs are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.engine.arguments import space as space_named
from holdfast.engine.maintenance.verdicts import Proposal, list_proposals
from holdfast.engine.omi.beliefs import standings
from holdfast.engine.ports import Ports, View
from holdfast.index.overview import Opposed
from holdfast.index.rows import IndexedNote
from holdfast.model.note import Note

MOST = 20  # of each kind
MOST_PROPOSALS = 50


@dataclass(frozen=True, slots=True)
class Review:
    """What waits; `notes` has every note that is named, `beliefs` how each doubted one stands.

    `quarantined` are the first files that cannot be read as notes, of `count_quarantined`; `count_proposals` is how
    many wait in all.
    """

    proposals: tuple[Proposal, ...]
    count_proposals: int
    opposed: tuple[Opposed, ...]
    doubted: tuple[str, ...]
    beliefs: dict[str, str]
    quarantined: tuple[tuple[str, str], ...]
    count_quarantined: int
    notes: dict[str, Note]


async def review(ports: Ports, space: str | None, *, gated: bool) -> Review:
    """What is known to wait in a space, or everywhere; `pairs` looks for more. Looking settles nothing.

    Args:
        ports: the world.
        space: where, None for everywhere. Files that are no notes are told of in any case.
        gated: whoever looks is behind the gate. Without it there are no proposals, and of the files that cannot be
            read as notes the first alone is named, as `recall` does.

    Raises:
        InvalidArgumentError: `space` can be no space's name.
    """
    name = None if space is None else space_named("space", space)
    proposals = await list_proposals(ports) if gated else []

    def read(view: View) -> tuple[list[Opposed], list[str], dict[str, IndexedNote], list[tuple[str, str]]]:
        opposed = view.opposed(name, ports.now, MOST)
        doubted = view.doubted(name, ports.now, MOST)
        ids = {note for proposal in proposals[:MOST_PROPOSALS] for note in proposal.hashes}
        ids |= {note for item in opposed for note in (item.first, item.second)}
        return opposed, doubted, view.notes(ids | set(doubted)), view.problems()

    opposed, doubted, rows, problems = await ports.index.read(read)
    notes = {note_id: row.note for note_id, row in rows.items()}
    here = [proposal for proposal in proposals if name is None or _touches(proposal, name, notes)]
    return Review(
        tuple(here[:MOST_PROPOSALS]),
        len(here),
        tuple(opposed),
        tuple(each for each in doubted if each in notes),
        await standings(ports, [notes[each] for each in doubted if each in notes]),
        tuple(problems[: MOST if gated else 1]),
        len(problems),
        notes,
    )


def _touches(proposal: Proposal, space: str, notes: dict[str, Note]) -> bool:
    spaces: Sequence[str] = [notes[each].space for each in proposal.hashes if each in notes]
    return space in spaces or not spaces
