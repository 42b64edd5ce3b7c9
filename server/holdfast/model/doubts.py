"""What speaks against a note that is like a question: a value that it lacks, or another value than the one asked about.

"How often are webhooks retried?" asks for a frequency, and a note that names none hardly answers. "What did the server
cost in September?" is not answered by October's bill. Both are signals: each multiplies the odds that a note is
relevant by a factor that was fitted on half A of the bench's questions (docs/measured-history.md says how), and leaves
none strong but by what stands beside it (`ranking.levelled`); a doubtful one says why.

"What is Anna's phone number?" asks for an attribute by name. It is known by the words that ask for it and the forms in
which it is told; "who is the landlord of the studio?" is answered where a landlord is spoken of.

Only what a question's own words say plainly is looked at, in English, German, French, Spanish, Italian and Portuguese;
in other languages nothing is asked for that could be missed, and nothing speaks against a note. Only where a newer note
would go ahead of an older one it rules: see `holdfast.model.parts.lack_of`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple, cast

from holdfast.model.identifiers import (
    COUNTED,
    GERMAN,
    OFTEN,
    SURE_MONTHS,
    TIMES,
    UNITS,
    Apart,
    NamedThing,
    exchanged,
    kinds_asked,
    named_things,
    numbered_in,
    says_the_rest,
    shows_another_language,
    things_apart,
    which_of,
)
from holdfast.model.intent import head_of, is_covered
from holdfast.model.note import Note
from holdfast.model.numbers import MONTHS
from holdfast.model.when import spans
from holdfast.model.when.told import DaysAsked, other_days
from holdfast.model.words import STOP_WORDS, any_of, folded, own_lines, regex, relatives, table_parts, typewritten

ANOTHER: Final = 0.05  # where another value of the same sort is: e^-2.5 was fitted, with wide bounds
SIBLING: Final = 0.3  # where another name stands before the same word, which may be another name of the same thing
EARLIER: Final = 0.4  # where that is of an earlier time, which may have held on
VALUE_WORDS: Final = frozenset(  # of questions, for values that a note gives in other words
    "day date time month year weekday cost price much many often long number tag datum preis jour prix".split()  # noqa: SIM905
)
_LONGEST: Final = 1200  # characters of a note that are looked at whole
_AROUND: Final = 400  # on each side of the question's words in a longer one
_MOST_PLACES: Final = 6

Sort = Literal["price", "number", "figure", "frequency", "duration", "time"]
# Of the odds are left where a note has nothing of the sort; forms that are hard to overlook in a text count more.
LACKING: Final[Mapping[Sort, float]] = {
    "price": 0.06, "number": 0.06, "figure": 0.1, "frequency": 0.06, "duration": 0.06, "time": 0.1
}  # fmt: skip

_BEGIN = r"\A\W*(?:(?:and|so|but|und|et|y)\s+)?"
_ASKS: Final[tuple[tuple[Sort, re.Pattern[str]], ...]] = (
    (
        "frequency",
        regex(r"\bhow (?:often|frequently)\b|\bwie (?:oft|haufig)\b|\bcada cuanto\b|\bogni quanto\b|\bquantas vezes\b"),
    ),
    (
        "duration",
        regex(
            r"\bhow long\b|\bwie lange\b|\bcombien de temps\b|\b[cq]uanto ti?empo\b"
            r"|\bquanto (?:dura|durano|ci (?:mette|vuole))\b"
        ),
    ),
    (
        "price",
        regex(
            r"\bhow much (?:is|was|are|were)\b|\bhow much\b.*\b(?:cost|charge|pay|paid|spend|spent)\b"
            r"|\bwh(?:at|ich) (?:is |are |was )?(?:\w+ )?price\b"
            r"|\bwhat (?:do|does|did|will|would)\b.*\b(?:cost|charge)\b|\bkoste(?:t|n|te)\b|\bcout(?:e|ent|ait)\b"
            r"|\bcuesta[n]?\b|\bquanto (?:costa\w*|e cost\w+|cust\w+)\b"
        ),
    ),
    (
        "number",
        regex(
            r"\bhow many\b|\bwie viele\b|\bcombien (?:de |d')(?!temps)|\b[cq]uant[oa]s\b(?! anos| vezes)"
            r"|\bquant[ei]\b(?! ann[io])"
        ),
    ),
    (
        "figure",
        regex(
            r"\bhow much\b(?! (?:is|was|are|were)\b)(?!.*\b(?:cost|charge|pay|paid|spend|spent)\b)"
            r"|\bhow (?:big|large|high)\b|\b(?:tele)?phone number\b"
            r"|\bwh(?:at|ich) (?:is |are |was )?(?:the |our |its )?(?:\w+ )?(?:port|version|percentage|timeout)\b"
            r"|\bwie (?:viel|gross|hoch)\b|\bcombien\b(?! d['e])|\bcuant[oa]\b(?! tiempo)"
        ),
    ),
    (
        "time",
        regex(
            _BEGIN + r"(?:(?:since|by|until|from|seit|bis|ab|depuis|desde|hasta|da|fino a|ate)\s+)?"
            r"(?:when|wann|quando?|cuando|a che ora|(?:a )?que horas"
            r"|(?:at |on )?(?:what|which) (?:time|day|date|month|year|weekday))\b"
        ),
    ),
)
_SPELT: Final = (  # also in one word with others: "sixty-one", "vierunddreissig", "trentaquattro"
    r"(?:{cardinal}|\w+(?:teen|zehn|dreissig)|\w*(?:zwan|vier|funf|sech|sieb|acht|neun)zig|(?:twen|thir|for|fif|six|seven|eigh|nine)ty-\w+"
    r"|(?:vingt|trente|quarante|cinquante|soixante|quatre)-\w+|veinti\w+|venti\w*"
    r"|(?:tren|quaran|cinquan|sessan|settan|ottan|novan)ta\w*|(?:quaren|cinquen|sessen|seten|oiten|noven)ta)"
)
_COMPARED: Final = (  # "as tall as the door", "knee-deep", "bis zur Schulter"
    r"(?:\bas \w+ as\b|\bsize of\b|\bup to (?:the|my|your|his|her|our|an?)\b"
    r"|\b\w+[- ](?:deep|high|tall|wide|thick|long)\b|\b\w{3,}(?:tief|hoch|dick|breit|gross)\b|\bso \w+ wie\b"
    r"|\bbis (?:zu[mr]?|an) |\baussi \w+ que\b|\bjusqu'a|\btan \w+ como\b|\btao \w+ como\b|\bhasta (?:el|la)\b"
    r"|\bate [ao]s?\b|\bcome un|\bfino all?)"
)
_OCLOCK: Final = (
    r"(?:\b(?:at|until|till|by|from|past|before|after|around|about|um|gegen|bis|ab|von|vers|las?|alle|dalle|all'|as|das)"
    r" (?:a )?(?:half|quarter|{hour})\b(?! of)|\bbetween {hour} and|\b{hour} (?:to|till|until|bis|a) {hour}\b)"
)
_LASTING = frozenset("until since forever never ever permanently bis nie seit immer jusqu depuis hasta desde".split())  # noqa: SIM905
_NAMED_MONTH = regex(rf"\b(?:{any_of(MONTHS)})\b")
_CAPITAL_MONTH = regex(
    r"\b(?:(?<=\w\s)May|May(?! (?:I|we|you|he|she|it|they|one|our|my|the)\b)|March|Mars|Mai|Mayo|März|Marzo)\b"
)
_ALIKE = 4  # letters that two forms of one name begin with: "Postgres" and "PostgreSQL"
_YEAR = regex(r"(?<![\d.,:/-])(?:19|20)\d\d(?![\d.,:/]\d|\d)")
_YES_OR_NO = regex(_BEGIN + r"(?:is|are|was|were|do|does|did|can|may|should|has|have|will|ist|sind|hat)\b")
_WORD, _DIGIT = regex(r"[^\W_]+"), regex(r"\d")
_LASTS: Final = (
    r"\b(?:{cardinal}|few|several|whole|all)[ -]?(?:\w+[ -])?(?:{span}|{passing})\b"
    r"|\b(?:for|lasts?|takes?|within) an? (?:{span}|{passing})\b"
    r"|\b(?:part|most|half|rest|all) (?:of )?(?:an? |the )?(?:{span}|{passing})\b|\bovernight\b"
    r"|\bquarter of an hour\b|\bviertelstunde\b|\bquart d.heure\b"
    r"|\d[\d.,+]*[ -]?(?:\w+[ -])?(?:{span}|{passing}|{length})\b|[=:] ?\d|\d ?[-\u2013] ?\d"  # or a length
)
_MEASURE: Final = r"\d+(?:[.,]\d+)* ?(?!(?:euros?|eur|dollars?|usd|pounds|chf)\b)[a-z]{2,}"  # 16 characters, 37 people
_NTH: Final = r"\bon the (?:first|second|third|last|\w+th|\d+(?:st|nd|rd|th))\b"
# "How long has it been?" is answered by a date as well.
_SO_FAR: Final = regex(r"\b(?:has|have|had|ago|did|was|were|ha(?:t|ben)|ist|a ete|ha|han|estuvo)\b")
# Quantities that are no number of things; things counted, which may be those of the question by another name;
# questions that count in quantities; and what comes by the month, which is no time.
_AMOUNT: Final = r"[\u20ac$\u00a3] ?\d[\d.,]*|\d[\d.,]*[- ]?(?:[%\u20ac$\u00a3\u00b0]|(?:{amount}|{span}|{passing})\b)"
_COUNTS: Final = r"(?:\d|\b{numeral}) (?:[a-z-]+ )?[a-z]{2,}s\b"
_IN_AMOUNTS: Final = r"\b(?:how many|wie viele|combien d.|[cq]uant[aeio]s?) ?(?:\w+ )?(?:{amount}|{span}|{passing})\b"
_RATE: Final = (
    r"(?<!\bin )(?<!within )(?<!once )(?<!twice )(?<!times )(?<!half )(?<!for )(?<!about )"
    r"(?:\b(?:an?|per|pro) |/ ?)(?:{span}|hour|second)\b(?! (?:ago|later|before|after|earlier|early|from|in|on)\b)"
)
_NO_DATE = (  # digits with one of these are none of a date
    r"(?! ?(?:%|[\u20ac$\u00a3]|(?:iu|ie|m?[gl]|kg|k?m|[cm]m|k?wh?|m?ah|hz|[kmgt]b|rpm|eur|euros?|usd|dollars|chf"
    r"|pounds|kcal|calories|words|pages|requests|steps|hours|square)\b))"
)
_DATE = regex(  # its digits are no figure that anything comes to
    rf"\b\d{{4}}-\d\d(?:-\d\d)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\.? (?:of )?(?:{any_of(MONTHS)})\b"
    rf"|\b(?:{any_of(MONTHS)}) (?:(?:[12]?\d|3[01])\b{_NO_DATE}(?:, )?)?(?:(?:19|20)\d\d\b{_NO_DATE})?"
    rf"|\b\d{{1,2}}:\d\d\b|(?<![$\u20ac\u00a3])(?<!chf )(?<!eur )\b(?:19|20)\d\d\b{_NO_DATE}"
)
_CLOCK = regex(  # digits that may be of a time, not "42 square metres" or "96.4 MHz"
    r"\b(?:19|20)\d\d\b|\b\d{1,2}(?::\d\d\b|[.h]\d\d\b(?! ?[a-z%]))|\b\d{1,4}[-/]\d{1,2}[-/]\d{1,4}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th|er|\.(?= ))|\b\d{1,2} ?(?:am|pm|h|uhr|o'clock)\b|\*|\bq[1-4]\b|\bweek \d|\bt ?[+-] ?\d"
    r"|\b(?:at|from|to|till|by|between|and|on|the|around|about|every|each|in|um|bis|ab|von|gegen|vers|a las?|des|le|am)"
    r" \d{1,2}\b(?! ?%|[.,]\d{3})|\d ?(?:s|ms|min|d)\b|\d{1,2} ?[-\u2013] ?\d{1,2}\b"
)
# What is left without an attribute: where the form in which it is told is hard to overlook, where it may be told in
# others, where most texts have it, and where it often is told otherwise; and where nothing stands of the word for it.
SURELY, LIKELY, RATHER, UNSURELY, HEADLESS = 0.05, 0.1, 0.12, 0.3, 0.1
SHARES: Final = {"SURELY": SURELY, "LIKELY": LIKELY, "RATHER": RATHER, "UNSURELY": UNSURELY}

Form = Literal["words", "any name", "own name", "near name", "surname", "placed", "place"]


class Attribute(NamedTuple):
    """What is asked for by name: `asked` finds that in a question, `told` in a note, both folded.

    `share` is left of the odds without it. A name tells it as well where the question has it not: of the form "any
    name" wherever it stands, of "own name" where it is no German noun behind its article, of "near name" beside a word
    of the question, of "surname" behind a name of it, of "placed" behind a word like "in", of "place" where it is not
    who did something.
    """

    name: str
    share: float
    form: Form
    asked: re.Pattern[str]
    told: str


_TABLE: Final = table_parts(__file__, "attributes.txt")
# "account number", "order no.", "Kundennummer", "invoice ID", "numero de pedido"
_CALLED: Final = (
    r"\b(?:({kind})(?: (?:phone|security))?[- ]?(?:numbers?|nummer|numero|no|nr|ids?|code)\b"
    r"|(?:numero|no|nr)\.? (?:de |du |d')(?:la |el |l')?({kind})\b)\.?"
)
_VALUE: Final = r"[^\d\n.;,]{0,25}?[a-z]{0,4}[-/#]?\d[\w/-]*(?: \d[\w/-]+)*"
_WHAT: Final = (
    r"\b(?:what|which|whats|what's|tell me|give me|was ist|wie (?:ist|lautet|heisst)|welche[rsmn]?"
    r"|quel(?:le)?s?(?: est)?|cual es|que|qual[ei]?|quais|che)\b[^?.!]{0,60}?"
)
_NAME: Final = regex(r"\b(?P<name>[A-Z][a-z\u00df-\u00ff]+\w*|[A-Z]{2,}\b|[a-z]+[A-Z]\w+)")
_PLACED: Final = regex(
    r"\b(?:[Ii]n|at|near|from|off|outside|bei|aus|nach|\u00e0|a|en|em|de|sur) (?:(?:the|l[ae]|el|il|o) )?"
    r"(?P<name>[A-Z]\w+)"
)
_NAMED_BY_THE_WAY: Final = regex(  # not who did it: "calibrated by Luc"
    r"(?<=[\w,;] )(?<!by )(?<!par )(?<!por )(?<!t[aoei] da )(?<!pel[ao] )(?<!avec )(?<!con )(?<!com )(?P<name>[A-Z]\w+)"
    r"|\b(?P<owner>[A-Z]\w+) (?=(?:has|keeps|hat|tiene|ha|tem|a) )"
)
# Who did it: the verb of a question for that, the forms that say that it was done, and those that tell by whom.
_DOING: Final = regex(
    _BEGIN + r"(?:wer ha(?:t|ben) .*?(?P<last>(?:\w*ge|be|ver|zer|ent|er)\w+(?:t|en)|\w+iert)\W*\Z"
    r"|(?:who|qui|quien|quienes|chi|quem|wer)(?:'s| has| have| had| a| ont| ha| han| hanno| lo| la| l')? ?"
    r"(?!(?:the|was|were|are|did|does|will|would|can|could|should|has|have|had|est|etait|sont|esta|era|son|sono|foi|our"
    r"|wird|wurde|ist|sind|war|kann|soll|muss|hat|haben|una?|my|any\w*|else)\b)(?P<verb>\w{3,}))"
)
_DONE: Final = (
    r"\b(?:was|were|been|being|is|are|got|ete|est|sont|fue|fueron|sido|se|stat[oaie]|fu|furono|viene|venne"
    r"|si(?: e| sono)?|foi|foram)\W(?:\w+ly |again |already |deja |ya |gia |ja )?{verb}\w*|\b{verb}\w*-se\b"
    r"|\b(?:wurden?|worden|ist|sind|war|waren)\b[^.!?]*\b{verb}\b"
)
_DOERS: Final = (
    r"\b(?:by|von|vom|durch|par|por|pel[oa]s?|dal|dallo|dai|dagli)\b(?! (?:the |der |dem |la |el |l)?(?:\d|{times}\b))"
    r"|\b(?:{folk}|i|we|he|she|they|you|wir|ich|er|sie)\b(?!['\u2019])|\b(?:rented|hired|leased|borrowed|bought) from\b"
)
_BEHIND: Final = regex(r"['\u2019]s\b")
_AWAY: Final = regex(
    r"\b(?:in|at|from|on|near|to|of|off|aus|bei|auf|an|nach|de|di|do|d[aei]l\w*|em|en|n[ao]|sur|dans|du)"
    r"(?: \w+)? \Z"
)
_STEM: Final = 3  # letters that two forms of one verb begin with: "stole" and "stolen"
_BEFORE_A_NOUN: Final = regex(
    r"(?i)\b(?:d(?:er|ie|as|en|em|es)|im|am|ins|ans|vom|zu[mr]|beim|(?:k?ein|mein|unser|ihr|sein)e?[mnrs]?) \Z"
)
_NUMBERS_BY_NAME: Final = frozenset({"phone number", "such number"})
_HEADED: Final = regex(r"\A\W*(\w+)(?: (?:for|of|f\u00fcr|von|pour|para)\b| ?[:=])")  # "Vet of Leo: Dr. Fabian"
_BESIDE: Final = 40  # characters between a name and what it is the name of
_PARTICLE: Final = "van|von|de|da|del|di|al|el|bin|la|le"


@dataclass(frozen=True, slots=True)
class Sought:
    """What a question plainly asks for, and what it is about: months by number, years, and numbers by the word before.

    `past` says that it asks when something was: the date of a note of that answers. `apart` are things that it tells
    from their like by a word of a sort ("north"), `named` by a name before them; `like` are things of which one is none
    of its like ("dog"), by their sorts. `kinds` are those of numbers that it names. `doing` is what somebody did.
    """

    sorts: tuple[Sort, ...] = ()
    months: frozenset[int] = frozenset()
    years: frozenset[str] = frozenset()
    numbered: Mapping[str, str] = field(default_factory=dict)
    past: bool = False
    words: tuple[str, ...] = ()
    apart: tuple[Apart, ...] = ()
    named: tuple[NamedThing, ...] = ()
    like: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    attributes: tuple[Attribute, ...] = ()
    kinds: frozenset[int] = frozenset()
    head: tuple[str, ...] = ()
    question: str = ""
    doing: str = ""
    days: DaysAsked | None = None

    @property
    def only_siblings(self) -> bool:
        """Whether nothing but the like of a thing speaks against a note: then only strong ones need to be looked at."""
        return not (self.sorts or self.months or self.years or self.numbered or self.attributes or self.head)

    @property
    def things(self) -> list[str]:
        return [each.thing for each in self.apart] + [each.thing for each in self.named]


class Doubt(NamedTuple):
    """What is left of the odds that a note is relevant, and why, in a few words.

    `lacks`: it has no such value; `is_other`: it tells of another thing of the sort that is asked about.
    """

    share: float
    why: str
    lacks: bool = False
    is_other: bool = False


@lru_cache(16)  # of one question it is asked several times
def sought(query: str) -> Sought | None:
    """What of a question can be looked for in a note; None where its words ask for nothing plainly.

    Of a paste only the asker's own lines count: what a log says of its workers and dates is not asked for.
    """
    question = "\n".join(own_lines(query))
    plain = typewritten(question)
    sorts = tuple(sort for sort, pattern in _ASKS if pattern.search(plain))
    is_measured = "number" in sorts and _finds(_IN_AMOUNTS, plain)
    if is_measured:
        sorts = tuple("figure" if sort == "number" else sort for sort in sorts)
    attributes = tuple(each for each in _attributes() if each.asked.search(plain))
    asks = not _YES_OR_NO.match(plain)
    found = Sought(
        sorts,
        _months_of(question, plain),
        frozenset(_YEAR.findall(question)),
        numbered_in(question) if asks else {},
        past=re.search(r"\b(?:did|was|were|wurde|war|hat|a ete|fue)\b", plain) is not None,
        words=tuple(word for word in _WORD.findall(plain) if word not in STOP_WORDS),
        apart=tuple(things_apart(plain)),
        named=tuple(named_things(question, plain)),
        like=kinds_asked(plain) if asks else {},
        attributes=attributes,
        kinds=_kinds_called(plain),
        head=() if is_measured or any(map(_is_plain, attributes)) else head_of(plain),
        question=question,
        doing=(doing["last"] or doing["verb"]) if (doing := _DOING.match(plain)) else "",
    )
    return None if found.only_siblings and not (found.apart or found.named or found.like) else found


def _is_plain(attribute: Attribute) -> bool:
    """Whether it is told in forms that are hard to overlook, so that its word need not be looked for as well."""
    return attribute.share < RATHER and attribute.name != "name"


def against(asked: Sought, note: Note) -> Doubt | None:
    """What speaks against a note that was found; of a long one what stands around the question's words is looked at."""
    if asked.days and (days := other_days(note, asked.days)):
        return Doubt(ANOTHER, days)
    if asked.only_siblings and not _may_name(asked, note):
        return None
    text = f"{note.own_title}\n{_near(asked, note.content)}"
    plain = folded(text)
    other = _another(asked, note, text, plain)
    if other is not None:
        return other
    sibling = _sibling(asked, text, plain)
    if sibling is not None:
        return sibling
    return min(_lacking(asked, text, plain, is_dated=note.tells_when), default=None)


