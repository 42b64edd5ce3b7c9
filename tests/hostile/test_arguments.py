"""Strange input: a clear error or a right answer, never an exception, never a file changed in passing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.model.maintenance import KINDS, VERDICTS
from holdfast.model.note import EDGE_TYPES, MEMORY_TYPES, NOTE_TYPES, TIERS
from served import ERAS, SELF, Agent, assert_named, serving

READING = (
    "recall",
    "recall_node",
    "memory_recall",
    "now_read",
    "now_update",
    "integrity_check",
)  # or no notes, at least

STRANGE = [
    "", " ", "\n", "\t\r\n", "\0", "a\0b", "\x01\x02\x1b[31m", "\u200b", "\u2028\u2029", "\ufeff", "\u202etxt.exe",
    "*", "**", "%", "%%", "_", "?", "[a-z]*", "../x", "../../etc/passwd", "..\\x", "/etc/passwd", "C:\\x", "~", "con",
    "mem_", "mem_*", "mem_%", "mem_0", "mem_00000000000000000", "MEM_0000000000000000",
    SELF + "\n", "mem_" + "\u0660" * 16,
    '"', '""', "'", "''", '"unclosed', "a AND", "AND", "OR OR", "NOT", "NEAR(a b, 3)", "NEAR(", "a NEAR/2 b", "-a",
    "+a", "^a", "a*", "title:a", "body : b", "{title body}: x", "(", ")", "((((", "a) OR (b", "a;b", "--", "/* */",
    "'; DROP TABLE notes; --", "' OR '1'='1", "rowid", "texts MATCH 'x'", "$1", "?1", ":x", "@x", "{{7*7}}", "${HOME}",
    "<note>", "</note>", "<script>alert(1)</script>", "---\nid: x\n---\n", "&a [*a]", "!!python/object:os.system x",
    "\U0001f980", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301\u0301\u0301", "a\u0300" * 500, "\ufdfd" * 50,
    "\u6e2f", "\u0e40\u0e04\u0e23\u0e19", "\u0627\u0644\u0631\u0627\u0641\u0639\u0629", "\U0010ffff", "\ue000",
    "null", "true", "NaN", "0", "-1", "1e999", "[]", "{}", "[1", "\\", "\\u0000", "\\ud800",
    "x" * 70_000, "crane " * 4000, "\n".join(f"2026-11-20 ERROR [{n}] crane failed: 0x{n:08x}" for n in range(400)),
]  # fmt: skip


async def ask(agent: Agent, tool: str, arguments: dict[str, Any]) -> bool:
    """Call a tool with whatever; judge the answer and the folder. Returns whether it succeeded."""
    before = marks_of(agent.home)
    result = await agent.client.call_tool_mcp(tool, arguments)
    text = "\n".join(block.text for block in result.content)
    if result.is_error:
        assert_named(text)
        assert marks_of(agent.home) == before
        return False
    jsonschema.Draft202012Validator(agent.schemas[tool]).validate(result.structured_content)
    if tool in READING:
        assert marks_of(agent.home) == before
    return True


def marks_of(home: Path) -> dict[str, tuple[int, int, int]]:
    """Every note file with its inode, its size and the time of its last change: to look is cheaper than to read."""
    found: dict[str, tuple[int, int, int]] = {}
    folders = [str(home / "memories")]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                status = entry.stat()
                found[entry.path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


@pytest.fixture(params=ERAS)
async def agent(request: pytest.FixtureRequest, anyio_backend: str, tmp_path: Path) -> Any:
    async with serving(tmp_path / "home", request.param) as asking:
        await asking.remember("The crane lifts forty tonnes.", tags=["crane"], session="s", subject="Crane")
        await asking.remember("Seven lamps.")
        yield asking


@pytest.mark.anyio
async def test_any_text_can_be_asked_for(agent: Agent) -> None:
    for query in STRANGE:
        assert await ask(agent, "recall", {"query": query}) is (len(query) <= 64 * 1024), query[:40]


@pytest.mark.anyio
async def test_any_text_in_a_filter_is_refused_or_finds_nothing(agent: Agent) -> None:
    for text in STRANGE:
        for name in ("tags", "spaces", "types", "tiers"):
            result = await agent.client.call_tool_mcp("recall", {"query": "crane", name: [text]})
            assert result.is_error or result.structured_content["results"] == [], (name, text[:40])
        for name in ("created_after", "created_before"):
            assert not await ask(agent, "recall", {"query": "crane", name: text}), text[:40]


@pytest.mark.anyio
async def test_only_an_id_or_the_beginning_of_one_names_a_note(agent: Agent) -> None:
    names_self = {"mem_0", "0", "MEM_0000000000000000", SELF + "\n"}
    for given_id in STRANGE:
        single = given_id in {"MEM_0000000000000000", SELF + "\n"}
        assert await ask(agent, "recall_node", {"node_id": given_id}) is single, given_id[:40]
        assert not await ask(agent, "mark_outdated", {"node_id": given_id}), given_id[:40]
        if given_id not in names_self:
            assert not await ask(agent, "remember", {"content": "x", "links": [given_id]}), given_id[:40]
            assert not await ask(agent, "remember", {"content": "x", "supersedes": [given_id]}), given_id[:40]


@pytest.mark.anyio
async def test_any_text_that_is_not_blank_can_be_stored_and_is_read_back_as_it_was(agent: Agent) -> None:
    for number, content in enumerate(STRANGE):
        space = f"space-{number}"  # of its own: texts that differ in case alone are one note
        stored = await ask(agent, "remember", {"content": content, "space": space})
        assert stored is (bool(content.strip()) and "\0" not in content), content[:40]
        if stored:
            answer = await agent.remember(content, space=space)  # a retry: the same note
            assert await agent.whole(answer["id"]) == content


@pytest.mark.anyio
async def test_any_text_beside_the_content_is_refused_or_kept_inside_the_folder(agent: Agent) -> None:
    outside = {path for path in agent.home.parent.rglob("*") if not path.is_relative_to(agent.home)}
    for number, text in enumerate(STRANGE):
        for name in ("title", "space", "session", "subject", "event_time", "type", "tier"):
            await ask(agent, "remember", {"content": f"{name} {number}", name: text})
        await ask(agent, "remember", {"content": f"tags {number}", "tags": [text]})
        await ask(agent, "remember", {"content": f"unknown {number}", text: text})
    assert {path for path in agent.home.parent.rglob("*") if not path.is_relative_to(agent.home)} == outside
    for path in (agent.home / "memories").rglob("*.md"):
        assert path.parent.parent == agent.home / "memories"
    answer = await agent.recall("tonnes")
    assert not any("Quarantined" in notice for notice in answer["notices"])  # all that was written can be read


# --- whatever a program can think of --------------------------------------------------------------

texts = st.one_of(
    st.sampled_from(STRANGE[:100]),
    st.text(max_size=40),
    st.text(alphabet=st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp", "So", "Mn", "Lo"]), max_size=20),
    st.sampled_from(["crane", "The crane lifts forty tonnes.", SELF, "2026-11-20", "0001-01-01T00:00:00+14:00"]),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), texts
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
ids = st.one_of(texts, st.sampled_from(["first", "second", SELF]))  # the first two stand for notes that are there
links = st.lists(
    st.one_of(ids, st.fixed_dictionaries({"to": ids, "type": st.sampled_from(EDGE_TYPES) | texts}), anything),
    max_size=4,
)
SHAPES = {
    "remember": st.fixed_dictionaries(
        {"content": texts},
        optional={
            "type": st.sampled_from(NOTE_TYPES), "tier": st.sampled_from(TIERS), "title": texts, "space": texts,
            "tags": st.lists(texts, max_size=4), "about_self": st.booleans(), "confidence": st.floats(-1, 2),
            "links": links, "supersedes": st.lists(ids, max_size=3), "session": texts, "subject": texts,
            "event_time": texts,
        },
    ),
    "recall": st.fixed_dictionaries(
        {"query": texts},
        optional={
            "limit": st.integers(-1, 52), "types": st.lists(st.sampled_from(NOTE_TYPES), max_size=3),
            "spaces": st.lists(texts, max_size=3), "tags": st.lists(texts, max_size=3),
            "tiers": st.lists(st.sampled_from(TIERS), max_size=2), "created_after": texts, "created_before": texts,
            "include_outdated": st.booleans(), "budget": st.integers(-1, 2**40), "explain": st.booleans(),
        },
    ),
    "recall_node": st.fixed_dictionaries({"node_id": ids}),
    "mark_outdated": st.fixed_dictionaries({"node_id": ids}, optional={"reason": texts, "superseded_by": ids}),
    "submit_feedback": st.fixed_dictionaries(
        {"node_id": ids, "signal": st.sampled_from([1, -1, 0])},
        optional={"source": st.sampled_from(["explicit", "implicit", ""]), "event_id": texts},
    ),
    "run_maintenance": st.fixed_dictionaries(
        {},
        optional={
            "results": st.fixed_dictionaries(
                {},
                optional={
                    "edges": st.lists(st.fixed_dictionaries(
                        {"node_a_id": ids, "node_b_id": ids, "edge_type": st.sampled_from([*VERDICTS, ""])},
                        optional={"reason": texts},
                    ), max_size=3),
                    "merges": st.lists(st.fixed_dictionaries(
                        {"keep_id": ids, "discard_id": ids}, optional={"merged_content": texts, "merged_title": texts}
                    ), max_size=2),
                    "consolidations": st.lists(st.fixed_dictionaries(
                        {"node_ids": st.lists(ids, max_size=3), "title": texts, "content": texts},
                        optional={"type": st.sampled_from([*NOTE_TYPES, ""])},
                    ), max_size=2),
                },
            ),
            "batch_id": texts, "kinds": st.lists(st.sampled_from(KINDS), max_size=3), "limit": st.integers(-1, 60),
            "dry_run": st.booleans(),
        },
    ),
    "memory_recall": st.fixed_dictionaries(
        {"query": texts},
        optional={
            "limit": st.integers(-1, 102), "min_relevance": st.floats(-1, 2),
            "memory_type": st.sampled_from([*MEMORY_TYPES, "event"]),
        },
    ),
    "memory_store": st.fixed_dictionaries(
        {"content": texts},
        optional={
            "memory_type": st.sampled_from([*MEMORY_TYPES, "event"]), "related_to": st.lists(ids, max_size=3),
            "confidence": st.floats(-1, 2),
        },
    ),
    "belief_update": st.fixed_dictionaries(
        {"belief_id": ids, "evidence_memory_id": ids, "supports": st.booleans(), "strength": st.floats(-1, 2)}
    ),
    "now_read": st.just({}),
    "now_update": st.fixed_dictionaries(
        {},
        optional={
            "current_task": texts | st.none(), "recent_completions": st.lists(texts, max_size=4),
            "pending_decisions": st.lists(texts, max_size=4), "key_files": st.lists(texts, max_size=4) | st.none(),
        },
    ),
    "integrity_check": st.fixed_dictionaries({}, optional={"scope": st.sampled_from(["now", "all", "", "graph"])}),
}  # fmt: skip


def calls() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """Calls of the right shape with strange values, and some of which a value or a name is wrong."""
    shaped = [st.tuples(st.just(tool), shape) for tool, shape in SHAPES.items()]
    broken = st.tuples(st.one_of(shaped), texts | st.sampled_from(["tags", "links", "limit", "content"]), anything).map(
        lambda drawn: (drawn[0][0], drawn[0][1] | {drawn[1]: drawn[2]})
    )
    return st.one_of(*shaped, broken)


def named(value: Any, notes: dict[str, str]) -> Any:
    """The value with stand-ins replaced by ids of notes that are there."""
    match value:
        case str():
            return notes.get(value, value)
        case list():
            return [named(item, notes) for item in value]
        case dict():
            return {key: named(item, notes) for key, item in value.items()}
    return value


@pytest.mark.timeout(300)
@pytest.mark.parametrize("era", ERAS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(calls(), min_size=5, max_size=10))
def test_whatever_is_called_the_answer_is_an_error_with_a_name_or_fits_its_schema(
    era: str, sequence: list[tuple[str, dict[str, Any]]]
) -> None:
    async def play(home: Path) -> None:
        async with serving(home, era) as agent:
            first = await agent.remember("The crane lifts forty tonnes.", tags=["crane"], session="s")
            second = await agent.remember("Seven lamps.")
            notes = {"first": first["id"], "second": second["id"]}
            for tool, arguments in sequence:
                await ask(agent, tool, named(arguments, notes))
            assert (await agent.node(SELF))["id"] == SELF
            answer = await agent.recall("crane", include_outdated=True)
            assert not any("Quarantined" in notice for notice in answer["notices"])

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, Path(folder) / "home")
