"""Moving in: another memory becomes notes of this one, after a dry run, in small changes, never anything twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.backup.export import Exported
from holdfast.engine.admin.arrivals import (
    IMPORT,
    IMPORT_OP,
    LastInSpace,
    Ready,
    Taken,
    came_in_sections,
    clean_page,
    joined_to,
    made_ready,
    take_document,
    why,
)
from holdfast.engine.admin.gate import (
    AdminCall,
    Confirmations,
    Journalled,
    give_token,
    journalled,
    using_token,
    write_outcome,
)
from holdfast.engine.agent.remember import ATTEMPTS, same_guard
from holdfast.engine.commit import MOST_TAGS, check_known, commit, is_selfless, load_current, self_change, space_named
from holdfast.engine.ports import Attending, Caller, Ports, Transfers, ports_now
from holdfast.errors import ConflictError, HoldfastError, InvalidArgumentError, LimitExceededError, StorageError
from holdfast.importers.files import Source
from holdfast.index.rows import IndexedNote
from holdfast.index.view import IndexView
from holdfast.model.moving import Arrival, ArrivedDocument, ArrivedFile, ArrivedPage, Item, LeftOut, imported_id
from holdfast.model.note import SELF_ID, Link, Note, are_distinct, have_two_titles, joined
from holdfast.model.records import DAILY, JournalRecord, page_key
from holdfast.model.versions import AUTO_REASONS
from holdfast.store.stored import LARGEST_PAGE, Change, PageChange

MOST_REPORTED = 200  # of what was refused, and of what was not mapped
EXPORT = "admin_export"
CHANGED_HERE = "it has changed, and so has its note here, which stays as it is:"

Progress = Callable[[int, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ImportFrom:
    """What to import. `anywhere` says that the caller may name any path of this machine."""

    path: str
    kind: str | None = None
    space: str | None = None
    confirm: str | None = None
    anywhere: bool = False


@dataclass(slots=True)
class ImportReport:
    """What an import made, or would make.

    `notes` are new ones and `links` the edges that they bring. `known` came before; of these `differing` are not the
    same here and there any more, and were left as they are. `gone` came before and were deleted or merged here since.
    `same` say what a note here says already, and were joined to it. `updated` are notes whose text changed there, while
    nobody changed them here. `changes` are what it did, each to be undone by itself.
    `pages` are texts beside the notes, `secrets` kinds of what was taken out, `refused` things that are broken,
    `unmapped` what has no place here. The counts are whole, the lists are not beyond `MOST_REPORTED`.
    """

    kind: str = ""
    notes: int = 0
    links: int = 0
    pages: int = 0
    known: int = 0
    differing: int = 0
    gone: int = 0
    same: int = 0
    updated: int = 0
    refused_count: int = 0
    unmapped_count: int = 0
    refused: list[LeftOut] = field(default_factory=list)
    unmapped: list[LeftOut] = field(default_factory=list)
    secrets: Counter[str] = field(default_factory=Counter)
    changes: list[str] = field(default_factory=list)

    def take(self, taken: Taken, parts: Mapping[str, Ready]) -> None:
        """Count what became of the notes of a text."""
        self.notes += len(taken.fresh)
        self.updated += len(taken.updated)
        self.gone += len(taken.gone)
        self.known += taken.known
        self.differing += len(taken.edited)
        self.changes += [taken.change_id] if taken.change_id else []
        for note_id in taken.fresh:
            self.links += len(parts[note_id].note.connections)
        for note_id in (*taken.fresh, *taken.updated):
            self.secrets.update(parts[note_id].labels)
            self.leave_out(parts[note_id].where, parts[note_id].unmapped)
        for note_id in taken.both:
            self.leave_out(parts[note_id].where, [f"{CHANGED_HERE} {note_id}"])
        (first, *_) = parts.values()
        reason = "a section is not in the file any more; its note stays until it is marked outdated:"
        self.leave_out(first.where, [f"{reason} {note_id}" for note_id in taken.missing])

    def refuse(self, where: str, reason: str) -> None:
        self.refused_count += 1
        if len(self.refused) < MOST_REPORTED:
            self.refused.append(LeftOut(where, reason))

    def leave_out(self, where: str, reasons: Sequence[str]) -> None:
        self.unmapped_count += len(reasons)
        room = MOST_REPORTED - len(self.unmapped)
        self.unmapped += [LeftOut(where, reason, broken=False) for reason in reasons[: max(0, room)]]


@dataclass(frozen=True, slots=True)
class Imported:
    """An import that is done, or with a token one that was only tried."""

    report: ImportReport
    confirm: str | None
    notices: tuple[str, ...] = ()


async def import_memory(
    memory: Attending, caller: Caller, tokens: Confirmations, request: ImportFrom, progress: Progress
) -> Imported:
    """Say what an import would bring; with the token that this gives, do it. One that was interrupted goes on.

    Raises:
        InvalidArgumentError: there is nothing to import, or the token is not one of this call, or what is to be
            imported has changed since it was given.
        StorageError, ConflictError: what was imported until then stays; call again to go on.
    """
    call = AdminCall(caller, IMPORT, {"dry_run": True} if request.confirm is None else {})
    report = ImportReport()
    try:
        confirm = await _import(memory, caller, tokens, request, progress, report)
    except HoldfastError as error:
        notices = await write_outcome(memory, call, {"outcome": type(error).__name__})
        raise _broken_off(error, report, request, notices) from error
    counts = {"kind": report.kind, "notes": report.notes, "known": report.known, "refused": report.refused_count}
    return Imported(report, confirm, await write_outcome(memory, call, {"outcome": "done", **counts}))


def _broken_off(
    error: HoldfastError, report: ImportReport, request: ImportFrom, notices: Sequence[str]
) -> HoldfastError:
    """The error of an import, which may have brought some notes before it."""
    if request.confirm is None or not (report.notes or report.pages):
        return error.also(*notices)
    return StorageError(
        f"The import broke off after {report.notes:,} notes and {report.pages:,} pages: {error.sentence}",
        "What came stays. Call once without confirm, then with the token it gives: it goes on where it was.",
    ).also(*notices)


async def _import(
    memory: Attending,
    caller: Caller,
    tokens: Confirmations,
    request: ImportFrom,
    progress: Progress,
    report: ImportReport,
) -> str | None:
    """Do it, or try it, and fill the report; a try gives a token."""
    ports = await memory.attend(ports_now)
    of = space_named("space", request.space) if request.space and request.space.strip() else ""
    source = await _moving(ports).open(request.path, request.kind, of, anywhere=request.anywhere)
    try:
        about = (caller.principal, IMPORT, request.path, request.kind or "", of, source.mark)
        run = _Importing(memory, ports, caller, report, writes=request.confirm is not None).run
        if request.confirm is None:
            await run(source, progress)
            return await give_token(ports, tokens, about)
        async with using_token(ports, tokens, request.confirm, about):
            await run(source, progress)
        return None
    finally:
        await source.aclose()


async def export_memory(memory: Attending, caller: Caller, name: str | None) -> Journalled[Exported]:
    """Write the folder as it is now to `exports/`.

    Raises:
        InvalidArgumentError: the name cannot be used.
        StorageError: the disk refused; there is no new export.
    """
    call = AdminCall(caller, EXPORT, anywhere=True)
    return await journalled(memory, call, lambda ports: _moving(ports).export(name), lambda made: {"export": made.path})


def _moving(ports: Ports) -> Transfers:
    if ports.moving is None:
        raise StorageError("This storage is not moved in or out of like this.", "Use the means of its database.")
    return ports.moving


@dataclass(frozen=True, slots=True)
class _Met:
    """Some notes of a source by id: known here, gone from here, new, or the same as another note."""

    known: Mapping[str, IndexedNote]
    gone: set[str]
    first: dict[str, tuple[Note, ...]]
    fresh: set[str] = field(default_factory=set)
    same: dict[str, Note] = field(default_factory=dict)


def _with_all(before: Note, arrived: Sequence[Note]) -> Note:
    """A note joined with the links and tags of others that say the same; their ids lead to it from now on."""
    for note in arrived:
        after = joined(before, note, _own_links(note), note.updated, MOST_TAGS).note
        before = replace(after, merged=tuple(dict.fromkeys((*after.merged, note.id, *note.merged))))
    return before


def _own_links(note: Note) -> list[Link]:
    return [link for link in note.connections if link.reason not in AUTO_REASONS]


def _not_joined(same: Note, item: Ready) -> list[str]:
    kept = joined(same, item.note, _own_links(item.note), item.note.updated, MOST_TAGS).kept
    further = ["its further frontmatter is not taken over"] if item.is_foreign else []
    return (
        [f"it says what {same.id} says and is joined to it: {'; '.join((*kept, *further))}"] if kept or further else []
    )


class _Importing:
    """One run over a source. Notes are stored a few at a time, each time whole: it can end anywhere."""

    def __init__(self, memory: Attending, ports: Ports, caller: Caller, report: ImportReport, *, writes: bool) -> None:
        self._memory = memory
        self._ports = ports
        self._caller = caller
        self._writes = writes
        self._report = report
        self._threads = LastInSpace()
        self._own: frozenset[str] = frozenset()  # ids that the source's notes have there
        self._first: dict[str, tuple[Note, ...]] = {}  # by what they say, the notes of this source
        self._anew: set[str] = set()  # notes that took a new text over
        self._apart: set[str] = set()  # what was joined to these while they said the same
        self._joined: dict[str, Ready] = {}  # what is joined to other notes, which may yet take a new text over

    async def run(self, source: Source, progress: Progress) -> None:
        self._report.kind = source.kind
        self._own = source.own
        done = 0
        while items := await source.read():
            await self._take(items)
            done += sum(not isinstance(item, LeftOut) or item.broken for item in items)
            await progress(min(done, source.total), source.total)
        for item in self._joined.values():
            if item.note.id in self._apart:
                await self._take_notes([item])
            else:
                await self._take_parts([item], item.note.content)

    async def _take(self, items: Sequence[Item]) -> None:
        ready: dict[str, Ready] = {}
        for item in await self._by_length(items):
            match item:
                case Arrival() | ArrivedFile():
                    try:
                        made = await self._made_ready(item)
                    except HoldfastError as error:
                        self._report.refuse(item.where, why(error))
                        continue
                    if ready.setdefault(made.note.id, made) is not made:
                        self._report.refuse(item.where, "another one of this source has the same id")
                case ArrivedDocument():
                    await self._take_document(item)
                case ArrivedPage():
                    await self._take_page(item)
                case LeftOut(where=where, reason=reason, broken=True):
                    self._report.refuse(where, reason)
                case LeftOut(where=where, reason=reason):
                    self._report.leave_out(where, [reason])
        if others := await self._bring_up_to_date(list(ready.values())):
            await self._take_notes(others)

    async def _by_length(self, items: Sequence[Item]) -> list[Item]:
        """These things, with short texts as one note unless they came in sections before."""
        texts = [item for item in items if isinstance(item, ArrivedDocument) and not item.is_long]
        ids = [imported_id(item.whole.key) for item in texts]
        split = await self._memory.attend(lambda ports: came_in_sections(ports, ids)) if ids else set()
        whole = {item.where for item, note_id in zip(texts, ids, strict=True) if note_id not in split}
        return [item.whole if isinstance(item, ArrivedDocument) and item.where in whole else item for item in items]

    async def _take_document(self, item: ArrivedDocument) -> None:
        """Store a long text in its sections, as one change."""
        parts: list[Ready] = []
        for arrival in item.parts:
            try:
                parts.append(await self._made_ready(arrival))
            except HoldfastError as error:
                self._report.refuse(arrival.where, why(error))
                if not parts:
                    return  # without the note of the whole there is nothing that they are part of
        self._threads.last[parts[0].note.space] = parts[0].note.id
        await self._take_parts(parts, item.whole.content)

    async def _bring_up_to_date(self, ready: Sequence[Ready]) -> list[Ready]:
        """Let notes follow texts that have changed; returns what is new or as it was. An export's notes stay.

        What is joined to another note waits for the end, when that one has its text.
        """
        if self._report.kind == "holdfast":
            return list(ready)
        ids = [item.note.id for item in ready]
        there = await self._memory.attend(lambda ports: ports.index.notes(ids))
        joined = await self._memory.attend(lambda ports: joined_to(ports, ids))
        others: list[Ready] = []
        for item in ready:
            known = there.get(item.note.id)
            if known is not None and known.note.content != item.note.content:
                await self._take_parts([item], item.note.content)
            elif known is None and item.note.id in joined:
                self._joined[item.note.id] = item
            else:
                others.append(item)
        return others

    async def _take_notes(self, ready: Sequence[Ready]) -> None:
        met = await self._memory.attend(lambda ports: self._store(ports, ready))
        self._count(ready, met)

    async def _take_parts(self, parts: Sequence[Ready], whole: str) -> None:
        taken = await self._memory.attend(
            lambda ports: take_document(ports, self._caller, parts, whole, writes=self._writes)
        )
        self._anew.update(taken.updated)
        self._apart.update(taken.apart)
        self._report.take(taken, {part.note.id: part for part in parts})

    async def _made_ready(self, item: Arrival | ArrivedFile) -> Ready:
        size = len(item.data if isinstance(item, ArrivedFile) else item.content)
        ports, who = self._ports, self._caller.principal
        return await ports.computing.run(who, size, lambda: made_ready(ports, item, self._threads))

    async def _store(self, ports: Ports, ready: Sequence[Ready]) -> _Met:
        """Store what is new; returns what became of each."""
        met = await self._meet(ports, ready)
        for _ in range(ATTEMPTS):
            if not self._writes:
                break
            guards = sorted({same_guard(item.note) for item in ready if item.note.id not in met.known})
            keys = {SELF_ID, *guards, *(item.note.id for item in ready), *(note.id for note in met.same.values())}
            async with ports.store.hold(keys) as made:
                await check_known(ports, made)
                again = await self._meet(ports, ready)
                if {note.id for note in again.same.values()} <= keys:
                    await self._write(ports, ready, again, guards)
                    met = again
                    break
            met = again
        else:
            raise ConflictError("Others store the same notes at this moment.", "Call again to go on.")
        self._first = met.first
        return met

    async def _write(self, ports: Ports, ready: Sequence[Ready], met: _Met, guards: Sequence[str]) -> None:
        detail = JournalRecord(admin=IMPORT, guards=tuple(guards))
        changes = {item.note.id: Change(None, item.note, item.raw) for item in ready if item.note.id in met.fresh}
        if changes:
            if SELF_ID not in changes and await is_selfless(ports):
                changes[SELF_ID] = self_change(ports.now)
            done = await commit(ports, self._caller, IMPORT_OP, list(changes.values()), None, detail)
            self._report.changes.append(done.change_id)
        joins: dict[str, list[Note]] = {}
        for item in ready:
            if item.note.id in met.same:
                joins.setdefault(met.same[item.note.id].id, []).append(item.note)
        if joins:
            there = await ports.index.notes(joins)
            before = [await load_current(ports, there[note_id]) for note_id in joins]
            joining = [Change(stored, _with_all(stored.note, joins[stored.note.id])) for stored in before]
            done = await commit(ports, self._caller, IMPORT_OP, joining, None, detail)
            self._report.changes.append(done.change_id)

    async def _meet(self, ports: Ports, ready: Sequence[Ready]) -> _Met:
        """What is here of these notes, and which of them say what another says, here or earlier in this source."""
        ids = [item.note.id for item in ready]

        def read(view: IndexView) -> _Met:
            known, before = view.notes(ids), view.with_history(ids) - self._apart
            met = _Met(known, before - known.keys(), first=dict(self._first))
            for item in ready:
                note, guard = item.note, same_guard(item.note)
                if note.id in met.gone:
                    continue
                first = self._standing(view, met.first.get(guard, ()), guard, met.fresh)
                same = None if note.id in known else self._same(view, ports.now, note, first)
                if same is not None:
                    met.same[note.id] = same
                    continue
                if note.id in known:
                    note = known[note.id].note  # as it is here: somebody may have edited it
                    guard = same_guard(note)
                else:
                    met.fresh.add(note.id)
                met.first[guard] = (*met.first.get(guard, ()), note)
            return met

        return await ports.index.read(read)

    def _standing(self, view: IndexView, first: Sequence[Note], guard: str, fresh: Collection[str]) -> list[Note]:
        """Of this source's notes that came with one text those that still have it: one may be edited by now."""
        if not self._writes:
            return list(first)
        there = view.notes([one.id for one in first])
        now = [one if one.id in fresh else there[one.id].note for one in first if one.id in fresh or one.id in there]
        return [one for one in now if same_guard(one) == guard]

    def _same(self, view: IndexView, now: str, note: Note, first: Sequence[Note]) -> Note | None:
        if note.is_outdated or note.valid_until or note.evidence or note.id == SELF_ID:
            return None
        here = view.same_note(note, now, self._own)
        there = view.notes([here])[here].note if here else None
        if there is not None and there.id not in self._anew and not have_two_titles(there, note):
            return there
        if note.id in self._own:  # an export's notes stay as many as they are
            return None
        fits = (one for one in first if not one.is_outdated and not have_two_titles(one, note))
        return next((one for one in fits if not are_distinct(one, note)), None)

    def _count(self, ready: Sequence[Ready], met: _Met) -> None:
        report = self._report
        for item in ready:
            note = item.note
            if note.id in met.fresh:
                report.notes += 1
                report.links += len(note.connections)
                report.secrets.update(item.labels)
                report.leave_out(item.where, item.unmapped)
            elif note.id in met.same:
                report.same += 1
                report.leave_out(item.where, [*item.unmapped, *_not_joined(met.same[note.id], item)])
            elif note.id in met.gone:
                report.gone += 1
            else:
                report.known += 1
                report.differing += met.known[note.id].note.content != note.content

    async def _take_page(self, page: ArrivedPage) -> None:
        report = self._report
        if not page.data.strip():
            return
        try:
            data, labels = await self._ports.computing.run(
                self._caller.principal, len(page.data), lambda: clean_page(self._ports, page.data)
            )
            new = await self._memory.attend(lambda ports: self._store_page(ports, page.path, data))
        except LimitExceededError as error:
            report.refuse(page.where, why(error))
            return
        except InvalidArgumentError as error:
            report.leave_out(page.where, [str(error)])
            return
        if new:
            report.pages += 1
            report.secrets.update(labels)
        else:
            report.known += 1

    async def _store_page(self, ports: Ports, path: str, data: bytes) -> bool:
        """Whether a page is new here.

        Raises:
            InvalidArgumentError: there is another one that it cannot be added to.
        """
        async with ports.store.hold({page_key(path)}):
            page = (await ports.store.pages([path])).get(path)
            if page is not None and data.strip() in page.data:
                return False
            after = data
            if page is not None and page.data.strip():
                if not path.startswith(f"{DAILY}/"):
                    raise InvalidArgumentError("there is another one here, which is left as it is")
                after = page.data.rstrip(b"\n") + b"\n\n" + data
            if len(after) > LARGEST_PAGE:
                raise LimitExceededError(f"The log of the day would be longer than {LARGEST_PAGE >> 20} MiB.")
            if self._writes:
                await commit(
                    ports, self._caller, IMPORT_OP, [PageChange(path, page, after)], None, JournalRecord(admin=IMPORT)
                )
        return True
