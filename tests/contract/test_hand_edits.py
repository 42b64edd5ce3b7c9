"""Notes edited by hand: two servers on one folder see each edit at the next recall, and agree on what it says."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.exceptions import ToolError

from holdfast.engine import runtime as engine_memory
from holdfast.engine.runtime import PAUSE_SECONDS
from holdfast.engine.sync import batch as intake
from holdfast.engine.sync import files as reconcile
from holdfast.store.filesystem import Entry, FileSystem, Signature
from worlds import ask, call, found, living, results, serving, until

pytestmark = pytest.mark.anyio

Pair = tuple[Client, Client]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
async def servers(anyio_backend: str, home: Path) -> AsyncIterator[Pair]:
    """Two processes that serve all tests of this module."""
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(serving(home)) for _ in range(2)]
        yield first, second


@pytest.fixture
def memories(home: Path) -> Path:
    """The folder of notes, emptied by hand."""
    folder = home / "memories"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    return folder


@pytest.fixture
async def both(servers: Pair, memories: Path) -> Pair:
    """The two servers, which have both seen that nothing is left."""
    assert [await results(client, "winch oil ferry pier") for client in servers] == [[], []]
    return servers


async def seen(both: Pair, query: str, **given: Any) -> list[dict[str, Any]]:
    """What both find, which must be the same."""
    first, second = [
        [{key: hit[key] for key in ("id", "title", "space", "content", "outdated")} for hit in hits]
        for hits in [await results(client, query, **given) for client in both]
    ]
    assert first == second
    return first


async def texts(both: Pair, query: str, **given: Any) -> list[str]:
    return [hit["content"] for hit in await seen(both, query, **given)]


async def stored(both: Pair, memories: Path, content: str, **given: Any) -> tuple[str, Path]:
    """A note that the first server stored, and its file."""
    note_id = str((await call(both[0], "remember", content=content, **given))["id"])
    return note_id, file_of(note_id, memories)


def file_of(note_id: str, memories: Path) -> Path:
    (path,) = memories.rglob(f"*{note_id}.md")
    return path


def id_line(data: bytes) -> bytes:
    return next(line for line in data.split(b"\n") if line.startswith(b"id: "))


def tick_after(path: Path, probe: Path) -> Callable[[], bool]:
    """Whether what is written now is given a later time than the file has."""

    def passed() -> bool:
        probe.write_bytes(b"")
        return probe.stat().st_mtime_ns > path.stat().st_mtime_ns

    return passed


async def adopted(path: Path, before: bytes) -> bytes:
    """The file's bytes when its id has been written into it."""

    def changed() -> bytes:
        data = path.read_bytes()
        return b"" if data == before else data

    return await until(changed)


async def test_an_edited_body_is_found_by_its_new_words_and_no_more_by_its_old_ones(both: Pair, memories: Path) -> None:
    note_id, path = await stored(both, memories, "The ferry leaves from pier seven.")
    assert [hit["id"] for hit in await seen(both, "which pier")] == [note_id]
    path.write_text(path.read_text("utf-8").replace("pier seven", "gate nineteen"), "utf-8")
    assert await texts(both, "gate nineteen") == ["The ferry leaves from gate nineteen."]
    assert await texts(both, "pier") == []


async def test_edited_keys_count(both: Pair, memories: Path) -> None:
    note_id, path = await stored(both, memories, "The ferry leaves from pier seven.", title="Ferry")
    text = path.read_text("utf-8")
    text = text.replace('title: "Ferry"', 'title: "Boat times"').replace('tier: "working"', 'tier: "core"')
    path.write_text(text.replace("tags: []", 'tags: ["Harbour"]'), "utf-8")
    (hit,) = await seen(both, "boat times", tags=["harbour"], tiers=["core"])
    assert (hit["id"], hit["title"]) == (note_id, "Boat times")


async def test_a_note_marked_outdated_by_hand_is_left_out(both: Pair, memories: Path) -> None:
    _, path = await stored(both, memories, "The ferry leaves from pier seven.")
    path.write_text(path.read_text("utf-8").replace("---\nThe", "outdated: true\n---\nThe"), "utf-8")
    assert await texts(both, "ferry pier") == []
    assert [hit["outdated"] for hit in await seen(both, "ferry pier", include_outdated=True)] == [True]


