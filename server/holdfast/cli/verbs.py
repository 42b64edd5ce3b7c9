"""remember, recall, node, outdated, stats: the tools for people and scripts; and their definitions as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeVar

import anyio

from holdfast.app import build_memory, build_server
from holdfast.cli import show
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, caller_in, out, run, settings_here, text_of
from holdfast.engine.admin.undo import TakeBack, take_back
from holdfast.engine.agent.browse import stats
from holdfast.engine.agent.node import use_node
from holdfast.engine.agent.outdate import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from holdfast.settings import load_settings
from holdfast.tools import render

ORMAH: Final = (
    "remember", "recall", "recall_node", "mark_outdated", "submit_feedback", "run_maintenance",
    "admin_update_memory", "admin_connect_memories", "admin_list_proposals", "admin_resolve_proposal",
    "admin_list_merges", "admin_undo_merge", "admin_list_audit_log",
)  # fmt: skip
OMI: Final = ("memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {"both": (*ORMAH, *OMI), "ormah": ORMAH, "omi": OMI}

ADMIN: Final = "admin_"  # how the names of the tools begin that only a server with --admin has

Definition = dict[str, Any]


def run_tools(options: argparse.Namespace) -> int:
    """Print them as a JSON list."""
    tools = listed()
    family = FAMILIES.get(options.family, sorted(tools))
    names = [name for name in family if options.admin or not name.startswith(ADMIN)]
    out().say(as_json([_formed(tools[name], options.format) for name in names if name in tools]))
    return DONE


def listed() -> dict[str, Definition]:
    """Every tool of a server with the admin namespace, by name, as `tools/list` has it. No memory is opened."""
    with TemporaryDirectory() as folder:
        settings = load_settings({"HOLDFAST_HOME": str(Path(folder) / "memory"), "HOLDFAST_ENCODER": "none"})
        server = build_server(settings, build_memory(settings), admin=True)

        async def ask() -> dict[str, Definition]:
            tools = [tool.to_mcp_tool() for tool in await server.list_tools()]
            return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}

        return anyio.run(ask)


def _formed(tool: Definition, form: str) -> Definition:
    match form:
        case "openai":
            told = {"description": tool["description"], "parameters": tool["inputSchema"]}
            return {"type": "function", "function": {"name": tool["name"], **told}}
        case "anthropic":
            return {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        case _:
            return tool


Answer = TypeVar("Answer")
Shape = Mapping[str, Any]


def run_remember(options: argparse.Namespace) -> int:
    """Store one note."""
    request = Remember(
        content=text_of(options.content),
        type=options.type,
        tier=options.tier,
        title=options.title,
        space=options.space,
        tags=options.tag,
        about_self=options.about_self,
        confidence=options.confidence,
        links=[(link, "related_to") for link in options.link],
        supersedes=options.supersedes,
        session=options.session,
        subject=options.subject,
        event_time=options.event_time,
    )
    settings = settings_here()
    who = caller_in(settings)
    outcome = run(settings, _asking(lambda ports: remember(ports, who, request), anew=True))
    return _tell(options, render.remembered(outcome, render.space_from(request, who)).structured, show.remembered)


def run_recall(options: argparse.Namespace) -> int:
    """Search; 1 where nothing relevant is stored."""
    request = Recall(
        query=text_of(options.query),
        also=options.also,
        limit=options.limit,
        offset=options.offset,
        types=options.type,
        spaces=options.space,
        tags=options.tag,
        tiers=options.tier,
        created_after=options.after,
        created_before=options.before,
        include_outdated=options.include_outdated,
        budget=options.budget,
        explain=options.explain,
    )
    settings = settings_here()
    who = caller_in(settings)
    outcome = run(settings, _asking(lambda ports: recall(ports, who, request)))
    _tell(options, render.recalled(outcome, who).structured, show.recalled)
    return DONE if outcome.hits else NOTHING


def run_node(options: argparse.Namespace) -> int:
    """Show one note whole."""
    settings = settings_here()
    who = caller_in(settings)
    found = run(settings, _asking(lambda ports: use_node(ports, who, options.id, options.page)))
    return _tell(options, render.node(found).structured, show.node)


def run_outdated(options: argparse.Namespace) -> int:
    """Retire a note, or take a change back."""
    settings = settings_here()
    who = caller_in(settings)
    if options.undo:
        back = TakeBack(options.undo, options.id, options.reason, options.superseded_by, by_owner=True)
        undone = run(settings, _asking(lambda ports: take_back(ports, who, back)))
        return _tell(options, render.taken_back(undone).structured, show.taken_back)
    request = MarkOutdated(options.id, options.reason, options.superseded_by)
    outcome = run(settings, _asking(lambda ports: mark_outdated(ports, who, request)))
    return _tell(options, render.outdated(outcome).structured, show.outdated)


def run_stats(options: argparse.Namespace) -> int:
    """Say what is stored."""
    settings = settings_here()
    found = run(settings, _asking(stats))
    return _tell(options, {"home": str(settings.home), **asdict(found)}, show.stats)


def _asking(verb: Callable[[Ports], Awaitable[Answer]], *, anew: bool = False) -> Callable[[Memory], Awaitable[Answer]]:
    return lambda memory: memory.attend(verb, anew=anew)


def _tell(options: argparse.Namespace, shape: Shape, shown: Callable[[Screen, Shape], None]) -> int:
    screen = out()
    if options.json:
        screen.say(as_json(shape))
    else:
        shown(screen, shape)
    return DONE
