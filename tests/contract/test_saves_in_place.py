"""Your edits win: each writing tool is called in each moment of a save in place, and with real editors beside it."""

from __future__ import annotations

import itertools
import os
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import Connect, Edit, connect_notes, delete_note, restore_note, update_note
from holdfast.engine.admin.undo import undo
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.jobs.changes import change_if, in_tier
from holdfast.engine.maintenance.batches import Verdicts, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict, MergeVerdict
from holdfast.engine.omi.beliefs import BeliefUpdate, belief_update
from holdfast.engine.omi.memories import MemoryStore, memory_store
from holdfast.engine.omi.now import NowUpdate, now_update
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError
from inplace import SECOND, STAGES, Dated, Editor
from worlds import CALLER, ask, keep, memory_on

pytestmark = pytest.mark.anyio

MARK = "what the person typed"


@dataclass
class House:
    """A memory with a note that is edited, another, a belief, and a NOW page; time is put forward by hand."""

    memory: Memory
    home: Path
    files: Dated
    note: str = ""
    other: str = ""
    belief: str = ""
    change: str = ""
    confirm: str = ""
    tokens: Confirmations | None = None
    slept: float = 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.files.ahead += int(seconds * SECOND)

    def file(self, note: str) -> Path:
        (path,) = (self.home / "memories").rglob(f"*{note}.md")
        return path

    def texts(self) -> dict[str, str]:
        folders = ("memories", "history", "trash", "now", "daily")
        found = [path for folder in folders for path in (self.home / folder).rglob("*") if path.is_file()]
        found += [path for path in (self.home / "NOW.md", self.home / "MEMORY.md") if path.exists()]
        return {path.relative_to(self.home).as_posix(): path.read_text("utf-8") for path in found}


Verb = Callable[[House], Awaitable[object]]


async def outdated(house: House) -> object:
    return await house.memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(house.note, "wrong")))


async def superseded(house: House) -> object:
    return await keep(house.memory, "The ferry leaves from gate nine now.", supersedes=[house.note])


async def linked(house: House) -> object:
    return await keep(house.memory, "The ferry has a bar.", links=[(house.note, "part_of")])


async def rated(house: House) -> object:
    return await house.memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(house.note, 1)))


async def judged_edge(house: House) -> object:
    verdicts = Verdicts(edges=[EdgeVerdict(house.note, house.other, "supports", "they fit")])
    return (await judge(house.memory, CALLER, verdicts)).outcomes


async def judged_merge(house: House) -> object:
    verdicts = Verdicts(merges=[MergeVerdict(house.note, house.other, "Ferry", "The ferry and the winch.")])
    return (await judge(house.memory, CALLER, verdicts)).outcomes


async def merged_away(house: House) -> object:
    verdicts = Verdicts(merges=[MergeVerdict(house.other, house.note, "Ferry", "The ferry and the winch.")])
    return (await judge(house.memory, CALLER, verdicts)).outcomes


async def believed(house: House) -> object:
    request = BeliefUpdate(house.belief, house.note, supports=True, strength=0.5)
    return await house.memory.attend(lambda ports: belief_update(ports, CALLER, request))


async def stored(house: House) -> object:
    return await house.memory.attend(lambda ports: memory_store(ports, CALLER, MemoryStore("The ferry is blue.")))


async def updated(house: House) -> object:
    return await house.memory.attend(lambda ports: update_note(ports, CALLER, Edit(house.note, title="Boats")))


async def connected(house: House) -> object:
    return await house.memory.attend(lambda ports: connect_notes(ports, CALLER, Connect(house.note, house.other)))


async def deleted(house: House) -> object:
    tokens = house.tokens or Confirmations()
    dry = await house.memory.attend(lambda ports: delete_note(ports, CALLER, tokens, house.note, None))
    confirm = getattr(dry, "confirm", "")
    return await house.memory.attend(lambda ports: delete_note(ports, CALLER, tokens, house.note, confirm))


async def undone(house: House) -> object:
    return await house.memory.attend(lambda ports: undo(ports, CALLER, house.change))


async def brought_back(house: House) -> object:
    return await house.memory.attend(lambda ports: restore_note(ports, CALLER, house.note))


async def archived(house: House) -> object:
    return await house.memory.attend(
        lambda ports: change_if(ports, house.note, "demote", lambda _: True, in_tier("archival"))
    )


async def tagged(house: House, number: int) -> object:
    request = Edit(house.note, tags=[f"tag {number}"])
    return await house.memory.attend(lambda ports: update_note(ports, CALLER, request))


