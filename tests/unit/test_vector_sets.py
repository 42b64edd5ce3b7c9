"""Changing the encoder: the old set answers until the new one is whole, an outage is bridged, and sets never mix."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from holdfast.encode.provider import CachedEncoder, KeptEncoders, VectorSet
from holdfast.encode.remote import RemoteEncoder
from holdfast.encode.services import OllamaEndpoint
from holdfast.engine import encoding
from holdfast.engine import runtime as memory
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.encoding import Progress, progress
from holdfast.engine.ports import Encoder
from holdfast.engine.runtime import Memory
from holdfast.engine.state import Tip, Tips
from holdfast.errors import EncoderError, StorageError
from ollama_server import MODEL, Ollama, serving_ollama
from worlds import WordBag, ask, found, keep, living, until

pytestmark = pytest.mark.anyio

ALIKE = {"vessel": "ship", "gale": "storm"}
OTHER_ALIKE = {"hound": "dog"}
NOTE = "The ship lies in the harbour."


class BuiltIn(WordBag):
    """Stands for the encoder in this process; it counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(**OTHER_ALIKE)
        self.queries = 0
        self.documents = 0

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        self.documents += len(texts)
        return await super().encode_documents(texts)

    async def encode_query(self, text: str) -> bytes:
        self.queries += 1
        return await super().encode_query(text)


