"""How often the right fact is before the model when it is needed, and what that costs.

    python bench/presence.py [--held-out] [--line 0.8] [--tokens 600] [--encoder builtin] [--show]

The episodes of `data/presence.json` are made up for this, and the settings were chosen on them; with `--held-out` those
of `data/presence_held_out.json` are played, which were written afterwards and on which nothing was chosen. They are
facts that earlier sessions stored (corrections replace what was stored before), a note that sounds alike beside each,
and the prompts of a later session, of which one cannot be answered well without the fact. All stand in one memory, with
the 339 notes of `data/devmem.json` around them.

* no memory: nothing is there.
* tools: an agent that calls `recall` with every prompt, which agents do not do by themselves; what it would cost.
* presence: the hook's tool is called with every prompt, as a client does it; the agent calls nothing.

A fact counts as there when its note was shown at that prompt or before it in the session. `stale` is a note that was
replaced, shown as if it held; `marked` is one that was shown with the mark OUTDATED. `beside` is the share of tokens
of notes that no prompt of the session needs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
from fastmcp import Client
from rs_bpe import openai

from datasets import read_devmem
from holdfast.app import build_memory, build_server
from holdfast.engine.runtime import Memory
from holdfast.running import configure_logs
from holdfast.settings import load_settings

DATA = Path(__file__).parent / "data" / "presence.json"
HELD_OUT = DATA.with_name("presence_held_out.json")
TOKENIZER = openai.o200k_base()
ENTRY = re.compile(r"^(?P<mark>[0-9a-f]{8}) (?:(?P<id>mem_[0-9a-z]+) |(?P<heading>.*:)$)", re.MULTILINE)
PATIENCE = 300


@dataclass(slots=True)
class Tally:
    """What was counted of one way."""

    needed: int = 0
    there: int = 0
    stale: int = 0
    marked: int = 0
    sessions: int = 0
    tokens: int = 0
    note_tokens: int = 0
    beside: int = 0
    spoke: int = 0
    missed: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Shown:
    """The notes of one answer: by the beginning of each one's id what it costs; and what the whole answer costs.

    `retired` are those of them that are marked as outdated.
    """

    notes: dict[str, int]
    cost: int
    retired: frozenset[str]


def tokens(text: str) -> int:
    return int(TOKENIZER.count(text)) if text else 0


def shown_in(text: str) -> Shown:
    """The notes in an answer, each up to where the next begins."""
    places = [*ENTRY.finditer(text)]
    ends = [*(found.start() for found in places[1:]), len(text)][: len(places)]
    notes = {
        found["id"]: tokens(text[found.start() : end]) for found, end in zip(places, ends, strict=True) if found["id"]
    }
    lines = {found["id"]: text[found.start() :].partition("\n")[0] for found in places if found["id"]}
    return Shown(notes, tokens(text), frozenset(note for note, line in lines.items() if "OUTDATED" in line))


class Way:
    """One of the three: what stands before the model after a prompt."""

    def __init__(self, client: Client[Any], name: str) -> None:
        self.client, self.name, self.tally = client, name, Tally()

    async def answer(self, prompt: str, session: str, project: str) -> str:
        if self.name == "no memory":
            return ""
        if self.name == "presence":
            given = {"prompt": prompt, "session_id": session, "cwd": f"/srv/{project}", "event": "UserPromptSubmit"}
            said = json.loads((await self.client.call_tool_mcp("whisper", given)).content[0].text)
            return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))
        asked = {"query": prompt, "limit": 5}
        return "\n".join(block.text for block in (await self.client.call_tool_mcp("recall", asked)).content)


async def play(
    way: Way, session: str, project: str, prompts: Sequence[dict[str, Any]], fact: str, old: Sequence[str]
) -> None:
    """One session: count what is there at each prompt that needs the fact."""
    tally, before, all_shown = way.tally, set[str](), list[Shown]()
    tally.sessions += 1
    for prompt in prompts:
        text = await way.answer(prompt["text"], session, project)
        seen = shown_in(text)
        all_shown.append(seen)
        before |= seen.notes.keys()
        tally.spoke += bool(text)
        if prompt["needs"]:
            tally.needed += 1
            is_there = any(fact.startswith(note) for note in before)
            tally.there += is_there
            tally.missed += [] if is_there else [prompt["text"]]
    current = {note for seen in all_shown for note in seen.notes.keys() - seen.retired}
    retired = {note for seen in all_shown for note in seen.retired}
    tally.marked += any(note.startswith(shown) for note in old for shown in retired)
    tally.stale += any(note.startswith(shown) for note in old for shown in current)
    for seen in all_shown:
        tally.tokens += seen.cost
        tally.note_tokens += sum(seen.notes.values())
        tally.beside += sum(cost for note, cost in seen.notes.items() if not (fact and fact.startswith(note)))


async def stored(client: Client[Any], content: str, project: str, **more: Any) -> str:
    answer = await client.call_tool("remember", {"content": content, "space": project, **more})
    return str((answer.structured_content or {})["id"])


async def fill(memory: Memory, client: Client[Any], data: dict[str, Any]) -> list[list[str]]:
    """Store everything, and wait for the vectors; the ids of each episode's facts."""
    ids: list[list[str]] = []
    for note in read_devmem().notes:
        given = {key: value for key, value in note.arguments.items() if key not in ("supersedes", "links")}
        await client.call_tool("remember", given)
    for episode in data["episodes"]:
        kind = {"correction": "decision"}.get(episode["kind"], episode["kind"])
        told: list[str] = []
        for fact in episode["facts"]:
            more = {"supersedes": told[-1:]} if told else {}
            told.append(
                await stored(client, fact, episode["project"], type=kind, about_self=episode["about_self"], **more)
            )
        named = (name for name in ("ferry", "kiln", "orbit", "lexicon") if name in episode["decoy"].lower())
        other = episode.get("decoy_project") or next(named)
        await stored(client, episode["decoy"], other)
        ids.append(told)
    await memory.catch_up()
    return ids


