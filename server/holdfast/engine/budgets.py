"""How many tokens an answer may cost, and how much of each note is shown for it.

Tokens are those of `holdfast.model.tokens.most_tokens`, which never counts too few. An answer has two forms, text and
JSON, of which a model reads one: each has a budget. Text leaves out most of what is known of a note, so its budget is
the smaller one, unless the caller gives one for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.engine.answer import Hit
from holdfast.model.passages import passage
from holdfast.model.tokens import most_tokens

TEXT_TOKENS: Final = 800  # of an answer with ten hits; more hits have more
STRUCTURED_TOKENS: Final = 3000
MOST_TOKENS: Final = 50_000  # that a caller may have; more would keep others waiting while it is put together
USUAL_HITS: Final = 10
MOST_SHARES: Final = 5.0  # of those for ten hits: some clients take no answer of more than 25,000 tokens
LONGEST_PASSAGE: Final = 300
WEAK_PASSAGE: Final = 40
SHORTEST_PASSAGE: Final = 40
FRAME_TOKENS: Final = 120  # of an answer's text beside its hits
ENTRY_TOKENS: Final = 45  # what a hit's own line costs
_NEVER_MORE = 16  # characters to a token
MOST_TERMS: Final = 64  # of a question, that a passage is looked for by


@dataclass(frozen=True, slots=True)
class Budget:
    """The most tokens of an answer's text, of its JSON, and of what is shown of one note."""

    text: int
    structured: int
    passage: int


def budget_of(given: int | None, limit: int = USUAL_HITS) -> Budget:
    """What the caller gave, for either form; else what is usual for so many hits."""
    if given is not None:
        most = min(given, MOST_TOKENS)
        return Budget(most, most, most)
    share = min(MOST_SHARES, max(1.0, limit / USUAL_HITS))
    return Budget(round(TEXT_TOKENS * share), round(STRUCTURED_TOKENS * share), LONGEST_PASSAGE)


def with_passages(hits: Sequence[Hit], terms: Sequence[str], budget: Budget) -> tuple[Hit, ...]:
    """The hits with what is shown of each: short notes whole, of long ones what answers, of weak ones a line."""
    strong = [hit.note.content for hit in hits if not hit.ranked.weak]
    most = most_of_each(strong, budget.passage, budget.text - FRAME_TOKENS - ENTRY_TOKENS * len(strong))
    rooms = (min(WEAK_PASSAGE, most) if hit.ranked.weak else most for hit in hits)
    return tuple(
        replace(hit, shown=passage(hit.note.content, terms[:MOST_TERMS], room))
        for hit, room in zip(hits, rooms, strict=True)
    )


def most_of_each(contents: Sequence[str], most: int, room: int) -> int:
    """The most tokens of one note with which all of them fit, where that is not too little to say anything.

    What short notes leave over goes to the longer ones.
    """
    left = sorted(_cost(content, most) for content in contents)
    while left and left[0] * len(left) <= room:
        room -= left.pop(0)
    return min(most, max(SHORTEST_PASSAGE, room // len(left))) if left else most


def _cost(content: str, most: int) -> int:
    """What a note costs, as far as that matters."""
    return most if len(content) > most * _NEVER_MORE else min(most, most_tokens(content))
