"""remember: what it takes, what it answers, and what is on the disk then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

import holdfast.engine.agent.remember
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.commit import commit
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import InvalidArgumentError, StorageError
from holdfast.index.note_index import NoteIndex
from holdfast.index.projection import Update
from holdfast.index.rows import Place
from holdfast.model.note import EDGE_TYPES, NOTE_TYPES, TIERS, Note, is_note_id
from holdfast.store.stored import Change, Committed
from served import SELF, SPACE, Agent, Clock, made_up_secret, serving
from worlds import CALLER, PATIENCE, ask, found, keep, living, show

pytestmark = pytest.mark.anyio

RESULT = {"id", "title", "type", "tier", "space", "created", "indexed", "linked", "similar", "change_id", "notices"}
UNKNOWN = "mem_7zzzzzzzzzzzzzzz"


def frontmatter(path: Path) -> dict[str, Any]:
    """The canonical keys of a note file: `key: <JSON value>` lines."""
    head = path.read_text("utf-8").split("---\n")[1]
    return {key: json.loads(value) for key, value in (line.split(": ", 1) for line in head.splitlines())}


def body(path: Path) -> str:
    return path.read_text("utf-8").split("---\n", 2)[2]


# --- what is stored -------------------------------------------------------------------------------


async def test_a_note_needs_nothing_but_its_text(agent: Agent) -> None:
    answer = await agent.remember("# The crane\nIt lifts forty tonnes.")
    assert answer.structured.keys() == RESULT
    assert is_note_id(answer["id"])
    assert answer["title"] == "The crane"
    assert (answer["type"], answer["tier"], answer["space"]) == ("fact", "working", SPACE)
    assert answer["indexed"] == {"text": True, "vector": False}
    stored = frontmatter(agent.file_of(answer["id"]))
    assert stored["confidence"] == 1.0
    assert stored["source"] != ""
    assert stored["created"] == stored["updated"] == answer["created"]
    assert body(agent.file_of(answer["id"])) == "# The crane\nIt lifts forty tonnes.\n"


async def test_every_parameter_reaches_the_file(agent: Agent) -> None:
    other = await agent.remember("The old crane was sold in spring.")
    answer = await agent.remember(
        "We bought a second crane.",
        type="decision",
        tier="core",
        title="Second crane",
        space="Quay Side",
        tags=["crane", " heavy   lift ", "crane", ""],
        about_self=True,
        confidence=0.7,
        links=[{"to": other["id"], "type": "depends_on"}],
        supersedes=[],
        session="talk-1",
        subject="Crane two",
        event_time="2026-03-02",
    )
    stored = frontmatter(agent.file_of(answer["id"]))
    assert {key: stored[key] for key in ("type", "tier", "title", "space", "tags", "about_self", "confidence")} == {
        "type": "decision",
        "tier": "core",
        "title": "Second crane",
        "space": "quay-side",
        "tags": ["crane", "heavy lift"],
        "about_self": True,
        "confidence": 0.7,
    }
    assert (stored["session"], stored["seq"], stored["subject"]) == ("talk-1", 1, "Crane two")
    assert stored["event_time"] == "2026-03-02T00:00:00Z"
    assert [(link["to"], link["type"]) for link in stored["connections"]] == [(other["id"], "depends_on")]
    assert (answer["type"], answer["tier"], answer["space"]) == ("decision", "core", "quay-side")


async def test_every_type_and_every_tier_can_be_stored(agent: Agent) -> None:
    for kind in NOTE_TYPES:
        assert (await agent.remember(f"It floats: {kind}.", type=kind))["type"] == kind
    for tier in TIERS:
        assert (await agent.remember(f"It sinks: {tier}.", tier=tier))["tier"] == tier


async def test_null_stands_for_a_parameter_that_is_left_out(agent: Agent) -> None:
    left_out = ("title", "space", "tags", "links", "supersedes", "session", "subject", "event_time")
    plain = await agent.remember("A buoy.", **dict.fromkeys(left_out))
    assert (plain["title"], plain["space"]) == ("A buoy.", SPACE)


@pytest.mark.parametrize(
    "content",
    [
        "Der Kai ist naß.",
        "港の起重機は四十トンを持ち上げる。",
        "الرافعة في الميناء",
        "🦀" * 40,
        "---\nid: mem_x\n---\nfence",
        "a\r\nb\r\n",
    ],
)
async def test_a_text_of_any_script_comes_back_as_it_was_given(agent: Agent, content: str) -> None:
    stored = await agent.remember(content)
    assert (await agent.node(stored["id"]))["content"] == content


async def test_what_was_stored_is_found_by_its_words_at_once(agent: Agent) -> None:
    for content, query in (("The tide table hangs behind the door.", "tide table"), ("A buoy is red.", "red buoy")):
        stored = await agent.remember(content)
        assert (await agent.recall(query)).found == [stored["id"]]


async def test_the_text_is_short_and_does_not_repeat_the_note(agent: Agent) -> None:
    answer = await agent.remember("The crane lifts forty tonnes.\n" + "Many more words about it. " * 200)
    assert answer["id"] in answer.text
    assert "Many more words" not in answer.text
    assert len(answer.text) < 500


async def test_the_notes_of_a_session_are_numbered_in_their_order(agent: Agent) -> None:
    ids = [(await agent.remember(f"Remark number {word}.", session="s"))["id"] for word in ("one", "two", "three")]
    assert [frontmatter(agent.file_of(note_id))["seq"] for note_id in ids] == [1, 2, 3]


async def test_with_an_encoder_the_note_has_its_vector_when_it_is_answered(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era, encoder="builtin") as agent:
        assert (await agent.remember("The crane lifts forty tonnes."))["indexed"] == {"text": True, "vector": True}


async def test_an_encoder_that_cannot_be_loaded_costs_nothing_but_a_notice(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    absent = tmp_path / "absent.onnx"
    async with serving(
        tmp_path / "home", era, encoder="builtin", builtin_model=absent, builtin_model_sha256="0" * 64
    ) as agent:
        answer = await agent.remember("The crane lifts forty tonnes.")
        assert answer["indexed"] == {"text": True, "vector": "pending"}
        assert answer["notices"]
        assert (await agent.recall("crane tonnes")).found == [answer["id"]]


# --- links ----------------------------------------------------------------------------------------


async def test_links_are_ids_or_ids_with_a_type_or_beginnings_of_ids(agent: Agent) -> None:
    notes = [(await agent.remember(text))["id"] for text in ("A buoy.", "Seven lamps.", "Old rope.")]
    answer = await agent.remember(
        "Gulls nest on the roof.",
        links=[notes[0], {"to": notes[1], "type": "part_of"}, notes[2].removeprefix("mem_").upper()],
    )
    assert [(link["id"], link["type"]) for link in answer["linked"]] == [
        (notes[0], "related_to"),
        (notes[1], "part_of"),
        (notes[2], "related_to"),
    ]
    assert [link["title"] for link in answer["linked"]] == ["A buoy.", "Seven lamps.", "Old rope."]


async def test_every_type_of_link_can_be_asked_for(agent: Agent) -> None:
    other = await agent.remember("A buoy.")
    links = [{"to": other["id"], "type": kind} for kind in EDGE_TYPES]
    answer = await agent.remember("Gulls nest on the roof.", links=links)
    assert {(link["id"], link["type"]) for link in answer["linked"]} == {(other["id"], kind) for kind in EDGE_TYPES}


@pytest.mark.parametrize(
    "links", [[UNKNOWN], [{"to": UNKNOWN, "type": "supports"}], ["*"], [""], [{"to": "%", "type": "supports"}]]
)
async def test_a_link_to_no_note_stores_nothing(agent: Agent, links: list[Any]) -> None:
    await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "MemoryNotFoundError" in await agent.refused("remember", content="Gulls.", links=links)
    assert agent.notes_on_disk() == before


async def test_an_id_in_a_list_that_names_no_note_is_named_by_its_place(agent: Agent) -> None:
    known = (await agent.remember("A buoy."))["id"]
    for name in ("links", "supersedes"):
        for wrong in (UNKNOWN, "nonsense!"):
            told = await agent.refused("remember", content="Gulls.", **{name: [known, wrong]})
            assert f"{name}[1]" in told
            assert wrong not in told
    assert "related_to[2]" in await agent.refused("memory_store", content="Gulls.", related_to=[known, known, UNKNOWN])
    assert "tags[1]" in await agent.refused("remember", content="Gulls.", tags=["a", 7])
    assert "links[1]" in await agent.refused("remember", content="Gulls.", links=[known, {"to": known}])


async def test_lists_and_numbers_that_come_as_texts_are_read(agent: Agent) -> None:
    known = (await agent.remember("A buoy."))["id"]
    answer = await agent.remember(
        "Gulls nest on the roof.",
        tags='["gull", "roof"]',
        links=json.dumps([known, {"to": known, "type": "supports"}]),
        supersedes="[]",
        confidence="0.5",
        about_self="true",
    )
    node = await agent.node(answer["id"])
    assert (node["tags"], node["confidence"]) == (["gull", "roof"], 0.5)
    assert {(link["id"], link["type"]) for link in answer["linked"]} == {(known, "related_to"), (known, "supports")}
    assert (await agent.recall("gulls nest", limit="3", types='["fact"]', explain="false")).found == [answer["id"]]
    assert (await agent.rate(answer["id"], "1", whisper_log_id="17"))["recorded"]  # type: ignore[arg-type]
    assert (await agent.omi("memory_recall", query="gulls nest", limit="3", min_relevance="0.1"))[0]["memory_id"]
    text = await agent.remember('["not", "a list"]', title="{}", subject="7")
    node = await agent.node(text["id"])
    assert (node["content"], node["title"], node["subject"]) == ('["not", "a list"]', "{}", "7")


@pytest.mark.parametrize(
    "wrong",
    [{"tags": "crane"}, {"tags": "[1"}, {"confidence": "much"}, {"confidence": "nan"}, {"about_self": "perhaps"}],
)
async def test_a_text_that_stands_for_nothing_is_refused(agent: Agent, wrong: dict[str, str]) -> None:
    assert "InvalidArgumentError" in await agent.refused("remember", content="Gulls.", **wrong)


@pytest.mark.parametrize(
    "link", [{"to": SELF, "type": "friend_of"}, {"to": SELF}, {"type": "supports"}, 7, None, [SELF]]
)
async def test_a_link_of_another_shape_stores_nothing(agent: Agent, link: Any) -> None:
    await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "InvalidArgumentError" in await agent.refused("remember", content="Gulls.", links=[link])
    assert agent.notes_on_disk() == before


async def test_close_notes_are_linked_by_themselves(agent: Agent) -> None:
    old = await agent.remember("The harbour crane lifts forty tonnes of steel.")
    new = await agent.remember("The harbour crane lifts forty tonnes of steel, says its plate.")
    assert [(link["id"], link["type"]) for link in new["linked"]] == [(old["id"], "related_to")]
    assert 0 < new["linked"][0]["weight"] <= 1


async def test_every_stored_note_has_a_link(agent: Agent) -> None:
    first = await agent.remember("A buoy.")
    alone = await agent.remember("Completely different: jazz on Fridays.")
    elsewhere = await agent.remember("Pancakes need eggs.", space="kitchen")
    mine = await agent.remember("Likes tea.", about_self=True)
    newer = await agent.remember("No jazz any more.", supersedes=[alone["id"]])
    assert [(link["id"], link["type"]) for link in first["linked"]] == [(SELF, "related_to")]
    assert [(link["id"], link["type"], link["weight"]) for link in alone["linked"]] == [
        (first["id"], "preceded_by", 0.1)
    ]
    assert "Linked: related_to" in first.text
    assert "Linked" not in alone.text, "that it came after another one says nothing of it"
    assert [(link["id"], link["type"]) for link in elsewhere["linked"]] == [(SELF, "related_to")]
    for note in (first, alone, elsewhere, mine, newer):
        assert (await agent.node(note["id"]))["connections"], note["title"]


async def test_a_note_that_says_nearly_the_same_is_reported_and_not_the_note_itself(agent: Agent) -> None:
    old = await agent.remember("The harbour crane lifts forty tonnes.")
    new = await agent.remember("The harbour crane lifts forty tonnes!", title="Crane")
    assert [(item["id"], item["title"]) for item in new["similar"]] == [(old["id"], old["title"])]
    assert 0.8 <= new["similar"][0]["relevance"] <= 1
    assert old["id"] in new.text
    assert (await agent.remember("Jazz on Fridays."))["similar"] == []


# --- the Self note --------------------------------------------------------------------------------


async def test_the_self_note_is_made_once_however_many_begin(agent: Agent) -> None:
    async with anyio.create_task_group() as tasks:
        for word in ("buoy", "lamp", "rope", "gull", "tide", "mole"):
            tasks.start_soon(agent.remember, f"A {word}.")
    assert [path.name for path in agent.files.glob(f"memories/**/*{SELF}*")] == [f"self.{SELF}.md"]
    node = await agent.node(SELF)
    assert (node["type"], node["tier"], node["title"]) == ("person", "core", "Self")


async def test_of_many_that_begin_at_once_none_waits_for_more_than_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but what makes the Self note get to the disk together: a slow disk is waited for once, not for each."""
    words, there, all_there = ("buoy", "lamp", "rope", "gull", "tide", "mole"), [], anyio.Event()

    async def meeting(ports: Ports, caller: Caller, op: str, changes: Sequence[Change], *more: Any) -> Committed:
        if SELF not in {change.after.id for change in changes if change.after}:
            there.append(op)
            if len(there) == len(words) - 1:
                all_there.set()
            await all_there.wait()
        return await commit(ports, caller, op, changes, *more)

    monkeypatch.setattr(holdfast.engine.agent.remember, "commit", meeting)
    async with living(tmp_path) as memory:
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for word in words:
                    tasks.start_soon(keep, memory, f"A {word}.")
        assert sorted(found(await ask(memory, " ".join(words)))) == sorted(f"A {word}." for word in words)


