"""What a question is for that is answered by a list, or by what is about somebody, and not by what its words say.

Only where every word of it belongs to such a question: "list all decisions in tollgate" asks for a list, "list the
decisions that slow the build down" has to be searched for. Words of time are taken out before. The words are folded;
they are English, German, French and Spanish, and of other languages what is short. And what else is named: `head_of`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final, Literal, cast

from holdfast.model.identifiers import TIMES, UNITS, is_content
from holdfast.model.when import spans
from holdfast.model.words import (
    STOP_WORDS,
    asks_openly,
    folded,
    in_languages,
    is_about_a_thing,
    languages_of,
    open_in,
    query_terms,
    regex,
    relatives,
    table_text,
    tables,
    typewritten,
)

_WORDS = tables(table_text(__file__, "intents.txt"))


def _any(table: str) -> str:
    """The pattern of any of a table's."""
    return "|".join(word for word, _, _ in _WORDS[table])


def _words(table: str) -> frozenset[str]:
    return frozenset(folded(word) for word, _, _ in _WORDS[table])


def _by_language(table: str) -> tuple[frozenset[str], ...]:
    """Of English, German, French, Spanish with its like, and others."""
    languages = ("en", "de", "fr", "es", "other")
    return tuple(frozenset(folded(word) for word, of, _ in _WORDS[table] if of == each) for each in languages)


def _pattern(text: str) -> re.Pattern[str]:
    """Only what is not ASCII needs folding; the signs of patterns must stay as they are."""
    return regex(re.sub(r"[^\x00-\x7f]+", lambda run: folded(run.group()), text))


# --- lists ----------------------------------------------------------------------------------------

ANY, DUE = "any", "due"
TASK: Final = "todo"
LATE: Final = "late"  # what was to be done, and its day is over
QUESTION: Final = "question"  # that is open
INCIDENT: Final = "incident"
NOUNS = {folded(word): kind for word, kind, _ in _WORDS["nouns"]}
BREAKDOWNS = frozenset(term for word, kind in NOUNS.items() if kind == INCIDENT for term in query_terms(word))
DUE_WORDS = frozenset(word for word, kind in NOUNS.items() if kind == DUE) | _words("due")
LATEST, OLDEST, LIST_VERBS, ASKING, ASKING_ONE = map(_words, ("latest", "oldest", "list_verbs", "asking", "asking_one"))
LISTING, FILLING = _by_language("listing"), _by_language("filling")
HAPPENED, OVER, DID, DECIDE, OF_TASKS = map(_words, ("happened", "over", "did", "decide", "of_tasks"))
NUMERALS = {folded(word): number for word, number in spans.NUMBERS.items() if number > 1}  # "a" is no count
HAPPENS = ("event", "decision", "fact", "observation", "experience", "goal", "project", "belief")  # types of notes
COMING = _pattern(_any("coming"))
AGENDA, SUBJECTS, PLANS, KEEPING, ABOUT = map(_words, ("agenda", "subjects", "plans", "keeping", "about"))
_SHOW_ALL = LISTING[3] - {"todos", "mis"}
_IN_OTHER_WORDS = (  # what asks for a list in words of its own, and how else it is asked for
    (_pattern(rf"\A(?:{_any('news')})\W*\Z"), "latest notes"),
    (_pattern(rf"\A(?:{_any('of_old')})\W*\Z"), "oldest notes"),
    (regex(rf"\b(?:very )?first (?!thing)(?=(?:(?:\d+|{'|'.join(NUMERALS)}) )?(?:{'|'.join(NOUNS)})\b)"), "oldest "),
    (regex(r"\A(?:how many|wie viele|combien de|cuant[oa]s)\b"), "list which"),
    (regex(r"\bto[ -]?do[ -](?:lists?|items?|liste)\b|\baction items?\b|\Ato[ -]?dos?\Z"), "tasks"),
)
HERE, EVERYWHERE, LATELY = (_pattern(_any(table)) for table in ("here", "everywhere", "lately"))

# --- the user -------------------------------------------------------------------------------------

