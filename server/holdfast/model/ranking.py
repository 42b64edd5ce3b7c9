"""Order and relevance of what the legs found.

    score = coverage + 0.12 z + 0.10 session_z + 0.30 [the query names the note's subject] - 0.20 [another space]

`coverage` is the share of the query's word weight that the note carries, `z` its cosine in deviations above the
store's background: both absolute, so neither is ever divided by its own best hit. Measured on notes and on dialogue
(bench/retrieval.py). Relevance is a calibrated probability of another kind: it says how good a hit is, whatever else
was found, and only it decides what is returned and what is marked as weak.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.model.memory import GLOBAL_SPACE
from holdfast.model.query import Candidate
from holdfast.model.words import query_terms

GATE = 0.20  # nothing is returned unless the best hit reaches it
FLOOR = 0.08  # below it a single note is not returned
WEAK = 0.45  # below it a note is marked as doubtful
Z, SESSION, _SUBJECT, _OTHER_SPACE = 0.12, 0.10, 0.30, 0.20
_OUTDATED, _DOUBT, _CORE = 0.15, 0.10, 0.02
_STEEPNESS, _MIDDLE, _Z_SHARE, _NAMED, _WORDS_ONLY = 4.24, 0.6, 0.2, 0.1, 1.5


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with the number that orders and the number that gates, and why it is here."""

    candidate: Candidate
    score: float
    relevance: float
    why: str

    @property
    def weak(self) -> bool:
        return self.relevance < WEAK


def relevance(coverage: float, z: float | None, *, subject: bool = False) -> float:
    """How likely a careful reader calls the note relevant, in 0..1; 0.7 means relevant.

    Logistic in coverage^2 + z/5 (and a tenth where the query names the note's subject), fitted to judged notes;
    without a vector, linear in coverage. Monotone in all of them.
    """
    words = min(max(coverage, 0.0), 1.0)
    if z is None:
        return min(1.0, _WORDS_ONLY * words)
    evidence = words * words + _Z_SHARE * z + _NAMED * subject
    return 1.0 / (1.0 + math.exp(-_STEEPNESS * (evidence - _MIDDLE)))


def rank(
    candidates: Iterable[Candidate], query: str, space: str | None, *, limit: int, gated: bool = True
) -> list[Ranked]:
    """The best candidates, best first, or none where none is good enough; equal scores newest first, then by id.

    Args:
        candidates: what the legs found.
        query: as it was asked; a note whose subject it names is preferred.
        space: the space asked from; None where there is none, then all spaces are equal.
        limit: how many at the most.
        gated: keep to the lines below which nothing is shown.
    """
    named = set(query_terms(query))
    ranked = [_ranked(candidate, named, space) for candidate in candidates]
    kept = [item for item in ranked if item.relevance >= FLOOR or not gated]
    kept.sort(key=lambda item: item.candidate.id)
    kept.sort(key=lambda item: item.candidate.created, reverse=True)
    kept.sort(key=lambda item: item.score, reverse=True)
    best = kept[:limit]
    return best if not gated or any(item.relevance >= GATE for item in best) else []


def without_names(query: str, subjects: Sequence[str]) -> str:
    """The query as it is to be embedded: names of subjects taken out, since they match all that is about them."""
    asked = set(query_terms(query))
    named = [words for subject in subjects if (words := set(query_terms(subject))) <= asked]
    names = set().union(*named)
    if not asked - names:
        return query
    return " ".join(word for word in query.split() if not set(query_terms(word)) & names)


def _ranked(candidate: Candidate, named: set[str], space: str | None) -> Ranked:
    subject = bool(candidate.subject) and set(query_terms(candidate.subject or "")) <= named
    foreign = space is not None and candidate.space not in (space, GLOBAL_SPACE)
    score = (
        candidate.coverage
        + Z * (candidate.z or 0.0)
        + SESSION * (candidate.session_z or 0.0)
        + _SUBJECT * subject
        - _OTHER_SPACE * foreign
        - _OUTDATED * candidate.outdated
        - _DOUBT * (1.0 - candidate.confidence)
        + _CORE * ((candidate.tier == "core") - (candidate.tier == "archival"))
    )
    return Ranked(
        candidate, score, relevance(candidate.coverage, candidate.z, subject=subject), _why(candidate, subject)
    )


def _why(candidate: Candidate, subject: bool) -> str:
    reasons = []
    if candidate.matched:
        words = ", ".join(sorted(candidate.matched)[:5])
        reasons.append(f"words: {words}")
    if candidate.z is not None and candidate.z > 1.0:
        reasons.append(f"meaning: {candidate.z:.1f} deviations")
    if subject:
        reasons.append("names its subject")
    return "; ".join(reasons) or "near by meaning"
