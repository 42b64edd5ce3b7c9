"""What speaks against a note that is like a question: a value that it lacks, or another value than the one asked about.

"How often are webhooks retried?" asks for a frequency, and a note that names none hardly answers. "What did the server
cost in September?" is not answered by October's bill. Both are signals and no rules: each multiplies the odds that a
note is relevant by a factor that was fitted on half A of the bench's questions (docs/measured.md says how), so a note
that is very near stays strong, and a doubtful one says why.

Only what a question's own words say plainly is looked at, in English, German, French and Spanish; in other languages
nothing is asked for that could be missed, and nothing speaks against a note.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from holdfast.model.identifiers import NOT_ENGLISH
from holdfast.model.note import Note
from holdfast.model.when import spans as say
from holdfast.model.words import STOP_WORDS, any_of, folded, own_lines, query_terms, written_as_names

ANOTHER: Final = 0.05  # where another value of the same sort is: e^-2.5 was fitted, with wide bounds
SIBLING: Final = 0.3  # where another name stands before the same word, which may be another name of the same thing
EARLIER: Final = 0.4  # where that is of an earlier time, which may have held on
VALUE_WORDS: Final = frozenset(  # of questions, for values that a note gives in other words
    "day date time month year weekday cost price much many often long number tag datum preis jour prix".split()  # noqa: SIM905
)
_LONGEST: Final = 1200  # characters of a note that are looked at whole
_AROUND: Final = 400  # on each side of the question's words in a longer one
_MOST_PLACES: Final = 6
_SUREST: Final = 0.999  # odds are counted up to here
_KNOWN: Final = 3  # one in so many of the other words must be known, where a name is called strange

Sort = Literal["price", "figure", "frequency", "duration", "time"]
# Of the odds are left where a note has nothing of the sort; forms that are hard to overlook in a text count more.
LACKING: Final[Mapping[Sort, float]] = {"price": 0.06, "figure": 0.15, "frequency": 0.06, "duration": 0.06, "time": 0.3}

_BEGIN = r"\A\W*(?:(?:and|so|but|und|et|y)\s+)?"
_ASKS: Final[tuple[tuple[Sort, re.Pattern[str]], ...]] = (
    ("frequency", re.compile(r"\bhow (?:often|frequently)\b|\bwie (?:oft|haufig)\b|\bcada cuanto\b")),
    ("duration", re.compile(r"\bhow long\b|\bwie lange\b|\bcombien de temps\b|\bcuanto tiempo\b")),
    (
        "price",
        re.compile(
            r"\bhow much (?:is|was|are|were)\b|\bhow much\b.*\b(?:cost|charge|pay|paid|spend|spent)\b"
            r"|\bwh(?:at|ich) (?:is |are |was )?(?:\w+ )?price\b"
            r"|\bwhat (?:do|does|did|will|would)\b.*\b(?:cost|charge)\b|\bkoste(?:t|n|te)\b|\bcout(?:e|ent|ait)\b"
            r"|\bcuesta[n]?\b"
        ),
    ),
    (
        "figure",
        re.compile(
            r"\bhow (?:many|much|old|big|large|tall|high|deep|wide|heavy)\b|\b(?:tele)?phone number\b"
            r"|\bwh(?:at|ich) (?:is |are |was )?(?:the |our |its )?(?:\w+ )?(?:port|version|percentage|timeout)\b"
            r"|\bwie (?:viele?|alt|gross|hoch|tief|breit|schwer)\b|\bcombien\b(?! de temps)|\bcuant[oa]s?\b(?! tiempo)"
        ),
    ),
    (
        "time",
        re.compile(
            _BEGIN + r"(?:(?:since|by|until|from|seit|bis|ab|depuis|desde|hasta)\s+)?"
            r"(?:when|wann|quand|cuando|(?:at |on )?(?:what|which) (?:time|day|date|month|year|weekday))\b"
        ),
    ),
)
_GERMAN = frozenset(
    """der die das den dem des ein eine einen wer wie wo wann welche welcher welches warum wieviel ist sind hat haben
    und mit von bei beim zum zur fur nicht wir ich""".split()  # noqa: SIM905
)
_NUMBERS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred
    seventy eighty ninety thousand million dozen half third double once twice single pair couple zero none free
    ein eine zwei drei vier funf sechs sieben acht neun zehn zwolf zwanzig hundert tausend halb doppelt keine kostenlos
    un une deux trois quatre cinq six sept huit neuf dix douze vingt cent mille demi gratuit
    uno una dos tres cuatro cinco seis siete ocho nueve diez doce veinte cien mil medio gratis""".split()  # noqa: SIM905
)
_OFTEN = frozenset(
    """every each daily weekly hourly nightly monthly yearly annually quarterly twice once times per always never
    sometimes rarely regularly cron interval weekdays weekends mondays tuesdays wednesdays thursdays fridays saturdays
    sundays nights jeden jede jedes taglich wochentlich monatlich jahrlich stundlich immer nie einmal zweimal mal
    chaque quotidien hebdomadaire mensuel toujours jamais fois cada diario semanal mensual siempre nunca vez
    veces""".split()  # noqa: SIM905
)
_UNITS = frozenset(folded(word) for word in say.UNITS)
_SUMS = frozenset(
    """ten eleven twelve fifteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million free
    unlimited nothing zwanzig hundert tausend kostenlos vingt cent mille gratuit gratis veinte cien mil""".split()  # noqa: SIM905
)
_LASTING = frozenset("until since forever permanently bis seit immer jusqu depuis hasta desde".split())  # noqa: SIM905
_MONTHS: Final[Mapping[str, int]] = {folded(name): number for name, number in say.MONTHS.items()}
_SHORT = {name: number for name, number in say.SHORT_MONTHS.items() if name not in {"may", "mar", "jan"}}
_TIMES = (
    _UNITS
    | _OFTEN
    | {folded(word) for word in (*say.MONTHS, *say.WEEKDAYS, *say.SEASONS)}
    | set(_SHORT)
    | set(
        """today tomorrow yesterday morning afternoon evening night noon midnight early late soon later until since
        before after while during last next end start beginning recently now currently am pm heute morgen gestern abend
        nacht mittag mitternacht vor nach wahrend ende anfang demain hier matin soir nuit midi avant apres fin debut
        hoy manana ayer noche mediodia antes despues""".split()  # noqa: SIM905
    )
)
_NAMED_MONTH = re.compile(rf"\b(?:{any_of(_MONTHS)})\b")
_CAPITAL_MONTH = re.compile(
    r"\b(?:(?<=\w\s)May|May(?! (?:I|we|you|he|she|it|they|one|our|my|the)\b)|March|Mars|Mai|Mayo|März|Marzo)\b"
)
_UNSURE = frozenset({"may", "march", "mars"})  # words of another sense, where no capital says that they are months
_YEAR = re.compile(r"(?<![\d.,:/-])(?:19|20)\d\d(?![\d.,:/]\d|\d)")
_COUNTED = re.compile(r"([^\W\d_]{2,})[ #]{1,2}(\d{1,6}(?:\.\d+)*)(?![\d%.,:/-]\d|\d|%)")
_YES_OR_NO = re.compile(_BEGIN + r"(?:is|are|was|were|do|does|did|can|may|should|has|have|will|ist|sind|hat)\b")
_WORD, _DIGIT = re.compile(r"[^\W_]+"), re.compile(r"\d")
_SPECIFIC = re.compile(
    r"\W*(?:\w+ )?(?:who|whom|whose|when|where|how|which|wer|wo|wie|wann|welche[rsmn]?|qui|ou|quand|combien|comment"
    r"|quel(?:le)?s?|quien|donde|cuando|cuant[oa]s?|cual)\b"
)
_LASTS = re.compile(
    rf"(?:\d|\b(?:{any_of(_NUMBERS)}|few|several|whole|all))[ -]?(?:\w+[ -])?"
    rf"(?:{any_of(_UNITS)}|seconds?|ms|s|min|h)\b"
)
_DATE = re.compile(  # its digits are no figure that anything comes to
    rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?(?:{any_of(_MONTHS)})\b"
    rf"|\b(?:{any_of(_MONTHS)}) (?:\d{{1,2}}\b(?:, )?)?(?:(?:19|20)\d\d\b)?"
    r"|\b\d{1,2}:\d\d\b|\b(?:19|20)\d\d\b"
)
# Words of which a thing is one alone, as in "the north crane": each line is of one sort, and "=" joins words that mean
# the same. Those with a "-" have the endings of German, French and Spanish adjectives.
_SORTED_OUT: Final = """
    north=northern=nord=nordlich-=norte south=southern=sud=sudlich-=sur east=eastern=ost=ostlich-=este
    west=western=westlich-=ouest=oeste
    left=link-=gauche=izquierd- right=recht-=droit-=derech-
    upper=ober-=superieur-=superior lower=unter-=inferieur-=inferior
    front=vorder-=avant=delanter- back=rear=hinter-=arriere=traser-
    inner=inside=indoor=internal=intern- outer=outside=outdoor=external=extern-
    first=erst-=premier-=primer- second=zweit-=deuxieme=segund- third=dritt-=troisieme=tercer- fourth=viert-=cuart-
    morning=fruh=matin evening=abend=soir night=nacht=nuit=noche afternoon=nachmittag=tarde
    summer=sommer=ete=verano winter=hiver=invierno spring=fruhling=printemps=primavera autumn=fall=herbst=automne=otono
    red=rot-=rouge-=rojo-=roja blue=blau-=bleu-=azul green=grun-=vert-=verde yellow=gelb-=jaune-=amarill-
    black=schwarz-=noir-=negr- white=weiss-=blanc-=blanche brown=braun-=brun-=marron orange
    grey=gray=grau-=gris- purple=violet=lila pink=rosa
    big=large=gross-=grand-=gran small=little=klein-=petit-=pequen-
    old=alt-=vieux=vieille=viej- new=neu-=nouveau=nouvelle=nuev-
    hot=heiss-=chaud-=caliente cold=kalt-=froid-=fri- warm-
    production=prod=live staging=stage development=dev test=testing
    daily=taglich- weekly=wochentlich- monthly=monatlich- quarterly yearly=annual=jahrlich- hourly
    incoming=inbound outgoing=outbound
    public private
    breakfast lunch dinner=supper
    minimum=min=lowest maximum=max=highest
    junior senior
    mother=mutter=mere=madre father=vater=pere=padre sister=schwester=soeur=hermana brother=bruder=frere=hermano
    monday=montag=lundi=lunes tuesday=dienstag=mardi=martes wednesday=mittwoch=mercredi=miercoles
    thursday=donnerstag=jeudi=jueves friday=freitag=vendredi=viernes saturday=samstag=samedi=sabado
    sunday=sonntag=dimanche=domingo
"""
_ENDING = re.compile(r"(?<=\w{2})(?:e[rsnm]?|[ao]s?|es|s)\Z")
_LEAST_PART = 4  # letters that a word of two parts has after the first
_ALIKE = 4  # letters that two forms of one name begin with: "Postgres" and "PostgreSQL"
_MOST_WORDS = 400  # of a text whose neighbours are looked at


