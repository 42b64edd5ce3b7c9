"""/metrics: there for who brings its token, read by Prometheus's own parser, and silent on who asked for what."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest
from prometheus_client import parser as plain
from prometheus_client.openmetrics import parser as open_metrics

import postgres
from doors import web
from holdfast.errors import SettingsError
from holdfast.running import _metrics
from holdfast.settings import load_settings
from processes import PATIENCE, http, until

TOKEN = "for-prometheus-and-for-nobody-else-at-all"  # noqa: S105 - of nobody
SETTING = {"HOLDFAST_METRICS_TOKEN": TOKEN}
SAID = "xylophone"  # in each note, query, name and principal below

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def asked(port: int, token: str = TOKEN, **headers: str) -> httpx.Response:
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.get(f"http://127.0.0.1:{port}/metrics", headers=headers, trust_env=False, timeout=PATIENCE)


def samples(port: int) -> Samples:
    answer = asked(port)
    assert answer.status_code == 200
    assert SAID not in answer.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in plain.text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def of(found: Samples, name: str, **labels: str) -> float:
    return found[f"holdfast_{name}", tuple(sorted(labels.items()))]


def test_there_is_none_unless_a_token_is_set_and_then_for_its_bearer_alone(environment: dict[str, str]) -> None:
    with http(environment) as (_, port):
        assert asked(port).status_code == 404
    with http(environment | SETTING) as (_, port):
        nowhere = httpx.get(f"http://127.0.0.1:{port}/nowhere", trust_env=False, timeout=PATIENCE)
        for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\u00e9"):
            answer = asked(port, "") if not wrong else httpx.get(
                f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=PATIENCE,
                headers=[(b"authorization", b"Bearer " + wrong.encode("latin-1"))],
            )  # fmt: skip
            assert (answer.status_code, answer.text) == (nowhere.status_code, nowhere.text), wrong
        assert asked(port).status_code == 200
        as_open = asked(port, Accept="application/openmetrics-text; version=1.0.0")
        assert list(open_metrics.text_string_to_metric_families(as_open.text))


@pytest.mark.files("beside a database there are more figures")
def test_requests_are_counted_by_method_tool_and_outcome_and_nothing_that_was_said_is_told(
    environment: dict[str, str], era: str
) -> None:
    with http(environment | SETTING) as (_, port):
        with web(port, "/mcp", era, None) as door:
            for number in range(3):
                door.ask("tools/call", name="remember", arguments={"content": f"The {SAID} number {number} is loud."})
            door.ask("tools/call", name="recall", arguments={"query": SAID})
            door.ask("tools/call", name="recall_node", arguments={"node_id": f"mem_{SAID}"})
            door.ask("tools/call", name=SAID, arguments={})
            door.ask(f"{SAID}/none")
        httpx.get(f"http://127.0.0.1:{port}/{SAID}", trust_env=False, timeout=PATIENCE)
        found = samples(port)
    assert of(found, "requests_total", method="tools/call", tool="remember", outcome="ok") == 3
    assert of(found, "requests_total", method="tools/call", tool="recall", outcome="ok") == 1
    assert of(found, "requests_total", method="tools/call", tool="recall_node", outcome="MemoryNotFoundError") == 1
    assert of(found, "request_seconds_count", method="tools/call", tool="remember") == 3
    assert {dict(labels)["tool"] for name, labels in found if name == "holdfast_requests_total"} >= {"other"}
    assert of(found, "http_refused_total", status="404") >= 1
    assert of(found, "catch_up_seconds_count") >= 5
    assert of(found, "memories_open") == 1
    assert of(found, "requests_under_way") == 0
    assert of(found, "vectors_waiting") == 0
    assert not [name for name, _ in found if "database" in name]
    assert ("process_resident_memory_bytes", ()) in found


def test_principals_with_memories_of_their_own_are_counted_and_not_named(environment: dict[str, str]) -> None:
    tokens = [
        {"token": name, "client_id": f"{SAID}-{name}", "scopes": ["memory:write", "memory:read"]} for name in "ab"
    ]
    given = {"HOLDFAST_AUTH_TOKENS": json.dumps(tokens), "HOLDFAST_TENANCY": "user"}
    environment.pop("HOLDFAST_SPACE", None)
    with http(environment | SETTING | given) as (_, port):
        assert asked(port, "a").status_code == 404  # a user's token does not open it
        for name in "ab":
            with web(port, "/mcp", "2026-07-28", name) as door:
                door.ask("tools/call", name="remember", arguments={"content": f"The {SAID} of {name}."})
        found = samples(port)
    assert of(found, "memories_open") == 2
    assert of(found, "requests_total", method="tools/call", tool="remember", outcome="ok") == 2
    assert of(found, "catch_up_seconds_count") >= 2


@pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)
def test_with_a_database_its_connections_are_told_and_whether_it_is_away(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with postgres.postgres() as pg:
        given = {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path), "HOLDFAST_STATELESS": "true"}
        with http(environment | SETTING | given) as (_, port), web(port, "/mcp", "2026-07-28", None) as door:
            door.ask("tools/call", name="remember", arguments={"content": f"The {SAID} is in rows."})
            found = samples(port)
            assert of(found, "database_away") == 0
            assert of(found, "database_connections_most") == 10
            assert of(found, "database_connections_idle") >= 1
            assert of(found, "database_awaited") == 0
            pg.kill()
            assert door.ask("tools/call", name="recall", arguments={"query": SAID})["result"]
            until(lambda: of(samples(port), "database_away") == 1)
            assert of(samples(port), "database_tries_again_total") >= 1


def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(environment: dict[str, str]) -> None:
    for wrong in ("short", "x" * 31, "x" * 20 + " " + "x" * 20, "é" * 40):
        with pytest.raises(SettingsError, match="HOLDFAST_METRICS_TOKEN") as told:
            load_settings(environment | {"HOLDFAST_METRICS_TOKEN": wrong})
        assert wrong not in str(told.value)
    settings = load_settings(environment | SETTING)
    assert settings.metrics_token == TOKEN
    assert TOKEN not in repr(settings)


def test_without_the_library_the_sentence_says_what_to_install(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "holdfast.http.metrics", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(SettingsError, match=r"requirements-postgres\.txt"):
        _metrics(load_settings(environment | SETTING), None, None)  # type: ignore[arg-type]
