"""What a person sees and does in the View, in a real Chromium, with `holdfast view`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from browser.harness import Shown, Site, opened, viewing, violations
from processes import environment_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

TUESDAY, MONDAY = "Releases go out on Tuesdays: support is fully staffed.", "Releases go out on Mondays now."
HOSTILE = (
    "<script>parent.postMessage({jsonrpc: '2.0', id: 99, method: 'tools/call', params: {name: 'admin_purge'}}, '*');"
    "document.title = 'taken'</script>"
    '<svg onload="document.title = \'taken\'"><a href="javascript:alert(1)">x</a></svg>'
    "<img src=x onerror=\"document.title = 'taken'\">"
    " \u202eevil\u202c \u2066isolated\u2069 </textarea></title> &lt;b&gt; ${7*7} {{7*7}}"
)
TWINS = ("The crane needs oil every spring.", "The crane needs oil each spring.")
PANELS = ("Recent", "Review", "Ask", "Map", "Timeline")


def said(shown: Shown, text: str) -> None:
    shown.view.get_by_role("status").get_by_text(text).first.wait_for()


def ask(shown: Shown, question: str) -> None:
    shown.tab("Ask")
    shown.view.get_by_label("Ask as an agent would").fill(question)
    shown.view.get_by_role("button", name="Ask", exact=True).click()
    shown.view.locator("h2").filter(has_text="answer").or_(
        shown.view.locator("h2").filter(has_text="Nothing relevant")
    ).first.wait_for()


def test_a_stored_note_appears_without_a_reload_and_is_edited_retired_and_brought_back(
    browser: Any, environment: dict[str, str]
) -> None:
    with viewing(environment, "--admin") as site, opened(browser, site.url) as shown:
        shown.view.get_by_text("Nothing has been stored yet").wait_for()
        note = site.tool("remember", content=TUESDAY, tags=["release"])["id"]
        shown.card(TUESDAY).wait_for()
        dialog = shown.open(TUESDAY)
        dialog.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Text").fill(f"{TUESDAY} At noon.")
        dialog.get_by_label("Tags").fill("release, noon")
        dialog.get_by_role("button", name="Save").click()
        dialog.locator("div.text").filter(has_text="At noon.").wait_for()
        known = site.tool("recall_node", node_id=note)
        assert (known["content"], known["tags"]) == (f"{TUESDAY} At noon.", ["release", "noon"])
        dialog.get_by_role("button", name="Retire").click()
        dialog.get_by_label("Why does it no longer hold?").fill("The calendar changed.")
        dialog.get_by_role("button", name="Retire", exact=True).click()
        dialog.get_by_text("Retired since").wait_for()
        assert site.tool("recall_node", node_id=note)["outdated_reason"] == "The calendar changed."
        dialog.get_by_role("button", name="Undo").click()
        dialog.get_by_text("Retired since").wait_for(state="detached")
        assert site.tool("recall_node", node_id=note)["outdated"] is False
        shown.page.keyboard.press("Escape")
        shown.view.locator(".change").filter(has_text="Undone").first.wait_for()
        assert [len(shown.complaints), shown.page.title()] == [0, "Holdfast"], shown.complaints


def test_without_the_gate_a_note_is_replaced_retired_and_taken_back_and_no_admin_act_is_offered_or_possible(
    browser: Any, environment: dict[str, str]
) -> None:
    with viewing(environment) as site, opened(browser, site.url) as shown:
        shown.view.get_by_role("button", name="Store a note").click()
        shown.view.get_by_label("What should be remembered?").fill(TUESDAY)
        shown.view.get_by_role("button", name="Store", exact=True).click()
        said(shown, "Stored.")
        dialog = shown.open(TUESDAY)
        names = [button.inner_text() for button in dialog.get_by_role("button").all()]
        assert {"Replace", "Retire", "Map"} <= set(names)
        assert not {"Edit", "Delete", "Erase", "Link"} & set(names)
        dialog.get_by_role("button", name="Replace").click()
        dialog.get_by_label("What is true now").fill(MONDAY)
        dialog.get_by_role("button", name="Replace", exact=True).click()
        dialog.locator("h2").filter(has_text=MONDAY).wait_for()
        assert [hit["content"] for hit in site.tool("recall", query="When do releases go out?")["results"]] == [MONDAY]
        dialog.get_by_role("button", name="Undo").click()
        said(shown, "Undone.")
        found = site.tool("recall", query="When do releases go out?")["results"]
        assert [hit["content"] for hit in found] == [TUESDAY]
        for name in ("admin_delete_memory", "admin_purge", "admin_undo", "admin_no_such_thing"):
            arguments = {"node_id": found[0]["id"]}
            answer = site.post("tools/call", name=name, arguments=arguments).json()
            assert json.dumps(answer).replace(name, "NAME") == json.dumps(
                site.post("tools/call", name="nothing", arguments=arguments).json() | {"id": answer["id"]}
            ).replace("nothing", "NAME")


def test_a_proposal_is_approved_and_what_contradicts_is_settled(browser: Any, environment: dict[str, str]) -> None:
    with viewing(environment | {"HOLDFAST_REVIEW": "true"}, "--admin") as site:
        twins = [
            site.tool("remember", content=f"The crane needs oil {when} spring.")["id"] for when in ("every", "each")
        ]
        batch = site.tool("run_maintenance")
        merge = {"keep_id": twins[0], "discard_id": twins[1], "merged_content": "The crane needs oil in spring."}
        site.tool("run_maintenance", batch_id=batch["batch_id"], results={"merges": [merge]})
        with opened(browser, site.url) as shown:
            shown.tab("Review")
            proposal = shown.view.locator("[data-proposal]")
            proposal.get_by_text("The crane needs oil in spring.").wait_for()
            shown.picture("review")
            proposal.get_by_role("button", name="Approve").click()
            said(shown, "applied")
            proposal.wait_for(state="detached")
            assert site.tool("recall_node", node_id=twins[1])["id"] == twins[0]
            first = site.tool("remember", content="The harbour opens at six.")["id"]
            other = site.tool("remember", content="The harbour opens at eight.")["id"]
            site.tool("admin_connect_memories", source_id=other, target_id=first, edge="contradicts")
            opposed = shown.view.locator("section").filter(has_text="Contradictions")
            opposed.get_by_role("button", name="Keep this, retire the other: The harbour opens at eight.").click()
            opposed.wait_for(state="detached")
            assert site.tool("recall_node", node_id=first)["superseded_by"] == other


def test_what_is_erased_needs_a_second_word_and_is_gone(browser: Any, environment: dict[str, str]) -> None:
    with viewing(environment, "--admin") as site:
        note = site.tool("remember", content=TUESDAY)["id"]
        with opened(browser, site.url) as shown:
            dialog = shown.open(TUESDAY)
            dialog.get_by_role("button", name="Erase").click()
            dialog.get_by_text("It cannot be undone.").wait_for()
            assert site.tool("recall_node", node_id=note)["id"] == note
            dialog.get_by_role("button", name="Erase for good").click()
            dialog.get_by_role("alert").wait_for()
            answer = site.post("tools/call", name="recall_node", arguments={"node_id": note}).json()["result"]
            assert answer["isError"]


def test_a_hostile_note_is_text_everywhere_and_calls_nothing(browser: Any, environment: dict[str, str]) -> None:
    with viewing(environment, "--admin") as site:
        note = site.tool("remember", content=HOSTILE, title=HOSTILE[:150], tags=["<img src=x onerror=alert(1)>"])["id"]
        other = site.tool("remember", content=f"Beside it. {HOSTILE}", links=[note])["id"]
        site.tool("mark_outdated", node_id=other, reason="<svg onload=alert(1)>", superseded_by=note)
        asked: list[str] = []
        with opened(browser, site.url) as shown:
            shown.page.on("request", lambda request: asked.append(request.url))
            shown.page.on("dialog", lambda dialog: asked.append(dialog.message))
            for panel in PANELS:
                shown.tab(panel)
                if panel == "Ask":
                    ask(shown, "evil isolated script")
                shown.view.locator("#panel").locator("[data-note]").first.or_(
                    shown.view.get_by_text("Nothing waits for you.")
                ).first.wait_for()
            shown.tab("Recent")
            dialog = shown.open("Beside it")
            assert HOSTILE in dialog.locator("div.text").inner_text().replace("\u00a0", " ")
            shown.picture("hostile")
            frame = shown.page.frames[-1]
            inside = "#root script, #root img, #root iframe, #root a[href], #root svg a, #root object, #root embed"
            assert frame.locator(inside).count() == 0
            assert frame.evaluate("[...document.querySelectorAll('*')].every((each) => !each.onload && !each.onerror)")
            assert [frame.title(), shown.page.title()] == ["Holdfast", "Holdfast"]
        assert set(asked) <= {f"{site.address}mcp"}
        assert site.tool("recall_node", node_id=note)["content"] == HOSTILE
        calls = [entry["operation"] for entry in site.tool("admin_list_audit_log", limit=50)["entries"]]
        assert "admin_purge" not in calls


def test_asking_shows_why_each_hit_is_there_and_what_was_held_back(browser: Any, environment: dict[str, str]) -> None:
    with viewing(environment) as site:
        old = site.tool("remember", content=TUESDAY, type="decision")["id"]
        new = site.tool("remember", content=MONDAY, type="decision", supersedes=[old])["id"]
        site.tool("remember", content="The tide table hangs in the kitchen.")
        with opened(browser, site.url) as shown:
            ask(shown, "On which day do releases go out?")
            hit = shown.view.locator(f"article[data-note={new}]").first
            hit.locator("summary").click()
            hit.get_by_text("words in common").wait_for()
            held = shown.view.locator("details.section")
            held.locator("summary").first.click()
            held.locator(f"article[data-note={old}]").get_by_text("It is retired.").wait_for()
            shown.picture("ask")
            hit.get_by_role("button", name="It helped").click()
            said(shown, "Recorded")
            ask(shown, "What is the wifi password of the lighthouse?")
            shown.view.get_by_role("heading", name="Nothing relevant is stored").wait_for()


def test_the_map_draws_what_replaced_and_what_contradicts_and_the_timeline_what_happened_when(
    browser: Any, environment: dict[str, str]
) -> None:
    with viewing(environment, "--admin") as site:
        old = site.tool("remember", content=TUESDAY, event_time="2026-03-02")["id"]
        new = site.tool("remember", content=MONDAY, supersedes=[old], event_time="2026-05-04")["id"]
        other = site.tool("remember", content="Releases never go out on Mondays.", event_time="2026-06-01")["id"]
        site.tool("admin_connect_memories", source_id=other, target_id=new, edge="contradicts")
        with opened(browser, site.url) as shown:
            shown.tab("Map")
            shown.view.locator(f"g.node[data-note={old}].outdated").wait_for()
            assert shown.view.locator("line.edge.superseded_by").count() == 1
            assert shown.view.locator("line.edge.contradicts").count() == 1
            shown.picture("map")
            shown.view.locator(f"g.node[data-note={new}]").focus()
            shown.page.keyboard.press("Enter")
            shown.view.get_by_role("dialog").locator("h2").filter(has_text=MONDAY).wait_for()
            shown.page.keyboard.press("Escape")
            shown.tab("Timeline")
            shown.view.get_by_role("button", name="Mar 2026: 1 note, 1 retired").click()
            shown.card(TUESDAY).wait_for()
            shown.card("never go out").wait_for(state="detached")
            shown.picture("timeline")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_320_pixels_are_enough(browser: Any, environment: dict[str, str], scheme: str) -> None:
    with viewing(environment, "--admin") as site:
        old = site.tool("remember", content=f"{TUESDAY} {'W' * 90}", tags=["release"])["id"]
        site.tool("remember", content="הספינות יוצאות ביום שני. 船は月曜日に出ます。", supersedes=[old])
        one, other = (
            site.tool("remember", content=f"The crane needs oil {when} spring.")["id"] for when in ("every", "each")
        )
        site.tool("admin_connect_memories", source_id=one, target_id=other, edge="contradicts")
        with opened(browser, site.url, color_scheme=scheme, viewport={"width": 320, "height": 640}) as shown:
            for panel in PANELS:
                shown.tab(panel)
                if panel == "Ask":
                    ask(shown, "When do releases go out, and which crane needs oil?")
                shown.view.locator("#panel").locator("[data-note]").first.wait_for()
                assert not violations(shown), panel
                width = "[document.documentElement.scrollWidth, innerWidth]"
                whole, there = shown.page.frames[-1].evaluate(width)
                assert whole <= there, panel
                shown.picture(f"{panel.lower()}-320-{scheme}")
            shown.tab("Recent")
            shown.open("crane")
            assert not violations(shown)


def test_all_of_it_can_be_reached_by_keyboard(browser: Any, environment: dict[str, str]) -> None:
    with viewing(environment) as site:
        site.tool("remember", content=TUESDAY)
        with opened(browser, site.url) as shown:
            shown.card(TUESDAY).wait_for()
            shown.view.get_by_role("tab", name="Recent").focus()
            for panel in PANELS[1:]:
                shown.page.keyboard.press("ArrowRight")
                assert shown.view.locator("[role=tab][aria-selected=true]:focus").inner_text() == panel
            shown.page.keyboard.press("ArrowRight")
            shown.view.locator("article button.title").first.focus()
            shown.page.keyboard.press("Enter")
            dialog = shown.view.get_by_role("dialog")
            dialog.locator("h2").wait_for()
            shown.page.keyboard.press("Escape")
            dialog.wait_for(state="detached")


MANY = 10_000


def written(home: Path, count: int) -> None:
    """So many notes as another program would leave them, in five projects."""
    for number in range(count):
        space = f"project-{number % 5}"
        folder = home / "memories" / space
        folder.mkdir(parents=True, exist_ok=True)
        note = f"mem_{number:016d}".replace("mem_0", "mem_1", 1)
        day = f"2026-{number % 10 + 1:02d}-{number % 27 + 1:02d}T10:00:00Z"
        head = [f'id: "{note}"', 'type: "fact"', f'space: "{space}"', f'created: "{day}"', f'updated: "{day}"']
        text = "\n".join(["---", *head, "---", f"Crane {number} of {space} was oiled by shift {number % 97}.", ""])
        (folder / f"note.{note}.md").write_text(text, "utf-8")


def seconds_to_open(browser: Any, site: Site) -> dict[str, float]:
    """How long from a click to what it shows, for the opening and each panel."""
    took: dict[str, float] = {}
    began = time.perf_counter()
    with opened(browser, site.url) as shown:
        shown.view.locator("#panel article, #panel .quiet").first.wait_for()
        took["open"] = time.perf_counter() - began
        for panel in ("Timeline", "Map", "Review"):
            began = time.perf_counter()
            shown.tab(panel)
            shown.view.locator("#panel [data-note], #panel .quiet:not([aria-busy])").first.wait_for()
            took[panel] = time.perf_counter() - began
        shown.picture(f"opened-{len(took)}")
    return took


def test_ten_thousand_notes_open_nearly_as_fast_as_none(browser: Any, tmp_path: Path) -> None:
    """Measured beside an empty memory in the same run: how busy the machine is counts for both."""
    empty, full = (environment_in(tmp_path / name) for name in ("empty", "full"))
    for each in (empty, full):
        Path(each["HOLDFAST_HOME"]).mkdir(parents=True)
    written(Path(full["HOLDFAST_HOME"]), MANY)
    with viewing(empty) as none, viewing(full) as many:
        none.tool("remember", content=TUESDAY)
        many.tool("remember", content=TUESDAY)
        assert many.tool("view_recent")["count"] == MANY + 2
        least = {name: min(seconds_to_open(browser, none)[name] for _ in range(2)) for name in ("open", "Map")}
        took = seconds_to_open(browser, many)
    print(json.dumps({"empty": least, "10,000": took}))  # noqa: T201 - a figure to quote
    assert took["open"] < 2 + least["open"]
    assert max(took.values()) < 2 + 3 * max(least.values())
