"""Maintenance from end to end: a batch and its verdicts, and what a person does about those that wait."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import structlog

from holdfast.engine.admin.gate import AdminCall, Journalled, journalled
from holdfast.engine.admin.undo import MERGE
from holdfast.engine.agent.recall import mark_maintained
from holdfast.engine.commit import behind_the_journal, check_range, resolve
from holdfast.engine.maintenance.candidates import NOTHING, last_edits, look
from holdfast.engine.maintenance.merging import MOST_ORIGINALS, consolidate, merge
from holdfast.engine.maintenance.verdicts import (
    ConsolidationVerdict,
    EdgeVerdict,
    MergeVerdict,
    Outcome,
    Proposal,
    VerdictItem,
    VerdictRefusedError,
    Work,
    WrongVerdict,
    apply_edge,
    drop_proposal,
    find_proposal,
)
from holdfast.engine.ports import Attending, Caller, Ports, ports_now
from holdfast.engine.presence.distilling import KIND as EXTRACTIONS
from holdfast.engine.presence.distilling import Extraction, distil, offered_pieces
from holdfast.engine.sync.replay import PastLine, look_back, whole
from holdfast.errors import (
    BatchNotFoundError,
    ConflictError,
    HoldfastError,
    InvalidArgumentError,
    LimitExceededError,
    StorageError,
)
from holdfast.index.journal import LinesWanted
from holdfast.index.maintenance import BatchRow
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import Update
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from holdfast.model.maintenance import (
    APART,
    FIRST_TO_LAST,
    KINDS,
    MERGED,
    NOT_MERGED,
    SCOPES,
    TOGETHER,
    VERDICTS,
    Candidate,
    Kind,
)
from holdfast.model.note import NOTE_TYPES, instant
from holdfast.model.parts import left_untold
from holdfast.model.records import JUDGE, MAINTENANCE_BATCH, JournalRecord, Judged, Maintained, Offered, judgement
from holdfast.model.transcripts.pieces import Piece

log = structlog.get_logger()

BATCH_PREFIX = "bat_"
OPEN_MINUTES = 30
LIMIT, MOST = 8, 50
MOST_VERDICTS = 200  # of all kinds: an answer has a line for each
_DECLINED: dict[str, str] = {"merges": NOT_MERGED, "consolidations": APART}


@dataclass(frozen=True, slots=True)
class Batch:
    """What there is to judge, by kind. Nothing at all, or a dry run, has no id and does not expire.

    `names` are beginnings of the notes' ids that are enough to name them, `pieces` parts of past sessions to distil.
    `edited` tells of notes whose texts were edited after they were stored when that was. `larger` are notes that the
    other one of a conflict would retire, and that say more than it does and more than is shown.
    `notice` tells where pairs could not be looked at as usual, `is_all` that none is left for a later call to look at.
    """

    id: str | None
    expires_at: str | None
    items: Mapping[Kind, Sequence[Candidate]]
    names: Mapping[str, str]
    pieces: Sequence[Piece] = ()
    notice: str = ""
    is_all: bool = True
    edited: Mapping[str, str] = field(default_factory=dict)
    larger: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts in the shape that they came in; None for a list that was not given."""

    edges: Sequence[EdgeVerdict | WrongVerdict] | None = None
    merges: Sequence[MergeVerdict | WrongVerdict] | None = None
    consolidations: Sequence[ConsolidationVerdict | WrongVerdict] | None = None
    extractions: Sequence[Extraction] | None = None


@dataclass(frozen=True, slots=True)
class Tended:
    """How verdicts ended, and how many merges and consolidations were taken as declined: `declined`, by kind."""

    outcomes: list[Outcome]
    declined: Mapping[str, int]


