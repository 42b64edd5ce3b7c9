"""The queue of what was said: turns that wait to be distilled, and how far each transcript was read.

Every turn is taken once, however often its line comes (resumed and forked sessions copy lines, clients write files
anew): its key is remembered longer than the turn itself. The queue is bounded: what waited too long goes, and the
oldest turns go where all are too large together; `dropped` counts them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from anyio.to_thread import run_sync

from holdfast.model.note import instant, moment
from holdfast.model.transcripts.pieces import Kept, Piece, SaidTexts, first_piece
from holdfast.model.transcripts.turns import Setting, Turn
from holdfast.store.locks import Lock
from holdfast.store.transcripts.reading import (
    Chunk,
    Located,
    NoTranscriptError,
    Place,
    connected,
    last_said,
    list_transcripts,
    locate,
    read_chunk,
    writing,
)

Fits: TypeAlias = Callable[[Sequence[Piece]], bool]  # whether pieces are not too long together

KNOWN_DAYS: Final = 400  # for which a turn is remembered once it was taken
MOST_TRANSCRIPTS: Final = 20_000
WRITTEN_DAYS: Final = 2  # that a transcript may be written on after its last turn was handed over
MOST_BEHIND: Final = 2_000  # that are looked at for that
_WITHOUT_TURNS: Final = "DELETE FROM pieces WHERE id NOT IN (SELECT piece FROM turns WHERE piece IS NOT NULL)"
_TOGETHER: Final = 400  # turns that are looked at together, as for one piece of a session


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may wait, and how long."""

    days: int = 30
    mib: int = 16


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits: `asked` are the turns of users among them. `dropped` turns waited too long, or were too many."""

    turns: int
    asked: int
    bytes: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """The numbers of the waiting turns that repeat some texts, of all turns up to the last one that was looked at."""

    said: SaidTexts
    turns: frozenset[int] = frozenset()
    last: int = 0


class TranscriptQueue:
    """The queue in one memory folder.

    Args:
        home: the memory folder.
        roots: where transcripts may lie.
        bounds: how much may wait.
        place: the space of a working folder, empty for none.
    """

    def __init__(self, home: Path, roots: Sequence[Path], bounds: Bounds, place: Callable[[str], str]) -> None:
        self._path = home / "transcripts" / "queue.db"
        self._roots = tuple(roots)
        self._bounds = bounds
        self._place = place
        self._lock = Lock(home / "locks" / "sessions")

    def locate(self, path: str) -> Located:
        """See `holdfast.store.transcripts.reading.locate`."""
        return locate(path, self._roots)

    async def transcripts(self) -> list[tuple[Path, float, int]]:
        """All transcripts of this machine's clients: path, time of change, size; the newest first."""
        return await run_sync(list_transcripts, self._roots, MOST_TRANSCRIPTS)

    async def read(self, found: Located) -> Chunk:
        """What a transcript holds behind the place that was reached.

        Raises:
            NoTranscriptError, OSError: it cannot be read.
            StorageError: the queue cannot be read.
        """
        return await run_sync(self._read, found)

    async def last_said(self, found: Located, since: str) -> str:
        """What the agent said last in what was read of a transcript; empty where that is not known.

        It is empty too where nothing of the transcript came into the queue since an instant.

        Raises:
            NoTranscriptError, OSError: it cannot be read.
            StorageError: the queue cannot be read.
        """
        return await run_sync(self._last_said, found, since)

    async def place(self, found: Located) -> Place:
        """How far a transcript was read."""
        return await run_sync(self._place_of, found.name)

    async def asked(self, found: Located, most: int) -> int:
        """How many turns of the user a transcript has behind the place that was reached, counted up to `most`."""
        return await run_sync(self._asked, found, most)

    async def expect(self, path: str, cwd: str, now: str) -> None:
        """Know of a transcript that is written on later, so that it is behind once it is."""
        await run_sync(self._expect, path, cwd, now)

    async def behind(self, path: str, now: str) -> list[tuple[str, str]]:
        """Other transcripts that were written on after they were handed over lately, each with its working folder."""
        return await run_sync(self._behind, path, now)

    def turn(self) -> AbstractAsyncContextManager[bool]:
        """Be the only process that looks for sessions; yields whether it is. Free again when its holder dies."""
        return self._lock.hold_if_free()

    async def keep(self, found: Located, chunk: Chunk, turns: Sequence[Turn], space: str, now: str) -> int | None:
        """Put turns into the queue and advance the cursor, both or neither; returns how many were new.

        None where another process has read on meanwhile: nothing was changed then, read again.

        Args:
            found: the transcript.
            chunk: what was read.
            turns: those of its turns that are to be kept, without secrets.
            space: theirs; empty where their working folder tells it.
            now: the time now.
        """
        return await run_sync(self._keep, found.name, chunk, turns, space, now)

    async def add(self, turns: Sequence[Turn], path: str, space: str, now: str) -> int:
        """Put turns into the queue that come from no transcript that is read on; returns how many were new."""
        return await run_sync(self._add, turns, path, space, now)

    async def unknown(self, turns: Sequence[Turn]) -> list[Turn]:
        """Those of some turns that were never taken, each once."""
        return await run_sync(self._unknown, turns)

    async def has_room(self, size: int) -> bool:
        """Whether so many bytes fit without letting go of others."""
        return (await self.state()).bytes + size <= self._bounds.mib << 20

    async def offer(
        self, space: str, now: str, shown_until: str, most: int, fits: Fits, name: Callable[[], str]
    ) -> list[Piece]:
        """Pieces to be judged: those of a space first, those that nobody looks at just now before the others.

        Args:
            space: whose pieces come first.
            now: the time now.
            shown_until: the pieces are marked as shown until then; empty marks and keeps nothing.
            most: how many.
            fits: whether so many are not too long.
            name: makes the id of a new piece.
        """
        return await run_sync(self._offer, space, now, shown_until, most, fits, name)

    async def piece(self, piece_id: str) -> Piece | None:
        """A piece that waits; None where there is none."""
        return await run_sync(self._piece, piece_id)

    async def attempt(self, piece_id: str, name: str) -> None:
        """Note that what was made of a piece is about to be stored under this name."""
        await run_sync(self._attempt, piece_id, name)

    async def finish(self, piece_id: str) -> None:
        """Take a piece out of the queue with all that it says."""
        await run_sync(self._finish, piece_id)

    async def repeating(self, texts: Sequence[str], before: Repeated | None = None) -> Repeated:
        """Which turns wait that repeat one of these texts; see `holdfast.model.transcripts.pieces`.

        Args:
            texts: what is looked for.
            before: what an earlier look found; where that was for the same texts, only what came since is looked at.
        """
        return await run_sync(self._repeating, texts, before)

    async def erase(self, found: Repeated) -> int:
        """Take these turns out, and what came since that repeats the same; each whole, and overwritten.

        That they were taken once stays known. Returns how many went.
        """
        return await run_sync(self._erase, found)

    async def waiting(self) -> int:
        """How many turns of users wait."""
        return (await self.state()).asked

    async def state(self) -> Waiting:
        """What waits."""
        return await run_sync(self._state)

    @property
    def days(self) -> int:
        """How many days a turn waits."""
        return self._bounds.days

    async def old(self, before: str, most: int, name: Callable[[], str]) -> list[Piece]:
        """Pieces all of whose turns wait since before a time, so many at the most."""
        return await run_sync(self._old, before, most, name)

    async def tidy(self, now: str) -> int:
        """Let go of what waited too long or is too much; returns how many turns went."""
        return await run_sync(self._tidy, now)

    def _read(self, found: Located) -> Chunk:
        return read_chunk(found, self._place_of(found.name))

    def _last_said(self, found: Located, since: str) -> str:
        if not self._path.exists():
            return ""
        with connected(self._path) as connection:
            asked = "SELECT max(queued) FROM turns WHERE path = ?"
            (queued,) = connection.execute(asked, (found.name,)).fetchone()
        return last_said(found, self._place_of(found.name)) if queued is not None and queued >= since else ""

    def _asked(self, found: Located, most: int) -> int:
        place, asked = self._place_of(found.name), 0
        while asked < most:
            chunk = read_chunk(found, place)
            asked += sum(turn.role == "user" for turn in chunk.turns)
            place = chunk.after
            if chunk.is_last:
                break
        return asked

    def _place_of(self, path: str) -> Place:
        if not self._path.exists():
            return Place()
        with connected(self._path) as connection:
            return _place_in(connection, path)

    def _keep(self, path: str, chunk: Chunk, turns: Sequence[Turn], space: str, now: str) -> int | None:
        if chunk.after == chunk.before and not turns:
            return 0
        spaces = self._spaces(turns, space)
        with writing(self._path) as connection:
            if _place_in(connection, path).version != chunk.before.version:
                return None
            after, setting = chunk.after, chunk.after.setting
            connection.execute(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (path, after.offset, after.head, after.tail, setting.source, setting.session, setting.cwd,
                 chunk.before.version + 1, now[:10]),
            )  # fmt: skip
            kept = _insert(connection, turns, path, spaces, now)
            self._bound(connection, now)
            return kept

    def _add(self, turns: Sequence[Turn], path: str, space: str, now: str) -> int:
        spaces = self._spaces(turns, space)
        with writing(self._path) as connection:
            kept = _insert(connection, turns, path, spaces, now)
            self._bound(connection, now)
            return kept

    def _expect(self, path: str, cwd: str, now: str) -> None:
        found = locate(path, self._roots)
        with writing(self._path) as connection:
            row = (found.name, 0, "", "", "", "", cwd, 0, now[:10])
            connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET day = excluded.day",
                row,
            )

    def _behind(self, path: str, now: str) -> list[tuple[str, str]]:
        if not self._path.exists():
            return []
        own = ""
        with suppress(NoTranscriptError):
            own = locate(path, self._roots).name
        with connected(self._path) as connection:
            rows = connection.execute(
                "SELECT path, cwd, place FROM cursors WHERE day >= ? AND path <> ? ORDER BY day DESC, path LIMIT ?",
                (instant(moment(now) - timedelta(days=WRITTEN_DAYS))[:10], own, MOST_BEHIND),
            ).fetchall()
        return [(other, cwd) for other, cwd, place in rows if _size(other) > place]

    def _unknown(self, turns: Sequence[Turn]) -> list[Turn]:
        each = {turn.key: turn for turn in turns}
        if not self._path.exists():
            return list(each.values())
        with connected(self._path) as connection:
            known = "SELECT 1 FROM known WHERE key = ?"
            return [turn for key, turn in each.items() if connection.execute(known, (key,)).fetchone() is None]

    def _spaces(self, turns: Sequence[Turn], space: str) -> dict[str, str]:
        """The space of each working folder; folders are looked at before the queue is locked, as a disk may be slow."""
        return {cwd: space or self._place(cwd) for cwd in {turn.cwd for turn in turns}}

    def _bound(self, connection: sqlite3.Connection, now: str) -> int:
        """Let go of what is too old or too much; returns how many turns went."""
        oldest = instant(moment(now) - timedelta(days=self._bounds.days))
        gone = connection.execute("DELETE FROM turns WHERE queued < ?", (oldest,)).rowcount
        (size,) = connection.execute("SELECT total(bytes) FROM turns").fetchone()
        room = self._bounds.mib << 20
        while size > room:
            number, length = connection.execute("SELECT number, bytes FROM turns ORDER BY number LIMIT 1").fetchone()
            connection.execute("DELETE FROM turns WHERE number = ?", (number,))
            size, gone = size - length, gone + 1
        if gone:
            connection.execute(_WITHOUT_TURNS)
            connection.execute(
                "INSERT INTO counts VALUES ('dropped', ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
                (gone,),
            )
        return gone

    def _tidy(self, now: str) -> int:
        if not self._path.exists():
            return 0
        forgotten = instant(moment(now) - timedelta(days=KNOWN_DAYS))[:10]
        with writing(self._path) as connection:
            connection.execute("DELETE FROM known WHERE day < ?", (forgotten,))
            connection.execute("DELETE FROM cursors WHERE day < ?", (forgotten,))
            return self._bound(connection, now)

    def _offer(
        self, space: str, now: str, shown_until: str, most: int, fits: Fits, name: Callable[[], str]
    ) -> list[Piece]:
        if not self._path.exists():
            return []
        with writing(self._path) as connection:
            offered: list[Piece] = []
            for piece_id in _ids_in_order(connection, space, now, name):
                piece = _piece_in(connection, piece_id)
                if piece is None:
                    continue
                if len(offered) == most or (offered and not fits([*offered, piece])):
                    break
                offered.append(piece)
            if shown_until:
                marks = [(shown_until, piece.id) for piece in offered]
                connection.executemany("UPDATE pieces SET shown_until = ? WHERE id = ?", marks)
            else:
                connection.execute("ROLLBACK")
            return offered

    def _old(self, before: str, most: int, name: Callable[[], str]) -> list[Piece]:
        if not self._path.exists():
            return []
        with writing(self._path) as connection:
            while connection.execute("SELECT 1 FROM turns WHERE piece IS NULL AND queued < ?", (before,)).fetchone():
                next(_new_pieces(connection, name, "AND queued < ?", (before,)))
            rows = connection.execute(
                "SELECT piece FROM turns GROUP BY piece HAVING max(queued) < ? ORDER BY min(number) LIMIT ?",
                (before, most),
            ).fetchall()
            return [piece for row in rows if (piece := _piece_in(connection, row[0])) is not None]

    def _piece(self, piece_id: str) -> Piece | None:
        if not self._path.exists():
            return None
        with connected(self._path) as connection:
            return _piece_in(connection, piece_id)

    def _attempt(self, piece_id: str, name: str) -> None:
        with writing(self._path) as connection:
            connection.execute("UPDATE pieces SET attempt = ? WHERE id = ?", (name, piece_id))

    def _finish(self, piece_id: str) -> None:
        with writing(self._path) as connection:
            connection.execute("DELETE FROM turns WHERE piece = ?", (piece_id,))
            connection.execute("DELETE FROM pieces WHERE id = ?", (piece_id,))

    def _repeating(self, texts: Sequence[str], before: Repeated | None) -> Repeated:
        same = before is not None and before.said.texts == frozenset(texts)
        found = before if before is not None and same else Repeated(SaidTexts(texts))
        if not self._path.exists():
            return found
        with connected(self._path) as connection:
            return _looked_on(connection, found)

    def _erase(self, found: Repeated) -> int:
        if not self._path.exists():
            return 0
        with writing(self._path) as connection:
            numbers = [(number,) for number in _looked_on(connection, found).turns]
            gone = connection.executemany("DELETE FROM turns WHERE number = ?", numbers).rowcount if numbers else 0
            if gone:
                connection.execute(_WITHOUT_TURNS)
            return gone

    def _state(self) -> Waiting:
        if not self._path.exists():
            return Waiting(0, 0, 0, 0)
        with connected(self._path) as connection:
            turns, asked, size = connection.execute(
                "SELECT count(*), total(role = 'user'), total(bytes) FROM turns"
            ).fetchone()
            dropped = connection.execute("SELECT count FROM counts WHERE name = 'dropped'").fetchone()
            return Waiting(turns, int(asked), int(size), dropped[0] if dropped else 0)