_ME = r"(?:me|myself|the user|user|this user|mich|mir|den (?:be)?nutzer|moi|l'utilisateur|mí|el usuario|mij|min|mim)"
KNOWING = _words("knowing")
ABOUT_ME = _pattern(
    rf"\b(?:about|on|of|über|von|an|sur|de|sobre|acerca de|di|over) {_ME}(?= |$)|"
    rf"\b(?:know|remember|kennst du|connais|conoces|erinnerst du dich an) (?:me|mich|moi)(?= |$)|"
    r"\b(?:me connais|te souviens de moi|me conoces|te acuerdas de mí)(?=-| |$)"
)
WHO_AM_I, I_PREFER, MINE = (_pattern(_any(table)) for table in ("who_am_i", "i_prefer", "mine"))
OWN, ALSO_OWN, ONE_OF = (_pattern(_any(table)) for table in ("owned", "owned_at_work", "one_of"))
OF_TASTE, OF_WORK = _pattern(_any("of_taste")), _pattern(_any("of_work"))
_LIKES = (
    r"(?:prefers?|likes?|loves?|hates?|dislikes?|wants?|mag|bevorzugt|hasst|prefere|aime|deteste|prefiere|odia|"
    r"preferisce)"
)
_TASTE = _pattern(
    rf"\b(?:{_LIKES}|favou?rites?|rather|möchte|lieblings\w*|vorliebe\w*|gusta\w?|piacc?i?ono|piace|gosta)\b"
)
_OF_ANOTHER = regex(
    r"(?!(?:The )?[Uu]ser|Really |Usually |Also |Always |Ich |We |Yo )(?:[Mm]y [a-z]+|[Oo]ur [a-z]+|[A-Z]\w+)"
    rf"(?: and \w+)? (?:{_LIKES}|préfère|déteste)\b"
)
OF_WHAT = _pattern(
    r"|(?:for|of|in|on|at|when|about|regarding|für|bei|beim|zu|de|d|en|pour|sobre|para|del|di|per|"
    r"voor)(?: [\w+#.'-]+){1,4}"
)


def _alternatives(table: str) -> dict[str, str]:
    """The patterns of each trait in one."""
    rows = _WORDS[table]
    return {
        trait: "|".join(word for word, of, _ in rows if of == trait) for trait in dict.fromkeys(row[1] for row in rows)
    }


# What each person has one of: how it is asked of oneself, how it is told in one's own name, and how it is told.
_ASKS = {trait: _pattern(each) for trait, each in _alternatives("asks").items()}
_OWN = {trait: _pattern(each) for trait, each in _alternatives("own").items()}
_SAID = {trait: _pattern(rf"\b(?:{each})\b") for trait, each in _alternatives("said").items()}
_USER = regex(r"\b(does|is|was) (?:the |this )?user\b(?!')|\b(?:the |this )?user's\b")
_AS_I = {"does": "do i", "is": "am i", "was": "was i", "": "my"}  # "where does the user live?", "the user's name"
_PLEASE = _pattern(
    r"^(?:(?:hi|hey|hello|ok|so|and|please|tell me|can you tell me|do you (?:still )?(?:know|remember)|"
    r"weißt du(?: noch)?|sag mir|sais-tu|tu sais|dis-moi|sabes|recuerdas|dime|sai) )+"
)
_BY_THE_WAY = _pattern(
    r"(?: (?:again|now|currently|actually|exactly|eigentlich|jetzt|gerade|noch ?mal|genau|déjà|maintenant|ahora))+$"
)
_SENTENCE = regex(r"[.;!?]\s+|\n")
_IS_NAMED = regex(
    r"\b(?:[Uu]ser(?:'s name)? is|[Mm]y name is|I am|I'm|Ich (?:bin|heiße)|Je (?:suis|m'appelle)|Soy|Me llamo|"
    r"Sono|Mi chiamo|Ik (?:ben|heet)) ([A-Z][\w'-]+)(?P<family> [A-Z][\w'-]+)?"
)
_OF_A_RELATIVE = _pattern(r"\W*(?:my|the user's|user's|our|mein\w*|unser\w*|mon|ma|mes|notre|mi|mis|nuestr\w+) \w+")

# --- persons --------------------------------------------------------------------------------------

