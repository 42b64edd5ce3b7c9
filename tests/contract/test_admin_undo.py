"""Undo: whatever changed a note, its file is byte for byte what it was, or nothing is done."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from unittest.mock import patch

import anyio
import pytest

from gate import Admin, behind_the_gate
from holdfast.engine.sync import files as reconcile
from served import SELF

pytestmark = pytest.mark.anyio

BY_HAND = '---\n# mine\ntags: [crane, "forty tonnes"]\nmood: {good: yes}\n---\nThe crane, by hand.\r\nNo line end'


async def supersede(admin: Admin, crane: str, _belief: str) -> str:
    return await admin.last_change(await admin.remember("The crane was sold.", supersedes=[crane]))


async def outdate(admin: Admin, crane: str, _belief: str) -> str:
    return str((await admin.call("mark_outdated", node_id=crane, reason="sold"))["change_id"])


async def believe(admin: Admin, crane: str, belief: str) -> str:
    await admin.call("belief_update", belief_id=belief, evidence_memory_id=crane, supports=True, strength=0.5)
    return await admin.last_change(belief)


async def update(admin: Admin, crane: str, _belief: str) -> str:
    answer = await admin.call("admin_update_memory", node_id=crane, content="A tug.", space="sea", tags=["tug"])
    return str(answer["change_id"])


async def connect(admin: Admin, crane: str, belief: str) -> str:
    return str((await admin.call("admin_connect_memories", source_id=crane, target_id=belief))["change_id"])


async def delete(admin: Admin, crane: str, _belief: str) -> str:
    return str((await admin.confirmed("admin_delete_memory", node_id=crane))["change_id"])


async def store(admin: Admin, crane: str, _belief: str) -> str:
    return await admin.last_change(await admin.remember("The ferry leaves at noon.", links=[crane]))


async def judge(admin: Admin, **results: object) -> str:
    [outcome] = (await admin.call("run_maintenance", results=results))["outcomes"]
    assert outcome["status"] == "applied", outcome
    return str(outcome["change_id"])


async def merge(admin: Admin, crane: str, belief: str) -> str:
    texts = {"merged_title": "Both", "merged_content": "Cranes are safe and lift."}
    return await judge(admin, merges=[{"keep_id": crane, "discard_id": belief, **texts}])


async def consolidate(admin: Admin, crane: str, belief: str) -> str:
    told = {"node_ids": [crane, belief], "title": "Cranes", "content": "Cranes are safe and lift.", "type": "fact"}
    return await judge(admin, consolidations=[told])


async def evolve(admin: Admin, crane: str, belief: str) -> str:
    return await judge(admin, edges=[{"node_a_id": crane, "node_b_id": belief, "edge_type": "evolved_from"}])


Verb = Callable[[Admin, str, str], Awaitable[str]]
VERBS: tuple[Verb, ...] = (
    supersede, outdate, believe, update, connect, delete, store, merge, consolidate, evolve,
)  # fmt: skip


async def two_notes(admin: Admin) -> tuple[str, str]:
    crane = await admin.remember("The crane lifts forty tonnes.", session="talk", tags=["heavy"])
    belief = (await admin.call("memory_store", content="Cranes are safe.", memory_type="belief"))["memory_id"]
    return crane, str(belief)


async def test_every_change_of_a_note_can_be_undone_and_that_too(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    before = admin.notes()
    for verb in VERBS:
        change = await verb(admin, crane, belief)
        after = admin.notes()
        assert after != before, verb
        undone = await admin.call("admin_undo", change_id=change)
        assert (undone["status"], undone["undoes"]) == ("undone", change)
        assert admin.notes() == before, verb
        assert (await admin.contents("crane lifts forty tonnes"))[0] == "The crane lifts forty tonnes.", verb
        await admin.call("admin_undo", change_id=undone["change_id"])
        assert admin.notes() == after, verb
        assert (await admin.call("admin_undo", change_id=change))["status"] == "undone", verb  # it counts again
        assert admin.notes() == before, verb
        trash = [path.name for path in (admin.files / "trash").rglob("*.md")]
        assert not [name for name in trash if crane in name or belief in name], verb


async def test_after_a_restart_and_without_the_old_index_changes_undone_in_turn_lead_back_to_the_beginning(
    tmp_path: Path, era: str
) -> None:
    home = tmp_path / "home"
    async with behind_the_gate(home, era) as admin:
        crane, belief = await two_notes(admin)
        before = admin.notes()
        changes = [await verb(admin, crane, belief) for verb in (update, connect, believe, supersede, outdate, delete)]
    shutil.rmtree(home / ".holdfast")
    async with behind_the_gate(home, era) as admin:
        for change in changes[:-1]:
            assert "conflict" in await admin.refused("admin_undo", change_id=change)
        for change in reversed(changes):
            assert (await admin.call("admin_undo", change_id=change))["status"] == "undone"
        assert admin.notes() == before


async def test_what_was_undone_is_not_undone_twice(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    change = await update(admin, crane, belief)
    first = await admin.call("admin_undo", change_id=change)
    before = admin.notes()
    again = await admin.call("admin_undo", change_id=change)
    assert (again["status"], again["change_id"]) == ("already_undone", first["change_id"])
    assert admin.notes() == before


async def test_a_note_that_changed_since_is_a_conflict_and_nothing_is_done(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    change = await believe(admin, crane, belief)
    file = admin.file_of(crane)
    file.write_text(file.read_text("utf-8") + "A line of mine.\n", "utf-8")
    before = admin.notes()
    assert "conflict" in await admin.refused("admin_undo", change_id=change)
    assert admin.notes() == before
    stored = await store(admin, crane, belief)
    note = (await admin.audit(limit=1))[0]["nodes"][0]
    await update(admin, note, belief)
    before = admin.notes()
    assert "UndoConflictError" in await admin.refused("admin_undo", change_id=stored)
    assert admin.notes() == before


@pytest.mark.files("the note is written by hand")
async def test_a_hand_written_file_comes_back_as_its_writer_left_it(admin: Admin) -> None:
    file = admin.files / "memories" / "Überseehafen" / "von Hand.md"
    await two_notes(admin)
    file.parent.mkdir()
    file.write_bytes(BY_HAND.encode())
    old = 1_500_000_000
    os.utime(file, (old, old))
    with patch.object(reconcile, "STILL_SECONDS", math.inf):  # no file is given its id, however long this takes
        note = next(
            each for each in (await admin.call("recall", query="crane by hand"))["results"] if "hand" in each["content"]
        )
        change = (await admin.call("mark_outdated", node_id=note["id"]))["change_id"]
        assert file.read_bytes() != BY_HAND.encode()
        await admin.call("admin_undo", change_id=change)
        assert file.read_bytes() == BY_HAND.encode()
    shown = await admin.node(note["id"])
    assert (shown["created"], shown["content"]) == (note["created"], note["content"])
    with anyio.fail_after(30):  # its id is written into it again
        while note["id"].encode() not in file.read_bytes():
            await anyio.sleep(0.05)
            await admin.contents("crane")
    shutil.rmtree(admin.home / ".holdfast")
    assert (await admin.node(note["id"]))["created"] == note["created"]


async def test_a_deletion_is_not_undone_where_another_text_was_deleted_since(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    first = await delete(admin, crane, belief)
    await admin.call("admin_restore_memory", node_id=crane)
    await update(admin, crane, belief)
    second = await delete(admin, crane, belief)
    assert "conflict" in await admin.refused("admin_undo", change_id=first)
    await admin.call("admin_undo", change_id=second)
    assert (await admin.node(crane))["content"] == "A tug."


@pytest.mark.files("the file is renamed by hand")
async def test_a_renamed_file_is_put_back_under_the_name_that_its_owner_gave_it(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    original = admin.file_of(crane).read_bytes()
    change = await update(admin, crane, belief)
    mine = admin.files / "memories" / "mine.md"
    admin.file_of(crane).rename(mine)
    await admin.call("admin_undo", change_id=change)
    assert mine.read_bytes() == original


@pytest.mark.files("a file takes the name by hand")
async def test_a_deleted_note_comes_back_beside_a_file_that_took_its_name(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    file = admin.file_of(crane)
    original = file.read_bytes()
    change = await delete(admin, crane, belief)
    file.write_text("Somebody else's words.", "utf-8")
    assert "conflict" in await admin.refused("admin_undo", change_id=change)  # by its name it is the same note
    other = file.with_name("words.md")
    file.rename(other)
    await admin.call("admin_undo", change_id=change)
    assert admin.file_of(crane).read_bytes() == original
    assert other.read_text("utf-8").endswith("Somebody else's words.")


@pytest.mark.parametrize("tool", ["admin_undo", "admin_restore_memory"])
async def test_a_deleted_note_comes_back_beside_another_note_that_has_its_name_by_now(admin: Admin, tool: str) -> None:
    """A person may have named a file so; in a database such names come with a folder that is loaded."""
    crane, belief = await two_notes(admin)
    file = admin.file_of(crane)
    original, other = file.read_bytes(), f"{crane[:-4]}zzzz"
    change = await delete(admin, crane, belief)
    file.write_text(f"---\nid: {other}\ncreated: 2026-01-01T00:00:00Z\n---\nThe tug is for hire.\n", "utf-8")
    assert "The tug is for hire." in await admin.contents("tug for hire")
    await admin.call(tool, **({"change_id": change} if tool == "admin_undo" else {"node_id": crane}))
    assert (await admin.node(crane))["content"] == "The crane lifts forty tonnes."
    assert (await admin.node(other))["content"] == "The tug is for hire."
    assert [path.read_bytes() for path in (admin.files / "memories").rglob("*.md")].count(original) == 1
    assert (await admin.contents("crane lifts forty tonnes"))[0] == "The crane lifts forty tonnes."


async def test_the_self_note_stays_when_the_note_that_came_with_it_goes(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts forty tonnes.")
    undone = await admin.call("admin_undo", change_id=await admin.last_change(crane))
    assert [each["id"] for each in undone["notes"]] == [crane]
    assert [name.rpartition(".")[0].rpartition(".")[2] for name in admin.notes()] == [SELF]


async def test_a_purged_text_cannot_come_back(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    superseding = await supersede(admin, crane, belief)
    change = await delete(admin, crane, belief)
    await admin.confirmed("admin_purge", node_id=crane)
    before = admin.notes()
    assert "IntegrityError" in await admin.refused("admin_undo", change_id=change)
    assert "UndoConflictError" in await admin.refused("admin_undo", change_id=superseding)
    assert admin.notes() == before


async def test_a_merge_is_undone_after_a_confirmation_and_ids_lead_to_both_notes_again(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    pointing = await admin.remember("See the belief.", links=[{"to": belief, "type": "supports"}])
    before = admin.notes()
    for verb in (merge, consolidate):
        change = await verb(admin, crane, belief)
        after = admin.notes()
        dry = await admin.call("admin_undo_merge", merge_id=change)
        assert (dry["status"], {each["id"] for each in dry["notes"]} >= {crane, belief}) == ("dry_run", True)
        assert admin.notes() == after
        assert "InvalidArgumentError" in await admin.refused("admin_undo_merge", merge_id=change, confirm="0" * 16)
        done = await admin.call("admin_undo_merge", merge_id=change, confirm=dry["confirm"])
        assert done["status"] == "undone"
        assert admin.notes() == before
        assert [(await admin.node(each))["id"] for each in (crane, belief)] == [crane, belief]
        edges = [(each["id"], each["type"], each["direction"]) for each in (await admin.node(belief))["connections"]]
        assert (pointing, "supports", "in") in edges
        assert (await admin.call("admin_undo_merge", merge_id=change))["status"] == "already_undone"


async def test_a_merge_whose_kept_note_changed_since_is_a_conflict_and_the_other_note_says_how_it_comes_back(
    admin: Admin,
) -> None:
    crane, belief = await two_notes(admin)
    change = await merge(admin, crane, belief)
    assert change in await admin.refused("admin_restore_memory", node_id=belief)
    later = await update(admin, crane, belief)
    before = admin.notes()
    assert "conflict" in await admin.refused("admin_undo_merge", merge_id=change)
    assert admin.notes() == before
    await admin.call("admin_undo", change_id=later)
    await admin.confirmed("admin_undo_merge", merge_id=change)
    assert (await admin.node(belief))["content"] == "Cranes are safe."


@pytest.mark.parametrize("wrong", ["", "zanzibar", "chg_zanzibar", "chg_0000000000000000", '","op":"'])
async def test_an_unknown_change_is_told_without_its_name(admin: Admin, wrong: str) -> None:
    await two_notes(admin)
    told = await admin.refused("admin_undo", change_id=wrong)
    assert "ChangeNotFoundError" in told
    assert "zanzibar" not in told
    assert "ChangeNotFoundError" in await admin.refused("admin_undo_merge", merge_id=wrong)


async def test_a_change_of_pages_and_one_that_is_no_merge_are_refused(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    await admin.call("now_update", current_task="mend the crane")
    pages = next(line["change"] for line in admin.journal() if "now" in str(line.get("op")))
    assert "InvalidArgumentError" in await admin.refused("admin_undo", change_id=pages)
    change = await update(admin, crane, belief)
    assert "InvalidArgumentError" in await admin.refused("admin_undo_merge", merge_id=change)


async def test_undo_is_journalled_with_its_principal_and_what_it_undid(admin: Admin) -> None:
    crane, belief = await two_notes(admin)
    change = await update(admin, crane, belief)
    undone = await admin.call("admin_undo", change_id=change)
    line = next(line for line in admin.journal() if line.get("change") == undone["change_id"])
    assert (line["op"], line["undoes"], line["by"], line["admin"]) == ("undo", change, "local", "admin_undo")
    entries = {each["change_id"]: each for each in await admin.audit(node_id=crane)}
    assert entries[change]["undone_by"] == undone["change_id"]
    assert entries[undone["change_id"]]["undoes"] == change


@pytest.mark.parametrize("how", ["purged", "edited by hand"])
async def test_a_merged_note_comes_back_by_itself_where_the_merge_cannot_be_undone_any_more(
    admin: Admin, how: str
) -> None:
    crane, belief = await two_notes(admin)
    before = admin.file_of(belief).read_bytes()
    change = await merge(admin, crane, belief)
    if how == "purged":
        await admin.confirmed("admin_purge", node_id=crane)
    else:
        file = admin.file_of(crane)
        file.write_text(file.read_text("utf-8") + "\nGreased on Mondays.\n", "utf-8")
    assert "UndoConflictError" in await admin.refused("admin_undo_merge", merge_id=change)
    await admin.call("admin_restore_memory", node_id=belief)
    assert admin.file_of(belief).read_bytes() == before
    assert (await admin.node(belief))["id"] == belief
    third = await admin.remember("Cranes are safe to work with.")
    await merge(admin, third, belief)
    assert (await admin.node(belief))["id"] == third, "the first heir does not stand for it any more"
