"""Memories of two other servers: the MCP reference memory server's file, and Ormah's folder."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from holdfast.importers.files import (
    BrokenError,
    Files,
    Source,
    UnreadableSourceError,
    Validity,
    addresses_in,
    list_files,
    number_in,
    read_document,
    stamp,
    standing_in,
    tags_in,
    text_in,
    time_in,
)
from holdfast.model.moving import IMPORTED_KEYS, Arrival, Item, LeftOut, Tie, edge_type
from holdfast.model.note import NOTE_TYPES, TIERS
from holdfast.model.words import counted
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


NODES = "nodes/"
_HEAD = 4096  # bytes of a file in which its id stands
_ID = re.compile(rb"^id:[ \t]*['\"]?([^'\"\s]+)", re.MULTILINE)
_OUTDATED = "[Outdated: "  # and a bracket at the end of the text
_TAKEN = {
    "id", "type", "tier", "source", "created", "updated", "confidence", "valid_until", "title", "space", "tags",
    "connections", "valid_from", "superseded_by", "merged_into", "replaced_by", "outdated", "outdated_reason",
}  # fmt: skip
_NO_SPACE = ("", "null", "none")  # what Ormah has written for no space


def is_ormah(root: Path) -> bool:
    """Whether a folder looks like Ormah's: `nodes/` with files named `<type>_..._<short id>.md`."""
    nodes = root / "nodes"
    name = re.compile(r"[a-z]+_.*_[0-9a-f]{8}\.md")
    return nodes.is_dir() and any(name.fullmatch(path.name) for path in nodes.iterdir())


def open_ormah(root: Path, disk: FileSystem) -> Source:
    """Open an Ormah folder, given as itself or as its `nodes/`.

    Raises:
        OSError: it cannot be listed.
    """
    top = root if (root / "nodes").is_dir() else root.parent if root.name == "nodes" else root
    files = list_files(top)
    below = NODES if (top / "nodes").is_dir() else ""
    nodes = [path for path in files.paths if path.startswith(below) and path.endswith(".md")]
    return Source("ormah", files.mark, len(nodes), lambda: _items_of_ormah(files, nodes, below, disk))


def _items_of_ormah(files: Files, nodes: list[str], below: str, disk: FileSystem) -> Generator[Item, None, None]:
    yield from files.left_out
    yield from _beside(files, below)
    known: set[str] = set()
    deleted: set[str] = set()
    selves: dict[str, set[str]] = {}  # by id of a Self node: what it defines
    for path in nodes:
        try:
            head = _head(disk, files.absolute(path))
            if b"deleted_at:" in head and standing_in(read_document(disk, files.absolute(path)).values).deleted:
                deleted.add(path)
                continue
            found = _ID.search(head)
            known.add(found[1].decode("utf-8", "replace") if found else "")
            if b"system:self" in head:
                values = read_document(disk, files.absolute(path)).values
                selves[text_in(values, "id")] = _defined(values)
        except BrokenError:
            continue  # told when it is its turn
    about_self = {target for targets in selves.values() for target in targets}
    seen: set[str] = set()
    for path in nodes:
        if path in deleted:
            yield LeftOut(path, "it is deleted there", broken=False)
            continue
        try:
            arrival = _arrival(read_document(disk, files.absolute(path)), path, known, selves, about_self)
        except BrokenError as error:
            yield LeftOut(path, str(error))
            continue
        yield LeftOut(path, "another file has the same id") if arrival.key in seen else arrival
        seen.add(arrival.key)


def _head(disk: FileSystem, path: Path) -> bytes:
    """The beginning of a file.

    Raises:
        BrokenError: it cannot be read.
    """
    try:
        return disk.read(path, _HEAD)
    except OSError as error:
        raise BrokenError(f"it cannot be read: {error.strerror}") from error


def _beside(files: Files, below: str) -> Iterator[LeftOut]:
    deleted = sum(path.startswith("deleted/") for path in files.paths)
    if deleted:
        yield LeftOut(
            "deleted/", f"not taken over: {counted(deleted, 'deleted memory', 'deleted memories')}", broken=False
        )
    if below and "index.db" in files.paths:
        yield LeftOut("index.db", "feedback, merge history and proposals are not taken over", broken=False)


