"""What of that which was found speaks against itself: it lacks what is asked for, or tells it of something else.

`holdfast.model.doubts` reads one note beside a question; here notes are seen beside each other. None is left out for
that: it is less relevant, and says why. Hooks do the same without a server: nothing of the index is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import fmean
from types import MappingProxyType
from typing import Final

from holdfast.encode.wordpiece import is_common
from holdfast.errors import EncoderError
from holdfast.model.claims import Claim, claim
from holdfast.model.doubts import Doubt, Sought, against
from holdfast.model.identifiers import GERMAN, TIMES, identifiers_of, shows_another_language, units_of
from holdfast.model.intent import Intent, begins_with_a_relative, names_told, speaks_of_the_user, tells_trait
from holdfast.model.note import GLOBAL_SPACE, Note, said_at, title_of
from holdfast.model.passages import passage
from holdfast.model.ranking import (
    DOUBTED,
    FLOOR,
    WEAK,
    Found,
    Question,
    RankCandidate,
    Ranked,
    doubted,
    levelled,
    with_odds,
)
from holdfast.model.statement import stem
from holdfast.model.when import spans
from holdfast.model.when.questions import TimeReading
from holdfast.model.words import STOP_WORDS, folded, inside, query_terms, regex, written_as_names

OF_SOMETHING_ELSE: Final = Doubt(0.1, "of something else")
OF_ANOTHER: Final = Doubt(0.1, "of another project")
NEARLY_AS_RELEVANT: Final = 0.85
_SURE_ALONE: Final = 0.95  # the relevance, before `careful`, from which other phrasings say nothing against a note
KEPT_WITHIN: Final = 5  # places
INHERITED = 0.95  # of the relevance of a replaced note goes to the one that replaced it
MAY_NOT_ANSWER: Final = "it may not say that"
MOST_READ: Final = 3  # notes, with the question
_READ_FROM, _READ_TO, _READ_TOKENS = 0.3, 0.99, 44  # relevances of what is read with the question; of a note
_SUREST_BY_READING = 0.97  # a relevance: not far above it others are left out beside a hit
# What reading tells counts from `_SAYS_SO` on for or against an answer, so much, in log odds; and what a note shares
# of the question's words, 0 to 1, against it: near a question they tell little (docs/measured-history.md).
_READ_FOR, _READ_AGAINST, _READ_WORDS, _READ_USUAL = 0.3, 0.9, 1.0, 0.2
_SAYS_SO = -1.0  # log odds, from which on a note says what is asked for, and need not be read in other words
_ABOUT_AS_SURELY, _FAR_LESS_SURELY = 2.0, 3.0  # log odds, by which one note says less of it than another
SAYS_NOTHING_OF_IT, MOST_UNTOLD = (0.1, "it says nothing of that"), 2  # notes that alone say what is asked
_ASKS_FOR_OTHERS = regex(  # of which the answer is another name
    r"\b(?:else|others?|besides|except|apart from|instead of|compared?|than|ausser|andere[rsnm]?|als|otr[oa]s?|autres?"
    r"|altr[io])\b"
)
_ASKS_WHO = regex(r"\W*(?:and )?(?:who|whom|whose|wer|wem|wen|wessen|qui|quien|quienes|chi|quem)\b")
_OWNER_FIRST = regex(r"\W*([^\W\d_]{2,})['\u2019]s\b")  # "Ida's shoe size"
_WORDS, _HYPHENED = regex(r"[^\W\d_]+"), regex(r"[\w-]+")
_PASSING = regex(  # of which a fact of somebody is soon none
    r"\b(?:this (?:week|month|morning)|today|right now|at the moment|diese[nr] (?:Woche|Monat)|cette semaine|"
    r"en ce moment|esta semana)\b|\AI(?:'| a)m (?:going|ordering|buying|switching|waiting)\b"
)
_NTH = {nth: {word for word, place in spans.ORDINALS.items() if place + 1 == nth} for nth in (1, 2, 3)}


@dataclass(frozen=True, slots=True)
class Reading:
    """How a question is read with a note: in its own words, then in others; `answers` tells the log odds.

    `topic` are the words that name something. A note that alone, or nearly so, has all of them is what was looked for,
    whatever it says; where the question `asks` nothing by its form, so is any that has them. `failures` are sentences
    that say why it could not be read: then it is as if nothing were.
    """

    questions: tuple[str, ...]
    answers: Callable[[str, str], float]
    topic: frozenset[str] = frozenset()
    asks: bool = True
    failures: list[str] = field(default_factory=list)

    def told(self, text: str) -> float | None:
        """The log odds that a note answers the question, in the first of its words that say so; None where it failed.

        What was said in other words speaks against nothing.
        """
        told = -math.inf
        try:
            for question in self.questions:
                told = told if told >= _SAYS_SO else max(told, self.answers(question, text))
        except EncoderError as error:
            self.failures.append(error.sentence)
            return None
        return told

    @property
    def identifiers(self) -> frozenset[str]:
        """Which tell by themselves."""
        return frozenset(identifiers_of(self.questions[0]))


def worth_reading(ranked: Sequence[Ranked], asked: Sought | None) -> Iterator[str]:
    """The ids of those that may be strong: what is doubted of the others changes nothing that is told."""
    least = WEAK if asked and asked.only_siblings else FLOOR
    return (item.candidate.id for item in ranked if item.relevance >= least)


def with_doubts(
    ranked: Sequence[Ranked], most: int, notes: Mapping[str, Note], asked: Sought | None, question: Question
) -> list[Ranked]:
    """The same, but less relevant what does not answer, and behind the rest what is of others.

    That is known of the notes that were read (`worth_reading`), which are among the first `most`.
    """
    found = {end: doubt for end, note in notes.items() if asked and (doubt := against(asked, note))}
    return all_doubted(ranked, found, question, of_others(question, ranked[:most], notes))


def first_read(ranked: list[Ranked], read: Reading | None, notes: Callable[[str], Sequence[Note]]) -> list[Ranked]:
    """The same, the odds of the first to be relevant multiplied by what reading it with the question tells.

    What becomes weak by that gives way to the strong ones behind it, the first of which is read then: in front of them
    it would be levelled with them. It is shown where there is room behind them, and says why.

    Args:
        ranked: best first.
        read: None where nothing can be read.
        notes: the note of an id.
    """
    if read is None or not ranked:
        return ranked
    rest, doubtful = list(ranked), list[Ranked]()
    while rest and len(doubtful) < MOST_READ and not (doubtful and rest[0].weak):
        judged = _judged(rest[0], read, notes)
        if rest[0].weak or not judged.weak:
            rest[0] = judged
            break
        doubtful.append(judged)
        rest.pop(0)
    if not doubtful:
        return rest
    behind = sum(not item.weak for item in levelled(rest))
    least = min((item.score for item in rest[:behind]), default=math.inf)
    return [*rest[:behind], *(item._replace(score=min(item.score, least)) for item in doubtful), *rest[behind:]]


def doubted_last(ranked: Sequence[Ranked]) -> list[tuple[int, Ranked]]:
    """Each with its place; what is doubted is weak and behind all that is strong, also where it was levelled with that.

    A turn of a talk leaves out what was said before it, and what went ahead of an older note need not repeat that one:
    that these lack something says less.
    """
    unsure = {place for place, item in enumerate(ranked) if item.doubt and not item.weak and not _may_leave_out(item)}
    strong = [(place, item) for place, item in enumerate(ranked) if not item.weak and place not in unsure]
    if not strong:
        return list(enumerate(ranked))
    weak = [(place, item) for place, item in enumerate(ranked) if item.weak]
    most = max([DOUBTED, *(item.relevance for _, item in weak)])
    return [*strong, *((place, ranked[place]._replace(relevance=most)) for place in sorted(unsure)), *weak]


def _may_leave_out(item: Ranked) -> bool:
    return bool(item.candidate.session) or any(each.startswith("newer than ") for each in item.also)


def _judged(item: Ranked, read: Reading, notes: Callable[[str], Sequence[Note]]) -> Ranked:
    """A note read with the question, unless its relevance is far from the line, or doubt or an identifier decides."""
    is_open = _READ_FROM <= item.relevance <= _READ_TO and not item.doubt
    is_found = read.topic and read.topic.issubset(item.candidate.held if read.asks else item.candidate.matched)
    if not is_open or is_found or not read.identifiers.isdisjoint(item.candidate.held):
        return item
    texts = [_told_of(note, read.questions[0]) for note in notes(item.candidate.id)]
    if not texts or not _may_be_english(text := texts[0]):
        return item
    if (told := read.told(text)) is None:
        return item
    is_part = bool(item.candidate.session or item.candidate.long)  # a few words tell which one it is
    shared = 0.0 if is_part else min(max(item.candidate.coverage, 0.0), 1.0) - _READ_USUAL
    odds = (_READ_FOR if told > _SAYS_SO else _READ_AGAINST) * (told - _SAYS_SO) - _READ_WORDS * shared
    factor = math.exp(odds)
    factor = factor if read.asks else min(factor, 1.0)  # few words are soon answered
    worth = min(max(_SUREST_BY_READING, item.relevance), with_odds(item.relevance, factor))
    if factor >= 1.0:
        return item._replace(relevance=worth)
    doubt = MAY_NOT_ANSWER if worth < WEAK <= item.relevance else ""
    return item._replace(relevance=worth, share=item.share * factor, doubt=doubt)


class Told:
    """How surely notes say what is asked, as each is read with the question; nothing is known of what cannot be."""

    def __init__(self, read: Reading | None = None, notes: Mapping[str, Note] = MappingProxyType({})) -> None:
        self._read, self._notes, self._known = read, notes, dict[str, float]()

    def as_well(self, older: str, newer: str) -> bool:
        """Whether the newer of two says it, about as surely as the older."""
        return self._of(newer) > 0.0 and self._of(newer) > self._of(older) - _ABOUT_AS_SURELY

    def less(self, older: str, newer: str) -> bool:
        """Whether the older says it, and the newer does not."""
        return self._of(newer) < _SAYS_SO < self._of(older) and self._of(newer) < self._of(older) - _FAR_LESS_SURELY

    def _of(self, end: str) -> float:
        """The log odds that a note says it; NaN, neither more nor less than anything, where that is unknown."""
        if end not in self._known:
            text = _told_of(self._notes[end], self._read.questions[0]) if self._read and end in self._notes else ""
            odds = self._read.told(text) if self._read and text and _may_be_english(text) else None
            self._known[end] = math.nan if odds is None else odds
        return self._known[end]


def _may_be_english(text: str) -> bool:
    letters = [sign for sign in text if sign.isalpha()]
    return 2 * sum(map(str.isascii, letters)) > len(letters) and not shows_another_language(text)


def _told_of(note: Note, question: str) -> str:
    """What of a note is read with a question: its title and all of it, or what of a long one has most of the words."""
    text = note.content if note.title == title_of(note.content) else f"{note.title}: {note.content}"
    return passage(text, query_terms(question), _READ_TOKENS).text


def before_that(question: Question, time: TimeReading | None) -> Question:
    """A question for what was so before something, without the name of that: the answer has another one."""
    if time is None or not time.past or not time.event:
        return question
    left, terms = question.text.replace(time.event, ""), frozenset(query_terms(time.event))
    seldom, extraordinary = question.seldom - terms, question.extraordinary - terms
    return replace(question, text=left, seldom=seldom, extraordinary=extraordinary)


def placed_in(question: Question, found: Found) -> Question:
    """The question as asked from a space that it names: the name tells nothing of a note that is of it.

    It stays in the text where that asks for one other thing only, as in "people of tollgate", or is one with its name.
    """
    if not found.places:
        return question
    names = frozenset[str]().union(*found.places.values())
    rest = _HYPHENED.sub(lambda word: "" if {*query_terms(word.group())} <= names else word.group(), question.text)
    is_whole = found.rare.keys() <= {unit.label for unit in units_of(rest)}
    return replace(
        question,
        text=rest if is_whole and len(query_terms(rest)) > 1 else question.text,
        space=question.space if question.space in found.places else next(iter(found.places)),
        extraordinary=question.extraordinary - names,
        seldom=question.seldom - names,
    )


def told_by_then_first(best: list[Ranked], end: str, telling: Collection[str]) -> list[Ranked]:
    """First what was told by the end of the time asked about, and may have held then, or speaks of that time.

    What came later did not hold then. It stands behind what is nearly as relevant as the best.
    """
    least = NEARLY_AS_RELEVANT * max((item.relevance for item in best), default=0.0)
    is_of_then = [item.candidate.happened <= end or item.candidate.id in telling for item in best]
    held = [item for item, is_so in zip(best, is_of_then, strict=True) if is_so and item.relevance >= least]
    if not held:
        return best
    score, worth = min(item.score for item in held), min(item.relevance for item in held)
    others = (item for item in best if item not in held)
    return [
        *held,
        *(each._replace(score=min(each.score, score), relevance=min(each.relevance, worth)) for each in others),
    ]


def is_of_several(nth: int, strong: Sequence[Note]) -> bool:
    """Whether "the first rent" is that of several told one after another: where a note says "first", that answers."""
    return bool(nth and strong) and all(
        _NTH[nth].isdisjoint(_HYPHENED.findall(spans.lowered(each.content))) for each in strong
    )


def held_then(note: Note, question: Question) -> bool:
    """Whether it is no event, and another note took its place within the time asked about or later: then it held then.

    So it is of that time, whenever it was told.
    """
    if not question.past or question.after is None or note.type == "event" or note.superseded_by is None:
        return False
    return note.happened <= (question.before or "~") and (note.valid_until or "") > question.after


def of_another_place(ranked: Sequence[Ranked], places: Mapping[str, frozenset[str]]) -> list[Ranked]:
    """The same, less relevant where a question names a space: what is of another one, and does not name it either."""
    names = frozenset[str]().union(*places.values())

    def is_elsewhere(item: Ranked) -> bool:
        is_there = item.candidate.space in places or item.candidate.space == GLOBAL_SPACE
        return bool(places) and not is_there and names.isdisjoint(item.candidate.matched)

    here, elsewhere = list[Ranked](), list[Ranked]()
    for item in ranked:
        (elsewhere if is_elsewhere(item) else here).append(item)
    return _with_others(here, [doubted(item, OF_ANOTHER.share, OF_ANOTHER.why) for item in elsewhere])


def all_doubted(
    ranked: Sequence[Ranked], found: Mapping[str, Doubt], question: Question, others: Collection[str] = ()
) -> list[Ranked]:
    """Less relevant where a doubt was found, by id, or what is told is of something else; `others` behind the rest.

    Where a note has a name of the question and lacks the value that is asked for, one that has the value and no such
    name tells that of something else: "the rent is 1,150 euros", where Felix's is asked for. The same goes for a word
    that is none of the most used, where the note that has it stands before. A turn of a talk need not name anything,
    and no note what its space is called.
    What is seldom, or a name, is known of English. What is of others (`of_others`) is doubted as well.
    """
    within = inside(question.text)
    names = {term for name in written_as_names(within) for term in query_terms(name)}
    telling = frozenset[str]() if shows_another_language(within) else names | question.seldom | question.extraordinary
    lacking = [item for item in ranked if (doubt := found.get(item.candidate.id)) and doubt.lacks]
    missing = [names.intersection(_said_of(item.candidate)) for item in lacking] if telling else []
    judged, behind, unlikely = list[Ranked](), list[Ranked](), set[str]()
    for item in ranked:
        doubt, matched = found.get(item.candidate.id), telling.intersection(_said_of(item.candidate))
        if doubt is None and not item.candidate.session and any(each and each.isdisjoint(matched) for each in missing):
            doubt = OF_SOMETHING_ELSE
        elif doubt is not None and doubt.lacks:
            missing.append(set(matched))
        is_of_others = item.candidate.id in others
        doubt = doubt or (OF_SOMETHING_ELSE if is_of_others else None)
        (behind if is_of_others else judged).append(doubted(item, doubt.share, doubt.why) if doubt else item)
        unlikely |= (
            {item.candidate.id} if doubt and doubt.share <= OF_SOMETHING_ELSE.share and not doubt.lacks else set()
        )
    return _behind_firm(_with_others(judged, behind), unlikely)


def _behind_firm(ranked: Sequence[Ranked], unlikely: Collection[str]) -> list[Ranked]:
    """In order, but what tells of another behind the first strong one that does not, and has all of its words."""
    firm = next((item for item in ranked if item.relevance >= WEAK and item.candidate.id not in unlikely), None)
    if firm is None:
        return list(ranked)
    late = {item.candidate.id for item in ranked if item.candidate.id in unlikely and firm.has_the_words_of(item)}
    rest = [item for item in ranked if item.candidate.id not in late]
    moved = [item._replace(score=min(item.score, firm.score)) for item in ranked if item.candidate.id in late]
    return sorted((*rest, *moved), key=lambda item: -item.score)


def _said_of(candidate: RankCandidate) -> frozenset[str]:
    """The words of a question that a note has, or the project that it is of."""
    return frozenset(candidate.matched).union(query_terms(_project(candidate.space)))


def _project(space: str) -> str:
    """Its name; none of what belongs to all of them."""
    return "" if space == GLOBAL_SPACE else space


def _with_others(ranked: Sequence[Ranked], others: Sequence[Ranked]) -> list[Ranked]:
    """In order of their scores, but what is of others behind the first that is not."""
    best = ranked[0].score if ranked else math.inf
    late = [item._replace(score=min(item.score, best)) for item in others]
    return sorted((*ranked, *late), key=lambda item: -item.score)


def of_others(question: Question, ranked: Collection[Ranked], notes: Mapping[str, Note]) -> frozenset[str]:
    """Those of the notes that are about another than the question names, if some note has that name.

    What a note is about is the name that it begins with (`holdfast.model.claims.Claim.named`), or which of its like
    ("the orders database"), where a strong one is about the one that is asked for; a long one speaks of many. A
    question names what it writes as a name; else, unless it asks who, what a note is so named by, in any spelling. A
    note need not say what its space is called. Of a question who else does something the answer is another name.
    """
    plain = folded(question.text)
    if _ASKS_FOR_OTHERS.search(plain):
        return frozenset()
    asked = _stems(question.text)
    claims = {end: claim(note.content) for end, note in notes.items()}
    about = {end: said.named for end, said in claims.items() if said.named}
    named = _names_known(question, ranked)
    if not named and not _ASKS_WHO.match(plain):  # then only what is surely a name
        about = {end: name for end, name in about.items() if not is_common(claims[end].head[0].text)}
        named = asked.intersection(about.values())
    strong = [claims[end] for item in ranked if not item.weak and (end := item.candidate.id) in claims]
    like = {said.which for said in strong if said.which and said.which[0] in asked}

    told = {item.candidate.id: _stems(" ".join(item.candidate.matched)) for item in ranked if item.candidate.long}

    def is_another(end: str, said: Claim) -> bool:
        stems = said.stems | told.get(end, frozenset()) | _stems(_project(notes[end].space))
        if named and named.isdisjoint(stems) and (about.get(end, "") not in {"", *asked} or _has_owner(said, asked)):
            return True
        which, thing = said.which or ("", "")
        return which not in asked and any(thing == its and mine not in stems for mine, its in like)

    return frozenset(end for end, said in claims.items() if not notes[end].session and is_another(end, said))


def _has_owner(said: Claim, asked: Collection[str]) -> bool:
    """Whether it tells of what is asked for, but of another's: of the licence of Marigold, where that of Anchor is."""
    subject = [term for term in said.head if term.subject]
    of_whom = {term.stem for term in subject[1:] if term.kind == "name"}
    return bool(of_whom) and of_whom.isdisjoint(asked) and any(term.stem in asked for term in subject)


