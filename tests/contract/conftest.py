"""Each test of the contract runs in both protocol eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gate import behind_the_gate
from served import ERAS, serving

if TYPE_CHECKING:
    from gate import Admin
    from served import Agent


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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
