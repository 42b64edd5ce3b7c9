"""A person can erase: after a purge no byte of a note is anywhere in the folder, nor in a backup made afterwards."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from pathlib import Path

import anyio
import pytest

from gate import Admin, behind_the_gate
from holdfast.model.records import checksum
from holdfast.store.journal import read_line
from served import kept_in
from unpacked import unpack

pytestmark = pytest.mark.anyio

WORDS = ("zanzibar", "quixotic", "wombat", "marzipan", "obelisk", "xylophone")
FERRY = "The ferry leaves at noon."


def in_a_folder(admin: Admin) -> bool:
    return admin.files == admin.home


async def led_a_full_life(admin: Admin) -> tuple[str, str]:
    """A note whose words are in every place that there is, and one beside it."""
    note = await admin.remember("The zanzibar crane.", title="A wombat's crane", session="talk", tags=["obelisk"])
    ferry = await admin.remember(FERRY, session="talk", links=[note])
    for content in ("The quixotic crane.", "The marzipan crane."):
        await admin.call("admin_update_memory", node_id=note, content=content)
    renamed = admin.file_of(note)
    if in_a_folder(admin):
        renamed = renamed.rename(renamed.with_name(f"xylophone-obelisk.{note}.md"))
    renamed.write_text(renamed.read_text("utf-8") + "\nA xylophone, by hand.\n", "utf-8")
    await admin.call("recall", query="zanzibar wombat quixotic marzipan crane")
    await admin.call("submit_feedback", node_id=note, signal=1)
    await admin.call("submit_feedback", node_id=ferry, signal=-1)
    await admin.call("admin_connect_memories", source_id=note, target_id=ferry, edge="supports")
    await admin.confirmed("admin_delete_memory", node_id=note)
    await admin.call("admin_restore_memory", node_id=note)
    await admin.call("mark_outdated", node_id=note, reason="obelisk", superseded_by=ferry)
    belief = (await admin.call("memory_store", content="Boats are slow.", memory_type="belief"))["memory_id"]
    await admin.call("belief_update", belief_id=belief, evidence_memory_id=note, supports=True, strength=0.5)
    change = next(each["change_id"] for each in await admin.audit(operation="mark_outdated"))
    await admin.refused("admin_undo", change_id=change)
    if in_a_folder(admin):
        kept = admin.files / "trash" / "conflicts" / f"chg_0000000000000000.0.zanzibar.{note}.md"
        kept.write_text("a wombat's torn text", "utf-8")
    (admin.files / "memories" / "twin.md").write_bytes(renamed.read_bytes())
    return note, ferry


@pytest.mark.parametrize("encoder", ["none", "builtin"])
async def test_no_byte_of_a_purged_note_stays(tmp_path: Path, era: str, encoder: str) -> None:
    home = tmp_path / "home"
    async with behind_the_gate(home, era, HOLDFAST_ENCODER=encoder) as admin, behind_the_gate(home, era) as peer:
        note, ferry = await led_a_full_life(admin)
        assert (await peer.node(ferry))["content"] == FERRY  # its index is open
        others = {path: data for path, data in admin.notes().items() if note not in path}
        lines = [line["seq"] for line in admin.journal()]
        dry = await admin.call("admin_purge", node_id=note)
        assert dry["dry_run"]
        assert (dry["files"], dry["backups"]) == (2, [])
        assert dry["history"] >= 4
        assert len(admin.holding(*WORDS)) >= dry["files"] + dry["history"] + dry["trash"]
        done = await admin.call("admin_purge", node_id=note, confirm=dry["confirm"])
        assert (done["dry_run"], done["id"]) == (False, note)
        if not in_a_folder(admin):  # each server has an index of its own, and hears of it when it is asked next
            assert (await peer.node(ferry))["content"] == FERRY
        assert admin.holding(*WORDS) == []
        assert admin.notes() == {path: data for path, data in others.items() if path != "twin.md"}
        for who in (admin, peer):
            assert (await who.node(ferry))["content"] == FERRY
            assert "MemoryNotFoundError" in await who.refused("recall_node", node_id=note)
        assert [line["seq"] for line in admin.journal()][: len(lines)] == lines
        for file in (kept_in(home) / "journal").iterdir():
            assert all(read_line(line) is not None for line in file.read_bytes().splitlines())
        if in_a_folder(admin):
            await no_byte_is_in_a_backup(admin)
    assert admin.holding(*WORDS) == []
    shutil.rmtree(home / ".holdfast")
    async with behind_the_gate(home, era) as anew:
        assert (await anew.node(ferry))["content"] == FERRY
        assert anew.holding(*WORDS) == []


async def no_byte_is_in_a_backup(admin: Admin) -> None:
    backup = (await admin.call("admin_backup"))["backup_id"]
    with tarfile.open(admin.home / "vault" / f"{backup}.tar.gz") as archive:
        unpack(archive, admin.home / "unpacked")
    assert admin.holding(*WORDS) == []


async def test_a_deleted_note_can_be_purged_from_the_trash(admin: Admin) -> None:
    note = await admin.remember("The zanzibar crane.")
    ferry = await admin.remember(FERRY)
    await admin.confirmed("admin_delete_memory", node_id=note)
    await admin.confirmed("admin_purge", node_id=note[:-1])
    assert admin.holding("zanzibar") == []
    assert (await admin.node(ferry))["content"] == FERRY
    assert "MemoryNotFoundError" in await admin.refused("admin_restore_memory", node_id=note)


@pytest.mark.parametrize("deleted", [False, True])
async def test_of_a_purged_note_it_is_not_said_what_became_of_it(admin: Admin, deleted: bool) -> None:
    note = await admin.remember("The zanzibar crane.")
    if deleted:
        await admin.confirmed("admin_delete_memory", node_id=note)
        assert "names no note any more: it was deleted at" in await admin.refused("recall_node", node_id=note)
    await admin.confirmed("admin_purge", node_id=note)
    assert "node_id names no note. Find it with recall." in await admin.refused("recall_node", node_id=note)


async def test_a_merged_note_is_purged_alone_and_the_answer_names_the_one_that_has_its_words(admin: Admin) -> None:
    note, ferry = await admin.remember("The zanzibar crane."), await admin.remember(FERRY)
    await admin.call("run_maintenance", results={"merges": [{"keep_id": ferry, "discard_id": note}]})
    done = await admin.confirmed("admin_purge", node_id=note)
    assert (done["id"], done["told_by"], done["files"]) == (note, [ferry], 0)
    assert admin.holding("zanzibar") == []
    assert (await admin.node(ferry))["content"] == FERRY


@pytest.mark.files("it writes files by hand")
async def test_a_note_whose_file_a_person_removed_leaves_no_history_either(admin: Admin) -> None:
    note = await admin.remember("The zanzibar crane.")
    await admin.call("admin_update_memory", node_id=note, content="The quixotic crane.")
    admin.file_of(note).unlink()
    assert "MemoryNotFoundError" in await admin.refused("admin_purge", node_id=note[:-2])
    await admin.confirmed("admin_purge", node_id=note)
    assert admin.holding("zanzibar", "quixotic") == []


async def test_backups_from_before_are_named_and_others_not(admin: Admin) -> None:
    without = (await admin.call("admin_backup"))["backup_id"]
    note = await admin.remember("The zanzibar crane.")
    with_it = (await admin.call("admin_backup"))["backup_id"]
    done = await admin.confirmed("admin_purge", node_id=note)
    assert done["backups"] == [with_it]
    assert without not in done["backups"]
    token = (await admin.call("admin_restore_backup", backup_id=with_it))["confirm"]
    await admin.call("admin_restore_backup", backup_id=with_it, confirm=token)
    assert (await admin.node(note))["content"] == "The zanzibar crane."  # as was told
    changes = [line["change"] for line in admin.journal() if "change" in line]
    assert len(changes) == len(set(changes))


async def test_a_text_that_another_note_has_too_is_kept_for_it(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.engine.sync.files.STILL_SECONDS", 3600)  # with their ids they are not alike
    await admin.remember(FERRY)
    for name in ("one", "two"):
        (admin.files / "memories" / f"{name}.md").write_text("Alike, a zanzibar.", "utf-8")
    (found,) = (await admin.call("recall", query="alike zanzibar"))["results"]  # one text is one hit
    notes = {found["id"], *re.findall(r"mem_\w+", " ".join(found["earlier"]))}
    for note in notes:
        await admin.call("mark_outdated", node_id=note)
    first, second = sorted(notes)
    change = await admin.last_change(second)
    await admin.confirmed("admin_purge", node_id=first)
    await admin.call("admin_undo", change_id=change)
    assert (await admin.node(second))["content"] == "Alike, a zanzibar."


async def test_a_purge_is_confirmed_for_one_note_as_it_was(admin: Admin) -> None:
    note, other = await admin.remember("The zanzibar crane."), await admin.remember(FERRY)
    before = admin.notes()
    token = (await admin.call("admin_purge", node_id=note))["confirm"]
    assert "InvalidArgumentError" in await admin.refused("admin_purge", node_id=other, confirm=token)
    token = (await admin.call("admin_purge", node_id=note))["confirm"]
    await admin.call("admin_update_memory", node_id=note, tags=["new"])
    assert "InvalidArgumentError" in await admin.refused("admin_purge", node_id=note, confirm=token)
    token = (await admin.call("admin_purge", node_id=note))["confirm"]
    admin.file_of(note).write_text(f"---\nid: {note}\n---\nA zanzibar, by hand.\n", "utf-8")
    assert "InvalidArgumentError" in await admin.refused("admin_purge", node_id=note, confirm=token)
    token = (await admin.call("admin_purge", node_id=note))["confirm"]
    admin.clock.forward(minutes=5, seconds=1)
    assert "InvalidArgumentError" in await admin.refused("admin_purge", node_id=note, confirm=token)
    assert admin.notes().keys() == before.keys()


async def test_others_go_on_storing_while_a_note_is_purged(tmp_path: Path, era: str) -> None:
    home = tmp_path / "home"
    async with behind_the_gate(home, era) as admin, behind_the_gate(home, era) as peer:
        note = await admin.remember("The zanzibar crane.")
        kept: list[str] = []

        async def store() -> None:
            kept.extend([await peer.remember(f"Crate {number} holds rope.") for number in range(12)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store)
            await admin.confirmed("admin_purge", node_id=note)
        for number, each in enumerate(kept):
            assert (await admin.node(each))["content"] == f"Crate {number} holds rope."
        assert admin.holding("zanzibar") == []


async def test_a_belief_is_purged_from_every_capsule_and_the_rest_of_these_stays(admin: Admin) -> None:
    stored = [("Zanzibar is the best harbour.", 0.9), ("Ferries are punctual.", 0.8)]
    beliefs = [
        (await admin.call("memory_store", content=text, memory_type="belief", confidence=sure))["memory_id"]
        for text, sure in stored
    ]
    await admin.call("now_update", current_task="Paint the buoy.")
    torn = admin.files / "capsules" / "20260101T000000.000000Z.json"
    torn.write_text(f"Zanzibar, {beliefs[0]}", "utf-8")
    await admin.confirmed("admin_purge", node_id=beliefs[0])
    assert admin.holding("zanzibar") == []
    [capsule] = [json.loads(path.read_text("utf-8")) for path in (admin.files / "capsules").iterdir()]
    assert [item["memory_id"] for item in capsule["beliefs"]] == beliefs[1:]
    assert (capsule["intent"], capsule["recent"]) == ("Paint the buoy.", beliefs[1:])
    assert capsule["checksum"] == checksum(capsule)


@pytest.mark.files("it writes files by hand")
async def test_a_purge_does_not_make_a_foreign_change_trusted(tmp_path: Path, era: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "MEMORY.md").write_text("Mine.", "utf-8")
    async with behind_the_gate(home, era) as admin:
        note = await admin.remember("The zanzibar crane.")  # its line of the journal tells how the page looked
        (home / "MEMORY.md").write_text("Not mine.", "utf-8")
        await admin.confirmed("admin_purge", node_id=note)
        assert not (await admin.call("integrity_check"))["memory_md"]
    async with behind_the_gate(home, era) as anew:
        assert not (await anew.call("integrity_check"))["memory_md"]
