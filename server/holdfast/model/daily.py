"""Daily logs: one file for each UTC day, entries one below the other, in OMI's form.

# 2026-11-20


## [2026-11-20T10:15:00.000+00:00]

What happened.
"""

from __future__ import annotations

import re
from datetime import date, datetime

from holdfast.model.now import lines_of, stamp

_ENTRY = re.compile(r"[ \t]*\\*## \[")


def log_title(day: date) -> str:
    """How a log begins."""
    return f"# {day.isoformat()}\n"


def log_entry(content: str, at: datetime) -> str:
    """What is added to a log. No line of `content` looks like the beginning of another entry."""
    lines = (f"\\{line}" if _ENTRY.match(line) else line for line in lines_of(content).split("\n"))
    return f"\n\n## [{stamp(at)}]\n\n" + "\n".join(lines) + "\n"
