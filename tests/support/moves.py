"""Memories of other systems to move in from, and a client behind the open gate that moves them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
from fastmcp import Client

import holdfast.app
import served
from gate import Admin
from holdfast.app import build_memory, build_server
from holdfast.engine.runtime import Memory
from holdfast.settings import load_settings
from served import Clock

ORMAH = """---
id: {id}
type: {type}
tier: {tier}
source: agent:claude
created: '{created}'
updated: '2026-03-02T09:00:00+00:00'
last_accessed: '2026-03-03T09:00:00+00:00'
access_count: 4
confidence: {confidence}
importance: 0.61
stability: 2.5
title: {title}
{more}---
{content}
"""


@dataclass
class Mover:
    """A client of one running memory, with its folder at hand."""

    client: Client[Any]
    home: Path
    clock: Clock
    memory: Memory
    progress: list[tuple[float, float | None]] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        async def told(done: float, total: float | None, _: str | None) -> None:
            self.progress.append((done, total))

        result = await self.client.call_tool_mcp(tool, arguments, progress_handler=told)
        assert not result.is_error, result.content
        schema = next(each.output_schema for each in await self.client.list_tools() if each.name == tool)
        jsonschema.Draft202012Validator(schema).validate(result.structured_content)
        return dict(result.structured_content or {})

    @property
    def stored(self) -> Admin:
        """What is looked into the storage with: notes by path, the journal, whatever holds a word."""
        return Admin(self.client, self.memory, self.home, self.clock)

    @property
    def files(self) -> Path:
        """What is kept, as a folder."""
        return served.kept_in(self.home)

    def texts(self) -> list[str]:
        """Every note as it is stored."""
        return [data.decode() for data in self.stored.notes().values()]

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool_mcp(tool, arguments)
        assert result.is_error, result.content
        return str(result.content[0].text)

    async def bring(self, path: Path | str, **arguments: Any) -> dict[str, Any]:
        """Import, with the token of a dry run that changes nothing."""
        before = files_of(self.home)
        dry = await self.call("admin_import", path=str(path), **arguments)
        assert dry["dry_run"]
        assert files_of(self.home) == before
        done = await self.call("admin_import", path=str(path), confirm=dry["confirm"], **arguments)
        same = (
            "kind",
            "notes",
            "links",
            "pages",
            "known",
            "differing",
            "gone",
            "same",
            "secrets",
            "refused",
            "unmapped",
        )
        told = [{key: each[key] for key in same} for each in (done, dry)]
        assert told[0] == told[1], told
        return done

    async def node(self, query: str) -> dict[str, Any]:
        """The note that comes first for a question, whole."""
        found = await self.call("recall", query=query, include_outdated=True)
        return await self.call("recall_node", node_id=found["results"][0]["id"])

    def text_of(self, node: dict[str, Any]) -> str:
        ending = f".{node['id']}.md"
        return next(data.decode() for path, data in self.stored.notes().items() if path.endswith(ending))


@asynccontextmanager
async def moving(home: Path, era: str = "legacy", **environment: str) -> AsyncIterator[Mover]:
    settings = load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", **environment})
    clock = Clock()
    with patch.object(holdfast.app, "now", clock):
        memory = build_memory(settings)
        async with memory.running(), Client(build_server(settings, memory, admin=True), mode=era) as client:
            yield Mover(client, home, clock, memory)


def files_of(home: Path) -> dict[str, bytes]:
    """Notes and pages, by path, wherever they are kept."""
    rows = {
        place.removeprefix("pages/").replace("notes/", "memories/", 1): data
        for place, data in served.beside(home).items()
        if place.startswith(("notes/", "pages/"))
    }
    tops = ("memories", "now", "daily", "capsules", "NOW.md", "MEMORY.md")
    files = [file for top in tops for file in (home / top, *(home / top).rglob("*")) if file.is_file()]
    return rows | {file.relative_to(home).as_posix(): file.read_bytes() for file in files}


def write(root: Path, texts: dict[str, str]) -> Path:
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    return root


def ormah_node(number: int, content: str, more: str = "", **given: Any) -> dict[str, str]:
    own = f"{number:08x}-0000-4000-8000-000000000000"
    values = {
        "id": own, "type": "fact", "tier": "working", "created": f"2026-03-01T09:{number % 60:02}:00.123456+00:00",
        "confidence": 0.9, "title": f"Title {number}", "more": more, "content": content,
    }  # fmt: skip
    return {f"nodes/{given.get('type', 'fact')}_title_{number:08x}.md": ORMAH.format(**values | given)}


def ormah_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def ormah_folder(root: Path) -> Path:
    edges = (
        f"connections:\n- target: {ormah_id(2)}\n  edge: supports\n  weight: 0.8\n"
        f"- target: {ormah_id(99)}\n  edge: part_of\n  weight: 0.5\n"
    )
    defines = f"connections:\n- target: {ormah_id(3)}\n  edge: defines\n  weight: 1.0\ntags:\n- self\n"
    retired = "valid_until: '2026-04-01T00:00:00+00:00'\nspace: pier\n"
    nodes = {
        **ormah_node(1, "The crane lifts forty tonnes.", edges + "space: harbour\ntags:\n- crane\n", type="decision"),
        **ormah_node(2, "The crane was overhauled in spring."),
        **ormah_node(3, "Prefers tea to coffee.", type="preference"),
        **ormah_node(4, "The ferry leaves at noon.\n\n[Outdated: it leaves at one]", retired),
        **ormah_node(
            5, "I am the harbour master.", defines + "x: 1\n", type="person", source="system:self", tier="core"
        ),
    }
    text = nodes["nodes/person_title_00000005.md"].replace("agent:claude", "system:self")
    nodes["nodes/person_title_00000005.md"] = text
    nodes["nodes/fact_broken_00000006.md"] = "---\nid: [\n---\nbroken"
    nodes["deleted/fact_gone_00000007.md"] = "gone"
    return write(root, nodes)


def memory_server_file(root: Path) -> Path:
    lines: list[dict[str, Any]] = [
        {"type": "entity", "name": "Anna", "entityType": "person", "observations": ["sails", "lives in Kiel"]},
        {"type": "entity", "name": "Seagull", "entityType": "vessel", "observations": ["is a yawl"]},
        {"type": "relation", "from": "Anna", "to": "Seagull", "relationType": "owns"},
        {"type": "relation", "from": "Seagull", "to": "Anna", "relationType": "depends_on"},
        {"type": "relation", "from": "Anna", "to": "Nobody", "relationType": "knows"},
    ]
    root.mkdir(parents=True, exist_ok=True)
    file = root / "memory.jsonl"
    file.write_text("\n".join([*map(json.dumps, lines), '{"type": "entity", "na', ""]), "utf-8")
    return file


def obsidian_folder(root: Path) -> Path:
    return write(
        root,
        {
            "Crane.md": "---\ntags: [lift, port]\naliases: [Big Blue]\ncreated: 2024-05-06\n---\n"
            "Lifts forty tonnes. See [[Ferry|the ferry]], [[Nowhere]] and [the log](logs/Day%20one.md).\n",
            "boats/Ferry.md": "Leaves at noon, under the [[Crane#Arm]].\n```\n[[Not a link]]\n```\n",
            "logs/Day one.md": "---\ntype: event\nspace: pier\n---\nThe tug came in.\n",
            "logs/Twice.md": "---\na: 1\na: 2\n---\nBroken.\n",
            "picture.png": "no note",
            ".obsidian/workspace.md": "not looked at",
        },
    )


def omi_folder(root: Path) -> Path:
    write(
        root,
        {
            "NOW.md": "# NOW - 2026-02-01T10:00:00\n\n## Current Task\nMend the crane\n",
            "MEMORY.md": "Curated by hand.\n",
            "memory/2026-02-01.md": "\n\n## [2026-02-01T10:00:00]\n\nPainted the crane.\n",
        },
    )
    with closing(sqlite3.connect(root / "palace.sqlite")) as palace:
        palace.execute("PRAGMA journal_mode=WAL")
        palace.executescript(
            "CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT, embedding BLOB, memory_type TEXT, "
            "confidence REAL, created_at TEXT, last_accessed TEXT, access_count INTEGER, instance_ids TEXT, "
            "content_hash TEXT);"
            "CREATE TABLE edges (id TEXT PRIMARY KEY, source_id TEXT, target_id TEXT, edge_type TEXT, strength REAL, "
            "created_at TEXT);"
        )
        palace.executemany(
            "INSERT INTO memories (id, content, memory_type, confidence, created_at) VALUES (?, ?, ?, ?, ?)",
            [
                ("b1", "The crane is reliable.", "belief", 0.65, "2026-01-05T10:00:00"),
                ("e1", "It worked through the storm.", "experience", None, "2026-01-06T10:00:00"),
                ("f1", "The storm was on Monday.", "fact", None, "2026-01-07T10:00:00"),
                ("x1", "", "fact", None, "2026-01-07T10:00:00"),
            ],
        )
        palace.executemany(
            "INSERT INTO edges VALUES (?, ?, ?, ?, ?, '2026-01-08T10:00:00')",
            [
                ("1", "b1", "e1", "SUPPORTS", 0.9),
                ("2", "e1", "f1", "RELATED_TO", 0.5),
                ("3", "f1", "lost", "DEPENDS_ON", 9.0),
            ],
        )
        palace.commit()
    return root
