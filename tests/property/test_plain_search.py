"""A hook without a server and a server find the same by words: the same notes, words and shares, on any index."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from conftest import Effort
from holdfast.encode.wordpiece import is_ordinary
from holdfast.index.plain import found_by_words, open_index
from holdfast.index.projection import Update
from holdfast.model import identifiers
from holdfast.model.ranking import WEIGHTS, Filter, Found, Question, RankCandidate, rank
from holdfast.model.words import query_terms
from indexes import NOW, opened, row

pytestmark = pytest.mark.anyio

FAMILIES = [
    "deploy", "deployment", "deployed", "crane", "cranes", "release", "released", "releases", "test", "testing",
    "config", "configuration",
]  # fmt: skip
NAMES = [
    "retry_limit", "retry-limit", "retryLimit", "CR-17", "quay_config.toml", "YubiHSM", "8443", "v2.1",
    "kafka-timeout", "kafka", "timeout",
]  # fmt: skip
SCRIPTS = ["ചായ", "കാപ്പി", "灯台のランプ", "點檢", "маяк", "φάρος"]
EVERYWHERE = ["harbour", "project"]  # words of most notes
NEARLY = 1e-4  # a server keeps shares as numbers of four bytes


@dataclass(frozen=True)
class World:
    """Words by how often they come: few in most notes, most in few."""

    dice: random.Random
    words: list[str]

    def word(self) -> str:
        kind = self.dice.random()
        if kind < 0.08:
            return self.dice.choice(NAMES)
        if kind < 0.2:
            return self.dice.choice(FAMILIES)
        if kind < 0.25:
            return self.dice.choice(SCRIPTS)
        return self.words[min(len(self.words) - 1, int(self.dice.paretovariate(0.7)) - 1)]

    def text(self, most: int) -> str:
        words = [self.word() for _ in range(self.dice.randint(2, most))]
        return " ".join(words + [each for each in EVERYWHERE if self.dice.random() < 0.8])

    def question(self) -> str:
        kind = self.dice.random()
        if kind < 0.15:  # a pasted log
            return self.text(120)
        if kind < 0.3:  # with words that nothing has
            return f"{self.text(6)} zeppelin{self.dice.random()} {' '.join(EVERYWHERE)}"
        return self.text(8)


def worth(found: Found, each: RankCandidate) -> float:
    """By which a candidate is one."""
    return each.coverage + WEIGHTS.rare * len(each.held) / max(1, len(found.rare))


def assert_same(ours: Found, theirs: Found, asked: str) -> None:
    """The same notes by the same words with the same shares; of those that are worth as little as the last, any."""
    assert (ours.unknown, dict(ours.rare), ours.notes) == (theirs.unknown, dict(theirs.rare), theirs.notes), asked
    assert len(ours.candidates) == len(theirs.candidates), asked
    one, other = ({each.id: each for each in found.candidates} for found in (ours, theirs))
    for note in one.keys() & other.keys():
        assert one[note].coverage == pytest.approx(other[note].coverage, abs=NEARLY), asked
        assert set(one[note].matched) == set(other[note].matched), asked
        assert one[note].held == other[note].held, asked
    least = min((worth(theirs, each) for each in theirs.candidates), default=0.0)
    for note in one.keys() ^ other.keys():
        assert worth(ours, one.get(note) or other[note]) == pytest.approx(least, abs=NEARLY), asked


def told(found: Found, asked: str, strange: frozenset[str]) -> list[float]:
    """How relevant the first ones are."""
    return [item.relevance for item in rank(found, Question(asked, "work", extraordinary=strange))[:10]]


@pytest.mark.parametrize(("rare_rows", "enough"), [(1500, 50), (12, 3)])
async def test_a_hook_finds_what_a_server_finds(rare_rows: int, enough: int, tmp_path: Path, effort: Effort) -> None:
    """With the smaller numbers most questions have words that are only looked for where a rarer one was found."""
    dice = random.Random(rare_rows)  # noqa: S311 - no secret
    world = World(dice, [f"word{number}" for number in range(400)])
    path = tmp_path / "index.db"
    compared = 0
    async with opened(path, extension=False) as index:
        notes = [
            row(number, world.text(30), outdated=dice.random() < 0.2, space=dice.choice(["work", "home"]))
            for number in range(effort.of(300, 3000))
        ]
        await index.apply(Update(notes=notes))
        connection = open_index(path.as_uri())
        assert connection is not None
        with patch.object(identifiers, "_RARE_ROWS", rare_rows), patch.object(identifiers, "_ENOUGH", enough):
            for _ in range(effort.of(150, 3000)):
                asked = world.question()
                strange = frozenset(term for term in query_terms(asked) if not is_ordinary(term))
                theirs = await index.read(
                    lambda view, asked=asked, strange=strange: view.search(  # type: ignore[misc]
                        asked, None, Filter(now=NOW), extraordinary=strange
                    )
                )
                ours = found_by_words(connection, asked, NOW, strange)
                assert_same(ours, theirs, asked)
                assert told(ours, asked, strange) == pytest.approx(told(theirs, asked, strange), abs=0.01), asked
                compared += len(ours.candidates)
        connection.close()
    assert compared > 1000
