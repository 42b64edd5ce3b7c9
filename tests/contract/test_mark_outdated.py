"""mark_outdated: a note is kept and no longer counts as current."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.commit import UNTOLD
from holdfast.errors import InvalidArgumentError
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.index.view import IndexView
from served import SELF, Agent, made_up_secret, serving
from worlds import CALLER, keep, living

pytestmark = pytest.mark.anyio

RESULT = {"id", "title", "valid_until", "superseded_by", "change_id", "notices"}


async def test_a_note_leaves_recall_and_stays_readable(agent: Agent) -> None:
    stored = await agent.remember("The crane lifts forty tonnes.")
    answer = await agent.outdate(stored["id"], reason="It was scrapped.")
    assert answer.structured.keys() == RESULT
    assert (answer["id"], answer["title"], answer["superseded_by"]) == (stored["id"], stored["title"], None)
    assert answer["valid_until"] >= stored["created"]
    assert answer["change_id"].startswith("chg_")
    assert answer["change_id"] in answer.text
    assert (await agent.recall("crane")).found == []
    node = await agent.node(stored["id"])
    assert (node["outdated"], node["outdated_reason"], node["valid_until"]) == (
        True,
        "It was scrapped.",
        answer["valid_until"],
    )
    assert node["content"] == "The crane lifts forty tonnes."  # the reason is no part of the text


async def test_a_successor_is_named_and_connected(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    new = await agent.remember("The crane lifts sixty tonnes.")
    answer = await agent.outdate(old["id"], superseded_by=new["id"])
    assert answer["superseded_by"] == new["id"]
    assert (await agent.recall("crane tonnes")).found == [new["id"]]
    edges = [(edge["id"], edge["type"], edge["direction"]) for edge in (await agent.node(new["id"]))["connections"]]
    assert (old["id"], "evolved_from", "out") in edges


async def test_the_beginning_of_an_id_is_enough(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    assert (await agent.outdate(stored["id"][:-1]))["id"] == stored["id"]


async def test_the_same_call_again_changes_nothing_and_has_nothing_to_undo(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    first = await agent.outdate(stored["id"], reason="It sank.")
    before = agent.notes_on_disk()
    agent.clock.forward(minutes=5)
    again = await agent.outdate(stored["id"], reason="It sank.")
    assert again["change_id"] is None
    assert again["valid_until"] == first["valid_until"]
    assert again["notices"]
    assert agent.notes_on_disk() == before


async def test_a_retirement_whose_index_went_away_behind_it_is_told_as_made_and_can_be_taken_back(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    await agent.outdate(stored["id"], reason="It sank.")
    with patch("holdfast.engine.agent.feedback.still_told", side_effect=[IndexLostError("gone")]):
        answer = await agent.outdate(stored["id"], reason="It was sold.")
    assert answer["change_id"].startswith("chg_")
    assert answer["notices"] == ['It was outdated already: the reason was "It sank.".', UNTOLD]
    await agent.call("mark_outdated", undo=answer["change_id"])
    assert (await agent.node(stored["id"]))["outdated_reason"] == "It sank."


async def test_a_later_call_may_add_a_reason_and_a_successor_and_keeps_the_end(agent: Agent) -> None:
    stored = await agent.remember("A buoy.")
    other = await agent.remember("Seven lamps.")
    first = await agent.outdate(stored["id"])
    agent.clock.forward(minutes=5)
    later = await agent.outdate(stored["id"], reason="It sank.", superseded_by=other["id"])
    node = await agent.node(stored["id"])
    assert (node["valid_until"], node["outdated_reason"], node["superseded_by"]) == (
        first["valid_until"],
        "It sank.",
        other["id"],
    )
    assert later["change_id"] != first["change_id"]


async def test_a_planned_expiry_that_lies_ahead_gives_way(agent: Agent) -> None:
    agent.write_by_hand(
        "harbour/a.md", '---\nid: "mem_01aaaaaaaaaaaaaa"\nvalid_until: "2999-01-01T00:00:00Z"\n---\nA crane.\n'
    )
    assert (await agent.outdate("mem_01aaaaaaaaaaaaaa"))["valid_until"] < "2999"
    assert (await agent.recall("crane")).found == []


async def test_self_is_protected(agent: Agent) -> None:
    await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "ProtectedNoteError" in await agent.refused("mark_outdated", node_id=SELF)
    assert agent.notes_on_disk() == before


async def test_a_note_cannot_replace_itself_nor_what_replaced_it(agent: Agent) -> None:
    one = await agent.remember("The crane lifts forty tonnes.")
    two = await agent.remember("The crane lifts fifty tonnes.", supersedes=[one["id"]])
    three = await agent.remember("The crane lifts sixty tonnes.", supersedes=[two["id"]])
    before = agent.notes_on_disk()
    for successor in (three, one):
        text = await agent.refused("mark_outdated", node_id=three["id"], superseded_by=successor["id"])
        assert "InvalidArgumentError" in text
    assert agent.notes_on_disk() == before


async def test_what_replaced_a_note_is_looked_up_in_few_reads_however_often_that_was_replaced_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0

    async def counting(index: NoteIndex, work: Callable[[IndexView], Any]) -> Any:
        nonlocal reads
        reads += 1
        return await read(index, work)

    read = NoteIndex.read
    monkeypatch.setattr(NoteIndex, "read", counting)
    taken = []
    async with living(tmp_path) as memory:
        ids = [(await keep(memory, "The crane lifts 40 tonnes.")).note.id]
        for tonnes in range(41, 61):
            ids.append((await keep(memory, f"The crane lifts {tonnes} tonnes.", supersedes=[ids[-1]])).note.id)
        for successor in (ids[-2], ids[0]):
            before = reads
            with pytest.raises(InvalidArgumentError, match="itself superseded"):
                await memory.attend(
                    lambda ports, given=successor: mark_outdated(ports, CALLER, MarkOutdated(ids[-1], None, given))
                )
            taken.append(reads - before)
    assert max(taken) < 10


@pytest.mark.parametrize("field", ["node_id", "superseded_by"])
@pytest.mark.parametrize("given", ["*", "%", "mem_", "mem_%", "../x", "mem_7zzzzzzzzzzzzzzz"])
async def test_an_id_of_no_note_changes_nothing(agent: Agent, field: str, given: str) -> None:
    stored = await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    text = await agent.refused("mark_outdated", **{"node_id": stored["id"]} | {field: given})
    assert "MemoryNotFoundError" in text
    assert field in text
    assert agent.notes_on_disk() == before


async def test_a_beginning_that_several_notes_share_changes_nothing(agent: Agent) -> None:
    await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "AmbiguousIdError" in await agent.refused("mark_outdated", node_id="mem_0")
    assert agent.notes_on_disk() == before


@pytest.mark.parametrize(
    "arguments",
    [
        {"node_id": ["zanzibar"]},
        {"reason": "zanzibar" * 100},
        {"reason": 7},
        {"superseded_by": {}},
        {"buoy": "zanzibar"},
    ],
)
async def test_a_bad_argument_is_refused_and_its_value_is_not_repeated(agent: Agent, arguments: dict[str, Any]) -> None:
    stored = await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "zanzibar" not in await agent.refused("mark_outdated", **{"node_id": stored["id"]} | arguments)
    assert agent.notes_on_disk() == before


async def test_a_secret_in_the_reason_never_reaches_the_disk(agent: Agent) -> None:
    secret = made_up_secret()
    stored = await agent.remember("A buoy.")
    answer = await agent.outdate(stored["id"], reason=f"The token {secret} expired.")
    assert any("GitHub token" in notice for notice in answer["notices"])
    assert "[redacted: GitHub token]" in (await agent.node(stored["id"]))["outdated_reason"]
    assert secret not in answer.text
    assert agent.holding(secret[4:]) == []


async def test_a_server_that_refuses_secrets_changes_nothing(anyio_backend: str, era: str, tmp_path: Path) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets="refuse") as agent:
        stored = await agent.remember("A buoy.")
        before = agent.notes_on_disk()
        text = await agent.refused("mark_outdated", node_id=stored["id"], reason=secret)
        assert "SecretRefusedError" in text
        assert "reason" in text
        assert agent.notes_on_disk() == before
        assert agent.holding(secret[4:]) == []


async def test_a_server_that_allows_secrets_keeps_the_reason(anyio_backend: str, era: str, tmp_path: Path) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets="allow") as agent:
        stored = await agent.remember("A buoy.")
        await agent.outdate(stored["id"], reason=secret)
        assert (await agent.node(stored["id"]))["outdated_reason"] == secret


async def test_what_is_lost_with_a_note_that_gives_way_is_told_with_the_way_back(agent: Agent) -> None:
    old = await agent.remember("Route 7 (driver Pavel) leaves the depot at 5:40 and ends at the harbour.")
    new = await agent.remember("Route 7 leaves the depot at 5:55 now.")
    answer = await agent.outdate(old["id"], superseded_by=new["id"])
    lost = f'{old["id"]} says more than that, which replacing it loses: "driver Pavel … ends at the harbour"'
    (notice,) = [each for each in answer["notices"] if each.startswith(lost)]
    assert notice.endswith(f'mark_outdated(undo="{answer["change_id"]}")')


async def test_that_the_note_which_is_named_as_true_now_was_retired_itself_is_said(agent: Agent) -> None:
    ids = [(await agent.remember(f"The crane lifts {number} tonnes."))["id"] for number in (20, 30, 40, 50)]
    await agent.outdate(ids[1])
    [notice] = (await agent.outdate(ids[0], superseded_by=ids[1]))["notices"]
    assert notice == (f"superseded_by {ids[1]} was itself retired: no current note is left, so name one or undo this.")
    assert (await agent.outdate(ids[2], superseded_by=ids[3]))["notices"] == []
    [notice] = (await agent.outdate(ids[1], superseded_by=ids[2]))["notices"]
    assert notice == f"superseded_by {ids[2]} was itself retired: {ids[3]} is what is current."


async def test_nothing_is_lost_with_a_note_of_which_a_value_is_told_anew(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    new = await agent.remember("The crane lifts fifty tonnes.")
    assert (await agent.outdate(old["id"], superseded_by=new["id"]))["notices"] == []


async def test_what_was_known_of_a_note_that_was_retired_already_is_told_where_it_is_replaced(agent: Agent) -> None:
    stored = await agent.remember("The crane lifts forty tonnes.")
    await agent.outdate(stored["id"], reason="It was scrapped.")
    answer = await agent.outdate(stored["id"], reason="It was sold.")
    assert answer["notices"] == ['It was outdated already: the reason was "It was scrapped.".']
