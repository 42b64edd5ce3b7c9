"""remember reads a new note together with what is near: what it tells anew gives way to it, however that is said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from holdfast.encode.builtin import AnswerReader, BuiltinEncoder, PairReader
from holdfast.engine.agent.close import read_facts
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.agent.remember import NoteStored, Remember, remember
from holdfast.engine.maintenance import candidates as finding
from holdfast.engine.maintenance.batches import Batch, find_work
from holdfast.engine.maintenance.candidates import read_behind
from holdfast.engine.omi.memories import MemoryRecall, memory_recall
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError, StorageError
from holdfast.model.opposition import ToRead, differ_in_one_place
from holdfast.model.versions import ANEW, APART, CLOSE, MAYBE, SURELY_READ, ReadTogether
from holdfast.tools.maintenance import batch_text
from worlds import CALLER, WordBag, ask, living

pytestmark = pytest.mark.anyio

FIRST_DAY = datetime(2026, 3, 10, 9, tzinfo=UTC)
WEEKS, MINUTES = timedelta(days=40), timedelta(minutes=4)
VERSIONS = ReadTogether(6.0, -6.0)
TWO_THINGS = ReadTogether(-6.0, -6.0)
THE_SAME = ReadTogether(-6.0, 6.0)
SURELY_TWO = ReadTogether(-9.0, -12.0)
MAILBOXES = ("Staff mailboxes move to the cloud in spring.", "Student mailboxes move to the cloud in spring.")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Told:
    """Says of every pair the same, and notes what it was given; what is read once more the other way round not."""

    def __init__(self, said: ReadTogether | None) -> None:
        self._said = said
        self.given: list[tuple[str, str]] = []
        self.is_busy = False

    async def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
        self.given += [pair for pair in pairs if pair[::-1] not in self.given]
        if self._said is None:
            raise EncoderError("The model was mislaid.")
        return [self._said] * len(pairs)


async def kept(memory: Memory, *texts: str, day: datetime = FIRST_DAY, apart: timedelta = WEEKS) -> list[NoteStored]:
    """The texts, each stored weeks after the one before, or as long as is said."""
    stored = []
    for place, text in enumerate(texts):
        now = day + place * apart
        await memory.attend(_nothing)
        outcome = await remember(replace(memory.ports, clock=lambda now=now: now), CALLER, Remember(text))
        assert isinstance(outcome, NoteStored)
        stored.append(outcome)
    return stored


async def _nothing(_: object) -> None:
    """Only what every request does first."""


def reasons(stored: NoteStored) -> dict[str, str]:
    return {link.to: link.reason for link in stored.note.connections}


def behind(answer: Recalled) -> dict[str, list[str]]:
    return {hit.note.id: [each.note.id for each in hit.earlier] for hit in answer.hits}


@pytest.fixture
def built_in() -> BuiltinEncoder:
    return BuiltinEncoder()


MEETING = (
    "Meeting of the cafe team on the second of March, everybody there but Ines. The till was 14 euros short on Friday, "
    "nobody knows why. Milk comes from the Brandt farm, forty litres on Mondays and Thursdays. Deliveries are taken at "
    "the front door. The oven is cleaned on Sundays, by whoever closes. Tips are shared out at the end of the month. "
    "Ines has the key of the drinks store. The summer menu is to be ready by the first of May, with two cold soups."
)
PAIRS = {
    "a switch": ("The till runs on Vend.", "We replaced Vend with Lightspeed at the till.", "what runs at the till?"),
    "another role's name": (
        "The treasurer of the allotment club is Ines Barral.",
        "Tomasz was voted in as treasurer at the spring meeting of the allotment gardeners.",
        "who is treasurer of the allotment club?",
    ),
    "none of the words asked for": (
        "The treasurer of the allotment club is Ines Barral.",
        "Tomasz looks after the allotment club's money.",
        "who is treasurer of the allotment club?",
    ),
    "an end": (
        "Members get ten percent off in the shop.",
        "There is no members' discount in the shop any more.",
        "do members get a discount in the shop?",
    ),
}


@pytest.mark.parametrize("sort", PAIRS)
async def test_what_is_told_anew_in_other_words_stands_before_what_was_said(
    tmp_path: Path, built_in: BuiltinEncoder, sort: str
) -> None:
    older, newer, question = PAIRS[sort]
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second = await kept(memory, older, newer)
        assert reasons(second)[first.note.id] in (ANEW, MAYBE)
        assert next(iter(behind(await ask(memory, question)))) == second.note.id


@pytest.mark.parametrize("sort", PAIRS)
async def test_memory_recall_too_has_the_newer_first_though_it_may_be_told_in_none_of_the_words_asked_for(
    tmp_path: Path, built_in: BuiltinEncoder, sort: str
) -> None:
    older, newer, question = PAIRS[sort]
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second = await kept(memory, older, newer)
        found = await memory.attend(lambda ports: memory_recall(ports, CALLER, MemoryRecall(question)))
        assert [item.note.id for item in found.memories] == [second.note.id, first.note.id]
        assert all(item.relevance >= MemoryRecall(question).min_relevance for item in found.memories)


BETWEEN = ("The back door is locked at six.", "The weekly build starts on Sunday.", "The lift is checked in May.")
IN_COMPANY = [
    (
        "Slot holds: an unconfirmed booking keeps its berth for 20 minutes, then the sweeper gives it back.",
        "Agreed with Tova: an unconfirmed booking may sit there for 45 min before the sweeper takes it. It is out.",
        "how long is an unconfirmed berth reserved before the sweeper takes it back?",
    ),
    (
        "larkspur web/ uses pnpm 9 workspaces, don't commit a package-lock.json",
        "To get larkspur web running: `bun install --frozen-lockfile` in web/, then `bun run dev`. It is checked in.",
        "package manager for larkspur's web folder?",
    ),
]


@pytest.mark.parametrize(("older", "newer", "question"), IN_COMPANY)
async def test_what_is_told_anew_among_other_things_and_answers_as_well_stands_first(
    tmp_path: Path, built_in: BuiltinEncoder, older: str, newer: str, question: str
) -> None:
    """Though it lacks a word of the question that the older has."""
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        _, second, *_ = await kept(memory, older, newer, *BETWEEN)
        assert next(iter(behind(await ask(memory, question)))) == second.note.id


async def test_in_a_memory_of_two_notes_what_lacks_the_words_asked_for_does_not_go_ahead(
    tmp_path: Path, built_in: BuiltinEncoder
) -> None:
    """Where there is no third note nothing tells how clear the newer one stands."""
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        notes = "Ferry's production server is hosted by Hetzner in Helsinki.", "Ferry logs go to Loki."
        first, _ = await kept(memory, *notes, apart=timedelta(days=3))
        assert next(iter(behind(await ask(memory, "Where is ferry's production server hosted?")))) == first.note.id


CORRECTIONS = {
    "a person": (
        "The mobile team is led by Priya.",
        "Marek is in charge of the mobile team.",
        "who leads the mobile team?",
    ),
    "a place": (
        "Feature flags are kept in the database.",
        "Feature flags live in a YAML file.",
        "where are feature flags?",
    ),
    "a rate": (
        "The rate limit is 100 requests per second.",
        "Rate limit: 100 requests a minute.",
        "what is the rate limit?",
    ),
    "what a setting is equal to": (
        "upload retries = 5 attempts, then the file is set aside",
        "upload retries = 9 attempts, then the file is set aside",
        "how often is an upload tried?",
    ),
}


@pytest.mark.parametrize("sort", CORRECTIONS)
async def test_a_correction_within_the_hour_stands_first_too(
    tmp_path: Path, built_in: BuiltinEncoder, sort: str
) -> None:
    older, newer, question = CORRECTIONS[sort]
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        *_, corrected = await kept(memory, older, *BETWEEN, newer, apart=MINUTES)
        assert next(iter(behind(await ask(memory, question)))) == corrected.note.id


class Claims:
    """Says of two texts that they are versions, but not where anything stands behind what they claim."""

    async def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
        return [VERSIONS if "," not in older + newer else TWO_THINGS for older, newer in pairs]


async def test_what_stands_behind_both_alike_says_nothing_against_their_claims() -> None:
    older, newer = "Our vet is Doctor Moltke, surgery from 9.", "Our vet is Doctor Aydin, surgery from 9."
    pairs = [ToRead(older, newer, 0.8), ToRead(older, newer.replace("from 9", "at noon"), 0.8)]
    _, (alike, apart) = await read_facts(Claims(), pairs)
    assert alike > SURELY_READ > apart


@pytest.mark.parametrize(
    ("answers", "later", "question"),
    [
        ("The boiler leaks at the lower valve.", "Replaced the filter of the boiler.", "where does the boiler leak?"),
        ("The logger writes to stdout.", "The logger was slow, so it now batches.", "where does the logger write to?"),
        ("Jonas is the plumber.", "Petra is the electrician.", "who is the plumber?"),
        ("Lena is allergic to nuts.", "Lena got a new bicycle.", "what is Lena allergic to?"),
    ],
)
async def test_what_is_told_later_of_the_same_thing_goes_ahead_of_no_answer(
    tmp_path: Path, built_in: BuiltinEncoder, answers: str, later: str, question: str
) -> None:
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, _ = await kept(memory, answers, later)
        found = behind(await ask(memory, question))
        assert next(iter(found)) == first.note.id
        assert found[first.note.id] == []


BESIDE_WHAT_IS_ASKED = [
    (
        "Our supported carriers are DHL, PostNL and GLS.",
        "Carrier calls give up after 6s, retries stay at 3.",
        "Which carriers are supported?",
    ),
    (
        "Our mobile app supports iOS 15 and up and Android 9 and up.",
        "Product raised the floor on Apple's side: nothing below iOS 17 is supported in the app.",
        "Which Android versions does the app support?",
    ),
    (
        "Hazel, our au pair, works 25 hours a week and has Sundays off.",
        "Hazel traded her free Sunday for Saturday so she can go to the market with her friends.",
        "How many hours a week does Hazel work?",
    ),
]
AHEAD_OF_NONE = [
    (
        "Dr. Mensah sees children on Mondays and Thursdays.",
        "Dr. Mensah moved; deliveries for him at home go to 40 Elm Road.",
        "On which days does Dr. Mensah see children?",
    ),
    (
        "CI builds the frontend with Node 20.",
        "To preview the docs site on your own laptop you now need Node 22.",
        "What Node version does CI use for the frontend?",
    ),
]
TOLD_ANEW_IN_PART = [
    (
        "orders-api is written in Go and belongs to the Falcon team.",
        "After the reorg Heron owns orders-api, Falcon just does fraud.",
        "Which team owns orders-api?",
    ),
    (
        "The practice runs on EMIS, and the server reboots itself Sundays at 3 a.m.",
        "Out-of-hours complained, hence the practice server restarts in the night to Wednesday at one.",
        "When does the practice server reboot?",
    ),
]


@asynccontextmanager
async def all_read(home: Path, encoder: BuiltinEncoder) -> AsyncIterator[Memory]:
    """A memory that reads notes with each other and questions with notes, as the real one does."""
    async with living(home, encoder=encoder, pairs=PairReader()) as memory:
        memory.ports = replace(memory.ports, answers=AnswerReader())
        yield memory


@pytest.mark.parametrize(("older", "newer", "question"), BESIDE_WHAT_IS_ASKED)
async def test_what_does_not_say_what_is_asked_hides_no_note_that_does(
    tmp_path: Path, built_in: BuiltinEncoder, older: str, newer: str, question: str
) -> None:
    async with all_read(tmp_path, built_in) as memory:
        first, second = await kept(memory, older, newer)
        assert behind(await ask(memory, question)) == {first.note.id: [], second.note.id: []}


@pytest.mark.parametrize(("older", "newer", "question"), AHEAD_OF_NONE)
async def test_what_may_be_newer_and_does_not_say_what_is_asked_goes_ahead_of_no_note_that_does(
    tmp_path: Path, built_in: BuiltinEncoder, older: str, newer: str, question: str
) -> None:
    async with all_read(tmp_path, built_in) as memory:
        first, _ = await kept(memory, older, newer)
        assert next(iter(behind(await ask(memory, question)))) == first.note.id


@pytest.mark.parametrize(("older", "newer", "question"), TOLD_ANEW_IN_PART)
async def test_what_says_as_well_what_is_asked_goes_ahead_of_an_older_note_that_says_more(
    tmp_path: Path, built_in: BuiltinEncoder, older: str, newer: str, question: str
) -> None:
    async with all_read(tmp_path, built_in) as memory:
        first, second = await kept(memory, older, newer)
        found = behind(await ask(memory, question))
        assert list(found) == [second.note.id, first.note.id]


async def test_the_like_of_another_thing_is_no_version(tmp_path: Path, built_in: BuiltinEncoder) -> None:
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second = await kept(memory, *MAILBOXES)
        assert reasons(second)[first.note.id] != ANEW
        assert not any(behind(await ask(memory, "when do the mailboxes move to the cloud?")).values())


@pytest.mark.parametrize(
    ("asked_for", "other", "question"),
    [
        (
            "Grandpa takes 20 mg of simvastatin in the evening.",
            "Grandma takes 40 mg of simvastatin in the evening.",
            "how much simvastatin does Grandpa get?",
        ),
        (
            "Budget for the kitchen renovation: at most 14,000 euros.",
            "The kitchen renovation came to 17,350 euros in the end.",
            "what was our budget for the kitchen?",
        ),
        (
            "Estimate for the login rewrite: three weeks.",
            "The login rewrite took seven weeks.",
            "what was the estimate for the login rewrite?",
        ),
        ("In winter the pool opens at 9.", "In summer the pool opens at 7.", "when does the pool open in winter?"),
    ],
)
async def test_what_one_word_tells_apart_is_no_version_and_who_has_the_word_asked_for_comes_first(
    tmp_path: Path, built_in: BuiltinEncoder, asked_for: str, other: str, question: str
) -> None:
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second = await kept(memory, asked_for, other)
        assert not any("supersede" in notice for notice in second.notices)
        assert next(iter(behind(await ask(memory, question)))) == first.note.id


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (("Ragnhild takes metoprolol 50 mg each morning.", "Ola takes metoprolol 25 mg in the evening."), 0),
        (("Day shifts need at least five nurses.", "Night shifts need at least three nurses."), 1),
    ],
)
async def test_of_siblings_remember_names_the_one_that_is_told_anew(
    tmp_path: Path, built_in: BuiltinEncoder, texts: tuple[str, str], meant: int
) -> None:
    newer = (
        "The doctor doubled the metoprolol: Ragnhild takes 100 mg in the morning now.",
        "From December night shifts need four nurses instead of three.",
    )[meant]
    async with living(tmp_path / "home", encoder=built_in, pairs=PairReader()) as memory:
        *older, stored = await kept(memory, *texts, newer)
    named = [each.note.id for each in older if any(each.note.id in notice for notice in stored.notices)]
    assert named == [older[meant].note.id]


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (
            "The billing service is owned by Meera.",
            "Meera changed to the data team. The billing service is owned by Joaquin, who has a channel for alerts.",
            "who owns the billing service?",
        ),
        (
            "Backups are kept for 14 days.",
            "Legal asked for longer. Backups are kept for 90 days now, they are encrypted and lie in Frankfurt.",
            "how long are backups kept?",
        ),
        (  # names do not do the same, as far as reading the clause tells: that he is spoken of besides is what counts
            "Ferdinand looks after the garden.",
            "Ferdinand has taken a job at sea, Paula looks after the garden, she wants the hose mended.",
            "who looks after the garden?",
        ),
    ],
)
async def test_what_a_note_corrects_behind_the_reason_for_it_is_asked_of_and_folded(
    tmp_path: Path, built_in: BuiltinEncoder, older: str, newer: str, question: str
) -> None:
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second = await kept(memory, older, newer)
        assert any(f'mark_outdated(node_id="{first.note.id}"' in notice for notice in second.notices)
        assert behind(await ask(memory, question))[second.note.id] == [first.note.id]


async def test_what_a_long_note_tells_among_much_else_is_read_beside_what_is_told_anew(
    tmp_path: Path, built_in: BuiltinEncoder
) -> None:
    async with living(tmp_path, encoder=built_in, pairs=PairReader()) as memory:
        first, second, third = await kept(
            memory, MEETING, "Deliveries now go to the back door.", "The oven man comes on Mondays at 19:30."
        )
        assert any(first.note.id in notice for notice in second.notices)
        assert not third.notices


async def test_what_was_read_goes_before_what_words_make_likely(tmp_path: Path) -> None:
    texts = ("The gate fee is 3.50 euros.", "The gate fee is 4.90 euros.")
    async with living(tmp_path / "without", encoder=WordBag()) as memory:
        first, second = await kept(memory, *texts)
        assert behind(await ask(memory, "what is the gate fee?")) == {second.note.id: [first.note.id]}
    async with living(tmp_path / "with", encoder=WordBag(), pairs=Told(TWO_THINGS)) as memory:
        first, second = await kept(memory, *texts)
        assert reasons(second)[first.note.id] in (MAYBE, APART)
        assert not any(behind(await ask(memory, "what is the gate fee?")).values())


@pytest.mark.files("a note is written anew in its file")
async def test_what_was_read_holds_no_longer_where_a_note_is_written_anew_by_hand(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(VERSIONS)) as memory:
        first, second = await kept(memory, *MAILBOXES)
        question = "which mailboxes move to the cloud in spring? when does the canteen close?"
        assert behind(await ask(memory, question)) == {second.note.id: [first.note.id]}
        [file] = [each async for each in anyio.Path(tmp_path).rglob("*.md") if MAILBOXES[0] in await each.read_text()]
        await file.write_text((await file.read_text()).replace(MAILBOXES[0], "The canteen closes at three."))
        assert behind(await ask(memory, question)) == {first.note.id: [], second.note.id: []}


@pytest.mark.files("a note is written anew in its file")
async def test_what_was_read_holds_where_somebody_tells_another_time_of_a_note(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(TWO_THINGS)) as memory:
        notes = await kept(memory, "The gate fee is 3.50 euros.", "The gate fee is 4.90 euros.")
        for stored in notes:
            [file] = [each async for each in anyio.Path(tmp_path).rglob(f"*{stored.note.id}.md")]
            text, year = await file.read_text(), 'created: "2026'
            assert year in text
            await file.write_text(text.replace(year, 'created: "2020', 1))
        answer = await ask(memory, "what is the gate fee?")
        assert {hit.note.created[:4] for hit in answer.hits} == {"2020"}
        assert behind(answer).keys() == {stored.note.id for stored in notes}


async def test_a_note_is_stored_where_pairs_cannot_be_read_and_the_answer_says_so(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(None)) as memory:
        first, second = await kept(memory, *MAILBOXES)
    assert reasons(second) == {first.note.id: CLOSE}
    assert any("compared by their words alone: The model was mislaid." in text for text in second.notices)


async def test_the_older_note_is_read_first_and_notes_of_two_spaces_not_at_all(tmp_path: Path) -> None:
    reader = Told(VERSIONS)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        await kept(memory, *MAILBOXES)
        await memory.attend(
            lambda ports: remember(ports, CALLER, Remember(MAILBOXES[0] + " Truly.", space="elsewhere"))
        )
    assert reader.given == [MAILBOXES]


def by_hand(folder: Path, name: str, text: str, day: str) -> None:
    """A note as somebody writes one with an editor."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\ncreated: {day}\n---\n{text}\n", "utf-8")


