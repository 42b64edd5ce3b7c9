"""A client behind the open admin gate, of a memory served in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jsonschema
from fastmcp import Client

import holdfast.app
import served
from holdfast.app import build_memory, build_server
from holdfast.engine.runtime import Memory
from holdfast.settings import load_settings
from holdfast.store.rows.notes import RowNotes
from served import Clock, assert_named
from storages import rows_of


class Admin:
    """What a person does with the gate open, and a look at the folder behind it."""

    def __init__(self, client: Client[Any], memory: Memory, home: Path, clock: Clock) -> None:
        self.client, self.memory, self.home, self.clock = client, memory, home, clock
        self._schemas: dict[str, Any] = {}

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that is to succeed; its answer must fit the output schema that the server shows."""
        result = await self.client.call_tool_mcp(tool, arguments)
        assert not result.is_error, result.content
        if not self._schemas:
            self._schemas = {each.name: each.output_schema for each in await self.client.list_tools()}
        jsonschema.Draft202012Validator(self._schemas[tool]).validate(result.structured_content)
        return dict(result.structured_content or {})

    async def confirmed(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Dry run, then the same call with the token that it gives."""
        dry = await self.call(tool, **arguments)
        return await self.call(tool, **arguments, confirm=dry["confirm"])

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool_mcp(tool, arguments)
        assert result.is_error, result.content
        assert_named(str(result.content[0].text))
        return str(result.content[0].text)

    async def remember(self, content: str, **arguments: Any) -> str:
        return str((await self.call("remember", content=content, **arguments))["id"])

    async def contents(self, query: str) -> list[str]:
        return [hit["content"] for hit in (await self.call("recall", query=query))["results"]]

    async def node(self, note_id: str) -> dict[str, Any]:
        return await self.call("recall_node", node_id=note_id)

    async def audit(self, **arguments: Any) -> list[dict[str, Any]]:
        return list((await self.call("admin_list_audit_log", **arguments))["entries"])

    async def last_change(self, note_id: str) -> str:
        """The id of the last change of a note, as the audit log has it."""
        return str(next(each["change_id"] for each in await self.audit(node_id=note_id) if each["change_id"]))

    def journal(self) -> list[dict[str, Any]]:
        return served.journal_in(self.home)

    @property
    def files(self) -> Path:
        """What is kept, as a folder."""
        return served.kept_in(self.home)

    def file_of(self, note_id: str) -> Path:
        return next(self.files.glob(f"memories/*/*.{note_id}.md"))

    def notes(self) -> dict[str, bytes]:
        """Every note as the storage has it, by path."""
        root = self.files / "memories"
        found = map(Path, [*root.rglob("*")])  # as they are now
        return {str(path.relative_to(root)): path.read_bytes() for path in found if path.is_file()}

    async def vault(self) -> list[dict[str, Any]]:
        """Every backup, newest first."""
        [content] = await self.client.read_resource("admin://vault")
        return list(json.loads(content.text))

    def lose(self, *tops: str) -> None:
        """Take notes (`memories`) or the pages of a folder away, past the server."""
        for top in tops:
            if not isinstance(store := self.memory.ports.store, RowNotes):
                shutil.rmtree(self.home / top)
            elif top == "memories":
                rows_of(store, "DELETE FROM holdfast.notes WHERE tenant = %s RETURNING path")
            else:
                gone = "DELETE FROM holdfast.pages WHERE tenant = %s AND starts_with(path, %s) RETURNING path"
                assert rows_of(store, gone, f"{top}/")

    def cut_archive(self, backup_id: str) -> None:
        """Take the last byte of a backup's archive away; there is no other backup."""
        if isinstance(store := self.memory.ports.store, RowNotes):
            cut = (
                "UPDATE holdfast.backup_parts SET data = substr(data, 1, octet_length(data) - 1)"
                " WHERE tenant = %s AND backup = %s AND file = 'archive' RETURNING part"
            )
            assert rows_of(store, cut, backup_id) == [(0,)]
            return
        archive = self.home / "vault" / f"{backup_id}.tar.gz"
        archive.write_bytes(archive.read_bytes()[:-1])

    def holding(self, *words: str) -> list[str]:
        """Everything of which some byte is part of one of these words, in whatever case: files and rows."""
        wanted = [word.lower().encode() for word in words]
        files = {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}
        return [
            place
            for place, data in (files | served.beside(self.home)).items()
            if any(word in (place.encode() + data).lower() for word in wanted)
        ]


@asynccontextmanager
async def behind_the_gate(home: Path, era: str, **environment: str) -> AsyncIterator[Admin]:
    """A client of a server that was started with the admin namespace."""
    plain = {"HOLDFAST_ENCODER": "none", "HOLDFAST_VAULT_ENABLED": "false"}  # no daily backup comes between
    settings = load_settings({"HOLDFAST_HOME": str(home), **plain, **environment})
    clock = Clock()
    with patch.object(holdfast.app, "now", clock):
        memory = build_memory(settings)
        async with memory.running(), Client(build_server(settings, memory, admin=True), mode=era) as client:
            yield Admin(client, memory, home, clock)
