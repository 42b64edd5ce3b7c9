"""What of a question notes may have in another spelling: slips of the pen, signs, other keyboards, words in one.

For a slip it is the nearest word that some note has. The index keeps the stems of all words, in order, so that those
with the same beginning are read at once; the words themselves are then looked up in notes that have such a stem. A
beginning is two letters of the word as it is written, or as it would be if one of its first three letters were wrong.
Nothing is read where every word is known.
"""

from __future__ import annotations

import functools
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice, pairwise
from typing import Final

from holdfast.model.identifiers import OWN, is_content, shows_another_language, units_of
from holdfast.model.words import NOT_ENGLISH, STOP_WORDS, folded, folded_words, inside, query_terms, regex, relatives

MOST_WORDS: Final = 4  # of a question that are looked for
_TWO_SLIPS: Final = 8  # letters that a word must have for two to be looked for
_ENDING: Final = 6  # letters that a stem may lack at the end
_MOST_READ: Final = 20_000  # stems of one beginning
_MOST_STEMS: Final = 8  # whose words are looked up
_NOTES_OF_A_STEM: Final = 3
_NOTES_TO_A_SLIP: Final = 10_000  # in so many, one note more must have a word for it not to be a slip itself
_MOST_PARTS: Final = 6  # of an identifier that is written in one piece
_MOST_PARTINGS: Final = 64  # ways to part it that are looked at
_SECOND: Final = "aeiouyhlr"  # letters that mostly stand second
_SHORT_COUNTRIES: Final = "17"  # of one digit; others have two or three
_SHORTEST_HASH: Final = 7  # digits, as git shows them
_LONG_HASH: Final = 12  # from so many on a note may have only the beginning
_HASH: Final = regex(r"(?=[\da-f]*?(?:\d[a-f]+\d|[a-f]\d+[a-f]))[\da-f]{7,40}")  # "ab123456" is an article
_DIGIT: Final = regex(r"[^\D0-9]")
_DOTS: Final = regex(r"(?<=[aou])e")
_WITH_OTHER_LETTERS: Final = regex(r"\b\w*(?:[äöüøå]|[aou]e)\w*")
_IN_TWO_LETTERS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
LEAST_DIGITS: Final = 4  # of what may stand in a note with other signs between them
_LEAST_IN_ONE: Final = 6  # letters of a word that may be written as two
_QUOTED: Final = regex(r"""["`“„«].*?["`”“»]|(?<!\w)'[^']*'(?!\w)""")
_CAPITAL: Final = regex(r"\b\w*[A-Z]\w*")
_SHORTEST_SLIP, _LONGEST_SLIP, _MOST_SPELT = 4, 24, 16  # letters; words of a question
_JOINED: Final = regex(r"(?=[a-z]*\d)[a-z\d]{4,40}")
# Digits in groups, of which the first is an area's or a country's: "0561/402791", "+49 (0)30 555-0182".
_TELEPHONE: Final = regex(
    r"(?<![\w.,/+-])(?:\+?\(?\d{1,5}\)?(?:(?:[ /.-]{1,3}|(?<=\)))\(?\d{1,8}\)?){1,6}|(?:\+|00)\d{8,15})(?![\w/-])"
)
_NO_CALL: Final = regex(  # a date, an address of a network
    r"(?<![\d./-])(?:(?:19|20)\d\d([./-])\d\d?\1\d\d?|\d\d?([./-])\d\d?\2(?:19|20)?\d\d)(?![./-]?\d)|"
    r"\A\d{1,3}(?:\.\d{1,3}){3}\Z"
)
_LEAST_OF_A_CALL, _SURELY_A_CALL = 7, 9  # digits; so many where the first is neither 0, in brackets nor behind a plus
_LEAST_JOINED = 6  # digits; fewer may be any number, and have no sign but that of their thousands
_TABLES: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab('main', 'texts', 'row')",
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab('main', 'texts', 'instance')",
)
_STEMS: Final = "SELECT term, doc FROM temp.stems WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? LIMIT ?"
_BEGINNING_SO: Final = "SELECT term FROM temp.stems WHERE term >= ? AND term < ? ORDER BY term LIMIT 4"
_SOME: Final = "SELECT 1 FROM texts WHERE texts MATCH ? LIMIT 1"
_SOME_TEXTS: Final = "SELECT title, body, tags, subject FROM texts WHERE texts MATCH ? LIMIT 4"
_PLURAL: Final = 2  # letters
_PLACES: Final = (
    "SELECT DISTINCT doc FROM temp.places WHERE term = ? AND col IN ('title', 'body', 'tags', 'subject') LIMIT ?"
)