def _lacking(asked: Sought, text: str, plain: str, *, is_dated: bool) -> Iterator[Doubt]:
    """What of that which is asked for a note has not, each by itself."""
    for sort in asked.sorts:
        if not _has(asked, sort, plain, is_dated=is_dated and asked.past):
            yield Doubt(LACKING[sort], f"no {'figure' if sort == 'number' else sort}", lacks=True)
    words = frozenset(asked.words)
    own = _own_numbers(asked, plain)
    for each in asked.attributes:
        if not _is_told(each, text, own if each.name in _NUMBERS_BY_NAME else plain, words):
            yield Doubt(each.share, f"no {each.name}", lacks=True)
    if asked.doing and _is_done_by_nobody(asked.doing, text, plain, words):
        yield Doubt(SURELY, "not by whom")
    if (
        asked.head
        and not is_covered(asked.head, plain)
        and shows_another_language(asked.question) == shows_another_language(text)
    ):
        may_count = "number" in asked.sorts and _finds(_COUNTS, _without(_AMOUNT, _DATE.sub(" ", plain)))
        yield Doubt(UNSURELY if may_count else HEADLESS, f"no {asked.head[-1]}", lacks=True)


@cache  # when the first question is read, so that a start does not wait for it
def _table() -> list[list[str]]:
    """The lines of each part of the table: of attributes, of lists, of kinds of numbers."""
    return [[line for line in part.split("\n") if line] for part in _TABLE()]


