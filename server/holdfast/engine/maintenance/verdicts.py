"""Verdicts applied: an edge with a real weight, the retirement of what was replaced, or `none`; or kept for a person.

Each item of a batch is checked against what was shown and the notes as they are now, and has an outcome of its own. One
that must wait for a person is a JSON file in `proposals/`, named by what is proposed, so that the same verdict given
again finds itself waiting.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Literal

from holdfast.engine.commit import TextGate, check_known, commit, load_current, resolve, seem_strange, still_told
from holdfast.engine.maintenance.candidates import last_edits, likeness, stored_set
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ConflictError, ProposalNotFoundError
from holdfast.index.maintenance import JudgedRow
from holdfast.index.rows import IndexedNote, LinkRow, digest
from holdfast.index.view import IndexView
from holdfast.model.maintenance import SYMMETRIC, weight_of
from holdfast.model.note import SELF_ID, Link, Note, surely_later
from holdfast.model.parts import left_in_part, left_untold, lost_with
from holdfast.model.records import PROPOSALS, JournalRecord, Judged, Maintained, is_page, judgement, page_key
from holdfast.model.versions import AUTO_REASONS
from holdfast.model.words import counted, quoted
from holdfast.store.stored import Change, Page, PageChange, Stored

Status = Literal["applied", "skipped", "rejected", "conflict"]


@dataclass(frozen=True, slots=True)
class EdgeVerdict:
    """How two notes belong together: `edge_type` is one of `model.maintenance.VERDICTS`."""

    node_a_id: str
    node_b_id: str
    edge_type: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class MergeVerdict:
    """Two notes say the same; the kept one's title and text stay unless others are given."""

    keep_id: str
    discard_id: str
    merged_title: str | None = None
    merged_content: str | None = None


@dataclass(frozen=True, slots=True)
class ConsolidationVerdict:
    """Several notes are better read as one."""

    node_ids: tuple[str, ...]
    title: str
    content: str
    type: str = "fact"


@dataclass(frozen=True, slots=True)
class WrongVerdict:
    """An item that cannot be read as a verdict, and why."""

    reason: str


VerdictItem = EdgeVerdict | MergeVerdict | ConsolidationVerdict | WrongVerdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item ended. `change_id` undoes it; `proposal_id` names what waits for a person instead."""

    item: str
    status: Status
    reason: str
    change_id: str | None = None
    proposal_id: str | None = None
    judged: tuple[Judged, ...] = field(default=(), repr=False)  # still to be told to the journal


class VerdictRefusedError(Exception):
    """An item cannot be applied; raised and caught within maintenance, told as its outcome."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Work:
    """One item's surroundings: `shown` are the notes of the batch's items with the hashes of their texts.

    Without a batch it is None. `approved` says that a person has agreed. `name` is the item's, as `merges[0]`.
    """

    ports: Ports
    caller: Caller
    name: str
    batch_id: str | None = None
    shown: tuple[dict[str, str], ...] | None = None
    dry_run: bool = False
    approved: bool = False

    def outcome(self, status: Status, reason: str, change_id: str | None = None, **more: Any) -> Outcome:
        return Outcome(self.name, status, reason, change_id, **more)

    def detail(self, judged: Sequence[Judged], **more: Any) -> JournalRecord:
        """What the journal's line of the change says beside it; `more` is for those who read the file."""
        said = Maintained(self.batch_id)
        return JournalRecord(maintenance=said, item=self.name, judged=tuple(judged), more=more)

    def check(self, notes: Collection[IndexedNote]) -> None:
        """Refuse what the batch did not show, and notes that have changed or retired since."""
        if self.shown is not None:
            ids = {item.note.id for item in notes}
            hashes = next((shown for shown in self.shown if ids <= shown.keys()), None)
            if hashes is None:
                raise VerdictRefusedError("rejected", "These notes were not shown together in this batch.")
            if any(hashes[item.note.id] != item.encode_hash for item in notes):
                raise VerdictRefusedError("conflict", "A note was changed since the batch was made; ask for a new one.")
        gone = next((item.note for item in notes if item.note.is_outdated), None)
        if gone is not None:
            raise VerdictRefusedError("conflict", _gone(gone, [item.note.id for item in notes], self.batch_id))

    async def resolve(self, given: str, what: str) -> IndexedNote:
        return await resolve(self.ports.index, given, what=what)


def _gone(retired: Note, ids: Collection[str], batch_id: str | None) -> str:
    """What became of a retired note, and what is left to judge; what a batch shows was retired since it was made."""
    by = f" by {retired.superseded_by}" if retired.superseded_by else ""
    said = f"{retired.id} was retired{by}{' since this batch was made' if batch_id else ''}; its pair needs no verdict."
    if not retired.superseded_by or retired.superseded_by in ids:
        return said
    left = [each for each in ids if each != retired.id]
    return f"{said} If {', '.join(left)} bears on {retired.superseded_by} too, judge those in a call without batch_id."


