"""Contradictions: what two notes say by opposite words, and beliefs that one note speaks for and against.

They are told and never acted upon: nothing is retired and no edge is written because of one. The journal keeps them for
those who look later:

    {"op": "contradiction", "at": instant, "by": principal, "source": client, "found": [[id, id, pattern], ...]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import structlog

from holdfast.engine.encoding import encode_note
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.resolve import resolve
from holdfast.errors import StorageError
from holdfast.index.rows import IndexedNote
from holdfast.model.events import ContradictionDetectedEvent
from holdfast.model.ids import SELF_ID
from holdfast.model.maintenance import cosine
from holdfast.model.memory import GLOBAL_SPACE, Note
from holdfast.model.opposition import opposition
from holdfast.model.query import Filter

NEAREST, NEAREST_TERMS = 50, 8
CLOSE_Z = 3.4  # deviations above the background: as near as notes that are linked on their own
OPPOSITE_EVIDENCE = "one note supports the one and contradicts the other"
FOUND = "contradiction"  # what its line of the journal is about
_POLARITIES = {"supports": "contradicts", "contradicts": "supports"}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two notes that contradict each other, and how that was seen."""

    memory_id_1: str
    memory_id_2: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether two notes contradict each other; `pattern` says by what, None where they do not."""

    contradiction: bool
    pattern: str | None


async def keep_contradictions(ports: Ports, caller: Caller, found: Sequence[Contradiction]) -> None:
    """Tell the journal, then those who listen. What was stored before stays so, whatever becomes of this."""
    if not found:
        return
    told = [[item.memory_id_1, item.memory_id_2, item.pattern] for item in found]
    line = {"op": FOUND, "at": ports.now, "by": caller.principal, "source": caller.source, "found": told}
    try:
        await ports.store.record(line)
    except StorageError as error:
        log.warning("contradiction_not_kept", reason=str(error))
    tell_contradictions(ports, found)


def read_contradictions(line: Mapping[str, Any]) -> list[ContradictionDetectedEvent]:
    """Those that a line of the journal tells; none where it is none of ours."""
    found = line.get("found")
    entries = found if line.get("op") == FOUND and isinstance(found, list) else []
    whole = [entry for entry in entries if isinstance(entry, list) and [type(each) for each in entry] == [str] * 3]
    return [ContradictionDetectedEvent(*entry, timestamp=str(line.get("at", ""))) for entry in whole]


def tell_contradictions(ports: Ports, found: Iterable[Contradiction]) -> None:
    """Tell those who listen."""
    for item in found:
        ports.events.publish(ContradictionDetectedEvent(item.memory_id_1, item.memory_id_2, item.pattern))


async def check_contradiction(ports: Ports, memory1_id: str, memory2_id: str) -> Checked:
    """Compare two notes.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note.
    """
    one = (await resolve(ports.index, memory1_id, what="memory1_id")).note
    other = (await resolve(ports.index, memory2_id, what="memory2_id")).note
    pattern = opposition(one.content, other.content) or opposition(
        one.content, other.content, close=await _are_close(ports, one, other)
    )
    if pattern is None and await _share_evidence(ports, one, other):
        pattern = OPPOSITE_EVIDENCE
    if pattern is not None:
        tell_contradictions(ports, [Contradiction(one.id, other.id, pattern)])
    return Checked(pattern is not None, pattern)


async def opposed_notes(ports: Ports, note: Note, leave_out: Iterable[str] = ()) -> list[Contradiction]:
    """Which of the nearest current notes of its space, or of none, say the opposite; nearest first."""
    encoded = await encode_note(ports, note.title, note.content)
    vector = encoded.query
    wanted = Filter(now=ports.now, spaces=tuple(dict.fromkeys((note.space, GLOBAL_SPACE))))
    words = "" if vector else note.content
    found = await ports.index.search(words, vector, wanted, NEAREST, NEAREST_TERMS)
    near = {item.id: item.z or 0.0 for item in found.candidates if item.id not in {note.id, SELF_ID, *leave_out}}
    notes = await ports.index.notes(near)
    told = []
    for note_id in sorted(near.keys() & notes.keys(), key=lambda found: (-near[found], found)):
        pattern = opposition(note.content, notes[note_id].note.content, close=near[note_id] >= CLOSE_Z)
        if pattern is not None:
            told.append(Contradiction(note.id, note_id, pattern))
    return told


def opposed_pairs(
    notes: Sequence[Note], vectors: Mapping[str, bytes], background: tuple[float, float]
) -> list[Contradiction]:
    """Which of these notes say the opposite of each other; `background` is mean and deviation of their cosines."""
    mean, deviation = background

    def are_close(one: Note, other: Note) -> bool:
        if one.id not in vectors or other.id not in vectors:
            return False
        return cosine(vectors[one.id], vectors[other.id]) >= mean + CLOSE_Z * deviation

    told = []
    for one, other in combinations(notes, 2):
        pattern = opposition(one.content, other.content)
        if pattern is None and (close := opposition(one.content, other.content, close=True)) and are_close(one, other):
            pattern = close
        if pattern is not None:
            told.append(Contradiction(one.id, other.id, pattern))
    return told


async def opposed_beliefs(ports: Ports, belief: Note, evidence_id: str, polarity: str) -> list[Contradiction]:
    """Current beliefs to which the same note is evidence of the other polarity."""
    links = await ports.index.links([evidence_id])
    other = _POLARITIES[polarity]
    ends = {link.target for link in links if link.source == evidence_id and link.type == other} - {belief.id}
    notes = await ports.index.notes(sorted(ends))
    return [Contradiction(belief.id, end, OPPOSITE_EVIDENCE) for end in sorted(ends) if _is_current(notes.get(end))]


def _is_current(found: IndexedNote | None) -> bool:
    return found is not None and found.note.type == "belief" and not found.note.is_outdated


async def _are_close(ports: Ports, one: Note, other: Note) -> bool:
    first, second = [await encode_note(ports, note.title, note.content) for note in (one, other)]
    made_with = first.made_with
    if made_with is None or second.made_with is None or made_with.key != second.made_with.key:
        return False
    if not first.chunks or not second.chunks:
        return False
    likeness = cosine(first.chunks[0], second.chunks[0])
    return bool(likeness >= made_with.background_mean + CLOSE_Z * made_with.background_deviation)


async def _share_evidence(ports: Ports, one: Note, other: Note) -> bool:
    if {one.type, other.type} != {"belief"} or one.id == other.id:
        return False
    links = await ports.index.links([one.id, other.id])
    cited = {(link.source, link.target, link.type) for link in links if link.type in _POLARITIES}
    return any((source, other.id, _POLARITIES[kind]) in cited for source, target, kind in cited if target == one.id)