@cache
def _kind_of() -> Mapping[str, int]:
    return {word: kind for kind, words in enumerate(_table()[2]) for word in words.split()}


@cache
def _lists() -> Mapping[str, str]:
    """For each list of the table a pattern that finds any of its words."""
    lists = {"what": [_WHAT], "day": [folded(day) for day in spans.WEEKDAYS], "times": [any_of(TIMES)]}
    lists |= {"compared": [_COMPARED], "kind": [any_of(_kind_of())]}
    for name, *words in map(str.split, _table()[1]):
        lists.setdefault(name, []).extend(words)
    found = {name: f"(?:{'|'.join(words)})" for name, words in lists.items()}
    numeral = _SPELT.replace("{cardinal}", found["cardinal"])
    return found | {"oclock": _OCLOCK.replace("{hour}", found["hour"]), "numeral": numeral}


@cache
def _filled(pattern: str) -> str:
    """A pattern with the lists of the table in the place of their names."""
    return re.sub(r"\{([a-z]+)\}", lambda name: _lists()[name[1]], pattern)


@cache
def _attributes() -> tuple[Attribute, ...]:
    found = []
    for part in re.split(r"\n(?=\w)", "\n".join(_table()[0])):
        head, *lines = part.split("\n")
        name, share, form = head.split(", ")
        asked, told = (_filled("|".join(line[2:] for line in lines if line[0] == sign)) for sign in "?=")
        found.append(Attribute(name, SHARES[share], cast("Form", form), regex(asked), told))
    return tuple(found)


