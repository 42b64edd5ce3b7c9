"""A question whose rare word a note holds finds that note, first and strong, at any length and in any script."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from conftest import Effort
from disks import seeded
from holdfast.encode.builtin import BuiltinEncoder
from holdfast.engine.runtime import Memory
from holdfast.model import identifiers
from holdfast.model.identifiers import Unit, units_of
from served import Agent
from worlds import WordBag, ask, keep, living

pytestmark = pytest.mark.anyio

FILLER = (
    "The build took twelve minutes on the old runner. We moved the cache to a larger disk. Tests of the parser are "
    "slow, so they run at night. The release notes are written by hand. Reviews wait for two people at least. "
)
OTHERS = (
    "What happened with the old runner was about money.",
    "Do you remember the rest of the release notes?",
    "The larger disk is for the cache.",
    "Two people at least look at each change.",
)
FRAMES = ("{}", "what about {}?", "{} rest", "what happened with {}?", "do you remember what {} was about")
WORDS = {
    "ticket": "PROJ-3227",
    "hash": "a3f9c2e71b",
    "host": "db-prod-17.eu.internal",
    "invented": "zorvekmal",
    "version": "v4.17.92",
    "error": "ERR_CONN_4471",
    "path": "src/loader/zorvek_handler.py",
    "dotted": "app.zorvek.Loader",
    "number": "884213",
    "chinese": "鲸鹭榫镍",
    "cyrillic": "зорвэкмал",
    "japanese": "ゾルヴァクェ",
    "korean": "쿼츠펠릭",
}


def text(size: int, *words: str) -> str:
    """A text of about `size` bytes with one word in its last sentence, or the words at both ends."""
    sentences = (FILLER * (size // len(FILLER) + 1)).split(". ")[: max(3, size // 55)]
    for place, word in zip((len(sentences), 0), words, strict=False):
        sentences.insert(place, f"We looked into {word} for a day")
    return ". ".join(sentences)


async def first(memory: Memory, query: str) -> tuple[str, bool]:
    """The best hit's id, and whether it is strong."""
    hits = (await ask(memory, query)).hits
    assert hits, f"silence: {query}"
    return hits[0].note.id, not hits[0].ranked.weak


async def kept(memory: Memory, content: str) -> str:
    return (await keep(memory, content)).note.id


@pytest.mark.parametrize("encoder", [None, WordBag()], ids=["words", "vectors"])
@pytest.mark.parametrize("size", [200, 3_000, 50_000])
async def test_a_rare_word_finds_its_note_first_and_strong(tmp_path: Path, size: int, encoder: WordBag | None) -> None:
    async with living(tmp_path, encoder=encoder) as memory:
        for other in OTHERS:
            await keep(memory, other)
        notes = {word: await kept(memory, text(size, word)) for word in WORDS.values()}
        for word, note in notes.items():
            for frame in FRAMES:
                assert await first(memory, frame.format(word)) == (note, True), frame.format(word)


