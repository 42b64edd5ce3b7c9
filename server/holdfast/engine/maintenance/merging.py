"""Two notes become one, or several are told by a new one: each a single change, which one undo takes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from holdfast.engine.commit import LARGEST_CONTENT, MOST_TAGS, TextGate, check_known, commit, load_current, resolve_all
from holdfast.engine.encoding import encode_note
from holdfast.engine.maintenance.candidates import is_said_between
from holdfast.engine.maintenance.verdicts import (
    ConsolidationVerdict,
    MergeVerdict,
    Outcome,
    VerdictRefusedError,
    Work,
    last_change,
    needs_person,
    pairs,
    propose,
    under_lock,
)
from holdfast.errors import ConflictError
from holdfast.index.rows import IndexedNote
from holdfast.model.lifecycle import MemoryStoredEvent, read_evidence, updated
from holdfast.model.maintenance import CONSOLIDATED, MERGED, TOGETHER
from holdfast.model.note import (
    GLOBAL_SPACE,
    SELF_ID,
    TIERS,
    Link,
    Note,
    filled,
    in_time,
    majority_space,
    memory_type,
    said_at,
    tags_once,
    title_of,
)
from holdfast.model.opposition import compared
from holdfast.model.parts import Lost, left_out
from holdfast.model.records import judgement
from holdfast.model.statement import statement
from holdfast.model.versions import MADE_OF
from holdfast.model.words import counted, quoted
from holdfast.store.stored import Change

MOST_ORIGINALS = 20
LEFT_OUT = "merged_content leaves out {}: if that matters, {}."
UNTOLD = "{}: if that matters, {}merge with merged_content."
FEW_UNTOLD = "Only the other had: {}."
_MERGE, _CONSOLIDATE = "merge", "consolidate"


async def merge(work: Work, verdict: MergeVerdict) -> Outcome:
    """Let the kept note mean both; the other one's file goes to the trash.

    Raises:
        VerdictRefusedError: it cannot be applied.
        HoldfastError: nothing was written.
    """
    keep = await work.resolve(verdict.keep_id, "keep_id")
    discard = await work.resolve(verdict.discard_id, "discard_id")
    if keep.note.id == discard.note.id:
        if verdict.keep_id.strip().lower() == verdict.discard_id.strip().lower():
            raise VerdictRefusedError("rejected", "keep_id and discard_id are the same note.")
        change = await last_change(work.ports, verdict.discard_id.strip().lower(), _MERGE)
        return work.outcome("skipped", f"They are one note already, {keep.note.id}.", change)
    if SELF_ID in (keep.note.id, discard.note.id):
        raise VerdictRefusedError("rejected", "ProtectedNoteError: the Self note is never merged.")
    work.check([keep, discard])
    gate = TextGate(work.ports)
    title = gate.line("merged_title", verdict.merged_title)
    content = verdict.merged_content
    if content is not None:
        content = gate.text("merged_content", content, LARGEST_CONTENT)
    if not work.approved and needs_person(work.ports, [keep, discard]):
        waits = replace(verdict, merged_title=title, merged_content=content)
        return await propose(work, waits, [keep, discard], pairs([keep, discard], judgement, MERGED))
    whole = content or keep.note.content
    told = replace(keep.note, title=title or keep.note.own_title or title_of(whole), content=whole)
    is_back = await is_said_between(work.ports, *in_time(keep.note, discard.note))
    kept, gone = [(await load_current(work.ports, item)).note for item in (keep, discard)]  # with their evidence
    made = replace(_union(kept, gone, {}, is_back), title=told.title, content=told.content)
    length = sum(len(note.content) for note in (kept, gone, made))
    lost = await work.ports.computing.run(
        work.caller.principal, length, partial(_lost, kept, gone, made, dry_run=work.dry_run)
    )
    if work.dry_run:
        return work.outcome("applied", f"It would merge {discard.note.id} into {keep.note.id}.{lost}")
    outcome = await _merge(work, keep, discard, told, is_back)
    return replace(outcome, reason=outcome.reason + lost)


def _lost(keep: Note, discard: Note, whole: Note, *, dry_run: bool) -> str:
    """What neither text nor fields of the note that two become tell any more, and what to do about it."""
    if whole.content == keep.content:
        said = _untold_by(discard, whole, "" if dry_run else "undo this and ")
    else:
        both = replace(whole, content=f"{whole.content}\n{keep.content}")
        lost = left_out(keep, whole), left_out(discard, both)
        left = " … ".join(each.said for each in lost if each.weighs and each.said)
        said = f" {LEFT_OUT.format(quoted(left), 'add it' if dry_run else 'undo this and merge again')}" if left else ""
    times = {note.event_time for note in (keep, discard)} - {None, whole.event_time}
    gone = [f"type {discard.type}"] * (discard.type != whole.type)
    gone += [f"session {quoted(discard.session)}"] if discard.session not in (None, whole.session) else []
    gone += [f"event time {each[:10]}" for each in sorted(filter(None, times))]
    said += f" Not kept: {', '.join(gone)}." if gone else ""
    return said + _confidence(whole.confidence, [keep, discard])


def _confidence(made: float, notes: Sequence[Note]) -> str:
    """How confident what notes become is, where that is not what each of them was."""
    each = [f"{note.confidence:.4g}" for note in notes]
    return "" if set(each) == {f"{made:.4g}"} else f" Its confidence is {made:.4g}; they had {', '.join(each)}."


def _untold_by(discard: Note, whole: Note, first: str) -> str:
    """What of a note the one that is kept in its place does not tell, and what to do; plain words are only named."""
    left = left_out(discard, whole)
    if not left.weighs:
        return f" {FEW_UNTOLD.format(quoted(left.said))}" if left.said else ""
    said = f"{'Only the other said' if left.said else 'The other said it'} {_named(left)}"
    return f" {UNTOLD.format(said, first)}"


def _named(left: Lost) -> str:
    """What is lost, in quotes, and the word without which it was said; empty where nothing is lost."""
    without = f"without {quoted(left.without)}" if left.without else ""
    return ", and ".join(filter(None, (left.said and quoted(left.said), without)))


async def _merge(work: Work, keep: IndexedNote, discard: IndexedNote, told: Note, is_back: bool) -> Outcome:
    ports, title, content = work.ports, told.title, told.content
    encoded = await encode_note(ports, title, content)
    names = await ports.index.read(lambda view: view.aliases([keep.note.id, discard.note.id]))
    judged = pairs([keep, discard], judgement, MERGED)
    async with ports.store.hold({keep.note.id, discard.note.id}) as made:
        await check_known(ports, made)
        kept, gone = await under_lock(ports, keep), await under_lock(ports, discard)
        union = _union(kept.note, gone.note, names, is_back)
        whole = replace(union, title=title, content=content, updated=max(ports.now, kept.note.created))
        done = await commit(
            ports,
            work.caller,
            _MERGE,
            [Change(kept, whole), Change(gone, None)],
            {whole.id: encoded},
            replace(work.detail(judged), kept=whole.id, discarded=gone.note.id),
        )
    return work.outcome(
        "applied", f"{gone.note.id} was merged into {whole.id}, and its id means that now.", done.change_id
    )


def _union(keep: Note, discard: Note, names: Mapping[str, str], is_back: bool) -> Note:
    """The kept note with what only the other one had: tags, edges, earlier ids, evidence, what it is about, when.

    The higher tier of both counts. What one of them told everywhere goes on being told everywhere. `is_back` says that
    something else was told between the two.
    """
    belief = _with_evidence(keep, discard)
    return replace(
        belief,
        **filled(keep, discard) | _time_of_both(keep, discard, is_back),
        space=GLOBAL_SPACE if discard.space == GLOBAL_SPACE else keep.space,
        tier=min(keep.tier, discard.tier, key=TIERS.index),
        tags=tags_once((*keep.tags, *discard.tags)),
        about_self=keep.about_self or discard.about_self,
        merged=tuple(dict.fromkeys((*keep.merged, discard.id, *discard.merged))),
        connections=_edges(keep, discard, names),
    )


def _time_of_both(keep: Note, discard: Note, is_back: bool) -> dict[str, str | None]:
    """Since when the merged note holds: since the later of the two where something else was told between them.

    A plan keeps its day, an event that of the kept. When something happened is never made up: a day is one that was
    told. The other note's is taken over unless it says something else.
    """
    earlier, later = in_time(keep, discard)
    is_planned = any((note.event_time or "") > note.created for note in (keep, discard))
    if keep.type == "event" and not is_planned:
        return {"event_time": keep.event_time or discard.event_time}
    if later.event_time or is_planned:
        return {"event_time": later.event_time or earlier.event_time, "valid_from": later.valid_from}
    taken = discard.event_time if compared(keep, discard).difference == "none" else None
    is_later = is_back and (later is discard or taken is not None) and not statement(keep.content).happened
    since = said_at(later) if is_later else keep.valid_from
    return {"event_time": keep.event_time or taken, "valid_from": since}


def _edges(keep: Note, discard: Note, names: Mapping[str, str]) -> tuple[Link, ...]:
    """Both notes' edges, each once with the higher weight; none between the two."""
    inside = {keep.id, discard.id, *names}
    strongest: dict[tuple[str, str], Link] = {}
    for link in (*keep.connections, *discard.connections):
        known = strongest.get((link.to, link.type))
        if link.to not in inside and (known is None or link.weight > known.weight):
            strongest[link.to, link.type] = link
    return tuple(strongest.values())


