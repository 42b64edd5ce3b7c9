"""What a note says first, as it is compared with what another says: words, what they are about, values by their sorts.

`holdfast.model.statement` reads the grammar of a sentence. Here a word also knows what is asked with it: "costs",
"price" and "Preis" ask for the same (`Term.about`), a weekday answers something else than a time of the day
(`Term.sort`). What follows a comma or a word like "because" only explains; it is kept apart (`Term.aside`).
What differs between two notes is told in their own words (`parts_that_differ`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest

from holdfast.model.numbers import ANY_MONTH, MEASURES, MONTHS, NUMBERED, NUMERALS, ORDINALS, WEEKDAYS
from holdfast.model.statement import (
    ARTICLES,
    AXIS_OF,
    CHANGE_PARTS,
    CHANGE_WORDS,
    CHANGING,
    COPULAS,
    EDGES,
    GENERIC,
    GENERIC_STEMS,
    KINDS,
    LEAST_BEFORE,
    LONGEST,
    MINE,
    ROLES,
    TITLED,
    TOKEN,
    UNSPACED,
    VERBS,
    WHY,
    Kind,
    Statement,
    bare,
    end_of_subject,
    is_owner,
    named_first,
    sentences,
    statement,
    stem,
    unpointed,
)
from holdfast.model.values import spelled_as
from holdfast.model.words import FRAME_WORDS, SIGNS, STOP_WORDS, folded, names_like_grammar, regex

# What is asked of a thing, one thing behind the other: all words by which one asks for it or tells it.
_ABOUT = """
live lives lived living resides residence home address relocated wohnt wohnen wohnort gezogen umgezogen vive viven
vivir mudo mudado mudada direccion habite habitent demenage adresse | work works job employer employed joined
hired position profession arbeitet arbeiten beruf trabaja trabajan empleo travaille travaillent metier emploi |
cost costs price prices priced pay pays paid payment fee fees charge charges bill tariff kostet kosten preis
preise zahlen zahlt bezahlt beitrag gebuhr abschlag cuesta cuestan precio pagamos paga cuota tarifa coute coutent
prix payons paie cotisation tarif | open opens opening opened offnet offen geoffnet abre abren apertura ouvre
ouverture ouvert | close closes closing shut schliesst geschlossen cierra cierran cierre ferme fermeture | weigh
weighs weight wiegt gewicht pesa peso pese poids | tall height grosse gross mide estatura mesure taille | shoe
shoes footwear schuhgrosse schuhe calza zapato chausse pointure | birthday birthdays born geburtstag geboren
cumpleanos nacio anniversaire | allergic allergy allergies intolerant allergisch allergie vertragt alergico
alergica alergia allergique | email e-mail mail mailbox correo courriel | phone telephone rufnummer telefonnummer
telefon telefono | password passcode passwort kennwort contrasena clave | supplier supplies supplied supply
provider provides vendor lieferant liefert beziehen anbieter proveedor suministra fournisseur fournit | lead leads
leader led head heads manages manager supervises supervised supervisor conducts conductor conducted coach coaches
trains trained trainer leitet leitung leiter trainiert jefe jefa dirige dirigida directora chef directeur | take
takes dose dosage dosis nimmt einnahme toma tomar prend | start starts starting begin begins beginning beginnt
beginn anfang startet empieza comienza inicio commence debut | end ends ending expires expire expiry due deadline
valid endet ablauf frist gultig gilt vence caduca valido fin expirent echeance | keep keeps kept retained
retention stored stores store storage aufbewahrt aufheben gespeichert liegt guarda guardan guardamos conserve
garde | review reviews reviewed reviewer pruft revisa relit | drink drinks trinkt bebe boit | eat eats eating
vegetarian vegan isst vegetarisch come vegetariano mange vegetarien | drive drives drove car fahrt auto coche
conduce voiture conduit | learn learns learning lernt aprende apprend | sleep sleeps asleep bedtime schlaft
schlafen duerme dort | play plays played player spielt spielen toca tocar joue | teach teaches taught teacher
tutor lehrer lehrerin klassenlehrerin klassenlehrer unterrichtet profesor profesora tutora maitresse maitre
enseigne | clean cleans cleaned cleaner cleaning putzt reinigt gereinigt limpia nettoie | meet meets meeting
meetings treffen sitzung besprechung reunion | rehearse rehearses rehearsal rehearsals probe proben ensayo ensaya
repete repetition | host hosted hosts hosting run runs deployed lauft laufen gehostet alojado heberge hebergee |
ship ships shipped shipping deliver delivers delivered delivery parcels parcel versand verschickt enviamos envian
envio pedidos livre livraison expedie | collected collection emptied picked abgeholt geleert recogen ramasse | use
uses used using utilise nutzt nutzen verwendet usa usan usamos utiliza | limit limited limits maximum max most cap
threshold grenze plafond
""".split("|")  # noqa: SIM905 - a list of words reads better as one text
_VAGUE = frozenset({"work", "take", "start", "end", "keep", "host", "use", "limit"})  # said of many things
ABOUT_OF: dict[str, frozenset[int]] = {}
for _place, _line in enumerate(_ABOUT):
    for _word in _line.split():
        ABOUT_OF[_word] = ABOUT_OF.get(_word, frozenset()) | {_place}
VAGUE = frozenset(place for place, line in enumerate(_ABOUT) if line.split()[0] in _VAGUE)

# Of each line one word names another thing than the next does, beside `holdfast.model.statement.AXES`.
_OPPOSITES = (
    "day daytime night nights tag nacht nachts dia noche jour nuit",
    "spring summer autumn fall winter",
    "heim auswarts away",
    "upper lower upstairs downstairs",
    "large small big little",
    "indoor outdoor",
    "hot cold",
    "joint savings current",
    "target actual",
    "gold silver bronze platinum",
    "junior juniors senior seniors",
    "soprano sopranos alto altos tenor tenors bass basses baritone baritones mezzo mezzos",
    "employee employees contractor contractors freelancer freelancers visitor visitors",
)
_OPPOSITE_OF = AXIS_OF | {word: -1 - place for place, words in enumerate(_OPPOSITES) for word in words.split()}

# Verbs of a state, and those that tell that it has changed: "lives in Graz", then "moved to Vienna".
_STATES = (
    ("live lives living resides based wohnt lebt vive vivo habite vit", """moved moves relocated settled gezogen
    umgezogen zieht zog mudo mudado mudada demenage installe lives vive wohnt habite"""),
    ("works work working arbeitet travaille trabaja", """joined quit left hired switched started works gewechselt
    arbeitet rejoint travaille trabaja"""),
    ("uses use using prefers prefer likes nutzt benutzt verwendet utiliza usa utilise prefiere", """switched adopted
    replaced swapped uses prefers gewechselt nutzt passe cambio usa"""),
    ("drinks drink eats eat trinkt isst bebe come boit mange", "stopped quit gave switched started drinks eats"),
    ("drives drive fahrt conduce conduit", "sold bought traded switched got drives gekauft verkauft"),
)  # fmt: skip
_CHANGES_OF = {word: frozenset(changes.split()) for states, changes in _STATES for word in states.split()}
_STATE_CHANGES = frozenset().union(*_CHANGES_OF.values())

KIN = frozenset(  # whose somebody is: Julien's sister is another than Julien
    """sister sisters brother brothers mother father mum dad mom parents wife husband partner son sons daughter
    daughters cousin uncle aunt grandma grandpa grandmother grandfather friend neighbour neighbor boss colleague
    flatmate godmother schwester bruder mutter vater eltern frau mann sohn tochter oma opa tante onkel freundin freund
    nachbar nachbarin kollege kollegin hermana hermano madre padre padres mujer marido hijo hija abuela abuelo tia tio
    prima primo amiga amigo vecino vecina soeur sœur frere mere pere parents femme mari fils fille cousine oncle amie
    ami voisin voisine niece nephew nichte neffe sobrina sobrino neveu""".split()  # noqa: SIM905 - a list of words reads better as one text
)

# Sorts of what comes one after the other, as sprints do; words for that of which there is one at a time.
SUCCEEDING = frozenset(
    f"label {stem(word)}" for word in ("sprint", "phase", "version", "release", "node", "python", "java", "milestone")
)
OF_ONE = frozenset(("current", "currently", "required", "we", "deployed", "active", "latest"))
SAME_KIN = {  # of words for one person the first
    word: words.split()[0]
    for words in (
        "mother mum mom mutter madre mere", "father dad vater padre pere", "grandmother grandma oma abuela",
        "grandfather grandpa opa abuelo", "partner husband wife mann frau marido mujer mari femme",
    )
    for word in words.split()
}  # fmt: skip
_MORE_CHANGES = frozenset(  # beside `CHANGE_WORDS`: they announce a change, and say nothing of a matter
    """adjourned transferred handed passed gave swapped swap transposed converted closed noch abgegeben aufgehort
    aufgerustet verlegt ubergeben passee avance avancee arrete quitte mudo mudado mudada dejo suben subimos subido sube
    adelanta adelantar renovo cambiamos migramos pasa vendimos enlarged recount started nur remplacee
    deja""".split()  # noqa: SIM905 - as above
)
_SILENT = CHANGE_WORDS | _MORE_CHANGES | {"forward", "back", "ab", "mehr", "erst", "plus", "up", "down", "better"}
# What a thing has that is no part of it, beside what `_ABOUT` asks for.
_OF_ANY = """
    piece pair kilo kg litre liter jar bottle box bag cup loaf glass pack set sort kind type half bit lot hour name
    number size colour color length width depth age date day time place state status rule owner keeper title code
    amount total value level rate share count capacity budget temperature pressure speed zahl farbe lange breite
    tiefe alter datum ort zustand regel besitzer stand hohe wert nom couleur longueur nombre tamano largo fecha
    lugar regla dueno