_compiled = cache(re.compile)  # of each attribute when it is first asked for


def _finds(pattern: str, plain: str) -> bool:
    return _compiled(_filled(pattern)).search(plain) is not None


def _is_told(attribute: Attribute, text: str, plain: str, words: AbstractSet[str]) -> bool:
    """Whether a text has what an attribute is told by; `words` are those of the question."""
    asked = words if attribute.form in ("any name", "own name") else ()  # whoever minds the counter is no "counter"
    if any(found.group() not in asked for found in _compiled(attribute.told).finditer(plain)):
        return True
    names: Iterable[re.Match[str]] = ()
    match attribute.form:
        case "words":
            pass
        case "any name":
            names = _NAME.finditer(text)
        case "own name":
            names = (found for found in _NAME.finditer(text) if not _is_noun(found, text))
        case "near name":
            near = (found for found in _NAME.finditer(text) if not found.group().isupper())
            names = (found for found in near if _is_beside(found, text, words))
        case "surname":
            known = {name for name in _NAME.findall(text) if folded(name) in words}
            return any(re.search(rf"\b{re.escape(name)} (?:(?:{_PARTICLE}) )*[A-Z]", text) for name in known)
        case "placed":
            names = _PLACED.finditer(text)
        case "place":
            is_german = not GERMAN.isdisjoint(_WORD.findall(plain))
            names = () if is_german else _NAMED_BY_THE_WAY.finditer(text)
    return any(_is_new(found[found.lastgroup or 0], words) for found in names)


