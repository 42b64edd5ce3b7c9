"""What every verb begins and ends with: arguments checked, ids resolved; a change that is made whole or not at all."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import anyio

from holdfast.engine.encoding import Encoded, identity
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import (
    AmbiguousIdError,
    ConflictError,
    InvalidArgumentError,
    LimitExceededError,
    MemoryNotFoundError,
    QuarantinedError,
    SecretRefusedError,
    StorageError,
)
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.index.projection import MadeVectors, NoteRow, Update
from holdfast.index.rows import FileRow, IndexedNote
from holdfast.model.maintenance import cosine
from holdfast.model.note import (
    SELF_ID,
    Note,
    end_of,
    id_range,
    is_note_id,
    read_instant,
    space_name,
    tags_once,
    title_of,
)
from holdfast.model.parts import lost_with
from holdfast.model.records import JournalRecord, marks_of
from holdfast.model.tokens import beginning
from holdfast.model.versions import FAR, MADE_OF
from holdfast.model.words import folded
from holdfast.store.stored import Change, Committed, PageChange, Stored

Answer = TypeVar("Answer")
UNTOLD = "This is done, but the index went away then: what else there was to say of it is missing here."
LARGEST_CONTENT = 256 * 1024
LARGEST_QUERY = 64 * 1024
LONGEST_LINE = 500
MOST_TAGS, LONGEST_TAG = 32, 64
MOST_IDS = 50
BEARING_SECONDS = 30.0  # how long notes wait for the first one and Self; as long as for a key
QUOTED_TOKENS = 40  # tokens of a title in a notice
SELF_TITLE = "Self"
SELF_TEXT = "The person this memory belongs to. Notes about them are linked from here."


@dataclass(slots=True)
class TextGate:
    """Texts that are to be stored pass here, once; `labels` says which secrets were taken out."""

    ports: Ports
    labels: list[str] = field(default_factory=list)

    def text(self, name: str, value: str, largest: int) -> str:
        """A text without secrets.

        Raises:
            InvalidArgumentError: it is blank or holds characters that no file can.
            LimitExceededError: it is longer than `largest` bytes.
            SecretRefusedError: it holds a secret and the server refuses those.
        """
        if not value.strip():
            raise InvalidArgumentError(f"{name} is blank.", f"Give {name} some text.")
        check_text(name, value, largest)
        if self.ports.secrets == "allow":
            return value
        redaction = self.ports.redact(value)
        if redaction.labels and self.ports.secrets == "refuse":
            raise SecretRefusedError(
                f"{name} holds a secret ({', '.join(redaction.labels)}).", "Leave it out; nothing was stored."
            )
        self.labels.extend(redaction.labels)
        return redaction.text

    def line(self, name: str, value: str | None) -> str | None:
        """A short text on one line; None where there is none."""
        if value is None or not value.strip():
            return None
        return " ".join(self.text(name, value, LONGEST_LINE).split())

    def space(self, value: str | None) -> str | None:
        """A space's one spelling; None where there is none."""
        named = self.line("space", value)
        return None if named is None else space_named("space", named)

    def tags(self, values: Iterable[str]) -> tuple[str, ...]:
        tags = tags_once(" ".join(value.split()) for value in values if value.strip())
        if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
            raise LimitExceededError(f"tags takes at most {MOST_TAGS} tags of at most {LONGEST_TAG} characters.")
        return tuple(self.line("tags", tag) or "" for tag in tags)

    def notices(self) -> tuple[str, ...]:
        """What the caller is told about secrets."""
        if not self.labels:
            return ()
        kinds = ", ".join(dict.fromkeys(self.labels))
        return (f"Secrets were replaced by placeholders before anything was stored: {kinds}.",)


async def without_secrets(ports: Ports, principal: str, text: str) -> str:
    """A text that is kept but was not given to be stored: what is secret in it is always replaced."""
    if ports.secrets == "allow":
        return text
    return (await ports.computing.run(principal, len(text), lambda: ports.redact(text))).text


