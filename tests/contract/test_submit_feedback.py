"""submit_feedback: a note that helped comes earlier for questions like that one, and nothing is ever hidden."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from holdfast.model.lifecycle import BOUND
from holdfast.model.ranking import GATE
from served import NAME_WITHIN, SELF, Agent, Answer, Clock, kept_in, made_up_secret, serving
from storages import ROWS
from worlds import PATIENCE, call, remove_everything, remove_index
from worlds import serving as serving_process

pytestmark = pytest.mark.anyio

RESULT = {"id", "recorded", "effect", "notices"}
QUESTION = "what does the crane lift?"
CRANE, OTHER = "The crane lifts forty tonnes.", "The crane was painted blue; what it can lift is on its plate."


def score_of(answer: Answer, note_id: str) -> float:
    return float(next(hit["score"] for hit in answer["results"] if hit["id"] == note_id))


def why_of(answer: Answer, note_id: str) -> str:
    return str(next(hit["why"] for hit in answer["results"] if hit["id"] == note_id))


def effect_of(answer: Answer) -> float:
    """The number in the effect's words."""
    found = re.search(r"moves by ([+-]\d\.\d+) now", answer["effect"])
    assert found, answer["effect"]
    return float(found[1])


async def moved(agent: Agent, note_id: str, query: str, before: Answer) -> float:
    """How far the note's score for a question is from what it was."""
    return score_of(await agent.recall(query), note_id) - score_of(before, note_id)


def lines(agent: Agent) -> list[dict[str, Any]]:
    """What the journal holds of feedback."""
    return [record for record in agent.journal() if record.get("op") == "feedback"]


# --- what it does ---------------------------------------------------------------------------------