@pytest.mark.parametrize("encoder", [None, WordBag()], ids=["words", "vectors"])
@pytest.mark.parametrize("notes", [(5, 5), (24, 24), (200, 10_000)], ids=["5", "24", "200, or 10000"])
async def test_a_rare_word_finds_its_note_in_a_store_of_any_size(
    tmp_path: Path, notes: tuple[int, int], encoder: WordBag | None, effort: Effort
) -> None:
    said = FILLER.split(". ")
    count = effort.of(*notes)
    words = list(WORDS.values())[: count // 2]
    async with living(tmp_path, encoder=encoder) as memory:
        sizes = itertools.cycle((200, 1_000, 3_000, 10_000, 50_000))
        held = {word: await kept(memory, text(size, word)) for word, size in zip(words, sizes, strict=False)}
        for number in range(count - len(held)):
            parts = seeded(number).sample(said, 2)
            await keep(memory, f"{parts[0]}. {parts[1]}, as of week {number}.")
        for word, note in held.items():
            for frame in FRAMES:
                assert await first(memory, frame.format(word)) == (note, True), frame.format(word)


@pytest.mark.parametrize("encoder", [None, WordBag()], ids=["words", "vectors"])
async def test_two_rare_words_far_apart_find_the_note_that_has_both(tmp_path: Path, encoder: WordBag | None) -> None:
    async with living(tmp_path, encoder=encoder) as memory:
        for word in ("PROJ-3227", "OPS-9144"):
            await keep(memory, f"{word} is a ticket.")
        both = await kept(memory, text(30_000, "PROJ-3227", "OPS-9144"))
        assert await first(memory, "PROJ-3227 OPS-9144") == (both, True)
        assert await first(memory, "what did OPS-9144 have to do with PROJ-3227?") == (both, True)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("PROJ-3227", ("proj 3227", "proj_3227", "PROJ3227", "proj-3227", "Proj-3227.")),
        ("PROJ3227", ("PROJ-3227", "proj 3227", "proj_3227")),
        ("fetch_user_rows", ("fetchUserRows", "fetch-user-rows", "FETCH_USER_ROWS")),
        ("fetchUserRows", ("fetch_user_rows", "fetchuserrows")),
        ("v4.17.92", ("4.17.92", "V4.17.92")),
        ("db-prod-17.eu.internal", ("DB-PROD-17.EU.INTERNAL", "db_prod_17.eu.internal")),
        ("4821-7733-09", ("4821773309", "4821/7733/09", "4821 7733 09")),
        ("+49 171 5550188", ("+491715550188", "+49 171-5550188")),
        ("3c:22:fb:9a:01:7e", ("3C22FB9A017E", "3c-22-fb-9a-01-7e")),
        ("978-3-16-148410-0", ("9783161484100",)),
        ("E3-07", ("e307",)),
        ("10.44.0.0/16", ("10.44.0.0/16",)),
        ("BE71096123456769", ("BE71 0961 2345 6769", "BE71-0961-2345-6769")),
        ("BE71 0961 2345 6769", ("BE71096123456769", "BE71 0961 2345 6769")),
        ("M12\u00d71.75", ("M12x1.75", "M12X1.75", "M12\u00d71.75")),
        ("M12x1.75", ("M12\u00d71.75",)),
        ("2026-881F", ("2026/881-F", "2026 881F", "2026-881-F")),
        ("AccuMiteXL", ("AccuMite-XL", "AccuMite XL", "accu mite xl", "Accu-Mite-XL")),
        ("QuillFerryScheduler", ("quill ferry scheduler", "Quill-Ferry-Scheduler")),
        ("L\u00f6ss-7b", ("Loess7b", "L\u00f6ss7b", "Loess-7b", "Loess 7b")),
        ("Muerrisch", ("M\u00fcrrisch", '"M\u00fcrrisch"')),
        ("M\u00fcrrisch", ("Muerrisch", "muerrisch")),
    ],
)
async def test_an_identifier_is_found_in_any_spelling(tmp_path: Path, stored: str, asked: tuple[str, ...]) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in OTHERS:
            await keep(memory, other)
        note = await kept(memory, text(8_000, stored))
        for spelling in asked:
            assert await first(memory, spelling) == (note, True), spelling
            assert await first(memory, f"what happened with {spelling}?") == (note, True), spelling


async def test_the_groups_of_an_identifier_are_no_identifiers_of_their_own(tmp_path: Path) -> None:
    assert [unit.label for unit in units_of("is BE71 0961 2345 6769 ours?")] == ["be71 0961 2345 6769", "ours"]
    async with living(tmp_path, encoder=WordBag()) as memory:
        await keep(memory, "The meter in the cellar has number 2345.")
        assert not any(not hit.ranked.weak for hit in (await ask(memory, "BE71 0961 2345 6769")).hits)