async def find_work(
    ports: Ports, caller: Caller, kinds: Sequence[str] | None = None, limit: int = LIMIT, *, dry_run: bool = False
) -> Batch:
    """Look for what there is to judge and hand it out as a batch; no note is changed.

    Args:
        ports: of the memory that is looked through.
        caller: whom the batch is for.
        kinds: which; all by default.
        limit: the most of each kind, 1 to 50.
        dry_run: remember neither the batch nor how far was looked.

    Raises:
        InvalidArgumentError: a kind is unknown, or the limit out of range.
        StorageError: the journal cannot be written.
    """
    known = (*KINDS, EXTRACTIONS)
    asked = known if kinds is None else tuple(kinds)
    if not asked or set(asked) - set(known):
        raise InvalidArgumentError("kinds is empty or has an unknown kind.", f"Use any of {', '.join(known)}.")
    check_range("limit", limit, MOST)
    wanted = [kind for kind in FIRST_TO_LAST if kind in asked]
    looked = await look(ports, caller.principal, wanted, limit) if wanted else NOTHING
    expires = instant(ports.clock() + timedelta(minutes=OPEN_MINUTES))
    is_distilling = EXTRACTIONS in asked
    pieces = await offered_pieces(ports, caller, limit, "" if dry_run else expires) if is_distilling else []
    items: dict[Kind, Sequence[Candidate]] = {kind: looked.items.get(kind, ()) for kind in FIRST_TO_LAST}
    ids = sorted({text.note.id for found in items.values() for item in found for text in item.texts})
    names = await ports.index.read(lambda view: view.short_ids(ids))
    edited = await _edited(ports, [*items["conflicts"], *items["merges"]])
    length = sum(len(text.note.content) for pair in items["conflicts"] for text in pair.texts)
    larger = await ports.computing.run(caller.principal, length, partial(_larger, items["conflicts"], edited))
    batch = Batch(None, None, items, names, pieces, looked.notice, not looked.unread, edited, larger)
    if dry_run:
        return batch
    any_found = any(items.values()) or bool(pieces)
    if not any_found and kinds is None and not looked.unread:
        await mark_maintained(ports, caller, None)
    if not any_found and not looked.seeds:
        return batch
    batch_id = f"{BATCH_PREFIX}{ports.new_id().partition('_')[2]}" if any_found else None
    if any_found or not looked.is_whole:
        shown = tuple(
            (str(item.kind), tuple((text.note.id, text.hash) for text in item.texts))
            for kind in FIRST_TO_LAST
            for item in items[kind]
        ) + tuple((EXTRACTIONS, ((piece.id, piece.id),)) for piece in pieces)
        line = JournalRecord(
            MAINTENANCE_BATCH,
            ports.now,
            caller.principal,
            caller.source,
            batch=Offered(batch_id, expires, shown) if batch_id and expires else None,
            cursors=dict.fromkeys(wanted, (looked.place[0], looked.place[1])),
        )
        await _keep(ports, line, flush=False)
    return replace(batch, id=batch_id, expires_at=expires if any_found else None)


async def _edited(ports: Ports, pairs: Sequence[Candidate]) -> dict[str, str]:
    """When notes of these pairs were edited, by id."""
    notes = await ports.index.notes({text.note.id for pair in pairs for text in pair.texts})
    return await last_edits(ports, [*notes.values()]) if notes else {}


def _larger(conflicts: Sequence[Candidate], edited: Mapping[str, str]) -> list[str]:
    """Notes of which more would be retired than is shown."""
    found = []
    for pair in conflicts:
        (newer, _), (older, shown) = zip(pair.texts, pair.passages, strict=True)
        if edited.get(older.note.id, "") > newer.note.created:
            older, newer, shown = newer, older, pair.passages[0]
        if len(shown) < len(" ".join(older.note.content.split())) and left_untold(older.note, newer.note)[1]:
            found.append(older.note.id)
    return list(dict.fromkeys(found))


