"""Whatever is done to notes, in whatever order, also by processes that are killed: a plain model predicts all of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from conftest import Effort
from holdfast.engine.admin.health import discard_index
from holdfast.errors import HoldfastError
from holdfast.model.note import SELF_ID
from processes import ROOT
from walking import Did, do
from worlds import ask, keep, living

pytestmark = pytest.mark.anyio

WORDS = ("anchor", "buoy", "crane", "dock", "ferry", "gull")
EDGES = ("supports", "related_to", "depends_on")
FEWEST = 3  # notes


@dataclass(frozen=True)
class Plain:
    """What is expected of a note."""

    content: str
    tier: str = "working"
    tags: frozenset[str] = frozenset()
    outdated: bool = False
    superseded_by: str | None = None
    merged: frozenset[str] = frozenset()
    links: frozenset[tuple[str, str, float]] = frozenset()  # to, type, weight


@dataclass
class Made:
    """A change: what it left of each note, and what was there before; each as model and as file."""

    before: dict[str, tuple[Plain, bytes] | None]
    after: dict[str, tuple[Plain, bytes] | None]
    undoes: str | None = None


@dataclass
class Walk:
    """A random walk on one folder, and the model beside it."""

    home: Path
    dice: random.Random
    notes: dict[str, Plain] = field(default_factory=dict)
    gone: dict[str, tuple[Plain, str, bytes]] = field(default_factory=dict)  # in the trash: by which verb, its file
    made: dict[str, Made] = field(default_factory=dict)
    undone: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def files(self) -> dict[str, bytes]:
        """Every note's file by id."""
        return {path.stem.rpartition(".")[2]: path.read_bytes() for path in self.home.glob("memories/*/*.md")}

    def text(self) -> str:
        self.count += 1
        return f"{' '.join(self.dice.choices(WORDS, k=4))} number{self.count}"

    def pick(self) -> str:
        return self.dice.choice(sorted(self.notes))

    def known(self, verb: str, given: dict[str, Any], before: dict[str, bytes], change: str) -> None:
        """Learn a change that was made: the model says what the notes are now, the disk how that is written."""
        states = self.predicted(verb, given)
        files = self.files()
        if verb == "consolidate":
            [new] = files.keys() - before.keys()
            states[new] = states.pop("new")
        touched = {each for each in files.keys() | before.keys() if files.get(each) != before.get(each)} - {SELF_ID}
        assert touched == {each for each in states if states[each] != self.notes.get(each)}, verb
        old = {each: (self.notes[each], before[each]) if each in self.notes else None for each in touched}
        new_ = {each: (state, files[each]) if (state := states[each]) else None for each in touched}
        self.made[change] = Made(old, new_, given.get("change_id") if verb == "undo" else None)
        self.take(states, verb, before)
        if verb == "undo":
            self.undone = {done: by for done, by in self.undone.items() if by != given["change_id"]}
            self.undone[given["change_id"]] = change

    def take(self, states: dict[str, Plain | None], verb: str, before: dict[str, bytes]) -> None:
        for each, state in states.items():
            if state is None:
                self.gone[each] = (self.notes.pop(each), verb, before[each])
            else:
                self.notes[each] = state
                self.gone.pop(each, None)

    def predicted(self, verb: str, given: dict[str, Any]) -> dict[str, Plain | None]:
        """What a verb makes of the notes that it touches, None for one that goes to the trash."""
        if verb == "undo":
            return {each: was[0] if was else None for each, was in self.made[given["change_id"]].before.items()}
        if verb == "merge":
            return self.merged(given["keep_id"], given["discard_id"], given["merged_content"])
        if verb == "consolidate":
            return self.consolidated(given["node_ids"], given["content"])
        each = given.get("node_id") or given["source_id"]
        heirs = {heir: plain for heir, plain in self.notes.items() if verb == "restore" and each in plain.merged}
        apart = {heir: replace(plain, merged=plain.merged - {each}) for heir, plain in heirs.items()}
        return {each: self.changed(verb, each, given), **apart}

    def changed(self, verb: str, each: str, given: dict[str, Any]) -> Plain | None:
        """What becomes of the one note that a verb changes."""
        match verb:
            case "update":
                state = replace(self.notes[each], content=given["content"], tags=frozenset(given["tags"]))
            case "connect":
                edge = (given["target_id"], given["edge"])
                others = {link for link in self.notes[each].links if link[:2] != edge}
                state = replace(self.notes[each], links=frozenset({*others, (*edge, given["weight"])}))
            case "outdate":
                heir = given["superseded_by"] or self.notes[each].superseded_by
                state = replace(self.notes[each], outdated=True, superseded_by=heir)
            case "restore":
                state = self.gone[each][0]
            case _:
                return None
        return state

    def consolidated(self, ids: list[str], content: str) -> dict[str, Plain | None]:
        whole = [self.notes[each] for each in ids]
        links = frozenset((each, "derived_from", 1.0) for each in ids)
        tags = frozenset({"consolidated"}.union(*(each.tags for each in whole)))
        archived = {each: replace(self.notes[each], tier="archival") for each in ids}
        return {**archived, "new": Plain(content, tags=tags, links=links)}

    def merged(self, keep: str, discard: str, content: str) -> dict[str, Plain | None]:
        kept, gone = self.notes[keep], self.notes[discard]
        inside = {keep, discard, *(kept.merged | gone.merged) - self.notes.keys()}
        weights: dict[tuple[str, str], float] = {}
        for to, kind, weight in (*kept.links, *gone.links):
            if to not in inside:
                weights[to, kind] = max(weight, weights.get((to, kind), 0.0))
        whole = replace(
            kept,
            content=content,
            tier="working" if "working" in (kept.tier, gone.tier) else "archival",
            tags=kept.tags | gone.tags,
            merged=frozenset({*kept.merged, *gone.merged, discard}),
            links=frozenset((*edge, weight) for edge, weight in weights.items()),
        )
        return {keep: whole, discard: None}

    def arguments(self, verb: str) -> dict[str, Any] | None:
        """Something that the verb can be asked for; None where there is nothing."""
        if verb in ("restore", "undo"):
            known = sorted(self.gone) if verb == "restore" else sorted(self.made)[-12:]
            return {"node_id" if verb == "restore" else "change_id": self.dice.choice(known)} if known else None
        if len(self.notes) < FEWEST:
            return None
        one, other = self.dice.sample(sorted(self.notes), 2)
        weight, edge = self.dice.choice((0.3, 0.8)), self.dice.choice(EDGES)
        return {
            "update": {"node_id": one, "content": self.text(), "tags": self.dice.sample(WORDS, 2)},
            "connect": {"source_id": one, "target_id": other, "edge": edge, "weight": weight},
            "outdate": {"node_id": one, "superseded_by": self.dice.choice((None, other))},
            "delete": {"node_id": one},
            "merge": {"keep_id": one, "discard_id": other, "merged_content": self.text()},
            "consolidate": {"node_ids": [one, other], "title": "Both", "content": self.text()},
        }[verb]

    def refusal(self, verb: str, given: dict[str, Any]) -> bool | None:
        """Whether undo and restore must refuse; None where the verb's own rules decide."""
        if verb == "restore":
            if self.gone[given["node_id"]][1] != "merge":
                return False
            merges = [made for made, it in self.made.items() if it.after.get(given["node_id"], "") is None]
            return not self.refusal("undo", {"change_id": merges[-1]})
        if verb != "undo" or given["change_id"] in self.undone:
            return None
        files, made = {each: (data,) for each, data in self.files().items()}, self.made[given["change_id"]]
        files |= {each: (data, "trash") for each, (_, _, data) in self.gone.items()}
        wanted = {each: (left[1],) if left else (was[1], "trash") if (was := made.before[each]) else None
                  for each, left in made.after.items()}  # fmt: skip
        return any(files.get(each) != left for each, left in wanted.items())

    async def step(self, memory: Any, verb: str, given: dict[str, Any]) -> None:
        before, refuses = self.files(), self.refusal(verb, given)
        did, refused = Did(None), ""
        try:
            did = await do(memory, verb, given)
        except HoldfastError as error:
            refused = type(error).__name__
        assert refuses is None or refuses == bool(refused), (verb, refused)
        assert verb != "undo" or refused in ("", "UndoConflictError")
        assert did.already == (verb == "undo" and given["change_id"] in self.undone)
        if did.change_id is None:
            assert self.files() == before, verb
        else:
            self.known(verb, given, before, did.change_id)

    async def remember(self, memory: Any) -> None:
        links = [(self.pick(), self.dice.choice(EDGES))] if len(self.notes) > 1 else []
        before = self.files()
        outcome = await keep(memory, self.text(), links=links, tags=self.dice.sample(WORDS, 1))
        note, made = outcome.note, frozenset((link.id, link.type, link.weight) for link in outcome.linked)
        plain = Plain(note.content, tags=frozenset(note.tags), links=made)
        self.notes[note.id] = plain
        lines = await memory.ports.store.past.records()
        change = [line.change for line in lines if note.id in {file.note for file in line.files}][-1]
        assert note.id not in before
        self.made[change] = Made({note.id: None}, {note.id: (plain, self.files()[note.id])})

    async def crash(self, verb: str, given: dict[str, Any]) -> None:
        """A process dies somewhere in the middle of a verb: it is done or it is not."""
        before = self.files()
        support = ROOT / "tests" / "support"
        path = os.pathsep.join([str(ROOT / "server"), str(support)])
        command = [sys.executable, str(support / "walk_worker.py"), str(self.home), verb, json.dumps(given)]
        environment = {**os.environ, "PYTHONPATH": path}
        done = await anyio.run_process([*command, str(self.dice.randrange(30))], check=False, env=environment)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        async with living(self.home) as memory:
            await ask(memory, "anything")
            if self.files() != before:
                lines = [each for each in await memory.ports.store.past.records() if each.files]
                self.known(verb, given, before, lines[-1].change)
            await self.compare(memory)

    async def compare(self, memory: Any) -> None:
        """Texts, marks, counts and edges, as the index and the files have them."""
        files = self.files()
        assert files.keys() - {SELF_ID} == self.notes.keys()
        found = await memory.attend(lambda ports: ports.index.notes([*files]))
        for each, plain in self.notes.items():
            note = found[each].note
            assert (note.content, note.tier, set(note.tags)) == (plain.content, plain.tier, plain.tags)
            assert (note.is_outdated, note.superseded_by) == (plain.outdated, plain.superseded_by)
        links = await memory.attend(lambda ports: ports.index.links([*files]))
        assert {(link.source, link.target, link.type) for link in links} == self.edges()
        assert await memory.attend(lambda ports: ports.index.read(lambda view: view.count_notes())) == len(files)

    def edges(self) -> set[tuple[str, str, str]]:
        """Every edge between living notes; the id of a merged note leads to the one that it was merged into."""
        heirs = {old: min(each for each, plain in self.notes.items() if old in plain.merged)
                 for plain in self.notes.values() for old in plain.merged}  # fmt: skip
        living_ = {**heirs, **{each: each for each in (*self.notes, SELF_ID)}}
        drawn = {(each, to, kind) for each, plain in self.notes.items() for to, kind, _ in plain.links}
        drawn |= {(heir, each, "evolved_from") for each, plain in self.notes.items() if (heir := plain.superseded_by)}
        return {(living_[a], living_[b], kind) for a, b, kind in drawn if a in living_ and b in living_}


