"""The View's tools: to whom they are shown, what they answer, and that they only read."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from mcp.client.extension import ClientExtension

from holdfast.app import build_memory, build_server
from holdfast.engine.view.review import STEP
from holdfast.settings import load_settings
from holdfast.tools.view.tools import PAGE, URI
from served import ERAS, SELF, Agent, serving

TWELVE = {
    "remember", "recall", "recall_node", "mark_outdated", "submit_feedback", "run_maintenance",
    "memory_recall", "memory_store", "belief_update", "now_read", "now_update", "integrity_check",
}  # fmt: skip
INSIDE = {"view_recent", "view_review", "view_pairs", "view_ask", "view_map", "view_timeline"}
OLD, NEW = "Releases go out on Tuesdays: support is fully staffed.", "Releases go out on Mondays now."
MOST_CHARACTERS = 400_000  # of any answer of the View's tools, whatever is stored
pytestmark = pytest.mark.anyio
eras = pytest.mark.parametrize("era", ERAS)


class Apps(ClientExtension):
    """What a client declares that shows Apps."""

    identifier = "io.modelcontextprotocol/ui"

    def settings(self) -> dict[str, Any]:
        return {"mimeTypes": ["text/html;profile=mcp-app"]}


def told(tools: Any) -> dict[str, dict[str, Any]]:
    return {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools}


@eras
async def test_a_client_that_declares_apps_is_shown_one_tool_and_the_page(tmp_path: Path, era: str) -> None:
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"})
    memory = build_memory(settings)
    server = build_server(settings, memory)
    async with (
        memory.running(),
        Client(server, mode=era) as plain,
        Client(server, mode=era, extensions=[Apps()]) as client,
    ):
        without, tools = told(await plain.list_tools()), told(await client.list_tools())
        assert set(without) == TWELVE
        assert {name: tools[name] for name in TWELVE} == without
        assert set(tools) - TWELVE == {"memory_view", *INSIDE}
        for name in {"memory_view", *INSIDE}:
            shown = tools[name]["_meta"]["ui"]
            assert shown == {"resourceUri": URI, "visibility": ["app"] if name in INSIDE else ["model", "app"]}
            assert tools[name]["annotations"]["readOnlyHint"] is True
        assert [str(each.uri) for each in await client.list_resources() if str(each.uri).startswith("ui:")] == [URI]
        assert not [each for each in await plain.list_resources() if str(each.uri).startswith("ui:")]
        (page,) = await client.read_resource(URI)
        assert page.mime_type == "text/html;profile=mcp-app"
        assert page.meta == {"ui": {"csp": {}, "prefersBorder": False}}
        assert (await client.call_tool_mcp("memory_view", {})).structured_content["shown"] is True
        answer = await plain.call_tool_mcp("memory_view", {})
        assert "shows no MCP Apps" in answer.content[0].text
        assert len(answer.content[0].text) < 300


@pytest.mark.parametrize(("view", "listed", "callable_"), [("always", True, True), ("never", False, False)])
async def test_the_setting_decides_for_all_clients(tmp_path: Path, view: str, listed: bool, callable_: bool) -> None:
    async with serving(tmp_path, ERAS[0], view=view) as agent:
        assert ("memory_view" in told(await agent.client.list_tools())) is listed
        answer = await agent.client.call_tool_mcp("memory_view", {})
        assert answer.is_error is not callable_


@eras
async def test_recent_tells_what_was_done_by_whom_and_what_may_be_taken_back(tmp_path: Path, era: str) -> None:
    async with serving(tmp_path, era, view="always") as agent:
        old = await agent.remember(OLD)
        new = await agent.remember(NEW, supersedes=[old["id"]])
        retired = await agent.outdate(new["id"], reason="cancelled")
        found = await agent.call("view_recent")
        assert [change["op"] for change in found["changes"]] == ["mark_outdated", "remember", "remember"]
        assert {note["id"] for note in found["changes"][1]["notes"]} == {old["id"], new["id"]}
        assert [note["id"] for note in found["changes"][2]["notes"]] == [old["id"]]
        assert all(change["own"] and change["source"] for change in found["changes"])
        assert found["acts"] == ["remember", "mark_outdated", "submit_feedback"]
        known = await agent.call("view_recent", known=found["number"])
        assert (known["unchanged"], known["changes"]) == (True, [])
        await agent.call("mark_outdated", undo=retired["change_id"])
        later = await agent.call("view_recent", known=found["number"])
        assert later["unchanged"] is False
        undone = {change["change_id"]: change["undone_by"] for change in later["changes"]}
        assert undone[retired["change_id"]] == later["changes"][0]["change_id"]
        page = await agent.call("view_recent", limit=1)
        following = await agent.call("view_recent", limit=1, before=page["before"])
        assert following["changes"][0]["change_id"] == later["changes"][1]["change_id"]
        agent.clock.forward(hours=2)
        assert not any(change["own"] for change in (await agent.call("view_recent"))["changes"])


async def test_behind_the_gate_there_are_more_acts_and_what_waits(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[1], view="always", admin=True, review=True) as agent:
        twins = [(await agent.remember(f"The crane needs oil {when} spring."))["id"] for when in ("every", "each")]
        alike = await agent.call("view_pairs")
        assert [{pair["first"], pair["second"]} for pair in alike["alike"]] == [set(twins)]
        assert {note["id"] for note in alike["notes"]} == set(twins)
        batch = await agent.call("run_maintenance")
        merge = {"keep_id": twins[0], "discard_id": twins[1], "merged_content": "The crane needs oil in spring."}
        await agent.call("run_maintenance", batch_id=batch["batch_id"], results={"merges": [merge]})
        found = await agent.call("view_review")
        (proposal,) = found["proposals"]
        assert (proposal["kind"], set(proposal["notes"])) == ("merge", set(twins))
        assert proposal["content"] == "The crane needs oil in spring."
        assert {note["id"] for note in found["notes"]} >= set(twins)
        acts = (await agent.call("view_recent"))["acts"]
        assert {"admin_update_memory", "admin_resolve_proposal", "admin_purge", "admin_undo"} <= set(acts)
    async with serving(tmp_path, ERAS[1], view="always", review=True) as agent:
        hidden = await agent.call("view_review")
        assert (hidden["proposals"], hidden["count_proposals"]) == ([], 0)


async def test_looking_takes_nothing_off_maintenance(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        for when in ("every", "each"):
            await agent.remember(f"The crane needs oil {when} spring.")
        before = await agent.call("view_recent")
        await agent.call("view_review")
        await agent.call("view_pairs")
        await agent.call("view_map")
        await agent.call("view_timeline")
        assert (await agent.call("view_recent"))["number"] == before["number"]
        assert (await agent.call("run_maintenance"))["batch_id"]


async def test_pairs_are_looked_for_a_few_notes_at_a_time_in_a_space_or_everywhere_until_all_were_looked_at(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, ERAS[1], view="always") as agent:
        cranes = {(await agent.remember(f"The crane needs oil {when} spring."))["id"] for when in ("every", "each")}
        for number in range(3 * STEP):
            await agent.remember(
                f"{'abcdefghijklmnopqrstuvwxyz'[number]}{number * 7919} stands alone.", space="elsewhere"
            )
        looked, found = 0, []
        while True:
            page = await agent.call("view_pairs", offset=looked)
            assert page["total"] == 3 * STEP + 2
            assert page["looked"] == min(looked + STEP, page["total"])
            found += page["alike"]
            looked = page["looked"]
            if looked == page["total"]:
                break
        assert [{pair["first"], pair["second"]} for pair in found].count(cranes) == 1
        here = await agent.call("view_pairs", space="harbour")
        assert (here["looked"], here["total"], len(here["alike"])) == (2, 2, 1)
        there = await agent.call("view_pairs", space="elsewhere", offset=2 * STEP)
        assert (there["looked"], there["total"]) == (3 * STEP, 3 * STEP)
        assert not cranes & {note["id"] for note in there["notes"]}
        beyond = await agent.call("view_pairs", offset=1000)
        assert (beyond["looked"], beyond["alike"]) == (beyond["total"], [])


@pytest.mark.files("a file that cannot be read is put there by hand")
async def test_what_stands_against_each_other_is_doubted_or_cannot_be_read_waits_for_a_person(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        one = (await agent.remember("The harbour opens at six."))["id"]
        other = await agent.remember("The harbour opens at eight.", links=[{"to": one, "type": "contradicts"}])
        belief = (await agent.remember("The pilot likes fog.", type="belief", confidence=0.3))["id"]
        agent.write_by_hand("harbour/broken.md", "---\nid: [\n---\ntext\n")
        found = await agent.call("view_review")
        assert [(pair["first"], pair["second"]) for pair in found["opposed"]] == [(other["id"], one)]
        assert [each["id"] for each in found["doubted"]] == [belief]
        assert found["count_quarantined"] == 1
        assert found["quarantined"][0]["path"].endswith("broken.md")
        elsewhere = await agent.call("view_review", space="elsewhere")
        assert (elsewhere["opposed"], elsewhere["doubted"]) == ([], [])


@eras
async def test_asking_gives_what_recall_gives_and_says_why_and_what_was_held_back(tmp_path: Path, era: str) -> None:
    question = "On which day do releases go out?"
    async with serving(tmp_path, era, view="always") as agent:
        old = (await agent.remember(OLD, type="decision"))["id"]
        new = (await agent.remember(NEW, type="decision", supersedes=[old]))["id"]
        far = (await agent.remember("The crane on the east quay has a broken day light."))["id"]
        hits = (await agent.recall(question))["results"]
        found = await agent.call("view_ask", question=question)
        assert [(hit["note"]["id"], hit["relevance"]) for hit in found["hits"]] == [
            (hit["id"], hit["relevance"]) for hit in hits
        ]
        own = next(hit for hit in found["hits"] if hit["note"]["id"] == new)
        assert own["terms"][0]["name"] == "words"
        held = {each["hit"]["note"]["id"]: each for each in found["held"]}
        assert (held[old]["why"], held[old]["instead"]) == ("retired", new)
        if far in held:
            assert held[far]["why"] in ("below_floor", "beyond_limit")
        await agent.rate(new, 1, event_id=found["event_id"])
        nothing = await agent.call("view_ask", question="What is the wifi password of the lighthouse?")
        assert nothing["hits"] == (await agent.recall("What is the wifi password of the lighthouse?"))["results"] == []


async def test_the_terms_of_a_score_add_up_to_it(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        for number in range(6):
            await agent.remember(f"The crane {number} on quay {number % 3} needs oil every spring.", tier="core")
        found = await agent.call("view_ask", question="Which crane needs oil in spring?")
        assert len(found["hits"]) > 2
        for hit in found["hits"]:
            assert sum(term["value"] for term in hit["terms"]) == pytest.approx(hit["score"], abs=0.001)


async def test_the_map_is_around_a_note_a_question_or_a_space_and_is_bounded(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        old = (await agent.remember(OLD))["id"]
        new = (await agent.remember(NEW, supersedes=[old]))["id"]
        apart = (await agent.remember("The crane needs oil.", space="elsewhere"))["id"]
        found = await agent.call("view_map", node_id=old)
        assert {note["id"] for note in found["notes"]} >= {old, new}
        assert found["seeds"] == [old]
        assert (old, new, "superseded_by") in [(e["source"], e["target"], e["type"]) for e in found["edges"]]
        asked = await agent.call("view_map", question="When do releases go out?")
        assert new in asked["seeds"]
        there = await agent.call("view_map", space="elsewhere")
        assert [note["id"] for note in there["notes"]] == [apart]
        for number in range(30):
            await agent.remember(f"Quay {number} is {number} metres long.", links=[new])
        few = await agent.call("view_map", node_id=new, most=10)
        assert (len(few["notes"]), few["total"] > 30) == (10, True)
        assert SELF not in {note["id"] for note in (await agent.call("view_map"))["notes"]}
        assert "InvalidArgumentError" in await agent.refused("view_map", node_id=new, question="both?")


async def test_the_timeline_goes_by_the_time_of_events_and_counts_each_month(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        march = (await agent.remember("The quay was paved.", event_time="2025-03-02"))["id"]
        may = (await agent.remember("The crane was built.", event_time="2025-05-09"))["id"]
        await agent.outdate(march)
        found = await agent.call("view_timeline", before="2025-12-31")
        assert [note["id"] for note in found["notes"]] == [may, march]
        assert found["months"] == [
            {"month": "2025-05", "count": 1, "retired": 0}, {"month": "2025-03", "count": 1, "retired": 1},
        ]  # fmt: skip
        until_april = await agent.call("view_timeline", before="2025-04-30")
        assert [note["id"] for note in until_april["notes"]] == [march]
        second = await agent.call("view_timeline", offset=1, limit=1)
        assert ([note["id"] for note in second["notes"]], second["total"]) == ([march], 2)


async def fill(agent: Agent, count: int) -> str:
    """Notes that are as large as they may be, in every field; the id of the last."""
    last = ""
    for number in range(count):
        long = f"{number} " + "word \u202e<b>\U0001f980 " * 3000
        links = [last] if last else []
        answer = await agent.remember(
            long, title=long[:300], tags=[f"{number} {'t' * 50} {k}" for k in range(20)], links=links
        )
        last = str(answer["id"])
    return last


async def test_no_answer_grows_with_what_is_stored(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always") as agent:
        last = await fill(agent, 40)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("view_recent", {"limit": 50}), ("view_review", {}), ("view_ask", {"question": "word", "limit": 20}),
            ("view_pairs", {}), ("view_map", {"node_id": last, "most": 300}), ("view_timeline", {"limit": 100}),
        ]  # fmt: skip
        for name, arguments in calls:
            answer = await agent.call(name, **arguments)
            assert len(json.dumps(answer.structured)) < MOST_CHARACTERS, name


async def test_a_client_that_gets_text_alone_gets_the_pages_data_all_the_same(tmp_path: Path) -> None:
    async with serving(tmp_path, ERAS[0], view="always", answers="text") as agent:
        stored = await agent.client.call_tool_mcp("remember", {"content": OLD})
        assert stored.structured_content is None
        assert (await agent.client.call_tool_mcp("view_recent", {})).structured_content["changes"]


def test_the_page_is_one_file_that_may_fetch_nothing_and_tells_whose_work_is_in_it() -> None:
    page = PAGE.read_text("utf-8")
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', page)
    assert len(policy) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policy[0].split(";"))
    assert rules["default-src"] == "'none'"
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", rules[name]) for name in ("script-src", "style-src"))
    assert set(rules) == {"default-src", "base-uri", "form-action", "script-src", "style-src"}
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", page.partition("</head>")[0])
    assert len(gzip.compress(PAGE.read_bytes(), 9)) < 300_000
    for package in ("@modelcontextprotocol/ext-apps", "preact", "d3-force", "zod"):
        assert f"\n{package} " in page


def test_sources_put_no_text_on_the_page_as_html() -> None:
    sources = [*Path(__file__).parents[2].glob("view/src/*.ts*"), *Path(__file__).parents[2].glob("view/host/*.ts")]
    assert len(sources) > 10
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://")
    assert not [path.name for path in sources if forbidden.search(path.read_text("utf-8"))]


def test_the_sources_are_built_with_what_the_lock_pins_by_hash() -> None:
    lock = json.loads((Path(__file__).parents[2] / "view" / "package-lock.json").read_text("utf-8"))
    packages = {name: item for name, item in lock["packages"].items() if name and not item.get("link")}
    assert packages
    assert all(item["integrity"].startswith("sha512-") for item in packages.values())