async def read_all(memory: Memory) -> None:
    """Encode what waits, then read it together."""
    await memory.attend(_nothing)
    await memory.catch_up()
    while await read_behind(memory.ports):
        pass


@pytest.mark.files("notes come as files")
async def test_what_comes_as_files_is_read_together_behind(tmp_path: Path) -> None:
    reader = Told(VERSIONS)
    by_hand(tmp_path / "memories" / "work", "staff", MAILBOXES[0], "2026-03-10T09:00:00Z")
    by_hand(tmp_path / "memories" / "work", "student", MAILBOXES[1], "2026-05-10T09:00:00Z")
    question = "which mailboxes move to the cloud in spring?"
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        await read_all(memory)
        assert reader.given == [MAILBOXES]  # the older first, and once
        [hit] = (await ask(memory, question)).hits
        assert (hit.note.content, [each.note.content for each in hit.earlier]) == (MAILBOXES[1], [MAILBOXES[0]])
        await read_all(memory)
        assert len(reader.given) == 1
        by_hand(tmp_path / "memories" / "work", "staff", MAILBOXES[0] + " Not before.", "2026-03-10T09:00:00Z")
        await read_all(memory)
        assert reader.given[1:] == [(f"{MAILBOXES[0]} Not before.", MAILBOXES[1]), MAILBOXES]  # and what they claim


