"""How OMI's tools order what is relevant: final = 0.7 relevance + 0.3 exp(-days / 30), as its reference has it."""

from __future__ import annotations

import math
from datetime import datetime

from holdfast.model.times import moment

RELEVANCE_SHARE, RECENCY_SHARE = 0.7, 0.3
DAYS = 30.0  # a time constant: after as many days 1/e is left
_SECONDS_OF_A_DAY = 86_400.0


def recency(created: str, now: datetime, constant: float = DAYS) -> float:
    """1 for what was made now or, by a clock that went back, later; falls to 1/e in `constant` days, then towards 0."""
    days = (now - moment(created)).total_seconds() / _SECONDS_OF_A_DAY
    return math.exp(-max(0.0, days) / constant)


def final_score(relevance: float, created: str, now: datetime, constant: float = DAYS) -> float:
    """In 0..1 for a relevance in 0..1. Days count in fractions."""
    return RELEVANCE_SHARE * relevance + RECENCY_SHARE * recency(created, now, constant)
