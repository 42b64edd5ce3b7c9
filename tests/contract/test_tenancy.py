"""With HOLDFAST_TENANCY=user nothing leads from one principal to another: one server, two tokens, both eras."""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from fastmcp import Client
from mcp import Client as PlainClient
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import ResourceTemplateReference

from holdfast.errors import NAMES
from holdfast.model.access import tenant_key
from holdfast.settings import load_settings
from processes import HOLDFAST, INITIALIZE, PATIENCE, environment_in, http
from storages import FOLDER, ROWS, storage_asked_for, tenants_holding

pytestmark = pytest.mark.anyio

ANNA, BERT = "../../anna", "anna/../bert"  # client ids that would be paths, if any were
UNKNOWN = "mem_0000000000000zzz"
SCOPES = ["memory:read", "memory:write", "memory:admin"]


@dataclass(frozen=True)
class Place:
    """A server for two principals, each of whose tokens begin with their names."""

    port: int
    home: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def folder(self, name: str) -> Path:
        return self.home / "tenants" / sha256(name.encode()).hexdigest()[:32]

    def files_with(self, text: str) -> set[Path]:
        """The folders below which some file holds a text."""
        held = (path for path in self.home.rglob("*") if path.is_file() and text.encode() in path.read_bytes())
        return {self.home / Path(*path.relative_to(self.home).parts[:2]) for path in held}


def token_of(name: str) -> str:
    return f"{name}-has-a-token-that-nobody-guesses"


def with_tenants(environment: dict[str, str]) -> dict[str, str]:
    tokens = [{"token": token_of(name), "client_id": name, "scopes": SCOPES} for name in (ANNA, BERT)]
    return environment | {"HOLDFAST_TENANCY": "user", "HOLDFAST_AUTH_TOKENS": json.dumps(tokens)}


storage = pytest.fixture(scope="module", autouse=True)(storage_asked_for)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, storage: str) -> Iterator[Place]:
    environment = with_tenants(environment_in(tmp_path_factory.mktemp("tenants")))
    del environment["HOLDFAST_SPACE"]
    home = load_settings(environment).home  # where a server keeps what is derived, if nothing else
    environment |= {"HOLDFAST_VAULT_ENABLED": "false", "HOLDFAST_JOBS": "false"}  # news at a time of its own
    with http(environment) as (process, port):
        yield Place(port, home)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0


@dataclass
class Tenant:
    """A client of one principal."""

    client: Client[Any]
    heard: list[str]

    async def call(self, tool: str, **arguments: Any) -> Any:
        answer = await self.client.call_tool_mcp(tool, arguments)
        assert not answer.is_error, answer.content
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        answer = await self.client.call_tool_mcp(tool, arguments)
        assert answer.is_error
        text = "\n".join(block.text for block in answer.content)
        assert text.partition(":")[0] in NAMES
        return text

    async def keep(self, content: str, **arguments: Any) -> str:
        return str((await self.call("remember", content=content, **arguments))["id"])

    async def read(self, uri: str) -> str:
        return "".join(content.text for content in await self.client.read_resource(uri))

    async def completed(self, template: str, name: str, typed: str) -> list[str]:
        reference = ResourceTemplateReference(type="ref/resource", uri=template)
        return list((await self.client.complete(reference, {"name": name, "value": typed})).values)


@asynccontextmanager
async def tenant(place: Place, name: str, era: str) -> AsyncIterator[Tenant]:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        inner = getattr(message, "root", message)
        if getattr(inner, "method", "") == "notifications/resources/updated":
            heard.append(str(inner.params.uri))

    async with Client(place.url, auth=token_of(name), mode=era, message_handler=hear) as client:
        yield Tenant(client, heard)


@dataclass
class Two:
    anna: Tenant
    bert: Tenant
    mark: str  # a word that is only in what Anna keeps
    note: str  # her note, with the mark in content, tag, space and subject


@pytest.fixture
async def two(anyio_backend: str, place: Place, era: str) -> AsyncIterator[Two]:
    mark = f"zinc{secrets.token_hex(6)}"
    async with tenant(place, ANNA, era) as anna, tenant(place, BERT, era) as bert:
        note = await anna.keep(f"The {mark} is in the attic.", space=mark, tags=[mark], subject=mark)
        await bert.keep("The crane lifts forty tonnes.")
        yield Two(anna, bert, mark, note)