async def judge(
    memory: Attending, caller: Caller, verdicts: Verdicts, batch_id: str | None = None, *, dry_run: bool = False
) -> Tended:
    """Apply verdicts one by one: edges, merges, consolidations, then what was distilled; each is whole or not there.

    What a batch offered to merge or consolidate, and a list that was given does not name, is remembered as declined,
    unless it was judged before.

    Raises:
        BatchNotFoundError: no batch of this id is open for this caller; nothing was applied.
        LimitExceededError: there are too many verdicts; nothing was applied.
        StorageError: what was judged without a change cannot be kept; changes that were made are.
    """
    _check(verdicts)
    row = None
    if batch_id is not None:
        row = await memory.attend(lambda ports: _open_batch(ports, caller, batch_id))
    shown = [(kind, dict(texts)) for kind, texts in json.loads(row.items)] if row else []
    hashes = tuple(texts for _, texts in shown) if row else None
    ports = await memory.attend(ports_now)
    work = Work(ports, caller, "", row.id if row else None, hashes, dry_run)
    outcomes = await _all_settled(memory, work, verdicts)
    if verdicts.extractions is not None:
        pieces = [piece for kind, texts in shown if kind == EXTRACTIONS for piece in texts]
        outcomes += await distil(memory, work, verdicts.extractions, pieces if row else None)
    declined: dict[str, list[list[Judged]]] = {}
    try:
        refused = {outcome.item.partition("[")[0] for outcome in outcomes if outcome.status == "rejected"}
        declined = await _declined(memory, verdicts, [item for item in shown if item[0] not in refused])
        if not dry_run:
            await _keep_judged(memory, work, [entry for outcome in outcomes for entry in outcome.judged], declined)
    except HoldfastError as error:
        if not outcomes:
            raise
        return Tended([*(_unless_lost(outcome, error) for outcome in outcomes), _not_kept(error)], {})
    if outcomes and not dry_run:
        await _mark_maintained(memory, work)
    return Tended(outcomes, {kind: len(items) for kind, items in declined.items() if items})


async def _mark_maintained(memory: Attending, work: Work) -> None:
    """Note that maintenance was seen to. Where that fails the verdicts stand: only a reminder comes too soon."""
    try:
        await memory.attend(lambda ports: mark_maintained(ports, work.caller, work.batch_id))
    except HoldfastError as error:
        log.warning("maintenance_not_marked", error=type(error).__name__, reason=str(error))


async def _keep_judged(
    memory: Attending, work: Work, judged: Sequence[Judged], declined: Mapping[str, Sequence[Sequence[Judged]]]
) -> None:
    """Remember what was judged without a change."""
    entries = dict.fromkeys([*judged, *(entry for items in declined.values() for item in items for entry in item)])
    fresh = await memory.attend(partial(_unknown, judged=list(entries)))
    if not fresh:
        return
    line = JournalRecord(
        JUDGE,
        work.ports.now,
        work.caller.principal,
        work.caller.source,
        maintenance=Maintained(work.batch_id),
        judged=tuple(fresh),
    )
    await memory.attend(lambda ports: _keep(ports, line, flush=True))


def _unless_lost(outcome: Outcome, error: HoldfastError) -> Outcome:
    """An outcome after its judgement could not be kept: where that was all there was to keep, it is rejected."""
    if not outcome.judged or outcome.change_id or outcome.proposal_id:
        return outcome
    return replace(outcome, status="rejected", reason=error.public)


def _not_kept(error: HoldfastError) -> Outcome:
    """An outcome beside those of the items, which stand: what was declined may not be remembered."""
    reason = f"{type(error).__name__}: What was judged without a change may not be kept: {error.sentence}"
    return Outcome("judged", "rejected", reason)


async def apply_verdict(work: Work, verdict: VerdictItem) -> Outcome:
    """Apply one verdict; see the verb that does.

    Raises:
        VerdictRefusedError, HoldfastError: nothing was written.
    """
    match verdict:
        case WrongVerdict(reason=reason):
            raise VerdictRefusedError("rejected", reason)
        case EdgeVerdict(edge_type=kind) if kind not in VERDICTS:
            raise VerdictRefusedError("rejected", f"edge_type is unknown. Use one of {', '.join(VERDICTS)}.")
        case ConsolidationVerdict(type=kind) if kind not in NOTE_TYPES:
            raise VerdictRefusedError("rejected", f"type is unknown. Use one of {', '.join(NOTE_TYPES)}.")
        case EdgeVerdict():
            return await apply_edge(work, verdict)
        case MergeVerdict():
            return await merge(work, verdict)
        case ConsolidationVerdict():
            return await consolidate(work, verdict)


