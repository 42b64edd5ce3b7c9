"""What of its hits an answer shows: passages of long notes, a line for weak ones, and the rest by name."""

from __future__ import annotations

import re
from statistics import mean

from rs_bpe import openai

from served import Agent

TOKENIZER = openai.o200k_base()
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
    assert mean(TOKENIZER.count(f"{line}\n") for line in lines) < 30


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