def _is_done_by_nobody(verb: str, text: str, plain: str, words: AbstractSet[str]) -> bool:
    """Whether a text says that something was done, as is asked of somebody, and not by whom."""
    forms = {verb, verb[:_STEM], *relatives(verb)} if verb not in plain else {verb}
    done = _DONE.replace("{verb}", f"(?:{'|'.join(forms)})")
    if not re.search(done, plain) or _finds(_DOERS, plain):
        return False
    names = (found for found in _NAME.finditer(text) if not _is_noun(found, text))
    others = (found for found in names if _is_new(found["name"], words) and not _BEHIND.match(text, found.end()))
    return all(_AWAY.search(text[: found.start()]) for found in others)


def _own_numbers(asked: Sought, plain: str) -> str:
    """A text without the numbers that it calls otherwise than the question does: an account number is no phone number.

    Where it speaks of the kind that is asked for at all, it keeps them: "flight LH 441, booking no. 7781".
    """
    if not asked.kinds:
        return plain
    named = {*_kinds_called(plain), *(_kind_of().get(word) for word in _WORD.findall(plain))}
    return _without(_CALLED + _VALUE, plain) if named.isdisjoint(asked.kinds) else plain


def _kinds_called(plain: str) -> frozenset[int]:
    """The kinds of numbers that a text speaks of as such."""
    return frozenset(_kind_of()[label[1] or label[2]] for label in _compiled(_filled(_CALLED)).finditer(plain))


