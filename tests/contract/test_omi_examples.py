"""Every example of OMI's API reference, with its import names adapted and the ids that it cites made first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import get_all_mcp_tools
from holdfast.event_bus import get_event_bus
from holdfast.events import BeliefUpdatedEvent, MemoryRecalledEvent, MemoryStoredEvent
from holdfast.exceptions import IntegrityError, MemoryNotFoundError

RESULT_KEYS = [
    "memory_id", "content", "memory_type", "created_at", "relevance", "final_score", "related_memories",
]  # fmt: skip


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.setenv("HOME", str(tmp_path))
    made = get_all_mcp_tools({"base_path": "~/.openclaw/omi"})
    yield made
    get_event_bus().clear()
    made["checkpoint"].close()


@pytest.mark.files("it is about the files that OMI documents")
def test_the_groups_are_those_of_the_document_and_the_folder_is_made_where_the_config_says(
    tools: dict[str, Any], tmp_path: Path
) -> None:
    assert list(tools) == ["memory", "belief", "checkpoint", "security", "daily"]
    tools["memory"].store(content="The gate is green.")
    assert (tmp_path / ".openclaw/omi/memories").is_dir()


def test_recall_memories_about_authentication(tools: dict[str, Any]) -> None:
    tools["memory"].store(content="Authentication issues came from an expired signing key.", memory_type="experience")
    tools["memory"].store(content="The cafeteria serves soup on Mondays.", memory_type="experience")
    results = tools["memory"].recall(
        query="authentication issues", limit=5, min_relevance=0.75, memory_type="experience"
    )
    assert [f"{mem['content']} (score: {mem['final_score']:.2f})" for mem in results] != []
    (found,) = results
    assert list(found) == RESULT_KEYS
    assert found["memory_type"] == "experience"
    days = (datetime.now(UTC) - datetime.fromisoformat(found["created_at"])).total_seconds() / 86400
    assert found["final_score"] == pytest.approx(0.7 * found["relevance"] + 0.3 * math.exp(-days / 30), abs=1e-4)


def test_store_a_fact_an_experience_with_relations_and_a_belief(tools: dict[str, Any]) -> None:
    design = tools["memory"].store(content="Auth design: tokens are validated in middleware.", memory_type="decision")
    refactor = tools["memory"].store(content="Middleware refactor: one chain for all routes.")
    fact = tools["memory"].store(content="SQLite supports full-text search via FTS5", memory_type="fact")
    fixed = tools["memory"].store(
        content="Fixed auth bug by validating tokens earlier in the middleware chain",
        memory_type="experience",
        related_to=[design, refactor],
    )
    belief = tools["memory"].store(
        content="Async operations improve throughput by 40% in our API", memory_type="belief", confidence=0.85
    )
    assert len({design, refactor, fact, fixed, belief}) == 5
    (found, *_) = tools["memory"].recall(query="Fixed auth bug by validating tokens earlier in the middleware chain")
    assert found["memory_id"] == fixed
    assert {design, refactor} <= set(found["related_memories"])


def test_a_belief_moves_with_its_evidence(tools: dict[str, Any]) -> None:
    belief_id = tools["memory"].store(
        content="TypeScript prevents runtime errors", memory_type="belief", confidence=0.5
    )
    evidence_id = tools["memory"].store(
        content="Caught 15 type errors at compile time that would have been runtime bugs", memory_type="experience"
    )
    new_conf = tools["belief"].update(belief_id=belief_id, evidence_memory_id=evidence_id, supports=True, strength=0.9)
    assert new_conf == pytest.approx(0.5675, abs=1e-12)
    counter_id = tools["memory"].store(
        content="Still got a runtime type error from JSON parsing", memory_type="experience"
    )
    new_conf = tools["belief"].update(belief_id=belief_id, evidence_memory_id=counter_id, supports=False, strength=0.6)
    assert new_conf == pytest.approx(0.46535, abs=1e-12)


def test_a_session_starts_fresh_then_resumes(tools: dict[str, Any]) -> None:
    assert tools["checkpoint"].now_read() == {}
    tools["checkpoint"].now_update(
        current_task="Writing integration tests for auth middleware",
        recent_completions=["Implemented JWT token validation", "Added refresh token rotation"],
        pending_decisions=["Should we support OAuth2 providers?"],
        key_files=["src/auth/jwt.py", "tests/integration/test_auth_flow.py"],
    )
    assert tools["checkpoint"].now_update(current_task="Code review PR #123") is None
    now_context = tools["checkpoint"].now_read()
    assert list(now_context) == [
        "current_task", "recent_completions", "pending_decisions", "key_files", "timestamp",
    ]  # fmt: skip
    assert now_context["current_task"] == "Code review PR #123"
    assert now_context["recent_completions"] == ["Implemented JWT token validation", "Added refresh token rotation"]
    assert now_context["pending_decisions"] == ["Should we support OAuth2 providers?"]
    assert now_context["key_files"] == ["src/auth/jwt.py", "tests/integration/test_auth_flow.py"]
    datetime.fromisoformat(now_context["timestamp"])
    assert tools["memory"].recall(query=now_context["current_task"], limit=10) == []


def test_an_integrity_check_of_ordinary_use_is_safe(tools: dict[str, Any]) -> None:
    for number in range(12):
        tools["memory"].store(content=f"Report number {number}: the lamp was lit.")
        tools["checkpoint"].now_update(recent_completions=[f"Report {number}"])
        tools["daily"].append(f"Report {number} is done.")
    result = tools["security"].integrity_check(scope="all")
    assert {"now_md", "memory_md", "topology", "overall_safe"} <= result.keys()
    assert result["topology"]["orphan_nodes"] <= 5
    assert result["topology"]["sudden_cores"] == 0
    assert result["overall_safe"] is True
    assert tools["security"].integrity_check(scope="now")["now_md"] is True


@pytest.mark.files("it is about the files that OMI documents")
def test_the_lifecycle_of_a_session(tools: dict[str, Any]) -> None:
    context = tools["checkpoint"].now_read()
    relevant = tools["memory"].recall(query=context.get("current_task", "recent work"), limit=10)
    assert relevant == []
    memory_id = tools["memory"].store(
        content="Implemented rate limiting with sliding window algorithm", memory_type="experience"
    )
    belief = tools["memory"].store(content="Rate limiting is effective against abuse", memory_type="belief")
    tools["belief"].update(belief_id=belief, evidence_memory_id=memory_id, supports=True, strength=0.85)
    tools["checkpoint"].now_update(
        current_task="Deploying rate limiter to production",
        recent_completions=["Implemented rate limiter", "Added tests"],
        key_files=["src/middleware/rate_limit.py"],
    )
    path = tools["daily"].append(f"Session summary: {context.get('current_task')}")
    assert "Session summary: None" in Path(path).read_text("utf-8")
    assert "Implemented rate limiter" in tools["daily"].read()
    assert tools["daily"].list_recent() == [path]
    backup = tools["checkpoint"].vault_backup()
    assert isinstance(backup, str)
    assert backup


def test_a_belief_evolves_and_its_chain_tells_how(tools: dict[str, Any]) -> None:
    belief_id = tools["memory"].store(
        content="GraphQL is better than REST for our use case", memory_type="belief", confidence=0.5
    )
    evidence_items = [
        ("Reduced API calls by 60% using GraphQL batching", True, 0.8),
        ("Hit N+1 query problem, had to add DataLoader", False, 0.6),
        ("Client teams love the flexibility of query selection", True, 0.7),
        ("Struggling with caching compared to REST", False, 0.5),
    ]
    confidences = []
    for content, supports, strength in evidence_items:
        evidence_id = tools["memory"].store(content, memory_type="experience")
        confidences.append(
            tools["belief"].update(
                belief_id=belief_id, evidence_memory_id=evidence_id, supports=supports, strength=strength
            )
        )
    assert confidences == pytest.approx([0.56, 0.4592, 0.51598, 0.43859], abs=1e-5)
    chain = tools["belief"].get_evidence_chain(belief_id)
    told = [f"{'✓' if e['supports'] else '✗'} {e['memory_id']} (strength: {e['strength']})" for e in chain]
    assert [line[0] for line in told] == ["✓", "✗", "✓", "✗"]


def test_a_subscriber_hears_of_what_is_stored_recalled_and_believed(tools: dict[str, Any]) -> None:
    heard: list[Any] = []

    def on_memory_stored(event: MemoryStoredEvent) -> None:
        heard.append(f"New memory: {event.memory_id} ({event.memory_type})")

    bus = get_event_bus()
    bus.subscribe(MemoryStoredEvent, on_memory_stored)
    for kind in (MemoryRecalledEvent, BeliefUpdatedEvent):
        bus.subscribe(kind, heard.append)
    belief = tools["memory"].store(content="The lighthouse lamp is reliable", memory_type="belief")
    fact = tools["memory"].store(content="The lamp burnt all winter", memory_type="fact")
    tools["belief"].update(belief, fact, supports=True, strength=1.0)
    tools["memory"].recall(query="The lamp burnt all winter")
    assert heard[:2] == [f"New memory: {belief} (belief)", f"New memory: {fact} (fact)"]
    updated, recalled = heard[2:]
    assert (updated.belief_id, updated.evidence_id, updated.old_confidence) == (belief, fact, 0.5)
    assert updated.new_confidence == pytest.approx(0.575)
    assert recalled.query == "The lamp burnt all winter"
    assert recalled.result_count >= 1


def test_errors_have_the_names_of_the_document(tools: dict[str, Any]) -> None:
    try:
        result = tools["memory"].recall(query="test")
    except (MemoryNotFoundError, IntegrityError):
        pytest.fail("nothing is stored, which is no error")
    assert result == []
    fact = tools["memory"].store(content="The lamp burnt all winter", memory_type="fact")
    with pytest.raises(MemoryNotFoundError):
        tools["belief"].update(
            belief_id="belief_rate_limit_effective", evidence_memory_id=fact, supports=True, strength=0.85
        )
    with pytest.raises(MemoryNotFoundError):
        tools["memory"].store(content="Fixed auth bug", related_to=["mem_auth_design_001"])
    assert len(tools["memory"].recall(query="The lamp burnt all winter", min_relevance=0.0)) == 1


@pytest.mark.files("it is about the files that OMI documents")
def test_the_documented_time_constant_can_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tools: dict[str, Any]
) -> None:
    monthly = datetime.now(UTC) - timedelta(days=30)
    note = f'---\ncreated: "{monthly:%Y-%m-%dT%H:%M:%SZ}"\n---\nThe lamp burnt all winter long.\n'
    file = tmp_path / ".openclaw/omi/memories/global/lamp.md"
    tools["memory"].store("The gate is green.")
    file.parent.mkdir(exist_ok=True)
    file.write_text(note, "utf-8")
    (usual,) = tools["memory"].recall("The lamp burnt all winter long.")
    tools["checkpoint"].close()
    (tmp_path / ".openclaw/omi/config.yaml").write_text("storage:\n  recency_half_life_days: 15\n", "utf-8")
    again = get_all_mcp_tools({"base_path": tmp_path / ".openclaw/omi"})
    (shorter,) = again["memory"].recall("The lamp burnt all winter long.")
    again["checkpoint"].close()
    recency = [(found["final_score"] - 0.7 * found["relevance"]) / 0.3 for found in (usual, shorter)]
    assert recency == pytest.approx([math.exp(-1), math.exp(-2)], abs=1e-3)