def _with_evidence(keep: Note, discard: Note) -> Note:
    """A kept belief goes on from its own confidence with the other one's evidence, by the same formula."""
    if keep.type != "belief":
        return keep
    confidence, entries = keep.confidence, list(keep.evidence)
    for entry in discard.evidence:
        given = read_evidence(entry)
        if given is None:
            continue
        old, confidence = confidence, updated(confidence, supports=given.supports, strength=given.strength)
        entries.append(replace(given, old_confidence=old, new_confidence=confidence).as_entry())
    return replace(keep, confidence=confidence, evidence=tuple(entries))


async def consolidate(work: Work, verdict: ConsolidationVerdict) -> Outcome:
    """Tell several notes by a new one; they are kept in the archival tier, and linked from it.

    Raises:
        VerdictRefusedError: it cannot be applied.
        HoldfastError: nothing was written.
    """
    if not 1 < len(set(verdict.node_ids)) <= MOST_ORIGINALS:
        raise VerdictRefusedError("rejected", f"node_ids takes 2 to {MOST_ORIGINALS} different notes.")
    originals = await resolve_all(work.ports.index, verdict.node_ids, what="node_ids")
    found = {item.note.id: item for item in originals}
    if len(originals) == 1:
        raise VerdictRefusedError("rejected", "All node_ids mean the same note.")
    if SELF_ID in found:
        raise VerdictRefusedError("rejected", "ProtectedNoteError: the Self note is never consolidated.")
    done_before = await _consolidated(work, list(found))
    if done_before:
        change = await last_change(work.ports, done_before, _CONSOLIDATE)
        return work.outcome("skipped", f"They are consolidated already, in {done_before}.", change)
    work.check(originals)
    gate = TextGate(work.ports)
    content = gate.text("content", verdict.content, LARGEST_CONTENT)
    title = gate.line("title", verdict.title)
    if title is None:
        raise VerdictRefusedError("rejected", "title is blank.")
    clean = replace(verdict, title=title, content=content, node_ids=tuple(found))
    if not work.approved and needs_person(work.ports, originals):
        return await propose(work, clean, originals, pairs(originals, judgement, TOGETHER))
    notes = [item.note for item in originals]
    length = len(content) + sum(len(note.content) for note in notes)
    lost = await work.ports.computing.run(work.caller.principal, length, partial(_untold, notes, clean))
    if work.dry_run:
        return work.outcome("applied", f"It would consolidate {counted(len(originals), 'note')}.{lost}")
    outcome = await _consolidate(work, clean, originals)
    return replace(outcome, reason=outcome.reason + lost)


