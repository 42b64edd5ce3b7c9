"""Each test of the contract runs in both protocol eras, and on every storage unless it is about files as such.

Where a test has several cases, the short form runs the first in both eras and the others in the newer one, but for
tests of processes, which are about what is on the wire.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import postgres
from gate import behind_the_gate
from served import ERAS, serving
from storages import FOLDER, ROWS, STORAGES, storage_asked_for

if TYPE_CHECKING:
    from gate import Admin
    from served import Agent

HERE = Path(__file__).parent

# Modules of which the short form has every case on rows: those about what is stored, and what is told of it. Of others,
# which are about what an index finds (the same on every storage) or about the wire, it has the first case of each test.
EVERY_CASE = {
    "test_admin_calls", "test_admin_notes", "test_admin_purge", "test_admin_reviews", "test_admin_undo",
    "test_belief_update", "test_conversation_exports", "test_distilling", "test_draining", "test_events", "test_forms",
    "test_gate", "test_hand_over", "test_http_auth", "test_ingest_session", "test_integrity", "test_lenient_arguments",
    "test_mark_outdated", "test_moves", "test_now", "test_omi_memory", "test_own_undo", "test_recall_corrections",
    "test_recall_node", "test_remember", "test_resources", "test_resources_wire", "test_submit_feedback",
    "test_subscriptions", "test_tenancy", "test_view",
}  # fmt: skip

# Modules that run in memory too, in the long form and where there is no PostgreSQL.
IN_MEMORY = {
    "test_admin_notes", "test_admin_reviews", "test_admin_undo", "test_belief_update", "test_events",
    "test_forms", "test_lenient_arguments", "test_maintenance", "test_mark_outdated", "test_omi_memory",
    "test_own_undo", "test_prompts", "test_recall", "test_recall_budgets", "test_recall_doubt", "test_recall_node",
    "test_recall_phrasings", "test_recall_silence", "test_recall_time", "test_remember", "test_resources",
    "test_stored_prompts", "test_submit_feedback", "test_view",
}  # fmt: skip

# Modules whose servers are processes of their own. They are told of the database by `processes.environment_in`.
OF_PROCESSES = {
    "test_command_line", "test_doctor", "test_draining", "test_early", "test_gate", "test_http_auth",
    "test_http_headers", "test_inject", "test_known_lists", "test_log", "test_metrics", "test_omi_examples",
    "test_other_systems", "test_resources_wire", "test_reverse_proxy", "test_running", "test_startup",
    "test_subscriptions", "test_tenancy", "test_viewing",
}  # fmt: skip

# Modules that run on the folder alone, each with the reason. In others `files` marks such tests, with the reason.
_FILES = "it is about files: edits by hand, what lies in the folder, what comes from other folders"
_WIRE = "it is about what is on the wire, and notes are none of it"
_NOTHING = "it keeps no notes"
ON_THE_FOLDER = {
    "test_hand_edits": _FILES, "test_saves_in_place": _FILES, "test_watched_folders": _FILES,
    "test_database_folder": "it is about a folder and a database",
    "test_index_deleted": "it deletes what lies beside the notes in a folder, and copies the folder for that",
    "test_early": _WIRE, "test_http_headers": _WIRE, "test_known_lists": _WIRE, "test_reverse_proxy": _WIRE,
    "test_other_systems": "it is about file systems and locks",
    "test_startup": "it is about how soon a server answers that has nothing to wait for",
    "test_install": _NOTHING, "test_install_presence": _NOTHING,
}  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever keeps notes in a folder of its own is tried on every storage; in the short form not in memory."""
    module = metafunc.module.__name__.rpartition(".")[2]
    keeps_notes = {"storage", "tmp_path_factory"} <= set(metafunc.fixturenames) and module not in ON_THE_FOLDER
    if keeps_notes and next(metafunc.definition.iter_markers("files"), None) is None:
        everything = metafunc.config.getoption("--long") or not postgres.is_there()
        kept = STORAGES if everything and module in IN_MEMORY else (FOLDER, ROWS)
        named = [pytest.param(name, id=pytest.HIDDEN_PARAM if name == FOLDER else name) for name in kept]
        metafunc.parametrize("storage", named, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The short form of a run: what is said above."""
    if config.getoption("--long"):
        return
    newer = {_test_of(item) for item in items if _given(item).get("era") == ERAS[1]}
    met: set[tuple[str, str]] = set()
    spared = {item for item in items if _is_for_the_long_form(item, newer, met)}
    if spared:
        config.hook.pytest_deselected(items=[*spared])
        items[:] = [item for item in items if item not in spared]


def _given(item: pytest.Item) -> dict[str, Any]:
    return dict(getattr(getattr(item, "callspec", None), "params", {}))


def _test_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _is_for_the_long_form(item: pytest.Item, newer: AbstractSet[str], met: set[tuple[str, str]]) -> bool:
    """Whether the short form does without it.

    `newer` are the tests that run in the newer era, `met` those that had such a case, and on which storage.
    """
    if item.path.parent != HERE:
        return False
    given, module = _given(item), item.path.stem
    older = given.get("era") == ERAS[0] and _test_of(item) in newer
    if given.get("storage") == ROWS:
        this = _test_of(item), ROWS
        again = this in met
        if older:
            return True
        met.add(this)
        return again and module not in EVERY_CASE
    this = _test_of(item), FOLDER
    if given.get("era") != ERAS[0] or module in OF_PROCESSES:
        return False
    again = this in met
    met.add(this)
    return again


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def storage(request: pytest.FixtureRequest) -> Iterator[str]:
    """What keeps the notes. A module whose tests share a server has one of its own, for all of them."""
    with storage_asked_for(request) as name:
        yield name


@pytest.fixture
async def agent(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent of a fresh memory without an encoder, in the space `harbour`."""
    async with serving(tmp_path / "home", era) as asking:
        yield asking


@pytest.fixture
async def admin(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Admin]:
    """The same with the admin namespace, asked by a person."""
    async with behind_the_gate(tmp_path / "home", era) as asking:
        yield asking
