"""Arguments as some clients send them: lists as their JSON, numbers as texts, null for what was left out.

For every tool, those of the gate too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gate import Admin
from holdfast.tools.server import as_meant, read_as

pytestmark = pytest.mark.anyio

VALUES: dict[str, Any] = {"integer": 1, "number": 0.5, "boolean": True}


def sorts(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What a parameter may be, with every name in the schema looked up."""
    choices = schema.get("anyOf", [schema])
    return [definitions[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in choices]


def example(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """A value that fits."""
    (choice, *_) = sorts(schema, definitions)
    if "enum" in choice:
        return choice["enum"][0]
    match choice.get("type"):
        case "array":
            return [example(choice["items"], definitions)]
        case "object":
            inner = choice.get("properties", {})
            return {name: example(inner[name], definitions) for name in choice.get("required", ())}
        case "string":
            return "a text"
        case kind:
            return VALUES[str(kind)]


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def deep(value: Any) -> Any:
    """The value with every inner one that is no text as its text."""
    if isinstance(value, dict):
        return {
            name: deep(inner) if isinstance(inner, dict | list) else as_text(inner) for name, inner in value.items()
        }
    return [deep(inner) if isinstance(inner, dict | list) else as_text(inner) for inner in value]


async def every_parameter(admin: Admin) -> list[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    tools = await admin.client.list_tools()
    return [
        (tool.name, name, schema, tool.input_schema.get("$defs", {}))
        for tool in tools
        for name, schema in tool.input_schema.get("properties", {}).items()
    ]


async def test_every_parameter_of_every_tool_is_read_where_it_comes_as_its_text(admin: Admin) -> None:
    found = await every_parameter(admin)
    assert {"admin_connect_memories", "admin_list_audit_log", "remember", "run_maintenance"} <= {
        each[0] for each in found
    }
    tried = 0
    for tool, name, schema, definitions in found:
        value = example(schema, definitions)
        if isinstance(value, str):
            continue
        tried += 1
        assert read_as(as_text(value), schema, definitions) == value, (tool, name)
        assert read_as(f" {as_text(value)}\n", schema, definitions) == value, (tool, name)
        if isinstance(value, dict | list):
            assert read_as(deep(value), schema, definitions) == value, (tool, name)
            assert read_as(json.dumps(deep(value)), schema, definitions) == value, (tool, name)
    assert tried > 20


async def test_whatever_takes_a_number_from_0_to_1_says_so_of_any_other(admin: Admin) -> None:
    parameters = await every_parameter(admin)
    found = [each for each in parameters if each[2].get("maximum") == 1]
    assert {each[1] for each in found} == {"confidence", "min_relevance", "strength", "weight"}
    for tool, name, _, _ in found:
        others = {each: example(schema, known) for called, each, schema, known in parameters if called == tool}
        for wrong in ("NaN", "Infinity", 2):
            told = await admin.refused(tool, **others | {name: wrong})
            assert told == f"InvalidArgumentError: {name}: input should be a number from 0 to 1. Nothing was done."


async def test_calls_with_lists_and_numbers_as_texts_do_what_is_meant(admin: Admin) -> None:
    first = await admin.remember("The crane lifts forty tonnes.")
    second = await admin.call(
        "remember",
        content="The crane lifts fifty tonnes.",
        links=json.dumps([first]),
        supersedes=json.dumps([first]),
        tags='["crane", "heavy"]',
        confidence="0.7",
        about_self="false",
    )
    node = await admin.node(second["id"])
    assert (node["confidence"], node["tags"]) == (0.7, ["crane", "heavy"])
    assert (await admin.node(first))["superseded_by"] == second["id"]
    found = await admin.call(
        "recall", query="crane", limit="1", types='["fact"]', include_outdated="true", budget="500"
    )
    assert len(found["results"]) == 1
    third = await admin.remember("A buoy.")
    await admin.call("admin_connect_memories", source_id=third, target_id=second["id"], weight="0.3")
    weights = [each["weight"] for each in (await admin.node(third))["connections"] if each["type"] == "related_to"]
    assert weights == [0.3]
    await admin.call("admin_update_memory", node_id=third, tags='["red"]')
    assert (await admin.node(third))["tags"] == ["red"]
    assert len(await admin.audit(limit="2")) == 2
    verdicts = json.dumps({"edges": [{"node_a_id": third, "node_b_id": second["id"], "edge_type": "supports"}]})
    [outcome] = (await admin.call("run_maintenance", results=verdicts, dry_run="true"))["outcomes"]
    assert outcome["status"] == "applied"


async def test_null_for_whatever_may_be_left_out_counts_as_not_given_for_every_tool(admin: Admin) -> None:
    tried = 0
    for tool in await admin.client.list_tools():
        schema = tool.input_schema
        required = set(schema.get("required", ()))
        for name in schema.get("properties", {}):
            meant = as_meant({name: None}, schema)
            assert meant == ({name: None} if name in required else {}), (tool.name, name)
            tried += name not in required
    assert tried > 50


async def test_calls_with_null_for_what_was_left_out_are_answered_as_without_it(admin: Admin) -> None:
    left_out = dict.fromkeys(("type", "tier", "title", "space", "tags", "about_self", "confidence", "links", "session"))
    stored = await admin.call("remember", content="The crane lifts forty tonnes.", **left_out)
    assert (stored["type"], stored["tier"]) == ("fact", "working")
    node = await admin.node(stored["id"])
    assert (node["confidence"], node["tags"], node["space"]) == (1.0, [], stored["space"])
    given = dict.fromkeys(("also", "limit", "offset", "types", "spaces", "include_outdated", "budget", "explain"))
    found = await admin.call("recall", query="crane", **given)
    assert [hit["id"] for hit in found["results"]] == [stored["id"]]
    rated = await admin.call("submit_feedback", node_id=stored["id"], signal=1, source=None, event_id=None)
    assert rated["recorded"]
    assert len(await admin.audit(limit=None)) == len(await admin.audit())
    assert await admin.call("memory_recall", query="crane", limit=None, min_relevance=None, memory_type=None)
    assert await admin.call("run_maintenance", limit=None, dry_run=None, kinds=None, results=None)


async def test_null_for_what_is_needed_or_unknown_is_refused_by_its_name(admin: Admin) -> None:
    note = await admin.remember("A buoy.")
    assert "content: " in await admin.refused("remember", content=None)
    assert "signal: " in await admin.refused("submit_feedback", node_id=note, signal=None)
    assert "node_id: " in await admin.refused("recall_node", node_id=None)
    assert "querry" in await admin.refused("recall", query="a", querry=None)
    assert "links[0]" in await admin.refused("remember", content="A lamp.", links=[{"to": None, "type": "supports"}])


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("recall", {"query": "a", "types": "fact"}),
        ("recall", {"query": "a", "types": ""}),
        ("recall", {"query": "a", "tags": " "}),
        ("recall", {"query": "a", "tags": "7"}),
        ("recall", {"query": "a", "tags": "true"}),
        ("recall", {"query": "a", "tags": '"red"'}),
        ("recall", {"query": "a", "tags": '["red"'}),
        ("recall", {"query": "a", "tags": '{"red": 1}'}),
        ("recall", {"query": "a", "tags": 7}),
        ("recall", {"query": "a", "tags": {"red": 1}}),
        ("recall", {"query": "a", "limit": "many"}),
        ("run_maintenance", {"results": {"edges": "no list"}}),
        ("run_maintenance", {"results": {"merges": "no list"}}),
    ],
)
async def test_what_is_no_list_is_refused(admin: Admin, tool: str, given: dict[str, object]) -> None:
    assert "InvalidArgumentError" in await admin.refused(tool, **given)


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        (
            "run_maintenance",
            {"results": '{"edges": [}'},
            "results: the text is no valid JSON: expecting value at character 12",
        ),
        ("run_maintenance", {"results": "{bad json"}, "results: the text is no valid JSON: expecting property name"),
        (
            "recall",
            {"query": "a", "tags": '["red"'},
            "tags: the text is no valid JSON: expecting ',' delimiter at character 7",
        ),
        ("recall", {"query": "a", "tags": "[" * 100_000}, "tags: the text is JSON that is nested too deeply"),
        (
            "recall",
            {"query": "a", "tags": '{"red": 1}'},
            'tags: input should be a valid list, as ["one"]. Nothing was done.',
        ),
        (
            "recall",
            {"query": "a", "tags": f"[{'1' * 5000}]"},
            "tags: the text is JSON with a number of too many digits",
        ),
        ("remember", {"content": "a", "type": "[decision"}, "type: input should be"),
    ],
)
async def test_of_a_text_that_was_to_be_json_it_is_said_where_it_breaks(
    admin: Admin, tool: str, given: dict[str, object], told: str
) -> None:
    said = await admin.refused(tool, **given)
    assert said.startswith(f"InvalidArgumentError: {told}")
    assert not any(word in said for word in ("bad json", "edges", "red"))


