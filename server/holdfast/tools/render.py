"""Answers of the agent's tools in two forms: structured content, verbatim, and a short text made for a model.

Both forms of a recall are fitted into its budget: what fits is shown, the rest is named. In the text all that was
stored stands between one pair of marks. Each note begins with a line of its own, and that with the answer's mark, which
no note can know: neither the end of the block nor another note can be forged.

The command line shows the same answers: nothing of the framework is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final, cast

from holdfast.engine.admin.undo import Affected, AlreadyUndone, Undone
from holdfast.engine.agent.answer import Hit, Neighbour
from holdfast.engine.agent.browse import Connection, Node
from holdfast.engine.agent.feedback import Outdated, Rated
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.agent.remember import Duplicate, Outcome, Remember
from holdfast.engine.ports import Caller
from holdfast.model.note import GLOBAL_SPACE, SHOWN, Note
from holdfast.model.passages import NOTHING, first_sentence
from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.words import counted, floored
from holdfast.tools.fitting import (
    DOUBTFUL_TOKENS,
    LINE_TOKENS,
    NOTICES_SHARE,
    Room,
    cuts,
    earlier_line,
    fenced,
    fitting_notices,
    heading_of,
    json_tokens,
    line_of,
    line_tokens,
    named,
    new_mark,
    notice_lines,
    on_one_line,
    own_title,
    quoted_line,
    related_line,
    retired_line,
    short,
    title_line,
    trust_rule,
)

if TYPE_CHECKING:
    from holdfast.tools import results

MOST_WEAK = 3  # weak hits that the text shows; the others are named
MOST_RELATED = 3  # neighbours that the text shows
TITLE_TOKENS = 300  # of any single text of a hit in the structure but its passage
DETAILED_TOKENS = 900  # of all hits, up to which everything is told of each in the structure
AS_LINE = 9  # characters by which a passage is known to begin as the note does
DIGITS = 4  # of a number in the structure, as memory_recall has them
NAME_TOKENS = 22  # of an id
TENSIONS_SHARE = 3  # of the room that is left, one part at most is contradictions
NAMES_SHARE = 5  # of the budget, one part at most is names of what was left out
WHOLE = "recall_node shows a note whole."


def text_of(outcome: Recalled, caller: Caller) -> str:
    """The answer as a model reads it: where room is short the first note comes before all else."""
    whole, shown = _told(outcome, caller)
    return whole if shown or not outcome.hits else _first_alone(outcome, caller) or whole


def _told(outcome: Recalled, caller: Caller) -> tuple[str, int]:
    """The answer, and how many notes there is room for."""
    mark, room = new_mark(), Room(outcome.budget.text)
    heading = heading_of(outcome, caller)
    room.need(heading)
    notices = notice_lines(fitting_notices(outcome.notices, room.left // NOTICES_SHARE))
    room.need(*notices)
    if not outcome.hits:
        return "\n".join([heading, *notices]), 0
    rule = trust_rule(mark, each=True)
    room.need(fenced("", mark), rule, WHOLE)
    names = Room(min(room.left // NAMES_SHARE, NAME_TOKENS * len(outcome.hits)))
    room.left -= names.left
    shown, left = _chosen(outcome.hits, caller, mark, room)
    heading = heading_of(_claiming(outcome, [hit.note for hit, _ in shown]), caller, [hit for hit, _ in shown])
    lines = [line for _, line in shown]
    places = {hit.note.id: place for place, (hit, _) in enumerate(shown, 1)}
    after = [line for line in _beside(outcome, places) if room.take(line)]
    if left:
        after.append(f"Not shown: {named([hit.note.id for hit in left], names)}")
    if any(hit.shown.cut for hit, _ in shown):
        after.append(WHOLE)
    if not lines:
        return "\n".join([heading, *after, *notices]), 0
    return "\n".join([heading, rule, fenced("\n".join(lines), mark), *after, *notices]), len(lines)


def _first_alone(outcome: Recalled, caller: Caller) -> str:
    """The first note as far as there is room for it, at the least its id, then names and notices; empty without room.

    What is shown of it outside of a fence is one line, in quotes.
    """
    mark, room = new_mark(), Room(outcome.budget.text)
    hit = min(outcome.hits, key=lambda hit: hit.ranked.weak)
    heading, rule = heading_of(_claiming(outcome, [hit.note]), caller, [hit]), trust_rule(mark, each=True)
    room.need(heading)
    within = replace(room)
    within.need(fenced("", mark), rule)
    line = line_tokens(hit, outcome.hits) if hit.ranked.weak or hit.listed else 0
    fitting = next(_forms(hit, caller, mark, within, line), None)
    if fitting is not None:
        lines, room = [rule, fenced(fitting[1], mark)], within
    elif room.take(quoted := quoted_line(hit, room.left)):
        lines = [quoted]
    else:
        return ""
    left = [each.note.id for each in outcome.hits if each is not hit]
    rest = [f"Not shown: {named(left, Room(room.left - NAME_TOKENS))}"] if left else []
    rest += [WHOLE] if fitting is not None and fitting[0].shown.cut else []
    lines += [line for line in (*rest, *notice_lines(fitting_notices(outcome.notices))) if room.take(line)]
    return "\n".join([heading, *lines])


def structured_of(outcome: Recalled, caller: Caller) -> results.RecallResult:
    """The answer as a program reads it, and some models too: where room is short a note comes before all else."""
    whole = _structured(outcome, caller)
    if whole["results"] or not outcome.hits:
        return whole
    bare = replace(outcome, event_id="", after=None, before=None, given=(None, None), notices=())
    little = _structured(bare, replace(caller, space=None, space_from=""), naming=False)
    return little if little["results"] or little["omitted"]["ids"] else whole


def _structured(outcome: Recalled, caller: Caller, *, naming: bool = True) -> results.RecallResult:
    room = Room(outcome.budget.structured)
    frame = _frame(outcome, caller)
    room.need_json(frame)
    frame["notices"] = fitting_notices(outcome.notices, room.left // NOTICES_SHARE)
    room.need_json(frame["notices"])
    left = _fill(outcome, caller, frame, Room(room.left))
    if left:  # then room is needed for their names
        names = Room(min(room.left // NAMES_SHARE, NAME_TOKENS * len(outcome.hits)) if naming else 0)
        left = _fill(outcome, caller, frame, Room(room.left - names.left))
        if not frame["results"] and not frame["related"] and not frame["tensions"]:
            names = room
        kept = [note_id for note_id in left if names.take_json(note_id)]
        frame["omitted"] = {"count": len(left), "ids": kept}
    shown = {hit["id"] for hit in frame["results"]}
    frame["read_as"] = _read_as(_claiming(outcome, [hit.note for hit in outcome.hits if hit.note.id in shown]), caller)
    return frame


def _claiming(outcome: Recalled, shown: Sequence[Note]) -> Recalled:
    """The outcome without a time that none of these notes is from: those that are found no room."""
    after, before = outcome.after or "", outcome.before or "~"  # behind every digit
    if not shown or any(after <= note.happened <= before for note in shown):
        return outcome
    return replace(outcome, after=outcome.given[0], before=outcome.given[1])


def _fill(outcome: Recalled, caller: Caller, frame: results.RecallResult, room: Room) -> list[str]:
    """Put into the frame what there is room for; the ids of the notes that there is none for."""
    left: list[str] = []
    frame["results"], frame["related"] = [], []
    contradictions = Room(room.left // TENSIONS_SHARE)  # before the notes: a longer text is worth less than they are
    pairs: list[results.TensionPair] = [
        {"a": pair.first, "b": pair.second, "reason": short(pair.reason, LINE_TOKENS * 2)} for pair in outcome.tensions
    ]
    told = [pair for pair in pairs if contradictions.take_json(pair) and room.take_json(pair)]
    for hit, shape in _shapes(outcome, caller):
        fitting = None if left else _fitting(hit, shape, caller, room)  # nothing overtakes
        if fitting is None:
            left.append(hit.note.id)
        else:
            frame["results"].append(fitting)
    frame["tensions"] = [pair for pair in pairs if pair in told or room.take_json(pair)]
    for item in outcome.related:
        neighbour = _neighbour(item)
        if room.take_json(neighbour):
            frame["related"].append(neighbour)
        else:
            left.append(item.note.id)
    return left


def _shapes(outcome: Recalled, caller: Caller) -> Iterator[tuple[Hit, results.RecallHit]]:
    """Each hit as it is shown where there is room: strong ones whole, three weak ones as a line, the rest by id.

    Where hits are few, and where it is asked for, everything is told of each. Where they are many, a strong one leaves
    out what is usual, and how it was found: all that would cost more than what it says.
    """
    details = {hit.note.id: hit_shape(hit) for hit in outcome.hits}
    everything = outcome.explained or json_tokens(list(details.values())) <= DETAILED_TOKENS
    lines = 0
    for hit in outcome.hits:
        if everything:
            yield hit, details[hit.note.id]
        elif not hit.ranked.weak:
            yield hit, _without_details(hit, details[hit.note.id])
        else:
            lines += 1
            most = line_tokens(hit, outcome.hits, DOUBTFUL_TOKENS)
            yield hit, _line_shape(hit, caller, most) if lines <= MOST_WEAK else _named_shape(hit)


def _chosen(hits: Sequence[Hit], caller: Caller, mark: str, room: Room) -> tuple[list[tuple[Hit, str]], list[Hit]]:
    """The hits that are shown, each with its lines, and those that are not: strong ones first, then a few weak ones."""
    shown: list[tuple[Hit, str]] = []
    left: list[Hit] = []
    is_roomy = most_tokens("\n".join(_whole(hit, caller, mark) for hit in hits if hit.listed)) <= room.left
    strong, weak = ([hit for hit in hits if hit.ranked.weak is doubtful] for doubtful in (False, True))
    for hit in [*strong, *weak[:MOST_WEAK]]:
        line = line_tokens(hit, hits) if hit.ranked.weak or (hit.listed and not is_roomy) else 0
        fitting = None if left else next(_forms(hit, caller, mark, room, line), None)
        if fitting is None:
            left.append(hit)
        else:
            shown.append(fitting)
    return shown, [*left, *weak[MOST_WEAK:]]


def _forms(hit: Hit, caller: Caller, mark: str, room: Room, line: int) -> Iterator[tuple[Hit, str]]:
    """A hit as there is room for it: its passage, if not a `line` of so many tokens, less of it, a short line."""
    if not line:
        bare = most_tokens(_whole(replace(hit, shown=NOTHING), caller, mark))
        for shown in (hit.shown, *cuts(hit.shown, hit.terms, room.left - bare)):
            if room.take(text := _whole(less := replace(hit, shown=shown), caller, mark)):
                yield less, text
    behind, lengths = dict.fromkeys((hit.ranked.untold, ())), dict.fromkeys((line or LINE_TOKENS, LINE_TOKENS))
    for untold, most in product(behind, lengths):
        if room.take(text := _line(hit, caller, mark, untold, most)):
            yield hit, text


def _whole(hit: Hit, caller: Caller, mark: str) -> str:
    title = own_title(hit.note)
    head = f"{_head(hit, caller, mark)}{short(title, LINE_TOKENS * 2, lead=' ') if title else ''}"
    return "\n".join([head, hit.shown.text.rstrip(), *(f"{mark} {each}" for each in _behind(hit).values())])


def _line(hit: Hit, caller: Caller, mark: str, untold: Sequence[str], most: int) -> str:
    """A hit on one line, with another line for each of these notes that stands behind it."""
    doubt, behind = " WEAK MATCH" if hit.ranked.weak else "", _behind(hit)
    ids = ", ".join(end for end in behind if end not in untold)
    first = f"{_head(hit, caller, mark, doubt)} {line_of(hit.note, most)}{f' (earlier: {ids})' if ids else ''}"
    return "\n".join([first, *(f"{mark} {behind[end]}" for end in behind if end in untold)])


def _behind(hit: Hit) -> dict[str, str]:
    """What stands behind a hit, by id, on one line; twice as long where that alone says what is asked."""
    most = dict.fromkeys(hit.ranked.untold, LINE_TOKENS * 2)
    ends = ((item.note.id, item) for item in hit.earlier)
    return {end: earlier_line(item, hit.note, hit.terms, most.get(end, LINE_TOKENS)) for end, item in ends}


def _head(hit: Hit, caller: Caller, mark: str, doubt: str = "") -> str:
    note = hit.note
    where = "" if note.space in (caller.space, GLOBAL_SPACE) else f" space {on_one_line(note.space)}"
    retired = retired_line(note)
    cut = f" +{hit.shown.cut:,} characters" if hit.shown.cut and not doubt else ""
    worth = floored(hit.ranked.relevance) if hit.ranked.weak else hit.ranked.relevance
    relevance = f"{worth:.2f}".removesuffix(".00").removeprefix("0") or "0"
    how = "listed" if hit.listed else relevance
    later = f"later: since {hit.later_since[:10]}" if hit.later_since else ""
    remarks = (hit.ranked.doubt, hit.belief, later)
    said = "".join(
        f" {text}" for text in (retired, *(f"({short(each, LINE_TOKENS)})" for each in remarks if each)) if text
    )
    return f"{mark} {note.id} {note.type} {note.happened[:10]} {how}{where}{doubt}{cut}{said}"


def _beside(outcome: Recalled, places: dict[str, int]) -> list[str]:
    """Contradictions among the notes, then notes next to those that are shown."""
    lines = [
        f"Contradiction: {pair.first} and {pair.second}{f' ({short(pair.reason, LINE_TOKENS)})' if pair.reason else ''}"
        for pair in outcome.tensions
    ]
    related = [item for item in outcome.related if item.via in places][:MOST_RELATED]
    return lines + [related_line(item, places[item.via]) for item in related]


def _frame(outcome: Recalled, caller: Caller) -> results.RecallResult:
    return {
        "results": [],
        "related": [],
        "tensions": [],
        "total": outcome.listing.total if outcome.listing else None,
        "omitted": {"count": 0, "ids": []},
        "read_as": _read_as(outcome, caller),
        "event_id": outcome.event_id,
        "notices": [],
    }


def _read_as(outcome: Recalled, caller: Caller) -> results.ReadAs:
    return {"after": outcome.after, "before": outcome.before, "space": caller.space, "space_from": caller.space_from}


def hit_shape(hit: Hit) -> results.RecallHit:
    """All that is known of a hit; its place among other notes of the same matter is left out where it has none."""
    note = hit.note
    shape: results.RecallHit = {
        "id": note.id,
        "title": beginning(note.title, TITLE_TOKENS),
        "type": note.type,
        "tier": note.tier,
        "space": note.space,
        "created": note.created,
        "event_time": note.event_time,
        "content": hit.shown.text,
        "cut": hit.shown.cut,
        "relevance": round(hit.ranked.relevance, DIGITS),
        "score": round(hit.ranked.score, DIGITS),
        "source": beginning(note.source, LINE_TOKENS),
        "confidence": round(note.confidence, DIGITS),
        "outdated": note.is_outdated,
        "weak": hit.ranked.weak,
        "why": "; ".join(filter(None, [retired_line(note), beginning(hit.ranked.why, LINE_TOKENS * 2)])),
    }
    return _standing(hit, shape)


def _standing(hit: Hit, shape: results.RecallHit) -> results.RecallHit:
    """The shape with what is said of it beside other notes of the same matter, and of a belief."""
    if hit.earlier:
        shape["earlier"] = [line.removeprefix("earlier: ") for line in _behind(hit).values()]
    if hit.belief:
        shape["belief"] = hit.belief
    if hit.later_since:
        shape["later_since"] = hit.later_since
    return shape


def _without_details(hit: Hit, shape: results.RecallHit) -> results.RecallHit:
    """The shape without what most notes have, how it was found, and when what has a time of its own was stored."""
    usual = {"event_time": None, "cut": 0, "tier": "working", "confidence": 1.0, "why": ""}
    said = {**shape, "why": _remarks(hit)}
    gone = {name for name, value in usual.items() if said[name] == value}
    gone |= {"score", "source", *(["created"] if hit.note.event_time else [])}
    return cast("results.RecallHit", {name: value for name, value in said.items() if name not in gone})


def _remarks(hit: Hit) -> str:
    """What is to be known of a hit beside how it was found: that it is retired, why it is doubtful or stands here."""
    remarks = (retired_line(hit.note), *hit.ranked.also, hit.ranked.doubt)
    return "; ".join(filter(None, (beginning(each, LINE_TOKENS * 2) for each in remarks)))


def _line_shape(hit: Hit, caller: Caller, most: int = DOUBTFUL_TOKENS) -> results.RecallHit:
    """A weak hit as the text shows it on one line: its title, or what it begins with where it has none of its own."""
    note, own = hit.note, own_title(hit.note)
    shape = _named_shape(hit)
    shape["title"] = short(own, most)
    shape["content"] = "" if own else short(first_sentence(note.content, most), most)
    if note.space not in (caller.space, GLOBAL_SPACE):
        shape["space"] = note.space
    if note.is_outdated:
        shape["outdated"] = True
    if why := "; ".join(filter(None, (retired_line(note), beginning(hit.ranked.doubt, LINE_TOKENS)))):
        shape["why"] = why
    return _standing(hit, shape)


def _named_shape(hit: Hit) -> results.RecallHit:
    """A weak hit by its id alone."""
    relevance = round(hit.ranked.relevance, DIGITS)
    return {"id": hit.note.id, "title": "", "content": "", "relevance": relevance, "weak": hit.ranked.weak}


def _fitting(hit: Hit, shape: results.RecallHit, caller: Caller, room: Room) -> results.RecallHit | None:
    """A hit with as much of it as there is room for; None where there is no room for anything."""
    if room.take_json(shape):
        return shape
    least = _named_shape(hit)
    if "cut" not in shape and hit.ranked.weak:
        return least if room.take_json(least) else None
    shape = _without_details(hit, hit_shape(hit))
    if room.take_json(shape):
        return shape
    line = _line_shape(hit, caller)
    for rest in (shape, least):
        for shown in cuts(hit.shown, hit.terms, room.left - json_tokens({**rest, "content": "", "cut": hit.shown.cut})):
            less: results.RecallHit = {**rest, "content": shown.text, "cut": shown.cut}
            if (rest is shape or shown.text[:AS_LINE] != line["content"][:AS_LINE]) and room.take_json(less):
                return less
    return next((each for each in (line, least) if room.take_json(each)), None)


def _neighbour(item: Neighbour) -> results.RelatedNote:
    note = item.note
    return {
        "id": note.id,
        "title": beginning(note.title, LINE_TOKENS),
        "type": note.type,
        "space": note.space,
        "content": first_sentence(note.content, LINE_TOKENS),
        "outdated": note.is_outdated,
        "via": item.via,
        "edge": item.edge,
    }


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
        "linked": [replace(link, title=title_line(link.title)) for link in linked],
        "similar": [replace(item, title=title_line(item.title)) for item in similar],
        "change_id": outcome.change_id,
        "notices": notices,
    }
    verb = "Already stored" if isinstance(outcome, Duplicate) else "Stored"
    lines = [f"{verb}: {note.id} [{note.type}] {short(note.title, TITLE_TOKENS)} (space {note.space}, {space_from})"]
    shown = (link for link in linked if link.type != "preceded_by")  # that it came after another one says nothing of it
    lines += [f"Linked: {link.type} {link.id} {short(link.title, LINE_TOKENS)}" for link in shown]
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
    connections = [item for item in map(_connection, found.connections) if room.take_json(asdict(item))]
    neighbours: list[results.NeighbourNote] = [
        {"id": item.id, "title": title_line(item.title), "type": item.type} for item in found.neighbours
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
        "superseded_by": _text(note.superseded_by or None),
        **shown,
        "source": beginning(note.source, LONGEST_TEXT),
        "path": beginning(f"memories/{found.path}", LONGEST_TEXT),
        "connections": connections,
        "neighbours": neighbours,
        "changes": found.changes,
        "notices": notices,
    }
    facts = [note.tier, f"space {note.space}", f"created {note.created}", f"confidence {note.confidence:.{DIGITS}g}"]
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
        f"{'→' if item.direction == 'out' else '←'} {item.type} {item.weight:.2f} {item.id} "
        f"{short(item.title, LINE_TOKENS)}"
        for item in connections
    ]
    return _answer(lines, dict(structured))


def _connection(item: Connection) -> Connection:
    return replace(item, title=title_line(item.title), reason=beginning(item.reason, LONGEST_TEXT))


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
    """Both forms; entries of lists that are dataclasses are read by key like everything else."""
    plain = {key: list(map(_by_key, value)) if isinstance(value, list) else value for key, value in structured.items()}
    return Rendered("\n".join(lines), plain)


def _by_key(item: Any) -> Any:
    return asdict(item) if is_dataclass(item) and not isinstance(item, type) else item
