"""Presence on the command line: the hooks that make it, how they are put into a client's file, what `install` asks.

The hooks call tools of the server that the client has connected already, so that no hook starts a process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.cli.files import ClientFile, read_file, with_item, without_item, write_file
from holdfast.cli.terminal import Screen
from holdfast.errors import ClientConfigError, InvalidArgumentError

Hooks = dict[str, list[dict[str, Any]]]

KEY: Final = "hooks"
WHISPER: Final = "whisper"
STORE: Final = "whisper_store"
SECONDS: Final = 10  # that a client waits at most; while a server is being started, that is needed
_TOOLS: Final = frozenset({WHISPER, STORE})
_PROMPT: Final = {
    "prompt": "${prompt}",
    "session_id": "${session_id}",
    "cwd": "${cwd}",
    "event": "${hook_event_name}",
}
_MOMENT: Final = {name: value for name, value in _PROMPT.items() if name != "prompt"}
_SAID: Final = {"transcript_path": "${transcript_path}", **_MOMENT, "last": "${last_assistant_message}"}
_MOMENTS: Final[Mapping[str, tuple[str, ...]]] = {  # at which what was shown is no longer before the model
    "claude-code": ("PreCompact", "PostCompact"),
    "codex": ("PreCompact",),
}
EXPLAINED: Final = """\
Presence lets memory be there without being asked. With the first prompt of a session a hook of the client adds what is
known of you, where the project stands and the notes that fit the prompt (600 tokens at most); later only a note that
matters much and was not shown yet. After each turn what was said goes into a queue in the memory folder; nothing of it
becomes a note unless an agent distils it (run_maintenance). No process is started, and nothing leaves this machine.
It writes hooks, a skill and a subagent; `holdfast uninstall` takes all of it out again."""


def hooks_for(client: str, server: str) -> Hooks:
    """What a client's file is to have, by event."""
    whispered, said = _call(server, WHISPER, _PROMPT), _call(server, STORE, _SAID)
    moments = [_call(server, WHISPER, _MOMENT), said]
    hooks: Hooks = {"UserPromptSubmit": [{"hooks": [whispered]}], "Stop": [{"hooks": [said]}]}
    return hooks | {event: [{"hooks": moments}] for event in _MOMENTS[client]}


def _call(server: str, tool: str, given: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "mcp_tool", "server": server, "tool": tool, "timeout": SECONDS, "input": dict(given)}


def place_hooks(screen: Screen, client: str, path: Path, server: str, *, dry_run: bool) -> bool:
    """Write the hooks into a client's file, where they are not there yet; returns whether it was changed.

    Raises:
        ClientConfigError: the file cannot be read, kept or written.
    """
    file = read_file(path)
    return write_file(screen, file, with_hooks(file.text, hooks_for(client, server), server), dry_run=dry_run)


def remove_hooks(screen: Screen, path: Path, server: str, *, dry_run: bool) -> bool:
    """Take them out; a file that has not changed since they were put in is then as it was, to the byte.

    Raises:
        ClientConfigError: as above.
    """
    file = read_file(path)
    if file.data is None or not any(_ours(data_of(file.text), server)):
        return False
    after = _before(file, server)
    if after is not None:
        return write_file(screen, file, after, dry_run=dry_run)
    screen.say(f"{'Would be removed' if dry_run else 'Removed'}: {file.path}")
    if not dry_run:
        file.path.unlink()
    return not dry_run


def with_hooks(text: str, hooks: Hooks, server: str) -> str:
    """The text with these hooks for a server, and without others for it; the same text where it says that already."""
    before = data_of(text)
    base = without_hooks(text, server)
    made = base
    try:
        for event, groups in hooks.items():
            for group in groups:
                made = with_item(made, (KEY, event), group)
    except ValueError as error:
        raise _unchangeable() from error
    wanted = data_of(base)
    lists = wanted.setdefault(KEY, {})
    for event, groups in hooks.items():
        lists.setdefault(event, []).extend(groups)
    if data_of(made) != wanted:
        raise _unchangeable()
    return text if before == wanted else made


def without_hooks(text: str, server: str) -> str:
    """The text without any group of hooks that only calls our tools on this server."""
    made = text
    try:
        for event, number in reversed(list(_ours(data_of(text), server))):
            made = without_item(made, (KEY, event), number)
    except ValueError as error:
        raise _unchangeable() from error
    if any(_ours(data_of(made), server)):
        raise _unchangeable()
    return made


def has_hooks(text: str, client: str, server: str) -> bool:
    """Whether all of them are there."""
    lists = data_of(text).get(KEY, {})
    wanted = hooks_for(client, server)
    return all(group in lists.get(event, []) for event, groups in wanted.items() for group in groups)


