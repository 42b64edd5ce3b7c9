"""State capsules: what was known at one moment, with a checksum over it, as one JSON object."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

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