@pytest.mark.files("notes come as files")
async def test_what_was_read_behind_goes_with_its_note_and_comes_back_with_a_new_index(tmp_path: Path) -> None:
    by_hand(tmp_path / "memories" / "work", "staff", MAILBOXES[0], "2026-03-10T09:00:00Z")
    by_hand(tmp_path / "memories" / "work", "student", MAILBOXES[1], "2026-05-10T09:00:00Z")
    async with living(tmp_path, encoder=WordBag(), pairs=Told(TWO_THINGS)) as memory:
        await read_all(memory)
        assert await readings(memory) == 1
    for left in (tmp_path / ".holdfast").glob("index.db*"):
        left.unlink()
    async with living(tmp_path, encoder=WordBag(), pairs=Told(TWO_THINGS)) as memory:
        await read_all(memory)
        assert await readings(memory) == 1
        (tmp_path / "memories" / "work" / "staff.md").unlink()
        await memory.attend(_nothing)
        assert await readings(memory) == 0


@pytest.mark.files("notes come as files")
async def test_what_is_gone_or_changed_while_it_is_read_leaves_nothing(tmp_path: Path) -> None:
    class Slow(Told):
        async def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
            (tmp_path / "memories" / "work" / "staff.md").unlink()
            await memory.attend(_nothing)
            return await super().read(pairs)

    by_hand(tmp_path / "memories" / "work", "staff", MAILBOXES[0], "2026-03-10T09:00:00Z")
    by_hand(tmp_path / "memories" / "work", "student", MAILBOXES[1], "2026-05-10T09:00:00Z")
    async with living(tmp_path, encoder=WordBag(), pairs=Slow(VERSIONS)) as memory:
        await read_all(memory)
        assert await readings(memory) == 0