async def test_words_that_make_one_with_the_stem_of_another_are_not_read_as_it(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "Priya Raman leads the Tollgate team.")
        found = await ask(memory, "qui dirige Tollgate en ce moment ?")
        assert not any(notice.startswith("Read as") for notice in found.notices)


async def test_an_identifier_in_one_piece_is_read_as_it_stands_in_a_note(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await keep(memory, "The order number of the oven is 4821-7733-09.")
        assert (await ask(memory, "4821773309")).notices == ('Read as: "4821-7733-09".',)
        assert (await ask(memory, "4821773308")).hits == ()
        assert not any(notice.startswith("Read as") for notice in (await ask(memory, "4821773308")).notices)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("The locker has number 77219.", "٧٧٢١٩"),
        ("The locker has number 52086.", "locker ५२०८६"),
        ("The locker has number 61190.", "๖๑๑๙๐"),
        ("Das Strüßelbrätle liegt im Keller.", "Struesselbraetle"),
        ("Le cœurvier est au port.", "coeurvier"),
    ],
)
async def test_a_word_of_another_keyboard_is_read_as_a_note_has_it(tmp_path: Path, stored: str, asked: str) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        note = (await keep(memory, stored)).note.id
        found = await ask(memory, asked)
        assert [hit.note.id for hit in found.hits] == [note]
        assert any(notice.startswith("Read as") for notice in found.notices)


