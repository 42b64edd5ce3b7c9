"""One state of the index, read by one function on a connection's thread: a request costs one hop, not many."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar

from holdfast.index import current, journal, maintenance, queries
from holdfast.index.journal import known_journal
from holdfast.index.recalls import RatedQuestion, feedback_of
from holdfast.index.rows import (
    IndexedNote,
    LinkRow,
    aliases_of,
    change_number,
    count_lacking,
    count_pending,
    evolved,
    is_stale,
    judged_apart,
    links_of,
    lost_successors,
    note_rows,
    problems,
    readings_of,
    said_of,
    same_note,
    unread,
)
from holdfast.index.spelling import LEAST_DIGITS, respelt
from holdfast.model.identifiers import MOST_CANDIDATES, MOST_TERMS, POOL
from holdfast.model.ranking import Filter, Found, QueryVector, Timeline
from holdfast.model.words import query_terms

if TYPE_CHECKING:
    from holdfast.index.search.finder import FeedbackIndex, Finder


MOST_KEPT, LONGEST_KEPT = 1000, 4000  # notes that stay in memory, and characters of one of them
NEAR, MOST_NEAR = 0.6, 8  # a cosine; so many at most are near the best
MOST_LINKS = 50  # of a note whose links stay in memory
P = ParamSpec("P")
Answer = TypeVar("Answer")
Row = TypeVar("Row")


def _asked(query: Callable[Concatenate[sqlite3.Connection, P], Answer]) -> Callable[Concatenate[IndexView, P], Answer]:
    """A query of a connection, as a method that asks it of the view's own."""

    def method(view: IndexView, /, *arguments: P.args, **options: P.kwargs) -> Answer:
        return query(view._connection, *arguments, **options)  # noqa: SLF001 - a method of it

    return method


class KeptRows(Generic[Row]):
    """What was read lately by the id of a note, in one state of an index; shared by all connections."""

    def __init__(self) -> None:
        self._state: tuple[int, dict[str, Row]] = (-1, {})  # exchanged whole: other threads look into it

    def of(self, seen: int) -> dict[str, Row]:
        """What is kept of the state with this change number."""
        known, rows = self._state
        if seen > known:
            self._state = (seen, {})
        return rows if seen == known else {}

    def keep(self, seen: int, fresh: Mapping[str, Row]) -> None:
        known, rows = self._state
        if seen == known and len(fresh) <= MOST_KEPT:
            self._state = (seen, {**rows, **fresh} if len(rows) + len(fresh) <= MOST_KEPT else dict(fresh))


class Kept:
    """What stays in memory between requests."""

    def __init__(self) -> None:
        self.notes: KeptRows[IndexedNote | None] = KeptRows()  # None where there is none
        self.links: KeptRows[list[LinkRow]] = KeptRows()