# For each of these words its sort and which of it it is.
_WHICH: Final[Mapping[str, tuple[int, int]]] = {
    word: (line, which)
    for line, words in enumerate(_SORTED_OUT.strip().splitlines())
    for which, same in enumerate(words.split())
    for word in same.split("=")
}
_FIRST_PART: Final = re.compile(  # of words like "Winterreifen" and "northbound"
    r"(?:north|nord|south|sud|east|ost|west|upper|ober|unter|vorder|hinter|sommer|summer|winter|nacht|abend)"
    rf"(?=\w{{{_LEAST_PART}}})"
)
_NAMED: Final = re.compile(r"(?<=[^\W_.!?:;] )([A-Z][^\W\d_]{2,})(?:['\u2019]s)? (?=([^\W_]{3,}))")


class Apart(NamedTuple):
    """A thing, by its stem, and which of its sort it is: the "north" one of cranes. `said` is its whole word."""

    thing: str
    which: tuple[int, int]
    said: str


class NamedThing(NamedTuple):
    """A thing, by its stem, with a name before it: "Easter" and "concert". `said` is its whole word."""

    thing: str
    name: str
    said: str


@dataclass(frozen=True, slots=True)
class Sought:
    """What a question plainly asks for, and what it is about: months by number, years, and numbers by the word before.

    `past` says that it asks when something was: the date of a note of that answers. `apart` are things that it tells
    from their like by a word of a sort ("north"), `named` by a name before them.
    """

    sorts: tuple[Sort, ...] = ()
    months: frozenset[int] = frozenset()
    years: frozenset[str] = frozenset()
    numbered: Mapping[str, str] = field(default_factory=dict)
    past: bool = False
    words: tuple[str, ...] = ()
    apart: tuple[Apart, ...] = ()
    named: tuple[NamedThing, ...] = ()

    @property
    def only_siblings(self) -> bool:
        """Whether nothing but the like of a thing speaks against a note: then only strong ones need to be looked at."""
        return not (self.sorts or self.months or self.years or self.numbered)

    @property
    def things(self) -> list[str]:
        return [each.thing for each in self.apart] + [each.thing for each in self.named]