@lru_cache(256)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, query_terms(text)))


def names_in(question: Question) -> frozenset[str]:
    """The words of a question that name one thing, where it asks for nothing else: for that thing, whatever is told.

    Of an English one, which is read by its meaning, all words are to be strange, or written as names.
    """
    terms = frozenset(query_terms(question.text))
    within = inside(question.text)
    written = () if _writes_nouns_so(within) else written_as_names(within)
    names = frozenset(term for name in written for term in query_terms(name))
    if not shows_another_language(within):
        names |= question.extraordinary
        return names if terms <= names else frozenset()
    return names or (terms if len(terms) == 1 else frozenset())


def _writes_nouns_so(text: str) -> bool:
    return not GERMAN.isdisjoint(map(folded, _WORDS.findall(text)))


def _names_known(question: Question, ranked: Iterable[Ranked]) -> frozenset[str]:
    """The stems of what a question writes as names, of those that a note has; none where nouns are written so too."""
    within, first = inside(question.text), _OWNER_FIRST.match(question.text)
    if _writes_nouns_so(within):
        return frozenset()
    words = [*_WORDS.findall(within), *(first.groups() if first else ())]
    written = {folded(word) for word in words if word[0].isupper() and not word.isupper()} - TIMES - STOP_WORDS
    names = {term for name in written for term in query_terms(name)}
    known = {term for item in ranked for term in names.intersection(item.candidate.matched)}
    return frozenset(map(stem, known))


