"""Each test of the contract runs in both protocol eras; those that are not about files as such on every storage.

Where a test has several cases, the short form runs the first in both eras and the others in the newer one, but for
tests of processes, which are about what is on the wire.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gate import behind_the_gate
from served import ERAS, serving
from storages import FOLDER, ROWS, STORAGES, stored_in

if TYPE_CHECKING:
    from gate import Admin
    from served import Agent

HERE = Path(__file__).parent

# Modules whose tests run on every storage. In them `files` marks, with the reason, what is about a folder as such.
IN_EVERY_RUN = {
    "test_admin_notes", "test_admin_reviews", "test_admin_undo", "test_belief_update", "test_events",
    "test_mark_outdated", "test_own_undo", "test_recall_node",
}  # fmt: skip
IN_THE_LONG_FORM = {  # on the folder in every run too
    "test_forms", "test_lenient_arguments", "test_maintenance", "test_omi_memory", "test_prompts", "test_recall",
    "test_recall_budgets", "test_recall_doubt", "test_recall_phrasings", "test_recall_silence", "test_recall_time",
    "test_remember", "test_resources", "test_stored_prompts", "test_submit_feedback", "test_view",
}  # fmt: skip
ON_EVERY_STORAGE = IN_EVERY_RUN | IN_THE_LONG_FORM

# All others, each with the reason why it runs on the folder alone.
_PROCESSES = "its servers are processes of their own; those of a database are tried in tests/crash"
_FILES = "it is about files: edits by hand, what lies in the folder, what comes from other folders"
_RANKING = "it is about what the index finds, whatever keeps the notes"
_LOOKS = "most of its tests look into the folder for what they say; tests/crash/test_database.py looks into the tables"
_NOTHING = "it keeps no notes"
ON_THE_FOLDER = {
    "test_admin_calls": _LOOKS, "test_admin_looks": _LOOKS, "test_admin_purge": _LOOKS, "test_due": _LOOKS,
    "test_jobs": _LOOKS, "test_integrity": _FILES, "test_now": _FILES, "test_index_deleted": _FILES,
    "test_admin_vault": "a vault is of folders; a database has its own backups",
    "test_hand_edits": _FILES, "test_saves_in_place": _FILES, "test_watched_folders": _FILES, "test_moves": _FILES,
    "test_ingest_sections": _FILES, "test_ingest_session": _FILES, "test_conversation_exports": _FILES,
    "test_distilling": "the queue of transcripts stays in a folder, with a database too",
    "test_hand_over": "the queue of transcripts stays in a folder, with a database too",
    "test_presence": "what it prepares stays in a folder, with a database too",
    "test_quotas": "it builds its memories on a folder by itself",
    "test_note_fields": _FILES, "test_omi_examples": _PROCESSES, "test_command_line": _PROCESSES,
    "test_doctor": _PROCESSES, "test_draining": _PROCESSES, "test_metrics": _PROCESSES,
    "test_early": _PROCESSES, "test_gate": _PROCESSES, "test_http_auth": _PROCESSES,
    "test_http_headers": _PROCESSES, "test_inject": _PROCESSES, "test_known_lists": _PROCESSES, "test_log": _PROCESSES,
    "test_other_systems": _PROCESSES, "test_resources_wire": _PROCESSES, "test_reverse_proxy": _PROCESSES,
    "test_running": _PROCESSES, "test_startup": _PROCESSES, "test_subscriptions": _PROCESSES,
    "test_tenancy": _PROCESSES, "test_viewing": _PROCESSES,
    "test_browsing": _RANKING, "test_identity": _RANKING, "test_recall_corrections": _RANKING,
    "test_recall_identifiers": _RANKING, "test_recall_languages": _RANKING, "test_recall_matters": _RANKING,
    "test_recall_senses": _RANKING,
    "test_database_folder": "it is about a folder and a database",
    "test_install": _NOTHING, "test_install_presence": _NOTHING,
}  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    on_every = module in (ON_EVERY_STORAGE if metafunc.config.getoption("--long") else IN_EVERY_RUN)
    of_files = next(metafunc.definition.iter_markers("files"), None)
    if "storage" in metafunc.fixturenames and on_every and of_files is None:
        metafunc.parametrize("storage", STORAGES, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The short form of a run: what is said above, and on PostgreSQL looks at notes no more than others do."""
    if config.getoption("--long"):
        return
    met: set[str] = set()
    spared = {item for item in items if _is_for_the_long_form(item, met)}
    if spared:
        config.hook.pytest_deselected(items=[*spared])
        items[:] = [item for item in items if item not in spared]


def _is_for_the_long_form(item: pytest.Item, met: set[str]) -> bool:
    """Whether the short form does without it; `met` are the tests that had a case in the older era."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    if given.get("storage") == ROWS and item.path.stem == "test_recall_node":
        return True
    if given.get("era") != ERAS[0] or item.path.parent != HERE or ON_THE_FOLDER.get(item.path.stem) == _PROCESSES:
        return False
    name = item.nodeid.partition("[")[0]
    again = given.get("storage") == ROWS or name in met
    met.add(name)
    return again


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def storage(request: pytest.FixtureRequest) -> Iterator[str]:
    """What keeps the notes: the folder, unless the test runs on every storage."""
    name = str(getattr(request, "param", FOLDER))
    with stored_in(name):
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
