"""Pieces of sessions: whether a text is told in one, and whether one repeats some text, as erasing a note must know.

A long note with all its earlier versions is looked for in every turn that waits. So each sentence of the texts is
taken apart once, however many of them have it, and each turn once; a turn is then compared with those alone that begin
as some place of it does, or all of whose content words it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import accumulate
from typing import Final

from holdfast.model.identifiers import Unit, is_content, units_of
from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.transcripts.turns import Role
from holdfast.model.words import folded, folded_words, is_unspaced, query_terms, regex

PIECE_TOKENS: Final = 1500  # of a piece as it is shown
_USER_TOKENS, _ASSISTANT_TOKENS = 500, 220  # of one turn that are shown
_TURN_TOKENS: Final = 4  # what a turn costs beside its text
_NAMES: Final[dict[Role, str]] = {"user": "User", "assistant": "Agent"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A turn as it waits in the queue; `number` gives the order, `at` is an instant or empty."""

    number: int
    role: Role
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Turns of one session that are judged together.

    `path` is the transcript, `attempt` names a try to store what was made of it that may have been interrupted.
    """

    id: str
    source: str
    session: str
    space: str
    path: str
    turns: tuple[Kept, ...] = field(repr=False)
    attempt: str = ""

    @property
    def at(self) -> str:
        """When the last of it was said; empty where that is not known."""
        return max((turn.at for turn in self.turns), default="")

    @property
    def text(self) -> str:
        """All that was said, whole."""
        return "\n\n".join(turn.text for turn in self.turns)

    @property
    def whole(self) -> str:
        """All that was said, and by whom."""
        return "\n\n".join(f"{_NAMES[turn.role]}: {turn.text}" for turn in self.turns)

    @property
    def shown(self) -> str:
        """As a model reads it: long turns are cut."""
        return "\n".join(_shown(turn) for turn in self.turns)


def first_piece(turns: Sequence[Kept]) -> int:
    """How many of these turns make the first piece: as many as fit, at least one; an answer stays with its question."""
    spent, count = 0, 0
    for turn in turns:
        spent += most_tokens(_shown(turn)) + _TURN_TOKENS
        if count and spent > PIECE_TOKENS:
            break
        count += 1
    if count < len(turns) and turns[count].role == "assistant":
        asked = max((place for place in range(count) if turns[place].role == "user"), default=0)
        count = asked or count
    return count


def tokens_of(pieces: Iterable[Piece]) -> int:
    """What some pieces cost as they are shown, at most."""
    return sum(most_tokens(piece.shown) + _TURN_TOKENS for piece in pieces)


def _shown(turn: Kept) -> str:
    most = _USER_TOKENS if turn.role == "user" else _ASSISTANT_TOKENS
    return f"{_NAMES[turn.role]}: {beginning(turn.text, most)}"


LEAST_SHARE: Final = 0.5  # of an item's words that its piece has
_MOST_NAMED: Final = 4
_STEM: Final = 5  # letters
_SHORT: Final = 3
_SAME_ORDER: Final = 0.8  # of the words: "A instead of B" is not what "B instead of A" says
_MOST_WORDS: Final = 300
_NUMBER: Final = regex(r"\d+(?:[.,:]\d+)*")
_ABSOLUTE: Final = regex(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?")  # a day that "yesterday" was made into
_DAY: Final = regex(r"\d{4}-\d\d-\d\d")
_MEANT_WITHIN: Final = timedelta(days=400)
_THOUSANDS: Final = regex(r"[.,](?=\d{3}(?!\d))")
_MOST_LETTERS: Final = 4000  # of an item that are looked at


class _Source:
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


class _Item:
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

    def unfounded(self, source: _Source) -> list[str]:
        """See `unfounded`."""
        numbers, named = self._named
        missing = [each for each in numbers if _plain(each) not in source.numbers]
        missing += [unit.label for unit in named if not _is_there(unit.phrases, source)]
        return list(dict.fromkeys(missing))[:_MOST_NAMED]

    def is_stated_in(self, source: _Source) -> bool:
        """See `covers`."""
        if not self.stems <= source.stems or self.unfounded(source):
            return False
        return _common(self.content, source.content) >= _SAME_ORDER * len(self.content)


def unfounded(item: str, piece: str) -> list[str]:
    """Names and numbers of an item that its piece does not hold, a few at the most."""
    return _Item(item).unfounded(_Source(piece))


def share_stated(item: str, piece: str) -> float:
    """The share of an item's content words that its piece has, inflected perhaps; 1 for an item without any."""
    terms, stems = _Item(item).terms, _Source(piece).stems
    return sum(stem_of(term) in stems for term in terms) / len(terms) if terms else 1.0


