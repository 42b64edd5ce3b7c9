"""Whether two notes contradict each other, as far as words can tell. Nothing here decides: a model is asked.

Two texts are opposite by OMI's five pairs: should always / should never, works well / doesn't work, causes / prevents,
increases / decreases, enables / blocks. Whole words count, in any inflection. "Does not prevent" opposes "prevents" but
is not yet "causes". Clauses are compared, not whole texts, and only where they speak of the same: they share more than
half of what the shorter says (two words where the texts are known to be close), and some of what is increased, blocked
and so on.

Two notes differ by the two sentences that share the most, before the background of both notes:

* in a value: each has a number, a day or a measure of time that the other note lacks,
* in a denial: one denies or ends what the other states,
* in opposites: upper and lower, and OMI's pairs,
* in a name: each has a name that the other note lacks.

Two identifiers that differ, as error codes do, name two matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Literal, NamedTuple, TypeAlias

from holdfast.model.claims import Claim, Term, claim, say_the_same
from holdfast.model.note import Note, in_time, may_be_versions
from holdfast.model.numbers import DAYS, NUMBER_WORDS, SCALES
from holdfast.model.statement import DENIALS, clauses, unpointed, without_reasons
from holdfast.model.values import in_one_wording, spelled_as, unshortened
from holdfast.model.versions import FOLDED, LED, judged, likelihood
from holdfast.model.words import SIGNS, STOP_WORDS, folded, regex, typewritten

Pair: TypeAlias = tuple[str, str]  # ids of an older note and a newer one
LONGEST, MOST_CLAUSES = 4000, 40  # characters and clauses of a text that are looked at
LEAST_SHARED, SHARED_WHERE_CLOSE = 0.5, 2
CLOSE_Z = 3.4  # deviations above the background: as near as notes that are linked on their own
_LEAST_FRAME, _MOST_PLACE = 3, 4  # words: of what two texts have in common, and in the one place where they differ
_FIRST_CLAUSE, _FRAME_WORD = regex(r"[,;.!?](?:\s|\Z)|\n"), regex(r"[\w'&+:.%-]*\w[%]?")
_NOW = frozenset("now jetzt nun ahora ya desormais maintenant ora currently".split())  # noqa: SIM905
_REACH = 3  # a negation is looked for in so many words before
_CLAUSES = regex(r"[.!?;:\n]+|\b(?:but|whereas|while|although|though|however)\b")
_WORD = regex(r"[^\W_](?:[\w-]*[^\W_])?")
_NEGATIONS = frozenset({"not", "never", "hardly", "rarely", "seldom", "without", "nor", "fail", "fails", "failed"})
_DUTIES = frozenset({"should", "must", "shall"})
_WELL = frozenset({"well", "fine", "great", "reliably", "perfectly", "flawlessly", "properly", "correctly"})
_WORKS = frozenset({"work", "works", "worked", "working"})
_PAIRS = (
    "should always vs should never", "works well vs doesn't work", "causes vs prevents", "increases vs decreases",
    "enables vs blocks",
)  # fmt: skip
_VERBS = {
    stem + ending: (name, side)
    for name, side, stem, endings in (
        (_PAIRS[2], 1, "caus", "e es ed ing"),
        (_PAIRS[2], -1, "prevent", " s ed ing"),
        (_PAIRS[3], 1, "increas", "e es ed ing"),
        (_PAIRS[3], -1, "decreas", "e es ed ing"),
        (_PAIRS[4], 1, "enabl", "e es ed ing"),
        (_PAIRS[4], -1, "block", " s ed ing"),
    )
    for ending in endings.split(" ")
}
_SIDES = regex("always|never|should|must|shall|work|caus|prevent|increas|decreas|enabl|block")  # of whatever word
_SAYS_NOTHING = STOP_WORDS | _NEGATIONS | _DUTIES | _WELL | _WORKS | {"always", "longer", "very", "use", "using"}
_ENDINGS = regex(r"(?<=\w{3})(?:ing|ied|ies|ed|es|s|e|y)\Z")


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two notes that contradict each other, and how that was seen."""

    memory_id_1: str
    memory_id_2: str
    pattern: str