class IndexView:
    """What can be asked of an open index without waiting."""

    # Queries of one connection, each described where it is written.
    feedback = _asked(feedback_of)
    same_note = _asked(same_note)
    aliases = _asked(aliases_of)
    short_ids = _asked(current.short_ids)
    standing = _asked(current.standing)
    lines = _asked(journal.lines)
    line_of_change = _asked(journal.line_of_change)
    change_since = _asked(journal.change_since)
    deletions = _asked(journal.deletions)
    fate = _asked(journal.fate)
    unplaced = _asked(journal.unplaced)
    batch = _asked(maintenance.batch_of)
    cursor = _asked(maintenance.cursor_of)
    judged = _asked(journal.judged)
    judged_apart = _asked(judged_apart)
    batches = _asked(maintenance.batches)
    ids_before = _asked(maintenance.ids_before)
    ids_changed_since = _asked(maintenance.ids_changed_since)
    first_vectors = _asked(maintenance.first_vectors)
    lines_of_notes = _asked(maintenance.lines_of_notes)
    last_change = _asked(maintenance.last_change)
    readings = _asked(readings_of)
    said = _asked(said_of)
    unread = _asked(unread)
    count_pending = _asked(count_pending)
    count_lacking = _asked(count_lacking)
    is_stale = _asked(is_stale)
    change_number = _asked(change_number)
    listed = _asked(queries.listed)
    personal = _asked(queries.personal)
    beginning = _asked(queries.beginning)
    completing = _asked(queries.completing)
    spaces = _asked(queries.spaces)
    latest_changes = _asked(queries.latest_changes)
    orphans = _asked(queries.orphans)
    hubs = _asked(queries.hubs)
    emptied = _asked(queries.emptied)
    hashes = _asked(queries.hashes)
    beliefs = _asked(queries.beliefs)
    is_sound = _asked(queries.check)
    statistics = _asked(queries.statistics)
    living = _asked(maintenance.living)
    living_among = _asked(maintenance.living_among)
    last_row = _asked(maintenance.last_row)
    surplus_core = _asked(maintenance.surplus_core)
    without_space = _asked(maintenance.without_space)
    used_on = _asked(maintenance.used_on)
    count_behind = _asked(maintenance.count_behind)
    job_runs = _asked(maintenance.job_runs)
    changes_before = _asked(queries.changes_before)
    opposed = _asked(queries.opposed)
    doubted = _asked(queries.doubted)
    foremost = _asked(queries.foremost)
    replaced_by = _asked(queries.replaced_by)
    months = _asked(queries.months)
    firmest_beliefs = _asked(queries.firmest_beliefs)
    with_history = _asked(queries.with_history)
    successors = _asked(queries.successors)
    lost_successors = _asked(lost_successors)
    evolved = _asked(evolved)
    count_notes = _asked(queries.count_notes)
    usage = _asked(queries.usage)
    problems = _asked(problems)
    having_text = _asked(queries.having_text)
    known_journal = _asked(known_journal)

    def __init__(
        self,
        connection: sqlite3.Connection,
        finder: Callable[[], Finder],
        feedback: Callable[[], FeedbackIndex],
        kept: Kept,
    ) -> None:
        self._connection = connection
        self._finder = finder
        self._feedback = feedback
        self._kept = kept

    @cached_property
    def _state(self) -> int:
        """The number of the last change in it: a view is of one transaction, which sees no other."""
        return self.change_number()

    def search(
        self,
        query: str,
        vector: QueryVector | None,
        wanted: Filter,
        pool_size: int = POOL,
        most_terms: int = MOST_TERMS,
        most: int = MOST_CANDIDATES,
        extraordinary: frozenset[str] = frozenset(),
        beside: QueryVector | None = None,
    ) -> Found:
        """See `holdfast.index.search.finder.Finder.search`."""
        sizes = (pool_size, most_terms, most)
        return self._finder().search(self._connection, query, vector, wanted, *sizes, extraordinary, beside)

    def held(self, *keys: str) -> tuple[int, int] | None:
        """See `holdfast.index.search.finder.Finder.held`."""
        return self._finder().held(self._connection, keys)

    def by_time(self, wanted: Filter, most: int, offset: int = 0, *, soonest: bool = False) -> Timeline:
        """See `holdfast.index.search.finder.Finder.by_time`."""
        return self._finder().by_time(self._connection, wanted, most, offset, soonest=soonest)

    def hides(self, wanted: Filter) -> bool:
        """See `holdfast.index.search.finder.Finder.hides`."""
        return self._finder().hides(self._connection, wanted)

    def affinities(self, ids: Sequence[str], query: str, vector: QueryVector | None, now: str) -> Mapping[str, float]:
        """See `holdfast.index.search.finder.FeedbackIndex.affinities`."""
        return self._feedback().affinities(self._connection, ids, query, vector, now)

    def pending_questions(self, key: str, since: str, most: int) -> list[RatedQuestion]:
        """Rated questions that have no vector of this set, newest first; only those rated at `since` or later."""
        return self._feedback().pending(self._connection, key, since, most)

    def respelt(self, query: str, odd: AbstractSet[str]) -> dict[str, str]:
        """See `holdfast.index.spelling`. Nothing is respelt where each word stands in some note, and no long number."""
        is_plain = not odd and sum(map(str.isdecimal, query)) < LEAST_DIGITS
        if is_plain and self._finder().knows(self._connection, query_terms(query)):
            return {}
        return respelt(self._connection, query, odd)

    def subjects(self, words: Sequence[str]) -> list[str]:
        """Subjects of notes, retired ones too, all of whose words are among these."""
        return self._finder().subjects(self._connection, words)

    def notes(self, ids: Iterable[str]) -> dict[str, IndexedNote]:
        """Notes by id; unknown ids are left out. Their connections are told by `links`."""
        wanted = list(dict.fromkeys(ids))
        seen = self._state
        kept = self._kept.notes.of(seen)
        found = {note_id: kept[note_id] for note_id in wanted if note_id in kept}
        if missing := [note_id for note_id in wanted if note_id not in found]:
            read = dict.fromkeys(missing) | note_rows(self._connection, missing)
            short = {
                note_id: item for note_id, item in read.items() if not item or len(item.note.content) <= LONGEST_KEPT
            }
            self._kept.notes.keep(seen, short)
            found |= read
        return {note_id: item for note_id in wanted if (item := found[note_id])}

    def links(self, ids: Sequence[str]) -> list[LinkRow]:
        """Edges that leave or reach these notes and whose both ends are there, those of most weight first."""
        seen = self._state
        kept = self._kept.links.of(seen)
        found = {note_id: kept[note_id] for note_id in ids if note_id in kept}
        if missing := [note_id for note_id in ids if note_id not in found]:
            read = links_of(self._connection, missing)
            mine: dict[str, list[LinkRow]] = {note_id: [] for note_id in missing}
            for link in read:
                if link.source not in mine and link.target not in mine:  # another id of a note was given
                    return links_of(self._connection, ids)
                for end in mine.keys() & {link.source, link.target}:
                    mine[end].append(link)
            few = {note_id: links for note_id, links in mine.items() if len(links) <= MOST_LINKS}
            self._kept.links.keep(seen, few)
            found |= mine
        links = {link for each in found.values() for link in each}
        return sorted(links, key=lambda link: (-link.weight, link.type, link[:2], link.reason))

    def likenesses(self, vectors: Sequence[bytes | None]) -> list[list[float]]:
        """See `holdfast.index.search.vectors.likenesses`; empty where there are no vectors."""
        if not any(vectors):
            return []
        from holdfast.index.search import vectors as surroundings  # noqa: PLC0415 - numpy: start-up stays light

        return surroundings.likenesses(vectors)

    def near_ones(self, key: str | None, best: Sequence[str], others: Sequence[str]) -> list[str]:
        """A few of the others that are near one of the best by their own meaning, in order; none without a key."""
        vectors = self.first_vectors(key, [*best, *others]) if key and others else {}
        cosines = self.likenesses([vectors.get(end) for end in (*best, *others)])
        of_others = (row[: len(best)] for row in cosines[len(best) :])
        near = [max((value for value in row if value >= NEAR), default=0.0) for row in of_others]
        nearest = sorted(range(len(near)), key=lambda place: -near[place])[:MOST_NEAR]
        return [others[place] for place in sorted(nearest) if near[place]]

    def near_each_other(self, key: str, now: str, most: int) -> dict[str, list[tuple[str, float]]]:
        """See `holdfast.index.search.vectors.near_each_other`."""
        from holdfast.index.search import vectors as surroundings  # noqa: PLC0415 - numpy: start-up stays light

        return surroundings.near_each_other(self._connection, key, now, most)