"""
_OF = frozenset("of von vom des de du del della do da".split())  # noqa: SIM905 - as above
_NEWNESS = frozenset("new neu neue neuer neuen neues nouveau nouvelle nuevo nueva novo nova nieuwe".split())  # noqa: SIM905 - as above
_RELATIVE = frozenset(  # which one is meant changes with time
    map(stem, "last latest next previous recent current usual actual old former letzte nachste alte aktuelle".split())  # noqa: SIM905
) | frozenset(map(stem, _NEWNESS))
_CHANGING = regex(
    rf"\b(?:{CHANGING}|no longer|brought forward|put back|gave up|given up|nicht mehr|take over|taken over|went up"
    r"|from \w+ on)\b"
)
_ENDED = regex(r"\b(?:no longer|not \w+ any ?more|any ?more|ya no|nicht mehr|kein\w* mehr|ne \w+ plus)\b")
_EXPLAINING = regex(
    rf",?\s\b(?:{WHY}|since|after|now that|seit|wegen|por|depuis|on the|nach der|nach dem)\b", re.IGNORECASE
)
_COMMA, _ROOM = regex(r"[,;]\s"), regex(r"\d{1,2}\.\d\d")  # "the printer in 1.07"
_LONGEST_TITLE = 6  # words
_MOST_TERMS = 40

_MORE_UNITS = (  # of each of `MEASURES`, and more of them
    "semana night nights", "cents cent pence", "", "", "h", "", "mcg iu nm lb", "grados",
    "litre litres liter l ml litros", "people members pupils replicas workers",
)  # fmt: skip
_UNIT_OF = {
    word: f"amount {place}"
    for place, both in enumerate(zip_longest(MEASURES, _MORE_UNITS, fillvalue=""))
    for word in " ".join(both).split()
}
_MONEY = frozenset(MEASURES[1].split())
_CLOCK_WORDS = frozenset("uhr am pm h o'clock".split())  # noqa: SIM905 - as above
_JOINING = frozenset(("since", "around", "per", "ab", "desde"))  # beside words of grammar
_GERMAN = regex(r"\b(?:der|die|das|ist|und|wird|den|im|bei|mit|wir|hat|jetzt|statt)\b")
_SAID = regex(rf"[\w{SIGNS}]+")
_AMOUNT = regex(r"[\d.,]+|\d+(?:%|k|m|gb|mb|kg|mg|ml|l|h|pm|am)")
_CLOCK, _YEAR = regex(r"\d{1,2}[:.]\d\d"), regex(r"(?:19|20)\d\d")
_INNER = regex(r"\w[/.:@_]\w")
ATTRIBUTES = frozenset(stem(word) for word in (*ABOUT_OF, *ROLES, *_OF_ANY.split()))
_LATEST_OF = 6  # words, among which "of" stands
_PREFIX = 4  # letters that two words share which may be forms of one

LONGEST_PART = 60  # characters that are shown of what differs
COVERED = 0.5  # of the words of a part, from which on another note speaks of the same
LEAST_WORDS = 2  # of a part: a single word behind "and" is one more thing that the verb before it speaks of
_PARTS = regex(
    r"(?<=[.!?])\s+|[;\u3002\uff0c\uff1b\uff01\uff1f]|\n+|,?\s+(?:and|but|und|aber|y|pero|et|mais|ed?|ma|en|maar)\s+"
)
_MARKS = ".,:;!?()[]\"'\u201c\u201d\u201e\u00ab\u00bb\u00bf\u00a1\u2019"
_VERBS = frozenset(map(stem, VERBS | GENERIC))
_VERB_ENDINGS = ("s", "t", "en", "ed")
_NO_NAMES = STOP_WORDS.union(
    FRAME_WORDS, VERBS, _SILENT, WEEKDAYS, MONTHS, ABOUT_OF, _OF_ANY.split(), ARTICLES, {"user"}
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a claim: `text` is folded, `stem` what is compared, `about` what is asked with it.

    `subject` stands before the verb; `aside` only explains; `owner` is a name with "'s"; a `generic` word belongs to
    nothing in particular. `sort` is what a value can be exchanged for: a clock time, a date, an amount of one unit, a
    "label berth" as in "berth 4"; empty for what is no value.
    """

    text: str
    stem: str
    kind: Kind
    sort: str = ""
    subject: bool = False
    aside: bool = False
    owner: bool = False
    generic: bool = False
    about: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)  # what is worked out of one is kept by which it is
