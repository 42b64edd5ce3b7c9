"""An OMI folder: `palace.sqlite` with memories and edges, NOW.md, MEMORY.md and daily logs in `memory/`."""

from __future__ import annotations

import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdfast.importers.files import (
    BrokenError,
    Files,
    Source,
    UnreadableSourceError,
    list_files,
    read_bytes,
    standing_in,
    text_in,
)
from holdfast.model.lifecycle import FIRST_CONFIDENCE
from holdfast.model.moving import IMPORTED_KEYS, Arrival, ArrivedPage, Item, LeftOut, Tie, edge_type
from holdfast.model.note import TIERS, instant
from holdfast.model.records import DAILY, MEMORY, NOW, is_page, now_page
from holdfast.store.filesystem import FileSystem
from holdfast.store.stored import LARGEST_FILE, LARGEST_PAGE

PALACE = "palace.sqlite"
_DAILY = re.compile(r"memory/(\d{4}-\d\d-\d\d\.md)", re.ASCII)
_TYPES = {"fact", "experience", "belief", "decision"}
_MAPPED = {
    "number", "id", "content", "memory_type", "confidence", "created_at", "embedding", "content_hash", "tier",
    "superseded_by", "valid_from", "valid_until", "outdated", "outdated_reason",
}  # fmt: skip
_EVIDENCE = ("supports", "contradicts")
_COPIED = ("", "-wal")
_TABLES = {"memories", "edges"}
_LONGEST = 16 * 1024 * 1024  # bytes of a row


def is_omi(root: Path) -> bool:
    """Whether a folder looks like OMI's."""
    return (root / PALACE).is_file() or ((root / NOW).is_file() and (root / "memory").is_dir())


def open_omi(root: Path, disk: FileSystem, space: str) -> Source:
    """Open an OMI folder. Its database is copied and read there: OMI may be running, and its files stay untouched.

    Raises:
        OSError: it cannot be read, or there is no room for the copy.
        UnreadableSourceError: its database is none.
    """
    files = list_files(root)
    copied = tempfile.TemporaryDirectory(prefix="holdfast-omi-", ignore_cleanup_errors=True)
    with ExitStack() as on_failure:
        on_failure.callback(copied.cleanup)
        palace = _copy(files, disk, Path(copied.name))
        count = 0 if palace is None else _count(palace)
        on_failure.pop_all()
    pages = [path for path in files.paths if _page_of(path, space)]
    return Source(
        "omi", files.mark, count + len(pages), lambda: _items(files, pages, palace, disk, space), copied.cleanup
    )


def _copy(files: Files, disk: FileSystem, folder: Path) -> Path | None:
    if PALACE not in files.paths:
        return None
    for end in _COPIED:
        if PALACE + end in files.paths:
            with disk.open(files.absolute(PALACE + end)) as source, (folder / (PALACE + end)).open("xb") as target:
                shutil.copyfileobj(source, target)
    return folder / PALACE


