"""Things in the folder that are no notes, and notes with names and places that nobody expects.

Whatever lies there, all other notes are stored and found, the answer says what is left out, nothing outside changes.
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from processes import most_memory, stdio, until
from served import ERAS, SPACE, Agent, assert_named, serving

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="links, fifos and names that only a POSIX system has"),
]

ID = "mem_01hf7yat00000000"
GOOD = "The ferry leaves from pier seven."
SECRET = "The outside winch needs oil."  # noqa: S105 - what must not be found
FOUND = "The inside anchor is rusty."
GIGABYTE = 1 << 30
DEEP = 1500  # more folders in folders than Python lets a function call itself


def witness(root: Path) -> dict[str, tuple[int, ...]]:
    """All that a disk says of a folder and of everything in it, but for when it was read."""

    def look(path: Path) -> tuple[int, ...]:
        now = path.lstat()
        content = hash(path.read_bytes()) if stat.S_ISREG(now.st_mode) else 0
        return (now.st_mode, now.st_uid, now.st_gid, now.st_ino, now.st_nlink, now.st_size, now.st_mtime_ns,
                now.st_ctime_ns, content)  # fmt: skip

    return {str(path): look(path) for path in (root, *root.rglob("*"))}


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that is not ours; whatever a test does, it stays as it is."""
    folder = tmp_path / "outside"
    (folder / "inner").mkdir(parents=True)
    (folder / "note.md").write_text(SECRET)
    (folder / "inner" / f"winch.{ID}.md").write_text(f"---\nid: {ID}\n---\n{SECRET}")
    before = witness(folder)
    yield folder
    assert witness(folder) == before


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The memory folder; taken away by a tool that has no limit of depth."""
    folder = tmp_path / "memory"
    (folder / "memories" / SPACE).mkdir(parents=True)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def nest(folder: Path, name: str, depth: int) -> None:
    """Folders in folders with a note at the bottom, deeper than a path can tell."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=handle)
        handle, above = os.open(name, os.O_RDONLY, dir_fd=handle), handle
        os.close(above)
    note = os.open("anchor.md", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=handle)
    os.write(note, FOUND.encode())
    os.close(note)
    os.close(handle)


def listen(path: Path) -> None:
    """A socket with a name, and nobody behind it."""
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        with closing(socket.socket(socket.AF_UNIX)) as server:
            server.bind(f"/proc/self/fd/{handle}/{path.name}" if sys.platform == "linux" else str(path))
    finally:
        os.close(handle)


def circle(folder: Path) -> None:
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, GIGABYTE)


def inside(folder: Path) -> None:
    folder.mkdir()
    (folder / "anchor.md").write_text(FOUND)


@dataclass(frozen=True)
class Harm:
    """What is put into a space's folder, what an answer must say of it, and which note is found all the same."""

    place: Callable[[Path, Path], object]
    said: str = ""
    found: str = ""