class Claim:
    """What a note says first: `head` without what only explains it, `terms` with it.

    `words` are all words of the head, folded; `stems` those of the note's first sentences. `changed` tells that
    something is no longer as it was, `renewed` of what it says that it is new, `ended` that something has only ceased;
    `mine` that it is of the one who speaks; `named` is the stem of the name that it begins with, as
    far as its form tells; `which` tells of a subject of two words which of its like it is. `prefixes` are its words by
    their first letters; `axes` those that tell siblings apart; `ends` are the verbs by which the state that it tells of
    is said to have changed. Of "the saddle of Stella" `part` is the stem of the thing, `wholes` those of whose it is.
    """

    head: tuple[Term, ...]
    terms: tuple[Term, ...]
    words: frozenset[str]
    stems: frozenset[str]
    texts: frozenset[str]
    about: frozenset[int]
    prefixes: dict[str, tuple[str, ...]]
    axes: dict[int, frozenset[str]]
    ends: frozenset[str]
    changed: bool
    renewed: frozenset[str]
    ended: bool
    mine: bool
    named: str
    which: tuple[str, str] | None
    spaced: bool
    part: str
    wholes: frozenset[str]
    text: str

    def holds(self, term: Term) -> bool:
        """Whether it has this word, another form of it, or one that asks for the same."""
        if term.stem in self.stems:
            return True
        if term.kind != "word":
            return False
        return not term.about.isdisjoint(self.about) or any(
            are_forms(term.text, each) for each in self.prefixes.get(term.text[:_PREFIX], ())
        )

    def ended_by(self, newer: Claim) -> bool | None:
        """Whether the state that it tells of is what has changed by the newer; None where either tells of none."""
        verbs = newer.words & _STATE_CHANGES
        return not verbs.isdisjoint(self.ends) if self.ends and verbs else None