async def test_a_liked_note_comes_earlier_by_what_the_answer_said_and_says_so(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    await agent.remember(OTHER)
    before = await agent.recall(QUESTION)
    answer = await agent.rate(stored["id"], 1, event_id=before["event_id"])
    assert answer.structured.keys() == RESULT
    assert (answer["id"], answer["recorded"], answer["notices"]) == (stored["id"], True, [])
    assert 0.05 < effect_of(answer) <= BOUND
    assert await moved(agent, stored["id"], QUESTION, before) == pytest.approx(effect_of(answer), abs=0.001)
    assert "liked before" in why_of(await agent.recall(QUESTION), stored["id"])
    assert stored["id"] in answer.text


async def test_likes_and_dislikes_change_the_order(agent: Agent) -> None:
    await agent.remember("Crane one lifts.", title="one")
    await agent.remember("Crane two lifts.", title="two")
    before = await agent.recall(QUESTION)
    first, second = before.found
    await agent.rate(second, 1, event_id=before["event_id"])
    assert (await agent.recall(QUESTION)).found == [second, first]
    await agent.rate(second, -1, event_id=before["event_id"])
    answer = await agent.recall(QUESTION)
    assert answer.found == [first, second]
    assert "disliked before" in why_of(answer, second)


async def test_however_often_it_is_said_it_moves_no_further_than_the_bound(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    before = await agent.recall(QUESTION)
    for _ in range(8):
        event = (await agent.recall(QUESTION))["event_id"]
        answer = await agent.rate(stored["id"], 1, event_id=event)
    assert effect_of(answer) == pytest.approx(BOUND, abs=0.001)
    assert await moved(agent, stored["id"], QUESTION, before) <= BOUND + 1e-4


async def test_half_of_it_is_gone_in_thirty_days(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    before = await agent.recall(QUESTION)
    first = effect_of(await agent.rate(stored["id"], 1, source="implicit"))
    agent.clock.forward(days=30)
    later = await moved(agent, stored["id"], QUESTION, before)
    assert later == pytest.approx(first / 2, rel=0.1)
    agent.clock.forward(days=400)
    assert await moved(agent, stored["id"], QUESTION, before) == 0
    assert "liked" not in why_of(await agent.recall(QUESTION), stored["id"])


async def test_dislikes_hide_a_note_neither_for_this_question_nor_for_others(agent: Agent) -> None:
    stored = await agent.remember("A pelican.")
    questions = ("pelican", "is there a bird like a pelican somewhere?", "pelican pelican")
    before = {query: await agent.recall(query) for query in questions}
    for _ in range(6):
        await agent.rate(stored["id"], -1, event_id=(await agent.recall("pelican"))["event_id"])
    for query, earlier in before.items():
        answer = await agent.recall(query)
        assert answer.found == earlier.found == [stored["id"]]
        assert answer["results"][0]["relevance"] == earlier["results"][0]["relevance"]
        assert answer["results"][0]["weak"] == earlier["results"][0]["weak"]


async def test_dislikes_do_not_silence_an_answer_that_has_room_for_one_note_only(agent: Agent) -> None:
    query = "pelican winch lamp ferry gull rope"
    good = await agent.remember("A pelican.")
    doubtful = await agent.remember("Rope is sold by the metre at the shop, which opens at eight and closes at noon.")
    await agent.remember("The rope of the bell is worn.", space="elsewhere")
    nearest = {hit["id"]: hit["relevance"] for hit in (await agent.recall(query, explain=True))["results"]}
    assert nearest[good["id"]] > GATE > nearest[doubtful["id"]], "only the one that is disliked clears the line"
    for _ in range(6):
        await agent.rate(good["id"], -1, event_id=(await agent.recall(query))["event_id"])
    assert (await agent.recall(query)).found[:2] == [doubtful["id"], good["id"]]
    assert (await agent.recall(query, limit=1)).found == [doubtful["id"]]


async def test_likes_show_nothing_that_was_not_there(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    for _ in range(4):
        await agent.rate(stored["id"], 1, event_id=(await agent.recall("crane"))["event_id"])
    assert (await agent.recall("pelicans of Peru")).found == []


async def test_it_moves_the_note_for_questions_with_the_same_words_and_not_for_others(agent: Agent) -> None:
    stored = await agent.remember("The crane lifts forty tonnes. The quay crane was painted in May by Anna.")
    like, unlike = "tonnes that the crane lifts", "who painted the quay"
    before = {query: await agent.recall(query) for query in (like, unlike)}
    await agent.rate(stored["id"], 1, event_id=(await agent.recall("how many tonnes the crane lifts"))["event_id"])
    assert await moved(agent, stored["id"], like, before[like]) > 0.05
    assert await moved(agent, stored["id"], unlike, before[unlike]) == 0


@pytest.mark.parametrize("named", ["Anna", "berth 17"])
async def test_a_question_about_another_name_or_number_is_another_question(agent: Agent, named: str) -> None:
    other = {"Anna": "Bert", "berth 17": "berth 18"}[named]
    stored = await agent.remember(f"The ferry of {named} or {other} leaves at noon.", subject=named)
    await agent.remember("Noon is when it leaves.", subject=other)
    query, changed = (f"when does the morning ferry of {name} leave the pier at noon" for name in (named, other))
    before = await agent.recall(changed)
    answer = await agent.rate(stored["id"], 1, event_id=(await agent.recall(query))["event_id"])
    assert effect_of(answer) > 0.05
    assert await moved(agent, stored["id"], changed, before) == 0


async def test_a_question_is_the_same_however_it_is_spaced_and_capitalised(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    before = await agent.recall(QUESTION)
    given = effect_of(await agent.rate(stored["id"], 1))
    assert await moved(agent, stored["id"], " WHAT does  the crane lift ", before) == pytest.approx(given, abs=0.02)


# --- explicit and implicit, once and again --------------------------------------------------------


async def test_what_is_said_weighs_more_than_what_is_inferred(agent: Agent) -> None:
    said = await agent.remember(CRANE)
    inferred = await agent.remember(OTHER)
    event = (await agent.recall(QUESTION))["event_id"]
    one = effect_of(await agent.rate(said["id"], 1, event_id=event))
    two = effect_of(await agent.rate(inferred["id"], 1, source="implicit", event_id=event))
    assert one > two > 0


@pytest.mark.parametrize("same_event", [True, False])
@pytest.mark.parametrize("first", ["explicit", "implicit"])
async def test_what_is_said_overrides_what_is_inferred_in_whatever_order(
    agent: Agent, first: str, same_event: bool
) -> None:
    stored = await agent.remember(CRANE)
    before = await agent.recall(QUESTION)
    events = [before["event_id"], before["event_id"] if same_event else (await agent.recall(QUESTION))["event_id"]]
    given = [("explicit", -1), ("implicit", 1)]
    order = given if first == "explicit" else given[::-1]
    answers = [
        await agent.rate(stored["id"], signal, source=source, event_id=event)
        for (source, signal), event in zip(order, events, strict=True)
    ]
    alone = -0.15 * 0.7616  # tanh(1)
    assert effect_of(answers[1]) == pytest.approx(alone, abs=0.001)
    assert await moved(agent, stored["id"], QUESTION, before) == pytest.approx(alone, abs=0.001)
    assert answers[0]["recorded"] is True
    assert answers[1]["recorded"] is (first == "implicit")
    assert bool(answers[1]["notices"]) is (first == "explicit")


@pytest.mark.parametrize("source", ["explicit", "implicit"])
async def test_the_same_signal_again_changes_nothing(agent: Agent, source: str) -> None:
    stored = await agent.remember(CRANE)
    before = await agent.recall(QUESTION)
    given = {"source": source, "event_id": before["event_id"]}
    first = await agent.rate(stored["id"], 1, **given)
    again = await agent.rate(stored["id"][:-1], 1, **given)
    assert (first["recorded"], again["recorded"]) == (True, False)
    assert effect_of(again) == effect_of(first)
    assert again["notices"]
    assert len(lines(agent)) == 1


async def test_the_last_word_that_was_said_counts(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    event = (await agent.recall(QUESTION))["event_id"]
    effects = [effect_of(await agent.rate(stored["id"], signal, event_id=event)) for signal in (1, -1, 1, -1)]
    assert effects == pytest.approx([effects[0], -effects[0]] * 2, abs=0.001)
    assert len(lines(agent)) == 4


# --- which question it is about -------------------------------------------------------------------


async def test_without_an_event_it_is_about_the_latest_recall_that_showed_the_note(agent: Agent) -> None:
    stored = await agent.remember("The crane lifts forty tonnes and turns on a ring of brass.")
    lamps = await agent.remember("Seven lamps stand at the quay.")
    before = {query: await agent.recall(query) for query in ("brass ring turns", "crane forty tonnes")}
    assert (await agent.recall("seven lamps quay")).found == [lamps["id"]]
    await agent.rate(stored["id"], 1)
    assert await moved(agent, stored["id"], "crane forty tonnes", before["crane forty tonnes"]) > 0.05
    assert await moved(agent, stored["id"], "brass ring turns", before["brass ring turns"]) == 0


async def test_a_note_that_was_only_shown_as_related_can_be_rated(agent: Agent) -> None:
    lamps = await agent.remember("Seven lamps.")
    await agent.remember(CRANE, links=[lamps["id"]])
    answer = await agent.recall("crane tonnes")
    assert [item["id"] for item in answer["related"]] == [lamps["id"]]
    assert (await agent.rate(lamps["id"], -1, event_id=answer["event_id"]))["recorded"] is True


async def test_a_note_that_no_recall_has_shown_is_rated_and_nothing_moves(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    answer = await agent.rate(stored["id"], 1)
    assert answer["recorded"] is True
    assert "moves nothing" in answer["effect"]
    assert (await agent.rate(stored["id"], 1))["recorded"] is False, "once a day is enough"
    agent.clock.forward(days=1)
    assert (await agent.rate(stored["id"], 1))["recorded"] is True
    assert "liked" not in why_of(await agent.recall(QUESTION), stored["id"])


async def test_a_recall_of_another_server_is_not_what_this_one_is_asked_about(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era) as one, serving(tmp_path, era) as two:
        stored = await one.remember("The crane lifts forty tonnes and turns on a ring of brass.")
        before = await one.recall("crane forty tonnes")
        other = await two.recall("brass ring turns")
        await one.rate(stored["id"], 1)
        assert await moved(two, stored["id"], "brass ring turns", other) == 0
        assert await moved(two, stored["id"], "crane forty tonnes", before) > 0.05, "and it is seen there at once"


async def test_after_a_restart_the_latest_recall_of_anybody_counts(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era) as one:
        stored = await one.remember(CRANE)
        await one.recall(QUESTION)
    async with serving(tmp_path, era) as two:
        assert effect_of(await two.rate(stored["id"], 1)) > 0


@pytest.mark.parametrize("event_id", ["evt_0000000000000000", "", "%", "evt_%", "../../x", "é" * 9000])
async def test_an_event_of_no_recall_is_refused_and_nothing_recorded(agent: Agent, event_id: str) -> None:
    stored = await agent.remember(CRANE)
    await agent.recall(QUESTION)
    text = await agent.refused("submit_feedback", node_id=stored["id"], signal=1, event_id=event_id)
    assert "EventNotFoundError" in text[:NAME_WITHIN]
    assert "leave event_id out" in text
    assert lines(agent) == []


async def test_an_event_that_did_not_show_the_note_is_refused(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    await agent.remember("Seven lamps.")
    event = (await agent.recall("seven lamps"))["event_id"]
    text = await agent.refused("submit_feedback", node_id=stored["id"], signal=1, event_id=event)
    assert "EventNotFoundError" in text[:NAME_WITHIN]
    assert "did not show" in text
    assert lines(agent) == []


async def test_an_event_that_is_too_old_is_refused_and_is_no_longer_the_latest(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    event = (await agent.recall(QUESTION))["event_id"]
    agent.clock.forward(days=15)
    text = await agent.refused("submit_feedback", node_id=stored["id"], signal=1, event_id=event)
    assert "14 days" in text
    assert "moves nothing" in (await agent.rate(stored["id"], 1))["effect"]


async def test_an_answer_that_was_rated_can_be_rated_otherwise_when_its_event_is_gone(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era) as agent:
        stored = await agent.remember(CRANE)
        event = (await agent.recall(QUESTION))["event_id"]
        first = await agent.rate(stored["id"], 1, event_id=event)
    shutil.rmtree(tmp_path / ".holdfast")
    async with serving(tmp_path, era) as agent:
        assert (await agent.rate(stored["id"], 1, event_id=event))["recorded"] is False
        later = await agent.rate(stored["id"], -1, event_id=event)
        assert (later["recorded"], effect_of(later)) == (True, -effect_of(first))


# --- which note -----------------------------------------------------------------------------------


async def test_self_and_what_is_outdated_or_superseded_can_be_rated(agent: Agent) -> None:
    old = await agent.remember(CRANE)
    new = await agent.remember("The crane lifts sixty tonnes.", supersedes=[old["id"]])
    outdated = await agent.remember("The crane is red.")
    await agent.outdate(outdated["id"])
    shown = await agent.recall("crane", include_outdated=True)
    for note_id in (old["id"], outdated["id"]):
        answer = await agent.rate(note_id, 1, event_id=shown["event_id"])
        assert (answer["recorded"], effect_of(answer) > 0) == (True, True)
    again = await agent.recall("crane", include_outdated=True)
    assert again.found.index(new["id"]) < again.found.index(old["id"]), "liked or not, a correction wins"
    assert (await agent.rate(SELF, 1))["recorded"] is True


@pytest.mark.parametrize("given", ["*", "%", "mem_", "mem_%", "../x", "mem_7zzzzzzzzzzzzzzz"])
async def test_an_id_of_no_note_is_refused(agent: Agent, given: str) -> None:
    await agent.remember("A buoy.")
    assert "MemoryNotFoundError" in await agent.refused("submit_feedback", node_id=given, signal=1)
    assert lines(agent) == []


async def test_a_beginning_that_several_notes_share_is_refused(agent: Agent) -> None:
    await agent.remember("A buoy.")
    assert "AmbiguousIdError" in await agent.refused("submit_feedback", node_id="mem_0", signal=1)


@pytest.mark.parametrize(
    "arguments",
    [
        *({"signal": value} for value in (0, 2, -2, True, False, "one", 0.5, None, [1], "zanzibar")),
        *({"source": value} for value in ("zanzibar", "", "EXPLICIT", 1)),
        {"event_id": 7},
        {"buoy": "zanzibar"},
    ],
)
async def test_a_bad_argument_is_refused_and_its_value_is_not_repeated(agent: Agent, arguments: dict[str, Any]) -> None:
    stored = await agent.remember("A buoy.")
    text = await agent.refused("submit_feedback", **{"node_id": stored["id"], "signal": 1} | arguments)
    assert "InvalidArgumentError" in text[:NAME_WITHIN]
    assert "zanzibar" not in text
    assert lines(agent) == []


# --- how it is kept -------------------------------------------------------------------------------


async def test_it_is_no_change_of_the_note(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    before = agent.notes_on_disk()
    event = (await agent.recall(QUESTION))["event_id"]
    for signal in (1, -1):
        await agent.rate(stored["id"], signal, event_id=event)
    assert agent.notes_on_disk() == before
    assert (await agent.node(stored["id"]))["changes"] == 1
    assert [line["feedback"]["signal"] for line in lines(agent)] == [1, -1]
    assert all(len(json.dumps(line)) < 600 for line in lines(agent))


async def test_a_long_question_is_cut_and_is_still_the_same_question(agent: Agent) -> None:
    stored = await agent.remember(CRANE)
    query = QUESTION + " " + " ".join(f"at line{number} of the trace" for number in range(400))
    before = await agent.recall(query)
    given = effect_of(await agent.rate(stored["id"], 1))
    assert len(lines(agent)[0]["feedback"]["asked"]) == 500
    assert await moved(agent, stored["id"], query, before) == pytest.approx(given, abs=0.001)


@pytest.mark.parametrize("mode", ["redact", "refuse"])
async def test_a_secret_in_the_question_never_reaches_the_disk(
    anyio_backend: str, era: str, tmp_path: Path, mode: str
) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets=mode) as agent:
        stored = await agent.remember(CRANE)
        answer = await agent.recall(f"which crane has the token {secret}, the blue crane?")
        rated = await agent.rate(stored["id"], 1, event_id=answer["event_id"])
        assert (rated["recorded"], effect_of(rated) > 0) == (True, True)
        assert "[redacted: GitHub token]" in lines(agent)[0]["feedback"]["asked"]
        assert agent.holding(secret[4:]) == []


@pytest.mark.files("it looks into the files")
async def test_a_secret_that_another_server_let_through_is_not_let_into_the_journal(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets="allow") as lenient, serving(tmp_path, era) as agent:
        stored = await agent.remember(CRANE)
        event = (await lenient.recall(f"which crane has the token {secret}?"))["event_id"]
        await kept_in_log(tmp_path, event)
        await agent.rate(stored["id"], 1, event_id=event)
        assert "[redacted: GitHub token]" in lines(agent)[0]["feedback"]["asked"]
        assert not [path for path in agent.holding(secret[4:]) if not path.endswith(("recalls.db", "recalls.db-wal"))]


async def kept_in_log(home: Path, event: str) -> None:
    """Wait until other servers can read of a recall: that is written behind its answer."""
    for _ in range(1000):
        if any(event.encode() in path.read_bytes() for path in (home / ".holdfast").glob("recalls.db*")):
            return
        await anyio.sleep(0.05)
    raise AssertionError(event)


Removal = Callable[[Path], None]


class Stopped(Clock):
    """It is always the same moment."""

    def __init__(self) -> None:
        super().__init__()
        self._moment = super().__call__()

    def __call__(self) -> datetime:
        return self._moment


@pytest.mark.parametrize("remove", [remove_index, remove_everything])
@pytest.mark.parametrize("running", [True, False])
async def test_a_deleted_index_forgets_nothing_of_it(
    anyio_backend: str, era: str, tmp_path: Path, remove: Removal, running: bool
) -> None:
    clock = Stopped()  # what feedback adds fades by the second
    asked = (QUESTION, "what lifts the crane?", "what was painted blue")
    async with serving(tmp_path, era, clock=clock) as agent:
        one, two = [(await agent.remember(text))["id"] for text in (CRANE, OTHER)]
        await agent.rate(one, -1, source="implicit", event_id=(await agent.recall(QUESTION))["event_id"])
        event = (await agent.recall(QUESTION))["event_id"]
        for note_id, signal in ((one, -1), (one, 1), (two, -1)):
            await agent.rate(note_id, signal, event_id=event)
        before = [(await agent.recall(query))["results"] for query in asked]
        assert any("liked" in hit["why"] for hit in before[0])
        if running:
            remove(tmp_path)
            assert [(await agent.recall(query))["results"] for query in asked] == before
    if not running:
        remove(tmp_path)
        async with serving(tmp_path, era, clock=clock) as agent:
            assert [(await agent.recall(query))["results"] for query in asked] == before


@pytest.mark.files("it writes files by hand")
async def test_lines_that_nobody_of_ours_wrote_do_no_harm(anyio_backend: str, era: str, tmp_path: Path) -> None:
    from holdfast.store.journal import line_of  # noqa: PLC0415 - as a stranger would write one

    strange: list[Any] = [None, 7, [], {}, {"note": SELF}, {"note": SELF, "event": "e", "signal": True, "source": "x"}]
    strange += [{"note": SELF, "event": "e", "signal": 1, "source": ["explicit"], "question": 1, "asked": []}]
    async with serving(tmp_path, era) as agent:
        stored = await agent.remember(CRANE)
        await agent.recall(QUESTION)
        await agent.rate(stored["id"], 1)
    journal = next((kept_in(tmp_path) / "journal").glob("*.jsonl"))
    with journal.open("ab") as file:
        for number, given in enumerate(strange):
            for at in ("2026-11-20T10:15:00Z", 7, "zanzibar"):
                file.write(line_of({"seq": 900 + number, "at": at, "op": "feedback", "feedback": given}))
    remove_everything(tmp_path)
    async with serving(tmp_path, era) as agent:
        assert "liked before" in why_of(await agent.recall(QUESTION), stored["id"])


# --- by meaning, and across processes -------------------------------------------------------------

LIKE, UNLIKE = "which database was picked for the index", "how should commit messages look"
CHOSEN = "which database did we choose for the index"


async def all_encoded(client: Any) -> None:
    with anyio.fail_after(PATIENCE):
        while any("no vector" in notice for notice in (await call(client, "recall", query="x"))["notices"]):  # noqa: ASYNC110
            await anyio.sleep(0.05)


async def hits(client: Any, query: str) -> dict[str, dict[str, Any]]:
    return {hit["id"]: hit for hit in (await call(client, "recall", query=query, explain=True))["results"]}


async def all_moved(client: Any, query: str, note: str, least: float) -> None:
    with anyio.fail_after(PATIENCE):
        while (await hits(client, query))[note]["score"] < least:  # noqa: ASYNC110 - as above
            await anyio.sleep(0.05)


async def rated_by_one(one: Any, two: Any) -> tuple[str, dict[str, Any]]:
    """The note that `one` rates for CHOSEN, and how `two` answers each question before that."""
    notes = [
        (await call(one, "remember", content=text))["id"]
        for text in ("We chose SQLite over Postgres for the index.", "Maria likes short commit messages, no emoji.")
    ]
    await all_encoded(two)
    before = {query: await hits(two, query) for query in (CHOSEN, LIKE, UNLIKE)}
    event = (await call(one, "recall", query=CHOSEN))["event_id"]
    assert (await call(one, "submit_feedback", node_id=notes[0], signal=1, event_id=event))["recorded"] is True
    return notes[0], before


async def test_another_process_sees_at_once_what_moved_for_questions_that_mean_the_same(
    anyio_backend: str, tmp_path: Path, storage: str
) -> None:
    async with serving_process(tmp_path, "builtin") as one, serving_process(tmp_path, "builtin") as two:
        note, before = await rated_by_one(one, two)
        if storage == ROWS:  # each server has an index of its own there, and encodes the question for itself, soon
            await all_moved(two, LIKE, note, before[LIKE][note]["score"] + 0.05)
        after = {query: await hits(two, query) for query in before}
        moves = {query: after[query][note]["score"] - before[query][note]["score"] for query in (CHOSEN, LIKE)}
        assert moves[CHOSEN] == pytest.approx(0.15 * 0.7616, abs=0.001)
        assert 0.05 < moves[LIKE] <= moves[CHOSEN] + 0.001
        assert after[UNLIKE] == before[UNLIKE]


@pytest.mark.files("it deletes what lies beside the notes in a folder")
async def test_what_moved_for_questions_that_mean_the_same_is_found_again_without_the_index(
    anyio_backend: str, tmp_path: Path
) -> None:
    async with serving_process(tmp_path, "builtin") as one, serving_process(tmp_path, "builtin") as two:
        note, before = await rated_by_one(one, two)
        after = {query: await hits(two, query) for query in before}
        remove_everything(tmp_path)
        await all_encoded(two)
        with anyio.fail_after(PATIENCE):  # the question is encoded anew after the notes
            while (await hits(two, LIKE)).get(note, {}).get("why") != after[LIKE][note]["why"]:  # noqa: ASYNC110
                await anyio.sleep(0.05)
        for query, earlier in after.items():
            again = await hits(two, query)
            assert {key: hit["score"] for key, hit in again.items()} == pytest.approx(
                {key: hit["score"] for key, hit in earlier.items()}, abs=0.01
            )


async def test_ormahs_number_of_a_whisper_is_taken_and_the_latest_recall_is_rated(agent: Agent) -> None:
    note = await agent.remember("The crane lifts forty tonnes.")
    recalled = await agent.recall("what does the crane lift?")
    rated = await agent.rate(note["id"], 1, whisper_log_id=17)
    assert rated["recorded"]
    assert any("whisper_log_id" in notice for notice in rated["notices"])
    again = await agent.rate(note["id"], 1, whisper_log_id=18, event_id=recalled["event_id"])
    assert (again["recorded"], any("whisper_log_id" in notice for notice in again["notices"])) == (False, False)
