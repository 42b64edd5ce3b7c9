# ruff: noqa: RUF001 - words of many scripts
"""Words of any script: what is indexed, what is asked for, what carries no meaning, and which belong together.

The index's stemmer knows inflections and most endings ("migrate", "migrating", "migration"). Word families are what it
leaves: a few derivations by rule ("deploy" and "deployment"), irregular forms and abbreviations by table. A rule may
make words that do not exist; a search for them finds nothing.
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, when it is first used. What is wrong with it is said then; a test makes them all.

    The functions of `re` do not take it; it has them itself.
    """
    return cast("re.Pattern[str]", _Regex(text, flags))


class _Regex:
    """Has what a pattern has."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    @functools.cached_property
    def _made(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        setattr(self, name, value)  # who asks again finds it
        return value


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches the longest of these words."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, Any]) -> str:
    branches = [re.escape(character) + _pattern(below) for character, below in sorted(node.items()) if character]
    if not branches:
        return ""
    if "" in node:
        return f"(?:{'|'.join(branches)})?"
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"  # groups take long to be compiled


# Written without spaces, or (Hangul) with endings that no space sets off: indexed by single characters and by pairs,
# asked for by pairs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
)
_RUN = regex(f"[{_UNSPACED}]+")
SIGNS = (  # what stands with a letter and is none: of Syriac, Thaana, N'Ko, India, Tibet, Ethiopia, Indonesia, Fulani
    "\u0300-\u036f\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0dff\u0f71-\u0fbc\u135d-\u135f"
    "\u1b00-\u1bff\ua980-\ua9df\U0001e944-\U0001e94a"
)
_WORD = regex(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[{SIGNS}])+")

# What many leave out when they write: accents, but not those that make another letter (Cyrillic short i, short u, yi);
# the points of Hebrew; the vowels, the hamza and the stretching of Arabic.
_OPTIONAL = regex(
    "[\u0300-\u0305\u0307\u0309-\u036f]|(?<![\u0438\u0443])\u0306|(?<!\u0456)\u0308"
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"
    "|[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
_PICTURE = regex("[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001f3fa\U0001f400-\U0001faff]")  # a word of its own
_BARRED = str.maketrans("\u0131\u0142\u00f8\u0111", "ilod")  # letters with a stroke or without a dot

ABBREVIATIONS = "Dr|Mr|Mrs|Ms|Prof|St|Sr|Sra|Hr|Fr|Nr|ca"  # whose point ends no sentence, as that of "8. Dezember"
GERMAN_MONTHS = "Jan|Feb|M\u00e4r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez"  # or what they begin with

_LONGEST_EXPANSION = 4  # times; a single sign can stand for eighteen letters, a text of such signs for nothing

STOP_WORDS = frozenset(  # a list of words reads better as one text
    """a about after again all also am an and any are as at be because been before being between both but by can
    could did do does doing don down during each for from further had has have having he her here hers him his how i if
    in into is it its just me more most my no nor not now of off on once only or other our out over own same she should
    so some such than that the their them then there these they this those through to too under until up very was we
    were what when where which while who whom why will with would you your yours s t ll re ve d m""".split()  # noqa: SIM905
)

_OPEN_ENGLISH = frozenset(  # of questions that ask for whatever there is
    """anything everything something nothing thing things stuff happen happened happening going went go goes event
    events news new update updates change changed changes decide decided decision decisions learn learned learnt
    lesson lessons note noted notes memory memories remember remembered store stored save saved record recorded write
    wrote written say said tell told talk talked discuss discussed discussion work worked working done made make
    progress happens status summary summarise summarize list show give find recall know known like stand""".split()  # noqa: SIM905
)
_OPEN_ELSEWHERE = (  # the same of German, French, Spanish
    "passiert gemacht geschehen entschieden besprochen neues wurde haben wir ist was hat",
    "passe fait decide que nous avons ce qui est il on",
    "paso hicimos decidimos que",
)
OPEN_WORDS = _OPEN_ENGLISH.union(*(text.split() for text in _OPEN_ELSEWHERE))

# Words of the conversation around a question ("can you tell me how we dealt with X in the end") name nothing. They are
# listed for the languages that most questions are in, without accents, as words are compared; they are searched for
# like others.
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
    said saw say saying says see seem seems seen settle settled shall show shows solve solved somebody
    someone something sometimes somewhere soon sort speak spoke still story stuff supposed sure take
    taken talk talking thanks thank think thought time times today together took topic tried try trying
    understand us use using usually want wanted wants way ways well went whatever whether wonder
    wondering word words yes yesterday yet
    agree agreed asks mentions trouble whose wrong
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
    mag magst meine meinem meinen meiner
    abgemacht arger aufgeschrieben erwahnt erwahnten notiert notierten problem probleme schrieb schrieben vereinbart
"""
_FRENCH = """
    alors apres arrive arrivee au aussi aux avait avec avez avoir bien ca cela ces cet cette chose comme comment dans de
    depuis des deux devenu devenue dis dire dit donc dont du elle elles en encore entre es est et etait etre eu fait
    faire fini il ils je la le les leur lui ma mais me meme mes moi mon ne non nos notre nous on ont ou oui par parle
    parler passe peux pourquoi quand que quel quelle quelles quels quelque quoi rappelle rappelles reste
    combien lequel laquelle lesquels lesquelles
    sa sais sait ses si sont pour suite sujet sur ta te tes toi tout toute tu un une vers voir vos votre vous
    avions convenu ecrit ecrivait note notee notees notes probleme problemes souci soucis
"""
_SPANISH_PORTUGUESE_ITALIAN = """
    adonde cuales cuanta cuantas cuanto cuantos donde dove onde quali quanta quante quanti quanto quienes
    acerca acabou aconteceu acordo al algo ancora antes aquel aquello asi asunto aun avec avevamo bem bien cada che chi
    ci cioe com come como con cosa cosas coisa cosi cual cuando da dal dalla dassunto de del della delle dei deste di
    dice dices digo dijo disse do dos e ed ela ele eles el ella ellos em entonces entao eran es esa ese eso
    essa esse esta estaba estao estar este esto estos eu falamos falar final finita finito foi fue ficou
    gli ha hablamos hablar habia hace hacer haces hai han hanno has hasta hay hemos hicimos hizo ho il io isso isto la
    lembra lembras las le lei lo lui mais me mi mia mio mismo muito muy na nada nao nei nel nella no nos
    nossa nosso nostro nuestra nuestro o os ou para parlato paso passou pero perche poi por porque pra puedes pode
    podes qual quale quando que quello quem questa questo quien quieres resto ricorda ricordi riguardo sabe sabes sai
    se ser si sido sobre sono sta stata stato su sua sucedio successo sul sulla suo tambem tambien te tem tema
    tenemos ti tiene tu tudo tuo tutto um uma un una uno va vai voce voi y ya yo en los
    as sao todas todos
    acordamos anotamos apuntado apuntamos apunte dijeron dijimos escribimos escrito hubo problema
    problemas quedamos quedo
"""
_DUTCH_NORDIC_POLISH_TURKISH = """
    hoeveel wanneer welk hvorfor hvilken hvornar varfor vilken ile ilu nerede
    aan al alle alweer bij daar dan dat de deze dit doen een eens en er ergens gebeurd gedaan geen ging haar hadden
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
# As `folded` has them, so with a plain sigma at the end; what stands behind an apostrophe is a word of its own.
_CYRILLIC_GREEK = """
    без был была было были быть вам вас весь вот все всего где да для до его ее если есть еще же за закончилось знаешь
    из или им их как какой какая какие когда конце кто ли лишь меня мне мог может можешь мы на над нам нас насчет
    наконец не него нет ни но ну об обо он она они оно от остальное остаток по под помнишь помните помнится после
    потом почему при про произошло прошло расскажи расскажите речь решили с со сделали скажи скажите случилось стало
    там так такой тебе тем то тобой того тоже том тот ты тут у уже чего чем что чтобы шла это этим этого этой этом этот
    я є в і й та що це цей чи як який була було був для про ми ви від коли сталося пам ятаєш яке
    αν απο αυτο αυτη αυτοσ για γινεται γινε δεν ειναι εκει ενα ενασ εγινε εχει εχουμε η ηταν θα και κανεισ κατα
    λεσ μασ με μετα μια μου να ο οι ολα οταν οτι πεσ που πωσ ποιοσ ποια ποιο σε στη στην στο στον συνεβη τα τη την τησ
    τι το τον του τουσ των θυμασαι υπολοιπο σχετικα
