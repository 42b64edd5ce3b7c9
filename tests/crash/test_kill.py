"""A server that is killed in the middle of two hundred calls: what it acknowledged is there, nothing is half done."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from conftest import Effort
from crowd import HANG, Crowd, Piped, Ported, Script, Server, cleared
from holdfast.model.note import Note
from holdfast.store.codec import Surroundings, note_of, parse
from ledger import Ledger, Store, assert_agrees, assert_journal_is_whole, assert_shown, word_of
from processes import environment_in

CALLS = 200
CHAIN = 6
MANY = 40
LONG_TEXT = "— " * 30_000  # takes its time to be put in place
LONGEST_WAIT = 0.08  # seconds; the first answers come at about that time

transports = pytest.mark.parametrize("transport", [Piped, Ported])

# --- what is asked of a server at once ------------------------------------------------------------


def alone(ledger: Ledger, word: str, filler: str = "") -> Script:
    yield from ledger.remember(word, filler)


def chain(ledger: Ledger, word: str) -> Script:
    """Each note replaces the one before it."""
    last: list[str] = []
    for step in range(CHAIN):
        store = yield from ledger.remember(f"{word}s{step}", supersedes=last)
        last = [store.id] if store else last


def group(ledger: Ledger, word: str, old: Sequence[Store]) -> Script:
    """One note replaces several at once."""
    yield from ledger.remember(word, supersedes=[store.id for store in old])


def retirement(ledger: Ledger, word: str, old: Store) -> Script:
    """An old note and a fresh one are marked outdated, the fresh one twice."""
    yield from ledger.outdate(old.id, f"{word} says so")
    store = yield from ledger.remember(word, links=[old.id], session="the last tide")
    if store:
        yield from ledger.outdate(store.id, f"{word} was short-lived", superseded_by=old.id)
        yield from ledger.outdate(store.id, f"{word} is still gone")


def stores(ledger: Ledger, source: random.Random) -> list[Script]:
    return [alone(ledger, word_of(source, "w")) for _ in range(CALLS)]


def changes(ledger: Ledger, source: random.Random) -> list[Script]:
    """Two hundred calls of all kinds at once; groups and marks are about notes of earlier rounds."""
    old = source.sample(ledger.kept, min(len(ledger.kept), 160))
    groups = [group(ledger, word_of(source, "g"), old[at : at + 3]) for at in range(0, len(old) // 2, 3)]
    retirements = [retirement(ledger, word_of(source, "r"), store) for store in old[len(old) // 2 :][:50]]
    chains = [chain(ledger, word_of(source, "c")) for _ in range(60)]
    scripts = [*groups, *retirements, *chains]
    scripts += [alone(ledger, word_of(source, "w")) for _ in range(CALLS - len(scripts))]
    source.shuffle(scripts)
    return scripts


class Editor(threading.Thread):
    """A person who saves over notes while the server works on them."""

    def __init__(self, ledger: Ledger, home: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self._ledger, self._home, self._source = ledger, home, random.Random(seed)  # noqa: S311 - no secret
        self._enough = threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._edit()
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            self.failure = error

    def _edit(self) -> None:
        notes = self._source.sample(self._ledger.kept, len(self._ledger.kept))
        for number, store in enumerate(notes):
            if self._enough.wait(self._source.uniform(0, 0.02)):
                return
            path = next(self._home.glob(f"memories/*/*.{store.id}.md"))
            line = f"And {word_of(self._source, 'e')} by hand."
            self._ledger.edit(path, store.id, line, in_place=number % 2 == 0)

    def stop(self) -> None:
        self._enough.set()
        self.join(HANG)
        assert not self.is_alive()
        assert self.failure is None, self.failure


# --- killed, and started again --------------------------------------------------------------------


def kill_within(server: Server, scripts: Sequence[Script], source: random.Random) -> None:
    """Kill the server while it answers, from before the first answer to near the last."""
    crowd = Crowd(server, scripts)
    if source.random() < 0.1:
        time.sleep(source.uniform(0, LONGEST_WAIT))
    else:
        for _ in range(source.randrange(1, len(scripts) - 5)):
            assert crowd.answers.acquire(timeout=HANG)
        time.sleep(source.uniform(0, 0.005))
    server.kill()
    assert not crowd.failures, crowd.failures


def survive(
    home: Path,
    start: Callable[[dict[str, str]], Server],
    ask: Callable[[Ledger, random.Random], list[Script]],
    *,
    seed: int,
    kills: int,
    edited: bool,
) -> Counter[str]:
    """Kill servers on one folder, one after the other; each is started on what the one before it left."""
    home.mkdir()
    environment = environment_in(home)
    memory = Path(environment["HOLDFAST_HOME"])
    ledger, source = Ledger(), random.Random(seed)  # noqa: S311 - no secret
    seen: set[Store] = set()
    done: Counter[str] = Counter()
    with cleared() as servers:
        servers.append(start(environment))
        for _ in range(kills):
            editor = Editor(ledger, memory, seed) if edited else None
            if editor:
                editor.start()
            kill_within(servers[-1], ask(ledger, source), source)
            if editor:
                editor.stop()
            servers.append(start(environment))
            servers[-1].ask("recall", query="here")
            assert_journal_is_whole(memory)
            notes = assert_agrees(ledger, memory)
            fresh = [store for store in ledger.kept if store not in seen]
            done["acknowledged stores checked after a kill"] += assert_shown(servers[-1], fresh, notes)
            done["kills survived"] += 1
            seen |= set(fresh)
        assert_shown(servers[-1], ledger.kept[:: max(1, len(ledger.kept) // 50)], assert_agrees(ledger, memory))
        servers[-1].end()
    done["hand edits checked after a kill"] += len(ledger.edits)
    return +done


@pytest.mark.timeout(300)
@transports
def test_what_was_acknowledged_before_a_kill_is_there_after_it(
    transport: type[Piped | Ported], effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    for seed in range(effort.of(1, 12 if transport is Piped else 5)):
        kills = effort.of(2 if transport is Piped else 1, 8)
        tally.update(survive(tmp_path / f"{seed}", transport, stores, seed=seed, kills=kills, edited=False))


@pytest.mark.timeout(300)
@transports
def test_a_kill_leaves_every_replacement_and_every_mark_whole_or_undone_and_keeps_what_a_person_saved(
    transport: type[Piped | Ported], effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    for seed in range(effort.of(1, 8 if transport is Piped else 4)):
        kills = effort.of(3 if transport is Piped else 2, 8)
        tally.update(survive(tmp_path / f"{seed}", transport, changes, seed=seed, kills=kills, edited=True))


@pytest.mark.timeout(300)
def test_a_kill_while_one_note_replaces_forty_leaves_all_of_them_replaced_or_none(
    effort: Effort, tally: Counter[str], tmp_path: Path
) -> None:
    environment = environment_in(tmp_path)
    memory = Path(environment["HOLDFAST_HOME"])
    ledger, source = Ledger(), random.Random(7)  # noqa: S311 - no secret
    with cleared() as servers:
        servers.append(Piped(environment))
        for _ in range(effort.of(2, 30)):
            old = stored_by(servers[-1], ledger, [word_of(source, "w") for _ in range(MANY)])
            first = next(memory.glob(f"memories/*/*.{old[0].id}.md"))
            Crowd(servers[-1], [group(ledger, word_of(source, "g"), old)])
            wait_for_a_change_of(first)
            servers[-1].kill()
            replaced = [note for note in notes_of(memory, old) if note.superseded_by]
            tally["kills in the middle of one change of many notes"] += len(replaced) < MANY
            servers.append(Piped(environment))
            servers[-1].ask("recall", query="here")
            assert_journal_is_whole(memory)
            notes = assert_agrees(ledger, memory)
            assert len({notes[store.id].superseded_by for store in old}) == 1
            tally["kills survived"] += 1
        servers[-1].end()


def stored_by(server: Server, ledger: Ledger, words: Sequence[str]) -> list[Store]:
    crowd = Crowd(server, [alone(ledger, word, LONG_TEXT) for word in words])
    for _ in words:
        assert crowd.answers.acquire(timeout=HANG)
    return [ledger.stores[word] for word in words]


def wait_for_a_change_of(path: Path) -> None:
    """Without a pause: the next files follow within microseconds."""
    inode, deadline = path.stat().st_ino, time.monotonic() + HANG
    while path.stat().st_ino == inode:
        assert time.monotonic() < deadline


def notes_of(home: Path, stores: Sequence[Store]) -> list[Note]:
    """The notes as a kill left them."""
    paths = [next(home.glob(f"memories/*/*.{store.id}.md")) for store in stores]
    return [note_of(parse(path.read_bytes()), Surroundings()) for path in paths]
