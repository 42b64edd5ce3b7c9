"""What a note states first, taken apart: its words in order, what each of them is, and where the subject ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from holdfast.model.changewords import (
    AXIS_OF,
    CHANGE_PARTS,
    CHANGE_WORDS,
    GENERIC,
    HAPPENINGS,
    NEGATIONS,
    NUMBERED,
    ROLES,
    VERBS,
    WHY,
)
from holdfast.model.frames import FRAME_WORDS
from holdfast.model.words import STOP_WORDS, folded, query_terms

Kind = Literal["word", "name", "value"]

LONGEST, MOST_WORDS = 400, 60  # characters and words of a text that are looked at
STEM = 6  # letters of a word that are compared
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\u3002\uff01\uff1f]|\n+|;\s")
_TOKEN = re.compile(r"\d[\d.,:]*\d%?(?![\w-])|[^\W_](?:[\w.:/@+'\u2019%-]*[\w%+])?|/[\w/.-]+|:")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ings?|ied|ies|ed|es|ers?|ments?|s|e|y)\Z")
_CHAT = re.compile(
    r"[!?\uff01\uff1f](?:\s|\Z)|\A\W*(?:hey|hi|hello|wow|thanks|thank you|yeah|yep|sure|oh)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3]")
_TOPIC_MARK = re.compile("[はが是有在는은이가]")
_CHANGES = re.compile(r"\b(?:these days|from now on|any more|after all|as of|ab sofort|ya no|plus de)\b", re.IGNORECASE)
_WHY = re.compile(rf"[,;]?\s\b(?:{'|'.join(WHY)})\b", re.IGNORECASE)
_DAYS = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi
    dimanche lunes martes miercoles jueves viernes sabado domingo
    january february march april june july august september october november december
    januar februar marz mai juni juli oktober dezember janvier fevrier mars avril juin juillet aout septembre octobre
    novembre decembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    noon midnight""".split()  # noqa: SIM905 - a list of words reads better as one text
)
_VERB_ENDINGS = ("ed", "es", "ts", "ds", "ns", "ks", "hs")
_KINDS = frozenset({"users", "things"})  # one of many, where the singular says no more than "somebody"
_ORDINALS = frozenset(
    "first second third fourth fifth sixth seventh eighth ninth tenth fifteenth twentieth last".split()  # noqa: SIM905
)
_STATES = re.compile(r"\b(?:is|are|takes?|will|ist|sind|est|es)\b")
_VERBS_FIRST = frozenset(
    """prefers prefer likes like wants want uses use keeps keep needs need always never please write run set has have
    remind answer drinks eats lives works speaks""".split()  # noqa: SIM905
)
_NUMERALS = {
    word: str(number)
    for number, words in enumerate(
        (
            "zero", "one eins une", "two zwei deux dos due", "three drei trois tres tre", "four vier quatre cuatro",
            "five funf cinq cinco", "six sechs seis", "seven sieben sept siete", "eight acht huit ocho",
            "nine neun neuf nueve", "ten zehn dix diez", "eleven elf onze once", "twelve zwolf douze doce",
        )
    )
    for word in words.split()
}  # fmt: skip


def first_sentence(content: str) -> str:
    """The first sentence that says something, without its final point."""
    return next(iter(_sentences(content)), "").rstrip(".;:, ")