def place_among_own(note: Note) -> int:
    """First who somebody is, then what is a fact of them, then all else; what they prefer and what passes last."""
    names_them = bool(names_told(note.content))
    is_of_them = note.about_self or names_them
    if is_of_them and (note.type == "person" or (note.about_self and names_them)):
        return 0
    if note.type == "preference":
        return 3
    if _PASSING.search(note.content):
        return 4
    return 1 if is_of_them and note.type == "fact" else 2


def bare(note: Note) -> RankCandidate:
    """A note that no leg found."""
    return RankCandidate(
        rowid=0,
        id=note.id,
        space=note.space,
        session=note.session,
        subject=note.subject,
        tier=note.tier,
        confidence=note.confidence,
        outdated=note.is_outdated,
        superseded_by=note.superseded_by,
        created=note.created,
        happened=note.happened,
        long=False,
        coverage=0.0,
        z=None,
        session_z=None,
    )


def with_meaning(found: Found, ranked: list[Ranked]) -> list[Ranked]:
    """The same, but where no rare word of the question stands in any note, words push nothing out of the first five.

    Words that many notes have tell little of which one answers. What comes first by all else is the fifth at the least.
    """
    if found.rare:
        return ranked
    best = max(ranked, key=lambda item: item.score - (item.terms.words if item.terms else 0.0), default=None)
    if best is None or any(item is best for item in ranked[:KEPT_WITHIN]):
        return ranked
    above, below = ranked[: KEPT_WITHIN - 1], ranked[KEPT_WITHIN - 1 :]
    return [*above, best._replace(score=below[0].score), *(item for item in below if item is not best)]