class _Said(NamedTuple):
    """What an item says of a pair, and from which of the two."""

    item: str
    verdict: str
    source: str
    pair: frozenset[str]


async def _all_settled(memory: Attending, work: Work, verdicts: Verdicts) -> list[Outcome]:
    """How each item ends, in order. Of verdicts on one pair that exclude each other the first counts."""
    outcomes: list[Outcome] = []
    said: dict[frozenset[str], list[_Said]] = {}
    for kind, given in _named(verdicts):
        for number, verdict in enumerate(given):
            item = replace(work, name=f"{kind}[{number}]")
            says = await memory.attend(partial(_said_by, item=item.name, verdict=verdict))
            both = ((known, mine) for mine in says for known in said.get(mine.pair, ()))
            excluded = next((known.item + _stands(known, mine) for known, mine in both if _exclude(known, mine)), "")
            if excluded:
                outcomes.append(item.outcome("rejected", excluded))
                continue
            outcomes.append(await _settled(memory, item, verdict))
            for mine in says if outcomes[-1].status in ("applied", "skipped") else ():
                said.setdefault(mine.pair, []).append(mine)
    return outcomes


def _stands(known: _Said, mine: _Said) -> str:
    of = "the same pair" if known.verdict != mine.verdict else "the same pair the other way round"
    return f" says {known.verdict} of {of}, which stands; say one of them."


def _exclude(one: _Said, other: _Said) -> bool:
    """Whether two verdicts cannot both be meant of a pair."""
    kinds = {one.verdict, other.verdict}
    if len(kinds) == 1:
        return kinds == {"evolved_from"} and one.source != other.source
    is_none = "none" in kinds and TOGETHER not in kinds  # what nothing links may still be told by one note
    return is_none or kinds in _OPPOSED


_OPPOSED = (
    {"contradicts", "evolved_from"},
    {"contradicts", "supports"},
    *({each, one_note} for each in ("contradicts", "evolved_from") for one_note in (MERGED, TOGETHER)),
)


async def _said_by(ports: Ports, item: str, verdict: VerdictItem) -> list[_Said]:
    """What a verdict says of each two of its notes; nothing where its ids mean none, or one."""
    match verdict:
        case EdgeVerdict(one, other, says):
            ids = [one, other]
        case MergeVerdict(one, other):
            ids, says = [one, other], MERGED
        case ConsolidationVerdict(node_ids) if len(node_ids) <= MOST_ORIGINALS:
            ids, says = list(node_ids), TOGETHER
        case _:
            return []
    with suppress(HoldfastError):  # the item's own outcome says so
        notes = [(await resolve(ports.index, given)).note.id for given in ids]
        pairs = combinations(notes, 2)
        return [_Said(item, says, one, frozenset((one, other))) for one, other in pairs if one != other]
    return []


async def _settled(memory: Attending, work: Work, verdict: VerdictItem) -> Outcome:
    """How one item ends; what goes wrong with it is its own affair."""
    try:
        return await memory.attend(lambda ports: apply_verdict(replace(work, ports=ports), verdict))
    except VerdictRefusedError as refusal:
        return work.outcome(refusal.status, refusal.reason)
    except ConflictError as error:
        return work.outcome("conflict", error.public)
    except HoldfastError as error:
        return work.outcome("rejected", error.public)


def _named(verdicts: Verdicts) -> list[tuple[str, Sequence[VerdictItem]]]:
    return [
        ("edges", verdicts.edges or ()),
        ("merges", verdicts.merges or ()),
        ("consolidations", verdicts.consolidations or ()),
    ]


def _check(verdicts: Verdicts) -> None:
    if sum(len(given) for _, given in _named(verdicts)) + len(verdicts.extractions or ()) > MOST_VERDICTS:
        raise LimitExceededError(f"results takes at most {MOST_VERDICTS} entries.", "Send them in parts.")


