"""Files that are no notes: marked with a reason, touched by nobody, in nobody's way, and found once they are mended."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.engine import runtime as engine_memory
from holdfast.errors import MemoryNotFoundError, QuarantinedError
from holdfast.store.filesystem import FileSystem
from worlds import SERVER, ask, found, keep, living, show

pytestmark = pytest.mark.anyio

ID = "mem_01hf7yat00000000"
OTHER = "mem_01hf7yat00000001"
GOOD = "The ferry leaves from pier seven."


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens in the background, where a file without an id is given one."""
    monkeypatch.setattr(engine_memory, "START_SECONDS", 1e9)


def head(*lines: str) -> bytes:
    return "\n".join(("---", f"id: {ID}", *lines, "---", "The winch needs oil.")).encode()


BOMB = [f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]" for before, name in pairwise("abcdefghi")]

MALFORMED: dict[str, tuple[bytes, str]] = {
    "never closed": (f"---\nid: {ID}\nThe winch needs oil.".encode(), "never closed"),
    "not YAML": (head("title: [one, two", "tags: }"), "not valid YAML"),
    "a list": (f"---\n- id\n- {ID}\n---\nThe winch".encode(), "not a list of keys and values"),
    "key twice": (head("title: one", "title: two"), "stands twice"),
    "key twice in JSON": (head('title: "one"', 'title: "two"'), "stands twice"),
    "alias": (head("tags: &x [a]", "more: *x"), "alias"),
    "alias bomb": (head("a: &a [x,x,x,x,x,x,x,x,x]", *BOMB), "alias"),
    "merge key": (head("x: &x {type: fact}", "<<: *x"), "alias"),
    "python tag": (head("title: !!python/object/apply:os.system ['true']"), "not valid YAML"),
    "deep flow": (head("x: " + "[" * 100_000), "nested too deeply"),
    "deep JSON": (head("x: " + "[" * 100_000 + "]" * 100_000), "nested too deeply"),
    "NUL": (head("title: one") + b"\0\0\0", "NUL"),
    "all NUL": (b"\0" * 4096, "NUL"),
    "not UTF-8": (head("title: one") + b"\xff\xfe", "not UTF-8"),
    "UTF-16": ("---\nid: x\n---\nThe winch".encode("utf-16"), "NUL"),
    "bad id": (b"---\nid: mem_nope\n---\nThe winch", "not a note id"),
    "number as id": (b"---\nid: 12345\n---\nThe winch", "not a note id"),
    "unknown type": (head("type: rumour"), "type is none of"),
    "unknown tier": (head("tier: 9"), "tier is none of"),
    "confidence above one": (head("confidence: 1.5"), "confidence is not a number"),
    "confidence not a number": (head("confidence: .nan"), "confidence is not a number"),
    "confidence true": (head("confidence: true"), "confidence is not a number"),
    "date": (head("created: the day before"), "created is not an ISO-8601"),
    "mapping as title": (head("title: {a: b}"), "title is not a text"),
    "tags as mapping": (head("tags: {a: b}"), "tags is not a list"),
    "links as text": (head("connections: everything"), "connections is not a list"),
    "link to nowhere": (head('connections: [{"to": "../../etc/passwd"}]'), "not a note id"),
    "edge type": (head(f'connections: [{{"to": "{OTHER}", "type": "hates"}}]'), "type is none of"),
    "space of a device": (head("space: nul"), "space"),
    "space of nothing": (head('space: "///"'), "space"),
    "negative sequence": (head("seq: -1"), "seq is not a whole number"),
    "500 kB": (head() + b"x" * 500_000, "longer than"),
}  # fmt: skip


def stamp(path: Path) -> tuple[bytes, int, int, int]:
    """What must stay as it is."""
    status = path.lstat()
    return path.read_bytes(), status.st_mtime_ns, status.st_ino, status.st_mode


