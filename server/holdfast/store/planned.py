"""What a change is to do to each text, for storages that make a change at once: names, hashes and new bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.errors import LimitExceededError
from holdfast.model.note import slug
from holdfast.model.pages import page_key
from holdfast.model.records import FileChange
from holdfast.store.codec import changed_document, content_hash, new_document
from holdfast.store.stored import LARGEST_FILE, Change, PageChange

NO_PLACE = "-"  # where nothing is put aside


@dataclass(frozen=True, slots=True)
class Planned:
    """What becomes of one text: `data` are its new bytes, None where it goes."""

    file: FileChange
    data: bytes | None


def planned(item: Change | PageChange, aside: Callable[[str, str], str]) -> Planned:
    """The plan for one item of a change.

    Args:
        item: a note or a page that is made, rewritten or deleted.
        aside: where a deleted note goes, by its id and its path.

    Raises:
        LimitExceededError: the note would be too long.
        ValueError: it is none of these.
    """
    if isinstance(item, PageChange):
        before = item.before.hash if item.before else None
        key, after = page_key(item.path), content_hash(item.after)
        return Planned(FileChange(key, item.path, before, after, NO_PLACE, len(item.after)), item.after)
    note, path = _named(item)
    old = item.before.hash if item.before else None
    if item.after is None:
        return Planned(FileChange(note, path, old, None, aside(note, path)), None)
    data = item.raw if item.raw is not None else _rendered(item)
    return Planned(FileChange(note, path, old, content_hash(data), NO_PLACE), data)


def touched_ns(item: Change | PageChange, before_ns: int | None, now_ns: int) -> int:
    """The time that a text then has, in nanoseconds: given bytes without a date of their own are dated by it.

    Args:
        item: of a change.
        before_ns: the time of the text that it takes the place of.
        now_ns: when the change is made.
    """
    if isinstance(item, PageChange) or item.raw is None:
        return now_ns
    given = before_ns if item.modified_ns is None and before_ns is not None else item.modified_ns
    return given or now_ns


def _named(item: Change) -> tuple[str, str]:
    if item.before is not None:
        return item.before.note.id, item.before.path
    if item.after is None:
        raise ValueError("a change makes, rewrites or deletes a note")
    return item.after.id, item.path or f"{item.after.space}/{slug(item.after.title)}.{item.after.id}.md"


def _rendered(item: Change) -> bytes:
    assert item.after is not None  # noqa: S101 - a note that is deleted is not rendered
    old = item.before
    document = changed_document(old.document, old.note, item.after) if old else new_document(item.after)
    data = document.render()
    if len(data) > LARGEST_FILE:
        raise LimitExceededError(
            f"The note's file would be longer than {LARGEST_FILE // 1024} kB.",
            "Nothing was written; shorten its text, or give it fewer tags, links or evidence.",
        )
    return data