async def test_what_one_keeps_no_other_finds_by_words_meaning_time_space_or_tag(two: Two) -> None:
    for asked in ({"query": two.mark}, {"query": "what is in the attic?", "explain": True},
                  {"query": "what happened today?", "limit": 50}, {"query": two.mark, "spaces": [two.mark]},
                  {"query": "attic", "tags": [two.mark], "include_outdated": True}):  # fmt: skip
        assert two.note in [hit["id"] for hit in (await two.anna.call("recall", **asked))["results"]]
        answer = await two.bert.call("recall", **asked)
        assert two.mark not in json.dumps(answer["results"]) + json.dumps(answer["related"])
    found = await two.bert.call("memory_recall", query=two.mark, min_relevance=0.0)
    assert two.mark not in json.dumps(found)


async def test_an_id_of_anothers_note_is_as_unknown_as_one_that_never_was(two: Two) -> None:
    event = (await two.anna.call("recall", query=two.mark))["event_id"]
    mine = await two.bert.keep("The quay is long.")
    belief = (await two.bert.call("memory_store", content="Quays are long.", memory_type="belief"))["memory_id"]
    for tool, about in (
        ("recall_node", {"node_id": "{}"}),
        ("mark_outdated", {"node_id": "{}"}),
        ("mark_outdated", {"node_id": mine, "superseded_by": "{}"}),
        ("remember", {"content": "A third.", "links": ["{}"]}),
        ("remember", {"content": "A fourth.", "links": [{"to": "{}", "type": "supports"}]}),
        ("remember", {"content": "A fifth.", "supersedes": ["{}"]}),
        ("memory_store", {"content": "A sixth.", "related_to": ["{}"]}),
        ("submit_feedback", {"node_id": "{}", "signal": 1}),
        ("submit_feedback", {"node_id": "{}", "signal": 1, "event_id": event}),
        ("belief_update", {"belief_id": "{}", "evidence_memory_id": mine, "supports": True, "strength": 1.0}),
        ("belief_update", {"belief_id": belief, "evidence_memory_id": "{}", "supports": True, "strength": 1.0}),
    ):
        told = [await two.bert.refused(tool, **filled(about, note)) for note in (two.note, two.note[:18], UNKNOWN)]
        assert (
            len({text.replace(two.note, "?").replace(two.note[:18], "?").replace(UNKNOWN, "?") for text in told}) == 1
        )
    assert await two.bert.refused("submit_feedback", node_id=mine, signal=1, event_id=event) == await two.bert.refused(
        "submit_feedback", node_id=mine, signal=1, event_id="evt_" + UNKNOWN[4:]
    )
    assert (await two.anna.call("recall_node", node_id=two.note))["content"] == f"The {two.mark} is in the attic."


async def test_the_handle_of_anothers_change_is_as_unknown_as_one_that_never_was(two: Two) -> None:
    change = (await two.anna.call("mark_outdated", node_id=two.note))["change_id"]
    told = [await two.bert.refused("mark_outdated", undo=each) for each in (change, f"chg_{UNKNOWN[4:]}")]
    assert told[0] == told[1]
    assert told[0].startswith("ChangeNotFoundError")
    await two.anna.call("mark_outdated", undo=change)
    assert (await two.anna.call("recall_node", node_id=two.note))["outdated"] is False


def filled(about: Any, note: str) -> Any:
    return json.loads(json.dumps(about).replace("{}", note))


