"""What the tests with real clients share: the programs, a machine to run them on, a server over HTTP."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.machine import Machine
from doors import KEEPER
from processes import ROOT, http

PROGRAMS = ("node", "claude", "codex", "conformance", "dclint", "mcp-inspector")


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder of the clients' commands. `HOLDFAST_CLIENTS` names another folder than `build/clients`."""
    folder = Path(os.environ.get("HOLDFAST_CLIENTS", ROOT / "build" / "clients")) / "node_modules" / ".bin"
    missing = [name for name in PROGRAMS if not (folder / name).exists()]
    assert not missing, f"{', '.join(missing)} not found: install the clients first, as .ci/run does"
    return folder


@pytest.fixture
def machine(programs: Path, tmp_path: Path) -> Machine:
    machine = Machine(programs, tmp_path)
    machine.prepare()
    return machine


@pytest.fixture
def port(environment: dict[str, str]) -> Iterator[int]:
    """Where a server listens over HTTP."""
    with http(environment) as (_, port):
        yield port


@pytest.fixture
def guarded_port(environment: dict[str, str]) -> Iterator[int]:
    """Where a server listens over HTTP that wants tokens: `writer`, and `KEEPER` for an administrator."""
    scopes = {"writer": ["memory:read", "memory:write"], KEEPER: ["memory:admin"]}
    tokens = [{"token": name, "client_id": name, "scopes": granted} for name, granted in scopes.items()]
    with http(environment | {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens)}) as (_, port):
        yield port
