"""What is held against what: the baselines of pages, as the journal tells them, and the evidence of a belief."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from holdfast.model.pages import is_page, is_page_key
from holdfast.model.times import moment

SUPPORTING_RATE, CONTRADICTING_RATE = 0.15, 0.30  # OMI's learning rates
TOLERANCE = 1e-9
MOST_ORPHANS = 5  # more are unsafe
CORE_LINKS, CORE_WINDOW, CORE_USES = 5, timedelta(hours=24), 3
SEEN, ACCEPTED = "pages_seen", "pages_accepted"  # keys of journal lines: [{path, hash, size}]


@dataclass(frozen=True, slots=True)
class Baseline:
    """How a page is to look: its hash and bytes, None where it is to be missing.

    `foreign` says that somebody else changed it before our last write, which kept the change and is no consent to it.
    """

    hash: str | None
    size: int | None = None
    foreign: bool = False


def baselines(records: Iterable[Mapping[str, Any]]) -> dict[str, Baseline]:
    """The baselines of pages, by path, from the journal's lines in order.

    Every change of ours sets one. What it found in place of the last one was somebody else's, and that stays known
    until it is accepted. A page that was seen before any change of ours is trusted as it was then.
    """
    lines = list(records)
    void = {change for line in lines for change in _texts(line.get("void"))}
    found: dict[str, Baseline] = {}
    for line in lines:
        for path, mark in _marks(line.get(SEEN)):
            found.setdefault(path, mark)
        if line.get("change") not in void:
            for file in line.get("files") or ():
                if is_page_key(file["note"]):
                    found[file["path"]] = _following(found.get(file["path"]), file)
        found.update(_marks(line.get(ACCEPTED)))
    return found


def _following(last: Baseline | None, file: Mapping[str, Any]) -> Baseline:
    foreign = last is not None and (last.foreign or file.get("before") != last.hash)
    return Baseline(file.get("after"), file.get("size"), foreign)


def marks_of(pages: Mapping[str, Baseline]) -> list[dict[str, Any]]:
    """Baselines as a journal line tells them."""
    return [{"path": path, "hash": mark.hash, "size": mark.size} for path, mark in sorted(pages.items())]


def _marks(told: object) -> list[tuple[str, Baseline]]:
    """The baselines that a line tells; what is none of ours is passed over."""
    found = [item for item in told if isinstance(item, dict)] if isinstance(told, list) else []
    return [
        (item["path"], Baseline(item.get("hash"), item.get("size")))
        for item in found
        if isinstance(item.get("path"), str) and is_page(item["path"]) and isinstance(item.get("hash"), str | None)
    ]


def _texts(told: object) -> list[str]:
    return [item for item in told if isinstance(item, str)] if isinstance(told, list) else []


def updated_confidence(old: float, strength: float, *, supports: bool) -> float:
    """OMI's formula: new = old + rate * strength * (target - old)."""
    rate, target = (SUPPORTING_RATE, 1.0) if supports else (CONTRADICTING_RATE, 0.0)
    return old + rate * strength * (target - old)


def evidence_problem(evidence: Sequence[Mapping[str, Any]], confidence: float) -> str:
    """Why a belief's confidence does not follow from its evidence; empty where it does."""
    last = confidence
    for number, entry in enumerate(evidence, 1):
        old, new, strength = (entry.get(name) for name in ("old_confidence", "new_confidence", "strength"))
        supports = entry.get("supports")
        if not isinstance(supports, bool) or not all(_is_fraction(value) for value in (old, new, strength)):
            return f"entry {number} of its evidence is not whole"
        expected = updated_confidence(float(old or 0), float(strength or 0), supports=supports)
        if abs(expected - float(new or 0)) > TOLERANCE:
            return f"entry {number} of its evidence does not follow the formula"
        last = float(new or 0)
    return "" if abs(last - confidence) <= TOLERANCE else "its confidence is not what its evidence leads to"


def _is_fraction(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


def is_sudden(times: Sequence[str]) -> bool:
    """Whether enough links for a core were made within one window.

    Args:
        times: when each link was made, canonical instants in order.
    """
    moments = [moment(time) for time in times]
    return any(last - first <= CORE_WINDOW for first, last in zip(moments, moments[CORE_LINKS - 1 :], strict=False))
