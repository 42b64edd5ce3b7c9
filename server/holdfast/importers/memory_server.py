"""The MCP reference memory server's file: one JSON object on each line, entities with observations, and relations."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.importers.files import Source, UnreadableSourceError, stamp, standing_in
from holdfast.model.moving import IMPORTED_KEYS, Arrival, Item, LeftOut, Tie, edge_type
from holdfast.model.note import NOTE_TYPES
from holdfast.store.filesystem import FileSystem
from holdfast.store.stored import EPOCH, LARGEST_FILE, time_of

_LONGEST = 4 * 1024 * 1024  # bytes of a line
_Named = tuple[str, str]


def is_memory_server(path: Path, disk: FileSystem) -> bool:
    """Whether the first line of a file is an entity or a relation."""
    with disk.open(path) as file:
        first = next((line for _, line in _lines(file) if line is not None and line.strip()), b"")
    found = _object(first)
    return found is not None and found.get("type") in ("entity", "relation")


def open_memory_server(path: Path, disk: FileSystem, space: str) -> Source:
    """Open such a file. Names are unique in it alone, so that a thing's key holds the space it is imported into.

    Raises:
        OSError: it cannot be read.
        UnreadableSourceError: it is no file.
    """
    if not path.is_file():
        raise UnreadableSourceError("it is no file")
    with disk.open(path) as file:
        total = sum(1 for _ in _lines(file))
    return Source("memory-server", stamp(path), total, lambda: _items(path, disk, space))


def _items(path: Path, disk: FileSystem, space: str) -> Generator[Item, None, None]:
    entities, relations = _survey(path, disk)
    signature = disk.signature(path)
    created = time_of(signature) if signature else EPOCH
    seen: set[str] = set()
    with disk.open(path) as file:
        for number, line in _lines(file):
            where = f"line {number:,}"
            found = None if line is None else _object(line)
            if line is not None and not line.strip():
                continue
            if found is None:
                yield LeftOut(where, "it is no JSON object, or too long")
            elif found.get("type") == "entity":
                yield _entity(found, where, created, space, relations, seen)
            elif found.get("type") == "relation":
                yield from _dangling(found, where, entities)
            else:
                yield LeftOut(where, "it is neither an entity nor a relation")


def _survey(path: Path, disk: FileSystem) -> tuple[set[str], dict[str, list[_Named]]]:
    """Names of all entities, and relations by where they begin: what must be known before the first note is made."""
    entities: set[str] = set()
    relations: dict[str, list[_Named]] = {}
    with disk.open(path) as file:
        for _, line in _lines(file):
            found = None if line is None else _object(line)
            match found:
                case {"type": "entity", "name": str(name)}:
                    entities.add(name)
                case {"type": "relation", "from": str(start), "to": str(end), "relationType": str(kind)}:
                    relations.setdefault(start, []).append((end, kind))
                case _:
                    continue
    return entities, {
        start: [pair for pair in pairs if pair[0] in entities and pair[0] != start]
        for start, pairs in relations.items()
    }


def _dangling(found: dict[str, Any], where: str, entities: set[str]) -> Iterator[LeftOut]:
    start, end, kind = found.get("from"), found.get("to"), found.get("relationType")
    if not all(isinstance(value, str) for value in (start, end, kind)):
        yield LeftOut(where, "a relation lacks its from, its to or its relationType")
    elif start not in entities or end not in entities:
        yield LeftOut(where, "a relation names an entity that is not in the file")
    elif start == end:
        yield LeftOut(where, "a relation leads from an entity to itself", broken=False)


def _entity(
    found: dict[str, Any], where: str, created: str, space: str, relations: dict[str, list[_Named]], seen: set[str]
) -> Item:
    name, kind, said = found.get("name"), found.get("entityType"), found.get("observations")
    if not isinstance(name, str) or not name.strip() or not isinstance(said, list):
        return LeftOut(where, "an entity lacks its name or its observations")
    if name in seen:
        return LeftOut(where, "an entity of this name came before")
    seen.add(name)
    texts = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in said]
    content = "\n".join([name.strip(), "", *(f"- {text}" for text in texts)]).rstrip("\n").replace("\0", " ")
    if len(content.encode("utf-8", "replace")) > LARGEST_FILE:
        return LeftOut(where, f"it is longer than {LARGEST_FILE // 1024:,} kB")
    standing = standing_in(found)
    if standing.deleted:
        return LeftOut(where, "it is deleted there", broken=False)
    kind = kind if isinstance(kind, str) else ""
    ours = kind.strip().lower()
    extra = {key: value for key, value in found.items() if key not in ("type", "name", "entityType", "observations")}
    return Arrival(
        key=key_of(space, name),
        where=where,
        content=content,
        title=name,
        created=created,
        type=ours if ours in NOTE_TYPES else "fact",
        space=space,
        tags=() if ours in NOTE_TYPES or not ours else (kind.strip(),),
        subject=name,
        tier="archival" if standing.archived else "working",
        valid_from=standing.since,
        valid_until=standing.until,
        outdated_reason=standing.reason,
        superseded_by=key_of(space, standing.successor) if standing.successor else "",
        ties=_ties(space, relations.get(name, [])),
        extra={IMPORTED_KEYS: extra} if extra else {},
    )


def _ties(space: str, pairs: list[_Named]) -> tuple[Tie, ...]:
    """Relations as edges; several of one type to the same entity are one edge with all their names."""
    reasons: dict[_Named, list[str]] = {}
    for end, name in pairs:
        kind = edge_type(name)
        names = reasons.setdefault((key_of(space, end), kind or "related_to"), [])
        if name not in (*names, kind):
            names.append(name)
    return tuple(Tie(to, kind, reason=", ".join(names)) for (to, kind), names in reasons.items())


def key_of(space: str, name: str) -> str:
    return f"memory-server:{space or 'global'}:{name}"


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, None for one that is too long."""
    number = 0
    while line := file.readline(_LONGEST):
        number += 1
        if line.endswith(b"\n") or len(line) < _LONGEST:
            yield number, line
            continue
        while (rest := file.readline(_LONGEST)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
