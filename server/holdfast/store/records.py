"""Lines of the journal: their places, and the objects in them as the typed values that all others work with.

One table says for each key how it is read and written. A value of another form than ours counts as not said: a checksum
does not tell who wrote a line. Keys that the table does not have are kept, in `JournalRecord.more`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

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
from holdfast.store.filesystem import FileSystem

PIECE = 1 << 18  # bytes that are read at a time
MOST_HARMED = 5  # damaged lines whose places are told
_MONTH = re.compile(r"\d{4}-\d\d\.jsonl")


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the journal, behind a whole line or before all of them.

    `months` has the bytes of every file up to there. Number, length and checksum of the last line tell whether the
    files are still those that were read: one that was cut, replaced or taken from a backup does not fit.

    Attributes:
        seq: the highest number of a record up to there.
        settled: the highest number that a record up to there calls settled.
        months: bytes by file name.
        line: the number of the last line in its file, from 1.
        length: its bytes without the line end.
        checksum: CRC-32 of these.
        damaged: how many lines up to there cannot be read.
        harmed: where the first of them are.
    """

    seq: int = 0
    settled: int = 0
    months: Mapping[str, int] = field(default_factory=dict)
    line: int = 0
    length: int = 0
    checksum: int = 0
    damaged: int = 0
    harmed: tuple[str, ...] = ()

    def render(self) -> str:
        """As text, to be kept by whoever has read so far."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return json.dumps({**numbers, "months": dict(self.months), "harmed": list(self.harmed)}, separators=(",", ":"))

    @property
    def month(self) -> str:
        """The file that it is in; empty at the very beginning."""
        return max(self.months, default="")


_NUMBERS = ("seq", "settled", "line", "length", "checksum", "damaged")
START = Position()


def read_position(text: str) -> Position | None:
    """What `render` has made; None for anything else."""
    try:
        read: dict[str, Any] = json.loads(text)
        numbers = {name: read[name] for name in _NUMBERS}
        months, harmed = dict(read["months"]), tuple(read["harmed"])
    except (ValueError, TypeError, KeyError):
        return None
    sound = all(type(value) is int and value >= 0 for value in (*numbers.values(), *months.values()))
    named = all(map(_MONTH.fullmatch, months)) and all(isinstance(place, str) for place in harmed)
    return Position(months=months, harmed=harmed, **numbers) if sound and named else None


class Line(NamedTuple):
    """A line as it stands in its file: `number` counts from 1, `end` is the offset behind it, `raw` has no line end."""

    month: str
    number: int
    end: int
    raw: bytes


class Read(NamedTuple):
    """A record with its place: `earlier` has the bytes of the files before its own, the others count up to here."""

    record: dict[str, Any]
    line: Line
    seq: int
    settled: int
    earlier: Mapping[str, int]
    damaged: int
    harmed: tuple[str, ...]

    @property
    def position(self) -> Position:
        """The place behind it."""
        month, number, end, raw = self.line
        months = {**self.earlier, month: end}
        return Position(self.seq, self.settled, months, number, len(raw), zlib.crc32(raw), self.damaged, self.harmed)


def months_in(folder: Path, disk: FileSystem) -> list[str]:
    """The journal's files in order."""
    return [name for name in disk.list_folder(folder) if _MONTH.fullmatch(name)]


def fits(position: Position, folder: Path, disk: FileSystem) -> bool:
    """Whether the journal still begins with all that was read up to there, as far as sizes and one line can tell."""
    there, last = months_in(folder, disk), position.month
    sizes = {name: disk.size(folder / name) for name in there if name <= last}
    if sizes.keys() != position.months.keys():
        return False
    if any(size != position.months[name] for name, size in sizes.items() if name != last):
        return False
    if not last:
        return True
    end = position.months[last]
    if sizes[last] < end:
        return False
    start = end - position.length - 1
    data = b"" if start < 0 else disk.read(folder / last, position.length + 1, start)
    return data.endswith(b"\n") and zlib.crc32(data[:-1]) == position.checksum


