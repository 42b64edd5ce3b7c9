"""The vault: what a backup holds, that a restore brings it back byte for byte, and how long backups are kept."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import pytest

from holdfast.errors import BackupNotFoundError, StorageError
from holdfast.model.records import JournalRecord
from holdfast.store.filesystem import FileSystem
from holdfast.store.stored import BACKUP_ID
from served import Clock
from vaults import fill, opened, tree, wreck

pytestmark = pytest.mark.anyio


def journal(home: Path) -> list[dict[str, Any]]:
    lines = [line for file in sorted((home / "journal").iterdir()) for line in file.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def remove_all_but_the_vault(home: Path) -> None:
    for path in home.iterdir():
        if path.name != "vault":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


async def wrecked_and_restored(home: Path) -> None:
    """A folder that is backed up, wrecked and restored is as it was."""
    before = tree(home)
    async with opened(home) as store:
        backup = await store.vault.back_up("a test")
        wreck(home)
        await store.vault.restore(backup.backup_id, JournalRecord())
    assert tree(home) == before


@pytest.mark.timeout(240)
async def test_ten_thousand_notes_that_were_wrecked_are_restored_byte_for_byte(tmp_path: Path) -> None:
    fill(tmp_path, 10_000)
    await wrecked_and_restored(tmp_path)
    assert not [path for path in (tmp_path / "vault").iterdir() if path.name.startswith(".")]


async def test_a_folder_of_which_only_the_vault_is_left_is_restored(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    (tmp_path / "config.yaml").write_text("space: harbour\n")
    tops = ("memories", "NOW.md", "now", "daily", "MEMORY.md", "capsules", "trash", "history", "config.yaml")
    async with opened(tmp_path) as store:
        await store.notes.record(JournalRecord("a line to be kept"))
        before, lines = tree(tmp_path, tops), journal(tmp_path)
        backup = await store.vault.back_up("a test")
    remove_all_but_the_vault(tmp_path)
    async with opened(tmp_path) as store:
        await store.notes.record(JournalRecord("begun anew"))
        await store.vault.restore(backup.backup_id, JournalRecord())
    assert tree(tmp_path, tops) == before
    kept = [line["op"] for line in journal(tmp_path) if "op" in line]
    assert kept == ["begun anew", *[line["op"] for line in lines if "op" in line], "restore"]
    numbers = [line["seq"] for line in journal(tmp_path)]
    assert numbers == sorted(set(numbers))


async def test_restoring_twice_tells_the_journal_nothing_twice(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    async with opened(tmp_path) as store:
        await store.notes.record(JournalRecord("kept"))
        backup = await store.vault.back_up("a test")
        shutil.rmtree(tmp_path / "journal")
        for _ in range(2):
            await store.vault.restore(backup.backup_id, JournalRecord())
    assert [line["op"] for line in journal(tmp_path) if "op" in line] == ["kept", "restore", "restore"]


async def test_what_was_there_before_a_restore_can_be_restored(tmp_path: Path) -> None:
    fill(tmp_path, 20)
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        wreck(tmp_path)
        wrecked = tree(tmp_path)
        restored = await store.vault.restore(backup.backup_id, JournalRecord())
        assert restored.safety.reason == "before restore"
        await store.vault.restore(restored.safety.backup_id, JournalRecord())
    assert tree(tmp_path) == wrecked


async def test_the_restore_is_journalled_with_the_sums_of_the_pages(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        wreck(tmp_path)
        await store.vault.restore(backup.backup_id, JournalRecord(by="somebody"))
    line = next(line for line in journal(tmp_path) if line.get("op") == "restore")
    assert line["backup"] == backup.backup_id
    assert line["by"] == "somebody"
    assert sorted(line["pages"]) == ["MEMORY.md", "NOW.md", "daily/2026-11-20.md", "now/harbour.md"]


async def test_what_came_after_the_backup_stays_in_journal_history_and_trash(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        await store.notes.record(JournalRecord("later"))
        (tmp_path / "trash" / "later.md").write_text("deleted later")
        (tmp_path / "trash" / "deleted.md").unlink()
        await store.vault.restore(backup.backup_id, JournalRecord())
    assert "later" in [line.get("op") for line in journal(tmp_path)]
    assert sorted(path.name for path in (tmp_path / "trash").iterdir() if path.is_file()) == ["deleted.md", "later.md"]


async def test_the_manifest_names_every_file_with_its_hash(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    (tmp_path / "locks").mkdir()
    (tmp_path / ".holdfast").mkdir()
    (tmp_path / ".holdfast" / "index.db").write_text("derived")
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        assert await store.vault.verify(backup.backup_id) == backup
    assert BACKUP_ID.fullmatch(backup.backup_id)
    manifest = json.loads((tmp_path / "vault" / f"{backup.backup_id}.json").read_text())
    with tarfile.open(tmp_path / "vault" / f"{backup.backup_id}.tar.gz") as archive:
        assert sorted(archive.getnames()) == sorted(manifest["files"])
    assert manifest["file_count"] == len(manifest["files"])
    assert {path.split("/")[0] for path in manifest["files"]} == {
        "memories", "NOW.md", "now", "MEMORY.md", "daily", "capsules", "trash", "history",
    }  # fmt: skip


async def test_ids_differ_within_one_moment_and_lists_are_newest_first(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    moment = datetime.now(UTC)
    async with opened(tmp_path, clock=lambda: moment) as store, opened(tmp_path, clock=lambda: moment) as other:
        made = [(await each.vault.back_up("a test")).backup_id for each in (store, other, store)]
        moment += timedelta(seconds=1)
        last = await other.vault.back_up("a test")
        listed = [backup.backup_id for backup in await store.vault.backups()]
    assert len(set(made)) == 3
    assert listed[0] == last.backup_id
    assert sorted(listed[1:]) == sorted(made)


async def test_backups_are_kept_for_their_time_and_the_newest_for_ever(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    clock = Clock()
    async with opened(tmp_path, clock=clock, retention_days=90) as store:
        old = await store.vault.back_up("a test")
        stranger = tmp_path / "vault" / "omi_backup_full_20200101_000000.tar.gz"
        stranger.write_text("a person's own")
        clock.forward(days=89)
        middle = await store.vault.back_up("a test")
        assert [b.backup_id for b in await store.vault.backups()] == [middle.backup_id, old.backup_id]
        clock.forward(days=2)
        await store.vault.restore(old.backup_id, JournalRecord())  # which removes nothing
        assert old in await store.vault.backups()
        new = await store.vault.back_up("a test")
        assert old not in await store.vault.backups()
        clock.forward(days=1000)
        assert (await store.vault.backups())[0] == new
        last = await store.vault.back_up("a test")
        assert await store.vault.backups() == [last]
    assert stranger.exists()


async def test_a_daily_backup_is_made_once_a_day_by_one_of_two(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    clock = Clock()
    made = []
    async with opened(tmp_path, clock=clock) as store, opened(tmp_path, clock=clock) as other:

        async def make(vault: Any) -> None:
            made.append(await vault.back_up_when_due(timedelta(days=1), "daily", 0.0))

        async with anyio.create_task_group() as tasks:
            for each in (store, other):
                tasks.start_soon(make, each.vault)
        assert sum(backup is not None for backup in made) == 1
        clock.forward(hours=23)
        await make(other.vault)
        assert made[-1] is None
        clock.forward(hours=2)
        await make(other.vault)
        assert made[-1] is not None


async def test_a_backup_of_the_future_does_not_make_every_look_one_more(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    clock = Clock()
    async with opened(tmp_path, clock=clock) as store:
        clock.forward(days=400)
        wrong = await store.vault.back_up("daily")
        clock.forward(days=-400)
        made = [await store.vault.back_up_when_due(timedelta(days=1), "daily", 0.0) for _ in range(3)]
        assert [backup is not None for backup in made] == [True, False, False]
        clock.forward(hours=25)
        assert await store.vault.back_up_when_due(timedelta(days=1), "daily", 0.0) is not None
        assert wrong in await store.vault.backups()


@pytest.mark.parametrize(
    "backup_id",
    ["", "..", "../vault/x", "/etc/passwd", "omi_backup_full_20261121_105500_000000_0123abcd", "x" * 5000, "a\0b",
     "omi_backup_full_20261121_105500_000000_0123abcd\n", "*"],
)  # fmt: skip
async def test_an_id_that_no_backup_has_is_refused(tmp_path: Path, backup_id: str) -> None:
    fill(tmp_path, 1)
    before = tree(tmp_path)
    async with opened(tmp_path) as store:
        await store.vault.back_up("a test")
        for call in (store.vault.verify(backup_id), store.vault.restore(backup_id, JournalRecord())):
            with pytest.raises(BackupNotFoundError):
                await call
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("text", "comes_back"),
    [
        ("space: harbour  # as it is\nembedding: {api_key: '${NIM_API_KEY}'}\n", True),
        ("embedding: {api_key: hunter2hunter2}\n", False),
        ("auth: {tokens: [{token: hunter2hunter2, client_id: me}]}\n", False),
        ("""auth_tokens: '[{"token": "hunter2-hunter2", "client_id": "me"}]'\n""", False),
        ("""auth: {tokens: '[{"token": "hunter2-hunter2", "client_id": "me"}]'}\n""", False),
        ("auth: {tokens: [{token: 222333444555, client_id: me}]}\n", False),
        ("passwords: {me: hunter2-hunter2}\nkeys: [hunter2-hunter2]\n", False),
        ("max_now_tokens: 2000\nstorage: {max_now_tokens: '2000'}\n", True),
    ],
)
async def test_no_key_of_the_configuration_is_in_a_backup(tmp_path: Path, text: str, comes_back: bool) -> None:
    fill(tmp_path, 1)
    (tmp_path / "config.yaml").write_text(text)
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        with tarfile.open(tmp_path / "vault" / f"{backup.backup_id}.tar.gz") as archive:
            member = archive.extractfile("config.yaml")
            assert member is not None
            assert not re.search(rb"hunter2|222333", member.read())
        await store.vault.restore(backup.backup_id, JournalRecord())
        assert (tmp_path / "config.yaml").read_text() == text
        (tmp_path / "config.yaml").unlink()
        await store.vault.restore(backup.backup_id, JournalRecord())
        assert (tmp_path / "config.yaml").exists() == comes_back


async def test_what_cannot_be_read_is_told_and_not_lost_by_a_restore(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    async with opened(tmp_path) as store:
        first = await store.vault.back_up("a test")
        (tmp_path / "memories" / "link.md").symlink_to("/etc/hostname")
        os.mkfifo(tmp_path / "memories" / "pipe.md")
        second = await store.vault.back_up("a test")
        assert sorted(second.left_out) == ["memories/link.md", "memories/pipe.md"]
        restored = await store.vault.restore(first.backup_id, JournalRecord())
        kept = tmp_path / "trash" / f"replaced.{restored.safety.backup_id}" / "memories" / "link.md"
        assert kept.is_symlink()


async def test_names_that_are_no_text_come_back(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    (tmp_path / "memories" / os.fsdecode(b"caf\xe9.md")).write_bytes(b"latin-1")
    await wrecked_and_restored(tmp_path)


async def test_an_empty_folder_can_be_backed_up_and_restored(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        backup = await store.vault.back_up("a test")
        (tmp_path / "memories" / "later.md").write_text("later")
        await store.vault.restore(backup.backup_id, JournalRecord())
        assert list((tmp_path / "memories").iterdir()) == []


async def test_a_disk_without_second_names_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_arguments: object, **_options: object) -> None:
        raise PermissionError(1, "no second names here")

    monkeypatch.setattr(os, "link", no_links)
    fill(tmp_path, 5)
    await wrecked_and_restored(tmp_path)


async def test_a_plan_that_cannot_be_read_stops_everything_with_a_sentence(tmp_path: Path) -> None:
    fill(tmp_path, 1)
    before = tree(tmp_path)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "restore.json").write_text('{"staging": "../../elsewhere", "tops": ["memories"]}')
    with pytest.raises(StorageError, match=r"restore\.json"):
        async with opened(tmp_path):
            pass
    assert tree(tmp_path) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
async def test_a_backup_that_finds_the_disk_full_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    class Full(FileSystem):
        def begin(self, path: Path) -> BinaryIO:
            super().begin(path).close()
            return Path("/dev/full").open("wb")

    fill(tmp_path, 1)
    async with opened(tmp_path, files=Full()) as store:
        with pytest.raises(StorageError, match="No space left on device"):
            await store.vault.back_up("a test")
    assert not [path for path in (tmp_path / "vault").iterdir() if path.suffix != ".json"]
