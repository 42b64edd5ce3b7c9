"""Notes and the typed links between them: around a note, around what answers a question, or those of a space."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from holdfast.engine.agent.answer import answer
from holdfast.engine.agent.recall import asked
from holdfast.engine.arguments import LARGEST_QUERY, check_text, resolve
from holdfast.engine.arguments import space as space_named
from holdfast.engine.ports import Caller, Ports, View
from holdfast.engine.state import Stages
from holdfast.errors import InvalidArgumentError
from holdfast.index.rows import IndexedNote, LinkRow
from holdfast.model.note import SELF_ID, Note
from holdfast.model.prompts import is_no_question
from holdfast.model.ranking import Filter

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
class Edge:
    """An edge of the map; `type` is the link's, or `superseded_by`."""

    source: str
    target: str
    type: str
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Notes with the edges between them; `seeds` are those that were asked for, `total` counts all that fitted."""

    notes: tuple[Note, ...]
    edges: tuple[Edge, ...]
    seeds: frozenset[str]
    total: int


async def graph(ports: Ports, caller: Caller, around: Around, most: int) -> Graph:
    """At most so many notes around something, the nearest and foremost ones.

    Raises:
        MemoryNotFoundError, AmbiguousIdError: there is no such note.
        InvalidArgumentError: an argument cannot be used, or two things are asked for at once.
    """
    if not 1 <= most <= MOST_NODES:
        raise InvalidArgumentError(f"most is outside 1 to {MOST_NODES}.")
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


def _of_seeds(view: View, seeds: Sequence[str], most: int) -> Graph:
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


def _next(view: View, ring: Sequence[str], known: Collection[str]) -> list[str]:
    """What is one edge away, the telling edges first. Nearly all that is stored is next to Self: nothing leads on."""
    from_self = len(ring) == 1 and ring[0] == SELF_ID
    starts = ring if from_self else [each for each in ring if each != SELF_ID]
    links = [link for link in view.links(starts) if link.type != _THREAD]
    links.sort(key=lambda link: (link.type not in _FIRST, -link.weight, link.source, link.target))
    ends = [end for link in links for end in (link.source, link.target)]
    heirs = [row.note.superseded_by for row in view.notes(starts).values() if row.note.superseded_by]
    ways = dict.fromkeys([*heirs, *view.replaced_by(starts, MOST_NODES), *ends])
    return [end for end in ways if end not in known]


def _of_space(view: View, space: str | None, now: str, most: int) -> Graph:
    """The foremost notes of a space, and of what these replaced the latest."""
    ids, total = view.foremost(space, now, most)
    if total > most:
        ids = ids[: most - most // REPLACED_SHARE]
    replaced = [each for each in view.replaced_by(ids, most - len(ids)) if each not in set(ids)] if ids else []
    return _between(view, [*ids, *replaced], frozenset(), total + len(replaced))


def _between(view: View, ids: Sequence[str], seeds: frozenset[str], total: int) -> Graph:
    notes = view.notes(ids)
    shown = [each for each in ids if each in notes]
    edges = [*_superseding(notes), *_edges(view.links(shown), set(shown))]
    return Graph(tuple(notes[each].note for each in shown), tuple(edges[:MOST_EDGES]), seeds & set(shown), total)


def _superseding(notes: dict[str, IndexedNote]) -> Iterable[Edge]:
    for note_id, row in notes.items():
        heir = row.note.superseded_by
        if heir in notes:
            yield Edge(note_id, str(heir), SUPERSEDED, 1.0, row.note.outdated_reason or "")


def _edges(links: Iterable[LinkRow], shown: Collection[str]) -> list[Edge]:
    kept = [link for link in links if link.source in shown and link.target in shown]
    kept.sort(key=lambda link: (link.type not in _FIRST, link.type == _THREAD, -link.weight))
    return [Edge(link.source, link.target, link.type, link.weight, link.reason) for link in kept]