LINK = "symbolic link"
IRREGULAR = "not a regular file"
HARMS = {
    "a link to itself": Harm(lambda here, _: (here / "round").symlink_to("round")),
    "a link to itself that is named like a note": Harm(lambda here, _: (here / "x.md").symlink_to("x.md"), LINK),
    "two links in a circle": Harm(lambda here, _: circle(here)),
    "a link to the folder above": Harm(lambda here, _: (here / "up").symlink_to(".."), LINK),
    "a link to the top of the disk": Harm(lambda here, _: (here / "top").symlink_to("/"), LINK),
    "a link to a file outside": Harm(lambda here, out: (here / "x.md").symlink_to(out / "note.md"), LINK),
    "a link to a folder outside": Harm(lambda here, out: (here / "x").symlink_to(out), LINK),
    "a link to a folder outside with a note's name": Harm(lambda here, out: (here / "x.md").symlink_to(out), LINK),
    "a link to nothing": Harm(lambda here, _: (here / "x.md").symlink_to("nothing.md"), LINK),
    "a link to a device": Harm(lambda here, _: (here / "x.md").symlink_to("/dev/zero"), LINK),
    "a link below a file": Harm(lambda here, out: (here / "x").symlink_to(out / "note.md" / "x")),
    "a link with a target of 4000 characters": Harm(lambda here, _: (here / "x").symlink_to("x" * 4000)),
    "a fifo": Harm(lambda here, _: os.mkfifo(here / "x.md"), IRREGULAR),
    "a socket": Harm(lambda here, _: listen(here / "x.md"), IRREGULAR),
    "a gigabyte": Harm(lambda here, _: sparse(here / "x.md"), "longer than"),
    "a folder with a note's name": Harm(lambda here, _: inside(here / "x.md"), found=FOUND),
    "a name that is no text": Harm(lambda here, _: Path(os.fsdecode(bytes(here) + b"/\xff.md")).touch(), "not valid"),
    "a name of 255 bytes": Harm(lambda here, _: (here / f"{'a' * 252}.md").write_text(FOUND), found=FOUND),
    "a name of 255 bytes in another script": Harm(
        lambda here, _: (here / f"{'é' * 126}.md").write_text(FOUND), found=FOUND
    ),
    "a name with a line end and a bell": Harm(lambda here, _: (here / "a\n\a.md").write_text(FOUND), found=FOUND),
    "folders deeper than Python recurses": Harm(lambda here, _: nest(here, "d", DEEP), found=FOUND),
    "folders deeper than a path can tell": Harm(lambda here, _: nest(here, "d" * 200, 30), "Quarantined"),
}  # fmt: skip
if hasattr(os, "mknod") and os.geteuid() == 0:  # nobody else may make one
    HARMS["a device"] = Harm(lambda here, _: os.mknod(here / "x.md", stat.S_IFCHR | 0o600, os.makedev(1, 5)), IRREGULAR)


async def all_is_well(agent: Agent, word: str, harm: Harm) -> None:
    """Notes are stored and found beside it, and the answer says what is wrong."""
    await agent.remember(f"The {word} is green.")
    answer = await agent.recall(f"{word} ferry pier winch anchor")
    texts = [hit["content"] for hit in answer["results"]]
    assert {GOOD, f"The {word} is green."} <= set(texts)
    assert SECRET not in texts
    assert harm.found in ("", *texts)
    assert harm.said in " ".join(answer["notices"])


@pytest.mark.parametrize("name", HARMS)
async def test_whatever_lies_in_the_folder_is_in_nobodys_way(
    name: str, home: Path, outside: Path, tally: Counter[str]
) -> None:
    harm = HARMS[name]
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        harm.place(home / "memories" / SPACE, outside)
        await all_is_well(agent, "buoy", harm)
    for file in (home / ".holdfast").iterdir():
        file.unlink()
    async with serving(home, ERAS[1]) as agent:
        await all_is_well(agent, "crane", harm)
    tally["hostile folders survived"] += 1


def test_one_process_outlives_all_of_it_at_once_and_does_not_grow(
    environment: dict[str, str], home: Path, outside: Path
) -> None:
    environment["HOLDFAST_HOME"] = str(home)
    with stdio(environment) as server:
        server.begin()
        server.tool("remember", content=GOOD)
        server.tool("recall", query="ferry")
        before = most_memory(server.process.pid)
        for number, (name, harm) in enumerate(HARMS.items()):
            if not name.startswith("folders deeper"):
                place = home / "memories" / SPACE / f"{number:02}"
                place.mkdir()
                harm.place(place, outside)
        result = server.tool("recall", query="ferry")
        assert not result.get("isError"), result
        answer = result["structuredContent"]
        assert [hit["content"] for hit in answer["results"]] == [GOOD]
        assert "Quarantined" in " ".join(answer["notices"])
        assert most_memory(server.process.pid) - before < 32 << 20
        assert server.end()[0] == 0


# Links in the place of folders


@pytest.mark.parametrize("target", ["a folder outside", "the folder itself", "the folder above", "nothing", "a file"])
async def test_a_space_whose_folder_is_a_link_is_not_written_through(target: str, home: Path, outside: Path) -> None:
    """Either the note is refused, or it is kept inside and found when only the files are left."""
    targets: dict[str, Path | str] = {
        "a folder outside": outside, "the folder itself": "yard", "the folder above": "..",
        "nothing": outside / "nothing", "a file": outside / "note.md",
    }  # fmt: skip
    (home / "memories" / "yard").symlink_to(targets[target])
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        answer = await agent.client.call_tool_mcp("remember", {"content": FOUND, "space": "yard"})
        text = "\n".join(block.text for block in answer.content)
        if answer.is_error:
            assert_named(text)
        before = [FOUND] * (not answer.is_error)
        for file in (home / ".holdfast").iterdir():
            file.unlink()
        found = (await agent.recall("anchor rusty"))["results"]
        assert [hit["content"] for hit in found] == before
        assert (await agent.recall("ferry pier"))["results"]


