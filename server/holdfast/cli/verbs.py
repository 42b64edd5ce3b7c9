"""remember, recall, node, outdated, stats: what the tools do, for people and scripts."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from holdfast.cli import show
from holdfast.cli.session import caller_in, run, settings_here, text_of
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, out
from holdfast.engine.admin.undo import TakeBack, take_back
from holdfast.engine.agent.browse import stats
from holdfast.engine.agent.node import use_node
from holdfast.engine.agent.outdate import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from holdfast.tools import render

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
