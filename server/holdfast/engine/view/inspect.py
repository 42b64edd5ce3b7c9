"""What the View shows of an answer: what each hit is worth and why, what was held back, and the graph around it.

The answer is that of `recall`, worked out by the same functions. What it did not show is found by asking the same again
without its lines and with what is retired; each note's terms are those that its rank was made of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.engine.agent.answer import Answer, Hit, answer
from holdfast.engine.agent.question import Asking
from holdfast.engine.agent.recall import asked, kept_event, reading_of, standing_notices
from holdfast.engine.commit import LARGEST_QUERY, check_range, check_text, resolve, space_named
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.state import Stages
from holdfast.errors import InvalidArgumentError
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.index.view import IndexView
from holdfast.model.note import SELF_ID, Note
from holdfast.model.prompts import is_no_question
from holdfast.model.ranking import BESIDE_SURE, FLOOR, GATE, Filter, is_sure

MOST_HITS = 20
MOST_HELD = 20

HeldBack = Literal["retired", "earlier", "no_question", "below_floor", "below_gate", "other_time", "beyond_limit"]


@dataclass(frozen=True, slots=True)
class Held:
    """A note that the recall did not show: why, and how much relevance it lacked, None where that was not it.

    `instead` is the note that was shown in its place, if there is one.
    """

    hit: Hit
    why: HeldBack
    lacking: float | None
    instead: str | None


@dataclass(frozen=True, slots=True)
class Inspected:
    """A question with its answer and what stood behind it.

    `after` and `before` are the time that it was read to speak of, `time_words` the words that say so; `by_meaning`
    says that the question was encoded; `described` says what list was asked for, and is empty for a search.
    """

    hits: tuple[Hit, ...]
    held: tuple[Held, ...]
    space: str | None
    spaces: tuple[str, ...]
    after: str | None
    before: str | None
    time_words: str
    elsewhen: bool
    by_meaning: bool
    described: str
    event_id: str
    notices: tuple[str, ...]


async def inspect(ports: Ports, caller: Caller, question: str, space: str | None, limit: int) -> Inspected:
    """Ask as `recall` does, and say how the answer came about. The recall is kept, so that hits can be rated.

    Raises:
        InvalidArgumentError: an argument cannot be used.
    """
    check_text("question", question.replace("\0", " "), LARGEST_QUERY)
    check_range("limit", limit, MOST_HITS)
    spaces = () if space is None else (space_named("space", space),)
    asking, notice = await asked(ports, question, Filter(ports.now, spaces=spaces), caller, Stages())

    def read(view: IndexView) -> tuple[Answer, Answer, list[str]]:
        found = answer(view, asking, limit, explain=False)
        open_asking = replace(asking, idle=None, wanted=replace(asking.wanted, include_outdated=True))
        whole = answer(view, open_asking, limit + MOST_HELD, explain=True, passing=lambda _: True)
        return found, whole, standing_notices(view, ports, asking.vector)

    found, whole, standing = await ports.index.read(read)
    event, unrated = await kept_event(
        ports, caller, asking, [(hit.note.id, hit.ranked.relevance) for hit in found.hits]
    )
    window = None if found.elsewhen else found.window or asking.window
    said = (*reading_of(asking, found), notice, *standing, unrated)
    return Inspected(
        hits=_explained(found, whole),
        held=_held(asking, found, whole),
        space=asking.question.space,
        spaces=spaces,
        after=window.after if window else None,
        before=window.before if window else None,
        time_words=asking.window.words if asking.window else "",
        elsewhen=found.elsewhen,
        by_meaning=(asking.vector or asking.beside) is not None,
        described=found.listing.described if found.listing else "",
        event_id=event,
        notices=tuple(text for text in said if text),
    )


def _explained(found: Answer, whole: Answer) -> tuple[Hit, ...]:
    """The hits; one that took another's place has the terms of its own search where it was found by itself too."""
    own = {hit.note.id: hit.ranked for hit in whole.hits}
    return tuple(
        hit
        if hit.ranked.terms is not None or hit.note.id not in own
        else replace(hit, ranked=hit.ranked._replace(terms=own[hit.note.id].terms))
        for hit in found.hits
    )


def _held(asking: Asking, found: Answer, whole: Answer) -> tuple[Held, ...]:
    shown = {hit.note.id for hit in found.hits}
    behind = {item.note.id: hit.note.id for hit in found.hits for item in hit.earlier}
    others = [hit for hit in whole.hits if hit.note.id not in shown]
    return tuple(_why(asking, hit, found, behind) for hit in others[:MOST_HELD])


def _why(asking: Asking, hit: Hit, found: Answer, behind: Mapping[str, str]) -> Held:
    """The first of the recall's own conditions that the note does not meet, in the order in which recall asks them."""
    note, worth = hit.note, hit.ranked.likeness
    why: HeldBack = "beyond_limit"
    lacking: float | None = None
    instead: str | None = None
    if note.id in behind:
        why, instead = "earlier", behind[note.id]
    elif note.is_outdated and not asking.wanted.include_outdated:
        why, instead = "retired", note.superseded_by
    elif asking.idle == "empty":
        why = "no_question"
    elif worth < FLOOR:
        why, lacking = "below_floor", FLOOR - worth
    elif found.window is not None and not found.window.holds(note.happened):
        why = "other_time"
    elif not found.hits and worth < GATE:
        why, lacking = "below_gate", GATE - worth
    elif is_sure(each.ranked for each in found.hits) and hit.ranked.relevance < BESIDE_SURE:
        why, lacking = "below_floor", BESIDE_SURE - hit.ranked.relevance
    return Held(hit, why, lacking, instead)


