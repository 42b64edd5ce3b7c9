"""The same question in other words: each phrasing is searched for like the question, and their scores are averaged.

The asking agent is a language model, and can say a question in the words that a note may use; what is found by several
phrasings is more likely meant than what one of them happens to meet. Nothing gets stronger than the mean makes it, so
phrasings of a question about nothing stored do not make it confident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from holdfast.engine.arguments import LARGEST_QUERY, check_text
from holdfast.engine.ports import Ports, View
from holdfast.errors import InvalidArgumentError, LimitExceededError
from holdfast.model.identifiers import is_formed
from holdfast.model.query import Filter, QueryVector
from holdfast.model.ranking import Question, Ranked, Weights, rank
from holdfast.model.words import query_terms

MOST_PHRASINGS = 3


@dataclass(frozen=True, slots=True)
class Phrasing:
    """Other words for a question. `extraordinary` and `formed` are as of `holdfast.model.ranking.Question`."""

    text: str
    extraordinary: frozenset[str]
    formed: frozenset[str]
    vector: QueryVector | None = None


def checked_phrasings(query: str, also: Sequence[str]) -> tuple[str, ...]:
    """Those that say something else than the question, each once.

    Raises:
        LimitExceededError: there are more than three, or one is too long.
        InvalidArgumentError: one is blank, or no valid Unicode.
    """
    if len(also) > MOST_PHRASINGS:
        raise LimitExceededError(f"also takes at most {MOST_PHRASINGS} phrasings.")
    for place, text in enumerate(also):
        if not text.strip():
            raise InvalidArgumentError(f"also[{place}] is blank.", "Leave it out, or say the question in other words.")
        check_text(f"also[{place}]", text.replace("\0", " "), LARGEST_QUERY)
    return tuple(dict.fromkeys(text for text in also if text.split() != query.split()))


def read_phrasing(ports: Ports, text: str) -> Phrasing:
    """What is searched for of a phrasing."""
    extraordinary = frozenset(term for term in query_terms(text) if not ports.is_ordinary(term))
    formed = frozenset(term for term in extraordinary if is_formed(term, ports.is_ordinary))
    return Phrasing(text, extraordinary, formed)


def ranked_phrasing(
    view: View, phrasing: Phrasing, question: Question, wanted: Filter, weights: Weights, most: int
) -> list[Ranked]:
    """What a phrasing finds, best first, with all else as the question has it."""
    found = view.search(phrasing.text, phrasing.vector, wanted, most=most, extraordinary=phrasing.extraordinary)
    asked = replace(
        question, text=phrasing.text, extraordinary=phrasing.extraordinary, formed=phrasing.formed
    )  # feedback is on what was asked, and is in the question's own score
    return rank(found, replace(asked, affinity={}), weights)


def averaged(first: Sequence[Ranked], others: Sequence[Sequence[Ranked]]) -> list[Ranked]:
    """All that any phrasing found, with the mean of its scores and of its relevances, best first.

    Where a phrasing did not find a note, it counts there like the last that was found, and as of no relevance.
    """
    if not others:
        return list(first)
    lists = [first, *others]
    scores = [{item.candidate.id: item for item in each} for each in lists]
    lowest = [min((item.score for item in each), default=0.0) for each in lists]
    items = {item.candidate.id: item for each in reversed(lists) for item in each}
    found = []
    for note_id, item in items.items():
        score = fmean(
            by_id[note_id].score if note_id in by_id else last for by_id, last in zip(scores, lowest, strict=True)
        )
        worth = fmean(by_id[note_id].relevance if note_id in by_id else 0.0 for by_id in scores)
        found.append(replace(item, score=score, relevance=worth))
    found.sort(key=lambda item: item.candidate.id)
    found.sort(key=lambda item: item.candidate.created, reverse=True)
    found.sort(key=lambda item: item.score, reverse=True)
    return found