@pytest.fixture(autouse=True)
def tending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background work begins at once, and an encoder that rests does not rest for long."""
    monkeypatch.setattr(memory, "START_SECONDS", 0.0)
    monkeypatch.setattr(memory, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr("holdfast.encode.remote.FIRST_REST", 0.02)
    monkeypatch.setattr("holdfast.encode.remote.LONGEST_REST", 0.05)


@pytest.fixture
def ollama() -> Iterator[Ollama]:
    with serving_ollama(Ollama(alike=ALIKE)) as server:
        yield server


@pytest.fixture
def builtin() -> BuiltIn:
    return BuiltIn()


def remote_on(ollama: Ollama, model: str = MODEL) -> RemoteEncoder:
    return RemoteEncoder(OllamaEndpoint(ollama.host, model))


def kept_on(ollama: Ollama, builtin: BuiltIn) -> KeptEncoders:
    def make(vector_set: VectorSet) -> Encoder | None:
        if vector_set.provider == "ollama":
            return remote_on(ollama, vector_set.model)
        return builtin if vector_set.key == builtin.vector_set.key else None

    return KeptEncoders(make)


@asynccontextmanager
async def with_ollama(home: Path, ollama: Ollama, builtin: BuiltIn, model: str = MODEL) -> AsyncIterator[Memory]:
    async with living(home, encoder=remote_on(ollama, model), kept=kept_on(ollama, builtin)) as world:
        yield world


@asynccontextmanager
async def with_builtin(home: Path, ollama: Ollama, builtin: BuiltIn) -> AsyncIterator[Memory]:
    async with living(home, encoder=builtin, kept=kept_on(ollama, builtin)) as world:
        yield world


async def sets(world: Memory) -> dict[str, Progress]:
    return {item.provider: item for item in await world.attend(progress)}


async def whole(world: Memory, provider: str) -> None:
    with anyio.fail_after(30):
        while (state := (await sets(world)).get(provider)) is None or not state.ready or state.done < state.notes:  # noqa: ASYNC110 - the background does it
            await anyio.sleep(0.01)


async def filled(world: Memory, count: int = 10) -> None:
    await keep(world, NOTE)
    for number in range(count):
        await keep(world, f"Buoy {number} is painted red.")


# --- The switch -----------------------------------------------------------------------------------


async def test_the_old_set_answers_until_the_new_one_is_whole_and_not_a_note_longer(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world)
        assert found(await ask(world, "vessel")) == [], "the built-in one of this test does not know the word"
    gate = threading.Semaphore(1)  # the probe, and no batch
    ollama.before_embed = lambda: gate.acquire(timeout=60) and None
    builtin.queries = 0
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await until(lambda: len([text for text in ollama.texts if "Buoy" in text]) > 0)
        state = await sets(world)
        assert (state["test"].answering, state["ollama"].ready, state["ollama"].wanted) == (True, False, True)
        answer = await ask(world, "ship harbour")
        assert found(answer)[0] == NOTE
        assert builtin.queries > 0
        assert not [notice for notice in answer.notices if "words" in notice]
        gate.release(1000)
        await whole(world, "ollama")
        builtin.queries = 0
        assert found(await ask(world, "vessel"))[0] == NOTE
        assert builtin.queries == 0
        state = await sets(world)
        assert (state["test"].answering, state["ollama"].answering, state["test"].done) == (False, True, 12)


async def test_notes_stored_while_a_set_is_built_are_found_by_meaning_at_once_and_are_in_the_new_set_too(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world)
    gate = threading.Semaphore(1)
    ollama.before_embed = lambda: gate.acquire(timeout=60) and None
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await until(lambda: any("Buoy" in text for text in ollama.texts))
        stored = await keep(world, "A dog guards the pier.")
        assert stored.vector is True
        assert found(await ask(world, "hound"))[0] == "A dog guards the pier."
        gate.release(1000)
        await whole(world, "ollama")
        assert any("A dog guards the pier." in text for text in ollama.texts)


async def test_back_to_the_set_that_was_kept_nothing_is_encoded_again(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world)
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await whole(world, "ollama")
        await keep(world, "A dog guards the pier.")
    before = builtin.documents
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await whole(world, "test")
        assert builtin.documents == before + 1
        assert found(await ask(world, "hound"))[0] == "A dog guards the pier."


async def test_another_model_of_the_same_provider_is_another_set(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    ollama.models["mxbai-embed-large:latest"] = "e1" * 32
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await filled(world)
        await whole(world, "ollama")
    async with with_ollama(tmp_path, ollama, builtin, "mxbai-embed-large") as world:
        with anyio.fail_after(30):
            while [item.ready for item in await world.attend(progress)] != [True, True]:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert found(await ask(world, "vessel"))[0] == NOTE
    vectors_are_whole(tmp_path)


def vectors_are_whole(home: Path) -> None:
    """Of every set each note has the vectors of one length, and nothing that is left over."""
    with closing(sqlite3.connect(home / ".holdfast" / "index.db")) as connection:
        notes = {rowid for (rowid,) in connection.execute("SELECT rowid FROM notes")}
        for (key,) in connection.execute("SELECT key FROM vector_sets").fetchall():
            rows = connection.execute(
                "SELECT note, length(vector) FROM vectors WHERE vector_set = ?", (key,)
            ).fetchall()
            waiting = {note for (note,) in connection.execute("SELECT note FROM pending WHERE vector_set = ?", (key,))}
            assert len({width for _, width in rows}) <= 1
            assert {note for note, _ in rows} | waiting == notes
            assert not {note for note, _ in rows} & waiting


async def test_a_model_that_is_updated_is_never_compared_with_what_the_old_one_made(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await filled(world)
        await whole(world, "ollama")
        assert found(await ask(world, "vessel"))[0] == NOTE
        ollama.models[f"{MODEL}:latest"] = "d2" * 32
        answer = await ask(world, "ship harbour vessel")
        assert found(answer)[0] == NOTE
        with anyio.fail_after(30):
            while True:
                states = await world.attend(progress)
                if len(states) == 2 and states[0].ready and states[0].answering:
                    break
                await anyio.sleep(0.01)
        assert found(await ask(world, "vessel"))[0] == NOTE
    vectors_are_whole(tmp_path)


async def test_a_note_that_the_new_provider_does_not_take_does_not_keep_the_old_set_forever(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world)
        await keep(world, "A cursed anchor.")
    ollama.poison = "cursed"
    async with with_ollama(tmp_path, ollama, builtin) as world:
        with anyio.fail_after(30):
            while not (state := (await sets(world)).get("ollama")) or not state.ready:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert state.done == state.notes - 1
        assert found(await ask(world, "vessel"))[0] == NOTE
        assert found(await ask(world, "cursed anchor"))[0] == "A cursed anchor."


async def test_notes_that_are_refused_hold_up_none_that_came_after_them(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        for number in range(2 * encoding.HOPELESS):
            await keep(world, f"A cursed anchor {number}.")
        await filled(world)
    ollama.poison = "cursed"
    async with with_ollama(tmp_path, ollama, builtin) as world:
        with anyio.fail_after(30):
            while not (state := (await sets(world)).get("ollama")) or not state.ready:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert state.done == state.notes - 2 * encoding.HOPELESS


async def test_a_whole_batch_of_refused_notes_holds_up_none_behind_it(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "DRAIN_BATCH", 4)
    ollama.poison = "cursed"
    async with with_ollama(tmp_path, ollama, builtin) as world:
        for number in range(9):
            await keep(world, f"A cursed anchor {number}.")
        await filled(world)
        with anyio.fail_after(30):
            while (state := (await sets(world))["ollama"]).done < state.notes - 9:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert found(await ask(world, "vessel"))[0] == NOTE
        assert len(world.ports.refusals) >= 8


async def test_a_set_that_was_not_kept_up_is_built_up_before_it_answers_again(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.index.rows.STALE", 5)
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await keep(world, NOTE)
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await whole(world, "ollama")
        await filled(world, 20)
        await whole(world, "ollama")
    monkeypatch.setattr(encoding, "drain", nothing)
    monkeypatch.setattr(memory, "drain", nothing)
    async with with_builtin(tmp_path, ollama, builtin) as world:
        with anyio.fail_after(30):
            while (await sets(world))["test"].ready:  # noqa: ASYNC110 - the background does it
                await anyio.sleep(0.01)
        assert found(await ask(world, "vessel"))[0] == NOTE, "Ollama's set still answers"


async def nothing(_: object) -> int:
    return 0


async def test_an_index_that_is_deleted_gets_its_vectors_from_the_cache(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    for _ in range(2):
        cached = CachedEncoder(remote_on(ollama), tmp_path / ".holdfast" / "encodings.db")
        async with living(tmp_path, encoder=cached) as world:
            if not ollama.texts:
                await filled(world)
            await whole(world, "ollama")
            assert found(await ask(world, "vessel"))[0] == NOTE
        for file in (tmp_path / ".holdfast").glob("index.db*"):
            file.unlink()
    assert len([text for text in ollama.texts if NOTE in text]) == 1


# --- Two processes --------------------------------------------------------------------------------


async def test_one_of_two_encodes_the_queue_and_the_other_does_when_it_is_gone(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world, 30)
    async with with_ollama(tmp_path, ollama, builtin) as one, with_ollama(tmp_path, ollama, builtin) as two:
        async with one.ports.store.encoding_turn(remote=True) as mine:
            if mine:
                async with two.ports.store.encoding_turn(remote=True) as theirs:
                    assert not theirs
                async with two.ports.store.encoding_turn(remote=False) as local:
                    assert local
        await whole(one, "ollama")
        await whole(two, "ollama")
    sent = [text for text in ollama.texts if "Buoy" in text]
    assert len(sent) == len(set(sent)), "nothing was encoded twice"


async def test_processes_with_different_settings_each_answer_from_their_own_set(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as one:
        await filled(one)
        async with with_ollama(tmp_path, ollama, builtin) as two:
            await whole(two, "ollama")
            await keep(one, "A dog guards the pier.")
            await keep(two, "A storm is coming.")
            await whole(one, "test")
            await whole(two, "ollama")
            assert found(await ask(one, "hound"))[0] == "A dog guards the pier."
            assert found(await ask(two, "gale"))[0] == "A storm is coming."
            assert found(await ask(one, "gale")) == []
    vectors_are_whole(tmp_path)


# --- Outages --------------------------------------------------------------------------------------


async def test_in_an_outage_the_kept_set_answers_and_says_so_and_learns_what_is_new(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    async with with_builtin(tmp_path, ollama, builtin) as world:
        await filled(world)
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await whole(world, "ollama")
        await keep(world, "A dog guards the pier.")
        assert found(await ask(world, "hound")) == []
        ollama.trouble = "fails with 500"
        stored = await keep(world, "A cat sleeps on the winch.")
        assert isinstance(stored, NoteStored)
        assert stored.vector == "pending"
        await whole(world, "test")
        answer = await ask(world, "hound")
        assert found(answer)[0] == "A dog guards the pier."
        assert any("kept vectors" in notice for notice in answer.notices)
        ollama.recover()
        await whole(world, "ollama")
        assert (await ask(world, "vessel")).notices == ()
        assert found(await ask(world, "vessel"))[0] == NOTE


async def test_without_a_kept_set_an_outage_leaves_the_words_and_then_everything_comes_back(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn
) -> None:
    ollama.trouble = "fails with 503"
    async with with_ollama(tmp_path, ollama, builtin) as world:
        for text in (NOTE, "A storm is coming."):
            stored = await keep(world, text)
            assert stored.vector == "pending"
        answer = await ask(world, "storm coming")
        assert found(answer) == ["A storm is coming."]
        assert any("words" in notice for notice in answer.notices)
        assert found(await ask(world, "gale")) == []
        ollama.recover()
        await whole(world, "ollama")
        assert found(await ask(world, "gale"))[0] == "A storm is coming."


@pytest.mark.parametrize("trouble", ["hangs", "drips"])
async def test_nobody_waits_twice_for_a_provider_that_does_not_answer(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.encode.remote.FIRST_REST", 600.0)
    monkeypatch.setattr("holdfast.encode.remote.LONGEST_REST", 600.0)
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await filled(world, 2)
        ollama.trouble = trouble
        await keep(world, "A storm is coming.")
        asked = len(ollama.asked)
        for number in range(5):
            assert (await keep(world, f"Gull {number} cries.")).vector == "pending"
            assert found(await ask(world, f"gull {number}"))
        assert len(ollama.asked) == asked
        ollama.recover()


# --- What is told ---------------------------------------------------------------------------------


async def test_a_tip_is_told_once_in_a_folder(tmp_path: Path) -> None:
    async def nearby() -> str:
        return "Ollama is here."

    told = []
    for _ in range(2):
        async with living(tmp_path) as world:
            await keep(world, NOTE)
            world.ports = replace(world.ports, nearby=nearby)
            await world._look_around()
            for _ in range(2):
                told += [notice for notice in (await ask(world, "ship")).notices if "Ollama" in notice]
    assert told == ["Ollama is here."]


async def test_a_tip_that_cannot_be_kept_as_told_waits_for_a_later_answer_and_keeps_its_place() -> None:
    class Full:
        full = True

        async def tell_once(self, _name: str) -> bool:
            if self.full:
                raise StorageError("The disk is full.")
            return True

    memory, tips = Full(), Tips()
    for name in ("one", "two"):
        tips.add(Tip(name, name))
    assert await tips.take(memory) == ""
    memory.full = False
    assert [await tips.take(memory) for _ in range(3)] == ["one", "two", ""]


async def test_an_encoder_that_keeps_failing_is_reported_once(
    tmp_path: Path, ollama: Ollama, builtin: BuiltIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[Exception] = []
    monkeypatch.setattr(memory, "_report", reports.append)
    ollama.trouble = "fails with 500"
    async with with_ollama(tmp_path, ollama, builtin) as world:
        await keep(world, NOTE)
        asked = len(ollama.asked)
        await until(lambda: len(ollama.asked) > asked + 5)
    assert [type(report) for report in reports] == [EncoderError] or len(reports) <= 3