@pytest.mark.parametrize("frontmatter", ["", "---\ntitle: Winch\n---\n", "---\ntitle: Winch\ntags:\n  - deck\n---\n"])
async def test_a_new_file_is_found_at_once_and_given_its_id_once(both: Pair, memories: Path, frontmatter: str) -> None:
    path = memories / "work" / "winch.md"
    data = f"{frontmatter}The winch needs oil every spring.\r\n\r\n  Trailing spaces stay.  \n\n".encode()
    path.write_bytes(data)
    (hit,) = await seen(both, "winch oil")
    after = await adopted(path, data)
    line = id_line(after)
    assert line == f'id: "{hit["id"]}"'.encode()
    if frontmatter:
        assert after == data.replace(b"---\n", b"---\n" + line + b"\n", 1)
    else:
        assert after == b"---\n" + line + b"\n---\n" + data
    for _ in range(3):
        assert [again["id"] for again in await seen(both, "winch oil")] == [hit["id"]]
    assert path.read_bytes() == after, "the id was written twice"


async def test_two_files_of_one_text_are_one_hit_with_the_other_behind_it(both: Pair, memories: Path) -> None:
    for name in ("winch.md", "copy.md"):
        (memories / "work" / name).write_text("The winch needs oil every spring.\n", "utf-8")
    assert len(await seen(both, "winch oil")) == 1
    (hit,) = await results(both[0], "winch oil")
    assert len(hit["earlier"]) == 1


async def test_a_new_file_keeps_its_date_when_it_is_given_its_id(both: Pair, home: Path, memories: Path) -> None:
    path = memories / "work" / "winch.md"
    path.write_bytes(b"The winch needs oil.")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    assert [hit["created"] for hit in await results(both[0], "winch oil")] == ["2020-09-13T12:26:40Z"]
    await adopted(path, b"The winch needs oil.")
    (home / ".holdfast" / "index.db").unlink()
    for client in both:
        assert [hit["created"] for hit in await results(client, "winch oil")] == ["2020-09-13T12:26:40Z"]


async def test_a_new_file_that_is_still_being_written_is_left_alone(both: Pair, memories: Path) -> None:
    path = memories / "work" / "draft.md"
    text = ""
    for word in ("winch", "winch needs", "winch needs oil"):
        text = word
        written = time.monotonic()
        path.write_text(text, "utf-8")
        assert await texts(both, "winch") == [text]
        await anyio.sleep(3 * PAUSE_SECONDS)  # for what is done behind a request; a third of what is young
        left_alone = path.read_text("utf-8") == text
        assert left_alone or time.monotonic() - written >= 1.0, "nor would it be young: this machine is slow"
    assert (await adopted(path, text.encode())).endswith(b"\n---\nwinch needs oil")


class Dated(FileSystem):
    """A disk whose clock is the test's."""

    now = 0

    def now_ns(self) -> int:
        return self.now


async def test_a_new_file_is_given_its_id_when_it_is_a_second_old_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_memory, "START_SECONDS", 1e9)  # nobody but the test asks for ids to be written
    path = tmp_path / "memories" / "work" / "draft.md"
    path.parent.mkdir(parents=True)
    path.write_text("The winch needs oil.", "utf-8")
    files, written = Dated(), path.stat().st_mtime_ns
    clock = SimpleNamespace(time=lambda: files.now / 1e9, time_ns=lambda: files.now, monotonic=time.monotonic)
    monkeypatch.setattr(reconcile, "time", clock)
    async with living(tmp_path, files=files) as memory:
        assert found(await ask(memory, "winch")) == ["The winch needs oil."]
        for age in (0, 500_000_000, 990_000_000):
            files.now = written + age
            assert await memory._reconciler.adopt() == pytest.approx(1 - age / 1e9, abs=1e-5)
            assert path.read_bytes() == b"The winch needs oil."
        files.now = written + 1_000_000_000
        assert await memory._reconciler.adopt() is None
        assert path.read_bytes().endswith(b"\n---\nThe winch needs oil.")


async def test_a_new_file_with_an_id_of_its_own_keeps_every_byte(both: Pair, memories: Path) -> None:
    path = memories / "work" / "anchor.md"
    data = b"---\nid: mem_01hf7yat00000000\ntitle: Anchor  # mine\n---\nThe anchor weighs two tons.\n"
    path.write_bytes(data)
    assert [hit["id"] for hit in await seen(both, "anchor tons")] == ["mem_01hf7yat00000000"]
    other = memories / "work" / "other.md"
    other.write_text("A file that is adopted after it.", "utf-8")
    await seen(both, "adopted")
    await adopted(other, b"A file that is adopted after it.")
    assert path.read_bytes() == data


async def test_a_renamed_file_is_the_same_note(both: Pair, memories: Path) -> None:
    note_id, path = await stored(both, memories, "The ferry leaves from pier seven.")
    path.rename(path.with_name("my own name for it.md"))
    assert [hit["id"] for hit in await seen(both, "ferry pier")] == [note_id]
    for client in both:
        assert (await call(client, "recall_node", node_id=note_id))["path"].endswith("my own name for it.md")


