"""A server that is killed while it applies verdicts: each is whole or not there, and can be given again."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from conftest import Effort
from disks import Failing
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.maintenance.batches import Verdicts, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict
from holdfast.engine.runtime import Memory
from holdfast.index.note_index import IndexLostError, NoteIndex
from holdfast.model.note import Note
from holdfast.store.codec import Surroundings, note_of, parse
from ledger import assert_journal_is_whole
from processes import Stdio, environment_in, stdio, until
from worlds import CALLER, living
from worlds import keep as keep_note

ROUNDS, GROUPS = 2, 4
WITHIN_ONE = 0.005  # seconds that a change takes, about


def begun(server: Stdio, round_: int) -> list[list[str]]:
    """Groups of five notes: two to merge, one that is linked to the discarded one, two more to consolidate."""
    return [
        [server.remember(f"Watch {group} of round {round_} was kept by sailor {number}.") for number in range(5)]
        for group in range(GROUPS)
    ]


def verdicts(groups: list[list[str]]) -> dict[str, Any]:
    edge = {"edge_type": "supports", "reason": "scripted"}
    return {
        "edges": [{"node_a_id": third, "node_b_id": gone, **edge} for _, gone, third, _, _ in groups],
        "merges": [{"keep_id": keep, "discard_id": gone} for keep, gone, _, _, _ in groups],
        "consolidations": [
            {"node_ids": [fourth, fifth], "title": f"Of {fourth}", "content": "Both."}
            for _, _, _, fourth, fifth in groups
        ],
    }


def notes_in(home: Path) -> dict[str, Note]:
    read = (note_of(parse(path.read_bytes()), Surroundings()) for path in home.glob("memories/*/*.md"))
    return {note.id: note for note in read}


def assert_whole(home: Path, groups: list[list[str]]) -> int:
    """Each group is as before or as after each verdict; returns how many verdicts have landed."""
    notes = notes_in(home)
    made = {note.title: note for note in notes.values() if "consolidated" in note.tags}
    landed = 0
    for keep, gone, third, fourth, fifth in groups:
        merged = notes[keep].merged == (gone,)
        assert merged == (gone not in notes)
        linked = [link for link in notes[third].connections if (link.to, link.type) == (gone, "supports")]
        archived = {notes[note].tier for note in (fourth, fifth)}
        new = made.get(f"Of {fourth}")
        assert archived == ({"archival"} if new else {"working"})
        assert new is None or {link.to for link in new.connections} == {fourth, fifth}
        landed += merged + len(linked) + (new is not None)
    return landed


def applied_lines(home: Path) -> int:
    return sum(path.read_bytes().count(b'"maintenance":') for path in (home / "journal").iterdir())


def apply_and_die(server: Stdio, home: Path, groups: list[list[str]], source: random.Random) -> None:
    """Give all verdicts, and kill the server when it has announced some of them."""
    wanted = applied_lines(home) + source.randrange(1, 3 * GROUPS)
    server.send("tools/call", name="run_maintenance", arguments={"results": verdicts(groups)})
    until(lambda: applied_lines(home) >= wanted)
    time.sleep(source.uniform(0, WITHIN_ONE))


def complete(server: Stdio, home: Path, groups: list[list[str]]) -> None:
    """What a kill left is whole; the same verdicts given again add what is missing, and nothing else."""
    server.tool("recall", query="watch")  # settles what was open
    assert_whole(home, groups)
    outcomes = server.tool("run_maintenance", results=verdicts(groups))["structuredContent"]["outcomes"]
    assert {item["status"] for item in outcomes} <= {"applied", "skipped"}
    assert assert_whole(home, groups) == 3 * len(groups)
    for keep, gone, _, _, _ in groups:
        assert server.tool("recall_node", node_id=gone)["structuredContent"]["id"] == keep


def test_killed_between_verdicts_or_in_one_each_is_whole_and_can_be_given_again(tmp_path: Path, effort: Effort) -> None:
    source = random.Random(3)  # noqa: S311 - no secret
    environment, home = environment_in(tmp_path), tmp_path / "memory"
    groups: list[list[str]] = []
    for round_ in range(effort.of(ROUNDS, 50 * ROUNDS)):
        with stdio(environment) as server:
            server.begin()
            complete(server, home, groups)
            groups = begun(server, round_)
            apply_and_die(server, home, groups, source)
    with stdio(environment) as server:
        server.begin()
        complete(server, home, groups)
        assert server.end()[0] == 0
    assert_journal_is_whole(home)


async def kept(memory: Memory, text: str) -> str:
    outcome = await keep_note(memory, text)
    assert isinstance(outcome, NoteStored)
    return outcome.note.id


@pytest.mark.anyio
async def test_a_verdict_that_was_kept_stands_where_nothing_more_can_be_written(
    tmp_path: Path,
) -> None:
    files = Failing(
        1, stays=True, steps=("append",)
    )  # the verdict's line, which says that maintenance was seen to as well; no other
    async with living(tmp_path, files=files) as memory:
        one, other = [await kept(memory, text) for text in ("The pilot sleeps.", "The crane rusts.")]
        files.armed = True
        edge = EdgeVerdict(one, other, "none", "of different things")
        [outcome] = (await judge(memory, CALLER, Verdicts(edges=[edge]))).outcomes
        files.armed = False
        assert outcome.status == "applied"
    [journal] = (tmp_path / "journal").iterdir()
    lines = map(json.loads, journal.read_bytes().splitlines())
    assert [line.get("op") for line in lines].count("judge") == 1


@pytest.mark.anyio
async def test_a_verdict_whose_index_is_lost_meanwhile_is_kept_once_and_stands(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        one, other = [await kept(memory, text) for text in ("The pilot sleeps.", "The crane rusts.")]
        verdicts = Verdicts(edges=[EdgeVerdict(one, other, "none", "of different things")])
        with patch.object(NoteIndex, "apply", side_effect=IndexLostError("gone")):
            [outcome] = (await judge(memory, CALLER, verdicts)).outcomes
        assert outcome.status == "applied"
        records = [read.record for read in await memory.ports.store.journal_since("", 100) or ()]
        assert [record.op for record in records].count("judge") == 1