async def _open_batch(ports: Ports, caller: Caller, batch_id: str) -> BatchRow:
    row = await ports.index.read(lambda view: view.batch(batch_id))
    if row is None or row.principal != caller.principal or row.expires <= ports.now:
        raise BatchNotFoundError(
            "No batch with this batch_id is open for you.",
            f"A batch is open for {OPEN_MINUTES} minutes; call run_maintenance without arguments for a new one.",
        )
    return row


async def _declined(
    memory: Attending, verdicts: Verdicts, shown: Sequence[tuple[str, dict[str, str]]]
) -> dict[str, list[list[Judged]]]:
    """Entries for each item that a batch offered, nobody judged and the caller would not have, by kind.

    A pair that an edge is given for is judged by that.

    A list with a wrong item says nothing of that, nor does one of which an item was refused.
    """
    given: dict[str, list[list[str]]] = {}
    merges = [item for item in verdicts.merges or () if isinstance(item, MergeVerdict)]
    edges = [[item.node_a_id, item.node_b_id] for item in verdicts.edges or () if isinstance(item, EdgeVerdict)]
    if verdicts.merges is not None and len(merges) == len(verdicts.merges):
        given["merges"] = [*([item.keep_id, item.discard_id] for item in merges), *edges]
    clusters = [item for item in verdicts.consolidations or () if isinstance(item, ConsolidationVerdict)]
    if verdicts.consolidations is not None and len(clusters) == len(verdicts.consolidations):
        given["consolidations"] = [list(item.node_ids) for item in clusters]
    declined: dict[str, list[list[Judged]]] = {}
    for kind, groups in given.items():
        wanted = [await memory.attend(partial(_full_ids, group=group)) for group in groups]
        left = [
            _every_two(texts, _DECLINED[kind])
            for offered, texts in shown
            if offered == kind and not any(len(ids & texts.keys()) > 1 for ids in wanted)
        ]
        declined[kind] = await memory.attend(partial(_unjudged, items=left))
    return declined


async def _unjudged(ports: Ports, items: Sequence[list[Judged]]) -> list[list[Judged]]:
    """The items of which some pair was not judged as it was shown: neither declined nor merged or told by another.

    What is not as it was shown any more comes back anyway: it is left out.
    """

    def is_still(view: IndexView, item: Sequence[Judged]) -> bool:
        texts = {note: text for entry in item for note, text in ((entry.a, entry.hash_a), (entry.b, entry.hash_b))}
        notes = view.notes(texts)
        return all(note in notes and _is_shown(notes[note], text) for note, text in texts.items())

    def is_judged(view: IndexView, entry: Judged) -> bool:
        rows = view.judged(entry.a, [entry.b]).get(entry.b, [])
        scopes = ("merge", "edge") if entry.verdict == NOT_MERGED else (SCOPES[entry.verdict],)
        texts = (entry.hash_a, entry.hash_b)
        return any(row.scope in scopes and (row.hash_a, row.hash_b) == texts for row in rows)

    return await ports.index.read(
        lambda view: [
            item for item in items if is_still(view, item) and not all(is_judged(view, entry) for entry in item)
        ]
    )


def _is_shown(found: IndexedNote, text: str) -> bool:
    return found.encode_hash == text and not found.note.is_outdated


async def _unknown(ports: Ports, judged: Sequence[Judged]) -> list[Judged]:
    """Of these entries those that do not stand already."""

    def stands(view: IndexView, entry: Judged) -> bool:
        rows = view.judged(entry.a, [entry.b]).get(entry.b, [])
        return any(Judged(row.a, row.b, row.hash_a, row.hash_b, row.verdict) == entry for row in rows)

    return await ports.index.read(lambda view: [entry for entry in judged if not stands(view, entry)])


def _every_two(texts: Mapping[str, str], verdict: str) -> list[Judged]:
    keys = list(texts.items())
    return [judgement(one, other, verdict) for number, one in enumerate(keys) for other in keys[number + 1 :]]


async def _full_ids(ports: Ports, group: Sequence[str]) -> set[str]:
    """The ids that were given, and those of the notes that they mean now."""
    found = {given.strip().lower() for given in group}
    for given in group:
        try:
            found.add((await resolve(ports.index, given)).note.id)
        except HoldfastError:
            continue  # the item's own outcome says so
    return found