def _defined(values: Any) -> set[str]:
    return {text_in(item, "target") for item in _connections(values) if edge_type(text_in(item, "edge")) == "defines"}


def _connections(values: Any) -> list[dict[str, Any]]:
    found = values.get("connections")
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _arrival(document: Any, path: str, known: set[str], selves: dict[str, set[str]], about_self: set[str]) -> Arrival:
    values, content = document.values, document.body.strip("\n")
    own = text_in(values, "id")
    created = time_in(values, "created")
    if not own or not created:
        raise BrokenError("its frontmatter has no id or no date of creation")
    if not content.strip():
        raise BrokenError("it has no text")
    unmapped: list[str] = []
    kind = _choice(values, "type", NOTE_TYPES, "fact", unmapped)
    tags = tags_in(values)
    standing = standing_in(values)
    successor = _successor(standing.successor, own, known, unmapped)
    addresses = addresses_in(values)
    extra = {key: value for key, value in values.items() if key not in _TAKEN and key not in addresses}
    if kind != text_in(values, "type"):
        extra[IMPORTED_KEYS] = {"type": text_in(values, "type")}
    return Arrival(
        key=f"ormah:{own}",
        where=path,
        content=content,
        title=text_in(values, "title"),
        created=created,
        updated=time_in(values, "updated"),
        type=kind,
        tier="archival" if standing.archived else _choice(values, "tier", TIERS, "working", unmapped),
        space="global" if text_in(values, "space").lower() in _NO_SPACE else text_in(values, "space"),
        tags=tuple(tag for tag in tags if tag != "about_self"),
        confidence=_confidence(values, unmapped),
        source=text_in(values, "source"),
        addresses=addresses,
        valid_from=standing.since,
        valid_until=standing.until,
        outdated_reason=_outdated_reason(content, standing),
        superseded_by=successor,
        about_self="about_self" in tags or own in about_self or own in selves,
        ties=_ties_of_ormah(values, own, known, selves, unmapped),
        extra=extra,
        unmapped=tuple(unmapped),
    )


def _outdated_reason(content: str, standing: Validity) -> str | None:
    """Why it is outdated: its own key, else what stands in the brackets at a text's end; None where it is not."""
    text = content.rstrip()
    _, mark, reason = text.partition(_OUTDATED)
    said = reason.removesuffix("]") if standing.until and mark and text.endswith("]") else None
    return standing.reason or (standing.reason if said is None else said)


def _successor(given: str, own: str, known: set[str], unmapped: list[str]) -> str:
    """The key of what replaced a memory, by its id or the beginning of one; empty where nothing here did."""
    found = [given] if given in known else [each for each in known if given and each.startswith(given)]
    if len(found) == 1 and found[0] != own:
        return f"ormah:{found[0]}"
    if given:
        unmapped.append("what replaced it is no memory of this folder: it is outdated all the same")
    return ""


def _choice(values: Any, key: str, allowed: tuple[str, ...], default: str, unmapped: list[str]) -> str:
    found = text_in(values, key)
    if found and found not in allowed:
        unmapped.append(f"its {key} is none of ours: {default} is taken")
    return found if found in allowed else default


def _confidence(values: Any, unmapped: list[str]) -> float:
    found = number_in(values, "confidence")
    if found is None and "confidence" in values:
        unmapped.append("its confidence is no number from 0 to 1: 1 is taken")
    return 1.0 if found is None else found


def _ties_of_ormah(
    values: Any, own: str, known: set[str], selves: dict[str, set[str]], unmapped: list[str]
) -> tuple[Tie, ...]:
    """Its connections; that Self defines a memory is told by the memory."""
    ties: dict[tuple[str, str], Tie] = {}
    for item in _connections(values):
        target, name = text_in(item, "target"), text_in(item, "edge") or "related_to"
        kind = edge_type(name)
        if target not in known or target == own:
            unmapped.append("a connection leads to no memory of this folder")
        elif not (kind == "defines" and own in selves):
            weight = number_in(item, "weight")
            reason = "" if kind else name
            tie = Tie(f"ormah:{target}", kind or "related_to", 0.5 if weight is None else weight, reason)
            ties.setdefault((tie.to, tie.type), tie)
    return tuple(ties.values())
