"""What a text states: its words in order, what each of them is, where the subject ends, and which verb follows.

Only the first statement of a text is read closely. The words that announce a change, deny, or tell siblings apart are
listed in the languages that most notes are in.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from holdfast.model.numbers import DAYS, NUMBER_WORDS, NUMBERED, NUMERALS, ORDINALS
from holdfast.model.words import (
    ABBREVIATIONS,
    FRAME_WORDS,
    GERMAN_MONTHS,
    SIGNS,
    STOP_WORDS,
    folded,
    lowered,
    names_like_grammar,
    query_terms,
    regex,
    typewritten,
    without_owner,
)

CHANGE_WORDS = frozenset(
    """
    now nowadays anymore currently instead formerly previously henceforth meanwhile updated update correction corrected
    moved moves changed changes switched raised lowered increased decreased reduced extended shortened renamed
    replaced replaces upgraded downgraded bumped migrated postponed delayed rescheduled slipped pushed promoted
    dropped cut doubled halved tripled resized reversed took became becomes went gone since again left retired removed
    abolished phased sold renewed rewrote rewritten ported relocated cancelled canceled adopted traded
    quit stopped longer new newer anew lately recently
    jetzt nun neuerdings inzwischen mittlerweile kunftig seit statt anstatt anstelle verschoben geandert gewechselt
    umgestellt erhoht gesenkt verlangert verkurzt ersetzt umbenannt abgelost ubernommen umgezogen neu neue neuer neuen
    neues wieder
    desormais maintenant dorenavant change modifie deplace reporte repousse remplace augmente baisse reduit passe
    nouveau nouvelle
    ahora ya cambio cambiado paso movio aplazo aplazado pospuesto reemplazo reemplazado subio bajo aumento redujo nuevo
    nueva
    ora adesso cambiato spostato rinviato sostituito aumentato diventato ridotto nuovo nuova
    agora mudou adiado substituido aumentou novo nova
    nu voortaan verplaatst gewijzigd vervangen verhoogd verlaagd nieuwe
    теперь сейчас отныне больше перенес перенесен перенесли изменен изменили заменен заменили вместо новый новая новое
    тепер зараз замість
    teraz obecnie zmieniono zmieniony przeniesiono zamiast nowy nowa
    artik simdi degisti degistirildi tasindi ertelendi yeni
    अब बदल बदला बदली नया नई
    الان اصبح تغير بدلا
    עכשיו השתנה במקום
    """.split()  # noqa: SIM905 - a list of words reads better as one text
)
CHANGE_PARTS = (
    "现在", "改为", "改成", "换成", "变成", "变更", "不再", "调整", "更新为", "推迟", "已经", "升级", "改到",
    "改用", "搬到", "转到", "迁移", "提高到",
    "現在は", "変更", "になりました", "に変わ", "延期", "ではなく", "切り替え", "移行", "引き上げ", "引き下げ", "今は",
    "이제", "변경", "바뀌", "바뀐", "더 이상", "대신", "연기", "옮겼", "지금은",
)  # fmt: skip

DENIALS = frozenset(
    """not no never none without cannot dont doesnt isnt arent wont nicht kein keine keinen nie niemals ohne pas jamais
    sans aucun aucune nunca sin ningun ninguna niet geen nooit""".split()  # noqa: SIM905
)
NEGATIONS = DENIALS | frozenset("disabled off non mai senza nao sem не нет никогда без nigdy degil yok नहीं לא".split())  # noqa: SIM905

# Of each line one word names another thing than the next does: the test server and the live one.
AXES = (
    "staging stage production prod produktiv live dev development test testing preview qa sandbox localhost canary uat",
    "ios android windows macos mac linux ubuntu debian web desktop mobile",
    "frontend backend",
    "client server",
    "eu us usa uk apac emea europe america asia east west north south",
    "read write reads writes",
    "inbound outbound incoming outgoing",
    "upload download uploads downloads",
    "internal external",
    "public private",
    "primary secondary replica standby",
    "free paid basic pro team enterprise premium starter plus business",
    "admin user guest",
    "hourly nightly daily weekly monthly quarterly yearly annual",
    "left right",
    "summer winter spring autumn",
    "morning evening noon",
    "min max minimum maximum",
    "unit integration load smoke",
    "home office work",
)  # fmt: skip
AXIS_OF = {word: place for place, words in enumerate(AXES) for word in words.split()}

# Words that belong to nothing in particular: what shares only these does not speak of the same.
GENERIC = frozenset(
    """decision decided decide decides choose chose chosen use uses used using run runs running ran written write
    writes set sets setting keep keeps kept like likes prefer prefers want wants user users people please always
    must may can will need needs work works live lives go goes do does done make makes take takes have has get gets
    our my your their the thing things note notes info called name named about because since so per each every all
    any only own new old day days week weeks month months year years hour hours minute minutes second seconds time
    number value main""".split()  # noqa: SIM905
)

COPULAS = frozenset(
    """is are was were be been has have had may can will must should shall do does did ist sind war waren hat haben
    wird werden wurde kann soll muss est sont etait a ont es son era esta estan e ha sono zijn""".split()  # noqa: SIM905
)
# Words of the part of a sentence that says something of its subject.
VERBS = COPULAS | frozenset(
    """betragt kostet liegt wohnt coute sera doit tiene cuesta trabaja vive costa deve kosten heeft
    runs uses lives costs listens expires starts ends begins takes leads owns works serves""".split()  # noqa: SIM905
)

TITLED = frozenset("frau herr dr prof familie tante oma opa".split())  # noqa: SIM905 - as above
_OF_ONE = ("s", "t", "d")
ARTICLES = frozenset("the der die das le la el il o a".split())  # noqa: SIM905 - as above
MINE = frozenset("my our mein meine unser unsere mi nuestro nuestra mon ma notre".split())  # noqa: SIM905 - as above
# As in "Anna leads the team": of these there is one, so that another who does it has taken over.
ROLES = MINE | frozenset(
    """lead leads head heads own owns maintain maintains manage manages handle handles responsible charge contact
    primary default main favourite favorite only sole official standard chosen
    leitet verantwortlich zustandig responsable dirige""".split()  # noqa: SIM905
)
# What began with these took place and was over: a line of a log, a meeting.
OCCASIONS = frozenset(
    "meeting sync standup retro retrospective call minutes besprechung reunion lunch dinner".split()  # noqa: SIM905
)
HAPPENINGS = OCCASIONS | frozenset(
    """deployed fixed finished completed met discussed talked shipped ran merged restarted restored read watched visited
    incident measured closed resolved investigated""".split()  # noqa: SIM905
)
# What was meant to be, and what came: neither is a newer version of the other.
_MEANT = regex(
    r"\b(?:aim(?:s|ed|ing)?|goals?|budget(?:ed)?|estimate[ds]?|estimation|forecast|expect(?:s|ed|ing)?|hope[ds]?|"
    r"hypothesis|intend(?:s|ed)?|planned|plans? (?:is|was|to)|predict(?:s|ed|ion)?|quote[ds]?|recommend(?:s|ed)?|"
    r"scheduled|supposed|wants? to|meant to|ziel|schatzung|geschatzt|erwarten|erwartet|empfohlen|empfiehlt|geplant|"
    r"vorgesehen|kostenvoranschlag|hypothese|objectif|estime|prevu|recommande|objetivo|presupuesto|previsto|estimado)\b"
)
_CAME = regex(
    r"\b(?:took (?!over)|came (?:to|through|in)|ended|finished|lasted|arrived|landed|shipped with|spent|kept \S+ |"
    r"in the end|so far|turned out|actual(?:ly)?|(?:is|are) at \d+ ?(?:%|percent)|dauerte|kostete|brauchte|am ende|"
    r"ergebnis|bisher|a dure|a coute|finalement|costo|al final|resultado)"
)
# What tells of one time alone, or of what is only wanted: neither takes the place of what holds.
_ONE_TIME = regex(
    r"\b(?:(?:this|last|next) (?:week|month|year|time|spring|summer|autumn|fall|winter)|today|yesterday|tomorrow)'s\b|"
    rf"\b(?:was|were|took place|fand|war|a eu lieu|fue) (?:held )?(?:on |am |le |el )?(?:{'|'.join(sorted(DAYS))})\b"
    r"(?!.*\b(?:is|are|ist|sind|est|es|moved)\b)|"
    r"\A\W*(?:one )?exception\b|\b(?:exceptionally|just this once|only this (?:once|time|week)|ausnahmsweise|"
    r"exceptionnellement|excepcionalmente)\b"
)
_DAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_THIS_DAY = regex(rf"(?<!from )(?<!since )\bthis {_DAY}\b(?! on\b)")
_JUST_ONCE = regex(
    r"\b(?:(?:just|only) (?:that|this) (?:once|time|day|evening|night|weekend|week|month)|once only|"
    r"only once(?! (?:an?|per|every|each|in)\b)|"
    r"this one (?:time|day|evening|week|month)|(?:a|one) single (?:time|favour|favor|occasion)|one[- ]off|"
    r"nur (?:dieses|das) eine mal|nur einmal(?! (?:pro|im|am|in|je)\b)|une seule fois|solo (?:esta|una) vez)\b"
)
_WANTED = regex(
    r"\A\W*(?:the |our |my |\w+'s )?(?:(?:new|next) )?(?:goals?|targets?|aims?|ziele?|objectifs?|objetivos?|metas?)\b|"
    r"\b(?:wants?|would like|hopes?|aims?|plans?|intends?) to (?!be called\b)\w|"
    r"\b(?:mochten?|wollen|voudr\w+|voulons|queremos|quisiera)\b"
)
_FOR = regex(r",\s(?:since|as|for|so|da|car|puisque|ya que|pues)\s")  # a reason, where a comma stands before it
_MOVED = CHANGE_WORDS - {"took", "new", "newer", "longer", "left", "since", "again"}  # a plan that changed is not over
# What follows tells why, and is no part of the statement.
WHY = "because|so that|due to|as long as|weil|damit|denn|parce que|porque|perch[e\u00e9]"

SINCE = frozenset(("from", "since", "as", "ab", "seit", "depuis", "partir", "desde"))
PAID = frozenset(("paid", "bezahlt", "uberwiesen", "paye", "pague", "pagamos"))  # each time anew
CODE = regex(r"[a-z]{2,}-\d{2,}")  # of an incident, say
Kind = Literal["word", "name", "value"]

LONGEST, MOST_WORDS = 400, 60  # characters and words of a text that are looked at
STEM = 6  # letters of a word that are compared
_SENTENCE = regex(r"(?<=[.!?])\s+|[\u3002\uff01\uff1f]|\n+|;\s")
TOKEN = regex(rf"\d[\d.,:]*\d%?(?![\w-])|[^\W_](?:[\w{SIGNS}.:/@+'\u2019%-]*[\w{SIGNS}%+])?|/[\w/.-]+|:")
_SAID = regex(rf"[\w{SIGNS}]+(?:'[\w{SIGNS}]+)?")
_EQUALS = regex(r"(?<=\w)(?: = |=(?=\w))")  # "workers = 4"
_POINT_OF_A_WORD = regex(  # it ends no sentence: "Dr. Wendt", "1. Oktober"
    rf"\b({ABBREVIATIONS}|(?<=\s)\d{{1,2}}(?=\.\s(?:bis|und|{GERMAN_MONTHS})))\."
)
_ENDINGS = regex(r"(?<=\w{3})(?:ings?|ied|ies|ed|es|ers?|ments?|s|e|y)\Z")
_CHAT = regex(r"[!?\uff01\uff1f](?:\s|\Z)|\A\W*(?:hey|hi|hello|wow|thanks|thank you|yeah|yep|sure|oh)\b", re.IGNORECASE)
_ASIDE = regex(r",\s+(?=(?P<it>(?:it|they|he|she|we|this|which)\s)|\w+\s(?:is|are|was|were|has|have)\s)", re.IGNORECASE)
LEAST_BEFORE = 4  # words before an aside, or a reason
_CONTRACTED = frozenset("it that this what who where when how there here let he she".split())  # noqa: SIM905 - as above
_PRONOUNS = frozenset("I")
EDGES = ".:/'\u2019"  # of a token
_NUMBER = regex(r"\d[\d.,:/-]*")
_INNER = regex(r"\w[/.:@]\w")
UNSPACED = regex("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3]")
_TOPIC_MARK = regex("[はが是有在는은이가]")
CHANGING = "these days|from now on|any ?more|after all|as of|ab sofort|ya no|plus de"
_CHANGES = regex(rf"\b(?:{CHANGING})\b", re.IGNORECASE)
_WHY = regex(rf"[,;]?\s\b(?:{WHY}|потому)\b", re.IGNORECASE)
_DATED_LINE = regex(r"\W*(?:\d{1,2}\.? (?P<before>\w+)|(?P<after>\w+) \d{1,2})(?:,? \d{4})?:\s")
_AT_AN_HOUR = regex(r"\W*\d{1,2}\.? [^\W\d_]{3,9},? (?:at |um )?\d{1,2}[:.]\d\d\b")  # "4 December, 14:40"
_VERB_ENDINGS = ("ed", "es", "ts", "ds", "ns", "ks", "hs")
KINDS = frozenset({"users", "things"})  # one of many, where the singular says no more than "somebody"
_STATES = regex(r"\b(?:is|are|takes?|will|ist|sind|est|es)\b")
_PAST_FORM = regex(r"(?!(?:sh|ahm|m[ou]h\w+m|(?:al|man|wil|wini)?fr|jar)ed)\w+(?:[^e]|gre|fre|nte)ed")  # no "feed"
# Between two clauses. The first one may only say of what the second is: "Bar next door: ...", "For the study, ...".
_AND = "(?:so|and|but|und|aber|y|pero|et|mais)"
_CLAUSE = regex(rf"(?<=[.!?;])\s+|\n+|:\s+|,\s+(?:{_AND}\s+)?|\s+{_AND}\s+")
_OF_WHAT = regex(
    r"(?:for|at|in|on|with|of|from|during|f\u00fcr|bei|im|am|an|auf|mit|pour|chez|dans|para|con)\b", re.IGNORECASE
)
_LEAST_CLAUSE, _LEAST_TOPIC = 3, 4  # words of a clause, and of one before a colon
_EVERY = (
    rf"{_DAY}s|(?:every|each) (?:\w+ )?{_DAY}|daily|weekly|monthly|(?:jede[nrsm]?|immer) \w*(?:tag|woche)s?|"
    r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s|(?:chaque|cada|tous les|todos los) \w+"
)
_HOURS = "|".join(word for word in NUMERALS if len(word) > 2)  # noqa: PLR2004 - "a" is none here
_CLOCK = rf"(?:\d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]m| ?uhr)?|half|noon|{_HOURS})"
# What is said of an occasion that comes round, and what stands behind a colon then.
_COMES_ROUND = regex(  # of one with somebody only where it says how often: else it is that very one
    rf"\b(?:{_EVERY}|every|always|usually)\b|\A(?!.*\b(?:with|mit|avec|con)\b).*\b(?:costs?|goes|comes|moves?|moved|"
    rf"starts?|begins?|ends?|lasts?|raised|kostet|beginnt|dauert|co[uû]te|commence|cuesta|empieza|"
    rf"(?:at|from|um|ab|a las) {_CLOCK})\b",
    re.IGNORECASE,
)
_TIMETABLE = regex(
    rf"(?:the |on |am )?(?:{_EVERY}|{_DAY}(?: (?:at )?{_CLOCK}|\Z)|\d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]m| uhr)?"
    r"(?: (?:to|till|until|bis) |-|\W*\Z))",
    re.IGNORECASE,
)
_PLACING = frozenset("in at on for within inside im bei auf fur dans chez sur pour en para a".split())  # noqa: SIM905 - as above
_VERBS_FIRST = frozenset(
    """prefers prefer likes like wants want uses use keeps keep needs need always never please write run set has have
    remind answer drinks eats lives works speaks""".split()  # noqa: SIM905
)


def stem(word: str) -> str:
    """What is compared of a folded word."""
    return _ENDINGS.sub("", word)[:STEM]


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its `stem` is what is compared, `text` is folded; `subject` says that it stands before the verb.

    A `generic` word belongs to nothing in particular; with `alone` it stands in a subject of generic words, which are
    then what it is about.
    """

    stem: str
    text: str
    kind: Kind
    subject: bool
    alone: bool = False

    @property
    def generic(self) -> bool:
        return self.stem in GENERIC_STEMS and self.text not in KINDS and not self.alone