def _size(path: str) -> int:
    """Bytes of a file; none where there is none."""
    try:
        return Path(path).lstat().st_size
    except OSError:
        return 0


def _insert(
    connection: sqlite3.Connection, turns: Sequence[Turn], path: str, spaces: Mapping[str, str], now: str
) -> int:
    """Put turns into the queue, each in the space of its working folder; returns how many were new."""
    kept = 0
    for turn in turns:
        row = (turn.key, now[:10])
        if connection.execute("INSERT OR IGNORE INTO known VALUES (?, ?)", row).rowcount != 1:
            continue
        kept += 1
        connection.execute(
            "INSERT INTO turns (role, at, source, session, space, path, queued, bytes, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (turn.role, turn.at, turn.source, turn.session, spaces[turn.cwd], path, now,
             len(turn.text.encode()), turn.text),
        )  # fmt: skip
    return kept


def _place_in(connection: sqlite3.Connection, path: str) -> Place:
    row = connection.execute(
        "SELECT place, head, tail, source, session, cwd, version FROM cursors WHERE path = ?", (path,)
    ).fetchone()
    return Place() if row is None else Place(row[0], row[1], row[2], Setting(*row[3:6]), row[6])


def _looked_on(connection: sqlite3.Connection, found: Repeated) -> Repeated:
    """With the turns that came since. A few are read at a time: while rows are read, nobody else can write."""
    turns, last = set(found.turns), found.last
    statement = "SELECT number, text FROM turns WHERE number > ? ORDER BY number LIMIT ?"
    while rows := connection.execute(statement, (last, _TOGETHER)).fetchall():
        turns.update(number for number, text in rows if found.said.are_repeated_in(text))
        last = rows[-1][0]
    return Repeated(found.said, frozenset(turns), last)


