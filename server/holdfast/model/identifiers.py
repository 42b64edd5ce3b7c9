"""What of a question can name one thing, and how much each of its words tells.

Names are identifiers in any spelling, single words of any script, and things told from their like by a word beside
them: "the north crane", "the Easter concert". Here is also whom or what a question names that no note knows, and
whether a text tells of an end.

What words score in a note are numbers and rules that both searches by words share. A server counts in arrays and keeps
what it counted (`holdfast.index.search.snapshot`); a hook without one asks a single question of the same tables with
nothing but sqlite3 (`holdfast.index.plain`). Both must find the same.
"""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from holdfast.model.numbers import MONTHS
from holdfast.model.when import spans
from holdfast.model.words import (
    FRAME_WORDS,
    FRAMES,
    NOT_ENGLISH,
    OPEN_WORDS,
    STOP_WORDS,
    folded,
    folded_words,
    grammar_in,
    languages_of,
    open_in,
    pictured,
    query_terms,
    regex,
    relatives,
    table_parts,
    without_owner,
    written_as_names,
)

_GRAMMAR_OF_ANY = STOP_WORDS | OPEN_WORDS | FRAME_WORDS
_GRAMMAR_SHARE, _PLAIN_WORDS = 0.2, 2  # of an English question's words; so few tell nothing
_SURELY_ENGLISH = STOP_WORDS.difference(*FRAMES[1:])  # "was" is German too