@dataclass(frozen=True, slots=True)
class Statement:
    """`words` are those of the first sentence that say something, `stems` those of the first three, of any kind.

    `topics` is what it may be about: words of the first sentence that belong to something in particular, no values.
    `meant`: what it tells of was planned, estimated or hoped for; `came`: it took place, or is so by now. `one_time`:
    it was so once alone; `wanted`: it is an aim.
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
    meant: bool
    came: bool
    one_time: bool
    wanted: bool


GENERIC_STEMS = frozenset(map(stem, GENERIC))


def statement(content: str) -> Statement:
    """What the beginning of a text states."""
    return _statement(content[:LONGEST])


@lru_cache(2048)  # one note is compared with many, and is found by many questions; the rest of a text is not kept
def _statement(content: str) -> Statement:
    said_first = sentences(content)
    head = _WHY.split(said_first[0], maxsplit=1)[0] if said_first else ""
    aside = _ASIDE.search(head)
    before = head[: aside.start()] if aside else ""
    if aside and len(before.split()) >= LEAST_BEFORE and (not aside["it"] or any(map(str.isdecimal, before))):
        head = before  # "it" may say what the matter has become
    words = _words(head)
    rest = [word for sentence in said_first[1:3] for word in _words(sentence)]
    plain = typewritten(head)
    said = _SAID.findall(plain)
    is_changed = bool(CHANGE_WORDS & set(said) or _CHANGES.search(head)) or any(part in head for part in CHANGE_PARTS)
    is_case = bool(_ONE_TIME.search(plain) or _JUST_ONCE.search(folded(content)))
    return Statement(
        words=tuple(words),
        topics=frozenset(word.stem for word in words if not word.generic and word.kind != "value"),
        stems=frozenset(word.stem for word in (*words, *rest)),
        values=frozenset(word.stem for word in words if word.kind == "value"),
        names=frozenset(word.stem for word in words if word.kind == "name"),
        negated=_is_negated(said),
        changed=is_changed,
        happened=_happened(head) or _is_dated(content),
        chatty=bool(_CHAT.search(content[:LONGEST])),
        role=bool(ROLES & {token.strip(".:") for token in folded(head).split()}),
        meant=_MEANT.search(folded(head)) is not None,
        came=_CAME.search(folded(head)) is not None and _MOVED.isdisjoint(said),
        one_time=is_case or (not is_changed and (_THIS_DAY.search(plain) or _AT_AN_HOUR.match(plain)) is not None),
        wanted=_WANTED.search(_FOR.split(plain, maxsplit=1)[0]) is not None,
    )


def sentences(content: str) -> list[str]:
    """The sentences of the beginning of a text, without marks of its form."""
    parts = _SENTENCE.split(_plain(content[:LONGEST]))
    return [part.strip() for part in parts if re.search(r"\w", part)]


def _plain(content: str) -> str:
    """Without heading marks, emphasis and list marks; what is equal to something is told of it, as behind a colon."""
    plain = re.sub(r"[`*_#>\[\]()\"\u201c\u201d\u201e]+", " ", re.sub(r"(?m)^\s*(?:[-*+>#]+\s+)+", "", content))
    return unpointed(_EQUALS.sub(": ", plain))


def unpointed(text: str) -> str:
    """The text without points that end no sentence, as in "Dr. Wendt"."""
    return _POINT_OF_A_WORD.sub(r"\1", text)


def clauses(text: str) -> list[str]:
    """The clauses of a text; none where the first only says of what the next one is."""
    text = unpointed(text)
    parts, start = list[str](), 0
    for end in _CLAUSE.finditer(text):
        words, is_sentence = text[start : end.start()].split(), text[end.start() - 1] in ".!?;" or "\n" in end[0]
        if end[0].strip().isalpha() and len(words) < _LEAST_CLAUSE:  # "Anna and Ben play": one clause
            continue
        is_topic = len(words) < _LEAST_TOPIC if ":" in end[0] else not is_sentence and _OF_WHAT.match(text)
        if not parts and is_topic:
            return []
        parts.append(" ".join(words))
        start = end.end()
    parts.append(text[start:])
    first, *rest = (part.strip(" .,;:") for part in parts)
    return [first, *(part for part in rest if len(part.split()) >= _LEAST_CLAUSE)]


def _is_negated(words: list[str]) -> bool:
    return any(word.replace("'", "") in NEGATIONS or word.endswith("n't") for word in words)


def _happened(head: str) -> bool:
    """Whether it tells of what took place, and not of how a meeting that comes round is held, or what a lunch costs."""
    words = [folded(token) for token in TOKEN.findall(head)]
    begins = HAPPENINGS.intersection(words[:3])
    name, colon, rest = head.partition(": ")
    comes_round = _TIMETABLE.match(rest) if colon else _COMES_ROUND.search(name.partition(",")[0])
    if comes_round and begins and OCCASIONS.issuperset(HAPPENINGS.intersection(words)):
        return False
    first = words[0] if words else ""  # "Painted pier 3"
    if _PAST_FORM.fullmatch(first) and first not in CHANGE_WORDS and stem(first) not in GENERIC_STEMS:
        return ": " not in head and not _STATES.search(head)
    return bool(begins) and (": " in head or not _STATES.search(head))


def _is_dated(text: str) -> bool:
    """Whether it begins with a day, as lines of a log do: "2026-05-12", "12 May: ", "May 12: "."""
    if re.match(r"\W*\d{4}-\d\d-\d\d", text):
        return True
    named = _DATED_LINE.match(text)
    return named is not None and folded(named["before"] or named["after"]) in DAYS | {"may"}


def _words(sentence: str) -> list[Word]:
    tokens = TOKEN.findall(sentence)[:MOST_WORDS]
    end, names = end_of_subject(tokens), names_like_grammar(sentence)
    words: list[Word] = []
    for place, token in enumerate(tokens):
        plain = bare(token)
        is_named = plain in names or _is_label(token, place) or (is_owner(token) and plain not in _CONTRACTED)
        if not plain or (_says_nothing(plain, token) and not is_named):
            continue
        if UNSPACED.search(plain):
            words += _pieces(plain, first=place == 0)
            continue
        words.append(_word(token, plain, tokens[place - 1] if place else "", place, end))
    subject = [word for word in words if word.subject]
    if 0 < len(subject) < len(words) and all(_is_generic_noun(word) for word in subject):
        words = [replace(word, alone=word.subject) for word in words]
    return words


def _is_generic_noun(word: Word) -> bool:
    return word.generic and not word.text.endswith("ed") and word.text not in _VERBS_FIRST


def _pieces(run: str, *, first: bool) -> list[Word]:
    """The pairs of signs of a text without spaces; the subject ends at the particle that marks it."""
    mark = _TOPIC_MARK.search(run)
    head = set(query_terms(run[: mark.start()])) if mark else set()
    return [
        Word(piece, piece, "value" if any(map(str.isdigit, piece)) else "word", first and piece in head)
        for piece in query_terms(run)
        if piece not in CHANGE_PARTS
    ]


def _is_label(token: str, place: int) -> bool:
    """A letter that tells one of several things, as in "Incubator A"; "I" is a pronoun."""
    return place > 0 and len(token) == 1 and token.isupper() and token not in _PRONOUNS


def is_owner(token: str) -> bool:
    """A name that may be a word as well, as in "Ben's birthday"; so is "It's" spelled."""
    return token[:1].isupper() and token.endswith(("'s", "\u2019s"))


def bare(token: str) -> str:
    """A token as it is compared, without what is not its word."""
    return folded(without_owner(token.strip(EDGES)))


def _says_nothing(plain: str, token: str) -> bool:
    if (
        plain in DAYS
        or plain in NUMERALS
        or plain in ORDINALS
        or (len(token) > 1 and token.isupper())
        or (plain in AXIS_OF and (plain != "us" or token.isupper()))
    ):
        return False
    return plain in CHANGE_WORDS or plain in STOP_WORDS or plain in FRAME_WORDS


def _word(token: str, plain: str, before: str, place: int, end: int) -> Word:
    subject = place < end
    numbered = folded(before).rstrip(".:s") in NUMBERED or folded(before) in NUMBERED
    if _NUMBER.match(plain) or plain in NUMERALS:
        value = NUMERALS.get(plain, plain.replace(",", ""))
        return Word(value, plain, "name" if numbered else "value", subject)
    if plain in DAYS:
        return Word(stem(plain), plain, "value", subject)
    if any(sign.isdigit() for sign in plain):
        return Word(plain, plain, "name", subject)
    if plain in ORDINALS:
        return Word(plain, plain, "value" if place else "name", subject)
    is_name = any(sign.isupper() for sign in token[1:]) or (token[:1].isupper() and place > 0) or "/" in plain
    compared = plain if is_name and _INNER.search(plain) else stem(plain)  # paths begin alike
    return Word(compared, plain, "name" if is_name else "word", subject)


def named_first(tokens: list[str], plain: list[str], others: AbstractSet[str]) -> str:
    """The stem of the name that a text begins with, as in "Anna takes 5 mg" and "Anna's dose"; empty where none does.

    An ordinary noun mostly has an article, or one that belongs to it: "failed jobs are retried". A title before the
    name is passed over; a surname may follow, or what the one is: "Otis the cat". `others` are words that name nobody.
    """
    begin = 1 if plain and plain[0] in TITLED else 0
    names, following = tokens[begin : begin + 1], plain[begin + 1 : begin + 3]
    if not names or not names[0][:1].isupper() or not following:
        return ""
    name = without_owner(plain[begin])
    if name in others or not name.isalpha():
        return ""
    if name != plain[begin] or following[0] in ARTICLES:
        return stem(name)
    rest = tokens[begin + 1 :]
    if rest[0].istitle() and rest[1:] and begin == 0:
        following, rest = plain[2:4], rest[1:]
    is_of_one = following[0].endswith("s" if name.endswith("s") else _OF_ONE)  # of what one does, not several
    is_name = names[0][1:].islower() and rest[0].islower()
    is_told = not COPULAS.isdisjoint(following[1:]) and following[1:] != ["a"]  # an article rather than the French verb
    return stem(name) if is_name and is_of_one and not is_told else ""


def end_of_subject(tokens: list[str], claimed: int = MOST_WORDS) -> int:
    """The place of the first word that is no part of the subject: a colon, a verb, what has a verb's ending.

    "In tollgate the invoice is …" is about the invoice in tollgate; "in May the rent is …" says when. Only the words
    that are `claimed` are looked at, before what explains: "Ida wears size 30, no laces".
    """
    plain = [folded(token).rstrip(".,") for token in tokens[:claimed]]
    if plain and plain[0] in _VERBS_FIRST:
        return 0
    for place, word in enumerate(plain):
        if _is_label(tokens[place], place) or _is_behind_its_place(plain, place):
            continue
        if word.endswith(":") or (place and word in VERBS):
            return place
        if place and plain[place - 1] not in STOP_WORDS and _may_be_verb(word, place):  # as in "for users": none
            return place
    return len(plain) // 2


def _is_behind_its_place(plain: list[str], place: int) -> bool:
    """Whether a word begins what is told of a place, which the sentence names before."""
    is_article = place > 1 and (plain[place] in ARTICLES or plain[place] in MINE)
    return (
        is_article
        and plain[0] in _PLACING
        and not any(word in DAYS or word == "may" or word[:1].isdigit() for word in plain[1:place])
    )


def _may_be_verb(word: str, place: int) -> bool:
    if stem(word) in GENERIC_STEMS:
        return word not in AXIS_OF and word not in NUMBERED
    return place > 1 and word.endswith(_VERB_ENDINGS) and word not in DAYS


# What a sentence says beside its claim: "…, because the old contract had become too expensive", "… (see the mail)". It
# is left where it tells a value, or ends no sentence.
_REASON = regex(
    rf"(?:[,;]?\s(?:(?:{WHY}|потому|according to|gemäß|selon|según)\b|laut (?=(?-i:[A-ZÄÖÜ])|de[rmns]\b|unser|mein))"
    r"[^,.;!?()\d\n]*(?=\Z|\n|[.!?]+(?:\s|\Z)|[,;]\s)|\s\((?:see|siehe|voir|véase|cf)\b[^()\d\n]*\))",
    re.IGNORECASE,
)
_A_VALUE = regex(rf"\b(?:{'|'.join(sorted(DAYS | NUMBER_WORDS.keys()))})\b")


def without_reasons(text: str) -> str:
    """A text without what it says beside its claims, as reasons and sources."""

    def kept(found: re.Match[str]) -> str:
        is_told = text[: found.start()].count(" ") < LEAST_BEFORE - 1 or _A_VALUE.search(folded(found[0]))
        return found[0] if is_told else ""

    return _REASON.sub(kept, text)


# --- what was to be done --------------------------------------------------------------------------

_HAS_HAPPENED = regex(
    r"\b(?:done|bought|brought|paid|sent|got|made|sold|told|met|wrote|written|built|taken|took|put|gave|given|swept|"
    r"held|(?!need|us|nam|bas|block|delay|postpon|fail|tri|start|mov|schedul|plann|requir|suppos|(?:red|bed|shed)\b)"
    r"[a-z]{2,}ed|erledigt|fertig|(?:auf|ab|an|ein|aus|weg)?ge[a-z]{3,}(?:t|en)|[a-z]{2,}iert|fait|a ete|ont ete|hecho|"
    r"[a-z]{2,}ado)\b"
)
_NOT_YET = regex(
    r"\b(?:not|never|yet|still|must|should|will|would|to be|needs?|have to|has to|half|part(?:ly|ially)?|each|every|"
    r"always|usually|nicht|noch|muss|immer|jede\w|pas|encore|doit|chaque|no|todavia|aun|debe|cada)\b|n't\b"
)
_PAST = {  # of verbs whose stems differ
    "buy": "bought", "bring": "brought", "pay": "paid", "send": "sent", "get": "got", "make": "made", "sell": "sold",
    "tell": "told", "meet": "met", "write": "wrote", "build": "built", "take": "took", "give": "gave", "hold": "held",
}  # fmt: skip
_HOW_FAR, _MOSTLY = 120, 0.6  # characters, in which a text says what it is; of the words of what was to do


def tells_it_is_done(task: str, newer: str) -> bool:
    """Whether a text tells that a task, which is told without its label, was done."""
    plain = lowered(newer[:_HOW_FAR])
    if not _HAS_HAPPENED.search(plain) or _NOT_YET.search(plain):
        return False
    wanted, stems = {word.stem for word in statement(task).words}, statement(newer).stems
    told = {word for word in wanted if word in stems or _PAST.get(word) in stems}
    return len(told) > 1 and len(told) >= _MOSTLY * len(wanted)


_BROKE = regex(
    r"\b(?:crashed|failed|stalled|leaked|broke|timed out|(?:was|were|went) down|ist ausgefallen|fiel aus|sturzte ab|"
    r"est tombee?|s'est arretee?|se cayo|fallo|se averio)\b"
)
_TO_DO = regex(  # by its label; "we have to ..." may be a rule that holds
    r"\W*(?:(?:open |next )?(?:to[- ]?do|task|action item)s?\b(?:(?: for| in| by| before)\b[^.:;!?\n]{1,30}:|"
    r" ?[:(\u2013-])|still to (?:do|be done)\b|"
    r"remind(?:er\b(?: to\b|:)?| me\b| us\b)|noch zu (?:tun|erledigen|machen)\b|zu erledigen\b|"
    r"(?:encore )?a faire\b|(?:tareas?|pendientes?) ?:|por hacer\b)"
)


@lru_cache(4096)
def kind_of(text: str) -> Literal["", "task", "breakdown"]:
    """What a text is that tells of no lasting fact: something to do, or what broke, and not what changed for it."""
    plain = lowered(text[:_HOW_FAR])
    if _TO_DO.match(plain):
        return "task"
    broke = _BROKE.search(plain) is not None and not statement(text).changed
    return "breakdown" if broke else ""


def is_done(older: str, newer: str) -> bool:
    """Whether the older text says by its label that something is to do, and the newer one that this was done."""
    label = _TO_DO.match(lowered(older[:_HOW_FAR]))
    return label is not None and not kind_of(newer) and tells_it_is_done(older[label.end() :], newer)
