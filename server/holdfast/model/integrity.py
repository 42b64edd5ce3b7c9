"""What is held against what: the baselines of pages, as the journal tells them, and the evidence of a belief."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from holdfast.model.belief import breaks, read_evidence
from holdfast.model.pages import DAILY, MEMORY, NOW, NOW_FOLDER, is_page, is_page_key
from holdfast.model.times import moment

MOST_ORPHANS = 5  # more are unsafe
CORE_LINKS, CORE_WINDOW, CORE_USES = 5, timedelta(hours=24), 3
SEEN, ACCEPTED = "pages_seen", "pages_accepted"  # keys of journal lines: [{path, hash, size}]
RESTORE = "restore"  # what a journal line is about that has `pages`: {path: hash}


@dataclass(frozen=True, slots=True)
class Baseline:
    """How a page is to look: its hash and bytes, None where it is to be missing.

    `foreign` says that somebody else changed it before our last write, which kept the change and is no consent to it.
    """

    hash: str | None
    size: int | None = None
    foreign: bool = False


def baselines(
    records: Iterable[Mapping[str, Any]], before: Mapping[str, Baseline] | None = None
) -> dict[str, Baseline]:
    """The baselines of pages, by path, from the journal's lines in order.

    Every change of ours sets one. What it found in place of the last one was somebody else's, and that stays known
    until it is accepted. A restore sets them all. A page that was seen before any change of ours is trusted as it was
    then.

    Args:
        records: lines of the journal.
        before: the baselines that follow from the lines before these.
    """
    lines = list(records)
    void = {change for line in lines for change in _texts(line.get("void"))}
    void -= {change for line in lines for change in _texts(line.get("done"))}  # its own writer knows best
    found = dict(before or {})
    for line in lines:
        found = with_line(found, line, void=line.get("change") in void)
    return found


def with_line(before: Mapping[str, Baseline], line: Mapping[str, Any], *, void: bool) -> dict[str, Baseline]:
    """The baselines behind one line; `void` says that its change never happened."""
    found = dict(before)
    for path, mark in _marks(line.get(SEEN)):
        found.setdefault(path, mark)
    if line.get("op") == RESTORE:
        found = _restored(line.get("pages"))
    if not void:
        for file in line.get("files") or ():
            if is_page_key(file["note"]) and is_watched(file["path"]):
                found[file["path"]] = _following(found.get(file["path"]), file)
    found.update(_marks(line.get(ACCEPTED)))
    return found


def is_about_pages(line: Mapping[str, Any]) -> bool:
    """Whether a line may set a baseline."""
    return (
        SEEN in line
        or ACCEPTED in line
        or line.get("op") == RESTORE
        or any(is_page_key(file["note"]) for file in line.get("files") or ())
    )


def is_watched(path: str) -> bool:
    """Whether a path is that of a page whose changes by others are reported: NOW files, MEMORY.md and logs."""
    return is_page(path) and (path in (NOW, MEMORY) or path.startswith((f"{NOW_FOLDER}/", f"{DAILY}/")))


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
        if isinstance(item.get("path"), str) and is_watched(item["path"]) and isinstance(item.get("hash"), str | None)
    ]


def _restored(told: object) -> dict[str, Baseline]:
    """A restore puts the pages of a backup in the place of all that were there."""
    pages = told.items() if isinstance(told, dict) else ()
    return {path: Baseline(mark) for path, mark in pages if is_watched(path) and isinstance(mark, str)}


def _texts(told: object) -> list[str]:
    return [item for item in told if isinstance(item, str)] if isinstance(told, list) else []


def evidence_problem(evidence: Sequence[Mapping[str, Any]], confidence: float) -> str:
    """Why a belief's confidence does not follow from its evidence; empty where it does."""
    entries = [read_evidence(entry) for entry in evidence]
    whole = [entry for entry in entries if entry is not None]
    if len(whole) < len(entries):
        return f"entry {entries.index(None) + 1} of its evidence is not whole"
    return next(iter(breaks(whole, confidence)), "")


def is_sudden(times: Sequence[str]) -> bool:
    """Whether enough links for a core were made within one window.

    Args:
        times: when each link was made, canonical instants in order.
    """
    moments = [moment(time) for time in times]
    return any(last - first <= CORE_WINDOW for first, last in zip(moments, moments[CORE_LINKS - 1 :], strict=False))
