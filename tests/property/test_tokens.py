"""What a text is said to cost at most is never less than what real tokenizers count, whatever the text."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rs_bpe import openai

from holdfast.model.tokens import PIECES, SINGLE, beginning, most_tokens

ROOT = Path(__file__).parents[2]
TOKENIZERS = (openai.o200k_base(), openai.cl100k_base())
LENGTH = 4000
LOWER, MIXED = string.ascii_lowercase, string.ascii_letters
BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"
BLOCKS = {
    "latin": (0xC0, 0x24F), "ipa": (0x250, 0x2AF), "marks": (0x300, 0x36F), "greek": (0x391, 0x3C9),
    "cyrillic": (0x400, 0x52F), "armenian": (0x531, 0x586), "hebrew": (0x5D0, 0x5EA), "arabic": (0x620, 0x6FF),
    "devanagari": (0x904, 0x96F), "tamil": (0xB85, 0xBCD), "tibetan": (0xF00, 0xFBC), "thai": (0xE01, 0xE5B),
    "ethiopic": (0x1200, 0x137F), "punctuation": (0x2010, 0x205E), "arrows": (0x2190, 0x22FF), "box": (0x2500, 0x257F),
    "symbols": (0x2600, 0x27BF), "kana": (0x3041, 0x30FA), "rare han": (0x3400, 0x4DBF), "han": (0x4E00, 0x9FFF),
    "hangul": (0xAC00, 0xD7A3), "private": (0xE000, 0xF8FF), "full width": (0xFF01, 0xFF9F),
    "emoji": (0x1F300, 0x1FAFF), "astral": (0x10000, 0x10FFF), "han b": (0x20000, 0x2A6DF), "controls": (1, 31),
}  # fmt: skip
PROSE = {
    "german": "Wir haben beschlossen, die Datenbankverbindung über einen zentralen Vermittler aufzubauen.",
    "french": "Nous avons décidé de remplacer la bibliothèque de journalisation du serveur.",
    "spanish": "Decidimos guardar las copias de seguridad en otro servidor.",
    "finnish": "Päätimme tallentaa varmuuskopiot toiselle palvelimelle, koska levytila loppui.",
    "polish": "Postanowiliśmy przechowywać kopie zapasowe na innym serwerze.",
    "russian": "Мы решили хранить резервные копии на другом сервере.",
    "chinese": "我们决定把备份保存在另一台服务器上，因为磁盘已满。",
    "japanese": "ディスクがいっぱいになったため、バックアップを別のサーバーに保存します。",
    "korean": "디스크가 가득 차서 백업을 다른 서버에 저장하기로 했습니다.",
    "hindi": "हमने बैकअप को दूसरे सर्वर पर रखने का निर्णय लिया।",
    "arabic": "قررنا حفظ النسخ الاحتياطية على خادم آخر.",
    "vietnamese": "Chúng tôi quyết định lưu bản sao lưu trên một máy chủ khác.",
    "family": "👨‍👩‍👧‍👦🏳️‍🌈👍🏽",
}


def counted(text: str) -> int:
    return max(tokenizer.count(text) for tokenizer in TOKENIZERS)


def drawn(letters: str, length: int = LENGTH) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(letters, k=length))


def words(letters: str, longest: int, joint: str = " ") -> Callable[[random.Random], str]:
    return lambda chance: joint.join(drawn(letters, chance.randint(1, longest))(chance) for _ in range(800))


def rows(chance: random.Random) -> str:
    ids = ["mem_" + drawn(BASE32, 16)(chance) for _ in range(50)]
    return json.dumps([{"id": each, "created": "2026-06-01T10:15:00Z", "score": chance.random()} for each in ids])


HARD: dict[str, Callable[[random.Random], str]] = {
    "hex": lambda chance: chance.randbytes(2000).hex(),
    "capital hex": lambda chance: chance.randbytes(2000).hex().upper(),
    "base64": lambda chance: base64.b64encode(chance.randbytes(3000)).decode(),
    "base64 for addresses": lambda chance: base64.urlsafe_b64encode(chance.randbytes(3000)).decode(),
    "base85": lambda chance: base64.b85encode(chance.randbytes(3000)).decode(),
    "json": rows,
    "ids": words(BASE32, 16),
    "letters": drawn(LOWER),
    "mixed letters": drawn(MIXED),
    "capitals": drawn(string.ascii_uppercase),
    "short words": words(LOWER, 4),
    "words": words(LOWER, 12),
    "snake": words(LOWER, 8, "_"),
    "consonants": words("bcdfghjklmnpqrstvwxz", 9),
    "digits": drawn(string.digits),
    "signs": drawn(string.punctuation),
    "printable": drawn(string.printable),
    "pieces": lambda chance: "".join(chance.choices(sorted(PIECES), k=1000)),
    "white space": drawn(" \t\n\r"),
    "blanks and line ends": drawn(" \n"),
    "single characters": drawn("".join(sorted(SINGLE))),
} | {
    name: drawn("".join(chr(code) for code in range(first, last + 1) if chr(code).isascii() or code > 31))
    for name, (first, last) in BLOCKS.items()
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_what_no_list_knows_costs_no_more_than_is_said(name: str) -> None:
    for seed in range(3):
        text = HARD[name](random.Random(seed))  # noqa: S311 - the same texts each time
        assert most_tokens(text) >= counted(text), most_tokens(text) / counted(text)


@pytest.mark.parametrize("name", PROSE)
def test_prose_of_many_languages_costs_no_more_than_is_said(name: str) -> None:
    assert most_tokens(PROSE[name]) >= counted(PROSE[name])


@given(st.lists(st.one_of(st.text(min_size=30), *(st.sampled_from(sorted(PROSE.values())),)), min_size=8))
def test_whatever_is_put_together_costs_no_more_than_is_said(texts: list[str]) -> None:
    text = "\n".join(texts)
    assert most_tokens(text) * 1.05 + 5 >= counted(text)


@pytest.mark.parametrize(
    "path", ["README.md", "docs/http.md", "server/holdfast/model/ranking.py", "tests/support/served.py"]
)
def test_for_english_and_code_it_is_not_much_more(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert 1.0 <= most_tokens(text) / counted(text) <= 1.4


@given(st.text(min_size=1), st.integers(0, 60))
def test_a_beginning_costs_no_more_than_it_may(text: str, most: int) -> None:
    head = beginning(text, most)
    assert most_tokens(head) <= most
    assert head == text or text.startswith(head.removesuffix("…"))


def test_a_beginning_is_most_of_what_it_may_be_and_ends_between_words() -> None:
    text = "The crane lifts forty tonnes. " * 100
    head = beginning(text, 100)
    assert 80 <= most_tokens(head) <= 100
    assert text[len(head) - 1] == " "