def covers(note: str, item: str) -> bool:
    """Whether a note has every content word, name and number of an item, and nearly all in the same order."""
    return _Item(item).is_stated_in(_Source(note))


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


def _is_there(phrases: tuple[str, ...], source: _Source) -> bool:
    """Whether an identifier stands there in any of its spellings."""
    return any(
        phrase in source.words or (len(phrase) > _SHORT and source.holds("".join(folded_words(phrase))))
        for phrase in phrases
    )


_LETTERS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
_SENTENCE: Final = regex(
    r"(?<=[.!?\u061f])\s+"
    r"|(?<=[\u3002\uff01\uff1f\uff61\u0964\u0965\u104b\u17d4])\s*"  # these need no space behind them
    rf"|(?<=[{_LETTERS}])\s+(?=[{_LETTERS}])"  # there a space ends a sentence, and no word
    r"|\n"
)
_PARAGRAPH: Final = regex(r"\n\s*\n")
_TELLING_WORDS: Final = 4
_OF_WORD, _OF_SIGN, _OF_LETTER = 4, 2, 1  # of a word, a sign of a script without spaces, a letter of one
_ENOUGH: Final = _TELLING_WORDS * _OF_WORD
_DANDAS: Final = str.maketrans("\u0964\u0965", "  ")  # they stand among the letters of India, and are none
_IS_LETTER: Final = regex(f"[{_LETTERS}]")


class SaidTexts:
    """Texts that are looked for in what was said.

    A turn repeats one where it is the same text; where it has a sentence of it, or all of it, with the same words one
    behind the other, whatever is between them; or where a paragraph of it has every content word, name and number of
    the text, and nearly all in the same order. A sentence says too little that has fewer than four words, or eight
    signs of a script without spaces (of one with letters, such as Thai: sixteen).
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = frozenset(texts)
        self._whole: set[tuple[str, ...]] = set()
        self._sentences: dict[tuple[str, ...], dict[int, set[tuple[str, ...]]]] = defaultdict(dict)
        self._items = [item for item in map(_Item, self.texts) if len(item.content) >= _TELLING_WORDS]
        known: dict[str, tuple[str, ...]] = {}
        for text in self.texts:
            self._add(text, known)

    def _add(self, text: str, known: dict[str, tuple[str, ...]]) -> None:
        parts = _SENTENCE.split(text)
        for part in parts:
            if part not in known:
                known[part] = _steps(part)
        whole = tuple(step for part in parts for step in known[part])
        if whole:
            self._whole.add(whole)
        telling = [known[part] for part in parts if _is_telling(known[part])]
        for steps in telling or ([whole] if _is_telling(whole) else []):  # what has all of it has each sentence of it
            self._sentences[steps[:_TELLING_WORDS]].setdefault(len(steps), set()).add(steps)

    def are_repeated_in(self, turn: str) -> bool:
        """Whether a turn repeats one of them."""
        steps = _steps(turn)
        return steps in self._whole or self._has_sentence(steps) or self._tells(turn)

    def _has_sentence(self, steps: tuple[str, ...]) -> bool:
        for at in range(len(steps) - _TELLING_WORDS + 1):
            found = self._sentences.get(steps[at : at + _TELLING_WORDS])
            if found and any(steps[at : at + length] in same for length, same in found.items()):
                return True
        return False

    def _tells(self, turn: str) -> bool:
        if not self._items:
            return False
        stems = frozenset(map(stem_of, query_terms(turn)))
        near = [item for item in self._items if item.stems <= stems]
        paragraphs = [_Source(each) for each in _PARAGRAPH.split(turn)] if near else []
        return any(item.is_stated_in(source) for source in paragraphs for item in near)


def _steps(text: str) -> tuple[str, ...]:
    """The words of a text in order, folded; what is written without spaces as single signs."""
    return tuple(
        step for word in folded_words(text.translate(_DANDAS)) for step in (word if is_unspaced(word) else (word,))
    )


def _is_telling(steps: tuple[str, ...]) -> bool:
    return len(steps) >= _TELLING_WORDS and sum(map(_weight, steps)) >= _ENOUGH


def _weight(step: str) -> int:
    if not is_unspaced(step):
        return _OF_WORD
    return _OF_LETTER if _IS_LETTER.match(step) else _OF_SIGN
