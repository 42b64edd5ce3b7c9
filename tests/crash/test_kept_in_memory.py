"""What a server keeps in memory between requests shows nothing that was changed or taken away before a request began.

Every note has one writer, which changes it through any of the servers, edits, retires, brings back, purges and stores
it again. Readers ask all the while and compare with what had been acknowledged when they began.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

import postgres
from conftest import Effort
from holdfast.app import build_memory
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import Edit, Purged, WouldPurge, purge, update_note
from holdfast.engine.admin.undo import undo
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.runtime import Memory
from holdfast.errors import ConflictError, MemoryNotFoundError, StorageError
from holdfast.model.note import SELF_ID, Note
from holdfast.settings import load_settings
from worlds import CALLER, ask, keep, show

pytestmark = pytest.mark.anyio

THINGS = ("capstan", "bollard", "sluice", "dredger", "lantern", "parrot")
RARELY = 0.08
_WITHOUT_INDEX = re.compile("The index is deleted again and again|It is stored, and the index")
HOME, ELSEWHERE = "harbour", "airport"
needs_rows = pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)


@dataclass(frozen=True, slots=True)
class State:
    """What a note is: nothing, or a text under an id, retired or not."""

    id: str = ""
    text: str = ""
    is_outdated: bool = False

    def is_of(self, note: Note) -> bool:
        return (self.id, self.text, self.is_outdated) == (note.id, note.content, note.is_outdated)


@dataclass(slots=True)
class Life:
    """The states of one note in their order; those up to `sure` are acknowledged. The last may be under way."""

    thing: str
    states: list[State] = field(default_factory=lambda: [State()])
    sure: int = 0
    ids: set[str] = field(default_factory=set)

    def since(self, sure: int) -> list[State]:
        """Those that may be seen by who began when so many were acknowledged."""
        return self.states[sure:]


@dataclass(slots=True)
class Writer:
    """Changes one note through whichever server, one step after the other."""

    life: Life
    servers: list[Memory]
    chance: random.Random
    steps: int
    hub: str
    number: int = 0
    change: str = ""

    async def run(self) -> None:
        for _ in range(self.steps):
            now = self.life.states[-1]
            usual = (self._edit, self._retire) if now.id else (self._store,)
            usual = (self._bring_back,) if now.is_outdated else usual
            step = self._purge if now.id and self.chance.random() < RARELY else self.chance.choice(usual)
            there = len(self.life.states)
            try:
                await step(self.chance.choice(self.servers), now)
            except ConflictError:  # others came first each time: nothing was written
                del self.life.states[there:]
            except StorageError as error:  # each purge takes the index away: one came in between
                if not _WITHOUT_INDEX.search(str(error)):
                    raise
                return  # what it came to is not known here
            self.life.sure = len(self.life.states) - 1

    def _text(self) -> str:
        self.number += 1
        return f"The {self.life.thing} of the harbour was seen {self.number} times."

    async def _store(self, memory: Memory, _now: State) -> None:
        text = self._text()
        self.life.states.append(State("?", text))  # its id is not known until it is told
        outcome = await keep(memory, text, title=text, space=HOME, links=[(self.hub, "related_to")], compared=False)
        assert isinstance(outcome, NoteStored)
        self.life.ids.add(outcome.note.id)
        self.life.states[-1] = State(outcome.note.id, text)

    async def _edit(self, memory: Memory, now: State) -> None:
        text = self._text()
        self.life.states.append(State(now.id, text))
        edit = Edit(now.id, content=text, title=text)
        await memory.attend(lambda ports: update_note(ports, CALLER, edit))

    async def _retire(self, memory: Memory, now: State) -> None:
        self.life.states.append(State(now.id, now.text, is_outdated=True))
        done = await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(now.id, "it left")))
        self.change = done.change_id or ""

    async def _bring_back(self, memory: Memory, now: State) -> None:
        self.life.states.append(State(now.id, now.text))
        await memory.attend(lambda ports: undo(ports, CALLER, self.change))

    async def _purge(self, memory: Memory, now: State) -> None:
        tokens = Confirmations()
        asked = await memory.attend(lambda ports: purge(ports, CALLER, tokens, now.id, None))
        assert isinstance(asked, WouldPurge)
        self.life.states.append(State())
        done = await memory.attend(lambda ports: purge(ports, CALLER, tokens, now.id, asked.confirm))
        assert isinstance(done, Purged)


@dataclass(slots=True)
class Reader:
    """Asks one server, and compares each answer with what was so when it asked, or has become so meanwhile."""

    memory: Memory
    lives: list[Life]
    hub: str
    chance: random.Random
    seen: Counter[str]

    async def look(self) -> None:
        sure = [life.sure for life in self.lives]
        kind = self.chance.choice(["question", "list", "note", "links"])
        match kind:
            case "question":
                words = f"how often was the {self.chance.choice(THINGS)} of the harbour seen?"
                answer = await ask(self.memory, words, limit=30, include_outdated=self.chance.random() < 0.5)
                shown = [hit.note for hit in answer.hits] + [each.note for each in answer.related]
                self._compare(shown, sure)
            case "list":
                answer = await ask(self.memory, "*", limit=30, spaces=[HOME])
                self._compare([hit.note for hit in answer.hits], sure, whole=True)
            case "note":
                await self._look_at_one(self.chance.choice(self.lives))
            case _:
                await self._look_at_links(sure)
        self.seen[f"{kind} answered beside writers"] += 1

    def _compare(self, notes: Iterable[Note], sure: list[int], *, whole: bool = False) -> None:
        left = [note for note in notes if note.id not in (self.hub, SELF_ID)]
        for life, number in zip(self.lives, sure, strict=True):
            mine = [note for note in left if life.thing in note.content]
            left = [note for note in left if note not in mine]
            may_be = life.since(number)
            assert len(mine) <= 1, mine
            for note in mine:
                assert any(_fits(state, note) for state in may_be), (note, may_be)
            if whole and all(state.id and not state.is_outdated for state in may_be):
                assert mine, (life.thing, may_be)
        assert left == []

    async def _look_at_one(self, life: Life) -> None:
        number, ids = life.sure, sorted(life.ids)
        if not ids:
            return
        note_id = self.chance.choice(ids)
        try:
            node = await show(self.memory, note_id)
        except MemoryNotFoundError:
            assert any(state.id != note_id for state in life.since(number)), (note_id, life.since(number))
        else:
            assert any(_fits(state, node.note) for state in life.since(number)), (node.note, life.since(number))
            assert node.text == node.note.content

    async def _look_at_links(self, sure: list[int]) -> None:
        node = await show(self.memory, self.hub)
        for each in node.connections:
            if each.id == SELF_ID:
                continue
            [(life, number)] = [pair for pair in zip(self.lives, sure, strict=True) if pair[0].thing in each.title]
            may_be = life.since(number)
            assert any(state.text == each.title and state.id in ("?", each.id) for state in may_be), (each, may_be)


def _fits(state: State, note: Note) -> bool:
    return replace(state, id=note.id if state.id == "?" else state.id).is_of(note)


def _server(home: Path, **given: str) -> Memory:
    return build_memory(load_settings({"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": "none", **given}))


@asynccontextmanager
async def beside_each_other(storage: str, tmp_path: Path) -> AsyncIterator[tuple[list[Memory], Memory]]:
    """Servers of one memory, and one of another that has notes in the same words."""
    if storage == "rows":
        url = postgres.shared().url
        own = {"HOLDFAST_STORE": url, "HOLDFAST_TENANT": f"{tmp_path} {HOME}"}
        servers = [_server(tmp_path / name, **own) for name in ("one", "two", "three")]
        other = _server(tmp_path / "one", HOLDFAST_STORE=url, HOLDFAST_TENANT=f"{tmp_path} {ELSEWHERE}")
    else:
        servers = [_server(tmp_path / HOME) for _ in range(3)]
        other = _server(tmp_path / ELSEWHERE)
    async with AsyncExitStack() as stack:
        for memory in (*servers, other):
            await stack.enter_async_context(memory.running())
        yield servers, other


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("storage", ["folder", pytest.param("rows", marks=needs_rows)])
async def test_no_answer_shows_what_was_changed_or_taken_away_before_it_was_asked_for_nor_another_memorys_notes(
    tmp_path: Path, storage: str, seed: int, effort: Effort, tally: Counter[str]
) -> None:
    chance = random.Random(seed if not effort.long else None)  # noqa: S311 - which step comes next
    lives = [Life(thing) for thing in THINGS]
    async with beside_each_other(storage, tmp_path) as (servers, other):
        hub = (await keep(servers[0], "Who was seen is written down.", space=HOME)).note.id
        for thing in THINGS:
            await keep(other, f"The {thing} of the {ELSEWHERE} was seen once.", space=HOME)
        over = anyio.Event()

        async def read(memory: Memory) -> None:
            reader = Reader(memory, lives, hub, chance, tally)
            while not over.is_set():
                await reader.look()

        async with anyio.create_task_group() as readers:
            for memory in servers:
                readers.start_soon(read, memory)
            async with anyio.create_task_group() as writers:
                for life in lives:
                    writers.start_soon(Writer(life, servers, chance, effort.of(12, 100), hub).run)
            over.set()
