"""Encoders that are broken, slow or gone: no note waits for them, none is lost, and all get their vectors later."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from holdfast.encode.provider import CachedEncoder, VectorSet, forget
from holdfast.engine import encoding
from holdfast.engine import runtime as memory
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError
from worlds import CALLER, ask, found, keep, living, until

pytestmark = pytest.mark.anyio

WIDTH = 8
SET = VectorSet("fake", "fake", "", WIDTH, ("", ""), 0.1, 0.1)


def vector_of(text: str) -> bytes:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    numbers = np.random.default_rng(seed).normal(size=WIDTH)
    return bytes((numbers / np.linalg.norm(numbers)).astype("<f4").tobytes())


class Fake:
    """An encoder that does as it is told."""

    vector_set = SET

    def __init__(self) -> None:
        self.backlog = 0
        self.broken = False
        self.stuck = False
        self.released = anyio.Event()
        self.poison = ""
        self.encoded: list[str] = []
        self.asked = 0
        self.batches: list[int] = []

    async def identify(self) -> VectorSet:
        return self.vector_set

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        self.batches.append(len(texts))
        await self._work(texts)
        self.encoded += texts
        return [[vector_of(text), vector_of(text[::-1])] for text in texts]

    async def encode_query(self, text: str) -> bytes:
        self.asked += 1
        await self._work([text])
        return vector_of(text)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _work(self, texts: Sequence[str]) -> None:
        await anyio.lowlevel.checkpoint()
        if self.stuck:
            await self.released.wait()
        if self.broken or (self.poison and any(self.poison in text for text in texts)):
            raise EncoderError("The embedding model cannot be loaded.")


@pytest.fixture(autouse=True)
def tending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background work begins at once."""
    monkeypatch.setattr(memory, "START_SECONDS", 0.0)
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.02)


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """How long a request waits for the encoder."""
    return lambda seconds: monkeypatch.setattr(encoding, "PATIENCE_SECONDS", seconds)


@pytest.fixture
def fake() -> Fake:
    return Fake()


async def pending(world: Memory) -> int:
    return await world.attend(lambda ports: ports.index.count_pending(SET.key))


async def drained(world: Memory) -> None:
    with anyio.fail_after(30):
        while await pending(world):  # noqa: ASYNC110 - the background does it
            await anyio.sleep(0.01)


def breaks(fake: Fake) -> None:
    fake.broken = True


def hangs(fake: Fake) -> None:
    fake.stuck = True


def recovers(fake: Fake) -> None:
    fake.broken = fake.stuck = False
    fake.released.set()


Trouble = Callable[[Fake], None]


async def test_a_note_has_its_vector_when_it_is_acknowledged(tmp_path: Path, fake: Fake) -> None:
    async with living(tmp_path, encoder=fake) as world:
        stored = await keep(world, "The winch needs oil.")
        assert (stored.vector, stored.notices) == (True, ())
        assert await pending(world) == 0


@pytest.mark.parametrize("trouble", [breaks, hangs])
async def test_a_note_is_kept_and_found_by_its_words_whatever_the_encoder_does(
    tmp_path: Path, fake: Fake, trouble: Trouble, patience: Callable[[float], None]
) -> None:
    trouble(fake)
    patience(0.05)
    async with living(tmp_path, encoder=fake) as world:
        stored = await keep(world, "The winch needs oil.")
        assert isinstance(stored, NoteStored)
        assert stored.vector == "pending"
        assert any("words" in notice for notice in stored.notices)
        answer = await ask(world, "winch oil")
        assert found(answer) == ["The winch needs oil."]
        assert any("found by their words only" in notice for notice in answer.notices)
        assert any("have no vector yet" in notice for notice in answer.notices)


@pytest.mark.parametrize("trouble", [breaks, hangs])
async def test_what_waited_gets_its_vector_when_the_encoder_works_again_without_another_call(
    tmp_path: Path, fake: Fake, trouble: Trouble, patience: Callable[[float], None]
) -> None:
    trouble(fake)
    patience(0.05)
    async with living(tmp_path, encoder=fake) as world:
        for number in range(5):
            await keep(world, f"Buoy {number} is red.")
        assert await pending(world) == 5 + 1, "with the note of the person itself"
        recovers(fake)
        patience(30.0)
        await until(lambda: len(set(fake.encoded)) == 6)
        await drained(world)
        assert (await ask(world, "buoy 3")).notices == ()