WHO_IS = _pattern(
    r"(?:who(?:'s| is| was)|(?:tell me|what do (?:you|we) know|what is known|anything|everything) (?:more )?about|"
    r"wer (?:ist|war)|was (?:weißt du|wissen wir) über|erzähl mir von|"
    r"qui (?:est|était)|que (?:sais-tu|savons-nous|sait-on) (?:de|sur)|parle-moi de|"
    r"quién (?:es|era)|qué (?:sabes|sabemos) (?:de|sobre)|háblame de|chi (?:è|era)|quem (?:é|era)|wie is|кто такой|"
    r"кто такая) (?P<name>[^?!,;:]+?)[?!. ]*$"
)
NO_NAME = _words("no_name")
OF_A_THING = regex(r"\b(?:about|on|regarding|concerning|über|zu|zum|zur|sur|sobre|acerca de)\b", re.IGNORECASE)
ASKED_FOR = _words("asked_for")


Kind = Literal["list", "self", "person"]
Form = Literal["todo", "late", "question", "incident", "wish", "decision"]

_MOST_WORDS, _LONGEST, _MOST_NAMES, _MOST_MODIFIERS, _DIGITS = 16, 160, 4, 2, 4  # `_LONGEST` in characters
_SEVERAL = regex(r"\w+s|people|leute|fakten|aufgaben|termine|\w+(?:ungen|onen|nisse|kte|ele|ioni)")
_WORD = regex(r"[^\W_](?:[\w.-]*\w)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_TAGGED = regex(
    r"(?:\b(?:tagged|labell?ed|tag|tags|with (?:the )?(?:tag|label)|mit (?:dem )?(?:tag|schlagwort)|"
    r"avec (?:le tag|l'etiquette)|con (?:la )?etiqueta)(?: as| with)? |(?<!\S)#)[\"'#]?(?P<tag>[\w./:-]*\w)[\"']?"
)


@dataclass(frozen=True, slots=True)
class Intent:
    """What is asked for.

    `list`: all notes of `types` and `tags`, any where empty; of the space that the words `place` name, and the one that
    `another` does, of the current one alone with `here`, of all with `everywhere`. `at_most` so many, `oldest` first.
    `several` of a kind: where no space has that name it is a word of those notes, as of "Levi's preferences".
    With `timely` it takes a window of time, or a space, to make it such a question. `due` are things that are still to
    come, `over` such as have happened; `form` is one that notes have in place of a type; `agenda` is whatever is to
    come then, or else what is from then; with `planned` nothing is that was only noted then.
    `self`: what is known of the user, `topic` says of what in particular, with `single` that there is one of it, and
    `trait` which, where it is one that is told in known words; with `liking` it asks what they like or want, in words
    that a note may have too, with `tastes` for their preferences.
    `person`: who is called `topic`.
    """

    kind: Kind
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    place: tuple[str, ...] = ()
    another: str = ""
    here: bool = False
    everywhere: bool = False
    several: bool = False
    at_most: int | None = None
    oldest: bool = False
    timely: bool = False
    due: bool = False
    over: bool = False
    form: Form | Literal[""] = ""
    agenda: bool = False
    planned: bool = False
    topic: str = ""
    single: bool = False
    trait: str = ""
    liking: bool = False
    tastes: bool = False


WHAT_COMES, AGENDA_LIST = Intent("list", due=True), Intent("list", due=True, agenda=True)


def intent_of(text: str) -> Intent | None:
    """What a question asks for, its words of time left out; None where it has to be searched for."""
    if len(text) > _LONGEST:
        return None
    line = " ".join(typewritten(text).split()).lstrip("¿¡ ")
    if not line or len(line.split()) > _MOST_WORDS:
        return None
    return _about_self(line) or _person(line) or _list(line)


def asked_about(text: str) -> str:
    """What is asked about, where all before it only asks for what is stored: "list all notes about cranes"."""
    for found in OF_A_THING.finditer(text, 0, _LONGEST):  # of a paste each "about" would read all that is before it
        before = [folded(word) for word in _WORD.findall(text[: found.start()])]
        if not all(word in ASKED_FOR or word in STOP_WORDS for word in before):
            return text
        if any(word in ASKED_FOR for word in before) and not asks_openly(text[found.end() : found.end() + _LONGEST]):
            return text[found.end() :]
    return text


def is_recency(words: str) -> bool:
    """Whether words of time only ask for what is latest."""
    return bool(LATELY.fullmatch(folded(words).strip()))


# --- the user -------------------------------------------------------------------------------------