async def readings(memory: Memory) -> int:
    """How many pairs the index has that were read behind."""
    return await memory.ports.index.read(
        lambda view: view._connection.execute("SELECT count(*) FROM readings").fetchone()[0]
    )


async def test_what_remember_could_not_read_is_read_behind(tmp_path: Path) -> None:
    class Late(WordBag):
        async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
            if not is_late:
                return await super().encode_documents(texts)
            raise EncoderError("The model is late.")

    reader, is_late = Told(VERSIONS), True
    async with living(tmp_path, encoder=Late(), pairs=reader) as memory:
        await kept(memory, *MAILBOXES)
        assert reader.given == []
        is_late = False
        await read_all(memory)
        assert reader.given == [MAILBOXES]


async def test_what_remember_has_read_is_not_read_behind(tmp_path: Path) -> None:
    reader = Told(VERSIONS)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        await kept(memory, *MAILBOXES)
        await read_all(memory)
    assert reader.given == [MAILBOXES]


TWINS = (
    "The harbour crane lifts forty tonnes and is greased on Mondays.",
    "The harbour crane lifts forty tonnes and gets greased on Mondays.",
)
SIBLINGS = ("The harbour crane lifts forty tonnes.", "The harbour crane was painted blue by Ada.")
OTHERS = ("Ada Okafor prefers green tea.", "Ada Okafor prefers black tea.", "The ferry is blue.", "The ferry is white.")


