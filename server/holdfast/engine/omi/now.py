"""now_read and now_update: what an agent is working on, in a file that a person may edit too; and daily logs.

What is appended to a log stays, whoever else appends at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import structlog

from holdfast.batching import Batcher
from holdfast.engine.commit import LARGEST_CONTENT, TextGate, commit
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import HoldfastError, InvalidArgumentError, LimitExceededError, StorageError
from holdfast.index.note_index import IndexLostError
from holdfast.model.note import GLOBAL_SPACE, moment
from holdfast.model.now import Now, NowFile, fit, lines_of, one_line, read_now, stamp, update_now
from holdfast.model.ranking import Filter
from holdfast.model.records import (
    CAPSULES,
    DAILY,
    JournalRecord,
    capsule_name,
    daily_page,
    day_of,
    log_entry,
    log_title,
    now_page,
    page_key,
    sealed,
)
from holdfast.model.words import counted
from holdfast.store.stored import LARGEST_PAGE, Page, PageChange

MOST_DAYS = 36_600


def today(ports: Ports) -> date:
    """The UTC day that it is now."""
    return ports.clock().astimezone(UTC).date()


async def append_daily(ports: Ports, caller: Caller, content: str) -> str:
    """Add an entry to the log of the day; returns the log's path relative to the memory folder.

    Raises:
        InvalidArgumentError, LimitExceededError, SecretRefusedError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    gate = TextGate(ports)
    text = await ports.computing.run(
        caller.principal, len(content), lambda: gate.text("content", content, LARGEST_CONTENT)
    )
    path = daily_page(today(ports))
    async with ports.store.hold({page_key(path)}):
        page = (await ports.store.pages([path])).get(path)
        await commit(ports, caller, "daily_append", [grown(path, page, [text], ports.clock())])
    return path


async def read_daily(ports: Ports, days_ago: int = 0) -> str:
    """The log of today or of an earlier day; empty where there is none.

    Raises:
        InvalidArgumentError: `days_ago` is negative or absurd.
    """
    if not 0 <= days_ago <= MOST_DAYS:
        raise InvalidArgumentError("days_ago is out of range.", "Give 0 for today, 1 for yesterday.")
    path = daily_page(today(ports) - timedelta(days=days_ago))
    page = (await ports.store.pages([path])).get(path)
    return "" if page is None else page.data.decode("utf-8", "replace")


async def list_daily(ports: Ports, days: int = 7) -> list[str]:
    """The paths of the logs of so many days, today's being one of them, the newest first.

    Raises:
        InvalidArgumentError: `days` is not positive, or absurd.
    """
    if not 1 <= days <= MOST_DAYS:
        raise InvalidArgumentError("days is out of range.", "Give 7 for a week.")
    last = today(ports)
    first = last - timedelta(days=days - 1)
    found = await ports.store.list_pages(DAILY)
    return [path for path in reversed(found) if (day := day_of(path)) is not None and first <= day <= last]


def grown(path: str, page: Page | None, contents: Sequence[str], at: datetime) -> PageChange:
    """A log with entries added; whatever it holds stays as it is.

    Raises:
        LimitExceededError: it would be longer than a page may be.
    """
    day = day_of(path) or at.astimezone(UTC).date()
    before = page.data if page is not None and page.data else log_title(day).encode()
    after = before + "".join(log_entry(content, at) for content in contents).encode()
    if len(after) > LARGEST_PAGE:
        raise LimitExceededError(f"The log of the day is full: {LARGEST_PAGE >> 20} MiB.", "Go on tomorrow.")
    return PageChange(path, page, after)


LARGEST_TASK = 16 * 1024  # bytes
LARGEST_ITEM = 4 * 1024
MOST_ITEMS = 200
MOST_CAPSULES = 50
MOST_LOGS = 90  # days in which a completion is looked for
CAPSULE_BELIEFS, CAPSULE_NOTES = 10, 20
SETTLE_SECONDS = 2.0  # how long a reader waits for whoever is writing

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Context:
    """The NOW file of where the caller works; `timestamp` is when it was last updated, else when it was changed."""

    now: Now
    timestamp: datetime

    def shape(self) -> dict[str, Any]:
        """The five keys that OMI's reference documents, in its order."""
        now = self.now
        return {
            "current_task": now.current_task,
            "recent_completions": list(now.recent_completions),
            "pending_decisions": list(now.pending_decisions),
            "key_files": list(now.key_files),
            "timestamp": stamp(self.timestamp),
        }


@dataclass(frozen=True, slots=True)
class NowUpdate:
    """What is to change; None leaves a field as it is. Completions are added, the other fields replaced."""

    current_task: str | None = None
    recent_completions: Sequence[str] | None = None
    pending_decisions: Sequence[str] | None = None
    key_files: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class NowUpdated:
    """The file is written."""

    change_id: str
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """An update with its texts clean: `given` are the replaced fields."""

    completions: tuple[str, ...]
    given: dict[str, Any] = field(default_factory=dict)


