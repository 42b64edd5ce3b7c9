"""The verbs of a walk over a memory, each by name, so that a process of its own can do it too and be killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.engine.admin.notes import (
    BroughtBack,
    Connect,
    Edit,
    Edited,
    connect_notes,
    restore_note,
    update_note,
)
from holdfast.engine.admin.undo import AlreadyUndone, undo
from holdfast.engine.agent.feedback import MarkOutdated, Outdated, mark_outdated
from holdfast.engine.maintenance.batches import Verdicts, judge
from holdfast.engine.maintenance.verdicts import ConsolidationVerdict, MergeVerdict
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from worlds import CALLER, deleted


@dataclass(frozen=True)
class Did:
    """What came of a verb: the change, if it made one, and whether it said that it was undone already."""

    change_id: str | None
    already: bool = False


async def do(memory: Memory, verb: str, given: dict[str, Any]) -> Did:
    """One verb on a memory; the errors are the engine's own."""
    match verb:
        case "delete":
            return Did((await deleted(memory, given["node_id"])).change_id)
        case "undo":
            outcome = await memory.attend(lambda ports: undo(ports, CALLER, given["change_id"]))
            return Did(None, already=True) if isinstance(outcome, AlreadyUndone) else Did(outcome.change_id)
        case "merge":
            return await _judge(memory, Verdicts(merges=[MergeVerdict(**given)]))
        case "consolidate":
            told = ConsolidationVerdict(**{**given, "node_ids": tuple(given["node_ids"])})
            return await _judge(memory, Verdicts(consolidations=[told]))
    return Did((await memory.attend(lambda ports: _simple(ports, verb, given))).change_id)


async def _simple(ports: Ports, verb: str, given: dict[str, Any]) -> Edited | Outdated | BroughtBack:
    match verb:
        case "update":
            return await update_note(ports, CALLER, Edit(**given))
        case "connect":
            return await connect_notes(ports, CALLER, Connect(**given))
        case "outdate":
            return await mark_outdated(ports, CALLER, MarkOutdated(**given))
        case "restore":
            return await restore_note(ports, CALLER, given["node_id"])
    raise ValueError(verb)


async def _judge(memory: Memory, verdicts: Verdicts) -> Did:
    [outcome] = (await judge(memory, CALLER, verdicts)).outcomes
    return Did(outcome.change_id if outcome.status == "applied" else None)
