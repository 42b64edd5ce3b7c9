"""The admin namespace: what it consists of, and its resources."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import structlog
from fastmcp import Context, FastMCP
from fastmcp.server.middleware import Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.admin import health as looks
from holdfast.engine.admin.gate import (
    Confirmations,
    DryRun,
    afterwards,
    back_up,
    list_backups,
    looked,
    named,
    restore_backup,
)
from holdfast.engine.omi.integrity import accept_integrity
from holdfast.engine.ports import Ports
from holdfast.errors import HoldfastError
from holdfast.model.secrets import redact
from holdfast.model.words import counted
from holdfast.settings import SETTINGS, Late, Settings
from holdfast.tools.admin.moves import add_encoding, add_moves
from holdfast.tools.admin.notes import add_look, add_note_tools
from holdfast.tools.admin.records import add_record_tools, add_reviews
from holdfast.tools.agent import ServedMemory
from holdfast.tools.errors import PlainErrors, answered
from holdfast.tools.fitting import on_one_line
from holdfast.tools.results import DESTROYS, MAKES, beside, filled, said, tool
from holdfast.tools.server import ClientForm, MemoryServer, ReadTexts

Answer = TypeVar("Answer")

LOGGED_SECONDS = 3600.0  # within which the same look of the same principal is told once
_MOST_KNOWN = 10_000

log = structlog.get_logger()


class Reads(Middleware):
    """Has the journal told of every resource that is read, and by whom.

    A page that shows `admin://stats` reads it every few seconds, and each line would change what it shows: the same
    look is told once an hour. What cannot be told is shown all the same, since a full disk is a reason to look.
    """

    def __init__(self, served: ServedMemory) -> None:
        self._served = served
        self._logged: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    async def on_read_resource(
        self, context: MiddlewareContext[Any], call_next: Callable[[MiddlewareContext[Any]], Awaitable[Answer]]
    ) -> Answer:
        answer = await call_next(context)
        if context.fastmcp_context is None:
            return answer
        who = self._served.caller(context.fastmcp_context)
        name, about = _looked_at(str(context.message.uri))
        look, now = (who.principal, name, str(about)), anyio.current_time()
        if now - self._logged.get(look, -LOGGED_SECONDS) >= LOGGED_SECONDS:
            try:
                await self._served.memory.attend_folder(lambda ports: looked(ports, who, name, about))
                self._keep(look, now)
            except HoldfastError as error:
                log.warning("read_not_journalled", resource=name, error=type(error).__name__)
        return answer

    def _keep(self, look: tuple[str, str, str], now: float) -> None:
        self._logged[look] = now
        self._logged.move_to_end(look)
        if len(self._logged) > _MOST_KNOWN:
            self._logged.popitem(last=False)


def _looked_at(uri: str) -> tuple[str, dict[str, object]]:
    """The name of a resource that was read, and what the journal may tell of the note that was asked for."""
    parts = urlsplit(uri)
    return parts.netloc, named(next(iter(parse_qs(parts.query).get("node", ())), ""))


ToolListing = Callable[[], Awaitable[Sequence[Tool]]]
JSON = "application/json"
MASK = "***"

_SECRET = re.compile(r"(?:.*_)?(?:key|keys|token|tokens|secret|password|passphrase)", re.IGNORECASE)
_PASSWORD = re.compile(r"//[^/@\s]*@")

# What shapes a tenant's own memory. All else is of the host: where it lies, whom it knows, what it guards itself with.
_TENANTS = frozenset(
    """encoder encoder_model encoder_dimensions secrets rate_limit request_seconds max_now_tokens recency_half_life_days
    vault_enabled vault_provider vault_retention_days integrity_check_on_start jobs forgetting review enable_consensus
    tenancy now""".split()  # noqa: SIM905
)

LOOKS: tuple[tuple[str, str, Callable[[Ports], Awaitable[object]]], ...] = (
    ("stats", "Counts of notes, links and vectors, bytes on disk, last maintenance.", looks.stats),
    ("health", "Whether everything works: encoder, queue, sqlite-vec, watcher, disk, quarantine.", looks.health),
    ("jobs", "What is done each day by itself, and how far the vectors are.", looks.jobs),
    ("quarantine", "Files that cannot be read as notes, with the reason.", looks.quarantine),
)


def add_looks(server: FastMCP[Any], served: ServedMemory, listed: ToolListing) -> None:
    """Put the resources on a server.

    Args:
        server: of the admin namespace.
        served: where requests are answered.
        listed: lists the tools of the whole server.
    """
    for name, description, look in LOOKS:
        add_look(server, name, description, partial(served.memory.attend, look))

    @server.resource("admin://config", name="config", description="The settings that are in force.", mime_type=JSON)
    def _config() -> str:
        return _json(settings_shown(served.settings) if served.settings else {})

    @server.resource("admin://tools", name="tools", description="Each tool: its size and hints.", mime_type=JSON)
    async def _tools() -> str:
        return _json([_tool_shown(tool) for tool in await listed()])


def settings_shown(settings: Settings) -> dict[str, object]:
    """All settings by their environment variables, secrets masked; also the keys of config.yaml that nobody reads.

    Where principals have memories of their own these are told of no other settings than those that shape them.
    """
    known = {setting.key: setting.variable for setting in SETTINGS}
    values = {item.name: _masked(item.name, getattr(settings, item.name)) for item in fields(settings)}
    if settings.tenancy == "user":
        values = {name: value for name, value in values.items() if name in _TENANTS}
    return {known.get(name, name): value for name, value in values.items()}


def _masked(name: str, value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case Late(text=text, problem=problem):
            return f"not set: {problem}" if problem else MASK if text else ""
        case Mapping():
            return {key: MASK if given else "" for key, given in value.items()}
        case _ if _SECRET.fullmatch(name):
            return MASK if value else ""
        case tuple() | list():
            return [_masked("", item) for item in value]
        case _:
            return redact(_PASSWORD.sub(f"//{MASK}@", str(value))).text


def _tool_shown(tool: Tool) -> dict[str, object]:
    whole = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
    bare = {key: value for key, value in whole.items() if key != "outputSchema"}
    return {
        "name": tool.name,
        "characters": _size(bare),
        "with_output_schema": _size(whole),
        "annotations": whole.get("annotations", {}),
    }


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, indent=1)


BACKUP = """Make a backup of the whole memory in its vault now. One is made each day anyway: call this before \
something risky."""

RESTORE_BACKUP = """Put a backup in the place of all notes, NOW files and logs; what was stored since is taken away, \
into a safety backup. The first call checks the backup, says what would change and gives a token; show that to the \
user, and with their consent call again with the token as `confirm`."""

ACCEPT_INTEGRITY = """Take NOW files, MEMORY.md and daily logs as they are now for right, after integrity_check \
reported foreign changes and the user has looked at them. All that are reported, unless some are named."""


class BackupResult(TypedDict):
    backup_id: str
    created: str
    files: int
    size: int
    left_out: list[str]
    notices: list[str]


class AcceptResult(TypedDict):
    accepted: list[str]


class EffectOfRestore(TypedDict):
    back: int
    changed: int
    gone: int
    same: int


class RestoreResult(TypedDict):
    backup_id: str
    dry_run: bool
    effect: EffectOfRestore | None
    confirm: str | None
    safety_backup_id: str | None
    files: int
    notices: list[str]


def admin_server(served: ServedMemory, version: str, *, listed: ToolListing) -> FastMCP[Any]:
    """A server of the admin namespace alone, to be mounted where the gate is open, or served by itself.

    Args:
        served: where requests are answered.
        version: what the server calls itself.
        listed: lists the tools of the whole server, of which this is a part.
    """
    server = MemoryServer(
        "holdfast-admin",
        version=version,
        middleware=[
            ClientForm(served.settings.answers if served.settings else "auto"),
            PlainErrors(),
            Reads(served),
            ReadTexts(),
        ],
        mask_error_details=True,
    )
    _add_backup(server, served)
    _add_restore_backup(server, served)
    add_look(server, "vault", "Every backup, newest first.", lambda: _backups(served))
    _add_accept_integrity(server, served)
    add_moves(server, served)
    add_looks(server, served, listed)
    add_encoding(server, served)
    add_note_tools(server, served)
    add_record_tools(server, served)
    add_reviews(server, served)
    return server


def _add_backup(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_backup", BACKUP, MAKES, BackupResult)
    async def _admin_backup(context: Context) -> ToolResult:
        done = await answered(back_up(served.memory, served.caller(context)))
        backup = done.answer
        missing = len(backup.left_out)
        notices = [f"Left out, for it is no readable file: {counted(missing, 'thing')}."] if missing else []
        text = f"Backup {backup.backup_id}: {counted(backup.file_count, 'file')}, {counted(backup.file_size, 'byte')}."
        made = {"created": backup.created_at, "files": backup.file_count, "size": backup.file_size}
        shape = filled(BackupResult, backup, **made, notices=notices)
        return said(" ".join([text, *notices]), shape, done.notices)


def _add_restore_backup(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @tool(server, "admin_restore_backup", RESTORE_BACKUP, DESTROYS, RestoreResult)
    async def _admin_restore_backup(
        context: Context,
        backup_id: Annotated[str, Field(description="From admin_backup or admin://vault.")],
        confirm: Annotated[str | None, Field(description="The token of the first call.")] = None,
    ) -> ToolResult:
        who = served.caller(context)
        done = await answered(restore_backup(served.memory, who, tokens, backup_id, confirm))
        if isinstance(done.answer, DryRun):
            return beside(_would(done.answer), done.notices)
        _, failed = await afterwards(served.memory.attend(_look))  # whoever recalls next need not wait for the index
        outcome = done.answer
        text = (
            f"Restored {counted(outcome.files, 'file')} of {outcome.backup.backup_id}. "
            f"What was there is in {outcome.safety.backup_id}."
        )
        more = {"safety_backup_id": outcome.safety.backup_id, "files": outcome.files, "notices": []}
        shape = filled(RestoreResult, outcome.backup, dry_run=False, effect=None, confirm=None, **more)
        return said(text, shape, (*done.notices, *failed))


def _add_accept_integrity(server: FastMCP[Any], served: ServedMemory) -> None:
    @tool(server, "admin_accept_integrity", ACCEPT_INTEGRITY, MAKES, AcceptResult)
    async def _admin_accept_integrity(
        context: Context,
        paths: Annotated[list[str] | None, Field(description="As integrity_check names them, such as NOW.md.")] = None,
    ) -> ToolResult:
        who = served.caller(context)
        accepted = await answered(served.memory.attend(lambda ports: accept_integrity(ports, who, paths or ())))
        text = f"Accepted: {', '.join(map(on_one_line, accepted))}." if accepted else "There was nothing to accept."
        return said(text, AcceptResult(accepted=list(accepted)))


def _would(outcome: DryRun) -> ToolResult:
    effect, backup = outcome.effect, outcome.backup
    strange = f"Left where they are, in the backup: {counted(effect.strange, 'file')} that a database has no place for."
    notices = [strange] if effect.strange else []
    text = (
        f"Nothing was changed yet. {backup.backup_id} of {backup.created_at} is whole. Restoring it brings back "
        f"{counted(effect.back, 'file')}, changes {effect.changed:,}, takes away {effect.gone:,} and leaves "
        f"{effect.same:,} as they are. To do it, call again within five minutes with confirm={outcome.confirm}."
    )
    return said(
        " ".join([text, *notices]),
        filled(
            RestoreResult,
            outcome,
            backup_id=backup.backup_id,
            dry_run=True,
            effect=filled(EffectOfRestore, effect),
            safety_backup_id=None,
            files=backup.file_count,
            notices=notices,
        ),
    )


async def _backups(served: ServedMemory) -> list[dict[str, Any]]:
    return [backup.as_record() for backup in await served.memory.attend_folder(list_backups)]


async def _look(_ports: object) -> None:
    """Nothing but what comes before every request: an index that is whole."""