async def test_no_resource_prompt_or_completion_shows_anything_of_another(two: Two, place: Place) -> None:
    await two.anna.call("now_update", current_task=f"Look for {two.mark}", recent_completions=[f"Found {two.mark}"])
    day = (await two.anna.completed("memory://daily/{date}", "date", ""))[0]
    for uri in ("memory://self", "memory://now", "memory://events", "memory://context/global", f"memory://daily/{day}",
                f"memory://space/{two.mark}", f"memory://context/{two.mark}", "admin://vault"):  # fmt: skip
        try:
            shown = await two.bert.read(uri)
        except MCPError as error:
            shown = str(error.error.message)
        assert two.mark not in shown.replace(f"space {two.mark}", "")
    for note in (two.note, two.note[:18]):
        with pytest.raises(MCPError) as refused:
            await two.bert.read(f"memory://note/{note}")
        with pytest.raises(MCPError) as unknown:
            await two.bert.read(f"memory://note/{UNKNOWN}")
        assert refused.value.error.message == unknown.value.error.message
    for template, name, typed in (
        ("memory://note/{id}", "id", two.note[:18]),
        ("memory://note/{id}", "id", two.mark),
        ("memory://space/{space}", "space", two.mark[:6]),
        ("memory://context/{space}", "space", ""),
    ):
        assert await two.anna.completed(template, name, typed)
        assert not [value for value in await two.bert.completed(template, name, typed) if value in (two.note, two.mark)]
    prompt = await two.bert.client.get_prompt("session_start", {"task": two.mark})
    assert "attic" not in str(prompt.messages)
    assert await two.bert.call("now_read") != await two.anna.call("now_read")


async def test_whoever_listens_hears_of_what_is_theirs_alone(two: Two, place: Place, era: str, storage: str) -> None:
    own = await two.bert.keep("The buoy is red.")
    foreign = [
        f"memory://note/{two.note}",
        f"memory://space/{two.mark}",
        "memory://events",
        "memory://now",
        "admin://vault",
    ]
    mine = f"memory://note/{own}"
    async with (
        listening(place, two.bert, BERT, era, [*foreign, mine]) as bert,
        listening(place, two.anna, ANNA, era, [foreign[0], foreign[-1]]) as anna,
    ):
        await two.anna.call("now_update", current_task="Dredging")
        await two.anna.call("recall", query=two.mark)
        await two.anna.call("mark_outdated", node_id=two.note)
        await heard(anna, f"memory://note/{two.note}")
        if storage == FOLDER:  # which has a vault
            await two.anna.call("admin_backup")
            await heard(anna, "admin://vault")
        assert bert == []
        await two.bert.call("mark_outdated", node_id=own)
        await heard(bert, mine)
        assert set(bert) <= {mine, "memory://events"}


@asynccontextmanager
async def listening(place: Place, who: Tenant, name: str, era: str, uris: list[str]) -> AsyncIterator[list[str]]:
    """What a principal hears of these resources while the block lasts."""
    if era == "legacy":
        for uri in uris:
            with pytest.warns(MCPDeprecationWarning):
                await who.client.session.subscribe_resource(uri)
        yield who.heard
        return
    heard: list[str] = []

    async def hear(changes: Any) -> None:
        async for change in changes:
            heard.extend([str(change.uri)] if isinstance(change, ResourceUpdated) else [])

    headers = {"Authorization": f"Bearer {token_of(name)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as web,
        PlainClient(streamable_http_client(place.url, http_client=web)) as client,
        client.listen(resource_subscriptions=uris) as changes,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(hear, changes)
        yield heard
        tasks.cancel_scope.cancel()


async def heard(by: list[str], uri: str) -> None:
    with anyio.fail_after(PATIENCE):
        while uri not in by:  # noqa: ASYNC110 - it comes when it comes
            await anyio.sleep(0.02)


def test_a_session_of_one_is_not_there_for_another(place: Place) -> None:
    """Of the older era; the newer one has none."""
    accept = {"Accept": "application/json, text/event-stream"}
    with httpx.Client(trust_env=False, timeout=PATIENCE, headers=accept) as web:

        def sent(verb: str, name: str, session: str, **message: Any) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token_of(name)}"} | ({"Mcp-Session-Id": session} if session else {})
            body = {"jsonrpc": "2.0", "id": 1, **message} if message else None
            return web.request(verb, place.url, headers=headers, json=body)

        hers = sent("POST", ANNA, "", method="initialize", params=INITIALIZE).headers["Mcp-Session-Id"]
        call = {"method": "tools/call", "params": {"name": "recall", "arguments": {"query": "attic"}}}
        assert sent("POST", ANNA, hers, **call).status_code == 200
        foreign = [sent("POST", BERT, hers, **call), sent("GET", BERT, hers), sent("DELETE", BERT, hers)]
        unknown = [
            sent(verb, BERT, "0" * len(hers), **given) for verb, given in (("POST", call), ("GET", {}), ("DELETE", {}))
        ]
        assert [answer.status_code for answer in foreign] == [404] * 3
        assert [answer.text for answer in foreign] == [answer.text for answer in unknown]
        assert sent("POST", ANNA, hers, **call).status_code == 200


