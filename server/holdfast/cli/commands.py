"""The commands and their options. What carries them out is imported when one of them is called."""

from __future__ import annotations

import argparse
import io
import os
import sys
from importlib import import_module
from typing import get_args

from holdfast.cli.terminal import let_go
from holdfast.model.moving import SourceKind
from holdfast.model.note import NoteType, Tier

FORMATS = ("openai", "anthropic", "mcp")
FAMILIES = ("both", "ormah", "omi", "all")
CLIENTS = (
    "claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "windsurf", "print",
)  # fmt: skip
EXIT_CODES = "Exit codes: 0 done, 1 nothing found or something is wrong, 2 a wrong call or an error."

INTERRUPTED = 130  # as shells have it for SIGINT

_RUNS = {
    "try": "verbs:run_trial",
    "remember": "verbs:run_remember",
    "recall": "verbs:run_recall",
    "node": "verbs:run_node",
    "outdated": "verbs:run_outdated",
    "stats": "verbs:run_stats",
    "ingest": "ingest:run_ingest",
    "ingest-session": "ingest:run_ingest_session",
    "tools": "verbs:run_tools",
    "install": "install:run_install",
    "uninstall": "install:run_uninstall",
    "doctor": "doctor:run_doctor",
    "whisper": "install:run_whisper",
    "view": "verbs:run_view",
    "store": "store:run_store",
}


def run_command(options: argparse.Namespace) -> int:
    """Carry out the command that was named; returns the exit code."""
    _complete_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # no letter of a note may end the command
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    module, _, function = _RUNS[options.command].partition(":")
    try:
        return int(getattr(import_module(f"holdfast.cli.{module}"), function)(options))
    except BrokenPipeError:  # whoever reads has seen enough
        let_go(sys.stdout)
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


