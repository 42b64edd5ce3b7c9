"""What becomes of turns that wait: an agent says what of them is worth a note, or they go, or stay as they were said.

A piece is offered by `run_maintenance` and waits until somebody has judged all of it. What is taken from it is checked
against the piece, compared with the notes that are there, and stored as one change; only then the piece goes. Where a
process dies between the two, the journal's line of the change tells that the piece was judged: `extraction` names the
attempt that the queue knows of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from holdfast.engine.agent.remember import (
    Prepared,
    Remember,
    keys_of,
    prepare,
    remember,
    says_otherwise,
    store_together,
)
from holdfast.engine.commit import LARGEST_CONTENT, check_known
from holdfast.engine.jobs.changes import OWN_CALLER
from holdfast.engine.jobs.daily import Job, JobContext
from holdfast.engine.maintenance.verdicts import Outcome, VerdictRefusedError, Work, WrongVerdict
from holdfast.engine.ports import Attending, Caller, Ports
from holdfast.errors import ConflictError, HoldfastError
from holdfast.model.note import NOTE_TYPES, Note, instant
from holdfast.model.opposition import compared
from holdfast.model.records import JournalRecord, Maintained
from holdfast.model.transcripts.pieces import (
    LEAST_SHARE,
    Piece,
    covers,
    days_from_elsewhere,
    share_stated,
    tokens_of,
    unfounded,
)
from holdfast.model.transcripts.turns import addresses_of
from holdfast.store.transcripts.queue import TranscriptQueue

KIND: Final = "extractions"
PIECE_PREFIX: Final = "pce_"
DISTILLED: Final = "distilled"  # the tag of such a note
DISTILLED_FROM: Final = "distilled_from"  # in its frontmatter: the transcript and the piece
UNSAID: Final = 0.8  # how sure such a note is, where nobody says it
PIECES_TOKENS: Final = 3000  # of all pieces of a batch
MOST_PIECES: Final = 6
_LONGEST: Final = 1500  # characters of a note: more is no essence


@dataclass(frozen=True, slots=True)
class ExtractionVerdict:
    """Something of a piece that is worth a note."""

    piece_id: str
    content: str
    type: str = "fact"
    title: str | None = None
    about_self: bool = False
    confidence: float | None = None


Extraction = ExtractionVerdict | WrongVerdict


async def offered_pieces(ports: Ports, caller: Caller, limit: int, shown_until: str) -> list[Piece]:
    """Pieces to be distilled, those of the caller's space first; none where transcripts are not this server's business.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who is to judge them.
        limit: how many at the most.
        shown_until: until when nobody else is to be shown them, as long as there are others; empty for a dry run.
    """
    queue = ports.transcripts
    if queue is None:
        return []
    offered = await queue.offer(
        caller.space or "", ports.now, shown_until, min(limit, MOST_PIECES), _fits, lambda: _name(ports)
    )
    return [piece for piece in offered if not await _was_stored(ports, queue, piece)]


def _fits(pieces: Sequence[Piece]) -> bool:
    return tokens_of(pieces) <= PIECES_TOKENS


def _name(ports: Ports) -> str:
    return PIECE_PREFIX + ports.new_id().partition("_")[2]


async def _was_stored(ports: Ports, queue: TranscriptQueue, piece: Piece) -> bool:
    """Whether an attempt at a piece got as far as the journal, and nobody came to say so in the queue."""
    if not piece.attempt:
        return False
    if all(line.attempt != piece.attempt for line in await ports.store.past.records(("remember",))):
        return False
    await queue.finish(piece.id)
    return True


async def distil(
    memory: Attending, work: Work, verdicts: Sequence[Extraction], shown: Sequence[str] | None
) -> list[Outcome]:
    """Store what was made of pieces, each piece as one change, and let go of those that are judged.

    A piece stays where one of its items was refused, so that it can be mended; where the list has an item that cannot
    be read, pieces that it does not name stay too.

    Args:
        memory: where to.
        work: what all items have in common.
        verdicts: items, in the order in which their outcomes are told.
        shown: ids of the pieces that the batch showed; None without a batch.
    """
    named = [(replace(work, name=f"{KIND}[{number}]"), item) for number, item in enumerate(verdicts)]
    outcomes: dict[str, Outcome] = {}
    groups: dict[str, list[tuple[Work, ExtractionVerdict]]] = {}
    for each, item in named:
        if isinstance(item, WrongVerdict):
            outcomes[each.name] = each.outcome("rejected", item.reason)
        else:
            groups.setdefault(item.piece_id.strip(), []).append((each, item))
    if not outcomes:
        groups |= {piece: groups.get(piece, []) for piece in shown or ()}
    for piece_id, group in groups.items():
        if shown is not None and piece_id not in shown:
            judged = [each.outcome("rejected", "This piece was not shown in this batch.") for each, _ in group]
        else:
            judged = await _of_piece(memory, piece_id, group, dry_run=work.dry_run)
        outcomes |= {outcome.item: outcome for outcome in judged}
    return [outcomes[each.name] for each, _ in named]


async def _of_piece(
    memory: Attending, piece_id: str, group: Sequence[tuple[Work, ExtractionVerdict]], *, dry_run: bool
) -> list[Outcome]:
    """The outcomes of all items of one piece; what goes wrong with storing them is told of each."""
    try:
        return await memory.attend(lambda ports: _apply(ports, piece_id, group, dry_run=dry_run))
    except VerdictRefusedError as refusal:
        return [each.outcome(refusal.status, refusal.reason) for each, _ in group]
    except ConflictError as error:
        return [each.outcome("conflict", error.public) for each, _ in group]
    except HoldfastError as error:
        return [each.outcome("rejected", error.public) for each, _ in group]


async def _apply(
    ports: Ports, piece_id: str, group: Sequence[tuple[Work, ExtractionVerdict]], *, dry_run: bool
) -> list[Outcome]:
    queue = ports.transcripts
    if queue is None:
        raise VerdictRefusedError("rejected", "Sessions are distilled by a server on this machine alone, over stdio.")
    ports.store.check_writing()
    piece = await _waiting(ports, queue, piece_id)
    checked = [await _checked(ports, each, piece, item) for each, item in group]
    good = [item for item in checked if isinstance(item, _Good)]
    outcomes = [item.outcome if isinstance(item, _Good) else item for item in checked]
    if dry_run:
        return outcomes
    is_judged = all(outcome.status in ("applied", "skipped") for outcome in outcomes)
    batch = group[0][0].batch_id if group else None
    keys = keys_of([item.prepared for item in good]) if good else set()
    async with ports.store.hold({f"piece:{piece_id}", *keys}) as made:  # at once: who holds keys must not wait for more
        await check_known(ports, made)
        await _waiting(ports, queue, piece_id)
        change = await _store(ports, queue, piece, good, batch, is_judged=is_judged) if good else None
        if is_judged:
            await queue.finish(piece.id)
    others = {item.outcome.item: await says_otherwise(ports, item.caller, item.prepared) for item in good}
    return [_completed(outcome, change, others.get(outcome.item)) for outcome in outcomes]


async def _waiting(ports: Ports, queue: TranscriptQueue, piece_id: str) -> Piece:
    """A piece that nobody has judged yet."""
    piece = await queue.piece(piece_id)
    if piece is None or await _was_stored(ports, queue, piece):
        raise VerdictRefusedError(
            "skipped", "This piece does not wait any more: somebody has judged it, or it was too old."
        )
    return piece


@dataclass(frozen=True, slots=True)
class _Good:
    """An item that is to be stored."""

    outcome: Outcome
    caller: Caller
    prepared: Prepared


async def _checked(ports: Ports, work: Work, piece: Piece, item: ExtractionVerdict) -> _Good | Outcome:
    """An item made ready, or why it is not stored."""
    reason = _wrong(item, piece)
    if reason:
        return work.outcome("rejected", reason)
    said_in = replace(work.caller, source=piece.source or work.caller.source)
    try:
        prepared = await prepare(ports, said_in, _request(item, piece))
    except HoldfastError as error:
        return work.outcome("rejected", error.public)
    same = prepared.same.note if prepared.same is not None else _says_it(prepared)
    if same is not None:
        return work.outcome("skipped", f'{same.id} "{same.title}" says this already.')
    return _Good(work.outcome("applied", f"Stored as {prepared.note.id}."), work.caller, prepared)


def _wrong(item: ExtractionVerdict, piece: Piece) -> str:
    """What is wrong with an item; empty where nothing is."""
    if item.type not in NOTE_TYPES:
        return f"type is unknown. Use one of {', '.join(NOTE_TYPES)}."
    if len(item.content) > _LONGEST:
        return f"It is longer than {_LONGEST:,} characters. Say one thing in two to five sentences."
    whole = f"{item.title or ''}\n{item.content}"
    missing = unfounded(whole, piece.text) or days_from_elsewhere(whole, piece.text, piece.at)
    if missing:
        return f"The piece does not say: {', '.join(missing)}. Use its own words and figures."
    if share_stated(item.content, piece.text) < LEAST_SHARE:
        return "Most of its words are not in the piece. Say it in the piece's own words and language."
    return ""


def _request(item: ExtractionVerdict, piece: Piece) -> Remember:
    return Remember(
        content=item.content,
        type=item.type,
        title=item.title,
        space=None if item.about_self else piece.space or "global",
        tags=(DISTILLED,),
        about_self=item.about_self,
        confidence=item.confidence,
        session=piece.session or None,
        event_time=piece.at or None,
        addresses=addresses_of(piece.source, piece.session),
        unsaid=UNSAID,
    )


def _says_it(prepared: Prepared) -> Note | None:
    """A current note that says the same as a new one in other words."""
    new = prepared.note
    same = (note for note, _ in prepared.near if compared(new, note).difference == "none")
    return next((note for note in same if covers(f"{note.title}\n{note.content}", new.content)), None)


async def _store(
    ports: Ports, queue: TranscriptQueue, piece: Piece, good: Sequence[_Good], batch: str | None, *, is_judged: bool
) -> str:
    """One change for all of a piece. The attempt is noted first where it will be the last."""
    attempt = f"{piece.id}.{instant(ports.clock())}.{good[0].prepared.note.id}"
    if is_judged:
        await queue.attempt(piece.id, attempt)
    detail = JournalRecord(
        maintenance=Maintained(batch), item=" ".join(item.outcome.item for item in good), attempt=attempt
    )
    marks = {DISTILLED_FROM: f"{piece.path or piece.source}#{piece.id}"}
    return await store_together(ports, good[0].caller, [item.prepared for item in good], detail, marks)


def _completed(outcome: Outcome, change: str | None, others: Sequence[str] | None) -> Outcome:
    """An outcome with what undoes it, and with what other notes say."""
    if others is None:
        return outcome
    return replace(outcome, change_id=change, reason=" ".join([outcome.reason, *others]))


RAW: Final = "raw-turns"  # the tag of such a note
_BEFORE: Final = timedelta(days=2)  # that pieces go: the job may not run each day
_CONFIDENCE: Final = 0.5
_MOST: Final = 200  # pieces of one run


async def tidy(context: JobContext) -> int:
    """Let go of what waited too long; returns how many turns or notes that were."""
    queue = context.ports.transcripts
    if queue is None:
        return 0
    kept = 0
    if context.ports.raw_turns:
        before = instant(context.ports.clock() - timedelta(days=queue.days) + _BEFORE)
        pieces = await queue.old(before, _MOST, lambda: PIECE_PREFIX + context.ports.new_id().partition("_")[2])
        for piece in pieces:
            await context.step(lambda ports, piece=piece: keep_raw(ports, piece))  # type: ignore[misc]
            await queue.finish(piece.id)
        kept = len(pieces)
    return kept + await queue.tidy(context.ports.now)


async def keep_raw(ports: Ports, piece: Piece) -> None:
    """Keep a piece as it was said, as an archival note; the same piece is one note, however often it is tried."""
    whole = piece.whole.encode()[:LARGEST_CONTENT].decode("utf-8", "ignore")
    request = Remember(
        content=whole, type="observation", tier="archival", space=piece.space or "global", tags=(RAW,),
        title=f"What was said in {piece.source} on {piece.at[:10] or 'a day unknown'}", session=piece.session or None,
        event_time=piece.at or None, unsaid=_CONFIDENCE, compared=False,
    )  # fmt: skip
    await remember(ports, OWN_CALLER, request)


TIDY: Final = Job(
    "transcripts", "drops what waited too long to be distilled", tidy, lambda ports: ports.transcripts is not None
)
