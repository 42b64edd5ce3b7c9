"""The admin tools on notes, the audit log and the rebuild, in both protocol eras."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from gate import Admin
from served import SELF

pytestmark = pytest.mark.anyio


async def test_a_note_is_changed_in_place_and_found_by_its_new_words_alone(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts forty tonnes.", tags=["heavy"])
    file = admin.file_of(crane)
    answer = await admin.call(
        "admin_update_memory",
        node_id=crane[:-1],
        content="The tug pulls.\nHard.",
        type="decision",
        tier="archival",
        tags=["boats"],
        space="sea",
    )
    assert answer["changed"] == ["content", "type", "tier", "tags", "title", "space"]
    note = await admin.node(crane)
    assert (note["content"], note["title"], note["type"]) == ("The tug pulls.\nHard.", "The tug pulls.", "decision")
    assert (note["tier"], note["tags"], note["space"]) == ("archival", ["boats"], "sea")
    assert note["changes"] == 2
    assert await admin.contents("tug pulls") == ["The tug pulls.\nHard."]
    assert await admin.contents("crane forty tonnes") == []
    assert admin.file_of(crane) == file  # names are cosmetic


async def test_what_is_left_out_stays_and_a_title_of_its_own_too(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts.", title="Lifting", tags=["heavy"], subject="crane")
    await admin.call("admin_update_memory", node_id=crane, content="The crane rests.")
    note = await admin.node(crane)
    assert (note["title"], note["tags"], note["tier"]) == ("Lifting", ["heavy"], "working")
    await admin.call("admin_update_memory", node_id=crane, tags=[])
    assert (await admin.node(crane))["tags"] == []


async def test_the_same_again_changes_nothing(admin: Admin) -> None:
    crane, tug = await admin.remember("The crane lifts."), await admin.remember("The tug pulls.")
    await admin.call("admin_update_memory", node_id=crane, tier="core")
    await admin.call("admin_connect_memories", source_id=crane, target_id=tug, edge="supports", weight=0.9)
    before = admin.notes()
    for answer in (
        await admin.call("admin_update_memory", node_id=crane, tier="core", content="The crane lifts."),
        await admin.call("admin_connect_memories", source_id=crane, target_id=tug, edge="supports", weight=0.9),
    ):
        assert answer["change_id"] is None
        assert answer["notices"]
    assert admin.notes() == before


async def test_incoming_edges_outlive_every_change_of_the_note(admin: Admin) -> None:
    tug = await admin.remember("The tug pulls.")
    crane = await admin.remember("The crane lifts.", links=[{"to": tug, "type": "depends_on"}])
    await admin.call("admin_update_memory", node_id=tug, content="The tug rests.", space="sea")
    await admin.call("admin_rebuild_index")
    edges = [(each["id"], each["type"], each["direction"]) for each in (await admin.node(tug))["connections"]]
    assert (crane, "depends_on", "in") in edges


async def test_notes_are_connected_with_a_real_weight_and_once(admin: Admin) -> None:
    crane, tug = await admin.remember("The crane lifts."), await admin.remember("The tug pulls.")
    for weight in (0.2, 0.9):
        await admin.call("admin_connect_memories", source_id=crane, target_id=tug, edge="contradicts", weight=weight)
    edges = [each for each in (await admin.node(crane))["connections"] if each["type"] == "contradicts"]
    assert [(each["id"], each["weight"], each["direction"]) for each in edges] == [(tug, 0.9, "out")]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "InvalidArgumentError"),
        ({"content": "  "}, "InvalidArgumentError"),
        ({"type": "zanzibar"}, "InvalidArgumentError"),
        ({"tier": "zanzibar"}, "InvalidArgumentError"),
        ({"space": "///"}, "InvalidArgumentError"),
        ({"content": "zanzibar " * 40_000}, "LimitExceededError"),
        ({"content": "x", "node_id": "mem_zzzzzzzzzzzzzzzz"}, "MemoryNotFoundError"),
        ({"content": "x", "node_id": SELF, "tier": "working"}, "ProtectedNoteError"),
    ],
)
async def test_what_cannot_be_changed_is_told_by_name(admin: Admin, arguments: dict[str, str], name: str) -> None:
    crane = await admin.remember("The crane lifts.")
    before = admin.notes()
    told = await admin.refused("admin_update_memory", **{"node_id": crane, **arguments})
    assert name in told
    assert "zanzibar" not in told
    assert admin.notes() == before


async def test_wrong_edges_are_told_by_name(admin: Admin) -> None:
    crane, tug = await admin.remember("The crane lifts."), await admin.remember("The tug pulls.")
    pair = {"source_id": crane, "target_id": tug}
    assert "InvalidArgumentError" in await admin.refused("admin_connect_memories", **pair, edge="zanzibar")
    assert "InvalidArgumentError" in await admin.refused("admin_connect_memories", **pair, weight=1.01)
    assert "InvalidArgumentError" in await admin.refused("admin_connect_memories", source_id=tug, target_id=tug)
    wrong = {"source_id": crane, "target_id": "mem_zzzzzzzzzzzzzzzz"}
    assert "MemoryNotFoundError" in await admin.refused("admin_connect_memories", **wrong)


async def test_a_note_goes_to_the_trash_after_a_confirmation_and_comes_back_whole(admin: Admin) -> None:
    tug = await admin.remember("The tug pulls.")
    crane = await admin.remember("The crane lifts forty tonnes.", links=[{"to": tug, "type": "supports"}])
    before = admin.notes()
    dry = await admin.call("admin_delete_memory", node_id=tug)
    assert (dry["dry_run"], dry["links_in"] >= 1) == (True, True)
    assert admin.notes() == before
    await admin.call("admin_delete_memory", node_id=tug, confirm=dry["confirm"])
    assert await admin.contents("tug pulls") == []
    assert "MemoryNotFoundError" in await admin.refused("recall_node", node_id=tug)
    assert [each["id"] for each in (await admin.node(crane))["connections"]].count(tug) == 0
    assert (await admin.call("admin_restore_memory", node_id=tug[:-1]))["id"] == tug
    assert admin.notes() == before
    assert tug in [each["id"] for each in (await admin.node(crane))["connections"]]
    assert "InvalidArgumentError" in await admin.refused("admin_restore_memory", node_id=tug)
    assert "MemoryNotFoundError" in await admin.refused("admin_restore_memory", node_id="mem_zzzzzzzzzzzzzzzz")


async def test_a_token_to_delete_is_for_one_note_as_it_was_and_for_one_use(admin: Admin) -> None:
    tug, crane = await admin.remember("The tug pulls."), await admin.remember("The crane lifts.")
    token = (await admin.call("admin_delete_memory", node_id=tug))["confirm"]
    assert "InvalidArgumentError" in await admin.refused("admin_delete_memory", node_id=crane, confirm=token)
    token = (await admin.call("admin_delete_memory", node_id=tug))["confirm"]
    assert "InvalidArgumentError" in await admin.refused("admin_purge", node_id=tug, confirm=token)
    await admin.call("admin_update_memory", node_id=tug, content="The tug rests.")
    assert "InvalidArgumentError" in await admin.refused("admin_delete_memory", node_id=tug, confirm=token)
    await admin.confirmed("admin_delete_memory", node_id=tug)
    late = (await admin.call("admin_delete_memory", node_id=crane))["confirm"]
    admin.clock.forward(minutes=5, seconds=1)
    assert "InvalidArgumentError" in await admin.refused("admin_delete_memory", node_id=crane, confirm=late)


async def test_the_self_note_is_neither_deleted_nor_purged(admin: Admin) -> None:
    await admin.remember("The crane lifts.")
    assert "ProtectedNoteError" in await admin.refused("admin_delete_memory", node_id=SELF)
    assert "ProtectedNoteError" in await admin.refused("admin_purge", node_id=SELF)
    await admin.call("admin_update_memory", node_id=SELF, content="Anna, who runs the harbour.")
    assert (await admin.node(SELF))["content"] == "Anna, who runs the harbour."


async def test_the_audit_log_tells_who_did_what_newest_first_and_never_a_text(admin: Admin) -> None:
    crane, tug = await admin.remember("The quixotic crane."), await admin.remember("The tug pulls.")
    await admin.call("admin_update_memory", node_id=crane, tier="core")
    await admin.refused("admin_update_memory", node_id=crane, content=" ")
    await admin.confirmed("admin_delete_memory", node_id=crane)
    entries = await admin.audit(node_id=crane)
    assert [(each["operation"], each["outcome"], each["dry_run"]) for each in entries] == [
        ("admin_delete_memory", "done", False),
        ("admin_delete_memory", "done", True),
        ("admin_update_memory", "InvalidArgumentError", False),
        ("admin_update_memory", "done", False),
        ("remember", "done", False),
    ]
    assert {each["by"] for each in entries} == {"local"}
    assert [each["operation"] for each in await admin.audit(operation="delete", limit=1)] == ["admin_delete_memory"]
    assert [each["nodes"] for each in await admin.audit(node_id=tug)] == [[tug]]
    everything = await admin.audit(limit=50)
    assert [each["seq"] for each in everything] == sorted((each["seq"] for each in everything), reverse=True)
    assert "quixotic" not in json.dumps(everything)
    assert await admin.audit(operation="zanzibar") == []
    for wrong in ({"limit": 0}, {"limit": 51}, {"node_id": "zanzibar!"}):
        assert "InvalidArgumentError" in await admin.refused("admin_list_audit_log", **wrong)


async def test_the_audit_resource_reads_as_the_tool_does(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts.")
    await admin.remember("The tug pulls.")
    await admin.call("admin_update_memory", node_id=crane, tier="core")
    for uri, arguments in (
        ("admin://audit", {}),
        (f"admin://audit?node={crane}", {"node_id": crane}),
        ("admin://audit?operation=update&limit=1", {"operation": "update", "limit": 1}),
    ):
        [content] = await admin.client.read_resource(uri)
        assert json.loads(content.text) == await admin.audit(**arguments)


async def test_the_index_is_built_anew_and_every_answer_is_the_same(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts forty tonnes.")
    await admin.call("mark_outdated", node_id=await admin.remember("The tug pulls."))
    database = admin.home / ".holdfast" / "index.db"
    shown, notes = await admin.node(crane), admin.notes()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM texts")
        connection.commit()
    assert await admin.contents("crane forty tonnes") == []
    assert await admin.call("admin_rebuild_index") == {"notes": 3}
    assert await admin.contents("crane forty tonnes") == ["The crane lifts forty tonnes."]
    assert await admin.node(crane) == shown
    assert admin.notes() == notes


async def test_every_call_is_journalled_with_principal_and_note(admin: Admin) -> None:
    crane, tug = await admin.remember("The crane lifts."), await admin.remember("The tug pulls.")
    await admin.call("admin_update_memory", node_id=crane, tier="core")
    await admin.call("admin_connect_memories", source_id=crane, target_id=tug)
    await admin.confirmed("admin_delete_memory", node_id=crane)
    await admin.call("admin_restore_memory", node_id=crane)
    await admin.confirmed("admin_purge", node_id=crane)
    for tool in ("update_memory", "connect_memories", "delete_memory", "restore_memory", "purge"):
        lines = [line for line in admin.journal() if line.get("admin") == f"admin_{tool}"]
        assert lines, tool
        assert {line["by"] for line in lines} == {"local"}
        assert all(crane in json.dumps(line) for line in lines)
