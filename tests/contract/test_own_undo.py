"""An agent takes back its own change of the last hour without the admin gate, exactly, and nobody else's."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from mcp_types import Implementation

from doors import web
from gate import Admin
from holdfast.engine.admin.undo import AlreadyUndone, TakeBack, Undone, take_back, undo
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller
from holdfast.errors import UndoRefusedError
from processes import environment_in, http
from served import Agent, made_up_secret, serving
from storages import storage_asked_for
from worlds import living

pytestmark = pytest.mark.anyio

HANDLE = re.compile(r"chg_[0-9a-z]{16}")
CALL = re.compile(r'mark_outdated\(undo="(chg_[0-9a-z]{16})"\)')
ANNA = Caller("work", "a test", "claude-code", "anna")


def files(agent: Agent) -> dict[str, bytes]:
    return {path: data for path, (data, _) in agent.notes_on_disk().items()}


async def back(agent: Agent, change: str | None, **more: Any) -> Any:
    return await agent.call("mark_outdated", undo=change, **more)


async def two_notes(agent: Agent) -> tuple[str, str]:
    crane = (await agent.remember("The crane lifts forty tonnes.", session="talk", tags=["heavy"]))["id"]
    belief = (await agent.omi("memory_store", content="Cranes are safe.", memory_type="belief"))["memory_id"]
    return str(crane), str(belief)


async def meta(agent: Agent, tool: str, **arguments: Any) -> str:
    """The change that an answer in OMI's shape tells beside it."""
    answer = await agent.client.call_tool_mcp(tool, arguments)
    return str((answer.meta or {})["change_id"])


async def new(agent: Agent, crane: str, _belief: str) -> str:
    return str((await agent.remember("The ferry leaves at noon.", links=[crane]))["change_id"])


async def supersede(agent: Agent, crane: str, belief: str) -> str:
    return str((await agent.remember("Both were sold.", supersedes=[crane, belief]))["change_id"])


async def join(agent: Agent, _crane: str, _belief: str) -> str:
    return str((await agent.remember("The crane lifts forty tonnes.", tags=["steel"], tier="core"))["change_id"])


async def outdate(agent: Agent, crane: str, _belief: str) -> str:
    return str((await agent.outdate(crane, reason="sold"))["change_id"])


async def store(agent: Agent, crane: str, _belief: str) -> str:
    return await meta(agent, "memory_store", content="The ferry is late.", related_to=[crane])


async def believe(agent: Agent, crane: str, belief: str) -> str:
    evidence = {"belief_id": belief, "evidence_memory_id": crane, "supports": True, "strength": 0.5}
    return await meta(agent, "belief_update", **evidence)


async def judged(agent: Agent, **results: object) -> str:
    [outcome] = (await agent.call("run_maintenance", results=results))["outcomes"]
    assert outcome["status"] == "applied", outcome
    return str(outcome["change_id"])


async def merge(agent: Agent, crane: str, belief: str) -> str:
    texts = {"merged_title": "Both", "merged_content": "Cranes are safe and lift."}
    return await judged(agent, merges=[{"keep_id": crane, "discard_id": belief, **texts}])


async def consolidate(agent: Agent, crane: str, belief: str) -> str:
    told = {"node_ids": [crane, belief], "title": "Cranes", "content": "Cranes are safe and lift.", "type": "fact"}
    return await judged(agent, consolidations=[told])


async def evolve(agent: Agent, crane: str, belief: str) -> str:
    return await judged(agent, edges=[{"node_a_id": crane, "node_b_id": belief, "edge_type": "evolved_from"}])


async def link(agent: Agent, crane: str, belief: str) -> str:
    return await judged(agent, edges=[{"node_a_id": crane, "node_b_id": belief, "edge_type": "supports"}])


Verb = Callable[[Agent, str, str], Awaitable[str]]
VERBS: tuple[Verb, ...] = (
    new, supersede, join, outdate, store, believe, merge, consolidate, evolve, link,
)  # fmt: skip


async def test_whatever_tool_made_a_change_its_maker_takes_it_back_byte_for_byte_and_that_too(agent: Agent) -> None:
    crane, belief = await two_notes(agent)
    before = files(agent)
    for verb in VERBS:
        change = await verb(agent, crane, belief)
        after = files(agent)
        assert after != before, verb
        undone = await back(agent, change)
        assert HANDLE.fullmatch(undone["change_id"]), verb
        assert undone["change_id"] != change, verb
        assert files(agent) == before, verb
        assert (await agent.recall("crane lifts forty tonnes")).found[:1] == [crane], verb
        await back(agent, undone["change_id"])
        assert files(agent) == after, verb
        await back(agent, change)
        assert files(agent) == before, verb


