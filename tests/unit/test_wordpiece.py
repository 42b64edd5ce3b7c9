"""WordPiece gives the ids that the model was trained with, and reads no further than it must."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.encode.wordpiece import MAX_TOKENS, VOCABULARY, WordPiece

CLS, SEP, UNK = 101, 102, 100


@pytest.fixture(scope="module")
def wordpiece() -> WordPiece:
    return WordPiece()


class Unread(str):
    """A long text that tells how far into it anybody looked."""

    __slots__ = ("reached",)
    reached: int

    def __getitem__(self, place: object) -> str:
        assert isinstance(place, slice)
        self.reached = max(getattr(self, "reached", 0), place.stop)
        return super().__getitem__(place)


def test_the_vocabulary_is_that_of_bert_base_uncased() -> None:
    assert len(VOCABULARY.read_text(encoding="utf-8").splitlines()) == 30_522


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        (" \t\n\u00a0\u200b", []),
        ("hello world", [7592, 2088]),
        ("Hello, World!", [7592, 1010, 2088, 999]),
        ("unaffable", [14477, 20961, 3468]),
        ("embeddings", [7861, 8270, 4667, 2015]),
        ("naïve CAFÉ", [15743, 7668]),
        ("cafe\u0301", [7668]),
        ("人生", [1756, 1910]),
        ("he\u0000ll\u200bo", [7592]),
        ("it's", [2009, 1005, 1055]),
        ("\U0001f642", [UNK]),
        ("\ud800", []),
        ("[SEP]", [1031, 19802, 1033]),
        ("a" * 101, [UNK]),
    ],
)
def test_well_known_texts_have_their_well_known_ids(wordpiece: WordPiece, text: str, ids: list[int]) -> None:
    assert wordpiece.encode(text) == [CLS, *ids, SEP]


def test_a_word_of_a_hundred_characters_is_still_cut_into_pieces(wordpiece: WordPiece) -> None:
    assert UNK not in wordpiece.encode("a" * 100)


def test_a_long_text_is_cut_to_what_the_model_takes(wordpiece: WordPiece) -> None:
    ids = wordpiece.encode("word " * 1000)
    assert len(ids) == MAX_TOKENS
    assert (ids[0], ids[-1]) == (CLS, SEP)


@pytest.mark.parametrize("text", ["a few words " * 20_000, "人" * 250_000, "!" * 250_000])
def test_only_the_start_of_a_long_text_is_read(wordpiece: WordPiece, text: str) -> None:
    unread = Unread(text)
    wordpiece.encode(unread)
    assert unread.reached < 10_000


def test_windows_cover_the_whole_text_and_overlap(wordpiece: WordPiece) -> None:
    numbers = [wordpiece.encode(str(number))[1:-1] for number in range(1000)]
    tokens = [token for pieces in numbers for token in pieces]
    windows = wordpiece.windows(" ".join(map(str, range(1000))), size=100, overlap=20)
    assert all((window[0], window[-1]) == (CLS, SEP) for window in windows)
    inner = [window[1:-1] for window in windows]
    assert all(before[-20:] == after[:20] for before, after in pairwise(inner))
    assert inner[0] + [token for window in inner[1:] for token in window[20:]] == tokens


@pytest.mark.parametrize(("words", "expected"), [(0, 1), (1, 1), (254, 1), (255, 2), (476, 2), (477, 3)])
def test_there_are_as_many_windows_as_the_text_needs(wordpiece: WordPiece, words: int, expected: int) -> None:
    assert len(wordpiece.windows("word " * words)) == expected


def test_windows_beyond_the_wanted_are_neither_made_nor_read(wordpiece: WordPiece) -> None:
    unread = Unread("some words " * 20_000)
    windows = wordpiece.windows(unread, most=3)
    assert [len(window) for window in windows] == [MAX_TOKENS] * 3
    assert unread.reached < 20_000


def test_the_caches_do_not_grow_without_bound() -> None:
    wordpiece = WordPiece()
    wordpiece.windows(" ".join(f"w{number}" for number in range(20_000)))
    wordpiece.windows("".join(map(chr, range(0x4E00, 0x4E00 + 20_000))))
    assert len(wordpiece._words) <= 8192
    assert len(wordpiece._cleaned) <= 8192
    assert len(wordpiece._folded) <= 8192


@given(st.text(max_size=400))
def test_any_text_gives_ids_of_the_vocabulary_between_the_marks(wordpiece: WordPiece, text: str) -> None:
    ids = wordpiece.encode(text)
    assert (ids[0], ids[-1]) == (CLS, SEP)
    assert len(ids) <= MAX_TOKENS
    assert all(0 <= token < 30_522 for token in ids)


@given(st.text(alphabet="ab 1人é!\n", max_size=6000))
def test_the_first_window_is_the_start_of_the_text(wordpiece: WordPiece, text: str) -> None:
    assert wordpiece.windows(text)[0] == wordpiece.encode(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\u7f51\u5173\u4e3a\u4ec0\u4e48\u6ca1\u6709\u9009\u62e9 Kafka", "Kafka"),
        ("the gateway \u7f51\u5173 chose Kafka", "the gateway \u7f51\u5173 chose Kafka"),
        ("die Br\u00fccke ist gesperrt", "die Br\u00fccke ist gesperrt"),
        ("", ""),
    ],
)
def test_of_a_text_in_a_script_without_words_only_what_is_read_is_left(
    wordpiece: WordPiece, text: str, left: str
) -> None:
    assert wordpiece.readable(wordpiece.encode(text)) == wordpiece.encode(left)


@pytest.mark.parametrize(
    "text",
    [
        "\u0570\u0565\u057c\u0561\u056d\u0578\u057d",
        "\u8d77\u91cd\u6a5f\u3002",
        "\u0e40\u0e04\u0e23\u0e19!",
        "\u0441\u0430\u043c\u043e\u0432\u0430\u0440",  # its vocabulary has an ending that is inside
        "\u0399\u03c9\u03ac\u03bd\u03bd\u03b7\u03c2",
        "\u0632\u0645\u0627\u0646",
    ],
)
def test_where_nothing_is_read_nothing_is_left(wordpiece: WordPiece, text: str) -> None:
    assert wordpiece.readable(wordpiece.encode(text)) == []
