"""Backups that were harmed or forged: each is refused with its name, and nothing of the folder is changed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import IntegrityError
from holdfast.model.records import JournalRecord
from holdfast.store.stored import Backup, Manifest, Packed, is_ours, read_manifest
from vaults import Store, fill, opened, tree

pytestmark = pytest.mark.anyio

Members = list[tuple[tarfile.TarInfo, bytes]]
Files = dict[str, Packed]


async def assert_refused(store: Store, home: Path, backup_id: str) -> None:
    before, around = tree(home), sorted(str(path) for path in home.parent.rglob("*") if "vault" not in path.parts)
    for call in (store.vault.verify, lambda each: store.vault.restore(each, JournalRecord())):
        with pytest.raises(IntegrityError):
            await call(backup_id)
    assert tree(home) == before
    assert sorted(str(path) for path in home.parent.rglob("*") if "vault" not in path.parts) == around
    assert not [path for path in (home / "vault").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("at", [0, 10, 0.3, 0.6, -9, -1])
async def test_a_changed_byte_of_an_archive_is_found(tmp_path: Path, at: float) -> None:
    home = tmp_path / "home"
    fill(home, 5)
    async with opened(home) as store:
        backup = await store.vault.back_up("a test")
        archive = home / "vault" / f"{backup.backup_id}.tar.gz"
        data = bytearray(archive.read_bytes())
        data[int(at * len(data)) if 0 < at < 1 else int(at)] ^= 0x40
        archive.write_bytes(data)
        await assert_refused(store, home, backup.backup_id)


@pytest.mark.parametrize("harm", [
    lambda data: data[: len(data) // 2],
    lambda _data: b"",
    lambda data: data + b"more",
    lambda _data: b"not an archive at all",
])  # fmt: skip
async def test_a_cut_or_replaced_archive_is_found(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    home = tmp_path / "home"
    fill(home, 5)
    async with opened(home) as store:
        backup = await store.vault.back_up("a test")
        archive = home / "vault" / f"{backup.backup_id}.tar.gz"
        archive.write_bytes(harm(archive.read_bytes()))
        await assert_refused(store, home, backup.backup_id)


@pytest.mark.parametrize("harm", [
    lambda text: text.replace('"file_count": ', '"file_count": 1'),
    lambda text: text.replace('"retention_days": 90', '"retention_days": 9'),
    lambda text: text.replace("NOW.md", "../NOW.md"),
    lambda text: text.replace('"checksum": "', '"checksum": "0'),
    lambda text: text[: len(text) // 2],
    lambda _text: "",
    lambda _text: "{}",
    lambda _text: "[" * 10_000,
    lambda text: text.replace('"seal": "', '"seal": "0'),
    lambda text: json.dumps(json.loads(text)),
])  # fmt: skip
async def test_a_changed_manifest_is_found(tmp_path: Path, harm: Callable[[str], str]) -> None:
    home = tmp_path / "home"
    fill(home, 5)
    async with opened(home) as store:
        backup = await store.vault.back_up("a test")
        manifest = home / "vault" / f"{backup.backup_id}.json"
        manifest.write_text(harm(manifest.read_text("utf-8")), "utf-8")
        await assert_refused(store, home, backup.backup_id)


def forged(home: Path, members: Members, files: Files, *, size: int | None = None) -> str:
    """A backup whose checksums all fit, with these members and this manifest."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as out, tarfile.open(mode="w", fileobj=out) as archive:
        for member, data in members:
            archive.addfile(member, io.BytesIO(data))
    backup_id = "omi_backup_full_20261121_105500_000000_0123abcd"
    data = packed.getvalue()
    total = sum(file.size for file in files.values()) if size is None else size
    backup = Backup(backup_id, "full", "forged", "2026-11-21T10:55:00Z", len(files), total, len(data),
                    hashlib.sha256(data).hexdigest(), 90)  # fmt: skip
    (home / "vault").mkdir(exist_ok=True)
    (home / "vault" / f"{backup_id}.tar.gz").write_bytes(data)
    (home / "vault" / f"{backup_id}.json").write_bytes(Manifest(backup, files).render())
    return backup_id


