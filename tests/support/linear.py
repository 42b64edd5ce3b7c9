"""Whether a history of concurrent calls could have happened one after the other (Wing and Gong, with Lowe's memory).

A call takes effect at one moment between its invocation and its answer. One whose answer nobody heard may have taken
effect at any later time, or never. Keys are judged one by one: a history is linearizable if that of each key is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.model.lifecycle import updated

FOREVER = float("inf")
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Op:
    """A call on one key and what it was answered; without an answer that was heard it ends never."""

    key: str
    kind: str
    argument: Any = None
    answer: Any = None
    began: float = 0.0
    ended: float = FOREVER
    name: str = ""  # of a change, for the call that undoes it

    @property
    def is_known(self) -> bool:
        return self.ended < FOREVER


State = Hashable
Step = Callable[[Any, Op], State | None]  # the state after a call, or None where its answer does not fit


def unexplained(history: Iterable[Op], step: Step, first: State) -> list[Op]:
    """The calls of one key around the place where no order explains the answers; none where some order does."""
    ops = sorted(history, key=lambda op: op.began)
    needed = sum(1 << number for number, op in enumerate(ops) if op.is_known)
    seen: set[tuple[int, State]] = set()
    open_: list[tuple[int, State]] = [(0, first)]
    furthest = 0
    while open_:
        done, state = open_.pop()
        if done & needed == needed:
            return []
        if (done, state) in seen:
            continue
        seen.add((done, state))
        furthest = max(furthest, done, key=lambda mask: (mask & needed).bit_count())
        open_ += [(done | 1 << number, after) for number, after in _next(ops, done, state, step)]
    return _around(ops, furthest)


def _next(ops: Sequence[Op], done: int, state: State, step: Step) -> Iterable[tuple[int, State]]:
    """Calls that may be the next to take effect: they began before any that is left out has ended."""
    left = [number for number in range(len(ops)) if not done >> number & 1]
    limit = min(ops[number].ended for number in left)
    for number in left:
        if ops[number].began > limit:
            return
        after = step(state, ops[number])
        if after is not None:
            yield number, after


def _around(ops: Sequence[Op], done: int) -> list[Op]:
    left = [op for number, op in enumerate(ops) if not done >> number & 1]
    limit = min(op.ended for op in left)
    return [op for op in left if op.began <= limit]


# --- what keys are ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoteState:
    """A note: None where it is not there, else why it was retired ("" where it is current); and undoable changes."""

    value: str | None = None
    changes: frozenset[tuple[str, str | None, str | None]] = frozenset()

    def changed(self, op: Op, value: str | None) -> NoteState:
        return NoteState(value, self.changes | {(op.name, self.value, value)})


NOTE = NoteState()


def note_step(state: NoteState, op: Op) -> NoteState | None:
    """A register per note, written by store, outdate, delete and undo; `op.answer` is what a reader was told."""
    there = state.value is not None
    if op.kind == "undo":
        found = next((each for each in state.changes if each[0] == op.argument and each[2] == state.value), None)
        return None if found is None else state.changed(op, found[1])
    if op.kind in _WRITES:
        value, only_if_there = _WRITES[op.kind](op)
        return state.changed(op, value) if there is only_if_there else None
    fits = {
        "missing": not there,
        "read": state.value == op.answer,
        "find": (state.value == "") is op.answer,  # by its own word, among what is current
    }
    return state if fits[op.kind] else None


_WRITES: Mapping[str, Callable[[Op], tuple[str | None, bool]]] = {  # the value after it, and whether it needs a note
    "store": lambda _: ("", False),
    "outdate": lambda op: (str(op.argument), True),
    "delete": lambda _: (None, True),
}


def belief_step(state: float, op: Op) -> float | None:
    """A confidence that each call moves by the formula, from where the one before it left it."""
    if op.kind == "read":
        return state if abs(state - op.answer) < TOLERANCE else None
    supports, strength = op.argument
    after = updated(state, supports=supports, strength=strength)
    return after if op.answer is None or abs(after - op.answer) < TOLERANCE else None


def register_step(state: str | None, op: Op) -> str | None:
    """A plain register that is written and read; it begins with an empty text."""
    if op.kind == "write":
        return str(op.argument)
    return state if state == op.answer else None