def claim(content: str) -> Claim:
    """What the beginning of a note claims."""
    return _claim(content[:LONGEST])


@lru_cache(2048)  # one note is compared with many, and meets again in the answers to other questions
def _claim(content: str) -> Claim:
    found = sentences(content)
    head, rest = (found[0], found[1:4]) if found else ("", [])
    if rest and _is_title(content, head):
        head, rest = f"{head} {rest[0]}", rest[1:]
    spans = [(match.group(), match.start()) for match in TOKEN.finditer(head)][:_MOST_TERMS]
    tokens, cut = [token for token, _ in spans], _end_of_claim(head, spans)
    end = end_of_subject(tokens, first_aside := sum(at < cut for _, at in spans))
    names, said, claimed = names_like_grammar(head), folded(head), folded(head[:cut])
    terms = tuple(_terms(tokens, end, first_aside, names, german=bool(_GERMAN.search(head))))
    words, first = frozenset(_SAID.findall(claimed)), tuple(term for term in terms if not term.aside)
    prefixes: dict[str, tuple[str, ...]] = {}
    for term in terms:
        if term.kind == "word":
            prefixes[term.text[:_PREFIX]] = (*prefixes.get(term.text[:_PREFIX], ()), term.text)
    axes: dict[int, frozenset[str]] = {}
    for word in (words & _OPPOSITE_OF.keys()) - {"us"}:
        axes[_OPPOSITE_OF[word]] = axes.get(_OPPOSITE_OF[word], frozenset()) | {word}
    plain = [folded(token.rstrip(EDGES)) for token in tokens]
    new = [place for place, word in enumerate(plain) if word in _NEWNESS]
    part, wholes = _of_what(tokens, plain, end, names)
    later = _NEWNESS if all(place >= end for place in new) else frozenset[str]()  # only something of it is new
    return Claim(
        head=first,
        terms=terms,
        words=words,
        stems=frozenset(
            (*(term.stem for term in terms), *(stem(folded(word)) for word in TOKEN.findall(" ".join(rest))))
        ),
        texts=frozenset(term.text for term in terms),
        about=frozenset().union(*(term.about for term in terms)),
        prefixes=prefixes,
        axes=axes,
        ends=frozenset().union(*(_CHANGES_OF.get(word, frozenset()) for word in words)),
        changed=not (words - later).isdisjoint(CHANGE_WORDS | _MORE_CHANGES)
        or any(part in head for part in CHANGE_PARTS)
        or _CHANGING.search(said) is not None,
        renewed=frozenset(stem(plain[place + 1]) for place in new if place + 1 < len(plain)),
        ended=_ENDED.search(claimed) is not None,
        mine=not words.isdisjoint(MINE),
        named=named_first(tokens[:4], plain, _NO_NAMES - names),
        which=_which_of_what(first),
        spaced=UNSPACED.search(head) is None,
        part=part,
        wholes=wholes,
        text=head[:cut].strip(" ,;"),
    )