def check_text(name: str, value: str, largest: int) -> None:
    """Refuse what cannot be a text of that size."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{name} holds half of a surrogate pair.", "Send valid Unicode.") from error
    if size > largest:
        way = "Store it in parts." if largest == LARGEST_CONTENT else "Shorten it."
        raise LimitExceededError(f"{name} is {size:,} bytes long; the limit is {largest:,}.", way)
    if "\0" in value:
        raise InvalidArgumentError(f"{name} holds a NUL character.", "Leave it out.")


def check_query(value: str) -> None:
    if not value.strip():
        raise InvalidArgumentError("query is blank.", "Ask for something.")
    check_text("query", value.replace("\0", " "), LARGEST_QUERY)


def check_range(name: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InvalidArgumentError(f"{name} is outside 1 to {most}.")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InvalidArgumentError(f"{name} is unknown.", f"Use one of {', '.join(choices)}.")


def check_offset(offset: int) -> None:
    if offset < 0:
        raise InvalidArgumentError("offset is below 0.")


def check_count(name: str, values: Sequence[str]) -> Sequence[str]:
    if len(values) > MOST_IDS:
        raise LimitExceededError(f"{name} takes at most {MOST_IDS} entries.")
    return values


def space_named(name: str, value: str) -> str:
    """A space's one spelling."""
    try:
        return space_name(value)
    except ValueError as error:
        raise InvalidArgumentError(f"{name} cannot be used: {error}.", "Use letters, digits, - and _.") from error


def nearest_space(name: str, spaces: Iterable[str], least: float) -> str:
    """The space whose name is most like this one; empty where none is so like it, as difflib measures it (0 to 1)."""
    by_fold = {folded(each): each for each in spaces}
    near = difflib.get_close_matches(folded(name), by_fold, n=1, cutoff=least)
    return by_fold[near[0]] if near else ""


def when(name: str, value: str | None) -> str | None:
    """An instant, or None where there is none."""
    return None if value is None else _time(name, value, read_instant)


def until(name: str, value: str | None) -> str | None:
    """The last second that a date or time covers, or None where there is none."""
    return None if value is None else _time(name, value, end_of)


def _time(name: str, value: str, read: Callable[[str], str]) -> str:
    try:
        return read(value)
    except ValueError:  # its words repeat the value
        raise InvalidArgumentError(
            f"{name} is not an ISO-8601 date or time.", "Write 2026-11-20 or 2026-11-20T10:15:00Z."
        ) from None


_SHOWN = 5


async def resolve(index: NoteIndex, given: str, *, what: str = "node_id") -> IndexedNote:
    """The one note that `given` means; a merged note leads to the one that it was merged into.

    Raises:
        MemoryNotFoundError: no id is or begins with it.
        AmbiguousIdError: several do.
        QuarantinedError: its file cannot be read as a note.
    """
    if id_range(given) is None:
        raise MemoryNotFoundError(
            f"{what} is not a note id.", "Ids look like mem_ and 16 letters and digits; recall shows them."
        )
    found = await index.matching(given, _SHOWN + 1)
    if not found:
        await _tell_quarantine(index, given)
        raise await _not_found(index, given, what)
    if len(found) > 1:
        shown = "; ".join(f"{note_id} ({title_of(title)})" for note_id, title in found[:_SHOWN])
        more = " and more" if len(found) > _SHOWN else ""
        raise AmbiguousIdError(f"{what} begins several ids: {shown}{more}.", "Give more of the id.")
    note = (await index.notes([found[0][0]])).get(found[0][0])
    if note is None:
        raise MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    return note


async def resolve_all(index: NoteIndex, given: Sequence[str], *, what: str) -> list[IndexedNote]:
    """Each of several ids, without repetition, in order; one that cannot be found is named by its place."""
    notes = [await resolve(index, item, what=f"{what}[{place}]") for place, item in enumerate(given)]
    return list({note.note.id: note for note in notes}.values())


async def _tell_quarantine(index: NoteIndex, given: str) -> None:
    wanted = given.strip().lower()
    if not is_note_id(wanted):
        return
    for row in (await index.files_of([wanted])).values():
        if row.problem:
            raise QuarantinedError(
                f"This note is quarantined: {row.problem}.",
                "Mend its file in an editor, or its row from a backup of the database; it is then found.",
            )