def may_be_slips(query: str, strange: AbstractSet[str]) -> list[str]:
    """Which of the words that are no ordinary ones may be slips of the pen, in the order of the question.

    No identifier, no name (a capital behind the first word), nothing in quotes or with a digit, no short word, and
    nothing in what is not English, nor in a long text.
    """
    terms = query_terms(query)
    if not strange or strange & NOT_ENGLISH or len(terms) > _MOST_SPELT or shows_another_language(query):
        return []
    names = frozenset().union(*(unit.terms for unit in units_of(query) if unit.kind in ("identifier", "name")))
    bare = _QUOTED.sub(" ", query)
    within = inside(bare)
    said = set(folded_words(within))
    capitals = frozenset() if query.isupper() else frozenset(map(folded, _CAPITAL.findall(within)))
    kept = (term for term in terms if term in strange and term in said and term not in names | capitals)
    return [term for term in kept if _SHORTEST_SLIP <= len(term) <= _LONGEST_SLIP and term.isascii() and term.isalpha()]


def may_be_joined(query: str) -> list[str]:
    """The identifiers that a note may have with other signs or spaces in them.

    They are written in one piece and have digits; or they are telephone numbers, as they stand in the question.
    """
    units = (unit for unit in units_of(query) if unit.kind == "identifier" and _JOINED.fullmatch(unit.label))
    calls = (found.group() for found in islice(_TELEPHONE.finditer(query), _MOST_SPELT))
    return [*(unit.label for unit in units), *filter(_is_call, calls)]


def _is_call(text: str) -> bool:
    """Whether digits in groups are rather a telephone number than a date, an address or an amount."""
    least = _LEAST_OF_A_CALL if text[0] in "+(0" else _SURELY_A_CALL
    return sum(sign.isdecimal() for sign in text) >= least and not _NO_CALL.search(text)


def may_be_transcribed(query: str) -> dict[str, str]:
    """Words of a question with what another keyboard has for them: "mueller" for "Müller", "muller" for "Mueller"."""
    words = (word for word in _WITH_OTHER_LETTERS.findall(query.lower()) if len(word) >= _SHORTEST_SLIP)
    pairs = ((folded(word), folded(word.translate(_IN_TWO_LETTERS))) for word in words if word not in STOP_WORDS)
    return {word: other if other != word else _DOTS.sub("", word) for word, other in pairs}


def may_be_one_word(query: str) -> list[str]:
    """Neighbours in a question that a note may have as one word: "accu mite" for "AccuMite"; the longest first."""
    words = folded_words(query)
    if len(words) > _MOST_SPELT:
        return []
    runs = (words[at : at + size] for size in (3, 2) for at in range(len(words) - size + 1))
    return [" ".join(run) for run in runs if len("".join(run)) >= _LEAST_IN_ONE and STOP_WORDS.isdisjoint(run)]


def corrected(text: str, slips: Mapping[str, str]) -> str:
    """A question with these words in the place of others, whatever case those are in."""
    for words in (words for words in slips if words.replace(" ", "").isalnum() and " " in words):
        text = re.sub(rf"\b{words.replace(' ', '[^0-9a-zA-Z]+')}\b", slips[words], text, flags=re.IGNORECASE)
    for number in filter(_TELEPHONE.fullmatch, slips):
        text = re.sub(rf"(?<!\d){re.escape(number)}(?!\d)", slips[number], text)
    return re.sub(r"\w+", lambda word: slips.get(folded(word.group()), word.group()), text) if slips else text


