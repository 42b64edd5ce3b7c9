"""What in a question can name one thing: identifiers in any spelling, and single words of any script."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from holdfast.model.frames import FRAME_WORDS
from holdfast.model.words import OPEN_WORDS, STOP_WORDS, folded, query_terms

_MOST_UNITS = 16
_PAIR = 2  # signs of a script without spaces that are asked for together
_LEAST_DIGITS = 4  # of a plain number that names something
_SHORTEST_OF_TWO = 6
_ENDINGS = frozenset("s es ed d ing er ers or ors r rs ly al able ness".split())  # noqa: SIM905
_OUTSIDE = re.compile(r"^[\W_]+|[\W_]+$")
_INNER = re.compile(r"[-_./:#@\\+~=&%$|]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}:\d\d(?::\d\d)?"
)
_QUOTES = re.compile(r'["\x00]')  # what would end a phrase of a search
_VERSION = re.compile(r"[vV]?\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STEPS = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")  # between letters and digits
# Signs of grammar in scripts without spaces: a pair with one of them is part of no name.
_GRAMMAR = frozenset("的了吗呢么怎什是在有和与就都也还吧啊哪谁何为们这那吗嗎麼怎甚麽個个件事")
_PARTICLES = frozenset("은는이가을를의에서로도만과와요까어떻됐했나")
_HIRAGANA = re.compile("[\u3040-\u309f]")

Kind = Literal["identifier", "name", "word", "unspaced"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a question may name.

    A "name" is spelt like an identifier and may be a product or a figure of speech as well: YubiHSM, state-of-the-art.
    `label` is a term of the question, or the spelling of an identifier; `phrases` are the words, one behind the other,
    under which a text may have it; `terms` are the question's terms that it is made of.
    """

    label: str
    kind: Kind
    phrases: tuple[str, ...]
    terms: frozenset[str]


def units_of(query: str) -> list[Unit]:
    """The identifiers of a question, and its other words but those that name nothing."""
    written = [_OUTSIDE.sub("", word) for word in unicodedata.normalize("NFKC", query).split()]
    found: dict[str, Unit] = {}
    for word, after in itertools.zip_longest(written, written[1:], fillvalue=""):
        unit = _identifier(word) or _numbered(word, after)
        if unit is not None:
            found.setdefault(unit.label, unit)
    taken = frozenset().union(*(unit.terms for unit in found.values())) if found else frozenset()
    for term in query_terms(query):
        if term not in taken and is_content(term):
            kind: Kind = "unspaced" if _is_unspaced(term) else "word"
            found.setdefault(term, Unit(term, kind, (term,), frozenset([term])))
    return list(found.values())[:_MOST_UNITS]


def is_content(term: str) -> bool:
    """Whether a term may name something: no word of grammar, no word that any question has."""
    if _is_unspaced(term):
        signs = frozenset(term)
        return len(term) > 1 and not signs & (_GRAMMAR | _PARTICLES) and not _HIRAGANA.search(term)
    short = len(term) < (3 if term.isascii() else 4)
    return not short and term not in STOP_WORDS and term not in OPEN_WORDS and term not in FRAME_WORDS


def is_formed(word: str, is_ordinary: Callable[[str], bool]) -> bool:
    """Whether a word is made of ordinary ones: one with an ending, or two in one."""
    splits = ((word[:at], word[at:]) for at in range(3, len(word)))
    return any(
        is_ordinary(head)
        and (tail in _ENDINGS or (len(tail) > 2 and len(word) > _SHORTEST_OF_TWO and is_ordinary(tail)))  # noqa: PLR2004
        for head, tail in splits
    )


def _is_unspaced(term: str) -> bool:
    return len(term) <= _PAIR and any(unicodedata.east_asian_width(sign) == "W" for sign in term)


def _identifier(word: str) -> Unit | None:
    """An identifier, as far as its spelling tells: signs inside, or letters and digits, or capitals inside."""
    if not word or _DATE.fullmatch(word) or _is_wide(word):
        return None
    parts = [part for part in _INNER.split(word) if part]
    steps = [step for part in parts for camel in _CAMEL.split(part) for step in _STEPS.split(camel)]
    has_digit = any(sign.isdecimal() for sign in word)
    has_letter = any(sign.isalpha() for sign in word)
    if not _is_telling(word, parts, steps, has_digit=has_digit, has_letter=has_letter):
        return None
    loose = not has_digit and (set(_INNER.findall(word)) == {"-"} if len(parts) > 1 else len(steps) == _PAIR)
    return _unit(word, parts, steps, "name" if loose else "identifier")


def _is_telling(word: str, parts: list[str], steps: list[str], *, has_digit: bool, has_letter: bool) -> bool:
    if "'" in word or not parts:
        return False
    if has_digit and has_letter:
        return len(word) >= _LEAST_DIGITS or len(steps) > 2  # noqa: PLR2004 - "5th" and "v2" name nothing
    if has_digit:  # a version, an address, a number
        digits = sum(sign.isdecimal() for sign in word)
        return len(parts) > 2 or (digits >= _LEAST_DIGITS and not _YEAR.fullmatch(word) and "%" not in word)  # noqa: PLR2004
    joined = set(_INNER.findall(word))
    if len(parts) > 1:
        return "_" in joined or bool(joined & set(".:\\@#")) or len(parts) > 2  # noqa: PLR2004 - "long-term" names nothing
    return len(steps) > 1 and len(word) >= _LEAST_DIGITS


def _is_wide(word: str) -> bool:
    return any(unicodedata.east_asian_width(sign) == "W" for sign in word)


def _numbered(word: str, number: str) -> Unit | None:
    """A word with a number of its own behind it, such as "proj 3227"."""
    if not (word.isalpha() and number.isdecimal() and len(number) > 2) or _YEAR.fullmatch(number):  # noqa: PLR2004
        return None
    return _unit(f"{word} {number}", [word, number], [word, number]) if folded(word) not in STOP_WORDS else None


def _unit(written: str, parts: list[str], steps: list[str], kind: Kind = "identifier") -> Unit:
    """Its spellings: as it is, every step apart, all in one, letters with digits behind them, a version without v."""
    paired: list[str] = []
    for step in steps:
        if paired and step[0].isdecimal() and paired[-1].isalpha():
            paired[-1] += step
        else:
            paired.append(step)
    ways = [parts, steps, ["".join(steps)], paired]
    if len(parts) > 1 and _VERSION.fullmatch(parts[0]):
        number = parts[0].lstrip("vV")
        ways += [[number, *parts[1:]], [f"v{number}", *parts[1:]]]
    phrases = dict.fromkeys(" ".join(_QUOTES.sub(" ", folded(part)) for part in way) for way in ways)
    terms = frozenset(term for way in ways for part in way for term in query_terms(part))
    return Unit(folded(written), kind, tuple(phrases), terms)
