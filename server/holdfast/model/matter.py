"""Whether two notes speak of the same matter and say something else of it: two versions of one fact.

A pair is such where enough of what they are about is the same, where what differs is a value (a number, a day, a name,
a choice), and where nothing shows that they speak of siblings: of the test server and the live one, of two people, of
two steps. For this the first statement of each note is taken apart: its words in order, what each of them is, and where
the subject ends. Words that announce a change ("no longer", "now") and words that tell siblings apart are listed in the
languages that most notes are in. The weights were fitted on the pairs of bench/currency.py's first half and on DevMem.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal, TypeAlias

from holdfast.model.identifiers import FRAME_WORDS
from holdfast.model.words import STOP_WORDS, folded, query_terms

CHANGE_WORDS = frozenset(
    """
    now nowadays anymore currently instead formerly previously henceforth meanwhile updated update correction corrected
    moved moves changed changes switched raised lowered increased decreased reduced extended shortened renamed
    replaced replaces upgraded downgraded bumped migrated postponed delayed rescheduled slipped pushed promoted
    dropped cut doubled halved tripled resized reversed took became becomes went gone since again left retired removed
    abolished phased sold longer new newer anew lately recently
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
    "现在", "改为", "改成", "换成", "变成", "变更", "不再", "调整", "更新为", "推迟", "已经", "升级", "改到", "提高到",
    "現在は", "変更", "になりました", "に変わ", "延期", "ではなく", "切り替え", "移行", "引き上げ", "引き下げ", "今は",
    "이제", "변경", "바뀌", "바뀐", "더 이상", "대신", "연기", "옮겼", "지금은",
)  # fmt: skip

NEGATIONS = frozenset(
    """not no never none without disabled off cannot dont doesnt isnt arent wont nicht kein keine keinen nie niemals
    ohne pas jamais sans aucun aucune nunca sin ningun ninguna non mai senza nao sem niet geen nooit не нет никогда без
    nie nigdy degil yok नहीं लא לא""".split()  # noqa: SIM905
)

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

# What a number stands behind that names one of many, as in "sprint 12", and no value of a thing.
NUMBERED = frozenset(
    """step phase part week sprint chapter lesson ticket issue bug incident invoice order room node host shard rack
    line level round iteration milestone quarter question task item case customer section page q kw nr no pr epic story
    schritt teil woche kapitel rechnung auftrag raum etape semaine paso semana fase passo batch branch tag
    size build run job release number numero nummer num""".split()  # noqa: SIM905
)

# Words that belong to nothing in particular: what shares only these does not speak of the same.
GENERIC = frozenset(
    """decision decided decide decides choose chose chosen use uses used using run runs running ran written write
    writes set sets setting keep keeps kept like likes prefer prefers want wants user users people please always
    must may can will need needs work works live lives go goes do does done make makes take takes have has get gets
    our my your their the thing things note notes info called name named about because since so per each every all
    any only own new old day days week weeks month months year years hour hours minute minutes second seconds time
    number value main""".split()  # noqa: SIM905
)

# Words of the part of a sentence that says something of its subject.
VERBS = frozenset(
    """is are was were be been has have had may can will must should shall do does did
    ist sind war waren hat haben wird werden wurde betragt kostet liegt wohnt muss kann soll
    est sont etait a ont coute sera doit
    es son era esta estan tiene cuesta trabaja vive
    e ha sono costa deve
    kosten heeft zijn
    runs uses lives costs listens expires starts ends begins takes leads owns runs works serves""".split()  # noqa: SIM905
)

# As in "Anna leads the team": of these there is one, so that another who does it has taken over.
ROLES = frozenset(
    """lead leads head heads own owns maintain maintains manage manages handle handles responsible charge contact
    our my primary default main favourite favorite only sole official standard chosen
    leitet verantwortlich zustandig unser unsere mein meine
    responsable dirige notre mon ma nuestro nuestra mi""".split()  # noqa: SIM905
)
# What began with these took place and was over: a line of a log, a meeting.
HAPPENINGS = frozenset(
    """meeting sync standup retro retrospective call minutes besprechung reunion deployed fixed finished completed met
    discussed talked shipped ran merged restarted restored lunch dinner met read watched visited incident measured
    closed resolved investigated standup""".split()  # noqa: SIM905
)
# What follows tells why, and is no part of the statement.
WHY = ("because", "so that", "due to", "as long as", "weil", "damit", "denn", "parce que", "porque", "perche", "потому")


Kind = Literal["word", "name", "value"]