@pytest.mark.parametrize("part", ["", "memories"], ids=["HOLDFAST_HOME", "memories"])
async def test_a_memory_behind_a_link_is_a_memory(part: str, tmp_path: Path, home: Path) -> None:
    real = tmp_path / "elsewhere"
    (home / part).rename(real)
    (home / part).symlink_to(real)
    for word in ("buoy", "crane"):
        async with serving(home, ERAS[1]) as agent:
            note = (await agent.remember(f"The {word} is green."))["id"]
            agent.write_by_hand(f"{SPACE}/{word}.md", f"The {word} was painted.")
            assert len((await agent.recall(word))["results"]) == 2
            await agent.outdate(note)
            assert len((await agent.recall(word))["results"]) == 1
    assert (home / part).is_symlink()
    assert len(list((real / ("" if part else "memories")).rglob("*.md"))) == 5  # with Self


@pytest.mark.parametrize("target", ["memories", "nothing/at/all"])
async def test_a_memories_folder_that_leads_nowhere_is_told(target: str, home: Path) -> None:
    (home / "memories" / SPACE).rmdir()
    (home / "memories").rmdir()
    (home / "memories").symlink_to(target)
    async with serving(home, ERAS[1]) as agent:
        await agent.refused("remember", content=GOOD)
        await agent.refused("recall", query="ferry")
        (home / "memories").unlink()
        await agent.remember(GOOD)
        assert (await agent.recall("ferry"))["results"]


@pytest.mark.parametrize("kind", ["fifo", "folder", "link to itself"])
async def test_what_is_no_file_in_the_place_of_a_months_journal_is_told_and_not_waited_for(
    kind: str, home: Path
) -> None:
    place = home / "journal" / "2999-12.jsonl"
    make: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(place),
        "folder": place.mkdir,
        "link to itself": lambda: place.symlink_to(place.name),
    }
    place.parent.mkdir()
    make[kind]()
    async with serving(home, ERAS[1]) as agent:
        for tool, arguments in (("recall", {"query": "ferry"}), ("remember", {"content": GOOD})):
            await named_or_answered(agent, tool, **arguments)
        place.rename(home / "was-in-the-way")
        await agent.remember(FOUND)
        assert (await agent.recall("anchor"))["results"]


async def named_or_answered(agent: Agent, tool: str, **arguments: Any) -> bool:
    """Whether a call succeeded; where it did not, it says why in the way of all failures."""
    answer = await agent.client.call_tool_mcp(tool, arguments)
    if answer.is_error:
        assert_named("\n".join(block.text for block in answer.content))
    return not answer.is_error


# Hard links


async def test_a_file_outside_that_shares_its_content_with_a_note_keeps_it_when_a_tool_changes_the_note(
    tmp_path: Path, home: Path
) -> None:
    kept = tmp_path / "kept.md"
    async with serving(home, ERAS[1]) as agent:
        for number, change in enumerate(("outdated", "superseded")):
            note = (await agent.remember(f"Crane {number} is green."))["id"]
            kept.unlink(missing_ok=True)
            kept.hardlink_to(agent.file_of(note))
            before, status = kept.read_bytes(), kept.stat()
            if change == "outdated":
                await agent.outdate(note)
            else:
                await agent.remember(f"Crane {number} is red.", supersedes=[note])
            assert agent.file_of(note).read_bytes() != before
            after = kept.stat()
            assert kept.read_bytes() == before
            assert (after.st_mtime_ns, after.st_mode, after.st_ino) == (
                status.st_mtime_ns, status.st_mode, status.st_ino,
            )  # fmt: skip
            assert after.st_nlink == 1


