"""Whom or what notes are about, so that a question's names are known without a row being read."""

from __future__ import annotations

from collections.abc import Collection

from holdfast.model.words import query_terms


class Subjects:
    """Subjects as small numbers, found by their words. It only grows: who asks says which are still in use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._words: list[frozenset[str]] = []
        self._by_word: dict[str, list[int]] = {}  # each subject by one of its words, the longest

    def __len__(self) -> int:
        return len(self._names)

    def number(self, subject: str | None) -> int:
        """The number of a subject, -1 for none."""
        if subject is None:
            return -1
        number = self._numbers.get(subject)
        if number is None:
            number = self._numbers[subject] = len(self._names)
            words = query_terms(subject)
            self._names.append(subject)
            self._words.append(frozenset(words))
            if words:
                self._by_word.setdefault(max(words, key=len), []).append(number)
        return number

    def name(self, number: int) -> str:
        return self._names[number]

    def within(self, words: Collection[str]) -> list[int]:
        """The subjects all of whose words are among these."""
        asked = frozenset(words)
        return [number for word in asked for number in self._by_word.get(word, ()) if self._words[number] <= asked]
