"""The tools for people and scripts: a memory opened for one question, answers as a person reads them; a first run.

Also the tools' definitions for other frameworks, and the View in a browser.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import sys
import tempfile
import time
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from holdfast.adapters.openai import ORMAH, Definition, listed, openai_form
from holdfast.app import build_memory, place, reach_database
from holdfast.cli.terminal import DONE, NOTHING, Screen, as_json, clean, out
from holdfast.engine.admin.undo import TakeBack, take_back
from holdfast.engine.agent.browse import stats, use_node
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError, InvalidArgumentError, StorageError
from holdfast.model.words import counted
from holdfast.running import configure_logs, serve_view, warn_of_unknown
from holdfast.settings import PREFIX, Settings, load_settings, quieten_framework
from holdfast.tools import render

if TYPE_CHECKING:
    from fastmcp import Client

Answer = TypeVar("Answer")

SOURCE = "holdfast-cli"


def settings_here(*, warn: bool = True) -> Settings:
    """The settings of this run, with logs as they say, and nobody else allowed to read what is made.

    Args:
        warn: log what of them nobody reads.
    """
    settings = load_settings(os.environ)
    os.umask(0o077)
    configure_logs(settings.log_level)
    if warn:
        warn_of_unknown(settings)
    return settings


def caller_in(settings: Settings) -> Caller:
    """Who asks: a person at work in the current folder."""
    return Caller(*place(settings), SOURCE)


def run(settings: Settings, work: Callable[[Memory], Awaitable[Answer]]) -> Answer:
    """Open the memory, do the work, close it.

    Raises:
        HoldfastError: whatever the work raises.
    """
    memory = build_memory(settings)

    async def whole() -> Answer | HoldfastError:
        try:
            await reach_database(settings)
        except HoldfastError as error:
            return error
        async with memory.running():
            try:
                return await work(memory)
            except HoldfastError as error:  # raised here it would come out as a group
                return error

    outcome = anyio.run(whole)
    if isinstance(outcome, HoldfastError):
        raise outcome
    return outcome


def text_of(given: str) -> str:
    """Text from the command line, or from standard input for `-`.

    Raises:
        InvalidArgumentError: nothing can come in, or what comes in is no UTF-8.
    """
    if given != "-":
        return given
    if sys.stdin is None:
        raise InvalidArgumentError("There is no standard input to read from.", "Pipe the text in.")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidArgumentError("Standard input is no UTF-8.", "Convert it first.") from error


Shape = Mapping[str, Any]

_INDENT = "    "


def remembered(screen: Screen, shape: Shape) -> None:
    screen.say(f"{screen.paint(shape['id'], 'cyan')}  {clean(shape['title'])}")
    screen.say(screen.paint(f"stored as {shape['type']} in space {shape['space']}", "dim"))
    for link in (each for each in shape["linked"] if each["type"] != "preceded_by"):
        screen.say(f"  linked: {link['type']} {link['id']} {clean(link['title'])}")
    for near in shape["similar"]:
        screen.say(f"  says nearly the same: {near['id']} {clean(near['title'])}")
    _undo(screen, shape)
    _notices(screen, shape["notices"])


def recalled(screen: Screen, shape: Shape, *, passed: int = 0, lacking: str = "", listed: Collection[str] = ()) -> None:
    window = shape["read_as"]
    if window["after"] or window["before"]:
        span = f"asked for {window['after'] or 'the beginning'} to {window['before'] or 'now'}"
        screen.say(screen.paint(span, "dim"))
    if shape["total"] is not None:
        here = len(shape["results"])
        some = f", {here} of them here" if here < shape["total"] else ""
        screen.say(screen.paint(f"{counted(shape['total'], 'note')}{some}", "dim"))
    elif not shape["results"] and not shape["omitted"]["count"] and not passed:
        screen.say(lacking or "Nothing relevant is stored.")
    for hit in shape["results"]:
        screen.say(_heading(screen, hit, is_listed=hit["id"] in listed))
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


def counts(screen: Screen, shape: Shape) -> None:
    old = f", {shape['outdated']:,} of them outdated," if shape["outdated"] else ""
    screen.say(f"{counted(shape['notes'], 'note')}{old} in {shape['home']}")
    for kind in ("spaces", "types", "tiers"):
        counts = sorted(shape[kind].items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{clean(name)} {count:,}" for name, count in counts) or "none"
        screen.say(f"  {'current ' if old else ''}{kind}: {listed}")
    screen.say(f"  quarantined: {shape['quarantined']:,}")
    if shape["pending_vectors"]:
        screen.say(f"  waiting for a vector: {shape['pending_vectors']:,}")
    screen.say(f"  last backup: {shape['last_backup'] or 'none'}")


def _heading(screen: Screen, hit: Shape, *, is_listed: bool) -> str:
    when = (hit["event_time"] or hit["created"])[:10]
    marks = (" weak match" if hit["weak"] else "") + (" outdated" if hit["outdated"] else "")
    marks += f" ({hit['belief']})" if "belief" in hit else ""
    how = "listed" if is_listed else f"relevance {hit['relevance']:.2f}"
    about = f"{hit['type']}, {hit['space']}, {when}, {how}"
    return (
        f"{screen.paint(hit['id'], 'cyan')}  {screen.paint(clean(hit['title']), 'bold')}\n"
        f"{_INDENT}{screen.paint(about, 'dim')}{screen.paint(marks, 'yellow') if marks else ''}"
    )


def _indented(text: str) -> str:
    return "\n".join(f"{_INDENT}{line}" for line in clean(text).splitlines())


def _notices(screen: Screen, notices: Sequence[str]) -> None:
    for notice in notices:
        told = clean(notice).replace("(include_outdated ", "(--include-outdated ")
        screen.say(screen.paint(f"note: {told}", "yellow"))


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
    outcome, who = _ask(lambda ports, who: remember(ports, who, request), anew=True)
    return _tell(options, render.remembered(outcome, render.space_from(request, who)).structured, remembered)


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
    outcome, who = _ask(lambda ports, who: recall(ports, who, request))
    whole = replace(outcome, explained=True)  # a person pays for no tokens
    _tell(
        options,
        render.recalled(whole, who).structured,
        partial(
            recalled,
            passed=outcome.passed,
            lacking=outcome.lacking,
            listed={hit.note.id for hit in outcome.hits if hit.listed},
        ),
    )
    return DONE if outcome.hits else NOTHING


def run_node(options: argparse.Namespace) -> int:
    """Show one note whole."""
    found, _ = _ask(lambda ports, who: use_node(ports, who, options.id, options.page))
    return _tell(options, render.node(found).structured, node)


def run_outdated(options: argparse.Namespace) -> int:
    """Retire a note, or take a change back."""
    if options.undo:
        back = TakeBack(options.undo, options.id, options.reason, options.superseded_by, by_owner=True)
        undone, _ = _ask(lambda ports, who: take_back(ports, who, back))
        return _tell(options, render.taken_back(undone).structured, taken_back)
    request = MarkOutdated(options.id, options.reason, options.superseded_by)
    outcome, _ = _ask(lambda ports, who: mark_outdated(ports, who, request))
    return _tell(options, render.outdated(outcome).structured, outdated)


def run_stats(options: argparse.Namespace) -> int:
    """Say what is stored."""
    settings = settings_here()
    found = run(settings, lambda memory: memory.attend(stats))
    return _tell(options, {"home": str(settings.home), **asdict(found)}, counts)


def _ask(verb: Callable[[Ports, Caller], Awaitable[Answer]], *, anew: bool = False) -> tuple[Answer, Caller]:
    """What a verb answers from the memory of the settings, and who asked."""
    settings = settings_here()
    who = caller_in(settings)
    return run(settings, lambda memory: memory.attend(lambda ports: verb(ports, who), anew=anew)), who


def _tell(options: argparse.Namespace, shape: Shape, shown: Callable[[Screen, Shape], None]) -> int:
    screen = out()
    if options.json:
        screen.say(as_json(shape))
    else:
        shown(screen, shape)
    return DONE


OMI: Final = ("memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {"both": (*ORMAH, *OMI), "ormah": ORMAH, "omi": OMI}
ADMIN: Final = "admin_"  # how the names of the tools begin that only a server with --admin has


def run_tools(options: argparse.Namespace) -> int:
    """Print the tools' definitions as a JSON list."""
    tools = listed()
    family = FAMILIES.get(options.family, sorted(tools))
    names = [name for name in family if options.admin or not name.startswith(ADMIN)]
    out().say(as_json([_formed(tools[name], options.format) for name in names if name in tools]))
    return DONE


