"""The example for Compose, held against its schema and by the rules of a linter for it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from processes import PATIENCE, ROOT

pytestmark = pytest.mark.clients

COMPOSE = ROOT / "deploy/compose.yaml"


def lint(programs: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """What is an error there; how keys are ordered is a matter of taste."""
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["dclint", "--quiet", str(file)],
        env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_compose_takes_its_example(programs: Path) -> None:
    told = lint(programs, COMPOSE)
    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize(
    ("right", "wrong", "rule"),
    [("restart: unless-stopped", "restarts: unless-stopped", "schema"), ("127.0.0.1:8080:80", "8080:80", "unbound")],
)
def test_what_it_does_not_take_is_told(programs: Path, tmp_path: Path, right: str, wrong: str, rule: str) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.read_text("utf-8").replace(right, wrong), "utf-8")
    told = lint(programs, file)
    assert told.returncode != 0
    assert rule in told.stdout