async def test_a_file_outside_that_shares_its_content_with_a_new_file_is_not_given_an_id(
    tmp_path: Path, home: Path
) -> None:
    kept = tmp_path / "kept.md"
    kept.write_text(FOUND)
    os.utime(kept, (1_600_000_000, 1_600_000_000))
    until_adopted = [home / "memories" / SPACE / name for name in ("one.md", "two.md")]
    for path in until_adopted:
        path.hardlink_to(kept)
    async with serving(home, ERAS[1]) as agent:
        (hit,) = (await agent.recall("anchor rusty"))["results"]  # one text is one hit
        assert hit["content"] == FOUND
        ids = {hit["id"], *re.findall(r"mem_\w+", " ".join(hit["earlier"]))}
        assert len(ids) == len(until_adopted)
        await eventually(lambda: all(b"id:" in path.read_bytes() for path in until_adopted))
        (hit,) = (await agent.recall("anchor rusty"))["results"]
        assert {hit["id"], *re.findall(r"mem_\w+", " ".join(hit["earlier"]))} == ids
    assert kept.read_text() == FOUND
    assert kept.stat().st_mtime == 1_600_000_000
    assert kept.stat().st_nlink == 1


async def eventually(condition: Callable[[], bool]) -> None:
    await anyio.to_thread.run_sync(until, condition)


async def test_of_two_names_of_one_note_one_is_the_note_and_the_other_keeps_every_byte(home: Path) -> None:
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(FOUND))["id"]
        second = home / "memories" / SPACE / "second.md"
        second.hardlink_to(agent.file_of(note))
        before = second.read_bytes()
        answer = await agent.recall("anchor rusty")
        assert answer.found == [note]
        assert "second.md (it has the same id" in " ".join(answer["notices"])
        await agent.outdate(note)
        assert second.read_bytes() == before
        assert (await agent.recall("anchor rusty")).found == []


# Names


def by_hand(*texts: str) -> list[str]:
    """Names that look alike, each a file of its own on a disk that tells them apart."""
    return [*dict.fromkeys(texts)]


TWINS = {
    "case": by_hand("Note.md", "note.md", "NOTE.md"),
    "composed and decomposed": by_hand(*(unicodedata.normalize(form, "été.md") for form in ("NFC", "NFD"))),
    "wide and narrow": by_hand("\uff21.md", "A.md"),
    "ligature": by_hand("\ufb01n.md", "fin.md"),
    "spaces": by_hand("a b.md", "a\u00a0b.md", "a\u200bb.md", " a b.md"),
    "folders by case": by_hand("Yard/x.md", "yard/x.md"),
    "folders composed and decomposed": by_hand(*(unicodedata.normalize(form, "é/x.md") for form in ("NFC", "NFD"))),
}


@pytest.mark.parametrize("kind", TWINS)
async def test_names_that_look_alike_are_notes_of_their_own(kind: str, home: Path) -> None:
    texts = {}
    async with serving(home, ERAS[1]) as agent:
        for number, name in enumerate(TWINS[kind]):
            path = agent.write_by_hand(name, f"Anchor number {number} is rusty.")
            os.utime(path, (1_600_000_000, 1_600_000_000))
        on_disk = sorted(path.read_text() for path in (home / "memories").rglob("*.md"))
        for _ in range(2):
            answer = await agent.recall("anchor rusty")
            texts = {hit["id"]: hit["content"] for hit in answer["results"]}
            assert sorted(texts.values()) == on_disk
            for note in texts:
                await agent.remember(f"The dock is beside {note}.", links=[note])
        for note in list(texts)[:1]:
            await agent.outdate(note)
        assert sorted(hit["content"] for hit in (await agent.recall("anchor rusty", include_outdated=True))["results"]
                      if hit["content"].startswith("Anchor")) == on_disk  # fmt: skip


SPACES = (
    "..", ".", "../../outside", "/etc", "CON", "nul.txt", "COM1", "a/b", "a\\b", "a\0b", "-rf", "~", "$HOME", "x" * 300,
    ".git", ".hidden", "😀", "e\u0301te\u0301", "Yard", "trailing. ", "会議", "\u202ereversed", "a\nb", "global", "%00",
)  # fmt: skip


