"""What a client reads of the tools, word for word, so that no change of it goes unseen.

    python tests/house/test_tools_golden.py

writes `tests/house/tools.json` anew; look at the difference before you commit it.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "server"), str(ROOT / "tests" / "support")]

import pytest  # noqa: E402 - the paths come first

from served import ERAS, serving  # noqa: E402

GOLDEN = Path(__file__).with_name("tools.json")
AGENT = {"remember", "recall", "recall_node", "mark_outdated", "submit_feedback"}
OMI = {"memory_recall", "memory_store", "belief_update"}
MOST_BARE, MOST_WHOLE = 12_000, 24_000  # characters of all tools: without output schemas, and with them
AGENT_BARE, AGENT_WHOLE = 6_000, 11_500
OMI_EMPTY = {"now_read"}  # answers {} where there is nothing
OMI_BARE, OMI_WHOLE = 2_500, 3_500
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def listed(era: str) -> list[dict[str, Any]]:
    """The answer to `tools/list` as it stands on the wire."""

    async def ask(home: Path) -> list[dict[str, Any]]:
        async with serving(home, era) as agent:
            tools = await agent.client.list_tools()
            return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]

    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(ask, Path(folder))


def written(tools: list[dict[str, Any]]) -> str:
    """Keys in a fixed order: the two eras write them in different ones, which means nothing."""
    return json.dumps(tools, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def size(tools: list[dict[str, Any]], *, output: bool) -> int:
    kept = [{key: value for key, value in tool.items() if output or key != "outputSchema"} for tool in tools]
    return len(json.dumps(kept, ensure_ascii=False, separators=(",", ":")))


@pytest.fixture(scope="module")
def tools() -> list[dict[str, Any]]:
    return listed(ERAS[0])


def test_every_tool_of_the_agent_says_when_it_is_not_for(tools: list[dict[str, Any]]) -> None:
    silent = [tool["name"] for tool in tools if not re.search(r"\bnot\b|instead", tool["description"], re.IGNORECASE)]
    assert silent == []


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_the_ones_that_were_agreed_on(era: str) -> None:
    golden = GOLDEN.read_text("utf-8").splitlines(keepends=True)
    now = written(listed(era)).splitlines(keepends=True)
    changed = "".join(difflib.unified_diff(golden, now, "tools.json", f"tools/list ({era})"))
    assert not changed, f"\n{changed}\nIf this is meant: python tests/house/test_tools_golden.py"


def test_the_agents_tools_are_there(tools: list[dict[str, Any]]) -> None:
    assert {tool["name"] for tool in tools} >= AGENT
    assert {tool["name"] for tool in tools} >= OMI


def test_every_tool_tells_a_client_what_it_may_do(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert all(isinstance(tool["annotations"][hint], bool) for hint in HINTS), tool["name"]
        assert tool["annotations"]["openWorldHint"] is False, tool["name"]
    reading = {tool["name"] for tool in tools if tool["annotations"]["readOnlyHint"]}
    assert reading & (AGENT | OMI) == {"recall", "recall_node", "memory_recall"}


def test_every_tool_says_when_to_call_it_and_when_not(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        words = tool["description"].lower()
        assert len(words) > 100, tool["name"]
        assert any(when in words for when in ("when ", "before ", "for ", "call it")), tool["name"]
        assert any(not_ in words for not_ in ("not ", "instead", "never ", "no results")), tool["name"]


def test_every_tool_has_schemas_that_close_its_input_and_describe_its_answer(tools: list[dict[str, Any]]) -> None:
    for tool in tools:
        assert tool["inputSchema"]["additionalProperties"] is False, tool["name"]
        assert tool["outputSchema"]["type"] == "object", tool["name"]
        told = set(tool["outputSchema"]["properties"])
        required = set() if tool["name"] in OMI_EMPTY else told
        assert set(tool["outputSchema"].get("required", ())) == required, tool["name"]


def test_the_definitions_stay_small(tools: list[dict[str, Any]]) -> None:
    assert size(tools, output=False) < MOST_BARE
    assert size(tools, output=True) < MOST_WHOLE
    for names, bare, whole in ((AGENT, AGENT_BARE, AGENT_WHOLE), (OMI, OMI_BARE, OMI_WHOLE)):
        own = [tool for tool in tools if tool["name"] in names]
        assert size(own, output=False) < bare
        assert size(own, output=True) < whole


def test_no_tool_asks_for_arguments_in_headers() -> None:
    """`holdfast.tools.server.spare_listing` counts on it."""
    assert "x-mcp-header" not in GOLDEN.read_text("utf-8")


if __name__ == "__main__":
    GOLDEN.write_text(written(listed(ERAS[0])), "utf-8")
