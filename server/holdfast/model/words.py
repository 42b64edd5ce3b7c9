"""Words of any script: what is indexed, what is asked for, what carries no meaning."""

from __future__ import annotations

import re
import unicodedata

# Written without spaces, or (Hangul) with endings that no space sets off: indexed by single characters and by pairs,
# asked for by pairs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_SIGNS = (  # what stands with a letter and is none: of Syriac, Thaana, N'Ko, India, Tibet, Ethiopia, Indonesia, Fulani
    "\u0300-\u036f\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0900-\u0dff\u0f71-\u0fbc\u135d-\u135f"
    "\u1b00-\u1bff\ua980-\ua9df\U0001e944-\U0001e94a"
)
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[{_SIGNS}])+")

# What many leave out when they write: accents, but not those that make another letter (Cyrillic short i, short u, yi);
# the points of Hebrew; the vowels, the hamza and the stretching of Arabic.
_OPTIONAL = re.compile(
    "[\u0300-\u0305\u0307\u0309-\u036f]|(?<![\u0438\u0443])\u0306|(?<!\u0456)\u0308"
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]"
    "|[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]"
)
_BARRED = str.maketrans("\u0131\u0142\u00f8\u0111", "ilod")  # letters with a stroke or without a dot

_LONGEST_EXPANSION = 4  # times; a single sign can stand for eighteen letters, a text of such signs for nothing

STOP_WORDS = frozenset(  # a list of words reads better as one text
    """a about after again all also am an and any are as at be because been before being between both but by can
    could did do does doing don down during each for from further had has have having he her here hers him his how i if
    in into is it its just me more most my no nor not now of off on once only or other our out over own same she should
    so some such than that the their them then there these they this those through to too under until up very was we
    were what when where which while who whom why will with would you your yours s t ll re ve d m""".split()  # noqa: SIM905
)

OPEN_WORDS = frozenset(  # of questions that ask for whatever there is
    """anything everything something nothing thing things stuff happen happened happening going went go goes event
    events news new update updates change changed changes decide decided decision decisions learn learned learnt
    lesson lessons note noted notes memory memories remember remembered store stored save saved record recorded write
    wrote written say said tell told talk talked discuss discussed discussion work worked working done made make
    progress status summary summarise summarize list show give find recall know known like stand
    passiert gemacht geschehen entschieden besprochen neues passé fait décidé pasó hicimos decidimos
    wurde haben wir ist was hat qué que nous avons ce qui est il on""".split()  # noqa: SIM905
)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as a sentence has it: 1 note, 2,000 notes."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def asks_openly(text: str) -> bool:
    """Whether a question, its words of time left out, names nothing that a note could be about."""
    return all(term in OPEN_WORDS or term in STOP_WORDS for term in query_terms(text))


def folded(text: str) -> str:
    """The one spelling under which words are compared: without case, compatibility forms and optional signs."""
    if text.isascii():
        return text.lower()
    compatible = unicodedata.normalize("NFKC", text)[: _LONGEST_EXPANSION * len(text)]
    plain = unicodedata.normalize("NFD", compatible.casefold())
    return unicodedata.normalize("NFC", _OPTIONAL.sub("", plain).translate(_BARRED))


def searchable(text: str) -> str:
    """Text as it is indexed: folded, runs of unspaced scripts as single characters and overlapping pairs."""
    if text.isascii():
        return text
    return _RUN.sub(lambda run: f" {' '.join(_pieces(run.group()))} ", folded(text))


def folded_words(text: str) -> list[str]:
    """All words of a text in order, folded; runs of unspaced scripts whole."""
    return _WORD.findall(folded(text))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query in order, folded, without stop words unless there is nothing else."""
    terms: dict[str, None] = {}
    for found in _WORD.finditer(folded(text)):
        word = found.group()
        if _RUN.fullmatch(word) and len(word) > 1:
            terms.update((word[at : at + 2], None) for at in range(len(word) - 1))
        else:
            terms[word] = None
    telling = [term for term in terms if term not in STOP_WORDS]
    return telling or list(terms)


def written_as_names(text: str) -> frozenset[str]:
    """The words of a query that have a capital or a digit in them, folded; none where all is in capitals."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    if text.isupper():
        return frozenset()
    return frozenset(folded(word) for word in words if any(sign.isupper() or sign.isdecimal() for sign in word))


def _pieces(run: str) -> list[str]:
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
