"""Answers in two forms: structured content, verbatim, and a short text made for a model.

The command line shows the same answers: nothing of the framework is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from holdfast.engine.answer import Hit
from holdfast.engine.feedback import Rated
from holdfast.engine.lists import Listing
from holdfast.engine.node import Node
from holdfast.engine.outdate import Outdated
from holdfast.engine.ports import Caller
from holdfast.engine.recall import Recalled
from holdfast.engine.remember import Duplicate, Outcome, Remember
from holdfast.engine.undo import Affected, AlreadyUndone, Undone
from holdfast.model.memory import Note, title_of
from holdfast.model.words import counted
from holdfast.tools.fence import fenced, new_mark, on_one_line, trust_rule

if TYPE_CHECKING:
    from holdfast.tools import results


LONGEST_NOTICE: Final = 1000


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: what a program reads, by key, and what a model reads."""

    text: str
    structured: dict[str, object]


def space_from(request: Remember, caller: Caller) -> str:
    """Why a new note has its space."""
    if request.space:
        return "as given"
    return "about the user" if request.about_self else caller.space_from


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
    structured: results.RecallResult = {
        "results": [_hit(hit) for hit in outcome.hits],
        "related": [
            {
                "id": item.note.id,
                "title": item.note.title,
                "type": item.note.type,
                "space": item.note.space,
                "content": item.note.content,
                "outdated": item.note.is_outdated,
                "via": item.via,
                "edge": item.edge,
            }
            for item in outcome.related
        ],
        "tensions": [{"a": pair.first, "b": pair.second, "reason": pair.reason} for pair in outcome.tensions],
        "total": outcome.listing.total if outcome.listing else None,
        "omitted": {"count": outcome.omitted.count, "ids": list(outcome.omitted.ids)},
        "read_as": {
            "after": outcome.after,
            "before": outcome.before,
            "space": caller.space,
            "space_from": caller.space_from,
        },
        "event_id": outcome.event_id,
        "notices": list(outcome.notices),
    }
    mark = new_mark()
    lines = [_heading(outcome, caller), *([trust_rule(mark)] if outcome.hits else [])]
    for place, hit in enumerate(outcome.hits, 1):
        lines += [_hit_line(place, hit), fenced(hit.note.content, mark)]
    if outcome.related:
        lines.append("Related:")
        lines += [
            f"- {item.note.id} [{item.note.type}] {on_one_line(item.note.title)} ({item.edge} {item.via})"
            + (" OUTDATED" if item.note.is_outdated else "")
            for item in outcome.related
        ]
    lines += [f"Contradiction: {pair.first} and {pair.second} {on_one_line(pair.reason)}" for pair in outcome.tensions]
    if outcome.omitted.count:
        lines.append(f"Left out for the budget: {', '.join(outcome.omitted.ids)}")
    return _answer([*lines, *_said(outcome.notices)], dict(structured))


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
    if note.is_outdated:
        because = f": {on_one_line(note.outdated_reason)}" if note.outdated_reason else ""
        now = f"; now see {on_one_line(note.superseded_by)}" if note.superseded_by else ""
        lines.append(f"OUTDATED since {note.valid_until}{because}{now}")
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


def _list_heading(outcome: Recalled, listing: Listing) -> str:
    """As in "17 decisions in tollgate, newest first; 10 shown, next: recall(offset=10, …)"."""
    end = listing.offset + len(outcome.hits)
    if listing.total <= len(outcome.hits):
        return f"{listing.described}."
    shown = f"{len(outcome.hits)} shown" + (f" from {listing.offset + 1} on" if listing.offset else "")
    onwards = f", next: recall(offset={end}, …)" if outcome.hits and end < listing.total else ""
    return f"{listing.described}; {shown}{onwards}."


def _heading(outcome: Recalled, caller: Caller) -> str:
    if outcome.listing is not None:
        return _list_heading(outcome, outcome.listing)
    where = f"space {caller.space} ({caller.space_from})" if caller.space else f"no space ({caller.space_from})"
    window = (
        f", {outcome.after or 'the beginning'} to {outcome.before or 'now'}" if outcome.after or outcome.before else ""
    )
    if not outcome.hits:
        return f"Nothing relevant is stored. Asked from {where}{window}."
    return f"{counted(len(outcome.hits), 'note')}, asked from {where}{window}."


def _hit_line(place: int, hit: Hit) -> str:
    note = hit.note
    marks = (" WEAK MATCH" if hit.ranked.weak else "") + (" OUTDATED" if note.is_outdated else "")
    how = "listed" if hit.listed else f"relevance {hit.ranked.relevance:.2f}"
    return f"{place}. {note.id} [{note.type}]{own_title(note)} ({how}, space {note.space}, {note.happened[:10]}){marks}"


def own_title(note: Note) -> str:
    """A title, where the text that stands below does not begin with it."""
    return "" if note.title == title_of(note.content) else f" {on_one_line(note.title)}"


def _hit(hit: Hit) -> results.RecallHit:
    note = hit.note
    return {
        "id": note.id,
        "title": note.title,
        "type": note.type,
        "tier": note.tier,
        "space": note.space,
        "created": note.created,
        "event_time": note.event_time,
        "content": note.content,
        "relevance": round(hit.ranked.relevance, 4),
        "score": round(hit.ranked.score, 4),
        "source": note.source,
        "confidence": note.confidence,
        "outdated": note.is_outdated,
        "weak": hit.ranked.weak,
        "why": hit.ranked.why,
    }


def _said(notices: tuple[str, ...]) -> list[str]:
    return [f"Note: {on_one_line(notice, LONGEST_NOTICE)}" for notice in notices]


def _answer(lines: list[str], structured: dict[str, object]) -> Told:
    return Told("\n".join(lines), structured)