async def look(memory: Memory) -> Batch:
    return await memory.attend(lambda ports: find_work(ports, CALLER))


def offered(batch: Batch) -> dict[str, list[set[str]]]:
    """The texts of what a batch offers, by kind."""
    return {
        kind: [{text.note.content for text in item.texts} for item in items]
        for kind, items in batch.items.items()
        if items
    }


@pytest.mark.parametrize(("said", "kind"), [(VERSIONS, "conflicts"), (THE_SAME, "merges"), (SURELY_TWO, None)])
async def test_maintenance_asks_of_a_pair_what_reading_it_tells(
    tmp_path: Path, said: ReadTogether, kind: str | None
) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(said)) as memory:
        await kept(memory, *SIBLINGS)
        assert offered(await look(memory)) == ({kind: [set(SIBLINGS)]} if kind else {})


async def test_what_maintenance_read_is_kept_until_a_note_changes(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await kept(memory, *SIBLINGS)
    reader = Told(SURELY_TWO)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        assert offered(await look(memory)) == {}
        assert reader.given == [SIBLINGS]
    mislaid = Told(None)
    async with living(tmp_path, encoder=WordBag(), pairs=mislaid) as memory:
        assert (offered(await look(memory)), mislaid.given) == ({}, [])


async def test_where_pairs_cannot_be_read_maintenance_goes_by_their_words_and_says_so(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(None)) as memory:
        await kept(memory, *TWINS, "Bo feeds the kitchen cat.", "The kitchen bell rings.")
        batch = await look(memory)
    assert offered(batch) == {"merges": [set(TWINS)]}
    assert batch.notice == "Pairs that were not read before were compared by their words: The model was mislaid."


async def test_where_the_index_cannot_be_written_a_dry_run_reads_pairs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(update: object) -> None:
        raise StorageError(f"There is no room for {type(update).__name__}.")

    async with living(tmp_path, encoder=WordBag()) as memory:
        await kept(memory, *SIBLINGS)
    async with living(tmp_path, encoder=WordBag(), pairs=Told(SURELY_TWO)) as memory:
        await memory.attend(_nothing)
        with monkeypatch.context() as patched:
            patched.setattr(memory.ports.index, "apply", full)
            assert offered(await find_work(memory.ports, CALLER, dry_run=True)) == {}


async def test_of_many_pairs_some_are_read_in_later_calls_and_none_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "READ", 1)
    async with living(tmp_path, encoder=WordBag()) as memory:
        await kept(memory, *TWINS, *OTHERS)
    reader = Told(VERSIONS)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        seen: list[set[str]] = []
        for number in range(1, 4):
            shown = offered(await look(memory))
            assert list(shown) == ["conflicts"]
            seen += [pair for pair in shown["conflicts"] if pair not in seen]
            assert (len(seen), len(reader.given)) == (number, number)
    assert all(pair in seen for pair in (set(TWINS), set(OTHERS[:2]), set(OTHERS[2:])))


