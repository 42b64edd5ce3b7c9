"""The part of a note that answers a question: sentences, from where the question's words stand, with their heading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.words import folded

MORE: Final = "…"
_CHARACTERS = 3  # of a token, in the search for the best place; what is shown is measured
_LONGEST = 300  # characters of a sentence; what is longer is taken in pieces
_SENTENCE = re.compile(
    rf"\s*(?:[^\n]{{1,{_LONGEST}}}?(?:[.!?](?=\s)|[\u3002\uff01\uff1f]|(?=\n)|\Z)|[^\n]{{1,{_LONGEST}}})"
)
_HEADING = re.compile(r"\s*#{1,6} +\S")
_MARKS = 8  # tokens for "…" before and after
_HEADING_SHARE = 4  # of the room, one part may be the heading
_STEM_LOSS, _SHORTEST_STEM = 2, 4  # letters at a word's end that may differ
_NEVER_MORE = 16  # characters to a token


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a text; `cut` is how many characters of it are not."""

    text: str
    cut: int = 0


NOTHING: Final = Passage("")


def passage(content: str, terms: Sequence[str], most: int) -> Passage:
    """What of a note has most of a question's words, on at most so many tokens; the whole note where it fits.

    Args:
        content: the note.
        terms: the question's words, as `holdfast.model.words.query_terms` has them.
        most: as `holdfast.model.tokens.most_tokens` counts.
    """
    if len(content) <= most * _NEVER_MORE and most_tokens(content) <= most:
        return Passage(content)
    text = content.strip()
    if len(text) < len(content):
        return passage(text, terms, most)
    sentences = [found.span() for found in _SENTENCE.finditer(text)]
    first = _best(text, sentences, terms, most * _CHARACTERS)
    heading = _heading_above(text, sentences, first)
    title = beginning(heading, most // _HEADING_SHARE)
    lead = (f"{title}\n" if title else "") + (f"{MORE} " if first else "")
    body = _sentences(text, sentences[first:], most - (most_tokens(lead) if lead else 0) - _MARKS)
    after = f" {MORE}" if body and sentences[first][0] + len(body) < len(text.rstrip()) else ""
    return Passage(f"{lead}{body.strip()}{after}", max(0, len(text) - len(body.strip()) - len(heading)))


def first_sentence(content: str, most: int) -> str:
    """What a note begins with, as one line on at most so many tokens."""
    found = _SENTENCE.match(content.strip())
    line = found.group() if found else ""
    return beginning(line.strip(" \t\r\n#>*-") or line.strip(), most)


def _sentences(text: str, spans: Sequence[tuple[int, int]], room: int) -> str:
    """The first of these sentences that there is room for; of one that is too long its beginning."""
    begin = end = spans[0][0]
    spent = 0
    for start, stop in spans:
        spent += most_tokens(text[start:stop])
        if spent > room:
            break
        end = stop
    if end == begin:
        return beginning(text[begin : spans[0][1]].lstrip(), max(room, 0)).removesuffix(MORE)
    return text[begin:end]


def _best(text: str, spans: Sequence[tuple[int, int]], terms: Sequence[str], length: int) -> int:
    """The sentence to begin with: from there on the most of what is asked for stands within so many characters.

    A word counts by how few sentences have it. Of equal places the first.
    """
    stems = {_stem(term) for term in terms}
    held = [tuple(stem for stem in stems if stem in each) for each in (folded(text[a:b]) for a, b in spans)]
    counts = Counter(stem for each in held for stem in each)
    worth = {stem: 1.0 / count for stem, count in counts.items()}
    within: Counter[str] = Counter()
    best, best_value, value, last = 0, 0.0, 0.0, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and (last == first or spans[last][1] - start <= length):
            for stem in held[last]:
                value += worth[stem] if not within[stem] else 0.0
                within[stem] += 1
            last += 1
        if value > best_value + 1e-9 or (held[first] and value > best_value - 1e-9 and not held[best]):
            best, best_value = first, value
        for stem in held[first]:
            within[stem] -= 1
            value -= worth[stem] if not within[stem] else 0.0
    return best


def _heading_above(text: str, spans: Sequence[tuple[int, int]], first: int) -> str:
    """The last heading before a sentence; empty where it has none, or is one."""
    for start, stop in reversed(spans[:first]) if not _HEADING.match(text, *spans[first]) else ():
        if _HEADING.match(text, start, stop):
            return text[start:stop].strip()
    return ""


def _stem(term: str) -> str:
    """The beginning of a word that its other forms have too."""
    if not term.isascii() or not term.isalpha():
        return term
    return term[: max(_SHORTEST_STEM, len(term) - _STEM_LOSS)]
