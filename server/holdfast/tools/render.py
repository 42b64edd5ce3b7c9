"""Answers in two forms: structured content, verbatim, and a short text made for a model.

The command line shows the same answers: nothing of the framework is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from holdfast.engine.admin.undo import Affected, AlreadyUndone, Undone
from holdfast.engine.agent.feedback import Rated
from holdfast.engine.agent.node import Connection, Node
from holdfast.engine.agent.outdate import Outdated
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.agent.remember import Duplicate, Outcome, Remember
from holdfast.engine.ports import Caller
from holdfast.model.note import SHOWN, Note
from holdfast.model.tokens import beginning
from holdfast.model.words import counted
from holdfast.tools.fitting import Room, fenced, fitting_notices, new_mark, notice_lines, on_one_line, short, trust_rule
from holdfast.tools.hits import LINE_TOKENS, TITLE_TOKENS, own_title, retired_line, structured_of, text_of

if TYPE_CHECKING:
    from holdfast.tools import results


LONGEST_TEXT: Final = 150  # tokens of a reason, a subject, a path
MOST_LINKS: Final = 20  # that are told of a new note
NODE_TOKENS: Final = 4000  # of what is told of a note beside its text
BACK_TOKENS: Final = 2000  # of what is told of notes that came back


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer: what a program reads, by key, and what a model reads."""

    text: str
    structured: dict[str, object]


def space_from(request: Remember, caller: Caller) -> str:
    """Why a new note has its space."""
    if request.space:
        return "as given"
    return "about the user" if request.about_self else caller.space_from


def remembered(outcome: Outcome, space_from: str) -> Rendered:
    note = outcome.note
    similar = () if isinstance(outcome, Duplicate) else outcome.similar
    linked, notices = outcome.linked[:MOST_LINKS], _notices_of(outcome.notices, len(outcome.linked), MOST_LINKS)
    structured: results.RememberResult = {
        "id": note.id,
        "title": beginning(note.title, TITLE_TOKENS),
        "type": note.type,
        "tier": note.tier,
        "space": note.space,
        "created": note.created,
        "indexed": {"text": True, "vector": outcome.vector},
        "linked": [
            {"id": link.id, "title": _title(link.title), "type": link.type, "weight": link.weight} for link in linked
        ],
        "similar": [{"id": item.id, "title": _title(item.title), "relevance": item.relevance} for item in similar],
        "change_id": outcome.change_id,
        "notices": notices,
    }
    verb = "Already stored" if isinstance(outcome, Duplicate) else "Stored"
    lines = [f"{verb}: {note.id} [{note.type}] {short(note.title, TITLE_TOKENS)} (space {note.space}, {space_from})"]
    lines += [f"Linked: {link.type} {link.id} {short(link.title, LINE_TOKENS)}" for link in linked]
    lines += [f"Similar ({item.relevance:.2f}): {item.id} {short(item.title, LINE_TOKENS)}" for item in similar]
    return _answer([*lines, *undo_hint(outcome.change_id), *notice_lines(notices)], dict(structured))


def recalled(outcome: Recalled, caller: Caller) -> Rendered:
    return Rendered(text_of(outcome, caller), dict(structured_of(outcome, caller)))