async def now_read(ports: Ports, caller: Caller) -> Context | None:
    """What the NOW file says now; None where there is none or nobody has written into it yet.

    Raises:
        StorageError: it cannot be read.
    """
    return (await now_noted(ports, caller))[0]


async def settled_page(ports: Ports, path: str) -> Page | None:
    """A page; what a crash left half done of it is settled before."""
    await ports.store.settled({page_key(path)}, SETTLE_SECONDS)
    return (await ports.store.pages([path])).get(path)


async def now_noted(ports: Ports, caller: Caller) -> tuple[Context | None, bool]:
    """The same, and whether a person has written into the file what no field has.

    Raises:
        StorageError: it cannot be read.
    """
    path = now_page(caller.space)
    page = await settled_page(ports, path)
    if page is None:
        return None, False
    file = read_now(_text(page))
    return None if file.is_blank else Context(file.now, file.written or moment(page.modified)), file.says_more


async def now_update(ports: Ports, caller: Caller, request: NowUpdate) -> NowUpdated:
    """Change the NOW file, the day's log and make a state capsule, all in one change.

    What the same caller asks for at the same time is written together: each update counts, in the order in which they
    came, and none is acknowledged before it is on the disk.

    Raises:
        InvalidArgumentError, LimitExceededError, SecretRefusedError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    gate = TextGate(ports)
    texts = (request.current_task or "", *_items_of(request))
    wanted = await ports.computing.run(caller.principal, sum(map(len, texts)), lambda: _wanted(gate, request))
    written = await _written_with_others(ports, caller, wanted)
    ports.made.append(written.change_id)
    notices = (*gate.notices(), *written.notices)
    return replace(written, notices=notices)


async def _written_with_others(ports: Ports, caller: Caller, wanted: _Wanted) -> NowUpdated:
    """Write an update, together with those that the same caller asked for while others were being written."""
    batcher = ports.joined.get(caller)
    if batcher is None:
        own = replace(ports, made=[])
        batcher = ports.joined[caller] = Batcher(lambda batch: _write_all(own, caller, batch))
    try:
        written: NowUpdated | Exception = await batcher.submit(wanted)
    finally:
        if not len(batcher) and ports.joined.get(caller) is batcher:
            del ports.joined[caller]
    if isinstance(written, Exception):
        raise written
    return written


async def _write_all(ports: Ports, caller: Caller, batch: Sequence[_Wanted]) -> Sequence[NowUpdated | Exception]:
    """All in one change; each by itself where they are too much together."""
    try:
        return await _write(ports, caller, batch)
    except LimitExceededError as error:
        if len(batch) == 1:
            return [error]
    return [await _write_alone(ports, caller, wanted) for wanted in batch]


async def _write_alone(ports: Ports, caller: Caller, wanted: _Wanted) -> NowUpdated | Exception:
    """What it raises is for its caller alone: the changes of others before it stay."""
    try:
        return (await _write(ports, caller, [wanted]))[0]
    except (HoldfastError, IndexLostError) as error:
        return error


async def _write(ports: Ports, caller: Caller, batch: Sequence[_Wanted]) -> list[NowUpdated]:
    """Make these updates one after the other, and write what comes of them in one change."""
    path, daily = now_page(caller.space), daily_page(today(ports))
    known = await _known(ports, caller)
    async with ports.store.hold({page_key(path), page_key(daily)}):
        pages = await ports.store.pages([path, daily])
        at = ports.clock()
        making = _Making(
            caller, path, daily, read_now(_text(pages.get(path))), set(_text(pages.get(daily)).splitlines())
        )
        updated = [await making.take(ports, wanted, at) for wanted in batch]
        changes = [PageChange(path, pages.get(path), making.file.text.encode("utf-8", "surrogateescape"))]
        if making.entries:
            changes.append(grown(daily, pages.get(daily), making.entries, at))
        capsule = f"{CAPSULES}/{capsule_name(at)}"
        changes.append(PageChange(capsule, None, _capsule(caller, making.file, at, known)))
        done = await commit(
            ports, caller, "now_update", changes, detail=JournalRecord(more={"space": caller.space or GLOBAL_SPACE})
        )
    await _drop_old_capsules(ports)
    return [replace(each, change_id=done.change_id) for each in updated]


@dataclass(slots=True)
class _Making:
    """Updates that are made together: the NOW file after them, what the day's log is told, and its lines."""

    caller: Caller
    path: str
    daily: str
    file: NowFile
    logged: set[str]
    entries: list[str] = field(default_factory=list)

    async def take(self, ports: Ports, wanted: _Wanted, at: datetime) -> NowUpdated:
        """Make one more; its change is not known yet."""
        updated = update_now(self.file, at, recent_completions=wanted.completions, **wanted.given)
        file, moved = fit(updated, ports.max_now_tokens)
        old = updated.now.recent_completions[: len(updated.now.recent_completions) - len(wanted.completions)]
        unlogged = await self._unlogged(ports, moved[: len(old)])
        entries = _entries(self.caller, self.path, wanted.completions, unlogged)
        self.logged.update(line for entry in entries for line in entry.splitlines())
        self.entries += entries
        self.file = read_now(file.text)
        return NowUpdated("", tuple(_said(file, moved, ports.max_now_tokens)))

    async def _unlogged(self, ports: Ports, moved: Sequence[str]) -> list[str]:
        """Those of the completions that leave the file which no log has yet: what a person wrote into it by hand."""
        if all(f"- [x] {item}" in self.logged for item in moved):
            return []
        paths = [path for path in await ports.store.list_pages(DAILY) if path != self.daily]
        logged = await ports.store.pages(paths[-MOST_LOGS:])
        lines = self.logged.union(*(_text(page).splitlines() for page in logged.values()))
        return [item for item in moved if f"- [x] {item}" not in lines]