def _which_of_what(head: tuple[Term, ...]) -> tuple[str, str] | None:
    """Of "the orders database" the stems of which it is and of the thing, where the subject has just these two."""
    about = [term.stem for term in head if term.subject and term.kind != "value" and term.text not in ARTICLES]
    return (about[0], about[1]) if len(about) == 2 and about[0] not in _RELATIVE else None  # noqa: PLR2004 - as said


def _of_what(tokens: list[str], plain: list[str], end: int, names: frozenset[str]) -> tuple[str, frozenset[str]]:
    """The thing that a text begins with, and whose it is, if that is said behind it; its subject ends at `end`."""
    at = next((place for place, word in enumerate(plain[:_LATEST_OF]) if word in _OF and place), len(plain))
    telling = [
        place
        for place in range(at + 1, len(plain))
        if plain[place] in names or not _is_empty(tokens[place], plain[place])
    ]
    if at >= end or not telling:  # behind the verb it is a value: "Anna is head of sales"
        return "", frozenset()
    return stem(plain[at - 1]), frozenset(stem(plain[place]) for place in telling if place < end or place == telling[0])


def _is_empty(token: str, text: str) -> bool:
    return not text or (_says_nothing(token, text, 1) and text not in AXIS_OF)


def _is_title(content: str, head: str) -> bool:
    """Whether the first line is the title of what follows."""
    line, _, rest = content.strip().partition("\n")
    return bool(rest.strip()) and len(head.split()) <= _LONGEST_TITLE and line.strip()[-1:] not in ".:!?"


