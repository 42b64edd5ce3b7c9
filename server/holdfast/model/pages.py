"""Pages: the text files beside the notes, by their path relative to the memory folder.

* NOW files and MEMORY.md.
* Daily logs: one file for each UTC day, in OMI's form: `# 2026-11-20`, then entries, each below a line
  `## [2026-11-20T10:15:00.000+00:00]`.
* State capsules: what was known at one moment, as one JSON object with a checksum over it.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, date, datetime
from typing import Any

from holdfast.model.note import GLOBAL_SPACE
from holdfast.model.now import lines_of, stamp

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


_ENTRY = re.compile(r"[ \t]*\\*## \[")


def log_title(day: date) -> str:
    """How a log begins."""
    return f"# {day.isoformat()}\n"


def log_entry(content: str, at: datetime) -> str:
    """What is added to a log. No line of `content` looks like the beginning of another entry."""
    lines = (f"\\{line}" if _ENTRY.match(line) else line for line in lines_of(content).split("\n"))
    return f"\n\n## [{stamp(at)}]\n\n" + "\n".join(lines) + "\n"


VERSION = "1.0"


def sealed(capsule: dict[str, Any]) -> bytes:
    """A capsule as it is written: with `version`, and `checksum`, the SHA-256 of all else as canonical JSON."""
    whole = {"version": VERSION, **capsule}
    return json.dumps({**whole, "checksum": checksum(whole)}, ensure_ascii=False, indent=2).encode() + b"\n"


def without_memory(data: bytes, note_id: str) -> bytes | None:
    """A capsule that tells nothing of a note, sealed anew; None for bytes that are no capsule."""
    try:
        capsule: dict[str, Any] = json.loads(data)
        beliefs = [item for item in capsule["beliefs"] if item["memory_id"] != note_id]
        recent = [item for item in capsule["recent"] if item != note_id]
        rest = {key: value for key, value in capsule.items() if key not in ("version", "checksum")}
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return sealed({**rest, "beliefs": beliefs, "recent": recent})


def checksum(capsule: dict[str, Any]) -> str:
    """SHA-256 of the capsule without its checksum: JSON with sorted keys, ASCII only, as Python writes it."""
    rest = {key: value for key, value in capsule.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def capsule_name(at: datetime) -> str:
    """A name that sorts by time."""
    return f"{at.astimezone(UTC):%Y%m%dT%H%M%S.%f}Z.json"