"""
_ARABIC_HEBREW_INDIC = """
    ماذا ما من مع عن على في الى هل حدث حصل كان كانت هذا هذه ذلك التي الذي كيف متى اين لماذا بشان حول تتذكر
    מה עם על של את זה זאת היה היתה קרה האם איך מתי איפה למה אני אתה זוכר זוכרת לגבי
    क्या का के की को में से है हैं था थे थी हुआ हुई बारे याद कैसे कब कहाँ और यह वह ने पर
"""

FRAMES: Final = tuple(  # of English, German, French, Spanish with its like, and others
    frozenset(text.split())
    for text in (
        _ENGLISH,
        _GERMAN,
        _FRENCH,
        _SPANISH_PORTUGUESE_ITALIAN,
        _DUTCH_NORDIC_POLISH_TURKISH,
        _CYRILLIC_GREEK,
        _ARABIC_HEBREW_INDIC,
    )
)
FRAME_WORDS: Final[frozenset[str]] = frozenset().union(*FRAMES)
NOT_ENGLISH: Final = FRAME_WORDS - STOP_WORDS - OPEN_WORDS - FRAMES[0]
# By language, as in `FRAMES`; the last one is all others.
_GRAMMARS: Final = (STOP_WORDS | FRAMES[0], *FRAMES[1:4], frozenset[str]().union(*FRAMES[4:]))
_PLAINLY = 2  # words of a grammar, from which on a text is in that language
_ENGLISH_ALONE: Final = _GRAMMARS[0].difference(*FRAMES[1:])  # "was" is German too
_OPEN: Final = (_OPEN_ENGLISH, *(frozenset(text.split()) for text in _OPEN_ELSEWHERE), frozenset[str]())
# A word of those that ask for whatever there is, where it is what is asked about: "what happened to the list?"
_THINGS = (
    "list show store record stand note change update event story work order plans? schedule calendar agenda page date "
    "recap memory lesson discussion"
)
_ABOUT_A_THING = regex(
    r"\b(?:about|regarding|concerning|happen\w* (?:to|with)|becomes? of|became of|status of|up with) "
    rf"(?:the|my|our|your|his|her|their) (?:{_THINGS.replace(' ', '|')})\b"
    r"|\bdid (?:i|we|they|you) (?:order|page)\b"
    r"|\b(?:have|has|had) (?:i|we|they|you) ordered\b"
)


@functools.lru_cache(64)  # one question is looked at by several
def languages_of(text: str) -> tuple[int, ...]:
    """Which of English, German, French, Spanish with its like, and all others a text may be in, as numbers.

    It is in that of which it has the most words of grammar, in each of them where it has none; in English alone where
    a word of it is of no other.
    """
    words = [word for word in folded_words(text) if len(word) > 1 or word == "i"]
    counts = [sum(word in grammar for word in words) for grammar in _GRAMMARS]
    if counts[0] == max(counts) and not _ENGLISH_ALONE.isdisjoint(words):
        return (0,)
    return tuple(number for number, count in enumerate(counts) if count == max(counts))


def is_one_english(one: str, other: str) -> bool:
    """Whether of two texts one is in English and the other plainly is not: a single word of grammar may be a name."""
    for text, its in ((one, languages_of(other)), (other, languages_of(one))):
        languages = languages_of(text)
        foreign = in_languages(languages, _GRAMMARS) - STOP_WORDS
        if its == (0,) and 0 not in languages and len(foreign.intersection(folded_words(text))) >= _PLAINLY:
            return True
    return False


def in_languages(languages: tuple[int, ...], by_language: Sequence[frozenset[str]]) -> frozenset[str]:
    """The words of these languages."""
    return frozenset[str]().union(*(by_language[number] for number in languages))


@functools.lru_cache(32)
def grammar_in(languages: tuple[int, ...]) -> frozenset[str]:
    """Words of the conversation around a question in these languages: they name nothing."""
    return STOP_WORDS | in_languages(languages, _GRAMMARS)


_GIVEN_NAMES: Final = frozenset("al ben bo dan ed elle kim mia om sai su uma una vi".split())  # noqa: SIM905 - as above
_OWNERS = regex(r"\b(Bill|Don|Max|Will)['\u2019]s\b")


def names_like_grammar(text: str) -> frozenset[str]:
    """The given names in a text that are grammar in another language: Ben, Mia and Dan in an English one.

    Of names that are words of English too only whose something is: "Max's bike".
    """
    owners = frozenset(map(folded, _OWNERS.findall(text)))
    written = _GIVEN_NAMES.intersection(folded(word) for word in _WORD.findall(text) if word.istitle())
    if not written:
        return owners
    languages = languages_of(" ".join(word for word in folded_words(text) if word not in written))
    return owners | (written - grammar_in((0,) if 0 in languages else languages))


@functools.lru_cache(32)
def open_in(languages: tuple[int, ...]) -> frozenset[str]:
    """The words of a question in these languages that asks for whatever there is."""
    return STOP_WORDS | in_languages(languages, _OPEN)


def is_about_a_thing(line: str) -> bool:
    """Whether a folded question is about a thing whose name asks for whatever there is elsewhere, as "the order"."""
    return _ABOUT_A_THING.search(line) is not None


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as a sentence has it: 1 note, 2,000 notes."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


_IN_QUOTES = str.maketrans({'"': "'", "<": "\u2039", ">": "\u203a"})


def quoted(text: str) -> str:
    """A stored text on one line in quotes, which nothing in it ends: no quotes, tags or control characters."""
    line = "".join(sign if sign.isprintable() else " " for sign in text).translate(_IN_QUOTES)
    return f'"{" ".join(line.split())}"'


def floored(relevance: float) -> float:
    """To two digits and never up: what is weak does not read as if it reached the line."""
    return math.floor(100 * relevance) / 100


_ASKS_WHERE = regex(r"\W*(?:and )?(?:where|wo|wohin|où|a?dónde)\b", re.IGNORECASE)


def asks_openly(text: str) -> bool:
    """Whether a question, its words of time left out, names nothing that a note could be about, nor a place."""
    if _ASKS_WHERE.match(text):
        return False
    return open_in(languages_of(text)).issuperset(query_terms(text)) and not is_about_a_thing(folded(text))


def folded(text: str) -> str:
    """The one spelling under which words are compared: without case, compatibility forms and optional signs.

    A picture stands in it as a word, that of its number: "u1f994".
    """
    if text.isascii():
        return text.lower()
    compatible = unicodedata.normalize("NFKC", text)[: _LONGEST_EXPANSION * len(text)]
    plain = unicodedata.normalize("NFD", compatible.casefold())
    letters = unicodedata.normalize("NFC", _OPTIONAL.sub("", plain).translate(_BARRED))
    return pictured(letters)


def pictured(text: str) -> str:
    """A text with words in the place of pictures."""
    return _PICTURE.sub(lambda found: f" u{ord(found.group()):x} ", text)


def typewritten(text: str) -> str:
    """A text as `folded`, with straight apostrophes."""
    return folded(text).replace("\u2019", "'")


def without_owner(word: str) -> str:
    """A name without the "'s" behind whose something is."""
    return word.removesuffix("'s").removesuffix("\u2019s")


def searchable(text: str) -> str:
    """Text as it is indexed: folded, runs of unspaced scripts as single characters and overlapping pairs."""
    if text.isascii():
        return text
    return _RUN.sub(lambda run: f" {' '.join(_pieces(run.group()))} ", folded(text))


def folded_words(text: str) -> list[str]:
    """All words of a text in order, folded; runs of unspaced scripts whole."""
    return _WORD.findall(folded(text))


def is_unspaced(word: str) -> bool:
    """Whether a folded word is of a script that is written without spaces."""
    return _RUN.match(word) is not None


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query in order, folded, without stop words unless there is nothing else."""
    return list(_short_query_terms(text) if len(text) <= _SHORT_QUERY else _query_terms(text))


