"""Answers as a person reads them on a terminal, from the same structure that `--json` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.cli.terminal import Screen, clean
from holdfast.model.words import counted

Shape = Mapping[str, Any]

_INDENT = "    "


def remembered(screen: Screen, shape: Shape) -> None:
    screen.say(f"{screen.paint(shape['id'], 'cyan')}  {clean(shape['title'])}")
    screen.say(screen.paint(f"stored as {shape['type']} in space {shape['space']}", "dim"))
    for link in shape["linked"]:
        screen.say(f"  linked: {link['type']} {link['id']} {clean(link['title'])}")
    for near in shape["similar"]:
        screen.say(f"  says nearly the same: {near['id']} {clean(near['title'])}")
    _notices(screen, shape["notices"])


def recalled(screen: Screen, shape: Shape) -> None:
    window = shape["read_as"]
    if window["after"] or window["before"]:
        told = f"asked for {window['after'] or 'the beginning'} to {window['before'] or 'now'}"
        screen.say(screen.paint(told, "dim"))
    if shape["total"] is not None:
        screen.say(screen.paint(f"{counted(shape['total'], 'note')}, {len(shape['results'])} of them here", "dim"))
    elif not shape["results"]:
        screen.say("Nothing relevant is stored.")
    for hit in shape["results"]:
        screen.say(_heading(screen, hit))
        screen.say(_indented(hit["content"]))
        if hit["cut"]:
            screen.say(screen.paint(f"{_INDENT}{hit['cut']:,} more characters: holdfast node {hit['id']}", "dim"))
        for line in hit.get("earlier", ()):
            screen.say(_indented(f"earlier: {clean(line)}"))
        screen.say()
    for near in shape["related"]:
        screen.say(f"related: {near['id']} {clean(near['title'])} ({near['edge']})")
    for pair in shape["tensions"]:
        screen.say(screen.paint(f"contradiction: {pair['a']} and {pair['b']}", "yellow"))
    if shape["omitted"]["count"]:
        more = shape["omitted"]["count"] - len(shape["omitted"]["ids"])
        named = [*shape["omitted"]["ids"], *([f"{more} more"] if more else [])]
        screen.say(f"left out for the budget: {', '.join(named)}")
    _notices(screen, shape["notices"])


def node(screen: Screen, shape: Shape) -> None:
    screen.say(f"{screen.paint(shape['id'], 'cyan')}  {screen.paint(clean(shape['title']), 'bold')}")
    facts = [shape["type"], shape["tier"], f"space {shape['space']}", f"created {shape['created']}"]
    facts += [f"tags {clean(', '.join(shape['tags']))}"] if shape["tags"] else []
    screen.say(screen.paint("; ".join(facts), "dim"))
    if shape["outdated"]:
        because = f": {clean(shape['outdated_reason'])}" if shape["outdated_reason"] else ""
        screen.say(screen.paint(f"outdated since {shape['valid_until']}{because}", "yellow"))
    screen.say(screen.paint(clean(shape["path"]), "dim"))
    screen.say()
    screen.say(clean(shape["content"]))
    if shape["connections"]:
        screen.say()
    _notices(screen, shape["notices"])
    for edge in shape["connections"]:
        arrow = "->" if edge["direction"] == "out" else "<-"
        screen.say(f"{arrow} {edge['type']} {edge['id']} {clean(edge['title'])}")


def outdated(screen: Screen, shape: Shape) -> None:
    screen.say(f"{screen.paint(shape['id'], 'cyan')}  {clean(shape['title'])}")
    screen.say(f"outdated since {shape['valid_until']}")
    _undo(screen, shape)
    _notices(screen, shape["notices"])


def taken_back(screen: Screen, shape: Shape) -> None:
    for line in shape["notices"]:
        screen.say(clean(line))
    _undo(screen, shape)


def _undo(screen: Screen, shape: Shape) -> None:
    if shape["change_id"]:
        screen.say(screen.paint(f"to undo: holdfast outdated --undo {shape['change_id']}", "dim"))


def stats(screen: Screen, shape: Shape) -> None:
    old = f", {shape['outdated']:,} of them outdated," if shape["outdated"] else ""
    screen.say(f"{counted(shape['notes'], 'note')}{old} in {shape['home']}")
    for kind in ("spaces", "types", "tiers"):
        counts = sorted(shape[kind].items(), key=lambda item: (-item[1], item[0]))
        told = ", ".join(f"{clean(name)} {count:,}" for name, count in counts) or "none"
        screen.say(f"  {'current ' if old else ''}{kind}: {told}")
    screen.say(f"  quarantined: {shape['quarantined']:,}")
    if shape["pending_vectors"]:
        screen.say(f"  waiting for a vector: {shape['pending_vectors']:,}")
    screen.say(f"  last backup: {shape['last_backup'] or 'none'}")


def _heading(screen: Screen, hit: Shape) -> str:
    when = (hit["event_time"] or hit["created"])[:10]
    marks = (" weak match" if hit["weak"] else "") + (" outdated" if hit["outdated"] else "")
    marks += f" ({hit['belief']})" if "belief" in hit else ""
    told = f"{hit['type']}, {hit['space']}, {when}, relevance {hit['relevance']:.2f}"
    return (
        f"{screen.paint(hit['id'], 'cyan')}  {screen.paint(clean(hit['title']), 'bold')}\n"
        f"{_INDENT}{screen.paint(told, 'dim')}{screen.paint(marks, 'yellow') if marks else ''}"
    )


def _indented(text: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in clean(text).splitlines())


def _notices(screen: Screen, notices: Sequence[str]) -> None:
    for notice in notices:
        screen.say(screen.paint(f"note: {clean(notice)}", "yellow"))
