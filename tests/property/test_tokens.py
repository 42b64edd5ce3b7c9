"""What a text is said to cost at most is never less than what real tokenizers count, whatever the text."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counts import most_counted
from holdfast.model.tokens import PIECES, SINGLE, beginning, most_tokens

ROOT = Path(__file__).parents[2]
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
    "armenian": "Մենք որոշեցինք պահել պահուստային պատճենները մեկ այլ սերվերում, քանի որ սկավառակը լիքն էր։",
    "sinhala": "තැටිය පිරී ඇති නිසා උපස්ථ වෙනත් සේවාදායකයක තබා ගැනීමට අපි තීරණය කළෙමු.",
    "oriya": "ଡିସ୍କ ପୂର୍ଣ୍ଣ ଥିବାରୁ ଆମେ ବ୍ୟାକଅପ୍ ଅନ୍ୟ ସର୍ଭରରେ ରଖିବାକୁ ନିଷ୍ପତ୍ତି ନେଲୁ।",
    "syriac": "ܐܢܚܢܢ ܦܣܩܢ ܠܡܛܪ ܢܘܣܟܐ ܥܠ ܫܡܫܐ ܐܚܪܢܐ",
    "cherokee": "ᎣᎩᏍᏆᏂᎪᏙᏗ ᎦᏚᎲ ᏔᎵᏁ ᎤᏓᏅᏙ",
    "family": "👨‍👩‍👧‍👦🏳️‍🌈👍🏽",
}


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
    "words of kana": words("".join(map(chr, range(0x3041, 0x3094))), 4),
    "words of han": words("".join(each for each in sorted(SINGLE) if "\u4e00" <= each <= "\u9fff"), 3),
    "characters of han": lambda chance: " ".join(drawn("".join(sorted(SINGLE - set(string.printable))))(chance)),
    "wide blanks": lambda chance: "".join(chance.choices((" \u3000", "a ", "\n", "\u3000"), k=1000)),
    "rare words of han": words("".join(map(chr, range(0x4E00, 0x9FFF))), 3),
    "words of thai": words("".join(map(chr, range(0xE01, 0xE2F))), 4),
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
        assert most_tokens(text) >= most_counted(text), most_tokens(text) / most_counted(text)


def whole(shortest: int, longest: int) -> Callable[[random.Random], str]:
    """An integer of so many digits."""
    return lambda chance: str(chance.randint(10 ** (shortest - 1), 10 ** chance.randint(shortest, longest) - 1))


def address(chance: random.Random) -> str:
    return ".".join(str(chance.randint(0, 255)) for _ in range(4))


def day(chance: random.Random) -> str:
    return str(date.fromordinal(chance.randint(700_000, 740_000)))


def row(chance: random.Random) -> str:
    return f"{chance.randint(1, 9999)},{day(chance)},{chance.uniform(-50, 50):.2f},{chance.randint(0, 9)}"


def digits_from(zero: int, longest: int) -> Callable[[random.Random], str]:
    """A number in the digits that begin there."""
    return lambda chance: "".join(chr(zero + int(each)) for each in whole(1, longest)(chance))


NUMBERS: dict[str, Callable[[random.Random], str]] = {
    "mixed": whole(1, 12),
    "negative": lambda chance: f"-{chance.randint(1, 99_999)}",
    "decimals": lambda chance: f"{chance.uniform(0, 3):.4f}",
    "prices": lambda chance: f"{chance.randint(1, 999)}.{chance.randint(0, 99):02}",
    "floats": lambda chance: repr(chance.uniform(-1, 1)),
    "exponents": lambda chance: f"{chance.uniform(0, 1e9):.3e}",
    "shares": lambda chance: f"{chance.randint(0, 100)}%",
    "weights": lambda chance: f"{chance.randint(0, 100)}kg",
    "money": lambda chance: f"${chance.randint(1, 999_999):,}.{chance.randint(0, 99):02}",
    "money behind": lambda chance: f"{chance.randint(1, 999)}.{chance.randint(0, 999):03},{chance.randint(0, 99):02} €",
    "coordinates": lambda chance: f"({chance.uniform(-90, 90):.4f}, {chance.uniform(-180, 180):.4f})",
    "degrees": lambda chance: f"{chance.randint(0, 89)}°{chance.randint(0, 59)}'{chance.randint(0, 59)}\"N",
    "days": day,
    "german days": lambda chance: f"{chance.randint(1, 31)}.{chance.randint(1, 12)}.{chance.randint(1990, 2030)}",
    "american days": lambda chance: f"{chance.randint(1, 12)}/{chance.randint(1, 31)}/{chance.randint(90, 99)}",
    "japanese days": lambda chance: f"{chance.randint(1, 9999)}年{chance.randint(1, 12)}月{chance.randint(1, 31)}日",
    "times": lambda chance: f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}",
    "moments": lambda chance: f"{day(chance)}T{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:00Z",
    "addresses": address,
    "ports": lambda chance: f"{address(chance)}:{chance.randint(1, 65_535)}",
    "long addresses": lambda chance: ":".join(f"{chance.randint(0, 65_535):x}" for _ in range(8)),
    "phones": lambda chance: f"+{chance.randint(1, 99)} {chance.randint(10, 999)} {chance.randint(1000, 9_999_999)}",
    "phones in pairs": lambda chance: f"0{chance.randint(10, 99)} / {chance.randint(10, 99)} {chance.randint(10, 99)}",
    "area codes": lambda chance: f"({chance.randint(100, 999)}) {chance.randint(10, 99)}-{chance.randint(1000, 9999)}",
    "bytes": lambda chance: f"{chance.randint(0, 255):02X}",
    "hex words": lambda chance: f"0x{chance.randint(0, 65_535):04x}",
    "hashes": lambda chance: f"{chance.getrandbits(32):08x}",
    "versions": lambda chance: f"v{chance.randint(0, 9)}.{chance.randint(0, 30)}.{chance.randint(0, 30)}",
    "issues": lambda chance: f"#{chance.randint(1, 99_999)}",
    "quoted": lambda chance: f'"{chance.randint(1, 99_999)}"',
    "places": lambda chance: f"{chance.choice(string.ascii_uppercase)}{chance.randint(1, 9)}",
    "sums": lambda chance: f"{chance.randint(1, 9)}+{chance.randint(1, 9)}={chance.randint(1, 19)}",
    "accounts": lambda chance: " ".join(["DE12", *(f"{chance.randint(0, 9999):04}" for _ in range(4))]),
    "rows": row,
    "wide rows": lambda chance: "".join(f"{chance.randint(0, 10 ** chance.randint(1, 6)):>8}" for _ in range(8)),
    "lists": lambda chance: json.dumps([chance.randint(0, 999) for _ in range(8)]),
    "parts": lambda chance: f"{chance.randint(1, 9)} {chance.choice('½¼¾⅓⅔²³¹₂⁵')}",
    "circled": lambda chance: chr(0x2460 + chance.randint(0, 49)),
} | {f"of {size} digits": whole(size, size) for size in range(1, 13)} | {
    f"{name} of up to {longest} digits": digits_from(zero, longest)
    for longest in (1, 3, 8)
    for name, zero in {
        "arabic": 0x660, "persian": 0x6F0, "n'ko": 0x7C0, "devanagari": 0x966, "bengali": 0x9E6, "gujarati": 0xAE6,
        "oriya": 0xB66, "tamil": 0xBE6, "sinhala": 0xDE6, "thai": 0xE50, "lao": 0xED0, "tibetan": 0xF20,
        "burmese": 0x1040, "khmer": 0x17E0, "mongolian": 0x1810, "full width": 0xFF10, "mathematical": 0x1D7CE,
    }.items()
}  # fmt: skip
BETWEEN = (" ", ", ", ",", ";", "; ", "\n", "\r\n", "\t", " \t", "  ", "     ", " | ", "/", "\u00a0", "\u202f")


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_cost_no_more_than_is_said_whatever_stands_between_them(name: str) -> None:
    chance = random.Random(1)  # noqa: S311 - the same texts each time
    for joint in BETWEEN:
        text = joint.join(NUMBERS[name](chance) for _ in range(500))
        once, shown = (json.dumps(each, ensure_ascii=False) for each in (text, [{"content": text[:400]}] * 5))
        for form in (text, once, shown, json.dumps(once, ensure_ascii=False), json.dumps(text)):
            assert most_tokens(form) >= most_counted(form), (joint, most_tokens(form) / most_counted(form))


@pytest.mark.parametrize("name", PROSE)
def test_prose_of_many_languages_costs_no_more_than_is_said(name: str) -> None:
    assert most_tokens(PROSE[name]) >= most_counted(PROSE[name])


@given(st.lists(st.one_of(st.text(min_size=30), *(st.sampled_from(sorted(PROSE.values())),)), min_size=8))
def test_whatever_is_put_together_costs_no_more_than_is_said(texts: list[str]) -> None:
    text = "\n".join(texts)
    assert most_tokens(text) * 1.05 + 5 >= most_counted(text)


@pytest.mark.parametrize(
    "path", ["README.md", "docs/http.md", "server/holdfast/model/ranking.py", "tests/support/served.py"]
)
def test_for_english_and_code_it_is_not_much_more(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    assert 1.0 <= most_tokens(text) / most_counted(text) <= 1.4


@given(st.text(min_size=1), st.integers(0, 60))
def test_a_beginning_costs_no_more_than_it_may(text: str, most: int) -> None:
    head = beginning(text, most)
    assert most_tokens(head) <= most
    assert head == text or text.startswith(head.removesuffix("…"))


@pytest.mark.parametrize("start", [";$" * 16, "xq" * 16, "0 " * 16])
def test_a_beginning_that_costs_more_than_what_follows_is_within_too(start: str) -> None:
    text = start + "-" * 32 + "international" * 2
    assert all(most_tokens(beginning(text, most)) <= most for most in range(60))


def test_a_beginning_is_most_of_what_it_may_be_and_ends_between_words() -> None:
    text = "The crane lifts forty tonnes. " * 100
    head = beginning(text, 100)
    assert 80 <= most_tokens(head) <= 100
    assert text[len(head) - 1] == " "
