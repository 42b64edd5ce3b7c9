"""Backup and restore through the admin gate, in both protocol eras; and that there is nothing where it is closed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from fastmcp import Client

import holdfast.engine.runtime
from gate import Admin, behind_the_gate
from processes import HOLDFAST, http, stdio
from served import ERAS

pytestmark = pytest.mark.anyio

TOOLS = [
    "admin_backup",
    "admin_restore_backup",
    "admin_accept_integrity",
    "admin_import",
    "admin_export",
    "admin_reencode",
    "admin_list_proposals",
    "admin_resolve_proposal",
    "admin_list_merges",
    "admin_update_memory",
    "admin_connect_memories",
    "admin_delete_memory",
    "admin_restore_memory",
    "admin_undo",
    "admin_undo_merge",
    "admin_list_audit_log",
    "admin_rebuild_index",
    "admin_purge",
]
RESOURCES = [
    "admin://audit{?node,operation,limit}",
    "admin://vault",
    "admin://stats",
    "admin://health",
    "admin://jobs",
    "admin://quarantine",
    "admin://config",
    "admin://tools",
    "admin://proposals",
    "admin://merges",
]


async def test_a_backup_is_made_listed_and_restored(admin: Admin) -> None:
    await admin.call("remember", content="The crane lifts forty tonnes.")
    backup = await admin.call("admin_backup")
    await admin.call("remember", content="The ferry leaves at noon.")
    admin.lose("memories")
    dry = await admin.call("admin_restore_backup", backup_id=backup["backup_id"])
    assert dry["dry_run"]
    assert dry["effect"]["back"] == 2  # the Self note is the other
    assert admin.notes() == {}
    done = await admin.call("admin_restore_backup", backup_id=backup["backup_id"], confirm=dry["confirm"])
    assert not done["dry_run"]
    assert await admin.contents("crane tonnes") == ["The crane lifts forty tonnes."]
    assert await admin.contents("ferry noon") == []
    listed = [each["backup_id"] for each in await admin.vault()]
    assert listed == [done["safety_backup_id"], backup["backup_id"]]


async def test_what_was_stored_after_the_backup_is_in_the_safety_backup(admin: Admin) -> None:
    backup = await admin.call("admin_backup")
    await admin.call("remember", content="The ferry leaves at noon.")
    for _ in range(2):
        dry = await admin.call("admin_restore_backup", backup_id=backup["backup_id"])
        done = await admin.call("admin_restore_backup", backup_id=backup["backup_id"], confirm=dry["confirm"])
        backup = {"backup_id": done["safety_backup_id"]}
    assert await admin.contents("ferry noon") == ["The ferry leaves at noon."]


async def test_a_token_is_for_one_use(admin: Admin) -> None:
    one = (await admin.call("admin_backup"))["backup_id"]
    token = (await admin.call("admin_restore_backup", backup_id=one))["confirm"]
    await admin.call("admin_restore_backup", backup_id=one, confirm=token)
    assert "InvalidArgumentError" in await admin.refused("admin_restore_backup", backup_id=one, confirm=token)


async def test_a_token_is_for_the_backup_it_was_given_for(admin: Admin) -> None:
    one, two = [(await admin.call("admin_backup"))["backup_id"] for _ in range(2)]
    token = (await admin.call("admin_restore_backup", backup_id=one))["confirm"]
    assert "InvalidArgumentError" in await admin.refused("admin_restore_backup", backup_id=two, confirm=token)
    assert "InvalidArgumentError" in await admin.refused("admin_restore_backup", backup_id=one, confirm=token)


async def test_a_token_lasts_five_minutes(admin: Admin) -> None:
    one = (await admin.call("admin_backup"))["backup_id"]
    early, late = [(await admin.call("admin_restore_backup", backup_id=one))["confirm"] for _ in range(2)]
    admin.clock.forward(minutes=4, seconds=50)
    await admin.call("admin_restore_backup", backup_id=one, confirm=early)
    admin.clock.forward(seconds=11)
    assert "InvalidArgumentError" in await admin.refused("admin_restore_backup", backup_id=one, confirm=late)


@pytest.mark.parametrize("wrong", ["", "zanzibar", "0" * 16, "../.."])
async def test_nothing_is_restored_without_the_token(admin: Admin, wrong: str) -> None:
    one = (await admin.call("admin_backup"))["backup_id"]
    await admin.call("remember", content="The ferry leaves at noon.")
    told = await admin.refused("admin_restore_backup", backup_id=one, confirm=wrong)
    assert "zanzibar" not in told
    assert await admin.contents("ferry noon") == ["The ferry leaves at noon."]


async def test_a_harmed_archive_is_refused_by_name(admin: Admin) -> None:
    one = (await admin.call("admin_backup"))["backup_id"]
    token = (await admin.call("admin_restore_backup", backup_id=one))["confirm"]
    admin.cut_archive(one)
    assert (await admin.refused("admin_restore_backup", backup_id=one)).startswith("IntegrityError")
    assert (await admin.refused("admin_restore_backup", backup_id=one, confirm=token)).startswith("IntegrityError")


async def test_an_unknown_backup_is_told_without_its_id(admin: Admin) -> None:
    told = await admin.refused("admin_restore_backup", backup_id="../../zanzibar")
    assert told.startswith("BackupNotFoundError")
    assert "zanzibar" not in told


async def test_every_call_is_journalled_with_its_principal(admin: Admin) -> None:
    one = (await admin.call("admin_backup"))["backup_id"]
    token = (await admin.call("admin_restore_backup", backup_id=one))["confirm"]
    await admin.call("admin_restore_backup", backup_id=one, confirm=token)
    await admin.refused("admin_restore_backup", backup_id="unknown")
    lines = [line for line in admin.journal() if "admin" in line]
    assert [(line["admin"], line["by"], line["outcome"]) for line in lines] == [
        ("admin_backup", "local", "done"),
        ("admin_restore_backup", "local", "done"),
        ("admin_restore_backup", "local", "done"),
        ("admin_restore_backup", "local", "BackupNotFoundError"),
    ]
    assert [line.get("dry_run") for line in lines] == [None, True, None, True]


async def test_the_daily_backup_is_taken_by_itself_and_not_of_nothing(tmp_path: Path, era: str) -> None:
    with (
        patch.object(holdfast.engine.runtime, "BACKUP_START_SECONDS", 0.0),
        patch.object(holdfast.engine.runtime, "BACKUP_LOOK_SECONDS", 0.0),
        patch.object(holdfast.engine.runtime, "START_SECONDS", 0.0),
    ):
        async with behind_the_gate(tmp_path / "home", era, HOLDFAST_VAULT_ENABLED="true") as admin:
            await admin.contents("crane")
            await anyio.wait_all_tasks_blocked()
            assert await admin.vault() == []
            await admin.call("remember", content="The crane lifts forty tonnes.")
            await until_there_are(admin, 1)
            await admin.contents("crane")
            await anyio.wait_all_tasks_blocked()
            assert [each["reason"] for each in await admin.vault()] == ["daily"]
            admin.clock.forward(hours=25)
            await admin.contents("crane")
            await until_there_are(admin, 2)


async def test_the_daily_backup_can_be_switched_off(tmp_path: Path, era: str) -> None:
    with (
        patch.object(holdfast.engine.runtime, "BACKUP_START_SECONDS", 0.0),
        patch.object(holdfast.engine.runtime, "START_SECONDS", 0.0),
    ):
        async with behind_the_gate(tmp_path / "home", era, HOLDFAST_VAULT_ENABLED="false") as admin:
            await admin.call("remember", content="The crane lifts forty tonnes.")
            await anyio.wait_all_tasks_blocked()
            assert await admin.vault() == []
            await admin.call("admin_backup")
            assert len(await admin.vault()) == 1


@pytest.mark.files("it edits a page by hand")
async def test_a_foreign_change_is_reported_until_it_is_accepted(admin: Admin) -> None:
    await admin.call("now_update", current_task="mend the crane", recent_completions=["paint it"])
    assert await admin.call("admin_accept_integrity") == {"accepted": []}
    now = next((admin.home).glob("**/NOW.md"), None) or next((admin.home / "now").iterdir())
    path = now.relative_to(admin.home).as_posix()
    now.write_text(now.read_text("utf-8") + "\nA line of mine.\n", "utf-8")
    assert (await admin.call("integrity_check"))["overall_safe"] is False
    await admin.call("now_update", current_task="rest")
    assert (await admin.call("integrity_check"))["now_md"] is False
    assert "MemoryNotFoundError" in await admin.refused("admin_accept_integrity", paths=["../outside.md"])
    assert await admin.call("admin_accept_integrity", paths=[path]) == {"accepted": [path]}
    assert (await admin.call("integrity_check"))["overall_safe"] is True
    assert "A line of mine." in now.read_text("utf-8")
    assert [line["by"] for line in admin.journal() if line.get("admin") == "admin_accept_integrity"] == ["local"]


async def test_a_restore_raises_no_alarm(admin: Admin) -> None:
    await admin.call("remember", content="The buoy is green.")
    await admin.call("now_update", current_task="mend the crane", recent_completions=["paint it"])
    backup = (await admin.call("admin_backup"))["backup_id"]
    await admin.call("now_update", current_task="rest", recent_completions=["sleep"])
    token = (await admin.call("admin_restore_backup", backup_id=backup))["confirm"]
    await admin.call("admin_restore_backup", backup_id=backup, confirm=token)
    assert (await admin.call("now_read"))["current_task"] == "mend the crane"
    assert (await admin.call("integrity_check"))["overall_safe"] is True
    await admin.call("now_update", current_task="go on")
    assert (await admin.call("integrity_check"))["overall_safe"] is True


@pytest.mark.files("it edits a page by hand")
async def test_a_foreign_change_behind_a_restore_raises_an_alarm(admin: Admin) -> None:
    await admin.call("now_update", current_task="mend the crane")
    backup = (await admin.call("admin_backup"))["backup_id"]
    await admin.confirmed("admin_restore_backup", backup_id=backup)
    now = next((admin.home).glob("**/NOW.md"), None) or next((admin.home / "now").iterdir())
    now.write_text("foreign", "utf-8")
    assert (await admin.call("integrity_check"))["now_md"] is False


async def until_there_are(admin: Admin, count: int) -> None:
    with anyio.fail_after(30):
        while len(await admin.vault()) < count:  # noqa: ASYNC110 - it is about the disk, which tells nobody
            await anyio.sleep(0.02)


@pytest.mark.files("it keeps no notes")
@pytest.mark.parametrize("arguments", [(), ("--admin",)])
def test_over_stdio_the_namespace_is_there_only_with_the_flag(
    environment: dict[str, str], era: str, arguments: tuple[str, ...]
) -> None:
    with stdio(environment, era, (*HOLDFAST, *arguments)) as server:
        server.begin()
        names = [tool["name"] for tool in server.ask("tools/list")["tools"]]
        resources = [
            resource["uri"] for resource in server.ask("resources/list")["resources"] if "admin" in str(resource)
        ]
        admin = {name for name in names if name.startswith("admin")}
        assert admin >= set(TOOLS) if arguments else not admin
        templates = server.ask("resources/templates/list")["resourceTemplates"]
        resources += [each["uriTemplate"] for each in templates if "admin" in str(each)]
        assert set(resources) >= set(RESOURCES) if arguments else not resources
        if not arguments:
            for tool in TOOLS:
                hidden, unknown = (server.tool(name, backup_id="x") for name in (tool, "admin_zanzibar"))
                assert json.dumps(hidden).replace(tool, "") == json.dumps(unknown).replace("admin_zanzibar", "")
            assert failure(server, "admin://vault") == failure(server, "admin://zanzibar")
            assert not (Path(environment["HOLDFAST_HOME"]) / "vault").exists()


def failure(server: Any, uri: str) -> str:
    server.send("resources/read", uri=uri)
    return json.dumps(server.read()["error"]).replace(uri, "")


@pytest.mark.files("it keeps no notes")
async def test_over_http_the_namespace_is_never_there(environment: dict[str, str], era: str) -> None:
    with http(environment, "--admin") as (_, port):
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=era) as client:
            assert [tool.name for tool in await client.list_tools() if tool.name.startswith("admin")] == []
            assert [resource for resource in await client.list_resources() if "admin" in str(resource)] == []
            result = await client.call_tool_mcp("admin_backup", {})
            assert "Unknown tool" in result.content[0].text
    assert "admin_not_served" in (Path(environment["HOME"]) / "stderr").read_text("utf-8")


@pytest.mark.parametrize("era", ERAS[:1])
def test_another_server_sees_the_restored_notes_at_once(environment: dict[str, str], era: str) -> None:
    with stdio(environment, era, (*HOLDFAST, "--admin")) as one, stdio(environment, era) as two:
        one.begin()
        two.begin()
        two.tool("remember", content="The crane lifts forty tonnes.")
        backup_id = one.tool("admin_backup")["structuredContent"]["backup_id"]
        two.tool("remember", content="The ferry leaves at noon.")
        token = one.tool("admin_restore_backup", backup_id=backup_id)["structuredContent"]["confirm"]
        one.tool("admin_restore_backup", backup_id=backup_id, confirm=token)
        assert two.contents("ferry noon") == []
        assert two.contents("crane tonnes") == ["The crane lifts forty tonnes."]
        two.tool("remember", content="The tug is in dock.")
        assert one.contents("tug dock") == ["The tug is in dock."]


async def test_what_waits_for_a_person_is_in_a_backup_too(admin: Admin) -> None:
    one, other = [
        (await admin.call("remember", content=f"The {name} lifts forty tonnes.", tier="core"))["id"]
        for name in ("crane", "old crane")
    ]
    merge = {"keep_id": one, "discard_id": other, "merged_content": "Both cranes lift forty tonnes."}
    await admin.call("run_maintenance", results={"merges": [merge]})
    waiting = await admin.call("admin_list_proposals")
    backup = (await admin.call("admin_backup"))["backup_id"]
    admin.lose("proposals", "memories")
    dry = await admin.call("admin_restore_backup", backup_id=backup)
    await admin.call("admin_restore_backup", backup_id=backup, confirm=dry["confirm"])
    assert await admin.call("admin_list_proposals") == waiting
    [proposal] = waiting["proposals"]
    done = await admin.call("admin_resolve_proposal", proposal_id=proposal["id"], action="approve")
    assert done["status"] == "applied"
