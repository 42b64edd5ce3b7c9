"""What of a text is shown: of a long one a piece, and nothing that its writer marked as private.

A mark is `<private>`, as in "deploy to <private>10.0.0.7</private>"; what it holds is taken out of a text before
anything is done with the text. A mark that is never closed counts to the end: too much is left out rather than too
little. Letters may be capital or small, and marks may have blanks inside.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final

from holdfast.model.identifiers import is_content
from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.words import ABBREVIATIONS, GERMAN_MONTHS, folded, regex

LEFT_OUT: Final = "[private]"
_MARK: Final = regex(r"<\s*(/?)\s*private\s*>", re.IGNORECASE)


def without_private(text: str) -> str:
    """The text with `[private]` in the place of each such part; an inner one belongs to the outer one."""
    kept: list[str] = []
    depth = start = 0  # start: of what is kept next
    for mark in _MARK.finditer(text):
        closes = bool(mark[1])
        if not closes and not depth:
            kept += [text[start : mark.start()], LEFT_OUT]
        if closes and depth:
            start = mark.end()
        depth = max(0, depth - 1) if closes else depth + 1
    return "".join(kept if depth else [*kept, text[start:]])


_PIECE = 800  # characters of a line that are measured at once
_PIECES = regex(rf"[^\n]{{0,{_PIECE - 1}}}\n|[^\n]{{1,{_PIECE}}}(?<=[ \t])|[^\n]{{1,{_PIECE}}}")
_ALWAYS_FITS = 5  # tokens of a character, at the most and as JSON
_ESCAPED, _CONTROL = regex(r'["\\\n\r\t]'), regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ESCAPED_COST, _CONTROL_COST = 2, 5  # tokens more, where a character is written as JSON has it


@dataclass(frozen=True, slots=True)
class TextPage:
    """A part of a text; `left` is how many characters come after it, `number` begins at 1."""

    text: str
    number: int
    left: int


def page_at(text: str, number: int, most: int) -> TextPage | None:
    """One page of a text; None where it has fewer. Put together the pages are the text.

    Args:
        text: the whole.
        number: 1 for the first page.
        most: tokens of a page, as it stands and as JSON.
    """
    return next(islice(_pages(text, most), number - 1, number), None) if number > 0 else None


def count_pages(text: str, most: int) -> int:
    """How many pages a text has."""
    return sum(1 for _ in _pages(text, most))


def _pages(text: str, most: int) -> Iterator[TextPage]:
    if len(text) * _ALWAYS_FITS <= most:
        yield TextPage(text, 1, 0)
        return
    number, begin, end, spent = 1, 0, 0, 0
    for found in _PIECES.finditer(text):
        cost = _cost_shown(found.group())
        if spent + cost > most and end > begin:
            yield TextPage(text[begin:end], number, len(text) - end)
            number, begin, spent = number + 1, end, 0
        spent, end = spent + cost, found.end()
    yield TextPage(text[begin:], number, 0)


def _cost_shown(text: str) -> int:
    """What a piece costs in the dearer of both forms."""
    escaped, controls = len(_ESCAPED.findall(text)), len(_CONTROL.findall(text))
    return most_tokens(text) + _ESCAPED_COST * escaped + _CONTROL_COST * controls


LONG = 4_000  # characters from which on a text is read better in sections
MOST_SECTIONS = 500  # of one text; beyond that the deepest headings stay within their sections
_DEEPEST = 6

_HEADING = regex(r" {0,3}(#{1,6})[ \t]+(.*)")  # with the signs that may close it
_UNDERLINE = regex(r" {0,3}(?:(=+)|-{2,})[ \t\r]*")
_NO_PARAGRAPH = regex(r"\s|[#>|*+-]|\d+[.)]\s|$")  # how a line begins that no line of dashes makes a heading
_FENCE = regex(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)*(?:(`{3,})[^`]*|(~{3,}).*)")
_RAW = regex(r" {0,3}<(pre|script|style|textarea)(?:[\s>]|$)(?!.*</\1>)", re.IGNORECASE)
_INSTRUCTION = regex(r" {0,3}<(\?(?!.*\?>)|!\[CDATA\[(?!.*\]\]>))")
_BLOCKS = (  # CommonMark's, each of which ends at a blank line
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
)
_BLOCK = regex(rf" {{0,3}}</?(?:{_BLOCKS.replace(' ', '|')})(?:\s|/?>|$)", re.IGNORECASE)
_TAG = regex(r" {0,3}</?[a-z][a-z0-9-]*(?:\s[^<>]*)?>\s*", re.IGNORECASE)  # any other, alone, within no paragraph
_BLANK = regex(r"\s*$")
_COMMENT = regex(r"[^`]*<!--(?!.*-->)")
_LINK = regex(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_ATTRIBUTES = regex(r"\s*\{[#.][^{}]*\}$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text below it.

    Attributes:
        above: the headings that it is part of, the outermost first.
        title: its own.
        text: from the heading on.
        line: where the heading is, from 1.
        part_of: the place of the section that holds it; None where that is the text as a whole.
        key: its name among the sections of the text, made of the headings.
    """

    above: tuple[str, ...]
    title: str
    text: str
    line: int
    part_of: int | None
    key: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A text by its sections: `title` is its only top heading, empty without one; `opening` is what comes first."""

    title: str
    opening: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    line: int
    level: int
    title: str
    lines: int


def outline(text: str) -> Outline | None:
    """The sections of a text; None where it has no two headings, the title among them, or none of them has a text.

    A heading without text of its own is no section: it is told among those above the next.
    """
    lines = text.split("\n")
    found = list(_headings(lines))
    is_titled = bool(found) and found[0].level == 1 and not any(item.level == 1 for item in found[1:])
    is_titled = is_titled and not "".join(lines[: found[0].line]).strip()
    title = found[0].title if is_titled else ""
    kept = _shallow(found[1:] if is_titled else found)
    opening = "\n".join(lines[: kept[0].line] if kept else lines).strip()
    sections = _sections(lines, kept)
    return Outline(title, opening, tuple(sections)) if sections and len(found) > 1 else None


def _shallow(found: Sequence[_Heading]) -> list[_Heading]:
    """The headings down to the level at which there are not too many."""
    for deepest in range(_DEEPEST, 0, -1):
        kept = [item for item in found if item.level <= deepest]
        if len(kept) <= MOST_SECTIONS:
            return kept
    return []


def _sections(lines: Sequence[str], kept: Sequence[_Heading]) -> list[Section]:
    sections: list[Section] = []
    keys: set[str] = set()
    open_: list[tuple[_Heading, int | None]] = []  # the headings above, with the places of those that have text
    for number, item in enumerate(kept):
        while open_ and open_[-1][0].level >= item.level:
            open_.pop()
        end = kept[number + 1].line if number + 1 < len(kept) else len(lines)
        place = None
        if "".join(lines[item.line + item.lines : end]).strip():
            above = tuple(heading.title for heading, _ in open_)
            part_of = next((held for _, held in reversed(open_) if held is not None), None)
            place = len(sections)
            text = "\n".join(lines[item.line : end]).strip("\r\n")
            sections.append(Section(above, item.title, text, item.line + 1, part_of, _key(above, item.title, keys)))
        open_.append((item, place))
    return sections


def _key(above: Sequence[str], title: str, keys: set[str]) -> str:
    """A name that no other section has; it is put among those that are taken."""
    name = "/".join(" ".join(each.casefold().split()) for each in (*above, title))
    numbered = (f"{name}~{number}" for number in itertools.count(2))
    key = next(key for key in itertools.chain([name], numbered) if key not in keys)
    keys.add(key)
    return key


def _headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """The headings of both kinds; what stands in code, comments and raw blocks is none."""
    closing: re.Pattern[str] | None = None
    for number, line in enumerate(lines):
        if closing is not None:
            closing = None if closing.match(line) else closing
        elif (closing := _closing(lines, number)) is None:
            heading = _heading(lines, number)
            if heading is not None and heading.title:
                yield heading


def _closing(lines: Sequence[str], number: int) -> re.Pattern[str] | None:
    """What ends the block that a line opens; None where it opens none."""
    line = lines[number]
    if (fence := _FENCE.fullmatch(line)) is not None:
        mark = fence[1] or fence[2]
        return re.compile(rf"[\s>]*{re.escape(mark[0])}{{{len(mark)},}}\s*$")
    if _COMMENT.match(line):
        return re.compile(r".*-->")
    if (raw := _RAW.match(line)) is not None:
        return re.compile(rf".*</{raw[1]}>", re.IGNORECASE)
    if (instruction := _INSTRUCTION.match(line)) is not None:
        return re.compile(r".*\?>" if instruction[1] == "?" else r".*\]\]>")
    opens = _BLOCK.match(line) or (_TAG.fullmatch(line) and _is_first(lines, number))
    return _BLANK if opens else None


def _is_first(lines: Sequence[str], number: int) -> bool:
    """Whether no paragraph goes on with a line."""
    before = lines[number - 1] if number else ""
    return not before.strip() or _HEADING.fullmatch(before) is not None


def _heading(lines: Sequence[str], number: int) -> _Heading | None:
    """The heading that begins with a line; a paragraph of one line that is underlined is one too."""
    found = _HEADING.fullmatch(lines[number])
    if found is not None:
        return _Heading(number, len(found[1]), _plain(_unclosed(found[2])), 1)
    below = _UNDERLINE.fullmatch(lines[number + 1]) if number + 1 < len(lines) else None
    is_alone = number == 0 or not lines[number - 1].strip()
    if below is None or not is_alone or _NO_PARAGRAPH.match(lines[number]):
        return None
    return _Heading(number, 1 if below[1] else 2, _plain(lines[number]), 2)


def _unclosed(title: str) -> str:
    """A heading's words without the signs that close it: "## Oils ##"."""
    bare = title.strip().rstrip("#")
    return bare if not bare or bare[-1].isspace() else title