def placed(home: Path, data: bytes, name: str = f"work/winch.{ID}.md") -> Path:
    path = home / "memories" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def told(notices: tuple[str, ...]) -> str:
    return " ".join(notice for notice in notices if "Quarantined" in notice)


@pytest.mark.parametrize("harm", MALFORMED)
async def test_a_malformed_file_is_quarantined_with_its_reason_until_it_is_mended(tmp_path: Path, harm: str) -> None:
    data, reason = MALFORMED[harm]
    path = placed(tmp_path, data)
    before = stamp(path)
    async with living(tmp_path) as memory:
        await keep(memory, GOOD)
        answer = await ask(memory, "ferry pier winch oil")
        assert found(answer) == [GOOD]
        assert f"winch.{ID}.md" in told(answer.notices)
        assert reason in told(answer.notices)
        with pytest.raises(QuarantinedError, match="quarantined") as refusal:
            await show(memory, ID)
        assert reason in str(refusal.value)
        assert stamp(path) == before

        path.write_bytes(head())
        answer = await ask(memory, "winch oil")
        assert found(answer) == ["The winch needs oil."]
        assert told(answer.notices) == ""
        assert (await show(memory, ID)).note.content == "The winch needs oil."


@pytest.mark.parametrize("harm", MALFORMED)
async def test_a_note_that_is_broken_by_an_edit_is_no_more_found_and_its_links_are_there_when_it_is_mended(
    tmp_path: Path, harm: str
) -> None:
    data, reason = MALFORMED[harm]
    path = placed(tmp_path, head())
    placed(tmp_path, f'---\nid: {OTHER}\nconnections: [{{"to": "{ID}"}}]\n---\nThe crane.'.encode(), "work/crane.md")
    async with living(tmp_path) as memory:
        assert found(await ask(memory, "winch oil")) == ["The winch needs oil."]
        path.write_bytes(data)
        answer = await ask(memory, "winch oil")
        assert found(answer) == []
        assert reason in told(answer.notices)
        assert (await show(memory, OTHER)).connections == ()
        path.write_bytes(head())
        assert found(await ask(memory, "winch oil")) == ["The winch needs oil."]
        assert [link.id for link in (await show(memory, OTHER)).connections] == [ID]


# What a value must not do to the whole memory: everything else is found, whatever becomes of this one.
STRANGE: dict[str, bytes] = {
    "half a surrogate pair": head('title: "\\ud800"'),
    "half a pair in a tag": head('tags: ["\\udfff"]'),
    "half a pair in a link": head(f'connections: [{{"to": "{OTHER}", "reason": "\\ud83d"}}]'),
    "half a pair in a key nobody reads": head('mood: "\\ud800"'),
    "NUL in a title": head('title: "a\\u0000b"'),
    "400 digits": head("confidence: " + "9" * 400),
    "5000 digits": head("confidence: " + "9" * 5000),
    "400 digits of weight": head(f'connections: [{{"to": "{OTHER}", "weight": {"9" * 400}}}]'),
    "the first moment": head("created: 0001-01-01 00:00:00+14:00", "tags: [a]"),
    "the last moment": head('created: "9999-12-31T23:59:59-14:00"'),
    "an exponent": head("confidence: 1e999"),
    "negative zero": head("confidence: -0.0"),
    "a title of a megabit": head("title: " + "x" * 130_000),
    "a line of 300 kB": head() + b"x" * 300_000,
    "10000 tags": head("tags: [" + ",".join(f"t{number}" for number in range(10_000)) + "]"),
    "bidirectional marks": head('title: "\\u202egro.evil"'),
    "terminal codes": head('title: "\\u001b[2J"'),
    "a byte order mark": b"\xef\xbb\xbf" + head("title: one"),
    "windows line ends": head("title: one").replace(b"\n", b"\r\n"),
    "old mac line ends": head("title: one").replace(b"\n", b"\r"),
    "empty": b"",
    "blank": b" \n\t\n",
    "only frontmatter": f"---\nid: {ID}\n---".encode(),
    "three dashes": b"---",
    "linked to itself": head(f'connections: [{{"to": "{ID}"}}]'),
    "superseded by itself": head(f"superseded_by: {ID}"),
    "merged into itself": head(f"merged_into: {ID}"),
    "superseded by a text": head("superseded_by: ../../etc/passwd"),
    "the Self note's id": head().replace(ID.encode(), b"mem_0000000000000000"),
}


