"""Errors that PostgreSQL itself raises at any one statement of a change, in place of it or behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import pytest

from holdfast.store.rows.database import Asked, Transaction

# Two that met, two that waited for each other, a statement of which nobody knows whether it was carried out.
RAISED = ("40001", "40P01", "40003")
ENDED = "57P01"  # an administrator ended the connection
CODES = (*RAISED, ENDED)
PLACES = ("instead", "behind")  # of the statement: it is not carried out, or it is and then nobody is told


@dataclass(slots=True)
class Plan:
    """The error to raise, at the statement of this number among those of the task that is watched.

    Where it comes behind a statement, `meanwhile` is done between the two.
    """

    code: str
    at: int
    place: str = PLACES[0]
    meanwhile: Callable[[], None] | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def was_met(self) -> bool:
        """Whether there was a statement of that number, so that the error was raised."""
        return len(self.asked) > self.at


_PLAN: ContextVar[Plan | None] = ContextVar("plan", default=None)


@contextmanager
def watched(plan: Plan) -> Iterator[None]:
    """What the task under way asks the database inside meets the error of the plan, once."""
    token = _PLAN.set(plan)
    try:
        yield
    finally:
        _PLAN.reset(token)


@contextmanager
def raising() -> Iterator[None]:
    """Inside, plans are heeded."""
    asking = Transaction.ask

    def ask(self: Transaction, statement: str, *values: object) -> Asked:
        plan = _PLAN.get()
        if plan is None:
            return asking(self, statement, *values)
        plan.asked.append(statement)
        if len(plan.asked) - 1 != plan.at:
            return asking(self, statement, *values)
        if plan.place == "behind":
            asking(self, statement, *values)
            self.sync()
            if plan.meanwhile is not None:
                plan.meanwhile()
        return asking(self, _failing(plan.code))

    patch = pytest.MonkeyPatch()
    patch.setattr(Transaction, "ask", ask)
    try:
        yield
    finally:
        patch.undo()


def _failing(code: str) -> str:
    if code == ENDED:
        return "SELECT pg_terminate_backend(pg_backend_pid())"
    return f"DO $$ BEGIN RAISE EXCEPTION 'a test' USING ERRCODE = '{code}'; END $$"