LONGEST, MOST_WORDS = 400, 60  # characters and words of a text that are looked at
STEM = 6  # letters of a word that are compared
_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\u3002\uff01\uff1f]|\n+|;\s")
_TOKEN = re.compile(r"\d[\d.,:]*\d%?(?![\w-])|[^\W_](?:[\w.:/@+'\u2019%-]*[\w%+])?|/[\w/.-]+|:")
_ENDINGS = re.compile(r"(?<=\w{3})(?:ings?|ied|ies|ed|es|ers?|ments?|s|e|y)\Z")
_CHAT = re.compile(
    r"[!?\uff01\uff1f](?:\s|\Z)|\A\W*(?:hey|hi|hello|wow|thanks|thank you|yeah|yep|sure|oh)\b", re.IGNORECASE
)
_PRONOUNS = frozenset("I")
_NUMBER = re.compile(r"\d[\d.,:/-]*")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7a3]")
_TOPIC_MARK = re.compile("[はが是有在는은이가]")
_CHANGES = re.compile(r"\b(?:these days|from now on|any more|after all|as of|ab sofort|ya no|plus de)\b", re.IGNORECASE)
_WHY = re.compile(rf"[,;]?\s\b(?:{'|'.join(WHY)})\b", re.IGNORECASE)
_DATED_LINE = re.compile(r"\W*(?:\d{1,2}\.? (?P<before>\w+)|(?P<after>\w+) \d{1,2})(?:,? \d{4})?:\s")
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
    def sort(self) -> str:
        """Whether it is a day, a figure or a name; empty for what is none of these."""
        if self.kind != "value":
            return "name" if self.kind == "name" else ""
        return "day" if self.text in _DAYS else "figure"

    @property
    def chosen(self) -> bool:
        """Whether it can be one of many: a value, a name, or what only begins a sentence with a capital."""
        return self.kind != "word" or self.first


@dataclass(frozen=True, slots=True)
class Statement:
    """`words` are those of the first sentence that say something, `stems` those of the first three, of any kind.

    `telling` are the words that belong to something in particular.
    `topics` is what it may be about: words of the first sentence that belong to something in particular, no values.
    """

    words: tuple[Word, ...]
    telling: tuple[Word, ...]
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


def statement(content: str) -> Statement:
    """What the beginning of a text states."""
    return _statement(content[:LONGEST])


