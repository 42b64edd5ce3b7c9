# ruff: noqa: RUF001 - words of many scripts
"""What of a question can name one thing, and how much each of its words tells.

What in a question can name one thing: identifiers in any spelling, and single words of any script.

Words of the conversation around it ("can you tell me how we dealt with X in the end") name nothing. They are listed for
the languages that most questions are in, without accents, as words are compared; they are searched for like others.

Things told from their like by a word beside them: "the north crane", "the Easter concert"; and words of time.

What the words of a question score in a note: the numbers and rules that both searches by words share.

A server counts in arrays and keeps what it counted (`holdfast.index.search.snapshot`); a hook without one asks a single
question of the same tables with nothing but sqlite3 (`holdfast.index.plain`). Both must find the same.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, Literal, NamedTuple

from holdfast.model.when import spans as say
from holdfast.model.words import OPEN_WORDS, STOP_WORDS, folded, folded_words, query_terms, relatives

_ENGLISH = """
    able actually again ahead already answer answered anybody anyone ask asked asking away back bit briefly bring
    bringing brought came case check checked clear come comes context couple curious currently deal dealing deals dealt
    detail details doing earlier else end ended ends even ever everyone exactly explain explained eventually far figure
    figured finally find finding first followed following forget forgot full get gets getting give given gone good got
    guess guys handle handled happens hear heard hello help hey hold info information involved issue kind last
    lately later latest left let lets like long look looked looking lot made make makes many matter maybe mean means
    meant mention mentioned might mind moment much must need needed needs next normally now okay ones part
    perhaps please possible possibly pretty previously problem question questions quick quickly quite
    read really recent recently refer refers regarding related remain remains remind rest resolve resolved right
    said saw say saying says see seem seems seen seem settle settled shall show shows solve solved somebody
    someone something sometimes somewhere soon sort speak spoke still story stuff supposed sure take
    taken talk talking thanks thank think thought time times today together took topic tried try trying
    understand us use using usually want wanted wants way ways well went whatever whether wonder
    wondering word words yes yesterday yet
    agree agreed asks mention mentions trouble whose wrong
"""
_GERMAN = """
    aber alle alles als also am an auch auf aus bei beim bin bis bitte damit dann das dass davon dazu dein dem den denn
    der des dies diese dieser dieses doch dort du durch ein eine einem einen einer eines endlich er erinnern
    erinnerst erzahl erzahle es etwas euch fur gab gar gegen gehabt gehort geht gelost genau gesagt gewesen gibt ging
    habe haben habt hast hatte hatten hier ich ihr im immer in irgendwas ist ja jetzt kann kannst keine konnen konnte
    lief mach machen man mein mich mir mit muss nach nicht nichts noch nochmal nun nur ob oder ohne rest sache
    sag sagen schluss schon sein seine seit sich sie sind so soll steht stand uber uberhaupt um und uns unser
    vom von vor waren warum was weiss weisst wegen weil welche welcher welches wenn wer werden wie wieder wir wird
    wann wem wen wessen wieso weshalb wieviel wobei wofur woher wohin womit worauf woruber wovon wozu
    wo woran worum wurde wurden zu zuletzt zum zur zwischen
    abgemacht arger aufgeschrieben erwahnt erwahnten gab notiert notierten problem probleme schrieb schrieben vereinbart
"""
_FRENCH = """
    alors apres arrive arrivee au aussi aux avait avec avez avoir bien ca cela ces cet cette chose comme comment dans de
    depuis des deux devenu devenue dis dire dit donc dont du elle elles en encore entre es est et etait etre eu fait
    faire fini il ils je la le les leur lui ma mais me meme mes moi mon ne non nos notre nous on ont ou oui par parle
    parler passe peux pourquoi quand que quel quelle quelles quels quelque quoi rappelle rappelles reste
    combien lequel laquelle lesquels lesquelles
    sa sais sait ses si sont suite sujet sur ta te tes toi tout toute tu un une vers voir vos votre vous
    avions convenu ecrit ecrivait note notee notees notes probleme problemes souci soucis
