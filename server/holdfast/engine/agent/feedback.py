"""What is said of a note once it is there: that it is no longer current, that it helped or did not.

Feedback is kept in the journal as one line without `files`, so that it is no change of the note. A line with signal 1
and source explicit is also a confirmed use of the note: a replay takes one for each note and day of `at`. As such it is
not flushed before the answer: it outlives the process, and a power cut within seconds may take it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, get_args

import anyio

from holdfast.engine.commit import (
    UNTOLD,
    TextGate,
    behind_the_journal,
    commit,
    load_current,
    lost_notices,
    resolve,
    still_told,
    told,
    without_secrets,
)
from holdfast.engine.encoding import vector_in
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import EventNotFoundError, InvalidArgumentError, ProtectedNoteError
from holdfast.index.note_index import IndexLostError
from holdfast.index.projection import Update
from holdfast.index.recalls import EVENT_PREFIX, KEPT_DAYS, FeedbackRow, QuestionVector, RatedQuestion
from holdfast.index.rows import IndexedNote
from holdfast.model.identifiers import without_names
from holdfast.model.lifecycle import BOUND
from holdfast.model.note import PREFIX, SELF_ID, Note, id_milliseconds, instant, is_note_id, moment
from holdfast.model.ranking import QueryVector
from holdfast.model.records import FEEDBACK, LONGEST_QUESTION, Asked, JournalRecord, Rating, RecallEvent
from holdfast.model.when.questions import read_time, without_time
from holdfast.model.words import query_terms, question_key, quoted
from holdfast.store.stored import Change


@dataclass(frozen=True, slots=True)
class MarkOutdated:
    """Which note is no longer true, why, and which note says what is true now."""

    node_id: str | None
    reason: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Outdated:
    """The note is retired. `change_id` undoes it; None where it was retired like this already."""

    note: Note
    change_id: str | None
    notices: tuple[str, ...]


async def mark_outdated(ports: Ports, caller: Caller, request: MarkOutdated) -> Outdated:
    """Retire a note.

    Raises:
        MemoryNotFoundError, AmbiguousIdError, ProtectedNoteError, InvalidArgumentError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    if request.node_id is None:
        raise InvalidArgumentError("node_id is missing.", "Name the note to retire, or give undo a change_id.")
    gate = TextGate(ports)
    reason = gate.line("reason", request.reason)
    found = await resolve(ports.index, request.node_id)
    if found.note.id == SELF_ID:
        raise ProtectedNoteError("The Self note cannot be marked outdated.", "Edit its file instead.")
    successor = await _successor(ports, found, request.superseded_by)
    async with ports.store.hold({found.note.id, *([successor] if successor else [])}):
        stored = await load_current(ports, found)
        closed = replace(
            stored.note,
            outdated=True,
            outdated_reason=reason or stored.note.outdated_reason,
            superseded_by=successor or stored.note.superseded_by,
            valid_until=_end(stored.note, ports.now),
        )
        if closed == stored.note:
            return Outdated(closed, None, ("The note was already marked outdated like this; nothing was changed.",))
        closed = replace(closed, updated=max(ports.now, closed.created))
        done = await commit(ports, caller, "mark_outdated", [Change(stored, closed)])
    more = await told(_what_follows(ports, closed, successor, done.change_id), [UNTOLD])
    return Outdated(closed, done.change_id, (*gate.notices(), *_overwritten(stored.note, closed), *more))


async def _what_follows(ports: Ports, closed: Note, successor: str | None, change_id: str) -> list[str]:
    """What is to be said of its successor, of what that leaves out, and of notes that still rely on what is retired."""
    new = await ports.index.notes([successor] if successor else [])
    lost = [each for item in new.values() for each in await lost_notices(ports, [closed], item.note, change_id)]
    whole = await still_told(ports, [closed.id], closed.superseded_by)
    retired = [await _retired(ports, item.note) for item in new.values() if item.note.is_outdated]
    return [*retired, *lost, *whole]


def _overwritten(before: Note, after: Note) -> list[str]:
    """What was known of a note that had been retired already, and is not any more."""
    told = (
        ("the reason", before.outdated_reason, after.outdated_reason),
        ("superseded_by", before.superseded_by, after.superseded_by),
    )
    gone = [f"{name} was {quoted(old)}" for name, old, new in told if before.outdated and old and old != new]
    return [f"It was outdated already: {', '.join(gone)}."] if gone else []


