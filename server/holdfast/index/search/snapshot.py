"""What a search knows of every note without reading a row, in arrays, and its lexical leg, which scores notes there.

Read from the database at the first search and kept up to date by change numbers, so that the notes of other
processes are seen as soon as they are committed.
"""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holdfast.model.identifiers import (
    BM25,
    OFTEN_SHARE,
    OVER,
    OWN,
    RELATED_SHARE,
    USUAL_SHARE,
    Term,
    Unit,
    is_scored,
    most_rare,
    term_of,
    units_of,
    weighed,
)
from holdfast.model.note import NOTE_TYPES, TIERS, id_number, tag_key
from holdfast.model.ranking import ROW_COLUMNS, Filter
from holdfast.model.words import query_terms


class Subjects:
    """Subjects as small numbers, found by their words. It only grows: who asks says which are still in use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._words: list[frozenset[str]] = []
        self._by_word: dict[str, list[int]] = {}  # each subject by one of its words, the longest

    def __len__(self) -> int:
        return len(self._names)

    def number(self, subject: str | None) -> int:
        """The number of a subject, -1 for none."""
        if subject is None:
            return -1
        number = self._numbers.get(subject)
        if number is None:
            number = self._numbers[subject] = len(self._names)
            words = query_terms(subject)
            self._names.append(subject)
            self._words.append(frozenset(words))
            if words:
                self._by_word.setdefault(max(words, key=len), []).append(number)
        return number

    def name(self, number: int) -> str:
        return self._names[number]

    def within(self, words: Collection[str]) -> list[int]:
        """The subjects all of whose words are among these."""
        asked = frozenset(words)
        return [number for word in asked for number in self._by_word.get(word, ()) if self._words[number] <= asked]


Positions = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

NEVER = 1 << 62
_FIELDS = np.dtype(
    [
        ("rowid", np.int64), ("space", np.int32), ("session", np.int32), ("subject", np.int32), ("type", np.int8),
        ("tier", np.int8), ("long", np.bool_), ("live", np.bool_), ("outdated", np.bool_), ("replaced", np.bool_),
        ("until", np.int64), ("happened", np.int64), ("created", np.int64), ("mark", np.int64),
    ]
)  # fmt: skip
_COLUMNS = (
    "rowid, space, session, subject, type, tier, long, outdated, superseded_by, valid_until, happened, created, id"
)
_GROWTH = 1.5
_LARGE_COUNT = 200
_MOST_COUNTS = 10_000
_MOST_SCORES = 200_000  # 12 bytes each
_MOST_ROWS = 2000
_CANDIDATES = f"SELECT {ROW_COLUMNS} FROM notes WHERE rowid IN (SELECT value FROM json_each(?))"  # noqa: S608 - own names
_NO_SIGNS = str.maketrans("", "", "-:TZ")  # of a canonical instant
_MARK = (1 << 62) - 1  # the part of an id that tells notes of one second apart


def number_of(instant: str | None) -> int:
    """An instant as a number that sorts like it; never for none."""
    if not instant:
        return NEVER
    digits = instant.translate(_NO_SIGNS)
    return int(digits if digits.isdigit() else "".join(filter(str.isdigit, instant)))


class NameTable:
    """Texts as small numbers."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._numbers = {name: number for number, name in enumerate(known)}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._numbers])  # others may add to them meanwhile

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def known(self, names: Iterable[str]) -> list[int]:
        return [self._numbers[name] for name in names if name in self._numbers]


