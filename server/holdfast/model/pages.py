"""Pages: the text files beside the notes, by their path relative to the memory folder."""

from __future__ import annotations

import re
from datetime import date

from holdfast.model.memory import GLOBAL_SPACE

NOW, MEMORY = "NOW.md", "MEMORY.md"
NOW_FOLDER, DAILY, CAPSULES = "now", "daily", "capsules"
PROPOSALS = "proposals"
_KEY = "page:"
_PAGE = re.compile(
    r"NOW\.md|MEMORY\.md|now/[^/]+\.md|daily/\d{4}-\d\d-\d\d\.md|(?:capsules|proposals)/[^/]+\.json", re.ASCII
)
_DAY = re.compile(r"daily/(\d{4}-\d\d-\d\d)\.md", re.ASCII)


def now_page(space: str | None) -> str:
    """The NOW file of a space; the common one for no space."""
    return NOW if space in (None, GLOBAL_SPACE) else f"{NOW_FOLDER}/{space}.md"


def daily_page(day: date) -> str:
    """The log of one UTC day."""
    return f"{DAILY}/{day.isoformat()}.md"


def day_of(path: str) -> date | None:
    """The day of a daily log; None for any other page."""
    found = _DAY.fullmatch(path)
    try:
        return date.fromisoformat(found.group(1)) if found else None
    except ValueError:  # the 31st of February
        return None


def is_page(path: str) -> bool:
    """Whether a path is one that a page may have."""
    return _PAGE.fullmatch(path) is not None


def page_key(path: str) -> str:
    """The lock of a page, which also stands in the journal where a note's id does."""
    return _KEY + path


def is_page_key(key: str) -> bool:
    """Whether a lock or a name in the journal is a page's."""
    return key.startswith(_KEY)
