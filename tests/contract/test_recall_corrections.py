"""recall and corrections: the newest word on a thing stands for the older ones, which are history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.runtime import Memory
from served import kept_in
from worlds import CALLER, ask, keep, living

pytestmark = pytest.mark.anyio

HEMP, STEEL, SLING = "The gantry hangs on hemp rope.", "Hoisting is done by steel cable.", "A dyneema sling it is now."
OLD_WORDS = "gantry hemp rope"


@pytest.fixture
async def memory(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Memory]:
    async with living(tmp_path) as running:
        yield running


async def kept(memory: Memory, content: str, *replaces: str, **given: Any) -> str:
    return (await keep(memory, content, supersedes=replaces, **given)).note.id


async def chain(memory: Memory, **given: Any) -> tuple[str, str, str]:
    """Three notes of which each replaces the one before it, without a word in common."""
    first = await kept(memory, HEMP)
    second = await kept(memory, STEEL, first)
    return first, second, await kept(memory, SLING, second, **given)


async def retire(memory: Memory, note_id: str, successor: str | None = None) -> None:
    await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note_id, "wrong", successor)))


def by_hand(tmp_path: Path, number: int, body: str, **front: str) -> str:
    """A note as somebody with an editor leaves it; its id is told by its number."""
    note_id = f"mem_01aaaaaaaaaaaa{number:02}"
    lines = "".join(f'{key}: "{value}"\n' for key, value in {"id": note_id, **front}.items())
    folder = kept_in(tmp_path) / "memories" / "work"
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath(f"{number}.md").write_text(f"---\n{lines}---\n{body}\n", "utf-8")
    return note_id


def hand_id(number: int) -> str:
    return f"mem_01aaaaaaaaaaaa{number:02}"


def ids(answer: Recalled) -> list[str]:
    return [hit.note.id for hit in answer.hits]


def scores(answer: Recalled) -> list[float]:
    return [hit.ranked.score for hit in answer.hits]


# --- chains ---------------------------------------------------------------------------------------


async def test_the_words_of_the_oldest_note_find_the_newest_of_its_chain_alone(memory: Memory) -> None:
    first, _, third = await chain(memory)
    (hit,) = (await ask(memory, OLD_WORDS)).hits
    assert hit.note.id == third
    assert f"replaces {first} (words: gantry, hemp, rope)" in hit.ranked.why


async def test_a_successor_is_worth_a_little_less_than_the_words_that_led_to_it(memory: Memory) -> None:
    await kept(memory, HEMP)
    (before,) = (await ask(memory, HEMP)).hits
    await kept(memory, SLING, before.note.id)
    (after,) = (await ask(memory, HEMP)).hits
    assert 0.8 * before.ranked.relevance < after.ranked.relevance < before.ranked.relevance


async def test_a_successor_that_does_not_name_what_is_asked_for_is_not_doubted(memory: Memory) -> None:
    old = await kept(memory, "The supplier of our corks is Amorim.")
    new = await kept(memory, "We bottle with screw caps of Vinotwist.", old)
    (hit,) = (await ask(memory, "who is the supplier of our corks?")).hits
    assert (hit.note.id, hit.ranked.weak, hit.ranked.doubt) == (new, False, "")


async def test_of_a_question_that_asks_back_what_alone_says_it_stands_once_behind_its_successor(memory: Memory) -> None:
    old = await kept(memory, "Route 7 (driver Pavel, bus 31) leaves the depot at 5:40 and ends at the harbour.")
    await kept(memory, "Route 7 leaves the depot at 5:55 now.", old)
    (hit,) = (await ask(memory, "Which bus did route 7 use?")).hits
    assert [item.note.id for item in hit.earlier] == [old]


async def test_a_successor_that_is_found_by_itself_is_told_once(memory: Memory) -> None:
    first, second, third = await chain(memory)
    answer = await ask(memory, f"{HEMP} {STEEL} {SLING}")
    assert ids(answer) == [third]
    assert not {first, second} & {item.note.id for item in answer.related}


async def test_however_long_a_chain_is_its_end_is_found(tmp_path: Path) -> None:
    count = 130
    folder = kept_in(tmp_path) / "memories" / "work"
    folder.mkdir(parents=True)
    for number in range(count):
        note_id, following = f"mem_01aaaaaaaaaaa{number:03}", f'superseded_by: "mem_01aaaaaaaaaaa{number + 1:03}"\n'
        text = f'---\nid: "{note_id}"\n{following if number < count - 1 else ""}---\n{HEMP if number == 0 else SLING}\n'
        folder.joinpath(f"{number}.md").write_text(text, "utf-8")
    async with living(tmp_path) as memory:
        assert ids(await ask(memory, OLD_WORDS)) == [f"mem_01aaaaaaaaaaa{count - 1:03}"]


@pytest.mark.parametrize("through", ["supersedes", "mark_outdated"])
async def test_it_makes_no_difference_which_tool_named_the_successor(memory: Memory, through: str) -> None:
    old = await kept(memory, HEMP)
    new = await kept(memory, SLING, *([old] if through == "supersedes" else []))
    if through == "mark_outdated":
        await retire(memory, old, new)
    assert ids(await ask(memory, OLD_WORDS)) == [new]


async def test_a_chain_whose_end_is_outdated_answers_nothing(memory: Memory) -> None:
    _, _, third = await chain(memory)
    await retire(memory, third)
    for words in (OLD_WORDS, STEEL, SLING):
        assert ids(await ask(memory, words)) == []


async def test_a_chain_whose_end_is_gone_answers_nothing(tmp_path: Path) -> None:
    by_hand(tmp_path, 1, HEMP, superseded_by=hand_id(2))
    by_hand(tmp_path, 2, STEEL, superseded_by=hand_id(3))
    async with living(tmp_path) as memory:
        assert ids(await ask(memory, OLD_WORDS)) == []


async def test_a_successor_whose_own_time_is_over_is_not_shown(tmp_path: Path) -> None:
    by_hand(tmp_path, 1, HEMP, superseded_by=hand_id(2))
    by_hand(tmp_path, 2, SLING, valid_until="2020-01-01")
    async with living(tmp_path) as memory:
        assert ids(await ask(memory, OLD_WORDS)) == []


async def test_of_what_is_over_it_is_said_since_when_and_not_what_it_told(tmp_path: Path) -> None:
    by_hand(tmp_path, 1, HEMP, valid_until="2020-01-01")
    async with living(tmp_path) as memory:
        found = await ask(memory, OLD_WORDS)
    assert ids(found) == []
    (notice,) = [each for each in found.notices if "left out by" in each]
    assert f"being over since 2020-01-01 (include_outdated shows it): {hand_id(1)}" in notice
    assert HEMP not in notice


SUCCESSOR: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"space": "elsewhere"}, {"spaces": ["work"]}),
    ({"type": "decision"}, {"types": ["fact"]}),
    ({"tier": "core"}, {"tiers": ["working"]}),
    ({"tags": ["other"]}, {"tags": ["rope"]}),
    ({"event_time": "2020-01-01"}, {"created_after": "2021-01-01"}),
]


@pytest.mark.parametrize(("given", "wanted"), SUCCESSOR)
async def test_a_successor_that_a_filter_keeps_out_is_not_shown(
    memory: Memory, given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    old = await kept(memory, HEMP, tags=["rope"])
    new = await kept(memory, SLING, old, **{"tags": ["rope"], **given})
    assert ids(await ask(memory, OLD_WORDS)) == [new]
    assert ids(await ask(memory, OLD_WORDS, **wanted)) == []


@pytest.mark.parametrize("wanted", [wanted for _, wanted in SUCCESSOR])
async def test_a_successor_that_passes_a_filter_is_shown(memory: Memory, wanted: dict[str, Any]) -> None:
    old = await kept(memory, HEMP, tags=["rope"])
    new = await kept(memory, SLING, old, tags=["rope"])
    assert ids(await ask(memory, OLD_WORDS, **wanted)) == [new]


# --- what hands do --------------------------------------------------------------------------------


async def test_rings_end_and_none_of_them_is_current(tmp_path: Path) -> None:
    by_hand(tmp_path, 1, HEMP, superseded_by=hand_id(2))  # leads into a ring of two
    by_hand(tmp_path, 2, STEEL, superseded_by=hand_id(3))
    by_hand(tmp_path, 3, SLING, superseded_by=hand_id(2))
    by_hand(tmp_path, 4, HEMP, superseded_by=hand_id(4))  # replaces itself
    async with living(tmp_path) as memory:
        everything = f"{HEMP} {STEEL} {SLING}"
        assert ids(await ask(memory, everything)) == []
        assert sorted(ids(await ask(memory, everything, include_outdated=True))) == [hand_id(n) for n in (1, 2, 3, 4)]


async def test_rings_of_evolution_end_too(tmp_path: Path) -> None:
    for number, other in ((1, 2), (2, 1)):
        name = by_hand(tmp_path, number, HEMP)
        file = kept_in(tmp_path) / "memories" / "work" / f"{number}.md"
        edge = f'connections: [{{"to": "{hand_id(other)}", "type": "evolved_from"}}]'
        file.write_text(f'---\nid: "{name}"\n{edge}\n---\n{HEMP} ({number})\n', "utf-8")
    async with living(tmp_path) as memory:
        assert sorted(ids(await ask(memory, OLD_WORDS))) == [hand_id(1), hand_id(2)]


async def test_a_file_of_another_system_that_says_what_it_was_merged_into_is_superseded_by_that(
    tmp_path: Path,
) -> None:
    by_hand(tmp_path, 1, HEMP, superseded_by=hand_id(2))
    by_hand(tmp_path, 2, STEEL, merged_into=hand_id(3))
    by_hand(tmp_path, 3, SLING)
    async with living(tmp_path) as memory:
        assert ids(await ask(memory, OLD_WORDS)) == [hand_id(3)]
        for given in ({}, {"explain": True}):
            assert hand_id(2) not in ids(await ask(memory, STEEL, **given))


# --- history --------------------------------------------------------------------------------------


async def test_with_include_outdated_the_history_is_told_newest_first(memory: Memory) -> None:
    first = await kept(memory, "The crane hangs on hemp rope.")
    second = await kept(memory, "The crane hangs on steel.", first)
    third = await kept(memory, "The crane: a sling.", second)
    answer = await ask(memory, "what rope does the crane hang on", include_outdated=True)
    assert ids(answer) == [third, second, first]
    assert scores(answer) == sorted(scores(answer), reverse=True)
    assert [hit.note.is_outdated for hit in answer.hits] == [False, True, True]


async def test_a_gap_in_the_history_does_not_put_the_old_above_the_new(memory: Memory) -> None:
    first = await kept(memory, "The crane hangs on hemp rope.")
    second = await kept(memory, "Something else altogether.", first)
    third = await kept(memory, "Crane: nothing to add here, it was sold to the shipyard.", second)
    assert ids(await ask(memory, "crane hangs on hemp rope", include_outdated=True)) == [third, first]


async def test_where_only_one_may_be_told_it_is_the_newest(memory: Memory) -> None:
    first = await kept(memory, "The crane hangs on hemp rope.")
    second = await kept(memory, "The crane: a sling.", first)
    assert ids(await ask(memory, "crane hangs on hemp rope", include_outdated=True, limit=1)) == [second]


async def test_with_include_outdated_a_chain_that_ended_is_told_and_marked(memory: Memory) -> None:
    first = await kept(memory, HEMP)
    last = await kept(memory, SLING, first)
    await retire(memory, last)
    answer = await ask(memory, OLD_WORDS, include_outdated=True)
    assert ids(answer) == [last, first]
    assert all(hit.note.is_outdated for hit in answer.hits)


# --- evolution ------------------------------------------------------------------------------------


async def evolved(memory: Memory) -> tuple[str, str, str]:
    """An older note that fits better, one that evolved from it, and one that has nothing to do with them."""
    older = await kept(memory, "The release plan of the crane project: ship in spring, test by hand.")
    newer = await kept(memory, "Release plan: tests run on every push.", links=[(older, "evolved_from")])
    return older, newer, await kept(memory, "The crane project has a plan.")


async def test_what_evolved_from_a_note_is_not_ranked_below_it(memory: Memory) -> None:
    older, newer, _ = await evolved(memory)
    answer = await ask(memory, "release plan of the crane project, ship in spring")
    assert ids(answer)[:2] == [newer, older]
    assert scores(answer) == sorted(scores(answer), reverse=True)
    assert f"newer than {older}" in answer.hits[0].ranked.why


async def test_what_evolved_is_no_reason_to_show_what_does_not_fit(memory: Memory) -> None:
    older = await kept(memory, HEMP)
    newer = await kept(memory, SLING, links=[(older, "evolved_from")])
    answer = await ask(memory, OLD_WORDS)
    assert ids(answer) == [older]  # it was not retired
    assert [(item.note.id, item.edge) for item in answer.related] == [(newer, "evolved_from")]


async def test_a_question_about_the_past_leaves_the_older_note_where_it_is(memory: Memory) -> None:
    older, newer, _ = await evolved(memory)
    found = ids(await ask(memory, "release plan of the crane project, ship in spring, originally?"))
    assert found.index(older) < found.index(newer)


async def test_evolution_is_followed_over_several_steps(memory: Memory) -> None:
    first = await kept(memory, "The crane hangs on hemp rope, says Ann.")
    second = await kept(memory, "The crane hangs on rope of steel.", links=[(first, "evolved_from")])
    third = await kept(memory, "Rope: a sling.", links=[(second, "evolved_from")])
    assert ids(await ask(memory, "the crane hangs on hemp rope, says Ann")) == [third, second, first]


async def test_what_evolved_from_a_hit_is_the_nearest_neighbour_but_for_contradictions(memory: Memory) -> None:
    hit = await kept(memory, HEMP)
    for text in ("Gulls.", "Sand.", "Lamps.", "Buoys.", "Ropes.", "Tides."):
        await kept(memory, text, links=[(hit, "depends_on")])
    newer = await kept(memory, SLING, links=[(hit, "evolved_from")])
    against = await kept(memory, "No such thing.", links=[(hit, "contradicts")])
    related = [item.note.id for item in (await ask(memory, OLD_WORDS)).related]
    assert related[:2] == [against, newer]