async def test_a_space_may_be_asked_for_by_any_name_and_never_leaves_the_folder(home: Path, outside: Path) -> None:
    stored: dict[str, str] = {}
    async with serving(home, ERAS[1]) as agent:
        for number, name in enumerate(SPACES):
            answer = await agent.client.call_tool_mcp(
                "remember", {"content": f"Buoy number {number} is green.", "space": name}
            )
            if answer.is_error:
                assert_named(answer.content[0].text)
            else:
                stored[answer.structured_content["id"]] = name
    assert len(stored) >= 12
    async with serving(home, ERAS[1]) as agent:
        for note, name in stored.items():
            path = agent.file_of(note)
            folder = path.parent.name
            assert path.resolve().parent.parent == (home / "memories").resolve()
            assert folder[0] not in ".-~"
            assert folder == unicodedata.normalize("NFC", folder).lower()
            assert note in (await agent.recall("buoy green", limit=50, spaces=[name])).found
    assert sorted(path.name for path in home.parent.iterdir()) == ["memory", "outside"]


@pytest.mark.parametrize("folder", ["CON", "nul.x", "...", "-rf", "a b", "Yard", "%2e%2e", "~", "\u202e", "a\nb"])
async def test_a_note_is_found_in_a_folder_of_any_name(folder: str, home: Path) -> None:
    async with serving(home, ERAS[1]) as agent:
        agent.write_by_hand(f"{folder}/x.md", FOUND)
        shown = folder.startswith(".")
        assert [hit["content"] for hit in (await agent.recall("anchor"))["results"]] == [FOUND] * (not shown)


LEFTOVERS = (
    ".git/HEAD.md", ".obsidian/workspace.md", ".stfolder/x.md", ".stversions/x~20260101-120000.md", ".trash/x.md",
    "harbour/.x.md.swp", "harbour/.x.md.swo", "harbour/.#x.md", "harbour/#x.md#", "harbour/x.md~", "harbour/x.md.bak",
    "harbour/~syncthing~x.md.tmp", "harbour/.syncthing.x.md.tmp", "harbour/x.md.part", "harbour/4913",
    "harbour/x.md___jb_tmp___", "harbour/x.md___jb_old___", "harbour/.goutputstream-X1Y2Z3", "harbour/._x.md",
    "harbour/.DS_Store", "harbour/.x.md.icloud", "harbour/.dropbox.cache/x.md", "harbour/.~lock.x.md#",
)  # fmt: skip


async def test_what_editors_and_sync_tools_leave_is_neither_taken_for_a_note_nor_touched(home: Path) -> None:
    for name in LEFTOVERS:
        path = home / "memories" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    before = witness(home / "memories")
    for word in ("buoy", "crane"):
        async with serving(home, ERAS[1]) as agent:
            note = (await agent.remember(f"The {word} is green."))["id"]
            answer = await agent.recall("outside winch oil")
            assert answer.found == []
            assert "Quarantined" not in " ".join(answer["notices"])
            await agent.outdate(note)
    after = witness(home / "memories")
    files = [str(home / "memories" / name) for name in LEFTOVERS]
    assert {name: after.get(name) for name in files} == {name: before[name] for name in files}


@pytest.mark.parametrize("name", ["{}.sync-conflict-20260101-120000-ABCDEFG.md", "{} (conflicted copy).md", "{} 2.md"])
async def test_a_copy_that_a_sync_tool_made_is_told_and_kept_and_never_the_note(name: str, home: Path) -> None:
    async with serving(home, ERAS[1]) as agent:
        note = (await agent.remember(FOUND))["id"]
        path = agent.file_of(note)
        copy = path.with_name(name.format(path.stem))
        copy.write_bytes(path.read_bytes().replace(b"rusty", b"shiny"))
        before = copy.read_bytes()
        answer = await agent.recall("anchor rusty shiny")
        assert [hit["content"] for hit in answer["results"]] == [FOUND]
        assert "it has the same id" in " ".join(answer["notices"])
        await agent.outdate(note)
        assert copy.read_bytes() == before


async def test_thousands_of_broken_files_make_one_short_notice(home: Path) -> None:
    for number in range(500):
        (home / "memories" / SPACE / f"{'broken-' * 20}{number}.md").write_bytes(b"\0")
    async with serving(home, ERAS[1]) as agent:
        await agent.remember(GOOD)
        answer = await agent.recall("ferry")
        assert [hit["content"] for hit in answer["results"]] == [GOOD]
        assert len(answer.text) < 4000
        assert "499 more" in " ".join(answer["notices"])
        assert json.dumps(dict(answer.structured))