@pytest.mark.files("a vault is of folders")
async def test_backups_and_confirm_tokens_are_good_for_their_own_principal_alone(two: Two) -> None:
    backup = (await two.anna.call("admin_backup"))["backup_id"]
    would = await two.anna.call("admin_restore_backup", backup_id=backup)
    assert backup not in await two.bert.read("admin://vault")
    assert "BackupNotFoundError" in await two.bert.refused("admin_restore_backup", backup_id=backup)
    own = (await two.bert.call("admin_backup"))["backup_id"]
    for about in (backup, own):
        told = await two.bert.refused("admin_restore_backup", backup_id=about, confirm=would["confirm"])
        assert "confirm is not a token" in told
    await two.bert.keep("What a restore of somebody else's backup must not touch.", space="kept")
    await two.anna.call("admin_restore_backup", backup_id=backup, confirm=would["confirm"])
    assert "must not touch" in json.dumps(await two.bert.call("recall", query="restore somebody else's backup"))


async def test_an_administrator_of_their_own_memory_learns_nothing_of_the_host_or_of_others(
    two: Two, place: Place
) -> None:
    config = json.loads(await two.bert.read("admin://config"))
    assert (config["HOLDFAST_TENANCY"], config["HOLDFAST_ENCODER"]) == ("user", "none")
    told = json.dumps(config) + await two.bert.read("admin://stats") + await two.bert.read("admin://health")
    for of_others in (ANNA, str(place.home), "AUTH", "URL", "keys"):
        assert of_others not in told
    assert json.loads(await two.bert.read("admin://health"))["disk_free_bytes"] is None


async def test_a_space_that_would_be_a_path_is_none(two: Two, place: Place, storage: str) -> None:
    there = f"../../{place.folder(ANNA).name}/memories/{two.mark}"
    for space in (there, f"{place.folder(ANNA)}/memories", "..\\..", "a/../../b", "%2e%2e%2f"):
        kept = await two.bert.client.call_tool_mcp("remember", {"content": f"To {space}", "space": space})
        if not kept.is_error:
            node = await two.bert.call("recall_node", node_id=kept.structured_content["id"])
            assert not set("/\\") & set(node["space"])
            assert storage == ROWS or (place.folder(BERT) / node["path"]).is_file()
        asked = await two.bert.client.call_tool_mcp("recall", {"query": "attic", "spaces": [space]})
        assert asked.is_error or two.mark not in json.dumps(asked.structured_content["results"])
    for uri in (
        f"memory://space/{there}",
        "memory://note/..%2f..%2f",
        f"memory://note/{there}",
        "memory://daily/../now",
    ):
        with pytest.raises(MCPError):
            await two.bert.read(uri)


async def test_everything_of_a_principal_lies_in_a_folder_of_its_own(two: Two, place: Place, storage: str) -> None:
    if storage == ROWS:
        assert tenants_holding(two.mark) == {tenant_key(ANNA)}
    await two.anna.call("recall", query=two.mark)
    assert place.files_with(two.mark) == {place.folder(ANNA)}
    assert [path.name for path in place.home.glob("*")] == ["tenants"]
    assert {path.name for path in place.home.glob("tenants/*")} == {place.folder(name).name for name in (ANNA, BERT)}
    assert {path.stat().st_mode & 0o777 for path in place.home.glob("tenants/*")} == {0o700}


def is_there(environment: dict[str, str]) -> bool:
    return Path(environment["HOLDFAST_HOME"]).exists()


@pytest.mark.parametrize("arguments", [(), ("--http", "--port", "0")], ids=["stdio", "http without authentication"])
async def test_where_nobody_knows_who_asks_it_is_refused_at_the_start(
    environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    told = await anyio.run_process(
        [*HOLDFAST, *arguments], input=b"", env=environment | {"HOLDFAST_TENANCY": "user"}, check=False
    )
    assert told.returncode == 2
    assert told.stdout == b""
    assert b"HOLDFAST_TENANCY=user" in told.stderr
    assert not is_there(environment)
