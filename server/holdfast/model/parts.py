"""What one note says that another does not: beside what the newer of two replaces, or what a merged one leaves out.

A note is seen in its sentences, and in parts of them where a newer one tells another part anew
(`holdfast.model.opposition` reads them). All is cut short: it is shown to an agent, who decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from holdfast.model.claims import claim
from holdfast.model.doubts import Sought, against
from holdfast.model.identifiers import GERMAN, has_ended
from holdfast.model.note import Note
from holdfast.model.opposition import (
    ALIGNED,
    LONGEST_NOTE,
    MOST_SENTENCES,
    VALUE_ENDINGS,
    ReadNote,
    Sentence,
    in_order,
    matched,
    read_as,
    read_note,
    sentence_of,
    words_asked,
)
from holdfast.model.ranking import Ranked
from holdfast.model.statement import TOKEN, UNSPACED, end_of_subject, stem, unpointed, without_reasons
from holdfast.model.words import FRAME_WORDS, folded, regex

Lack = Literal["", "name", "value", "thing"]
NEAR_BY_MEANING = 1.5  # deviations, which what replaced a note without sharing a word with it mostly has
FEW_TELLING, LONGEST_ALONE = 2, 120  # words that another note has not; characters that are told of them
_ASIDE = regex(r",?\s(?:and|but|und|aber|y|pero|et|mais|ma|maar)\s|[;,]\s+|[()\u3002\uff0c\uff1b]\s*|(?<=[.!?])\s+|\n+")
_NUMBERED = regex(r"\b([^\W\d_]{3,})[ #]+(\d[\d.,:]*)")
_CLAUSE_ENDS = regex(r"[,;:]\s+|\s+[\u2013\u2014(]\s*|\)\s*|\s+(?:and|but|und|aber|y|pero|et|mais)\s+", re.IGNORECASE)


def only_said_by(note: Note, other: Note) -> str:
    """What of a note tells a value or a name that the other has not, or mostly other words; cut short.

    Those are sentences; of one that the other tells as well the clauses.
    """
    mine, its = _beside(note, other)
    told = ([item.text] if _tells_more(item, its) else _clauses_left(item, its) for item in mine.sentences)
    return _cut([text for texts in told for text in texts])


def left_untold(note: Note, newer: Note) -> tuple[int, str]:
    """How many sentences of a note tell what a newer one neither tells nor replaces, and the beginning of them.

    Replaced is of each sentence of the newer one the sentence that shares the most with it.
    """
    mine, its = _beside(note, newer)
    replaced = _replaced(mine, its)
    left = [each for place, each in enumerate(mine.sentences) if place not in replaced and _tells_more(each, its)]
    return len(left), _cut([each.text for each in left])


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
    return _cut([*filter(lambda text: " " in text, left), *(name for part in parts for name in part.numbers.values())])


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
    """The clauses that only a note tells, of the sentences that a newer one replaces; cut short."""
    mine, its = _beside(note, newer)
    return _cut([text for place in sorted(_replaced(mine, its)) for text in _clauses_left(mine.sentences[place], its)])


def _beside(note: Note, other: Note) -> tuple[ReadNote, ReadNote]:
    its = read_note(other.title, other.content[:LONGEST_NOTE])
    return read_as(other.content[:LONGEST_NOTE], note.title, note.content[:LONGEST_NOTE]), its


def _replaced(mine: ReadNote, its: ReadNote) -> set[int]:
    pairs = in_order(mine, its)
    return {-i for shared, i, _ in matched(pairs) if shared >= pairs[0][0] or shared >= ALIGNED}


def _clauses_left(said: Sentence, known: ReadNote) -> list[str]:
    """The clauses of a sentence that are told in mostly other words, but for the one that is told anew."""
    parts = [sentence_of(part.strip()) for part in _CLAUSE_ENDS.split(said.text) if part.strip()]
    clauses = [(part, part.telling - FRAME_WORDS) for part in parts]
    anew = max(clauses, key=lambda each: (len(each[1] & known.telling), len(each[0].values)), default=None)
    left = (each for each in clauses if each is not anew)
    return [part.text.rstrip(".!?") for part, words in left if 2 * len(words - known.telling) > len(words)]


def _cut(texts: Sequence[str]) -> str:
    text = " … ".join(texts)
    return text if len(text) <= LONGEST_ALONE else f"{text[: LONGEST_ALONE - 1]}…"


def _tells_more(said: Sentence, known: ReadNote) -> bool:
    fresh = len(said.telling - known.telling)
    is_other = fresh >= FEW_TELLING and 2 * fresh > len(said.telling)
    return is_other or bool(said.values - known.values or said.names - known.telling)
