"""The codec of journal lines: objects as they stand in a line, and the typed values that all others work with.

One table says for each key how it is read and written. A value of another form than ours counts as not said: a checksum
does not tell who wrote a line. Keys that the table does not have are kept, in `JournalRecord.more`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.model.maintenance import KINDS
from holdfast.model.note import is_note_id
from holdfast.model.records import (
    CONTRADICTION,
    FEEDBACK,
    GIVEN,
    JOB,
    LONGEST_EVENT,
    LONGEST_QUESTION,
    MAINTENANCE_BATCH,
    RESTORE,
    USE,
    Asked,
    FileChange,
    GivenId,
    JournalRecord,
    Judged,
    Maintained,
    Offered,
    Opposed,
    PageMark,
    Ran,
    Rating,
)
from holdfast.store.position import Read

Line = dict[str, Any]

FRAME = ("sum", "len")  # keys that belong to the line as such, see `holdfast.store.journal`


class _ForeignError(ValueError):
    """A value that no version of ours writes."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _ForeignError
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise _ForeignError
    return value


def _flag(value: object) -> bool:
    return value is True


def _list(value: object, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise _ForeignError
    return value


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _ForeignError
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _sound(items: object, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """What can be read of a list; the others are passed over."""
    found = []
    for item in _list(items):
        try:
            found.append(read(item))
        except _ForeignError:
            continue
    return tuple(found)


def _file(value: object) -> FileChange:
    told = _object(value)
    return FileChange(*(told.get(name) for name in ("note", "path", "before", "after", "aside", "size")))  # type: ignore[arg-type] # looked at before, with the line


def _mark(value: object) -> PageMark:
    told = _object(value)
    hash_ = told.get("hash")
    size = told.get("size")
    return PageMark(
        _text(told.get("path")), None if hash_ is None else _text(hash_), size if type(size) is int else None
    )


def _use(value: object) -> str:
    note = _text(_object(value).get("note"))
    if not is_note_id(note):
        raise _ForeignError
    return note


def _rating(value: object) -> Rating:
    told = _object(value)
    note, event, source = (_text(told.get(name)) for name in ("note", "event", "source"))
    signal = _number(told.get("signal"))
    sound = is_note_id(note) and 0 < len(event) <= LONGEST_EVENT and signal in (1, -1)
    if not sound or source not in ("explicit", "implicit"):
        raise _ForeignError
    return Rating(note, event, signal, source == "explicit", _asked(told))


def _asked(told: Mapping[str, Any]) -> Asked | None:
    texts = [told.get("question"), told.get("asked"), told.get("embedded", told.get("asked"))]
    whole = all(isinstance(text, str) and 0 < len(text) <= LONGEST_QUESTION for text in texts)
    return Asked(*texts) if whole else None


def _ran(value: object) -> Ran:
    told = _object(value)
    return Ran(
        _text(told.get("name")), _text(told.get("outcome")), _number(told.get("changed")), _number(told.get("ms"))
    )


def _maintained(value: object) -> Maintained:
    return Maintained(value if isinstance(value, str) else None)


def _judged(value: object) -> Judged:
    return Judged(*(_text(item) for item in _list(value, 5)))


def _offered(value: object) -> Offered:
    told = _object(value)
    items = _sound(told.get("items", []), lambda item: (_text(item[0]), _pairs(_list(item, 2)[1])))
    return Offered(_text(told.get("id")), _text(told.get("expires")), items)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    return tuple((_text(_list(item, 2)[0]), _text(item[1])) for item in _list(value))


def _cursors(value: object) -> dict[str, tuple[str, str]]:
    told = _object(value)
    places = {kind: place for kind, place in told.items() if kind in KINDS and isinstance(place, list)}
    return {kind: (place[0], place[1]) for kind, place in places.items() if [type(each) for each in place] == [str] * 2}


def _opposed(value: object) -> Opposed:
    return Opposed(*(_text(item) for item in _list(value, 3)))


def _given(value: object) -> GivenId:
    told = _object(value)
    note, path = _text(told.get("note")), _text(told.get("path"))
    if not is_note_id(note):
        raise _ForeignError
    return GivenId(note, path)


def _hashes(value: object) -> dict[str, str]:
    told = value.items() if isinstance(value, Mapping) else ()
    return {path: mark for path, mark in told if isinstance(mark, str)}


def _put_rating(rating: Rating) -> Line:
    told: Line = {
        "note": rating.note,
        "event": rating.event,
        "signal": rating.signal,
        "source": "explicit" if rating.explicit else "implicit",
    }
    if rating.question is not None:
        told |= {"question": rating.question.key, "asked": rating.question.asked}
        if rating.question.embedded != rating.question.asked:
            told["embedded"] = rating.question.embedded
    return told


def _put_ran(run: Ran) -> Line:
    return {"name": run.name, "outcome": run.outcome, "changed": run.changed, "ms": run.milliseconds}


def _put_offered(batch: Offered) -> Line:
    items = [[kind, [list(text) for text in texts]] for kind, texts in batch.items]
    return {"id": batch.id, "expires": batch.expires, "items": items}


def _put_judged(judged: Iterable[Judged]) -> list[list[str]]:
    return [[item.a, item.b, item.hash_a, item.hash_b, item.verdict] for item in judged]


def _put_marks(marks: Iterable[PageMark]) -> list[Line]:
    return [{"path": mark.path, "hash": mark.hash, "size": mark.size} for mark in marks]


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a line: the attribute that it becomes, how it is read and written, and the only `op` that has it."""

    key: str
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = _same
    attribute: str = ""
    op: str = ""

    @property
    def name(self) -> str:
        return self.attribute or self.key


KEYS: tuple[Key, ...] = (  # in the order in which they are written
    Key("seq", _number),
    Key("at", _text),
    Key("op", _text),
    Key("change", _text),
    Key("by", _text),
    Key("source", _text),
    Key("admin", _text),
    Key("note", _text),
    Key("dry_run", _flag),
    Key("outcome", _text),
    Key("change_id", _text),
    Key("undoes", _text),
    Key("guards", _texts, list),
    Key("unplaced", _flag),
    Key("maintenance", _maintained, lambda item: item.batch),
    Key("item", _text),
    Key("judged", lambda value: _sound(value, _judged), _put_judged),
    Key("kept", _text),
    Key("discarded", _text),
    Key("extraction", _text, attribute="attempt"),
    Key("use", _use, lambda note: {"note": note}, op=USE),
    Key("feedback", _rating, _put_rating, op=FEEDBACK),
    Key("job", _ran, _put_ran, op=JOB),
    Key("batch", _offered, _put_offered, op=MAINTENANCE_BATCH),
    Key(
        "cursors",
        _cursors,
        lambda cursors: {kind: list(place) for kind, place in cursors.items()},
        op=MAINTENANCE_BATCH,
    ),
    Key(
        "found",
        lambda value: _sound(value, _opposed),
        lambda found: [[item.one, item.other, item.pattern] for item in found],
        op=CONTRADICTION,
    ),
    Key(
        "given",
        lambda value: _sound(value, _given),
        lambda given: [{"note": item.note, "path": item.path} for item in given],
        op=GIVEN,
    ),
    Key("forgotten", _texts, list),
    Key("pages", _hashes, dict, "restored", RESTORE),
    Key("files", lambda value: tuple(map(_file, _list(value))), lambda files: [file.record() for file in files]),
    Key("pages_seen", lambda value: _sound(value, _mark), _put_marks, "seen"),
    Key("pages_accepted", lambda value: _sound(value, _mark), _put_marks, "accepted"),
    Key("done", _texts, list),
    Key("void", _texts, list),
    Key("settled", _number),
)
_READ = {key.key: key for key in KEYS}
_NOTHING = JournalRecord()
_WRITTEN = tuple((key.name, key.key, key.write, getattr(_NOTHING, key.name)) for key in KEYS)


def as_line(record: JournalRecord) -> Line:
    """The object that a line holds: only what is said, in a fixed order, unknown keys behind."""
    told: Line = {}
    for name, key, write, default in _WRITTEN:
        value = getattr(record, name)
        if value != default:
            told[key] = write(value)
    return {**told, **record.more}


def read_record(line: Mapping[str, Any]) -> JournalRecord:
    """What an object of a line says. It never fails: what is of another form than ours counts as not said."""
    told: Line = {}
    more: Line = {}
    op = line.get("op")
    for key, value in line.items():
        known = _READ.get(key)
        if known is None:
            if key not in FRAME:
                more[key] = value
        elif not known.op or known.op == op:
            try:
                told[known.name] = known.read(value)
            except _ForeignError:
                continue
    if op == RESTORE:
        told.setdefault("restored", {})  # a restore puts its pages in the place of all, even where it names none
    return JournalRecord(**told, more=more) if more else JournalRecord(**told)


class Reading:
    """A line as it was read: what it says, and its place behind which reading goes on."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.record = read_record(read.record)

    @cached_property
    def place(self) -> str:
        """The place as text, to be kept by whoever has read so far."""
        return self._read.position.render()