async def paged(house: House) -> object:
    request = NowUpdate(current_task="write", recent_completions=["read"])
    return await house.memory.attend(lambda ports: now_update(ports, CALLER, request))


TOOLS: dict[str, Verb] = {
    "mark_outdated": outdated, "remember(supersedes)": superseded, "remember(links)": linked,
    "submit_feedback": rated, "a link by verdict": judged_edge, "a merge into it": judged_merge,
    "a merge of it": merged_away, "belief_update": believed, "memory_store": stored,
    "admin_update_memory": updated, "admin_connect_memories": connected, "admin_delete_memory": deleted,
    "admin_undo": undone, "archival by a job": archived, "now_update": paged,
}  # fmt: skip
tools = pytest.mark.parametrize("tool", TOOLS)


@pytest.fixture
async def house(anyio_backend: str, tmp_path: Path) -> AsyncIterator[House]:
    files = Dated()
    memory = memory_on(tmp_path, files=files)
    house = House(memory, tmp_path, files)
    memory.ports = replace(memory.ports, sleep=house.sleep)
    memory._reconciler.ports = memory.ports
    house.note = (await keep(memory, "The ferry leaves from pier seven.")).note.id
    house.other = (await keep(memory, "The winch needs oil.")).note.id
    house.belief = (await keep(memory, "Ferries are late.", type="belief")).note.id
    await paged(house)
    request = Edit(house.note, tags=["harbour"])
    house.change = str((await memory.attend(lambda ports: update_note(ports, CALLER, request))).change_id)
    yield house
    await memory.aclose()


def target(house: House, tool: str) -> Path:
    return house.home / "now" / "work.md" if tool == "now_update" else house.file(house.note)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("still", [False, True], ids=["just now", "hanging since long"])
@pytest.mark.parametrize("stage", ["", *STAGES])
@tools
async def test_a_save_in_place_is_kept_whenever_a_tool_is_called(
    tool: str, stage: str, still: bool, house: House
) -> None:
    path = target(house, tool)
    before = path.read_text("utf-8")
    editor = Editor(path, f"{before}\n{MARK}\n".encode())
    editor.save_until(stage)
    house.files.ahead += 2 * SECOND * still
    with suppress(HoldfastError):
        await TOOLS[tool](house)
    assert house.slept <= 2.5 if not still else house.slept == 0
    if stage:
        editor.finish()
    else:
        with suppress(FileNotFoundError):
            editor.finish()
    house.files.ahead += 60 * SECOND
    await house.memory.ports.store.look_again()
    reports = " ".join(
        [*house.memory.ports.store.take_reports(), (await ask(house.memory, "ferry")).notices.__repr__()]
    )
    texts = house.texts()
    holding = [name for name, text in texts.items() if MARK in text]
    assert holding or not (stage or path.exists())
    assert all(name in reports for name in holding if name.startswith("trash/conflicts/"))
    body = before.rpartition("---\n")[2].strip() if path.suffix == ".md" and "memories" in path.parts else "# NOW"
    assert any(body in text for text in texts.values())


async def test_a_call_waits_until_a_saved_file_is_still_and_then_changes_what_was_saved(house: House) -> None:
    path = house.file(house.note)
    path.write_text(path.read_text("utf-8").replace("pier seven", "gate nine"), "utf-8")
    await outdated(house)
    assert 0 < house.slept <= 1.0
    text = path.read_text("utf-8")
    assert "gate nine" in text
    assert "outdated: true" in text


async def test_a_file_that_is_saved_all_the_time_is_left_alone_and_the_answer_says_what_to_do(house: House) -> None:
    path = house.file(house.note)

    async def save_again(seconds: float) -> None:
        await house.sleep(seconds)
        now = house.files.now_ns()
        path.write_text(path.read_text("utf-8") + "more\n", "utf-8")
        os.utime(path, ns=(now, now))

    house.memory.ports = replace(house.memory.ports, sleep=save_again)
    await save_again(0)
    inode = path.stat().st_ino
    with pytest.raises(HoldfastError, match=r"Nothing was written; save and close it there, then repeat the call\."):
        await outdated(house)
    assert house.slept <= 2.5
    assert path.stat().st_ino == inode


async def test_our_own_rewrites_wait_for_nothing(house: House) -> None:
    for number in range(5):
        await tagged(house, number)
    assert house.slept == 0


