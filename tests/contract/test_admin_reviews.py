"""Proposals and merges through the admin gate, in both protocol eras."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.records import JournalRecord
from holdfast.store.history import FolderHistory
from holdfast.store.journal import line_of
from served import Agent, Answer, serving

pytestmark = pytest.mark.anyio

TWINS = ("The crane lifts forty tonnes on Mondays.", "The crane lifts forty tonnes on Mondays, always.")


@pytest.fixture
async def admin(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Agent]:
    async with serving(tmp_path / "home", era, admin=True) as asking:
        yield asking


async def keep(admin: Agent, *texts: str, **arguments: Any) -> list[str]:
    return [(await admin.call("remember", content=text, **arguments))["id"] for text in texts]


async def judge(admin: Agent, **results: Any) -> list[dict[str, Any]]:
    return list((await admin.call("run_maintenance", results=results))["outcomes"])


async def waiting(admin: Agent) -> list[dict[str, Any]]:
    listed = list((await admin.call("admin_list_proposals"))["proposals"])
    [content] = await admin.client.read_resource("admin://proposals")
    assert json.loads(content.text) == listed
    return listed


async def merges(admin: Agent) -> list[dict[str, Any]]:
    listed = list((await admin.call("admin_list_merges"))["merges"])
    [content] = await admin.client.read_resource("admin://merges")
    assert json.loads(content.text) == listed
    return listed


async def resolve(admin: Agent, proposal_id: str, action: str) -> Answer:
    return await admin.call("admin_resolve_proposal", proposal_id=proposal_id, action=action)


async def test_a_merge_of_a_core_note_waits_until_it_is_approved(admin: Agent) -> None:
    one, other = await keep(admin, *TWINS, tier="core")
    item = {"keep_id": one, "discard_id": other, "merged_content": "Forty tonnes, Mondays."}
    [done] = await judge(admin, merges=[item])
    assert (done["status"], done["change_id"]) == ("skipped", None)
    assert (await admin.call("recall_node", node_id=other))["id"] == other
    [again] = await judge(admin, merges=[item])
    [proposal] = await waiting(admin)
    assert again["proposal_id"] == proposal["id"] == done["proposal_id"]
    assert (proposal["kind"], {note["id"] for note in proposal["notes"]}) == ("merge", {one, other})
    approved = await resolve(admin, proposal["id"], "approve")
    assert approved["status"] == "applied"
    node = await admin.call("recall_node", node_id=other)
    assert (node["id"], node["content"]) == (one, "Forty tonnes, Mondays.")
    assert await waiting(admin) == []
    assert "ProposalNotFoundError" in await admin.refused(
        "admin_resolve_proposal", proposal_id=proposal["id"], action="approve"
    )
    [line] = [line for line in admin.journal() if line.get("admin") == "admin_resolve_proposal"]
    assert (line["by"], line["applied"], set(line["notes"])) == ("local", approved["change_id"], {one, other})


async def test_what_waits_or_was_rejected_is_not_offered_again_until_a_text_changes(admin: Agent) -> None:
    one, other = await keep(admin, *TWINS, tier="core")

    async def offered() -> list[int]:
        batch = await admin.call("run_maintenance")
        return [len(batch[kind]) for kind in ("links", "conflicts", "merges")]

    assert await offered() == [0, 0, 1]
    verdict = {"merges": [{"keep_id": one, "discard_id": other}]}
    await judge(admin, **verdict)
    assert await offered() == [0, 0, 0]
    edge = {"node_a_id": one, "node_b_id": other, "edge_type": "evolved_from"}
    await judge(admin, edges=[edge])
    assert await offered() == [0, 0, 0]
    before = len([line for line in admin.journal() if line["op"] == "judge"])
    await judge(admin, edges=[edge], **verdict)
    assert len([line for line in admin.journal() if line["op"] == "judge"]) == before
    for item in await waiting(admin):
        await resolve(admin, item["id"], "reject")
    assert await offered() == [0, 0, 0]
    await admin.call("admin_update_memory", node_id=one, content=TWINS[0] + " As ever.")
    assert sum(await offered()) == 1


@pytest.mark.parametrize("word", ["reject", "rejected"])
async def test_a_rejected_proposal_changes_nothing(admin: Agent, word: str) -> None:
    [one, other] = await keep(admin, *TWINS, about_self=True)
    [done] = await judge(admin, edges=[{"node_a_id": one, "node_b_id": other, "edge_type": "evolved_from"}])
    assert (await resolve(admin, done["proposal_id"], word))["status"] == "skipped"
    assert await waiting(admin) == []
    assert not (await admin.call("recall_node", node_id=other))["outdated"]


async def test_ormahs_word_for_approval_applies_it(admin: Agent) -> None:
    [one, other] = await keep(admin, *TWINS, about_self=True)
    [done] = await judge(admin, edges=[{"node_a_id": one, "node_b_id": other, "edge_type": "evolved_from"}])
    assert (await resolve(admin, done["proposal_id"], "approved"))["status"] == "applied"
    assert await waiting(admin) == []


async def test_a_proposal_on_notes_that_changed_since_waits_on(admin: Agent) -> None:
    one, other = await keep(admin, *TWINS, tier="core")
    [done] = await judge(admin, merges=[{"keep_id": one, "discard_id": other}])
    file = next(admin.files.glob(f"memories/*/*.{one}.md"))
    file.write_text(file.read_text("utf-8").replace("forty", "fifty"), "utf-8")
    assert (await resolve(admin, done["proposal_id"], "approve"))["status"] == "conflict"
    assert [item["id"] for item in await waiting(admin)] == [done["proposal_id"]]


@pytest.mark.parametrize("wrong", ["../../NOW", "prp_none", "", "*"])
async def test_no_other_file_is_taken_for_a_proposal(admin: Agent, wrong: str) -> None:
    told = await admin.refused("admin_resolve_proposal", proposal_id=wrong, action="approve")
    assert "ProposalNotFoundError" in told


async def test_with_review_on_what_takes_notes_away_waits_and_edges_do_not(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path / "home", era, admin=True, review=True) as admin:
        one, other = await keep(admin, *TWINS)
        edges = [{"node_a_id": one, "node_b_id": other, "edge_type": kind} for kind in ("supports", "evolved_from")]
        outcomes = [
            *await judge(admin, edges=edges),
            *await judge(admin, merges=[{"keep_id": one, "discard_id": other}]),
            *await judge(
                admin, consolidations=[{"node_ids": [one, other], "title": "Crane", "content": "Forty tonnes."}]
            ),
        ]
        assert [item["status"] for item in outcomes] == ["applied", "skipped", "skipped", "skipped"]
        assert {item["kind"] for item in await waiting(admin)} == {"retire", "merge", "consolidate"}
        proposal = next(item for item in await waiting(admin) if item["kind"] == "consolidate")
    async with serving(tmp_path / "home", era, admin=True) as admin:
        assert (await resolve(admin, proposal["id"], "approve"))["status"] == "applied"
        assert (await admin.call("recall_node", node_id=one))["tier"] == "archival"


async def test_merges_are_listed_the_last_one_first(admin: Agent) -> None:
    one, other, third = await keep(admin, *TWINS, "The crane lifts forty tonnes on most Mondays.")
    made = [(await judge(admin, merges=[{"keep_id": one, "discard_id": gone}]))[0] for gone in (other, third)]
    listed = await merges(admin)
    assert [item["merge_id"] for item in listed] == [item["change_id"] for item in reversed(made)]
    assert [(item["kept"], item["discarded"], item["undone"]) for item in listed] == [
        (one, third, False),
        (one, other, False),
    ]
    assert "InvalidArgumentError" in await admin.refused("admin_list_merges", limit=0)


async def test_a_merge_that_was_undone_and_made_again_is_listed_as_standing(admin: Agent) -> None:
    one, other = await keep(admin, *TWINS)
    [made] = await judge(admin, merges=[{"keep_id": one, "discard_id": other}])
    back = (await admin.call("admin_undo", change_id=made["change_id"]))["change_id"]
    assert [item["undone"] for item in await merges(admin)] == [True]
    await admin.call("admin_undo", change_id=back)
    assert (await admin.call("recall_node", node_id=other))["id"] == one
    assert [item["undone"] for item in await merges(admin)] == [False]


@pytest.mark.files("it looks at the files of the folder")
async def test_a_merge_is_listed_unless_it_never_happened_and_only_lines_of_merges_are_taken_in(
    admin: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = await keep(admin, *TWINS)
    [done] = await judge(admin, merges=[{"keep_id": one, "discard_id": other, "merged_content": "Forty tonnes."}])
    await keep(admin, *(f"The buoy number {number} is out." for number in range(20)))
    taken: list[int] = []
    lines_at = FolderHistory.lines

    async def counted(past: FolderHistory, numbers: Iterable[int]) -> dict[int, JournalRecord]:
        found = await lines_at(past, numbers)
        taken.extend(found)
        return found

    monkeypatch.setattr(FolderHistory, "lines", counted)
    assert [merge["merge_id"] for merge in await merges(admin)] == [done["change_id"]]
    assert len(set(taken)) == 1
    last = admin.journal()[-1]["seq"]
    never = {"change": "chg_0000000000000000", "op": "merge", "at": "2026-01-01T00:00:00Z", "files": []}
    lines = [never | {"kept": one, "discarded": other}, {"void": [never["change"], done["change_id"]]}]
    with max((admin.files / "journal").glob("*.jsonl")).open(
        "ab"
    ) as file:  # the second is told to be whole by its maker
        file.writelines(line_of({"seq": last + number, **line}) for number, line in enumerate(lines, 1))
    assert [merge["merge_id"] for merge in await merges(admin)] == [done["change_id"]]