def averaged(first: Sequence[Ranked], others: Sequence[Sequence[Ranked]], *, by_name: bool = False) -> list[Ranked]:
    """All that any phrasing found, with the mean of its scores and of its relevances, best first.

    With `by_name` the last asks for nothing but a name, in another language: what it does not find is left out, and
    what is relevant to one of them is.

    Where a phrasing did not find a note, it counts there like the last that was found, and as of no relevance. What is
    nearly sure by `first`, the question itself, or has rare words of it, keeps at least its relevance there: a phrasing
    that leaves names out, or misses, says nothing against it.
    """
    if not others:
        return list(first)
    lists = [first, *others]
    scores = [{item.candidate.id: item for item in each} for each in lists]
    lowest = [min((item.score for item in each), default=0.0) for each in lists]
    items = {item.candidate.id: item for each in reversed(lists) for item in each}
    items = {end: items[end] for end in scores[-1]} if by_name else items
    found = []
    for note_id, item in items.items():
        score = fmean(
            by_id[note_id].score if note_id in by_id else last for by_id, last in zip(scores, lowest, strict=True)
        )
        worths = [by_id[note_id].relevance if note_id in by_id else 0.0 for by_id in scores]
        worth = max(worths) if by_name else fmean(worths)
        own = scores[0].get(note_id)
        if own is not None and (own.relevance >= _SURE_ALONE or (own.terms is not None and own.terms.rare)):
            worth = max(worth, own.relevance)
        found.append(item._replace(score=score, relevance=worth))
    found.sort(key=lambda item: item.candidate.id)
    found.sort(key=lambda item: (item.score, item.candidate.created), reverse=True)
    return found