"""
_SPANISH_PORTUGUESE_ITALIAN = """
    adonde cuales cuanta cuantas cuanto cuantos donde dove onde quale quali quanta quante quanti quanto quienes
    acerca acabou aconteceu acordo al algo ancora antes aquel aquello asi asunto aun avec avevamo bem bien cada che chi
    ci cioe com come como con cosa cosas coisa cosi cual cuando da dal dalla dassunto de del della delle dei deste di
    dice dices digo dijo disse do dos e ed ela ele eles el ella ellos em entonces entao eran es esa ese eso
    essa esse esta estaba estao estar este esto estos eu falamos falar final finita finito foi fue ficou
    gli ha hablamos hablar habia hace hacer haces hai han hanno has hasta hay hemos hicimos hizo ho il io isso isto la
    lembra lembras las le lei lo lui mais me mi mia mio mismo muito muy na nada nao nei nel nella no nos
    nossa nosso nostro nuestra nuestro o os ou para parlato paso passou pero perche poi por porque pra puedes pode
    podes qual quale quando que quello quem questa questo quien quieres resto ricorda ricordi riguardo sabe sabes sai
    se ser si sido sobre sono sta stata stato su sua sucedio successo sul sulla suo tambem tambien te tem tema
    tenemos ti tiene tu tudo tuo tutto um uma un una uno va vai voce voi y ya yo
    acordamos anotamos apuntado apuntamos apunte dijeron dijimos escribimos escrito hubo problema
    problemas quedamos quedo
"""
_DUTCH_NORDIC_POLISH_TURKISH = """
    hoeveel wanneer welk hvorfor hvilken hvornar varfor vilken ile ilu nerede
    aan al alweer bij daar dan dat de deze dit doen een eens en er ergens gebeurd gedaan geen ging haar hadden
    heb hebben hebt heeft het hij hoe hun iets ik is je jij jou kan kun maar me meer met mij nog niet nu of om omtrent
    ons onze ook op over rond te toch toen uit van voor waar waarom was wat weer weet wel welke werd wie wij
    worden ze zei zich zijn zo
    att av blev den det detta du efter eller en ett fick for fra fran hade handa hande har hur husker i ikke ikk inte
    jag jeg kan kommer med mig minns mot nar noe nagot och og om oss pa sade se si skjedde skulle slut som sa til
    till under ut vad var vara vart ved vi vid vil vet hva hvad hvor hvordan ble skete
    bo bylo byl byla chodzi chodzilo co czy czym dla do gdy gdzie jak jaki jakie jest jeszcze juz kiedy ktory mi
    mial mamy mna moze mozesz my na nam nas nie o od oraz pamietasz po powiedz przed przy sie skonczylo stalo sa
    ta tak tam tego to tu tylko tym w we wiesz za ze zostalo z
    acaba ama bana ben bir biz bize bu buna daha de da gibi hakkinda hangi hatirliyor hatirla icin ile ilgili kim
    misin miydi mi mu ne neden nasil nedir neydi o oldu olan olarak sana sen sonra sonunda su ve var ya yok musun
"""
_CYRILLIC_GREEK = """
    без был была было были быть вам вас весь вот все всего где да для до его ее если есть еще же за закончилось знаешь
    из или им их как какой какая какие когда конце кто ли лишь меня мне мог может можешь мы на над нам нас насчет
    наконец не него нет ни но ну об обо он она они оно от остальное остаток по под помнишь помните помнится после
    потом почему при про произошло прошло расскажи расскажите речь решили с со сделали скажи скажите случилось стало
    там так такой тебе тем то тобой того тоже том тот ты тут у уже чего чем что чтобы шла это этим этого этой этом этот
    я є в і й та що це цей чи як який була було був для про ми ви від коли сталося пам'ятаєш пам яке
    αν απο αυτο αυτη αυτος για γινεται γινε δεν ειναι εκει ενα ενας εγινε εχει εχουμε η ηταν θα και κανεις κατα
    λες μας με μετα μια μου να ο οι ολα οταν οτι πες που πως ποιος ποια ποιο σε στη στην στο στον συνεβη τα τη την της
    τι το τον του τους των θυμασαι υπολοιπο σχετικα
