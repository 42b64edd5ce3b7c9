"""What one note says that another does not: beside what the newer of two replaces, or what a merged one leaves out.

A note is seen in its sentences, and in parts of them where a newer one tells another part anew
(`holdfast.model.opposition` reads them). All is cut short: it is shown to an agent, who decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple

from holdfast.model.claims import ABOUT_OF, SAME_KIN, are_forms, claim
from holdfast.model.doubts import Sought, against
from holdfast.model.identifiers import GERMAN, has_ended, which_of
from holdfast.model.note import Note
from holdfast.model.numbers import DAYS, FIRST_TO_TWELFTH, NUMBER_WORDS
from holdfast.model.opposition import (
    ALIGNED,
    DENYING,
    LONGEST_NOTE,
    MOST_SENTENCES,
    VALUE_ENDINGS,
    ReadNote,
    Sentence,
    in_order,
    matched,
    opposite_words,
    read_as,
    read_note,
    sentence_of,
    words_asked,
)
from holdfast.model.ranking import Ranked
from holdfast.model.statement import (
    CHANGE_WORDS,
    COPULAS,
    GENERIC,
    TOKEN,
    UNSPACED,
    WHY,
    end_of_subject,
    stem,
    unpointed,
    without_reasons,
)
from holdfast.model.words import FRAME_WORDS, STOP_WORDS, any_of, folded, grammar_in, languages_of, regex, relatives

Lack = Literal["", "name", "value", "thing"]
NEAR_BY_MEANING = 1.5  # deviations, which what replaced a note without sharing a word with it mostly has
FEW_TELLING, LONGEST_ALONE = 2, 120  # words that another note has not; characters that are told of them
_ASIDE = regex(r",?\s(?:and|but|und|aber|y|pero|et|mais|ma|maar)\s|[;,]\s+|[()\u3002\uff0c\uff1b]\s*|(?<=[.!?])\s+|\n+")
_NUMBERED = regex(r"\b([^\W\d_]{3,})[ #]+(\d[\d.,:]*)")
_CLAUSE_ENDS = regex(r"[,;:]\s+|\s+[\u2013\u2014(]\s*|\)\s*|\s+(?:and|but|und|aber|y|pero|et|mais)\s+", re.IGNORECASE)


def left_untold(note: Note, newer: Note) -> tuple[int, str]:
    """How many sentences of a note tell what a newer one neither tells nor replaces, and the beginning of them.

    Replaced is of each sentence of the newer one the sentence that shares the most with it. What follows a semicolon is
    told too, and is no sentence.
    """
    mine, its = _beside(note, newer)
    replaced = _replaced(mine, its)
    left = [each for place, each in enumerate(mine.sentences) if place not in replaced and _tells_more(each, its)]
    told = _as_written([each.text for each in left], note.content)
    return len(left) - sum(f"; {text}" in note.content for text in told), _cut(told, note)


def asks_for_the_rest(asked: str, note: Note, newer: Note) -> bool | None:
    """Whether a question has words that a note says beside what a newer one, without them, replaces.

    None where the two share nothing, so that it may say the same in other words, or be of something else.
    """
    its = sentence_of(newer.content[:LONGEST_NOTE])
    parts = _parted(note.content[:LONGEST_NOTE], its)
    said = frozenset[str]().union(*(part.said.telling for part in parts))
    lost = (words_asked(asked) & said) - its.telling
    if lost and said.isdisjoint(its.telling):
        return None
    return any(part.numbers.keys() & lost if part.is_replaced else part.said.telling & lost for part in parts)


def tells_of_another(older: str, newer: str, lost: Collection[str]) -> bool:
    """Whether a newer text that lacks these words names another thing with them, and says of no change.

    As of "tyre pressure, minibuses" beside "tyre pressure, vans" the vans are lost.
    """
    named = {term.stem for term in claim(older).head if term.subject}
    return not (claim(newer).changed or named.isdisjoint(map(stem, lost)))


def says_it_alone(
    asked: str, wanted: Sought | None, notes: Mapping[str, Note], *, asks: bool
) -> Callable[[Ranked, Ranked], bool]:
    """Tells of a note and of what replaced it whether the former alone says what is asked, as far as that is known.

    It does where the newer one has nothing of the sort that is asked for, or nothing in the place of what the
    question's words stand beside. Of two that share nothing the newer may say the same in other words: then it has the
    sort that is asked for, or is near the question by meaning. `asks`: the question's words ask for something.
    """
    is_known = wanted is not None and bool(wanted.sorts or wanted.attributes)

    def alone(old: Ranked, new: Ranked) -> bool:
        older, newer = (notes.get(item.candidate.id) for item in (old, new))
        if older is None or newer is None or has_ended(newer.content):
            return False
        if tells_nothing_of_it(wanted, newer):
            return not tells_nothing_of_it(wanted, older)
        is_apart = asks_for_the_rest(asked, older, newer)
        if is_apart is None:
            return asks and not is_known and (new.candidate.z or 0.0) < NEAR_BY_MEANING
        return is_apart

    return alone


def tells_nothing_of_it(wanted: Sought | None, note: Note) -> bool:
    """Whether a note has nothing of the sort that is asked for, or another value of it; its name may be missing."""
    return lack_of(wanted, note) in ("value", "thing")


def lack_of(wanted: Sought | None, note: Note) -> Lack:
    """What of that which is asked for a note does not tell; what tells that something has ended tells enough.

    "thing": it is of another one; "value": it has none, or another; "name": what is asked for goes by another name.
    """
    if wanted is None or has_ended(note.content):
        return ""
    doubt = against(replace(wanted, head=()), note)
    if doubt is not None:
        return "thing" if doubt.is_other else "value"
    return "name" if wanted.head and against(wanted, note) is not None else ""


def lost_with(note: Note, newer: Note) -> str | None:
    """What a note says beside what a newer one replaces, cut short, maybe empty; None where the two share nothing.

    A single word is rather one more thing that the verb before it speaks of. What has ended leaves nothing to say.
    """
    its = sentence_of(f"{newer.title}\n{newer.content[:LONGEST_NOTE]}")
    parts = _parted(without_reasons(note.content[:LONGEST_NOTE]), its)
    if has_ended(newer.content) or UNSPACED.search(note.content):
        return ""
    if all(part.said.telling.isdisjoint(its.telling) for part in parts):
        return None
    left = (part.said.text.strip(" .") for part in parts if not part.is_replaced and _says_more(part, its))
    numbers = (name for part in parts for name in part.numbers.values())
    return _cut([*filter(lambda text: " " in text, left), *numbers], note)


def _says_more(part: _Part, its: Sentence) -> bool:
    own = part.said.telling - part.about
    return 2 * len(own - its.telling) > len(own) or bool(part.said.values - its.values)


class _Part(NamedTuple):
    """A part of a note beside a newer one: what it says, of what all of the note is, and whether it is replaced.

    Replaced is the part that shares the most with the newer one, and what has a value or a name in the place of which
    that has another. `numbers` are those in it, by their names, that have none of their kind in their place.
    """

    said: Sentence
    about: frozenset[str]
    is_replaced: bool
    numbers: Mapping[str, str]


def _parted(content: str, its: Sentence) -> list[_Part]:
    """The parts of a note beside a newer one."""
    parts = [sentence_of(part) for part in _ASIDE.split(unpointed(content)) if part.strip()][:MOST_SENTENCES]
    about = sentence_of(_subject(parts[0].text)).telling if parts else frozenset[str]()
    values = its.values.difference(*(part.values for part in parts))
    fresh = replace(its, values=values, names=its.names.difference(*(part.telling for part in parts)))
    shared = [len((part.telling - about) & its.telling) for part in parts]
    most = max(*shared, 1) if len(parts) > 1 else 0
    told_anew = [_is_told_anew(part, fresh, its) for part in parts]
    return [
        _Part(part, about, anew or count >= most, _left_numbers(part, fresh, its) if anew else {})
        for part, count, anew in zip(parts, shared, told_anew, strict=True)
    ]


def _subject(text: str) -> str:
    words = TOKEN.findall(text)
    return " ".join(words[: end_of_subject(words)])


def _is_told_anew(part: Sentence, fresh: Sentence, its: Sentence) -> bool:
    """Whether a part has a value or a name that a newer note has not, and that another of the kind.

    In German every noun looks like a name.
    """
    kinds = set(map(_kind_of, part.values - its.values)) & set(map(_kind_of, fresh.values))
    names = part.names - its.telling if GERMAN.isdisjoint(part.words | its.words) else ()
    return bool(kinds) or bool(names and fresh.names)


def _kind_of(value: str) -> str:
    return "time" if ":" in value else "number" if value[:1].isdigit() else "word"


def _left_numbers(part: Sentence, fresh: Sentence, its: Sentence) -> dict[str, str]:
    """Numbers beside one in the place of which is another of its kind, by name: "at 9:30 from pier 4", "at 10:15"."""
    own, kinds = part.values - its.values, set(map(_kind_of, fresh.values))
    if kinds.isdisjoint(map(_kind_of, own)):
        return {}
    named = ((found[1], found[2].rstrip(".,:")) for found in _NUMBERED.finditer(part.text))
    left = [(name, number) for name, number in named if number in own and _kind_of(number) not in kinds]
    return {VALUE_ENDINGS.sub("", folded(name)): f"{name} {number}" for name, number in left}


def left_in_part(note: Note, newer: Note) -> str:
    """The clauses and phrases that only a note tells, of the sentences that a newer one replaces; cut short."""
    mine, its = _beside(note, newer)
    phrases = None if has_ended(newer.content) or UNSPACED.search(note.content) else _Phrases(note, newer, its)
    left = list[str]()
    for place in sorted(_replaced(mine, its)):
        clauses, anew = _clauses_left(mine.sentences[place], its)
        left += phrases.left(anew) if phrases and anew else []
        left += clauses
    return _cut(left, note)


def _beside(note: Note, other: Note) -> tuple[ReadNote, ReadNote]:
    its = read_note(other.title, other.content[:LONGEST_NOTE])
    return read_as(other.content[:LONGEST_NOTE], note.title, note.content[:LONGEST_NOTE]), its


def _replaced(mine: ReadNote, its: ReadNote) -> dict[int, Sentence]:
    """The sentences of the other note that tell those of a note, by the places of these."""
    pairs = in_order(mine, its)
    return {-i: its.sentences[-j] for shared, i, j in matched(pairs) if shared >= pairs[0][0] or shared >= ALIGNED}


def _clauses_left(said: Sentence, known: ReadNote) -> tuple[list[str], Sentence | None]:
    """The clauses of a sentence that are told in mostly other words, and the one that is told anew."""
    parts = [sentence_of(part.strip()) for part in _CLAUSE_ENDS.split(said.text) if part.strip()]
    clauses = [(part, part.telling - FRAME_WORDS) for part in parts]
    anew = max(clauses, key=lambda each: (len(each[1] & known.telling), len(each[0].values)), default=None)
    left = (each for each in clauses if each is not anew)
    told = [part.text.rstrip(".!?;") for part, words in left if 2 * len(words - known.telling) > len(words)]
    return told, anew[0] if anew else None


def _cut(texts: Sequence[str], note: Note) -> str:
    text = " … ".join(_as_written(texts, note.content))
    return text if len(text) <= LONGEST_ALONE else f"{text[: LONGEST_ALONE - 1]}…"


def _as_written(texts: Sequence[str], content: str) -> list[str]:
    """Parts of a text as they stand there, with the points that end no sentence: "Dr. Lund"."""
    written = list[str]()
    for text in texts:
        pointed = "" if text in content else r"\.?\s+".join(map(re.escape, text.split()))
        found = re.search(pointed, content) if pointed else None
        written.append(" ".join(found[0].split()) if found else text)
    return written


def _tells_more(said: Sentence, known: ReadNote) -> bool:
    return _is_other(said, known) or bool(said.values - known.values or said.names - known.telling)


def _is_other(said: Sentence, known: ReadNote) -> bool:
    """Whether a sentence is of mostly other words."""
    fresh = len(said.telling - known.telling)
    return fresh >= FEW_TELLING and 2 * fresh > len(said.telling)


# --- what is lost with a note that another one stands for -----------------------------------------


class Lost(NamedTuple):
    """What a note says and what stands for it does not, cut short: `said`; `without`, a word that the latter adds.

    `weighs`: it is a sentence, a clause, a value, a name or what turns the sense, and not plain words alone.
    """

    said: str
    without: str
    weighs: bool


class _Span(NamedTuple):
    """A place in a sentence, from its start to its end, and what it is worth to name it: 0 nothing."""

    start: int
    end: int
    worth: int


_KNOWN, _SILENT, _PLAIN, _WEIGHS = -1, 0, 1, 2  # what a word of a sentence is beside another note
_MODALS = ("must", "should", "may")
_LIMITING = ("perhaps", "only", "most", "least", "about", "exactly")
_TURNED = [("before", "after"), ("front", "back"), ("above", "below"), ("inside", "outside"), ("more", "less")]
_TURNS = {one: other for pair in _TURNED for one, other in (pair, pair[::-1])}
_NUMBER_BEHIND = r"(?=\s(?:\d|an?\s|one|two|three|four|five|six|seven|eight|nine|ten|half))"
_SENSES = regex(
    r"(?P<most>\b(?:at most|(?:no|not) more than|max(?:imum)?|h\u00f6chstens|maximal)\b"
    rf"|\bup to\b{_NUMBER_BEHIND})"
    r"|(?P<least>\b(?:at least|(?:no|not) (?:less|fewer) than|min(?:imum)?|mindestens)\b)"
    r"|(?P<only>\b(?:only|just|solely|exclusively|alone|nur|nothing (?:but|else)|(?:no ?one|nobody) else)\b)"
    rf"|(?P<not>\bno longer\b|\b\w+-free\b|\b(?:{any_of(DENYING - {'no'})}|no(?!\.)|dislikes?|hates?|refuses?"
    r"|forbidden|prohibited|banned|lacks?)\b|\b\w+n['\u2019]t\b)"
    r"|(?P<perhaps>\b(?:probably|perhaps|maybe|possibly|likely|apparently|presumably|might|vielleicht|vermutlich)\b)"
    rf"|(?P<about>\b(?:about|around|roughly|approximately|circa|etwa|ungef\u00e4hr){_NUMBER_BEHIND})"
    r"|(?P<exactly>\b(?:exactly|precisely|genau)\b)"
    r"|(?P<must>\b(?:must|(?:has|have) to|shall|need(?:s|ed)?|required|mandatory|muss|m\u00fcssen)\b)"
    r"|(?P<should>\b(?:should|ought to|recommended|sollten?)\b)"
    r"|(?P<may>\b(?:(?-i:may)|can|could|allowed|permitted|darf|d\u00fcrfen|kann)\b)",
    re.IGNORECASE,
)
_SCOPES = regex(  # a reason is one of its own: "must be locked because nobody is there"
    r"[.,;:!?]\s+|\s[\u2013\u2014(]\s*|\)\s*|"
    r"(?<!nothing)\s(?:and|but|because|so that|while|und|aber|weil|y|pero|et|mais)\s+",
    re.IGNORECASE,
)
_BREAKS_AT = r"[,;:()]|\b(?:and|or|but|und|oder|aber|y|o|pero|et|ou|mais)\b"
_BREAKS = regex(_BREAKS_AT, re.IGNORECASE)
_COUNT = regex(rf"[\d.,]+|{any_of(NUMBER_WORDS)}", re.IGNORECASE)
_INNER = regex(r"\w[/.:@_]\w")  # of an identifier, a path or an address
_MOST_SILENT = 3  # words between two that are named in one go


class _Scope(NamedTuple):
    """A clause: the words of its matter but for names, its values, and the senses that it is told in."""

    words: frozenset[str]
    values: frozenset[str]
    senses: frozenset[str]


class _Known:
    """What a note tells, as words are looked for in it: by stem, family, beginning and meaning."""

    def __init__(self, note: Note, read: ReadNote) -> None:
        self.read, self.text = read, note.content[:LONGEST_NOTE]
        self.own = frozenset[str]()  # the senses in which only another note tells what both tell
        tokens = TOKEN.findall(f"{note.title}\n{self.text}")
        words = {folded(each).removesuffix("'s") for token in tokens for each in (token, *token.split("-"))}
        self.values = read.values | {_ORDINALS[word] for word in words & _ORDINALS.keys()}
        self._stems = read.telling.union(*map(_stems_of, words))
        self._about = frozenset[int]().union(*map(_asks_for, words))
        self._which = set(map(which_of, words)) - {None}
        self._words = [word for word in words if len(word) > _LONG_ENOUGH]

    def tells(self, word: str) -> bool:
        """Whether it has a folded word, a form or a relative of it, or one that means or asks for the same."""
        is_said = not self._stems.isdisjoint(_stems_of(word)) or not self._about.isdisjoint(_asks_for(word))
        is_meant = which_of(word) in self._which or _ORDINALS.get(word) in self.values
        forms = (each for each in self._words if each.startswith(word[:_LONG_ENOUGH]))
        return is_said or is_meant or (len(word) > _LONG_ENOUGH and any(are_forms(word, each) for each in forms))


_LONG_ENOUGH = 4  # letters that two forms of a word begin with
_ORDINALS = {word: str(place) for place, word in enumerate(FIRST_TO_TWELFTH, 1)}


def _stems_of(word: str) -> set[str]:
    return {VALUE_ENDINGS.sub("", each) for each in (word, *relatives(word), SAME_KIN.get(word, word))}


def _asks_for(word: str) -> frozenset[int]:
    return ABOUT_OF.get(word) or ABOUT_OF.get(word.removesuffix("s"), frozenset())


def left_out(note: Note, whole: Note) -> Lost:
    """What of a note another one that stands for it leaves out: sentences, clauses, or, of what it rewords, words."""
    mine, its = _beside(note, whole)
    known, retold = _Known(whole, its), _replaced(mine, its)
    known.own, added = _turned(note.content[:LONGEST_NOTE], known.text)
    said, worth = list[str](), _WEIGHS if added else _SILENT
    for place, item in enumerate(mine.sentences):
        for start, end, weight in _spans(item, retold.get(place), known):
            said.append(item.text[start:end])
            worth = max(worth, weight)
    weighs = worth == _WEIGHS or (bool(said) and UNSPACED.search(note.content) is not None)
    return Lost(_cut(said, note), added, weighs=weighs)


def _spans(item: Sentence, its: Sentence | None, known: _Known) -> list[_Span]:
    """The places of a sentence that are named: all of it, its clauses that say something else, or words."""
    words = _weighed(item, known, its)
    telling = [span for span in words if span.worth != _SILENT]
    fresh = [span for span in telling if span.worth > _SILENT]
    is_new = its is None and bool(fresh) and (fresh == telling or _is_other(item, known.read))
    if is_new or (4 * len(fresh) > 3 * len(telling) and any(span.worth == _WEIGHS for span in fresh)):
        return [_Span(0, len(item.text), _WEIGHS)]
    whole = _other_clauses(item.text, words)
    left = [span for span in words if not any(each.start <= span.start < each.end for each in whole)]
    return sorted([*whole, *_joined(item.text, left)])


def _weighed(item: Sentence, known: _Known, its: Sentence | None = None) -> list[_Span]:
    """The words of a sentence in order, and what each is beside another note, of which one sentence tells the same."""
    against_it = opposite_words(item, its) | _turning(item, its) if its else frozenset[str]()
    silent = grammar_in(languages_of(item.text)) | GENERIC | COPULAS
    senses = [found for found in _SENSES.finditer(item.text) if folded(found[0]) not in against_it]
    spans = [_Span(*found.span(), _WEIGHS if found.lastgroup in known.own else _SILENT) for found in senses]
    for found in TOKEN.finditer(item.text):
        if not any(sense.start() <= found.start() < sense.end() for sense in senses):
            word = folded(found[0]).removesuffix("'s")
            worth = _WEIGHS if word in against_it else _worth(found[0], word, item, known, silent)
            spans.append(_Span(*found.span(), worth))
    return sorted(spans)


def _turning(item: Sentence, its: Sentence) -> frozenset[str]:
    """The words of grammar that the other sentence has the opposite of instead."""
    own = item.words & _TURNS.keys() - its.words
    return frozenset(word for word in own if _TURNS[word] in its.words - item.words)


def _worth(written: str, word: str, item: Sentence, known: _Known, silent: frozenset[str]) -> int:
    said = sentence_of(written)
    if said.values & item.values:
        is_number = word[:1].isdigit() or (word in NUMBER_WORDS and said.values != {"1"})
        worth = _WEIGHS if is_number or word.removesuffix("s") in DAYS else _PLAIN
        return _KNOWN if said.values <= known.values or known.tells(word) else worth
    is_name = said.telling <= item.names and (GERMAN.isdisjoint(item.words) or any(map(str.isdigit, word)))
    is_name = is_name or _INNER.search(word) is not None
    if not said.telling & item.telling or (word in silent and not is_name):
        return _SILENT
    worth = _WEIGHS if is_name else _PLAIN
    return _KNOWN if said.telling <= known.read.telling or known.tells(word) else worth


def _other_clauses(text: str, words: Sequence[_Span]) -> list[_Span]:
    """The clauses of a sentence that are told in mostly other words, but for the one that is told anew."""
    ends = [(found.start(), found.end()) for found in _CLAUSE_ENDS.finditer(text)]
    starts = zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True)
    parts = [(a, b, [span.worth for span in words if a <= span.start < b and span.worth != _SILENT]) for a, b in starts]
    anew = max(parts, key=lambda part: part[2].count(_KNOWN))
    left = [part for part in parts if part is not anew and 2 * part[2].count(_KNOWN) < len(part[2])]
    least = _WEIGHS if any(_PLAIN in part[2] for part in parts if part not in left) else _PLAIN  # where all is reworded
    return [_Span(a, a + len(text[a:b].rstrip(" .!?")), _WEIGHS) for a, b, worths in left if max(worths) >= least]


def _joined(text: str, words: Sequence[_Span]) -> list[_Span]:
    """The words that are worth naming, in one go where only grammar stands between; with a number what it counts."""
    found, silent = list[_Span](), 0
    for span in words:
        last = found[-1] if found else _Span(0, 0, _SILENT)
        between = text[last.end : span.start]
        is_noun = text[span.start].isalpha() and folded(text[span.start : span.end]) not in STOP_WORDS
        counts = between == " " and is_noun and _COUNT.fullmatch(text[last.start : last.end])
        if span.worth > _SILENT and found and silent <= _MOST_SILENT and not _BREAKS.search(between):
            found[-1] = _Span(last.start, span.end, max(last.worth, span.worth))
        elif span.worth > _SILENT:
            found.append(span)
        elif counts:
            found[-1] = last._replace(end=span.end)
        silent = 0 if span.worth > _SILENT or counts else silent + (1 if span.worth == _SILENT else _MOST_SILENT + 1)
    return found


def _turned(text: str, its_text: str) -> tuple[frozenset[str], str]:
    """The senses that only one of two texts tells what both tell in, and the first word of one that only the other has.

    A denial counts where both speak of what only one denies; a limit where the other has none of its kind at all.
    """
    here, there = list(_scopes(text)), list(_scopes(its_text))
    words, others = (frozenset[str]().union(*(scope.words for scope in side)) for side in (here, there))
    both, values = words & others, frozenset[str]().union(*(scope.values for scope in here))
    own = _limited(here, there, both) | _denied(here, there, both) | _modal(here, there, both)
    same = [scope for scope in there if scope.words <= words and scope.values <= values]
    added = _denied(there, here, both) | (frozenset() if own else _limited(same, here, both))
    found = [found[0] for found in _SENSES.finditer(its_text) if found.lastgroup in added]
    return own, found[0].lower() if found else ""


def _limited(here: Sequence[_Scope], there: Sequence[_Scope], both: frozenset[str]) -> frozenset[str]:
    senses = frozenset[str]().union(*(scope.senses for scope in here if scope.words & both))
    return senses.intersection(_LIMITING).difference(*(scope.senses for scope in there))


def _denied(here: Sequence[_Scope], there: Sequence[_Scope], both: frozenset[str]) -> frozenset[str]:
    counts = [sum("not" in scope.senses for scope in side) for side in (here, there)]
    for word in both if counts[0] != counts[1] else ():
        mine, its = (["not" in scope.senses for scope in side if word in scope.words] for side in (here, there))
        if all(mine) and not any(its):
            return frozenset({"not"})
    return frozenset()


def _modal(here: Sequence[_Scope], there: Sequence[_Scope], both: frozenset[str]) -> frozenset[str]:
    """The modal of what the other text tells with another one, or, in the same words, with none."""
    mine, its = ([scope for scope in side if scope.words & both] for side in (here, there))
    own = frozenset[str]().union(*(scope.senses.intersection(_MODALS) for scope in mine))
    other = frozenset[str]().union(*(scope.senses.intersection(_MODALS) for scope in its))
    is_bare = not other and [scope.words for scope in mine] == [scope.words for scope in its]
    return own if own.isdisjoint(other) and (other or is_bare) else frozenset()


def _scopes(text: str) -> Iterator[_Scope]:
    """The clauses of a text; what is denied twice must be, and what must not be may not."""
    for part in _SCOPES.split(text)[:MOST_SENTENCES]:
        said, senses = sentence_of(part), [str(found.lastgroup) for found in _SENSES.finditer(part)]
        denials = senses.count("not")
        if denials % 2:
            senses = [sense for sense in senses if sense not in ("must", "may")]
        elif denials:
            senses = [*(sense for sense in senses if sense != "not"), "must"]
        yield _Scope(said.telling - said.names - FRAME_WORDS, said.values, frozenset(senses))


# --- phrases of a clause that is told anew --------------------------------------------------------

_PLACING = (
    "in at on with by from near behind under beside via through im am bei beim mit von vom dans chez avec par con en"
)
_PLACE = regex(rf"(?<!\w)({_PLACING.replace(' ', '|')}|to|for|zu|zum|zur|f\u00fcr|pour|para)\s", re.IGNORECASE)
_WHY = regex(rf"\b(?:{WHY})\b[^,.;!?]*", re.IGNORECASE)
_END = regex(rf"(?:{_BREAKS_AT})|[.!?](?:\s|\Z)|\Z", re.IGNORECASE)


class _Phrase(NamedTuple):
    """What stands behind a preposition, to the next: `names` and plain `words` of it that the other note has not."""

    text: str
    by: str
    names: bool
    words: bool
    only_fresh: bool


class _Phrases:
    """What a newer note tells that an older one does not: its names and words by the prepositions before them.

    A name takes the place of one behind the same preposition, or, where there is none, of any; a plain word of any.
    """

    def __init__(self, note: Note, newer: Note, its: ReadNote) -> None:
        self._known, old = _Known(newer, its), _Known(note, read_note(note.title, note.content[:LONGEST_NOTE]))
        fresh = [each for item in its.sentences for each in _phrases(item, old)]
        self._names = {each.by for each in fresh if each.names}
        self._words = {each.by for each in fresh if each.words}
        self._gives_reasons = _WHY.search(newer.content) is not None

    def left(self, said: Sentence) -> list[str]:
        """The phrases of a clause that nothing takes the place of, and a reason where the newer note gives none."""
        reason = _WHY.search(said.text)
        told = sentence_of(said.text[: reason.start()]) if reason else said
        phrases = [each for each in _phrases(told, self._known) if each.by]
        named = {each.by for each in phrases if each.names}
        replaced = self._names | self._words if self._names <= named else named
        left = [each.text for each in phrases if each.names and each.by not in replaced]
        if not self._names and not self._words:
            left += [each.text for each in phrases if each.only_fresh and each.by in _PLACING.split()]
        is_left = reason and not self._gives_reasons and _is_other(sentence_of(reason[0]), self._known.read)
        return [*left, reason[0].strip()] if reason and is_left else left


def _phrases(said: Sentence, known: _Known) -> list[_Phrase]:
    """The phrases of a sentence, the first without a preposition."""
    words = [span for span in _weighed(said, known) if span.worth != _SILENT]
    starts = [(0, ""), *((found.start(), folded(found[1])) for found in _PLACE.finditer(said.text))]
    found = list[_Phrase]()
    for (start, by), (following, _) in pairwise([*starts, (len(said.text), "")]):
        ends = _END.search(said.text, start, following)
        end = ends.start() if ends and by else following
        own = [span for span in words if start <= span.start < end]
        fresh = [said.text[span.start : span.end] for span in own if span.worth > _SILENT]
        weighing = [said.text[span.start : span.end] for span in own if span.worth == _WEIGHS]
        names = [word for word in weighing if not sentence_of(word).values]
        plain = [word for word in fresh if not sentence_of(word).values and folded(word) not in CHANGE_WORDS]
        text = said.text[start : own[-1].end] if own else ""
        is_plain = bool(plain) and len(plain) == len(own) and not names
        found.append(_Phrase(text, by, bool(names), len(plain) > len(names), is_plain))
    return found