def inheriting(successor: Ranked, item: Ranked) -> Ranked:
    """Worth what the replaced note is, a little less, where that is more than it is worth by itself."""
    worth = INHERITED * item.relevance
    if item.score <= successor.score and worth <= successor.relevance:
        return successor
    also = (*successor.also, f"replaces {item.candidate.id} ({item.why})")
    successor = successor._replace(score=max(item.score, successor.score), also=also)
    return successor if worth <= successor.relevance else successor._replace(relevance=worth, share=1.0, doubt="")


def beside_the_point(successor: Ranked, item: Ranked) -> Ranked:
    """What replaced a note that alone says what is asked: worth no more for that than to be shown with it."""
    untold = (*successor.untold, item.candidate.id)[:MOST_UNTOLD]
    heir = doubted(inheriting(successor, item), *SAYS_NOTHING_OF_IT)
    own = successor if heir.relevance <= successor.relevance else heir
    return own._replace(score=max(item.score, successor.score), untold=untold)


@dataclass(frozen=True, slots=True)
class Singled:
    """A list that is asked for one thing of the user: those `beside` do not tell it, `strangers` are of somebody else.

    `lacking` and `others` are said of it, before and behind: that none tells it, and that it has such strangers.
    """

    ids: tuple[str, ...]
    beside: frozenset[str]
    strangers: frozenset[str]
    lacking: str = ""
    others: str = ""