class DocumentCounts:
    """How many notes have a word, for words that were asked for lately, in one state of the store.

    A large count is slow to take and hardly changes, so it outlives the state until the store is another size.
    """

    def __init__(self, large: Mapping[str, int] | None = None, size: int = 0) -> None:
        self._exact: dict[str, int] = {}
        self._large = dict(large or {})
        self._size = size

    def of(self, word: str) -> int | None:
        found = self._exact.get(word)
        return self._large.get(word) if found is None else found

    def keep(self, word: str, found: int) -> None:
        if len(self._exact) >= _MOST_COUNTS:
            self._exact.clear()
        self._exact[word] = found
        if found >= _LARGE_COUNT:
            self._large[word] = found

    def of_size(self, size: int) -> DocumentCounts:
        """Those of the next state."""
        if abs(size - self._size) * 50 > self._size:
            return DocumentCounts(size=size)
        return DocumentCounts(self._large, self._size)


class WordScores:
    """Where a word stands and what it scores there, for words that were asked for lately, in one state of the store.

    Questions share most of their words, and a store is asked more often than it is written to.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[Positions, Floats]] = {}
        self._size = 0

    def of(self, word: str) -> tuple[Positions, Floats] | None:
        return self._found.get(word)

    def keep(self, word: str, places: Positions, scores: Floats) -> None:
        if self._size + len(places) > _MOST_SCORES:
            self._found, self._size = {}, 0
        self._found[word] = (places, scores)
        self._size += len(places)


class CandidateRows:
    """What ranking needs to know of notes that were found lately, by row id, in one state of the store."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Any, ...]] = {}

    def of(self, connection: sqlite3.Connection, rowids: Sequence[int]) -> list[tuple[Any, ...]]:
        """The rows of these notes, in no order; each begins with its row id."""
        known = self._found
        found = [known[rowid] for rowid in rowids if rowid in known]
        if len(found) == len(rowids):
            return found
        missing = json.dumps([rowid for rowid in rowids if rowid not in known])
        read = connection.execute(_CANDIDATES, (missing,)).fetchall()
        fresh = {row[0]: row for row in read}
        # never emptied, only exchanged: other threads look into it
        self._found = {**known, **fresh} if len(known) + len(fresh) <= _MOST_ROWS else fresh
        return found + read


