"""What of its hits an answer shows: passages of long notes, a line for weak ones, and the rest by name."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from secrets import randbits
from statistics import mean

import pytest

from counts import TOKENIZER, most_counted
from holdfast.engine.agent.answer import Hit
from holdfast.engine.agent.doubting import bare
from holdfast.engine.agent.matters import Earlier
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.ports import Caller
from holdfast.model.note import RANDOM_BITS, Note, note_id
from holdfast.model.passages import Passage, budget_of, passage
from holdfast.model.ranking import Ranked
from holdfast.tools import render
from holdfast.tools.fitting import new_mark
from served import Agent

FILLER = "The harbour office keeps a list of every vessel that was moored. "
LONG = f"# Log\n\n{FILLER * 200}\n\n## Accident\n\nThe hook broke because it was never oiled.\n\n{FILLER * 200}"


def heads(text: str) -> list[str]:
    """The lines that begin the notes of an answer, without the mark."""
    (mark,) = re.findall(r"^<note ([0-9a-f]{8})>$", text, re.MULTILINE)
    return [line.removeprefix(f"{mark} ") for line in text.splitlines() if line.startswith(f"{mark} mem_")]


async def test_of_a_long_note_the_passage_that_answers_is_shown_in_both_forms(agent: Agent) -> None:
    stored = await agent.remember(LONG)
    answer = await agent.recall("the hook broke because it was never oiled")
    (hit,) = answer["results"]
    assert "## Accident" in hit["content"]
    assert "The hook broke because it was never oiled." in hit["content"]
    assert len(hit["content"]) < 2000
    assert hit["cut"] > 20_000
    assert hit["content"] in answer.text
    assert f"+{hit['cut']:,} characters" in heads(answer.text)[0]
    assert answer.text.splitlines()[-1 - len(answer["notices"])] == "recall_node shows a note whole."
    assert (await agent.node(stored["id"]))["content"].strip() == LONG.strip()


async def test_weak_hits_cost_a_line_each_at_most_three_and_the_others_are_named(agent: Agent) -> None:
    for number in range(8):
        await agent.remember(f"Crane {number} is here.\n\nIt was painted.")
    answer = await agent.recall("crane insurance policy renewal", explain=True)
    assert len(answer.found) == 8
    assert all(hit["weak"] for hit in answer["results"])
    shown = heads(answer.text)
    assert len(shown) == 3
    assert all("WEAK MATCH Crane" in line for line in shown)
    assert "It was painted" not in answer.text
    assert all(note_id in answer.text for note_id in answer.found)


ALWAYS = {"id", "title", "content", "relevance", "weak"}
USUAL = {"tier", "confidence", "event_time", "cut", "score", "source", "why"}
CRANES = ("north", "south", "old", "new", "small", "large", "red", "blue", "rail", "tower")


async def test_of_many_hits_a_program_gets_strong_ones_whole_three_weak_ones_as_a_line_and_the_rest_by_id(
    agent: Agent,
) -> None:
    answer_text = "The insurance policy of the harbour crane is renewed every March by Anna."
    wanted = await agent.remember(answer_text)
    for name in CRANES:
        title = f"Crane {name}" if name in ("old", "red") else None
        await agent.remember(f"The {name} crane is here. It was painted {'and greased ' * 20}last spring.", title=title)
    answer = await agent.recall("who renews the crane's insurance policy, and when?", limit=10)
    strong, weak = ([hit for hit in answer["results"] if hit["weak"] is doubtful] for doubtful in (False, True))
    assert [(hit["id"], hit["content"]) for hit in strong] == [(wanted["id"], answer_text)]
    assert len(weak) > 4
    assert all(hit.keys() >= ALWAYS for hit in answer["results"])
    assert all(hit["title"] or hit["content"] for hit in weak[:3])
    assert not any("painted" in hit["content"] for hit in weak)
    assert all(hit.keys() == ALWAYS and not hit["title"] and not hit["content"] for hit in weak[3:])
    assert answer["omitted"] == {"count": 0, "ids": []}
    told = json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
    assert TOKENIZER.count(told) < 700


async def test_of_many_strong_hits_what_is_usual_is_left_out_and_what_is_not_is_told(agent: Agent) -> None:
    for number in range(12):
        await agent.remember(f"The crane number {number} lifts forty tonnes.")
    core = await agent.remember(
        "The yard crane lifts forty tonnes.", tier="core", confidence=0.8, event_time="2026-03-01"
    )
    answer = await agent.recall("crane lifts forty tonnes", limit=20)
    assert len(answer.found) == 13
    shown = {hit["id"]: hit for hit in answer["results"]}
    special = shown.pop(core["id"])
    assert (special["tier"], special["confidence"], special["event_time"]) == ("core", 0.8, "2026-03-01T00:00:00Z")
    for hit in shown.values():
        assert hit["content"].endswith("lifts forty tonnes.")
        assert hit.keys() >= ALWAYS | {"type", "space", "created", "outdated"}
        assert not hit.keys() & USUAL
    explained = await agent.recall("crane lifts forty tonnes", limit=20, explain=True)
    assert all(hit.keys() >= ALWAYS | USUAL for hit in explained["results"])


async def test_of_few_hits_everything_is_told_of_weak_ones_too(agent: Agent) -> None:
    await agent.remember("The crane lifts forty tonnes.")
    (hit,) = (await agent.recall("crane insurance policy renewal"))["results"]
    assert hit["weak"]
    assert hit["content"] == "The crane lifts forty tonnes."
    assert hit.keys() >= ALWAYS | USUAL


async def test_what_is_beside_a_doubtful_hit_is_not_told(agent: Agent) -> None:
    crane = (await agent.remember("The crane lifts forty tonnes."))["id"]
    await agent.remember("Gulls nest there.", links=[{"to": crane, "type": "depends_on"}])
    assert (await agent.recall("crane insurance policy renewal"))["related"] == []
    assert len((await agent.recall("crane insurance policy renewal", explain=True))["related"]) == 1
    assert len((await agent.recall("crane lifts forty tonnes"))["related"]) == 1


async def test_a_retired_hit_tells_since_when_why_and_what_holds_now_on_one_line(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.", event_time="2026-02-01")
    new = await agent.remember("Since June it lifts fifty.")
    await agent.outdate(old["id"], reason="new\nmotor", superseded_by=new["id"])
    answer = await agent.recall("the crane lifts forty tonnes", include_outdated=True)
    (line,) = [line for line in heads(answer.text) if old["id"] in line]
    assert re.search(rf" OUTDATED since \d{{4}}-\d\d-\d\d: new motor; now: {new['id']}$", line)
    (hit,) = [hit for hit in answer["results"] if hit["id"] == old["id"]]
    assert hit["why"].startswith(line[line.index("OUTDATED") :])


async def test_a_space_is_told_where_it_is_another_than_the_one_asked_from(agent: Agent) -> None:
    here = await agent.remember("The crane is red.")
    there = await agent.remember("The crane is blue.", space="other")
    found = {line.split()[0]: line for line in heads((await agent.recall("crane")).text)}
    assert " space other" in found[there["id"]]
    assert "space" not in found[here["id"]]


async def test_what_is_told_of_a_hit_beside_its_text_costs_less_than_thirty_tokens(agent: Agent) -> None:
    for number in range(10):
        await agent.remember(f"The crane number {number} lifts forty tonnes.", type="decision")
    text = (await agent.recall("crane lifts forty tonnes")).text
    lines = [line for line in text.splitlines() if re.match(r"[0-9a-f]{8} mem_", line)]
    assert len(lines) == 10
    rests = [line.split(maxsplit=2)[2] for line in lines] * 20  # of marks and ids some cost twice as much as others
    ids = [note_id(randbits(39) + 2**40, randbits(RANDOM_BITS)) for _ in rests]  # of the years from 2004 to 2022
    assert mean(TOKENIZER.count(f"{new_mark()} {each} {rest}\n") for each, rest in zip(ids, rests, strict=True)) < 30


async def test_memory_recall_shows_the_passage_and_says_how_to_read_the_rest(agent: Agent) -> None:
    stored = await agent.remember(LONG)
    (memory,) = await agent.omi("memory_recall", query="the hook broke because it was never oiled", min_relevance=0.0)
    assert "never oiled" in memory["content"]
    assert len(memory["content"]) < 2000
    assert memory["content"].endswith(f' more characters: recall_node("{stored["id"]}"))')


async def test_a_larger_limit_has_room_for_more(agent: Agent) -> None:
    for number in range(30):
        await agent.remember(f"The crane number {number} lifts forty tonnes.")
    assert len((await agent.recall("crane lifts forty tonnes", limit=30)).found) == 30


async def test_a_long_note_leaves_room_for_others_at_the_start_of_a_session(agent: Agent) -> None:
    long = await agent.remember(LONG, tier="core")
    other = await agent.remember("Ships over 80 m need a pilot.", tier="core")
    (message,) = (await agent.client.get_prompt("session_start", {})).messages
    text = str(message.content.text)
    assert long["id"] in text
    assert other["id"] in text
    assert "more characters: recall_node" in text


def test_no_weak_match_reads_as_if_it_reached_the_line_of_a_strong_one() -> None:
    caller = Caller("harbour", "here", "test")
    note = Note("mem_01aaaaaaaaaaaaaa", "A crane.", "A crane.", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z")
    for relevance, shown in ((0.6999, ".69"), (0.7, ".70"), (0.996, "1"), (0.65, ".65")):
        hit = Hit(note, Ranked(bare(note), 0.5, relevance), shown=Passage("A crane."))
        found = Recalled((hit,), (), (), budget_of(None), None, None, "evt_1", ())
        assert f" fact 2026-03-01 {shown}" in render.text_of(found, caller)


def test_no_time_is_claimed_that_only_a_note_without_room_is_from() -> None:
    caller = Caller("harbour", "here", "test")
    may, october = "2026-05-01T00:00:00Z", "2026-10-10T00:00:00Z"
    first = Note("mem_01aaaaaaaaaaaaaa", "The gate fee.", "The gate fee is forty euros.", may, may)
    second = Note("mem_01bbbbbbbbbbbbbb", "Asked again.", f"Asked again. {FILLER * 12}", october, october)
    hits = tuple(Hit(note, Ranked(bare(note), 0.5, 0.9), shown=Passage(note.content)) for note in (first, second))
    found = Recalled(hits, (), (), budget_of(None), "2026-10-01T00:00:00Z", "2026-10-31T23:59:59Z", "evt_1", ())
    assert render.structured_of(found, caller)["read_as"]["after"] == "2026-10-01T00:00:00Z"
    assert "2026-10-01T00:00:00Z to 2026-10-31T23:59:59Z." in render.text_of(found, caller)
    alone = {"structure": 0, "text": 0}
    for tokens in range(100, 500, 10):
        little = replace(found, budget=budget_of(tokens))
        shape, text = render.structured_of(little, caller), render.text_of(little, caller)
        if [hit["id"] for hit in shape["results"]] == [first.id]:
            alone["structure"] += 1
            assert shape["read_as"]["after"] is None
        if first.content in text and FILLER.strip() not in text and "Asked again" not in text:
            alone["text"] += 1
            assert "2026-10-01" not in text
    assert all(alone.values()), alone
    within = replace(found, budget=budget_of(260), given=("2026-01-01T00:00:00Z", None))
    shape = render.structured_of(within, caller)
    assert [hit["id"] for hit in shape["results"]] == [first.id]
    assert shape["read_as"]["after"] == "2026-01-01T00:00:00Z", "what the caller asked for holds"


async def test_a_small_budget_still_shows_a_program_what_was_found_first(agent: Agent) -> None:
    note = await agent.remember("INC-48813 was caused by an expired certificate on the gateway, found by Ottilie.")
    for budget in (200, 250, 300):
        answer = await agent.recall("INC-48813", budget=budget)
        (hit,) = answer["results"]
        assert hit["id"] == note["id"]
        assert hit["content"].startswith("INC-48813 was caused by an expired certificate on the")
        assert answer["omitted"] == {"count": 0, "ids": []}


INTEGERS = "Serial numbers: " + " ".join(str(2**number % 9_999_991) for number in range(5500))


@pytest.mark.parametrize("budget", [800, 3000, 12_000])
async def test_a_note_of_numbers_keeps_within_the_budget(agent: Agent, budget: int) -> None:
    await agent.remember(INTEGERS)
    answer = await agent.recall("serial numbers", budget=budget)
    told = json.dumps(answer.structured, ensure_ascii=False, separators=(",", ":"))
    assert max(map(most_counted, (answer.text, told))) <= budget
    assert TOKENIZER.count(answer.text) > budget * 0.6


async def test_a_page_of_a_note_of_numbers_keeps_within_what_a_page_may_cost(agent: Agent) -> None:
    stored = await agent.remember(INTEGERS)
    first = await agent.node(stored["id"])
    assert 11_000 < most_counted(first["content"]) <= 12_000
    assert (await agent.whole(stored["id"])).strip() == INTEGERS


def hit_of(content: str, *terms: str) -> Hit:
    day = "2026-03-01T00:00:00Z"
    note = Note("mem_01aaaaaaaaaaaaaa", content[:40], content, day, day)
    return Hit(note, Ranked(bare(note), 0.5, 0.9), shown=passage(content, terms, 500), terms=terms)


@pytest.mark.parametrize("filler", [FILLER, "Контора ведёт список судов. ", "繩索每週檢查一次。", "เชือกและโคมไฟในห้อง "])
@pytest.mark.parametrize("budget", [300, 400, 500, 600, 800])
def test_where_a_passage_has_no_room_a_shorter_one_with_the_same_words_is_shown(filler: str, budget: int) -> None:
    caller = Caller("harbour", "here", "test")
    hit = hit_of(f"{filler * 60}The lock is KX-7741. {filler * 60}", "kx", "7741")
    found = Recalled((hit,), (), (), budget_of(budget), None, None, "evt_1", ("A notice that takes its room. " * 6,))
    text, shape = render.text_of(found, caller), render.structured_of(found, caller)
    assert "KX-7741" in text
    assert "KX-7741" in shape["results"][0]["content"]
    assert TOKENIZER.count(text) <= budget
    assert TOKENIZER.count(json.dumps(shape, ensure_ascii=False, separators=(",", ":"))) <= budget


def test_in_the_smallest_budget_a_program_is_told_the_first_note_before_all_else() -> None:
    caller = Caller("harbour", "where the server was started", "test")
    hit = hit_of("The lock of the north gate is opened with the key KX-7741 at seven.", "kx", "7741")
    event = "evt_01m7zajwtv65zmnk"
    found = Recalled((hit,), (), (), budget_of(150), None, None, event, ())
    shape = render.structured_of(found, caller)
    assert [each["id"] for each in shape["results"]] == [hit.note.id]
    assert TOKENIZER.count(json.dumps(shape, ensure_ascii=False, separators=(",", ":"))) <= 150
    assert render.structured_of(replace(found, budget=budget_of(1)), caller)["event_id"] == event
    assert render.structured_of(replace(found, hits=()), caller)["event_id"] == event


@pytest.mark.parametrize("notices", [(), ("A notice that takes its room. " * 6,)])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_in_the_smallest_budget_a_model_is_shown_the_first_note_before_all_else(
    notices: tuple[str, ...], count: int
) -> None:
    caller = Caller("harbour", "HOLDFAST_SPACE", "test")
    first, long = hit_of("The tide table hangs in the kitchen.", "tide"), hit_of(f"{FILLER * 60}", "tide")
    others = [replace(long, note=replace(long.note, id=f"mem_01baaaaaaaaaaaa{place}")) for place in range(count - 1)]
    found = Recalled((first, *others), (), (), budget_of(None), None, None, "evt_01m7zajwtv65zmnk", notices)
    for budget in range(1, 300, 3):
        little = replace(found, budget=budget_of(budget))
        text, shape = render.text_of(little, caller), render.structured_of(little, caller)
        told = json.dumps(shape, ensure_ascii=False, separators=(",", ":"))
        assert budget < 60 or first.note.content in text, (budget, text)
        assert budget < 45 or first.note.id in text
        assert budget < 120 or first.note.id in told
        assert budget < 150 or [each["id"] for each in shape["results"]][:1] == [first.note.id]
        assert budget < 40 or TOKENIZER.count(text) <= budget
        assert budget < 110 or TOKENIZER.count(told) <= budget


def test_where_room_is_short_a_weak_hit_is_cut_before_the_note_that_alone_says_it_is_left_out() -> None:
    caller = Caller("harbour", "here", "test")
    why = "so that whoever works at the mill on the other bank is there before the first shift begins"
    hit, old = hit_of(f"Route 7 leaves the depot at 5:55 now, {why}."), hit_of("Route 7 ends at the harbour.").note
    old = replace(old, id="mem_01bbbbbbbbbbbbbb")
    weak = Hit(hit.note, Ranked(bare(hit.note), 0.3, 0.5, untold=(old.id,)), (Earlier(old, 60),), shown=hit.shown)
    shown = set()
    for tokens in range(100, 400, 2):
        text = render.text_of(Recalled((weak,), (), (), budget_of(tokens), None, None, "evt_1", ()), caller)
        shown.add((why in text, "ends at the harbour" in text))
    assert {(False, True), (True, True)} <= shown


def test_a_note_that_is_shown_in_the_smallest_budget_is_marked_as_doubtful_and_as_outdated() -> None:
    caller = Caller("harbour", "HOLDFAST_SPACE", "test")
    hit = hit_of("The tide table\n</note>\nhangs in the kitchen.", "tide")
    note = replace(hit.note, title="The tide\x07 table <b>", outdated=True)
    weak = replace(hit, note=note, ranked=Ranked(bare(note), 0.3, 0.5))
    found = Recalled((weak,), (), (), budget_of(75), None, None, "evt_1", ())
    heading, line = render.text_of(found, caller).splitlines()
    assert heading == "1 note, asked from space harbour (HOLDFAST_SPACE)."
    assert line == f'First: {note.id} WEAK MATCH OUTDATED "The tide table \u2039b\u203a"'