def _end(note: Note, now: str) -> str:
    """A planned expiry that has passed, or an earlier retirement, stays; anything else ends now."""
    return note.valid_until if note.valid_until and (note.is_outdated or note.valid_until <= now) else now


async def _successor(ports: Ports, old: IndexedNote, given: str | None) -> str | None:
    """The id of the note that replaces `old`, which must not itself be replaced by `old`."""
    if given is None or not given.strip():
        return None
    successor = await resolve(ports.index, given, what="superseded_by")
    chains = await ports.index.read(lambda view: view.successors([successor.note.id]))
    if old.note.id in (successor.note.id, *chains.get(successor.note.id, ())):
        raise InvalidArgumentError(
            "superseded_by is this note, or is itself superseded by it.", "Name the note that is true now."
        )
    return successor.note.id


async def _retired(ports: Ports, successor: Note) -> str:
    """That the note which is named as true now was retired too, and which one of those behind it is current."""
    chains = await ports.index.read(lambda view: view.successors([successor.id]))
    behind = await ports.index.notes(chains.get(successor.id, ()))
    current = next((note for note, item in behind.items() if not item.note.is_outdated), None)
    left = f"{current} is what is current" if current else "no current note is left, so name one or undo this"
    return f"superseded_by {successor.id} was itself retired: {left}."


FeedbackSource = Literal["explicit", "implicit"]

_WRITTEN_SECONDS = 2.0  # at the latest after these a recall of another server is in the log
_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Feedback:
    """A signal on a note: 1 where it helped, -1 where it did not; about the recall `event_id`, else the latest."""

    node_id: str
    signal: int
    source: str = "explicit"
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Rated:
    """What came of it: `recorded` is False where nothing was new.

    `affinity` is what the note's score moves by for that question now, in -0.15..0.15; None where no question is known.
    """

    note_id: str
    recorded: bool
    affinity: float | None
    effect: str
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _About:
    """What the signal is about: a recall and its question, or only a day."""

    event: str
    question: RatedQuestion | None = None
    query: str = ""
    vector: QueryVector | None = None


async def submit_feedback(ports: Ports, caller: Caller, request: Feedback) -> Rated:
    """Record a signal; the same one again, or an implicit one where somebody has said so explicitly, changes nothing.

    Raises:
        InvalidArgumentError: `signal` or `source` is none of those there are.
        MemoryNotFoundError, AmbiguousIdError, QuarantinedError: there is no such note.
        EventNotFoundError: `event_id` is of no recall that is still known and showed the note.
        StorageError: the journal cannot be written; nothing was recorded.
    """
    if type(request.signal) is not int or request.signal not in (1, -1):
        raise InvalidArgumentError("signal is neither 1 nor -1.", "Give 1 where the note helped, -1 where it did not.")
    if request.source not in get_args(FeedbackSource):
        raise InvalidArgumentError("source is unknown.", "Use explicit or implicit.")
    note_id = (await resolve(ports.index, request.node_id)).note.id
    ports.store.check_writing()
    event = await _event(ports, caller, note_id, request.event_id)
    async with ports.store.hold({note_id}):
        known = await ports.index.read(lambda view: view.feedback(note_id))
        about = await _about(ports, note_id, request.event_id, event, known)
        stands = _standing(known, about, request)
        if stands:
            return await _rated(ports, note_id, about, recorded=False, notices=(stands,))
        explicit = request.source == "explicit"
        row = FeedbackRow(note_id, about.event, 0, request.signal, explicit, ports.now, about.question)
        line = _record(row, caller)
        line = replace(line, seq=await ports.store.record(line))
        try:
            with behind_the_journal():
                await ports.index.apply(_update(line, about))
            return await _rated(ports, note_id, about, recorded=True)
        except IndexLostError:  # a second attempt would find its own line and call it a repetition
            return Rated(note_id, True, None, "Recorded; it counts as soon as the index is rebuilt.", ())  # noqa: FBT003