def _is_new(name: str, words: AbstractSet[str]) -> bool:
    plain = folded(name)
    is_small = plain in STOP_WORDS or _compiled(_lists()["small"]).fullmatch(plain)
    return not is_small and not {plain, plain.removesuffix("s")} & (words | TIMES)


def _is_noun(found: re.Match[str], text: str) -> bool:
    """Whether a word with a capital stands behind an article in German: there it is no name, or one after "ein"."""
    before = _BEFORE_A_NOUN.search(text, max(0, found.start() - _BESIDE), found.start())
    return before is not None and not before.group().lower().startswith("ein")


def _is_beside(found: re.Match[str], text: str, words: AbstractSet[str]) -> bool:
    """Whether an ordinary word of the question stands around a name in its line, which may begin with it."""
    before = text[max(0, found.start() - _BESIDE) : found.start()].rpartition("\n")[2]
    after = text[found.end() : found.end() + _BESIDE].partition("\n")[0]
    around = {word for word in _WORD.findall(f"{before} {after}") if word.islower()}
    return not words.isdisjoint((around | set(map(folded, _HEADED.findall(before)))) - {"name", "names"})


def _may_name(asked: Sought, note: Note) -> bool:
    """Whether a thing that is asked for, or its like, may stand in it; what is not ASCII is folded to be sure."""
    text = f"{note.title}\n{note.content}"
    if asked.like or not text.isascii():
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


