"""A memory served in this process, and an agent that asks it in one of the two protocol eras."""

from __future__ import annotations

import json
import random
import string
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
from fastmcp import Client

import holdfast.app
from holdfast.app import build_memory, build_server
from holdfast.settings import Settings

ERAS = ("legacy", "2026-07-28")
SPACE = "harbour"
SELF = "mem_0000000000000000"

ERROR_NAMES = (
    "InvalidArgumentError", "LimitExceededError", "SecretRefusedError", "MemoryNotFoundError", "AmbiguousIdError",
    "ProtectedNoteError", "ConflictError", "StorageError", "QuarantinedError", "IndexSchemaError", "EncoderError",
    "EventNotFoundError", "ChangeNotFoundError", "UndoConflictError", "IntegrityError", "BatchNotFoundError",
    "ProposalNotFoundError", "UndoRefusedError", "BackupNotFoundError",
)  # fmt: skip
NAME_WITHIN = 120


def beside(home: Path) -> dict[str, bytes]:
    """What is kept of a memory outside of its folder, by place: nothing, unless `storages.stored_in` says otherwise."""
    del home
    return {}


def kept_in(home: Path) -> Path:
    """The folder of a memory, to look into: its own, or, where notes are kept elsewhere, a picture that is one too.

    A note that is written or removed there is changed as by a person's hand, or as by another server.
    """
    return pictured(home)


