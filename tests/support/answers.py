"""Every kind of change as a client asks for it, and what the folder says afterwards of whether it happened."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holdfast.store.codec import Surroundings, note_of, parse
from holdfast.store.journal import read_line

Given = dict[str, Any]
Told = dict[str, Any]  # what a client is sent: content, structuredContent, isError
Shape = Mapping[tuple[str, ...], int]  # what is different from before, and how often

UNKNOWN = ("look before you repeat it", "carries it on", "broke off after")
TEXTS = (
    "The harbour opens at six in the morning",
    "The lighthouse keeper is called Ada Lovelace",
    "The ferry leaves twice a day from the southern pier",
    "The northern crane lifts forty tonnes",
    "The tug boat has a draught of three metres",
    "The customs office is closed on Sundays",
)


class Asks(Protocol):
    """Calls a tool and gives what the client is sent."""

    async def __call__(self, tool: str, /, **arguments: Any) -> Told: ...


@dataclass(frozen=True)
class Kind:
    """A kind of change: the call, and what a client asks before it."""

    tool: str
    given: Callable[[Given], Given]
    before: str = ""  # a dry run of the same tool gives what this names, such as a token
    outcomes: bool = False  # the answer lists how each item ended

    async def prepared(self, ask: Asks, world: Given) -> Given:
        arguments = self.given(world)
        if self.before:
            arguments["confirm"] = answer_of(await ask(self.tool, **arguments))[self.before]
        return arguments


def _edge(world: Given) -> Given:
    edge = {"node_a_id": world["notes"][0], "node_b_id": world["notes"][3], "edge_type": "supports", "reason": "so"}
    return {"results": {"edges": [edge]}}


def _none(world: Given) -> Given:
    edge = {"node_a_id": world["notes"][1], "node_b_id": world["notes"][4], "edge_type": "none", "reason": "apart"}
    return {"results": {"edges": [edge]}}


def _merge(world: Given) -> Given:
    return {"results": {"merges": [{"keep_id": world["notes"][0], "discard_id": world["notes"][1]}]}}


def _consolidate(world: Given) -> Given:
    told = {"node_ids": world["notes"][2:4], "title": "Pier", "content": "Ferry and crane", "type": "fact"}
    return {"results": {"consolidations": [told]}}


KINDS = {
    "remember": Kind("remember", lambda _: {"content": "The quay was rebuilt last year"}),
    "remember superseding": Kind(
        "remember", lambda world: {"content": "The harbour opens at seven", "supersedes": world["notes"][:2]}
    ),
    "remember linked": Kind(
        "remember", lambda world: {"content": "The buoy is red", "links": world["notes"][:2], "session": "s"}
    ),
    "mark_outdated": Kind("mark_outdated", lambda world: {"node_id": world["notes"][2], "reason": "it sank"}),
    "submit_feedback": Kind("submit_feedback", lambda world: {"node_id": world["notes"][0], "signal": 1}),
    "belief_update": Kind(
        "belief_update",
        lambda world: {
            "belief_id": world["belief"], "evidence_memory_id": world["notes"][3], "supports": True, "strength": 0.5,
        },
    ),
    "memory_store": Kind("memory_store", lambda _: {"content": "The mole is of granite", "memory_type": "belief"}),
    "now_update": Kind("now_update", lambda _: {"current_task": "mend nets", "recent_completions": ["cast off"]}),
    "edge": Kind("run_maintenance", _edge, outcomes=True),
    "judged apart": Kind("run_maintenance", _none, outcomes=True),
    "merge": Kind("run_maintenance", _merge, outcomes=True),
    "consolidation": Kind("run_maintenance", _consolidate, outcomes=True),
    "update": Kind("admin_update_memory", lambda world: {"node_id": world["notes"][0], "content": "It opens at five"}),
    "connect": Kind(
        "admin_connect_memories", lambda world: {"source_id": world["notes"][0], "target_id": world["notes"][5]}
    ),
    "delete": Kind("admin_delete_memory", lambda world: {"node_id": world["notes"][0]}, before="confirm"),
    "restore": Kind("admin_restore_memory", lambda world: {"node_id": world["deleted"]}),
    "undo a deletion": Kind("admin_undo", lambda world: {"change_id": world["deletion"]}),
    "undo an edit": Kind("admin_undo", lambda world: {"change_id": world["edit"]}),
    "undo a merge": Kind("admin_undo_merge", lambda world: {"merge_id": world["merge"]}, before="confirm"),
    "purge": Kind("admin_purge", lambda world: {"node_id": world["notes"][1]}, before="confirm"),
    "backup": Kind("admin_backup", lambda _: {}),
    "restore_backup": Kind(
        "admin_restore_backup", lambda world: {"backup_id": world["backup"]}, before="confirm"
    ),
    "import": Kind("admin_import", lambda world: {"path": world["source"]}, before="confirm"),
    "export": Kind("admin_export", lambda _: {"path": "everything"}),
    "approve": Kind(
        "admin_resolve_proposal", lambda world: {"proposal_id": world["proposals"][0], "action": "approve"}
    ),
    "reject": Kind("admin_resolve_proposal", lambda world: {"proposal_id": world["proposals"][1], "action": "reject"}),
    "accept": Kind("admin_accept_integrity", lambda _: {}),
}  # fmt: skip


def answer_of(told: Told) -> dict[str, Any]:
    assert not told.get("isError"), told
    return dict(told["structuredContent"] or {})


async def make_world(ask: Asks, home: Path, source: Path) -> Given:
    """A folder with something for every kind to act upon."""
    lay_out_source(source)

    async def kept(content: str, **more: Any) -> str:
        return str(answer_of(await ask("remember", content=content, **more))["id"])

    world: Given = {"source": str(source), "notes": [await kept(text) for text in TEXTS]}
    world["belief"] = answer_of(await ask("memory_store", content="The crane is safe", memory_type="belief"))[
        "memory_id"
    ]
    doomed, edited = await kept("The old quay has rats"), await kept("The mast is of pine")
    token = answer_of(await ask("admin_delete_memory", node_id=doomed))["confirm"]
    gone = answer_of(await ask("admin_delete_memory", node_id=doomed, confirm=token))
    world |= {"deleted": doomed, "deletion": gone["change_id"]}
    change = answer_of(await ask("admin_update_memory", node_id=edited, content="The mast is of oak"))
    world["edit"] = change["change_id"]
    pair = [await kept("Bollards stand each ten metres"), await kept("Every ten metres there is a bollard")]
    merged = answer_of(await ask("run_maintenance", results={"merges": [{"keep_id": pair[0], "discard_id": pair[1]}]}))
    world["merge"] = merged["outcomes"][0]["change_id"]
    world["proposals"] = [await _proposed(ask, kept, word) for word in ("chandler", "cooper")]
    await ask("recall", query="when does the harbour open")
    await ask("now_update", current_task="sail", recent_completions=["moored"])
    edit_by_hand(home)
    world["backup"] = answer_of(await ask("admin_backup"))["backup_id"]
    await kept("What came after the backup was a gale")
    return world


def lay_out_source(source: Path) -> None:
    source.mkdir()
    (source / "abroad.md").write_text("The lock keeper speaks Frisian\n")


def edit_by_hand(home: Path) -> None:
    now = next(home.glob("now/*.md"))
    now.write_text(now.read_text() + "\nA line by hand\n")


async def _proposed(ask: Asks, kept: Callable[..., Awaitable[str]], word: str) -> str:
    """A merge of core notes waits for a person."""
    pair = [await kept(f"The {word} lives at the pier", tier="core"), await kept(f"At the pier lives the {word}")]
    results = {"merges": [{"keep_id": pair[0], "discard_id": pair[1]}]}
    return str(answer_of(await ask("run_maintenance", results=results))["outcomes"][0]["proposal_id"])


# --- what the folder says -----------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """What is kept: notes by id with their fields, other files by what they are, and lines that are changes."""

    notes: Mapping[str, Mapping[str, Any]]
    files: Mapping[str, str]
    lines: Counter[str] = field(default_factory=Counter)


def state_of(home: Path) -> State:
    notes = {}
    for path in sorted((home / "memories").rglob("*.md")):
        note = note_of(parse(path.read_bytes()), Surroundings())
        assert note.id not in notes, "two files have one id"
        notes[note.id] = {name: getattr(note, name) for name in note.__dataclass_fields__}
    parts = ("now", "daily", "proposals", "exports", "NOW.md", "vault")
    files = [path for part in parts for path in (home / part, *(home / part).rglob("*")) if path.is_file()]
    told = [path for path in files if not any(name.startswith(".") for name in path.relative_to(home).parts)]
    told = [path for path in told if path.suffix != ".gz"]  # an archive counts by its manifest
    return State(
        notes,
        {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in told},
        Counter(_lines(home)),
    )


def _lines(home: Path) -> list[str]:
    lines = [read_line(line) for path in (home / "journal").iterdir() for line in path.read_bytes().split(b"\n")]
    void = {change for line in lines if line for change in line.get("void", ())}
    return [str(line["op"]) for line in lines if line and _counts(line) and line.get("change") not in void]


def _counts(line: dict[str, Any]) -> bool:
    """Whether a line by itself is what was asked for; those of files are judged by the files."""
    return line.get("op") in ("feedback", "judge", "purge", "restore", "accept_integrity") and "outcome" not in line


def difference(before: State, after: State) -> Shape:
    """What is different, without what no two runs have in common: new ids, times, names of files."""
    found: Counter[tuple[str, ...]] = Counter()
    for note_id in before.notes.keys() | after.notes.keys():
        old, new = before.notes.get(note_id), after.notes.get(note_id)
        if old is None or new is None:
            found["note", "gone" if new is None else "new", note_id if old else ""] += 1
        elif changed := [name for name in old if old[name] != new[name] and name != "updated"]:
            found["note", note_id, *changed] += 1
    for path in before.files.keys() | after.files.keys():
        if before.files.get(path) != after.files.get(path):
            top = path.partition("/")[0]
            word = "gone" if path not in after.files else "new" if path not in before.files else "changed"
            found[top if word == "new" else path, word] += 1
    for op in after.lines.keys() | before.lines.keys():
        if after.lines[op] > before.lines[op]:  # what is carried on may say so twice
            found["line", op] = 1
    return found


def verdict_of(kind: Kind, told: Told) -> str:
    """done, refused (nothing happened) or unknown, as a reader of the answer takes it."""
    text = " ".join(block["text"] for block in told["content"])
    items = (told.get("structuredContent") or {}).get("outcomes", []) if kind.outcomes else []
    failed = told.get("isError") or any(item["status"] != "applied" for item in items if item["item"] != "judged")
    if kind.tool == "admin_resolve_proposal" and not told.get("isError"):
        failed = told["structuredContent"]["status"] not in ("applied", "skipped")
    if not failed:
        return "done"
    assert "Error" in text, text
    assert "Internal error" not in text, text
    return "unknown" if any(word in text for word in UNKNOWN) else "refused"


def possible(kind: Kind, told: Told, whole: Shape) -> list[Shape]:
    """What the folder may look like after this answer."""
    verdict = verdict_of(kind, told)
    if kind.tool == "admin_restore_backup" and verdict != "done":
        spare = {("vault", "new"): 1}  # the backup that is made first may stay
        return [{}, spare] if verdict == "refused" else [{}, spare, whole]
    if kind.tool == "admin_import" and "Broken and left out: 1." in told["content"][0]["text"]:
        return [{}]  # the source could not be read, and the answer says so of its file
    if kind.tool != "admin_resolve_proposal":
        return {"done": [whole], "refused": [{}], "unknown": [{}, whole]}[verdict]
    applied = {key: count for key, count in whole.items() if not key[0].startswith("proposals/")}
    waits = "It still waits" in " ".join(block["text"] for block in told["content"])
    return {"done": [applied if waits else whole], "refused": [{}], "unknown": [{}, applied, whole]}[verdict]


def copied(template: Path, home: Path) -> Path:
    shutil.copytree(template, home)
    return home


def told_of(result: Any) -> Told:
    """What a client of this process was sent, as one over a pipe has it."""
    return {
        "content": [{"text": block.text} for block in result.content],
        "structuredContent": json.loads(json.dumps(result.structured_content)),
        "isError": bool(result.is_error),
    }
