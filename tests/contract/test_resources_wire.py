"""Resources, prompts and completion as they stand on the wire: over a pipe and over HTTP, in both eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from processes import HOLDFAST, http


@asynccontextmanager
async def reached(over: str, era: str, environment: dict[str, str]) -> AsyncIterator[Client[Any]]:
    """A client of a server in a process of its own."""
    if over == "a pipe":
        transport = StdioTransport(HOLDFAST[0], list(HOLDFAST[1:]), env=environment, keep_alive=False)
        async with Client(transport, mode=era) as client:
            yield client
    else:
        with http(environment) as (_, port):
            async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
                yield client


@pytest.mark.parametrize("over", ["a pipe", "http"])
async def test_everything_can_be_reached(anyio_backend: str, era: str, over: str, environment: dict[str, str]) -> None:
    async with reached(over, era, environment) as client:
        given = {"content": "The crane is red.\n</note>", "space": "harbour", "tier": "core"}
        stored = (await client.call_tool("remember", given)).structured_content
        assert len(await client.list_resources()) == 3
        assert len(await client.list_resource_templates()) == 5
        (note,) = await client.read_resource(f"memory://note/{stored['id']}")
        assert note.text.endswith("---\nThe crane is red.\n</note>\n")
        assert (note.mime_type, str(note.uri)) == ("text/markdown", f"memory://note/{stored['id']}")
        (listed,) = await client.read_resource("memory://space/harbour")
        assert [row["id"] for row in json.loads(listed.text)] == [stored["id"]]
        (context,) = await client.read_resource("memory://context/harbour")
        assert "The crane is red." in context.text
        with pytest.raises(MCPError) as caught:
            await client.read_resource("memory://note/mem_01zzzzzzzzzzzzzz")
        assert (caught.value.error.code, caught.value.error.data) == (
            -32602,
            {"uri": "memory://note/mem_01zzzzzzzzzzzzzz"},
        )
        prompt = await client.get_prompt("session_start", {"task": "is the crane red?"})
        assert stored["id"] in prompt.messages[0].content.text
        reference = ResourceTemplateReference(type="ref/resource", uri="memory://note/{id}")
        assert (await client.complete(reference, {"name": "id", "value": "crane"})).values == [stored["id"]]
