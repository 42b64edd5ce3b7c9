"""A user's machine: a clone of this repository, clients that read their settings from a home folder, a project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.fake_llm import NEWEST, Call, Model
from processes import ROOT

HANG = 90.0
TOOLS = {
    "remember", "recall", "recall_node", "mark_outdated", "submit_feedback", "run_maintenance",
    "memory_recall", "memory_store", "belief_update",
    "now_read", "now_update", "integrity_check",
}  # fmt: skip
PLACEHOLDER = "/path/to/holdfast"
LAUNCHER = f"""#!/bin/sh
PYTHONPATH='{ROOT / "server"}' exec '{sys.executable}' -m holdfast "$@"
"""

FACT = "The tide table hangs in the kitchen."
STORE = Call("remember", {"content": FACT})
FIND = Call("recall", {"query": "Where does the tide table hang?"})
RETIRE = Call("mark_outdated", {"node_id": NEWEST, "reason": "It was taken down."})
BATCH_ID = re.compile(r"bat_[0-9a-z]+")
SHORT_ID = re.compile(r"mem_[0-9a-z]{8,}")  # as a batch has them, which is enough for a verdict
TWINS = ("The crane needs oil every spring.", "The crane needs oil each spring.")


def judgement(results: list[str]) -> dict[str, Any]:
    """What the model says of the batch that it was shown: the only two notes there are say the same."""
    first, second = dict.fromkeys(SHORT_ID.findall(results[-1]))
    merge = {"keep_id": first, "discard_id": second, "merged_content": f"{TWINS[0]} That is settled."}
    return {"batch_id": BATCH_ID.findall(results[-1])[0], "results": {"merges": [merge]}}


TEND = (Call("run_maintenance", {}), Call("run_maintenance", judgement))
LATER = (FIND, Call("recall_node", {"node_id": NEWEST}), RETIRE, FIND)


@dataclass(frozen=True)
class Machine:
    programs: Path
    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def clone(self) -> Path:
        return self.root / "clone"

    @property
    def project(self) -> Path:
        return self.root / "lighthouse"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing from outside but where programs are."""
        return {
            "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "CODEX_HOME": str(self.home / ".codex"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def prepare(self) -> None:
        for folder in (self.home / ".claude", self.home / ".codex", self.project, self.clone / ".venv" / "bin"):
            folder.mkdir(parents=True)
        launcher = self.clone / ".venv" / "bin" / "holdfast"
        launcher.write_text(LAUNCHER, "utf-8")
        launcher.chmod(0o755)

    def run(
        self, *command: str, where: Path | None = None, code: int = 0, variables: dict[str, str] | None = None
    ) -> str:
        """What a program says on stdout; it must end with this code."""
        ran = subprocess.run(
            command, cwd=where or self.project, env=self.environment | (variables or {}), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=HANG, check=False,
        )  # fmt: skip
        assert ran.returncode == code, f"{command}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    @property
    def folder(self) -> Path:
        """Where the notes of the project are kept when nothing is set."""
        return self.home / ".local" / "share" / "holdfast" / "memories" / self.project.name

    def write_twins(self) -> None:
        """Two notes by hand that say the same."""
        self.folder.mkdir(parents=True)
        for number, text in enumerate(TWINS):
            (self.folder / f"{number}.md").write_text(f"{text}\n", "utf-8")

    def notes(self) -> dict[str, str]:
        """The notes of the project by their files' names."""
        return {path.name: path.read_text("utf-8") for path in self.folder.glob("*.md")}

    def here(self, text: str) -> str:
        """Text of the README with this machine's path of the clone."""
        return text.replace(PLACEHOLDER, str(self.clone))


def holdfast(machine: Machine, *arguments: str) -> str:
    return machine.run(str(machine.clone / ".venv" / "bin" / "holdfast"), *arguments)


def readme(language: str, holding: str) -> str:
    """The one block of the README, in a language, that holds this."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (block,) = [block for block in blocks if holding in block]
    return str(block)


def example(name: str) -> dict[str, Any]:
    """An entry of mcp.json.example."""
    return dict(json.loads((ROOT / "mcp.json.example").read_text("utf-8"))["mcpServers"][name])


def assert_offered(model: Model, *tools: str) -> None:
    """The client told the model of these tools, each with its description."""
    told = model.turns[-1].tools
    assert {name.rpartition("__")[2] for name in told if name.startswith("mcp__holdfast__")} == set(tools)
    assert all(told[f"mcp__holdfast__{name}"] for name in tools)


def assert_tended(machine: Machine, told: str) -> None:
    """What became of TEND: one note is left, with the words that the model chose."""
    assert "applied" in told
    (note,) = machine.notes().values()
    assert "That is settled." in note


def assert_played(model: Model) -> None:
    """The client made every call of the script, and told the model what came of it."""
    assert len(model.results) == len(model.script), model.results


def assert_found_and_retired(machine: Machine, model: Model) -> None:
    """What became of LATER: the note was found, shown and retired, and then found no more."""
    found, shown, _, found_again = model.results
    assert FACT in found
    assert FACT in shown
    assert FACT not in found_again
    (note,) = machine.notes().values()
    assert "outdated: true" in note