def _connected(palace: Path) -> sqlite3.Connection:
    """The database, which a stranger may have made: no value of it may be larger than any that is taken."""
    connection = sqlite3.connect(palace, check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _count(palace: Path) -> int:
    try:
        with closing(_connected(palace)) as connection:
            views = connection.execute("SELECT lower(name) AS name FROM sqlite_master WHERE type = 'view'")
            if _TABLES & {str(row["name"]) for row in views}:  # it may go on for ever
                raise UnreadableSourceError(f"{PALACE} has views in the place of OMI's tables")
            return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise UnreadableSourceError(f"{PALACE} cannot be read as OMI's database") from error


def _page_of(path: str, space: str) -> str:
    """Where a text of OMI's belongs here; empty for nowhere."""
    found = _DAILY.fullmatch(path)
    page = f"{DAILY}/{found[1]}" if found else {NOW: now_page(space or None), MEMORY: MEMORY}.get(path, "")
    return page if is_page(page) else ""


def _items(
    files: Files, pages: list[str], palace: Path | None, disk: FileSystem, space: str
) -> Generator[Item, None, None]:
    yield from files.left_out
    expected = {*pages, *(PALACE + end for end in ("", "-wal", "-shm")), "config.yaml", "heartbeat-state.json"}
    for path in files.paths:
        if path not in expected and not path.startswith(("embeddings/", "vault/")):
            yield LeftOut(path, "it is no part of OMI's that is known", broken=False)
    for path in pages:
        try:
            yield ArrivedPage(_page_of(path, space), path, read_bytes(disk, files.absolute(path), LARGEST_PAGE))
        except BrokenError as error:
            yield LeftOut(path, str(error))
    if palace is not None:
        with closing(_connected(palace)) as connection:
            try:
                yield from _memories(connection, space)
            except sqlite3.DatabaseError as error:
                yield LeftOut(PALACE, f"its rest cannot be read ({type(error).__name__})")


def _memories(connection: sqlite3.Connection, space: str) -> Iterator[Item]:
    edges = _edges_of(connection)
    last = -1
    while True:  # by rowid, so that no cursor stays open while notes are written
        rows = connection.execute(
            "SELECT rowid AS number, * FROM memories WHERE rowid > ? ORDER BY rowid LIMIT 200", (last,)
        ).fetchall()
        if not rows:
            return
        for row in rows:
            last = row["number"]
            yield _memory(dict(row), space, edges)


def _memory(row: dict[str, Any], space: str, edges: Callable[[str], tuple[list[Tie], list[str]]]) -> Item:
    own, content = str(row.get("id") or ""), str(row.get("content") or "").replace("\0", " ")
    where = f"memory {own}"
    if not own or not content.strip():
        return LeftOut(where, "it has no id or no text")
    if len(content.encode("utf-8", "replace")) > LARGEST_FILE:
        return LeftOut(where, f"it is longer than {LARGEST_FILE // 1024:,} kB")
    kind, tier = str(row.get("memory_type") or "fact").lower(), text_in(row, "tier").lower()
    ties, unmapped = edges(own)
    if kind not in _TYPES:
        unmapped.append("its type is none of OMI's: fact is taken")
    created = _time(row.get("created_at"))
    if not created:
        return LeftOut(where, "it has no date of creation")
    standing = standing_in(row)
    if standing.deleted:
        return LeftOut(where, "it is deleted there", broken=False)
    given = row.get("confidence")
    sound = isinstance(given, int | float) and 0 <= given <= 1
    return Arrival(
        key=f"omi:{own}",
        where=where,
        content=content,
        created=created,
        type=kind if kind in _TYPES else "fact",
        space=space,
        confidence=float(given) if sound and given is not None else FIRST_CONFIDENCE if kind == "belief" else 1.0,
        tier="archival" if standing.archived else tier if tier in TIERS else "working",
        valid_from=standing.since,
        valid_until=standing.until,
        outdated_reason=standing.reason,
        superseded_by=f"omi:{standing.successor}" if standing.successor else "",
        ties=tuple(ties),
        extra=_extra(row),
        unmapped=tuple(unmapped),
    )


def _extra(row: dict[str, Any]) -> dict[str, Any]:
    """What else a row says, kept in the note's frontmatter."""
    rest = {key: value for key, value in row.items() if key not in _MAPPED and isinstance(value, str | int | float)}
    return {IMPORTED_KEYS: rest} if rest else {}


def _time(value: object) -> str:
    """OMI's dates are local without a zone, or seconds since the epoch."""
    try:
        if isinstance(value, int | float):
            return instant(datetime.fromtimestamp(value, UTC))
        return instant(datetime.fromisoformat(str(value)).astimezone(UTC)) if value else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _edges_of(connection: sqlite3.Connection) -> Callable[[str], tuple[list[Tie], list[str]]]:
    """What tells the edges of a memory. OMI keeps belief -> evidence; here evidence supports its belief."""
    columns = {row["name"] for row in connection.execute("PRAGMA table_info(edges)")}
    source = "source_id" if "source_id" in columns else "from_id"
    target = "target_id" if "target_id" in columns else "to_id"
    weight = "strength" if "strength" in columns else "weight"
    if not {source, target, weight, "edge_type"} <= columns:
        return lambda _: ([], [])
    question = (
        f"SELECT e.{source} AS a, e.{target} AS b, e.edge_type AS kind, e.{weight} AS weight, "  # noqa: S608 - own names
        "s.memory_type AS type_a, t.memory_type AS type_b FROM edges e "
        f"LEFT JOIN memories s ON s.id = e.{source} LEFT JOIN memories t ON t.id = e.{target} "
        f"WHERE e.{source} = ? OR e.{target} = ? ORDER BY e.rowid"
    )

    def of(own: str) -> tuple[list[Tie], list[str]]:
        ties: dict[tuple[str, str], Tie] = {}
        unmapped: list[str] = []
        for row in connection.execute(question, (own, own)):
            start, end = str(row["a"]), str(row["b"])
            kind = edge_type(str(row["kind"] or ""))
            if kind in _EVIDENCE and row["type_a"] == "belief":
                start, end = end, start
            if start != own or start == end:
                continue
            if row["type_a"] is None or row["type_b"] is None:
                unmapped.append("an edge leads to no memory of this database")
                continue
            strength = float(row["weight"]) if isinstance(row["weight"], int | float) else 0.5
            reason = "" if kind else str(row["kind"] or "")
            tie = Tie(f"omi:{end}", kind or "related_to", min(1.0, max(0.0, strength)), reason)
            ties[tie.to, tie.type] = tie  # the last of parallel ones counts, as for evidence here
        return list(ties.values()), unmapped

    return of
