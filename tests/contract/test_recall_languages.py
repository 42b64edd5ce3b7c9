"""recall in any language: notes are found by their own words, whatever the script and however they are spelled."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.runtime import Memory
from holdfast.model.identifiers import shows_another_language
from holdfast.model.words import inside
from storages import storage_asked_for
from worlds import ask, found, keep, living

pytestmark = pytest.mark.anyio

# What a note says, and what may be asked for it: words as they stand, and as people write them.
SPOKEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "Japanese": ("港の起重機は四十トンを持ち上げる。", ("起重機", "港", "起重機は何トン持ち上げる?")),
    "Japanese kana": ("バージョン管理にはギットを使う。", ("ギット", "バージョン", "ﾊﾞｰｼﾞｮﾝ")),
    "Chinese": ("数据库每天凌晨三点备份到另一个机房。", ("数据库", "备份", "数据库什么时候备份")),
    "Thai": ("เครนที่ท่าเรือยกได้สี่สิบตัน", ("เครน", "ท่าเรือ")),
    "Lao": ("ປະຕູຫ້ອງເຊີບເວີໃຊ້ລະຫັດ", ("ລະຫັດ",)),
    "Khmer": ("ម៉ាស៊ីនបោះពុម្ពនៅជាន់ទីពីរ", ("ម៉ាស៊ីន",)),
    "Korean": ("서버는 매주 월요일에 재시작합니다.", ("서버", "월요일", "서버는 언제 재시작하나요?")),
    "Russian": ("Кран поднимает сорок тонн, ёмкость бака мала.", ("кран", "КРАН", "ёмкость", "емкость")),
    "Ukrainian": ("Їжак живе під мостом.", ("їжак", "ЇЖАК")),
    "Greek": ("Ο γερανός σηκώνει σαράντα τόνους.", ("γερανός", "γερανος", "ΓΕΡΑΝΟΣ", "σαραντα")),
    "Hindi": ("क्रेन चालीस टन उठाती है।", ("क्रेन", "चालीस टन")),
    "Tamil": ("கப்பல் துறைமுகத்தில் நிற்கிறது", ("கப்பல்",)),
    "Sinhala": ("සේවාදායකය සිංහල භාෂාව භාවිතා කරයි", ("සිංහල", "භාෂාව")),
    "Arabic": ("الرافعة ترفع أربعين طنا", ("الرافعة", "طنا")),
    "vowelled Arabic": ("كَتَبَ المُهَنْدِسُ التَّقْرِيرَ", ("كتب", "المهندس", "كَتَبَ", "التقريــر")),
    "Persian": ("گزارش هفتگی جمعه فرستاده می\u200cشود", ("گزارش", "هفتگی")),
    "Hebrew": ("המנוף מרים ארבעים טון", ("המנוף",)),
    "pointed Hebrew": ("שָׁלוֹם לַסַּפָּן", ("שלום", "שָׁלוֹם", "לספן")),
    "Divehi": ("މަސްވެރި ދޯނި", ("މަސްވެރި",)),
    "Tibetan": ("བོད་ཡིག་གི་དཔེ་ཆ", ("དཔེ",)),
    "Georgian": ("ამწე ორმოც ტონას წევს", ("ამწე",)),
    "Armenian": ("Վերամբարձ կռունկը բարձրացնում է", ("կռունկը", "ԿՌՈՒՆԿԸ")),
    "Amharic": ("ክሬኑ አርባ ቶን ያነሳል", ("ክሬኑ",)),
    "French": ("La clôture de l'été est reportée.", ("clôture", "cloture", "CLÔTURE", "clo\u0302ture")),
    "German": ("Die Brücke an der Hauptstraße ist gesperrt.", ("BRÜCKE", "brucke", "HAUPTSTRASSE", "hauptstraße")),
    "Polish": ("Żuraw podnosi czterdzieści ton.", ("żuraw", "zuraw", "ZURAW")),
    "Danish": ("Smørrebrød på Østerbro.", ("smørrebrød", "smorrebrod", "østerbro")),
    "Vietnamese": ("Cần cẩu nâng bốn mươi tấn.", ("cần cẩu", "can cau")),
    "Turkish": ("İskele Işık sokağında.", ("iskele", "İSKELE", "ışık", "isik")),
}
CASES = [(language, query) for language, (_, queries) in SPOKEN.items() for query in queries]
NEIGHBOURS = ("Nothing to do with it.", "完全 другое और कुछ", "A plain English note about lamps.")

MIXED = "デプロイは `kubectl rollout` で行う; Петя отвечает за откат (rollback)."


storage = pytest.fixture(scope="module", autouse=True)(storage_asked_for)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def words(anyio_backend: str, storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Memory]:
    """Notes in every language, in a memory without an encoder."""
    async with living(tmp_path_factory.mktemp("words")) as memory:
        await fill(memory)
        yield memory


async def fill(memory: Memory) -> None:
    for content in (*(content for content, _ in SPOKEN.values()), *NEIGHBOURS, MIXED):
        await keep(memory, content)


@pytest.mark.parametrize(("language", "query"), CASES, ids=[language for language, _ in CASES])
async def test_a_note_is_the_first_that_its_own_words_find(words: Memory, language: str, query: str) -> None:
    assert found(await ask(words, query))[:1] == [SPOKEN[language][0]]


@pytest.fixture(scope="module")
async def meaning(anyio_backend: str, storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Memory]:
    """The same notes with the embedded encoder, which reads English."""
    async with living(tmp_path_factory.mktemp("meaning"), encoder=BuiltinEncoder()) as memory:
        await fill(memory)
        yield memory


async def test_with_an_encoder_that_knows_little_of_them_words_still_find_first(meaning: Memory) -> None:
    firsts = {(language, query): found(await ask(meaning, query))[:1] for language, query in CASES}
    assert firsts == {(language, query): [SPOKEN[language][0]] for language, query in CASES}


AMONG_ENGLISH_ONES = (
    "La comptable s'appelle Odile, elle vient le jeudi.",
    "La llave del almacén está debajo de la maceta roja.",
    "Il commercialista è Bruno Galli, in via Garibaldi.",
    "Der Hausmeister heißt Uwe und kommt dienstags.",
    *(f"The {thing} of pier {number} was painted in May." for number, thing in enumerate(("crane", "buoy", "shed"), 1)),
    "The tide table hangs in the office.",
    "Ships of forty tons need a pilot.",
)


@pytest.fixture(scope="module")
async def harbour(anyio_backend: str, storage: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Memory]:
    """English notes and one each in other languages, with the embedded encoder."""
    async with living(tmp_path_factory.mktemp("harbour"), encoder=BuiltinEncoder()) as memory:
        for content in AMONG_ENGLISH_ONES:
            await keep(memory, content)
        yield memory


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("qui est la comptable ?", 0),
        ("qui est notre comptable ?", 0),
        ("est-ce que la comptable vient ?", 0),
        ("¿dónde está la llave?", 1),
        ("¿qué hay del almacén?", 1),
        ("chi è il nostro commercialista?", 2),
        ("wer ist unser Hausmeister?", 3),
        ("was macht der Hausmeister?", 3),
    ],
)
async def test_grammar_that_no_note_has_makes_no_question_one_of_another_language(
    harbour: Memory, query: str, place: int
) -> None:
    """That "qui", "est" and "notre" stand in no note says nothing of whether the one about the accountant is meant."""
    first = (await ask(harbour, query)).hits[0]
    assert (first.note.content, first.ranked.weak) == (AMONG_ENGLISH_ONES[place], False)


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("¿Dónde está la llave?", 1),
        ("Chi è il commercialista?", 2),
        ("- Wer ist der Hausmeister?", 3),
        ("Hallo! Wer ist der Hausmeister?", 3),
        ('"Wer ist der Hausmeister?"', 3),
        ("Hey Claude, which ships need a pilot?", -1),
        ("Which ships need a pilot? Thanks!", -1),
    ],
)
async def test_a_capital_at_the_beginning_of_a_sentence_names_nobody(harbour: Memory, query: str, place: int) -> None:
    first = (await ask(harbour, query)).hits[0]
    assert (first.note.content, first.ranked.weak) == (AMONG_ENGLISH_ONES[place], False)


@pytest.mark.parametrize(
    ("query", "within"),
    [
        ("¿Cuándo viene?", "¿cuándo viene?"),
        ("Hallo! Wer ist es?", "hallo! wer ist es?"),
        ("- Anna's phone?", "- anna's phone?"),
        ("I fill in a form. Which scanner?", "i fill in a form. which scanner?"),
        ("Number of Dr. Moen? In St. Gallen", "number of Dr. Moen? in St. Gallen"),
        ("Asked: Hallmann's file", "asked: Hallmann's file"),
    ],
)
def test_a_name_behind_the_sign_of_an_abbreviation_stays_one(query: str, within: str) -> None:
    assert inside(query) == within


@pytest.mark.parametrize("query", ["qui est notre plombier ?", "¿quién es el electricista?", "wer ist unser Anwalt?"])
async def test_such_a_question_about_nothing_there_has_no_strong_hit(harbour: Memory, query: str) -> None:
    assert all(hit.ranked.weak for hit in (await ask(harbour, query)).hits)


UNREAD = ["新幹線", "დირიჟაბლი", "ลูกโป่ง", "자전거", "दूरभाष", "հեռախոս", "דחליל", "خفاش", "زندان", "самовар"]
UNREAD += ["Шаповаленко", "Гиппократов", "новый самовар", "Παπαδιαμαντόπουλος", "Αριστοτέλης"]  # with known endings


@pytest.mark.parametrize("query", UNREAD)
async def test_a_script_that_the_encoder_does_not_read_makes_nothing_alike(meaning: Memory, query: str) -> None:
    answer = await ask(meaning, query)
    assert found(answer) == []
    assert any("does not read this script" in notice for notice in answer.notices)


async def test_notes_in_such_scripts_are_not_taken_for_close_to_one_another(meaning: Memory) -> None:
    stored = await keep(meaning, "Տունը կապույտ է")
    assert stored.vector is False
    assert [link.type for link in stored.linked] == ["preceded_by"]


@pytest.mark.parametrize(
    "query", ["デプロイ", "kubectl rollout", "петя откат", "rollback", "kubectl で ロールバック デプロイ"]
)
async def test_a_note_in_several_languages_is_found_by_the_words_of_each(words: Memory, query: str) -> None:
    assert found(await ask(words, query))[:1] == [MIXED]


async def test_words_of_one_language_do_not_find_notes_of_another(words: Memory) -> None:
    assert found(await ask(words, "паровоз")) == []
    assert found(await ask(words, "新幹線")) == []
    assert found(await ask(words, "자전거")) == []
    assert found(await ask(words, "दूरभाष")) == []


async def test_letters_that_differ_by_more_than_an_accent_stay_apart(words: Memory) -> None:
    assert found(await ask(words, "мои")) == []
    await keep(words, "Мой причал у реки.")
    assert found(await ask(words, "мои")) == []
    assert found(await ask(words, "МОЙ")) == ["Мой причал у реки."]
    await keep(words, "かき氷")
    assert found(await ask(words, "がき")) == []


@pytest.mark.parametrize("query", ["???", "🚢", "🏗️ 🚢", "…", "--", "'", "「」", "\u0301", "་", "\u200d", "١", "½"])
async def test_a_question_without_a_word_is_answered_without_an_error(words: Memory, query: str) -> None:
    assert found(await ask(words, query)) == []


def test_two_words_between_spanish_signs_are_spanish() -> None:
    assert shows_another_language("¿Puedo desplegar?")
    assert not shows_another_language("deploy window?")
