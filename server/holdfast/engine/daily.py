"""Daily logs: what is appended stays, whoever else appends at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from holdfast.engine.arguments import LARGEST_CONTENT, Door
from holdfast.engine.commit import commit
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, LimitExceededError
from holdfast.model.daily import log_entry, log_title
from holdfast.model.pages import DAILY, daily_page, day_of, page_key
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
    door = Door(ports)
    text = await ports.computing.run(
        caller.principal, len(content), lambda: door.text("content", content, LARGEST_CONTENT)
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