def _about_self(line: str) -> Intent | None:
    plain = " ".join(re.sub(r"[^\w'\s-]", " ", line).split())
    if WHO_AM_I.fullmatch(plain):
        return Intent("self")
    if (found := ABOUT_ME.search(plain)) and _asks_to_know(plain[: found.start()] + plain[found.end() :]):
        return Intent("self")
    if I_PREFER.fullmatch(plain):
        is_of_you = plain.startswith(("how should ", "how shall ", "how must ", "how would ", "wie soll"))
        return Intent("self", topic="answers" if is_of_you else "", liking=True, tastes=not is_of_you)
    asked = _BY_THE_WAY.sub("", _PLEASE.sub("", _USER.sub(lambda found: _AS_I[found[1] or ""], plain)))
    if trait := next((trait for trait, each in _ASKS.items() if each.fullmatch(asked)), None):
        return Intent("self", topic=asked, single=True, trait=trait)
    return _mine(plain)


_OF_THE_USER = regex(
    r"\b(?:i|my|me|mine|we|our|users?|ich|mein\w*|mir|mich|wir|unser\w*|benutzer\w*|nutzer\w*|je|j(?=')|mon|ma|mes|nous|notre|nos|"
    r"utilisateur|yo|mi|mis|nosotros|nuestr\w*|usuario|io|mio|mia|noi|nostr\w*|utente|eu|meu|minha|ik|mijn|gebruiker)\b"
)


def _mine(plain: str) -> Intent | None:
    """As in "my coding conventions", "the user's preferences": a thing of a person, with what of it is meant."""
    plain = plain.replace("time zone", "timezone")
    owner = MINE.search(plain)
    if owner is None or not _asks_to_know(plain[: owner.start()]):
        return None
    words = _WORD.findall(plain[owner.end() :])
    head = next((place for place, word in enumerate(words) if _is_head(word, words[:place])), len(words))
    if head == len(words) or head > _MOST_MODIFIERS:
        return None
    behind = words[head + 1 :]
    if OF_WHAT.fullmatch(" ".join(behind)) is None and not all(word in KNOWING for word in behind):
        return None
    topic = [word for word in (*words[: head + 1], *behind) if word not in KNOWING]
    is_one = not behind and ONE_OF.fullmatch(words[head]) is not None
    return Intent("self", topic=" ".join(topic), single=is_one, tastes=OF_TASTE.fullmatch(words[head]) is not None)


def _is_head(word: str, before: list[str]) -> bool:
    """Whether it is a thing that only a person has; of the others the words before it must say so."""
    if OWN.fullmatch(word):
        return True
    return bool(ALSO_OWN.fullmatch(word)) and all(OF_WORK.fullmatch(each) for each in before)


def speaks_of_the_user(text: str) -> bool:
    """Whether a note that is not marked as one about the user may be one all the same."""
    return _OF_THE_USER.search(folded(text)) is not None


def tells_trait(trait: str, text: str, *, is_marked: bool) -> bool:
    """Whether a text tells a trait of the user, in their own name, or in a note marked as one about them.

    So "my sister lives in Turin" does not tell where they live, and "lives in Graz" does in a marked note alone.
    """
    sentences = [typewritten(each) for each in _SENTENCE.split(text)]
    if any(_OWN[trait].search(each) for each in sentences):
        return True
    if not is_marked:
        return False
    is_named = trait == "name" and any(each["family"] for each in _IS_NAMED.finditer(text))
    return is_named or any(_SAID[trait].search(each) and not _OF_A_RELATIVE.match(each) for each in sentences)


def begins_with_a_relative(text: str) -> bool:
    """As in "my sister", "our landlord": then a text is of somebody else."""
    return _OF_A_RELATIVE.match(folded(text)) is not None


def names_told(text: str) -> set[str]:
    """First names of the user that a text tells: "The user is Ines Halvorsen", "My name is Ines"."""
    return {each[1] for each in _IS_NAMED.finditer(text)}


def taste_of(text: str, *, is_preference: bool, names: Collection[str] = ()) -> int:
    """Where a note stands among what the user prefers: first what is a preference, last what another one prefers.

    `names` are those of the user: "Ines wants answers short".
    """
    if _OF_ANOTHER.match(text) and text.split(maxsplit=1)[0] not in names:
        return 2
    return 0 if is_preference or _TASTE.search(folded(text)) or has_form("wish", text) else 1


def _person(line: str) -> Intent | None:
    name = _WORD.findall(found["name"]) if (found := WHO_IS.match(line)) else []
    if not 0 < len(name) <= _MOST_NAMES or any(word in NO_NAME or word in STOP_WORDS for word in name):
        return None
    return Intent("person", topic=" ".join(name))