@dataclass(frozen=True, slots=True)
class _Stance:
    """What one clause says of one pair: its side (1 or -1), denied or not, of what and with which object."""

    pair: str
    side: int
    denied: bool
    about: frozenset[str]
    of: frozenset[str]


def takes_sides(text: str) -> bool:
    """Whether a text takes a side of any pair: without that it contradicts nothing."""
    return bool(_stances(text[:LONGEST]))


def opposition(one: str, other: str, *, close: bool = False) -> str | None:
    """The pair of opposites by which two texts contradict each other; None where they do not.

    Symmetric; a text never contradicts itself. `close` says that their vectors are near.
    """
    one, other = one[:LONGEST], other[:LONGEST]
    ours, theirs = _stances(one), _stances(other)
    if not {mine.pair for mine in ours} & {its.pair for its in theirs} or _words(one) == _words(other):
        return None
    found = {mine.pair for mine in ours for its in theirs if _opposed(mine, its, close=close)}
    return next((pair for pair in _PAIRS if pair in found), None)


def _opposed(one: _Stance, other: _Stance, *, close: bool) -> bool:
    if one.pair != other.pair or not _clash(one, other):
        return False
    if one.of and other.of and not one.of & other.of:
        return False
    shared, least = len(one.about & other.about), min(len(one.about), len(other.about))
    return shared > LEAST_SHARED * least or (close and shared >= SHARED_WHERE_CLOSE)


def _clash(one: _Stance, other: _Stance) -> bool:
    """Opposite sides, both affirmed; or one side, affirmed and denied."""
    if one.side == other.side:
        return one.denied != other.denied
    return not one.denied and not other.denied


@lru_cache(512)  # one text is compared with many
def _stances(text: str) -> tuple[_Stance, ...]:
    plain = _spelled_out(text)
    return tuple(_stances_of(plain)) if _SIDES.search(plain) else ()


def _stances_of(plain: str) -> Iterator[_Stance]:
    subject: frozenset[str] = frozenset()
    for clause in _CLAUSES.split(plain)[:MOST_CLAUSES]:
        words = _WORD.findall(clause)
        marks = {pair: (place, side, denied) for place, pair, side, denied in reversed(list(_marks(words)))}
        for pair, (place, side, denied) in marks.items():
            before, after = _telling(words[:place]), _telling(words[place + 1 :])
            passive = words[place + 1 : place + 2] == ["by"]
            yield _Stance(pair, side, denied, (before or subject) | after, before if passive else after)
        subject = _telling(words[: min((place for place, _, _ in marks.values()), default=len(words))]) or subject


def _marks(words: Sequence[str]) -> Iterator[tuple[int, str, int, bool]]:
    """Where a clause takes a side: place, pair, side, denied."""
    for place, word in enumerate(words):
        if word in _VERBS:
            yield place, *_VERBS[word], _denied(words, place)
        elif word in _WORKS:
            denied = _denied(words, place)
            if _WELL & set(words[place + 1 : place + 3]):
                yield place, _PAIRS[1], 1, denied
            elif denied:
                yield place, _PAIRS[1], -1, False
        elif word in _DUTIES:
            yield from _duty(words, place)
        elif word in ("always", "never") and place == 0:
            yield place, _PAIRS[0], 1 if word == "always" else -1, False


def _duty(words: Sequence[str], place: int) -> Iterator[tuple[int, str, int, bool]]:
    """Should always, should never, should not."""
    near = [*words[max(0, place - 1) : place], *words[place + 1 : place + 3]]
    denied = "not" in near
    if "always" in near:
        yield place, _PAIRS[0], 1, denied
    elif "never" in near or denied:
        yield place, _PAIRS[0], -1, False