def _plain(title: str) -> str:
    """A heading's words without the marks of links and emphasis."""
    words = _LINK.sub(r"\1", _ATTRIBUTES.sub("", " ".join(title.split())))
    return " ".join(words.replace("**", "").replace("__", "").replace("`", "").strip("* ").split())


MORE: Final = "…"
_CHARACTERS = 2  # of a token, in the search for the best place; what is shown is measured, and is rather more
_LONGEST = 300  # characters of a sentence; what is longer is taken in pieces
_ABBREVIATED = (*ABBREVIATIONS.split("|"), *"approx Approx e.g i.e z.B vs bzw Mme Sta".split())  # noqa: SIM905
_NO_END = "".join(rf"(?<!\b{re.escape(word)}\.)" for word in _ABBREVIATED)  # "Dr. Moen" is one sentence
_NO_END += rf"(?!(?<=\d\.) (?:{GERMAN_MONTHS})[a-z]*\b)"  # "am 8. Dezember" too
_SENTENCE = regex(
    rf"\s*(?:[^\n]{{1,{_LONGEST}}}?(?:[.!?](?=\s){_NO_END}|[\u3002\uff01\uff1f]|(?=\n)|\Z)|"
    rf"[^\n]{{1,{_LONGEST}}}(?=\s)|[^\n]{{1,{_LONGEST}}})"
)
_HEADING_AT = regex(r"\s*#{1,6} +\S")
_MARKS = 8  # tokens for "…" before and after
_LEAD = 4  # tokens for that before a line
_TO_FOLLOW = 20  # characters behind a word, in which what is told of it may stand
_HEADING_SHARE = 4  # of the room, one part may be the heading
_STEM_LOSS, _SHORTEST_STEM = 2, 4  # letters at a word's end that may differ
_SAME = 1e-9  # sums of floats that differ by less are equal
_NEVER_MORE = 16  # characters to a token
# A second place has one of so many parts of the room, and at the most and at the least so many tokens.
_SECOND_SHARE, _MOST_OF_SECOND, _LEAST = 3, 80, 16
_FEW_SENTENCES = 2  # have a word for which a second place is shown


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a text; `cut` is how many characters of it are not."""

    text: str
    cut: int = 0


NOTHING: Final = Passage("")


def passage(content: str, terms: Sequence[str], most: int) -> Passage:
    """What of a note has most of a question's words, on at most so many tokens; the whole note where it fits.

    A telling word of the question that stands only far from there brings a second place, where it costs no other word.

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
    said = _beside_its_title(_Said(text, sentences, _held(text, sentences, {*map(_stem, terms), *_numbered(terms)})))
    first = _best(said, most * _CHARACTERS)
    one = _piece(said, first, most)
    pieces = _in_two(said, first, one, {_stem(term) for term in terms if is_content(term)}, most) or [one]
    told = sum(piece.told for piece in pieces)
    return Passage("\n".join(piece.text for piece in pieces), max(0, len(text) - told))