# --- lists ----------------------------------------------------------------------------------------


def _list(line: str) -> Intent | None:
    """The list that a line asks for, also of two spaces: "decisions in harbour and vineyard" is asked of the first."""
    if two := _OF_TWO.search(line):
        one = _list_of_one(f"{line[: two.end(1)]}{line[two.end() :]}")
        if one and one.place[-1:] == (two[1],):
            return replace(one, another=two[2])
    return _list_of_one(line)


def _list_of_one(line: str) -> Intent | None:
    if COMING.fullmatch(re.sub(r"[^\w'\s-]", " ", line).strip()):
        return WHAT_COMES
    if is_about_a_thing(line):
        return None
    for pattern, instead in _IN_OTHER_WORDS:
        line = pattern.sub(instead, line)
    intent, rest = _with_place(line)
    plain = _TO_DO_THERE.sub(r"\1\3\2", " ".join(re.sub(r"[^\w'-]", " ", rest).split()))
    there = None if _form_asked_for(plain) else _IN_A_SPACE.search(plain)
    form = _form_asked_for(plain[: there.start()] if there else plain)
    if form:
        return replace(intent, form=form, timely=True, place=tuple(there["place"].split()) if there else ())
    if (tagged := _TAGGED.search(rest)) is not None:
        intent = replace(intent, tags=(tagged["tag"],))
        rest = f"{rest[: tagged.start()]} {rest[tagged.end() :]}"
    return _listed(intent, [word for raw in _WORD.findall(rest) for word in raw.split("'") if word])


def _form_asked_for(plain: str) -> Form | Literal[""]:
    return next((form for form, each in _ASKED.items() if each.fullmatch(plain)), "")


_STILL_OPEN = regex(  # "open" as it says which are meant: the bakery opens at seven
    rf"\bopen (?:{'|'.join(NOUNS)}|issues?|items?|tickets?|questions?|points?)\b|"
    r"\b(?:(?:what|which)(?: \w+)? (?:s|is|are|was|were)(?: now| still)?|(?:any|every|some)thing|all) open\b"
)
_DUE_TASKS = regex(  # not "which have no due date?", "which were due?"
    r"(?:(?:which|what|list|show|all|my|our|the|welche) )*(?:(?:tasks|to-?dos|chores|errands|aufgaben)(?: are| sind)?"
    r" (?:due|fallig)(?: by| on| in)?|due tasks)"
)
_OF_WHOM = (
    r"(?:\bs {0}\b|\b(?:{1}) {0}\b|\b{0} (?:of|for|are there (?:for|in)|does|do|did|has|have|hat|haben|fur|von)\b)"
)
_TO_DO_THERE = regex(r"\A(was (?:ist|bleibt|gibt es))( (?:in|im|fur|bei) .+?)((?: noch| alles)* zu \w+)\Z")
_IN_A_SPACE = regex(r" (?:in|for|on|at|im|fur|zu|dans|pour|chez|en|para) (?P<place>[\w.-]+(?: [\w.-]+)?)\Z")
_OF_TWO = regex(r"(?<=\s)([\w.-]*\w) (?:and|or|und|oder|et|ou|y|o)(?: in)?(?: the)? ([\w.-]*\w)(?: projects?)?")
_DECIDED = regex(
    r"\b(?:decid|decis|agree|settled|ch[oi]ose|picked|switch|adopt|resolved|approved|ents?chied|entscheid|beschl[ou]ss|"
    r"vereinbar|einigt|convenu|choisi|acord|elegi)"
)
_DECISIONS = regex(r"\b(?:decis|entscheidung|beschl[uo]ss(?!en)|beschlusse|beslissing)")


def may_be_one(types: Sequence[str], question: str, text: str) -> bool:
    """Whether a note of another type may be of one of these all the same: "what did we decide?" asks more openly.

    As "we agreed on oak" is a decision, whatever its type.
    """
    if "decision" not in types:
        return False
    return _DECISIONS.search(folded(question)) is None or _DECIDED.search(folded(text)) is not None


