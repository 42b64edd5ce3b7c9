"""integrity_check: our own updates never alarm, a foreign change does until it is accepted; nothing is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
import structlog.testing

from holdfast.engine.omi.integrity import accept_integrity, integrity_check, look_over, record_first_seen
from holdfast.engine.omi.now import NowUpdate, append_daily, now_read, now_update
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import MemoryNotFoundError
from holdfast.index.view import IndexView
from processes import stdio
from served import ERAS, Agent, Clock, kept_in, serving
from worlds import living, memory_on

pytestmark = pytest.mark.anyio

KEYS = {"now_md", "memory_md", "topology", "overall_safe", "details"}
CALLER = Caller(None, "a test", "pytest")
HEALTHY = {"now_md": True, "memory_md": True, "overall_safe": True}


async def check(agent: Agent, scope: str = "all") -> dict[str, Any]:
    found = dict((await agent.call("integrity_check", scope=scope)).structured)
    assert found.keys() == KEYS
    assert found["topology"].keys() == {"orphan_nodes", "sudden_cores", "warnings"}
    return found


async def pages(agent: Agent) -> tuple[bool, bool, bool]:
    found = await check(agent)
    return found["now_md"], found["memory_md"], found["overall_safe"]


def now_file(agent: Agent) -> Path:
    return agent.files / "now" / "harbour.md"


def log_file(agent: Agent) -> Path:
    return agent.files / "daily" / f"{agent.clock().date()}.md"


async def update(agent: Agent, **fields: Any) -> None:
    assert not (await agent.client.call_tool_mcp("now_update", fields)).is_error


async def accept(home: Path, *paths: str) -> tuple[str, ...]:
    """What the administrator does, from a process of its own."""
    async with living(home) as memory:
        return await memory.attend(lambda ports: accept_integrity(ports, CALLER, paths))


async def test_an_empty_memory_is_safe_and_has_every_key(agent: Agent) -> None:
    found = await check(agent)
    assert {key: found[key] for key in HEALTHY} == HEALTHY
    assert found["topology"] == {"orphan_nodes": 0, "sudden_cores": 0, "warnings": []}
    assert found["details"]["problems"] == []


@pytest.mark.parametrize("scope", ["now", "daily", "graph", "all"])
async def test_each_scope_answers_with_all_keys_and_the_graph_only_where_it_is_asked_for(
    agent: Agent, scope: str
) -> None:
    agent.write_by_hand("harbour/a.md", "A buoy that nobody linked.")
    found = await check(agent, scope)
    assert found["topology"]["orphan_nodes"] == (1 if scope in ("graph", "all") else 0)
    assert found["overall_safe"]


async def test_an_unknown_scope_is_refused(agent: Agent) -> None:
    await agent.refused("integrity_check", scope="everything")


async def test_our_own_updates_never_alarm(agent: Agent) -> None:
    for number in range(5):
        await update(agent, current_task=f"task {number}", recent_completions=[f"done {number}"])
        assert await pages(agent) == (True, True, True)
        agent.clock.forward(hours=11)
    for number in range(8):
        await agent.remember(f"Buoy {number} is of colour {number * 7}.")
    assert await pages(agent) == (True, True, True)


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_the_check_writes_nothing(agent: Agent) -> None:
    await update(agent, recent_completions=["done"])
    (agent.home / "MEMORY.md").write_text("mine\n", "utf-8")
    now_file(agent).write_text("# NOW\n\n## Current Task\nforeign\n", "utf-8")
    await agent.call("now_read")

    def everything() -> dict[str, bytes]:
        files = (path for path in agent.home.rglob("*") if path.is_file() and ".holdfast" not in path.parts)
        return {str(path): path.read_bytes() for path in files}

    before = everything()
    assert (await pages(agent))[:2] == (False, True)
    assert everything() == before


def appended(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\nadded by hand\n")


def rewritten(path: Path) -> None:
    path.write_bytes(b"rewritten by hand\n")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def deleted(path: Path) -> None:
    path.unlink()


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def blanked(path: Path) -> None:
    path.write_bytes(b"\n")


edits = pytest.mark.parametrize("edit", [appended, rewritten, cut, deleted, emptied])


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@edits
@pytest.mark.parametrize("which", [now_file, log_file])
async def test_a_foreign_change_is_reported_until_it_is_accepted_and_updates_neither_lose_nor_clear_it(
    agent: Agent, which: Callable[[Agent], Path], edit: Callable[[Path], None]
) -> None:
    await update(agent, current_task="t", recent_completions=["a"])
    path = which(agent)
    expected = (which is not now_file, which is not log_file, False)
    edit(path)
    found = await check(agent)
    assert (found["now_md"], found["memory_md"], found["overall_safe"]) == expected
    told = found["details"]["problems"]
    assert [problem["where"] for problem in told] == [path.relative_to(agent.files).as_posix()]
    kept = path.read_bytes() if path.exists() else b""
    await update(agent, recent_completions=["b"])
    assert await pages(agent) == expected
    if edit is appended:
        assert b"added by hand" in path.read_bytes()
    if which is log_file:
        assert path.read_bytes().startswith(kept)
    assert await accept(agent.home) == (path.relative_to(agent.files).as_posix(),)
    assert await pages(agent) == (True, True, True)
    await update(agent, recent_completions=["c"])
    assert await pages(agent) == (True, True, True)


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([rewritten], "it was edited outside of the tools, as the user may; their next update went on from that"),
        ([cut], "it was edited outside of the tools, as the user may; their next update went on from that"),
        ([deleted], "it was deleted outside of the tools, as the user may; their next update began it anew"),
        ([emptied], "it was emptied outside of the tools, as the user may; their next update began it anew"),
        ([blanked], "it was emptied outside of the tools, as the user may; their next update began it anew"),
        (
            [appended, deleted, rewritten],
            "it was edited, then deleted outside of the tools, as the user may; their next update began it anew",
        ),
    ],
)
async def test_what_was_done_to_a_page_is_told_as_it_was_also_after_the_tools_wrote_it_again(
    agent: Agent, edits: list[Callable[[Path], None]], told: str
) -> None:
    await update(agent, current_task="t", pending_decisions=["Which cable?"])
    for edit in edits:
        edit(now_file(agent))
        await update(agent, recent_completions=["c"])
    assert [item["what"] for item in (await check(agent))["details"]["problems"]] == [told]
    now_file(agent).unlink()
    also = f"{told}; since then it was deleted, as the user may"
    assert [item["what"] for item in (await check(agent))["details"]["problems"]] == [also]


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (deleted, "it was deleted"),
        (emptied, "it was emptied outside of the tools"),
        (blanked, "it was emptied outside of the tools"),
        (appended, "something was added to its end outside of the tools"),
        (cut, "it was edited outside of the tools"),
    ],
)
async def test_what_was_done_to_a_page_is_told_before_the_tools_write_it_again(
    agent: Agent, edit: Callable[[Path], None], told: str
) -> None:
    await update(agent, current_task="t")
    edit(now_file(agent))
    assert [item["what"] for item in (await check(agent))["details"]["problems"]] == [f"{told}, as the user may"]


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_log_of_a_past_day_is_watched_too(agent: Agent) -> None:
    await update(agent, recent_completions=["a"])
    path = log_file(agent)
    agent.clock.forward(days=3)
    await update(agent, recent_completions=["b"])
    assert await pages(agent) == (True, True, True)
    appended(path)
    found = await check(agent)
    assert (found["now_md"], found["memory_md"]) == (True, False)
    assert found["details"]["problems"][0]["what"] == "something was added to its end outside of the tools"


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_change_that_is_taken_back_is_no_change(agent: Agent) -> None:
    await update(agent, current_task="t")
    before = now_file(agent).read_bytes()
    rewritten(now_file(agent))
    assert (await pages(agent))[0] is False
    now_file(agent).write_bytes(before)
    assert await pages(agent) == (True, True, True)


async def test_a_now_file_that_a_tool_never_wrote_is_trusted_even_when_it_changes(agent: Agent) -> None:
    now_file(agent).parent.mkdir(parents=True)
    for text in ("one", "two"):
        now_file(agent).write_text(f"## Current Task\n{text}\n", "utf-8")
        assert await pages(agent) == (True, True, True)
    await update(agent, key_files=["a"])
    assert await pages(agent) == (True, True, True)


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize("moment", ["before the start", "while it runs"])
async def test_memory_md_is_trusted_at_first_sight_and_watched_from_then_on(
    era: str, tmp_path: Path, moment: str
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = home / "MEMORY.md"
    if moment == "before the start":
        path.write_text("mine\n", "utf-8")
    async with serving(home, era) as agent:
        if moment == "while it runs":
            await agent.call("now_read")
            path.write_text("mine\n", "utf-8")
        assert await pages(agent) == (True, True, True)
        path.write_text("not mine\n", "utf-8")
        assert await pages(agent) == (True, False, False)
        await agent.remember("A buoy.")  # the first write puts down what was seen
    async with serving(home, era) as agent:
        assert await pages(agent) == (True, False, False)
        path.write_text("mine\n", "utf-8")
        assert await pages(agent) == (True, True, True)
        path.unlink()
        assert await pages(agent) == (True, False, False)
    assert await accept(home, "MEMORY.md") == ("MEMORY.md",)
    async with serving(home, era) as agent:
        assert await pages(agent) == (True, True, True)


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize("name", ["MEMORY.md", "daily/2020-01-01.md"])
async def test_what_was_seen_while_the_server_runs_is_not_deleted_unnoticed(agent: Agent, name: str) -> None:
    path = agent.home / name
    await agent.call("now_read")
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine\n", "utf-8")
    assert await pages(agent) == (True, True, True)
    path.write_text("not mine\n", "utf-8")
    assert await pages(agent) == (True, False, False)
    path.unlink()
    found = await check(agent)
    assert (found["memory_md"], found["overall_safe"]) == (False, False)
    assert [item["where"] for item in found["details"]["problems"]] == [name]
    await agent.remember("A buoy.")  # the first write puts down what was seen
    assert await pages(agent) == (True, False, False)
    path.write_text("mine\n", "utf-8")
    assert await pages(agent) == (True, True, True)
    path.unlink()
    assert await accept(agent.home) == (name,)
    assert await pages(agent) == (True, True, True)


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_start_puts_down_memory_md_and_past_logs_once(tmp_path: Path) -> None:
    (kept_in(tmp_path) / "daily").mkdir()
    (tmp_path / "MEMORY.md").write_text("mine\n", "utf-8")
    (tmp_path / "daily" / "2020-01-01.md").write_text("an old log\n", "utf-8")
    for _ in range(2):
        memory = memory_on(tmp_path)
        await memory.attend(record_first_seen)
        await memory.aclose()
    lines = [
        line for path in (kept_in(tmp_path) / "journal").iterdir() for line in path.read_text("utf-8").splitlines()
    ]
    told = [json.loads(line)["pages_seen"] for line in lines if "pages_seen" in line]
    assert [[item["path"] for item in seen] for seen in told] == [["MEMORY.md", "daily/2020-01-01.md"]]
    appended(tmp_path / "daily" / "2020-01-01.md")
    async with living(tmp_path) as memory:
        assert not (await memory.attend(integrity_check)).memory_md


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_log_of_today_that_no_tool_wrote_is_its_writers_until_the_day_is_over(agent: Agent) -> None:
    path = log_file(agent)
    path.parent.mkdir(parents=True)
    for text in ("one", "two"):
        path.write_text(text, "utf-8")
        assert await pages(agent) == (True, True, True)
    agent.clock.forward(days=1)
    assert await pages(agent) == (True, True, True)
    appended(path)
    assert await pages(agent) == (True, False, False)


@pytest.mark.files("a file that cannot be read is put there by hand")
async def test_what_is_quarantined_is_named_and_makes_nothing_unsafe(agent: Agent) -> None:
    agent.write_by_hand("harbour/bad.md", "---\ntype: [\n---\nA buoy.\n")
    found = await check(agent)
    assert found["overall_safe"]
    assert [problem["where"] for problem in found["details"]["problems"]] == ["memories/harbour/bad.md"]
    assert found["details"]["summary"].startswith(
        "Safe, with something to look at: memories/harbour/bad.md: it is quarantined: its frontmatter"
    )
    (recalled,) = [notice for notice in (await agent.recall("buoy"))["notices"] if "Quarantined" in notice]
    assert "memories/harbour/bad.md" in recalled


@pytest.mark.files("files that cannot be read are put there by hand")
async def test_the_summary_names_the_first_of_many_problems(agent: Agent) -> None:
    for number in range(9):
        agent.write_by_hand(f"harbour/{number}{'x' * 150}.md", "---\ntype: [\n---\nA buoy.\n")
    told = (await check(agent))["details"]["summary"]
    assert [f"memories/harbour/{number}x" in told for number in range(4)] == [True, True, True, False]
    assert told.endswith(" and 6 more.")
    assert len(told) < 1200
    await update(agent, current_task="t")
    rewritten(now_file(agent))
    told = (await check(agent))["details"]["summary"]
    assert "now/harbour.md: it was edited" in told
    assert "memories/harbour/0x" in told


async def test_the_summary_names_the_first_notes_that_got_many_links_at_once(agent: Agent) -> None:
    hubs = [(await agent.remember(text))["id"] for text in ("Cranes.", "Ferries.", "Tides.", "Piers.")]
    for number in range(5):
        await agent.remember(f"Something else entirely, {number}.", links=hubs)
    told = (await check(agent))["details"]["summary"]
    named = [hub for hub in hubs if hub in told]
    assert f"4 notes got 5 or more links within a day: {', '.join(named)} and 1 more." in told
    assert len(named) == 3


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_page_that_cannot_be_read_is_reported(agent: Agent) -> None:
    await update(agent, current_task="t")
    now_file(agent).unlink()
    now_file(agent).mkdir()
    found = await check(agent)
    assert found["now_md"] is False
    assert found["details"]["problems"] == [{"where": "now/harbour.md", "what": "it cannot be read"}]


async def test_only_pages_can_be_accepted_and_nothing_is_put_down_where_nothing_was_changed(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        with pytest.raises(MemoryNotFoundError):
            await memory.attend(lambda ports: accept_integrity(ports, CALLER, ["config.yaml"]))
        before = await memory.ports.store.past.records()
        assert await memory.attend(lambda ports: accept_integrity(ports, CALLER)) == ()
        assert await memory.ports.store.past.records() == before


async def test_checks_during_updates_of_another_process_never_alarm(tmp_path: Path) -> None:
    async with living(tmp_path) as memory, living(tmp_path) as other, anyio.create_task_group() as tasks:

        async def work() -> None:
            for number in range(25):
                request = NowUpdate(recent_completions=[f"item {number}"])
                await other.attend(lambda ports, request=request: now_update(ports, CALLER, request))
                await other.attend(lambda ports: append_daily(ports, CALLER, "an entry"))
            tasks.cancel_scope.cancel()

        tasks.start_soon(work)
        while True:
            report = await memory.attend(integrity_check)
            assert report.overall_safe, report.problems


async def test_a_memory_without_its_index_answers_the_same(agent: Agent) -> None:
    await update(agent, current_task="t", recent_completions=["a"])
    await agent.remember("A buoy.")
    rewritten(now_file(agent))
    before = await check(agent), await agent.omi("now_read")
    for path in (agent.home / ".holdfast").glob("index.db*"):
        path.unlink()
    assert (await check(agent), await agent.omi("now_read")) == before


# The graph


def note(number: int, *, links: str = "", kind: str = "fact", more: str = "") -> str:
    created = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return (
        f'---\nid: "{an_id(number)}"\ntype: "{kind}"\ncreated: "{created}"\n{more}'
        f"connections: [{links}]\n---\nNote {number}.\n"
    )


def an_id(number: int) -> str:
    return f"mem_01{number:014d}"


def link(to: int, created: str = "", reason: str = "") -> str:
    return json.dumps({"to": an_id(to), "type": "related_to", "weight": 0.5, "reason": reason, "created": created})


async def test_five_orphans_are_safe_and_six_are_not(agent: Agent) -> None:
    for number in range(5):
        agent.write_by_hand(f"harbour/{number}.md", note(number))
    found = await check(agent)
    assert found["topology"] == {
        "orphan_nodes": 5,
        "sudden_cores": 0,
        "warnings": [an_id(number) for number in range(5)],
    }
    assert found["overall_safe"]
    agent.write_by_hand("harbour/5.md", note(5))
    found = await check(agent)
    assert (found["topology"]["orphan_nodes"], found["overall_safe"]) == (6, False)
    assert (found["now_md"], found["memory_md"]) == (True, True)
    agent.write_by_hand("harbour/5.md", note(5, links=link(4)))
    assert (await check(agent))["topology"]["warnings"] == [an_id(number) for number in range(4)]


async def test_a_link_to_nothing_or_to_itself_joins_a_note_to_none(agent: Agent) -> None:
    agent.write_by_hand("harbour/0.md", note(0, links=f"{link(0)}, {link(99)}"))
    assert (await check(agent))["topology"]["warnings"] == [an_id(0)]


def hub(agent: Agent, created: list[str], reason: str = "", *, first: int = 1) -> None:
    agent.write_by_hand("harbour/hub.md", note(0))
    for number, time in enumerate(created, first):
        agent.write_by_hand(f"harbour/{number}.md", note(number, links=link(0, time, reason)))


DAY = [f"2026-03-01T{hour:02d}:00:00Z" for hour in (0, 6, 12, 18)]


@pytest.mark.parametrize(
    ("created", "cores"),
    [
        ([*DAY, "2026-03-02T00:00:00Z"], 1),
        ([*DAY, "2026-03-02T00:00:01Z"], 0),
        (DAY, 0),
        ([""] * 5, 1),  # then their notes' own times count: an hour apart
        (["2025-01-01T00:00:00Z", *DAY, "2026-03-01T20:00:00Z"], 1),
    ],
    ids=["within a day", "in a second more", "four", "without a time", "an old one and five"],
)
async def test_five_links_within_a_day_make_a_sudden_core(agent: Agent, created: list[str], cores: int) -> None:
    hub(agent, created)
    found = await check(agent)
    assert found["topology"]["sudden_cores"] == cores
    assert found["overall_safe"] == (cores == 0)
    assert found["topology"]["warnings"] == [an_id(0)] * cores


@pytest.mark.parametrize("reason", ["close by content", "stored before it", "first of its space"])
async def test_links_that_were_made_by_themselves_make_no_core(agent: Agent, reason: str) -> None:
    hub(agent, [*DAY, DAY[0], DAY[0]], reason)
    assert (await check(agent))["topology"]["sudden_cores"] == 0


async def test_three_days_of_use_make_a_hub_an_ordinary_one(era: str, tmp_path: Path) -> None:
    clock = Clock()
    async with serving(tmp_path / "home", era, clock=clock) as agent:
        hub(agent, [*DAY, DAY[3]])
        await check(agent)
        for count in (1, 1, 1, 0):
            assert (await check(agent))["topology"]["sudden_cores"] == count
            await agent.rate(an_id(0), 1)
            await agent.rate(an_id(0), 1)  # the same day counts once
            clock.forward(days=1)


async def test_links_asked_for_make_a_core_and_ordinary_remembering_does_not(agent: Agent) -> None:
    first = await agent.remember("The crane lifts forty tonnes.")
    for number in range(6):
        await agent.remember(f"Crane check number {number} found rust on beam {number * 13}.")
    assert (await check(agent))["overall_safe"]
    for number in range(5):
        await agent.remember(f"Something else entirely, {number}.", links=[first["id"]])
    found = await check(agent)
    assert (found["topology"]["sudden_cores"], found["overall_safe"]) == (1, False)


BLAMING = re.compile("somebody|someone|tamper|haste|not safe", re.IGNORECASE)


@pytest.mark.files("pages are changed past all tools, which happens to files alone")
@pytest.mark.parametrize("what", ["links", "NOW", "MEMORY.md", "log"])
async def test_what_happened_is_told_in_words_that_blame_nobody_for_what_the_user_may_do(
    agent: Agent, what: str
) -> None:
    first = await agent.remember("The crane lifts forty tonnes.")
    await update(agent, current_task="t", recent_completions=["a"])
    memory = agent.home / "MEMORY.md"
    memory.write_text("mine\n", "utf-8")
    await check(agent)
    for number in range(5 if what == "links" else 0):
        await agent.remember(f"Something else entirely, {number}.", links=[first["id"]])
    path = {"NOW": now_file(agent), "MEMORY.md": memory, "log": log_file(agent)}.get(what)
    if path is not None:
        rewritten(path)
    found = await check(agent)
    told = found["details"]["summary"]
    assert not found["overall_safe"]
    assert ("1 note got 5 or more links within a day" in told) == (what == "links")
    assert path is None or f"{path.relative_to(agent.files).as_posix()}: it was edited outside of the tools" in told
    assert bool(BLAMING.search(json.dumps(found))) == (what == "log"), "a log is only written by the tools"


@pytest.mark.files("pages are changed past all tools, which happens to files alone")
async def test_ordinary_days_raise_no_alarm_and_it_is_said_how_an_edit_is_confirmed(agent: Agent) -> None:
    hub = await agent.remember("Project: summer regatta.", type="project")
    for number in range(5):
        await agent.remember(f"Something else entirely, {number}.", links=[{"to": hub["id"], "type": "part_of"}])
    found = await check(agent)
    told = found["details"]["summary"]
    assert not found["overall_safe"], "as OMI documents it"
    assert told.startswith("To look at: 1 note got 5 or more links within a day: ")
    assert "All with the tools" in told
    assert "ask the user" not in told
    assert found["details"]["problems"][0]["what"].endswith("all of them with the tools")
    await update(agent, current_task="t", recent_completions=["a"])
    appended(now_file(agent))
    appended(log_file(agent))
    found = await check(agent)
    told = found["details"]["summary"]
    assert told.startswith("To confirm: ")
    assert not BLAMING.search(json.dumps(found))
    assert "holdfast doctor --accept, or admin_accept_integrity" in told
    await update(agent, recent_completions=["b"])
    assert not BLAMING.search(json.dumps(await check(agent))), "also after the tools went on from it"
    log_file(agent).write_bytes(log_file(agent).read_bytes().replace(b"added", b"edited", 1).replace(b"a\n", b"z\n", 1))
    assert BLAMING.search(json.dumps(await check(agent)))


@pytest.mark.files("links that were written by hand, which happens to files alone")
async def test_links_that_no_tool_made_are_for_the_user_to_confirm(agent: Agent) -> None:
    hub(agent, [*DAY, "2026-03-02T00:00:00Z"])
    told = (await check(agent))["details"]["summary"]
    assert told.startswith("To confirm: 1 note got 5 or more links within a day: ")
    assert "tools" not in told
    assert told.endswith("ask the user whether it was meant.")


@pytest.mark.files("files are damaged past all tools, which happens to files alone")
async def test_damage_is_told_before_what_is_only_unusual_and_an_emptied_note_is_named(agent: Agent) -> None:
    hub = await agent.remember("Project: summer regatta.", type="project")
    emptied_note, cut_note = [
        (await agent.remember(text))["id"] for text in ("The crane lifts 3 tonnes.", "Entries close on 1 May.")
    ]
    for number in range(5):
        await agent.remember(f"Something else entirely, {number}.", links=[hub["id"]])
    assert (await check(agent))["topology"]["sudden_cores"] == 1
    blank, broken = agent.file_of(emptied_note), agent.file_of(cut_note)
    emptied(blank)
    broken.write_bytes(broken.read_bytes()[:40])
    found = await check(agent)
    where = [problem["where"] for problem in found["details"]["problems"]]
    assert where[:2] == [path.relative_to(agent.files).as_posix() for path in (blank, broken)]
    assert found["details"]["problems"][0]["what"] == "its file is empty; history/ has its last text"
    told = found["details"]["summary"]
    assert told.index("is empty") < told.index("is quarantined") < told.index("links within a day")
    assert any(b"lifts 3 tonnes" in path.read_bytes() for path in (agent.files / "history").iterdir())


def entry(memory: int, old: float, new: float, strength: float = 0.8, *, supports: bool = True) -> dict[str, Any]:
    return {
        "memory_id": an_id(memory), "supports": supports, "strength": strength, "timestamp": DAY[0],
        "old_confidence": old, "new_confidence": new,
    }  # fmt: skip


CHAIN = [entry(1, 0.5, 0.56), entry(2, 0.56, 0.4592, 0.6, supports=False)]


def belief(confidence: float, evidence: list[dict[str, Any]]) -> str:
    return note(0, kind="belief", more=f"confidence: {confidence}\nevidence: {json.dumps(evidence)}\n")


FORMULA = "entry 1 of its evidence does not follow the formula"


@pytest.mark.parametrize(
    ("confidence", "evidence", "problem"),
    [
        (0.4592, CHAIN, ""),
        (0.7, [], ""),
        (0.9, [entry(1, 0.5, 0.9)], FORMULA),
        (0.4592, CHAIN[1:], ""),
        (0.4674, [entry(1, 0.5, 0.56), entry(2, 0.57, 0.4674, 0.6, supports=False)], ""),
        (0.9, [entry(1, 0.5, 0.9), entry(2, 0.9, 0.738, 0.6, supports=False)], FORMULA),
        (0.56, [{"memory_id": an_id(1)}], "entry 1 of its evidence is not whole"),
        (0.56, [entry(1, 0.5, 0.56, strength=True)], "entry 1 of its evidence is not whole"),
    ],
    ids=[
        "whole",
        "none",
        "formula",
        "begun later",
        "set by a person in between",
        "formula and set since",
        "not whole",
        "no number",
    ],
)
async def test_a_belief_is_recomputed_from_its_evidence(
    agent: Agent, confidence: float, evidence: list[dict[str, Any]], problem: str
) -> None:
    agent.write_by_hand("harbour/0.md", belief(confidence, evidence))
    found = await check(agent)
    assert found["overall_safe"] == (problem == "")
    told = [item["what"] for item in found["details"]["problems"] if "evidence" in item["what"]]
    assert told == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("by_hand", "told"),
    [("0.9", "0.90, its evidence comes to 0.57"), ("0", "0.00, its evidence comes to 0.57"),
     ("0.567500002", "0.567500002, its evidence comes to 0.5675")],
)  # fmt: skip
async def test_a_confidence_that_a_person_set_is_named_without_alarm_and_the_next_update_goes_on_from_it(
    agent: Agent, by_hand: str, told: str
) -> None:
    belief_id = (await agent.omi("memory_store", content="Buoys are safe.", memory_type="belief"))["memory_id"]
    cited = (await agent.omi("memory_store", content="A buoy held in a storm."))["memory_id"]
    given = {"belief_id": belief_id, "evidence_memory_id": cited, "supports": True}
    await agent.omi("belief_update", **given, strength=0.9)
    file = agent.file_of(belief_id)
    file.write_text(file.read_text("utf-8").replace("confidence: 0.5675", f"confidence: {by_hand}", 1), "utf-8")
    found = await check(agent)
    said = f"its confidence was edited by hand: {told}; the next belief_update goes on from there"
    assert found["details"]["problems"] == [{"where": belief_id, "what": said}]
    assert (found["overall_safe"], found["details"]["summary"]) == (
        True,
        f"Safe, with something to look at: {belief_id}: {said}.",
    )
    assert not BLAMING.search(json.dumps(found))
    for _ in range(2):
        await agent.omi("belief_update", **given, strength=0.5)
        found = await check(agent)
        assert (found["details"]["problems"], found["details"]["summary"]) == ([], "Safe.")


async def test_evidence_of_a_belief_makes_no_core(agent: Agent) -> None:
    hub(agent, [*DAY, DAY[3]])
    assert (await check(agent))["topology"]["sudden_cores"] == 1
    chain = []
    confidence = 0.5
    for number in range(1, 6):
        new = confidence + 0.15 * 0.8 * (1 - confidence)
        chain.append(entry(number, confidence, new))
        confidence = new
    agent.write_by_hand("harbour/hub.md", belief(confidence, chain))
    found = await check(agent)
    assert (found["topology"]["sudden_cores"], found["overall_safe"]) == (0, True)


async def test_evidence_that_was_merged_into_other_notes_makes_no_core(agent: Agent) -> None:
    belief = (await agent.omi("memory_store", content="The crane is reliable.", memory_type="belief"))["memory_id"]
    pairs = []
    for number in range(5):
        cited, kept = [
            (await agent.omi("memory_store", content=text))["memory_id"]
            for text in (f"The crane ran on day {number}.", f"On day {number} the crane ran.")
        ]
        given = {"evidence_memory_id": cited, "supports": True, "strength": 0.5}
        await agent.omi("belief_update", belief_id=belief, **given)
        pairs.append((kept, cited))
    agent.clock.forward(minutes=5)
    merges = [{"keep_id": kept, "discard_id": cited} for kept, cited in pairs]
    done = (await agent.call("run_maintenance", results={"merges": merges}))["outcomes"]
    assert {item["status"] for item in done} == {"applied"}
    found = await check(agent)
    assert (found["topology"]["sudden_cores"], found["overall_safe"]) == (0, True)


async def test_a_file_that_is_not_what_the_index_read_is_reported(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = await agent.remember("A buoy.")
    assert (await check(agent))["overall_safe"]
    monkeypatch.setattr(
        IndexView,
        "hashes",
        lambda _: [
            (stored["id"], agent.file_of(stored["id"]).relative_to(agent.files / "memories").as_posix(), "0" * 64)
        ],
    )
    found = await check(agent)
    assert not found["overall_safe"]
    assert [item["where"] for item in found["details"]["problems"]] == [stored["id"]]


async def test_ordinary_use_of_every_table_is_safe(agent: Agent) -> None:
    stored = await agent.remember("The buoy is green.", tags=["harbour", "buoys"], session="s", subject="buoy")
    await agent.recall("which buoy is green")
    await agent.call("submit_feedback", node_id=stored["id"], signal=1)
    await agent.call("mark_outdated", node_id=stored["id"])
    assert (await check(agent))["overall_safe"]


# On start, and over a pipe


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_start_says_what_is_wrong_once_by_ids_and_paths(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await memory.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="t")))
        with structlog.testing.capture_logs() as quiet:
            await memory.attend(look_over)
        assert [line for line in quiet if line["log_level"] != "debug"] == []
        rewritten(tmp_path / "NOW.md")
        with structlog.testing.capture_logs() as said:
            await memory.attend(look_over)
    assert [(line["event"], line["problems"]) for line in said if line["log_level"] != "debug"] == [
        ("pages_changed_by_others", ["NOW.md: it was edited outside of the tools, as the user may"])
    ]


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize("era", ERAS)
def test_over_a_real_pipe(era: str, environment: dict[str, str]) -> None:
    with stdio(environment, era) as server:
        server.begin()
        server.tool("now_update", current_task="mend the crane")
        assert server.tool("integrity_check")["structuredContent"]["overall_safe"] is True
        (Path(environment["HOLDFAST_HOME"]) / "now" / "harbour.md").write_text("foreign", "utf-8")
        answer = server.tool("integrity_check", scope="now")
        assert answer["structuredContent"]["now_md"] is False
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
        assert answer["structuredContent"]["details"]["summary"].startswith("To confirm: now/harbour.md: it was edited")


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_server_looks_by_itself_unless_it_is_told_not_to(switch: str, environment: dict[str, str]) -> None:
    from processes import until  # noqa: PLC0415

    with stdio(environment) as server:
        server.begin()
        server.tool("now_update", current_task="mend the crane")
    home = Path(environment["HOLDFAST_HOME"])
    rewritten(home / "now" / "harbour.md")
    (home / "MEMORY.md").write_text("mine", "utf-8")
    with stdio(environment | {"HOLDFAST_INTEGRITY_CHECK_ON_START": switch}) as server:
        server.begin()
        journal = home / "journal"
        until(lambda: any(b"pages_seen" in path.read_bytes() for path in journal.iterdir()))
        if switch == "true":
            until(lambda: "pages_changed_by_others" in server.stderr)
        else:
            server.end()
            assert "pages_changed_by_others" not in server.stderr


@pytest.mark.files("a page is changed past all tools, which happens to files alone")
async def test_a_settled_change_does_not_alarm(tmp_path: Path) -> None:
    """A process was killed between the journal and the files: whoever checks first settles it."""
    async with living(tmp_path) as memory:
        await memory.attend(lambda ports: now_update(ports, CALLER, NowUpdate(current_task="t")))

        async def dies(ports: Ports) -> None:
            await now_update(ports, CALLER, NowUpdate(current_task="u", recent_completions=["x"]))

        before = {path: path.read_bytes() for path in (tmp_path / "NOW.md",)}
        await memory.attend(dies)
    journal = next((kept_in(tmp_path) / "journal").iterdir())
    lines = journal.read_bytes().splitlines(keepends=True)
    intent = max(number for number, line in enumerate(lines) if b'"now_update"' in line)
    journal.write_bytes(b"".join(lines[: intent + 1]))  # nobody was told how it ended
    for path, data in before.items():
        path.write_bytes(data)
    (log,) = (kept_in(tmp_path) / "daily").iterdir()  # the first update had nothing for it
    log.unlink()
    newest = max((kept_in(tmp_path) / "capsules").iterdir())
    newest.unlink()
    async with living(tmp_path) as memory:
        assert (await memory.attend(integrity_check)).overall_safe
        found = await memory.attend(lambda ports: now_read(ports, CALLER))
        assert found is not None
        assert found.now.current_task == "t"
