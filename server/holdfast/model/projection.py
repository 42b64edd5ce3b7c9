"""The twelve stored types as OMI's four, and back: nothing is translated in storage, each family sees its own view."""

from __future__ import annotations

from typing import Literal, get_args

from holdfast.model.memory import NOTE_TYPES

MemoryType = Literal["fact", "experience", "belief", "decision"]

MEMORY_TYPES: tuple[str, ...] = get_args(MemoryType)
_SEEN_AS = {
    "decision": "decision",
    "goal": "decision",
    "experience": "experience",
    "event": "experience",
    "observation": "experience",
    "belief": "belief",
}  # the rest are facts


def memory_type(note_type: str) -> str:
    """What OMI's tools call a note of this type."""
    return _SEEN_AS.get(note_type, "fact")


def note_types(memory_type_: str) -> tuple[str, ...]:
    """The stored types that OMI's tools call `memory_type_`."""
    return tuple(name for name in NOTE_TYPES if memory_type(name) == memory_type_)
