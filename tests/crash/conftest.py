"""What tests of crashes have in common: a tenant each, and disks that need not be waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def tenant(tmp_path: Path) -> str:
    """A name that no other test has."""
    return str(tmp_path)


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: what is flushed is modelled, or not the matter."""
    monkeypatch.setattr(os, "fsync", lambda _handle: None)