async def test_where_much_that_is_read_shows_nothing_a_call_ends_and_says_that_there_is_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "READ", 1)
    monkeypatch.setattr(finding, "MOST_READ", 2)
    others = (
        "The school bus holds ninety children.",
        "The school bus got cleaned twice with Ben.",
        "One garden shed stores twelve ladders.",
        "One garden shed is roofed again for Cora.",
    )
    async with living(tmp_path, encoder=WordBag()) as memory:
        await kept(memory, *SIBLINGS, *others)
    reader = Told(SURELY_TWO)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        first = await look(memory)
        assert (offered(first), first.id, len(reader.given)) == ({}, None, 2)
        assert batch_text(first).startswith("Nothing to process yet.\nNote: ")
        assert "more is to be read: call again" in first.notice
        second = await look(memory)
        assert (batch_text(second), len(reader.given)) == ("Nothing to process.", 3)


@pytest.mark.parametrize(("said", "asked", "kind"), [(VERSIONS, "merges", None), (THE_SAME, "merges", "merges")])
async def test_a_pair_that_is_of_another_kind_than_those_asked_for_is_not_offered(
    tmp_path: Path, said: ReadTogether, asked: str, kind: str | None
) -> None:
    async with living(tmp_path, encoder=WordBag(), pairs=Told(said)) as memory:
        await kept(memory, *SIBLINGS)
        found = offered(await memory.attend(lambda ports: find_work(ports, CALLER, [asked])))
    assert list(found) == ([kind] if kind else [])