@pytest.mark.parametrize("left", [b"", b"---\nid: [\n"], ids=["empty", "cut"])
async def test_the_text_of_a_file_that_was_emptied_or_cut_goes_to_the_history_and_that_is_said(
    house: House, left: bytes
) -> None:
    path = house.file(house.note)
    path.write_bytes(left)
    (notice,) = [each for each in (await ask(house.memory, "winch")).notices if "history/" in each]
    kept = [name for name, text in house.texts().items() if name.startswith("history/") and "pier seven" in text]
    assert any(name in notice for name in kept)
    assert not [each for each in (await ask(house.memory, "winch")).notices if "history/" in each], "said twice"


IN_PLACE = "set backupcopy=yes noswapfile"
EDITORS = {
    "vim": ("vim", "-u", "NONE", "-es", "-c", IN_PLACE, "-c", "normal Go{mark}", "-c", "wq!", "{path}"),
    "nano": ("nano", "--ignorercfiles", "{path}"),
    "sed": ("sed", "-i", "$a {mark}", "{path}"),
    "rsync": ("rsync", "--inplace", "--whole-file", "--ignore-times", "{draft}", "{path}"),
    "sh": ("sh", "-c", 'cat "{draft}" > "{path}"'),
}


def save_with(editor: str, path: Path, mark: str) -> bool:
    """Have a real editor add a line; whether it said that it saved."""
    draft = path.parents[2] / "draft"
    draft.write_text(f"{path.read_text('utf-8')}\n{mark}\n", "utf-8")
    command = [part.format(path=path, mark=mark, draft=draft) for part in EDITORS[editor]]
    if editor == "nano":
        return typed_into_nano(command, mark)
    overwrite = b"y\n" * 4  # vim asks, when the file changed since it read it; silence is a no, and no error
    return subprocess.run(command, check=False, capture_output=True, input=overwrite).returncode == 0


def typed_into_nano(command: list[str], mark: str) -> bool:
    import pty  # noqa: PLC0415 - there is none on Windows
    import termios  # noqa: PLC0415 - nor this

    terminal, inside = pty.openpty()
    termios.tcsetwinsize(inside, (24, 80))
    environment = {**os.environ, "TERM": "xterm"}
    nano = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environment, start_new_session=True
    )
    os.close(inside)
    shown, typed = b"", False
    end = time.monotonic() + 20
    while nano.poll() is None and time.monotonic() < end:
        if select.select([terminal], [], [], 0.05)[0]:
            with suppress(OSError):  # the terminal is gone when nano has ended
                shown += os.read(terminal, 4096)
        if not typed and b"Exit" in shown:
            os.write(terminal, mark.encode() + b"\r\x0f\ry\x18y\r")  # write out under this name, though it changed
            typed = True
    nano.kill()
    os.close(terminal)
    return nano.wait() == 0


async def put_back(house: House) -> None:
    """Look at what changes took away until nothing of it waits, or for ten seconds on a busy machine."""
    for _ in range(1000):
        if await house.memory.ports.store.look_again() is None:
            return
        await anyio.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="these editors are those of POSIX systems")
@pytest.mark.parametrize("editor", EDITORS)
async def test_what_a_real_editor_saves_while_tools_rewrite_the_note_is_somewhere(
    editor: str, house: House, tally: Counter[str]
) -> None:
    real = shutil.which(editor) is not None
    saved: list[str] = []
    between = anyio.Lock()

    async def edit() -> None:
        for number in range(6):
            mark = f"line {number} of {editor}"
            if real:
                done = await anyio.to_thread.run_sync(save_with, editor, house.file(house.note), mark)
            else:
                path = house.file(house.note)
                slow = Editor(path, f"{path.read_text('utf-8')}\n{mark}\n".encode())
                for stage in STAGES:
                    slow.save_until(stage)
                    await anyio.sleep(0.002)
                done = True
            saved.extend([mark] * done)
            async with between:  # what a change under way took away would not wait yet
                await put_back(house)  # who saves over a save of their own before that loses it themselves
        scope.cancel()

    async def rewrite() -> None:
        for number in itertools.count():
            house.files.ahead += SECOND  # as if nothing had been saved just now: every call goes on
            async with between:
                with suppress(HoldfastError):
                    await tagged(house, number)

    with anyio.move_on_after(60) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(rewrite)
            tasks.start_soon(edit)
    house.files.ahead += 60 * SECOND
    for _ in range(3):
        await house.memory.ports.store.look_again()
    texts = house.texts()
    assert saved, "the editor could not save even once"
    for mark in saved:
        assert any(mark in text for text in texts.values()), mark
    tally[f"saves by {editor}" if real else f"saves as {editor}, WHICH IS NOT INSTALLED, would make them"] += len(saved)
