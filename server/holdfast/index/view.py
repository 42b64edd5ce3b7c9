"""One state of the index, read by one function on a connection's thread: a request costs one hop, not many."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.index import current, journal, maintenance, overview
from holdfast.index import maintenance as lifecycle
from holdfast.index import queries as listings
from holdfast.index import queries as topology
from holdfast.index.aliases import aliases_of, meant
from holdfast.index.coverage import MOST_CANDIDATES, MOST_TERMS, POOL
from holdfast.index.current import Standing
from holdfast.index.history import Known, known_journal
from holdfast.index.journal import LineRow, LinesWanted
from holdfast.index.maintenance import BatchRow, CursorRow, JobRun, JudgedRow, Living
from holdfast.index.overview import ChangedNotes, Opposed
from holdfast.index.projection import HistoryRow
from holdfast.index.queries import Hub, ListedNote, Statistics, statistics
from holdfast.index.recalls import FeedbackRow, RatedQuestion, feedback_of
from holdfast.index.rows import IndexedNote, LinkRow, links_of, note_rows, same_note
from holdfast.index.sets import count_lacking, count_pending, is_stale
from holdfast.model.note import SELF_ID, Note
from holdfast.model.ranking import Filter, Found, QueryVector, Timeline

if TYPE_CHECKING:
    from holdfast.index.search.feedback import FeedbackIndex
    from holdfast.index.search.finder import Finder


class IndexView:
    """What can be asked of an open index without waiting."""

    def __init__(
        self, connection: sqlite3.Connection, finder: Callable[[], Finder], feedback: Callable[[], FeedbackIndex]
    ) -> None:
        self._connection = connection
        self._finder = finder
        self._feedback = feedback

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

    def firmest_beliefs(self, spaces: Sequence[str], count: int) -> list[tuple[str, str, float]]:
        """Id, title and confidence of the current beliefs of some spaces, those held most firmly first."""
        return self._connection.execute(
            f"SELECT id, title, confidence FROM notes WHERE type = 'belief' AND {current.NOT_RETIRED} "  # noqa: S608 - own words
            "AND space IN (SELECT value FROM json_each(?)) "
            "ORDER BY confidence DESC, updated DESC, id LIMIT ?",
            (json.dumps(list(spaces)), count),
        ).fetchall()

    def affinities(self, ids: Sequence[str], query: str, vector: QueryVector | None, now: str) -> Mapping[str, float]:
        """See `holdfast.index.search.feedback.FeedbackIndex.affinities`."""
        return self._feedback().affinities(self._connection, ids, query, vector, now)

    def feedback(self, note_id: str) -> list[FeedbackRow]:
        """All signals on a note."""
        return feedback_of(self._connection, note_id)

    def pending_questions(self, key: str, since: str, most: int) -> list[RatedQuestion]:
        """Rated questions that have no vector of this set, newest first; only those rated at `since` or later."""
        return self._feedback().pending(self._connection, key, since, most)

    def subjects(self, words: Sequence[str]) -> list[str]:
        """Subjects of notes, retired ones too, all of whose words are among these."""
        return self._finder().subjects(self._connection, words)

    def notes(self, ids: Iterable[str]) -> dict[str, IndexedNote]:
        """Notes by id; unknown ids are left out. Their connections are told by `links`."""
        return note_rows(self._connection, list(ids))

    def same_note(self, note: Note, now: str, but: Collection[str] = ()) -> str | None:
        """See `holdfast.index.rows.same_note`."""
        return same_note(self._connection, note, now, but)

    def with_history(self, ids: Sequence[str]) -> set[str]:
        """Which of these ids a note has or had, whatever became of it."""
        rows = self._connection.execute(
            "SELECT note FROM history WHERE note IN (SELECT value FROM json_each(?1)) "
            "UNION SELECT alias FROM aliases WHERE alias IN (SELECT value FROM json_each(?1))",
            (json.dumps(ids),),
        )
        return {note for (note,) in rows}

    def lines(self, wanted: LinesWanted) -> list[LineRow]:
        """See `holdfast.index.journal`, as for the following."""
        return journal.lines(self._connection, wanted)

    def line_of_change(self, change: str) -> LineRow | None:
        return journal.line_of_change(self._connection, change)

    def deletions(self, low: str, high: str) -> dict[str, int]:
        return journal.deletions(self._connection, low, high)

    def unplaced(self, notes: Collection[str]) -> set[str]:
        return journal.unplaced(self._connection, notes)

    def links(self, ids: Sequence[str]) -> list[LinkRow]:
        """Edges that leave or reach these notes and whose both ends are there."""
        return links_of(self._connection, ids)

    def successors(self, ids: Sequence[str]) -> dict[str, list[str]]:
        """For each note those that replaced it, the last one at the end; notes that nothing replaced are left out."""
        replaced_by = f"{meant('n.superseded_by')}"
        rows = self._connection.execute(
            "WITH RECURSIVE reached (id) AS ("  # noqa: S608 - own clause
            f" SELECT value FROM json_each(?) UNION SELECT {replaced_by} FROM reached JOIN notes n USING (id)) "
            f"SELECT id, {replaced_by} FROM reached JOIN notes n USING (id)",
            (json.dumps(ids),),
        )
        following = dict(rows.fetchall())  # None behind the last
        chains = ((first, _chain(following, first)) for first in ids)
        return {first: chain for first, chain in chains if chain}

    def evolved(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of these notes of which the first evolved from the second, or superseded it."""
        merged = aliases_of(self._connection, ids)
        rows = self._connection.execute(
            "SELECT DISTINCT l.source, l.target FROM json_each(?) w CROSS JOIN links l ON l.source = w.value "
            "WHERE l.type = 'evolved_from' ORDER BY 1, 2",
            (json.dumps([*ids, *merged]),),
        )
        pairs = dict.fromkeys((merged.get(new, new), merged.get(old, old)) for new, old in rows)
        return [(new, old) for new, old in pairs if old in set(ids) and new != old]

    def aliases(self, ids: Sequence[str]) -> dict[str, str]:
        """The ids that mean one of these notes since they were merged into it, each with that note's."""
        return aliases_of(self._connection, ids)

    def batch(self, batch_id: str) -> BatchRow | None:
        """See `holdfast.index.maintenance`, as for the following."""
        return maintenance.batch_of(self._connection, batch_id)

    def cursor(self, kind: str) -> CursorRow | None:
        return maintenance.cursor_of(self._connection, kind)

    def judged(self, note_id: str, others: Sequence[str]) -> dict[str, list[JudgedRow]]:
        return maintenance.judged_with(self._connection, note_id, others)

    def batches(self) -> list[BatchRow]:
        return maintenance.batches(self._connection)

    def ids_before(self, before: str, now: str, most: int) -> list[str]:
        return maintenance.ids_before(self._connection, before, now, most)

    def ids_changed_since(self, since: int, now: str, most: int) -> list[tuple[str, int]]:
        return maintenance.ids_changed_since(self._connection, since, now, most)

    def short_ids(self, ids: Sequence[str]) -> dict[str, str]:
        return current.short_ids(self._connection, ids)

    def near_each_other(self, key: str, now: str, most: int) -> dict[str, list[tuple[str, float]]]:
        """See `holdfast.index.search.vectors.near_each_other`."""
        from holdfast.index.search import vectors as surroundings  # noqa: PLC0415 - numpy: start-up stays light

        return surroundings.near_each_other(self._connection, key, now, most)

    def first_vectors(self, key: str, ids: Sequence[str]) -> dict[str, bytes]:
        return maintenance.first_vectors(self._connection, key, ids)

    def last_change(self, note_id: str, op: str) -> str | None:
        return maintenance.last_change(self._connection, note_id, op)

    def count_pending(self, key: str) -> int:
        """How many notes have no vector of this set."""
        return count_pending(self._connection, key)

    def count_notes(self) -> int:
        """How many notes there are."""
        return int(self._connection.execute("SELECT count(*) FROM notes").fetchone()[0])

    def usage(self) -> tuple[int, int]:
        """How many notes there are besides Self, those in quarantine included, and how many bytes their files have."""
        row = self._connection.execute("SELECT count(*), total(size) FROM files WHERE note IS NOT ?", [SELF_ID])
        notes, size = row.fetchone()
        return int(notes), int(size)

    def count_lacking(self, key: str) -> int:
        """How many notes have no vector of this set to be compared with, not even one that is to be made anew."""
        return count_lacking(self._connection, key)

    def is_stale(self, key: str) -> bool:
        """See `holdfast.index.sets.is_stale`."""
        return is_stale(self._connection, key)

    def problems(self) -> list[tuple[str, str]]:
        """Quarantined files with their reasons, by path."""
        return self._connection.execute(
            "SELECT path, problem FROM files WHERE problem IS NOT NULL ORDER BY path"
        ).fetchall()

    def change_number(self) -> int:
        """See `holdfast.index.queries`, as for the following."""
        return listings.change_number(self._connection)

    def listed(self, space: str, now: str, most: int) -> tuple[list[ListedNote], int]:
        return listings.listed(self._connection, space, now, most)

    def standing(self, which: Standing, space: str, now: str, most: int) -> list[str]:
        return current.standing(self._connection, which, space, now, most)

    def personal(self, now: str, most: int) -> list[str]:
        return listings.personal(self._connection, now, most)

    def completing(self, typed: str, only_type: str | None, most: int) -> list[str]:
        return listings.completing(self._connection, typed, only_type, most)

    def spaces(self) -> list[str]:
        return listings.spaces(self._connection)

    def latest_changes(self, most: int) -> list[tuple[HistoryRow, bool]]:
        return listings.latest_changes(self._connection, most)

    def orphans(self, most: int) -> tuple[int, list[str]]:
        """See `holdfast.index.queries.orphans`."""
        return topology.orphans(self._connection, most)

    def hubs(
        self,
        least: int,
        most_uses: int,
        own_reasons: Sequence[str],
        own_ops: Sequence[str],
        moving_ops: Sequence[str],
    ) -> list[Hub]:
        """See `holdfast.index.queries.hubs`."""
        return topology.hubs(self._connection, least, most_uses, own_reasons, own_ops, moving_ops)

    def hashes(self) -> list[tuple[str, str, str]]:
        """Id, path and content hash of every note."""
        return topology.hashes(self._connection)

    def beliefs(self) -> list[str]:
        """The paths of all beliefs."""
        return topology.beliefs(self._connection)

    def living(self, first: int, last: int, tiers: Sequence[str]) -> list[Living]:
        """See `holdfast.index.maintenance`, as for the following."""
        return lifecycle.living(self._connection, first, last, tiers)

    def living_among(self, ids: Sequence[str]) -> list[Living]:
        return lifecycle.living_among(self._connection, ids)

    def last_row(self) -> int:
        return lifecycle.last_row(self._connection)

    def surplus_core(self, most: int, spared: str) -> list[str]:
        return lifecycle.surplus_core(self._connection, most, spared)

    def without_space(self, first: int, last: int) -> list[tuple[str, str, tuple[str, ...]]]:
        return lifecycle.without_space(self._connection, first, last)

    def statistics(self) -> Statistics:
        """See `holdfast.index.queries`."""
        return statistics(self._connection)

    def used_on(self, note: str, day: str) -> bool:
        return lifecycle.used_on(self._connection, note, day)

    def count_behind(self, first: str, most: int) -> int:
        return lifecycle.count_behind(self._connection, first, most)

    def job_runs(self, name: str) -> tuple[int, list[JobRun]]:
        return lifecycle.job_runs(self._connection, name)

    def changes_before(self, space: str | None, before: int, most: int) -> list[ChangedNotes]:
        """See `holdfast.index.overview`, as for the following."""
        return overview.changes_before(self._connection, space, before, most)

    def opposed(self, space: str | None, now: str, most: int) -> list[Opposed]:
        return overview.opposed(self._connection, space, now, most)

    def doubted(self, space: str | None, now: str, most: int) -> list[str]:
        return overview.doubted(self._connection, space, now, most)

    def foremost(self, space: str | None, now: str, most: int) -> tuple[list[str], int]:
        return overview.foremost(self._connection, space, now, most)

    def replaced_by(self, ids: Sequence[str], most: int) -> list[str]:
        return overview.replaced_by(self._connection, json.dumps(list(ids)), most)

    def months(self, space: str | None, most: int) -> list[tuple[str, int, int]]:
        return overview.months(self._connection, space, most)

    def known_journal(self) -> Known:
        return known_journal(self._connection)

    def is_sound(self) -> bool:
        """Whether SQLite finds the index in order."""
        return topology.check(self._connection)


def _chain(following: Mapping[str, str | None], first: str) -> list[str]:
    """What follows a note, up to the last that is there; a ring is walked once."""
    chain: dict[str, None] = {}
    step = following.get(first)
    while step is not None and step in following and step != first and step not in chain:
        chain[step] = None
        step = following[step]
    return list(chain)
