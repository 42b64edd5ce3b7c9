"""WordPiece as BERT base uncased was trained with, without a dependency; and which words its vocabulary has whole.

The rules are those of the reference tokeniser (Devlin et al. 2018): drop control characters, set CJK
characters and punctuation apart, strip accents, lower-case, then cut each word greedily into the longest
pieces of the vocabulary. Unlike it, markers such as `[SEP]` inside a text are plain text here: what is stored
must not be able to steer the model.

A word that the vocabulary has whole is ordinary; the rest are names, terms of a trade, other languages or mistakes.
Its words stand in it by how often they were met, so those before some place in it are common.
"""

from __future__ import annotations

import functools
import unicodedata
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@functools.lru_cache(4096)  # the words of questions come again
def is_ordinary(word: str) -> bool:
    """Whether a word in lower case is an ordinary one; plain numbers are.

    Raises:
        StorageError: the packaged vocabulary cannot be read just now.
    """
    return word.isdecimal() or word in _whole_words()


@functools.lru_cache(4096)  # as above
def is_common(word: str) -> bool:
    """Whether a word in lower case is one of the most used: "plan" and "server" are, "ladder" and "dentist" are not.

    Raises:
        StorageError: the packaged vocabulary cannot be read just now.
    """
    return word.isdecimal() or word in _whole_words(COMMON)


@functools.cache
def _whole_words(before: int | None = None) -> frozenset[str]:
    try:
        entries = VOCABULARY.read_text("utf-8").split("\n")[:before]
    except OSError as error:
        raise StorageError(
            f"Holdfast's own files cannot be read: {error.strerror}.", "Try again, or reinstall."
        ) from error
    return frozenset(entry for entry in entries if not entry.startswith(("##", "[")))


VOCABULARY: Final = Path(__file__).with_name("vocab.txt")

COMMON: Final = 8_000  # places of the vocabulary, of which the first two thousand are signs
UNKNOWN: Final = "[UNK]"
START: Final = "[CLS]"
END: Final = "[SEP]"

MAX_TOKENS: Final = 256
MAX_WORD: Final = 100

_BLOCK: Final = 2048
_CACHED_WORDS: Final = 8192
_CACHED_CHARACTERS: Final = 8192

_CJK: Final = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)
_ASCII_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class _Cleaned(dict[int, str]):
    """Character -> what stands for it before decomposition; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "\t\n\r":
            cleaned = " "
        elif code == 0xFFFD or unicodedata.category(character) in {"Cc", "Cf", "Co", "Cs"}:  # noqa: PLR2004
            cleaned = ""
        elif character.isspace():
            cleaned = " "
        elif any(code in block for block in _CJK):
            cleaned = f" {character} "
        else:
            cleaned = character
        return _remember(self, code, cleaned)


class _Folded(dict[int, str]):
    """Decomposed character -> its lower case without accents, punctuation set apart."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Mn":
            folded = ""
        elif category[0] == "P" or character in _ASCII_PUNCTUATION:
            folded = f" {character} "
        else:
            folded = character.lower()
        return _remember(self, code, folded)


def _remember(table: dict[int, str], code: int, value: str) -> str:
    if len(table) >= _CACHED_CHARACTERS:
        table.clear()
    table[code] = value
    return value


class WordPiece:
    """Turns text into token ids of one vocabulary file (one piece a line; the line number is the id).

    Not for use from several threads at once.
    """

    def __init__(self, vocabulary: Path = VOCABULARY) -> None:
        pieces = vocabulary.read_text(encoding="utf-8").split("\n")
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece}
        self._longest = max(map(len, self._ids))
        self._unknown = [self._ids[UNKNOWN]]
        bare = {number: piece.removeprefix("##") for piece, number in self._ids.items()}
        foreign = (number for number, piece in bare.items() if _is_foreign(piece))
        self._opaque = frozenset((*self._unknown, *foreign))
        self._spoken = frozenset(number for number, piece in bare.items() if piece.isalnum()) - self._opaque
        self._start = self._ids[START]
        self._end = self._ids[END]
        self._cleaned = _Cleaned()
        self._folded = _Folded()
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Token ids of the start of `text`, between the two marks, at most `MAX_TOKENS` with them."""
        return self._marked(list(islice(self._tokens(text), MAX_TOKENS - 2)))

    def windows(
        self, text: str, size: int = MAX_TOKENS - 2, overlap: int = 32, most: int | None = None
    ) -> list[list[int]]:
        """All of `text` as overlapping windows, each between the two marks; one window if it is short.

        Args:
            text: the text; blank gives one window with the marks alone.
            size: tokens in a window, without the marks.
            overlap: tokens that a window shares with the one before it; less than `size`.
            most: how many windows to make; what lies behind the last is left out, and not even read.
        """
        step = size - overlap
        wanted = None if most is None else size + (most - 1) * step
        tokens = list(islice(self._tokens(text), wanted))
        # A window that would begin inside the last overlap has nothing of its own to add.
        starts = range(0, max(len(tokens) - overlap, 1), step)
        return [self._marked(tokens[start : start + size]) for start in starts]

    def readable(self, window: list[int]) -> list[int]:
        """A window without what the vocabulary has no words for, where that is half of it; empty if that is all.

        Unknown words, and letters and endings of scripts that it has no words of, would make all such texts alike.
        """
        tokens = window[1:-1]
        if not tokens or 2 * sum(token in self._opaque for token in tokens) < len(tokens):
            return window
        rest = [token for token in tokens if token not in self._opaque]
        return self._marked(rest) if self._spoken.intersection(rest) else []

    def _marked(self, tokens: list[int]) -> list[int]:
        return [self._start, *tokens, self._end]

    def _tokens(self, text: str) -> Iterator[int]:
        for block in _blocks(text):
            cleaned = unicodedata.normalize("NFD", block.translate(self._cleaned))
            for word in cleaned.translate(self._folded).split():
                yield from self._pieces(word)

    def _pieces(self, word: str) -> list[int]:
        if len(word) > MAX_WORD:
            return self._unknown
        pieces = self._words.get(word)
        if pieces is None:
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            pieces = self._words[word] = self._cut(word)
        return pieces

    def _cut(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            found = self._longest_piece(word, start)
            if found is None:
                return self._unknown
            piece, start = found
            pieces.append(piece)
        return pieces

    def _longest_piece(self, word: str, start: int) -> tuple[int, int] | None:
        prefix = "##" if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            piece = self._ids.get(prefix + word[start:end])
            if piece is not None:
                return piece, end
        return None


def _is_foreign(piece: str) -> bool:
    """A letter of another script, or one of the few endings that are known of its words."""
    return piece.isalpha() and not any(letter.isascii() for letter in piece)


def _blocks(text: str) -> Iterator[str]:
    """Cut `text` into stretches that end at white space, so that its end is read only when it is needed."""
    start = 0
    while start < len(text):
        end = start + _BLOCK
        if end < len(text):
            # Without any space in reach a word is cut in two, which no text that people read will notice.
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end
        yield text[start:end]
        start = end
