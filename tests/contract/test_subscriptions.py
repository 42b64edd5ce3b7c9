"""Subscriptions: a client is told when what it reads has changed, whoever changed it. Real servers, both eras."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup
from fastmcp import Client
from mcp import Client as PlainClient
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning

from holdfast.settings import load_settings
from holdfast.tools.agent import ServedMemory
from holdfast.tools.resources import Subscriptions
from pictures import Seen
from processes import Stdio, http, stdio
from served import kept_in
from worlds import CALLER, PATIENCE, keep, living

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TAG = "io.modelcontextprotocol/subscriptionId"


class Listener:
    """A server over stdio with somebody subscribed to it; what it says unasked is kept apart from its answers."""

    def __init__(self, server: Stdio) -> None:
        self.server = server
        self.unasked: list[dict[str, Any]] = []
        self.opened = server.begin()

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        asked = self.server.send(method, **parameters)
        while True:
            message = self.server.read()
            if message.get("id") == asked:
                return message
            self.unasked.append(message)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        answer = self.ask("tools/call", name=name, arguments=arguments)["result"]
        assert not answer.get("isError"), answer
        return dict(answer["structuredContent"])

    def subscribe(self, *uris: str) -> int | None:
        """Subscribe as the era has it; the id of the open request, where there is one."""
        if self.server.era == "legacy":
            for uri in uris:
                assert self.ask("resources/subscribe", uri=uri)["result"] == {}
            return None
        asked = self.server.send("subscriptions/listen", notifications={"resourceSubscriptions": list(uris)})
        message = self.server.read()
        assert message["method"] == ACKNOWLEDGED
        assert message["params"]["notifications"] == {"resourceSubscriptions": list(uris)}
        assert message["params"]["_meta"][TAG] == asked
        return asked

    def hear(self) -> str:
        """The next resource that has changed."""
        while not self.unasked:
            self.unasked.append(self.server.read())
        message = self.unasked.pop(0)
        assert message["method"] == UPDATED, message
        return str(message["params"]["uri"])


@contextmanager
def listening(environment: dict[str, str], era: str) -> Iterator[Listener]:
    with stdio(environment, era) as server:
        yield Listener(server)


def memory_of(environment: dict[str, str]) -> Path:
    return Path(environment["HOLDFAST_HOME"])


def test_a_server_says_that_it_takes_subscriptions(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        capabilities = client.opened["capabilities"]
        assert capabilities["resources"]["subscribe"] is True
        assert "completions" in capabilities
        assert "prompts" in capabilities


def test_every_kind_of_resource_is_told_of_when_it_changes(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        stored = client.tool("remember", content="The crane is out of order.")
        note = f"memory://note/{stored['id']}"
        uris = {note, "memory://space/harbour", "memory://context/harbour", "memory://events"}
        client.subscribe(*sorted(uris), "memory://space/elsewhere")
        client.tool("mark_outdated", node_id=stored["id"])
        assert {client.hear() for _ in uris} == uris


def test_what_did_not_change_is_not_told_of(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        one, two = (client.tool("remember", content=text)["id"] for text in ("The crane is red.", "The buoy is blue."))
        client.subscribe(f"memory://note/{one}", f"memory://note/{two}", "memory://self", "memory://space/elsewhere")
        client.tool("remember", content="A third.")
        client.tool("recall", query="is the crane red?")
        client.tool("mark_outdated", node_id=two)
        assert client.hear() == f"memory://note/{two}"
        client.tool("mark_outdated", node_id=one)
        assert client.hear() == f"memory://note/{one}"
        assert not client.unasked


def test_a_note_is_told_of_by_the_name_that_was_subscribed_to(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        stored = client.tool("remember", content="The crane is red.")
        client.subscribe(f"memory://note/{stored['id'][:14]}")
        client.tool("mark_outdated", node_id=stored["id"])
        assert client.hear() == f"memory://note/{stored['id'][:14]}"


def test_an_editors_change_is_told_of(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        stored = client.tool("remember", content="The crane is red.")
        note = f"memory://note/{stored['id']}"
        client.subscribe(note)
        (file,) = kept_in(memory_of(environment)).glob(f"memories/harbour/*.{stored['id']}.md")
        file.write_text(file.read_text("utf-8").replace("red", "green"), "utf-8")
        assert client.hear() == note
        text = client.ask("resources/read", uri=note)["result"]["contents"][0]["text"]
        assert "The crane is green." in text
        file.unlink()
        assert client.hear() == note
        assert client.ask("resources/read", uri=note)["error"]["code"] == -32602


def put(path: Path, text: str) -> None:
    """In one step: of an empty file in between it would be told too."""
    path.parent.mkdir(exist_ok=True)
    if isinstance(path, Seen):
        path.write_text(text, "utf-8")
    else:
        draft = path.with_name(".draft")
        draft.write_text(text, "utf-8")
        draft.replace(path)


def test_pages_that_are_no_notes_are_told_of(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        client.tool("remember", content="The crane is red.")
        client.subscribe("memory://now", "memory://daily/2026-01-31")
        now, log = ("now/harbour.md", "memory://now"), ("daily/2026-01-31.md", "memory://daily/2026-01-31")
        for turn, (name, uri) in enumerate((now, log, now, log)):
            put(kept_in(memory_of(environment)) / name, f"Dredging {turn}\n")
            assert client.hear() == uri


def test_another_servers_change_is_told_of(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client, stdio(environment, "legacy") as other:
        client.subscribe("memory://space/harbour")
        other.begin()
        other.tool("remember", content="The crane is red.")
        assert client.hear() == "memory://space/harbour"


def test_recalls_change_the_events(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        client.tool("remember", content="The crane is red.")
        client.subscribe("memory://events")
        client.tool("recall", query="is the crane red?")
        assert client.hear() == "memory://events"


def test_a_change_is_told_of_though_the_index_was_deleted_with_it(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        stored = client.tool("remember", content="The crane is red.")
        client.subscribe(f"memory://note/{stored['id']}")
        for file in memory_of(environment).glob(".holdfast/index.db*"):
            file.unlink()
        client.tool("mark_outdated", node_id=stored["id"])
        assert client.hear() == f"memory://note/{stored['id']}"


def test_a_session_that_unsubscribed_hears_no_more(environment: dict[str, str]) -> None:
    with listening(environment, "legacy") as client:
        one, two = (client.tool("remember", content=text)["id"] for text in ("The crane is red.", "The buoy is blue."))
        client.subscribe(f"memory://note/{one}", f"memory://note/{two}")
        assert client.ask("resources/unsubscribe", uri=f"memory://note/{one}")["result"] == {}
        assert client.ask("resources/unsubscribe", uri="memory://note/mem_01")["result"] == {}
        client.tool("mark_outdated", node_id=one)
        client.tool("mark_outdated", node_id=two)
        assert client.hear() == f"memory://note/{two}"
        assert not client.unasked


@pytest.mark.parametrize(
    "uri", ["memory://nothing", "admin://stats", "memory://note/", "file:///etc/passwd", "memory://self/x", "\0"]
)
def test_what_is_no_resource_cannot_be_subscribed_to(environment: dict[str, str], uri: str) -> None:
    with listening(environment, "legacy") as client:
        assert client.ask("resources/subscribe", uri=uri)["error"]["code"] == -32602
    with listening(environment, "2026-07-28") as client:
        client.server.send("subscriptions/listen", notifications={"resourceSubscriptions": [uri, "memory://self"]})
        assert client.server.read()["params"]["notifications"] == {"resourceSubscriptions": ["memory://self"]}


def test_a_stream_ends_when_its_request_is_cancelled(environment: dict[str, str]) -> None:
    with listening(environment, "2026-07-28") as client:
        one, two = (client.tool("remember", content=text)["id"] for text in ("The crane is red.", "The buoy is blue."))
        first = client.subscribe(f"memory://note/{one}")
        client.subscribe(f"memory://note/{two}")
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": first}}
        client.server.write(json.dumps(cancel))
        client.tool("mark_outdated", node_id=one)
        client.tool("mark_outdated", node_id=two)
        heard = [message for message in client.unasked if message.get("method") == UPDATED]
        while not heard:
            message = client.server.read()
            heard += [message] if message.get("method") == UPDATED else []
        assert [message["params"]["uri"] for message in heard] == [f"memory://note/{two}"]


def test_a_server_with_subscribers_ends_when_its_input_does(environment: dict[str, str], era: str) -> None:
    with listening(environment, era) as client:
        client.subscribe("memory://self", "memory://events")
        code, _ = client.server.end()
        assert code == 0


async def test_over_http_a_listener_is_told(anyio_backend: str, environment: dict[str, str]) -> None:
    with http(environment) as (_, port):
        address = f"http://127.0.0.1:{port}/mcp"
        async with PlainClient(address) as client:
            stored = await client.call_tool("remember", {"content": "The crane is red."})
            uri = f"memory://note/{stored.structured_content['id']}"
            async with client.listen(resource_subscriptions=[uri]) as changes:
                await client.call_tool("mark_outdated", {"node_id": stored.structured_content["id"]})
                async for change in changes:
                    assert change == ResourceUpdated(uri=uri)
                    break


async def test_over_http_a_session_of_the_older_era_is_told(anyio_backend: str, environment: dict[str, str]) -> None:
    heard = anyio.Event()

    async def hear(message: Any) -> None:
        if getattr(getattr(message, "root", message), "method", "") == UPDATED:
            heard.set()

    with http(environment) as (_, port):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode="legacy", message_handler=hear) as client:
            stored = (await client.call_tool("remember", {"content": "The crane is red."})).structured_content
            with pytest.warns(MCPDeprecationWarning):
                await client.session.subscribe_resource(f"memory://note/{stored['id']}")
            await client.call_tool("mark_outdated", {"node_id": stored["id"]})
            await heard.wait()


@pytest.mark.parametrize("end", ["an error", "a cancellation", "a cancellation at once"])
async def test_subscribers_are_told_again_when_what_looks_for_them_is_begun_anew(
    anyio_backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    told, looked = anyio.Event(), anyio.Event()

    async def failing(*_: object) -> list[str]:
        looked.set()
        if end == "an error":
            raise ZeroDivisionError
        await anyio.sleep_forever()
        return []

    async def tell(*_: object) -> None:
        told.set()

    async def watch(tasks: TaskGroup) -> None:
        tasks.start_soon(subscriptions.watch)
        if end == "a cancellation at once":
            await anyio.lowlevel.checkpoint()
        else:
            await looked.wait()
        tasks.cancel_scope.cancel()

    settings = load_settings({"HOLDFAST_HOME": str(tmp_path)})
    async with living(tmp_path) as memory:
        subscriptions = Subscriptions(ServedMemory(memory, None, "", guarded=False, settings=settings), None)
        async with subscriptions._watching(CALLER, ["memory://space/global"]):
            with monkeypatch.context() as patched:
                patched.setattr(subscriptions, "_changes", failing)
                with contextlib.suppress(ExceptionGroup):
                    async with anyio.create_task_group() as tasks:
                        await watch(tasks)
            monkeypatch.setattr(subscriptions, "_tell", tell)
            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(subscriptions.watch)
                    await keep(memory, "The crane is red.")
                    await told.wait()
                    tasks.cancel_scope.cancel()