@lru_cache(2048)  # one note is compared with many, and is found by many questions; the rest of a text is not kept
def _statement(content: str) -> Statement:
    sentences = _sentences(content)
    head = _WHY.split(sentences[0], maxsplit=1)[0] if sentences else ""
    words = _words(head)
    rest = [word for sentence in sentences[1:3] for word in _words(sentence)]
    telling = tuple(word for word in words if not word.generic)
    said = re.findall(r"\w+(?:'\w+)?", folded(head).replace("\u2019", "'"))
    return Statement(
        words=tuple(words),
        telling=telling,
        topics=frozenset(word.stem for word in telling if word.kind != "value"),
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
    """Whether it begins with a day, as lines of a log do: "2026-05-12", "12 May: ", "May 12: "."""
    if re.match(r"\W*\d{4}-\d\d-\d\d", text):
        return True
    named = _DATED_LINE.match(text)
    return named is not None and folded(named["before"] or named["after"]) in _DAYS | {"may"}


def _words(sentence: str) -> list[Word]:
    tokens = _TOKEN.findall(sentence)[:MOST_WORDS]
    end = _end_of_subject(tokens)
    words: list[Word] = []
    for place, token in enumerate(tokens):
        plain = folded(token.strip(".:/'\u2019").removesuffix("'s").removesuffix("\u2019s"))
        if not plain or (_says_nothing(plain, token) and not _is_label(token, place)):
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


def _is_label(token: str, place: int) -> bool:
    """A letter that tells one of several things, as in "Incubator A"; "I" is a pronoun."""
    return place > 0 and len(token) == 1 and token.isupper() and token not in _PRONOUNS


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
        if _is_label(tokens[place], place):
            continue
        if word.endswith(":") or (place and word in VERBS):
            return place
        if place and plain[place - 1] not in STOP_WORDS and _may_be_verb(word, place):  # as in "for users": none
            return place
    return len(tokens) // 2


def _may_be_verb(word: str, place: int) -> bool:
    if stem(word) in _GENERIC_STEMS:
        return word not in AXIS_OF and word not in NUMBERED
    return place > 1 and word.endswith(_VERB_ENDINGS) and word not in _DAYS


FOLDED, LED, SURE = (
    0.5,
    0.3,
    0.8,
)  # from which likelihood one note stands behind another, comes after it; and beyond doubt
_FEW = 3  # words that differ in one place of a text
_SHORT, _ENOUGH = 10, 2  # words that a text says; topics that two long ones must share
_NEAR = 0.6  # a cosine that tells that two texts are about one thing, where their words hardly do


Slot: TypeAlias = tuple[list[Word], list[Word]]


@dataclass(frozen=True, slots=True)
class Signs:
    """What is seen of a pair, the older first.

    `shared` is how much of the shorter one's topics both have, `topics` how many those are; `changed` that the newer
    tells of a change of what the older one says, `quotes` that it names the older one's value; `differ` that both have
    a value of their own; `siblings` that their subjects are told apart; `plain` that they differ in one place only;
    `moved` that the newer tells of a change of the older one's subject, to another value of its sort;
    `subject_alone` that they share what they are about and nothing of what they say of it.
    """

    likeness: float | None
    shared: float
    topics: int
    changed: bool
    quotes: bool
    replaced: bool
    differ: bool
    opposed: bool
    siblings: bool
    plain: bool
    apart: int
    heads: bool
    length: int
    happened: bool
    chatty: bool
    moved: bool
    subject_alone: bool


def may_speak_of_one(one: Statement, other: Statement) -> bool:
    """Whether two statements have anything in common; most pairs have not, and need no closer look."""
    return not (one.topics.isdisjoint(other.stems) and other.topics.isdisjoint(one.stems))


def may_be_versions(older: Statement, newer: Statement) -> bool:
    """Whether `sameness` can be more than nothing: what rules it out and is seen without a comparison word by word."""
    if older.chatty or newer.chatty or (older.happened and newer.happened):
        return False
    if min(len(older.stems), len(newer.stems)) <= _SHORT:
        return True
    if newer.changed and len(older.topics & newer.topics) >= _ENOUGH:
        return True
    return _are_few(older, newer) and _are_few(newer, older)


def _are_few(one: Statement, other: Statement) -> bool:
    """Whether so few words are only in one of them that the two can differ in one place."""
    return sum(word.stem not in other.stems for word in one.telling) <= _FEW


def signs(older: Statement, newer: Statement, likeness: float | None) -> Signs:
    """What is seen of two statements; `likeness` is the cosine of their vectors."""
    mine, theirs = older.topics, newer.topics
    shared = [len(mine & newer.stems) / max(1, len(mine)), len(theirs & older.stems) / max(1, len(theirs))]
    only_old, only_new = _only(older, newer), _only(newer, older)
    slots = _slots(older, newer)
    differ = any(word.chosen for word in only_old) and any(word.chosen for word in only_new)
    differ = differ and (newer.changed or _are_of_one_sort(only_old, only_new))
    replaced = bool(only_old) and bool(only_new)
    quotes = bool(older.values - newer.values == frozenset() and older.values and newer.values - older.values)
    return Signs(
        likeness=likeness,
        shared=sum(shared) / 2,
        topics=len(mine & theirs),
        changed=newer.changed and (differ or quotes or _say_the_same(older, newer)),
        quotes=quotes,
        replaced=replaced,
        differ=differ,
        opposed=older.negated != newer.negated,
        siblings=_are_siblings(older, newer, only_old, only_new, slots),
        plain=_differ_in_one_place(older, newer, only_old, only_new, slots),
        apart=min(sum(word.kind != "value" for word in only_old), sum(word.kind != "value" for word in only_new)),
        heads=_has_head(only_old) and _has_head(only_new),
        length=min(len(older.stems), len(newer.stems)),
        happened=older.happened and newer.happened,
        chatty=older.chatty or newer.chatty,
        moved=newer.changed and differ and _takes_over(older, newer, only_old, only_new),
        subject_alone=not differ and not _say_the_same(older, newer),
    )


def sameness(seen: Signs) -> float:
    """How likely the pair is two versions of one fact, in 0..1."""
    if seen.siblings or seen.happened or seen.chatty or not (seen.replaced or seen.opposed or seen.changed):
        return 0.0
    if seen.length > _SHORT and not seen.plain and (not seen.changed or seen.topics < _ENOUGH):
        return 0.0  # of two long texts something always differs
    likeness = seen.shared if seen.likeness is None else seen.likeness
    weight = (
        1.6
        + 3.5 * (likeness - 0.6)
        + 2.0 * (seen.shared - 0.6)
        + 1.4 * (min(seen.topics, 4) - 2)
        + 1.8 * seen.changed
        + 1.2 * seen.quotes
        + 1.8 * seen.moved
        + 1.8 * seen.plain
        + 0.8 * seen.opposed
        - 0.7 * min(seen.apart, 6)
        - 1.5 * seen.heads
        - 2.5 * (seen.topics < _ENOUGH and not seen.differ and likeness < _NEAR)
        - 2.5 * (seen.subject_alone and not (seen.changed or seen.plain or seen.quotes or seen.opposed))
        - 0.3 * (seen.length > _FEW and not (seen.plain or seen.changed or seen.quotes))
        - 0.1 * max(0, seen.length - 8)
    )
    return 0.5 + 0.5 * math.tanh(weight / 2)


def _only(one: Statement, other: Statement) -> list[Word]:
    return [word for word in one.telling if word.stem not in other.stems]


def _sorts(only: list[Word]) -> set[str]:
    return {word.sort for word in only if word.sort}


def _are_of_one_sort(only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether days stand against days, and figures against figures: a day is no other version of an amount."""
    mine, its = _sorts(only_old), _sorts(only_new)
    return not (mine and its) or not mine.isdisjoint(its)


def _takes_over(older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word]) -> bool:
    """Whether the newer one's whole subject is the older one's, and each has a value of one sort ("moved to 9:45")."""
    mine, its = (
        {word.stem for word in each.words if word.subject and word.kind != "value" and not word.generic}
        for each in (older, newer)
    )
    return bool(its) and its <= mine and not _sorts(only_old).isdisjoint(_sorts(only_new))


def _say_the_same(older: Statement, newer: Statement) -> bool:
    """Whether both say something of the same of their subject, and do not only share that."""
    return any(not word.subject and not word.generic and word.stem in newer.stems for word in older.words)


def _differ_in_one_place(
    older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word], slots: list[Slot]
) -> bool:
    """Whether one place tells them apart. Where they share their subject alone, it must hold one thing each."""
    if len(slots) != 1 or not all(slots[0]) or max(len(only_old), len(only_new)) > _FEW:
        return False
    if not newer.changed and not _are_of_one_sort(only_old, only_new):
        return False
    return _say_the_same(older, newer) or all(sum(word.kind == "word" for word in side) <= 1 for side in slots[0])


def _has_head(only: list[Word]) -> bool:
    """Whether one of these words tells what the sentence is about."""
    return any(word.subject and word.kind == "word" and not word.generic for word in only)


def _slots(older: Statement, newer: Statement) -> list[Slot]:
    """The places where one text has other words than the other, in order; either side may be empty."""
    mine, theirs = older.telling, newer.telling
    blocks = SequenceMatcher(None, [word.stem for word in mine], [word.stem for word in theirs], autojunk=False)
    return [(list(mine[a:b]), list(theirs[c:d])) for kind, a, b, c, d in blocks.get_opcodes() if kind != "equal"]


def _are_siblings(
    older: Statement,
    newer: Statement,
    only_old: list[Word],
    only_new: list[Word],
    slots: list[Slot],
) -> bool:
    """Whether what differs tells two subjects apart, and not what is said of one."""
    if _on_one_axis(older, newer, only_old, only_new):
        return True
    for place, (mine, theirs) in enumerate(slots):
        ours = [word for word in mine if word.subject and word in only_old]
        its = [word for word in theirs if word.subject and word in only_new]
        if ours and its and _is_identifier(ours[-1]) and _is_identifier(its[-1]):
            return True
        if not ours or not its or ours[-1].kind != its[-1].kind:
            continue
        others = any(left and right for left, right in slots[place + 1 :])
        if others or not (older.role or newer.role or newer.changed):
            return True
    named_old = [word for word in only_old if word.subject and (word.kind == "name" or word.first)]
    named_new = [word for word in only_new if word.subject and (word.kind == "name" or word.first)]
    return bool(named_old and named_new) and len(only_old) > len(named_old) and len(only_new) > len(named_new)


def _is_identifier(word: Word) -> bool:
    """Whether a word is letters with digits, as the names of single things are."""
    return any(sign.isdecimal() for sign in word.text) and any(sign.isalpha() for sign in word.text)


def _on_one_axis(older: Statement, newer: Statement, only_old: list[Word], only_new: list[Word]) -> bool:
    """As staging and production, where something else differs too."""
    mine, theirs = _axes(older), _axes(newer)
    more = any(word.text not in AXIS_OF for word in only_old) and any(word.text not in AXIS_OF for word in only_new)
    return more and any(not mine[axis] & theirs[axis] for axis in mine.keys() & theirs.keys())


def _axes(said: Statement) -> dict[int, set[str]]:
    """The words that tell siblings apart, by what they are siblings in."""
    axes: dict[int, set[str]] = {}
    for word in said.words:
        if word.text in AXIS_OF:
            axes.setdefault(AXIS_OF[word.text], set()).add(word.text)
    return axes