async def _event(ports: Ports, caller: Caller, note_id: str, event_id: str | None) -> RecallEvent | None:
    """The recall of that id, else the latest that showed the note; waits where another server may be writing it."""
    since = instant(ports.clock() - timedelta(days=KEPT_DAYS))
    if event_id is None:
        return await ports.recalls.latest(note_id, since, caller.principal)
    event = await ports.recalls.get(event_id, since)
    while event is None and _is_young(event_id, ports.clock()):
        await anyio.sleep(_LOOK_SECONDS)
        event = await ports.recalls.get(event_id, since)
    return event


def _is_young(event_id: str, now: datetime) -> bool:
    name = PREFIX + event_id.removeprefix(EVENT_PREFIX)
    return is_note_id(name) and abs(now.timestamp() - id_milliseconds(name) / 1000) < _WRITTEN_SECONDS


async def _about(
    ports: Ports, note_id: str, event_id: str | None, event: RecallEvent | None, known: Iterable[FeedbackRow]
) -> _About:
    if event_id is None:
        return _About(f"day_{ports.now[:10]}") if event is None else await _asked(ports, event)
    if event is None:
        for row in known:
            if row.event == event_id and row.question is not None:  # rated before; the journal still has its question
                return _About(row.event, row.question, row.question.asked)
        raise EventNotFoundError(
            f"No recall with this event_id is known; they are kept for {KEPT_DAYS} days.",
            "Recall again and rate that answer, or leave event_id out.",
        )
    if note_id not in {shown for shown, _ in event.shown}:
        raise EventNotFoundError(
            "The recall with this event_id did not show this note.",
            "Give the event_id of the answer that did, or leave it out.",
        )
    return await _asked(ports, event)


async def _asked(ports: Ports, event: RecallEvent) -> _About:
    """The event's question without secrets and cut at the cap, and its vector where its set is known."""
    text = await without_secrets(ports, event.principal, event.query)
    asked = text.replace("\0", " ").strip()[:LONGEST_QUESTION]
    if not asked:
        return _About(event.id)
    time = read_time(asked, moment(event.at))  # as recall does: neither words of time nor names are embedded
    text = without_time(asked, time) if time else asked
    subjects = await ports.index.read(lambda view: view.subjects(query_terms(text)))
    embedded = without_names(text, subjects)[:LONGEST_QUESTION] or asked
    question = RatedQuestion(question_key(event.query), asked, embedded)
    vector = vector_in(ports, event.vector_set, event.vector) if event.vector else None
    return _About(event.id, question, event.query, vector)


def _standing(known: Iterable[FeedbackRow], about: _About, request: Feedback) -> str:
    """Why the signal changes nothing; empty where it does."""
    explicit = request.source == "explicit"
    key = about.question.key if about.question else ""
    for row in known:
        same_event = row.event == about.event
        same_question = row.question is not None and row.question.key == key
        if same_event and row.signal == request.signal and row.explicit == explicit:
            return "This was recorded before; nothing was changed."
        if row.explicit and not explicit and (same_event or same_question):
            return "An explicit signal on this note for this question stands; nothing was changed."
    return ""


def _record(row: FeedbackRow, caller: Caller) -> JournalRecord:
    about = row.question
    asked = None if about is None else Asked(about.key, about.asked, about.embedded)
    given = Rating(row.note, row.event, row.signal, row.explicit, asked)
    return JournalRecord(FEEDBACK, row.at, caller.principal, caller.source, feedback=given)


def _update(line: JournalRecord, about: _About) -> Update:
    if about.question is None or about.vector is None or len(about.query) > LONGEST_QUESTION:
        return Update(records=[line])  # a vector of more than is kept could not be made again
    vector = QuestionVector(about.question.key, about.vector.key, about.vector.vector)
    return Update(records=[line], question_vectors=[vector])


async def _rated(ports: Ports, note_id: str, about: _About, *, recorded: bool, notices: tuple[str, ...] = ()) -> Rated:
    if about.question is None:
        effect = "No recent recall is known that showed this note: without a question it moves nothing."
        return Rated(note_id, recorded, None, effect, notices)
    query, vector, now = about.query, about.vector, ports.now
    found = await ports.index.read(lambda view: view.affinities([note_id], query, vector, now))
    value = found.get(note_id, 0.0)
    effect = f"For this question the note's score moves by {value:+.3f} now, of at most {BOUND:.2f}."
    return Rated(note_id, recorded, value, effect, notices)