class Doubt(NamedTuple):
    """What is left of the odds that a note is relevant, and why, in a few words."""

    share: float
    why: str


def never_rising(relevances: Sequence[float]) -> list[float]:
    """Relevances of notes in their order, changed as little as is needed so that they never rise.

    Order and relevance are two judgements of one thing. Where a note stands above one of more relevance, both get the
    mean of their log odds, and so on until nothing rises (isotonic regression by pooling adjacent violators). What only
    looks like the question loses by that, and what also stands first by all else gains (docs/measured.md).
    """
    blocks: list[tuple[float, int]] = []
    for worth in relevances:
        mean, size = _log_odds(worth), 1
        while blocks and blocks[-1][0] < mean:
            above, count = blocks.pop()
            mean, size = (above * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    pooled = [0.5 + 0.5 * math.tanh(mean / 2) for mean, size in blocks for _ in range(size)]
    alone = [size == 1 for _, size in blocks for _ in range(size)]
    return [own if is_alone else worth for own, worth, is_alone in zip(relevances, pooled, alone, strict=True)]


def _log_odds(probability: float) -> float:
    likely = min(max(probability, 1.0 - _SUREST), _SUREST)
    return math.log(likely / (1.0 - likely))


def asks_for_one_thing(question: str) -> bool:
    """Whether it asks who, when, where, how or which, and not openly, as "what about X" does."""
    return _SPECIFIC.match(folded(question)) is not None


def is_strange(query: str, extraordinary: AbstractSet[str], unknown: AbstractSet[str]) -> bool:
    """Whether the query names something that no note knows: an extraordinary word written as a name.

    Not so where more extraordinary words are unknown that are not written as names, or where the notes know less than
    a third of the other words: then it is more likely asked in another language, or with slips of the pen.
    """
    strangers = extraordinary & unknown
    names = strangers & written_as_names(query)
    others = set(query_terms(query)) - written_as_names(query)
    return bool(names) and len(strangers) <= 2 * len(names) and 0 < len(others) <= _KNOWN * len(others - unknown)


def named_nowhere(question: str, unknown: frozenset[str]) -> str:
    """A name in it that no note has: an unknown word with a capital, behind the first; empty where there is none.

    Not so where half of the words have a capital, or in German, where every noun has one: then it says nothing.
    """
    words = question.split()
    named = [word for word in words[1:] if word[:1].isupper() and not word.isupper() and len(word) > 2]  # noqa: PLR2004
    named = [word for word in named if not _TIMES.intersection(_WORD.findall(folded(word).removesuffix("s")))]
    if 2 * len(named) >= len(words) or not _GERMAN.isdisjoint(_WORD.findall(folded(question))):
        return ""
    return next((word.strip(".,;:?!") for word in named if unknown.intersection(query_terms(word))), "")


def sought(query: str) -> Sought | None:
    """What of a question can be looked for in a note; None where its words ask for nothing plainly.

    Of a paste only the asker's own lines count: what a log says of its workers and dates is not asked for.
    """
    question = "\n".join(own_lines(query))
    plain = folded(question).replace("\u2019", "'")
    sorts = tuple(sort for sort, pattern in _ASKS if pattern.search(plain))
    asks = not _YES_OR_NO.match(plain)
    found = Sought(
        sorts,
        _months_of(question, plain),
        frozenset(_YEAR.findall(question)),
        _numbered(plain) if asks else {},
        past=re.search(r"\b(?:did|was|were|wurde|war|hat|a ete|fue)\b", plain) is not None,
        words=tuple(word for word in _WORD.findall(plain) if word not in STOP_WORDS),
        apart=tuple(_things_apart(plain)),
        named=tuple(_named_things(question, plain)),
    )
    return None if found.only_siblings and not found.apart and not found.named else found


def against(asked: Sought, note: Note) -> Doubt | None:
    """What speaks against a note that was found; of a long one what stands around the question's words is looked at."""
    if asked.only_siblings and not _may_name(asked, note):
        return None
    is_dated = note.type == "event" or note.event_time is not None  # then it tells when what it says was
    content, happened = note.content, note.happened
    text = f"{note.title}\n{_near(asked, content)}"
    plain = folded(text)
    other = _another(asked, text, plain, happened, is_dated=is_dated)
    if other is not None:
        return other
    sibling = _sibling(asked, text, plain)
    if sibling is not None:
        return sibling
    for sort in asked.sorts:
        if not _has(sort, plain, is_dated=is_dated and asked.past):
            return Doubt(LACKING[sort], f"no {sort}")
    return None


def _may_name(asked: Sought, note: Note) -> bool:
    """Whether a thing that is asked for may stand in it; what is not ASCII has to be folded to be sure."""
    text = f"{note.title}\n{note.content}"
    if not text.isascii():
        return True
    plain = text.lower()
    return any(thing in plain for thing in asked.things)


def _near(asked: Sought, content: str) -> str:
    """A short note whole; of a longer one what stands around the words of the question."""
    if len(content) <= _LONGEST:
        return content
    low = content.lower()
    places = [place for word in asked.words if len(word) > 2 and (place := low.find(word)) >= 0]  # noqa: PLR2004
    near = (content[max(0, place - _AROUND) : place + _AROUND] for place in places[:_MOST_PLACES])
    return "\n".join(near) or content[:_LONGEST]


def _has(sort: Sort, plain: str, *, is_dated: bool) -> bool:
    """Whether a text has a value of a sort, as far as its form tells."""
    digits = _DIGIT.search(plain if sort == "time" else _DATE.sub("", plain)) is not None
    words = frozenset(_WORD.findall(plain)) if not digits or sort == "frequency" else frozenset[str]()
    match sort:
        case "price":
            return digits or not words.isdisjoint(_SUMS)
        case "figure":
            return digits or not words.isdisjoint(_NUMBERS)
        case "frequency":
            counted = digits or not words.isdisjoint(_NUMBERS)
            return not words.isdisjoint(_OFTEN) or (counted and not words.isdisjoint(_UNITS)) or "*" in plain
        case "duration":
            return digits or _LASTS.search(plain) is not None or not words.isdisjoint(_LASTING)
        case "time":
            return digits or is_dated or not words.isdisjoint(_TIMES)


def _another(asked: Sought, text: str, plain: str, happened: str, *, is_dated: bool) -> Doubt | None:
    """Where a note names other values of a sort than the question: "October, not September"."""
    theirs = _months_of(text, plain) if asked.months else frozenset()
    if theirs and not (theirs | {int(happened[5:7])}) & asked.months:
        share = EARLIER if max(theirs) < min(asked.months) else ANOTHER
        return Doubt(share, f"{_named_months(theirs)}, not {_named_months(asked.months)}")
    years = set(_YEAR.findall(text)) | ({happened[:4]} if is_dated else set()) if asked.years else set()
    if years and not (years | {happened[:4]}) & asked.years:
        share = EARLIER if max(years) < min(asked.years) else ANOTHER
        return Doubt(share, f"{', '.join(sorted(years)[:2])}, not {', '.join(sorted(asked.years))}")
    numbers = _COUNTED.findall(plain) if asked.numbered else []
    for word, number in asked.numbered.items():
        others = [other for before, other in numbers if before == word]
        if others and not any(f"{other}.".startswith(f"{number}.") for other in others):
            return Doubt(ANOTHER, f"{word} {others[0]}, not {number}")
    return None


def _months_of(text: str, plain: str) -> frozenset[int]:
    """The months that a text names; words that mean something else as well only with a capital."""
    named = {match.group() for match in _NAMED_MONTH.finditer(plain)} - _UNSURE
    found = {_MONTHS[name] for name in named}
    found |= {_SHORT[word] for word in _WORD.findall(plain) if word in _SHORT}
    return frozenset(found | {_MONTHS[folded(each)] for each in _CAPITAL_MONTH.findall(text)})


def _named_months(months: AbstractSet[int]) -> str:
    names = list(say.MONTHS)[:12]
    return " and ".join(names[number - 1].capitalize() for number in sorted(months)[:2])


def _numbered(plain: str) -> dict[str, str]:
    """Numbers by the word before them, as in "tank 5" and "release 2.5"; not those of dates."""
    return {
        word: number
        for word, number in _COUNTED.findall(plain)
        if word not in STOP_WORDS and word not in _MONTHS and word not in _SHORT and word not in _UNITS
    }


def _sibling(asked: Sought, text: str, plain: str) -> Doubt | None:
    """Where a note speaks of the like of what is asked about, and of that nowhere: of the south crane alone."""
    if not any(thing in plain for thing in asked.things):
        return None
    words = frozenset(_WORD.findall(plain))
    theirs = list(_things_apart(plain)) if asked.apart else []
    named = set(map(_which, words)) | {its.which for its in theirs}
    sorts = {(its.thing, its.which[0]) for its in theirs}
    for mine in asked.apart:
        if mine.which not in named and (mine.thing, mine.which[0]) in sorts:
            return Doubt(ANOTHER, f"another {mine.said}")
    names = [each for each in asked.named if not any(word[:_ALIKE] == each.name[:_ALIKE] for word in words)]
    others = list(_named_things(text, plain)) if names else []
    for each in names:
        if any(its.thing == each.thing for its in others):
            return Doubt(SIBLING, f"another {each.said}")
    return None


@lru_cache(4096)  # each word of each note that was found is asked for
def _which(word: str) -> tuple[int, int] | None:
    return _WHICH.get(word) or _WHICH.get(f"{_ENDING.sub('', word)}-")


def _things_apart(plain: str) -> Iterator[Apart]:
    """Things told apart by a word of a sort beside them, or in one word with them ("Winterreifen")."""
    words = _WORD.findall(plain)[:_MOST_WORDS]
    for place, word in enumerate(words):
        which = _which(word)
        if which:
            for beside in (place - 1, place + 1 + (words[place + 1 : place + 2] == ["s"])):
                if 0 <= beside < len(words) and _is_thing(words[beside]):
                    yield Apart(_ENDING.sub("", words[beside]), which, words[beside])
        elif first := _FIRST_PART.match(word):
            which = _which(first.group()) or _WHICH[f"{first.group()}-"]
            yield Apart(_ENDING.sub("", word[first.end() :]), which, word[first.end() :])


def _named_things(text: str, plain: str) -> Iterator[NamedThing]:
    """Things with a name before them, not where every noun has a capital; the first word of a sentence is no name."""
    if not _GERMAN.isdisjoint(_WORD.findall(plain)):
        return
    for found in itertools.islice(_NAMED.finditer(text), _MOST_WORDS):
        name, thing = folded(found[1]), folded(found[2])
        if _is_thing(thing) and not {name, name.removesuffix("s")} & _TIMES and _which(name) is None:
            yield NamedThing(_ENDING.sub("", thing), name, thing)


def _is_thing(word: str) -> bool:
    is_word = len(word) > 2 and not word[0].isdecimal()  # noqa: PLR2004
    return is_word and not any(word in words for words in (STOP_WORDS, NOT_ENGLISH, _TIMES))