async def under_lock(ports: Ports, known: IndexedNote) -> Stored:
    """A note's file; the caller holds its lock.

    Raises:
        ConflictError: it is not as it was looked up.
    """
    found = (await ports.index.notes([known.note.id])).get(known.note.id)
    if found is None or found.hash != known.hash:
        raise ConflictError("The note was changed meanwhile.", "Nothing was written; repeat the call.")
    return await load_current(ports, found)


async def last_change(ports: Ports, note_id: str, op: str) -> str | None:
    """The last change of a note by a verb."""
    return await ports.index.read(lambda view: view.last_change(note_id, op))


def needs_person(ports: Ports, notes: Collection[IndexedNote]) -> bool:
    """Whether taking these notes away waits for a person."""
    return ports.review or any(item.note.tier == "core" or item.note.about_self for item in notes)


def pairs(notes: Sequence[IndexedNote], entry: Callable[..., Judged], verdict: str) -> list[Judged]:
    """An entry of the journal's `judged` for every two of the notes."""
    keys = [(item.note.id, item.encode_hash) for item in notes]
    return [entry(one, other, verdict) for number, one in enumerate(keys) for other in keys[number + 1 :]]


RETIRED = "outdate_by_verdict"
UNTOLD = "Only the retired one said {}: if that still holds, {}."


async def apply_edge(work: Work, verdict: EdgeVerdict) -> Outcome:
    """Apply a verdict on a pair.

    Raises:
        VerdictRefusedError: it cannot be applied.
        HoldfastError: nothing was written.
    """
    reason = TextGate(work.ports).line("reason", verdict.reason) or ""
    one = await work.resolve(verdict.node_a_id, "node_a_id")
    other = await work.resolve(verdict.node_b_id, "node_b_id")
    if one.note.id == other.note.id:
        if verdict.node_a_id.strip().lower() == verdict.node_b_id.strip().lower():
            raise VerdictRefusedError("rejected", "node_a_id and node_b_id are the same note.")
        return work.outcome("skipped", f"Both ids mean {one.note.id} now.")
    entry = judgement((one.note.id, one.encode_hash), (other.note.id, other.encode_hash), verdict.edge_type)
    recorded = await _recorded_before(work, verdict, one, other, entry)
    if recorded is not None:
        return recorded
    if verdict.edge_type == "none":
        return work.outcome("applied", "Remembered: the pair comes back when a text changes.", judged=(entry,))
    if verdict.edge_type == "evolved_from":
        return await _evolve(work, verdict, one, other, reason, entry)
    if one.note.id == SELF_ID:
        raise VerdictRefusedError("rejected", "The Self note's file is the person's; name it as node_b_id.")
    return await _link(work, one, other, verdict.edge_type, reason, entry)


async def _recorded_before(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote, entry: Judged
) -> Outcome | None:
    """The outcome of a verdict that was recorded before, so that nothing is left to do; None where it is to be applied.

    Raises:
        VerdictRefusedError: it cannot be applied.
    """
    kind = verdict.edge_type
    links, rows = await _standing(work, verdict, one, other)
    given = [row for row in rows if row.verdict == kind]
    if kind != "none" and _is_there(links, kind, one.note.id, other.note.id):
        return work.outcome("skipped", f"They are linked by {kind} already.", given[0].change if given else None)
    if kind == "none" and any(_texts(row) == (entry.hash_a, entry.hash_b) for row in given):
        return work.outcome("skipped", "This was judged before.")
    try:
        work.check([one, other])
    except VerdictRefusedError:  # what has changed since may be what followed from this very verdict
        shown = [(texts.get(row.a), texts.get(row.b)) for row in given for texts in work.shown or ()]
        before = next((row for row in given if _texts(row) in shown), None)
        if before is None:
            raise
        return work.outcome("skipped", "This was judged before.", before.change)
    return None


async def _standing(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote
) -> tuple[list[LinkRow], list[JudgedRow]]:
    """The edges between two notes, and what was said of how they belong together, on whatever texts.

    First what was said of the very ids that are given: one of them may have been merged since.
    """
    ids = {one.note.id, other.note.id}
    given = [each.strip().lower() for each in (verdict.node_a_id, verdict.node_b_id)]

    def read(view: IndexView) -> tuple[list[LinkRow], list[JudgedRow]]:
        links = [link for link in view.links([one.note.id]) if {link.source, link.target} == ids]
        return links, [*_of_edges(view, *given), *_of_edges(view, one.note.id, other.note.id)]

    return await work.ports.index.read(read)