async def test_a_word_that_a_note_has_is_not_read_as_that_of_another_keyboard(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await keep(memory, "Das Strüßelbrätle liegt im Keller.")
        note = (await keep(memory, "Ein Struesselbraetle liegt auf dem Dach, in Fach ٧٧٢١٩.")).note.id
        await keep(memory, "The locker has number 77219.")
        for asked in ("struesselbraetle", "٧٧٢١٩"):
            found = await ask(memory, asked)
            assert found.hits[0].note.id == note
            assert not any(notice.startswith("Read as") for notice in found.notices)


@pytest.mark.parametrize("size", [200, 3_000, 20_000])
async def test_an_ordinary_word_that_one_note_has_finds_it_first_however_much_others_mean_the_like(
    tmp_path: Path, size: int
) -> None:
    async with living(tmp_path, encoder=BuiltinEncoder()) as memory:
        for other in (*OTHERS, *FILLER.split(". ")[:4], "Der Ofen wird um vier angeheizt.", "El horno es nuevo."):
            await keep(memory, other)
        note = await kept(memory, text(size, "crust"))
        for frame in FRAMES:
            assert await first(memory, frame.format("crust")) == (note, True), frame.format("crust")


async def test_a_common_word_is_no_stronger_in_a_long_note(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for number in range(30):
            await keep(memory, f"The deployment of part {'abcdefghij'[number % 10]} took {number} minutes.")
        long = await kept(memory, text(20_000, "deployment"))
        answer = await ask(memory, "how do I explain deployment to my grandmother over dinner?")
        assert all(hit.ranked.weak for hit in answer.hits if hit.note.id == long)


def test_of_a_paste_no_more_identifiers_are_made_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def making(written: str, *rest: Any) -> Unit:
        made.append(written)
        return unit(written, *rest)

    unit = identifiers._unit
    monkeypatch.setattr(identifiers, "_unit", making)
    names = [f"crane_{number}x" for number in range(2_000)]
    assert [found.label for found in units_of(" ".join(names))] == names[:16] == made
    grouped = "BE71 0961 2345 6769"
    assert [found.label for found in units_of(f"zorvek {' '.join(names[:3])} {grouped} mauve")] == [
        grouped.lower(), *names[:3], "zorvek", "mauve"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query", ["what is 2+2?", "ok thanks", "what's next?", "page 3 and/or e-mail", "on 2026-03-04 at 10:30"]
)
def test_what_any_question_may_hold_is_no_identifier(query: str) -> None:
    assert [unit.label for unit in units_of(query) if unit.kind == "identifier"] == []


@pytest.mark.parametrize("query", ["Storybook deployment URL", "which club sponsors Kafka in May?"])
async def test_a_rare_word_beside_much_that_no_note_has_is_no_strong_hit(tmp_path: Path, query: str) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in OTHERS:
            await keep(memory, other)
        await keep(memory, text(1_000, "Storybook", "Kafka"))
        assert all(hit.ranked.weak for hit in (await ask(memory, query)).hits)


@pytest.mark.parametrize(
    "frame",
    ["was ist mit {} passiert?", "qu'est-ce qui s'est passé avec {} ?", "¿qué pasó con {}?", "hoe zit het met {}?",
     "что случилось с {}?", "do you still know how we dealt with {} in the end?"],  # noqa: RUF001
)  # fmt: skip
@pytest.mark.parametrize("word", ["zorvekmal", "quindaxploth"])
async def test_the_words_of_a_conversation_count_for_nothing(tmp_path: Path, frame: str, word: str) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in OTHERS:
            await keep(memory, other)
        note = await kept(memory, text(3_000, word))
        assert await first(memory, frame.format(word)) == (note, True)


@pytest.mark.parametrize(
    ("stored", "asked"), [("The meter stands at 48,212 kWh.", "48212"), ("We bottled 1'250 of them.", "1250 bottled")]
)
async def test_a_number_is_found_with_and_without_the_sign_of_its_thousands(
    tmp_path: Path, stored: str, asked: str
) -> None:
    async with living(tmp_path / "home") as memory:
        for other in OTHERS:
            await keep(memory, other)
        note = (await keep(memory, stored)).note
        assert await first(memory, asked) == (note.id, True)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("Telefon 0561 / 40 27 91", ("0561402791", "0561-402791", "0561/402791", "+49 561 402791", "0561 40 27 91")),
        (
            "hotline (030) 555-0182",
            ("+49305550182", "0049 30 5550182", "030/555 0182", "030-5550182", "030/5550182", "0305550182"),
        ),
        ("reachable at +49 170 5550142", ("0170/5550142", "0170 555 0142", "+49 (0)170 5550142", "+49170-5550142")),
        ("teléfono 925 33 21 80", ("925-332-180", "925 332 180", "+34 925 332 180")),
    ],
)
async def test_a_telephone_number_is_found_in_any_grouping(tmp_path: Path, stored: str, asked: tuple[str, ...]) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in (*OTHERS, "Fax 0561 / 40 27 19", "Order 170-5550-999 of 2026"):
            await keep(memory, other)
        note = await kept(memory, f"Grandmother lives in Kassel, {stored}, ask for Silke.")
        for number in asked:
            assert await first(memory, number) == (note, True), number
            assert await first(memory, f"whose number is {number}?") == (note, True), number


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("on 11/1/2026", "what happened on 1/11/2026?"),
        ("at 192.168.17.82", "is 192.168.178.2 up?"),
        ("release 2026.11.4", "release 2026.1.14"),
        ("it has 1.000.000 rows", "it costs 10 000 00"),
        ("article AB12345", "is AB123456 in stock?"),
    ],
)
async def test_what_is_no_telephone_number_and_no_hash_is_not_read_as_another(
    tmp_path: Path, stored: str, asked: str
) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await keep(memory, f"The crane was painted {stored}.")
        assert not any(notice.startswith("Read as") for notice in (await ask(memory, asked)).notices)


