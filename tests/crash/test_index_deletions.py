"""The index is deleted again and again under servers that keep running, while others are killed.

Whatever was acknowledged is in its file, and every server that runs finds it by its words.
"""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import Effort
from crowd import HANG, Answer, LostError, Piped, Ported, RefusedError, Server, cleared, play
from ledger import Ledger, assert_agrees, assert_journal_is_whole, assert_shown, word_of
from processes import environment_in

STAYING: Sequence[Callable[[dict[str, str]], Server]] = (Piped, Ported)  # from the beginning to the end
MORTAL = 2  # are killed, and started again; one in the short form
DELETED_AGAIN = "StorageError: The index is deleted again and again while it is used."
LOOKED_FOR = 3  # of the newest notes, and as many of all, each time
LONGEST_FILLER = 4000  # words
FORMS = ("{}", "do you remember what {} was about")


@dataclass
class Trial:
    """The servers and what is known of them. It is over when there was enough of everything."""

    environment: dict[str, str]
    all: list[Server]
    enough: Counter[str]
    ledger: Ledger = field(default_factory=Ledger)
    staying: list[Server] = field(default_factory=list)
    mortal: list[Server] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    failures: list[BaseException] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def derived(self) -> Path:
        return Path(self.environment["HOLDFAST_HOME"]) / ".holdfast"

    def start(self, kind: Callable[[dict[str, str]], Server]) -> Server:
        server = kind(self.environment)
        self.all.append(server)
        return server

    def wait_for(self, what: str, more: int) -> None:
        """On a slow machine too there is time for this between two deletions."""
        until = self.tally[what] + more
        while self.tally[what] < until and not self.over.wait(0.01):
            pass

    def count(self, what: str) -> None:
        self.tally[what] += 1
        if all(self.tally[name] >= number for name, number in self.enough.items()):
            self.over.set()


KILLS = "kills beside servers that keep running"
DELETIONS = "index deletions under servers that keep running"
LOOKS = "notes looked for while the index is deleted"

# --- what they do ---------------------------------------------------------------------------------


def write(trial: Trial, server: Callable[[], Server], source: random.Random) -> None:
    """Store notes, short and long ones."""
    while not trial.over.is_set():
        filler = "and the tide went out " * (source.randrange(LONGEST_FILLER // 5) if source.random() < 0.3 else 0)
        try:
            play(server(), trial.ledger.remember(word_of(source, "n"), filler))
        except LostError:
            trial.over.wait(0.05)


def kill(trial: Trial, source: random.Random) -> None:
    while not trial.over.wait(source.uniform(0, 1)):
        trial.wait_for(DELETIONS, 1)
        place = source.randrange(len(trial.mortal))
        trial.mortal[place].kill()
        trial.count(KILLS)
        trial.mortal[place] = trial.start(Piped)


def delete(trial: Trial, source: random.Random) -> None:
    """Take away the whole folder, the index at once or slowly, or a part of it."""
    while not trial.over.wait(source.uniform(0, 0.5)):
        parts = sorted(trial.derived.glob("index.db*"))
        source.shuffle(parts)
        how = source.randrange(5)
        if how == 0:
            shutil.rmtree(trial.derived, ignore_errors=True)  # servers put files there meanwhile
        for part in parts[:1] if how == 1 else parts:
            part.unlink(missing_ok=True)
            if how == 2:
                trial.over.wait(source.uniform(0, 0.3))
        trial.count(DELETIONS)
        trial.wait_for(LOOKS, LOOKED_FOR)


def look(trial: Trial, server: Server, source: random.Random) -> None:
    """Ask a server that keeps running for what anybody has stored, the newest first of all."""
    while not trial.over.is_set():
        kept = trial.ledger.kept
        asked = [*kept[-LOOKED_FOR:], *source.sample(kept, min(len(kept), LOOKED_FOR))]
        for stored in asked:
            query = source.choice(FORMS).format(stored.word)
            hits = answered(trial, server, "recall", query=query, limit=3)["results"]
            assert stored.id in [hit["id"] for hit in hits], (query, stored, hits)
            assert answered(trial, server, "recall_node", node_id=stored.id)["content"] == stored.content
            trial.count(LOOKS)


def answered(trial: Trial, server: Server, tool: str, **arguments: object) -> Answer:
    """An answer, asked for again as long as it is refused because the index goes away in the middle of it."""
    deadline = time.monotonic() + HANG
    while True:
        try:
            return server.ask(tool, **arguments)
        except RefusedError as error:
            assert str(error).startswith(DELETED_AGAIN)  # noqa: PT017 - any other is a failure
            assert time.monotonic() < deadline
            trial.tally["readings refused while the index was deleted"] += 1


# --- together -------------------------------------------------------------------------------------


def go(trial: Trial, seed: int) -> None:
    """All of them at it until there was enough of everything."""
    tasks: list[Callable[[random.Random], None]] = [
        *(lambda source, server=server: write(trial, lambda: server, source) for server in trial.staying),  # type: ignore[misc]
        *(lambda source, at=at: write(trial, lambda: trial.mortal[at], source) for at in range(len(trial.mortal))),  # type: ignore[misc]
        *(lambda source, server=server: look(trial, server, source) for server in trial.staying),  # type: ignore[misc]
        lambda source: kill(trial, source),
        lambda source: delete(trial, source),
    ]
    threads = [
        threading.Thread(target=guarded, args=(trial, task, random.Random(f"{seed} {number}")), daemon=True)  # noqa: S311 - no secret
        for number, task in enumerate(tasks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if trial.failures:
        raise trial.failures[0]


def guarded(trial: Trial, task: Callable[[random.Random], None], source: random.Random) -> None:
    try:
        task(source)
    except BaseException as error:  # noqa: BLE001 - told by the test's own thread
        trial.failures.append(error)
        trial.over.set()


def tried(home: Path, seed: int, mortal: int, enough: Counter[str]) -> Counter[str]:
    home.mkdir()
    memory = Path(environment_in(home)["HOLDFAST_HOME"])
    with cleared() as servers:
        trial = Trial(environment_in(home), servers, enough)
        trial.staying = [trial.start(kind) for kind in STAYING]
        trial.mortal = [trial.start(Piped) for _ in range(mortal)]
        go(trial, seed)
        for server in trial.mortal:  # what a killed one laid aside goes when the next one opens the folder
            answered(trial, server, "recall", query="tide")
        notes = assert_agrees(trial.ledger, memory, DELETED_AGAIN)
        for server in trial.staying:
            assert_shown(server, trial.ledger.kept, notes)
        for server in (*trial.staying, *trial.mortal):
            server.end()
        assert_journal_is_whole(memory)
        assert_agrees(trial.ledger, memory, DELETED_AGAIN)
    return trial.tally


@pytest.mark.timeout(300)
def test_whoever_keeps_running_finds_all_that_was_acknowledged_while_others_die_and_the_index_goes(
    effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    enough = Counter({KILLS: effort.of(2, 40), DELETIONS: effort.of(5, 100), LOOKS: effort.of(15, 400)})
    for seed in range(effort.of(1, 4)):
        tally.update(tried(tmp_path / f"{seed}", seed, effort.of(1, MORTAL), enough))