async def test_the_answer_says_exactly_what_came_back(agent: Agent) -> None:
    crane, belief = await two_notes(agent)
    stored = await agent.remember("Both were sold.", title="Sale", supersedes=[crane, belief])
    undone = await back(agent, stored["change_id"])
    lines = undone.text.splitlines()
    assert lines[0] == f"Taken back: {stored['change_id']}"
    assert set(lines[1:4]) == {
        f"{stored['id']} Sale: moved to the trash",
        f"{crane} The crane lifts forty tonnes.: put back, current",
        f"{belief} Cranes are safe.: put back, current",
    }
    assert lines[4] == f'To have it again: mark_outdated(undo="{undone["change_id"]}")'
    assert undone["notices"] == lines[:4]
    assert (undone["id"], undone["valid_until"]) == (stored["id"], None)


async def test_the_hint_of_every_answer_is_the_call_that_works(agent: Agent) -> None:
    crane, belief = await two_notes(agent)
    before = files(agent)
    for verb, arguments in (
        ("remember", {"content": "The ferry leaves at noon."}),
        ("remember", {"content": "The crane lifts forty tonnes.", "tags": ["steel"]}),
        ("mark_outdated", {"node_id": crane}),
    ):
        answer = await agent.call(verb, **arguments)
        (change,) = CALL.findall(answer.text)
        assert change == answer["change_id"]
        (again,) = CALL.findall((await back(agent, change)).text)
        assert again != change
        assert files(agent) == before
    edge = {"node_a_id": crane, "node_b_id": belief, "edge_type": "supports"}
    told = await agent.call("run_maintenance", results={"edges": [edge]})
    assert "mark_outdated(undo=" in told.text
    await back(agent, HANDLE.findall(told.text)[0])
    assert files(agent) == before


async def test_a_call_that_changed_nothing_has_no_handle_and_no_hint(agent: Agent) -> None:
    await agent.remember("The crane lifts forty tonnes.")
    again = await agent.remember("The crane lifts forty tonnes.")
    assert again["change_id"] is None
    assert not HANDLE.search(again.text)
    answer = await agent.client.call_tool_mcp("memory_store", {"content": "Cranes.", "memory_type": "fact"})
    repeated = await agent.client.call_tool_mcp("memory_store", {"content": "Cranes.", "memory_type": "fact"})
    assert (answer.meta or {})["change_id"]
    assert "change_id" not in (repeated.meta or {})


@asynccontextmanager
async def known_as(agent: Agent, name: str, era: str) -> Any:
    """Another program, served by the same process."""
    server = agent.client.transport.server  # type: ignore[attr-defined]
    async with Client(server, mode=era, client_info=Implementation(name=name, version="1")) as client:
        yield Agent(client, agent.home, agent.clock)


async def test_a_model_that_is_shown_text_alone_reads_the_handle_of_omis_tools_too(agent: Agent, era: str) -> None:
    crane, belief = await two_notes(agent)
    async with known_as(agent, "claude-code", era) as claude:
        before = files(agent)
        for tool, arguments in (
            ("memory_store", {"content": "The ferry is late."}),
            ("belief_update", {"belief_id": belief, "evidence_memory_id": crane, "supports": True, "strength": 0.5}),
        ):
            answer = await claude.client.call_tool_mcp(tool, arguments)
            assert answer.structured_content is None
            (change,) = CALL.findall("\n".join(block.text for block in answer.content))
            undone = await claude.client.call_tool_mcp("mark_outdated", {"undo": change})
            assert not undone.is_error, undone.content
            assert files(agent) == before


# --- whose change it is, and for how long ------------------------------------------------------------