def member(
    name: str, data: bytes = b"text", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    return info, data


def packed(data: bytes = b"text", size: int | None = None) -> Packed:
    return Packed(hashlib.sha256(data).hexdigest(), len(data) if size is None else size, 0)


GOOD = "memories/harbour/a.md"

FORGERIES: dict[str, tuple[Members, Files]] = {
    "out of the folder": ([member("../../escaped.md")], {"../../escaped.md": packed()}),
    "out of the folder, further in": ([member("memories/../../x.md")], {"memories/../../x.md": packed()}),
    "an absolute path": ([member("/escaped.md")], {"/escaped.md": packed()}),
    "a path that the manifest has otherwise": ([member("/memories/harbour/a.md")], {GOOD: packed()}),
    "a symbolic link": ([member(GOOD, b"", tarfile.SYMTYPE, "/etc/passwd")], {GOOD: packed(b"")}),
    "a hard link": ([member(GOOD), member("memories/b.md", b"", tarfile.LNKTYPE, GOOD)],
                    {GOOD: packed(), "memories/b.md": packed(b"")}),
    "a device": ([member(GOOD, b"", tarfile.CHRTYPE)], {GOOD: packed(b"")}),
    "a fifo": ([member(GOOD, b"", tarfile.FIFOTYPE)], {GOOD: packed(b"")}),
    "a folder": ([member(GOOD, b"", tarfile.DIRTYPE)], {GOOD: packed(b"")}),
    "an unknown folder": ([member(".ssh/authorized_keys")], {".ssh/authorized_keys": packed()}),
    "the vault itself": ([member("vault/restore.json")], {"vault/restore.json": packed()}),
    "the index": ([member(".holdfast/index.db")], {".holdfast/index.db": packed()}),
    "an unknown file": ([member("run.sh")], {"run.sh": packed()}),
    "a file more": ([member(GOOD), member("memories/b.md")], {GOOD: packed()}),
    "a file twice": ([member(GOOD), member(GOOD)], {GOOD: packed()}),
    "a file less": ([member(GOOD)], {GOOD: packed(), "memories/b.md": packed()}),
    "another text": ([member(GOOD, b"evil")], {GOOD: packed(b"text")}),
    "a longer text": ([member(GOOD, b"x" * 10_000_000)], {GOOD: packed(b"text")}),
    "a bomb": ([member(GOOD, bytes(50_000_000))], {GOOD: packed(bytes(50_000_000))}),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGERIES)
async def test_a_forged_archive_is_refused(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    fill(home, 2)
    async with opened(home) as store:
        members, files = FORGERIES[kind]
        backup_id = forged(home, members, files, size=100 if kind == "a bomb" else None)
        await assert_refused(store, home, backup_id)
    assert not (tmp_path / "escaped.md").exists()


async def test_a_forged_archive_without_harm_would_be_restored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home, 2)
    async with opened(home) as store:
        await store.vault.restore(forged(home, [member(GOOD)], {GOOD: packed()}), JournalRecord())
    assert list(tree(home)) == [GOOD]


async def test_an_archive_that_is_a_link_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home, 2)
    async with opened(home) as store:
        backup = await store.vault.back_up("a test")
        archive = home / "vault" / f"{backup.backup_id}.tar.gz"
        archive.rename(tmp_path / "elsewhere")
        archive.symlink_to(tmp_path / "elsewhere")
        await assert_refused(store, home, backup.backup_id)


async def test_a_manifest_under_another_name_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    fill(home, 2)
    async with opened(home) as store:
        one = await store.vault.back_up("a test")
        other = await store.vault.back_up("a test")
        vault = home / "vault"
        (vault / f"{one.backup_id}.json").write_bytes((vault / f"{other.backup_id}.json").read_bytes())
        assert await store.vault.backups() == [other]
        await assert_refused(store, home, one.backup_id)


def test_a_manifest_comes_back_as_it_was() -> None:
    backup = Backup("id", "full", "a test", "2026-11-21T10:55:00Z", 1, 4, 9, "0" * 64, 90, ("memories/é",), masked=True)
    manifest = Manifest(backup, {"memories/caf\udce9.md": packed()})
    assert read_manifest(manifest.render()) == manifest
    with pytest.raises(IntegrityError):
        read_manifest(Manifest(replace(backup, file_count=2), manifest.files).render())


@pytest.mark.parametrize("path", [
    "", ".", "..", "memories", "memories/", "memories//a", "memories/./a", "memories/../a", "/memories/a",
    "a/memories/b",
    "NOW.md/a/..", "now.md", "locks/00", ".holdfast/index.db", "memories/a\0b", "memories/" + "x" * 256, "vault/x",
    "memories/\ud800",
])  # fmt: skip
def test_a_name_that_no_backup_holds(path: str) -> None:
    assert not is_ours(path)