def _piece_in(connection: sqlite3.Connection, piece_id: str) -> Piece | None:
    row = connection.execute(
        "SELECT id, source, session, space, path, attempt FROM pieces WHERE id = ?", (piece_id,)
    ).fetchone()
    turns = connection.execute(
        "SELECT number, role, text, at FROM turns WHERE piece = ? ORDER BY number", (piece_id,)
    ).fetchall()
    if row is None or not turns:
        return None
    *named, attempt = row
    piece_id, source, session, space, path = named
    return Piece(piece_id, source, session, space, path, tuple(Kept(*turn) for turn in turns), attempt)


def _ids_in_order(connection: sqlite3.Connection, space: str, now: str, name: Callable[[], str]) -> Iterator[str]:
    """Ids of pieces in the order in which they are to be judged; what is in none yet is put into new ones."""
    there = "SELECT id, space <> ?, first FROM pieces WHERE shown_until {} ? ORDER BY 2, 3"
    rows = connection.execute(there.format("<="), (space, now)).fetchall()
    yield from (row[0] for row in rows if not row[1])
    yield from _new_pieces(connection, name, "AND space = ?", (space,))
    yield from (row[0] for row in rows if row[1])
    yield from _new_pieces(connection, name, "", ())
    yield from (row[0] for row in connection.execute(there.format(">"), (space, now)).fetchall())


def _new_pieces(
    connection: sqlite3.Connection, name: Callable[[], str], where: str, values: Sequence[str]
) -> Iterator[str]:
    """Put the oldest turns that are in no piece into one, again and again."""
    while True:
        row = connection.execute(
            f"SELECT source, session, space, path, number FROM turns WHERE piece IS NULL {where} "  # noqa: S608 - ours
            "ORDER BY number LIMIT 1",
            values,
        ).fetchone()
        if row is None:
            return
        source, session, its_space, path, first = row
        loose = connection.execute(
            "SELECT number, role, text, at FROM turns WHERE piece IS NULL AND source = ? AND session = ? AND space = ? "
            "ORDER BY number LIMIT ?",
            (source, session, its_space, _TOGETHER),
        ).fetchall()
        kept = [Kept(*turn) for turn in loose]
        piece = name()
        own = [(piece, turn.number) for turn in kept[: first_piece(kept)]]
        connection.executemany("UPDATE turns SET piece = ? WHERE number = ?", own)
        connection.execute(
            "INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, '', '')", (piece, source, session, its_space, path, first)
        )
        yield piece