def asks_what_is_on(text: str) -> bool:
    """Whether a question, its words of time left out, asks what there is then, as "what is on?", "am I free?"."""
    if len(text) > _LONGEST:
        return False
    words = [word for raw in _WORD.findall(typewritten(text)) for word in re.split("['-]", raw) if word]
    is_english_was = "was" in words and not {"what", "on", "there"}.isdisjoint(words)
    if not 0 < len(words) <= _MOST_WORDS or is_english_was or not AGENDA.issuperset(words):
        return False
    return "?" in text or words[0] not in SUBJECTS  # "I am busy" asks nothing


def asks_of_plans(question: str) -> bool:
    """Whether a question for what there is at a time asks for what takes place then, as "what is on?" does."""
    return not PLANS.isdisjoint(_WORD.findall(folded(question)))


def _with_place(line: str) -> tuple[Intent, str]:
    """Whether this space or all of them are meant, and the line without that."""
    here, found = HERE.search(line), EVERYWHERE.search(line)
    if there := here or found:
        return Intent("list", here=bool(here), everywhere=not here), f"{line[: there.start()]} {line[there.end() :]}"
    return Intent("list"), line


def _listed(intent: Intent, words: list[str]) -> Intent | None:
    """The list that these words ask for, with a name of a space among them at most; None where they ask for none."""
    named = itertools.pairwise(word for word in words if word not in ("no", "nr"))
    if any(word.isdecimal() and before in NOUNS for before, word in named):  # "incident 2291", "decision no. 42"
        return None
    languages = languages_of(" ".join(words))
    ordered = not (LATEST | OLDEST).isdisjoint(words)
    words = _with_counts(words) if ordered else words
    there = set(words)
    nouns = [NOUNS[word] for word in words if word in NOUNS] + ["decision"] * bool(DECIDE & there and DID & there)
    listing = in_languages(languages, LISTING) | LIST_VERBS
    listing = listing | {"open"} if _STILL_OPEN.search(" ".join(words)) else listing - {"open"}
    usual = open_in(languages) | listing | in_languages(languages, FILLING)
    usual = usual | OF_TASKS if TASK in nouns else usual
    due, wanted = bool(there & DUE_WORDS - (OF_TASKS if TASK in nouns else set())), ordered or bool(there & listing)
    place = [word for word in words if not _is_usual(word, usual)]
    if place and (intent.here or not _names_a_place(words, place)):
        return None
    kinds = [kind for kind in nouns if kind not in (ANY, DUE, TASK, INCIDENT)]
    types = tuple(dict.fromkeys(kind for kind in kinds if kind != "project" or not _is_of_a_place(words, place)))
    is_todo = TASK in nouns and not types and there.isdisjoint(_SHOW_ALL)  # "muestra todos" asks for everything
    form: Form | Literal[""] = TASK if is_todo else INCIDENT if INCIDENT in nouns and not types else ""
    somewhere = bool(place) or intent.here
    sure = bool(types or intent.tags or due or form) and (wanted or somewhere or bool(there & ASKING))
    sure |= bool(nouns or intent.tags) and (wanted or somewhere or due or bool(nouns and intent.tags))
    sure |= somewhere and (wanted or bool(there & HAPPENED)) and there.isdisjoint(ASKING_ONE)
    is_of_tasks = is_todo and due and _DUE_TASKS.fullmatch(" ".join(words)) is not None
    sure |= (is_todo and (is_of_tasks or bool(there & OF_TASKS))) or (ordered and bool(there & KEEPING))
    sure |= bool(types or form) and len(words) == 1 and _SEVERAL.fullmatch(words[0]) is not None
    counts = [int(word) for word in words if word.isdecimal() and len(word) < _DIGITS]
    at_most = counts[0] if counts and ordered and counts[0] else None
    over, types = not due and bool(there & OVER), () if due and types == ("event",) else types  # of any type
    is_of_one = not sure and not there.isdisjoint(ASKING_ONE)  # "where did we go?"
    if is_of_one or (is_todo and (over or not sure or due != is_of_tasks)):  # "which tasks did we finish?" names it
        return None
    several = any(_asks_of(words, place, word) for word in words if NOUNS.get(word) in types)
    intent = replace(intent, form="" if is_of_tasks else form, several=several, oldest=not there.isdisjoint(OLDEST))
    return replace(intent, types=types, place=tuple(place), at_most=at_most, timely=not sure, due=due, over=over)