async def test_a_note_that_names_its_space_keeps_it_wherever_its_file_is_put(both: Pair, memories: Path) -> None:
    note_id, path = await stored(both, memories, "The ferry leaves from pier seven.")
    (memories / "harbour").mkdir()
    path.rename(memories / "harbour" / path.name)
    (hit,) = await seen(both, "ferry pier", spaces=["work"])
    assert hit["id"] == note_id


async def test_a_note_without_a_space_of_its_own_follows_its_folder(both: Pair, memories: Path) -> None:
    path = memories / "work" / "winch.md"
    path.write_text("---\nid: mem_01hf7yat00000000\n---\nThe winch needs oil.\n", "utf-8")
    assert [hit["space"] for hit in await seen(both, "winch oil")] == ["work"]
    (memories / "Öl & Fett").mkdir()
    path.rename(memories / "Öl & Fett" / "winch.md")
    assert [(hit["id"], hit["space"]) for hit in await seen(both, "winch oil")] == [("mem_01hf7yat00000000", "öl-fett")]
    assert await seen(both, "winch oil", spaces=["work"]) == []


async def test_a_deleted_file_is_a_deleted_note(both: Pair, memories: Path) -> None:
    note_id, path = await stored(both, memories, "The ferry leaves from pier seven.")
    assert await texts(both, "ferry pier") != []
    path.unlink()
    assert await texts(both, "ferry pier") == []
    for client in both:
        with pytest.raises(ToolError, match=r"^MemoryNotFoundError"):
            await call(client, "recall_node", node_id=note_id)


async def test_a_deleted_folder_takes_all_its_notes_with_it_and_they_come_back_with_it(
    both: Pair, memories: Path
) -> None:
    for number in range(5):
        await stored(both, memories, f"Ferry number {number} leaves at {number}.")
    assert len(await texts(both, "ferry number leaves")) == 5
    (memories / "work").rename(memories.parent / "elsewhere")
    assert await texts(both, "ferry number leaves") == []
    (memories.parent / "elsewhere").rename(memories / "work")
    assert len(await texts(both, "ferry number leaves")) == 5


async def test_two_files_that_change_places_are_two_notes_that_change_places(
    both: Pair, home: Path, memories: Path
) -> None:
    ferry, one = await stored(both, memories, "The ferry leaves from pier seven.")
    winch, two = await stored(both, memories, "The winch needs oil.")
    one.rename(memories / "kept.tmp")
    two.rename(one)
    (memories / "kept.tmp").rename(two)
    for client in both:
        assert (await call(client, "recall_node", node_id=ferry))["path"] == two.relative_to(home).as_posix()
        assert (await call(client, "recall_node", node_id=winch))["path"] == one.relative_to(home).as_posix()


async def test_every_one_of_many_fast_edits_of_the_same_size_is_seen(both: Pair, memories: Path) -> None:
    """Within one tick of the clock neither the size nor the times of the file change."""
    _, path = await stored(both, memories, "The berth is number 1000.")
    head = path.read_bytes().rpartition(b"The berth")[0]
    await until(tick_after(path, memories.parent / "probe"))
    for number in range(1001, 1061):
        with path.open("r+b") as file:
            file.write(head + f"The berth is number {number}.".encode())
        client = both[number % 2]
        assert [hit["content"] for hit in await results(client, "berth")] == [f"The berth is number {number}."]


class OneTick(FileSystem):
    """A disk whose clock stands still: a file of the same size never looks changed."""

    def __init__(self, now: int) -> None:
        super().__init__()
        self.now = now

    def signature(self, path: Path) -> Signature | None:
        found = super().signature(path)
        return found and self.stopped(found)

    def scan(self, root: Path, suffix: str, **given: Any) -> Iterator[Entry]:
        for entry in super().scan(root, suffix, **given):
            yield Entry(entry.path, entry.kind, self.stopped(entry.signature))

    def look(self, path: str, root: Path, suffix: str) -> Entry | None:
        entry = super().look(path, root, suffix)
        return entry and Entry(entry.path, entry.kind, self.stopped(entry.signature))

    def stopped(self, found: Signature) -> Signature:
        return Signature(self.now, self.now, found.size, found.inode)


@pytest.mark.parametrize("who", ["the same server", "another server"])
@pytest.mark.parametrize("later", [0, 10**9], ids=["within the tick", "a second later"])
async def test_an_edit_within_the_tick_in_which_the_file_was_read_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str, later: int
) -> None:
    now = time.time_ns()
    clock = SimpleNamespace(time_ns=lambda: now, time=time.time, monotonic=time.monotonic)
    monkeypatch.setattr(reconcile, "time", clock)
    monkeypatch.setattr(intake, "time", clock)
    path = tmp_path / "memories" / "work" / "berth.md"
    path.parent.mkdir(parents=True)
    path.write_text("The berth is number 1000.", "utf-8")
    async with living(tmp_path, files=OneTick(now)) as reader, living(tmp_path, files=OneTick(now)) as other:
        assert found(await ask(reader, "berth")) == ["The berth is number 1000."]
        path.write_text("The berth is number 2000.", "utf-8")
        now += later
        asked = reader if who == "the same server" else other
        assert found(await ask(asked, "berth")) == ["The berth is number 2000."]