def _text(page: Page | None) -> str:
    """A page as text; bytes that are no UTF-8 come out again as they went in."""
    return "" if page is None else page.data.decode("utf-8", "surrogateescape")


def _wanted(gate: TextGate, request: NowUpdate) -> _Wanted:
    given: dict[str, Any] = {}
    if request.current_task is not None:
        blank = not request.current_task.strip()
        given["current_task"] = "" if blank else lines_of(gate.text("current_task", request.current_task, LARGEST_TASK))
    for name in ("pending_decisions", "key_files"):
        items = getattr(request, name)
        if items is not None:
            given[name] = _items(gate, name, items)
    return _Wanted(_items(gate, "recent_completions", request.recent_completions or ()), given)


def _items_of(request: NowUpdate) -> tuple[str, ...]:
    lists = (request.recent_completions, request.pending_decisions, request.key_files)
    return tuple(item for items in lists for item in items or ())


def _items(gate: TextGate, name: str, items: Sequence[str]) -> tuple[str, ...]:
    """Items on one line each, blank ones left out."""
    if len(items) > MOST_ITEMS:
        raise LimitExceededError(f"{name} takes at most {MOST_ITEMS} entries.")
    clean = (one_line(gate.text(name, item, LARGEST_ITEM)) for item in items if item.strip())
    return tuple(item for item in clean if item)


def _entries(caller: Caller, path: str, completed: Sequence[str], moved: Sequence[str]) -> list[str]:
    """What the day's log is told: what was completed now, and what the NOW file has no room for any more."""
    where = f" in {caller.space}" if caller.space not in (None, GLOBAL_SPACE) else ""
    entries = [(f"Completed{where}:", completed), (f"Moved here from {path}:", moved)]
    return ["\n".join([title, *(f"- [x] {item}" for item in items)]) for title, items in entries if items]


def _said(file: NowFile, moved: Sequence[str], most_tokens: int) -> list[str]:
    said = []
    if moved:
        limit, oldest = counted(most_tokens, "token"), counted(len(moved), "completion")
        said.append(
            f"NOW is limited to {limit}: the oldest {oldest} left it and {'is' if len(moved) == 1 else 'are'} "
            "in the daily logs."
        )
    if file.is_over(most_tokens):
        said.append(
            f"NOW is longer than {counted(most_tokens, 'token')} even so; shorten the task, decisions or files."
        )
    return said


async def _known(ports: Ports, caller: Caller) -> dict[str, Any]:
    """What a capsule tells of the notes: the beliefs held most firmly, and the notes that happened last."""
    spaces = tuple(dict.fromkeys((caller.space or GLOBAL_SPACE, GLOBAL_SPACE)))
    wanted = Filter(now=ports.now, spaces=spaces)
    return await ports.index.read(
        lambda view: {
            "beliefs": [
                {"memory_id": note, "title": title, "confidence": confidence}
                for note, title, confidence in view.firmest_beliefs(spaces, CAPSULE_BELIEFS)
            ],
            "recent": list(view.by_time(wanted, CAPSULE_NOTES).ids),
        }
    )


def _capsule(caller: Caller, file: NowFile, at: datetime, known: dict[str, Any]) -> bytes:
    now = file.now
    text = file.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return sealed(
        {
            "timestamp": stamp(at),
            "space": caller.space or GLOBAL_SPACE,
            "intent": now.current_task,
            "plan": list(now.pending_decisions),
            "now": text,
            **known,
        }
    )


async def _drop_old_capsules(ports: Ports) -> None:
    """They are only of use while they are fresh; one that stays for once does no harm."""
    try:
        for path in (await ports.store.list_pages(CAPSULES))[:-MOST_CAPSULES]:
            await ports.store.drop_page(path)
    except StorageError as error:
        log.warning("old_capsules_stay", reason=str(error))