def lines_since(position: Position, folder: Path, disk: FileSystem) -> Iterator[Line]:
    """Every line with its end behind a place, in order; what has no line end yet is left out."""
    for name in months_in(folder, disk):
        if name >= position.month:
            start = position.months.get(name, 0)
            number = position.line if name == position.month else 0
            yield from _lines_of(folder / name, start, number, disk)


def reads_since(
    position: Position, folder: Path, disk: FileSystem, read: Callable[[bytes], dict[str, Any] | None]
) -> Iterator[Read]:
    """Every readable record behind a place. A damaged line counts when a readable one follows: the last may be torn.

    Args:
        position: the place.
        folder: the journal's.
        disk: the file system.
        read: makes a record of a line, None of one that cannot be read.
    """
    seq, settled, damaged, harmed = position.seq, position.settled, position.damaged, position.harmed
    earlier: dict[str, int] = {}
    month = ""
    bad: list[Line] = []
    for line in lines_since(position, folder, disk):
        if line.month != month:
            month = line.month
            earlier = {name: disk.size(folder / name) for name in months_in(folder, disk) if name < month}
        record = read(line.raw)
        if record is None:
            bad += [line] if line.raw.strip(b" ") else []  # blanks: what a purge took away
            continue
        seq, settled = max(seq, record["seq"]), max(settled, record.get("settled", 0))
        if bad:
            damaged += len(bad)
            harmed = (*harmed, *(f"{each.month} line {each.number}" for each in bad))[:MOST_HARMED]
            bad = []
        yield Read(record, line, seq, settled, earlier, damaged, harmed)


def _lines_of(path: Path, start: int, number: int, disk: FileSystem) -> Iterator[Line]:
    rest = b""
    while piece := _piece(path, start, disk):
        start += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        end = start - len(rest) - sum(map(len, whole)) - len(whole)
        for raw in whole:
            number += 1
            end += len(raw) + 1
            yield Line(path.name, number, end, raw)


def _piece(path: Path, start: int, disk: FileSystem) -> bytes:
    try:
        return disk.read(path, PIECE, start)
    except FileNotFoundError:
        return b""


def lines_backwards(folder: Path, disk: FileSystem) -> Iterator[tuple[str, int, bytes]]:
    """Every line, the last one first: its file, the offset where it begins, and its bytes."""
    for name in reversed(months_in(folder, disk)):
        start, rest = disk.size(folder / name), b""
        while start > 0:
            begin = max(0, start - PIECE)
            data = disk.read(folder / name, start - begin, begin) + rest
            start = begin
            first, *whole = data.split(b"\n")
            offset = begin + len(data)
            for raw in reversed(whole):
                offset -= len(raw)
                yield name, offset, raw
                offset -= 1
            rest = first
        yield name, 0, rest


LineObject = dict[str, Any]

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
    if not isinstance(value, dict):  # JSON knows no other
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
    get = _object(value).get
    return FileChange(get("note"), get("path"), get("before"), get("after"), get("aside"), get("size"))  # type: ignore[arg-type] # looked at before, with the line


def _mark(value: object) -> PageMark:
    values = _object(value)
    hash_ = values.get("hash")
    size = values.get("size")
    return PageMark(
        _text(values.get("path")), None if hash_ is None else _text(hash_), size if type(size) is int else None
    )


def _use(value: object) -> str:
    note = _text(_object(value).get("note"))
    if not is_note_id(note):
        raise _ForeignError
    return note


def _rating(value: object) -> Rating:
    values = _object(value)
    note, event, source = (_text(values.get(name)) for name in ("note", "event", "source"))
    signal = _number(values.get("signal"))
    sound = is_note_id(note) and 0 < len(event) <= LONGEST_EVENT and signal in (1, -1)
    if not sound or source not in ("explicit", "implicit"):
        raise _ForeignError
    return Rating(note, event, signal, source == "explicit", _asked(values))


def _asked(values: Mapping[str, Any]) -> Asked | None:
    texts = [values.get("question"), values.get("asked"), values.get("embedded", values.get("asked"))]
    whole = all(isinstance(text, str) and 0 < len(text) <= LONGEST_QUESTION for text in texts)
    return Asked(*texts) if whole else None


