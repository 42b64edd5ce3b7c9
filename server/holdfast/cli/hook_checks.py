"""What doctor says of presence: whether a client's server has it on, its hooks are there, and Codex trusts them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.cli import install as entries
from holdfast.cli.checks import CheckResult
from holdfast.cli.hooks import has_hooks
from holdfast.cli.install import Client, clients
from holdfast.cli.presence import is_on
from holdfast.errors import HoldfastError

WHAT: Final = "presence"
_EVENT_KEYS: Final = ("user_prompt_submit", "stop", "pre_compact")  # as Codex keeps what it trusts


def check_presence(environ: Mapping[str, str], home: Path) -> Iterator[CheckResult]:
    """A finding for each client in which presence is on, or whose hooks have nothing to call."""
    for name, client in clients(environ, home).items():
        pairs = ((client.user, client.hooks), (client.project, client.project_hooks))
        for path, hooks in pairs:
            if path is not None and hooks is not None and path.is_file():
                yield from _check(name, client, path, hooks)


def _check(name: str, client: Client, path: Path, hooks: Path) -> Iterator[CheckResult]:
    try:
        servers = entries.read(client, path.read_text("utf-8-sig")).get(client.key, {})
        text = hooks.read_text("utf-8-sig") if hooks.is_file() else ""
        for server, entry in servers.items():
            variables = entry.get("env") if isinstance(entry, dict) else None
            on = is_on(variables) if isinstance(variables, dict) else False
            there = has_hooks(text, name, server)
            if on or there:
                yield _finding(name, path, hooks, on=on, there=there)
    except (HoldfastError, OSError, ValueError):
        yield CheckResult(WHAT, "warn", f"{name}: {hooks} cannot be read", "Mend it; then look again.")


def _finding(name: str, path: Path, hooks: Path, *, on: bool, there: bool) -> CheckResult:
    mend = f"holdfast install {name} --presence"
    if not there:
        return CheckResult(WHAT, "warn", f"{name}: it is on in {path}, but its hooks are not in {hooks}", mend)
    if not on:
        return CheckResult(WHAT, "warn", f"{name}: its hooks are in {hooks}, but {path} does not turn it on", mend)
    if name == "codex" and (missing := _untrusted(path, hooks)):
        return CheckResult(
            WHAT, "warn", f"codex: its hooks are in {hooks}, and Codex has not been told to trust {missing} of them",
            'Start codex once and choose "Trust all and continue".',
        )  # fmt: skip
    return CheckResult(WHAT, "ok", f"{name}: on, with its hooks in {hooks}")


def _untrusted(path: Path, hooks: Path) -> int:
    """How many hooks Codex has no word of trust for. Whether that is for the hook as it is now, only Codex knows."""
    state: dict[str, Any] = tomllib.loads(path.read_text("utf-8-sig")).get("hooks", {}).get("state", {})
    trusted = [key for key, kept in state.items() if isinstance(kept, dict) and kept.get("trusted_hash")]
    places = {str(hooks), str(hooks.resolve())}
    known = {key[len(place) :].split(":")[1] for key in trusted for place in places if key.startswith(f"{place}:")}
    return sum(event not in known for event in _EVENT_KEYS)
