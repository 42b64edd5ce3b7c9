"""Whatever tools and hands do to the notes, in whatever order: the index says what an index built anew would say."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import worlds
from holdfast.engine import runtime as engine_memory
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from holdfast.engine.sync.replay import follow
from holdfast.errors import HoldfastError
from indexes import contents
from worlds import CALLER, ask, keep, living

Answer = TypeVar("Answer")

WORDS = ("anchor", "buoy", "crane", "dock", "ferry", "gull", "harbour")
SPACES = ("work", "sea")
SESSIONS = ("talk", "talk", "trip", None)  # few, so that notes are often next to each other
LONG_AGO = 1_700_000_000

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
spaces = st.sampled_from(SPACES)
sessions = st.sampled_from(SESSIONS)
choice = st.integers(min_value=0, max_value=10_000)
names = st.sampled_from(("a.md", "b.md", "c d.md", "\u00e9.md", "z.md"))
edits = st.sampled_from(
    (
        'tier: "core"', 'tier: "archival"', 'type: "decision"', 'title: "Gull"', 'tags: ["gull", "Dock"]', "tags: []",
        'space: "sea"', 'space: "work"', 'session: "talk"', 'session: "trip"', "seq: 1", "seq: 7", "outdated: true",
        "outdated: false", 'subject: "Anna"', "confidence: 0.25", "about_self: true", 'valid_until: "2020-01-01"',
        'event_time: "2019-05-05"',
    )
)  # fmt: skip
breakages = st.sampled_from((b"\0", b"\xff", b"---\nid: [\n---\n", b"---\nnever closed", b"---\nid: mem_nope\n---\n"))


def has_frontmatter(data: bytes) -> bool:
    return data.startswith(b"---\n") and data.count(b"---\n") > 1


def with_line(data: bytes, line: str) -> bytes:
    """A file whose frontmatter has this line in place of any other for the same key."""
    key = line.partition(":")[0] + ":"
    opening, rest = data.split(b"---\n", 1)
    front, body = rest.split(b"---\n", 1)
    kept = [old for old in front.decode().splitlines() if not old.startswith(key)]
    return opening + b"---\n" + "\n".join([*kept, line]).encode() + b"\n---\n" + body


class Folder(RuleBasedStateMachine):
    """Two memories on one folder, and somebody with an editor."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.home = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.portal = self.stack.enter_context(start_blocking_portal())
        self.memories: list[Memory] = []
        self.running: list[ExitStack] = []
        self.healthy: dict[Path, bytes] = {}
        self.clock = LONG_AGO
        self.ids: list[str] = []

    @initialize()
    def begin(self) -> None:
        for _ in range(2):
            self.memories.append(self.started())

    def started(self) -> Memory:
        running = ExitStack()
        memory = running.enter_context(self.portal.wrap_async_context_manager(living(self.home)))
        self.running.append(running)
        return memory

    def teardown(self) -> None:
        try:
            if self.memories:
                self.the_index_equals_one_built_anew()
        finally:
            for running in self.running:
                running.close()
            self.stack.close()

    # What tools do

    def attend(self, who: int, verb: Callable[[Ports], Awaitable[Answer]]) -> Answer:
        return self.portal.call(self.memories[who % 2].attend, verb)

    @rule(who=choice, text=texts, space=spaces, session=sessions, old=choice, supersedes=st.booleans())
    def remember(self, who: int, text: str, space: str, session: str | None, old: int, supersedes: bool) -> None:
        given: dict[str, Any] = {"space": space, "session": session}
        if self.ids and supersedes:
            given["supersedes"] = [self.ids[old % len(self.ids)]]
        elif self.ids and old % 3 == 0:
            given["links"] = [(self.ids[old % len(self.ids)], "supports")]
        with suppress(HoldfastError):  # the old note may be gone or broken
            outcome = self.portal.call(lambda: keep(self.memories[who % 2], text, **given))
            self.ids.append(outcome.note.id)

    @precondition(lambda self: self.ids)
    @rule(who=choice, which=choice, other=choice)
    def mark_outdated(self, who: int, which: int, other: int) -> None:
        successor = self.ids[other % len(self.ids)] if other % 2 else None
        request = MarkOutdated(self.ids[which % len(self.ids)], "no more", successor)
        with suppress(HoldfastError):
            self.attend(who, lambda ports: mark_outdated(ports, CALLER, request))

    @precondition(lambda self: self.ids)
    @rule(who=choice, which=choice, signal=st.sampled_from([1, -1]), source=st.sampled_from(["explicit", "implicit"]))
    def submit_feedback(self, who: int, which: int, signal: int, source: str) -> None:
        self.portal.call(ask, self.memories[who % 2], WORDS[which % len(WORDS)])
        request = Feedback(self.ids[which % len(self.ids)], signal, source)
        with suppress(HoldfastError):
            self.attend(who, lambda ports: submit_feedback(ports, CALLER, request))

    @rule(who=choice)
    def look(self, who: int) -> None:
        self.attend(who, nothing)

    @rule(who=choice)
    def adopt(self, who: int) -> None:
        self.look(who)
        self.portal.call(self.memories[who % 2]._reconciler.adopt)

    # What hands do

    @property
    def files(self) -> list[Path]:
        return sorted((self.home / "memories").rglob("*.md"))

    def save(self, path: Path, data: bytes) -> None:
        """As an editor does, some time ago, so that nobody has to wait for the file to be still."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.clock += 60
        os.utime(path, (self.clock, self.clock))

    def some(self, which: int) -> Path | None:
        return self.files[which % len(self.files)] if self.files else None

    @rule(which=choice, text=texts)
    def edit_the_body(self, which: int, text: str) -> None:
        path = self.some(which)
        if path is not None and has_frontmatter(path.read_bytes()):
            head, mark, _ = path.read_bytes().rpartition(b"---\n")
            self.save(path, head + mark + text.encode())

    @rule(which=choice, line=edits)
    def edit_a_key(self, which: int, line: str) -> None:
        path = self.some(which)
        if path is not None and has_frontmatter(path.read_bytes()):
            self.save(path, with_line(path.read_bytes(), line))

    @rule(which=choice, name=names)
    def rename(self, which: int, name: str) -> None:
        path = self.some(which)
        if path is not None:
            path.rename(path.with_name(name))  # over another one, sometimes

    @rule(which=choice, space=spaces)
    def move(self, which: int, space: str) -> None:
        path = self.some(which)
        if path is not None:
            (self.home / "memories" / space).mkdir(exist_ok=True)
            path.rename(self.home / "memories" / space / path.name)

    @rule(one=choice, two=choice)
    def exchange(self, one: int, two: int) -> None:
        first, second = self.some(one), self.some(two)
        if first is not None and second is not None and first != second:
            kept = self.home / "kept"
            first.rename(kept)
            second.rename(first)
            kept.rename(second)

    @rule(which=choice)
    def delete(self, which: int) -> None:
        path = self.some(which)
        if path is not None:
            path.unlink()

    @rule(which=choice, space=spaces, name=names)
    def duplicate(self, which: int, space: str, name: str) -> None:
        path = self.some(which)
        if path is not None:
            self.save(self.home / "memories" / space / name, path.read_bytes())

    @rule(which=choice, breakage=breakages)
    def corrupt(self, which: int, breakage: bytes) -> None:
        path = self.some(which)
        if path is not None:
            self.healthy.setdefault(path, path.read_bytes())
            self.save(path, breakage)

    @precondition(lambda self: self.healthy)
    @rule(which=choice)
    def mend(self, which: int) -> None:
        path = sorted(self.healthy)[which % len(self.healthy)]
        self.save(path, self.healthy.pop(path))

    @rule(
        space=spaces,
        name=names,
        text=texts,
        front=st.sampled_from(('session: "talk"\n', 'session: "talk"\nseq: 3\n', "")),
    )
    def write_by_hand(self, space: str, name: str, text: str, front: str) -> None:
        data = f"---\n{front}---\n{text}" if front else text
        self.save(self.home / "memories" / space / name, data.encode())

    @rule(whole=st.booleans())
    def delete_the_index(self, whole: bool) -> None:
        if whole:
            shutil.rmtree(self.home / ".holdfast", ignore_errors=True)
        else:
            (self.home / ".holdfast" / "index.db").unlink(missing_ok=True)

    @rule(who=choice)
    def restart(self, who: int) -> None:
        self.running.pop(who % 2).close()
        self.memories.pop(who % 2)
        self.memories.append(self.started())

    # What must hold

    @rule()
    def the_index_equals_one_built_anew(self) -> None:
        self.adopt(0)
        self.adopt(1)  # two servers, whatever they have seen of it
        self.attend(0, to_the_end_of_the_journal)
        live = contents(self.home / ".holdfast" / "index.db")
        with tempfile.TemporaryDirectory() as other:
            copy = Path(shutil.copytree(self.home, Path(other) / "home", ignore=shutil.ignore_patterns(".holdfast")))
            with self.portal.wrap_async_context_manager(living(copy)) as fresh:
                self.portal.call(fresh.attend, to_the_end_of_the_journal)
                anew = contents(copy / ".holdfast" / "index.db")
        assert {name: rows for name, rows in live.items() if rows != anew[name]} == {
            name: rows for name, rows in anew.items() if rows != live[name]
        }

    @invariant()
    def nothing_lies_about(self) -> None:
        """No operation leaves a temporary file where a person would find it."""
        assert not [path for path in (self.home / "memories").rglob(".*.tmp*") if path.is_file()]


async def nothing(_: Ports) -> None:
    """Ask for nothing but a fresh index."""


async def to_the_end_of_the_journal(ports: Ports) -> None:
    """Have the index know every line: a line that no answer needs is read later."""
    await follow(ports)


@pytest.fixture(autouse=True)
def undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens in the background: the order of things is the test's."""
    monkeypatch.setattr(engine_memory, "START_SECONDS", 1e9)


def sequences(count: int, steps: int) -> settings:
    return settings(
        max_examples=count, stateful_step_count=steps, deadline=None, suppress_health_check=list(HealthCheck)
    )


@pytest.mark.anyio
async def test_a_change_has_one_time_however_long_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A second passes with each look at the clock: the journal and the index must not look for themselves."""
    seconds = itertools.count()
    monkeypatch.setattr(
        worlds, "now", lambda: datetime(2026, 11, 20, 10, tzinfo=UTC) + timedelta(seconds=next(seconds))
    )
    async with living(tmp_path) as memory:
        old = (await keep(memory, "The crane lifts.")).note.id
        await keep(memory, "The crane is gone.", supersedes=[old])
        await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(old, "no more")))
        kept_up = contents(tmp_path / ".holdfast" / "index.db")
    shutil.rmtree(tmp_path / ".holdfast")
    async with living(tmp_path) as memory:
        await memory.attend(nothing)
        assert contents(tmp_path / ".holdfast" / "index.db") == kept_up


TestFolder = pytest.mark.timeout(300)(Folder.TestCase)
TestFolder.settings = sequences(20, 30)
