"""Whether what was distilled from a piece of a session is told there, and whether a note has told it before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from holdfast.model.identifiers import is_content, units_of
from holdfast.model.words import folded, folded_words, query_terms

LEAST_SHARE: Final = 0.5  # of an item's words that its piece has
_MOST_TOLD: Final = 4
_STEM: Final = 5  # letters: a longer word counts as there where one that begins alike is
_SHORT: Final = 3
_SAME_ORDER: Final = 0.8  # of the words: "A instead of B" is not what "B instead of A" says
_MOST_WORDS: Final = 300
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_ABSOLUTE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?")  # a day that "yesterday" was made into
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n")  # noqa: RUF001 - theirs
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_TELLING_WORDS: Final = 4
_MOST_LETTERS: Final = 4000  # of an item that are looked at


def unfounded(item: str, piece: str) -> list[str]:
    """Names and numbers of an item that its piece does not hold, a few at the most."""
    text = _ABSOLUTE.sub(" ", item[:_MOST_LETTERS])
    words, flat = frozenset(folded_words(piece)), _flat(piece)
    numbers = frozenset(_NUMBER.findall(piece))
    missing = [number for number in _NUMBER.findall(text) if number not in numbers and number not in flat]
    named = [unit for unit in units_of(text) if unit.kind in ("identifier", "name")]
    missing += [unit.label for unit in named if not _is_there(unit.phrases, words, flat)]
    return list(dict.fromkeys(missing))[:_MOST_TOLD]


def share_told(item: str, piece: str) -> float:
    """The share of an item's content words that its piece has, inflected perhaps; 1 for an item without any."""
    terms = [term for term in query_terms(item[:_MOST_LETTERS]) if is_content(term)]
    if not terms:
        return 1.0
    words = frozenset(query_terms(piece))
    stems = frozenset(word[:_STEM] for word in words if len(word) >= _STEM)
    return sum(term in words or (len(term) >= _STEM and term[:_STEM] in stems) for term in terms) / len(terms)


def covers(note: str, item: str) -> bool:
    """Whether a note has every content word, name and number of an item, and nearly all in the same order."""
    terms, its = _content(item), _content(note)
    if share_told(item, note) < 1 or unfounded(item, note):
        return False
    return _common(terms, its) >= _SAME_ORDER * len(terms)


def repeats(turn: str, texts: Sequence[str]) -> bool:
    """Whether something that was said repeats one of these texts, a sentence of it, or what it says in other forms.

    It stands there with the same words one behind the other, whatever is between them; or a paragraph has every content
    word, name and number of the text, and nearly all in the same order. A sentence of few words says too little.
    """
    words = f" {' '.join(folded_words(turn))} "
    for text in texts:
        parts = [part for part in _SENTENCE.split(text) if len(folded_words(part)) >= _TELLING_WORDS]
        if any(f" {' '.join(folded_words(part))} " in words for part in (text, *parts) if folded_words(part)):
            return True
        if len(_content(text)) >= _TELLING_WORDS and any(covers(each, text) for each in _PARAGRAPH.split(turn)):
            return True
    return False


def _content(text: str) -> list[str]:
    """The beginnings of a text's content words, in order."""
    return [word[:_STEM] for word in folded_words(text[:_MOST_LETTERS]) if is_content(word)][:_MOST_WORDS]


def _common(one: list[str], other: list[str]) -> int:
    """How many words two texts have in the same order: their longest common subsequence."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, its in enumerate(other, 1):
            before, row[place] = row[place], before + 1 if word == its else max(row[place], row[place - 1])
    return row[-1]


def _is_there(phrases: tuple[str, ...], words: frozenset[str], flat: str) -> bool:
    """Whether an identifier stands there in any of its spellings."""
    return any(
        phrase in words or (len(phrase) > _SHORT and "".join(folded_words(phrase)) in flat) for phrase in phrases
    )


def _flat(text: str) -> str:
    return "".join(folded_words(folded(text)))
