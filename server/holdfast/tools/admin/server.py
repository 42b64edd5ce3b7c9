"""The admin namespace: `admin_*` tools to act, `admin://` resources to look. Without the gate it does not exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from holdfast.engine.admin.backups import DryRun, back_up, list_backups, restore_backup
from holdfast.engine.admin.gate import Confirmations, afterwards
from holdfast.engine.omi.integrity import accept_integrity
from holdfast.model.words import counted
from holdfast.tools.admin.health import Reads, ToolListing, add_looks
from holdfast.tools.admin.moves import add_encoding, add_moves
from holdfast.tools.admin.notes import add_note_tools
from holdfast.tools.admin.records import add_record_tools, add_reviews
from holdfast.tools.agent import ServedMemory
from holdfast.tools.arguments import ReadTexts
from holdfast.tools.errors import PlainErrors, answered, readable
from holdfast.tools.fitting import on_one_line
from holdfast.tools.forms import ClientForm
from holdfast.tools.results import beside, schema_of
from holdfast.tools.server import MemoryServer

BACKUP = """Make a backup of the whole memory in its vault now. One is made each day anyway: call this before \
something risky."""

RESTORE_BACKUP = """Put a backup in the place of all notes, NOW files and logs; what was stored since is taken away, \
into a safety backup. The first call checks the backup, says what would change and gives a token; show that to the \
user, and with their consent call again with the token as `confirm`."""

ACCEPT_INTEGRITY = """Take NOW files, MEMORY.md and daily logs as they are now for right, after integrity_check \
reported foreign changes and the user has looked at them. All that are reported, unless some are named."""

MAKES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
DESTROYS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


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


def admin_server(
    served: ServedMemory, version: str | None = None, *, listed: ToolListing | None = None
) -> FastMCP[Any]:
    """A server of the admin namespace alone, to be mounted where the gate is open, or served by itself.

    Args:
        served: where requests are answered.
        version: what the server calls itself.
        listed: lists the tools of the whole server, where this is a part of one.
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
    _add_vault(server, served)
    _add_accept_integrity(server, served)
    add_moves(server, served)
    add_looks(server, served, listed or server.list_tools)
    add_encoding(server, served)
    add_note_tools(server, served)
    add_record_tools(server, served)
    add_reviews(server, served)
    return server


def _add_backup(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(name="admin_backup", description=BACKUP, annotations=MAKES, output_schema=schema_of(BackupResult))
    async def _admin_backup(context: Context) -> ToolResult:
        done = await answered(back_up(served.memory, served.caller(context)))
        backup = done.answer
        missing = len(backup.left_out)
        notices = [f"Left out, for it is no readable file: {counted(missing, 'thing')}."] if missing else []
        told = f"Backup {backup.backup_id}: {counted(backup.file_count, 'file')}, {counted(backup.file_size, 'byte')}."
        answer = _said(
            " ".join([told, *notices]),
            BackupResult(
                backup_id=backup.backup_id,
                created=backup.created_at,
                files=backup.file_count,
                size=backup.file_size,
                left_out=list(backup.left_out),
                notices=notices,
            ),
        )
        return beside(answer, done.notices)


def _add_restore_backup(server: FastMCP[Any], served: ServedMemory) -> None:
    tokens = Confirmations()

    @server.tool(
        name="admin_restore_backup",
        description=RESTORE_BACKUP,
        annotations=DESTROYS,
        output_schema=schema_of(RestoreResult),
    )
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
        return _said(
            f"Restored {counted(outcome.files, 'file')} of {outcome.backup.backup_id}. "
            f"What was there is in {outcome.safety.backup_id}.",
            RestoreResult(
                backup_id=outcome.backup.backup_id,
                dry_run=False,
                effect=None,
                confirm=None,
                safety_backup_id=outcome.safety.backup_id,
                files=outcome.files,
                notices=[],
            ),
            (*done.notices, *failed),
        )


def _add_accept_integrity(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.tool(
        name="admin_accept_integrity",
        description=ACCEPT_INTEGRITY,
        annotations=MAKES,
        output_schema=schema_of(AcceptResult),
    )
    async def _admin_accept_integrity(
        context: Context,
        paths: Annotated[list[str] | None, Field(description="As integrity_check names them, such as NOW.md.")] = None,
    ) -> ToolResult:
        who = served.caller(context)
        accepted = await answered(served.memory.attend(lambda ports: accept_integrity(ports, who, paths or ())))
        told = f"Accepted: {', '.join(map(on_one_line, accepted))}." if accepted else "There was nothing to accept."
        return _said(told, AcceptResult(accepted=list(accepted)))


def _would(outcome: DryRun) -> ToolResult:
    effect, backup = outcome.effect, outcome.backup
    return _said(
        f"Nothing was changed yet. {backup.backup_id} of {backup.created_at} is whole. Restoring it brings back "
        f"{counted(effect.back, 'file')}, changes {effect.changed:,}, takes away {effect.gone:,} and leaves "
        f"{effect.same:,} as they are. To do it, call again within five minutes with confirm={outcome.confirm}.",
        RestoreResult(
            backup_id=backup.backup_id,
            dry_run=True,
            effect=EffectOfRestore(back=effect.back, changed=effect.changed, gone=effect.gone, same=effect.same),
            confirm=outcome.confirm,
            safety_backup_id=None,
            files=backup.file_count,
            notices=[],
        ),
    )


def _add_vault(server: FastMCP[Any], served: ServedMemory) -> None:
    @server.resource(
        "admin://vault",
        name="vault",
        description="Every backup, newest first.",
        mime_type="application/json",
    )
    async def _vault() -> str:
        backups = await readable(served.memory.attend_folder(list_backups))
        return json.dumps([backup.as_record() for backup in backups], ensure_ascii=True)


async def _look(_ports: object) -> None:
    """Nothing but what comes before every request: an index that is whole."""


def _said(text: str, structured: Any, notices: Sequence[str] = ()) -> ToolResult:
    return beside(ToolResult(content=text, structured_content=structured), notices)
