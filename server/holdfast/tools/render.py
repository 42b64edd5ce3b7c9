"""Answers in two forms: structured content, verbatim, and a short text made for a model.

The command line shows the same answers: nothing of the framework is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from holdfast.engine.feedback import Rated
from holdfast.engine.node import Node
from holdfast.engine.outdate import Outdated
from holdfast.engine.ports import Caller
from holdfast.engine.recall import Recalled
from holdfast.engine.remember import Duplicate, Outcome
from holdfast.engine.undo import Affected, AlreadyUndone, Undone
from holdfast.model.memory import Note
from holdfast.tools.fence import fenced, new_mark, on_one_line, trust_rule
from holdfast.tools.hits import own_title, retired_line, structured_of, text_of

if TYPE_CHECKING:
    from holdfast.tools import results


LONGEST_NOTICE: Final = 1000


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: what a program reads, by key, and what a model reads."""

    text: str
    structured: dict[str, object]


def remembered(outcome: Outcome, space_from: str) -> Told:
    note = outcome.note
    similar = () if isinstance(outcome, Duplicate) else outcome.similar
    structured: results.RememberResult = {
        "id": note.id,
        "title": note.title,
        "type": note.type,
        "tier": note.tier,
        "space": note.space,
        "created": note.created,
        "indexed": {"text": True, "vector": outcome.vector},
        "linked": [
            {"id": link.id, "title": link.title, "type": link.type, "weight": link.weight} for link in outcome.linked
        ],
        "similar": [{"id": item.id, "title": item.title, "relevance": item.relevance} for item in similar],
        "change_id": outcome.change_id,
        "notices": list(outcome.notices),
    }
    verb = "Already stored" if isinstance(outcome, Duplicate) else "Stored"
    lines = [f"{verb}: {note.id} [{note.type}] {on_one_line(note.title)} (space {note.space}, {space_from})"]
    lines += [f"Linked: {link.type} {link.id} {on_one_line(link.title)}" for link in outcome.linked]
    lines += [f"Similar ({item.relevance:.2f}): {item.id} {on_one_line(item.title)}" for item in similar]
    return _answer([*lines, *undo_hint(outcome.change_id), *_said(outcome.notices)], dict(structured))


def recalled(outcome: Recalled, caller: Caller) -> Told:
    return Told(text_of(outcome, caller), dict(structured_of(outcome, caller)))


def node(found: Node) -> Told:
    note = found.note
    structured: results.NodeResult = {
        "id": note.id,
        "type": note.type,
        "title": note.title,
        "tier": note.tier,
        "space": note.space,
        "tags": list(note.tags),
        "content": note.content,
        "confidence": note.confidence,
        "created": note.created,
        "updated": note.updated,
        "event_time": note.event_time,
        "valid_until": note.valid_until,
        "outdated": note.is_outdated,
        "outdated_reason": note.outdated_reason,
        "superseded_by": note.superseded_by,
        "subject": note.subject,
        "session": note.session,
        "source": note.source,
        "path": f"memories/{found.path}",
        "connections": [
            {
                "id": item.id,
                "title": item.title,
                "type": item.type,
                "weight": item.weight,
                "direction": "out" if item.direction == "out" else "in",
                "reason": item.reason,
            }
            for item in found.connections
        ],
        "neighbours": [{"id": item.id, "title": item.title, "type": item.type} for item in found.neighbours],
        "changes": found.changes,
        "notices": list(found.notices),
    }
    facts = [note.tier, f"space {note.space}", f"created {note.created}", f"confidence {note.confidence:g}"]
    if note.event_time:
        facts.append(f"happened {note.event_time}")
    if note.tags:
        facts.append(f"tags {on_one_line(', '.join(note.tags))}")
    lines = [f"{note.id} [{note.type}]{own_title(note)}", "; ".join(facts)]
    if retired := retired_line(note):
        lines.append(retired)
    mark = new_mark()
    lines += [*_said(found.notices), trust_rule(mark), fenced(note.content, mark)]
    lines += [
        f"{'→' if item.direction == 'out' else '←'} {item.type} {item.weight:.2f} {item.id} {on_one_line(item.title)}"
        for item in found.connections
    ]
    return _answer(lines, dict(structured))


def outdated(outcome: Outdated) -> Told:
    note = outcome.note
    structured: results.OutdatedResult = {
        "id": note.id,
        "title": note.title,
        "valid_until": note.valid_until,
        "superseded_by": note.superseded_by,
        "change_id": outcome.change_id,
        "notices": list(outcome.notices),
    }
    line = f"Outdated since {note.valid_until}: {note.id} {on_one_line(note.title)}"
    return _answer([line, *undo_hint(outcome.change_id), *_said(outcome.notices)], dict(structured))


def taken_back(outcome: Undone | AlreadyUndone) -> Told:
    """What came back, note by note; a model that is shown the structure alone reads it in the notices."""
    if isinstance(outcome, AlreadyUndone):
        line = f"{outcome.undoes} was undone before, by {outcome.by}; nothing was done."
        return _back(outcome.ids[0], None, outcome.by, line, [])
    lines = [f"{each.id} {on_one_line(each.title)}: {_became(each)}" for each in outcome.notes]
    first = outcome.notes[0]
    note = None if first.effect == "moved to the trash" else first.note
    return _back(first.id, note, outcome.change_id, f"Taken back: {outcome.undoes}", lines)


def _back(note_id: str, note: Note | None, change_id: str, line: str, lines: list[str]) -> Told:
    structured: results.OutdatedResult = {
        "id": note_id,
        "title": note.title if note else "",
        "valid_until": note.valid_until if note else None,
        "superseded_by": note.superseded_by if note else None,
        "change_id": change_id,
        "notices": [line, *lines],
    }
    again = [f'To have it again: mark_outdated(undo="{change_id}")'] if lines else []
    return _answer([line, *lines, *again], dict(structured))


def _became(each: Affected) -> str:
    if each.effect == "moved to the trash":
        return each.effect
    return f"{each.effect}, {'outdated as before' if each.note.is_outdated else 'current'}"


def undo_hint(change_id: str | None) -> list[str]:
    """The call by which whoever made a change takes it back."""
    return [f'Undo: mark_outdated(undo="{change_id}")'] if change_id else []


def rated(outcome: Rated) -> Told:
    structured: results.FeedbackResult = {
        "id": outcome.note_id,
        "recorded": outcome.recorded,
        "effect": outcome.effect,
        "notices": list(outcome.notices),
    }
    verb = "Recorded" if outcome.recorded else "Not recorded"
    return _answer([f"{verb}: {outcome.note_id}. {outcome.effect}", *_said(outcome.notices)], dict(structured))


def _said(notices: tuple[str, ...]) -> list[str]:
    return [f"Note: {on_one_line(notice, LONGEST_NOTICE)}" for notice in notices]


def _answer(lines: list[str], structured: dict[str, object]) -> Told:
    return Told("\n".join(lines), structured)