@pytest.mark.parametrize("tool", ["remember.links", "remember.supersedes", "memory_store.related_to"])
async def test_an_invalid_id_in_a_list_is_named_by_its_place(admin: Admin, tool: str) -> None:
    good = await admin.remember("A buoy.")
    name, _, parameter = tool.partition(".")
    for wrong in ("zanzibar", "mem_7zzzzzzzzzzzzzzz", ""):
        for given in ([good, wrong, good], json.dumps([good, wrong, good])):
            told = await admin.refused(name, content="A lamp.", **{parameter: given})
            assert f"{parameter}[1]" in told
            assert "zanzibar" not in told


async def test_an_invalid_id_in_a_verdict_is_named_by_its_place(admin: Admin) -> None:
    good, other = [await admin.remember(text) for text in ("A buoy.", "Seven lamps.")]
    told = {"title": "Both", "content": "A buoy and seven lamps.", "type": "fact"}
    for ids in ([good, "mem_7zzzzzzzzzzzzzzz", other], [good, 7, other]):
        [outcome] = (await admin.call("run_maintenance", results={"consolidations": [{"node_ids": ids, **told}]}))[
            "outcomes"
        ]
        assert outcome["status"] == "rejected"
        assert "node_ids[1]" in outcome["reason"], outcome