def _denied(words: Sequence[str], place: int) -> bool:
    """Whether an odd number of negations stands shortly before; "not only" is none, "no longer" is one."""
    start = max(0, place - _REACH)
    window = words[start : place + 1]
    plain = [word in _NEGATIONS and following not in ("only", "just") for word, following in pairwise(window)]
    gone = [(word, following) == ("no", "longer") for word, following in pairwise(window)]
    return (sum(plain) + sum(gone)) % 2 == 1


def _telling(words: Sequence[str]) -> frozenset[str]:
    """What a part of a clause is about: its words without those that only build the sentence, by their stems."""
    return frozenset(_ENDINGS.sub("", word) for word in words if word not in _SAYS_NOTHING and word not in _VERBS)


def _words(text: str) -> list[str]:
    return _WORD.findall(_spelled_out(text))


def _spelled_out(text: str) -> str:
    """Folded, with "don't" as "do not"."""
    plain = typewritten(text).replace("cannot", "can not")
    return plain.replace("can't", "can not").replace("won't", "will not").replace("n't", " not")


Difference = Literal["value", "denial", "opposites", "name", "none"]

LONGEST_NOTE, MOST_SENTENCES = 4000, 24  # characters and sentences of a note that are looked at
ALIGNED = 0.5  # what two sentences share that are about the same, beside the two that share the most
LEAST_TELLING = 4  # words in a sentence of average weight: shorter ones are not sure to be about the same
LONG = 400  # characters of a note, of which more is said than can be read beside another one
LIKELY_IN_PART, _OF_SENTENCES = 0.3, 0.75  # of sentences that a question is about: one fact; their usual cosine
LIKELY_IN_BOTH = 0.7  # where both notes are long: each says much, and something of it is alike by chance
_OF_ONE_SENTENCE = 0.5  # the same of one out of a long note: by this one in ten that are held for one fact are not
_ENDS = regex(r"(?<=[.!?;])(?!(?<=\b[Nn]o\.)\s+\d)\s+|(?<=[\u3002\uff01\uff1f])\s*|\n+")
_TOKEN = regex(rf"[^\W_][\w{SIGNS}.,:/@*%-]*[\w{SIGNS}%*]|[^\W_]%?")
_VALUE = regex(r"v?(\d+(?:[.,:]\d+)*)(?:%|[a-z]{1,3})?\Z")
_PART = regex(rf"(?:[^\W_]|[{SIGNS}])+")
VALUE_ENDINGS = regex(r"(?<=\w{3})(?:ations?|ings?|ments?|ied|ies|ed|es|s|e|y|ly)\Z")
_NUMBERS = {word: str(number) for word, number in (NUMBER_WORDS | SCALES).items()} | {
    "once": "1", "twice": "2", "single": "1", "double": "2", "both": "2",
}  # fmt: skip
for _no_number in ("cents", "null"):  # in most notes coins, and what code returns
    del _NUMBERS[_no_number]
_TIMES = frozenset(
    """spring summer autumn winter hourly daily nightly weekly monthly quarterly yearly annually second seconds minute
    minutes hour hours day days night nights week weeks month months year years""".split()  # noqa: SIM905
)
DENYING = DENIALS | {"nobody", "nothing", "neither", "nor", "gone", "nichts", "jamas"}
_OPPOSITES = (
    "upper lower|leading trailing|on off|open closed|opens closes|single double|allowed forbidden|allow forbid|"
    "enabled disabled|manual automatic|manually automatically|public private|internal external|"
    "ascending descending|likes dislikes|like dislikes|loves dislikes|accepts refuses|accepted refused|"
    "synchronous asynchronous|required optional|always never|left right|hot cold|light dark|tabs spaces|"
    "start end|starts ends|minimum maximum|local remote|true false"
)
_OPPOSITE: dict[str, frozenset[str]] = {}
for _one, _other in (pair.split() for pair in _OPPOSITES.split("|")):
    _OPPOSITE[_one] = _OPPOSITE.get(_one, frozenset()) | {_other}
    _OPPOSITE[_other] = _OPPOSITE.get(_other, frozenset()) | {_one}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and what it tells: the words of its matter by their stems, values, names, and whether it denies."""

    text: str
    telling: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]

    @property
    def denies(self) -> bool:
        """Not so "no ... without", which states it."""
        denied = self.words & DENYING
        return bool(denied) and not (len(denied) > 1 and "without" in denied)


@dataclass(frozen=True, slots=True)
class ReadNote:
    """A note as it is compared: its sentences, and what all of it tells, with the title."""

    sentences: tuple[Sentence, ...]
    telling: frozenset[str]
    values: frozenset[str]
    denies: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`shared` is how much of the shorter sentence's matter the other note speaks of, in 0..1; then its sentences."""

    shared: float
    difference: Difference
    passages: tuple[str, str]


