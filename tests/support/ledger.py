"""A ledger of what servers acknowledged, and of what a person saved; the folder must agree with it."""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowd import Answer, Asked, RefusedError, Server
from holdfast.model.note import Note
from holdfast.store.codec import Surroundings, note_of, parse
from holdfast.store.journal import read_line
from served import SELF

FOREVER = float("inf")
RING = "InvalidArgumentError: superseded_by is this note, or is itself superseded by it."


@dataclass(eq=False)
class Call:
    """Something asked of a server. Without `told` nobody knows what came of it; `refused` means nothing did."""

    sent: float = field(default_factory=time.monotonic)
    told: float | None = None
    refused: str = ""
    notices: Sequence[str] = ()

    @property
    def until(self) -> float:
        return FOREVER if self.told is None else self.told

    @property
    def is_kept(self) -> bool:
        return self.told is not None and not self.refused


@dataclass(eq=False)
class Store(Call):
    """A call of `remember`. No other note has its word."""

    word: str = ""
    links: Sequence[str] = ()
    supersedes: Sequence[str] = ()
    session: str | None = None
    id: str = ""
    filler: str = ""

    @property
    def content(self) -> str:
        first = f"{self.word} was left “here”: [as it was] — 'quoted'"
        return f"{first}\n\n* and on a second line, é\t{self.filler}{self.word[::-1]}"

    @property
    def touched(self) -> Sequence[str]:
        return (*self.supersedes, *self.links)


@dataclass(eq=False)
class Mark(Call):
    """A call of `mark_outdated`. No other mark has its reason."""

    id: str = ""
    reason: str = ""
    superseded_by: str | None = None

    @property
    def touched(self) -> Sequence[str]:
        return (self.id, *([self.superseded_by] if self.superseded_by else ()))


@dataclass
class Edit:
    """A line that a person added to a note, from the look at the file until it was saved."""

    id: str
    line: str
    began: float
    saved: float = FOREVER
    in_place: bool = False

    def meets(self, call: Call) -> bool:
        return self.began <= call.until and call.sent <= self.saved


@dataclass
class Ledger:
    stores: dict[str, Store] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def remember(self, word: str, filler: str = "", **given: Any) -> Generator[Asked, Answer, Store | None]:
        """Store a note, and write down what was said; None where it was refused."""
        store = self.stores[word] = Store(word=word, filler=filler, **given)
        try:
            answer = yield "remember", {"content": store.content, **given}
        except RefusedError as error:
            store.refused, store.told = str(error), time.monotonic()
            return None
        store.id, store.notices, store.told = answer["id"], answer["notices"], time.monotonic()
        return store

    def outdate(self, note: str, reason: str, superseded_by: str | None = None) -> Generator[Asked, Answer, None]:
        mark = Mark(id=note, reason=reason, superseded_by=superseded_by)
        self.marks.append(mark)
        try:
            answer = yield (
                "mark_outdated", {"node_id": note, "reason": reason, "superseded_by": superseded_by}
            )  # fmt: skip
        except RefusedError as error:
            mark.refused = str(error)
        else:
            mark.notices = answer["notices"]
        mark.told = time.monotonic()

    def edit(self, path: Path, note: str, line: str, *, in_place: bool) -> Edit:
        """Add a line to a note's file as an editor would, and save it."""
        edit = Edit(note, line, time.monotonic(), in_place=in_place)
        self.edits.append(edit)
        text = path.read_bytes().rstrip(b"\n") + f"\n{line}\n".encode()
        if in_place:
            path.write_bytes(text)
        else:
            fresh = path.with_name(f"{path.name}.swp")
            fresh.write_bytes(text)
            fresh.replace(path)
        edit.saved = time.monotonic()
        return edit

    @property
    def kept(self) -> list[Store]:
        """The acknowledged stores."""
        return [store for store in list(self.stores.values()) if store.is_kept]

    @property
    def calls(self) -> Sequence[Store | Mark]:
        return [*self.stores.values(), *self.marks]

    def is_disturbed(self, note: str, *calls: Call) -> bool:
        """Whether a person saved over this note while one of these calls was under way: the save may have won."""
        return any(edit.id == note and edit.meets(call) for edit in list(self.edits) for call in calls)


# --- what the folder must say -------------------------------------------------------------------------


def assert_agrees(ledger: Ledger, home: Path, *reasons: str) -> dict[str, Note]:
    """Everything acknowledged is there, once and whole; everything else is wholly there or wholly absent.

    Args:
        ledger: what was asked, answered and saved.
        home: the folder.
        reasons: how further refusals may begin.
    """
    notes = notes_on(home)
    by_word: dict[str, list[Note]] = {}
    for note in notes.values():
        if note.id != SELF:
            by_word.setdefault(note.content.split(maxsplit=1)[0], []).append(note)
    assert by_word.keys() <= ledger.stores.keys()
    for store in ledger.stores.values():
        found = by_word.get(store.word, [])
        if store.is_kept:
            assert [note.id for note in found] == [store.id], store
        else:
            assert len(found) <= (0 if store.refused else 1), store
        for note in found:
            assert_is_what_was_stored(ledger, store, note)
    there = {ledger.stores[word]: found[0] for word, found in by_word.items()}
    assert_retired_as_told(ledger, notes, there)
    assert_edits_are_kept(ledger, home)
    assert_sessions_count_up(there.values())
    assert_refusals_had_a_reason(ledger, reasons)
    return notes


def assert_is_what_was_stored(ledger: Ledger, store: Store, note: Note) -> None:
    assert note.content.startswith(store.content), note
    added = note.content.removeprefix(store.content).split("\n")
    assert set(added) <= {"", *(edit.line for edit in ledger.edits if edit.id == note.id)}, note
    assert note.session == store.session
    assert {link.to for link in note.connections} >= set(store.links), store


