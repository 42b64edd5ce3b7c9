"""Each test of the contract runs in both protocol eras; those that are not about files as such on every storage."""

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

# Modules whose tests run on every storage. In them `files` marks, with the reason, what is about a folder as such.
ON_EVERY_STORAGE = {
    "test_admin_notes", "test_admin_reviews", "test_admin_undo", "test_belief_update", "test_events",
    "test_mark_outdated", "test_own_undo", "test_recall_node",
}  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_every = metafunc.module.__name__.rpartition(".")[2] in ON_EVERY_STORAGE
    of_files = next(metafunc.definition.iter_markers("files"), None)
    if "storage" in metafunc.fixturenames and on_every and of_files is None:
        metafunc.parametrize("storage", STORAGES, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL the short form runs in the newer era alone, and looks at notes no more than others do."""
    if config.getoption("--long"):
        return
    spared = [item for item in items if _is_for_the_long_form(item)]
    if spared:
        config.hook.pytest_deselected(items=spared)
        items[:] = [item for item in items if not _is_for_the_long_form(item)]


def _is_for_the_long_form(item: pytest.Item) -> bool:
    given = getattr(getattr(item, "callspec", None), "params", {})
    if given.get("storage") != ROWS:
        return False
    return given.get("era") == ERAS[0] or item.path.stem == "test_recall_node"


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