def _ran(value: object) -> Ran:
    values = _object(value)
    return Ran(
        _text(values.get("name")),
        _text(values.get("outcome")),
        _number(values.get("changed")),
        _number(values.get("ms")),
    )


def _maintained(value: object) -> Maintained:
    return Maintained(value if isinstance(value, str) else None)


def _judged(value: object) -> Judged:
    return Judged(*(_text(item) for item in _list(value, 5)))


def _offered(value: object) -> Offered:
    values = _object(value)
    items = _sound(values.get("items", []), lambda item: (_text(item[0]), _pairs(_list(item, 2)[1])))
    return Offered(_text(values.get("id")), _text(values.get("expires")), items)


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    return tuple((_text(_list(item, 2)[0]), _text(item[1])) for item in _list(value))


def _cursors(value: object) -> dict[str, tuple[str, str]]:
    values = _object(value)
    places = {kind: place for kind, place in values.items() if kind in KINDS and isinstance(place, list)}
    return {kind: (place[0], place[1]) for kind, place in places.items() if [type(each) for each in place] == [str] * 2}


def _opposed(value: object) -> Opposed:
    return Opposed(*(_text(item) for item in _list(value, 3)))


def _given(value: object) -> GivenId:
    values = _object(value)
    note, path = _text(values.get("note")), _text(values.get("path"))
    if not is_note_id(note):
        raise _ForeignError
    return GivenId(note, path)


def _hashes(value: object) -> dict[str, str]:
    marks = value.items() if isinstance(value, Mapping) else ()
    return {path: mark for path, mark in marks if isinstance(mark, str)}


def _put_rating(rating: Rating) -> LineObject:
    values: LineObject = {
        "note": rating.note,
        "event": rating.event,
        "signal": rating.signal,
        "source": "explicit" if rating.explicit else "implicit",
    }
    if rating.question is not None:
        values |= {"question": rating.question.key, "asked": rating.question.asked}
        if rating.question.embedded != rating.question.asked:
            values["embedded"] = rating.question.embedded
    return values


def _put_ran(run: Ran) -> LineObject:
    return {"name": run.name, "outcome": run.outcome, "changed": run.changed, "ms": run.milliseconds}


def _put_offered(batch: Offered) -> LineObject:
    items = [[kind, [list(text) for text in texts]] for kind, texts in batch.items]
    return {"id": batch.id, "expires": batch.expires, "items": items}


def _put_judged(judged: Iterable[Judged]) -> list[list[str]]:
    return [[item.a, item.b, item.hash_a, item.hash_b, item.verdict] for item in judged]


def _put_marks(marks: Iterable[PageMark]) -> list[LineObject]:
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
    Key("same_text", _flag),
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
_READ = {key.key: (key.name, key.read, key.op) for key in KEYS}
_UNKNOWN = ("", _same, "")
_NOTHING = JournalRecord()
_WRITTEN = tuple((key.name, key.key, key.write, getattr(_NOTHING, key.name)) for key in KEYS)


def as_line(record: JournalRecord) -> LineObject:
    """The object that a line holds: only what is said, in a fixed order, unknown keys behind."""
    written: LineObject = {}
    for name, key, write, default in _WRITTEN:
        value = getattr(record, name)
        if value != default:
            written[key] = write(value)
    return {**written, **record.more}


def read_record(line: Mapping[str, Any]) -> JournalRecord:
    """What an object of a line says. It never fails: what is of another form than ours counts as not said."""
    values: LineObject = {}
    more: LineObject = {}
    op = line.get("op")
    for key, value in line.items():
        name, read, only = _READ.get(key, _UNKNOWN)
        if not name:
            if key not in FRAME:
                more[key] = value
        elif not only or only == op:
            try:
                values[name] = read(value)
            except _ForeignError:
                continue
    if op == RESTORE:
        values.setdefault("restored", {})  # a restore puts its pages in the place of all, even where it names none
    return JournalRecord(**values, more=more) if more else JournalRecord(**values)


class Reading:
    """A line as it was read: what it says, and its place behind which reading goes on."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.record = read_record(read.record)

    @cached_property
    def place(self) -> str:
        """The place as text, to be kept by whoever has read so far."""
        return self._read.position.render()