VERBS = ("update", "connect", "outdate", "delete", "restore", "undo", "undo", "undo", "merge", "consolidate")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.timeout(300)
async def test_a_plain_model_predicts_notes_edges_and_counts(
    tmp_path: Path, seed: int, effort: Effort, tally: Counter[str]
) -> None:
    walk = Walk(tmp_path / "home", random.Random(seed))  # noqa: S311 - no secret
    for _ in range(effort.of(2, 40)):
        async with living(walk.home) as memory:
            for _ in range(25):
                verb = walk.dice.choice(("remember", "remember", "rebuild", *VERBS, *VERBS))
                if verb == "rebuild":
                    await memory.attend_folder(discard_index)
                elif verb == "remember" or len(walk.notes) < FEWEST:
                    await walk.remember(memory)
                elif (given := walk.arguments(verb)) is not None:
                    await walk.step(memory, verb, given)
                tally["steps beside a plain model"] += 1
                await walk.compare(memory)
        if walk.dice.random() < 0.3:
            shutil.rmtree(walk.home / ".holdfast")
        verb = walk.dice.choice(("update", "merge", "consolidate", "undo", "delete"))
        given = walk.arguments(verb)
        if given is not None and not walk.refusal(verb, given):
            await walk.crash(verb, given)
            tally["crashes beside a plain model"] += 1