class Snapshot:
    """All notes by position, in the order of their row ids; a removed note keeps its place and is not live.

    A snapshot does not change while it is searched: `refreshed` gives a new one. `rows` has an array for each field, at
    least `size` long.
    """

    def __init__(self) -> None:
        self.size = 0
        self.rows = {name: np.zeros(0, _FIELDS[name]) for name in _FIELDS.names or ()}
        self.spaces, self.sessions = NameTable(), NameTable()
        self._subjects = Subjects()
        self._named: Mask | None = None  # by number of a subject, whether a note has it
        self._types, self._tiers = NameTable(NOTE_TYPES), NameTable(TIERS)
        self.seen = -1  # the change number of the connection that it is for: everything up to it is here
        self.numbering = object()  # the same for all snapshots that have the same notes at the same positions
        self.document_counts = DocumentCounts()
        self.word_scores = WordScores()
        self.candidate_rows = CandidateRows()
        self.is_past = False  # whether this is for a connection that still sees an earlier state

    @property
    def count(self) -> int:
        """How many notes are live."""
        return int(np.count_nonzero(self.rows["live"][: self.size]))

    def refreshed(self, connection: sqlite3.Connection) -> Snapshot:
        """This snapshot, or a newer one where something was committed since. Read in one transaction."""
        found = connection.execute("SELECT value FROM meta WHERE key = 'change_seq'").fetchone()
        latest = int(found[0]) if found else 0
        if latest == self.seen:
            return self
        if latest < self.seen:
            return self._for_the_past(latest)
        fresh = Snapshot() if self.seen < _forgotten(connection) else copy.copy(self)
        fresh._read(connection, latest)  # noqa: SLF001 - a copy of its own
        return fresh

    def _for_the_past(self, earlier: int) -> Snapshot:
        """This one, but what is asked of an earlier state is not kept as an answer of this one."""
        other = copy.copy(self)
        other.seen, other.is_past = earlier, True
        other.document_counts, other.word_scores, other.candidate_rows = DocumentCounts(), WordScores(), CandidateRows()
        return other

    def _read(self, connection: sqlite3.Connection, latest: int) -> None:
        self.rows = {name: column.copy() for name, column in self.rows.items()}
        changed = connection.execute(
            f"SELECT {_COLUMNS} FROM notes WHERE changed > ? ORDER BY rowid",  # noqa: S608 - own names
            (self.seen,),
        ).fetchall()
        self._take(changed)
        gone = connection.execute("SELECT note FROM tombstones WHERE changed > ?", (self.seen,)).fetchall()
        removed = self.positions([rowid for (rowid,) in gone])
        self.rows["live"][removed] = False
        self.rows["subject"][removed] = -1
        self._named = None
        self.seen = latest
        self.document_counts = self.document_counts.of_size(self.size)
        self.word_scores, self.candidate_rows = WordScores(), CandidateRows()

    def positions(self, rowids: Iterable[int]) -> Positions:
        """Where these notes stand; unknown ones are left out."""
        places, known = self.places(np.fromiter(rowids, np.int64))
        return places[known]

    def places(self, rowids: npt.NDArray[np.int64]) -> tuple[Positions, Mask]:
        """For each row id where its note stands, and whether it is known; the place of an unknown one means nothing."""
        here = self.rows["rowid"][: self.size]
        places = np.searchsorted(here, rowids)
        known = places < self.size
        known[known] = here[places[known]] == rowids[known]
        return places, known

    def subjects(self, words: Collection[str]) -> list[str]:
        """Subjects of notes, retired ones too, all of whose words are among these; in order."""
        found = self._subjects.within(words)
        if not found:
            return []
        if self._named is None:
            mine = self.rows["subject"][: self.size]
            self._named = np.bincount(mine[mine >= 0], minlength=len(self._subjects)) > 0
        known = self._named  # what a later snapshot got to know is no part of this one
        return sorted(self._subjects.name(number) for number in found if number < len(known) and known[number])

    def placed(self, terms: Collection[str], strange: Collection[str]) -> dict[str, dict[str, Positions]]:
        """By the name of each space that a question's terms name, where its notes are, by term.

        `strange` are the terms that are no ordinary words.
        """
        likely = (name for name in self.spaces if not name.isascii() or any(term in name.lower() for term in strange))
        named = {name: own for name in likely if {*(own := query_terms(name))} <= {*terms} and {*own} & {*strange}}
        spaces = self.rows["space"][: self.size]
        there = {name: np.flatnonzero(spaces == self.spaces.number(name)) for name in named}
        return {name: dict.fromkeys(own, there[name]) for name, own in named.items() if len(there[name])}

    def best(self, scores: Floats, above: float, count: int) -> Positions:
        """Positions of the highest scores over `above`; of equal ones the newest, whatever their rows."""
        found = np.flatnonzero(scores > above)
        return found[self.first(found, scores[found], count)]

    def first(self, positions: Positions, scores: Floats, count: int) -> Positions:
        """Which of some positions have the highest scores, as indices into them; of equal ones the newest."""
        if len(positions) <= count:
            return np.arange(len(positions))
        lowest = np.partition(scores, len(scores) - count)[len(scores) - count]
        chosen = np.flatnonzero(scores >= lowest)
        there = positions[chosen]
        order = np.lexsort((self.rows["mark"][there], -self.rows["created"][there], -scores[chosen]))
        best: Positions = chosen[order[:count]]
        return best

    def mask(self, connection: sqlite3.Connection, wanted: Filter) -> Mask:
        """Which notes the filter lets through."""
        rows = {name: column[: self.size] for name, column in self.rows.items()}
        passes: Mask = rows["live"].copy()
        if wanted.spaces:
            passes &= np.isin(rows["space"], self.spaces.known(wanted.spaces))
        if wanted.types:
            passes &= np.isin(rows["type"], self._types.known(wanted.types))
        if wanted.tiers:
            passes &= np.isin(rows["tier"], self._tiers.known(wanted.tiers))
        if wanted.after:
            passes &= self.times(wanted) >= number_of(wanted.after)
        if wanted.before:
            passes &= self.times(wanted) <= number_of(wanted.before)
        if not wanted.include_outdated:
            current = ~rows["outdated"] & (rows["until"] > number_of(wanted.now))
            passes &= current | rows["replaced"] if wanted.include_superseded else current
        if wanted.tags:
            tagged = np.zeros(self.size, np.bool_)
            tagged[self.positions(_tagged(connection, wanted.tags))] = True
            passes &= tagged
        return passes

    def times(self, wanted: Filter) -> npt.NDArray[np.int64]:
        """Of each note the time that the filter means."""
        happened, created = self.rows["happened"][: self.size], self.rows["created"][: self.size]
        match wanted.dated:
            case "happened":
                return happened
            case "known":
                return np.where(happened > number_of(wanted.now), created, happened)
            case "noted":
                return created

    def _take(self, changed: list[tuple[Any, ...]]) -> None:
        values = np.array([self._row(*row) for row in changed], _FIELDS)
        places, known = self.places(values["rowid"])
        fresh = values[~known]  # row ids only grow, so new notes belong at the end
        end = self.size + len(fresh)
        for name, column in list(self.rows.items()):
            column[places[known]] = values[name][known]
            if end > len(column):
                self.rows[name] = np.zeros(int(end * _GROWTH) + 16, column.dtype)
                self.rows[name][: self.size] = column[: self.size]
            self.rows[name][self.size : end] = fresh[name]
        self.size = end

    def _row(
        self,
        rowid: int,
        space: str,
        session: str | None,
        subject: str | None,
        type_: str,
        tier: str,
        long: int,
        outdated: int,
        superseded_by: str | None,
        valid_until: str | None,
        happened: str,
        created: str,
        note_id: str,
    ) -> tuple[object, ...]:
        conversation = -1 if session is None else self.sessions.number(f"{space}\0{session}")
        made = number_of(created)
        return (
            rowid, self.spaces.number(space), conversation, self._subjects.number(subject),
            self._types.number(type_), self._tiers.number(tier), bool(long), True, bool(outdated),
            superseded_by is not None, number_of(valid_until),
            made if happened == created else number_of(happened), made,
            id_number(note_id) & _MARK,
        )  # fmt: skip


