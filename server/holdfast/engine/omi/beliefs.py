"""belief_update: evidence moves the confidence in a belief; both notes change together or not at all.

Contradictions (two notes that say opposite things, beliefs that one note speaks for and against) are shown and never
acted upon: nothing is retired and no edge is written because of one. The journal keeps them for those who look later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import structlog

from holdfast.engine.commit import check_known, commit, load_current, resolve
from holdfast.engine.encoding import encode_note
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import (
    ConflictError,
    InvalidArgumentError,
    LimitExceededError,
    MemoryNotFoundError,
    QuarantinedError,
    StorageError,
)
from holdfast.index.rows import IndexedNote
from holdfast.model.lifecycle import (
    BeliefUpdatedEvent,
    ContradictionDetectedEvent,
    Evidence,
    is_held,
    read_evidence,
    standing,
    updated,
)
from holdfast.model.maintenance import cosine
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Link, Note
from holdfast.model.opposition import CLOSE_Z, Contradiction, opposition
from holdfast.model.ranking import Filter, Ranked
from holdfast.model.records import CONTRADICTION, JournalRecord, Opposed
from holdfast.store.codec import changed_document
from holdfast.store.stored import LARGEST_FILE, Change, Stored

NEAREST, NEAREST_TERMS = 50, 8
AS_RELEVANT = 0.02  # so much less relevant at the most counts as equally so, of two beliefs of which one is held
OPPOSITE_EVIDENCE = "one note supports the one and contradicts the other"
_POLARITIES = {"supports": "contradicts", "contradicts": "supports"}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Checked:
    """Whether two notes contradict each other; `pattern` says by what, None where they do not."""

    contradiction: bool
    pattern: str | None


async def keep_contradictions(ports: Ports, caller: Caller, found: Sequence[Contradiction]) -> None:
    """Write contradictions to the journal, then publish them. Where that fails, what was stored before stays stored."""
    if not found:
        return
    pairs = tuple(Opposed(item.memory_id_1, item.memory_id_2, item.pattern) for item in found)
    line = JournalRecord(CONTRADICTION, ports.now, caller.principal, caller.source, found=pairs)
    try:
        await ports.store.record(line)
    except StorageError as error:
        log.warning("contradiction_not_kept", reason=str(error))
    tell_contradictions(ports, found)


def read_contradictions(line: JournalRecord) -> list[ContradictionDetectedEvent]:
    """Those that a line of the journal tells."""
    return [ContradictionDetectedEvent(each.one, each.other, each.pattern, timestamp=line.at) for each in line.found]


def tell_contradictions(ports: Ports, found: Iterable[Contradiction]) -> None:
    """Publish contradictions as events."""
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
    opposed = []
    for note_id in sorted(near.keys() & notes.keys(), key=lambda found: (-near[found], found)):
        pattern = opposition(note.content, notes[note_id].note.content, close=near[note_id] >= CLOSE_Z)
        if pattern is not None:
            opposed.append(Contradiction(note.id, note_id, pattern))
    return opposed


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


REASON = "evidence"


@dataclass(frozen=True, slots=True)
class BeliefUpdate:
    """A note that speaks for a belief or against it, and how strongly, in 0..1."""

    belief_id: str
    evidence_memory_id: str
    supports: bool
    strength: float

    @property
    def polarity(self) -> str:
        return "supports" if self.supports else "contradicts"


@dataclass(frozen=True, slots=True)
class Believed:
    """The belief as it is now, what the update added to its evidence, and what contradicts it."""

    belief: Note
    evidence: Evidence
    change_id: str
    contradictions: tuple[Contradiction, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvidenceChain:
    """All updates of a belief in time order; `unread` counts entries that a person has made unreadable."""

    belief: Note
    evidence: tuple[Evidence, ...]
    unread: int


async def belief_update(ports: Ports, caller: Caller, request: BeliefUpdate) -> Believed:
    """Apply one piece of evidence; every call counts, also the same one again.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such belief or evidence.
        InvalidArgumentError: the first is no belief, both are one note, or the strength is outside 0..1.
        LimitExceededError: a note has as much evidence as its file holds.
        ConflictError, StorageError: nothing was written.
    """
    if not 0.0 <= request.strength <= 1.0:
        raise InvalidArgumentError("strength is outside 0 to 1.")
    belief = await resolve(ports.index, request.belief_id, what="belief_id")
    cited = await resolve(ports.index, request.evidence_memory_id, what="evidence_memory_id")
    if belief.note.type != "belief":
        raise InvalidArgumentError("belief_id is not a belief.", "Store one with memory_store, memory_type belief.")
    if belief.note.id == cited.note.id:
        raise InvalidArgumentError("evidence_memory_id is the belief itself.", "Name the note that speaks for it.")
    contradictions = await _contradictions(ports, belief.note, cited.note, request)  # nothing may fail after the commit
    async with ports.store.hold({belief.note.id, cited.note.id}) as made:
        await check_known(ports, made)
        before, source = await _current(ports, belief), await _current(ports, cited)
        if before.note.type != "belief":
            raise ConflictError("The belief has become a note of another type.", "Repeat the call.")
        now = max(ports.now, before.note.created)  # the clock may have gone back
        evidence = _next_evidence(before.note, source.note.id, request, now)
        entries = (*before.note.evidence, evidence.as_entry())
        after = replace(before.note, confidence=evidence.new_confidence, evidence=entries, updated=now)
        changes = [Change(before, after)]
        citing = _citing(source.note, after.id, request, now)
        if citing is not source.note:
            changes.append(Change(source, citing))
        for change in changes:
            _check_size(change)
        done = await commit(
            ports, caller, "belief_update", changes, detail=JournalRecord(more={"evidence": evidence.as_entry()})
        )
    moved = BeliefUpdatedEvent(after.id, evidence.old_confidence, evidence.new_confidence, evidence.memory_id)
    ports.events.publish(moved)
    await keep_contradictions(ports, caller, contradictions)
    return Believed(after, evidence, done.change_id, tuple(contradictions), _retired(after, source.note))


async def evidence_chain(ports: Ports, belief_id: str) -> EvidenceChain:
    """The evidence of a belief, from its file.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note.
        InvalidArgumentError: it is no belief.
    """
    found = await resolve(ports.index, belief_id, what="belief_id")
    if found.note.type != "belief":
        raise InvalidArgumentError("belief_id is not a belief.", "Only beliefs have evidence.")
    note = (await load_current(ports, found)).note
    read = [evidence for entry in note.evidence if (evidence := read_evidence(entry))]
    return EvidenceChain(
        note, tuple(sorted(read, key=lambda evidence: evidence.timestamp)), len(note.evidence) - len(read)
    )


async def standings(ports: Ports, notes: Sequence[Note]) -> dict[str, str]:
    """How each of these that is a belief stands. Evidence is read only where it is not held."""
    stands = {}
    for note in notes:
        if note.type == "belief":
            against = 0 if is_held(note.confidence) else await _contradictions_of(ports, note.id)
            stands[note.id] = standing(note.confidence, against)
    return stands


def believed_first(found: Sequence[tuple[Note, Ranked]]) -> list[int]:
    """The places of these in order, but each belief that is held no longer behind those that are and answer as well."""
    beliefs = [(at, *each) for at, each in enumerate(found) if each[0].type == "belief"]
    held = [(at, ranked) for at, note, ranked in beliefs if is_held(note.confidence)]
    places = list(range(len(found)))
    for at, note, mine in beliefs:
        if not is_held(note.confidence):
            places[at] = max([at, *(place for place, other in held if _answers_as_well(other, mine))])
    return sorted(range(len(found)), key=lambda at: (places[at], places[at] != at, at))


def _answers_as_well(one: Ranked, other: Ranked) -> bool:
    """Whether the one names as much of the question as the other, or is about as relevant."""
    if one.weak and not other.weak:
        return False
    return one.has_the_words_of(other) or one.relevance >= other.relevance - AS_RELEVANT


async def _contradictions_of(ports: Ports, belief_id: str) -> int:
    try:
        chain = await evidence_chain(ports, belief_id)
    except (MemoryNotFoundError, QuarantinedError, InvalidArgumentError, ConflictError, StorageError):
        return 0  # it was changed or taken away since it was found
    return sum(not item.supports for item in chain.evidence)


async def _current(ports: Ports, known: IndexedNote) -> Stored:
    """The note as it is under its lock: others may have updated it since it was looked up."""
    found = (await ports.index.notes([known.note.id])).get(known.note.id)
    if found is None:
        raise ConflictError("The note has gone meanwhile.", "Nothing was written; repeat the call.")
    return await load_current(ports, found)


def _next_evidence(belief: Note, memory_id: str, request: BeliefUpdate, now: str) -> Evidence:
    last = read_evidence(belief.evidence[-1]) if belief.evidence else None
    confidence = updated(belief.confidence, supports=request.supports, strength=request.strength)
    return Evidence(
        memory_id,
        request.supports,
        request.strength,
        max(now, last.timestamp) if last else now,  # in order, whatever the clock does
        belief.confidence,
        confidence,
    )


def _check_size(change: Change) -> None:
    """A file that is too long would be quarantined, and its note lost from sight."""
    if change.before is None or change.after is None:
        return
    if len(changed_document(change.before.document, change.before.note, change.after).render()) > LARGEST_FILE:
        raise LimitExceededError(
            "The evidence does not fit into the note's file any more.",
            "Store a new belief with the confidence that this one has, and supersede it.",
        )


def _citing(source: Note, belief_id: str, request: BeliefUpdate, now: str) -> Note:
    """The evidence with one edge to the belief of this polarity, which has the latest strength that is any."""
    same = [link for link in source.connections if (link.to, link.type) == (belief_id, request.polarity)]
    if request.strength == 0.0 or (len(same) == 1 and same[0].weight == request.strength):
        return source
    first = same[0] if same else Link(belief_id, request.polarity, reason=REASON, created=now)
    edge = replace(first, weight=request.strength)
    links = [link for link in source.connections if link not in same]
    place = source.connections.index(first) if same else len(links)
    return replace(source, connections=(*links[:place], edge, *links[place:]), updated=max(now, source.created))


async def _contradictions(ports: Ports, belief: Note, cited: Note, request: BeliefUpdate) -> list[Contradiction]:
    """What says the opposite of the belief. Evidence against it is expected to, and is no news."""
    opposed = await opposed_notes(ports, belief, () if request.supports else (cited.id,))
    known = {item.memory_id_2 for item in opposed}
    if request.supports and cited.id not in known and (pattern := opposition(belief.content, cited.content)):
        opposed.append(Contradiction(belief.id, cited.id, pattern))
    beliefs = await opposed_beliefs(ports, belief, cited.id, request.polarity)
    return [*opposed, *(item for item in beliefs if item.memory_id_2 not in known)]


def _retired(belief: Note, evidence: Note) -> tuple[str, ...]:
    notices = []
    if belief.is_outdated:
        notices.append("The belief is outdated; its confidence was updated all the same.")
    if evidence.is_outdated:
        notices.append("The evidence is outdated; it was counted all the same.")
    return tuple(notices)