NAMES = (
    "会議の記録.md", "การประชุม.md", "встреча.md", "बैठक.md", "اجتماع.md", "e\u0301te\u0301.md", "\u00e9t\u00e9.md",
    "with space and 'quotes\".md", "line\nbreak.md", "tab\there.md", "-rf.md", "%s%n.md", "a" * 240 + ".md",
    "mem_zzzz.md", "x.mem_01hf7yat00000009.md", "CON.md", "\u202ereversed.md", "😀.md",
    "back\\slash.md",
)  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="names that only a POSIX file system can hold")
@pytest.mark.parametrize("name", NAMES)
async def test_a_file_may_have_any_name(both: Pair, memories: Path, name: str) -> None:
    path = memories / "work" / name
    path.write_text("The winch needs oil every spring.", "utf-8")
    (hit,) = await seen(both, "winch oil")
    after = await adopted(path, b"The winch needs oil every spring.")
    assert hit["id"].encode() in id_line(after)
    assert [again["id"] for again in await seen(both, "winch oil")] == [hit["id"]]


def notices(answers: Sequence[dict[str, Any]]) -> list[str]:
    return [notice for answer in answers for notice in answer["notices"]]


@pytest.mark.skipif(sys.platform != "linux", reason="names of bytes that are no text exist on Linux only")
@pytest.mark.parametrize("place", ["file", "folder"])
async def test_a_name_that_is_no_text_is_quarantined_and_harms_nothing(both: Pair, memories: Path, place: str) -> None:
    await stored(both, memories, "The ferry leaves from pier seven.")
    name = os.fsdecode(b"wi\xffnch")
    path = memories / "work" / f"{name}.md" if place == "file" else memories / name / "winch.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("The winch needs oil every spring.", "utf-8")
    answers = [await call(client, "recall", query="winch oil ferry pier") for client in both]
    for answer in answers:
        assert [hit["content"] for hit in answer["results"]] == ["The ferry leaves from pier seven."]
        (notice,) = notices([answer])[-1:]
        assert "its name is not valid UTF-8" in notice
        assert "wi%ffnch" in notice
    path.rename(memories / "work" / "winch.md")
    assert await texts(both, "winch oil") == ["The winch needs oil every spring."]
    for client in both:
        assert not [text for text in notices([await call(client, "recall", query="winch")]) if "UTF-8" in text]


async def test_what_one_server_stores_the_other_finds_at_once(both: Pair) -> None:
    first, second = both
    for number in range(5):
        stored_by, asked = (first, second) if number % 2 else (second, first)
        note_id = (await call(stored_by, "remember", content=f"Buoy {number}q is red."))["id"]
        assert [hit["id"] for hit in await results(asked, f"{number}q")] == [note_id]


class Refusing(FileSystem):
    """A disk that does not let files of this name be read, as long as it has one."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        if self.name and Path(path).name == self.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return super().read(path, most, start)


@pytest.mark.parametrize("restarted", [False, True], ids=["asked again", "by the next process"])
@pytest.mark.parametrize("watched", [True, False], ids=["watched", "not watched"])
async def test_what_the_disk_did_not_let_be_read_is_read_when_it_does_though_the_file_is_as_it_was(
    tmp_path: Path, watched: bool, restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not watched:
        monkeypatch.setattr(sys, "platform", "darwin")
    folder = tmp_path / "memories" / "work"
    folder.mkdir(parents=True)
    (folder / "tug.md").write_text("The tug has a draught of three metres.\n")
    os.utime(folder / "tug.md", (1_700_000_000, 1_700_000_000))
    disk = Refusing("tug.md")
    async with living(tmp_path, files=disk) as memory:
        for _ in range(3):  # what stays closed costs no write each time
            assert not (await ask(memory, "tug draught")).hits
            told = await memory.ports.index.files()
            assert "cannot be read" in (told["work/tug.md"].problem or "")
        disk.name = ""
        if not restarted:
            (folder / "tug.md").chmod(0o640)
            with anyio.fail_after(60):  # without a watch, a scan is due after a second or two
                while not (await ask(memory, "tug draught")).hits:
                    assert not watched, "it is looked at again with the next request"
                    await anyio.sleep(0.05)
    async with living(tmp_path) as memory:
        assert (await ask(memory, "tug draught")).hits