def stem(word: str) -> str:
    """What is compared of a folded word."""
    return _ENDINGS.sub("", word)[:STEM]


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its `stem` is what is compared, `text` is folded; `subject` says that it stands before the verb.

    `first` is the first one of a sentence; a `generic` word belongs to nothing in particular.
    """

    stem: str
    text: str
    kind: Kind
    subject: bool
    first: bool = False

    @property
    def generic(self) -> bool:
        return self.stem in _GENERIC_STEMS and self.text not in _KINDS

    @property
    def chosen(self) -> bool:
        """Whether it can be one of many: a value, a name, or what only begins a sentence with a capital."""
        return self.kind != "word" or self.first


@dataclass(frozen=True, slots=True)
class Statement:
    """`words` are those of the first sentence that say something, `stems` those of the first three, of any kind.

    `topics` is what it may be about: words of the first sentence that belong to something in particular, no values.
    """

    words: tuple[Word, ...]
    topics: frozenset[str]
    stems: frozenset[str]
    values: frozenset[str]
    names: frozenset[str]
    negated: bool
    changed: bool
    happened: bool
    chatty: bool
    role: bool


_GENERIC_STEMS = frozenset(map(stem, GENERIC))


@lru_cache(256)  # one note is compared with many
def statement(content: str) -> Statement:
    """What the beginning of a text states."""
    sentences = _sentences(content)
    head = _WHY.split(sentences[0], maxsplit=1)[0] if sentences else ""
    words = _words(head)
    rest = [word for sentence in sentences[1:3] for word in _words(sentence)]
    said = re.findall(r"\w+(?:'\w+)?", folded(head).replace("\u2019", "'"))
    return Statement(
        words=tuple(words),
        topics=frozenset(word.stem for word in words if word.kind != "value" and not word.generic),
        stems=frozenset(word.stem for word in (*words, *rest)),
        values=frozenset(word.stem for word in words if word.kind == "value"),
        names=frozenset(word.stem for word in words if word.kind == "name"),
        negated=_is_negated(said),
        changed=bool(CHANGE_WORDS & set(said) or _CHANGES.search(head)) or any(part in head for part in CHANGE_PARTS),
        happened=_happened(head) or _is_dated(content),
        chatty=bool(_CHAT.search(content[:LONGEST])),
        role=bool(ROLES & {token.strip(".:") for token in folded(head).split()}),
    )


def _sentences(content: str) -> list[str]:
    parts = _SENTENCE.split(_plain(content[:LONGEST]))
    return [part.strip() for part in parts if re.search(r"\w", part)]


def _plain(content: str) -> str:
    """Without heading marks, emphasis and list marks."""
    return re.sub(r"[`*_#>\[\]()\"\u201c\u201d\u201e]+", " ", re.sub(r"(?m)^\s*(?:[-*+>#]+\s+)+", "", content))


def _is_negated(words: list[str]) -> bool:
    return any(word.replace("'", "") in NEGATIONS or word.endswith("n't") for word in words)


def _happened(head: str) -> bool:
    """Whether it tells of what took place, and not of how a meeting that comes round is held."""
    begins = HAPPENINGS & {folded(token) for token in _TOKEN.findall(head)[:3]}
    return bool(begins) and (": " in head or not _STATES.search(head))


def _is_dated(text: str) -> bool:
    """Whether it begins with a day, as lines of a log do."""
    return bool(re.match(r"\W*\d{4}-\d\d-\d\d", text))


def _words(sentence: str) -> list[Word]:
    tokens = _TOKEN.findall(sentence)[:MOST_WORDS]
    end = _end_of_subject(tokens)
    words: list[Word] = []
    for place, token in enumerate(tokens):
        plain = folded(token.strip(".:/'\u2019").removesuffix("'s").removesuffix("\u2019s"))
        if not plain or _says_nothing(plain, token):
            continue
        if _UNSPACED.search(plain):
            words += _pieces(plain, first=place == 0)
            continue
        words.append(_word(token, plain, tokens[place - 1] if place else "", place, end))
    return words


def _pieces(run: str, *, first: bool) -> list[Word]:
    """The pairs of signs of a text without spaces; the subject ends at the particle that marks it."""
    mark = _TOPIC_MARK.search(run)
    head = set(query_terms(run[: mark.start()])) if mark else set()
    return [
        Word(piece, piece, "value" if any(map(str.isdigit, piece)) else "word", first and piece in head)
        for piece in query_terms(run)
        if piece not in CHANGE_PARTS
    ]


def _says_nothing(plain: str, token: str) -> bool:
    if (
        plain in _DAYS
        or plain in _NUMERALS
        or plain in _ORDINALS
        or (len(token) > 1 and token.isupper())
        or (plain in AXIS_OF and (plain != "us" or token.isupper()))
    ):
        return False
    return plain in CHANGE_WORDS or plain in STOP_WORDS or plain in FRAME_WORDS


def _word(token: str, plain: str, before: str, place: int, end: int) -> Word:
    subject = place < end
    numbered = folded(before).rstrip(".:s") in NUMBERED or folded(before) in NUMBERED
    if _NUMBER.match(plain) or plain in _NUMERALS:
        value = _NUMERALS.get(plain, plain.replace(",", ""))
        return Word(value, plain, "name" if numbered else "value", subject, place == 0)
    if plain in _DAYS:
        return Word(stem(plain), plain, "value", subject, place == 0)
    if any(sign.isdigit() for sign in plain):
        return Word(plain, plain, "name", subject, place == 0)
    if plain in _ORDINALS:
        return Word(plain, plain, "value" if place else "name", subject, place == 0)
    is_name = any(sign.isupper() for sign in token[1:]) or (token[:1].isupper() and place > 0) or "/" in plain
    return Word(stem(plain), plain, "name" if is_name else "word", subject, place == 0)


def _end_of_subject(tokens: list[str]) -> int:
    """The place of the first word that is no part of the subject: a colon, a verb, what has a verb's ending."""
    plain = [folded(token).rstrip(".,") for token in tokens]
    if plain and plain[0] in _VERBS_FIRST:
        return 0
    for place, word in enumerate(plain):
        if word.endswith(":") or (place and word in VERBS):
            return place
        if place and plain[place - 1] not in STOP_WORDS and _may_be_verb(word, place):  # as in "for users": none
            return place
    return len(tokens) // 2


def _may_be_verb(word: str, place: int) -> bool:
    if stem(word) in _GENERIC_STEMS:
        return word not in AXIS_OF and word not in NUMBERED
    return place > 1 and word.endswith(_VERB_ENDINGS) and word not in _DAYS
