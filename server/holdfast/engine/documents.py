"""A long text in sections: one note of the whole and one for each section, stored and brought up to date as one change.

A section keeps its note for as long as its headings keep their words. Where its text has changed at its source, and
nobody has changed the note, the note takes the new text over; what it said stays in the history. The note of the whole
knows the sections that came with it, so that one that is there no more can be told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.engine.arrivals import Ready
from holdfast.engine.commit import check_known, commit, load_current
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.remember import AUTO_REASONS, is_selfless, self_change
from holdfast.index.projection import digest
from holdfast.index.rows import IndexedNote
from holdfast.model.ids import SELF_ID
from holdfast.model.memory import Link, Note
from holdfast.model.moving import IMPORTED_SECTIONS, IMPORTED_TEXT
from holdfast.store.codec import changed_document
from holdfast.store.frontmatter import parse
from holdfast.store.stored import Change, Stored

IMPORT = "admin_import"
STRUCTURE = ("part_of", "preceded_by")  # edges between the notes of one text


@dataclass(slots=True)
class Taken:
    """What became of the notes of a text, by id.

    `fresh` are new, `updated` took a change of the text over. `edited` differ from it and were left as they are, for
    somebody has edited them here. `gone` were removed here before, `known` counts all others that were there.
    `missing` are notes of sections that the text has no more.
    """

    fresh: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    known: int = 0
    change_id: str | None = None


async def came_in_sections(ports: Ports, ids: Sequence[str]) -> set[str]:
    """Which of these notes are those of a whole whose sections came with it."""
    links = await ports.index.links(ids)
    wholes = {link.target for link in links if link.type == STRUCTURE[0]} & set(ids)
    there = await ports.index.notes(wholes)
    return {each for each, known in there.items() if _sections_of(await load_current(ports, known))}


async def take_document(ports: Ports, caller: Caller, parts: Sequence[Ready], whole: str, *, writes: bool) -> Taken:
    """Store what is new of a text and bring up to date what has changed, all of it or nothing.

    Args:
        ports: the world.
        caller: who asks.
        parts: the note of the whole, then those of its sections.
        whole: all of the text, as a note that came before had it.
        writes: whether anything is to be stored; else it is only said what would be.

    Raises:
        ConflictError, StorageError: nothing was written.
    """
    async with ports.store.hold({SELF_ID, *(part.note.id for part in parts)}) as made:
        await check_known(ports, made)
        there = await ports.index.notes(part.note.id for part in parts)
        plan = await _plan(ports, parts, whole, there)
        changes = plan.changes
        if changes and writes:
            if await is_selfless(ports):
                changes = [self_change(ports.now), *changes]
            plan.taken.change_id = (await commit(ports, caller, "import", changes, None, {"admin": IMPORT})).change_id
    return plan.taken


@dataclass(slots=True)
class _Plan:
    """The changes to make for a text: `own` are its notes, those of former sections too, `before` the latter alone."""

    whole: str
    sections: list[str]
    before: list[str]
    own: set[str]
    taken: Taken
    changes: list[Change] = field(default_factory=list)


async def _plan(ports: Ports, parts: Sequence[Ready], whole: str, there: Mapping[str, IndexedNote]) -> _Plan:
    ids = [part.note.id for part in parts]
    past = await ports.index.read(lambda view: view.with_history(ids))
    before = _sections_of(await load_current(ports, there[ids[0]])) if ids[0] in there else []
    still = await ports.index.notes(each for each in before if each not in ids)
    taken = Taken(gone=[each for each in ids if each in past and each not in there])
    taken.missing = [each for each in before if each in still and not still[each].note.is_outdated]
    plan = _Plan(whole, ids[1:], before, {*ids, *before}, taken)
    for part in parts:
        known = there.get(part.note.id)
        if known is not None and _is_to_be_looked_at(plan, part, known):
            _bring_up_to_date(ports, plan, part, await load_current(ports, known))
        elif known is None and part.note.id not in past:
            taken.fresh.append(part.note.id)
            plan.changes.append(Change(None, part.note, _marked(plan, part.raw, part.note)))
    taken.known = len(there) - len(taken.updated)
    return plan


def _is_to_be_looked_at(plan: _Plan, part: Ready, known: IndexedNote) -> bool:
    """Whether a note may have to be changed: its text is another one, or those before it or around it are."""
    is_anew = plan.before != plan.sections
    return known.note.content != part.note.content or bool(plan.changes) or is_anew


def _bring_up_to_date(ports: Ports, plan: _Plan, part: Ready, stored: Stored) -> None:
    note = stored.note
    is_untouched = stored.document.values.get(IMPORTED_TEXT) == digest(note.content) or note.content == plan.whole
    if note.is_outdated or not is_untouched:
        plan.taken.edited += [note.id] if note.content != part.note.content else []
        return
    after = replace(note, content=part.note.content, connections=_links(note, part.note, plan.own))
    data = _marked(plan, changed_document(stored.document, note, after).render(), after)
    if after == note and parse(data).values == stored.document.values:
        return
    after = replace(after, updated=max(ports.now, note.created))
    data = _marked(plan, changed_document(stored.document, note, after).render(), after)
    plan.changes.append(Change(stored, after, data))
    plan.taken.updated.append(note.id)


def _links(note: Note, arrived: Note, own: set[str]) -> tuple[Link, ...]:
    """The edges of a section as its text has them now, and those that it came to have here."""
    given = {(link.to, link.type): link for link in arrived.connections if link.reason not in AUTO_REASONS}
    kept = [
        link
        for link in note.connections
        if link.to not in own or link.type not in STRUCTURE or (link.to, link.type) in given
    ]
    there = {(link.to, link.type) for link in kept}
    return (*kept, *(link for key, link in given.items() if key not in there))


def _marked(plan: _Plan, data: bytes, note: Note) -> bytes:
    """A note's file with what a later import needs to know: the text that came; in that of the whole the sections."""
    told: dict[str, object] = {IMPORTED_TEXT: digest(note.content)}
    if note.id not in plan.sections:
        told[IMPORTED_SECTIONS] = plan.sections
    return parse(data).with_values(told).render()


def _sections_of(whole: Stored) -> list[str]:
    """The sections that came with the note of a whole; none where it came without."""
    told = whole.document.values.get(IMPORTED_SECTIONS)
    return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []
