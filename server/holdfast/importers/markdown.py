"""Folders of plain markdown or text, an Obsidian vault for instance: read once as notes, or kept in step.

Each file is a note, links are edges. A long markdown file is a note of the whole with its opening and a list, and a
note for each section, which is part of the section around it or of the whole, and is preceded by the section before it.

Of folders that are kept in step `watch/state.db` in the memory folder has a row for each file: what is known of it, and
whether it has changed since. A look goes through a folder without reading any file; each is read when its turn comes to
be taken. Symbolic links are not followed, hidden names and what an ignore pattern matches are passed over. Nothing is
ever written to such a folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import posixpath
import re
import sqlite3
import stat
import time
from codecs import BOM_UTF8
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from anyio.to_thread import run_sync

from holdfast.errors import StorageError
from holdfast.importers.files import (
    BrokenError,
    Files,
    Source,
    addresses_in,
    flag_in,
    list_files,
    number_in,
    parsed,
    read_bytes,
    standing_in,
    tags_in,
    text_in,
    time_in,
)
from holdfast.model.moving import IMPORTED_KEYS, Arrival, ArrivedDocument, Item, LeftOut, Tie
from holdfast.model.note import NOTE_TYPES, TIERS, title_of
from holdfast.model.passages import LONG, outline
from holdfast.model.words import counted
from holdfast.store.codec import Document, frontmatter_keys
from holdfast.store.filesystem import NO_TEXT, FileSystem
from holdfast.store.locks import Lock
from holdfast.store.stored import EPOCH, time_of

SUFFIX = ".md"  # of what a link without one means
PLAIN = ".txt"
SUFFIXES = (SUFFIX, ".markdown", PLAIN)
LARGEST_DOCUMENT = 4 * 1024 * 1024
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`", re.DOTALL)
_WIKI = re.compile(r"\[\[([^\[\]|#^\n]+)(?:[#^|][^\[\]\n]*)?\]\]")
_LINK = re.compile(r"\]\(<?([^()<>\s]++)>?(?:\s++\"[^\"]*+\")?\)")
_FRAGMENT = f"{SUFFIX}#"
_RULE = re.compile(  # a line of dashes below which no key and no other such line stands, comments aside
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?>(?:#[^\n]*\n)*)(?![\w\"'{?][^\n]*:|---|[\[{])"
)
_CREATED = ("created", "date", "date created", "created_at")
_UPDATED = ("updated", "modified", "date modified", "last_modified")
_MAPPED = {
    "title", "tags", "type", "tier", "space", "confidence", "subject", "event_time", "created", "updated",
    "session", "source", "about_self", "valid_from", "valid_until", "outdated", "outdated_reason",
}  # fmt: skip
_OF_CLAUDE = {"feedback": "preference", "user": "preference", "reference": "fact"}  # kinds of Claude Code's own memory
_SWITCHES = ("true", "false", "yes", "no", "1", "0")
_MOST_LOST_LINKS = 20  # of one file


class LinkTargets:
    """From what a link says to the file that it means."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = {path.lower(): path for path in reversed(paths)}
        self._names: dict[str, list[str]] = {}
        for path in paths:
            self._names.setdefault(posixpath.basename(path).lower(), []).append(path)

    def find(self, said: str, source: str) -> str | None:
        """The file that a link in `source` leads to; None where there is none.

        A path is taken from the link's own folder, else from the top; a bare name is looked for everywhere: in the
        link's folder first, then where the path is shortest.
        """
        name = said.strip().replace("\\", "/")
        name = name if name.lower().endswith(SUFFIXES) else name + SUFFIX
        folder = posixpath.dirname(source)
        for path in (posixpath.normpath(posixpath.join(folder, name)), posixpath.normpath(name.lstrip("/"))):
            if path.lower() in self._paths:
                return self._paths[path.lower()]
        if "/" in name:
            return None
        alike = self._names.get(name.lower(), [])
        return min(alike, key=lambda path: (len(path), path), default=None)


def open_markdown(root: Path, disk: FileSystem, space: str) -> Source:
    """Open a folder, or one file of it. Things are known by their paths in it, by its name and by the space.

    Raises:
        OSError: it cannot be listed.
    """
    files = list_files(root)
    notes = [path for path in files.paths if path.lower().endswith(SUFFIXES)]
    return Source("markdown", files.mark, len(notes), lambda: _items(files, notes, disk, space))


def read_markdown(disk: FileSystem, root: Path, path: str, key: str, space: str) -> ArrivedDocument | LeftOut:
    """One file of a folder by its sections, known by a key that is given; its links are no edges."""
    try:
        document = _read(disk, root / path)
        signature = disk.signature(root / path)
        item = _arrival(document, path, "", space, LinkTargets([]), time_of(signature) if signature else EPOCH)
        found = _in_sections(replace(item, key=key), "", LinkTargets([])) if isinstance(item, Arrival) else item
    except BrokenError as error:
        return LeftOut(path, str(error))
    if isinstance(found, Arrival):
        return ArrivedDocument(path, found, (found,), is_long=False)
    return found if isinstance(found, ArrivedDocument | LeftOut) else LeftOut(path, "it is no text")


def _items(files: Files, notes: list[str], disk: FileSystem, space: str) -> Generator[Item, None, None]:
    yield from files.left_out
    others = len(files.paths) - len(notes)
    if others:
        yield LeftOut("", f"{counted(others, 'other file')} there: no markdown and no text", broken=False)
    names = LinkTargets(notes)
    of = f"markdown:{f'{space}/' if space else ''}{files.root.name}:"
    for path in notes:
        try:
            document = _read(disk, files.absolute(path))
            signature = disk.signature(files.absolute(path))
            item = _arrival(document, path, of, space, names, time_of(signature) if signature else EPOCH)
            yield _in_sections(item, of, names) if isinstance(item, Arrival) else item
        except BrokenError as error:
            yield LeftOut(path, str(error))


def _read(disk: FileSystem, path: Path) -> Document:
    """A file with its frontmatter. The line that opens one may be a rule instead, with a text below it."""
    data = read_bytes(disk, path, LARGEST_DOCUMENT)
    if not _RULE.match(data):
        return parsed(data)
    with suppress(BrokenError):
        if (document := parsed(data)).values:
            return document
    return parsed(b"\n" + data.removeprefix(BOM_UTF8))


def _arrival(document: Document, path: str, of: str, space: str, names: LinkTargets, modified: str) -> Item:
    values = document.values
    content = document.body.strip("\n")
    if not content.strip():
        raise BrokenError("it has no text")
    created = time_in(values, *_CREATED) or modified
    kind, tier = text_in(values, "type").lower(), text_in(values, "tier").lower()
    kind = _OF_CLAUDE.get(kind, kind)
    confidence = number_in(values, "confidence")
    ties, unmapped = _ties(content, path, of, names)
    standing = standing_in(values)
    if standing.deleted:
        return LeftOut(path, "it is marked as deleted", broken=False)
    successor = _successor(standing.successor, path, names)
    return Arrival(
        key=of + path,
        where=path,
        content=content,
        title=text_in(values, "title") or _title(content, path),
        created=created,
        updated=time_in(values, *_UPDATED) or max(created, modified),
        type=kind if kind in NOTE_TYPES else "fact",
        tier=tier if tier in TIERS else "archival" if standing.archived else "working",
        space=text_in(values, "space") or space,
        tags=tags_in(values),
        confidence=1.0 if confidence is None else confidence,
        source=text_in(values, "source"),
        addresses=addresses_in(values),
        session=text_in(values, "session"),
        valid_from=standing.since,
        valid_until=standing.until,
        outdated_reason=standing.reason,
        superseded_by=of + successor if successor else "",
        about_self=flag_in(values, "about_self"),
        subject=text_in(values, "subject"),
        event_time=time_in(values, "event_time"),
        ties=ties,
        extra=_extra(values, kind),
        unmapped=unmapped,
    )


def _in_sections(whole: Arrival, of: str, names: LinkTargets) -> Item:
    """A markdown file by its sections; one that is no markdown as it is."""
    path = whole.where
    if path.lower().endswith(PLAIN):
        return whole
    found = outline(whole.content)
    if found is None:
        return ArrivedDocument(path, whole, (whole,), is_long=False)
    keys = [f"{whole.key}#{section.key}" for section in found.sections]
    title = found.title if whole.title == _title(whole.content, path) and found.title else whole.title
    listed = [" / ".join((*each.above, each.title)) for each in found.sections if each.part_of is None]
    contents = "\n".join(["Sections:", "", *(f"- {name}" for name in listed)])
    ties, _ = _ties(found.opening, path, of, names)
    first = replace(whole, title=title, content=f"{found.opening or title}\n\n{contents}", ties=ties)
    parts = [first]
    for place, section in enumerate(found.sections):
        around = [Tie(whole.key if section.part_of is None else keys[section.part_of], "part_of")]
        around += [Tie(keys[place - 1], "preceded_by")] if place else []
        within = " / ".join((title, *section.above))
        parts.append(
            replace(
                whole,
                key=keys[place],
                where=f"{path} line {section.line}",
                content=f"{within}\n\n{section.text}",
                title=section.title,
                ties=(*around, *_ties(section.text, path, of, names)[0]),
                extra={},
                unmapped=(),
            )
        )
    return ArrivedDocument(path, whole, tuple(parts), is_long=len(whole.content) >= LONG)


def _successor(said: str, path: str, names: LinkTargets) -> str:
    """The file that replaced one, named as links name files; empty where it is none of these."""
    link = _LINK.search(said)
    name = unquote(_without_fragment(link[1])) if link else said.removeprefix("[[").removesuffix("]]")
    found = names.find(name.partition("|")[0].partition("#")[0], path) if name.strip() else None
    return "" if found is None or found == path else found


def _without_fragment(link: str) -> str:
    """The file that a link names. A `#` may be a letter of the file's name, too."""
    path, mark, _ = link.rpartition(_FRAGMENT)
    return path + SUFFIX if mark else link


def _title(content: str, path: str) -> str:
    """The file's name, as its owner knows the note; the first heading where that has no words."""
    name = posixpath.splitext(posixpath.basename(path))[0].strip()
    return name if any(letter.isalnum() for letter in name) else title_of(content)


def _extra(values: Any, kind: str) -> dict[str, Any]:
    """Keys that are not ours stay as they are; ours with a value that cannot be taken over go below one key."""
    own = frontmatter_keys()
    extra = {key: value for key, value in values.items() if key not in own}
    kept = {
        key: value for key, value in values.items() if key in own and value not in (None, "") and not _fits(values, key)
    }
    if kind and kind not in NOTE_TYPES:
        kept["type"] = values["type"]
    return extra | ({IMPORTED_KEYS: kept} if kept else {})


def _fits(values: Any, key: str) -> bool:
    """Whether the value of a key of ours is one that a note can have there."""
    match key:
        case "tags":  # read in many forms
            return True
        case "tier":
            return text_in(values, key).lower() in TIERS
        case "confidence":
            return number_in(values, key) is not None
        case "about_self" | "outdated":
            return text_in(values, key).lower() in _SWITCHES
        case "created" | "updated" | "event_time" | "valid_from" | "valid_until":
            return bool(time_in(values, key))
    # A type that is none of ours is kept by the caller.
    return key in addresses_in(values) or (key in _MAPPED and bool(text_in(values, key)))


def _ties(content: str, path: str, of: str, names: LinkTargets) -> tuple[tuple[Tie, ...], tuple[str, ...]]:
    """Edges for the links of a text, and what is to be told of those that lead nowhere."""
    text = _CODE.sub(" ", content)
    linked = (_without_fragment(found[1]) for found in _LINK.finditer(text))
    said = [*(found[1] for found in _WIKI.finditer(text)), *(unquote(link) for link in linked if link.endswith(SUFFIX))]
    ties: dict[str, Tie] = {}
    lost: dict[str, None] = {}
    for link in said:
        target = None if "://" in link else names.find(link, path)
        if target is None:
            lost[link.strip()] = None
        elif target != path:
            ties.setdefault(target, Tie(of + target))
    notices = [f"a link leads to no file of this folder: {link}" for link in list(lost)[:_MOST_LOST_LINKS]]
    if len(lost) > _MOST_LOST_LINKS:
        notices.append(f"links that lead to no file of this folder, besides these: {len(lost) - _MOST_LOST_LINKS:,}")
    return tuple(ties.values()), tuple(notices)


