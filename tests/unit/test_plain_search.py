"""The search for a hook without a server finds what the server's search by words finds, with the same numbers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from holdfast.app import build_memory
from holdfast.encode.wordpiece import is_ordinary
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.ports import Caller
from holdfast.index.plain import found_by_words, indexed, open_index
from holdfast.model.ranking import Filter, Found
from holdfast.model.words import query_terms
from holdfast.settings import load_settings
from processes import take_back_building

pytestmark = pytest.mark.anyio

WHO = Caller("harbour", "git folder", "test")
TEXTS = (
    "The crane CR-17 stands at the north quay, because the south quay has no rail.",
    "Cranes are greased on Mondays; the old crane lifts forty tonnes.",
    "The ferry leaves at noon from the third pier and returns at dusk.",
    "Set `retry_limit` in quay_config.toml to five; tenacity does the rest.",
    "The lamp of the lighthouse is trimmed by tenacity with five attempts.",
    "കാപ്പി വേണ്ട, എനിക്ക് ചായ മതി.",
    "灯台のランプは毎晩点検する。",
    "The pilot boat Albatross needs two hands and no rail.",
    "The minutes of the pilots. " + "The buoy was painted, the buoy was moved, the lamp of the buoy was mended. " * 9,
    "The minutes of the harbour. A buoy was seen. " + "Nothing else was said that anybody wrote down. " * 14,
)
QUESTIONS = (
    "Where does the crane CR-17 stand?",
    "How many attempts does tenacity make for the lamp?",
    "What is retry_limit in quay_config.toml?",
    "ferries and piers at noon",
    "ചായ",
    "灯台のランプ",
    "which minutes tell of a buoy?",
    "buoy",
    "the the the",
    "Which colour has the zeppelin?",
)


def numbers(found: Found) -> dict[str, tuple[float, frozenset[str], frozenset[str]]]:
    return {
        each.id: (round(each.coverage, 3), frozenset(each.matched), frozenset(each.held))
        for each in found.candidates
        if each.coverage > 0
    }


async def test_it_finds_the_same_with_the_same_numbers(tmp_path: Path) -> None:
    memory = build_memory(load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"}))
    async with memory.running():
        for text in TEXTS:
            request = Remember(content=text, space="harbour")
            await memory.attend(lambda ports, request=request: remember(ports, WHO, request))  # type: ignore[misc]
        now = memory.ports.now
        connection = open_index((tmp_path / ".holdfast" / "index.db").as_uri())
        assert connection is not None
        for question in QUESTIONS:
            strange = frozenset(term for term in query_terms(question) if not is_ordinary(term))
            theirs = await memory.ports.index.read(
                lambda view, asked=question, strange=strange: view.search(  # type: ignore[misc]
                    asked, None, Filter(now=now), extraordinary=strange
                )
            )
            ours = found_by_words(connection, question, now, strange)
            assert numbers(ours) == numbers(theirs), question
            assert (ours.unknown, dict(ours.rare)) == (theirs.unknown, dict(theirs.rare)), question
            notes = indexed(connection, [each.id for each in ours.candidates])
            assert notes.keys() == {each.id for each in ours.candidates}
        connection.close()


def test_an_index_of_another_version_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    assert open_index(path.as_uri()) is None
    with pytest.raises(sqlite3.Error):
        open_index((tmp_path / "none.db").as_uri())


async def test_an_index_that_is_still_being_built_is_not_read(tmp_path: Path) -> None:
    index = tmp_path / ".holdfast" / "index.db"
    memory = build_memory(load_settings({"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_ENCODER": "none"}))
    async with memory.running():
        request = Remember(content=TEXTS[0], space="harbour")
        await memory.attend(lambda ports: remember(ports, WHO, request))
    whole = open_index(index.as_uri())
    assert whole is not None
    whole.close()
    take_back_building(index)
    assert open_index(index.as_uri()) is None
