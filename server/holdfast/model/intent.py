"""What a question is for that is answered by a list, or by what is about somebody, and not by what its words say.

Only where every word of it belongs to such a question: "list all decisions in tollgate" asks for a list, "list the
decisions that slow the build down" has to be searched for. Words of time are taken out before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.model import intent_words as say
from holdfast.model.words import OPEN_WORDS, STOP_WORDS, folded

Kind = Literal["list", "self", "person"]

_MOST_WORDS, _LONGEST = 16, 160  # a longer text is no such question; the latter in characters
_MOST_NAMES = 4
_MOST_MODIFIERS = 2
_DIGITS = 4
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_TAGGED = re.compile(
    r"(?:\b(?:tagged|labell?ed|tag|tags|with (?:the )?(?:tag|label)|mit (?:dem )?(?:tag|schlagwort)|"
    r"avec (?:le tag|l'etiquette)|con (?:la )?etiqueta)(?: as| with)? |(?<!\S)#)[\"'#]?(?P<tag>[\w./:-]*\w)[\"']?"
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What is asked for.

    `list`: all notes of `types` and `tags`, any where empty; of the space that the words `place` name, of the current
    one alone with `here`, of all with `everywhere`. `at_most` is how many are asked for. With `timely` it takes a
    window of time, or a space, to make it such a question. `due` are things that are still to come.
    `self`: what is known of the user, `topic` says of what in particular.
    `person`: who is called `topic`.
    """

    kind: Kind
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    here: bool = False
    everywhere: bool = False
    at_most: int | None = None
    timely: bool = False
    due: bool = False
    topic: str = ""


def intent_of(text: str) -> Intent | None:
    """What a question asks for, its words of time left out; None where it has to be searched for."""
    if len(text) > _LONGEST:
        return None
    line = " ".join(folded(text).replace("\u2019", "'").split()).lstrip("¿¡ ")
    if not line or len(line.split()) > _MOST_WORDS:
        return None
    return _about_self(line) or _person(line) or _list(line)


def is_recency(words: str) -> bool:
    """Whether words of time only ask for what is latest."""
    return bool(say.LATELY.fullmatch(folded(words).strip()))


# --- the user -------------------------------------------------------------------------------------


def _about_self(line: str) -> Intent | None:
    plain = re.sub(r"[^\w'\s-]", " ", line)
    plain = " ".join(plain.split())
    if any(pattern.search(plain) for pattern in say.WHO_AM_I):
        return Intent("self")
    if (found := say.ABOUT_ME.search(plain)) and _all_in(plain[: found.start()] + plain[found.end() :], say.KNOWING):
        return Intent("self")
    if (found := say.I_PREFER.fullmatch(plain)) is not None:
        return Intent("self", topic=found.groupdict().get("topic") or "")
    return _mine(plain)


def _mine(plain: str) -> Intent | None:
    """As in "my coding conventions", "the user's preferences": a thing of a person, with what of it is meant."""
    owner = say.MINE.search(plain)
    if owner is None or not _all_in(plain[: owner.start()], say.KNOWING):
        return None
    words = _WORD.findall(plain[owner.end() :])
    head = next((place for place, word in enumerate(words) if _is_head(word, words[:place])), None)
    if head is None or head > _MOST_MODIFIERS:
        return None
    behind = words[head + 1 :]
    if say.OF_WHAT.fullmatch(" ".join(behind)) is None and not all(word in say.KNOWING for word in behind):
        return None
    topic = [word for word in (*words[: head + 1], *behind) if word not in say.KNOWING]
    return Intent("self", topic=" ".join(topic))


def _is_head(word: str, before: list[str]) -> bool:
    """Whether it is a thing that only a person has; of the others the words before it must say so."""
    if say.OWN.fullmatch(word):
        return True
    return bool(say.ALSO_OWN.fullmatch(word)) and all(say.OF_WORK.fullmatch(each) for each in before)


def _person(line: str) -> Intent | None:
    found = say.WHO_IS.match(line)
    name = _WORD.findall(found["name"]) if found else []
    if not 0 < len(name) <= _MOST_NAMES or any(word in say.NO_NAME or word in STOP_WORDS for word in name):
        return None
    return Intent("person", topic=" ".join(name))


# --- lists ----------------------------------------------------------------------------------------


def _list(line: str) -> Intent | None:
    intent, rest = _with_place(line)
    if (tagged := _TAGGED.search(rest)) is not None:
        intent = replace(intent, tags=(tagged["tag"],))
        rest = f"{rest[: tagged.start()]} {rest[tagged.end() :]}"
    return _listed(intent, [word for raw in _WORD.findall(rest) for word in raw.split("'") if word])


def _with_place(line: str) -> tuple[Intent, str]:
    """Whether this space or all of them are meant, and the line without that."""
    if found := say.HERE.search(line):
        return Intent("list", here=True), f"{line[: found.start()]} {line[found.end() :]}"
    if found := say.EVERYWHERE.search(line):
        return Intent("list", everywhere=True), f"{line[: found.start()]} {line[found.end() :]}"
    return Intent("list"), line


def _listed(intent: Intent, words: list[str]) -> Intent | None:
    """The list that these words ask for, with a name of a space among them at most; None where they ask for none."""
    nouns = [say.NOUNS[word] for word in words if word in say.NOUNS]
    nouns += ["decision"] if say.DECIDE & set(words) and say.DID & set(words) else []
    there = set(words)
    due, ordered = bool(there & say.DUE_WORDS), bool(there & say.LATEST)
    wanted = ordered or bool(there & say.LISTING)
    place = [word for word in words if not _is_usual(word)]
    if place and (intent.here or not _names_a_place(words, place)):
        return None
    kinds = [kind for kind in nouns if kind not in (say.ANY, say.DUE)]
    types = tuple(dict.fromkeys(kind for kind in kinds if kind != "project" or not _is_of_a_place(words, place)))
    somewhere = bool(place) or intent.here
    sure = bool(types or intent.tags or due) and (wanted or somewhere or bool(there & say.ASKING))
    sure |= bool(nouns or intent.tags) and (wanted or somewhere or due or bool(nouns and intent.tags))
    sure |= somewhere and (wanted or bool(there & say.HAPPENED))
    counts = [int(word) for word in words if word.isdecimal() and len(word) < _DIGITS]
    at_most = counts[0] if counts and ordered and counts[0] else None
    return replace(intent, types=types, place=tuple(place), at_most=at_most, timely=not sure, due=due)


def _names_a_place(words: list[str], place: list[str]) -> bool:
    """Whether the words that are left stand together, and not behind one that says what a note is about."""
    first = words.index(place[0])
    together = words[first : first + len(place)] == place
    return together and (first == 0 or words[first - 1] not in say.ABOUT)


def _is_of_a_place(words: list[str], place: list[str]) -> bool:
    """Whether "project" stands beside the name of a space, as in "the harbour project": then it asks for no type."""
    if not place:
        return False
    first = words.index(place[0])
    beside = [*words[max(0, first - 1) : first], *words[first + len(place) : first + len(place) + 1]]
    return any(say.NOUNS.get(word) == "project" for word in beside)


def _is_usual(word: str) -> bool:
    known = word in say.NOUNS or word in say.LISTING or word in say.LATEST or word in say.DUE_WORDS
    known |= word in say.FILLING or word in OPEN_WORDS or word in STOP_WORDS or word.isdecimal()
    return known or ("-" in word and all(_is_usual(part) for part in word.split("-")))


def _all_in(text: str, known: frozenset[str]) -> bool:
    return all(part in known for word in _WORD.findall(text) for part in re.split("['-]", word) if part)