@pytest.mark.parametrize(
    "harm",
    STRANGE,
)
async def test_no_value_of_one_file_stands_in_the_way_of_the_others(tmp_path: Path, harm: str) -> None:
    path = placed(tmp_path, STRANGE[harm], "work/strange.md")
    before = stamp(path)
    placed(tmp_path, GOOD.encode(), "work/good.md")
    async with living(tmp_path) as memory:
        assert GOOD in found(await ask(memory, "ferry pier"))
        await keep(memory, "A note that is stored beside it.")
        assert "A note that is stored beside it." in found(await ask(memory, "stored beside it"))
        await ask(memory, "winch oil", include_outdated=True)
        for note_id in (ID, OTHER):
            with suppress(MemoryNotFoundError, QuarantinedError):
                await show(memory, note_id)
        assert stamp(path) == before


@pytest.mark.parametrize("shape", ["- ", "? ", "- ? "])
def test_yaml_that_is_nested_without_end_does_not_end_the_process(tmp_path: Path, shape: str) -> None:
    """The C parser recurses on the C stack, so the proof is a process of its own."""
    path = tmp_path / "deep.md"
    path.write_bytes(b"---\nx:\n  " + shape.encode() * (300_000 // len(shape)) + b"x\n---\nThe winch")
    program = (
        "import sys; from pathlib import Path; from holdfast.store.codec import MalformedError, parse\n"
        "try: parse(Path(sys.argv[1]).read_bytes())\n"
        "except MalformedError as error: print('quarantined:', error)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, env=environment, check=False
    )
    assert (ended.returncode, ended.stdout[:12]) == (0, "quarantined:"), ended.stderr[-500:]


async def test_a_sparse_file_of_50_megabytes_is_never_read(tmp_path: Path) -> None:
    path = placed(tmp_path, b"")
    os.truncate(path, 50_000_000)
    read: list[Path] = []

    class Watching(FileSystem):
        def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
            read.append(path)
            return super().read(path, most, start)

    async with living(tmp_path, files=Watching()) as memory:
        assert "longer than" in told((await ask(memory, "winch")).notices)
    assert path not in read


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize("kind", ["to a file outside", "to a note inside", "to a folder outside", "loop", "dangling"])
async def test_links_are_not_followed(tmp_path: Path, kind: str) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    placed(outside, b"The outside winch needs oil.", "work/secret.md")
    note = placed(home, GOOD.encode(), "work/good.md")
    link = home / "memories" / "work" / "link.md"
    target = {
        "to a file outside": outside / "memories" / "work" / "secret.md",
        "to a note inside": note,
        "to a folder outside": outside / "memories/work",
        "loop": home / "memories",
        "dangling": outside / "nothing.md",
    }[kind]
    if kind in ("to a folder outside", "loop"):
        link = link.with_name("link")
    link.symlink_to(target)
    async with living(home) as memory:
        answer = await ask(memory, "ferry pier outside winch oil")
        assert found(answer) == [GOOD]
        assert "symbolic link" in told(answer.notices)
        link.unlink()
        link.with_name("link.md").write_bytes(b"The inside winch needs oil.")
        answer = await ask(memory, "inside winch oil")
        assert found(answer) == ["The inside winch needs oil."]
        assert told(answer.notices) == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no fifos here")
async def test_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    placed(tmp_path, GOOD.encode(), "work/good.md")
    os.mkfifo(tmp_path / "memories" / "work" / "fifo.md")
    async with living(tmp_path) as memory:
        answer = await ask(memory, "ferry pier")
        assert found(answer) == [GOOD]
        assert "not a regular file" in told(answer.notices)


async def test_a_note_whose_file_becomes_a_fifo_between_looking_and_reading_is_not_waited_for(tmp_path: Path) -> None:
    path = placed(tmp_path, head())

    class Swapping(FileSystem):
        def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
            if Path(path).name.startswith("winch") and not Path(path).is_fifo():
                Path(path).unlink()
                os.mkfifo(path)
            return super().read(path, most, start)

    async with living(tmp_path, files=Swapping()) as memory:
        assert "cannot be read" in told((await ask(memory, "winch oil")).notices)
        path.unlink()
        path.with_name("mended.md").write_bytes(head())
        assert found(await ask(memory, "winch oil")) == ["The winch needs oil."]


async def test_a_folder_that_is_named_like_a_note_is_a_folder(tmp_path: Path) -> None:
    placed(tmp_path, b"The winch needs oil.", "work/folder.md/inside.md")
    async with living(tmp_path) as memory:
        answer = await ask(memory, "winch oil")
        assert found(answer) == ["The winch needs oil."]
        assert told(answer.notices) == ""
        assert answer.hits[0].note.space == "work"


async def test_hidden_files_and_other_endings_are_nobodys_notes(tmp_path: Path) -> None:
    for name in ("work/.winch.md", ".obsidian/winch.md", "work/winch.md~", "work/winch.txt", "work/#winch.md#"):
        placed(tmp_path, b"The winch needs oil.", name)
    async with living(tmp_path) as memory:
        answer = await ask(memory, "winch oil")
        assert (found(answer), told(answer.notices)) == ([], "")


class Unreadable(FileSystem):
    """A disk that refuses to read some files, as it does to a user who may not."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code
        self.refusing = True

    def read(self, path: Path | str, most: int = -1, start: int = 0) -> bytes:
        if self.refusing and Path(path).name.startswith("winch"):
            raise OSError(self.code, os.strerror(self.code), str(path))
        return super().read(path, most, start)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ELOOP, errno.EISDIR])
async def test_a_file_that_cannot_be_read_is_quarantined_until_it_can(tmp_path: Path, code: int) -> None:
    path = placed(tmp_path, head())
    disk = Unreadable(code)
    async with living(tmp_path, files=disk) as memory:
        await keep(memory, GOOD)
        answer = await ask(memory, "ferry pier winch oil")
        assert found(answer) == [GOOD]
        assert os.strerror(code) in told(answer.notices)
        with pytest.raises(QuarantinedError):
            await show(memory, ID)
        disk.refusing = False
        path.chmod(0o600)
        assert "The winch needs oil." in found(await ask(memory, "winch oil"))


# Two files with one id


def twin(word: str) -> bytes:
    return f"---\nid: {ID}\n---\nThe {word} winch needs oil.".encode()


Names = tuple[str, ...]


@pytest.mark.parametrize("together", [True, False], ids=["found together", "found one by one"])
@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("work/b.md", "work/a.md"), ("work/a.md", "work/b.md")),
        (("work/a.md", f"work/z.{ID}.md"), (f"work/z.{ID}.md", "work/a.md")),
        ((f"work/b.{ID}.md", f"other/a.{ID}.md"), (f"other/a.{ID}.md", f"work/b.{ID}.md")),
        (
            (f"work/z.{ID}.md", "work/c.md", "work/a.md", "work/b.md"),
            (f"work/z.{ID}.md", "work/a.md", "work/b.md", "work/c.md"),
        ),
        (
            ("work/c.md", "work/a.md", "work/b.md", f"work/z.{ID}.md"),
            (f"work/z.{ID}.md", "work/a.md", "work/b.md", "work/c.md"),
        ),
    ],
)
async def test_of_files_with_one_id_the_canonical_name_wins_then_the_smallest_path_and_then_the_next(
    tmp_path: Path, names: Names, order: Names, together: bool
) -> None:
    def word(name: str) -> str:
        return f"w{order.index(name)}w"

    async with living(tmp_path) as memory:
        for name in names:
            placed(tmp_path, twin(word(name)), name)
            if not together:
                await ask(memory, "winch")
        left = list(order)
        while left:
            winner = left[0]
            answer = await ask(memory, "winch oil")
            assert found(answer) == [f"The {word(winner)} winch needs oil."]
            assert await memory.ports.index.problems() == sorted(
                (name, f"it has the same id as {winner}") for name in left[1:]
            )
            assert (await show(memory, ID)).path == winner
            left.remove(winner)
            (tmp_path / "memories" / winner).unlink()
        assert found(await ask(memory, "winch oil")) == []


CHANGES: dict[str, Callable[[Path], object]] = {
    "broken": lambda path: path.write_bytes(b"---\nid: [\n---\n"),
    "given another id": lambda path: path.write_bytes(twin("first").replace(ID.encode(), OTHER.encode())),
    "moved behind": lambda path: path.rename(path.with_name("z.md")),
    "moved out": lambda path: path.rename(path.parents[2] / "elsewhere.md"),
    "made a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_the_twin_is_the_note_as_soon_as_the_winner_is_not(tmp_path: Path, change: str) -> None:
    path = placed(tmp_path, twin("first"), "work/a.md")
    second = placed(tmp_path, twin("second"), "work/b.md")
    before = stamp(second)
    async with living(tmp_path) as memory:
        assert (await show(memory, ID)).path == "work/a.md"
        CHANGES[change](path)
        assert (await show(memory, ID)).note.content == "The second winch needs oil."
        assert stamp(second) == before


async def test_a_quarantined_twin_that_gets_an_id_of_its_own_is_a_note_of_its_own(tmp_path: Path) -> None:
    placed(tmp_path, twin("first"), "work/a.md")
    path = placed(tmp_path, twin("second"), "work/b.md")
    async with living(tmp_path) as memory:
        assert len(found(await ask(memory, "winch oil"))) == 1
        path.write_bytes(twin("second").replace(ID.encode(), OTHER.encode()))
        assert sorted(found(await ask(memory, "winch oil"))) == [
            "The first winch needs oil.", "The second winch needs oil.",
        ]  # fmt: skip
        assert await memory.ports.index.problems() == []


async def test_a_name_in_a_notice_stays_on_one_line_and_rings_no_bell(tmp_path: Path) -> None:
    placed(tmp_path, b"\0", "work/line\nbreak\x07\x1b[2J.md")
    async with living(tmp_path) as memory:
        (notice,) = [text for text in (await ask(memory, "winch")).notices if "Quarantined" in text]
        assert notice.isprintable()


async def test_what_is_quarantined_is_told_the_same_after_a_restart(tmp_path: Path) -> None:
    for number, (data, _) in enumerate(MALFORMED.values()):
        placed(tmp_path, data, f"work/{number:02}.md")
    async with living(tmp_path) as memory:
        await ask(memory, "winch")
        before = await memory.ports.index.problems()
    assert len(before) == len(MALFORMED)
    async with living(tmp_path) as memory:
        await ask(memory, "winch")
        assert await memory.ports.index.problems() == before
    for path in (tmp_path / ".holdfast").iterdir():
        path.unlink()
    async with living(tmp_path) as memory:
        await ask(memory, "winch")
        assert await memory.ports.index.problems() == before
    assert json.dumps(before)


@pytest.mark.parametrize("harm", [b"---\nid: [\n---\n", f"---\nid: {OTHER}\n---\nSomebody else".encode()])
async def test_a_self_note_that_cannot_be_read_stands_in_nobodys_way(tmp_path: Path, harm: bytes) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, GOOD)
        (path,) = (tmp_path / "memories").rglob("*.mem_0000000000000000.md")
        path.write_bytes(harm)
        await keep(memory, "The winch needs oil.")
        assert found(await ask(memory, "winch oil")) == ["The winch needs oil."]
        assert path.read_bytes() == harm