async def test_what_waited_when_the_server_stopped_gets_its_vector_after_the_next_start(
    tmp_path: Path, fake: Fake
) -> None:
    fake.broken = True
    async with living(tmp_path, encoder=fake) as world:
        await keep(world, "The winch needs oil.")
    fake.broken = False
    async with living(tmp_path, encoder=fake):
        await until(lambda: "The winch needs oil." in fake.encoded)


async def test_200_notes_written_by_hand_are_all_encoded_in_batches(tmp_path: Path, fake: Fake) -> None:
    folder = tmp_path / "memories" / "work"
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"{number}.md").write_text(f"Buoy {number} is red.", "utf-8")
    async with living(tmp_path, encoder=fake) as world:
        assert len(found(await ask(world, "buoy red", limit=50))) == 50
        await drained(world)
        assert sorted(fake.encoded) == sorted(f"Buoy {number} is red." for number in range(200))
        assert max(fake.batches) <= encoding.DRAIN_BATCH


async def test_a_file_is_given_its_id_while_the_encoder_hangs(
    tmp_path: Path, fake: Fake, patience: Callable[[float], None]
) -> None:
    hangs(fake)
    patience(0.05)
    folder = tmp_path / "memories" / "work"
    folder.mkdir(parents=True)
    path = folder / "first.md"
    path.write_text("Buoy 1 is red.", "utf-8")
    async with living(tmp_path, encoder=fake) as world:
        await ask(world, "buoy")
        await until(lambda: fake.batches)
        path = folder / "second.md"
        path.write_text("Buoy 2 is red.", "utf-8")
        await ask(world, "buoy")
        await until(lambda: path.read_bytes().startswith(b"---"))


async def test_a_text_that_the_encoder_cannot_take_holds_up_no_other(tmp_path: Path, fake: Fake) -> None:
    fake.poison = "cursed"
    folder = tmp_path / "memories" / "work"
    folder.mkdir(parents=True)
    for number in range(100):
        text = f"The cursed buoy {number}." if number % 40 == 0 else f"Buoy {number} is red."
        (folder / f"{number:03}.md").write_text(text, "utf-8")
    async with living(tmp_path, encoder=fake) as world:
        await ask(world, "buoy")
        await until(lambda: len(fake.encoded) >= 97)
        with anyio.fail_after(30):
            while await pending(world) != 3:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert "The cursed buoy 40." in found(await ask(world, "cursed buoy"))
        fake.poison = ""
        await drained(world)


async def test_a_broken_encoder_is_not_asked_for_every_waiting_note(
    tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "START_SECONDS", 600.0)  # the background would try, too
    fake.broken = True
    folder = tmp_path / "memories" / "work"
    folder.mkdir(parents=True)
    for number in range(100):
        (folder / f"{number}.md").write_text(f"Buoy {number} is red.", "utf-8")
    async with living(tmp_path, encoder=fake) as world:
        await ask(world, "buoy")
        fake.batches.clear()
        with pytest.raises(EncoderError):
            await encoding.drain(world.ports)
        assert len([size for size in fake.batches if size == 1]) <= encoding.HOPELESS


async def test_a_note_does_not_stand_in_line_behind_a_deep_backlog(tmp_path: Path, fake: Fake) -> None:
    fake.backlog = encoding.DEEP_BACKLOG + 1
    async with living(tmp_path, encoder=fake) as world:
        stored = await keep(world, "The winch needs oil.")
        assert stored.vector == "pending"
        await drained(world)


async def test_a_note_that_changes_while_it_is_encoded_gets_the_vector_of_its_new_text(
    tmp_path: Path, fake: Fake
) -> None:
    path = tmp_path / "memories" / "work" / "winch.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nid: mem_01hf7yat00000000\n---\nThe winch needs oil.", "utf-8")
    async with living(tmp_path, encoder=fake) as world:
        await ask(world, "winch")
        await drained(world)
        path.write_text("---\nid: mem_01hf7yat00000000\n---\nThe crane needs paint.", "utf-8")
        await ask(world, "crane")
        await drained(world)
        index = tmp_path / ".holdfast" / "index.db"
        with closing(sqlite3.connect(index)) as connection:
            vectors = connection.execute("SELECT vector FROM vectors ORDER BY chunk").fetchall()
        text = "The crane needs paint."
        assert vectors == [(vector_of(text),), (vector_of(text[::-1]),)]