MOST_REPORTED: Final = 100_000  # files that one look tells of; the next one tells of others
MOST_NAMELESS: Final = 100  # of which one look tells
_AT_ONCE: Final = 256  # names that are looked at before others have their turn
_BREATH: Final = 0.0005  # seconds
STILL_SECONDS: Final = 2.0  # since the last change: an editor may be in the middle of saving
_BUSY_SECONDS: Final = 10.0
_TABLES: Final = """
    CREATE TABLE IF NOT EXISTS files (
        root TEXT, folder TEXT, name TEXT, key TEXT NOT NULL, mark TEXT NOT NULL, hash TEXT NOT NULL,
        notes TEXT NOT NULL, PRIMARY KEY (root, folder, name)) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS files_key ON files (key);
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """A folder that is watched: `space` is that of its notes."""

    root: Path
    space: str


@dataclass(frozen=True, slots=True)
class Row:
    """A file as it was last taken: `key` is its identity, which a new name does not change; `notes` are ids."""

    root: str
    folder: str
    name: str
    key: str
    mark: str
    hash: str
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Below the root, with forward slashes."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(slots=True)
class Seen:
    """What a look at one folder found: `is_there` whether it could be listed, `known` how many files were taken.

    `changed` and `missing` are the first ones of many; `gone` counts all that are missing. `nameless` are files and
    folders whose names are no text in UTF-8: they are passed over.
    """

    is_there: bool = True
    changed: list[Row] = field(default_factory=list)
    missing: list[Row] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)
    gone: int = 0
    known: int = 0
    seconds: float = 0.0


class _Found(NamedTuple):
    """A file as it stands in its folder: `changed` in seconds since the epoch; in no time that comes if too large."""

    mark: str
    changed: float


class WatchedFolders:
    """The folders that are watched, and what is known of them.

    Args:
        home: the memory folder, which is none of them.
        watched: the folders.
        ignored: patterns of paths below them, and of names, that are passed over.
        largest: bytes of a file that is taken.
    """

    def __init__(self, home: Path, watched: Sequence[Watched], ignored: Sequence[str], largest: int) -> None:
        self.watched = tuple(watched)
        self._home = home
        self._path = home / "watch" / "state.db"
        self._ignored = tuple(ignored)
        self._largest = largest
        self._lock = Lock(home / "locks" / "watch")
        self._disk = FileSystem()

    def turn(self) -> AbstractAsyncContextManager[bool]:
        """Be the only process that looks; yields whether it is. Free again when its holder dies."""
        return self._lock.hold_if_free()

    async def look(self, watched: Watched) -> Seen:
        """What has changed in a folder since its files were taken; what is still being written waits.

        Raises:
            StorageError: the state cannot be read.
        """
        return await run_sync(self._look, watched)

    async def as_now(self, watched: Watched, row: Row) -> Row | None:
        """A file of which a look told, with the hash of what it holds now; None where it is not to be taken now."""
        return await run_sync(self._as_now, watched, row)

    async def read(self, watched: Watched, row: Row) -> ArrivedDocument | LeftOut:
        """A file as notes."""
        return await run_sync(read_markdown, self._disk, watched.root, row.path, row.key, watched.space)

    async def put(self, row: Row, before: Row | None = None) -> None:
        """Write down that a file is taken as it is; `before` is where it was."""
        await run_sync(self._put, row, before)

    async def drop(self, row: Row) -> None:
        """Forget a file."""
        await run_sync(self._drop, row)

    def _look(self, watched: Watched) -> Seen:
        began, seen, root = time.monotonic(), Seen(), str(watched.root)
        with self._connected() as connection:
            (seen.known,) = connection.execute("SELECT count(*) FROM files WHERE root = ?", (root,)).fetchone()
            left = {row[0] for row in connection.execute("SELECT DISTINCT folder FROM files WHERE root = ?", (root,))}
            stack = [""]
            while stack:
                folder = stack.pop()
                names = self._list(watched.root, folder, stack, seen.nameless)
                if names is None:
                    seen.is_there = seen.is_there and bool(folder)
                    continue
                left.discard(folder)
                rows = _rows(connection, root, folder)
                _tell_missing(seen, [row for name, row in rows.items() if name not in names])
                for name, found in names.items():
                    _tell_changed(seen, Row(root, folder, name, "", found.mark, ""), rows.get(name), found)
            for folder in left:
                if not (watched.root / folder).is_dir():
                    _tell_missing(seen, list(_rows(connection, root, folder).values()))
        seen.seconds = time.monotonic() - began
        return seen

    def _as_now(self, watched: Watched, row: Row) -> Row | None:
        path = watched.root / row.path
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and _is_still(status.st_mtime):
                data = self._disk.read(path, self._largest + 1)
                if len(data) <= self._largest:
                    return replace(row, mark=_mark(status), hash=hashlib.sha256(data).hexdigest())
        return None

    def _list(self, root: Path, folder: str, stack: list[str], nameless: list[str]) -> dict[str, _Found] | None:
        """The files of one folder by name; the folders within it go onto the stack. None where it cannot be listed."""
        names: dict[str, _Found] = {}
        try:
            with os.scandir(root / folder) as entries:
                for number, entry in enumerate(entries):
                    if number % _AT_ONCE == 0:
                        time.sleep(_BREATH)
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.name.startswith(".") or self._is_ignored(path, entry.name):
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not is_folder and not entry.name.lower().endswith(SUFFIXES):
                        continue
                    if NO_TEXT.search(entry.name):
                        nameless += [path] if len(nameless) < MOST_NAMELESS else []
                    elif is_folder:
                        if Path(entry.path) != self._home:
                            stack.append(path)
                    elif entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        changed = status.st_mtime if status.st_size <= self._largest else math.inf
                        names[entry.name] = _Found(_mark(status), changed)
        except OSError:
            return None
        return names

    def _is_ignored(self, path: str, name: str) -> bool:
        return any(fnmatch(path, pattern) or fnmatch(name, pattern) for pattern in self._ignored)

    def _put(self, row: Row, before: Row | None) -> None:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if before is not None:
                _delete(connection, before)
            connection.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
                (row.root, row.folder, row.name, row.key, row.mark, row.hash, json.dumps(row.notes)),
            )
            connection.execute("COMMIT")

    def _drop(self, row: Row) -> None:
        with self._connected() as connection:
            _delete(connection, row)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
                connection.executescript(_TABLES)
                yield connection
        except (sqlite3.Error, OSError) as error:
            code = getattr(error, "sqlite_errorname", "") or type(error).__name__
            raise StorageError(
                f"What is known of watched folders cannot be used: {code}.", "Check free space."
            ) from error


def _tell_missing(seen: Seen, rows: Sequence[Row]) -> None:
    seen.gone += len(rows)
    seen.missing += rows[: MOST_REPORTED - len(seen.missing)]


def _tell_changed(seen: Seen, row: Row, known: Row | None, found: _Found) -> None:
    """Put a file among the changed ones if it is, and is still."""
    is_same = known is not None and known.mark == row.mark
    if not is_same and len(seen.changed) < MOST_REPORTED and _is_still(found.changed):
        seen.changed.append(replace(row, key=known.key, notes=known.notes) if known else row)


def _is_still(changed: float) -> bool:
    return time.time() - changed >= STILL_SECONDS


def _rows(connection: sqlite3.Connection, root: str, folder: str) -> dict[str, Row]:
    found = connection.execute(
        "SELECT root, folder, name, key, mark, hash, notes FROM files WHERE root = ? AND folder = ?", (root, folder)
    ).fetchall()
    return {
        name: Row(root, folder, name, key, mark, hash_, tuple(json.loads(notes)))
        for _, _, name, key, mark, hash_, notes in found
    }


def _delete(connection: sqlite3.Connection, row: Row) -> None:
    where = (row.root, row.folder, row.name)
    connection.execute("DELETE FROM files WHERE root = ? AND folder = ? AND name = ?", where)


def _mark(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
