"""What a caller's own filters keep from an answer that has nothing strong, so that silence is not taken for absence."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.engine.answer import Answer, answer
from holdfast.engine.asking import Asking
from holdfast.engine.ports import View
from holdfast.model.memory import GLOBAL_SPACE, Note
from holdfast.model.query import Filter
from holdfast.model.words import folded

_LIKE = 0.6  # the least similarity of two names of spaces, as difflib measures it
_LONGEST_TITLE = 80


def hidden_notices(view: View, asking: Asking, found: Answer) -> list[str]:
    """What to tell of an answer without a strong hit: spaces that hold nothing, and the best note that a filter hides.

    Nothing where a hit is strong, where nothing was looked for, or where no filter was given.
    """
    if asking.idle == "empty" or found.listing or any(not hit.ranked.weak for hit in found.hits):
        return []
    told = [_unknown_space(name, view.spaces()) for name in asking.wanted.spaces]
    everywhere = Filter(asking.wanted.now, include_outdated=True)
    if not asking.is_browsing and replace(asking.wanted, include_superseded=False) != everywhere:
        told.append(_hidden(view, asking, everywhere))
    return [notice for notice in told if notice]


def _unknown_space(name: str, spaces: Sequence[str]) -> str:
    if name in spaces or name == GLOBAL_SPACE:
        return ""
    by_fold = {folded(each): each for each in spaces}
    near = difflib.get_close_matches(folded(name), by_fold, n=1, cutoff=_LIKE)
    nearest = f' The nearest is "{by_fold[near[0]]}".' if near else ""
    return f'No note is in the space "{name}".{nearest}'


def _hidden(view: View, asking: Asking, everywhere: Filter) -> str:
    """The best note of all, where it is strong and the caller's filter keeps it out."""
    question = replace(asking.question, space=None)
    free = replace(asking, wanted=everywhere, question=question, time=None, window=None, open=False)
    best = answer(view, free, 1, explain=False).hits
    if not best or best[0].ranked.weak:
        return ""
    note = best[0].note
    reasons = list(_reasons(note, asking.wanted))
    if not reasons:
        return ""
    told = f"A relevant note is left out by {' and '.join(reasons)}: {note.id}"
    if note.is_outdated:  # what is no longer true is not said again
        return told
    title = note.title if len(note.title) <= _LONGEST_TITLE else note.title[:_LONGEST_TITLE] + "…"
    return f"{told} {title}"


def _reasons(note: Note, wanted: Filter) -> Iterator[str]:
    """The arguments that keep a note out, each with what the note has instead."""
    if wanted.spaces and note.space not in wanted.spaces:
        yield f'spaces (it is in "{note.space}")'
    if wanted.types and note.type not in wanted.types:
        yield f"types (it is a {note.type})"
    if wanted.tiers and note.tier not in wanted.tiers:
        yield f"tiers (it is {note.tier})"
    if wanted.tags and not {folded(tag) for tag in wanted.tags} & {folded(tag) for tag in note.tags}:
        yield "tags"
    if wanted.after is not None and note.happened < wanted.after:
        yield f"created_after (it is of {note.happened[:10]})"
    if wanted.before is not None and note.happened > wanted.before:
        yield f"created_before (it is of {note.happened[:10]})"
    if not wanted.include_outdated and note.is_outdated:
        yield "being outdated (include_outdated shows it)"