async def test_where_the_first_of_many_is_refused_another_makes_the_self_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost but what was refused."""
    refused: list[str] = []

    async def refusing(ports: Ports, caller: Caller, op: str, changes: Sequence[Change], *more: Any) -> Committed:
        if not refused:
            refused.append(op)
            await anyio.wait_all_tasks_blocked()
            raise StorageError("The disk refused it.", "Make room.")
        return await commit(ports, caller, op, changes, *more)

    async def store(word: str) -> None:
        with suppress(StorageError):
            stored.append((await keep(memory, f"A {word}.")).note.content)

    monkeypatch.setattr(holdfast.engine.agent.remember, "commit", refusing)
    stored: list[str] = []
    async with living(tmp_path) as memory:
        async with anyio.create_task_group() as tasks:
            for word in ("buoy", "lamp", "rope", "gull"):
                tasks.start_soon(store, word)
        assert len(stored) == 3
        assert sorted(found(await ask(memory, "buoy lamp rope gull"))) == sorted(stored)
        assert (await show(memory, SELF)).note.title == "Self"


async def test_what_is_about_the_user_is_defined_on_self(agent: Agent) -> None:
    await agent.remember("A buoy.")
    before = agent.file_of(SELF).read_bytes()
    note = await agent.remember("The user drinks tea.", about_self=True)
    edges = [(edge["id"], edge["type"], edge["direction"]) for edge in (await agent.node(SELF))["connections"]]
    assert (note["id"], "defines", "out") in edges
    edges = [(edge["id"], edge["type"], edge["direction"]) for edge in (await agent.node(note["id"]))["connections"]]
    assert (SELF, "defines", "in") in edges
    assert agent.file_of(SELF).read_bytes() == before


async def test_the_self_note_cannot_be_superseded(agent: Agent) -> None:
    await agent.remember("A buoy.")
    before = agent.notes_on_disk()
    assert "ProtectedNoteError" in await agent.refused("remember", content="Someone else.", supersedes=[SELF])
    assert agent.notes_on_disk() == before


# --- the same note again --------------------------------------------------------------------------


async def test_the_same_call_again_answers_with_the_same_note_and_changes_nothing(agent: Agent) -> None:
    first = await agent.remember("A buoy.", session="s", type="event")
    agent.clock.forward(minutes=9)
    before = agent.notes_on_disk()
    again = await agent.remember("A buoy.", session="s", type="event", title="Another title")
    assert again["id"] == first["id"]
    assert again["linked"] == first["linked"]
    assert "stored" in again["notices"][0]
    assert any("keeps its title" in notice for notice in again["notices"])
    assert agent.notes_on_disk() == before


@pytest.mark.parametrize(
    "content",
    ["The crane lifts\nforty tonnes.", "  The CRANE  lifts forty tonnes.\n", "the crane lifts forty\u00a0tonnes."],
)
async def test_the_same_note_much_later_and_in_another_case_and_spacing_is_the_same(agent: Agent, content: str) -> None:
    first = await agent.remember("The crane lifts forty tonnes.")
    agent.clock.forward(days=400)
    again = await agent.remember(content)
    assert again["id"] == first["id"]
    assert again.text.startswith(f"Already stored: {first['id']}")
    assert (await agent.recall("crane tonnes")).found == [first["id"]]
    assert (await agent.node(first["id"]))["content"] == "The crane lifts forty tonnes."


@pytest.mark.parametrize("words", [("Straße", "STRASSE"), ("caf\u00e9", "CAFE\u0301"), ("港の起重機", " 港の起重機 ")])
async def test_the_same_words_of_any_script_are_the_same(agent: Agent, words: tuple[str, str]) -> None:
    first = await agent.remember(words[0])
    assert (await agent.remember(words[1]))["id"] == first["id"]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "goal"},
        {"space": "quay"},
        {"content": "A buoy"},
        {"subject": "Ben"},
        {"event_time": "2026-05-04"},
        {"type": "event", "session": "t"},
    ],
)
async def test_a_call_that_differs_is_a_new_note(agent: Agent, other: dict[str, str]) -> None:
    call = {"content": "A buoy.", "type": "event", "session": "s", "subject": "Anna", "event_time": "2026-05-03"}
    first = await agent.call("remember", **call)
    assert (await agent.call("remember", **call | other))["id"] != first["id"]


async def test_what_holds_is_one_note_in_every_session_and_what_happened_is_one_in_each(agent: Agent) -> None:
    fact = await agent.remember("We use tabs.", session="monday")
    again = await agent.remember("We use tabs.", session="tuesday")
    assert again["id"] == fact["id"]
    assert any("keeps the session" in notice for notice in again["notices"])
    turns = [(await agent.remember("ok", type="observation", session=day))["id"] for day in ("monday", "tuesday")]
    assert len(set(turns)) == 2
    assert [frontmatter(agent.file_of(turn))["seq"] for turn in turns] == [2, 1]


async def test_turns_of_a_dialogue_are_told_apart_by_speaker_and_time(agent: Agent) -> None:
    turns = [
        {"session": f"s{day}", "subject": name, "event_time": f"2026-03-0{day}T10:00:00Z"}
        for day in (1, 2)
        for name in ("Anna", "Ben")
    ]
    ids = [(await agent.remember("Bye!", **turn))["id"] for turn in turns]
    assert len(set(ids)) == 4
    assert [(await agent.remember("bye!", **turn))["id"] for turn in turns] == ids


async def test_what_is_told_of_it_besides_is_joined_as_one_change_that_can_be_undone(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era, admin=True) as agent:
        other, old = (await agent.remember("A lamp.")), (await agent.remember("Thirty tonnes."))
        first = await agent.remember("Forty tonnes.", tags=["crane"], links=[other["id"]])
        before = {note: agent.file_of(note).read_bytes() for note in (first["id"], old["id"])}
        again = await agent.remember(
            "forty tonnes.",
            space="harbour",
            tags=["Crane", "steel"],
            links=[{"to": other["id"], "type": "supports"}],
            supersedes=[old["id"]],
            tier="core",
            about_self=True,
            confidence=0.8,
            session="s",
            subject="The crane",
            event_time="2026-03-02",
        )
        node = await agent.node(first["id"])
        assert (again["id"], node["content"]) == (first["id"], "Forty tonnes.")
        assert (node["tags"], node["tier"], node["confidence"]) == (["crane", "steel"], "core", 0.8)
        assert (node["subject"], node["session"], node["event_time"]) == ("The crane", "s", "2026-03-02T00:00:00Z")
        assert frontmatter(agent.file_of(first["id"]))["seq"] == 1
        assert {(link["id"], link["type"]) for link in again["linked"]} >= {
            (other["id"], "related_to"),
            (other["id"], "supports"),
        }
        assert (await agent.node(old["id"]))["superseded_by"] == first["id"]
        await agent.call("admin_undo", change_id=again["change_id"])
        assert {note: agent.file_of(note).read_bytes() for note in before} == before


@pytest.mark.parametrize(
    ("first", "again", "word"),
    [
        ({"title": "Crane"}, {"title": "Hoist"}, "its title"),
        ({"tier": "core"}, {"tier": "archival"}, "tier core"),
        ({"confidence": 0.4}, {}, "confidence 0.4"),
        ({"session": "s"}, {"session": "t"}, "the session"),
    ],
)
async def test_what_is_not_taken_over_is_told(
    agent: Agent, first: dict[str, Any], again: dict[str, Any], word: str
) -> None:
    stored = await agent.remember("Forty tonnes.", **first)
    before = agent.file_of(stored["id"]).read_bytes()
    told = await agent.remember("Forty tonnes.", **again)
    assert any(word in notice and "keeps" in notice for notice in told["notices"])
    assert agent.file_of(stored["id"]).read_bytes() == before


async def test_a_tag_is_one_in_any_case_and_accent(agent: Agent) -> None:
    stored = await agent.remember("Forty tonnes.", tags=["Café", "crane", "cafe", "CRANE"])
    assert (await agent.node(stored["id"]))["tags"] == ["Café", "crane"]


async def test_a_note_has_no_more_tags_than_it_may_have_however_often_it_is_stored(agent: Agent) -> None:
    first = await agent.remember("Forty tonnes.", tags=[f"a{number}" for number in range(30)])
    told = await agent.remember("Forty tonnes.", tags=[f"b{number}" for number in range(30)])
    assert len((await agent.node(first["id"]))["tags"]) == 32
    assert any("32 tags" in notice for notice in told["notices"])


async def test_what_faded_to_archival_is_working_again_once_it_is_said_again(agent: Agent) -> None:
    first = await agent.remember("Forty tonnes.", tier="archival")
    assert (await agent.remember("Forty tonnes."))["tier"] == "working"
    assert (await agent.node(first["id"]))["tier"] == "working"


async def test_the_confidence_that_evidence_has_moved_stays(agent: Agent) -> None:
    belief = await agent.omi("memory_store", content="Tabs are best.", memory_type="belief")
    cited = await agent.remember("All of us use tabs.")
    moved = await agent.omi(
        "belief_update",
        belief_id=belief["memory_id"],
        evidence_memory_id=cited["id"],
        supports=True,
        strength=1.0,
    )
    for confidence in (None, 0.1):
        again, notices = await agent.omi_told(
            "memory_store", content="tabs are best.", memory_type="belief", confidence=confidence
        )
        assert again == belief
        assert any("keeps confidence" in notice for notice in notices)
    assert (await agent.node(belief["memory_id"]))["confidence"] == moved["new_confidence"]


@pytest.mark.parametrize("family", ["remember", "memory_store"])
async def test_the_two_families_know_each_others_notes_as_the_same(agent: Agent, family: str) -> None:
    calls = {
        "remember": lambda text: agent.call("remember", content=text, type="decision"),
        "memory_store": lambda text: agent.omi("memory_store", content=text, memory_type="decision"),
    }
    other = next(name for name in calls if name != family)
    one = await calls[family]("We use tabs.")
    two = await calls[other]("we use  tabs.")
    ids = {answer.get("memory_id") if isinstance(answer, dict) else answer["id"] for answer in (one, two)}
    assert len(ids) == 1


async def test_after_a_restart_and_with_the_index_deleted_it_is_the_same_note(
    anyio_backend: str, era: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, era) as agent:
        first = await agent.remember("Forty tonnes.")
    async with serving(tmp_path, era) as agent:
        assert (await agent.remember("forty  tonnes."))["id"] == first["id"]
    shutil.rmtree(tmp_path / ".holdfast")
    async with serving(tmp_path, era) as agent:
        assert (await agent.remember("FORTY tonnes."))["id"] == first["id"]


async def test_an_edit_by_hand_makes_it_another_note_or_the_same_one(agent: Agent) -> None:
    first = await agent.remember("Forty tonnes.")
    file = agent.file_of(first["id"])
    file.write_text(file.read_text("utf-8").replace("Forty tonnes.", "Sixty tonnes."), "utf-8")
    agent.clock.forward(seconds=5)
    second = await agent.remember("Forty tonnes.")
    assert second["id"] != first["id"]
    assert (await agent.remember("sixty tonnes."))["id"] == first["id"]


async def outdated_by_hand(agent: Agent, note: str) -> None:
    """Without a time until when it held, which the tools would have noted."""
    file = agent.file_of(note)
    file.write_text(file.read_text("utf-8").replace("---\n", "---\noutdated: true\n", 1), "utf-8")
    agent.clock.forward(seconds=5)


RETIRING: dict[str, Any] = {
    "outdated": lambda agent, note: agent.outdate(note),
    "superseded": lambda agent, note: agent.remember("Sixty tonnes.", supersedes=[note]),
    "in the trash": lambda agent, note: admin_twice(agent, "admin_delete_memory", node_id=note),
    "by hand": outdated_by_hand,
}


async def admin_twice(agent: Agent, tool: str, **arguments: Any) -> None:
    """Ask for what a dry run must come before, and then do it."""
    token = (await agent.call(tool, **arguments))["confirm"]
    await agent.call(tool, **arguments, confirm=token)


@pytest.mark.parametrize("how", RETIRING)
async def test_what_was_retired_and_is_stored_again_is_a_new_statement(
    anyio_backend: str, era: str, tmp_path: Path, how: str
) -> None:
    async with serving(tmp_path, era, admin=True) as agent:
        first = await agent.remember("Forty tonnes.")
        await RETIRING[how](agent, first["id"])
        again = await agent.remember("forty tonnes.")
        assert again["id"] != first["id"]
        assert again.text.startswith("Stored: ")
        if how != "in the trash":
            assert any(first["id"] in notice and "retired" in notice for notice in again["notices"])
            assert (await agent.node(first["id"]))["outdated"]
        assert (await agent.remember("Forty tonnes."))["id"] == again["id"]


async def test_a_note_whose_planned_end_has_passed_is_not_the_same_as_one_stored_now(agent: Agent) -> None:
    agent.write_by_hand("harbour/rule.md", "---\nspace: harbour\nvalid_until: 2026-01-01\n---\nForty tonnes.\n")
    agent.clock.forward(seconds=5)
    await agent.remember("A lamp.")
    assert (await agent.remember("Forty tonnes.")).text.startswith("Stored: ")


async def test_a_merged_note_leads_to_the_text_that_was_kept(agent: Agent) -> None:
    kept = await agent.remember("The crane lifts forty tonnes.")
    gone = await agent.remember("The crane lifts forty tonnes, at most.")
    verdict = {"merges": [{"keep_id": kept["id"], "discard_id": gone["id"]}]}
    await agent.call("run_maintenance", results=verdict)
    assert (await agent.remember("the crane lifts FORTY tonnes."))["id"] == kept["id"]


async def test_a_note_that_another_takes_away_between_two_looks_is_stored_anew(
    anyio_backend: str, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, era) as agent:
        first = await agent.remember("Forty tonnes.")
        plain = NoteIndex.place
        taken: list[str] = []

        async def place(self: NoteIndex, note: Note, now: str) -> Place:
            found = await plain(self, note, now)
            if not taken:  # another process deletes the note now
                taken.append(first["id"])
                await self.apply(Update(gone=taken))
                agent.file_of(first["id"]).unlink()
            return found

        monkeypatch.setattr(NoteIndex, "place", place)
        again = await agent.remember("Forty tonnes.")
        assert again["id"] != first["id"]
        assert (await agent.recall("forty tonnes")).found == [again["id"]]


async def test_calls_at_the_same_moment_store_one_note(agent: Agent) -> None:
    await agent.remember("Seven lamps.")  # the first note of all waits for the note of the person itself
    ids: list[str] = []

    async def store() -> None:
        ids.append((await agent.remember("A buoy."))["id"])

    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(store)
    assert len(ids) == 6
    assert len(set(ids)) == 1


async def test_a_retired_note_is_not_an_answer_to_a_retry(agent: Agent) -> None:
    first = await agent.remember("A buoy.")
    await agent.outdate(first["id"])
    again = await agent.remember("A buoy.")
    assert again["id"] != first["id"]
    assert (await agent.recall("buoy")).found == [again["id"]]


async def test_a_retry_that_names_what_it_replaces_still_replaces_it(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    new = await agent.remember("The crane lifts sixty tonnes.")
    again = await agent.remember("The crane lifts sixty tonnes.", supersedes=[old["id"]])
    assert again["id"] == new["id"]
    assert (await agent.node(old["id"]))["superseded_by"] == new["id"]
    assert (await agent.recall("crane tonnes")).found == [new["id"]]


async def test_a_note_cannot_replace_itself_by_being_said_twice(agent: Agent) -> None:
    first = await agent.remember("A buoy.")
    again = await agent.remember("A buoy.", supersedes=[first["id"]])
    assert again["id"] == first["id"]
    assert not (await agent.node(first["id"]))["outdated"]


# --- supersedes -----------------------------------------------------------------------------------


async def test_a_superseded_note_is_closed_in_the_same_step(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    new = await agent.remember("The crane lifts sixty tonnes.", supersedes=[old["id"]])
    node = await agent.node(old["id"])
    assert (node["outdated"], node["superseded_by"], node["valid_until"]) == (True, new["id"], new["created"])
    assert (await agent.recall("crane tonnes")).found == [new["id"]]
    edges = [(edge["id"], edge["type"], edge["direction"]) for edge in (await agent.node(new["id"]))["connections"]]
    assert (old["id"], "evolved_from", "out") in edges
    assert old["id"] not in [item["id"] for item in new["similar"]]


async def test_a_chain_of_corrections_leaves_only_the_last(agent: Agent) -> None:
    chain = [await agent.remember("The crane lifts forty tonnes.")]
    for weight in ("fifty", "sixty", "seventy"):
        chain.append(await agent.remember(f"The crane lifts {weight} tonnes.", supersedes=[chain[-1]["id"]]))
    assert (await agent.recall("crane lifts tonnes")).found == [chain[-1]["id"]]
    everything = (await agent.recall("the crane lifts forty tonnes", include_outdated=True)).found
    assert everything == [note["id"] for note in reversed(chain)]


async def test_several_notes_are_replaced_by_one(agent: Agent) -> None:
    old = [(await agent.remember(text))["id"] for text in ("Crane: forty tonnes.", "Crane: blue.")]
    new = await agent.remember("The crane was scrapped.", supersedes=[*old, old[0]])
    assert [(await agent.node(note_id))["superseded_by"] for note_id in old] == [new["id"], new["id"]]


async def test_what_was_replaced_before_keeps_its_first_successor_and_the_answer_says_so(agent: Agent) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    new = await agent.remember("The crane lifts sixty tonnes.", supersedes=[old["id"]])
    third = await agent.remember("The crane is red.", supersedes=[old["id"]])
    assert (await agent.node(old["id"]))["superseded_by"] == new["id"]
    assert any(old["id"] in notice for notice in third["notices"])


@pytest.mark.parametrize("again", [False, True])
async def test_what_was_replaced_by_a_note_that_is_gone_can_be_replaced_anew(agent: Agent, again: bool) -> None:
    old = (await agent.remember("The fee is 40 euros."))["id"]
    gone = (await agent.remember("The fee is 44 euros.", supersedes=[old]))["id"]
    agent.file_of(gone).unlink()
    if again:
        await agent.remember("The fee is 50 euros.")
    node = await agent.node(old)
    assert (node["outdated"], node["superseded_by"]) == (True, None)
    assert f"It was superseded by {gone}, which is gone." in node["notices"]
    assert "what replaced it is gone" in node.text
    shown = await agent.recall("what is the fee? It is 40 euros.", include_outdated=True)
    assert (old in shown.found, gone in shown.text, "OUTDATED" in shown.text) == (True, False, True)
    new = await agent.remember("The fee is 50 euros.", supersedes=[old])
    assert f"{old} was superseded by {gone}, which is gone: now by this one." in new["notices"]
    assert (await agent.node(old))["superseded_by"] == new["id"]
    after = await agent.recall("what is the fee?", include_outdated=True)
    assert (after["tensions"], gone in after.text) == ([], False)


async def test_a_successor_that_was_merged_into_another_note_is_not_gone(agent: Agent) -> None:
    old = (await agent.remember("The fee is 40 euros."))["id"]
    gone = (await agent.remember("The fee is 44 euros.", supersedes=[old]))["id"]
    agent.file_of(gone).unlink()
    note = f'---\nid: "mem_01aaaaaaaaaaaaaa"\nmerged: ["{gone}"]\n---\nThe fee is 44 euros, from May on.\n'
    agent.write_by_hand("harbour/fee.md", note)
    third = await agent.remember("The fee is 50 euros.", supersedes=[old])
    assert f"{old} was already superseded by {gone}; that was left as it is." in third["notices"]
    assert (await agent.node(old))["superseded_by"] == gone


@pytest.mark.files("a file that cannot be read")
async def test_a_successor_in_quarantine_is_not_gone(agent: Agent) -> None:
    old = (await agent.remember("The fee is 40 euros."))["id"]
    new = (await agent.remember("The fee is 44 euros.", supersedes=[old]))["id"]
    with agent.file_of(new).open("ab") as file:
        file.write(b"\xff")
    third = await agent.remember("The fee is 50 euros.", supersedes=[old])
    assert f"{old} was already superseded by {new}; that was left as it is." in third["notices"]
    assert (await agent.node(old))["superseded_by"] == new


@pytest.mark.parametrize("unknown", [UNKNOWN, "*", "%", "", "../x"])
async def test_an_unknown_id_among_the_superseded_stores_nothing_at_all(agent: Agent, unknown: str) -> None:
    old = await agent.remember("The crane lifts forty tonnes.")
    before = agent.notes_on_disk()
    text = await agent.refused("remember", content="Sixty tonnes.", supersedes=[old["id"], unknown])
    assert "MemoryNotFoundError" in text
    assert agent.notes_on_disk() == before
    assert (await agent.recall("crane tonnes")).found == [old["id"]]


async def test_an_ambiguous_beginning_among_the_superseded_stores_nothing_at_all(agent: Agent) -> None:
    for text in ("A buoy.", "A lamp."):
        await agent.remember(text)
    before = agent.notes_on_disk()
    assert "AmbiguousIdError" in await agent.refused("remember", content="Sixty tonnes.", supersedes=["mem_0"])
    assert agent.notes_on_disk() == before


# --- spaces ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (None, SPACE),
        ("auto", SPACE),
        ("", SPACE),
        ("  ", SPACE),
        ("global", "global"),
        ("Quay", "quay"),
        ("Ünder_Wasser 2.0", "ünder_wasser-2.0"),
        ("港", "港"),
    ],
)
async def test_the_space_is_the_one_given_else_the_default(agent: Agent, given: str | None, stored: str) -> None:
    note = await agent.remember("A buoy.", space=given)
    assert note["space"] == stored
    assert agent.file_of(note["id"]).parent.name == stored


@pytest.mark.parametrize("given", ["..", "///", "con", "COM1", "-", "🦀"])
async def test_what_cannot_be_a_space_is_refused(agent: Agent, given: str) -> None:
    assert "InvalidArgumentError" in await agent.refused("remember", content="A buoy.", space=given)
    assert not list(agent.files.glob("memories/**/*.md"))


async def test_a_space_that_looks_like_a_path_stays_inside_the_folder(agent: Agent) -> None:
    note = await agent.remember("A buoy.", space="../../etc/passwd")
    assert agent.file_of(note["id"]).parent.parent == agent.files / "memories"


async def test_a_new_space_whose_name_is_nearly_that_of_another_is_told(agent: Agent) -> None:
    """A slip of the pen would hide the note from whoever asks in the space that was meant."""
    slip = await agent.remember("The buoy was painted.", space="harbuor")
    assert slip["space"] == "harbuor"
    assert slip["notices"] == [f'"harbuor" is a new space. Where "{SPACE}" is meant: undo this, and remember it there.']
    await agent.outdate(slip["id"], undo=slip["change_id"])
    assert not (await agent.remember("The buoy was painted.", space=SPACE))["notices"]


@pytest.mark.parametrize(
    ("there", "other"),
    [
        ("team-a", "team-b"),
        ("sprint-12", "sprint-13"),
        ("project1", "project2"),
        ("frontend", "backend"),
        ("quay", "quay"),
    ],
)
async def test_a_space_of_a_row_is_no_slip_of_the_pen(agent: Agent, there: str, other: str) -> None:
    await agent.remember("The buoy was painted.", space=there)
    assert not (await agent.remember("The lamp was painted red on Monday.", space=other))["notices"]


@pytest.mark.parametrize(
    ("work", "space", "how"),
    [
        ("person/code/Lighthouse/src/deep", "lighthouse", "git folder"),
        ("person/code/lamp-fix", "lamp-fix", "git folder"),
        ("person/plain", "plain", "working folder"),
        ("person", None, "none"),
    ],
)
async def test_without_a_setting_the_space_is_found_from_the_folder_that_the_server_works_in(
    anyio_backend: str,
    era: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: str,
    space: str | None,
    how: str,
) -> None:
    (tmp_path / "person/code/Lighthouse/.git").mkdir(parents=True)
    (tmp_path / "person/code/Lighthouse/src/deep").mkdir(parents=True)
    (tmp_path / "person/code/lamp-fix").mkdir(parents=True)
    (tmp_path / "person/code/lamp-fix/.git").write_text("gitdir: ../Lighthouse/.git/worktrees/lamp-fix\n")
    (tmp_path / "person/plain").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    monkeypatch.chdir(tmp_path / work)
    async with serving(tmp_path / "home", era, space=None) as agent:
        assert (await agent.remember("A buoy."))["space"] == (space or "global")
        read_as = (await agent.recall("buoy"))["read_as"]
        assert read_as["space"] == space
        assert read_as["space_from"].startswith(how)


async def test_the_setting_wins_over_the_folder_and_an_explicit_space_over_both(
    anyio_backend: str, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    async with serving(tmp_path / "home", era, space="chosen") as agent:
        assert (await agent.remember("A buoy."))["space"] == "chosen"
        assert (await agent.remember("A lamp.", space="other"))["space"] == "other"
        assert (await agent.recall("buoy"))["read_as"]["space_from"] == "HOLDFAST_SPACE"


async def test_over_http_the_folder_of_the_server_says_nothing(
    anyio_backend: str, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    async with serving(tmp_path / "home", era, space=None, http=True) as agent:
        assert (await agent.remember("A buoy."))["space"] == "global"
        assert (await agent.recall("buoy"))["read_as"]["space"] is None


# --- secrets --------------------------------------------------------------------------------------

SECRET_IN = {
    "content": lambda secret: {"content": f"The token is {secret} for now."},
    "title": lambda secret: {"content": "About the token.", "title": f"Token {secret}"},
    "tags": lambda secret: {"content": "About the token.", "tags": ["token", secret]},
    "subject": lambda secret: {"content": "About the token.", "subject": secret},
    "session": lambda secret: {"content": "About the token.", "session": secret},
    "space": lambda secret: {"content": "About the token.", "space": secret},
}
FIELDS = list(SECRET_IN)


@pytest.mark.parametrize("field", FIELDS)
async def test_a_secret_is_replaced_before_anything_reaches_the_disk(agent: Agent, field: str) -> None:
    secret = made_up_secret()
    answer = await agent.call("remember", **SECRET_IN[field](secret))
    assert any("GitHub token" in notice for notice in answer["notices"])
    assert secret.lower() not in (answer.text + str(answer.structured)).lower()
    await agent.recall("token")
    assert agent.holding(secret[4:]) == []


@pytest.mark.parametrize("field", FIELDS)
async def test_a_server_that_refuses_secrets_stores_nothing_and_names_the_field(
    anyio_backend: str, era: str, tmp_path: Path, field: str
) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets="refuse") as agent:
        text = await agent.refused("remember", **SECRET_IN[field](secret))
        assert "SecretRefusedError" in text
        assert field in text
        assert secret.lower() not in text.lower()
        assert not list(agent.files.glob("memories/**/*.md"))
        assert agent.holding(secret[4:]) == []


@pytest.mark.parametrize("field", FIELDS)
async def test_a_server_that_allows_secrets_keeps_them(
    anyio_backend: str, era: str, tmp_path: Path, field: str
) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets="allow") as agent:
        answer = await agent.call("remember", **SECRET_IN[field](secret))
        assert answer["notices"] == []
        assert secret.lower() in agent.file_of(answer["id"]).read_text().lower()


@pytest.mark.parametrize("mode", ["redact", "refuse"])
async def test_a_secret_that_is_asked_for_is_not_kept_either(
    anyio_backend: str, era: str, tmp_path: Path, mode: str
) -> None:
    secret = made_up_secret()
    async with serving(tmp_path, era, secrets=mode) as agent:
        await agent.remember("About the token.")
        assert secret not in str((await agent.recall(f"token {secret}")).structured)
        assert agent.holding(secret[4:]) == []


# --- errors ---------------------------------------------------------------------------------------

VALUE = "zanzibar-8841"


BAD: list[dict[str, Any]] = [
    {"type": VALUE},
    {"tier": VALUE},
    {"event_time": VALUE},
    {"confidence": VALUE},
    {"confidence": 8841},
    {"about_self": VALUE},
    {"tags": VALUE},
    {"tags": [VALUE * 9]},
    {"tags": [f"{VALUE}-{number}" for number in range(40)]},
    {"links": [VALUE]},
    {"links": VALUE},
    {"links": [{"to": VALUE, "type": "supports"}]},
    {"links": [{"to": SELF, "type": VALUE}]},
    {"links": [VALUE] * 60},
    {"supersedes": [VALUE]},
    {"supersedes": {VALUE: VALUE}},
    {"title": VALUE * 60},
    {"title": [VALUE]},
    {"session": VALUE * 60},
    {"subject": {"name": VALUE}},
    {"space": [VALUE]},
    {"content": ""},
    {"content": " \n\t"},
    {"content": VALUE + "\0"},
    {"content": VALUE * 30_000},
    {"content": [VALUE]},
    {VALUE: "an argument that there is not"},
    {"nonsense": VALUE},
    {"content": None},
]


async def test_a_bad_argument_is_named_and_its_value_is_not_repeated(agent: Agent) -> None:
    for arguments in BAD:
        text = await agent.refused("remember", **{"content": "A buoy."} | arguments)
        assert "zanzibar" not in text
        assert "8841" not in text
        assert len(text) < 500
    assert not list(agent.files.glob("memories/**/*.md"))


async def test_a_call_without_content_says_so(agent: Agent) -> None:
    assert "content is missing" in await agent.refused("remember")


async def test_content_of_the_largest_size_is_stored_and_one_byte_more_is_not(agent: Agent) -> None:
    largest = ("word " * (256 * 1024 // 5)).ljust(256 * 1024, "w")
    stored = await agent.remember(largest)
    assert largest in agent.file_of(stored["id"]).read_text("utf-8")
    assert "Store it in parts." in await agent.refused("remember", content=largest + "x")


@pytest.mark.parametrize(
    ("tool", "name"),
    [("remember", "title"), ("remember", "subject"), ("remember", "session"), ("mark_outdated", "reason")],
)
async def test_what_is_too_long_and_no_text_of_a_note_is_to_be_shortened(agent: Agent, tool: str, name: str) -> None:
    note = await agent.remember("The crane lifts forty tonnes.")
    needed = {"content": "The pilot boat is called Petrel."} if tool == "remember" else {"node_id": note["id"]}
    refused = await agent.refused(tool, **needed, **{name: "word " * 101})
    assert "Shorten it." in refused
    assert "in parts" not in refused


async def test_a_page_that_is_not_there_is_refused_with_how_many_there_are(agent: Agent) -> None:
    short, long = [await agent.remember("The crane turns. " * times) for times in (1, 3000)]
    assert "page is 2, and the note has 1 page." in await agent.refused("recall_node", node_id=short["id"], page=2)
    said = await agent.refused("recall_node", node_id=long["id"], page=99)
    pages = int(said.partition("the note has ")[2].split()[0])
    await agent.call("recall_node", node_id=long["id"], page=pages)
    await agent.refused("recall_node", node_id=long["id"], page=pages + 1)


def test_the_clock_of_these_tests_moves() -> None:
    clock = Clock()
    before = clock()
    clock.forward(minutes=11)
    assert (clock() - before).total_seconds() > 600


# --- what is lost with a note that is replaced ----------------------------------------------------

ROUTE = "Route 7 (driver Pavel, bus 31) leaves the depot at 5:40 and ends at the harbour."
ROUTE_NOW = "Route 7 leaves the depot at 5:55 now."
LOST = {
    "a part": (ROUTE, ROUTE_NOW, 'says more than that, which replacing it loses: "driver Pavel … bus 31 … ends at'),
    "everything": (
        "The spare tent is in the blue box.",
        "The lease of the boat ends in June.",
        'seems to be of something else: "The spare tent is in the blue box."',
    ),
    "German": (
        "Der Zahnarzt Brandt hat die Praxis in der Lindenallee 4, und nimmt Kassenpatienten.",
        "Der Zahnarzt Brandt hat die Praxis jetzt in der Ulmenallee 9.",
        'says more than that, which replacing it loses: "nimmt Kassenpatienten"',
    ),
}


@pytest.mark.parametrize("kind", LOST)
async def test_what_a_note_says_that_its_successor_does_not_is_told_with_the_way_back(agent: Agent, kind: str) -> None:
    old, new, said = LOST[kind]
    first = (await agent.remember(old))["id"]
    stored = await agent.remember(new, supersedes=[first])
    (notice,) = [each for each in stored["notices"] if each.startswith(f"{first} {said}")]
    call = f'mark_outdated(undo="{stored["change_id"]}")'
    assert notice.endswith(call)
    await agent.call("mark_outdated", undo=stored["change_id"])
    assert not (await agent.node(first))["outdated"]


async def test_the_same_is_told_where_the_successor_is_there_already(agent: Agent) -> None:
    first, second = [(await agent.remember(text))["id"] for text in (ROUTE, ROUTE_NOW)]
    again = await agent.remember(ROUTE_NOW, supersedes=[first])
    assert again["id"] == second
    assert [each for each in again["notices"] if each.startswith(f"{first} {LOST['a part'][2]}")]


async def test_of_what_replaces_a_value_nothing_is_lost(agent: Agent) -> None:
    first = (await agent.remember("The partner gateway has a limit of 100 requests."))["id"]
    assert (await agent.remember("The limit of the gateway is now 300.", supersedes=[first]))["notices"] == []


@pytest.mark.parametrize(
    "wrong",
    [{"type": "task"}, {"tier": "hot"}, {"links": [("mem_0000000000000000", "near")]}],
)
async def test_what_stores_from_within_is_told_of_a_type_that_there_is_not_before_a_file_has_it(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async with living(tmp_path) as memory:
        with pytest.raises(InvalidArgumentError, match=r"is unknown\. Use one of"):
            await memory.attend(lambda ports: remember(ports, CALLER, Remember("The crane is red.", **wrong)))
        assert not (await ask(memory, "crane")).hits