def _query_terms(text: str) -> tuple[str, ...]:
    terms: dict[str, None] = {}
    for found in _WORD.finditer(folded(text)):
        word = found.group()
        if _RUN.fullmatch(word) and len(word) > 1:
            terms.update((word[at : at + 2], None) for at in range(len(word) - 1))
        else:
            terms[word] = None
    return tuple(term for term in terms if term not in STOP_WORDS) or tuple(terms)


_SHORT_QUERY = 200
_short_query_terms = functools.lru_cache(512)(_query_terms)  # one question, or name, is looked at by many


def asked_in_english(text: str, name: str) -> str:
    """Who somebody is: "Wer ist Renate?" asks what an encoder reads; as it is where no name is written as one.

    Args:
        text: the question.
        name: the words of the name, folded.
    """
    written = [word for word in re.findall(r"[\w'-]+", text) if word[0].isupper() and folded(word) in name.split()]
    return f"who is {' '.join(written)}?" if len(written) == len(name.split()) else text


def written_as_names(text: str) -> frozenset[str]:
    """The words of a query that have a capital or a digit in them, folded; none where all is in capitals."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    if text.isupper():
        return frozenset()
    return frozenset(folded(word) for word in words if any(sign.isupper() or sign.isdecimal() for sign in word))


_BEGINNING = regex(r"(?:(?P<first>\A)|[.!?…:]\s|\n)[^\w\n]*(?P<word>[^\W\d_]\w*)")


def inside(text: str) -> str:
    """A text as it would stand within a sentence: a capital at the beginning of one names nobody.

    Behind a sign that may end a sentence, as that of "Dr. Moen" does not, that is so of words of grammar alone.
    """

    def plain(found: re.Match[str]) -> str:
        is_name = found["first"] is None and folded(found["word"]) not in STOP_WORDS | FRAME_WORDS | OPEN_WORDS
        begin = found.start("word") - found.start()
        whole = found.group()
        return whole if is_name else whole[:begin] + whole[begin].lower() + whole[begin + 1 :]

    return _BEGINNING.sub(plain, text)


def _pieces(run: str) -> list[str]:
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]


_SHORTEST, _LONGEST = 2, 24

# Endings of verbs, or of singulars, beside those of what is made of them.
_ENDINGS = (
    ("oy", "oyment"), ("ip", "ipment"), ("ove", "ovement"), ("lace", "lacement"), ("gree", "greement"),
    ("cide", "cision"), ("lide", "lision"), ("vide", "vision"), ("clude", "clusion"), ("fuse", "fusion"),
    ("tend", "tension"), ("pend", "pension"), ("pand", "pansion"), ("vert", "version"), ("solve", "solution"),
    ("scribe", "scription"), ("duce", "duction"), ("ceive", "ception"), ("ify", "ification"), ("reate", "reation"),
    ("lyse", "lysis"), ("lyze", "lysis"), ("lyse", "lyze"), ("lose", "losure"), ("pose", "posure"),
    ("cover", "covery"), ("liver", "livery"), ("pire", "piry"), ("quire", "quiry"), ("ex", "ices"), ("ix", "ices"),
    ("grow", "growth"), ("tain", "tenance"), ("ceed", "cess"),
)  # fmt: skip
_APART = frozenset(  # what the rules would join and nobody does
    {frozenset(pair.split()) for pair in ("provide provision", "proceed process", "obtain obtenance", "exceed excess")}
)

_FAMILIES: dict[str, frozenset[str]] = {}
for _line in Path(__file__).with_name("families.txt").read_text("utf-8").splitlines():
    if not _line.startswith("#"):
        _FAMILIES |= {_word: _FAMILIES.get(_word, frozenset()) | frozenset(_line.split()) for _word in _line.split()}


@functools.lru_cache(maxsize=4096)
def relatives(word: str) -> tuple[str, ...]:
    """Words of the same family as a folded word that its stem does not lead to, in order; mostly none."""
    if not (_SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalnum()):
        return ()
    bases = list(dict.fromkeys(_bases(word)))
    found: dict[str, None] = {}
    for base in bases:
        found.update(dict.fromkeys(sorted(_FAMILIES.get(base, ()))))
        found.update(dict.fromkeys(_derived(base)))
    return tuple(each for each in found if each not in bases)


def _bases(word: str) -> Iterator[str]:
    """The word, and what it may be a form of."""
    yield word
    for ending, instead in (("ies", ("y",)), ("ied", ("y",)), ("ing", ("", "e")), ("ed", ("", "e")), ("es", ("", "e"))):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > _SHORTEST:
            yield from (stem + each for each in instead)
            if stem[-1] == stem[-2]:
                yield stem[:-1]
            return
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]


def _derived(base: str) -> Iterator[str]:
    for one, other in _ENDINGS:
        for ending, instead in ((one, other), (other, one)):
            if base.endswith(ending):
                made = base.removesuffix(ending) + instead
                if frozenset((base, made)) not in _APART:
                    yield made


_LONGEST_PROSE = 300  # characters
_LOG_LINE = regex(
    r"\d\d:\d\d:\d\d|^\W*(?:\d{4}-\d\d-\d\d\S*\W+)?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|"
    r"^\s*(?:at [\w.$<>]+[.(]|File |Traceback|[>$#|{}<\[]|\S+Error\b)|[{}<>=|;]{2}|\t"
)


def own_lines(query: str) -> list[str]:
    """The lines that are the asker's own. A question is one short line; more of them are a paste, and so is a long one.

    Of a paste only the first and the last line are the asker's own words, if any: they are read when they are no
    longer than 300 characters and look like no log line or code. Dates inside a log say when the log was written.
    """
    lines = [line.strip() for line in query.strip().splitlines() if line.strip()]
    outer = lines[:1] + lines[1:][-1:]
    return [line for line in outer if len(line) <= _LONGEST_PROSE and not _LOG_LINE.search(line)]


def numbered(words: Iterable[str]) -> frozenset[str]:
    """Words with a digit: ids, versions, years. Vectors hardly tell them apart, and different ones ask differently."""
    return frozenset(word for word in words if any(letter.isdigit() for letter in word))


def question_key(text: str) -> str:
    """A short stable name of a question, the same however it is spaced, capitalised and ended."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" ?!.。？！")
    return hashlib.sha256((folded or text.strip()).encode()).hexdigest()[:32]


