"""Which words are ordinary: those that the packaged vocabulary of English text has whole.

The rest are names of things, terms of a trade, words of other languages, or slips of the pen.
"""

from __future__ import annotations

import functools

from holdfast.encode.wordpiece import VOCABULARY
from holdfast.errors import StorageError


def is_ordinary(word: str) -> bool:
    """Whether a word in lower case is an ordinary one; plain numbers are.

    Raises:
        StorageError: the packaged vocabulary cannot be read just now.
    """
    return word.isdecimal() or word in _whole_words()


@functools.cache
def _whole_words() -> frozenset[str]:
    try:
        entries = VOCABULARY.read_text("utf-8").split("\n")
    except OSError as error:
        raise StorageError(
            f"Holdfast's own files cannot be read: {error.strerror}.", "Try again, or reinstall."
        ) from error
    return frozenset(entry for entry in entries if not entry.startswith(("##", "[")))
