"""Eight servers on one folder, killed, robbed of their index and edited under: what they say agrees with a model."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conftest import Effort
from crowd import HANG, Answer, Asked, LostError, Piped, Ported, Server, cleared, play
from holdfast.model.note import Note
from ledger import Ledger, Mark, Store, assert_agrees, assert_journal_is_whole, assert_shown, word_of
from processes import environment_in, until
from served import SELF

KINDS: Sequence[Callable[[dict[str, str]], Server]] = (Piped, Ported) * 4
WORKERS = 2  # for each server
SECONDS = 5
ENOUGH = {"kills among eight servers": 2, "index deletions under eight servers": 2}
LONG_ROUNDS, LONG_SECONDS = 6, 55
CLOSE = 0.01  # relevance that counts as the same


@dataclass
class Fleet:
    """Eight servers and what is known of them; `servers` holds the one of each place that lives now."""

    home: Path
    source: random.Random
    all: list[Server]
    ledger: Ledger = field(default_factory=Ledger)
    servers: list[Server] = field(default_factory=list)
    hub: str = ""
    shared: list[str] = field(default_factory=list)  # notes that all of them want to retire
    edited: list[str] = field(default_factory=list)  # notes that a person saves over
    tally: Counter[str] = field(default_factory=Counter)
    failures: list[BaseException] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def memory(self) -> Path:
        return Path(self.environment["HOLDFAST_HOME"])

    @property
    def environment(self) -> dict[str, str]:
        return environment_in(self.home)

    def start(self, place: int) -> None:
        server = KINDS[place](self.environment)
        self.all.append(server)
        self.servers[place : place + 1] = [server]

    def ask(self, server: Server, tool: str, **arguments: Any) -> Answer | None:
        """An answer; None where that server was killed meanwhile."""
        self.tally["calls of eight servers checked against a model"] += 1
        try:
            return server.ask(tool, **arguments)
        except LostError:
            assert server.killed
            return None

    def another(self, source: random.Random) -> Server:
        return source.choice(self.servers)

    def path_of(self, note: str) -> Path:
        return next(self.memory.glob(f"memories/*/*.{note}.md"))


# --- those who work on it ------------------------------------------------------------------------------


def store(fleet: Fleet, source: random.Random) -> Generator[Asked, Answer, None]:
    """One of the things that an agent does; its note must be there for all others at once."""
    ids = [item.id for item in source.sample(fleet.ledger.kept, 3)]
    what = source.randrange(12)
    given: dict[str, Any] = {}
    if what in {0, 1}:
        given = {"session": f"the tide {source.randrange(3)}"}
    elif what in {2, 3}:
        given = {"links": [fleet.hub]}
    elif what == 4:
        given = {"links": ids, "supersedes": source.sample(fleet.shared, 1)}
    elif what in {5, 6}:
        given = {"supersedes": ids[:1], "session": "the tide 0"}
    elif what == 7:
        given = {"supersedes": ids}
    elif what == 8:
        given = {"supersedes": [*source.sample(fleet.edited, 1), *ids[:1]]}
    stored = yield from fleet.ledger.remember(word_of(source, "n"), **given)
    if stored:
        assert_seen(fleet, fleet.another(source), stored)


def mark(fleet: Fleet, source: random.Random) -> Generator[Asked, Answer, None]:
    """Retire a note, often one that somebody else retires too."""
    pool = source.choice((fleet.shared, fleet.edited, [item.id for item in fleet.ledger.kept[-40:]]))
    successor = source.choice(fleet.ledger.kept).id if source.random() < 0.3 else None
    note = source.choice(pool)
    if note != successor:
        yield from fleet.ledger.outdate(note, f"It is {word_of(source, 'o')}", successor)


def work(fleet: Fleet, place: int, source: random.Random) -> None:
    """Use one server, and the next one in its place when it is killed."""
    while not fleet.over.is_set():
        server = fleet.servers[place]
        try:
            if source.random() < 0.2:
                play(server, mark(fleet, source))
            else:
                play(server, store(fleet, source))
            fleet.tally["calls of eight servers checked against a model"] += 1
        except LostError:
            assert server.killed
            fleet.over.wait(0.05)


def assert_seen(fleet: Fleet, server: Server, stored: Store) -> None:
    """What one server has acknowledged, another one finds and shows."""
    found = fleet.ask(server, "recall", query=stored.word, include_outdated=True, limit=3)
    if found is not None and stored.id not in fleet.edited:
        assert stored.id in [hit["id"] for hit in found["results"]], (stored, found)
    shown = fleet.ask(server, "recall_node", node_id=stored.id)
    if shown is not None:
        assert shown["content"] == stored.content
        out = {edge["id"] for edge in shown["connections"] if edge["direction"] == "out"}
        assert set(stored.links) <= out, (stored, shown)


def kill(fleet: Fleet, source: random.Random) -> None:
    while not fleet.over.wait(source.uniform(0.5, 3)):
        place = source.randrange(len(KINDS))
        fleet.servers[place].kill()
        fleet.tally["kills among eight servers"] += 1
        fleet.start(place)


def delete_index(fleet: Fleet, source: random.Random) -> None:
    while not fleet.over.wait(source.uniform(0.5, 4)):
        asked = source.sample(fleet.ledger.kept, 3)
        parts = list((fleet.memory / ".holdfast").glob("index.db*"))
        source.shuffle(parts)
        for part in parts:
            part.unlink(missing_ok=True)
        fleet.tally["index deletions under eight servers"] += 1
        for stored in asked:
            if stored.id not in fleet.edited:
                assert_seen(fleet, fleet.another(source), stored)


def edit(fleet: Fleet, source: random.Random) -> None:
    """Save over notes like an editor; what was saved shows at once, unless a tool was at the same note."""
    while not fleet.over.wait(source.uniform(0.01, 0.2)):
        note = source.choice(fleet.edited)
        line = f"And {word_of(source, 'e')} by hand."
        made = fleet.ledger.edit(fleet.path_of(note), note, line, in_place=source.random() < 0.5)
        shown = fleet.ask(fleet.another(source), "recall_node", node_id=note)
        fleet.tally["hand edits under eight servers"] += 1
        if shown is not None and line not in shown["content"]:
            now = time.monotonic()
            calls = [call for call in fleet.ledger.calls if note in call.touched]
            assert any(call.sent <= now and made.began <= call.until for call in calls), (made, shown)


# --- together ----------------------------------------------------------------------------------------


@contextmanager
def working(fleet: Fleet, seed: int) -> Iterator[None]:
    """All of them at it until the block ends."""
    tasks: list[Callable[[random.Random], None]] = [
        lambda source, place=place: work(fleet, place, source)  # type: ignore[misc]
        for place in range(len(KINDS))
        for _ in range(WORKERS)
    ]
    tasks += [lambda source, task=task: task(fleet, source) for task in (kill, delete_index, edit)]  # type: ignore[misc]
    threads = [
        threading.Thread(target=guarded, args=(fleet, task, random.Random(f"{seed} {number}")), daemon=True)  # noqa: S311 - no secret
        for number, task in enumerate(tasks)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        fleet.over.set()
        for thread in threads:
            thread.join(HANG)
    assert not any(thread.is_alive() for thread in threads)
    if fleet.failures:
        raise fleet.failures[0]


def guarded(fleet: Fleet, task: Callable[[random.Random], None], source: random.Random) -> None:
    try:
        task(source)
    except BaseException as error:  # noqa: BLE001 - told by the test's own thread
        fleet.failures.append(error)
        fleet.over.set()


def prepare(fleet: Fleet, source: random.Random) -> None:
    """Eight servers that have answered, and notes to quarrel about."""
    for place in range(len(KINDS)):
        fleet.start(place)

    def seeded() -> Generator[Asked, Answer, str]:
        stored = yield from fleet.ledger.remember(word_of(source, "s"))
        assert stored
        return stored.id

    def seeds() -> Generator[Asked, Answer, None]:
        fleet.hub = yield from seeded()
        for _ in range(12):
            fleet.shared.append((yield from seeded()))
            fleet.edited.append((yield from seeded()))
        for _ in range(8):
            yield from seeded()

    play(fleet.servers[0], seeds())
    for server in fleet.servers:
        server.ask("recall", query="here")


def answers(server: Server, words: Sequence[str]) -> list[list[tuple[str, float]]]:
    """Ids and relevance for many questions."""
    asked = [server.call("recall", query=word, include_outdated=True, limit=20) for word in words]
    return [[(hit["id"], hit["relevance"]) for hit in one.result()["results"]] for one in asked]


def assert_index_equals_files(fleet: Fleet, notes: dict[str, Note], source: random.Random) -> None:
    """Every note is shown as its file has it, and an index made anew answers as the one that was kept up."""
    server = fleet.servers[0]
    by_id = {item.id: item for item in fleet.ledger.stores.values() if item.id}
    assert_shown(server, by_id.values(), notes)
    hub = server.ask("recall_node", node_id=fleet.hub)
    edges = [edge for edge in hub["connections"] if (edge["direction"], edge["type"]) == ("in", "related_to")]
    into_hub = Counter(edge["id"] for edge in edges)
    links = [(note.id, link) for note in notes.values() for link in note.connections]
    expected = Counter(one for one, link in links if (link.to, link.type) == (fleet.hub, "related_to"))
    is_cut = any("more connection" in notice for notice in hub["notices"])
    assert into_hub <= expected if is_cut else into_hub == expected
    words = ["here", "second line", "the tide", *source.sample(sorted(fleet.ledger.stores), 40)]
    words += [item.line.split()[1] for item in fleet.ledger.edits[-10:]]
    kept_up = [answers(one, words) for one in fleet.servers]
    for part in (fleet.memory / ".holdfast").glob("index.db*"):
        part.unlink()
    for one, before in zip(fleet.servers, kept_up, strict=True):
        for old, new in zip(before, answers(one, words), strict=True):
            assert [note for note, _ in old] == [note for note, _ in new]
            assert [how for _, how in old] == pytest.approx([how for _, how in new], abs=CLOSE)


def assert_first_come_first_served(fleet: Fleet, notes: dict[str, Note]) -> None:
    """Of those who replaced the same note, all but one were told that somebody else had been first."""
    for note in notes.values():
        rivals = [item for item in fleet.ledger.kept if note.id in item.supersedes]
        first = [item for item in rivals if not any(note.id in notice for notice in item.notices)]
        marked = any(isinstance(call, Mark) and call.id == note.id for call in fleet.ledger.calls)
        if not marked and not any(item.id == note.id for item in fleet.ledger.edits):
            assert len(first) <= 1, (note, rivals)
            assert [item.id for item in first] in ([], [note.superseded_by])


def run(home: Path, seed: int, seconds: int) -> Counter[str]:
    home.mkdir()
    source = random.Random(seed)  # noqa: S311 - no secret
    with cleared() as servers:
        fleet = Fleet(home, source, servers)
        prepare(fleet, source)
        with working(fleet, seed):
            fleet.over.wait(seconds)
            until(lambda: fleet.over.is_set() or all(fleet.tally[what] >= count for what, count in ENOUGH.items()))
        for server in fleet.servers:
            assert server.ask("recall", query="here")["results"]
        notes = assert_agrees(fleet.ledger, fleet.memory)
        assert notes.keys() >= {SELF, *(item.id for item in fleet.ledger.kept)}
        assert_first_come_first_served(fleet, notes)
        assert_index_equals_files(fleet, notes, source)
        for server in fleet.servers:
            server.end()
        assert_journal_is_whole(fleet.memory)
        assert_agrees(fleet.ledger, fleet.memory)
    return fleet.tally


@pytest.mark.timeout(300)
def test_eight_servers_that_are_killed_and_robbed_of_their_index_agree_with_a_model(
    effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    for seed in range(effort.of(1, LONG_ROUNDS)):
        tally.update(run(tmp_path / f"{seed}", seed, effort.of(SECONDS, LONG_SECONDS)))
