"""How long a note stays at hand: importance, and memory that fades unless the note is used.

Ormah's formulas in their late form: R = exp(-days / S) is how much is left of a note after so many days without use;
each use that is confirmed lengthens S, by more the more had faded. Computed in log space and bounded, so that neither
an ancient note nor a clock that goes back makes a number that is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from holdfast.model.times import moment

FADED = 0.3  # of R: below it a note may leave the working tier
MINOR = 0.5  # of importance: at or above it a note stays where it is
FIRST_LEASE_DAYS = 7.0
FIRST_STABILITY = -FIRST_LEASE_DAYS / math.log(FADED)  # days; R falls to 0.3 when the lease ends
LONGEST_STABILITY = 365.0
COOLDOWN = timedelta(hours=24)
CORE_CAP = 50
FORGOTTEN, FORGOTTEN_DAYS, FORGOTTEN_DEGREE, FORGOTTEN_WEIGHT = 0.05, 90.0, 2, 0.7

_GROWTH, _EXPONENT, _SPACING, _MOST_SPACING = 0.5, 0.5, 0.2, 2.0
_SHARES = (0.34, 0.33, 0.33)  # of uses, links and recency
_MANY_USES, _MANY_LINKS, _HALF_LIFE_DAYS = 50, 20, 14.0
_SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Life:
    """How a note stands: `retention` is R in 0..1, `importance` in 0..1, `idle` the days since its last sign of life.

    `stability` is S in days, `uses` how many confirmed uses counted.
    """

    retention: float
    importance: float
    idle: float
    stability: float
    uses: int


def life(created: str, touched: str, uses: Iterable[str], degree: int, now: datetime) -> Life:
    """A note's life now.

    Args:
        created: when it was made, an instant.
        touched: when its file was last changed, which is a sign of life and no use.
        uses: when its uses were confirmed, in any order; those within 24 hours of one that counted add nothing to S,
            nor do those after `now`.
        degree: how many links lead to or from it.
        now: the time now; earlier than the last sign of life counts as the same time.
    """
    stability, last, counted = FIRST_STABILITY, moment(created), 0
    every = sorted(used for used in map(moment, uses) if used <= now)
    before: datetime | None = None
    for used in every:
        if before is None or used - before >= COOLDOWN:
            stability = grown(stability, days_between(last, used))
            before, last, counted = used, used, counted + 1
    idle = days_between(max([moment(created), moment(touched), *every[-1:]]), now)
    return Life(math.exp(-idle / stability), importance(counted, degree, idle), idle, stability, counted)


def grown(stability: float, idle: float) -> float:
    """S after a use: min(365, S (1 + 0.5 S^-0.5 min(R^-0.2, 2))), for a note that was idle for so many days."""
    exponent = _SPACING * idle / stability  # of R^-0.2 = exp(0.2 days / S)
    spacing = _MOST_SPACING if exponent >= math.log(_MOST_SPACING) else math.exp(exponent)
    return min(LONGEST_STABILITY, stability * (1 + _GROWTH * math.pow(stability, -_EXPONENT) * spacing))


def importance(uses: int, degree: int, idle: float) -> float:
    """In 0..1: uses and links count by their logarithm, up to 50 and 20; recency halves in 14 days."""
    used = min(1.0, math.log1p(max(0, uses)) / math.log1p(_MANY_USES))
    linked = min(1.0, math.log1p(max(0, degree)) / math.log1p(_MANY_LINKS))
    recent = math.exp(-max(0.0, idle) / _HALF_LIFE_DAYS * math.log(2))
    return sum(share * part for share, part in zip(_SHARES, (used, linked, recent), strict=True))


def has_faded(state: Life) -> bool:
    """Whether a note in the working tier may go to archival."""
    return state.retention < FADED and state.importance < MINOR


def may_be_forgotten(state: Life, degree: int, heaviest: float) -> bool:
    """Whether an archival note may go to the trash, where forgetting is switched on.

    Args:
        state: its life.
        degree: how many links it has.
        heaviest: the weight of the heaviest of them.
    """
    return (
        state.retention < FORGOTTEN
        and state.importance < MINOR
        and state.idle >= FORGOTTEN_DAYS
        and degree <= FORGOTTEN_DEGREE
        and heaviest < FORGOTTEN_WEIGHT
    )


def majority(votes: Iterable[str]) -> str | None:
    """What more than half of the votes, and at least two of them, are for."""
    given = list(votes)
    best = max(set(given), key=lambda choice: (given.count(choice), choice), default=None)
    if best is None or given.count(best) < 2 or given.count(best) * 2 <= len(given):  # noqa: PLR2004 - two
        return None
    return best


def days_between(start: datetime, end: datetime) -> float:
    """Days from one time to another, 0 where the second is the earlier one."""
    return max(0.0, (end - start).total_seconds() / _SECONDS_PER_DAY)