async def test_what_has_no_vector_yet_is_compared_by_words_where_nothing_else_is_there_to_judge(tmp_path: Path) -> None:
    class Never(WordBag):
        async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
            raise EncoderError(f"The model is late for {len(texts)}.")

    async with living(tmp_path, encoder=Never(), pairs=Told(SURELY_TWO)) as memory:
        await kept(memory, *TWINS)
        batch = await look(memory)
    assert offered(batch) == {"merges": [set(TWINS)]}
    assert "have no vector yet (pending)" in batch.notice


async def test_what_never_has_a_vector_is_compared_by_words_beside_what_is_read(tmp_path: Path) -> None:
    twins = ("灯台の霧笛は毎晩六時に鳴る。", "灯台の霧笛は毎晩七時に鳴る。")
    async with living(tmp_path, encoder=BuiltinEncoder(), pairs=Told(THE_SAME)) as memory:
        await kept(memory, *TWINS, *twins)
        await memory.catch_up()
        batch = await look(memory)
    assert set(TWINS) in offered(batch)["merges"]
    assert set(twins) in [pair for pairs in offered(batch).values() for pair in pairs]
    assert batch.notice == ""


ELSEWHERE = ("Der Chor probt dienstags im Gemeindesaal.", "Jan zieht nach Bremen.", "Der Chor probt jetzt im Rathaus.")