def compared(one: Note, other: Note) -> Comparison:
    """Compare two notes; symmetric but for the order of the passages."""
    return _compared(one.title, one.content[:LONGEST_NOTE], other.title, other.content[:LONGEST_NOTE])


@lru_cache(2048)  # the calls of a run look at the same pairs
def _compared(title: str, content: str, its_title: str, its_content: str) -> Comparison:
    mine, its = _in_one_wording("", title, content), _in_one_wording(content, its_title, its_content)
    pairs = in_order(mine, its)
    best = pairs[0][0]
    for shared, i, j in matched(pairs):
        a, b = mine.sentences[-i], its.sentences[-j]
        if shared >= best or shared >= ALIGNED or a.telling == b.telling:
            difference = _difference(a, b, mine, its)
            if difference != "none":
                return Comparison(best, difference, (a.text, b.text))
    a, b = mine.sentences[-pairs[0][1]], its.sentences[-pairs[0][2]]
    return Comparison(best, "none", (a.text, b.text))


def in_order(mine: ReadNote, its: ReadNote) -> list[tuple[float, int, int]]:
    """How much every two sentences share, with their places as negative numbers; the likest first."""
    shared = (
        (_alike(a, b, mine.telling, its.telling), -i, -j)
        for i, a in enumerate(mine.sentences)
        for j, b in enumerate(its.sentences)
    )
    return sorted(shared, reverse=True)


def one_fact(other: Note, note: Note, likeness: float | None) -> float:
    """How likely a new note and another tell one fact; also where it is of a time before the other was stored."""
    if not may_be_versions(other, note):
        return 0.0
    older, newer = in_time(other, note)
    found = likelihood(older.content, newer.content, likeness)
    return max(found, likelihood(other.content, note.content, likeness)) if newer is other else found


@lru_cache(4096)
def differ_in_one_place(older: str, newer: str) -> bool:
    """Whether both begin alike and end in other words: "The router stands in the hallway", "… in the study".

    The last word may be the same; what follows a comma, and words for now, do not count.
    """
    one, other = (_said_first(text[:LONGEST]) for text in (older, newer))
    same = _same_words(one, other)
    end = int(one[same:] != other[same:] and one[-1:] == other[-1:])
    places = [len(each) - same - end for each in (one, other)]
    return same + end >= _LEAST_FRAME and same > 1 and all(0 < place <= _MOST_PLACE for place in places)