def _of_edges(view: IndexView, one: str, other: str) -> list[JudgedRow]:
    return [row for row in view.judged(one, [other]).get(other, []) if row.scope == "edge"]


def _texts(row: JudgedRow) -> tuple[str, str]:
    return row.hash_a, row.hash_b


def _is_there(links: Sequence[LinkRow], edge_type: str, source: str, target: str) -> bool:
    """Whether somebody has drawn this edge; one that has no direction counts either way, and so does a successor."""
    return any(
        link.type == edge_type
        and link.reason not in AUTO_REASONS
        and (edge_type in SYMMETRIC or edge_type == "evolved_from" or (link.source, link.target) == (source, target))
        for link in links
    )


async def _link(
    work: Work, one: IndexedNote, other: IndexedNote, edge_type: str, reason: str, entry: Judged
) -> Outcome:
    if work.dry_run:
        return work.outcome("applied", f"It would link them by {edge_type}.")
    ports = work.ports
    link = await _new_link(work, one, other, edge_type, reason)
    async with ports.store.hold({one.note.id, other.note.id}) as made:
        await check_known(ports, made)
        before = await under_lock(ports, one)
        await under_lock(ports, other)
        after = _with_link(before.note, link)
        done = await commit(
            ports, work.caller, "link", [Change(before, after)], detail=work.detail([entry], edge=edge_type)
        )
    return work.outcome("applied", f"Linked by {edge_type}, weight {link.weight}.", done.change_id)


async def _evolve(
    work: Work, verdict: EdgeVerdict, one: IndexedNote, other: IndexedNote, reason: str, entry: Judged
) -> Outcome:
    """Retire the older note of the two, with an edge from the newer.

    What happened later is the newer, unless the one that is called so was edited since the other was told.
    """
    edited = await last_edits(work.ports, [one, other])
    anew = edited.get(one.note.id, "")
    is_anew = anew > max(other.note.created, edited.get(other.note.id, ""))
    is_turned = surely_later(other.note, one.note)
    newer, older = (other, one) if is_turned and not is_anew else (one, other)
    if SELF_ID in (newer.note.id, older.note.id):
        raise VerdictRefusedError(
            "rejected", "ProtectedNoteError: the Self note is neither retired nor the successor of one."
        )
    if not work.approved and needs_person(work.ports, [older]):
        return await propose(work, replace(verdict, reason=reason or None), [one, other], [entry])
    turned = "" if newer is one else " What happened later was taken for the newer one."
    if is_turned and is_anew:
        turned = f" What was edited on {anew[:10]} was taken for the newer one."
    length = len(older.note.content) + len(newer.note.content)
    untold = partial(_only_told_before, older.note, newer.note, dry_run=work.dry_run)
    left, is_other = await work.ports.computing.run(work.caller.principal, length, untold)
    strange = await seem_strange(work.ports, newer.note, [older.note]) if is_other else []
    instead = "give another verdict" if work.dry_run else "undo this"
    turned += f" {strange[0]} Where it still holds, {instead}." if strange else left
    if work.dry_run:
        return work.outcome("applied", f"It would retire {older.note.id} for {newer.note.id}.{turned}")
    ports = work.ports
    link = await _new_link(work, newer, older, "evolved_from", reason)
    async with ports.store.hold({newer.note.id, older.note.id}) as made:
        await check_known(ports, made)
        new, old = await under_lock(ports, newer), await under_lock(ports, older)
        gone = _retired(old.note, new.note, anew if is_turned and is_anew else "", ports.now)
        changes = [Change(new, _with_link(new.note, link)), Change(old, gone)]
        said = work.detail([entry], edge="evolved_from", retired=old.note.id)
        done = await commit(ports, work.caller, RETIRED, changes, detail=said)
    whole = await still_told(ports, [old.note.id], new.note.id)
    told = " ".join([f"{old.note.id} is superseded by {new.note.id}.{turned}", *whole])
    return work.outcome("applied", told, done.change_id)


def _only_told_before(older: Note, newer: Note, *, dry_run: bool) -> tuple[str, bool]:
    """What else gives way with what is outdated, and what to do about it; whether the two share nothing at all."""
    (count, beginning), clauses = left_untold(older, newer), left_in_part(older, newer)
    more = f"{counted(count, 'sentence')} more, " if count else ""
    left = [f"{more}{quoted(beginning)}"] if beginning else []
    left += [quoted(clauses)] if clauses else []
    instead = "remember it too" if dry_run else "undo this or remember it anew"
    return f" {UNTOLD.format(' and '.join(left), instead)}" if left else "", lost_with(older, newer) is None