def _untold(originals: Sequence[Note], verdict: ConsolidationVerdict) -> str:
    """What the originals say and a consolidation of them does not."""
    whole = replace(originals[0], title=verdict.title, content=verdict.content)
    each = [f"{note.id} {said}" for note in originals if (said := _named(left_out(note, whole)))]
    said = f" Only the originals say: {'; '.join(each)}." if each else ""
    return said + _confidence(_least_confidence(originals), originals)


async def _consolidate(work: Work, verdict: ConsolidationVerdict, originals: Sequence[IndexedNote]) -> Outcome:
    ports = work.ports
    note = _successor(work, verdict, [item.note for item in originals])
    encoded = await encode_note(ports, note.title, note.content)
    judged = pairs(originals, judgement, TOGETHER)
    async with ports.store.hold({note.id, *(item.note.id for item in originals)}) as made:
        await check_known(ports, made)
        before = [await under_lock(ports, item) for item in originals]
        if await _consolidated(work, verdict.node_ids):
            raise ConflictError("The notes were consolidated meanwhile.", "Nothing was written; repeat the call.")
        archived = [
            Change(stored, replace(stored.note, tier="archival", updated=max(ports.now, stored.note.created)))
            for stored in before
            if stored.note.tier != "archival"
        ]
        done = await commit(
            ports,
            work.caller,
            _CONSOLIDATE,
            [Change(None, note), *archived],
            {note.id: encoded},
            work.detail(judged, made=note.id, originals=list(verdict.node_ids)),
        )
    ports.events.publish(MemoryStoredEvent(note.id, note.content, memory_type(note.type), note.confidence))
    return work.outcome("applied", f"{len(originals)} notes are told by {note.id} now.", done.change_id)


def _successor(work: Work, verdict: ConsolidationVerdict, originals: Sequence[Note]) -> Note:
    now = work.ports.now
    return Note(
        id=work.ports.new_id(),
        content=verdict.content,
        title=verdict.title,
        created=now,
        updated=now,
        type=verdict.type,
        space=majority_space(originals),
        tags=_tags(originals),
        confidence=_least_confidence(originals),
        source=work.caller.source,
        connections=tuple(Link(note.id, "derived_from", 1.0, MADE_OF, now) for note in originals),
        about_self=any(note.about_self for note in originals),
        event_time=max(note.happened for note in originals),
    )


def _least_confidence(originals: Iterable[Note]) -> float:
    return min(note.confidence for note in originals)


def _tags(originals: Iterable[Note]) -> tuple[str, ...]:
    return tags_once((CONSOLIDATED, *(tag for note in originals for tag in note.tags)))[:MOST_TAGS]


async def _consolidated(work: Work, ids: Sequence[str]) -> str | None:
    """The current note that these were consolidated into already."""
    links = await work.ports.index.links(ids)
    made_of: dict[str, set[str]] = {}
    for link in links:
        if link.type == "derived_from" and link.reason == MADE_OF:
            made_of.setdefault(link.source, set()).add(link.target)
    whole = [note_id for note_id, originals in made_of.items() if originals >= set(ids)]
    notes: dict[str, Any] = await work.ports.index.notes(whole)
    return next((each for each in whole if each in notes and not notes[each].note.is_outdated), None)