def _end_of_claim(head: str, spans: list[tuple[str, int]]) -> int:
    """Where what only explains begins."""
    ends = [match.start() for pattern in (_COMMA, _EXPLAINING) for match in pattern.finditer(head)]
    return min((end for end in ends if sum(at < end for _, at in spans) >= LEAST_BEFORE), default=len(head))


def _terms(tokens: list[str], end: int, first: int, names: frozenset[str], *, german: bool) -> list[Term]:
    """The words that say something, `names` among them; the subject ends at `end`, from `first` on they explain."""
    plain = [bare(token) for token in tokens]
    terms: list[Term] = []
    for place, (token, text) in enumerate(zip(tokens, plain, strict=True)):
        is_subject, is_aside = place < end, place >= first
        sort = _sort(token, text, place, plain)
        if sort:
            terms.append(Term(text, _value(text, sort), "value", sort, is_subject, is_aside))
        elif text and (text in names or not _says_nothing(token, text, place)):
            kind: Kind = "name" if _is_name(token, place, plain, german=german) else "word"
            terms.append(
                Term(
                    text,
                    stem(text),
                    kind,
                    subject=is_subject,
                    aside=is_aside,
                    owner=is_owner(token),
                    generic=stem(text) in GENERIC_STEMS and text not in KINDS,
                    about=ABOUT_OF.get(text, frozenset()) if kind == "word" else frozenset(),
                )
            )
    return terms


def _says_nothing(token: str, text: str, place: int) -> bool:
    if text in _UNIT_OF or text in _SILENT or (text in VERBS and text not in ABOUT_OF):
        return True
    is_label = token.isupper() and (len(token) > 1 or (text not in {"i", "a"} and place > 0))
    tells = is_label or (text in AXIS_OF and text != "us")
    return not tells and (text in STOP_WORDS or text in FRAME_WORDS)


def _is_name(token: str, place: int, plain: list[str], *, german: bool) -> bool:
    """Whether it is spelt as a name; German nouns are, so there a title must stand before."""
    if any(sign.isupper() for sign in token[1:]) or is_owner(token):
        return True
    return token[:1].isupper() and place > 0 and (not german or plain[place - 1] in TITLED)


def _value(text: str, sort: str) -> str:
    """What is compared of a value."""
    if sort == "weekday":
        return f"weekday {WEEKDAYS[text if text in WEEKDAYS else text.removesuffix('s')]}"
    if sort == "date" and text in ANY_MONTH:
        return f"month {ANY_MONTH[text]}"
    return NUMERALS.get(text, text.replace(",", ".")).rstrip("%") if sort != "code" else text


