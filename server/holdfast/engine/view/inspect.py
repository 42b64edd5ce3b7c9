"""How a recall came to its answer: what each hit is worth and why, and what was held back, why, and by how much.

The answer is that of `recall`, worked out by the same functions. What it did not show is found by asking the same again
without its lines and with what is retired; each note's terms are those that its rank was made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.engine.agent.answer import Answer, Hit, answer
from holdfast.engine.agent.question import Asking
from holdfast.engine.agent.recall import asked, kept_event, reading_of, standing_notices
from holdfast.engine.arguments import LARGEST_QUERY, check_text
from holdfast.engine.arguments import space as space_named
from holdfast.engine.ports import Caller, Ports, View
from holdfast.engine.state import Stages
from holdfast.errors import InvalidArgumentError
from holdfast.model.ranking import FLOOR, GATE, Filter

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
    if not 1 <= limit <= MOST_HITS:
        raise InvalidArgumentError(f"limit is outside 1 to {MOST_HITS}.")
    spaces = () if space is None else (space_named("space", space),)
    asking, notice = await asked(ports, question, Filter(ports.now, spaces=spaces), caller, Stages())

    def read(view: View) -> tuple[Answer, Answer, list[str]]:
        found = answer(view, asking, limit, explain=False)
        open_asking = replace(asking, idle=None, wanted=replace(asking.wanted, include_outdated=True))
        whole = answer(view, open_asking, limit + MOST_HELD, explain=True, passing=lambda _: True)
        return found, whole, standing_notices(view, ports, asking.vector)

    found, whole, standing = await ports.index.read(read)
    event, unrated = await kept_event(
        ports, caller, asking, [(hit.note.id, hit.ranked.relevance) for hit in found.hits]
    )
    window = None if found.elsewhen else found.window or asking.window
    told = (*reading_of(asking, found), notice, *standing, unrated)
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
        notices=tuple(text for text in told if text),
    )


def _explained(found: Answer, whole: Answer) -> tuple[Hit, ...]:
    """The hits; one that took another's place has the terms of its own search where it was found by itself too."""
    own = {hit.note.id: hit.ranked for hit in whole.hits}
    return tuple(
        hit
        if hit.ranked.terms is not None or hit.note.id not in own
        else replace(hit, ranked=replace(hit.ranked, terms=own[hit.note.id].terms))
        for hit in found.hits
    )


def _held(asking: Asking, found: Answer, whole: Answer) -> tuple[Held, ...]:
    shown = {hit.note.id for hit in found.hits}
    behind = {item.note.id: hit.note.id for hit in found.hits for item in hit.earlier}
    others = [hit for hit in whole.hits if hit.note.id not in shown]
    return tuple(_why(asking, hit, found, behind) for hit in others[:MOST_HELD])


def _why(asking: Asking, hit: Hit, found: Answer, behind: Mapping[str, str]) -> Held:
    """The first of the recall's own conditions that the note does not meet, in the order in which recall asks them."""
    note, worth = hit.note, hit.ranked.relevance
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
    return Held(hit, why, lacking, instead)