async def _not_found(index: NoteIndex, given: str, what: str) -> MemoryNotFoundError:
    """That there is no such note, and what became of one that there was."""
    wanted = given.strip().lower()
    last = await index.read(lambda view: view.fate(wanted)) if is_note_id(wanted) else None
    if last is None:
        return MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    op, at, is_deleted = last
    if is_deleted and op == "merge":
        return MemoryNotFoundError(
            f"{what} names no note any more: it was merged at {at} into another one, which is gone.",
            "Find others with recall; a backup may have it.",
        )
    if is_deleted:
        return MemoryNotFoundError(
            f"{what} names no note any more: it was deleted at {at} ({op}).", "Find others with recall."
        )
    return MemoryNotFoundError(
        f"{what} names no note any more: its file was removed outside of the tools, after {at} ({op}).",
        "Find others with recall; a backup may have it.",
    )


NO_DETAIL = JournalRecord()


async def load_current(ports: Ports, indexed: IndexedNote) -> Stored:
    """The note's file as it is now. The caller holds its lock.

    Raises:
        ConflictError: the file is not what the index knows, or is being saved; look again, then repeat.
    """
    found = await ports.store.load([indexed.path], {indexed.path: indexed.note.id})
    if len(found) != 1 or not isinstance(found[0], Stored) or found[0].hash != indexed.hash:
        raise ConflictError("The note's file has changed on disk.", "Nothing was written; repeat the call.")
    ports.store.check_still(found[0])
    return found[0]


async def check_known(ports: Ports, made: Collection[str]) -> None:
    """Look again where a process died between the files and the index, before anything is decided by the index.

    Raises:
        ConflictError: the index does not know all of these notes; look again, then repeat.
    """
    if made and (await ports.index.notes(made)).keys() != set(made):
        raise ConflictError("Another server died in the middle of a change.", "Repeat the call.")


@contextmanager
def behind_the_journal() -> Iterator[None]:
    """What follows a line of the journal that is a record by itself: the line stays, whatever fails."""
    try:
        yield
    except StorageError as error:
        raise StorageError(
            f"It is in the journal, and the index could not take it in: {error.sentence}",
            "It counts when the index is next built; look before you repeat it.",
        ) from error


async def commit(
    ports: Ports,
    caller: Caller,
    op: str,
    changes: Sequence[Change | PageChange],
    vectors: Mapping[str, Encoded] | None = None,
    detail: JournalRecord = NO_DETAIL,
) -> Committed:
    """Write a change and make it findable; returns when it is flushed and indexed. The caller holds the locks.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who asks; told in the journal.
        op: the verb.
        changes: notes made, rewritten or deleted together, and pages.
        vectors: what was made, by note id, for notes that were encoded already.
        detail: what else the journal's line is to say; never text of a note.

    Raises:
        QuotaExceededError, ConflictError, StorageError: nothing was written.
    """
    at = ports.now  # said once: an index that is made anew from the journal has the same time
    seen = dict(ports.first_seen)
    said = replace(detail, at=at, by=caller.principal, source=caller.source, seen=marks_of(seen))
    usage = partial(ports.index.read, lambda view: view.usage())
    async with ports.quota.room(changes, usage), ports.store.commit(op, changes, said) as done:
        for path in seen:
            ports.first_seen.pop(path, None)
        if done.notes:  # pages are in no index
            await ports.index.apply(
                Update(
                    records=[done.record],
                    notes=[note_row(stored) for stored in done.stored],
                    gone=done.gone,
                    vectors=_made(done, vectors or {}),
                )
            )
    ports.made.append(done.change_id)
    return done


async def told(reading: Awaitable[Answer], otherwise: Answer) -> Answer:
    """What is read behind a change, or `otherwise`: a request whose index went away then is not to be tried once more.

    It would find its own change, and say that nothing had to be done.
    """
    try:
        return await reading
    except IndexLostError:
        return otherwise


def note_row(stored: Stored) -> NoteRow:
    """A stored note as it is indexed."""
    return NoteRow(stored.note, stored.hash, file_row(stored))


def file_row(stored: Stored) -> FileRow:
    return FileRow(stored.path, stored.mark, stored.touched_ns, stored.size, stored.note.id, has_id=stored.has_id)