async def run(options: argparse.Namespace, home: Path) -> list[Tally]:
    data = json.loads((HELD_OUT if options.held_out else DATA).read_text("utf-8"))
    settings = load_settings(
        {
            "HOLDFAST_HOME": str(home), "HOLDFAST_PRESENCE": "on", "HOLDFAST_ENCODER": options.encoder,
            "HOLDFAST_VAULT_ENABLED": "no", "HOLDFAST_JOBS": "no", "HOLDFAST_PRESENCE_LINE": str(options.line),
            "HOLDFAST_PRESENCE_TOKENS": str(options.tokens),
        }
    )  # fmt: skip
    memory = build_memory(settings)
    async with memory.running(), Client(build_server(settings, memory)) as client:
        ids = await fill(memory, client, data)
        assert memory.ports.presence is not None
        if options.encoder != "none":
            assert await memory.ports.presence.warmth.is_ready(PATIENCE)
        ways = [Way(client, name) for name in ("no memory", "tools", "presence")]
        quiet = [Way(client, way.name) for way in ways]
        for way, silent in zip(ways, quiet, strict=True):
            for number, (episode, told) in enumerate(zip(data["episodes"], ids, strict=True)):
                await play(way, f"e{number}", episode["project"], episode["prompts"], told[-1], told[:-1])
            for number, session in enumerate([*data["small_talk"], *data["unrelated"]]):
                prompts = [{"text": text, "needs": False} for text in session["prompts"]]
                await play(silent, f"q{number}", session["project"], prompts, "", ())
        report(ways, quiet, show=options.show)
        return [way.tally for way in ways]


def report(ways: Sequence[Way], quiet: Sequence[Way], *, show: bool) -> None:
    print(
        f"{'':12} {'fact there':>12} {'stale':>6} {'marked':>7} {'tokens a session':>17} "
        f"{'beside':>7} {'tokens, nothing needed':>23}"
    )
    for way, silent in zip(ways, quiet, strict=True):
        tally = way.tally
        share = tally.beside / tally.note_tokens if tally.note_tokens else 0.0
        needless = silent.tally.tokens / silent.tally.sessions
        print(
            f"{way.name:12} {tally.there:5} of {tally.needed:3} {tally.stale:6} {tally.marked:7} "
            f"{tally.tokens / tally.sessions:17.0f} "
            f"{share:7.0%} {needless:23.0f}"
        )
    if show:
        for way in ways:
            print(f"\n{way.name}, missing:", *way.tally.missed, sep="\n  ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="play the episodes on which nothing was chosen")
    parser.add_argument("--line", type=float, default=0.8, help="what a later prompt's note must clear")
    parser.add_argument("--tokens", type=int, default=600, help="of a session's first prompt, at most")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--show", action="store_true", help="name the prompts whose fact was missing")
    options = parser.parse_args()
    configure_logs("error")
    with TemporaryDirectory() as folder:
        anyio.run(run, options, Path(folder) / "memory")


if __name__ == "__main__":
    main()