NEARLY_ALL: Final = 0.66  # share of what is asked about
_MOST_UNITS = 16
_PAIR = 2  # signs of a script without spaces that are asked for together
_LEAST_DIGITS = 4  # of a plain number that names something
_SHORTEST_OF_TWO = 6
_WORD_ENDINGS = frozenset("s es ed d ing er ers or ors r rs ly al able ness".split())  # noqa: SIM905
_OUTSIDE = regex(r"^[\W_]+|[\W_]+$")
_PLACE_IN = regex(r"^(?:https?://(?=\d))?(\S+\.[\w-]+?)(?::\d+){0,2}$")  # with a line of a file, or a port
_INNER = regex(r"[-_./:#@\\+~=&%$|]")
_YEAR = regex(r"(?:19|20)\d\d")
_DATE = regex(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}:\d\d(?::\d\d)?"
)
_QUOTES, _VERSION = regex(r'["\x00]'), regex(r"[vV]?\d+")  # the first would end a phrase of a search
_BY = regex(r"(?<=\d)[xX\u00d7](?=\d)")  # as in "M12x1.75"
_GROUPED = regex(r"(?<![\w-])[A-Z]{1,4}\d{1,6}(?: [A-Z\d]{0,4}\d[A-Z\d]{0,4}){2,9}(?![\w-])")  # an IBAN, say
_LEAST_GROUPED = 10  # digits
_MOST_STEPS = 5  # of an identifier, that are joined in all ways
_CAMEL = regex(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STEPS = regex(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")  # between letters and digits
# Signs of grammar in scripts without spaces: a pair with one of them is part of no name.
_GRAMMAR = frozenset("的了吗呢么怎什是在有和与就都也还吧啊哪谁何为们这那吗嗎麼怎甚麽個个件事")
_PARTICLES = frozenset("은는이가을를의에서로도만과와요까어떻됐했나")
_HIRAGANA = regex("[\u3040-\u309f]")

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


@lru_cache(16)  # one question is looked at by several
def units_of(query: str) -> tuple[Unit, ...]:
    """The identifiers of a question, and its other words but those that name nothing."""
    found: dict[str, Unit] = {}
    _add_first(found, _spelt_as_identifiers(pictured(unicodedata.normalize("NFKC", query))))
    taken = frozenset[str]().union(*(unit.terms for unit in found.values()))
    _add_first(found, _other_words(query, taken))
    return tuple(found.values())


def _add_first(found: dict[str, Unit], units: Iterator[Unit]) -> None:
    """Add those that come first, until there are as many as are looked at: of a paste no more are made."""
    while len(found) < _MOST_UNITS and (unit := next(units, None)) is not None:
        found.setdefault(unit.label, unit)


def _spelt_as_identifiers(plain: str) -> Iterator[Unit]:
    yield from _grouped(plain)
    apart = _GROUPED.sub(lambda match: " " if _is_grouped(match.group()) else match.group(), plain)
    written = [_PLACE_IN.sub(r"\1", _OUTSIDE.sub("", word)) for word in apart.split()]
    for word, after in itertools.zip_longest(written, written[1:], fillvalue=""):
        if unit := _identifier(word) or _numbered(word, after):
            yield unit


def _other_words(query: str, taken: AbstractSet[str]) -> Iterator[Unit]:
    content = content_of(query)
    for term in query_terms(query):
        if term not in taken and term in content:
            kind: Kind = "unspaced" if _is_unspaced(term) else "word"
            yield Unit(term, kind, (term,), frozenset([term]))


def lost_identifiers(query: str, known: Collection[str], unknown: AbstractSet[str]) -> frozenset[str]:
    """The identifiers of a question that no note holds: what it asks about is not stored, whatever is like it."""
    return frozenset(
        unit.label
        for unit in units_of(query)
        if unit.kind == "identifier" and unit.label not in known and unit.terms & unknown
    )


def counts_fully(unit: Unit, query: str, rare: int, extraordinary: AbstractSet[str]) -> bool:
    """Whether a rare unit of a question counts fully however long the note is that has it.

    So do names, and words that are no ordinary ones; others may be there by the way, but not where the `rare` units are
    nearly all that is asked about.
    """
    is_name = unit.kind in ("identifier", "name") or unit.label in extraordinary
    return is_name or rare >= NEARLY_ALL * len(units_of(query))


def is_content(term: str, grammar: AbstractSet[str] = _GRAMMAR_OF_ANY) -> bool:
    """Whether a term may name something: no word of grammar, which is that of all languages unless it is given."""
    if _is_unspaced(term):
        signs = frozenset(term)
        return len(term) > 1 and not signs & (_GRAMMAR | _PARTICLES) and not _HIRAGANA.search(term)
    short = len(term) < (3 if term.isascii() else 4)
    return not short and term not in grammar


def content_of(text: str) -> frozenset[str]:
    """The terms of a question that may name something, by the grammar of the language that it is in."""
    languages = languages_of(text)
    grammar = grammar_in(languages) | open_in(languages)
    return frozenset(term for term in query_terms(text) if is_content(term, grammar))


def shows_another_language(text: str) -> bool:
    """Whether a question has words of another grammar than the English one, or letters that English has not.

    Not so where English grammar is there as well, nor for one or two words but behind "¿". Keywords have no grammar:
    English ones, technical ones above all, cannot be told from others, and are taken for what the encoder reads.
    """
    words = folded_words(text)
    if len(words) <= _PLAIN_WORDS or sum(word in _SURELY_ENGLISH for word in words) >= _GRAMMAR_SHARE * len(words):
        return "¿" in text
    return any(sign.isalpha() and not sign.isascii() for sign in text) or any(word in NOT_ENGLISH for word in words)


def unheard_of(terms: Sequence[str], unknown: AbstractSet[str]) -> float:
    """The share of unknown words among those that are no grammar, which names nothing whether a note has it or not."""
    telling = [term for term in terms if term not in FRAME_WORDS] or terms
    return sum(term in unknown for term in telling) / max(1, len(telling))


def identifiers_of(text: str) -> frozenset[str]:
    """The identifiers of a question, as `units_of` labels them: each names one thing."""
    return frozenset(unit.label for unit in units_of(text) if unit.kind == "identifier")


def is_formed(word: str, is_ordinary: Callable[[str], bool]) -> bool:
    """Whether a word is made of ordinary ones: one with an ending, or two in one."""
    splits = ((word[:at], word[at:]) for at in range(3, len(word)))
    return any(
        is_ordinary(head)
        and (tail in _WORD_ENDINGS or (len(tail) > 2 and len(word) > _SHORTEST_OF_TWO and is_ordinary(tail)))  # noqa: PLR2004
        for head, tail in splits
    )


def seldom_of(terms: Sequence[str], is_common: Callable[[str], bool]) -> frozenset[str]:
    """Those of a question's terms that are none of the most used words, nor made of such."""
    return frozenset(term for term in terms if not is_common(term) and not is_formed(term, is_common))


def _is_unspaced(term: str) -> bool:
    return len(term) <= _PAIR and _is_wide(term)


def _identifier(word: str) -> Unit | None:
    """An identifier, as far as its spelling tells: signs inside, or letters and digits, or capitals inside."""
    if not word or _DATE.fullmatch(word) or _is_wide(word):
        return None
    parts = [part for part in _INNER.split(word) if part]
    steps = [step for part in parts for camel in _CAMEL.split(part) for step in _STEPS.split(camel)]
    has_digit, has_letter = any(map(str.isdecimal, word)), any(map(str.isalpha, word))
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
    if len(parts) > 1:  # "long-term" names nothing
        return "_" in joined or bool(joined & set(".:\\@#")) or len(parts) > 2 or len(steps) > len(parts)  # noqa: PLR2004
    return len(steps) > 1 and len(word) >= _LEAST_DIGITS


def _is_wide(word: str) -> bool:
    return any(unicodedata.east_asian_width(sign) == "W" for sign in word)


def _grouped(query: str) -> Iterator[Unit]:
    """Identifiers in groups of signs, as a bank's or a maker's number is printed."""
    for groups in (match.group().split() for match in _GROUPED.finditer(query) if _is_grouped(match.group())):
        yield _unit(" ".join(groups), groups, groups)


def _is_grouped(text: str) -> bool:
    return sum(sign.isdecimal() for sign in text) >= _LEAST_GROUPED


def _numbered(word: str, number: str) -> Unit | None:
    """A word with a number of its own behind it, such as "proj 3227"."""
    if not (word.isalpha() and number.isdecimal() and len(number) > 2) or _YEAR.fullmatch(number):  # noqa: PLR2004
        return None
    return _unit(f"{word} {number}", [word, number], [word, number]) if folded(word) not in STOP_WORDS else None


def _unit(written: str, parts: list[str], steps: list[str], kind: Kind = "identifier") -> Unit:
    """Its spellings: as it is, its steps apart, all in one or joined in any way, "x" for "by", a version without v."""
    ways = [parts, steps, ["".join(steps)], *_joined_in_any_way(steps)]
    ways += [[part for part in _INNER.split(_BY.sub(by, written)) if part] for by in "x-" if _BY.search(written)]
    if len(parts) > 1 and _VERSION.fullmatch(parts[0]):
        number = parts[0].lstrip("vV")
        ways += [[number, *parts[1:]], [f"v{number}", *parts[1:]]]
    phrases = dict.fromkeys(" ".join(_QUOTES.sub(" ", folded(part)) for part in way) for way in ways)
    terms = frozenset(term for way in ways for part in way for term in query_terms(part))
    return Unit(folded(written), kind, tuple(phrases), terms)


def _joined_in_any_way(steps: Sequence[str]) -> Iterator[list[str]]:
    """The steps with any neighbours in one, if there are few and some have letters; else letters with their digits."""
    if len(steps) > _MOST_STEPS or not any(step.isalpha() for step in steps):
        yield _paired(steps)
        return
    for apart in itertools.product((True, False), repeat=len(steps) - 1):
        way = [steps[0]]
        for step, is_apart in zip(steps[1:], apart, strict=True):
            way = [*way, step] if is_apart else [*way[:-1], way[-1] + step]
        yield way


def _paired(steps: Sequence[str]) -> list[str]:
    paired: list[str] = []
    for step in steps:
        if paired and step[0].isdecimal() and paired[-1].isalpha():
            paired[-1] += step
        else:
            paired.append(step)
    return paired


# Weights of title, body, tags, subject, earlier, later; measured on notes and dialogue (bench/retrieval.py).
BM25: Final = "bm25(texts, 2.0, 1.0, 1.0, 1.0, 0.45, 0.3)"
OWN: Final = "{title body tags subject}"  # columns of a note's own words
POOL: Final = 150  # candidates of each leg
MOST_TERMS: Final = 32  # words of a query that are looked at
MOST_CANDIDATES: Final = 64
RELATED_SHARE: Final = 0.6  # of its weight a word scores where only another of its family stands
USUAL_SHARE: Final = 0.8  # of its weight a common word scores where it stands in a note's own text
OFTEN_SHARE: Final = 1.5  # at most, where a long note has it several times
OVER: Final = 0.1  # what is left of a share that comes to more than all that way: enough between two long notes
_FLOOR: Final = 1e-6  # FTS5's own idf never falls below this
_PRIOR_NOTES: Final = 50  # a small store is taken as part of a larger one, or a word in 2 of 3 notes would say nothing
_PASTED_TERMS: Final = 5  # a paste counts as a query of at least so many words, however few of its own are known
_ENOUGH: Final = 50  # notes in reach that a rare term must have found
_RARE_ROWS: Final = 1500  # rows scored term by term; behind them a term is only looked at where a rarer one was found
_RARE_AT_LEAST, _RARE_SHARE = 5, 100  # a word of so many notes, and of one in so many more, is rare


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question with those of its family that some note has.

    `found` is how many notes have it or one of `related`.
    """

    word: str
    found: int
    idf: float
    fts_idf: float
    related: tuple[Term, ...] = ()

    @property
    def phrase(self) -> str:
        return f'"{self.word}"'

    @property
    def either(self) -> str:
        """The word or another of its family."""
        return " OR ".join(term.phrase for term in (self, *self.related))

    @property
    def tells(self) -> bool:
        """Whether it says something where it is not scored: a word of every other note says nothing."""
        return self.fts_idf > _FLOOR


def idf(total: int, found: int) -> float:
    """What a word tells that `found` of `total` notes have, as in BM25, in a store that is larger by `_PRIOR_NOTES`."""
    return math.log(1 + (_PRIOR_NOTES + max(0, total - found) + 0.5) / (found + 0.5))


def term_of(word: str, total: int, count: Callable[[str], int]) -> Term:
    """A word with those of its family that some note has; it counts as found wherever one of them is.

    Args:
        word: of the question.
        total: how many notes there are.
        count: tells how many of them have a word, in whatever column.
    """
    own = _single(word, total, count)
    related = tuple(other for other in (_single(each, total, count) for each in relatives(word)) if other.found)
    if not related:
        return own
    found = min(total, own.found + sum(other.found for other in related))
    return Term(word, found, idf(total, found), own.fts_idf, related)


def _single(word: str, total: int, count: Callable[[str], int]) -> Term:
    found = count(word)
    most = max(_FLOOR, math.log((max(total, found) - found + 0.5) / (found + 0.5)))  # as FTS5 has it
    return Term(word, found, idf(total, found), most)


def weighed(terms: Sequence[Term], total: int, most: int) -> tuple[list[Term], float]:
    """The terms that are looked at, the rarest first, and the weight that all of them are a share of.

    Of a pasted log these are its rarest words that are known at all; a few of them say little.
    """
    known, least = sorted(terms, key=lambda term: term.found), 0.0
    if len(known) > most:
        known, least = [term for term in known if term.found][:most], _PASTED_TERMS * idf(total, 0)
    return known, max(least, sum(term.idf for term in known)) or 1.0


def is_scored(term: Term, rows: int, reached: Callable[[], int]) -> bool:
    """Whether the next term is scored wherever it stands, and not only looked for where a rarer one was found.

    Args:
        term: the rarest of those that are left.
        rows: how many were scored for the rarer ones.
        reached: tells how many notes that may be told these were found in.
    """
    return rows + term.found <= _RARE_ROWS or reached() < _ENOUGH


def most_rare(total: int) -> int:
    """How many of so many notes may have a word that is rare."""
    return _RARE_AT_LEAST + total // _RARE_SHARE


GERMAN = frozenset(
    """der die das den dem des ein eine einen wer wie wo wann welche welcher welches warum wieviel ist sind hat haben
    und mit von bei beim zum zur fur nicht wir ich""".split()  # noqa: SIM905
)
OFTEN = frozenset(
    """every each daily weekly hourly nightly monthly yearly annually quarterly twice once times per always never
    sometimes rarely regularly cron interval weekdays weekends mondays tuesdays wednesdays thursdays fridays saturdays
    sundays nights jeden jede jedes taglich wochentlich monatlich jahrlich stundlich immer nie einmal zweimal mal
    chaque quotidien hebdomadaire mensuel toujours jamais fois cada diario semanal mensual siempre nunca vez
    veces""".split()  # noqa: SIM905
)
UNITS = frozenset(folded(word) for word in spans.UNITS)
# Short names that are no words of another sense.
SURE_MONTHS = {name: month for name, month in spans.SHORT_MONTHS.items() if name not in {"may", "mar", "jan"}}
TIMES = (
    UNITS
    | OFTEN
    | {folded(word) for word in (*spans.MONTHS, *spans.WEEKDAYS, *spans.SEASONS)}
    | frozenset(SURE_MONTHS)
    | set(
        """today tomorrow yesterday morning afternoon evening night noon midnight early late soon later until since
        before after while during last next end start beginning recently now currently am pm heute morgen gestern abend
        nacht mittag mitternacht vor nach wahrend ende anfang demain hier matin soir nuit midi avant apres fin debut
        hoy manana ayer noche mediodia antes despues when once if as wenn sobald solange quand si tant mientras
        deadline due uhr clock""".split()  # noqa: SIM905
    )
)
_APART: Final = table_parts(__file__, "apart.txt")
_WORDS = regex(r"[^\W_]+")
_ENDING = regex(r"(?<=\w{2})(?:e[rsnm]?|[ao]s?|s)\Z")
_LEAST_PART = 4  # letters that a word of two parts has after the first, or a form of a word before its ending
_ASKING = regex(
    r"\W*(?:\w+ ){0,2}(?:who|whom|whose|when|where|how|which|what|why|wer|wem|wo|wie|wann|was|welche[rsmn]?"
    r"|qui|ou|quand|combien|comment|quel(?:le)?s?|que|quien|donde|cuando|cuant[oa]s?|cual)\b"
)
_BEGINNING = 5  # letters of a word by which it is found
_MOST_WORDS = 400  # of a text whose neighbours are looked at
_FIRST_PART: Final = regex(  # of words like "Winterreifen" and "northbound"
    r"(?:north|nord|south|sud|east|ost|west|upper|ober|unter|vorder|hinter|sommer|summer|winter|nacht|abend)"
    rf"(?=\w{{{_LEAST_PART}}})"
)
COUNTED: Final = regex(  # or told by a letter: "stair B"
    r"([^\W\d_]{2,})[ #]{1,2}(\d{1,6}(?:\.\d+)*(?![\d%.,:/-]\d|\d|%)|"
    r"[A-HJ-Z]\b(?![.&+#/-]|['\u2019](?!s)| (?:to|or|and|bis|und|et|y) [A-Z]\b))"
)
_NAMED: Final = regex(r"(?<=[^\W_.!?:;] )([A-Z][^\W\d_]{2,})(?:['\u2019]s)? (?=([^\W_]{3,}))")


class Apart(NamedTuple):
    """A thing, by its stem, and which of its sort it is: the "north" one of cranes. `said` is its whole word."""

    thing: str
    which: tuple[int, int]
    said: str


class NamedThing(NamedTuple):
    """A thing, by its stem, with a name before it: "Easter" and "concert". `said` is its whole word."""

    thing: str
    name: str
    said: str


@cache  # when the first question is read, so that a start does not wait for it
def _tables() -> list[dict[str, tuple[int, int]]]:
    """Of each part of the table, for each of its words the sort and which of that it is."""
    return [
        {
            word: (line, which)
            for line, words in enumerate(part.replace("\n  ", " ").strip().split("\n"))
            for which, same in enumerate(words.split())
            for word in same.split("=")
        }
        for part in _APART()
    ]


@lru_cache(4096)  # each word of each note that was found is asked for
def which_of(word: str) -> tuple[int, int] | None:
    """The sort of a word that tells one thing from its like, and which of that it is."""
    found = _tables()[0]
    return found.get(word) or found.get(f"{_ENDING.sub('', word)}-")


@lru_cache(4096)  # as above
def _kind_of(word: str) -> tuple[int, int] | None:
    """The sort of a word for one of many like things, and which of that it is: dogs among pets."""
    known, forms = _tables()[1], [word]
    if len(word) >= _LEAST_PART:
        forms += [word[:-1]] * word.endswith(("s", "n")) + [word[:-2]] * word.endswith(("es", "en"))
    return next((known[form] for form in forms if form in known), None)


def kinds_in(plain: str) -> dict[int, dict[int, str]]:
    """The words of a text for things of which one is none of its like, by their sorts and which of that they are."""
    found: dict[int, dict[int, str]] = {}
    for word in _WORDS.findall(plain)[:_MOST_WORDS]:
        if kind := _kind_of(word):
            found.setdefault(kind[0], {}).setdefault(kind[1], word)
    return found


def kinds_asked(plain: str) -> dict[int, dict[int, str]]:
    """The same of a question with a question word: "Noah cello" may be answered by what he plays instead."""
    return kinds_in(plain) if _ASKING.match(plain) else {}


def exchanged(kinds: Mapping[int, Mapping[int, str]], plain: str) -> Iterator[tuple[str, str]]:
    """Of each sort of which a text has others than these (`kinds_in`), a word of these and one of the others."""
    there = kinds_in(plain) if kinds else {}
    for sort, mine in kinds.items():
        if sort in there and mine.keys().isdisjoint(there[sort]):
            yield next(iter(mine.values())), next(iter(there[sort].values()))


def says_the_rest(words: Iterable[str], plain: str) -> bool:
    """Whether a text has one of these words of a question, and at least half, by their beginnings."""
    begins = [word[:_BEGINNING] for word in words if word not in NOT_ENGLISH]
    return 0 < len(begins) <= 2 * sum(begin in plain for begin in begins)


def things_apart(plain: str) -> Iterator[Apart]:
    """Things told apart by a word of a sort beside them, or in one word with them ("Winterreifen")."""
    words = _WORDS.findall(plain)[:_MOST_WORDS]
    for place, word in enumerate(words):
        which = which_of(word)
        if which:
            for beside in (place - 1, place + 1 + (words[place + 1 : place + 2] == ["s"])):
                if 0 <= beside < len(words) and _is_thing(words[beside]):
                    yield Apart(_ENDING.sub("", words[beside]), which, words[beside])
        elif first := _FIRST_PART.match(word):
            which = which_of(first.group()) or _tables()[0][f"{first.group()}-"]
            yield Apart(_ENDING.sub("", word[first.end() :]), which, word[first.end() :])


def named_things(text: str, plain: str) -> Iterator[NamedThing]:
    """Things with a name before them, not where every noun has a capital; the first word of a sentence is no name."""
    if not GERMAN.isdisjoint(_WORDS.findall(plain)):
        return
    for found in itertools.islice(_NAMED.finditer(text), _MOST_WORDS):
        name, thing = folded(found[1]), folded(found[2])
        if _is_thing(thing) and not {name, name.removesuffix("s")} & TIMES and which_of(name) is None:
            yield NamedThing(_ENDING.sub("", thing), name, thing)


def numbered_in(text: str) -> dict[str, str]:
    """Numbers by the word before them, folded, as in "tank 5" and "release 2.5"; not those of dates."""
    found = {folded(word): number for word, number in COUNTED.findall(text)}
    others = STOP_WORDS, MONTHS, SURE_MONTHS, UNITS
    return {word: number for word, number in found.items() if not any(word in words for words in others)}


def _is_thing(word: str) -> bool:
    is_word = len(word) > 2 and not word[0].isdecimal()  # noqa: PLR2004
    return is_word and not any(word in words for words in (STOP_WORDS, NOT_ENGLISH, TIMES))


_KNOWN = 3  # one in so many of the other words must be known, where a name is called strange
_SPECIFIC = regex(
    r"\W*(?:\w+ )?(?:who|whom|whose|when|where|how|which|wer|wo|wie|wann|welche[rsmn]?|qui|ou|quand|combien|comment"
    r"|quel(?:le)?s?|quien|donde|cuando|cuant[oa]s?|cual)\b"
)


def asks_for_one_thing(question: str) -> bool:
    """Whether it asks who, when, where, how or which, and not openly, as "what about X" does."""
    return _SPECIFIC.match(folded(question)) is not None


def is_strange(query: str, extraordinary: AbstractSet[str], unknown: AbstractSet[str]) -> bool:
    """Whether the query names something that no note knows: an extraordinary word written as a name.

    Not so where more extraordinary words are unknown that are not written as names, or where the notes know less than
    a third of the other words: then it is more likely asked in another language, or with slips of the pen.
    """
    strangers = extraordinary & unknown
    names = strangers & written_as_names(query)
    others = set(query_terms(query)) - written_as_names(query)
    return bool(names) and len(strangers) <= 2 * len(names) and 0 < len(others) <= _KNOWN * len(others - unknown)


def named_nowhere(question: str, unknown: frozenset[str]) -> str:
    """A name in it that no note has: an unknown word with a capital, behind the first; empty where there is none.

    Not so where half of the words have a capital, or in German, where every noun has one: then it says nothing.
    """
    words = question.split()
    named = [word for word in words[1:] if word[:1].isupper() and not word.isupper() and len(word) > 2]  # noqa: PLR2004
    named = [word for word in named if not TIMES.intersection(_WORDS.findall(folded(word).removesuffix("s")))]
    if 2 * len(named) >= len(words) or not GERMAN.isdisjoint(_WORDS.findall(folded(question))):
        return ""
    return without_owner(next((word.strip(".,;:?!") for word in named if unknown.intersection(query_terms(word))), ""))


_ENDED = regex(
    r"\b(?:no (?:longer|more)|not any ?more|any more|stopped|ended|cancell?ed|disabled|gone|stolen|lost|abolished"
    r"|(?<!be )(?<!is )(?<!are )sold|shut|dropped|discontinued|retired|withdrew|lent|missing|verkauft"
    r"|vendu\w*|vendid\w*|vendut\w*|nicht mehr|kein\w* mehr|ne .{1,30} plus|ya no|non .{1,30} piu)\b"
)


def has_ended(text: str) -> bool:
    """Whether a text says that something is no longer so, or no longer there."""
    return _ENDED.search(folded(text)) is not None


def without_names(query: str, subjects: Sequence[str]) -> str:
    """The query as it is to be embedded: names of subjects taken out, since they match all that is about them."""
    asked = set(query_terms(query))
    named = [words for subject in subjects if (words := set(query_terms(subject))) <= asked]
    names = set().union(*named)
    if not asked - names:
        return query
    return " ".join(word for word in query.split() if not set(query_terms(word)) & names)
