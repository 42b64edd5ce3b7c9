"""Whether what was distilled from a piece of a session is told there, and whether a note has told it before.

Whether what was said repeats a text at all is asked in `holdfast.model.transcripts.repeating`.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Final

from holdfast.model.identifiers import Unit, is_content, units_of
from holdfast.model.words import folded, folded_words, query_terms

LEAST_SHARE: Final = 0.5  # of an item's words that its piece has
_MOST_TOLD: Final = 4
_STEM: Final = 5  # letters
_SHORT: Final = 3
_SAME_ORDER: Final = 0.8  # of the words: "A instead of B" is not what "B instead of A" says
_MOST_WORDS: Final = 300
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_ABSOLUTE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?")  # a day that "yesterday" was made into
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MEANT_WITHIN: Final = timedelta(days=400)
_THOUSANDS: Final = re.compile(r"[.,](?=\d{3}(?!\d))")
_MOST_LETTERS: Final = 4000  # of an item that are looked at


class Passage:
    """A text in which others may be told, taken apart once."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(folded_words(self._text))

    @cached_property
    def _flat(self) -> tuple[str, frozenset[int]]:
        """All of its words without what stands between them, and where each ends."""
        words = folded_words(folded(self._text))
        return "".join(words), frozenset(accumulate(map(len, words), initial=0))

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(map(_plain, _NUMBER.findall(self._text)))

    def holds(self, spelling: str) -> bool:
        """Whether an identifier stands there, whatever stands between its parts; "CR-18" does not in "CR-187"."""
        flat, ends = self._flat
        at = flat.find(spelling)
        while at >= 0:
            behind = at + len(spelling)
            if not any(_splits_number(flat, place) for place in {at, behind} - ends):
                return True
            at = flat.find(spelling, at + 1)
        return False

    @cached_property
    def stems(self) -> frozenset[str]:
        """The beginnings of its words; of a script without spaces those of two signs each."""
        return frozenset(stem_of(word) for word in query_terms(self._text))

    @cached_property
    def content(self) -> list[str]:
        return _content(self._text)


class Claim:
    """A text of which is asked whether others tell it, taken apart once; only its beginning is looked at."""

    def __init__(self, text: str) -> None:
        self._text = text[:_MOST_LETTERS]
        self.content = _content(text)

    @cached_property
    def terms(self) -> list[str]:
        return [term for term in query_terms(self._text) if is_content(term)]

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(map(stem_of, self.terms))

    @cached_property
    def _named(self) -> tuple[list[str], list[Unit]]:
        text = _ABSOLUTE.sub(" ", self._text)
        return _NUMBER.findall(text), [unit for unit in units_of(text) if unit.kind in ("identifier", "name")]

    def unfounded(self, passage: Passage) -> list[str]:
        """See `unfounded`."""
        numbers, named = self._named
        missing = [each for each in numbers if _plain(each) not in passage.numbers]
        missing += [unit.label for unit in named if not _is_there(unit.phrases, passage)]
        return list(dict.fromkeys(missing))[:_MOST_TOLD]

    def is_told_in(self, passage: Passage) -> bool:
        """See `covers`."""
        if not self.stems <= passage.stems or self.unfounded(passage):
            return False
        return _common(self.content, passage.content) >= _SAME_ORDER * len(self.content)


def unfounded(item: str, piece: str) -> list[str]:
    """Names and numbers of an item that its piece does not hold, a few at the most."""
    return Claim(item).unfounded(Passage(piece))


def share_told(item: str, piece: str) -> float:
    """The share of an item's content words that its piece has, inflected perhaps; 1 for an item without any."""
    terms, stems = Claim(item).terms, Passage(piece).stems
    return sum(stem_of(term) in stems for term in terms) / len(terms) if terms else 1.0


def covers(note: str, item: str) -> bool:
    """Whether a note has every content word, name and number of an item, and nearly all in the same order."""
    return Claim(item).is_told_in(Passage(note))


def days_from_elsewhere(item: str, piece: str, at: str) -> list[str]:
    """Days of an item that its piece does not name and cannot mean: they are far from the time when it was said.

    "Yesterday" or "in March" may have been made into a day. Without that time any day may be meant.
    """
    try:
        said = date.fromisoformat(at[:10])
    except ValueError:
        return []
    return [day for day in dict.fromkeys(_DAY.findall(item)) if day not in piece and not _is_near(day, said)]


def _is_near(day: str, said: date) -> bool:
    try:
        return abs(date.fromisoformat(day) - said) <= _MEANT_WITHIN
    except ValueError:
        return False


def _plain(number: str) -> str:
    """A number without what divides its thousands."""
    return _THOUSANDS.sub("", number)


def _splits_number(flat: str, place: int) -> bool:
    return 0 < place < len(flat) and flat[place - 1].isdecimal() and flat[place].isdecimal()


def stem_of(word: str) -> str:
    """What is compared of a word: a longer one counts as there where one that begins alike is."""
    return word[:_STEM]


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


def _is_there(phrases: tuple[str, ...], passage: Passage) -> bool:
    """Whether an identifier stands there in any of its spellings."""
    return any(
        phrase in passage.words or (len(phrase) > _SHORT and passage.holds("".join(folded_words(phrase))))
        for phrase in phrases
    )
