"""The disk, one step at a time: what it never replaces, and whether somebody else has a file open."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock

import pytest

from disks import without_exchange
from holdfast.store import filesystem
from holdfast.store.filesystem import FileSystem
from holdfast.store.locks import lone_reader

WAYS = {"renamed": nullcontext, "linked": without_exchange}
ways = pytest.mark.parametrize("way", WAYS)


@contextmanager
def appearing(path: Path) -> Iterator[None]:
    """Somebody makes this file when it was looked for and before anything is done."""
    lexists, link = os.path.lexists, os.link

    def late_link(*names: Path) -> None:
        path.write_bytes(b"mine")
        link(*names)

    def late_look(looked: Path) -> bool:
        found = lexists(looked)
        path.write_bytes(b"mine")
        return found

    renamed = filesystem._renameat2()

    def late_rename(*arguments: object) -> bool:
        path.write_bytes(b"mine")
        return renamed is not None and renamed(*arguments)  # type: ignore[arg-type]

    with (
        mock.patch.object(os, "link", late_link),
        mock.patch.object(os.path, "lexists", late_look),
        mock.patch.object(filesystem, "_renameat2", return_value=late_rename if renamed else None),
    ):
        yield


@ways
def test_a_move_never_replaces_what_appears_in_that_moment(way: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"ours")
    with WAYS[way](), appearing(target), pytest.raises(FileExistsError):
        FileSystem().move(source, target)
    assert (source.read_bytes(), target.read_bytes()) == (b"ours", b"mine")


@ways
def test_a_move_gives_a_file_or_a_folder_its_new_name_only(way: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"ours")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    with WAYS[way]():
        for name in ("file", "folder", "link"):
            FileSystem().move(tmp_path / name, tmp_path / f"new {name}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new file", "new folder", "new link"]
    assert (tmp_path / "new file").read_bytes() == b"ours"


@ways
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_a_move_refuses_a_name_that_is_taken(way: str, kind: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    if kind == "file":
        target.write_bytes(b"mine")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to("nowhere")
    (tmp_path / "source").write_bytes(b"ours")
    with WAYS[way](), pytest.raises(FileExistsError):
        FileSystem().move(tmp_path / "source", target)
    assert (tmp_path / "source").read_bytes() == b"ours"


def alone(path: Path) -> bool | None:
    with lone_reader(path) as found:
        return found


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell who has a file open")
def test_whoever_has_a_file_open_for_writing_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    if alone(path) is None:
        pytest.skip("this disk cannot tell who has a file open")
    with path.open("rb"):
        assert alone(path) is True
    with path.open("r+b") as file:
        assert alone(path) is False
        mapped = mmap.mmap(file.fileno(), 10)
    assert alone(path) is False, "a mapping that can be written into is as good as an open file"
    mapped.close()
    assert alone(path) is True


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell who has a file open")
def test_whoever_wants_to_write_meanwhile_waits_and_the_process_lives(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with lone_reader(path) as found:
        if found is None:
            pytest.skip("this disk cannot tell who has a file open")
        with pytest.raises(BlockingIOError):
            os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    path.write_bytes(b"new")
    assert path.read_bytes() == b"new"
