"""Whether what was said in a session repeats one of some texts, as the erasing of a note must know.

A long note with all its earlier versions is looked for in every turn that waits. So each sentence of the texts is
taken apart once, however many of them have it, and each turn once; a turn is then compared with those alone that begin
as some place of it does, or all of whose content words it has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from holdfast.model.transcripts.grounding import Claim, Passage, stem_of
from holdfast.model.words import folded_words, is_unspaced, query_terms

_LETTERS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
_SENTENCE: Final = re.compile(
    r"(?<=[.!?\u061f])\s+"
    r"|(?<=[\u3002\uff01\uff1f\uff61\u0964\u0965\u104b\u17d4])\s*"  # these need no space behind them
    rf"|(?<=[{_LETTERS}])\s+(?=[{_LETTERS}])"  # there a space ends a sentence, and no word
    r"|\n"
)
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_TELLING_WORDS: Final = 4
_OF_WORD, _OF_SIGN, _OF_LETTER = 4, 2, 1  # of a word, a sign of a script without spaces, a letter of one
_ENOUGH: Final = _TELLING_WORDS * _OF_WORD
_DANDAS: Final = str.maketrans("\u0964\u0965", "  ")  # they stand among the letters of India, and are none
_IS_LETTER: Final = re.compile(f"[{_LETTERS}]")


class SaidTexts:
    """Texts that are looked for in what was said.

    A turn repeats one where it is the same text; where it has a sentence of it, or all of it, with the same words one
    behind the other, whatever is between them; or where a paragraph of it has every content word, name and number of
    the text, and nearly all in the same order. A sentence says too little that has fewer than four words, or eight
    signs of a script without spaces (of one with letters, such as Thai: sixteen).
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = frozenset(texts)
        self._whole: set[tuple[str, ...]] = set()
        self._sentences: dict[tuple[str, ...], dict[int, set[tuple[str, ...]]]] = defaultdict(dict)
        self._claims = [claim for claim in map(Claim, self.texts) if len(claim.content) >= _TELLING_WORDS]
        known: dict[str, tuple[str, ...]] = {}
        for text in self.texts:
            self._add(text, known)

    def _add(self, text: str, known: dict[str, tuple[str, ...]]) -> None:
        parts = _SENTENCE.split(text)
        for part in parts:
            if part not in known:
                known[part] = _steps(part)
        whole = tuple(step for part in parts for step in known[part])
        if whole:
            self._whole.add(whole)
        told = [known[part] for part in parts if _is_telling(known[part])]
        for steps in told or ([whole] if _is_telling(whole) else []):  # what has all of it has each sentence of it
            self._sentences[steps[:_TELLING_WORDS]].setdefault(len(steps), set()).add(steps)

    def are_repeated_in(self, turn: str) -> bool:
        """Whether a turn repeats one of them."""
        steps = _steps(turn)
        return steps in self._whole or self._has_sentence(steps) or self._tells(turn)

    def _has_sentence(self, steps: tuple[str, ...]) -> bool:
        for at in range(len(steps) - _TELLING_WORDS + 1):
            found = self._sentences.get(steps[at : at + _TELLING_WORDS])
            if found and any(steps[at : at + length] in same for length, same in found.items()):
                return True
        return False

    def _tells(self, turn: str) -> bool:
        if not self._claims:
            return False
        stems = frozenset(map(stem_of, query_terms(turn)))
        near = [claim for claim in self._claims if claim.stems <= stems]
        passages = [Passage(each) for each in _PARAGRAPH.split(turn)] if near else []
        return any(claim.is_told_in(passage) for passage in passages for claim in near)


def _steps(text: str) -> tuple[str, ...]:
    """The words of a text in order, folded; what is written without spaces as single signs."""
    return tuple(
        step for word in folded_words(text.translate(_DANDAS)) for step in (word if is_unspaced(word) else (word,))
    )


def _is_telling(steps: tuple[str, ...]) -> bool:
    return len(steps) >= _TELLING_WORDS and sum(map(_weight, steps)) >= _ENOUGH


def _weight(step: str) -> int:
    if not is_unspaced(step):
        return _OF_WORD
    return _OF_LETTER if _IS_LETTER.match(step) else _OF_SIGN
