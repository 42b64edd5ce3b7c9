"""Words of any script: what is indexed, what is asked for, what carries no meaning."""

from __future__ import annotations

import re
import unicodedata

# Scripts written without spaces: indexed by single characters and by pairs, asked for by pairs.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f\u0900-\u0d7f])+")

STOP_WORDS = frozenset(  # a list of words reads better as one text
    """a about after again all also am an and any are as at be because been before being between both but by can
    could did do does doing don down during each for from further had has have having he her here hers him his how i if
    in into is it its just me more most my no nor not now of off on once only or other our out over own same she should
    so some such than that the their them then there these they this those through to too under until up very was we
    were what when where which while who whom why will with would you your yours s t ll re ve d m""".split()  # noqa: SIM905
)


def searchable(text: str) -> str:
    """Text as it is indexed: runs of unspaced scripts become single characters and overlapping pairs."""
    if text.isascii():
        return text
    return _RUN.sub(lambda run: f" {' '.join(_pieces(run.group()))} ", unicodedata.normalize("NFKC", text))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a query in order, in lower case, without stop words unless there is nothing else."""
    terms: dict[str, None] = {}
    for found in _WORD.finditer(unicodedata.normalize("NFKC", text).lower()):
        word = found.group()
        if _RUN.fullmatch(word) and len(word) > 1:
            terms.update((word[at : at + 2], None) for at in range(len(word) - 1))
        else:
            terms[word] = None
    telling = [term for term in terms if term not in STOP_WORDS]
    return telling or list(terms)


def written_as_names(text: str) -> frozenset[str]:
    """The words of a query that have a capital or a digit in them, in lower case; none where all is in capitals."""
    words = _WORD.findall(unicodedata.normalize("NFKC", text))
    if text.isupper():
        return frozenset()
    return frozenset(word.lower() for word in words if any(sign.isupper() or sign.isdecimal() for sign in word))


def _pieces(run: str) -> list[str]:
    return [*run, *(run[at : at + 2] for at in range(len(run) - 1))]