async def test_without_an_encoder_a_note_says_that_it_has_no_vector(tmp_path: Path) -> None:
    async with living(tmp_path) as world:
        assert (await keep(world, "The winch needs oil.")).vector is False
        assert "No encoder is set" in (await ask(world, "winch")).notices[0]


# The cache of encodings


TEXTS = [f"text {number}" for number in range(20)]


async def encode(cached: CachedEncoder, texts: Sequence[str] = TEXTS) -> None:
    """Encode, and see that every text got its own vectors."""
    vectors = await cached.encode_documents(texts)
    assert vectors == [[vector_of(text), vector_of(text[::-1])] for text in texts]


async def test_no_text_is_encoded_twice_not_even_by_another_process(tmp_path: Path, fake: Fake) -> None:
    for _ in range(2):
        cached = CachedEncoder(fake, tmp_path / "encodings.db")
        await encode(cached)
        await encode(cached)
        await cached.aclose()
    assert fake.encoded == TEXTS


async def test_only_what_is_not_known_is_encoded_and_the_order_is_kept(tmp_path: Path, fake: Fake) -> None:
    cached = CachedEncoder(fake, tmp_path / "encodings.db")
    await encode(cached, TEXTS[3:6])
    await encode(cached, [*TEXTS, TEXTS[0]])
    await cached.aclose()
    assert fake.encoded == [*TEXTS[3:6], *TEXTS[:3], *TEXTS[6:]]


async def test_vectors_of_another_set_are_not_taken(tmp_path: Path, fake: Fake) -> None:
    cached = CachedEncoder(fake, tmp_path / "encodings.db")
    await encode(cached)
    await cached.aclose()
    other = Fake()
    other.vector_set = VectorSet("fake", "another model", "", WIDTH, ("", ""), 0.1, 0.1)
    cached = CachedEncoder(other, tmp_path / "encodings.db")
    await encode(cached)
    await cached.aclose()
    assert other.encoded == TEXTS


def vanish(path: Path) -> None:
    path.unlink()


def vanish_with_folder(path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()


def turn_to_garbage(path: Path) -> None:
    path.write_bytes(b"this was never a database " * 1000)


def lose_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def lose_everything(path: Path) -> None:
    path.write_bytes(b"")


def break_inside(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))