def _asks_of(words: list[str], place: list[str], noun: str) -> bool:
    """Whether a kind in the plural is asked for of what is named, and not of what it is not: "Levi's preferences"."""
    named = _OF_WHOM.format(noun, "|".join(map(re.escape, place)))
    is_denied = not {"not", "no", "without", "nicht", "kein", "keine"}.isdisjoint(words)
    return bool(place) and not is_denied and bool(_SEVERAL.fullmatch(noun) and re.search(named, " ".join(words)))


def _with_counts(words: list[str]) -> list[str]:
    """The words with digits for numerals: "due" is two behind an Italian word, and else what is to be done."""
    return [
        str(NUMERALS.get(word, word)) if word != "due" or before.startswith("ultim") else word
        for before, word in itertools.pairwise(["", *words])
    ]


def _names_a_place(words: list[str], place: list[str]) -> bool:
    """Whether the words that are left stand together, and not behind one that says what a note is about."""
    first = words.index(place[0])
    return words[first : first + len(place)] == place and (first == 0 or words[first - 1] not in ABOUT)


def _is_of_a_place(words: list[str], place: list[str]) -> bool:
    """Whether "project" stands beside the name of a space, as in "the harbour project": then it asks for no type."""
    if not place:
        return False
    first = words.index(place[0])
    beside = [*words[max(0, first - 1) : first], *words[first + len(place) : first + len(place) + 1]]
    return any(NOUNS.get(word) == "project" for word in beside)


def _is_usual(word: str, usual: AbstractSet[str]) -> bool:
    known = word in usual or word in NOUNS or word in LATEST | OLDEST or word in DUE_WORDS or word.isdecimal()
    is_a_thing = word.endswith(("-up", "-in"))  # "the stand-up"
    parts = word.split("-") if "-" in word and not is_a_thing else []
    return known or word in spans.HOLIDAYS or (bool(parts) and all(_is_usual(part, usual) for part in parts))


def _asks_to_know(text: str) -> bool:
    return all(part in KNOWING for word in _WORD.findall(text) for part in re.split("['-]", word) if part)


# --- notes of a form ------------------------------------------------------------------------------

_ASKED = {cast("Form", form): _pattern(each) for form, each in _alternatives("asked").items()}
_BEGINS = {form: _pattern(rf"\W*(?:{each})") for form, each in _alternatives("begins").items()}
_HABIT, _FINISHED = _pattern(rf"[^.;!?\n]*\b(?:{_any('habit')})\b"), _pattern(_any("finished"))
_LASTING = _pattern(rf"\W*(?:when|wenn|quand|cuando)\b|[^.;!?\n]*\b(?:{_any('lasting')})\b")
_REPORT = _pattern(  # in "incident 19 May: …" nothing is said of what may be
    rf"\W*(?:{_alternatives('openings')[INCIDENT]})(?: [\d#][\w.:-]*| (?:{'|'.join(spans.MONTHS)}))* ?[:\u2013-] "
)
_NAMED_FIRST = regex(r"\W*[\w.&'-]+(?: [\w.&'-]+){0,3} ?: (?=\w)")
_STILL = regex(r"\b(?:still|yet|noch|encore|todavia|aun)\b")
TASK_TAGS, _DONE_TAGS = _words("todo_tags"), _words("done_tags")
_LABEL, _LONGEST_BEGINNING = regex(r"\W*TO-?DO\b"), 400  # characters
BOX: Final = "[ ]"  # of what is to be ticked off
_OPEN_BOX = regex(rf"^[ \t]*(?:(?:[-*+]|\d{{1,3}}[.)])[ \t]+)?{re.escape(BOX)}[ \t]+\S", re.MULTILINE)


def openings(form: Form) -> tuple[list[str], list[str]]:
    """Phrases that notes of a form have at the beginning of a title or text, and anywhere; others may have them too."""
    first, within = ([word for word, of, _ in _WORDS[table] if of == form] for table in ("openings", "anywhere"))
    return first, within


def has_form(form: Form, text: str) -> bool:
    """Whether a note says by how it begins that it is a wish of the user's, or a decision, or something to do."""
    plain = typewritten(text[:_LONGEST_BEGINNING])
    if form != TASK:
        is_rule = form == INCIDENT and _LASTING.match(plain) and not _REPORT.match(plain)
        return _BEGINS[form].match(plain) is not None and not is_rule
    said = [plain, plain[named.end() :]] if (named := _NAMED_FIRST.match(plain)) else [plain]
    is_marked = (_OPEN_BOX.search(text) or _LABEL.match(text)) is not None
    return is_marked or any(map(_BEGINS[TASK].match, said)) or _is_duty(plain, said[-1])


