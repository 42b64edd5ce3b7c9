"""The MCP conformance suite against a server over HTTP, in all that asks for no tools of the suite's own.

All scenarios of a revision are run at once, and those that apply are judged by each of their checks. The suite's own
verdict would not do: to it, a scenario that found nothing to check has passed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from clients.machine import Machine
from processes import environment_in, http

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

APPLY = {
    "2025-11-25": {
        "server-initialize",
        "server-session-lifecycle",
        "logging-set-level",
        "ping",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "completion-complete",
        "dns-rebinding-protection",
    },
    "2026-07-28": {
        "server-stateless",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "completion-complete",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
    },
}

# Checks of these that cannot be met, exactly: none joins them, and none passes unnoticed.
NOT_MET = {
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability",  # by a tool of the suite's own
        "sep-2575-missing-capability-http-400",  # by a tool of the suite's own
        "sep-2575-server-sends-prompts-list-changed-on-subscription",  # by a tool of the suite's own; they never change
        "sep-2575-server-sends-tools-list-changed-on-subscription",  # by a tool of the suite's own; they never change
    },
}

LEFT_OUT = {
    "calls a tool of the suite's own": {
        "tools-call-simple-text",
        "tools-call-image",
        "tools-call-audio",
        "tools-call-embedded-resource",
        "tools-call-mixed-content",
        "tools-call-with-logging",
        "tools-call-error",
        "tools-call-with-progress",
        "tools-call-sampling",
        "tools-call-elicitation",
        "json-schema-2020-12",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "server-sse-polling",
        "http-custom-header-server-validation",
        "input-required-result-basic-elicitation",
        "input-required-result-basic-sampling",
        "input-required-result-basic-list-roots",
        "input-required-result-request-state",
        "input-required-result-multiple-input-requests",
        "input-required-result-multi-round",
        "input-required-result-missing-input-response",
        "input-required-result-result-type",
        "input-required-result-tampered-state",
        "input-required-result-capability-check",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
    },
    "reads a resource of the suite's own": {
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
    },
    "subscribes to a resource of the suite's own": {
        "resources-subscribe",
        "resources-unsubscribe",
    },
    "gets a prompt of the suite's own": {
        "prompts-get-simple",
        "prompts-get-with-args",
        "prompts-get-embedded-resource",
        "prompts-get-with-image",
        "input-required-result-non-tool-request",
    },
    "an extension that Holdfast does not have": {
        "sep-2640-skills-directory",
        "sep-2640-skills-enumeration",
        "sep-2640-skills-manifest",
        "tasks-lifecycle",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-dispatch-and-envelope",
        "tasks-status-notifications",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    },
}

Checks = list[dict[str, Any]]


@pytest.fixture(scope="module")
def suite(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(programs, tmp_path_factory.mktemp("conformance"))
    machine.prepare()
    return machine


@pytest.fixture(scope="module")
def checks(suite: Machine) -> dict[str, dict[str, Checks]]:
    """By revision and scenario: what the suite found out about one server."""
    with http(environment_in(suite.home)) as (_, port):
        return {revision: _run(suite, f"http://127.0.0.1:{port}/mcp", revision) for revision in APPLY}


def _run(suite: Machine, url: str, revision: str) -> dict[str, Checks]:
    folder = suite.root / revision
    command = ["conformance", "server", "--url", url, "--suite", "all", "--spec-version", revision]
    suite.run(*command, "-o", str(folder), code=1)  # for what is left out
    return {
        _scenario(found.parent.name): json.loads(found.read_text("utf-8")) for found in folder.glob("*/checks.json")
    }


def _scenario(folder: str) -> str:
    named = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", folder)
    assert named, folder
    return named[1]


def left_out() -> set[str]:
    return set[str]().union(*LEFT_OUT.values())


def test_every_scenario_of_the_suite_applies_or_is_left_out_for_a_reason(suite: Machine) -> None:
    listed = re.findall(r"^  - (\S+)", suite.run("conformance", "list", "--server"), re.MULTILINE)
    assert sorted(listed) == sorted(left_out().union(*APPLY.values()))


@pytest.mark.parametrize("revision", APPLY)
def test_every_scenario_of_a_revision_was_run(checks: dict[str, dict[str, Checks]], revision: str) -> None:
    assert set(checks[revision]) - left_out() == APPLY[revision]


@pytest.mark.parametrize(
    ("revision", "scenario"), [(revision, scenario) for revision in APPLY for scenario in sorted(APPLY[revision])]
)
def test_a_scenario_that_applies_is_passed(checks: dict[str, dict[str, Checks]], revision: str, scenario: str) -> None:
    found = checks[revision][scenario]
    assert {check["status"] for check in found if check["id"] != "wire-schema-valid"} & {"SUCCESS"}
    wrong = {check["id"]: check.get("errorMessage") for check in found if check["status"] not in {"SUCCESS", "INFO"}}
    assert set(wrong) == NOT_MET.get(scenario, set()), wrong