def _has(asked: Sought, sort: Sort, plain: str, *, is_dated: bool) -> bool:
    """Whether a text has a value of a sort, as far as its form tells."""
    undated = plain if sort == "time" else _DATE.sub(" ", plain)
    match sort:
        case "price":
            return _DIGIT.search(undated) is not None or _finds(
                r"\b(?:{sum}|{gift})\b|\b{numeral} (?:\w+ )?{money}\b", plain
            )
        case "number":
            counted = _DIGIT.search(_without(_AMOUNT, undated)) is not None
            return counted or _finds(r"\b(?:{numeral}|{counted})\b|(?:\A|[.!?\n] ?)no \w+ (?:is|are|was|were)\b", plain)
        case "figure":
            return _DIGIT.search(undated) is not None or _finds(r"\b(?:{sum}|{numeral})\b|{compared}", plain)
        case "frequency":
            words = frozenset(_WORD.findall(plain))
            counted = _DIGIT.search(undated) is not None or _finds(r"\b{cardinal}\b", plain)
            often = not words.isdisjoint(OFTEN) or (counted and not words.isdisjoint(UNITS))
            return often or "*" in plain or _finds(r"\bon the (?:hour|half|dot)\b", plain)
        case "duration":
            so_far = _DIGIT.search(plain) is not None and _SO_FAR.search(folded(asked.question)) is not None
            is_length = _finds(r"\bhow long (?:is|are|was|were)\b", folded(asked.question)) and _finds(
                _MEASURE, undated
            )
            return so_far or is_length or not _LASTING.isdisjoint(_WORD.findall(plain)) or _finds(_LASTS, undated)
        case "time":
            plain, own = _without(_RATE, plain.replace("i am ", "i ")), frozenset(asked.words)  # a concert in May
            moments = _compiled(_filled(r"\b{moment}\b|{oclock}")).finditer(plain)
            said = not TIMES.isdisjoint(set(_WORD.findall(plain)) - own) or _CLOCK.search(plain) is not None
            return is_dated or said or _finds(_NTH, plain) or any(moment.group() not in own for moment in moments)