async def test_an_argument_that_a_tool_does_not_have_is_named_where_its_name_is_plain(admin: Admin) -> None:
    assert '"max_results" is an argument that this tool does not have' in await admin.refused(
        "recall", query="a", max_results=3
    )
    for odd in ("sk-live-41", "A B", "x" * 300 + "1"):
        told = await admin.refused("recall", query="a", **{odd: 3})
        assert "there is an argument that this tool does not have" in told
        assert odd not in told


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("mark_outdated", {"id": "mem_1", "reason": "gone"}, "node_id"),
        ("recall_node", {"memory_id": "mem_1"}, "node_id"),
        ("remember", {"text": "A buoy."}, "content"),
        ("remember", {"content": "A buoy.", "tag": ["sea"]}, "tags"),
        ("recall", {"q": "a"}, "query"),
        ("recall", {"querry": "a"}, "query"),
        ("recall", {"query": "a", "max_results": 3}, "limit"),
    ],
)
async def test_an_argument_that_is_nearly_one_of_the_tools_is_told_the_right_one(
    admin: Admin, tool: str, given: dict[str, object], meant: str
) -> None:
    assert f"that this tool does not have (use {meant})" in await admin.refused(tool, **given)


async def test_what_is_like_no_argument_leads_to_the_schema(admin: Admin) -> None:
    assert "(see its input schema)" in await admin.refused("recall", query="a", zanzibar=3)