async def _keep(ports: Ports, line: JournalRecord, *, flush: bool) -> None:
    """A line of the journal, and what it tells in the index."""
    seq = await ports.store.record(line, flush=flush)
    # Where the index is lost a new one takes it from the journal; who tried again would say that nothing happened.
    with behind_the_journal(), suppress(IndexLostError):
        await ports.index.apply(Update(records=[replace(line, seq=seq)]))


Action = Literal["approve", "reject", "approved", "rejected"]  # the second two are Ormah's


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was made. `undone` says that it was taken back, and that this still holds."""

    merge_id: str
    at: str
    by: str
    kept: str
    kept_title: str
    discarded: str
    undone: bool


async def resolve_proposal(memory: Attending, caller: Caller, proposal_id: str, action: str) -> Journalled[Outcome]:
    """Apply a verdict that waits, or drop it; it waits on only where it cannot be applied to the notes as they are.

    Raises:
        ProposalNotFoundError: none with this id waits.
        InvalidArgumentError: the action is none.
        ConflictError, StorageError: nothing was written.
    """
    if action not in get_args(Action):
        raise InvalidArgumentError("action is unknown.", "Use approve or reject.")
    is_rejected = action.startswith("reject")
    known = await memory.attend(lambda ports: find_proposal(ports, proposal_id))

    async def decide(ports: Ports) -> Outcome:
        proposal = await find_proposal(ports, proposal_id)
        if is_rejected:
            outcome = Outcome(proposal.id, "skipped", "Rejected; nothing was changed.", proposal_id=proposal.id)
        else:
            outcome = await _approve(ports, caller, proposal)
        if outcome.change_id is not None:
            return await _dropped(ports, proposal, outcome)
        if outcome.status in ("applied", "skipped"):
            await drop_proposal(ports, proposal)
        return outcome

    about = {"proposal": known.id, "action": action, "notes": sorted(known.hashes)}
    return await journalled(memory, AdminCall(caller, "admin_resolve_proposal", about), decide, _as_record)


async def _dropped(ports: Ports, proposal: Proposal, outcome: Outcome) -> Outcome:
    """Take an applied proposal off the list; where that fails it is applied all the same."""
    try:
        await drop_proposal(ports, proposal)
    except StorageError as error:
        return replace(outcome, reason=f"{outcome.reason} It still waits; reject it later: {error.sentence}")
    return outcome


async def _approve(ports: Ports, caller: Caller, proposal: Proposal) -> Outcome:
    """The verdict, on the very texts that it was given on."""
    work = Work(ports, caller, proposal.id, None, (dict(proposal.hashes),), approved=True)
    try:
        outcome = await apply_verdict(work, proposal.verdict)
    except VerdictRefusedError as refusal:
        outcome = work.outcome(refusal.status, f"{refusal.reason} The proposal still waits; reject it if it is void.")
    return replace(outcome, proposal_id=proposal.id)


def _as_record(outcome: Outcome) -> Mapping[str, object]:
    return {"status": outcome.status, "applied": outcome.change_id}


async def list_merges(ports: Ports, limit: int) -> list[Merged]:
    """The latest merges, the last one first.

    Raises:
        InvalidArgumentError: the limit is out of range.
    """
    check_range("limit", limit, 500)
    rows = await look_back(ports, lambda view: view.lines(LinesWanted(limit, ops=[MERGE])))
    merges = await whole(ports, (row for row in rows if row.change is not None))
    notes = await ports.index.notes({line.record.kept for line in merges if line.record.kept})
    return [_merged(line, notes) for line in merges if line.record.kept and line.record.discarded]


def _merged(line: PastLine, notes: Mapping[str, IndexedNote]) -> Merged:
    kept = line.record.kept or ""
    return Merged(
        merge_id=line.row.change or "",
        at=line.row.at,
        by=line.row.by,
        kept=kept,
        kept_title=notes[kept].note.title if kept in notes else "",
        discarded=line.record.discarded or "",
        undone=line.row.undone_by is not None,
    )
