"""A memory that is not kept in a folder, looked into and changed as if it were one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PosixPath
from typing import Any, TypeAlias

import anyio

from holdfast.app import new_note_id
from holdfast.engine.ports import Store
from holdfast.model.records import JournalRecord, is_page, page_key
from holdfast.store.codec import Surroundings, note_of, parse, with_id
from holdfast.store.folder import Folder
from holdfast.store.stored import Change, PageChange, Stored

LAYOUT = Folder(Path("memory"))
NOTES = "memories/"
_SAID = JournalRecord(by="another", source="another")
Texts: TypeAlias = Mapping[str, tuple[bytes, int]]  # what is kept by its path in a folder, with its time


@dataclass
class Picture:
    """Draws what is kept as files below a root, and makes changes as another server does."""

    root: Path
    texts: Callable[[], Texts]
    store: Callable[[], Store]
    drawn: dict[str, tuple[bytes, int]] = field(default_factory=dict)

    def draw(self) -> None:
        texts = self.texts()
        for path in self.drawn.keys() - texts.keys():
            (self.root / path).unlink()
        for path, (data, modified_ns) in texts.items():
            if self.drawn.get(path) != (data, modified_ns):
                file = self.root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
                os.utime(file, ns=(modified_ns, modified_ns))
        self.drawn = dict(texts)

    def put(self, path: str, data: bytes | None) -> None:
        """Make or rewrite a note or page, or take away a note."""
        assert is_page(path) or path.startswith(NOTES), f"{path} is neither note nor page, and no file"
        with ThreadPoolExecutor(1) as apart:  # for an event loop of its own
            apart.submit(anyio.run, _put, self.store(), path, data).result()


async def _put(store: Store, path: str, data: bytes | None) -> None:
    try:
        if path.startswith(NOTES):
            await _put_note(store, path.removeprefix(NOTES), data)
        else:
            await _put_page(store, path, data)
    finally:
        await store.aclose()


async def _put_page(store: Store, path: str, data: bytes | None) -> None:
    assert data is not None, "no tool takes a page away"
    change = PageChange(path, (await store.pages([path])).get(path), data)
    async with store.hold({page_key(path)}), store.commit("put", [change], _SAID):
        pass


async def _put_note(store: Store, path: str, data: bytes | None) -> None:
    (before, *_) = [*await store.load([path], {}), None]
    assert before is None or isinstance(before, Stored)
    change = Change(before, None)
    if data is not None:
        document = parse(data)
        note_id = str(document.values.get("id") or (before.note.id if before else new_note_id()))
        if "id" not in document.values:
            data = with_id(data, document, note_id)
        around = Surroundings(LAYOUT.space_of(path))
        change = Change(before, note_of(parse(data), around, note_id), raw=data, path=path)
    note = change.after or (before and before.note)
    assert note is not None
    async with store.hold({note.id}), store.commit("put", [change], _SAID):
        pass  # its index takes it in when it looks; no tool has a verb of this name


_PICTURES: dict[str, Picture] = {}  # by their roots


class Seen(PosixPath):
    """A path in a picture. Whoever looks sees what is kept now; a note that is written or removed by it is kept so."""

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        self._picture()[0].draw()
        return super().stat(follow_symlinks=follow_symlinks)

    def iterdir(self) -> Iterator[Seen]:  # type: ignore[override]  # Python 3.11 says Generator
        self._picture()[0].draw()
        return iter([*super().iterdir()])

    def glob(self, pattern: str, **options: Any) -> Iterator[Seen]:  # type: ignore[override]
        self._picture()[0].draw()
        return iter([*super().glob(pattern, **options)])

    def rglob(self, pattern: str, **options: Any) -> Iterator[Seen]:  # type: ignore[override]
        self._picture()[0].draw()
        return iter([*super().rglob(pattern, **options)])

    def exists(self, **options: Any) -> bool:
        self._picture()[0].draw()
        return super().exists(**options)

    def is_file(self, **options: Any) -> bool:
        self._picture()[0].draw()
        return super().is_file(**options)

    def open(self, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        picture, path = self._picture()
        assert set(mode) <= set("rbt"), f"{path} is no file: use write_text, write_bytes or unlink"
        picture.draw()
        return super().open(mode, *arguments, **options)

    def write_bytes(self, data: Any) -> int:
        picture, path = self._picture()
        picture.put(path, bytes(data))
        return len(data)

    def write_text(self, data: str, *_: Any, **__: Any) -> int:
        return self.write_bytes(data.encode())

    def unlink(self, missing_ok: bool = False) -> None:
        picture, path = self._picture()
        assert self.exists() or missing_ok
        picture.put(path, None)

    def rename(self, target: Any) -> Any:
        raise AssertionError(f"{self} is no file to be renamed to {target}")

    def touch(self, *_: Any, **__: Any) -> None:
        raise AssertionError(f"{self} is no file: use write_text")

    def symlink_to(self, target: Any, target_is_directory: bool = False) -> None:  # noqa: ARG002 - as Path has it
        raise AssertionError(f"{self} is no file that could lead to {target}")

    def chmod(self, mode: int, *, follow_symlinks: bool = True) -> None:  # noqa: ARG002 - as Path has it
        raise AssertionError(f"{self} is no file that could have the mode {mode}")

    def _picture(self) -> tuple[Picture, str]:
        for root in (self, *self.parents):
            if str(root) in _PICTURES:
                return _PICTURES[str(root)], self.relative_to(root).as_posix()
        raise AssertionError(f"{self} is in no picture")


def shown(root: Path, texts: Callable[[], Texts], store: Callable[[], Store]) -> Path:
    """The root of a picture; it is made where there is none yet."""
    if str(root) not in _PICTURES:
        for name in ("memories", "journal", "history", "trash/conflicts"):  # which a folder always has
            (root / name).mkdir(parents=True)
        _PICTURES[str(root)] = Picture(root, texts, store)
    return Seen(root)


def forget_below(folder: Path) -> None:
    """No picture below it is drawn any more."""
    for root in [root for root in _PICTURES if Path(root).is_relative_to(folder)]:
        del _PICTURES[root]