def data_of(text: str) -> dict[str, Any]:
    """What a client's file with hooks says.

    Raises:
        ClientConfigError: it is not in the form that the client reads.
    """
    try:
        data = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ClientConfigError(
            "The client's file is no plain JSON; nothing was changed.", "Mend it by hand."
        ) from error
    hooks = data.get(KEY, {}) if isinstance(data, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(groups, list) for groups in hooks.values()):
        raise ClientConfigError("The client's file has hooks in another form; nothing was changed.", "Mend it by hand.")
    return dict(data)


def _ours(data: Mapping[str, Any], server: str) -> Iterator[tuple[str, int]]:
    """Each group that is ours, by its event and its number."""
    for event, groups in data.get(KEY, {}).items():
        for number, group in enumerate(groups):
            calls = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(calls, list) and calls and all(_is_ours(call, server) for call in calls):
                yield event, number


def _is_ours(call: Any, server: str) -> bool:
    return isinstance(call, dict) and call.get("server") == server and call.get("tool") in _TOOLS


def _before(file: ClientFile, server: str) -> str | None:
    """The text as it was before; None where there was no file.

    Of a file whose lists were there and empty, only the copy that was kept beside it knows that.
    """
    ours = {event: data_of(file.text)[KEY][event][number] for event, number in _ours(data_of(file.text), server)}
    hooks: Hooks = {event: [group] for event, group in ours.items()}
    copies = sorted(file.path.parent.glob(f"{file.path.name}.holdfast-backup-*"), reverse=True)
    for text in (read_file(copy).text for copy in copies):
        if with_hooks_or_none(text, hooks, server) == file.text:
            return text
    return None if with_hooks("", hooks, server) == file.text else without_hooks(file.text, server)


def with_hooks_or_none(text: str, hooks: Hooks, server: str) -> str | None:
    """As `with_hooks`; None where they cannot be put into this text."""
    try:
        return with_hooks(text, hooks, server)
    except ClientConfigError:
        return None


def hooks_place(client: str, path: Path | None) -> Path:
    """The file for hooks.

    Raises:
        InvalidArgumentError: the client has none.
    """
    if path is None:
        raise InvalidArgumentError(f"{client} has no hooks that call a server.", "Leave --presence out.")
    return path.absolute()


def _unchangeable() -> ClientConfigError:
    return ClientConfigError("The client's hooks cannot be changed safely; nothing was.", "Add them by hand.")


SWITCH: Final = "HOLDFAST_PRESENCE"
_ON: Final = frozenset({"true", "yes", "on", "1"})
_FOLDERS: Final = {"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}  # clients do not hand these on
_TRUST: Final = """\
Codex runs new hooks only when you trust them: start `codex` once and choose "Trust all and continue"."""


def wants_presence(
    options: argparse.Namespace, screen: Screen, given: Mapping[str, Any], hooks: Path | None
) -> bool | None:
    """Whether presence is to be on; None where nothing about it is to change.

    Args:
        options: of the command.
        screen: where a person is asked, if there is one.
        given: the environment that the server's entry has now.
        hooks: the client's file for hooks, if it has one.
    """
    if options.presence is not None:
        return bool(options.presence)
    if hooks is None:
        return None
    if is_on(given):
        return True
    if SWITCH in given or options.dry_run or not (screen.live and sys.stdin and sys.stdin.isatty()):
        return None
    screen.say(EXPLAINED)
    screen.say("Install it too? [y/N]")
    return True if sys.stdin.readline().strip().lower() in {"y", "yes"} else None


def is_on(variables: Mapping[str, Any]) -> bool:
    """Whether the environment of an entry turns presence on."""
    return str(variables.get(SWITCH, "")).lower() in _ON


def presence_variables(client: str, environ: Mapping[str, str], *, on: bool) -> dict[str, str]:
    """What the server is to find in its environment."""
    if not on:
        return {SWITCH: "false"}
    folder = _FOLDERS.get(client, "")
    return {SWITCH: "true"} | ({folder: environ[folder]} if environ.get(folder) else {})


def tell_presence(options: argparse.Namespace, screen: Screen, path: Path, server: str, *, on: bool) -> bool:
    """Put the hooks in or take them out, and say what is left to do; returns whether the file was changed.

    Raises:
        ClientConfigError: the file cannot be read, kept or written.
    """
    if not on:
        return remove_hooks(screen, path, server, dry_run=options.dry_run)
    changed = place_hooks(screen, options.client, path, server, dry_run=options.dry_run)
    if changed and options.client == "codex":
        screen.say(_TRUST)
    return changed
