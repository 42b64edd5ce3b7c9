"""What a person sees and does in the View, in a real Chromium, with `holdfast view`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from browser.harness import Shown, Site, opened, viewing, violations
from processes import environment_in, until

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
            assert shown.view.locator("line.edge.evolved_from").count() == 0  # it says the same and would hide it
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
    with viewing(environment, "--admin") as site:
        note = site.tool("remember", content=TUESDAY)["id"]
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
            dialog.get_by_role("button", name="Edit").focus()
            shown.page.keyboard.press("Enter")
            dialog.locator("input:focus").wait_for()  # the title: a form takes the focus
            shown.page.keyboard.press("Tab")
            shown.page.keyboard.press("Control+End")
            shown.page.keyboard.type(" At noon.")
            for _ in range(2):
                shown.page.keyboard.press("Tab")
            shown.page.keyboard.press("Enter")
            dialog.locator("div.text").filter(has_text="At noon.").wait_for()
            assert site.tool("recall_node", node_id=note)["content"] == f"{TUESDAY} At noon."
            dialog.get_by_role("button", name="Retire").focus()
            shown.page.keyboard.press("Enter")
            dialog.locator("input:focus").wait_for()
            dialog.get_by_role("button", name="Cancel").focus()
            shown.page.keyboard.press("Enter")
            dialog.locator("button[data-act=retire]:focus").wait_for()
            shown.page.keyboard.press("Escape")
            dialog.wait_for(state="detached")
            shown.view.locator("article button.title:focus").wait_for()


def test_a_note_is_linked_to_one_that_is_found_by_words_and_a_refusal_is_seen_where_one_looks(
    browser: Any, environment: dict[str, str]
) -> None:
    with viewing(environment, "--admin") as site:
        long = "\n".join(f"{number}. Look at the gate and write down what was seen." for number in range(80))
        first = site.tool("remember", content=long, title="How to look after the gate")["id"]
        other = site.tool("remember", content="The tide table hangs in the kitchen.")["id"]
        with opened(browser, site.url) as shown:
            dialog = shown.open("How to look after the gate")
            dialog.get_by_role("button", name="Link").click()
            dialog.get_by_label("This note").select_option("depends_on")
            words = dialog.get_by_label("The other note: words of it, or its id")
            words.fill("mem_zzzzzzzzzzzzzzzz")
            words.press("Enter")
            dialog.get_by_role("button", name="Link", exact=True).click()
            refusal = dialog.locator(".said.problem")
            refusal.wait_for()
            seen = refusal.bounding_box()
            assert seen is not None
            assert 0 <= seen["y"] <= seen["y"] + seen["height"] <= 760
            shown.picture("refused")
            words.fill("tide table kitchen")
            words.press("Enter")
            dialog.get_by_role("radio", name="The tide table hangs in the kitchen.").check()
            dialog.get_by_role("button", name="Link", exact=True).click()
            dialog.get_by_role("listitem").filter(has_text="depends on").get_by_text("The tide table").wait_for()
        links = site.tool("recall_node", node_id=first)["connections"]
        assert (other, "depends_on") in [(link["id"], link["type"]) for link in links]


def test_each_text_keeps_its_own_direction_and_the_page_its(browser: Any, environment: dict[str, str]) -> None:
    hebrew, japanese = "הספינות יוצאות ביום שני.", "船は月曜日に出ます。"
    with viewing(environment) as site:
        site.tool("remember", content=f"{hebrew}\n\n{hebrew}", title="\u202eגשר\u202c", tags=["נמל"])
        site.tool("remember", content=japanese)
        with opened(browser, site.url) as shown:
            shown.card(japanese).wait_for()
            direction = "(element) => getComputedStyle(element).direction"
            card = shown.card(hebrew)
            assert card.locator("p.text").evaluate(direction) == "rtl"
            assert {
                each.evaluate("(bdi) => getComputedStyle(bdi).unicodeBidi") for each in card.locator("bdi").all()
            } == {"isolate"}
            assert [card.evaluate(direction), shown.card(japanese).evaluate(direction)] == ["ltr", "ltr"]
            dialog = shown.open(hebrew)
            assert dialog.locator("div.text").evaluate(direction) == "rtl"
            assert dialog.get_by_role("button", name="Retire").evaluate(direction) == "ltr"
            shown.picture("directions")


def test_the_view_takes_the_hosts_theme_and_follows_it(browser: Any, environment: dict[str, str]) -> None:
    def is_dark(shown: Shown) -> bool:
        colour = shown.page.frames[-1].evaluate("getComputedStyle(document.body).backgroundColor")
        return max(int(part) for part in re.findall(r"\d+", colour)[:3]) < 128

    with viewing(environment) as site, opened(browser, site.url, color_scheme="light") as shown:
        shown.view.locator("html[data-theme=light]").wait_for()
        assert not is_dark(shown)
        shown.page.emulate_media(color_scheme="dark")
        shown.view.locator("html[data-theme=dark]").wait_for()
        assert is_dark(shown)


def test_review_shows_what_is_known_while_near_duplicates_are_still_looked_for(
    browser: Any, environment: dict[str, str]
) -> None:
    """Calls that look for them are held until the rest was seen, however long that takes."""
    Path(environment["HOLDFAST_HOME"]).mkdir(parents=True)
    written(Path(environment["HOLDFAST_HOME"]), 80)
    with viewing(environment, "--admin") as site:
        first = site.tool("remember", content="The harbour opens at six.")["id"]
        site.tool("remember", content="The harbour opens at eight.", links=[{"to": first, "type": "contradicts"}])
        for text in TWINS:
            site.tool("remember", content=text)
        held: list[Any] = []
        is_open = False

        def keep(route: Any) -> None:
            if is_open or '"view_pairs"' not in (route.request.post_data or ""):
                route.continue_()
            else:
                held.append(route)

        with opened(browser, site.url) as shown:
            shown.page.route("**/mcp", keep)
            shown.tab("Review")
            shown.view.get_by_role("heading", name="Contradictions 1").wait_for()
            shown.view.get_by_text("Still looking for near duplicates").wait_for()
            shown.picture("looking")
            is_open = True
            for route in held:
                route.continue_()
            shown.view.get_by_role("heading", name="Near duplicates").wait_for()
            shown.view.get_by_text("Looked for near duplicates around the latest 64 of").wait_for()
            pair = shown.view.locator("li.pair").filter(has_text=TWINS[0])
            pair.get_by_role("button", name=f"Keep this, retire the other: {TWINS[0]}").click()
            said(shown, "The other one is retired.")
            pair.filter(has_text=TWINS[1]).wait_for(state="detached")
            shown.view.get_by_role("button", name="Look further").click()
            shown.view.get_by_text("near duplicates around").wait_for(state="detached")


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


STOPWATCH = """
if (self !== top) {
    addEventListener("message", ({ data }) => {
        if (data?.method === "ui/notifications/tool-result") self.answered ??= performance.now();
    });
    const look = () => {
        if (self.answered && document.querySelector("#panel [data-note]")) self.shown = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}
"""


def seconds_to_open(browser: Any, site: Site) -> dict[str, float]:
    """How long from the tool's answer to the first notes on the page, and from a click on a panel to what it shows."""
    with opened(browser, site.url, script=STOPWATCH) as shown:
        frame = shown.page.frames[-1]
        until(lambda: frame.evaluate("self.shown !== undefined") is True)
        took = {"open": frame.evaluate("self.shown - self.answered") / 1000}
        for panel in ("Timeline", "Map", "Review", "Recent"):
            began = time.perf_counter()
            shown.tab(panel)
            shown.view.locator("#panel [data-note], #panel .quiet:not([aria-busy])").first.wait_for()
            took[panel] = time.perf_counter() - began
    return took


TIMES_AS_LONG = (
    10  # an empty memory's View opens in less than a fifth of a second, where nothing else runs: this is 2 s
)
ROUNDS = 8


def test_ten_thousand_notes_open_nearly_as_fast_as_none(browser: Any, tmp_path: Path) -> None:
    """Measured in turns with an empty memory in the same run; what something takes at least is not the machine's load.

    The rounds end as soon as the fastest of each are near enough, which one alone shows where nothing else runs.
    """
    empty, full = (environment_in(tmp_path / name) for name in ("empty", "full"))
    for each in (empty, full):
        Path(each["HOLDFAST_HOME"]).mkdir(parents=True)
    written(Path(full["HOLDFAST_HOME"]), MANY)
    with viewing(empty) as none, viewing(full) as many:
        none.tool("remember", content=TUESDAY)
        many.tool("remember", content=TUESDAY)
        assert many.tool("view_recent")["count"] == MANY + 2
        least: dict[str, dict[str, float]] = {"empty": {}, "10,000": {}}
        for _ in range(ROUNDS):
            for name, site in (("empty", none), ("10,000", many)):
                took = seconds_to_open(browser, site)
                least[name] = {panel: min(took[panel], least[name].get(panel, took[panel])) for panel in took}
            ratios = {panel: least["10,000"][panel] / least["empty"][panel] for panel in least["empty"]}
            if max(ratios.values()) < TIMES_AS_LONG:
                break
    print(json.dumps({name: {k: round(v, 3) for k, v in took.items()} for name, took in least.items()}))  # noqa: T201 - figures to quote
    assert max(ratios.values()) < TIMES_AS_LONG, least
