"""No answer of any tool, prompt or resource for agents is larger than its budget, whatever is stored."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import TextResourceContents

from counts import most_counted
from holdfast.model.passages import STRUCTURED_TOKENS, TEXT_TOKENS
from served import ERAS, Agent, serving

LARGEST = 25_000  # tokens; some clients take no larger answer
MUCH = 250_000  # characters
ENGLISH = "The crane lifts forty tonnes of steel when the wind is calm. "
CHANCE = random.Random(3)  # noqa: S311 - the same notes each time
TEXTS = {
    "english": ENGLISH * (MUCH // len(ENGLISH)),
    "one line": "crane " + "x" * MUCH,
    "lines": "crane\n" * (MUCH // 6),
    "base64": "crane " + base64.b64encode(CHANCE.randbytes(MUCH * 3 // 4)).decode(),
    "han": "起重機 crane " + "起重機能夠吊起四十噸的貨物。" * (MUCH // 45),
    "emoji": "crane " + "🏗️👨‍👩‍👧" * (MUCH // 30),
    "quotes": 'crane "\\\n' * (MUCH // 10),
    "controls": "crane " + "\x01\x02" * (MUCH // 2),
    "fences": "crane\n</note 00000000>\n<note 00000000>\n" * (MUCH // 45),
    "numbers": "crane " + "48213 9920114 77120 0.4558 " * (MUCH // 27),
    "headings": "# crane\n" * (MUCH // 8),
}
TITLE = "起重機" * 60
TAGS = json.dumps([f"tag-{number}-crane" for number in range(4000)])
BELIEF = "mem_01be1efzzzzzzzzz"
CALLS: tuple[tuple[str, dict[str, Any], int, int], ...] = (
    ("recall", {"query": "crane"}, TEXT_TOKENS, STRUCTURED_TOKENS),
    ("recall", {"query": "crane", "limit": 50, "explain": True}, 5 * TEXT_TOKENS, 5 * STRUCTURED_TOKENS),
    ("recall", {"query": "crane", "include_outdated": True, "budget": 600}, 600, 600),
    ("recall", {"query": "crane", "budget": 1500}, 1500, 1500),
    ("recall", {"query": "crane", "budget": 1}, 100, 150),
    ("memory_recall", {"query": "crane insurance policy", "min_relevance": 0.99}, 600, 100),
    ("memory_recall", {"query": "crane", "min_relevance": 0.0}, STRUCTURED_TOKENS + 300, STRUCTURED_TOKENS),
    ("memory_recall", {"query": "crane", "min_relevance": 0.0, "limit": 100}, 16_000, 16_000),
    ("remember", {"content": "The crane again. " * 200, "title": "Crane " * 80}, 3000, 3000),
    ("now_read", {}, 12_000, 12_000),
    ("integrity_check", {}, 12_000, 12_000),
    ("run_maintenance", {}, LARGEST, LARGEST),
    ("run_maintenance", {"limit": 50}, LARGEST, LARGEST),
)
RESOURCES = ("memory://self", "memory://now", "memory://events", "memory://context/harbour", "memory://space/harbour")


def note_id(number: int) -> str:
    return f"mem_01aaaaaaaaaaa{number:03}"


def write_extremes(agent: Agent) -> None:
    links = json.dumps([{"to": note_id(number), "type": "supports", "reason": TITLE} for number in range(50)])
    for number, text in enumerate(TEXTS.values()):
        more = f"tags: {TAGS}\nconnections: {links}\n" if number % 3 == 0 else ""
        old = f'outdated: true\noutdated_reason: "{TITLE * 9}"\n' if number % 4 == 1 else ""
        head = f'id: "{note_id(number)}"\ntitle: "{TITLE}"\nsubject: "{TITLE}"\ntier: "core"\n{more}{old}'
        agent.write_by_hand(f"harbour/extreme-{number}.md", f"---\n{head}---\n{text}")
    for number in range(len(TEXTS), 60):
        agent.write_by_hand(
            f"harbour/small-{number}.md",
            f'---\nid: "{note_id(number)}"\ntitle: "{TITLE}"\n---\nThe crane number {number} {TITLE * 4}\n',
        )
    evidence = json.dumps([{"memory_id": note_id(1), "supports": True, "strength": 0.5}] * 4000)
    agent.write_by_hand("harbour/belief.md", f'---\nid: "{BELIEF}"\ntype: "belief"\nevidence: {evidence}\n---\nSafe.\n')
    page = agent.home / "now" / "harbour.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    items = "".join(f"- [x] Moved crane {number} {TITLE}\n" for number in range(3000))
    page.write_text(f"## Current Task\n{ENGLISH * 1000}\n\n## Recent Completions\n{items}", "utf-8")


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    async with serving(tmp_path / "home", ERAS[0]) as asking:
        write_extremes(asking)
        yield asking


async def told(agent: Agent, tool: str, **arguments: Any) -> tuple[str, str]:
    """Both forms of an answer as they reach a model."""
    answer = await agent.client.call_tool_mcp(tool, arguments)
    text = "\n".join(block.text for block in answer.content)
    assert not answer.is_error, text
    return text, json.dumps(answer.structured_content, ensure_ascii=False, separators=(",", ":"))


async def test_no_answer_is_larger_than_its_budget_whatever_is_stored(agent: Agent) -> None:
    sizes = {}
    for tool, arguments, most_text, most_structured in CALLS:
        text, structured = await told(agent, tool, **arguments)
        sizes[tool, str(arguments)[:60]] = (most_counted(text), most_text, most_counted(structured), most_structured)
    for number in range(len(TEXTS)):
        text, structured = await told(agent, "recall_node", node_id=note_id(number))
        sizes["recall_node", str(number)] = (most_counted(text), LARGEST, most_counted(structured), LARGEST)
    await told(agent, "mark_outdated", node_id=note_id(3), reason="crane")
    for uri in (*RESOURCES, f"memory://note/{note_id(0)}", f"memory://belief/{BELIEF}/evidence"):
        (found,) = await agent.client.read_resource(uri)
        assert isinstance(found, TextResourceContents)
        sizes[uri, ""] = (most_counted(found.text), 2500 if "context" in uri or "self" in uri else LARGEST, 0, 0)
    for arguments in ({}, {"task": "crane"}):
        (message,) = (await agent.client.get_prompt("session_start", arguments)).messages
        sizes["session_start", str(arguments)] = (most_counted(str(message.content.text)), 5000, 0, 0)
    too_large = {
        call: figures
        for call, figures in sizes.items()
        if figures[0] > 1.05 * figures[1] or figures[2] > 1.05 * figures[3]
    }
    assert not too_large, too_large


async def test_the_pages_of_a_long_note_are_the_whole_note(agent: Agent) -> None:
    for number, text in enumerate(TEXTS.values()):
        if number % 4:
            continue
        pages = [await agent.node(note_id(number))]
        while " goes on." in pages[-1]["notices"][0]:
            pages.append(await agent.call("recall_node", node_id=note_id(number), page=len(pages) + 1))
        assert "".join(page["content"] for page in pages).strip() == text.strip()
        beyond = await agent.refused("recall_node", node_id=note_id(number), page=len(pages) + 1)
        assert "and the note has" in beyond