MOST_NODES = 300
MOST_EDGES = 1500
SEEDS = 20  # notes that answer a question
REPLACED_SHARE = 4  # of the notes of a space one part at most is what these replaced
SUPERSEDED = "superseded_by"  # an edge of the map that is a field of the note, not a link
_THREAD = "preceded_by"  # links that only say that one note was stored after another
_FIRST = ("contradicts", "evolved_from")


@dataclass(frozen=True, slots=True)
class Around:
    """Whose surroundings are asked for: those of a note, of a question, of a space, or with neither of all spaces."""

    node_id: str | None = None
    question: str | None = None
    space: str | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Notes with the edges between them, of which some have the type `superseded_by`.

    `seeds` are those that were asked for, `total` counts all that fitted.
    """

    notes: tuple[Note, ...]
    edges: tuple[LinkRow, ...]
    seeds: frozenset[str]
    total: int


async def graph(ports: Ports, caller: Caller, around: Around, most: int) -> Graph:
    """At most so many notes around something, the nearest and foremost ones.

    Raises:
        MemoryNotFoundError, AmbiguousIdError: there is no such note.
        InvalidArgumentError: an argument cannot be used, or two things are asked for at once.
    """
    check_range("most", most, MOST_NODES)
    if around.node_id and around.question:
        raise InvalidArgumentError("node_id and question are both given.", "Give one.")
    space = None if around.space is None else space_named("space", around.space)
    if around.node_id:
        seed = (await resolve(ports.index, around.node_id)).note.id
        return await ports.index.read(lambda view: _of_seeds(view, [seed], most))
    if around.question is not None and not is_no_question(around.question):
        seeds = await _answering(ports, caller, around.question, space)
        return await ports.index.read(lambda view: _of_seeds(view, seeds[:most], most))
    return await ports.index.read(lambda view: _of_space(view, space, ports.now, most))


async def _answering(ports: Ports, caller: Caller, question: str, space: str | None) -> list[str]:
    check_text("question", question.replace("\0", " "), LARGEST_QUERY)
    wanted = Filter(ports.now, spaces=(space,) if space else ())
    asking, _ = await asked(ports, question, wanted, caller, Stages())
    found = await ports.index.read(lambda view: answer(view, asking, SEEDS, explain=False))
    return [hit.note.id for hit in found.hits]


def _of_seeds(view: IndexView, seeds: Sequence[str], most: int) -> Graph:
    """The seeds, then notes one edge away, then those two edges away, as long as there is room."""
    known = dict.fromkeys(seeds)
    ring: Sequence[str] = list(seeds)
    total = len(known)
    for _ in range(2):
        following = _next(view, ring, known)
        total += len(following)
        ring = following[: most - len(known)]
        known.update(dict.fromkeys(ring))
        if not ring or len(known) >= most:
            break
    return _between(view, list(known), frozenset(seeds), total)


def _next(view: IndexView, ring: Sequence[str], known: Collection[str]) -> list[str]:
    """What is one edge away, the telling edges first. Nearly all that is stored is next to Self: nothing leads on."""
    from_self = len(ring) == 1 and ring[0] == SELF_ID
    starts = ring if from_self else [each for each in ring if each != SELF_ID]
    links = [link for link in view.links(starts) if link.type != _THREAD]
    links.sort(key=lambda link: (link.type not in _FIRST, -link.weight, link.source, link.target))
    ends = [end for link in links for end in (link.source, link.target)]
    successors = [row.note.superseded_by for row in view.notes(starts).values() if row.note.superseded_by]
    ways = dict.fromkeys([*successors, *view.replaced_by(starts, MOST_NODES), *ends])
    return [end for end in ways if end not in known]


def _of_space(view: IndexView, space: str | None, now: str, most: int) -> Graph:
    """The foremost notes of a space, and of what these replaced the latest."""
    ids, total = view.foremost(space, now, most)
    if total > most:
        ids = ids[: most - most // REPLACED_SHARE]
    replaced = [each for each in view.replaced_by(ids, most - len(ids)) if each not in set(ids)] if ids else []
    return _between(view, [*ids, *replaced], frozenset(), total + len(replaced))


def _between(view: IndexView, ids: Sequence[str], seeds: frozenset[str], total: int) -> Graph:
    notes = view.notes(ids)
    shown = [each for each in ids if each in notes]
    edges = [*_superseding(notes), *_edges(view.links(shown), set(shown))]
    return Graph(tuple(notes[each].note for each in shown), tuple(edges[:MOST_EDGES]), seeds & set(shown), total)


def _superseding(notes: dict[str, IndexedNote]) -> Iterable[LinkRow]:
    for note_id, row in notes.items():
        successor = row.note.superseded_by
        if successor in notes:
            yield LinkRow(note_id, str(successor), SUPERSEDED, 1.0, row.note.outdated_reason or "")


def _edges(links: Iterable[LinkRow], shown: Collection[str]) -> list[LinkRow]:
    kept = [link for link in links if link.source in shown and link.target in shown]
    kept.sort(key=lambda link: (link.type not in _FIRST, link.type == _THREAD, -link.weight))
    return kept