def _same_words(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with; none where one goes on where the other ends."""
    return next((at for at, (mine, its) in enumerate(zip(one, other, strict=False)) if mine != its), 0)


def _said_first(text: str) -> list[str]:
    first = _FIRST_CLAUSE.split(folded(text).strip(), maxsplit=1)[0]
    return [word for word in _FRAME_WORD.findall(first) if word not in _NOW]


def of_one_frame(
    likely: Mapping[Pair, float], texts: Mapping[str, str], sure: float, unclear: Collection[Pair]
) -> dict[Pair, float]:
    """Pairs as likely as a sure one of either, if all begin alike: "CI runs on …", none `unclear` (newer first)."""
    told = {pair: [texts[end] for end in pair] for pair in likely if pair[::-1] not in unclear}
    frames = {pair: _same_words(*map(_said_first, both)) for pair, both in told.items() if differ_in_one_place(*both)}
    known = [pair for pair in frames if likely[pair] >= sure]
    found: dict[Pair, float] = {}
    for pair in frames if known else ():
        of_it = [likely[each] for each in known if set(each) & set(pair) and frames[each] <= frames[pair]]
        found |= {pair: max(of_it)} if of_it and likely[pair] < sure else {}
    return found


def one_each(likely: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """The same, but a note stands for no more than one fact, and gives way to no more than one.

    Of several older notes a newer one is a version of the likeliest, and of those that are versions of that one; the
    others are held for less than sure. So with several newer ones.
    """
    kept = dict(likely)
    for side in (1, 0):
        groups: dict[str, list[tuple[str, str]]] = {}
        for pair in sorted(likely, key=lambda pair: (-likely[pair], pair)):
            if likely[pair] >= FOLDED:
                groups.setdefault(pair[side], []).append(pair)
        for pairs in groups.values():
            best = pairs[0][1 - side]
            for pair in pairs[1:]:
                tie = max(likely.get((best, pair[1 - side]), 0.0), likely.get((pair[1 - side], best), 0.0))
                if tie < FOLDED and likely[pair] < 1.0:
                    kept[pair] = min(kept[pair], LED)
    return kept


def told_anew_in_part(notes: Sequence[Note], asked: str, tied: Collection[frozenset[str]]) -> list[tuple[str, str]]:
    """Of notes in time pairs with a long one, the older's id first: what they say of a question is one fact, told anew.

    Of `tied` ones it is known how they belong together.
    """
    long = {note.id for note in notes if asked and len(note.content) > LONG}
    pairs = (pair for pair in combinations(notes if long else (), 2) if not long.isdisjoint(note.id for note in pair))
    free = (in_time(*pair) for pair in pairs if may_be_versions(*pair) and frozenset(e.id for e in pair) not in tied)
    return [(older.id, newer.id) for older, newer in free if _is_told_anew_in_part(older, newer, asked)]


def _is_told_anew_in_part(older: Note, newer: Note, asked: str) -> bool:
    """Whether what the older says of the question has another version in the newer, which has most of its words too."""
    one, other = (_asked_of(note.title, note.content[:LONGEST_NOTE], words_asked(asked)) for note in (older, newer))
    wanted = one.telling & words_asked(asked)
    if 2 * len(wanted & other.telling) <= len(wanted):
        return False
    said = one.text if len(older.content) > LONG else older.content
    anew = other.text if len(newer.content) > LONG else newer.content
    is_long = min(len(older.content), len(newer.content)) > LONG
    least = LIKELY_IN_BOTH if is_long else LIKELY_IN_PART
    return judged(said, anew, _OF_SENTENCES).likely >= least and not say_the_same(said, anew)


@lru_cache(1024)  # the best hits of one question are compared with each other
def _asked_of(title: str, content: str, wanted: frozenset[str]) -> Sentence:
    """The sentence of a note that has most of the words asked for, seldom ones first."""
    sentences = read_note(title, content).sentences
    counts = Counter(word for item in sentences for word in item.telling & wanted)
    return max(sentences, key=lambda item: sum(1.0 / counts[word] for word in item.telling & wanted))


@lru_cache(16)
def words_asked(question: str) -> frozenset[str]:
    return sentence_of(question).telling


class ToRead(NamedTuple):
    """What of two notes is read together, the older first, and how near it is taken to be, as a cosine."""

    older: str
    newer: str
    likeness: float


def to_read(older: Note, newer: Note, likeness: float) -> ToRead:
    """All of two notes but reasons and sources; of a long one the sentence that is likest to the other.

    The cosine of all that a long note tells says little about one sentence. Values are spelled in one way.
    """
    texts = [older.content, newer.content]
    if max(map(len, texts)) > LONG:
        of, likeness = compared(older, newer).passages, _OF_ONE_SENTENCE
        texts = [sentence if len(text) > LONG else text for text, sentence in zip(texts, of, strict=True)]
    texts = [without_reasons(text) for text in texts]
    return ToRead(texts[0], spelled_as(*texts), likeness)


class Restated(NamedTuple):
    """A clause that states anew what another text states; `names_former`: what it was before is spoken of besides."""

    text: str
    names_former: bool


_RELATIVE = regex(r"(?:which|who|whose|that|where|qui|que|dont|was)\b", re.IGNORECASE)
_MOST_LEFT, _MOST_FRESH = 2, 3  # words in the place in which the two differ
_ONE_FORM = 0.5  # of all words around that place are the same


def restated(older: str, newer: str) -> Restated | None:
    """The clause of a text, not its first, that says what the older one says with other words in one place.

    "Meera changed teams. The billing service is owned by Joaquin, who ..." is about Meera first: read as a whole it
    says little of the service. None where there is no such clause.
    """
    texts = clauses(newer)
    claims = [claim(text) for text in texts]
    mine, found = claim(older), list[tuple[float, Restated]]()
    for text, its in zip(texts[1:], claims[1:], strict=True):
        others = frozenset[str]().union(*(each.stems for each in claims if each is not its))
        alike, left = _in_one_form(mine, its)
        is_own = not any(each.stem in claims[0].stems for each in mine.head if each.kind == "word" and its.holds(each))
        is_told = all(_is_value(each) or each.stem in others for each in left)
        if is_own and is_told and alike >= _ONE_FORM and not _RELATIVE.match(text):
            found.append((alike, Restated(text, any(each.stem in others for each in left if each.kind != "value"))))
    return max(found)[1] if found else None


def _is_value(term: Term) -> bool:
    """Whether another one may stand in its place: a value, or a name behind the verb."""
    return term.kind == "value" or (term.kind == "name" and not term.subject)


def _in_one_form(mine: Claim, its: Claim) -> tuple[float, list[Term]]:
    """How much two claims are written alike around the one place where they differ, in 0..1; and what is there.

    0 where they differ in more than that, share nothing, or speak of two things.
    """
    here, there = ([each for each in said.head if not each.generic] for said in (mine, its))
    left = [place for place, each in enumerate(here) if not _holds(its, each)]
    fresh = [place for place, each in enumerate(there) if not _holds(mine, each)]
    gone, come = [here[place] for place in left], [there[place] for place in fresh]
    kept = [each for each in here if each not in gone]
    if not (_is_one_place(left, _MOST_LEFT) and _is_one_place(fresh, _MOST_FRESH)):
        return 0.0, []
    sorts = [{each.sort for each in side if each.kind == "value"} for side in (gone, come)]
    who = left == [0] and fresh[0] == 0  # "Ferdinand keeps bees": a name too, though any word begins so
    is_another = any(each.subject and each.kind != "name" for each in gone) and not who
    is_another = is_another or bool(sorts[0] and sorts[0].isdisjoint(sorts[1]))
    if is_another or not kept:
        return 0.0, []
    words, others = (said.words - {each.text for each in apart} for said, apart in ((mine, gone), (its, come)))
    return len(words & others) / max(1, len(words | others)), gone


def _holds(said: Claim, term: Term) -> bool:
    return term.stem in said.stems if term.kind == "value" else said.holds(term)


def _is_one_place(places: Sequence[int], most: int) -> bool:
    return 0 < len(places) <= most and places[-1] - places[0] + 1 == len(places)


def matched(pairs: Sequence[tuple[float, int, int]]) -> Iterator[tuple[float, int, int]]:
    """Each sentence with the one that it shares the most with, the likest first."""
    left, right = set(), set()
    for shared, i, j in pairs:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
            yield shared, i, j


@lru_cache(1024)
def read_note(title: str, content: str) -> ReadNote:
    """A note's sentences, and what its title and they tell together."""
    return _reading(title, tuple(map(sentence_of, _parts(title, content))))


def read_as(one: str, title: str, content: str) -> ReadNote:
    """The same of a note, with its values as another text spells them."""
    if spelled_as(one, content) is content:
        return read_note(title, content)
    parts = _parts(title, content)
    return _reading(title, tuple(replace(sentence_of(spelled_as(one, part)), text=part) for part in parts))


@lru_cache(1024)
def _in_one_wording(one: str, title: str, content: str) -> ReadNote:
    """The same, with one word for what several say, and without reasons."""
    parts = ((part, in_one_wording(spelled_as(one, part))) for part in _parts(title, content))
    return _reading(title, tuple(replace(sentence_of(plain), text=part) for part, plain in parts))


def _parts(title: str, content: str) -> list[str]:
    return [part.strip() for part in _ENDS.split(unpointed(content)) if part.strip()][:MOST_SENTENCES] or [title]


def _reading(title: str, sentences: tuple[Sentence, ...]) -> ReadNote:
    return ReadNote(
        sentences,
        frozenset().union(sentence_of(title).telling, *(item.telling for item in sentences)),
        frozenset().union(*(item.values for item in sentences)),
        any(item.denies for item in sentences),
    )


def sentence_of(text: str) -> Sentence:
    telling, values, names, words = set(), set(), set(), set()
    for place, found in enumerate(_TOKEN.finditer(unshortened(text))):
        written = found.group()
        token = folded(written)
        day = token.removesuffix("'s").removesuffix("s")
        words.add(token)
        value = _VALUE.match(token)
        if value:
            values.add(value.group(1).lstrip("0").replace(",", ".") or "0")
        elif token in _NUMBERS:
            values.add(_NUMBERS[token])
        elif token in _TIMES or token in DAYS or day in DAYS:
            values.add(day if day in DAYS else VALUE_ENDINGS.sub("", token))
        elif token not in STOP_WORDS and token not in DENYING:
            stems = {VALUE_ENDINGS.sub("", part) for part in _PART.findall(token) if part not in STOP_WORDS}
            telling |= stems
            if _is_name(written, place):
                names |= stems
    return Sentence(text, frozenset(telling), frozenset(values), frozenset(names), frozenset(words))


def _is_name(written: str, place: int) -> bool:
    inner = written[1:]
    return (place > 0 and written[0].isupper()) or any(sign.isupper() or sign.isdecimal() for sign in inner)


def _alike(a: Sentence, b: Sentence, here: frozenset[str], there: frozenset[str]) -> float:
    """The share of the shorter sentence that the other's note speaks of; the sentences themselves count half."""
    less, more, background = (a, b, there) if len(a.telling) <= len(b.telling) else (b, a, here)
    if not less.telling:
        return 0.0
    size = max(len(less.telling), LEAST_TELLING)
    return (len(less.telling & more.telling) + len(less.telling & background)) / (2 * size)


def _difference(a: Sentence, b: Sentence, mine: ReadNote, its: ReadNote) -> Difference:
    if a.values - its.values and b.values - mine.values:
        return "value"
    if a.denies != b.denies and mine.denies != its.denies:
        return "denial"
    if opposite_words(a, b) or opposition(a.text, b.text, close=True):
        return "opposites"
    if (a.names - its.telling and b.names - mine.telling) or _name_two(a, b):
        return "name"
    return "none"


def _name_two(a: Sentence, b: Sentence) -> bool:
    """Whether they differ in nothing but the name that begins each: "Ines leads sales", "Tobias leads sales"."""
    first, second = _beginning(a.text), _beginning(b.text)
    left, fresh, shared = a.telling - b.telling, b.telling - a.telling, a.telling & b.telling
    return left == {first} and fresh == {second} and bool(shared)


def _beginning(text: str) -> str:
    """The first word by its stem, if it may be a name."""
    found = _TOKEN.search(text)
    word = found.group() if found else ""
    return VALUE_ENDINGS.sub("", folded(word)) if word[:1].isupper() else ""


def opposite_words(a: Sentence, b: Sentence) -> frozenset[str]:
    """The words of the first sentence that the second has the opposite of instead."""
    own = a.words & _OPPOSITE.keys() - b.words
    return frozenset(word for word in own if not _OPPOSITE[word].isdisjoint(b.words - a.words))