def respelt(connection: sqlite3.Connection, query: str, odd: AbstractSet[str]) -> dict[str, str]:
    """For words of a question that no note has as they stand there how some note has them, where one does.

    * A word of `odd`, which are no ordinary ones, may be a slip of the pen: the nearest word that notes have.
    * What has digits is no slip; it may stand in a note with signs or spaces between its parts, and is then told with
      signs: "4821-77-09" for "48217709". Digits of any script are looked for as 0 to 9.
    * A word may be written with other letters ("Mueller" for "Müller"), and neighbours may be one word.

    Of many only the first are looked at.
    """
    words = [*may_be_joined(query), *may_be_slips(query, odd)]
    unknown = [word for word in words if not _is_known(connection, word)][:MOST_WORDS]
    plain = {word: other for word in unknown if (other := _plain(connection, word))}
    unknown = [word for word in unknown if word not in plain]
    parts = {word: other for word in unknown if not word.isalpha() and (other := _apart(connection, word))}
    found = plain | parts | _transcribed(connection, query) | _in_one(connection, query)
    return found | _slips(connection, (word for word in unknown if word.isalpha() and word not in found))


def _transcribed(connection: sqlite3.Connection, query: str) -> dict[str, str]:
    """Words of a question in the letters in which notes have them, where none has them as they are."""
    words = islice(may_be_transcribed(query).items(), _MOST_SPELT)
    unknown = {word: other for word, other in words if not _is_known(connection, word)}
    found = {word: other for word, other in unknown.items() if _is_there(connection, other)}
    rest = {word: other for word, other in unknown.items() if word not in found and not word.isalpha()}
    return found | {word: parts for word, other in rest.items() if (parts := _parted(connection, other))}


def _in_one(connection: sqlite3.Connection, query: str) -> dict[str, str]:
    """Neighbours of which notes have no other trace than one word made of them; of two that overlap the longer."""
    runs = {words: words.replace(" ", "") for words in may_be_one_word(query)}
    either = " OR ".join(f'"{word}"' for word in runs.values())
    if not runs or connection.execute(_SOME, (f"{OWN} : ({either})",)).fetchone() is None:
        return {}
    for words, word in runs.items():
        if _stands_in_one(connection, word) and not all(_is_known(connection, each) for each in words.split()):
            return {words: word}
    return {}


def _stands_in_one(connection: sqlite3.Connection, word: str) -> bool:
    """Whether a note has a word, not only one with its stem: "tollgateence" has that of "tollgate"."""
    texts = connection.execute(_SOME_TEXTS, (f'{OWN} : "{word}"',))
    words = (each for row in texts for each in folded_words(" ".join(filter(None, row))))
    return any(each.startswith(word[:-_PLURAL]) for each in words)