def table_text(module: str, name: str) -> str:
    """A table beside a module. Read at the import, taken apart later: by then no file handle may be free."""
    return Path(module).with_name(name).read_text("utf-8")


def table_parts(module: str, name: str) -> Callable[[], list[str]]:
    """What takes a table beside a module apart: between its parts a line of two signs stands; no comments."""
    text = table_text(module, name)
    return lambda: "\n".join(line for line in text.split("\n") if line[:1] != "#").split("\n--\n")


def tables(text: str) -> dict[str, list[tuple[str, str, int]]]:
    """Tables of words, of each word what its line says it means, and its place in the line.

    A line names the table and, if anything, what its words mean; "_" is a space in a word, and indented lines go on.
    """
    found: dict[str, list[tuple[str, str, int]]] = {}
    for line in re.sub(r"\n +", " ", text).splitlines():
        if not line.startswith("#"):
            head, _, named = line.partition(": ")
            table, _, means = head.partition(" ")
            rows = ((word.replace("_", " "), means, place) for place, word in enumerate(named.split()))
            found.setdefault(table, []).extend(rows)
    return found


# Letters and signs in a plainer form of the same length, so that places in a text stay what they are: the last is the
# only letter of which the small one is two.
_PLAINER = str.maketrans(
    "\u00a0\u202f\u2009\u2019\u2013\u2212\u00d7\u03bcäöüßéèêëàâçñáíóúûÄÖÜÉ\u0130", "   '--x\u00b5aouseeeeaacnaiouuAOUEi"
)


def lowered(text: str) -> str:
    """A text in small plain letters, each in its place."""
    return text.translate(_PLAINER).lower()


def plainly(words: str) -> str:
    """Words without accents, with a space wherever one or a hyphen stands between two."""
    return re.sub(r"[\s-]", " ", lowered(words))


_LONGEST_COMPARED = 80  # letters


def alike_in_letters(one: str, other: str, least: float) -> float:
    """1 less the share of letters that differ (Levenshtein), without regard to case; 0 where one is empty.

    Below `least` it may be 0 too: letters are not compared to the end where the answer is clear.
    """
    a, b = one.casefold()[:_LONGEST_COMPARED], other.casefold()[:_LONGEST_COMPARED]
    if not a or not b:
        return 0.0
    most = (1.0 - least) * max(len(a), len(b))
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, its in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != its))
        if min(row) > most:
            return 0.0
    return 1.0 - row[-1] / max(len(a), len(b))