def _sort(token: str, text: str, place: int, plain: list[str]) -> str:
    """What a value can be exchanged for, as the letter of "stair B" for that of "stair A"; empty for what is none."""
    before = plain[place - 1] if place else ""
    after = plain[place + 1] if place + 1 < len(plain) else ""
    if text in WEEKDAYS or text.removesuffix("s") in WEEKDAYS:
        return "weekday"
    if text in ANY_MONTH and token[:1].isupper() | (text not in {"may", "mar", "mars", "mai", "jan"}):
        return "date"
    if text in ORDINALS:
        return "ordinal"
    if len(token) == 1 and token.isupper() and text != "i" and before.isalpha() and before not in STOP_WORDS:
        return f"label {stem(before)}"
    if text[:1].isdecimal() or text in NUMERALS:
        return _sort_of_number(text, before, after, plain[place + 2 : place + 3])
    is_code = any(map(str.isdecimal, text)) or _INNER.search(token) is not None
    return "code" if text and is_code else ""


def _sort_of_number(text: str, before: str, after: str, next_one: list[str]) -> str:
    if text not in NUMERALS and not _AMOUNT.fullmatch(text) and not _CLOCK.fullmatch(text):
        return "code"
    if ":" in text or after in _CLOCK_WORDS or before == "las":
        return "clock"
    if (
        after in ANY_MONTH
        or before in ANY_MONTH
        or (after == "de" and not ANY_MONTH.keys().isdisjoint(next_one))
        or _YEAR.fullmatch(text)
    ):
        return "date"
    if text.endswith("%"):
        return _UNIT_OF["%"]
    if after in _UNIT_OF or before in _MONEY:
        return _UNIT_OF[after if after in _UNIT_OF else before]
    is_room = before in ("in", "im") and _ROOM.fullmatch(text) is not None
    return f"label {stem(before)}" if is_room or _is_labelled(text, before) else "figure"


def _is_labelled(text: str, before: str) -> bool:
    """Whether a number only names one of many, as in "berth 4"."""
    if before in NUMBERED:
        return True
    if not before.isalpha() or text in NUMERALS or before.endswith("ed") or before in _UNIT_OF or "." in text:
        return False  # "Airflow 2.7.3" is no other than 2.10.4
    joins = before in _JOINING or before in STOP_WORDS or before in VERBS or before in FRAME_WORDS
    return not joins and stem(before) not in GENERIC_STEMS and before not in ABOUT_OF