def _made(done: Committed, vectors: Mapping[str, Encoded]) -> list[MadeVectors]:
    pairs = [(note_row(stored), vectors.get(stored.note.id)) for stored in done.stored]
    return [
        MadeVectors(row.note.id, row.encode_hash, encoded.made_with.key, encoded.chunks)
        for row, encoded in pairs
        if encoded is not None and encoded.made_with is not None and encoded.chunks
    ]


async def is_selfless(ports: Ports) -> bool:
    """Whether there is no Self note, not even one whose file cannot be read just now."""
    return not await ports.index.notes([SELF_ID]) and not await ports.index.files_of([SELF_ID])


@asynccontextmanager
async def bearing_self(ports: Ports, *, selfless: bool) -> AsyncIterator[set[str]]:
    """The key to own beside others where the Self note is to be stored with what the caller stores; else none.

    Of those that come together to a new memory the first stores it. The others wait for that alone: owning the same key
    each of them would wait for all in front, some flushes of the disk each.
    """
    if selfless and not ports.bearing.locked():
        async with ports.bearing:
            yield {SELF_ID}
            return
    if selfless:
        with anyio.move_on_after(BEARING_SECONDS):
            async with ports.bearing:
                pass  # the first is done, or has failed
    yield {SELF_ID} if selfless and await is_selfless(ports) else set()


def self_change(now: str) -> Change:
    """The Self note as it begins."""
    note = Note(
        id=SELF_ID, content=SELF_TEXT, title=SELF_TITLE, created=now, updated=now, type="person", tier="core",
        source="holdfast", about_self=True,
    )  # fmt: skip
    return Change(None, note)


def superseded(old: Stored, note: Note, now: str) -> Change:
    """The old note, closed by the new one; it was true until the new one's time."""
    closed = replace(
        old.note,
        superseded_by=note.id,
        valid_until=old.note.valid_until or note.event_time or now,
        updated=max(now, old.note.created),  # the clock may have gone back
    )
    return Change(old, closed)


async def still_told(ports: Ports, ids: Collection[str], successor: str | None = None) -> list[str]:
    """Which notes were made of these, which are no longer current, and tell them still; or that it is not known."""
    return await told(_still_told(ports, ids, successor), [UNTOLD])


async def _still_told(ports: Ports, ids: Collection[str], successor: str | None = None) -> list[str]:
    """Of notes that give way: which whole that they were consolidated in, not the successor, goes on telling them."""
    made = [link for link in await ports.index.links(list(ids)) if link.reason == MADE_OF and link.target in ids]
    links = [link for link in made if link.source != successor]
    wholes = await ports.index.notes([link.source for link in links])
    return [
        f"{link.source} was consolidated from {link.target} and still tells it; store it anew with supersedes."
        for link in links
        if (whole := wholes.get(link.source)) is not None and whole.note.is_current(ports.now)
    ]


async def lost_notices(ports: Ports, old: Sequence[Note], successor: Note, change_id: str) -> list[str]:
    """What notes that gave way say and their successor does not, each in its own words, with the way back."""
    undo = f'undo: mark_outdated(undo="{change_id}")'
    lost = [(note, lost_with(note, successor)) for note in old]
    strange = await told(seem_strange(ports, successor, [note for note, text in lost if text is None]), [])
    seems = [f"{text} Where it still holds, {undo}" for text in strange]
    more = "says more than that, which replacing it loses"
    rest = f"Where it still holds, remember it too, or {undo}"
    return [*seems, *(f'{note.id} {more}: "{text}". {rest}' for note, text in lost if text)]


async def seem_strange(ports: Ports, successor: Note, notes: Sequence[Note]) -> list[str]:
    """Of notes that share no word with their successor, that they are no nearer to it by meaning, as far as known."""
    key = made_with.key if (made_with := identity(ports.encoder)) is not None else None
    ids = [successor.id, *(note.id for note in notes)]
    vectors = await ports.index.read(lambda view: view.first_vectors(key, ids)) if key and notes else {}
    new = vectors.get(successor.id)
    near = {note.id for note in notes if new and (old := vectors.get(note.id)) and cosine(old, new) >= FAR}
    strange = ((note.id, beginning(note.title, QUOTED_TOKENS)) for note in notes if note.id not in near)
    return [f'{end} seems to be of something else: "{title}".' for end, title in strange]