def _retired(old: Note, successor: Note, edited: str, now: str) -> Note:
    """The older note, true until the newer one's time; that of its edit where it was edited."""
    return replace(
        old,
        superseded_by=successor.id,
        valid_until=old.valid_until or max(successor.happened, old.happened, edited),
        updated=max(now, old.created),
    )


async def _new_link(work: Work, source: IndexedNote, target: IndexedNote, edge_type: str, reason: str) -> Link:
    vectors = stored_set(work.ports)
    ends = source.note.id, target.note.id
    alike = await work.ports.index.read(lambda view: likeness(view, vectors, *ends))
    return Link(target.note.id, edge_type, weight_of(alike), reason, work.ports.now)


def _with_link(note: Note, link: Link) -> Note:
    """The note with an edge more; one of the same type to the same note, drawn by itself, gives way."""
    kept = tuple(item for item in note.connections if (item.to, item.type) != (link.to, link.type))
    return replace(note, connections=(*kept, link))


PROPOSAL_PREFIX = "prp_"
_VERDICTS = {"retire": EdgeVerdict, "merge": MergeVerdict, "consolidate": ConsolidationVerdict}
_NAMES = {verdict: kind for kind, verdict in _VERDICTS.items()}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A verdict that waits: `kind` is retire, merge or consolidate, `hashes` name the texts that were judged."""

    id: str
    kind: str
    created: str
    by: str
    source: str
    hashes: Mapping[str, str]
    verdict: VerdictItem


async def propose(work: Work, verdict: VerdictItem, notes: Sequence[IndexedNote], judged: Sequence[Judged]) -> Outcome:
    """Have a verdict wait instead of applying it; `judged` says that the agent has done its part."""
    kind = _NAMES[type(verdict)]
    hashes = {item.note.id: item.encode_hash for item in notes}
    values = asdict(verdict)
    proposal_id = f"{PROPOSAL_PREFIX}{digest(kind, json.dumps([values, hashes], sort_keys=True))[:16]}"
    reason = f"It waits for a person as proposal {proposal_id}."
    if work.dry_run:
        return work.outcome("applied", "It would wait for a person as a proposal.")
    path = _path(proposal_id)
    ports, caller = work.ports, work.caller
    async with ports.store.hold({page_key(path)}):
        if await ports.store.pages([path]):
            return work.outcome("skipped", reason, proposal_id=proposal_id, judged=tuple(judged))
        record = {
            "id": proposal_id, "kind": kind, "created": ports.now, "by": caller.principal, "source": caller.source,
            "hashes": hashes, "verdict": values,
        }  # fmt: skip
        data = json.dumps(record, ensure_ascii=False, indent=2).encode() + b"\n"
        said = work.detail([], proposal=proposal_id, notes=sorted(hashes))
        await commit(ports, caller, "propose", [PageChange(path, None, data)], detail=said)
    return work.outcome("skipped", reason, proposal_id=proposal_id, judged=tuple(judged))


async def list_proposals(ports: Ports) -> list[Proposal]:
    """Everything that waits, the oldest first; a file that is none of ours is left out."""
    pages = await ports.store.pages(await ports.store.list_pages(PROPOSALS))
    found = [proposal for page in pages.values() if (proposal := _read(page))]
    return sorted(found, key=lambda proposal: (proposal.created, proposal.id))


async def find_proposal(ports: Ports, proposal_id: str) -> Proposal:
    """One that waits.

    Raises:
        ProposalNotFoundError: there is none of this id; it may have been resolved.
    """
    path = _path(proposal_id)
    pages = await ports.store.pages([path]) if is_page(path) else {}
    proposal = _read(pages[path]) if path in pages else None
    if proposal is None:
        raise ProposalNotFoundError(
            "No proposal with this id waits.", "admin_list_proposals shows those that do; it may be resolved already."
        )
    return proposal


async def drop_proposal(ports: Ports, proposal: Proposal) -> None:
    """Have it wait no longer."""
    path = _path(proposal.id)
    async with ports.store.hold({page_key(path)}):
        await ports.store.drop_page(path)


def _path(proposal_id: str) -> str:
    return f"{PROPOSALS}/{proposal_id}.json"


def _read(page: Page) -> Proposal | None:
    try:
        record: dict[str, Any] = json.loads(page.data)
        kind, values = record["kind"], dict(record["verdict"])
        if "node_ids" in values:
            values["node_ids"] = tuple(values["node_ids"])
        verdict: VerdictItem = _VERDICTS[kind](**values)
        return Proposal(
            record["id"], kind, record["created"], record["by"], record["source"], dict(record["hashes"]), verdict
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
