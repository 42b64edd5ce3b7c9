"""What is a candidate, what a batch holds, what the journal tells again; and that a round comes to every note."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine import candidates as finding
from holdfast.engine.judging import EdgeVerdict
from holdfast.engine.maintain import Verdicts, find_work, judge
from holdfast.engine.ports import Caller
from holdfast.engine.remembered import judgement, remembered
from holdfast.errors import BatchNotFoundError
from holdfast.model.maintenance import (
    BUDGET_TOKENS,
    KINDS,
    SHOWN_CHARACTERS,
    Candidate,
    Near,
    Text,
    candidates,
    composite,
    cosine,
    majority_space,
    shown_text,
    weight_of,
    within_budget,
)
from holdfast.model.memory import Note
from worlds import CALLER, WordBag, keep, living

WHEN = "2026-10-01T00:00:00Z"


def text(number: int, content: str = "The crane lifts forty tonnes.", **given: Any) -> Text:
    note = Note(f"mem_{number:016d}", content, given.pop("title", "Crane"), WHEN, WHEN, **given)
    return Text(note, f"hash {number}")


def near(one: Text, likeness: float = 0.95, **given: Any) -> Near:
    known = {"judged": frozenset[str](), "edges": frozenset[str](), "automatic": frozenset[str]()}
    return Near(one, likeness, **known | {key: frozenset(value) for key, value in given.items()})


def kinds_of(seed: Text, *others: Near) -> list[str]:
    return [kind for kind in KINDS if candidates(kind, seed, others)]


def test_a_like_pair_of_one_type_and_space_is_asked_about_in_every_way() -> None:
    assert kinds_of(text(1), near(text(2))) == ["links", "conflicts", "merges"]
    assert kinds_of(text(1), near(text(2), 0.1)) == []


def test_what_was_judged_or_linked_is_left_out_and_what_linked_itself_is_not() -> None:
    seed, other = text(1), text(2)
    assert kinds_of(seed, near(other, judged={"none"})) == []
    assert kinds_of(seed, near(other, judged={"no_merge"})) == ["links", "conflicts"]
    assert kinds_of(seed, near(other, edges={"supports"})) == ["conflicts", "merges"]
    assert kinds_of(seed, near(other, edges={"related_to"}, automatic={"related_to"})) == kinds_of(seed, near(other))
    assert kinds_of(seed, near(other, edges={"contradicts"})) == ["merges"]
    assert "merges" not in kinds_of(seed, near(other, edges={"derived_from"}))


def test_types_spaces_and_tiers_are_respected() -> None:
    assert kinds_of(text(1), near(text(2, type="procedure"))) == ["links"]
    assert kinds_of(text(1), near(text(2, space="work"))) == ["links", "conflicts"]
    assert kinds_of(text(1, tier="archival"), near(text(2, tier="archival"))) == []


def test_a_cluster_has_three_to_five_working_notes_of_one_space_none_of_them_consolidated() -> None:
    like = [near(text(number)) for number in range(2, 9)]
    [found] = candidates("consolidations", text(1), like)
    assert len(found.texts) == 5
    assert found.texts[0] == text(1)
    assert candidates("consolidations", text(1), like[:1]) == []
    assert candidates("consolidations", text(1, tags=("consolidated",)), like) == []
    assert candidates("consolidations", text(1), [near(text(2)), near(text(3), judged={"no_consolidation"})]) == []
    assert candidates("consolidations", text(1), [near(text(2)), near(text(3), judged={"related_to"})]) != []


def test_the_composite_is_between_nothing_and_the_same() -> None:
    one, other = text(1).note, text(2, "Ada prefers tea.", title="Tea").note
    assert composite(1.0, one, one) == pytest.approx(1.0)
    assert composite(0.0, one, other) < 0.2
    assert composite(0.7, one, replace(one, title="")) < composite(0.7, one, one)


def test_weights_are_real() -> None:
    assert [weight_of(likeness) for likeness in (0.0, 0.5, 0.777, 3.0)] == [0.5, 0.5, 0.78, 1.0]


def test_the_majority_has_the_space_and_of_equals_the_first() -> None:
    notes = [replace(text(1).note, space=space) for space in ("a", "b", "b")]
    assert majority_space(notes) == "b"
    assert majority_space(notes[:2]) == "a"


def test_a_shown_text_is_cut_at_a_word() -> None:
    assert shown_text("short") == "short"
    cut = shown_text("word " * 1000)
    assert len(cut) <= SHOWN_CHARACTERS + 2
    assert cut.endswith("word …")


def test_a_budget_is_shared_in_turns_a_note_is_paid_once_and_something_is_always_shown() -> None:
    long = [text(number, "word " * 160) for number in range(60)]
    pairs = [Candidate("links", (long[at], long[at + 1]), 0.9) for at in range(0, 60, 2)]
    counts = within_budget([pairs, pairs])
    assert counts[0] == counts[1] > 5
    assert within_budget([pairs[:15], pairs[15:]])[0] < counts[0]
    assert within_budget([pairs], 1) == [1]
    assert within_budget([pairs, []], BUDGET_TOKENS * 100) == [30, 0]


def test_cosines_of_stored_vectors_are_those_of_numpy() -> None:
    bag = WordBag()
    one, other = bag._vector("grey ship"), bag._vector("grey vessel")
    assert cosine(one, one) == pytest.approx(1.0, abs=1e-5)
    assert 0.1 < cosine(one, other) < 0.9


@pytest.mark.parametrize(
    "line",
    [
        {"op": "remember"},
        {"judged": "no list"},
        {"judged": [["a", "b", "c"], ["a", "b", "c", "d", "verdict of later times"]]},
        {"op": "maintenance_batch", "by": "x", "at": WHEN, "batch": {"id": 3}, "cursors": {"weather": ["a", "b"]}},
    ],
)
def test_lines_that_are_none_of_ours_tell_nothing(line: dict[str, Any]) -> None:
    assert remembered({**line, "seq": 1}) is None


def test_a_judgement_is_the_same_whichever_note_comes_first() -> None:
    assert judgement(("b", "2"), ("a", "1"), "none") == judgement(("a", "1"), ("b", "2"), "none")


async def pairs_in_a_row(memory: Any, calls: int) -> list[frozenset[str]]:
    """What calls one after the other offer, none of it ever judged."""
    found: list[frozenset[str]] = []
    for _ in range(calls):
        batch = await memory.attend(lambda ports: find_work(ports, CALLER, ["links"], 3))
        found += [frozenset(text.note.content for text in item.texts) for item in batch.items["links"]]
    return found


@pytest.mark.anyio
async def test_a_round_comes_to_every_note_and_new_ones_do_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "SEEDS", 4)
    words = ["anchor", "beacon", "cargo", "derrick", "engine", "ferry", "gull", "hawser", "island", "jetty"]
    pairs = [frozenset({f"{word} {word}s of old", f"{word} {word}s of late"}) for word in words]
    async with living(tmp_path, encoder=WordBag()) as memory:
        for content in random.Random(1).sample([content for pair in pairs for content in pair], 20):  # noqa: S311 - order
            await keep(memory, content)
        seen = await pairs_in_a_row(memory, 2)
        assert len(set(seen)) < 8
        await keep(memory, "kelp kelps of old")
        await keep(memory, "kelp kelps of late")
        assert frozenset({"kelp kelps of old", "kelp kelps of late"}) in await pairs_in_a_row(memory, 1)
        seen += await pairs_in_a_row(memory, 8)
        assert set(pairs) <= set(seen)


@pytest.mark.anyio
async def test_a_round_goes_on_where_a_slice_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "SEEDS", 4)
    async with living(tmp_path, encoder=WordBag()) as memory:
        for word in ("anchor", "beacon", "cargo", "derrick", "engine", "ferry", "gull", "hawser", "island"):
            await keep(memory, word)
        await keep(memory, "kelp kelps of old")
        await keep(memory, "kelp kelps of late")
        assert await pairs_in_a_row(memory, 2) == []
        assert len(await pairs_in_a_row(memory, 1)) == 1
        lines = len(await memory.ports.store.journal_since("", 1000) or ())
        await pairs_in_a_row(memory, 3)
        assert len(await memory.ports.store.journal_since("", 1000) or ()) == lines + 3


@pytest.mark.anyio
async def test_a_memory_that_is_seen_whole_and_has_nothing_is_looked_at_without_a_trace(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "The crane lifts forty tonnes.")
        lines = len(await memory.ports.store.journal_since("", 1000) or ())
        assert await pairs_in_a_row(memory, 3) == []
        assert len(await memory.ports.store.journal_since("", 1000) or ()) == lines


@pytest.mark.anyio
async def test_a_batch_is_the_callers_own_and_open_in_every_process(tmp_path: Path) -> None:
    stranger = Caller("work", "a test", "pytest", "somebody else")
    async with living(tmp_path) as first, living(tmp_path) as second:
        ids = [(await keep(first, f"The crane lifts forty tonnes, {more}.")).note.id for more in ("always", "mostly")]
        batch = await first.attend(lambda ports: find_work(ports, CALLER))
        verdicts = Verdicts([EdgeVerdict(*ids, "supports")])
        with pytest.raises(BatchNotFoundError):
            await judge(second, stranger, verdicts, batch.id)
        [outcome] = await judge(second, CALLER, verdicts, batch.id)
        assert outcome.status == "applied"