def _forgotten(connection: sqlite3.Connection) -> int:
    """The change number up to which it is no longer known which notes went; see `holdfast.index.projection`."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'forgotten'").fetchone()
    return int(found[0]) if found else -1


def _tagged(connection: sqlite3.Connection, tags: Iterable[str]) -> list[int]:
    wanted = json.dumps([tag_key(tag) for tag in tags])
    statement = "SELECT DISTINCT note FROM tags WHERE tag IN (SELECT value FROM json_each(?))"
    return [rowid for (rowid,) in connection.execute(statement, (wanted,))]


_PART = 1e-10  # of a score, which is told in whole numbers of it; the least that a word can score is about 1e-6
# Many rows are told as one: a row each would cost up to five times as much, and other threads would wait for each.
_SCORED = (  # bm25 works in no aggregate: the LIMIT keeps the inner query apart
    f"SELECT group_concat(rowid), group_concat(score) FROM (SELECT rowid, CAST(-{BM25} / {_PART} AS INTEGER) AS score "  # noqa: S608 - own words
    "FROM texts WHERE texts MATCH ? LIMIT -1)"
)
_PRESENT = "SELECT group_concat(rowid) FROM texts WHERE texts MATCH ?"


@dataclass(frozen=True, slots=True)
class Lexical:
    """`coverage` by position in 0..1.05: the share of the query's weight that the note's words carry.

    It is a little more than all where a long one says them often.

    `matched` has bit i set where term i of `words` was found. `unknown` are terms that no note of the store has.
    """

    coverage: Floats
    matched: npt.NDArray[np.uint64]
    words: tuple[str, ...]
    unknown: frozenset[str]

    def words_of(self, bits: int) -> tuple[str, ...]:
        """The words that an entry of `matched` stands for."""
        return tuple(word for place, word in enumerate(self.words) if bits >> place & 1)


@dataclass(frozen=True, slots=True)
class Rare:
    """A rare word or identifier of the query, and the positions of the notes that pass and have it in their own text.

    `count` is how many notes have it, whether or not they pass.
    """

    unit: Unit
    count: int
    positions: Positions


def rare_words(connection: sqlite3.Connection, snapshot: Snapshot, query: str, passes: Mask) -> list[Rare]:
    """The identifiers and words of a query that few notes hold in their own text, each with those that pass."""
    total = snapshot.count
    most = most_rare(total)
    found: list[Rare] = []
    for unit in units_of(query):
        if unit.kind in ("identifier", "name") or 0 < _count(connection, snapshot, unit.label) <= most:
            places = _holding(connection, snapshot, unit, most)
            if 0 < len(places) <= most:
                found.append(Rare(unit, len(places), places[passes[places]]))
    return found


def _holding(connection: sqlite3.Connection, snapshot: Snapshot, unit: Unit, most: int) -> Positions:
    """Positions of the notes that have one of the spellings in their own text; of many only some, more than `most`."""
    either = " OR ".join(f'"{phrase}"' for phrase in unit.phrases)
    statement = "SELECT group_concat(rowid) FROM (SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?)"
    (rowids,) = connection.execute(statement, (f"{OWN} : ({either})", most + 1)).fetchone()
    places, known = snapshot.places(_numbers(rowids))
    return places[known]


NOWHERE: Final[Mapping[str, Positions]] = MappingProxyType({})


def search_words(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    words: list[str],
    passes: Mask,
    most: int,
    rare_ones: Sequence[Rare] = (),
    placed: Mapping[str, Positions] = NOWHERE,
) -> Lexical:
    """Score every note that passes the filter and holds a word of the query.

    coverage = sum(idf * min(1, tf)) / sum(idf) over the query's terms, where tf is BM25's saturated, length-normalised
    term frequency (Robertson and Zaragoza 2009) over weighted columns, as FTS5 computes it. In a long note a word may
    count 1.5, for what it says often it is about; of what is more than 1 in all a tenth is left. Of common terms, which
    are only looked for where a rare one was found, tf is taken as 0.8. Of `rare_ones` it is 1 in whatever holds them: a
    long note has a passage about such a word, and its other passages do not speak against it. `placed` are terms that
    name a space, by the notes of it: for these the query is without it.
    """
    whole = {term: rare.positions for rare in rare_ones for term in rare.unit.terms}
    total = snapshot.count
    terms = [term_of(word, total, lambda each: _count(connection, snapshot, each)) for word in words]
    unknown = frozenset(term.word for term in terms if not term.found and term.word not in whole)
    terms, weight = weighed(terms, total, most)
    coverage = np.zeros(snapshot.size, np.float32)
    for term in terms:
        if not term.found and term.word in whole:  # an identifier that is spelt in another way
            coverage[whole[term.word]] += term.idf / weight
    matched = np.zeros(snapshot.size, np.uint64)
    rare: list[Term] = []
    common = [term for term in terms if term.found]
    rows = 0
    while common and is_scored(common[0], rows, lambda: int(np.count_nonzero(matched))):
        term = common.pop(0)
        rows += term.found
        positions, share = _shares(connection, snapshot, term, passes)
        place = len(rare)
        rare.append(term)
        if term.word in whole:
            share[np.isin(positions, whole[term.word]) & (share < 1.0)] = 1.0
        if term.word in placed:
            beside = ~np.isin(positions, placed[term.word])
            positions, share = positions[beside], share[beside]
        coverage[positions] += term.idf / weight * share
        matched[positions] |= np.uint64(1 << place)
    if common and rare:
        _add_common(connection, snapshot, rare, common, weight, passes, coverage)
    if placed:
        without = np.full(snapshot.size, weight, np.float32)
        for term in terms:
            if term.word in placed:
                without[placed[term.word]] -= term.idf
        coverage[without > 0.0] *= weight / without[without > 0.0]
    over = coverage > 1.0
    coverage[over] = 1.0 + OVER * (coverage[over] - 1.0)
    return Lexical(coverage, matched, tuple(term.word for term in rare), unknown)


def _shares(connection: sqlite3.Connection, snapshot: Snapshot, term: Term, passes: Mask) -> tuple[Positions, Floats]:
    """Where a word stands, or another of its family, and which share of its weight it scores there."""
    positions, scores = _of_term(connection, snapshot, term, passes)
    most = np.where(snapshot.rows["long"][positions], np.float32(OFTEN_SHARE), np.float32(1.0))
    share = np.minimum(most, scores / np.float32(term.fts_idf))
    if not term.related:
        return positions, share
    everywhere = np.zeros(snapshot.size, np.float32)
    everywhere[positions] = share
    for other in term.related:
        places, theirs = _shares(connection, snapshot, other, passes)
        everywhere[places] = np.maximum(everywhere[places], np.float32(RELATED_SHARE) * theirs)
    positions = np.flatnonzero(everywhere)
    return positions, everywhere[positions]


def _count(connection: sqlite3.Connection, snapshot: Snapshot, word: str) -> int:
    """How many notes have a word, as far as possible from memory."""
    counts = snapshot.document_counts
    found = counts.of(word)
    if found is None:
        found = document_count(connection, word)
        counts.keep(word, found)
    return found


def are_known(connection: sqlite3.Connection, snapshot: Snapshot, words: Iterable[str]) -> bool:
    """Whether each of these words stands in some note."""
    return all(_count(connection, snapshot, word) for word in words)


def document_count(connection: sqlite3.Connection, word: str) -> int:
    """How many notes have a word, in whatever column."""
    return int(connection.execute("SELECT count(*) FROM texts WHERE texts MATCH ?", (f'"{word}"',)).fetchone()[0])


def _of_term(connection: sqlite3.Connection, snapshot: Snapshot, term: Term, passes: Mask) -> tuple[Positions, Floats]:
    """As `_scored`, for one word."""
    known = snapshot.word_scores.of(term.word)
    if known is None:
        known = _scored(connection, snapshot, term.phrase)
        snapshot.word_scores.keep(term.word, *known)
    places, scores = known
    kept = passes[places]
    return places[kept], scores[kept]


def _scored(connection: sqlite3.Connection, snapshot: Snapshot, expression: str) -> tuple[Positions, Floats]:
    """Positions and BM25 scores of the notes that match an expression."""
    rowids, scores = connection.execute(_SCORED, (expression,)).fetchone()
    places, known = snapshot.places(_numbers(rowids))
    return places[known], (_numbers(scores)[known] * _PART).astype(np.float32)


def _numbers(listed: str | None) -> npt.NDArray[np.int64]:
    return np.fromstring(listed or "", np.int64, sep=",")


def _add_common(
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    rare: list[Term],
    common: list[Term],
    weight: float,
    passes: Mask,
    coverage: Floats,
) -> None:
    """Add what common words say of notes that have a rare one; how often they stand there is left open.

    To score them would cost more than all the rest, since bm25 walks through all notes of every word, and finds
    nothing better.
    """
    either = " OR ".join(term.either for term in rare)
    for term in common:
        if term.tells:
            expression = f"({either}) AND {OWN} : ({term.either})"
            (found,) = connection.execute(_PRESENT, (expression,)).fetchone()
            places, known = snapshot.places(_numbers(found))
            places = places[known]
            coverage[places[passes[places]]] += term.idf / weight * USUAL_SHARE
