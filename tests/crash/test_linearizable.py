"""Concurrent calls of several real servers on one folder, some killed: each history is that of one single memory."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from conftest import Effort
from crowd import LostError, Piped, RefusedError, Server, cleared
from linear import FOREVER, NOTE, Op, Step, belief_step, note_step, register_step, unexplained
from processes import HOLDFAST

pytestmark = pytest.mark.timeout(900)

SERVERS, TASKS = 3, 3  # tasks at each server
FIRST_CONFIDENCE = 0.5
UNHEARD = "look before you repeat it"


@dataclass
class History:
    """What was asked and answered, by whoever asked; `notes` are ids by their own words."""

    chance: random.Random
    servers: list[Server]
    ops: list[Op] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    beliefs: list[str] = field(default_factory=list)
    evidence: str = ""
    answers: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def call(
        self, slot: int, op: Op, tool: str, answer: Callable[[dict[str, Any]], Any] = lambda _: None, **arguments: Any
    ) -> dict[str, Any] | None:
        """Make a call and write down what it was; None where it was refused, or nobody heard of it."""
        began = time.monotonic()
        try:
            told = self.servers[slot].ask(tool, **arguments)
        except LostError:
            self._heard(op, began, FOREVER)
            return None
        except RefusedError as error:
            self._refused(op, began, str(error))
            return None
        finally:
            self.answers.release()
        self._heard(op, began, time.monotonic(), answer(told))
        return told

    def _heard(self, op: Op, began: float, ended: float, answer: Any = None) -> None:
        if ended < FOREVER or op.kind not in ("read", "find", "missing", "dry"):
            self.ops.append(Op(op.key, op.kind, op.argument, answer, began, ended, op.name))

    def _refused(self, op: Op, began: float, words: str) -> None:
        if UNHEARD in words:
            self._heard(op, began, FOREVER)
        elif words.startswith("MemoryNotFoundError"):
            self.ops.append(Op(op.key, "missing", None, None, began, time.monotonic()))
        else:
            assert words.startswith(("ConflictError", "UndoConflictError", "InvalidArgumentError: confirm")), words

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self.numbers)}x"

    # --- what tasks do

    def store(self, slot: int) -> None:
        word = self.fresh("quay")
        op = Op(word, "store", name=word)
        told = self.call(slot, op, "remember", content=f"{word} is where the boats of number {word[4:-1]} lie")
        if told is not None:
            self.notes[word] = told["id"]

    def outdate(self, slot: int, word: str) -> None:
        reason = self.fresh("reason")
        op = Op(word, "outdate", reason, name=reason)
        self.call(slot, op, "mark_outdated", node_id=self.notes[word], reason=reason)

    def read(self, slot: int, word: str) -> None:
        def reason(told: dict[str, Any]) -> str:
            return str(told["outdated_reason"] or "")

        self.call(slot, Op(word, "read"), "recall_node", reason, node_id=self.notes[word])

    def find(self, slot: int, word: str) -> None:
        def is_found(told: dict[str, Any]) -> bool:
            return self.notes[word] in [hit["id"] for hit in told["results"]]

        self.call(slot, Op(word, "find"), "recall", is_found, query=word)

    def delete(self, slot: int, word: str) -> None:
        """Delete a note and, mostly, undo that; others may have come between."""
        node, name = self.notes[word], self.fresh("delete")
        token = self.call(slot, Op(word, "dry"), "admin_delete_memory", node_id=node)
        if token is None:
            return
        op = Op(word, "delete", name=name)
        done = self.call(slot, op, "admin_delete_memory", node_id=node, confirm=token["confirm"])
        if done is not None and self.chance.random() < 0.9:
            undo = Op(word, "undo", name, name=f"undo of {name}")
            self.call(slot, undo, "admin_undo", change_id=done["change_id"])

    def believe(self, slot: int, belief: str) -> None:
        supports, strength = self.chance.random() < 0.5, round(self.chance.random(), 2)
        self.call(
            slot, Op(belief, "believe", (supports, strength)), "belief_update", lambda told: told["new_confidence"],
            belief_id=belief, evidence_memory_id=self.evidence, supports=supports, strength=strength,
        )  # fmt: skip

    def weigh(self, slot: int, belief: str) -> None:
        self.call(slot, Op(belief, "read"), "recall_node", lambda told: told["confidence"], node_id=belief)

    def write_now(self, slot: int) -> None:
        task = self.fresh("task")
        self.call(slot, Op("now", "write", task), "now_update", current_task=task)

    def read_now(self, slot: int) -> None:
        self.call(slot, Op("now", "read"), "now_read", lambda told: told.get("current_task", ""))

    def task(self, slot: int, calls: int) -> None:
        for _ in range(calls):
            word, belief = self.chance.choice(list(self.notes)), self.chance.choice(self.beliefs)
            [act] = self.chance.choices(
                [
                    lambda: self.store(slot), lambda w=word: self.outdate(slot, w), lambda w=word: self.read(slot, w),
                    lambda w=word: self.find(slot, w), lambda w=word: self.delete(slot, w),
                    lambda b=belief: self.believe(slot, b), lambda b=belief: self.weigh(slot, b),
                    lambda: self.write_now(slot), lambda: self.read_now(slot),
                ],
                weights=[1, 3, 4, 5, 3, 4, 3, 3, 3],
            )  # fmt: skip
            act()

    def faults(self) -> dict[str, list[Op]]:
        """The keys whose history is that of no single memory, with the calls that nothing explains."""
        by_key: dict[str, list[Op]] = defaultdict(list)
        for op in self.ops:
            if op.kind != "dry":
                by_key[op.key].append(op)
        found = {key: unexplained(ops, *self._model(key)) for key, ops in by_key.items()}
        return {key: ops for key, ops in found.items() if ops}

    def _model(self, key: str) -> tuple[Step, Any]:
        if key == "now":
            return register_step, ""
        return (belief_step, FIRST_CONFIDENCE) if key in self.beliefs else (note_step, NOTE)


def test_what_several_servers_answer_is_what_one_memory_would_have_said(
    environment: dict[str, str], tally: Counter[str], effort: Effort
) -> None:
    for seed in range(effort.of(1, 8)):
        kills = effort.of(3, 8)
        own = environment | {"HOLDFAST_HOME": f"{environment['HOLDFAST_HOME']}{seed}"}
        with cleared() as servers:
            servers += [Piped(own, command=(*HOLDFAST, "--admin")) for _ in range(SERVERS + kills)]
            history = History(random.Random(seed), servers)  # noqa: S311 - who does what, not a secret
            begin(history)
            run(history, effort.of(40, 150), kills)
            assert history.faults() == {}
            tally["concurrent calls judged"] += len(history.ops)
            tally["of these unheard"] += sum(not op.is_known for op in history.ops)
            for server in servers[:SERVERS]:
                server.end()


def begin(history: History) -> None:
    for slot in range(SERVERS):
        history.store(slot)
    first = history.servers[0]
    for number in range(2):
        told = first.ask("memory_store", content=f"Belief number {number} about ropes", memory_type="belief")
        history.beliefs.append(told["memory_id"])
    history.evidence = first.ask("remember", content="The rope held")["id"]


def run(history: History, calls: int, kills: int) -> None:
    """All tasks at once; now and then a server is killed and one that waits takes its place."""
    slots = [slot for slot in range(SERVERS) for _ in range(TASKS)]
    with ThreadPoolExecutor(len(slots)) as pool:
        waiting = [pool.submit(history.task, slot, calls) for slot in slots]
        for _ in range(kills):
            wait_for(history, len(slots) * calls // (kills + 1))
            slot = history.chance.randrange(SERVERS)
            killed, history.servers[slot] = history.servers[slot], history.servers.pop()
            killed.kill()
        for each in waiting:
            each.result()


def wait_for(history: History, answers: int) -> None:
    for _ in range(answers):
        assert history.answers.acquire(timeout=120)
