"""What all admin calls share: one line in the audit log whatever they meet, and a token that is spent once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import holdfast.engine.admin.notes
import holdfast.engine.admin.undo
from gate import Admin, behind_the_gate
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.commit import UNTOLD
from holdfast.errors import ConflictError, HoldfastError, InvalidArgumentError, StorageError
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.model.records import JournalRecord
from holdfast.store.notes import NoteFiles
from served import ERAS

pytestmark = pytest.mark.anyio

FULL = "The journal cannot be written: No space left on device."
HINDRANCES = pytest.mark.parametrize(
    "hindrance",
    [ConflictError("It was changed.", "Repeat the call."), IndexLostError("gone")],
    ids=["conflict", "index"],
)


@pytest.fixture
async def admin(tmp_path: Path) -> AsyncIterator[Admin]:
    async with behind_the_gate(tmp_path / "home", ERAS[1]) as opened:
        yield opened


@contextmanager
def unwritten_outcomes() -> Iterator[None]:
    """The journal takes every line but those that say how an admin call ended."""
    real = NoteFiles.record

    async def record(self: NoteFiles, line: JournalRecord, *, flush: bool = False) -> int:
        if line.outcome is not None:
            raise StorageError(FULL, "Nothing was stored.")
        return await real(self, line, flush=flush)

    with patch.object(NoteFiles, "record", record):
        yield


@contextmanager
def hindered(place: Any, name: str, error: Exception, times: int) -> Iterator[None]:
    """So many times this fails before it works."""
    real: Callable[..., Any] = getattr(place, name)
    left = [times]

    async def call(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return await real(*arguments, **options)

    with patch.object(place, name, call):
        yield
    assert left[0] < 0, "it was not asked often enough"


def outcomes(admin: Admin, tool: str) -> list[str]:
    return [line["outcome"] for line in admin.journal() if line.get("admin") == tool and "outcome" in line]


async def merged(admin: Admin) -> str:
    keep, discard = await admin.remember("The mole is long."), await admin.remember("Long is what the mole is.")
    results = {"merges": [{"keep_id": keep, "discard_id": discard}]}
    return str((await admin.call("run_maintenance", results=results))["outcomes"][0]["change_id"])


@pytest.mark.files("a file of the journal cannot be written")
async def test_an_answer_stands_and_says_so_where_its_outcome_cannot_be_journalled(admin: Admin) -> None:
    crane, tug = await admin.remember("The crane lifts."), await admin.remember("The tug pulls.")
    merge = await merged(admin)
    with unwritten_outcomes():
        token = (await admin.call("admin_delete_memory", node_id=crane))["confirm"]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("admin_delete_memory", {"node_id": crane, "confirm": token}),
            ("admin_restore_memory", {"node_id": crane}),
            ("admin_update_memory", {"node_id": tug, "content": "The tug pushes."}),
            ("admin_connect_memories", {"source_id": crane, "target_id": tug}),
            ("admin_undo_merge", {"merge_id": merge}),
            ("admin_list_audit_log", {}),
            ("admin_list_merges", {}),
            ("admin_list_proposals", {}),
            ("admin_rebuild_index", {}),
            ("admin_backup", {}),
            ("admin_export", {}),
            ("admin_purge", {"node_id": tug}),
        ]
        for tool, arguments in calls:
            answer = await admin.call(tool, **arguments)
            assert [notice for notice in answer["notices"] if FULL in notice], tool
        answer = await admin.confirmed("admin_purge", node_id=tug)
        assert FULL in answer["notices"][0]
    assert await admin.contents("crane lifts") != []
    assert admin.holding("The tug pushes") == []


@pytest.mark.files("a file of the journal cannot be written")
async def test_a_refusal_stays_what_it_was_where_it_cannot_be_journalled(admin: Admin) -> None:
    with unwritten_outcomes():
        told = await admin.refused("admin_delete_memory", node_id="mem_0000000000000001")
    assert told.startswith("MemoryNotFoundError")
    assert FULL in told


async def test_an_honest_doubt_is_not_replaced_by_what_the_journal_says(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts.")
    doubt = StorageError("The folder failed in the middle.", "It is one or the other; look before you repeat it.")
    with unwritten_outcomes(), hindered(holdfast.engine.admin.notes, "commit", doubt, 1):
        told = await admin.refused("admin_update_memory", node_id=crane, content="The crane lowers.")
        await admin.call("admin_update_memory", node_id=crane, content="The crane lowers.")
    assert "look before you repeat it" in told


async def test_an_answer_stands_where_what_is_done_behind_it_fails(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts.")
    token = (await admin.call("admin_purge", node_id=crane))["confirm"]
    lost = StorageError("The index cannot be used.", "Nothing was stored.")
    with patch("holdfast.tools.admin.records.count_notes", side_effect=lost):
        answer = await admin.call("admin_purge", node_id=crane, confirm=token)
        assert answer["notices"] == ["It is done; what comes after it failed: The index cannot be used."]
        assert (await admin.call("admin_rebuild_index"))["notes"] is None
    assert admin.holding("The crane lifts") == []


async def test_a_note_is_back_although_its_file_cannot_be_taken_out_of_the_trash(admin: Admin) -> None:
    crane = await admin.remember("The crane lifts.")
    deleted = await admin.confirmed("admin_delete_memory", node_id=crane)
    stuck = StorageError("The memory folder cannot be used: Input/output error.", "Nothing was changed.")
    with patch("holdfast.store.history.FolderHistory.drop", side_effect=stuck):
        assert (await admin.call("admin_undo", change_id=deleted["change_id"]))["status"] == "undone"
        await admin.confirmed("admin_delete_memory", node_id=crane)
        assert (await admin.call("admin_restore_memory", node_id=crane))["id"] == crane
    assert await admin.contents("crane lifts") == ["The crane lifts."]


@HINDRANCES
async def test_a_call_that_is_tried_again_is_one_line_of_the_audit_log(admin: Admin, hindrance: Exception) -> None:
    crane = await admin.remember("The crane lifts.")
    with hindered(holdfast.engine.admin.notes, "commit", hindrance, 2):
        await admin.call("admin_update_memory", node_id=crane, content="The crane lowers.")
    assert outcomes(admin, "admin_update_memory") == ["done"]
    with hindered(holdfast.engine.admin.notes, "commit", ConflictError("It was changed."), 4):
        await admin.refused("admin_update_memory", node_id=crane, content="The crane turns.")
        await admin.call("admin_update_memory", node_id=crane, content="The crane turns.")
    assert outcomes(admin, "admin_update_memory") == ["done", "ConflictError", "done"]


@HINDRANCES
async def test_a_token_is_spent_once_for_a_call_however_often_it_is_tried(admin: Admin, hindrance: Exception) -> None:
    crane, merge = await admin.remember("The tug pulls."), await merged(admin)
    for tool, arguments, place, name in (
        ("admin_undo_merge", {"merge_id": merge}, holdfast.engine.admin.undo, "commit"),
        ("admin_delete_memory", {"node_id": crane}, holdfast.engine.admin.notes, "commit"),
        ("admin_purge", {"node_id": crane}, NoteIndex, "erase"),
    ):
        token = (await admin.call(tool, **arguments))["confirm"]
        with hindered(place, name, hindrance, 2):
            await admin.call(tool, **arguments, confirm=token)
        assert outcomes(admin, tool)[:2] == ["done", "done"], tool


def test_a_token_is_kept_by_a_try_that_did_nothing_and_spent_by_one_that_may_have() -> None:
    tokens, now = Confirmations(), datetime.now(UTC)
    token = tokens.give(("local", "purge"), now)
    for error in (ConflictError("changed"), IndexLostError("gone"), StorageError("full")):
        with suppress(ConflictError, IndexLostError, StorageError), tokens.using(token, ("local", "purge"), now):
            raise error
    with pytest.raises(InvalidArgumentError), tokens.using(token, ("local", "purge"), now):
        pass


async def test_a_request_that_made_a_change_and_failed_behind_it_says_that_it_stays(admin: Admin) -> None:
    lost = StorageError("The index cannot be used: disk I/O error.", "Nothing was stored.")
    with patch("holdfast.engine.agent.remember._linked", side_effect=lost):
        told = await admin.refused("remember", content="The crane lifts.")
    assert told.startswith("StorageError: The change chg_")
    assert "Nothing was stored" not in told
    assert "look before you repeat it" in told
    assert await admin.contents("crane lifts") == ["The crane lifts."]


async def test_a_note_whose_index_went_away_behind_it_is_told_as_stored_and_can_be_taken_back(admin: Admin) -> None:
    old = await admin.remember("The crane lifts. Its key hangs in the office.")
    with (
        patch("holdfast.engine.agent.remember._linked", side_effect=[IndexLostError("gone")]),
        patch("holdfast.engine.commit._still_told", side_effect=[IndexLostError("gone")]),
    ):
        told = await admin.call("remember", content="The crane lifts fifty tonnes.", supersedes=[old])
    assert any(f"{old} says more than that" in notice for notice in told["notices"])
    assert UNTOLD in told["notices"]
    assert not any("already superseded" in notice for notice in told["notices"])
    await admin.call("mark_outdated", undo=told["change_id"])
    assert await admin.contents("crane lifts") == ["The crane lifts. Its key hangs in the office."]


async def test_an_import_that_breaks_off_says_how_far_it_came(admin: Admin, tmp_path: Path) -> None:
    source = tmp_path / "abroad"
    lay_out(source, 60)
    token = (await admin.call("admin_import", path=str(source)))["confirm"]
    full = StorageError("The memory folder cannot be written: No space left on device.", "Nothing was changed.")
    with patch("holdfast.engine.admin.imports.commit", side_effect=failing_later(full)):
        told = await admin.refused("admin_import", path=str(source), confirm=token)
    arrived = len(admin.notes()) - 1
    assert 0 < arrived < 60
    assert f"broke off after {arrived} notes" in told
    assert "Nothing was changed" not in told


def lay_out(source: Path, count: int) -> None:
    source.mkdir()
    for number in range(count):
        (source / f"{number}.md").write_text(f"The crane of quay {number} lifts\n")


def failing_later(error: HoldfastError) -> Callable[..., Any]:
    """The first commit works, the second does not."""
    real, made = holdfast.engine.admin.notes.commit, []

    async def commit(*arguments: Any) -> Any:
        if made:
            raise error
        made.append(None)
        return await real(*arguments)

    return commit
