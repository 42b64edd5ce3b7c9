"""An id that a hand-made file was given in an answer stays its own, whatever happens before it is written."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from plans import let_go
from worlds import ask, keep, memory_on, show

pytestmark = pytest.mark.anyio


def handmade(home: Path, name: str = "winch", text: str = "The winch needs oil.") -> Path:
    path = home / "memories" / "work" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def without_index(home: Path) -> None:
    for path in (home / ".holdfast").glob("*"):
        path.unlink()


async def test_a_link_to_a_hand_made_file_holds_after_a_kill_without_the_index(tmp_path: Path) -> None:
    handmade(tmp_path)
    first = memory_on(tmp_path)
    (hit,) = (await ask(first, "winch oil")).hits
    linked = (await keep(first, "The winch is on the pier.", links=[(hit.note.id, "part_of")])).note.id
    await first.ports.index.aclose()
    let_go(first.ports.store)  # killed: it was not adopted yet
    without_index(tmp_path)
    async with aclosing(memory_on(tmp_path)) as second:
        ends = [item.id for item in (await show(second, linked)).connections if item.type == "part_of"]
        assert ends == [hit.note.id]
        assert (await show(second, hit.note.id)).note.content == "The winch needs oil."


async def test_an_id_that_was_written_into_its_file_is_not_given_to_another_at_the_same_place(tmp_path: Path) -> None:
    path = handmade(tmp_path)
    first = memory_on(tmp_path)
    (hit,) = (await ask(first, "winch oil")).hits
    (item,) = await first.ports.store.load(["work/winch.md"], {"work/winch.md": hit.note.id})
    first.ports.store._stillness.wrote(item.hash)  # as if it had been left alone for a second
    assert await first.ports.store.adopt(item) is not None
    await first.aclose()
    path.rename(path.with_name("moved.md"))
    handmade(tmp_path, text="The winch is green.")
    without_index(tmp_path)
    second = memory_on(tmp_path)
    hits = (await ask(second, "winch")).hits
    assert {found.note.content: found.note.id == hit.note.id for found in hits} == {
        "The winch needs oil.": True, "The winch is green.": False,
    }  # fmt: skip
    await second.aclose()


async def test_an_id_is_written_down_once(tmp_path: Path) -> None:
    handmade(tmp_path)
    memory = memory_on(tmp_path)
    for number in range(3):
        await ask(memory, "winch")
        handmade(tmp_path, text=f"The winch needs oil, {number}.")
    lines = [line for file in (tmp_path / "journal").iterdir() for line in file.read_bytes().splitlines()]
    assert len([line for line in lines if b'"op":"given"' in line]) == 1
    await memory.aclose()
