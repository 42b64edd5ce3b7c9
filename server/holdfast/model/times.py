"""Instants as text: ISO-8601 in UTC with whole seconds and a Z, so that they sort and compare as strings."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_CANONICAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def instant(moment: datetime) -> str:
    """`moment` as canonical text; a naive one is read as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def read_instant(value: object) -> str:
    """Canonical text of an ISO-8601 date or time, or of a date or datetime object.

    Raises:
        ValueError: it is none of these.
    """
    match value:
        case datetime():
            return instant(value)
        case date():
            return f"{value.isoformat()}T00:00:00Z"
        case str():
            try:
                moment = datetime.fromisoformat(value.strip())
                return value if _CANONICAL.fullmatch(value) else instant(moment)
            except OverflowError as error:
                raise ValueError("out of range") from error
    raise ValueError("not an ISO-8601 time")


def end_of(value: str) -> str:
    """The last second that `value` covers: a bare date means its whole day."""
    return read_instant(value)[:10] + "T23:59:59Z" if len(value.strip()) == len("2026-01-31") else read_instant(value)


def moment(text: str) -> datetime:
    """The aware datetime of a canonical instant."""
    return datetime.fromisoformat(text)