def _is_duty(plain: str, said: str) -> bool:
    """Behind the name of a project only what is still to do: "House: we have to be quiet at night" is a rule."""
    is_open = said == plain or _STILL.search(said) is not None
    return is_open and _BEGINS["duty"].match(said) is not None and _HABIT.match(said) is None


def is_to_do(text: str, tags: Sequence[str]) -> bool:
    """Whether a note is something to do, by its form or its tags, and does not say that it is done.

    Of boxes to be ticked off one that is open is enough.
    """
    named = {folded(tag) for tag in tags}
    if not named.isdisjoint(_DONE_TAGS) or (_FINISHED.search(folded(text)) and not _OPEN_BOX.search(text)):
        return False
    return not named.isdisjoint(TASK_TAGS) or has_form(TASK, text)


# --- what is asked for by name --------------------------------------------------------------------

_HEAD = r"((?:[\w-]+ ){0,2}?[\w-]+)"
_AUXILIARY = "is|are|was|were|do|does|did|has|have|had|will|would|should|can|could|must|may"
_OF_ONE = (
    rf"\b(?:what|who)(?:'s| is| are| was| were) (?:the|our|my|your|his|her|their|its) {_HEAD} "
    r"(?:of|for|in|on|at|to|from|behind|with)\b"
)
_ITS = r"\b(?:what|who)(?:'s| is| are| was| were) [^?]{1,40}?'s? ((?:[\w-]+ ?){1,3})\W*\Z"
_HOW_MANY = (
    rf"\bhow many (?:of (?:the|our|my) )?(?!(?:{_AUXILIARY}|fit|get|go|come)\b)((?:[\w-]+ ){{1,3}}?)"
    rf"(?:{_AUXILIARY}|on|in|of|for|there|to|from|at)\b"
)
_THINGS = r"\bhow many (?:of (?:the|our|my) )?((?:[\w-]+ )??[\w-]+[^\Ws]s)\b(?= \w+ \w)"
_GERMAN = (
    r"\b(?:wer|was) (?:ist|sind|war|waren) (?:der|die|das|unsere?r?|meine?r?) ((?:\w+ )?\w+) "
    r"(?:des|der|von|vom|fur|im|in|am|bei)\b"
)
_FRENCH = r"\b(?:qui|quel|quelle) (?:est|etait) (?:le |la |l'|notre |mon |ma )((?:\w+ )?\w+) (?:de|du|des|d'|pour)"
_SPANISH = r"\b(?:quien|cual) (?:es|era) (?:el|la|nuestr[oa]|mi) ((?:\w+ )?\w+) (?:de|del|para)\b"
_HEADS = [regex(each) for each in (_OF_ONE, _ITS, _HOW_MANY, _THINGS, _GERMAN, _FRENCH, _SPANISH)]
_OPEN_NOUNS, _WITHIN = _words("open_nouns"), _words("within")  # the first ask for whatever is said of a thing
_HEAD_WORD, _STEM = regex(r"[^\W_]+"), 5  # letters with which words of one family begin
_SUFFIX = regex(r"(?:ers?|ors?|ings?|ed|es|s|ions?|ments?)\Z")


def head_of(question: str) -> tuple[str, ...]:
    """The words of what a folded question asks for of a thing, or how many; empty where it asks openly."""
    for pattern in _HEADS:
        if found := pattern.search(question):
            named = itertools.takewhile(lambda word: word not in _WITHIN, _HEAD_WORD.findall(found[1]))
            words = [word for word in named if is_content(word) and (word in UNITS or word not in TIMES)]
            telling = words[:-1] if words[-1:] in (["size"], ["type"], ["number"]) else words  # of "shoe size" the shoe
            return () if _OPEN_NOUNS.intersection(telling) else tuple(telling)
    return ()


def is_covered(head: Sequence[str], plain: str) -> bool:
    """Whether a word of the head, or one of its family, stands in a folded text."""
    words = frozenset(_HEAD_WORD.findall(plain))
    if not words.isdisjoint(head):
        return True
    stems = {_SUFFIX.sub("", word) for word in words} | {word[:_STEM] for word in words}
    return any(
        _SUFFIX.sub("", word) in stems or word[:_STEM] in stems or not words.isdisjoint(relatives(word))
        for word in head
    )