@pytest.mark.parametrize(
    "harm", [vanish, vanish_with_folder, turn_to_garbage, lose_its_end, lose_everything, break_inside]
)
async def test_a_cache_that_is_harmed_between_two_runs_is_started_anew(
    tmp_path: Path, fake: Fake, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "derived" / "encodings.db"
    cached = CachedEncoder(fake, path)
    await encode(cached)
    await cached.aclose()
    harm(path)
    cached = CachedEncoder(fake, path)
    await encode(cached)
    fake.encoded.clear()
    await encode(cached)
    await cached.aclose()
    assert fake.encoded == [], "it keeps nothing any more"


@pytest.mark.parametrize("harm", [vanish, vanish_with_folder])
async def test_a_cache_that_is_deleted_while_it_is_used_is_started_anew(
    tmp_path: Path, fake: Fake, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / "derived" / "encodings.db"
    cached = CachedEncoder(fake, path)
    await encode(cached)
    harm(path)
    await encode(cached)
    fake.encoded.clear()
    await encode(cached)
    await cached.aclose()
    assert fake.encoded == []


async def test_a_cache_that_another_process_replaced_is_shared_again(tmp_path: Path, fake: Fake) -> None:
    path = tmp_path / "encodings.db"
    mine, theirs = CachedEncoder(fake, path), CachedEncoder(fake, path)
    await encode(mine)
    path.unlink()
    await encode(theirs)
    await encode(mine, ["something new"])
    fake.encoded.clear()
    await encode(theirs, ["something new"])
    await mine.aclose()
    await theirs.aclose()
    assert fake.encoded == []


async def test_a_cache_that_cannot_be_written_costs_nothing_but_the_work(tmp_path: Path, fake: Fake) -> None:
    (tmp_path / "file").write_bytes(b"")
    cached = CachedEncoder(fake, tmp_path / "file" / "encodings.db")
    await encode(cached)
    await encode(cached)
    await cached.aclose()
    assert fake.encoded == TEXTS * 2


async def test_a_cache_that_somebody_holds_is_passed_over(
    tmp_path: Path, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "encodings.db"
    real = sqlite3.connect

    def impatient(*arguments: Any, **options: Any) -> sqlite3.Connection:
        return Impatient(*arguments, **options)

    class Impatient(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return super().execute(statement.replace("busy_timeout = 10000", "busy_timeout = 1"), *values)

    monkeypatch.setattr(sqlite3, "connect", impatient)
    cached = CachedEncoder(fake, path)
    await encode(cached, TEXTS[:10])
    with closing(real(path, isolation_level=None)) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        await encode(cached)
        somebody.execute("ROLLBACK")
    await encode(cached, TEXTS[:10])
    await cached.aclose()
    assert fake.encoded == TEXTS, "what was known before is still known"


async def test_half_of_a_texts_chunks_is_as_good_as_none(tmp_path: Path, fake: Fake) -> None:
    path = tmp_path / "encodings.db"
    cached = CachedEncoder(fake, path)
    await encode(cached)
    await cached.aclose()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM encodings WHERE chunk = 0")
    cached = CachedEncoder(fake, path)
    await encode(cached)
    await cached.aclose()


async def test_a_vector_of_the_wrong_width_is_made_again(tmp_path: Path, fake: Fake) -> None:
    path = tmp_path / "encodings.db"
    cached = CachedEncoder(fake, path)
    await encode(cached)
    await cached.aclose()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE encodings SET vector = x'00'")
    cached = CachedEncoder(fake, path)
    await encode(cached)
    await cached.aclose()


@pytest.mark.parametrize("harm", [vanish, turn_to_garbage, break_inside])
async def test_a_memory_whose_cache_is_harmed_goes_on_as_if_nothing_was(
    tmp_path: Path, fake: Fake, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / ".holdfast" / "encodings.db"
    async with living(tmp_path, encoder=CachedEncoder(fake, path)) as world:
        await keep(world, "The winch needs oil.")
    harm(path)
    async with living(tmp_path, encoder=CachedEncoder(fake, path)) as world:
        assert (await keep(world, "The crane needs paint.")).vector is True
        assert found(await ask(world, "crane paint"))[0] == "The crane needs paint."


@pytest.mark.parametrize("harm", [vanish, turn_to_garbage])
async def test_a_recall_is_answered_whatever_becomes_of_the_log_of_recalls(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    path = tmp_path / ".holdfast" / "recalls.db"
    async with living(tmp_path) as world:
        await keep(world, "The winch needs oil.")
        await ask(world, "winch")
    harm(path)
    async with living(tmp_path) as world:
        answer = await ask(world, "winch oil")
        assert found(answer) == ["The winch needs oil."]
        assert not [notice for notice in answer.notices if "rated" in notice]
        await world.ports.recalls.recent(CALLER.principal, 1)  # which writes what waits
        path.unlink()
        answer = await ask(world, "winch oil")
        assert await world.ports.recalls.get(answer.event_id, "") is not None  # type: ignore[attr-defined] # the log itself


async def test_many_recalls_at_once_open_one_log(tmp_path: Path) -> None:
    async with living(tmp_path) as world:
        await keep(world, "The winch needs oil.")
        answers: list[bool] = []

        async def recall_it() -> None:
            answer = await ask(world, "winch oil")
            answers.append(not [notice for notice in answer.notices if "rated" in notice])

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(recall_it)
        assert answers == [True] * 20


@pytest.mark.parametrize("texts", [["the text that goes"], None])
async def test_what_is_encoded_while_texts_are_forgotten_is_not_kept(tmp_path: Path, texts: list[str] | None) -> None:
    path = tmp_path / "encodings.db"

    class Forgetting(Fake):
        async def encode_documents(self, given: Sequence[str]) -> list[list[bytes]]:
            made = await super().encode_documents(given)
            await forget(path, texts)
            return made

    forgetting = Forgetting()
    cached = CachedEncoder(forgetting, path)
    for _ in range(2):
        await cached.encode_documents(["the text that goes"])
    await cached.aclose()
    assert forgetting.encoded == ["the text that goes"] * 2
    key = hashlib.sha256(b"the text that goes").hexdigest().encode()
    assert not holds(tmp_path, key)


def holds(folder: Path, key: bytes) -> bool:
    return any(key in file.read_bytes() for file in folder.iterdir())