def _slips(connection: sqlite3.Connection, words: Iterable[str]) -> dict[str, str]:
    """For each of these words, which no note has, the nearest that some have."""
    unknown = list(words)
    if not unknown:
        return {}
    for table in _TABLES:
        connection.execute(table)
    (total,) = connection.execute("SELECT count(*) FROM notes").fetchone()
    found = ((word, _nearest(connection, word, 1 + total // _NOTES_TO_A_SLIP)) for word in unknown)
    return {word: other for word, other in found if other and is_content(other)}  # a word of grammar finds nothing


def slips_between(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or in each other's place; `most` + 1 where there are more.

    Two neighbours in each other's place are one slip (optimal string alignment).
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        older, before, row = before, row, [place]
        for at, theirs in enumerate(other, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != theirs))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == theirs:
                cost = min(cost, older[at - 2] + 1)
            row.append(cost)
        if min(row) > most and (not before or min(before) > most):
            return most + 1
    return min(row[-1], most + 1)


def _is_known(connection: sqlite3.Connection, word: str) -> bool:
    either = " OR ".join(f'"{each}"' for each in (word, *relatives(word)))
    return connection.execute(_SOME, (either,)).fetchone() is not None


def _plain(connection: sqlite3.Connection, word: str) -> str:
    """The word as another keyboard writes it, where a note has it so: empty where none has.

    Digits as 0 to 9, and "oe" as one letter.
    """
    ways = [_DIGIT.sub(lambda sign: str(int(sign.group())), word), word.replace("oe", "œ").replace("ae", "æ")]
    return next((each for each in ways if each != word and _is_there(connection, each)), "")


def _apart(connection: sqlite3.Connection, word: str) -> str:
    """The parts of an identifier as they stand in a note, with signs between; empty where none has it so.

    A telephone number may lack its country, or the first 0; of what looks like a hash a note may have more, or only
    the beginning.
    """
    if _TELEPHONE.fullmatch(word):
        numbers = dict.fromkeys(_ways_to_call(word))
        return next((found for number in numbers if (found := _as_it_stands(connection, number))), "")
    if _HASH.fullmatch(word) and (found := _longer_or_shorter(connection, word)):
        return found
    return _parted(connection, word)


def _parted(connection: sqlite3.Connection, word: str) -> str:
    """The same of what is one thing; a short number is parted at its thousands alone: "48,212"."""
    if word.isdecimal() and len(word) < _LEAST_JOINED:
        thousands = word[:-3], word[-3:]
        return "-".join(thousands) if _is_there(connection, " ".join(thousands)) else ""
    for number, parts in enumerate(_partings(connection, word)):
        if number == _MOST_PARTINGS:
            break
        if _is_there(connection, " ".join(parts)):
            return "-".join(parts)
    return ""


def _as_it_stands(connection: sqlite3.Connection, number: str) -> str:
    return number if _is_there(connection, number) else _parted(connection, number)


def _ways_to_call(written: str) -> Iterator[str]:
    """The digits of a telephone number, with and without what one dials from elsewhere."""
    digits = "".join(filter(str.isdecimal, written.replace("(0)", "")))
    local = [digits.removeprefix("0")]
    if written.startswith(("+", "00")):
        whole = digits.removeprefix("00")
        local = [whole[end:] for end in ((1,) if whole[0] in _SHORT_COUNTRIES else (2, 3))]
    ways = (digits, *(f"0{number}" for number in local), *local)
    yield from (number for number in ways if len(number) >= _LEAST_OF_A_CALL)


def _longer_or_shorter(connection: sqlite3.Connection, word: str) -> str:
    """The word of a note that begins with these, if all that do are one, or the longest beginning that a note has."""
    for table in _TABLES:
        connection.execute(table)
    longer = [str(term) for (term,) in connection.execute(_BEGINNING_SO, (word, f"{word}g"))]
    if longer:
        return longer[0] if all(term.startswith(before) for before, term in pairwise(longer)) else ""
    ends = range(len(word) - 1, _SHORTEST_HASH - 1, -1) if len(word) >= _LONG_HASH else ()
    return next((word[:end] for end in ends if _is_there(connection, word[:end])), "")


def _partings(connection: sqlite3.Connection, word: str) -> Iterator[tuple[str, ...]]:
    """Ways to part a word into words that notes have, those of fewest parts first."""
    known = functools.cache(functools.partial(_is_there, connection))
    ways: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    for _ in range(_MOST_PARTS):
        longer: list[tuple[int, tuple[str, ...]]] = []
        for at, parts in ways:
            ends = (end for end in range(len(word), at, -1) if end - at < len(word) and known(word[at:end]))
            longer += [(end, (*parts, word[at:end])) for end in ends]
        yield from (parts for end, parts in longer if end == len(word))
        ways = [way for way in longer if way[0] < len(word)][:_MOST_PARTINGS]


def _is_there(connection: sqlite3.Connection, phrase: str) -> bool:
    """Whether a note has these words in its own text, one behind the other."""
    return connection.execute(_SOME, (f'{OWN} : "{phrase}"',)).fetchone() is not None


def _count(connection: sqlite3.Connection, word: str) -> int:
    """How many notes have a word in their own text."""
    statement = "SELECT count(*) FROM texts WHERE texts MATCH ?"
    return int(connection.execute(statement, (f'{OWN} : "{word}"',)).fetchone()[0])


def _nearest(connection: sqlite3.Connection, word: str, least: int) -> str:
    """The word that it is most likely a slip of, of those that enough notes have; empty where none is near."""
    most = 1 + (len(word) >= _TWO_SLIPS)
    left_out = frozenset(less for end in range(2, len(word) + 1) for less in _shortened(word[:end]))
    found: list[tuple[int, int, str]] = []
    for beginnings in _beginnings(word):
        near = sorted(stem for each in beginnings for stem in _stems(connection, word, each, most, left_out))
        words = {each for _, _, stem in near[:_MOST_STEMS] for each in _words_of(connection, stem)}
        fitting = [(slips_between(word, each, most), each) for each in words if _begins_like(word, each)]
        counted = ((slips, -_count(connection, each), each) for slips, each in fitting if slips <= most)
        found += (each for each in counted if -each[1] >= least)
        if found and min(found)[0] == 1:  # under other beginnings there is nothing nearer
            break
    return min(found)[2] if found else ""


def _beginnings(word: str) -> Iterator[list[str]]:
    """The beginnings that are looked under: its own, those with a slip in it, then with another second letter."""
    first, second, third = word[0], word[1], word[2]
    yield [word[:3]]
    yield list(dict.fromkeys((first + second, first + third, second + first)))
    yield list(dict.fromkeys(first + letter + after for letter in _SECOND for after in (second, third)))


def _begins_like(word: str, other: str) -> bool:
    """Whether the first letter is the same, or the first two are in each other's place."""
    return other[0] == word[0] or other[:2] == word[1::-1]


def _stems(
    connection: sqlite3.Connection, word: str, beginning: str, most: int, left_out: frozenset[str]
) -> Iterator[tuple[int, float, str]]:
    """Stems that may be of a word near this one: how many slips there are, the more notes the lower, and the stem.

    What is near has something in common once a letter of both is left out: `left_out` is what that leaves of the
    beginnings of the word. Of two slips those are found that leave it so.
    """
    after = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    shortest, longest = max(3, len(word) - _ENDING), len(word) + most
    letters = frozenset(word)
    for stem, found in connection.execute(_STEMS, (beginning, after, shortest, longest, _MOST_READ)):
        if len(letters.union(stem)) > len(letters) + 1 or left_out.isdisjoint(_shortened(stem)):
            continue
        slips = min(slips_between(word[: len(stem) + more], stem, most + 1) for more in (0, 1, -1, 2))
        if slips <= most + (stem[-1] == "i"):  # the stemmer writes i for y
            yield slips, -math.log(found), stem


def _shortened(word: str) -> set[str]:
    """A word, and what is left of it without any one letter."""
    return {word, *[word[:at] + word[at + 1 :] for at in range(len(word))]}


def _words_of(connection: sqlite3.Connection, stem: str) -> set[str]:
    """The words that begin like a stem in some of the notes that have it."""
    places = [place for (place,) in connection.execute(_PLACES, (stem, _NOTES_OF_A_STEM))]
    texts = (connection.execute("SELECT title, body, tags, subject FROM texts WHERE rowid = ?", (at,)) for at in places)
    text = " ".join(" ".join(filter(None, row)) for found in texts for row in found)
    return {each for each in folded_words(text) if each.startswith(stem[:-1]) and each.isalpha()}