@dataclass(frozen=True, slots=True)
class _Said:
    """A text, where its sentences are, and which stems of a question's words each of them has."""

    text: str
    spans: Sequence[tuple[int, int]]
    held: Sequence[Sequence[str]]


def _beside_its_title(said: _Said) -> _Said:
    """The same, where the heading of the whole text tells that no place of it is meant more than another.

    That is for the words that it has, where others of the question stand in the text too.
    """
    title = set(said.held[0]) if said.spans and _HEADING_AT.match(said.text, *said.spans[0]) else set()
    rest = [[stem for stem in each if stem not in title] for each in said.held]
    return replace(said, held=rest) if title and any(rest) else said


@dataclass(frozen=True, slots=True)
class _Piece:
    """A place of a text as it is shown: with marks and heading, how many characters it tells, and which stems."""

    text: str
    told: int
    stems: frozenset[str]


def _piece(said: _Said, first: int, most: int) -> _Piece:
    """A text from a sentence on, with its heading."""
    text, after = said.text, first + 1
    is_below = bool(first) and after < len(said.spans) and _HEADING_AT.match(text, *said.spans[first]) is not None
    heading = text[slice(*said.spans[first])].strip() if is_below else _heading_above(text, said.spans, first)
    title, first = beginning(heading, most // _HEADING_SHARE), after if is_below else first
    lead = (f"{title}\n" if title else "") + (f"{MORE} " if first and not is_below else "")
    room = most - (most_tokens(lead) if lead else 0) - _MARKS
    begin, end = _extent(text, said.spans[first:], said.held[first], room)
    body = text[begin:end].strip()
    lead = lead or (f"{MORE} " if begin else "")
    more = f" {MORE}" if body and end < len(text) else ""
    stems = {stem for each in said.held for stem in each}
    return _Piece(f"{lead}{body}{more}", len(body) + len(heading), _stems_in(f"{title} {body}", stems))


def _in_two(said: _Said, first: int, one: _Piece, telling: set[str], most: int) -> list[_Piece] | None:
    """What `one` tells and another place, for words that few sentences have; None where that tells no more of them."""
    part = min(most // _SECOND_SHARE, _MOST_OF_SECOND)
    counts = Counter(stem for each in said.held for stem in each)
    missing = {stem for stem in telling - one.stems if 0 < counts[stem] <= _FEW_SENTENCES}
    if not missing or part < _LEAST:
        return None
    other = replace(said, held=[[stem for stem in each if stem in missing] for each in said.held])
    second = _best(other, part * _CHARACTERS)
    pieces = {first: _piece(said, first, most - part - 1), second: _piece(other, second, part)}
    gained, told = pieces[second].stems, pieces[first].stems | pieces[second].stems
    return [pieces[place] for place in sorted(pieces)] if gained and one.stems & telling <= told else None


def first_sentence(content: str, most: int) -> str:
    """What a note begins with, as one line on at most so many tokens."""
    found = _SENTENCE.match(content.strip())
    line = found.group() if found else ""
    return beginning(line.strip(" \t\r\n#>*-") or line.strip(), most)


def line_around(line: str, text: str, terms: Iterable[str], most: int, known: str = "") -> str:
    """A line, or the part of a text, on at most so many tokens, that has more of a question's words, and what follows.

    `line` is on as many tokens, and what the text is told by; where it is cut, a word at its end tells nothing. Words
    that are `known`, from another text, count less.
    """
    stems = _stems_in(text, {_stem(term) for term in terms})
    fresh = stems - _stems_in(known, stems)
    missing = stems - _stems_in(_but_its_end(line), stems)
    places = {_place(text, stem) for stem in missing}
    starts = sorted(places | {_before(text, place, most) for place in places})
    parts = [f"{MORE} {beginning(text[start:].lstrip(), most - _LEAD)}" for start in starts]
    said = {part: _stems_in(_but_its_end(part), stems) for part in (line, *parts)}
    return max(said, key=lambda part: (len(said[part] & fresh), len(said[part])))


def _but_its_end(part: str) -> str:
    return part[:-_TO_FOLLOW] if part.endswith(MORE) else part


def _extent(text: str, spans: Sequence[tuple[int, int]], stems: Sequence[str], room: int) -> tuple[int, int]:
    """From where to where the first of these sentences go that there is room for; of one that is too long a part."""
    begin, end = spans[0]
    spent = most_tokens(text[begin:end])
    if spent > room:
        return _part(text, begin, end, stems, max(room, 0))
    for start, stop in spans[1:]:
        spent += most_tokens(text[start:stop])
        if spent > room:
            break
        if not _HEADING_AT.match(text, start, stop) or stop == len(text):  # nothing ends with a heading
            end = stop
    return begin, end


def _part(text: str, begin: int, end: int, stems: Sequence[str], room: int) -> tuple[int, int]:
    """The part of a long sentence that has most of what is asked for; the beginning where none has more than that."""
    begin = end - len(text[begin:end].lstrip())
    sentence = text[begin:end]
    places = {_place(sentence, stem) for stem in stems}
    starts = sorted(places | {_before(sentence, place, room // 2) for place in places})
    parts = [(start, beginning(sentence[start:], room).removesuffix(MORE)) for start in (0, *starts)]
    start, part = max(parts, key=lambda each: len(_stems_in(each[1], stems)))
    return begin + start, begin + start + len(part)


def _place(sentence: str, stem: str) -> int:
    """Where a stem stands that a sentence has, at the last: its letters are compared as they are folded."""
    low, high = 0, len(sentence)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if stem in folded(sentence[middle:]) else (low, middle - 1)
    return low


def _before(sentence: str, place: int, most: int) -> int:
    """At most so many characters before a place, at the beginning of a word if there is one."""
    start = max(0, place - most)
    if start and (blank := re.search(r"\s", sentence[start - 1 : place])):
        return start + blank.start()
    while start < place and unicodedata.combining(sentence[start]):
        start += 1
    return start


def _stems_in(text: str, stems: Iterable[str]) -> frozenset[str]:
    said = folded(text)
    return frozenset(stem for stem in stems if stem in said and _is_whole(stem, said))


def _held(text: str, spans: Sequence[tuple[int, int]], wanted: Iterable[str]) -> list[list[str]]:
    """For each sentence which of these stems it has."""
    plain = text.lower() if text.isascii() else ""  # as it is folded, with every letter in its place
    said = [plain[a:b] if plain else folded(text[a:b]) for a, b in spans]
    stems = [stem for stem in wanted if not plain or stem in plain]
    return [[stem for stem in stems if stem in each and _is_whole(stem, each)] for each in said]


def _best(said: _Said, length: int) -> int:
    """The sentence to begin with: from there on the most of what is asked for stands within so many characters.

    A word counts by how few sentences have it. Of equal places that whose first sentence has the most of it.
    """
    spans, held = said.spans, said.held
    counts = Counter(stem for each in held for stem in each)
    worth = {stem: 1.0 / count for stem, count in counts.items()}
    within: Counter[str] = Counter()
    best, best_value, best_lead, value, last = 0, 0.0, 0.0, 0.0, 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and (last == first or spans[last][1] - start <= length):
            for stem in held[last]:
                value += worth[stem] if not within[stem] else 0.0
                within[stem] += 1
            last += 1
        lead = sum(worth[stem] for stem in held[first])
        if value > best_value + _SAME or (value > best_value - _SAME and lead > best_lead + _SAME):
            best, best_value, best_lead = first, value, lead
        for stem in held[first]:
            within[stem] -= 1
            value -= worth[stem] if not within[stem] else 0.0
    return best


def _numbered(terms: Sequence[str]) -> list[str]:
    """What is told apart by its number, as "site 52" is: "key K-52 of site 4" has its words too."""
    return [f"{word} {number}" for word, number in pairwise(terms) if number.isdecimal() and not word.isdecimal()]


def _is_whole(stem: str, text: str) -> bool:
    """A number is not part of a longer one: "33" of "333"."""
    return not stem[-1].isdecimal() or re.search(rf"(?<!\d){re.escape(stem)}(?!\d)", text) is not None


def _heading_above(text: str, spans: Sequence[tuple[int, int]], first: int) -> str:
    """The last heading before a sentence; empty where it has none, or is one."""
    for start, stop in reversed(spans[:first]) if not _HEADING_AT.match(text, *spans[first]) else ():
        if _HEADING_AT.match(text, start, stop):
            return text[start:stop].strip()
    return ""


def _stem(term: str) -> str:
    """The beginning of a word that its other forms have too."""
    if not term.isascii() or not term.isalpha():
        return term
    return term[: max(_SHORTEST_STEM, len(term) - _STEM_LOSS)]


TEXT_TOKENS: Final = 800  # of an answer with ten hits; more hits have more
STRUCTURED_TOKENS: Final = 3000
MOST_TOKENS: Final = 50_000  # that a caller may have; more would keep others waiting while it is put together
USUAL_HITS: Final = 10
MOST_SHARES: Final = 5.0  # of those for ten hits: some clients take no answer of more than 25,000 tokens
LONGEST_PASSAGE: Final = 300
SHORTEST_PASSAGE: Final = 40


@dataclass(frozen=True, slots=True)
class Budget:
    """The most tokens of an answer's text, of its JSON, and of what is shown of one note; see `tokens.most_tokens`.

    A model reads one of the two forms. Text leaves out most of what is known of a note, so its budget is the smaller
    one, unless the caller gives one for both.
    """

    text: int
    structured: int
    passage: int


def budget_of(given: int | None, limit: int = USUAL_HITS) -> Budget:
    """What the caller gave, for either form; else what is usual for so many hits."""
    if given is not None:
        most = min(given, MOST_TOKENS)
        return Budget(most, most, most)
    share = min(MOST_SHARES, max(1.0, limit / USUAL_HITS))
    return Budget(round(TEXT_TOKENS * share), round(STRUCTURED_TOKENS * share), LONGEST_PASSAGE)


def most_of_each(contents: Sequence[str], most: int, room: int) -> int:
    """The most tokens of one note with which all of them fit, where that is not too little to say anything.

    What short notes leave over goes to the longer ones.
    """
    left = sorted(_at_most(content, most) for content in contents)
    while left and left[0] * len(left) <= room:
        room -= left.pop(0)
    return min(most, max(SHORTEST_PASSAGE, room // len(left))) if left else most


def _at_most(content: str, most: int) -> int:
    """What a note costs, as far as that matters."""
    return most if len(content) > most * _NEVER_MORE else min(most, most_tokens(content))


LONGEST_SENTENCE = 300  # that is shown whole


def sentence_in(content: str, sentence: str, most: int) -> str:
    """As much of a text as is shown: all of it if it is short, else the sentence that matters with what follows."""
    text = " ".join(content.split())
    if len(text) <= most:
        return text
    wanted = " ".join(sentence.split())
    start = max(text.find(wanted), 0)
    most = max(most, min(len(wanted), LONGEST_SENTENCE))
    return ("… " if start else "") + cut_at_word(text[start:], most)


def cut_at_word(content: str, most: int) -> str:
    """The beginning of a text, cut at a word."""
    if len(content) <= most:
        return content
    head = content[:most]
    cut = head.rfind(" ")
    return f"{head[:cut] if cut > most // 2 else head} …"
