"""Many servers update one belief, and are killed in the middle of it: no update is lost, none is half done."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from conftest import Effort
from crowd import HANG, LostError, Piped, Server, cleared
from holdfast.engine.omi.beliefs import REASON
from holdfast.model.lifecycle import Evidence, breaks, read_evidence, replayed
from holdfast.model.note import Note
from holdfast.store.codec import Surroundings, note_of, parse
from ledger import assert_journal_is_whole
from processes import environment_in

PROCESSES, UPDATES, SOURCES = 8, 5, 12
AT_ONCE = 40
POLARITIES = {True: "supports", False: "contradicts"}


def stored(server: Server, content: str, memory_type: str) -> str:
    return str(server.ask("memory_store", content=content, memory_type=memory_type)["memory_id"])


def begun(server: Server) -> tuple[str, list[str]]:
    """A belief, and notes that may speak for it or against it."""
    belief = stored(server, "The tide turns at noon", "belief")
    return belief, [stored(server, f"Watch {number} was kept.", "experience") for number in range(SOURCES)]


def drawn(belief: str, sources: Sequence[str], source: random.Random) -> dict[str, Any]:
    return {
        "belief_id": belief,
        "evidence_memory_id": source.choice(sources),
        "supports": source.random() < 0.7,
        "strength": source.random(),
    }


def note_in(home: Path, note_id: str) -> Note:
    return note_of(parse(next(home.glob(f"memories/*/*.{note_id}.md")).read_bytes()), Surroundings())


def entries_of(note: Note) -> list[Evidence]:
    entries = [read_evidence(entry) for entry in note.evidence]
    assert None not in entries
    return [entry for entry in entries if entry]


def assert_whole(home: Path, belief: str, sources: Sequence[str]) -> list[Evidence]:
    """The list leads to the confidence without a gap, and the edges are those of the list, no more and no fewer."""
    note = note_in(home, belief)
    entries = entries_of(note)
    assert breaks(entries) == []
    assert [after.old_confidence for after in entries[1:]] == [before.new_confidence for before in entries[:-1]]
    assert note.confidence == (replayed(entries) if entries else 0.5)
    latest = {(entry.memory_id, POLARITIES[entry.supports]): entry.strength for entry in entries}
    edges = [
        (source, link.type, link.weight)
        for source in sources
        for link in note_in(home, source).connections
        if link.to == belief and link.reason == REASON
    ]
    assert sorted(edges) == sorted((source, kind, weight) for (source, kind), weight in latest.items())
    return entries


def told(answers: Sequence[Future[dict[str, Any]]]) -> Iterator[float]:
    """The confidences that were acknowledged before a kill."""
    for answer in answers:
        try:
            yield answer.result(HANG)["new_confidence"]
        except LostError:
            continue


@pytest.mark.timeout(300)
def test_eight_servers_that_update_one_belief_lose_nothing(tmp_path: Path) -> None:
    environment = environment_in(tmp_path)
    home = Path(environment["HOLDFAST_HOME"])
    source = random.Random(1)  # noqa: S311 - no secret
    with cleared() as servers:
        servers.append(Piped(environment))
        belief, sources = begun(servers[0])
        servers += [Piped(environment) for _ in range(PROCESSES - 1)]
        calls = [
            server.call("belief_update", **drawn(belief, sources, source)) for _ in range(UPDATES) for server in servers
        ]
        acknowledged = [answer.result(HANG)["new_confidence"] for answer in calls]
        entries = assert_whole(home, belief, sources)
        assert Counter(entry.new_confidence for entry in entries) == Counter(acknowledged)
        assert len(entries) == PROCESSES * UPDATES
        last = {server.ask("recall_node", node_id=belief)["confidence"] for server in servers}
        assert last == {entries[-1].new_confidence}
        for server in servers:
            server.end()


@pytest.mark.timeout(300)
def test_a_kill_in_the_middle_of_updates_leaves_each_whole_or_undone(
    effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    environment = environment_in(tmp_path)
    home = Path(environment["HOLDFAST_HOME"])
    source = random.Random(2)  # noqa: S311 - no secret
    with cleared() as servers:
        servers.append(Piped(environment))
        belief, sources = begun(servers[0])
        for _ in range(effort.of(4, 60)):
            before = len(note_in(home, belief).evidence)
            calls = [servers[-1].call("belief_update", **drawn(belief, sources, source)) for _ in range(AT_ONCE)]
            calls[source.randrange(AT_ONCE // 2)].result(HANG)
            time.sleep(source.uniform(0, 0.02))
            servers[-1].kill()
            servers.append(Piped(environment))
            shown = servers[-1].ask("recall_node", node_id=belief)
            entries = assert_whole(home, belief, sources)
            fresh = Counter(entry.new_confidence for entry in entries[before:])
            acknowledged = list(told(calls))
            assert Counter(acknowledged) <= fresh
            assert shown["confidence"] == entries[-1].new_confidence
            assert_journal_is_whole(home)
            tally["kills in the middle of belief updates"] += len(acknowledged) < AT_ONCE
        servers[-1].end()