async def test_what_is_in_a_language_that_is_not_read_is_told_by_words_and_read_with_nothing(
    tmp_path: Path, built_in: BuiltinEncoder
) -> None:
    reader = Told(TWO_THINGS)
    async with living(tmp_path, encoder=built_in, pairs=reader) as memory:
        first, _, then = await kept(memory, *ELSEWHERE)
        await kept(memory, *MAILBOXES)
        reader.given.clear()
        batch = await memory.attend(lambda ports: find_work(ports, CALLER))
    [found] = batch.items["conflicts"]
    assert found.ids == {first.note.id, then.note.id}, "what was read of the two when one was stored says nothing"
    assert not any(text in ELSEWHERE for pair in reader.given for text in pair)


async def test_where_the_encoder_reads_all_languages_such_notes_are_read_as_others_are(tmp_path: Path) -> None:
    reader = Told(TWO_THINGS)
    async with living(tmp_path, encoder=WordBag(), pairs=reader) as memory:
        await kept(memory, *ELSEWHERE)
        reader.given.clear()
        await memory.attend(lambda ports: find_work(ports, CALLER))
    assert any(text in ELSEWHERE for pair in reader.given for text in pair)


ONE_PLACE = {
    "what is added": (
        "I take my coffee with oat milk.",
        "I take my coffee black now.",
        "How do I take my coffee?",
    ),
    "a room": ("The router stands in the hallway.", "The router stands in the study.", "Where is the router?"),
    "a name, and why": (
        "We order fish for all three restaurants from Brightwater Seafoods.",
        "We order fish for all three restaurants from Holm & Sons now, Brightwater's deliveries were late too often.",
        "Who is our fish supplier?",
    ),
    "a count": (
        "The thesis will have six chapters.",
        "The thesis will have five chapters.",
        "How many chapters will the thesis have?",
    ),
}


@pytest.mark.parametrize("sort", ONE_PLACE)
async def test_of_two_that_differ_in_one_place_the_newer_is_first_though_they_read_as_two_things(
    tmp_path: Path, built_in: BuiltinEncoder, sort: str
) -> None:
    older, newer, question = ONE_PLACE[sort]
    apart = ReadTogether(anew=-4.0, again=-9.0)
    async with living(tmp_path, encoder=built_in, pairs=Told(apart)) as memory:
        for other in ("The treasurer keeps the books.", "Marta feeds the cats.", "The gate is locked at ten."):
            await kept(memory, other, apart=timedelta())
        first, second = await kept(memory, older, newer)
        answer = behind(await ask(memory, question))
        assert list(answer)[:2] == [second.note.id, first.note.id]


@pytest.mark.parametrize(
    ("asked", "beside", "question"),
    [
        ("Hugo is allergic to eggs.", "Hugo is allergic to cats.", "Is Hugo allergic to eggs?"),
        ("Marianne conducts the choir.", "Marianne conducts the youth orchestra.", "who conducts the choir?"),
        ("Tamar leads the school programme.", "Tamar leads the evening lectures.", "who leads the school programme?"),
    ],
)
async def test_what_has_the_words_asked_for_stays_before_what_differs_in_them(
    tmp_path: Path, built_in: BuiltinEncoder, asked: str, beside: str, question: str
) -> None:
    apart = ReadTogether(anew=-4.0, again=-9.0)
    async with living(tmp_path, encoder=built_in, pairs=Told(apart)) as memory:
        first, _ = await kept(memory, asked, beside)
        assert next(iter(behind(await ask(memory, question)))) == first.note.id


@pytest.mark.parametrize(
    ("one", "other", "do_so"),
    [
        ("The router stands in the hallway.", "The router stands in the study.", True),
        ("I take my coffee with oat milk.", "I now take my coffee black, says the doctor.", True),
        ("Der Öltank fasst 3000 Liter.", "Der Öltank fasst 2800 Liter.", True),
        (
            "The building on Elm Street is managed by Corbett.",
            "The building on Oak Street is managed by Corbett.",
            False,
        ),
        ("Default rate limit: 600 a minute.", "Default rate limit for sandbox keys: 600 a minute.", False),
        ("The router stands in the hallway.", "The router stands in the hallway.", False),
        ("The pump runs.", "The pump hums when the water is cold in winter.", False),
    ],
)
def test_two_texts_differ_in_one_place_where_they_begin_alike(one: str, other: str, *, do_so: bool) -> None:
    assert differ_in_one_place(one, other) is do_so