def _without(pattern: str, plain: str) -> str:
    return _compiled(_filled(pattern)).sub(" ", plain)


def _another(asked: Sought, note: Note, text: str, plain: str) -> Doubt | None:
    """Where a note names other values of a sort than the question: "October, not September"."""
    theirs = _months_of(text, plain) if asked.months else frozenset()
    if theirs and not (theirs | {int(note.happened[5:7])}) & asked.months:
        share = EARLIER if max(theirs) < min(asked.months) else ANOTHER
        return Doubt(share, f"{_named_months(theirs)}, not {_named_months(asked.months)}")
    years = set(_YEAR.findall(text)) | ({note.happened[:4]} if note.tells_when else set()) if asked.years else set()
    if years and not (years | {note.happened[:4]}) & asked.years:
        share = EARLIER if max(years) < min(asked.years) else ANOTHER
        return Doubt(share, f"{', '.join(sorted(years)[:2])}, not {', '.join(sorted(asked.years))}")
    near, whole = (COUNTED.findall(each) if asked.numbered else [] for each in (text, note.content))
    for word, number in asked.numbered.items():
        others = [other for before, other in near if folded(before) == word]
        its = [*others, *(other for before, other in whole if folded(before) == word)]  # of a long note, all of it
        if others and not any(f"{other}.".startswith(f"{number}.") for other in its):
            return Doubt(ANOTHER, f"{word} {others[0]}, not {number}")
    return None


def _months_of(text: str, plain: str) -> frozenset[int]:
    """The months that a text names; words that mean something else as well only with a capital."""
    named = {match.group() for match in _NAMED_MONTH.finditer(plain)} - spans.ALSO_WORDS
    found = {MONTHS[name] for name in named}
    found |= {SURE_MONTHS[word] for word in _WORD.findall(plain) if word in SURE_MONTHS}
    return frozenset(found | {MONTHS[folded(each)] for each in _CAPITAL_MONTH.findall(text)})


def _named_months(months: AbstractSet[int]) -> str:
    names = list(spans.MONTHS)[:12]
    return " and ".join(names[number - 1].capitalize() for number in sorted(months)[:2])


def _sibling(asked: Sought, text: str, plain: str) -> Doubt | None:
    """Where a note speaks of the like of what is asked about, and of that nowhere: of the south crane alone."""
    if any(thing in plain for thing in asked.things) and (doubt := _another_such(asked, text, plain)):
        return doubt
    for ours, its_like in exchanged(asked.like, plain):
        if says_the_rest((word for word in asked.words if word not in VALUE_WORDS and word != ours), plain):
            return Doubt(ANOTHER, f"{its_like}, not {ours}")
    return None


def _another_such(asked: Sought, text: str, plain: str) -> Doubt | None:
    """Where another stands before the same word."""
    words = frozenset(_WORD.findall(plain))
    theirs = list(things_apart(plain)) if asked.apart else []
    named = set(map(which_of, words)) | {its.which for its in theirs}
    sorts = {(its.thing, its.which[0]) for its in theirs}
    for mine in asked.apart:
        if mine.which not in named and (mine.thing, mine.which[0]) in sorts:
            return Doubt(ANOTHER, f"another {mine.said}", is_other=True)
    names = [each for each in asked.named if all(word[:_ALIKE] != each.name[:_ALIKE] for word in words)]
    others = {its.thing for its in named_things(text, plain)} if names else set()
    return next((Doubt(SIBLING, f"another {each.said}") for each in names if each.thing in others), None)