def node(found: Node) -> Rendered:
    """A note: a page of its text, and of what belongs to it as much as there is room for."""
    note, room = found.note, Room(NODE_TOKENS)
    notices = fitting_notices(found.notices)
    tags = [
        tag
        for tag in (short(tag, LINE_TOKENS) for tag in note.tags)
        if room.left > NODE_TOKENS // 2 and room.take_json(tag)
    ]
    connections = [item for item in map(_connection, found.connections) if room.take_json(item)]
    neighbours: list[results.NeighbourNote] = [
        {"id": item.id, "title": _title(item.title), "type": item.type} for item in found.neighbours
    ]
    less = [("tag", len(note.tags) - len(tags)), ("connection", len(found.connections) - len(connections))]
    notices += [f"{counted(count, f'more {noun}')} not shown." for noun, count in less if count]
    shown = cast("results.NodeFields", {name: _text(getattr(note, name)) for name in SHOWN})
    structured: results.NodeResult = {
        "id": note.id,
        "type": note.type,
        "title": beginning(note.title, TITLE_TOKENS),
        "tier": note.tier,
        "space": note.space,
        "tags": tags,
        "content": found.text,
        "confidence": note.confidence,
        "created": note.created,
        "updated": note.updated,
        "event_time": note.event_time,
        "valid_until": note.valid_until,
        "outdated": note.is_outdated,
        "outdated_reason": _text(note.outdated_reason),
        "superseded_by": _text(note.superseded_by),
        **shown,
        "source": beginning(note.source, LONGEST_TEXT),
        "path": beginning(f"memories/{found.path}", LONGEST_TEXT),
        "connections": connections,
        "neighbours": neighbours,
        "changes": found.changes,
        "notices": notices,
    }
    facts = [note.tier, f"space {note.space}", f"created {note.created}", f"confidence {note.confidence:g}"]
    if note.event_time:
        facts.append(f"happened {note.event_time}")
    if tags:
        facts.append(f"tags {short(', '.join(tags), LONGEST_TEXT)}")
    lines = [f"{note.id} [{note.type}]{own_title(note)}", "; ".join(facts)]
    if retired := retired_line(note):
        lines.append(retired)
    mark = new_mark()
    lines += [*notice_lines(notices), trust_rule(mark), fenced(found.text, mark)]
    lines += [
        f"{'→' if item['direction'] == 'out' else '←'} {item['type']} {item['weight']:.2f} {item['id']} "
        f"{short(item['title'], LINE_TOKENS)}"
        for item in connections
    ]
    return _answer(lines, dict(structured))


def _connection(item: Connection) -> results.NodeConnection:
    return {
        "id": item.id,
        "title": _title(item.title),
        "type": item.type,
        "weight": item.weight,
        "direction": "out" if item.direction == "out" else "in",
        "reason": beginning(item.reason, LONGEST_TEXT),
    }


def _title(title: str) -> str:
    """The title of a note that is named beside another."""
    return beginning(title, 2 * LINE_TOKENS)


def _text(text: str | None) -> str | None:
    return None if text is None else beginning(text, LONGEST_TEXT)


def _notices_of(notices: Sequence[str], count: int, most: int) -> list[str]:
    more = [f"{counted(count - most, 'more link')} not shown."] if count > most else []
    return fitting_notices([*more, *notices])


def outdated(outcome: Outdated) -> Rendered:
    note = outcome.note
    notices = fitting_notices(outcome.notices)
    structured: results.OutdatedResult = {
        "id": note.id,
        "title": beginning(note.title, TITLE_TOKENS),
        "valid_until": note.valid_until,
        "superseded_by": _text(note.superseded_by),
        "change_id": outcome.change_id,
        "notices": notices,
    }
    line = f"Outdated since {note.valid_until}: {note.id} {on_one_line(note.title)}"
    return _answer([line, *undo_hint(outcome.change_id), *notice_lines(notices)], dict(structured))


def taken_back(outcome: Undone | AlreadyUndone) -> Rendered:
    """What came back, note by note; a model that is shown the structure alone reads it in the notices."""
    if isinstance(outcome, AlreadyUndone):
        line = f"{outcome.undoes} was undone before, by {outcome.by}; nothing was done."
        return _back(outcome.ids[0], None, outcome.by, line, [])
    lines = [f"{each.id} {short(each.title, LINE_TOKENS)}: {_became(each)}" for each in outcome.notes]
    lines = fitting_notices(lines, BACK_TOKENS)
    first = outcome.notes[0]
    note = None if first.effect == "moved to the trash" else first.note
    return _back(first.id, note, outcome.change_id, f"Taken back: {outcome.undoes}", lines)


def _back(note_id: str, note: Note | None, change_id: str, line: str, lines: list[str]) -> Rendered:
    structured: results.OutdatedResult = {
        "id": note_id,
        "title": beginning(note.title, TITLE_TOKENS) if note else "",
        "valid_until": note.valid_until if note else None,
        "superseded_by": _text(note.superseded_by) if note else None,
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


def rated(outcome: Rated) -> Rendered:
    structured: results.FeedbackResult = {
        "id": outcome.note_id,
        "recorded": outcome.recorded,
        "effect": outcome.effect,
        "notices": fitting_notices(outcome.notices),
    }
    verb = "Recorded" if outcome.recorded else "Not recorded"
    return _answer(
        [f"{verb}: {outcome.note_id}. {outcome.effect}", *notice_lines(structured["notices"])], dict(structured)
    )


def _answer(lines: list[str], structured: dict[str, object]) -> Rendered:
    return Rendered("\n".join(lines), structured)