def are_forms(one: str, other: str) -> bool:
    """Whether two words that begin alike may be forms of one, or one a compound with the other."""
    shorter, longer = sorted((one, other), key=len)
    same = next((place for place, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return same == len(shorter) or (same > _PREFIX and same >= 0.6 * len(longer))


# --- what differs ---------------------------------------------------------------------------------


def parts_that_differ(one: str, other: str) -> tuple[str, str] | None:
    """What each text has and the other has not, of the claims that are likest; None where that tells nothing.

    Either part may be empty. A value that is only spelled in another way differs in nothing.
    """
    other = spelled_as(one, other)
    mine, its = max(
        ((mine, its) for mine in _parts(one) for its in _parts(other)),
        key=lambda pair: _in_common(*pair),
        default=(_Part("", statement("")), _Part("", statement(""))),
    )
    here, there = _tokens(mine.text), _tokens(its.text)
    blocks = SequenceMatcher(
        None, [token.compared for token in here], [token.compared for token in there], autojunk=False
    ).get_opcodes()
    left = [here[a:b] for kind, a, b, _, _ in blocks if kind != "equal"]
    right = [there[a:b] for kind, _, _, a, b in blocks if kind != "equal"]
    parts = _shown(left, there), _shown(right, here)
    return parts if any(parts) else None


def _in_common(mine: _Part, its: _Part) -> tuple[bool, int]:
    """How much two parts are about the same: first whether each has a value where they share a word, then the words."""
    shared = len({word.stem for word in mine.said.words} & {word.stem for word in its.said.words})
    return shared > 0 and bool(mine.said.values) and bool(its.said.values), shared


def say_the_same(one: str, other: str) -> bool:
    """Whether two statements name the same values, however spelled, and the same names, and both deny it or neither.

    The name of what they speak of is none of these: of one thing they may say different things without any. Where all
    words are the same about an "is", in another order ("Anna is our contact", "Our contact is Anna"), they do too.
    """
    other = spelled_as(one, other)
    mine, its = statement(one), statement(other)
    if mine.negated != its.negated:
        return False
    tells = any(word.kind != "word" and not word.subject for word in (*mine.words, *its.words))
    if tells and (mine.values | mine.names) == (its.values | its.names):
        return True
    words, others = ({folded(token.written) for token in _tokens(text)} for text in (one, other))
    return words == others and not mine.values and not words.isdisjoint(COPULAS)


_STOPPED = regex(r"\b(?:(?:stopped|stops|quit) (\w+ing)|gave up (?:(?:the|his|her|our|my|their) )?(\w+))\b")


def ends_something_else(older: str, newer: str) -> bool:
    """Whether the newer says that something is done no more that the older says nothing of: "Ada stopped smoking"."""
    found = _STOPPED.search(folded(newer))
    return found is not None and stem(found[1] or found[2]) not in claim(older).stems


def said_besides(older: str, newer: str) -> frozenset[str]:
    """The stems of what the older text says beside that of which the newer one is a version; empty where nothing."""
    said = statement(newer).stems
    parts = (each.said.words for part in _split(older)[1:] if _has_verb(each := _part(part)))
    stems = ((frozenset(word.stem for word in words), len(words)) for words in parts)
    return frozenset[str]().union(*(each for each, length in stems if len(each & said) < COVERED * length))


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the things that a text says, as it is written."""

    text: str
    said: Statement


@dataclass(frozen=True, slots=True)
class _Token:
    """A word as it is written and as it is compared; whether it tells anything."""

    written: str
    compared: str
    tells: bool


def _parts(text: str) -> list[_Part]:
    """The first is the beginning of the text, whatever it says; of the others what has a verb."""
    parts = [_part(part) for part in _split(text)]
    return [part for place, part in enumerate(parts) if place == 0 or _has_verb(part)]


def _split(text: str) -> list[str]:
    return [part for part in _PARTS.split(unpointed(text[:LONGEST])) if part.strip()]


def _part(text: str) -> _Part:
    return _Part(text.strip(), statement(text))


def _has_verb(part: _Part) -> bool:
    words = [folded(word.strip(_MARKS)) for word in part.text.split()]
    if len(part.said.words) < LEAST_WORDS:
        return False
    return len(words) == 1 or any(stem(word) in _VERBS or word.endswith(_VERB_ENDINGS) for word in words)


def _tokens(text: str) -> list[_Token]:
    found = []
    for token in text.split():
        written = token.strip(_MARKS)
        plain = folded(written).removesuffix("'s")
        if written:
            compared = plain if any(map(str.isdecimal, plain)) or "/" in plain else stem(plain)
            found.append(_Token(written, compared, plain not in STOP_WORDS and plain not in CHANGE_WORDS))
    return found


def _shown(blocks: list[list[_Token]], other: list[_Token]) -> str:
    """The blocks that tell something new, each without the words at its edges that tell nothing."""
    known = {token.compared for token in other}
    parts = []
    for block in blocks:
        places = [place for place, token in enumerate(block) if token.tells]
        if any(block[place].compared not in known for place in places):
            parts.append(" ".join(token.written for token in block[places[0] : places[-1] + 1]))
    text = " \u2026 ".join(parts)
    return text if len(text) <= LONGEST_PART else text[: LONGEST_PART - 1] + "\u2026"