async def test_a_short_hash_finds_the_long_one_and_a_long_one_the_short_where_only_one_is_meant(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in ("Commit 77aa88bb99cc broke the crane.", "Commit 77aa88bd0000 mended it."):
            await keep(memory, other)
        long = await kept(memory, "The fix landed in commit 9f3c2ab7e41d, released in 4.2.0.")
        short = await kept(memory, "The hotfix was deployed from commit 4be0c1d.")
        for asked in ("9f3c2ab", "what was commit 9f3c2ab?"):
            assert await first(memory, asked) == (long, True), asked
        assert await first(memory, "4be0c1d7a9f2e83b5c6d") == (short, True)
        assert (await ask(memory, "9f3c2ab")).notices == ('Read as: "9f3c2ab7e41d".',)
        assert (await ask(memory, "77aa88b")).hits == ()


@pytest.mark.parametrize("opening", ["Anna opened", "Docker opened", "Nobody opened", "Standup notes: somebody opened"])
@pytest.mark.parametrize("query", ["Gromithal", "what about Gromithal?", "tell me about Gromithal"])
async def test_a_name_in_a_long_note_finds_it_whoever_the_note_begins_with(
    tmp_path: Path, opening: str, query: str
) -> None:
    begun = f"{opening} the meeting at nine. "
    async with living(tmp_path, encoder=WordBag()) as memory:
        long = await kept(memory, f"{begun}{FILLER * 4}The new gauge is called Gromithal by the crew. {FILLER * 3}")
        for other in (*OTHERS, "Anna keeps the keys.", "Docker runs on the old laptop.", "The gauge shows the tide."):
            await kept(memory, other)
        found = await ask(memory, query)
        assert (found.hits[0].note.id, found.hits[0].ranked.weak) == (long, False)


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "Склад в деревне Зубрилово закрыт до весны.",
            "Склад в деревне Ждановка открыт до весны.",
            "Зубрилово",
        ),
        (
            "発電機ヌ-7741は故障中です。",
            "発電機ヌ-8802は正常です。",
            "ヌ-7741",
        ),
    ],
)
async def test_what_has_the_name_that_is_asked_for_stands_behind_nothing_that_has_it_not(
    tmp_path: Path, older: str, newer: str, query: str
) -> None:
    async with living(tmp_path) as memory:
        old = (await keep(memory, older, event_time="2026-01-05")).note.id
        await keep(memory, newer, event_time="2026-02-05")
        found = await ask(memory, query)
        assert (found.hits[0].note.id, found.hits[0].ranked.weak) == (old, False)


@pytest.mark.parametrize("query", ["🦔", "what about 🦔?", "what is 🦔 for?", "🦔 rest"])
async def test_a_picture_is_a_word_of_its_own(agent: Agent, query: str) -> None:
    long = "The rest of the harbour is quiet at night, and nobody works there. " * 20
    wanted = (await agent.remember(f"{long}What we have to buy is marked with 🦔🦔 in the list. {long}"))["id"]
    for text in ("🚀 means that it was shipped.", "The rest of the paint is in the shed.", "The oven is marked 🔑."):
        await agent.remember(text)
    first, *others = (await agent.recall(query))["results"]
    assert (first["id"], first["weak"]) == (wanted, False)
    assert all(hit["weak"] for hit in others if "rest" not in query)


async def test_a_picture_that_no_note_has_is_not_found(agent: Agent) -> None:
    await agent.remember("🚀 means that it was shipped.")
    answer = await agent.recall("what about 🦊?")
    assert all(hit["weak"] for hit in answer["results"])


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (
            "cents were rounded in src/billing/reconcile_v2.py",
            ("src/billing/reconcile_v2.py:120", "reconcile_v2.py:120:5", "what about src/billing/reconcile_v2.py:120?"),
        ),
        ("the gateway is 127.0.0.1", ("127.0.0.1:8080", "http://127.0.0.1/", "what is 127.0.0.1:8080?")),
    ],
)
async def test_a_line_of_a_file_and_a_port_belong_to_no_name(
    tmp_path: Path, stored: str, asked: tuple[str, ...]
) -> None:
    """As they are pasted from a traceback, or a browser."""
    async with living(tmp_path, encoder=WordBag()) as memory:
        for other in (*OTHERS, "The file reconcile_v1.py is old.", "The printer is 127.0.0.2."):
            await keep(memory, other)
        note = await kept(memory, f"In the workshop {stored}, since last week.")
        for question in asked:
            assert await first(memory, question) == (note, True), question