def assert_retired_as_told(ledger: Ledger, notes: dict[str, Note], there: dict[Store, Note]) -> None:
    """Who replaced a note, and why it was retired: what was acknowledged last, or something of the same time."""
    for note in notes.values():
        marks = [mark for mark in ledger.marks if mark.id == note.id and not mark.refused]
        stores = [store for store in there if note.id in store.supersedes]
        sure = [mark for mark in marks if mark.is_kept and not ledger.is_disturbed(note.id, mark)]
        certain = [store for store in stores if not ledger.is_disturbed(note.id, store)]
        successors = {there[store].id for store in stores} | {mark.superseded_by for mark in marks}
        if note.superseded_by is not None:
            assert note.superseded_by in successors, note
            assert note.superseded_by in notes, note
            assert note.valid_until is not None, note
        elif certain or any(mark.superseded_by for mark in sure):
            raise AssertionError(f"not superseded: {note}, {certain}, {sure}")
        assert note.outdated == (note.outdated_reason is not None), note
        if note.outdated:
            assert note.valid_until is not None, note
            last = [mark.reason for mark in marks if not any(mark.until < later.sent for later in sure)]
            assert note.outdated_reason in last, (note, last)
        else:
            assert not sure, (note, sure)


def assert_edits_are_kept(ledger: Ledger, home: Path) -> None:
    """What a person saved is in a note, or among the replaced texts, or among those that lost a race."""
    parts = [home / "memories", home / "history", home / "trash"]
    kept = {line for part in parts for path in part.rglob("*.md") for line in path.read_text("utf-8").splitlines()}
    assert [edit for edit in ledger.edits if edit.saved < FOREVER and edit.line not in kept] == []


def assert_sessions_count_up(notes: Iterable[Note]) -> None:
    given = Counter((note.session, note.seq) for note in notes if note.session is not None)
    assert [place for place, count in given.items() if count > 1] == []
    assert all(seq is not None for _, seq in given)


def assert_refusals_had_a_reason(ledger: Ledger, reasons: Sequence[str]) -> None:
    """A conflict, a ring, or a note whose file was empty for a moment because a person was saving it in place."""
    for call in ledger.calls:
        if not call.refused or call.refused.startswith(("ConflictError", RING, *reasons)):
            continue
        assert call.refused.startswith("MemoryNotFoundError"), call
        edits = [edit for edit in ledger.edits if edit.in_place and edit.id in call.touched]
        assert any(edit.meets(call) for edit in edits), call


def notes_on(home: Path) -> dict[str, Note]:
    """The notes by id; no file is torn, doubled or left lying about."""
    files = [path for path in (home / "memories").rglob("*") if path.is_file()]
    assert [path.name for path in files if path.suffix != ".md" or path.name.startswith(".")] == []
    notes = [note_of(parse(path.read_bytes()), Surroundings()) for path in files]
    found = {note.id: note for note in notes}
    assert len(found) == len({note.content for note in notes}) == len(notes)
    history = list((home / "history").iterdir())
    assert [path.name for path in history if path.suffix != ".md" or path.name.startswith(".")] == []
    assert [path.name for path in history if hashlib.sha256(path.read_bytes()).hexdigest() != path.stem] == []
    assert [path.name for path in (home / "trash").rglob("*.md") if path.parent.name != "conflicts"] == []
    return found


def assert_journal_is_whole(home: Path) -> None:
    """One sequence without a gap, and no change that nobody knows the outcome of."""
    records = list(_records(home))
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    settled = max((record.get("settled", 0) for record in records), default=0)
    ended = {change for record in records for change in (*record.get("done", ()), *record.get("void", ()))}
    announced = {record["change"]: record["seq"] for record in records if "files" in record}
    assert [change for change, seq in announced.items() if change not in ended and seq > settled] == []


def _records(home: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((home / "journal").iterdir()):
        *lines, tail = path.read_bytes().split(b"\n")
        read = [read_line(line) for line in lines]
        assert None not in read, path
        assert tail == b"" or read_line(tail) is None
        yield from (record for record in read if record)


# --- what a server must say ---------------------------------------------------------------------------


AT_ONCE = 50  # of two requests each: a server over HTTP takes so many of one client and no more


def assert_shown(server: Server, stores: Iterable[Store], notes: dict[str, Note]) -> int:
    """Each is found by its word, and shown with the text and the links of its file; returns how many were asked."""
    stores = list(stores)
    for start in range(0, len(stores), AT_ONCE):
        asked = [
            (
                store,
                server.call("recall", query=store.word, include_outdated=True, limit=3),
                server.call("recall_node", node_id=store.id),
            )
            for store in stores[start : start + AT_ONCE]
        ]
        for store, search, look in asked:
            assert store.id in [hit["id"] for hit in search.result()["results"]], store
            assert_is_shown(notes[store.id], look.result(), notes)
    return len(stores)


def assert_is_shown(note: Note, shown: dict[str, Any], notes: dict[str, Note]) -> None:
    assert shown["content"] == note.content
    assert (shown["outdated"], shown["superseded_by"]) == (note.is_outdated, note.superseded_by)
    out = Counter((edge["id"], edge["type"]) for edge in shown["connections"] if edge["direction"] == "out")
    assert out >= Counter((link.to, link.type) for link in note.connections if link.to in notes)


def word_of(source: random.Random, prefix: str) -> str:
    """A word that no other note has."""
    return f"{prefix}{source.getrandbits(40):010x}x"