def singled(
    notes: Mapping[str, Note], intent: Intent, ids: Sequence[str], found: Collection[str], strong: Collection[str]
) -> Singled:
    """The list with what somebody else has of it last; `found` are those of its notes that only its words found."""
    if intent.trait:
        told = {
            end for end, note in notes.items() if tells_trait(intent.trait, note.content, is_marked=note.about_self)
        }
        if not told:  # what is marked, and fits well, may tell it in other words
            told = {end for end in strong if end in notes and notes[end].about_self}
            told = {end for end in told if not begins_with_a_relative(notes[end].content)}
        strangers = frozenset(found) - told
        latest = sorted(ids, key=lambda end: said_at(notes[end]) if end in told else "", reverse=True)
        ordered = sorted(latest, key=lambda end: (end not in told, end in strangers))
        others = ", and what is like it" if strangers and not told else ""
        return Singled(tuple(ordered), frozenset(ids) - told, strangers, "" if told else "none tells it; ", others)
    strangers = frozenset(end for end in found if end in notes and not speaks_of_the_user(notes[end].content))
    answers = frozenset(strong) - strangers
    beside = frozenset(ids) - answers if not answers.isdisjoint(ids) else strangers
    return Singled(tuple(sorted(ids, key=lambda end: end in strangers)), beside, strangers)
