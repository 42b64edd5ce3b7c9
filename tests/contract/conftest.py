"""Each test of the contract runs in both protocol eras, and on every storage unless it is about files as such.

The short form runs the first case of a test twice: on the folder in the newer era and on rows in the older one, or in
both eras where there is one storage. Further cases run once, in the newer era, by turns on the folder and on rows. Of
modules that are about what is on the wire it has everything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import postgres
from gate import behind_the_gate
from served import ERAS, serving
from storages import FOLDER, ROWS, STORAGES, storage_asked_for

if TYPE_CHECKING:
    from gate import Admin
    from served import Agent

HERE = Path(__file__).parent
Way = tuple[str, str]  # an era and a storage

# Modules that run in memory too, in the long form and where there is no PostgreSQL.
IN_MEMORY = {
    "test_admin_notes", "test_admin_reviews", "test_admin_undo", "test_belief_update", "test_events",
    "test_forms", "test_lenient_arguments", "test_maintenance", "test_mark_outdated", "test_omi_memory",
    "test_own_undo", "test_prompts", "test_recall", "test_recall_budgets", "test_recall_doubt", "test_recall_node",
    "test_recall_phrasings", "test_recall_silence", "test_recall_time", "test_remember", "test_resources",
    "test_stored_prompts", "test_submit_feedback", "test_view",
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
    spared = {*_for_the_long_form(items)}
    if spared:
        config.hook.pytest_deselected(items=[*spared])
        items[:] = [item for item in items if item not in spared]


def _for_the_long_form(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """What the short form does without."""
    tests: dict[str, dict[Way, list[pytest.Item]]] = {}
    for item in items:
        if item.path.parent == HERE and ON_THE_FOLDER.get(item.path.stem) != _WIRE:
            given = dict(getattr(getattr(item, "callspec", None), "params", {}))
            way = str(given.get("era", ERAS[1])), str(given.get("storage", FOLDER))
            if way[1] != ROWS or postgres.is_there():
                tests.setdefault(item.nodeid.partition("[")[0], {}).setdefault(way, []).append(item)
    for ways in tests.values():
        for way, cases in ways.items():
            yield from (item for number, item in enumerate(cases) if not is_kept(number, way, ways.keys()))


def is_kept(number: int, way: Way, ways: AbstractSet[Way]) -> bool:
    """Whether the short form runs a test's case of that number in this way, of all the ways that there are for it."""
    (era, storage), (eras, storages) = way, ({each[part] for each in ways} for part in (0, 1))
    if number == 0:
        return len(eras) == 1 or len(storages) == 1 or (era == ERAS[0]) == (storage == ROWS)
    by_turns = ROWS if number % 2 and ROWS in storages else FOLDER
    return storage == by_turns and (era == ERAS[1] or ERAS[1] not in eras)


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# A module whose tests share a server has one of its own, for all of them.
storage = pytest.fixture(autouse=True)(storage_asked_for)


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