"""
_ARABIC_HEBREW_INDIC = """
    ماذا ما من مع عن على في الى هل حدث حصل كان كانت هذا هذه ذلك التي الذي كيف متى اين لماذا بشان حول تتذكر
    מה עם על של את זה זאת היה היתה קרה האם איך מתי איפה למה אני אתה זוכר זוכרת לגבי
    क्या का के की को में से है हैं था थे थी हुआ हुई बारे याद कैसे कब कहाँ और यह वह ने पर
"""

_ALL = (
    _ENGLISH,
    _GERMAN,
    _FRENCH,
    _SPANISH_PORTUGUESE_ITALIAN,
    _DUTCH_NORDIC_POLISH_TURKISH,
    _CYRILLIC_GREEK,
    _ARABIC_HEBREW_INDIC,
)
FRAME_WORDS = frozenset(word for words in _ALL for word in words.split())
_GRAMMAR_SHARE, _PLAIN_WORDS = 0.2, 2  # of an English question's words; so few tell nothing
_ENGLISH_ALONE = STOP_WORDS - frozenset(word for words in _ALL[1:] for word in words.split())  # "was" is German too
NOT_ENGLISH = FRAME_WORDS - STOP_WORDS - OPEN_WORDS - frozenset(_ENGLISH.split())


NEARLY_ALL: Final = 0.66  # share of what is asked about
_MOST_UNITS = 16
_PAIR = 2  # signs of a script without spaces that are asked for together
_LEAST_DIGITS = 4  # of a plain number that names something
_SHORTEST_OF_TWO = 6
_WORD_ENDINGS = frozenset("s es ed d ing er ers or ors r rs ly al able ness".split())  # noqa: SIM905
_OUTSIDE = re.compile(r"^[\W_]+|[\W_]+$")
_INNER = re.compile(r"[-_./:#@\\+~=&%$|]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|\d{1,2}\.\d{1,2}\.\d{4}|\d{1,2}:\d\d(?::\d\d)?"
)
_QUOTES = re.compile(r'["\x00]')  # what would end a phrase of a search
_VERSION = re.compile(r"[vV]?\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED = re.compile(r"""["`“„«].*?["`”“»]|(?<!\w)'[^']*'(?!\w)""")
_CAPITAL = re.compile(r"\b\w*[A-Z]\w*")
_SHORTEST_SLIP, _LONGEST_SLIP, _MOST_SPELT = 4, 24, 16  # letters; words of a question
_JOINED = re.compile(r"(?=[a-z]*\d)[a-z\d]{4,40}")
# Digits in groups, of which the first is an area's or a country's: "0561/402791", "+49 (0)30 555-0182".
TELEPHONE = re.compile(
    r"(?<![\w.,/+-])(?:\+?\(?\d{1,5}\)?(?:(?:[ /.-]{1,3}|(?<=\)))\(?\d{1,8}\)?){1,6}|(?:\+|00)\d{8,15})(?![\w/-])"
)
_NO_CALL = re.compile(  # a date, an address of a network
    r"(?<![\d./-])(?:(?:19|20)\d\d([./-])\d\d?\1\d\d?|\d\d?([./-])\d\d?\2(?:19|20)?\d\d)(?![./-]?\d)|"
    r"\A\d{1,3}(?:\.\d{1,3}){3}\Z"
)
LEAST_OF_A_CALL, _SURELY_A_CALL = 7, 9  # digits; so many where the first is neither 0, in brackets nor behind a plus
LEAST_JOINED = 6  # digits; fewer may be any number, and have no sign but that of their thousands
_STEPS = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")  # between letters and digits
# Signs of grammar in scripts without spaces: a pair with one of them is part of no name.
_GRAMMAR = frozenset("的了吗呢么怎什是在有和与就都也还吧啊哪谁何为们这那吗嗎麼怎甚麽個个件事")
_PARTICLES = frozenset("은는이가을를의에서로도만과와요까어떻됐했나")
_HIRAGANA = re.compile("[\u3040-\u309f]")

Kind = Literal["identifier", "name", "word", "unspaced"]


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a question may name.

    A "name" is spelt like an identifier and may be a product or a figure of speech as well: YubiHSM, state-of-the-art.
    `label` is a term of the question, or the spelling of an identifier; `phrases` are the words, one behind the other,
    under which a text may have it; `terms` are the question's terms that it is made of.
    """

    label: str
    kind: Kind
    phrases: tuple[str, ...]
    terms: frozenset[str]


@lru_cache(16)  # one question is looked at by several
def units_of(query: str) -> tuple[Unit, ...]:
    """The identifiers of a question, and its other words but those that name nothing."""
    written = [_OUTSIDE.sub("", word) for word in unicodedata.normalize("NFKC", query).split()]
    found: dict[str, Unit] = {}
    for word, after in itertools.zip_longest(written, written[1:], fillvalue=""):
        unit = _identifier(word) or _numbered(word, after)
        if unit is not None:
            found.setdefault(unit.label, unit)
    taken = frozenset().union(*(unit.terms for unit in found.values())) if found else frozenset()
    for term in query_terms(query):
        if term not in taken and is_content(term):
            kind: Kind = "unspaced" if _is_unspaced(term) else "word"
            found.setdefault(term, Unit(term, kind, (term,), frozenset([term])))
    return tuple(found.values())[:_MOST_UNITS]


def counts_fully(unit: Unit, query: str, rare: int, extraordinary: AbstractSet[str]) -> bool:
    """Whether a rare unit of a question counts fully however long the note is that has it.

    So do names, and words that are no ordinary ones; others may be there by the way, but not where the `rare` units are
    nearly all that is asked about.
    """
    is_name = unit.kind in ("identifier", "name") or unit.label in extraordinary
    return is_name or rare >= NEARLY_ALL * len(units_of(query))


def is_content(term: str) -> bool:
    """Whether a term may name something: no word of grammar, no word that any question has."""
    if _is_unspaced(term):
        signs = frozenset(term)
        return len(term) > 1 and not signs & (_GRAMMAR | _PARTICLES) and not _HIRAGANA.search(term)
    short = len(term) < (3 if term.isascii() else 4)
    return not short and term not in STOP_WORDS and term not in OPEN_WORDS and term not in FRAME_WORDS


def shows_another_language(text: str) -> bool:
    """Whether a question has words of another grammar than the English one, or letters that English has not.

    Not so where English grammar is there as well, nor for one or two words. Keywords have no grammar: English ones,
    technical ones above all, cannot be told from others, and are taken for what the encoder reads.
    """
    words = folded_words(text)
    if len(words) <= _PLAIN_WORDS or sum(word in _ENGLISH_ALONE for word in words) >= _GRAMMAR_SHARE * len(words):
        return False
    return any(sign.isalpha() and not sign.isascii() for sign in text) or any(word in NOT_ENGLISH for word in words)


def unheard_of(terms: Sequence[str], unknown: AbstractSet[str]) -> float:
    """The share of unknown words among those that are no grammar of another language, which any note in it has."""
    telling = [term for term in terms if term not in NOT_ENGLISH] or terms
    return sum(term in unknown for term in telling) / len(telling) if telling else 0.0


def identifiers_of(text: str) -> frozenset[str]:
    """The identifiers of a question, as `units_of` labels them: each names one thing."""
    return frozenset(unit.label for unit in units_of(text) if unit.kind == "identifier")


def may_be_slips(query: str, strange: AbstractSet[str]) -> list[str]:
    """Which of the words that are no ordinary ones may be slips of the pen, in the order of the question.

    No identifier, no name (a capital behind the first word), nothing in quotes or with a digit, no short word, and
    nothing in what is not English, nor in a long text.
    """
    terms = query_terms(query)
    if not strange or strange & NOT_ENGLISH or len(terms) > _MOST_SPELT or shows_another_language(query):
        return []
    names = frozenset().union(*(unit.terms for unit in units_of(query) if unit.kind in ("identifier", "name")))
    bare = _QUOTED.sub(" ", query)
    said = set(folded_words(bare[:1].lower() + bare[1:]))
    capitals = frozenset() if query.isupper() else frozenset(map(folded, _CAPITAL.findall(bare[:1].lower() + bare[1:])))
    kept = (term for term in terms if term in strange and term in said and term not in names | capitals)
    return [term for term in kept if _SHORTEST_SLIP <= len(term) <= _LONGEST_SLIP and term.isascii() and term.isalpha()]


def may_be_joined(query: str) -> list[str]:
    """The identifiers that a note may have with other signs or spaces in them.

    They are written in one piece and have digits; or they are telephone numbers, as they stand in the question.
    """
    units = (unit for unit in units_of(query) if unit.kind == "identifier" and _JOINED.fullmatch(unit.label))
    calls = (found.group() for found in islice(TELEPHONE.finditer(query), _MOST_SPELT))
    return [*(unit.label for unit in units), *filter(_is_call, calls)]


def _is_call(text: str) -> bool:
    """Whether digits in groups are rather a telephone number than a date, an address or an amount."""
    least = LEAST_OF_A_CALL if text[0] in "+(0" else _SURELY_A_CALL
    return sum(sign.isdecimal() for sign in text) >= least and not _NO_CALL.search(text)


def corrected(text: str, slips: Mapping[str, str]) -> str:
    """A question with these words in the place of others, whatever case those are in."""
    for number in filter(TELEPHONE.fullmatch, slips):
        text = re.sub(rf"(?<!\d){re.escape(number)}(?!\d)", slips[number], text)
    return re.sub(r"\w+", lambda word: slips.get(folded(word.group()), word.group()), text) if slips else text


def is_formed(word: str, is_ordinary: Callable[[str], bool]) -> bool:
    """Whether a word is made of ordinary ones: one with an ending, or two in one."""
    splits = ((word[:at], word[at:]) for at in range(3, len(word)))
    return any(
        is_ordinary(head)
        and (tail in _WORD_ENDINGS or (len(tail) > 2 and len(word) > _SHORTEST_OF_TWO and is_ordinary(tail)))  # noqa: PLR2004
        for head, tail in splits
    )


def seldom_of(terms: Sequence[str], is_common: Callable[[str], bool]) -> frozenset[str]:
    """Those of a question's terms that are none of the most used words, nor made of such."""
    return frozenset(term for term in terms if not is_common(term) and not is_formed(term, is_common))


def _is_unspaced(term: str) -> bool:
    return len(term) <= _PAIR and any(unicodedata.east_asian_width(sign) == "W" for sign in term)


def _identifier(word: str) -> Unit | None:
    """An identifier, as far as its spelling tells: signs inside, or letters and digits, or capitals inside."""
    if not word or _DATE.fullmatch(word) or _is_wide(word):
        return None
    parts = [part for part in _INNER.split(word) if part]
    steps = [step for part in parts for camel in _CAMEL.split(part) for step in _STEPS.split(camel)]
    has_digit = any(sign.isdecimal() for sign in word)
    has_letter = any(sign.isalpha() for sign in word)
    if not _is_telling(word, parts, steps, has_digit=has_digit, has_letter=has_letter):
        return None
    loose = not has_digit and (set(_INNER.findall(word)) == {"-"} if len(parts) > 1 else len(steps) == _PAIR)
    return _unit(word, parts, steps, "name" if loose else "identifier")


def _is_telling(word: str, parts: list[str], steps: list[str], *, has_digit: bool, has_letter: bool) -> bool:
    if "'" in word or not parts:
        return False
    if has_digit and has_letter:
        return len(word) >= _LEAST_DIGITS or len(steps) > 2  # noqa: PLR2004 - "5th" and "v2" name nothing
    if has_digit:  # a version, an address, a number
        digits = sum(sign.isdecimal() for sign in word)
        return len(parts) > 2 or (digits >= _LEAST_DIGITS and not _YEAR.fullmatch(word) and "%" not in word)  # noqa: PLR2004
    joined = set(_INNER.findall(word))
    if len(parts) > 1:
        return "_" in joined or bool(joined & set(".:\\@#")) or len(parts) > 2  # noqa: PLR2004 - "long-term" names nothing
    return len(steps) > 1 and len(word) >= _LEAST_DIGITS


def _is_wide(word: str) -> bool:
    return any(unicodedata.east_asian_width(sign) == "W" for sign in word)


def _numbered(word: str, number: str) -> Unit | None:
    """A word with a number of its own behind it, such as "proj 3227"."""
    if not (word.isalpha() and number.isdecimal() and len(number) > 2) or _YEAR.fullmatch(number):  # noqa: PLR2004
        return None
    return _unit(f"{word} {number}", [word, number], [word, number]) if folded(word) not in STOP_WORDS else None


def _unit(written: str, parts: list[str], steps: list[str], kind: Kind = "identifier") -> Unit:
    """Its spellings: as it is, every step apart, all in one, letters with digits behind them, a version without v."""
    paired: list[str] = []
    for step in steps:
        if paired and step[0].isdecimal() and paired[-1].isalpha():
            paired[-1] += step
        else:
            paired.append(step)
    ways = [parts, steps, ["".join(steps)], paired]
    if len(parts) > 1 and _VERSION.fullmatch(parts[0]):
        number = parts[0].lstrip("vV")
        ways += [[number, *parts[1:]], [f"v{number}", *parts[1:]]]
    phrases = dict.fromkeys(" ".join(_QUOTES.sub(" ", folded(part)) for part in way) for way in ways)
    terms = frozenset(term for way in ways for part in way for term in query_terms(part))
    return Unit(folded(written), kind, tuple(phrases), terms)


# Weights of title, body, tags, subject, earlier, later; measured on notes and dialogue (bench/retrieval.py).
BM25: Final = "bm25(texts, 2.0, 1.0, 1.0, 1.0, 0.45, 0.3)"
OWN: Final = "{title body tags subject}"  # columns of a note's own words
POOL: Final = 150  # candidates of each leg
MOST_TERMS: Final = 32  # words of a query that are looked at
MOST_CANDIDATES: Final = 64
RELATED_SHARE: Final = 0.6  # of its weight a word scores where only another of its family stands
USUAL_SHARE: Final = 0.8  # of its weight a common word scores where it stands in a note's own text
_FLOOR: Final = 1e-6  # FTS5's own idf never falls below this
_PRIOR_NOTES: Final = 50  # a small store is taken as part of a larger one, or a word in 2 of 3 notes would say nothing
_PASTED_TERMS: Final = 5  # a paste counts as a query of at least so many words, however few of its own are known
_ENOUGH: Final = 50  # notes in reach that a rare term must have found
_RARE_ROWS: Final = 1500  # rows scored term by term; behind them a term is only looked at where a rarer one was found
_RARE_AT_LEAST, _RARE_SHARE = 5, 100  # a word of so many notes, and of one in so many more, is rare


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question with those of its family that some note has.

    `found` is how many notes have it or one of `related`.
    """

    word: str
    found: int
    idf: float
    fts_idf: float
    related: tuple[Term, ...] = ()

    @property
    def phrase(self) -> str:
        return f'"{self.word}"'

    @property
    def either(self) -> str:
        """The word or another of its family."""
        return " OR ".join(term.phrase for term in (self, *self.related))

    @property
    def tells(self) -> bool:
        """Whether it says something where it is not scored: a word of every other note says nothing."""
        return self.fts_idf > _FLOOR


def idf(total: int, found: int) -> float:
    """What a word tells that `found` of `total` notes have, as in BM25, in a store that is larger by `_PRIOR_NOTES`."""
    return math.log(1 + (_PRIOR_NOTES + max(0, total - found) + 0.5) / (found + 0.5))


def term_of(word: str, total: int, count: Callable[[str], int]) -> Term:
    """A word with those of its family that some note has; it counts as found wherever one of them is.

    Args:
        word: of the question.
        total: how many notes there are.
        count: tells how many of them have a word, in whatever column.
    """
    own = _single(word, total, count)
    related = tuple(other for other in (_single(each, total, count) for each in relatives(word)) if other.found)
    if not related:
        return own
    found = min(total, own.found + sum(other.found for other in related))
    return Term(word, found, idf(total, found), own.fts_idf, related)


def _single(word: str, total: int, count: Callable[[str], int]) -> Term:
    found = count(word)
    most = max(_FLOOR, math.log((max(total, found) - found + 0.5) / (found + 0.5)))  # as FTS5 has it
    return Term(word, found, idf(total, found), most)


def weighed(terms: Sequence[Term], total: int, most: int) -> tuple[list[Term], float]:
    """The terms that are looked at, the rarest first, and the weight that all of them are a share of.

    Of a pasted log these are its rarest words that are known at all; a few of them say little.
    """
    known, least = sorted(terms, key=lambda term: term.found), 0.0
    if len(known) > most:
        known, least = [term for term in known if term.found][:most], _PASTED_TERMS * idf(total, 0)
    return known, max(least, sum(term.idf for term in known)) or 1.0


def is_scored(term: Term, rows: int, reached: Callable[[], int]) -> bool:
    """Whether the next term is scored wherever it stands, and not only looked for where a rarer one was found.

    Args:
        term: the rarest of those that are left.
        rows: how many were scored for the rarer ones.
        reached: tells how many notes that may be told these were found in.
    """
    return rows + term.found <= _RARE_ROWS or reached() < _ENOUGH


def most_rare(total: int) -> int:
    """How many of so many notes may have a word that is rare."""
    return _RARE_AT_LEAST + total // _RARE_SHARE


GERMAN = frozenset(
    """der die das den dem des ein eine einen wer wie wo wann welche welcher welches warum wieviel ist sind hat haben
    und mit von bei beim zum zur fur nicht wir ich""".split()  # noqa: SIM905
)
OFTEN = frozenset(
    """every each daily weekly hourly nightly monthly yearly annually quarterly twice once times per always never
    sometimes rarely regularly cron interval weekdays weekends mondays tuesdays wednesdays thursdays fridays saturdays
    sundays nights jeden jede jedes taglich wochentlich monatlich jahrlich stundlich immer nie einmal zweimal mal
    chaque quotidien hebdomadaire mensuel toujours jamais fois cada diario semanal mensual siempre nunca vez
    veces""".split()  # noqa: SIM905
)
UNITS = frozenset(folded(word) for word in say.UNITS)
_SHORT_MONTHS = frozenset(say.SHORT_MONTHS) - {"may", "mar", "jan"}  # words of another sense
TIMES = (
    UNITS
    | OFTEN
    | {folded(word) for word in (*say.MONTHS, *say.WEEKDAYS, *say.SEASONS)}
    | _SHORT_MONTHS
    | set(
        """today tomorrow yesterday morning afternoon evening night noon midnight early late soon later until since
        before after while during last next end start beginning recently now currently am pm heute morgen gestern abend
        nacht mittag mitternacht vor nach wahrend ende anfang demain hier matin soir nuit midi avant apres fin debut
        hoy manana ayer noche mediodia antes despues when once if as wenn sobald solange quand si tant mientras
        deadline due uhr clock""".split()  # noqa: SIM905
    )
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
_WORDS = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{2})(?:e[rsnm]?|[ao]s?|es|s)\Z")
_LEAST_PART = 4  # letters that a word of two parts has after the first
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


@lru_cache(4096)  # each word of each note that was found is asked for
def which_of(word: str) -> tuple[int, int] | None:
    return _WHICH.get(word) or _WHICH.get(f"{_ENDING.sub('', word)}-")


def things_apart(plain: str) -> Iterator[Apart]:
    """Things told apart by a word of a sort beside them, or in one word with them ("Winterreifen")."""
    words = _WORDS.findall(plain)[:_MOST_WORDS]
    for place, word in enumerate(words):
        which = which_of(word)
        if which:
            for beside in (place - 1, place + 1 + (words[place + 1 : place + 2] == ["s"])):
                if 0 <= beside < len(words) and _is_thing(words[beside]):
                    yield Apart(_ENDING.sub("", words[beside]), which, words[beside])
        elif first := _FIRST_PART.match(word):
            which = which_of(first.group()) or _WHICH[f"{first.group()}-"]
            yield Apart(_ENDING.sub("", word[first.end() :]), which, word[first.end() :])


def named_things(text: str, plain: str) -> Iterator[NamedThing]:
    """Things with a name before them, not where every noun has a capital; the first word of a sentence is no name."""
    if not GERMAN.isdisjoint(_WORDS.findall(plain)):
        return
    for found in itertools.islice(_NAMED.finditer(text), _MOST_WORDS):
        name, thing = folded(found[1]), folded(found[2])
        if _is_thing(thing) and not {name, name.removesuffix("s")} & TIMES and which_of(name) is None:
            yield NamedThing(_ENDING.sub("", thing), name, thing)


def _is_thing(word: str) -> bool:
    is_word = len(word) > 2 and not word[0].isdecimal()  # noqa: PLR2004
    return is_word and not any(word in words for words in (STOP_WORDS, NOT_ENGLISH, TIMES))
