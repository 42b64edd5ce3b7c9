"""A server that is killed while an agent takes its change back: all of the change is back, or none of it."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

from conftest import Effort
from holdfast.store.codec import Surroundings, note_of, parse
from ledger import assert_journal_is_whole
from processes import Stdio, environment_in, stdio, until

ROUNDS, NOTES = 3, 12
WITHIN_ONE = 0.01  # seconds that the change takes, about
HANDLE = re.compile(r"chg_[0-9a-z]{16}")


def current(home: Path, ids: list[str]) -> int:
    """How many of these notes nothing replaces."""
    files = [next(home.glob(f"memories/*/*.{note_id}.md")) for note_id in ids]
    return sum(not note_of(parse(file.read_bytes()), Surroundings()).is_outdated for file in files)


def undo_lines(home: Path) -> int:
    return sum(path.read_bytes().count(b'"undoes":') for path in (home / "journal").iterdir())


def begun(server: Stdio, round_: int) -> tuple[list[str], str, str]:
    """Notes, the one that replaced them all, and the handle of that change."""
    texts = [f"Watch {number} of round {round_} was kept." for number in range(NOTES)]
    ids = [server.remember(text) for text in texts]
    new = server.tool("remember", content=f"All watches of round {round_} are over.", supersedes=ids)
    return ids, str(new["structuredContent"]["id"]), str(new["structuredContent"]["change_id"])


def finish(server: Stdio, home: Path, ids: list[str], new: str, change: str) -> bool:
    """What the kill left is whole, and the same call again ends it; returns whether it was done before."""
    server.tool("recall", query="watch")  # settles what was open
    there = bool(list(home.glob(f"memories/*/*.{new}.md")))
    assert current(home, ids) == (0 if there else NOTES)
    told = server.tool("mark_outdated", undo=change)["content"][0]["text"]
    assert ("undone before" in told) == (not there)
    assert current(home, ids) == NOTES
    assert not list(home.glob(f"memories/*/*.{new}.md"))
    assert HANDLE.search(told)
    return not there


def test_killed_while_a_change_is_taken_back_it_is_back_whole_or_not_at_all(tmp_path: Path, effort: Effort) -> None:
    source = random.Random(5)  # noqa: S311 - no secret
    environment, home = environment_in(tmp_path), tmp_path / "memory"
    for round_ in range(effort.of(ROUNDS, 50 * ROUNDS)):
        with stdio(environment) as server:
            server.begin()
            ids, new, change = begun(server, round_)
            before = undo_lines(home)
            server.send("tools/call", name="mark_outdated", arguments={"undo": change})
            until(lambda before=before: undo_lines(home) > before)
            time.sleep(source.uniform(0, WITHIN_ONE))  # and the block ends by killing it
        with stdio(environment) as server:
            server.begin()
            finish(server, home, ids, new, change)
            assert server.end()[0] == 0
    assert_journal_is_whole(home)