def _complete_streams() -> None:
    """Put nothing in the place of a stream that was closed: no file of the memory may come to have its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - the process's own
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as above


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add every command with its options."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("try", help="a first run in a temporary folder")
    _add_remember(commands.add_parser("remember", help="store a note", epilog=EXIT_CODES))
    _add_recall(commands.add_parser("recall", help="search", epilog=EXIT_CODES))
    _add_node(commands.add_parser("node", help="show a note whole", epilog=EXIT_CODES))
    _add_outdated(commands.add_parser("outdated", help="retire a note", epilog=EXIT_CODES))
    _add_json(commands.add_parser("stats", help="say what is stored", epilog=EXIT_CODES))
    _add_ingest(commands.add_parser("ingest", help="store files and other memories as notes", epilog=EXIT_CODES))
    _add_sessions(
        commands.add_parser("ingest-session", help="let past sessions wait to be distilled", epilog=EXIT_CODES)
    )
    _add_tools(commands.add_parser("tools", help="print the tools' definitions for other frameworks"))
    _add_install(commands.add_parser("install", help="add Holdfast to a client", epilog=EXIT_CODES))
    _add_entry(commands.add_parser("uninstall", help="take it out of a client", epilog=EXIT_CODES))
    _add_whisper(commands.add_parser("whisper", help="presence: answer a hook, or set it up", epilog=EXIT_CODES))
    _add_view(commands.add_parser("view", help="show the memory in the browser, to look through it and put it right"))
    _add_store(commands.add_parser("store", help="a memory in a database: docs/fleet.md", epilog=EXIT_CODES))
    _add_doctor(commands.add_parser("doctor", help="look for what is wrong, and say what to do", epilog=EXIT_CODES))


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_remember(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("content", help="the note, in markdown; - reads it from standard input")
    parser.add_argument("--type", default="fact", choices=get_args(NoteType), metavar="TYPE")
    parser.add_argument("--tier", default="working", choices=get_args(Tier))
    parser.add_argument("--title")
    parser.add_argument("--space", help='a project; by default the one of this folder, "global" for none')
    parser.add_argument("--tag", action="append", default=[], help="may be given again")
    parser.add_argument("--about-self", action="store_true", help="it is about you")
    parser.add_argument("--confidence", type=float, help="how sure you are, 0 to 1")
    parser.add_argument("--link", action="append", default=[], metavar="ID", help="a note it belongs with")
    parser.add_argument("--supersedes", action="append", default=[], metavar="ID", help="a note that it replaces")
    parser.add_argument("--session", help="groups notes of one conversation")
    parser.add_argument("--subject", help="whom or what it is about")
    parser.add_argument("--event-time", metavar="TIME", help="when it happened, ISO-8601")
    _add_json(parser)


def _add_recall(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query", nargs="?", default="", help="a question or words; - reads it from standard input; none lists by time"
    )
    parser.add_argument("--also", action="append", default=[], metavar="QUERY", help="the same in other words")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--offset", type=int, default=0, help="how many to leave out before the first")
    parser.add_argument("--type", action="append", default=[], choices=get_args(NoteType), metavar="TYPE")
    parser.add_argument("--space", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--tier", action="append", default=[], choices=get_args(Tier))
    parser.add_argument("--after", metavar="TIME", help="ISO-8601")
    parser.add_argument("--before", metavar="TIME", help="ISO-8601")
    parser.add_argument("--include-outdated", action="store_true")
    parser.add_argument("--budget", type=int, metavar="TOKENS")
    parser.add_argument("--explain", action="store_true", help="show the nearest even if nothing is relevant")
    _add_json(parser)


def _add_node(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a note's id, or the beginning of it")
    parser.add_argument("--page", type=int, default=1, help="of a very long note")
    _add_json(parser)


def _add_outdated(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="a note's id, or the beginning of it")
    parser.add_argument("--reason")
    parser.add_argument("--superseded-by", metavar="ID", help="the note that is true now")
    parser.add_argument("--undo", metavar="CHANGE", help="take back a change that a command made in the last hour")
    _add_json(parser)


def _add_ingest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, or a folder with all that is below it")
    parser.add_argument("--kind", choices=get_args(SourceKind), help="what it is, where that is not recognised")
    parser.add_argument("--space", help="for notes that name none; by default the project of this folder")
    parser.add_argument("--dry-run", action="store_true", help="say what would be stored, and store nothing")
    _add_json(parser)


def _add_sessions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="transcripts, or data exports of Claude and ChatGPT")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--latest", action="store_true", help="the session that was changed last")
    which.add_argument("--since", metavar="SPAN", help="those changed in the last 72h, 7d or 2w (default 72h)")
    parser.add_argument("--space", help="for what is made of it; by default that of each session's folder")
    parser.add_argument("--dry-run", action="store_true", help="of an export: say what is new, and take nothing")
    _add_json(parser)


def _add_tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", default="openai", choices=FORMATS)
    parser.add_argument(
        "--family", default="both", choices=FAMILIES,
        help="ormah: Ormah's tools; omi: OMI's; both; all: every tool",
    )  # fmt: skip
    parser.add_argument("--admin", action="store_true", help="also those of a server with --admin")


def _add_entry(parser: argparse.ArgumentParser, client: str | None = None) -> None:
    if client is None:
        parser.add_argument("client", choices=CLIENTS)
    else:
        parser.add_argument("client", choices=CLIENTS, nargs="?", default=client)
    parser.add_argument("--config", metavar="PATH", help="the client's file, where it is not in its usual place")
    parser.add_argument("--project", action="store_true", help="for this folder's project alone")
    parser.add_argument("--name", default="holdfast", help="what the client calls it (default holdfast)")
    parser.add_argument("--agents", action="store_true", help="also its subagents, commands and skills, if it has such")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def _add_install(parser: argparse.ArgumentParser, client: str | None = None) -> None:
    _add_entry(parser, client)
    parser.add_argument("--home", metavar="FOLDER", help="the memory folder, where it is not the usual one")
    parser.add_argument(
        "--admin", action=argparse.BooleanOptionalAction, help="with the admin namespace; left out: as it is there"
    )
    parser.add_argument(
        "--presence", action=argparse.BooleanOptionalAction,
        help="with the hooks that make memory present; left out: asked for on a terminal, else as it is there",
    )  # fmt: skip
    parser.add_argument("--print", action="store_true", help="print the entry in the client's form, and change nothing")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for the server")


def _add_whisper(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    hook = actions.add_parser("inject", help="answer a hook that is a command: its JSON in, the client's JSON out")
    hook.add_argument("--home", metavar="FOLDER", help="the memory folder, where it is not the usual one")
    hook.add_argument("--seconds", type=float, default=2.0, help="say nothing if it takes longer (default 2)")
    setup = actions.add_parser("setup", help="the same as `holdfast install CLIENT --presence`")
    _add_install(setup, client="claude-code")
    setup.set_defaults(presence=True)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--accept", action="store_true", help="take pages that others have changed for right")
    _add_json(parser)


def _add_store(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, sentence in (
        ("init", "make the tables in the database that HOLDFAST_STORE names"),
        ("migrate", "bring the tables of an older Holdfast up to date"),
    ):
        action = actions.add_parser(name, help=sentence, epilog=EXIT_CODES)
        action.add_argument("--role", metavar="NAME", help="a role of the database that servers log in as")
        _add_json(action)
    _add_json(actions.add_parser("check", help="look whether servers can work with the database", epilog=EXIT_CODES))
    for name, sentence in (
        ("load", "bring a memory folder into the database"),
        ("dump", "write a memory of the database as a folder"),
    ):
        action = actions.add_parser(name, help=sentence, epilog=EXIT_CODES)
        action.add_argument("folder", metavar="DIR")
        _add_json(action)


def _add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, help="where on this machine (default: one that is free)")
    parser.add_argument(
        "--admin", action="store_true", default=argparse.SUPPRESS,
        help="with the admin namespace: edit in place, approve, delete, erase, undo anything",
    )  # fmt: skip
    parser.add_argument("--no-browser", dest="browser", action="store_false", help="only print the address")