def journal_in(home: Path) -> list[dict[str, Any]]:
    """Every line of the journal, as the storage has it."""
    files = sorted((kept_in(home) / "journal").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def pictured(home: Path) -> Path:
    """The folder itself, unless `storages.stored_in` says otherwise."""
    return home


def page_of(home: Path, path: str) -> str:
    """A page as the storage has it; empty where there is none."""
    file = home / path
    return beside(home).get(f"pages/{path}", file.read_bytes() if file.is_file() else b"").decode()


def pages_of(home: Path, folder: str) -> list[str]:
    """The paths of pages in a folder, as the storage has them."""
    files = {str(path.relative_to(home)) for path in home.glob(f"{folder}/*")}
    rows = {place.removeprefix("pages/") for place in beside(home) if place.startswith(f"pages/{folder}/")}
    return sorted(files | rows)


class Clock:
    """The time now, which a test can move or set."""

    def __init__(self, start: datetime | None = None) -> None:
        self._ahead = timedelta()
        if start is not None:
            self.set(start)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def forward(self, **amount: float) -> None:
        self._ahead += timedelta(**amount)

    def set(self, moment: datetime) -> None:
        self._ahead = moment - datetime.now(UTC)


@dataclass(frozen=True)
class Answer:
    """A tool's answer: the structured content by key, and the text that a model reads."""

    structured: Mapping[str, Any]
    text: str

    def __getitem__(self, key: str) -> Any:
        return self.structured[key]

    @property
    def found(self) -> list[str]:
        """The ids of a recall's results, best first."""
        return [hit["id"] for hit in self.structured["results"]]


@dataclass
class Agent:
    """A client of one running memory, with that memory's folder at hand."""

    client: Client[Any]
    home: Path
    clock: Clock
    schemas: dict[str, Any] = field(default_factory=dict)

    async def call(self, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool that is to succeed; its answer must fit the output schema that the server shows."""
        result = await self.client.call_tool_mcp(tool, arguments)
        text = "\n".join(block.text for block in result.content)
        assert not result.is_error, text
        if not self.schemas:
            self.schemas |= {item.name: item.output_schema for item in await self.client.list_tools()}
        jsonschema.Draft202012Validator(self.schemas[tool]).validate(result.structured_content)
        assert len(result.content) == 1
        return Answer(result.structured_content, text)

    async def omi(self, tool: str, /, **arguments: Any) -> Any:
        """Call one of OMI's tools that is to succeed; the documented value, the same in the text and as structure."""
        return (await self.omi_told(tool, **arguments))[0]

    async def omi_told(self, tool: str, /, **arguments: Any) -> tuple[Any, list[str]]:
        """The documented value and what is told beside it, in `_meta` and, if there is anything, in a second block."""
        result = await self.client.call_tool_mcp(tool, arguments)
        texts = [block.text for block in result.content]
        assert not result.is_error, texts
        if not self.schemas:
            self.schemas |= {item.name: item.output_schema for item in await self.client.list_tools()}
        jsonschema.Draft202012Validator(self.schemas[tool]).validate(result.structured_content)
        value, wrapped = json.loads(texts[0]), self.schemas[tool].get("x-fastmcp-wrap-result", False)
        assert result.structured_content == ({"result": value} if wrapped else value)
        notices = list((result.meta or {}).get("notices", []))
        assert len(texts) == (2 if notices else 1)
        assert "".join(texts[1:]) == "\n".join(f"Note: {notice}" for notice in notices)
        return value, notices

    async def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that is to fail, in the way that all failures have; returns the words."""
        result = await self.client.call_tool_mcp(tool, arguments)
        text = "\n".join(block.text for block in result.content)
        assert result.is_error, f"answered: {text[:200]}"
        assert_named(text)
        return text

    async def remember(self, content: str, **arguments: Any) -> Answer:
        return await self.call("remember", content=content, **arguments)

    async def recall(self, query: str, **arguments: Any) -> Answer:
        return await self.call("recall", query=query, **arguments)

    async def node(self, node_id: str) -> Answer:
        return await self.call("recall_node", node_id=node_id)

    async def whole(self, node_id: str) -> str:
        """A note's text, its pages put together."""
        text, page, goes_on = "", 0, True
        while goes_on:
            page += 1
            answer = await self.call("recall_node", node_id=node_id, page=page)
            text += str(answer["content"])
            goes_on = any(f"page={page + 1} goes on" in notice for notice in answer["notices"])
        return text

    async def outdate(self, node_id: str, **arguments: Any) -> Answer:
        return await self.call("mark_outdated", node_id=node_id, **arguments)

    async def rate(self, node_id: str, signal: int, **arguments: Any) -> Answer:
        return await self.call("submit_feedback", node_id=node_id, signal=signal, **arguments)

    @property
    def files(self) -> Path:
        """What is kept, as a folder."""
        return kept_in(self.home)

    def journal(self) -> list[dict[str, Any]]:
        return journal_in(self.home)

    def file_of(self, note_id: str) -> Path:
        return next(self.files.glob(f"memories/*/*.{note_id}.md"))

    def write_by_hand(self, path: str, text: str) -> Path:
        """A note as a person would write it with an editor, or as another server does."""
        file = self.files / "memories" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def notes_on_disk(self) -> dict[str, tuple[bytes, int]]:
        """Every note file with its bytes and its time of change."""
        found = sorted((self.files / "memories").rglob("*"))
        return {
            str(path.relative_to(self.files)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in map(Path, found)  # as they were when they were found
            if path.is_file()
        }

    def holding(self, secret: str) -> list[str]:
        """Everything that holds a text, in whatever case: notes, journal, index, events; files and rows."""
        wanted = secret.lower().encode()
        files = (path for path in self.home.rglob("*") if path.is_file())
        found = [str(path.relative_to(self.home)) for path in files if wanted in path.read_bytes().lower()]
        return found + [place for place, data in beside(self.home).items() if wanted in (place.encode() + data).lower()]


def assert_named(text: str) -> None:
    """A failure begins with the name of an error that Holdfast has, and shows nothing of what is inside."""
    assert any(name in text[:NAME_WITHIN] for name in ERROR_NAMES), text[:300]
    assert "Internal error" not in text
    assert "Traceback" not in text


@asynccontextmanager
async def serving(
    home: Path, era: str, *, clock: Clock | None = None, http: bool = False, admin: bool = False, **settings: Any
) -> AsyncIterator[Agent]:
    """A running memory on a folder, with an agent; `settings` override those of a plain one without an encoder."""
    given = {
        "home": home,
        "space": SPACE,
        "encoder": "none",
        "builtin_model": None,
        "builtin_model_sha256": "",
        "secrets": "redact",
        "log_level": "warning",
        "allowed_hosts": (),
        "allowed_origins": (),
    }
    time = clock or Clock()
    with patch.object(holdfast.app, "now", time):
        memory = build_memory(Settings(**given | settings))
        server = build_server(Settings(**given | settings), memory, http=http, admin=admin)
        async with memory.running(), Client(server, mode=era) as client:
            yield Agent(client, home, time)


_drawn = random.Random(11)  # noqa: S311 - made-up secrets


def made_up_secret() -> str:
    """A GitHub token that never was, put together at run time so that no scanner takes a test for a leak."""
    return "gh" + "p_" + "".join(_drawn.choices(string.ascii_letters + string.digits, k=34)) + "Z7"