def _formed(tool: Definition, form: str) -> Definition:
    match form:
        case "openai":
            return openai_form(tool)
        case "anthropic":
            return {"name": tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
        case _:
            return tool


HOST: Final = "127.0.0.1"


def run_view(options: argparse.Namespace) -> int:
    """Serve the View on this machine until Ctrl-C, and open it in the browser unless asked not to."""
    settings = replace(settings_here(), view="always")

    def listening(port: int, key: str) -> None:
        address = f"http://{HOST}:{port}/#{key}"
        out().say(f"{address}\nThe View is at this address, for you alone; Ctrl-C ends it.")
        if options.browser:
            webbrowser.open(address)

    serve_view(settings, options.port, secrets.token_urlsafe(32), admin=options.admin, listening=listening)
    return DONE


SPACE = "first-run"
NOTES = (
    ("decision", "We keep the search index in SQLite instead of Postgres: no server to run, and it can be rebuilt."),
    ("preference", "The user wants commit messages in the imperative mood, with the reason in the body."),
    ("procedure", "To release: bump the version, tag it, wait for CI, then publish the wheel. Never on a Friday."),
)
QUESTION = "why did we choose SQLite over Postgres?"
# The server itself, after telling its process id: `try` must kill it the way a crash would.
_SERVER = """import os, pathlib, runpy, sys
pathlib.Path(sys.argv.pop(1)).write_text(str(os.getpid()))
runpy.run_module("holdfast", run_name="__main__")"""


def run_trial(_options: argparse.Namespace) -> int:
    """Show the main job on the terminal; the folder is gone afterwards."""
    quieten_framework(os.environ)
    with tempfile.TemporaryDirectory(prefix="holdfast-try-") as folder:
        anyio.run(_trial, Path(folder))
    return DONE


async def _trial(folder: Path) -> None:
    home = folder / "memory"
    _say(f"A memory in {home}")
    with _timed("started the server over stdio, remembered three notes"):
        async with _server(folder, home) as (client, process):
            for kind, text in NOTES:
                stored = await _call(client, "remember", {"content": text, "type": kind})
                _say(f"  {stored['id']}  {text}")
            os.kill(process(), getattr(signal, "SIGKILL", signal.SIGTERM))
    _say("  killed it with SIGKILL")
    with _timed("started it again and asked by meaning"):
        async with _server(folder, home) as (client, _):
            hits = (await _call(client, "recall", {"query": QUESTION, "limit": 1}))["results"]
    found = [hit for hit in hits if not hit["weak"]]
    if not found:
        raise StorageError("The stored note was not found again, or only as a weak match.", "Please report this.")
    _say(f"  {QUESTION}\n  → {found[0]['content']}  (relevance {found[0]['relevance']:.2f})")
    _show_folder(home, found[0]["id"])


@asynccontextmanager
async def _server(folder: Path, home: Path) -> AsyncIterator[tuple[Client[Any], Any]]:
    """A client of a real server process, and a function that tells that process's id."""
    from fastmcp import Client  # noqa: PLC0415 - after its settings
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415

    process_id = folder / "process-id"
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}  # for another memory
    environment = {**others, "HOLDFAST_HOME": str(home), "HOLDFAST_SPACE": SPACE}
    transport = StdioTransport(sys.executable, ["-c", _SERVER, str(process_id)], env=environment, keep_alive=False)
    async with Client(transport) as client:
        yield client, lambda: int(process_id.read_text())


async def _call(client: Client[Any], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """A tool's structured answer; its errors are raised."""
    return (await client.call_tool(tool, arguments)).structured_content or {}


def _show_folder(home: Path, note_id: str) -> None:
    file = next((home / "memories").rglob(f"*.{note_id}.md"))
    _say(f"\nThe note is a file you can read and edit:\n  {file.relative_to(home)}\n")
    _say("\n".join(f"    {line}" for line in file.read_text("utf-8").splitlines()))
    _say("\nThe folder:")
    for path in sorted(home.rglob("*.md")):
        _say(f"  {path.relative_to(home)}")
    _say(f"  {len(list((home / 'journal').iterdir()))} journal file, and .holdfast/ with what can be rebuilt")
    _say("\nAdd it to your client as the README says; it is the same server.")


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    _say(f"{time.perf_counter() - began:5.2f} s  {what}")


def _say(text: str) -> None:
    out().say(text)