async def test_after_an_hour_only_a_person_can_and_the_error_says_so(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    agent.clock.forward(minutes=59)
    young = await agent.remember("A lamp.")
    await back(agent, (await back(agent, stored["change_id"]))["change_id"])
    agent.clock.forward(minutes=2)
    before = files(agent)
    told = await agent.refused("mark_outdated", undo=stored["change_id"])
    assert told.startswith("UndoRefusedError")
    assert "admin_undo" in told
    assert files(agent) == before
    await back(agent, young["change_id"])


async def test_a_clock_that_went_back_makes_no_change_young(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    agent.clock.forward(hours=-30)
    assert "UndoRefusedError" in await agent.refused("mark_outdated", undo=stored["change_id"])


async def test_another_programs_change_is_not_taken_back(agent: Agent, era: str) -> None:
    stored = await agent.remember("A buoy.")
    before = files(agent)
    async with known_as(agent, "codex-mcp-client", era) as codex:
        told = await codex.refused("mark_outdated", undo=stored["change_id"])
        assert told.startswith("UndoRefusedError")
        assert files(agent) == before
    await back(agent, stored["change_id"])


async def test_a_program_that_restarted_its_server_takes_back_what_it_did_before(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, era) as agent:
        old = await agent.remember("A buoy.")
        before = files(agent)
        stored = await agent.remember("A red buoy.", supersedes=[old["id"]])
    shutil.rmtree(tmp_path / ".holdfast")
    async with serving(tmp_path, era) as agent:
        await back(agent, stored["change_id"])
        assert files(agent) == before


async def test_what_a_person_did_behind_the_gate_no_agent_takes_back(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts forty tonnes.")
    buoy = await admin.remember("A buoy.")
    updated = (await admin.call("admin_update_memory", node_id=crane, content="A tug."))["change_id"]
    deleted = (await admin.confirmed("admin_delete_memory", node_id=buoy))["change_id"]
    stored = (await admin.call("remember", content="A lamp."))["change_id"]
    undone = (await admin.call("admin_undo", change_id=stored))["change_id"]
    before = admin.notes()
    for change in (updated, deleted, undone):
        assert "UndoRefusedError" in await admin.refused("mark_outdated", undo=change)
    assert admin.notes() == before


async def test_what_a_person_approved_no_agent_takes_back(admin: Admin) -> None:
    notes = [await admin.remember(f"The crane lifts {word} tonnes.", tier="core") for word in ("forty", "fifty")]
    edge = {"node_a_id": notes[1], "node_b_id": notes[0], "edge_type": "evolved_from"}
    [waits] = (await admin.call("run_maintenance", results={"edges": [edge]}))["outcomes"]
    approved = await admin.call("admin_resolve_proposal", proposal_id=waits["proposal_id"], action="approve")
    before = admin.notes()
    assert "UndoRefusedError" in await admin.refused("mark_outdated", undo=approved["change_id"])
    assert admin.notes() == before


async def test_another_principals_change_is_not_taken_back_though_the_handle_is_known(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        stored = await memory.attend(lambda ports: remember(ports, ANNA, Remember("A buoy.")))
        wanted = TakeBack(str(stored.change_id))
        for who in (Caller("work", "a test", "claude-code", "bert"), Caller("work", "a test", "claude-code")):
            with pytest.raises(UndoRefusedError):
                await memory.attend(lambda ports, who=who: take_back(ports, who, wanted))
        assert isinstance(await memory.attend(lambda ports: take_back(ports, ANNA, wanted)), Undone)


TOKENS = [
    {"token": f"{name}-has-a-token-that-nobody-guesses", "client_id": name, "scopes": ["memory:read", "memory:write"]}
    for name in ("anna", "bert")
]


storage = pytest.fixture(scope="module", autouse=True)(storage_asked_for)


@pytest.fixture(scope="module")
def port(storage: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    environment = environment_in(tmp_path_factory.mktemp("two")) | {"HOLDFAST_AUTH_TOKENS": json.dumps(TOKENS)}
    with http(environment) as (_, port):
        yield port


def test_over_http_a_token_takes_back_what_it_did_and_not_what_another_did(port: int, era: str) -> None:
    anna, bert = (str(token["token"]) for token in TOKENS)
    with web(port, "/mcp", era, anna) as door:
        stored = door.tool("remember", content=f"A buoy of {era}.")["structuredContent"]
    with web(port, "/mcp", era, bert) as door:
        refused = door.tool("mark_outdated", undo=stored["change_id"])
        assert refused["isError"]
        assert refused["content"][0]["text"].startswith("UndoRefusedError")
    with web(port, "/mcp", era, anna) as door:  # another session of the same principal
        undone = door.tool("mark_outdated", undo=stored["change_id"])
        assert not undone["isError"], undone
        assert door.tool("recall_node", node_id=stored["id"])["isError"]


# --- what stands in its way ---------------------------------------------------------------------------


async def test_what_was_taken_back_is_not_taken_back_twice(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    first = await back(agent, stored["change_id"])
    before = files(agent)
    again = await back(agent, stored["change_id"])
    assert again["change_id"] == first["change_id"]
    assert "undone before" in again.text
    assert files(agent) == before


async def test_of_two_who_take_the_same_back_at_once_one_does(tmp_path: Path) -> None:
    async with living(tmp_path) as first, living(tmp_path) as second:
        old = await first.attend(lambda ports: remember(ports, ANNA, Remember("A buoy.")))
        wanted = Remember("A red buoy.", supersedes=[old.note.id])
        stored = await first.attend(lambda ports: remember(ports, ANNA, wanted))
        outcomes: list[object] = []

        async def take(memory: Any) -> None:
            request = TakeBack(str(stored.change_id))
            outcomes.append(await memory.attend(lambda ports: take_back(ports, ANNA, request)))

        async with anyio.create_task_group() as tasks:
            for memory in (first, second, first, second):
                tasks.start_soon(take, memory)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["AlreadyUndone"] * 3 + ["Undone"]
        (done,) = [outcome for outcome in outcomes if isinstance(outcome, Undone)]
        assert {outcome.by for outcome in outcomes if isinstance(outcome, AlreadyUndone)} == {done.change_id}


@pytest.mark.parametrize("how", ["another process", "a hand"])
async def test_a_note_that_changed_since_is_a_conflict_and_nothing_is_done(tmp_path: Path, how: str, era: str) -> None:
    async with serving(tmp_path, era) as agent, living(tmp_path) as other:
        crane, belief = await two_notes(agent)
        stored = await agent.remember("Both were sold.", supersedes=[crane, belief])
        if how == "a hand":
            file = agent.file_of(belief)
            file.write_text(file.read_text("utf-8") + "A line of mine.\n", "utf-8")
        else:
            wanted = MarkOutdated(belief, "sunk")
            await other.attend(lambda ports: mark_outdated(ports, ANNA, wanted))
        before = files(agent)
        told = await agent.refused("mark_outdated", undo=stored["change_id"])
        assert told.startswith("UndoConflictError: conflict")
        assert "admin_undo" in told
        assert files(agent) == before


async def test_a_note_that_another_was_retired_for_stays(agent: Agent) -> None:
    old = await agent.remember("A buoy.")
    stored = await agent.remember("A red buoy.")
    retired = await agent.outdate(old["id"], superseded_by=stored["id"])
    before = files(agent)
    told = await agent.refused("mark_outdated", undo=stored["change_id"])
    assert told.startswith("UndoConflictError")
    assert f"mark_outdated(undo={retired['change_id']})" in told
    assert files(agent) == before
    await back(agent, retired["change_id"])
    await back(agent, stored["change_id"])
    assert (await agent.recall("buoy")).found == [old["id"]]


async def test_a_conflict_with_later_changes_of_ones_own_names_the_one_to_undo_first(agent: Agent) -> None:
    await agent.remember("A lamp.")
    before = files(agent)
    first = await agent.remember("A buoy.")
    second = await agent.remember("A red buoy.", supersedes=[first["id"]])
    third = str((await agent.outdate(second["id"]))["change_id"])
    undone = (await back(agent, third))["change_id"]
    again = (await back(agent, undone))["change_id"]  # the retirement stands again
    assert again != third
    for change in (first["change_id"], second["change_id"]):
        told = await agent.refused("mark_outdated", undo=change)
        assert f"mark_outdated(undo={third}), then this one" in told
        assert "admin_undo" not in told
    await back(agent, third)
    told = await agent.refused("mark_outdated", undo=first["change_id"])
    assert f"mark_outdated(undo={second['change_id']}), then this one" in told
    await back(agent, second["change_id"])
    await back(agent, first["change_id"])
    assert files(agent) == before


@pytest.mark.files("a file is edited by hand")
async def test_a_later_change_after_which_a_hand_was_at_the_note_is_not_named(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    later = await agent.outdate(stored["id"])
    file = agent.file_of(stored["id"])
    file.write_text(file.read_text("utf-8") + "A line of mine.\n", "utf-8")
    told = await agent.refused("mark_outdated", undo=stored["change_id"])
    assert later["change_id"] not in told
    assert "remember and supersedes" in told


async def test_a_purged_text_does_not_come_back(admin: Admin) -> None:
    word = "zanzibar"
    crane = await admin.remember(f"The crane came from {word}.")
    superseding = (await admin.call("remember", content="The crane was sold.", supersedes=[crane]))["change_id"]
    lamp = await admin.call("remember", content=f"A lamp from {word}.")
    gone = (await admin.call("mark_outdated", undo=lamp["change_id"]))["change_id"]
    for note in (crane, lamp["id"]):
        await admin.confirmed("admin_purge", node_id=note)
    before = admin.notes()
    for change in (superseding, gone, lamp["change_id"]):
        result = await admin.client.call_tool_mcp("mark_outdated", {"undo": change})
        assert result.is_error or "undone before" in result.content[0].text
    assert admin.notes() == before
    assert admin.holding(word) == []


async def test_a_secret_that_was_replaced_stays_replaced(agent: Agent) -> None:
    secret = made_up_secret()
    old = await agent.remember(f"The token {secret} opens the crane.")
    stored = await agent.remember("The crane has no token.", supersedes=[old["id"]])
    undone = await back(agent, stored["change_id"])
    await back(agent, undone["change_id"])
    assert agent.holding(secret[4:]) == []


async def test_the_same_note_that_was_stored_again_meanwhile_is_not_there_twice(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    undone = await back(agent, stored["change_id"])
    again = await agent.remember("A buoy.")
    assert again["id"] != stored["id"]
    before = files(agent)
    assert "UndoConflictError" in await agent.refused("mark_outdated", undo=undone["change_id"])
    assert files(agent) == before


@pytest.mark.parametrize(
    "wrong", ["zanzibar", "chg_zanzibar", "chg_0000000000000000", '","op":"', "mem_0000000000000000"]
)
async def test_an_unknown_change_is_told_without_its_name(agent: Agent, wrong: str) -> None:
    await two_notes(agent)
    told = await agent.refused("mark_outdated", undo=wrong)
    assert told.startswith("ChangeNotFoundError")
    assert "zanzibar" not in told


async def test_arguments_that_do_not_go_together_are_refused(agent: Agent) -> None:
    crane, belief = await two_notes(agent)
    change = await outdate(agent, crane, belief)
    before = files(agent)
    assert "node_id is missing" in await agent.refused("mark_outdated")
    assert "node_id is missing" in await agent.refused("mark_outdated", undo=" ", reason="sold")
    assert "node_id" in await agent.refused("mark_outdated", undo=change, node_id=belief)
    assert "reason" in await agent.refused("mark_outdated", undo=change, reason="a slip")
    assert "superseded_by" in await agent.refused("mark_outdated", undo=change, superseded_by=belief)
    assert files(agent) == before
    assert (await back(agent, f"  {change.upper()} ", node_id=crane[:-1]))["id"] == crane


async def test_an_update_of_now_is_no_change_of_notes(agent: Agent) -> None:
    await agent.call("now_update", current_task="mend the crane")
    lines = [line for file in agent.files.glob("journal/*.jsonl") for line in file.read_text("utf-8").splitlines()]
    pages = next(each["change"] for each in map(json.loads, lines) if each.get("op") == "now_update")
    assert "InvalidArgumentError" in await agent.refused("mark_outdated", undo=pages)


async def test_it_is_journalled_with_who_did_it_and_is_no_admin_call(admin: Admin) -> None:
    stored = await admin.call("remember", content="A buoy.")
    undone = await admin.call("mark_outdated", undo=stored["change_id"])
    line = next(line for line in admin.journal() if line.get("change") == undone["change_id"])
    assert (line["op"], line["undoes"], line["by"]) == ("undo", stored["change_id"], "local")
    assert "admin" not in line
    entries = {each["change_id"]: each for each in await admin.audit(node_id=stored["id"])}
    assert entries[stored["change_id"]]["undone_by"] == undone["change_id"]
    await admin.call("admin_undo", change_id=undone["change_id"])
    assert (await admin.node(stored["id"]))["content"] == "A buoy."


async def test_a_person_still_undoes_what_its_maker_cannot_any_more(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        stored = await memory.attend(lambda ports: remember(ports, ANNA, Remember("A buoy.")))
        person = Caller("work", "a test", "holdfast-admin")
        with pytest.raises(UndoRefusedError):
            await memory.attend(lambda ports: take_back(ports, person, TakeBack(str(stored.change_id))))
        await memory.attend(lambda ports: undo(ports, person, str(stored.change_id)))
