"""Lists: what the filters let through, by time and in pages, and questions that ask for such a list."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.engine.agent import listing
from served import ERAS, Agent, Answer, Clock, serving

pytestmark = pytest.mark.anyio

ASKED = datetime(2026, 11, 4, 12, tzinfo=UTC)  # a Wednesday


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent in the space `harbour`, at noon in November."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(ASKED)) as asking:
        yield asking


async def put(agent: Agent, text: str, days_ago: int = 0, **given: object) -> str:
    event = (ASKED - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return str((await agent.remember(text, event_time=event, **given))["id"])


async def seventeen(agent: Agent) -> list[str]:
    """Decisions of one space, the newest first, among other notes."""
    ids = [await put(agent, f"Decided on matter {n}.", n, type="decision", space="tollgate") for n in range(17)]
    await put(agent, "A fact of the same space.", space="tollgate")
    await put(agent, "A decision of another space.", type="decision", space="quay")
    return ids


def texts(answer: Answer) -> list[str]:
    return [hit["content"] for hit in answer["results"]]


# --- without a question ---------------------------------------------------------------------------


@pytest.mark.parametrize("query", [{}, {"query": ""}, {"query": " * "}])
async def test_filters_without_a_question_list_by_time_in_pages_with_the_total(
    agent: Agent, query: dict[str, str]
) -> None:
    ids = await seventeen(agent)
    wanted = {**query, "types": ["decision"], "spaces": ["tollgate"]}
    first = await agent.call("recall", **wanted)
    assert first.found == ids[:10]
    assert first["total"] == 17
    assert first.text.startswith("17 decisions in tollgate, newest first; 10 shown, next: recall(offset=10, …).")
    assert all(hit["why"] == "listed" and not hit["weak"] for hit in first["results"])
    assert "relevance" not in first.text
    second = await agent.call("recall", **wanted, offset=10)
    assert second.found == ids[10:]
    assert "7 shown from 11 on." in second.text
    behind = await agent.call("recall", **wanted, offset=17)
    assert (behind.found, behind["total"]) == ([], 17)


async def test_a_list_keeps_to_every_filter_and_to_its_budget(agent: Agent) -> None:
    kept = await put(agent, "Red and recent.", 1, tags=["red"], tier="archival")
    await put(agent, "Red and old.", 400, tags=["red"])
    gone = await put(agent, "Red and gone.", tags=["red"])
    await agent.outdate(gone)
    listed = await agent.call("recall", tags=["red"], created_after="2026-01-01")
    assert (listed.found, listed["total"]) == ([kept], 1)
    assert listed.text.startswith("1 note tagged red, newest first.")
    assert (await agent.call("recall", tags=["red"], include_outdated=True)).found[0] == gone
    assert (await agent.call("recall", tiers=["archival"])).found == [kept]
    short = await agent.call("recall", tags=["red"], include_outdated=True, budget=1)
    assert (short.found, short["total"], short["omitted"]["count"]) == ([], 3, 3)
    assert "Not shown: " in short.text


async def test_of_notes_of_one_second_the_one_stored_last_is_first(agent: Agent) -> None:
    ids = [str((await agent.remember(f"Buoy {n}."))["id"]) for n in range(5)]
    assert (await agent.call("recall")).found == ids[::-1]


async def test_an_empty_memory_has_an_empty_list(agent: Agent) -> None:
    answer = await agent.call("recall", types=["goal"])
    assert (answer.found, answer["total"]) == ([], 0)
    assert answer.text.startswith("0 goals, newest first.")


async def test_what_a_search_finds_comes_in_pages_too(agent: Agent) -> None:
    for n in range(5):
        await put(agent, f"The crane lifts {n} tonnes.", n)
    whole = (await agent.recall("crane tonnes")).found
    pages = [(await agent.recall("crane tonnes", limit=2, offset=at)).found for at in (0, 2, 4, 6)]
    assert pages == [whole[:2], whole[2:4], whole[4:], []]
    assert (await agent.recall("crane"))["total"] is None


async def test_behind_the_last_note_that_fits_it_is_not_said_that_there_is_none(agent: Agent) -> None:
    await agent.remember("The crane lifts forty tonnes.")
    behind = await agent.recall("crane tonnes", offset=3)
    assert behind.found == []
    assert behind.text.startswith("No more notes, asked from ")
    assert "This offset is behind the last: 1 note fitted." in behind["notices"]
    nothing = await agent.recall("zanzibar", offset=3)
    assert nothing.text.startswith("Nothing relevant is stored.")


async def test_an_offset_below_nothing_is_refused(agent: Agent) -> None:
    assert "InvalidArgumentError" in await agent.refused("recall", offset=-1)


async def test_memory_recall_lists_for_a_star(agent: Agent) -> None:
    older, newer = await agent.remember("A buoy."), await agent.remember("A crane.", type="decision")
    listed = await agent.omi("memory_recall", query="*")
    assert {item["memory_id"] for item in listed} == {older["id"], newer["id"]}
    assert [item["relevance"] for item in listed] == [1.0, 1.0]
    assert [item["memory_id"] for item in await agent.omi("memory_recall", query="*", memory_type="decision")] == [
        newer["id"]
    ]


# --- questions that ask for a list ----------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "list all decisions in tollgate",
        "What decisions are there in tollgate?",
        "recent tollgate decisions",
        "show me the latest decisions of project tollgate",
        "Zeig mir alle Entscheidungen in tollgate",
        "toutes les décisions dans tollgate",
        "últimas decisiones en tollgate",
    ],
)
async def test_a_question_for_a_list_is_answered_with_it(agent: Agent, query: str) -> None:
    ids = await seventeen(agent)
    answer = await agent.recall(query)
    assert (answer.found, answer["total"]) == (ids[:10], 17)
    assert (await agent.recall(query, offset=10)).found == ids[10:]


async def test_a_list_of_a_tag_or_of_a_number_of_notes(agent: Agent) -> None:
    ids = await seventeen(agent)
    red = await put(agent, "A red buoy.", 3, tags=["red-ones"])
    assert (await agent.recall("all notes tagged red-ones")).found == [red]
    assert (await agent.recall("the last 3 decisions in tollgate")).found == ids[:3]
    for query in (
        "the last three decisions in {}",
        "die letzten drei Entscheidungen in {}",
        "le ultime tre decisioni {}",
        "quais foram as últimas três decisões em {}?",
    ):
        assert (await agent.recall(query.format("tollgate"))).found == ids[:3]
    assert (await agent.recall("le ultime due decisioni tollgate")).found == ids[:2]
    await put(agent, "Decided on the lighthouse.", 2, type="decision", space="headland")
    assert (await agent.recall("latest due decisions in headland")).found == []  # none is to come


@pytest.mark.parametrize(
    "query", ["Welche Personen kennst du?", "Quelles personnes connais-tu ?", "¿Qué personas conoces?"]
)
async def test_the_people_who_are_known_are_a_list_in_any_language(agent: Agent, query: str) -> None:
    await agent.remember("The crane is red.")
    ann = str((await agent.remember("Ann drives the crane.", type="person"))["id"])
    assert (await agent.recall(query)).found == [ann]


async def test_nothing_of_a_day_is_not_answered_with_what_is_told_of_all_notes(agent: Agent) -> None:
    await put(agent, "The crane was painted.", 40)
    assert (await agent.recall("What did I note yesterday?")).found == []


@pytest.mark.parametrize(
    "query",
    [
        "recent decisions",
        "latest decisions",
        "what did we decide lately?",
        "Was haben wir zuletzt entschieden?",
        "quelles décisions dernièrement ?",
        "¿qué decidimos últimamente?",
        "decisioni recenti",
    ],
)
async def test_recent_decisions_are_those_of_the_project_newest_first_however_old(agent: Agent, query: str) -> None:
    old = await put(agent, "Steel cable for the crane.", 300, type="decision")
    new = await put(agent, "No gulls on the quay.", 90, type="decision")
    await put(agent, "The recent decisions are written down.", 1)
    await put(agent, "Elsewhere.", 2, type="decision", space="tollgate")
    answer = await agent.recall(query)
    assert answer.found == [new, old]
    assert "1 more in other projects" in " ".join(answer["notices"])


@pytest.mark.parametrize("query", ["what's new in the tollgate project?", "What did we do in project tollgate?"])
async def test_the_word_project_beside_its_name_asks_for_no_type(agent: Agent, query: str) -> None:
    fact = await put(agent, "Tolls are paid in coins.", 3, space="tollgate")
    event = await put(agent, "The barrier was painted.", 2, type="event", space="tollgate")
    await put(agent, "Elsewhere.", 1, type="project", space="pier")
    assert (await agent.recall(query)).found == [event, fact]


async def test_what_we_did_is_that_of_the_current_project_and_says_how_much_more_there_is(agent: Agent) -> None:
    mine = [await put(agent, f"Painted pier {n}.", 7 + n) for n in range(2)]
    others = [await put(agent, f"Elsewhere {n}.", 7, space=f"site-{n}") for n in range(3)]
    answer = await agent.recall("What did we do last week?")
    assert answer.found == mine
    assert "3 more in other projects" in answer.text
    assert (await agent.recall("What did we do in this project last week?")).found == mine
    assert "more in other" not in (await agent.recall("what happened last week in this project")).text
    assert set((await agent.recall("What did we do last week in all projects?")).found) == {*mine, *others}
    assert (await agent.recall("What did we do last week?", spaces=["site-1"])).found == [others[1]]


async def test_where_the_current_project_has_nothing_the_others_answer(agent: Agent) -> None:
    other = await put(agent, "Elsewhere.", 7, space="site")
    assert (await agent.recall("What did we do last week?")).found == [other]
    assert (await agent.recall("What did we do last week in this project?")).found == []


async def test_what_comes_in_one_project_is_told_without_what_words_find_in_others(agent: Agent) -> None:
    due = str((await agent.remember("Hand in the programme.", space="choir", event_time="2026-11-20"))["id"])
    without_day = str((await agent.remember("Choir deadline: when the hall is paid.", space="choir"))["id"])
    await agent.remember("The deadline of the choir grant is on 13 January.", space="thesis")
    answer = await agent.recall("any deadlines for the choir?")
    assert answer.found == [due, without_day]
    assert answer.text.startswith("2 notes in choir, soonest first.")


@pytest.mark.parametrize(
    "query", ["what's coming up from Friday?", "my appointments of 20 November", "Termine von Freitag bis Samstag"]
)
async def test_what_comes_is_not_looked_for_behind_because_of_a_word(agent: Agent, query: str) -> None:
    await agent.remember("The crane was oiled.", event_time="2025-11-20")
    coming = str((await agent.remember("The crane is tested.", event_time="2026-11-20"))["id"])
    await agent.remember("The gull was seen.", event_time="2026-10-30")
    friday = str((await agent.remember("The pier is painted.", event_time="2026-11-06"))["id"])
    assert set((await agent.recall(query)).found) <= {coming, friday}


async def test_whoever_goes_on_as_the_heading_says_sees_every_note_however_small_the_budget(agent: Agent) -> None:
    stored = {
        str(
            (await agent.remember(f"Berth {number} is let to {'a long list of owners, ' * 12}.", type="decision"))["id"]
        )
        for number in range(9)
    }
    seen, offset = set[str](), 0
    for _ in stored:
        answer = await agent.recall("", types=["decision"], offset=offset, budget=250)
        told = answer.text.split("Not shown:")[0]
        seen |= {note_id for note_id in stored if note_id in told}
        onwards = re.search(r"next: recall\(offset=(\d+)", answer.text)
        if onwards is None:
            break
        assert int(onwards[1]) > offset
        offset = int(onwards[1])
    assert seen == stored


@pytest.mark.parametrize("query", ["decisions from August", "everything from August", "decisions in August"])
async def test_what_is_from_a_month_is_not_what_comes_in_the_next_one(agent: Agent, query: str) -> None:
    made = str((await agent.remember("We rent the slipway.", type="decision", event_time="2026-08-12"))["id"])
    await agent.remember("We close for two weeks.", type="decision", event_time="2027-08-02")
    assert (await agent.recall(query)).found == [made]


@pytest.mark.parametrize("query", ["Any deadlines next month?", "what is planned for next month", "upcoming deadlines"])
async def test_what_is_to_come_is_found_by_its_own_time_soonest_first(agent: Agent, query: str) -> None:
    later = await put(agent, "Insurance papers go to the port authority.", -50)
    sooner = await put(agent, "Renew the crane's licence.", -30)
    await put(agent, "Painted the pier.", 1)
    assert (await agent.recall(query)).found[:2] == [sooner, later]


@pytest.mark.parametrize(
    "query",
    ["what do I have in {}?", "what is coming up in {}?", "anything in {}?", "was steht im {} an?", "¿qué hay en {}?"],
)
async def test_a_month_asks_for_what_is_to_come_in_it_before_what_was_stored_in_it_last(
    agent: Agent, query: str
) -> None:
    name = {"was": "Dezember", "¿qu": "diciembre"}.get(query[:3], "December")
    past = await put(agent, "Painted the pier.", 330)
    asked = query.format(name)
    if "coming" not in query:
        assert (await agent.recall(asked)).found == [past]
    to_come = await put(agent, "Renew the crane's licence.", -40)
    assert (await agent.recall(asked)).found == [to_come]


@pytest.mark.parametrize(
    "query",
    [
        "which deadlines do we have in December?",
        "what deadlines have we got in December?",
        "what comes in December?",
        "what happens in December?",
        "welche Fristen haben wir im Dezember?",
        "was passiert im Dezember?",
        "was kommt im Dezember?",
        "quelles échéances avons-nous en décembre ?",
        "qu'est-ce qui arrive en décembre ?",
        "que se passe-t-il en décembre ?",
        "¿qué plazos tenemos en diciembre?",
        "¿qué pasa en diciembre?",
        "¿qué viene en diciembre?",
    ],
)
async def test_a_month_that_is_named_with_what_is_due_is_as_good_as_next_month(agent: Agent, query: str) -> None:
    sooner, later = await put(agent, "Hand in the plans.", -32), await put(agent, "The lease ends.", -40)
    await put(agent, "The audit was closed.", 330)
    answer = await agent.recall(query)
    assert answer.found == [sooner, later]
    assert answer.text.startswith("2 notes of December 2026 in harbour and global, soonest first.")


async def test_which_deadlines_there_were_in_a_month_is_asked_of_the_last_one(agent: Agent) -> None:
    await put(agent, "Hand in the plans.", -32)
    answer = await agent.recall("which deadlines did we have in December?")
    assert "December 2026" not in answer.text
    assert answer.found == []


@pytest.mark.parametrize(
    "query", ["what did I get done last week?", "was war letzte Woche los?", "¿qué hubo la semana pasada?"]
)
async def test_what_was_done_is_a_list_in_other_words_too(agent: Agent, query: str) -> None:
    done = await put(agent, "Painted the pier.", 7)
    await put(agent, "Oiled the crane.", 20)
    assert (await agent.recall(query)).found == [done]


async def test_whether_there_is_anything_to_come_asks_for_a_list_of_it(agent: Agent) -> None:
    dated = await put(agent, "Renew the crane's licence.", -30)
    await put(agent, "The crane was painted.", 3)
    for query in ("anything coming up?", "anything due?"):
        assert (await agent.recall(query)).found == [dated], query


async def test_a_deadline_that_only_the_words_know_is_told_too(agent: Agent) -> None:
    written = str((await agent.remember("The deadlines for the crane papers are in the calendar."))["id"])
    dated = await put(agent, "Renew the crane's licence.", -30)
    assert (await agent.recall("Any deadlines?")).found == [dated, written]


@pytest.mark.parametrize(
    "query",
    [
        "you decide",
        "make a decision",
        "what's next?",
        "list all",
        "show recent changes",
        "status",
        "tell me everything",
    ],
)
async def test_what_asks_memory_nothing_is_no_list(agent: Agent, query: str) -> None:
    await put(agent, "Steel cable for the crane.", 1, type="decision")
    assert (await agent.recall(query)).found == []


async def test_a_question_about_a_matter_is_searched_and_not_listed(agent: Agent) -> None:
    await put(agent, "No gulls on the quay.", 1, type="decision")
    cable = await put(agent, "Steel cable for the crane.", 9, type="decision")
    for query in ("what did we decide about the crane cable?", "recent decisions about the crane cable"):
        answer = await agent.recall(query)
        assert (answer.found[0], answer["total"]) == (cable, None)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("what happened to the {} last week?", "hay"),
        ("what happened to the {} last week?", "hat"),
        ("what happened to my {} last week?", "son"),
        ("what happened to the {} last week?", "order"),
        ("what did we {} last week?", "order"),
        ("what did we decide about the {}?", "hay"),
        ("what did we decide about the {}?", "calendar"),
        ("decisions about {}", "hay"),
        ("what is in the {}?", "den"),
        ("where is the {}?", "den"),
        ("our {}", "son"),
        ("où est le {} ?", "four"),
    ],
)
async def test_a_thing_whose_name_is_a_small_word_of_another_language_is_searched_for(
    agent: Agent, query: str, word: str
) -> None:
    for n in range(3):
        await put(agent, f"Pier {n} was painted.", 7, type="decision")
    own = await put(agent, f"The {word} is dry again.", 7, type="decision")
    answer = await agent.recall(query.format(word))
    assert (answer.found[:1], answer["total"]) == ([own], None)


@pytest.mark.parametrize(
    "query",
    ["when does the {} open?", "is the {} open?", "When will our {} open?", "where is our {}?", "wo ist unsere {}?"],
)
async def test_what_is_asked_of_a_place_that_has_the_name_of_a_space_is_no_list_of_that_space(
    agent: Agent, query: str
) -> None:
    opens = await put(agent, "The bakery is opposite the town hall and opens at seven.", 9, space="bakery")
    await put(agent, "Flour comes on Tuesdays.", 1, space="bakery")
    answer = await agent.recall(query.format("bakery"))
    assert (answer.found[:1], answer["total"]) == ([opens], None)


@pytest.mark.parametrize("query", ["what is open in tollgate?", "open notes in tollgate", "anything open in tollgate"])
async def test_what_is_open_in_a_space_is_a_list_of_it(agent: Agent, query: str) -> None:
    notes = [await put(agent, f"Gate {n} is to be painted.", n, space="tollgate") for n in range(2)]
    assert (await agent.recall(query)).found == notes


async def fair(agent: Agent) -> tuple[str, str, str]:
    """What is to come, noted in October; then two that were noted this Tuesday, of which one tells of the spring."""
    agent.clock.set(ASKED - timedelta(days=20))
    to_come = await put(agent, "The harbour fair is opened.", -57)
    agent.clock.set(ASKED - timedelta(days=1))
    told = await put(agent, "The old pier was sold.", 200)
    done = await put(agent, "Painted the crane.", 2)
    agent.clock.set(ASKED)
    return to_come, told, done


@pytest.mark.parametrize(
    "query",
    [
        "what is new since Monday?",
        "what was stored since Monday?",
        "what did I note yesterday?",
        "was ist neu seit Montag?",
        "quoi de neuf depuis lundi ?",
        "¿qué hay de nuevo desde el lunes?",
    ],
)
async def test_what_is_new_since_a_day_is_what_was_noted_since_whenever_it_happens(agent: Agent, query: str) -> None:
    _, told, done = await fair(agent)
    assert (await agent.recall(query)).found == [done, told]


OF_OLD = [
    "What is my oldest note?",
    "oldest notes",
    "What was the first thing I told you?",
    "what's the earliest thing you know?",
    "die ältesten Notizen",
    "les notes les plus anciennes",
    "las notas más antiguas",
    "our very first notes",
]


@pytest.mark.parametrize("query", OF_OLD)
async def test_what_is_of_old_is_listed_from_the_oldest_on(agent: Agent, query: str) -> None:
    ids = [await put(agent, f"The lamp of day {number} was lit.", number) for number in (40, 9, 2)]
    answer = await agent.recall(query)
    assert answer.found == ids
    assert answer.text.startswith("3 notes in harbour and global, oldest first.")


async def test_the_first_things_to_do_are_no_notes_of_old(agent: Agent) -> None:
    await put(agent, "The lamp of day 40 was lit.", 40)
    first = await put(agent, "After moving in, call the water works and change the locks.", 2)
    answer = await agent.recall("What are the first things to do after moving in?")
    assert answer.found[0] == first
    assert "oldest first" not in answer.text


async def test_the_first_of_a_kind_are_the_oldest_of_it(agent: Agent) -> None:
    ids = await seventeen(agent)
    answer = await agent.recall("what were the first three decisions in tollgate?")
    assert (answer.found, answer["total"]) == (ids[:-4:-1], 17)
    assert answer.text.startswith("17 decisions in tollgate, oldest first")
    assert (await agent.recall("decisions in tollgate, newest first")).found == ids[:10]


OF_ALL = [
    "how many notes are stored?",
    "How many notes do you have?",
    "what do you remember?",
    "What did I tell you last?",
    "what was the last thing I told you?",
    "what's in your memory?",
    "les notes les plus récentes",
    "wie viele Notizen gibt es?",
    "woran erinnerst du dich?",
    "de quoi te souviens-tu ?",
    "¿qué recuerdas?",
]


@pytest.mark.parametrize("query", OF_ALL)
async def test_who_asks_what_is_remembered_is_told_how_much_and_the_latest(agent: Agent, query: str) -> None:
    ids = [await put(agent, f"The lamp of day {number} was lit.", number) for number in (40, 9, 2)]
    answer = await agent.recall(query)
    assert answer.found == ids[::-1]
    assert answer.text.startswith("3 notes in harbour and global, newest first.")


@pytest.mark.parametrize(
    "query",
    ["What do you remember about the lamp?", "what did I tell you about the lamp last?", "how many lamps are lit?"],
)
async def test_a_question_that_names_a_thing_is_none_for_all_notes(agent: Agent, query: str) -> None:
    lamp = await put(agent, "Seven lamps are lit at night.", 30)
    await put(agent, "Rope is sold by the metre.", 2)
    assert (await agent.recall(query)).found[0] == lamp


@pytest.mark.parametrize("query", ["what are the latest notes?", "recent notes", "die neuesten Notizen"])
async def test_among_the_latest_notes_what_is_to_come_stands_where_it_was_noted(agent: Agent, query: str) -> None:
    to_come, told, done = await fair(agent)
    assert (await agent.recall(query)).found == [done, to_come, told]


async def test_what_is_new_and_still_to_come_is_told_and_of_what_comes_its_own_time_counts(agent: Agent) -> None:
    to_come, *_ = await fair(agent)
    new = await put(agent, "The licence runs out.", -30)
    assert (await agent.recall("what is new since Monday?")).found[0] == new
    assert (await agent.recall("notes since Monday")).found[0] == new
    assert to_come not in (await agent.recall("notes since Monday")).found
    assert (await agent.recall("what is due?")).found == [new, to_come]
    assert (await agent.recall("notes after 20 December")).found == [to_come]


# --- versions of one fact on a list ----------------------------------------------------------------


def earlier(answer: Answer) -> dict[str, list[str]]:
    """The ids of the older versions behind each entry that has any."""
    return {hit["id"]: [line[-21:-1] for line in hit["earlier"]] for hit in answer["results"] if "earlier" in hit}


@pytest.mark.parametrize(
    "asked",
    [
        {"query": "*", "spaces": ["harbour"]},
        {"query": "what are the latest notes?"},
    ],
)
async def test_on_a_list_the_older_version_stands_behind_the_newer_in_one_line(
    agent: Agent, asked: dict[str, object]
) -> None:
    old = await put(agent, "The crane inspection takes place on Tuesday.", 30)
    other = await put(agent, "The pier was painted green.", 20)
    new = await put(agent, "The crane inspection now takes place on Thursday.", 10)
    answer = await agent.call("recall", **asked)
    assert answer.found == [new, other]
    assert earlier(answer) == {new: [old]}
    (line,) = [line for line in answer.text.splitlines() if old in line]
    assert "earlier: The crane inspection takes place on Tuesday" in line
    if "total" in answer.structured and asked["query"] == "*":
        assert answer["total"] == 3
        assert answer.text.startswith("3 notes in harbour, newest first.")


async def test_of_what_was_done_each_stands_for_itself(agent: Agent) -> None:
    old = await put(agent, "The crane inspection takes place on Tuesday.", 30)
    new = await put(agent, "The crane inspection now takes place on Thursday.", 10)
    answer = await agent.recall("what happened in October?")
    assert (answer.found, earlier(answer)) == ([new, old], {})


async def test_what_is_due_has_the_newer_date_and_the_older_one_behind_it(agent: Agent) -> None:
    old = await put(agent, "Deploy the harbour console on Tuesday.", -6)
    agent.clock.forward(days=1)
    new = await put(agent, "The harbour console deploys now on Thursday.", -8)
    answer = await agent.recall("what is due?")
    assert answer.found == [new]
    assert earlier(answer) == {new: [old]}


async def test_what_is_known_about_the_user_has_each_matter_once(agent: Agent) -> None:
    old = await put(agent, "The user's favourite editor is Vim.", 40, about_self=True)
    other = await put(agent, "The user keeps bees.", 20, about_self=True)
    new = await put(agent, "The user's favourite editor is Zed.", 10, about_self=True)
    answer = await agent.recall("what do you know about me?")
    assert sorted(answer.found) == sorted([new, other])
    assert earlier(answer) == {new: [old]}


async def test_pages_of_a_list_with_versions_hold_every_note_once(agent: Agent) -> None:
    ids = [await put(agent, f"The harbour office has {n} desks.", 40 - n) for n in range(3, 6)]
    ids += [await put(agent, f"{colour} buoys lie off the pier.", 20) for colour in ("Red", "Green", "Blue", "White")]
    seen: list[str] = []
    for offset in range(0, 7, 2):
        page = await agent.call("recall", spaces=["harbour"], offset=offset, limit=2)
        seen += [*page.found, *(end for each in earlier(page).values() for end in each)]
    assert sorted(seen) == sorted(ids)


async def test_with_include_outdated_a_list_folds_nothing(agent: Agent) -> None:
    ids = [await put(agent, f"The harbour office has {n} desks.", 40 - n) for n in (3, 4)]
    answer = await agent.call("recall", spaces=["harbour"], include_outdated=True)
    assert sorted(answer.found) == sorted(ids)


@pytest.mark.parametrize(
    ("query", "ago"),
    [("today", 0), ("heute", 0), ("hoy?", 0), ("yesterday", 1), ("gestern", 1)],
)
async def test_words_of_time_alone_list_what_is_from_then(agent: Agent, query: str, ago: int) -> None:
    days = {number: await put(agent, text, number) for number, text in enumerate(["Oiled the crane.", "Paid Ann."])}
    assert (await agent.recall(query)).found == [days[ago]]


@pytest.mark.parametrize("query", ["since Monday", "since last Monday?", "seit Montag", "depuis lundi", "after Sunday"])
async def test_a_time_with_an_open_end_lists_what_is_from_then(agent: Agent, query: str) -> None:
    recent = await put(agent, "Oiled the crane.", 1)
    await put(agent, "Paid Ann.", 9)
    assert (await agent.recall(query)).found == [recent]


@pytest.mark.parametrize("query", ["bis morgen", "hasta ma\u00f1ana", "until tomorrow"])
async def test_a_goodbye_lists_nothing(agent: Agent, query: str) -> None:
    await put(agent, "Oiled the crane.", 1)
    assert (await agent.recall(query)).found == []


async def test_a_month_with_its_year_alone_is_looked_for_in_the_notes_too(agent: Agent) -> None:
    told = await put(agent, "The permit was paid for March 2026.", 40)
    await put(agent, "Oiled the crane.", (ASKED - datetime(2026, 3, 10, tzinfo=UTC)).days)
    assert told in (await agent.recall("March 2026")).found


@pytest.mark.parametrize(
    "query",
    [
        "what's on the calendar?",
        "what is in my diary?",
        "was steht an?",
        "was kommt auf mich zu?",
        "¿qué viene próximamente?",
        "what's ahead?",
    ],
)
async def test_what_is_to_come_is_a_list_in_other_words_too(agent: Agent, query: str) -> None:
    later, sooner = await put(agent, "Renew the licence.", -30), await put(agent, "Meet the harbour master.", -3)
    await put(agent, "Painted the pier.", 1)
    assert (await agent.recall(query)).found == [sooner, later]


@pytest.mark.parametrize(
    "query", ["diary for December", "what is in the calendar for December?", "my diary of 4 December"]
)
async def test_the_calendar_of_a_time_is_what_is_to_come_then(agent: Agent, query: str) -> None:
    later, _ = await put(agent, "Renew the licence.", -30), await put(agent, "Meet the harbour master.", -3)
    await agent.remember("My diary is in the red drawer.")
    assert (await agent.recall(query)).found == [later]


async def test_what_happened_in_this_month_is_not_what_is_yet_to_happen(agent: Agent) -> None:
    done = await put(agent, "Painted the pier.", 0)
    await agent.remember("Ann prefers tea.", type="preference")
    await put(agent, "Meet the harbour master.", -1)
    assert (await agent.recall("what happened since yesterday?")).found == [done]


async def test_entries_of_one_form_stand_for_themselves_on_a_list(agent: Agent) -> None:
    named = ("queue", "ledger", "invoice", "tariff")
    texts = [f"In the quay project the {name} is written in Rust, since it is cheap to run." for name in named]
    ids = [await put(agent, text, 30 * place, type="decision") for place, text in enumerate(texts)]
    assert (await agent.recall("list all decisions")).found == ids


@pytest.mark.parametrize(
    ("query", "given"),
    [("decisions", {}), ("decisions", {"types": ["decision"]}), ("decision", {"types": ["decision"]})],
)
async def test_the_name_of_a_type_alone_lists_what_is_of_it(
    agent: Agent, query: str, given: dict[str, list[str]]
) -> None:
    later = await put(agent, "The bakery closes on Sundays.", 2, type="decision")
    sooner = await put(agent, "Oak for the stairs.", 9, type="decision")
    await put(agent, "Parking is behind the bakery.")
    assert (await agent.recall(query, **given)).found == [later, sooner]


async def test_where_nothing_of_the_type_is_from_then_other_notes_of_then_are_told_as_such(agent: Agent) -> None:
    await put(agent, "We go with plan 1.", 9, type="decision")
    other, agreed = await put(agent, "Parking is behind the bakery.", 200), await put(agent, "We agreed on oak.", 201)
    answer = await agent.recall("decisions in April")
    assert answer.text.startswith("no decision; 2 notes of April 2026 in harbour and global, newest first.")
    assert {hit["id"]: hit["weak"] for hit in answer["results"]} == {other: True, agreed: False}
    openly = await agent.recall("what did we decide in April?")
    assert not any(hit["weak"] for hit in openly["results"]), "it may be a decision all the same"


async def test_what_is_due_at_another_time_is_not_on_the_list_however_well_its_words_fit(agent: Agent) -> None:
    soon = await put(agent, "Lease of the office signed.", -3, type="event")
    later = await put(agent, "The tax filing is due on 22 December.", -48, type="event")
    answer = await agent.recall("what is due before the end of the month?")
    assert answer.found == [soon]
    assert (await agent.recall("what is due in December?")).found == [later]


async def test_what_is_due_before_a_day_is_what_is_to_come_until_then(agent: Agent) -> None:
    later = await put(agent, "The tax filing is handed in.", -48, type="event")
    soon = await put(agent, "Lease of the office signed.", -3, type="event")
    next_week = await put(agent, "Season nine launches.", -8, type="event")
    await put(agent, "Gems were refunded.", 90, type="event")
    for query, right in (
        ("events before 10 December", [soon, next_week]),
        ("what's due before Monday?", [soon]),
        ("events in the next two weeks", [soon, next_week]),
        ("deadlines before the end of the year", [soon, next_week, later]),
        ("events after 5 December", [later]),
    ):
        answer = await agent.recall(query)
        assert answer.found == right, query
        assert "soonest first" in answer.text, query


# --- days that a text names ------------------------------------------------------------------------


async def told(agent: Agent, *texts: str) -> list[str]:
    return [str((await agent.remember(text))["id"]) for text in texts]


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("What's on 12 December?", "on 12 December"),
        ("What's due on December 12th?", "on 12/12"),
        ("What happens on 12 December?", "December 12th"),
        ("what is on 2026-12-12?", "am 12. Dezember"),
        ("what is on 12/12?", "2026-12-12"),
        ("Was ist am 12. Dezember?", "am 12.12."),
        ("was steht am 12.12. an?", "le 12 décembre"),
        ("¿Qué hay el 12 de diciembre?", "il 12 dicembre"),
        ("Qu'est-ce qu'il y a le 12 décembre ?", "el 12 de diciembre"),
        ("Cosa c'è il 12 dicembre?", "from 11 to 13 December"),
    ],
)
async def test_what_names_the_day_in_its_text_is_on_its_list_and_no_other_day_is(
    agent: Agent, query: str, day: str
) -> None:
    (visit, *_) = await told(
        agent,
        f"Inspector: {day} at ten.",
        "The VAT return is due on 11 December.",
        "Staff parties are held on 24 December.",
        "The hens lay two eggs in December.",
        "12 of the hens were sold.",
    )
    dentist = await put(agent, "Dentist for Lena.", -38, type="event")
    answer = await agent.recall(query)
    assert set(answer.found) == {visit, dentist}
    assert answer.text.startswith("2 notes of 12 December 2026 in harbour and global, soonest first.")
    assert answer["total"] == 2


async def test_what_is_due_is_told_in_order_also_where_only_the_text_says_when(agent: Agent) -> None:
    (vat, fair, *_) = await told(
        agent,
        "The VAT return is due on 11 December.",
        "The market is from 13 to 15 December.",
        "Hay for the goats comes from the Moser farm.",
        "The lease is due on 20 December.",
        "The rent is due.",
    )
    first, last = await put(agent, "Hand in the plans.", -30), await put(agent, "Season nine launches.", -38)
    answer = await agent.recall("What's due before 15 December?")
    assert answer.found == [first, vat, last, fair]
    assert answer.text.startswith("4 notes of 4 November to 14 December 2026 ")
    assert answer["total"] == 4
    assert (await agent.recall("what is coming up on 14 December?")).found == [fair]
    again = await agent.recall("What's due before 15 December?", limit=3, offset=3)
    assert (again.found, again["total"]) == ([fair], 4)


async def test_how_many_there_are_in_other_projects_is_counted_there_alone(agent: Agent) -> None:
    """Those of the other project would rank before these, so that not all of these were counted beside them."""
    for number in range(40):
        await agent.remember(f"Visitor {number} of the harbour and of all its many old cranes comes on 12 December.")
    for number in range(12):
        day = 12 if number < 3 else 11
        await agent.remember(f"{day} December, 12, 2026: tour {number}.", space="quay")
    answer = await agent.recall("What's on 12 December?")
    assert answer["total"] == 40
    assert "3 more in other projects" in answer.text


async def test_where_not_all_were_looked_at_the_number_in_other_projects_is_the_least(agent: Agent) -> None:
    await told(agent, "The inspector comes on 12 December.")
    for number in range(50):
        await agent.remember(f"Tour {number} is on 12 December.", space="quay")
    answer = await agent.recall("What's on 12 December?")
    assert answer["total"] == 1
    assert "48 or more in other projects" in answer.text


@pytest.mark.parametrize(
    "query",
    [
        "What is due in two weeks?",
        "what is coming in two weeks?",
        "anything in 14 days?",
        "was steht in zwei Wochen an?",
        "qu'est-ce qui est prévu dans deux semaines ?",
        "¿Qué hay dentro de dos semanas?",
    ],
)
async def test_what_is_on_in_so_many_weeks_is_a_list_of_the_days_around_then(agent: Agent, query: str) -> None:
    right = await put(agent, "Renew the crane's licence.", -14)
    await put(agent, "Season nine launches.", -3)
    await told(agent, "The farrier comes every two weeks.")
    assert (await agent.recall(query)).found == [right]


async def test_the_number_of_a_list_is_that_of_all_its_notes(agent: Agent) -> None:
    await told(agent, "The deadlines for the crane papers are in the calendar.")
    await put(agent, "Renew the crane's licence.", -30)
    answer = await agent.recall("Any deadlines?")
    assert answer["total"] == 2
    assert answer.text.startswith("2 notes in harbour and global, soonest first.")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("decisions in March", "1 decision of March 2026 in"),
        ("decisions since 1 March", "1 decision since 1 March 2026 in"),
        ("decisions in 2026", "1 decision of 2026 in"),
        ("what did we decide on 4 March?", "1 decision of 4 March 2026 in"),
        ("list all decisions", "1 decision in"),
    ],
)
async def test_a_list_says_of_which_time_it_is(agent: Agent, query: str, said: str) -> None:
    await put(agent, "We go with oak.", 245, type="decision")
    assert (await agent.recall(query)).text.startswith(said)


AGENDA = (
    "what is on this week?",
    "what do I have this week?",
    "what's happening this week?",
    "what does this week look like?",
    "do we have any plans this week?",
    "was steht diese Woche an?",
    "was habe ich diese Woche vor?",
    "qu'est-ce que j'ai cette semaine ?",
    "¿qué tengo esta semana?",
)


@pytest.mark.parametrize("query", AGENDA)
async def test_what_is_on_is_what_comes_and_not_what_was_noted(agent: Agent, query: str) -> None:
    today = str((await agent.remember("The rent is due.", event_time="2026-11-04"))["id"])
    said = str((await agent.remember("Hiking with Ida on 7 November."))["id"])
    soon = await put(agent, "The dentist sees Ida.", -1)
    await put(agent, "The offsite was held.", 2)
    await agent.remember("The printer needs a TN-247.")
    answer = await agent.recall(query)
    assert answer.found == [today, soon, said]
    assert answer.text.startswith("3 notes of 2 to 8 November 2026 in harbour and global, soonest first.")


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("what's on tomorrow?", -1),
        ("what have I got on tomorrow?", -1),
        ("anything on Saturday?", -3),
        ("am I free on Saturday?", -3),
        ("what is on at the weekend?", -3),
        ("was steht am Wochenende an?", -3),
        ("¿qué planes tengo para el fin de semana?", -3),
        ("what do I have the week after next?", -13),
        ("was ist übernächste Woche los?", -13),
        ("anything on the 27th?", -23),
        ("what do we have at Christmas?", -50),
    ],
)
async def test_each_day_that_comes_has_its_own_list(agent: Agent, query: str, day: int) -> None:
    ids = {each: await put(agent, f"Meeting {each} with the harbour master.", each) for each in (-1, -3, -13, -23, -50)}
    await agent.remember("The printer needs a TN-247.")
    assert (await agent.recall(query)).found == [ids[day]]


@pytest.mark.parametrize(
    "query", ["what is on at the theatre this week?", "what do we have for the theatre this week?"]
)
async def test_what_is_on_at_a_place_is_searched_for(agent: Agent, query: str) -> None:
    premiere = await put(agent, "The theatre shows Faust.", -2)
    await put(agent, "The dentist sees Ida.", -1)
    answer = await agent.recall(query)
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == [premiere]


@pytest.mark.parametrize(
    "query", ["what do we have from this week?", "notes from this week", "what did we do this week?"]
)
async def test_what_is_from_a_week_is_no_agenda(agent: Agent, query: str) -> None:
    printer = str((await agent.remember("The printer needs a TN-247."))["id"])
    assert printer in (await agent.recall(query)).found


async def test_where_nothing_comes_what_is_from_then_is_told(agent: Agent) -> None:
    printer = str((await agent.remember("The printer needs a TN-247."))["id"])
    assert (await agent.recall("what do I have this week?")).found == [printer]


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("what is on this weekend?", "7 to 8 November 2026"),
        ("was ist dieses Wochenende los?", "7 to 8 November 2026"),
        ("what is happening this week?", "2 to 8 November 2026"),
        ("what is on today?", "7 November 2026"),
        ("what do I have tomorrow?", "8 November 2026"),
        ("qu'est-ce que j'ai demain ?", "8 November 2026"),
        ("¿qué hay previsto para hoy?", "7 November 2026"),
    ],
)
async def test_where_nothing_is_planned_that_is_said_and_nothing_listed_that_was_only_noted(
    agent: Agent, query: str, days: str
) -> None:
    agent.clock.forward(days=3)  # Saturday
    await agent.remember("The printer needs a TN-247.")
    answer = await agent.recall(query)
    assert answer.found == []
    assert f"No note says that anything is planned for {days}." in answer["notices"]
    choir = await put(agent, "Choir with Ida.", -4, type="event")
    if days != "7 November 2026":
        assert (await agent.recall(query)).found == [choir]


async def test_what_is_on_is_not_what_has_a_word_of_the_question_nor_what_was_on_a_year_ago(agent: Agent) -> None:
    await agent.remember("The audit is in the hall.")
    assert (await agent.recall("what is on today?")).found == []
    await put(agent, "The boats were painted.", 321)
    assert (await agent.recall("what is on on the Thursday before Christmas?")).found == []


async def test_what_was_told_to_be_in_a_week_is_on_the_list_of_next_week(agent: Agent) -> None:
    trip, other = await told(agent, "Trip to Graz in a week.", "In einer Woche kommt der Glaser.")
    await told(agent, "The glue takes a day in a week.", "We leave in three weeks.")
    assert set((await agent.recall("what is on next week?")).found) == {trip, other}
    assert (await agent.recall("what is on today?")).found == []


async def test_what_was_on_today_is_told_also_when_it_is_over(agent: Agent) -> None:
    call = str((await agent.remember("The pilot call.", event_time="2026-11-04T09:00:00Z"))["id"])
    await agent.remember("The printer needs a TN-247.")
    assert (await agent.recall("what is on today?")).found == [call]


async def test_what_comes_round_on_the_day_that_is_asked_about_is_found_by_its_name(agent: Agent) -> None:
    choir = str((await agent.remember("Choir every Thursday at seven."))["id"])
    await agent.remember("The printer needs a TN-247.")
    assert (await agent.recall("what is on on Thursday?")).found == [choir]


async def test_what_happened_has_nothing_on_it_that_is_said_of_a_day_to_come(agent: Agent) -> None:
    await agent.remember("Hiking with Ida on 8 November.")
    agent.clock.forward(days=3)  # Saturday
    rowed = str((await agent.remember("Rowed with Ida today."))["id"])
    assert (await agent.recall("what happened today?")).found == [rowed]
    agent.clock.forward(days=1)
    assert len((await agent.recall("what's on today?")).found) == 1


async def test_what_is_due_today_without_an_hour_is_due_until_the_day_is_over(agent: Agent) -> None:
    rent = str((await agent.remember("The rent.", event_time="2026-11-04"))["id"])
    await put(agent, "The morning call.", 0, type="event")
    later = await put(agent, "The lease ends.", -20)
    assert (await agent.recall("what is due?")).found[:1] == [rent]
    assert later in (await agent.recall("what is due?")).found
    assert rent in (await agent.recall("what is due today?")).found


# --- notes of a form -------------------------------------------------------------------------------

TO_DO = (
    "TODO: grease the winch.",
    "I still have to call the chandler about the rope.",
    "Need to order brake pads for the cart.",
    "The harbour dues must be paid by 15 December.",
    "Ich muss noch die Boje anmelden.",
    "Il faut encore peindre la barque.",
    "Tengo que renovar el seguro de la lancha.",
    "Encore à faire : repeindre le ponton.",
)
NOTHING_TO_DO = (
    "TODO: paint the shed. Done on Sunday.",
    "[x] Sweep the slipway.",
    "We must never moor at the fuel pier.",
    "Whoever boards the tug must wear a vest.",
    "Ingrid needs to rest after the surgery.",
    "The todo app of the crew is Things.",
    "The plan must be signed by Ingrid.",
    "- [x] Sweep the slipway.\n- [x] Oil the winch.",
    "A box before a line, as in - [ ] here, is ticked off in most editors.",
    "int[ ] berths = new int[ ] {1, 2};",
)


@pytest.mark.parametrize(
    "query",
    [
        "what have I still to do?",
        "what's left to do?",
        "what do I still have to do?",
        "my to-dos",
        "todo list",
        "to-dos",
        "what is still open?",
        "open tasks",
        "open todos",
        "outstanding tasks",
        "action items",
        "what's still to do in harbour?",
        "what is left to do for harbour?",
        "was ist noch zu tun in harbour?",
        "was ist in harbour noch zu tun?",
        "tareas pendientes",
        "which tasks are still open in harbour?",
        "what is still to do at harbour?",
        "how many open to-dos are there?",
        "was muss ich noch erledigen?",
        "meine offenen Aufgaben",
        "que me reste-t-il à faire ?",
        "mes tâches",
        "¿qué me queda por hacer?",
    ],
)
async def test_what_is_still_to_do_is_known_by_its_form_or_its_tag(agent: Agent, query: str) -> None:
    ids = await told(agent, *TO_DO)
    await told(agent, *NOTHING_TO_DO)
    await agent.remember("You have to pass --force to the script.", type="procedure")
    ids.append(str((await agent.remember("A card for Nils.", tags=["todo"]))["id"]))
    await agent.remember("A cake for Nils.", tags=["todo", "done"])
    (gone,) = await told(agent, "TODO: book the ferry.")
    await agent.outdate(gone)
    answer = await agent.recall(query)
    assert answer.found == ids[::-1]
    assert answer.text.startswith("9 to-dos in harbour")


@pytest.mark.parametrize(
    "content",
    [
        "Harbour: we still have to scrape the hull.",
        "Harbour: reminder to scrape the hull",
        "To do for the pier: nail down the loose boards.",
        "Aufgaben bis Ostern: die Winde fetten.",
        "À faire avant Noël : caréner la barque",
        "Wei still owes us the signed berth contract.",
        "Someone needs to scrape the hull before March.",
        "We haven't renewed the mooring yet.",
        "The diver still has to come back.",
        "Ingrid has to send the berth invoice by Friday.",
        "Next step: scrape the hull.",
        "Follow up with Nils about the berth.",
        "Not done yet: the survey of the hull.",
        "The survey of the hull is still missing.",
        "The user needs to renew the radio licence.",
        "The hull still needs painting.",
        "Die Kaution steht noch aus.",
        "Der Rumpf muss noch gestrichen werden.",
        "Die Rechnung des Tauchers ist noch nicht bezahlt.",
        "Le plongeur doit encore passer.",
        "El buzo todavía tiene que firmar.",
        "Falta comprar las defensas.",
        "Open: calibrate the thermometer.",
        "- [ ] Scrape the hull\n- [ ] Book the diver",
        "* [ ] Scrape the hull",
        "1. [x] Book the diver\n2. [ ] Scrape the hull",
        "Before the winter\n\n- [x] Book the diver\n  - [ ] Scrape the hull",
    ],
)
async def test_what_is_to_do_may_be_behind_a_name_or_be_somebody_elses(agent: Agent, content: str) -> None:
    ids = await told(agent, content)
    await told(agent, *NOTHING_TO_DO)
    answer = await agent.recall("what have I still to do?")
    assert answer.found == ids
    assert answer.text.startswith("1 to-do in harbour")


@pytest.mark.parametrize(
    "content",
    [
        "The pool is still open in October.",
        "House rules: we have to be quiet after 22:00.",
        "The winch still has a fault with long ropes.",
        "Ben still lives in Leeds.",
        "Ingrid has to approve every trip.",
        "We haven't had an accident yet this year.",
        "The survey is still missing-page tolerant.",
        "Falta de agua en julio: la bomba se paró.",
    ],
)
async def test_what_lasts_or_comes_round_is_nothing_to_do(agent: Agent, content: str) -> None:
    ids = await told(agent, "TODO: grease the winch.")
    await told(agent, content)
    assert (await agent.recall("what have I still to do?")).found == ids


@pytest.mark.parametrize(
    "query",
    [
        "open todos in harbour and vineyard",
        "what's still to do in harbour and the vineyard project?",
        "was ist in harbour und vineyard noch zu tun?",
        "tareas pendientes en harbour y vineyard",
    ],
)
async def test_a_list_can_be_asked_of_two_projects(agent: Agent, query: str) -> None:
    ids = await told(agent, "TODO: grease the winch.")
    ids.append(str((await agent.remember("TODO: prune the vines.", space="vineyard"))["id"]))
    await agent.remember("TODO: sweep the chimney.", space="lodge")
    answer = await agent.recall(query)
    assert answer.found == ids[::-1]
    assert answer.text.startswith("2 to-dos in harbour and vineyard, newest first")


async def test_a_list_of_two_projects_that_is_empty_names_both(agent: Agent) -> None:
    await told(agent, "TODO: grease the winch.")
    await agent.remember("Mira keeps the vineyard's certificates.", space="vineyard")
    assert (
        "No decision is in harbour and vineyard."
        in (await agent.recall("decisions in harbour and vineyard"))["notices"]
    )


async def test_what_is_to_do_elsewhere_does_not_push_a_project_off_its_list(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_DUE", 3)
    ids = await told(agent, "TODO: grease the winch.")
    for number in range(4):
        await agent.remember(f"TODO: prune row {number} of the vines.", space="vineyard")
    assert (await agent.recall("what's still to do in harbour?")).found == ids


@pytest.mark.parametrize(
    "query", ["which tasks did we finish?", "tasks about the winch", "what tasks does the tug do?", "muestra todos"]
)
async def test_a_question_about_certain_tasks_is_no_list_of_what_is_to_do(agent: Agent, query: str) -> None:
    await told(agent, *TO_DO)
    assert "to-dos" not in (await agent.recall(query)).text


@pytest.mark.parametrize(
    ("query", "lacking"),
    [
        ("what's still to do in vineyard?", "No to-do is in vineyard."),
        ("was ist in vineyard noch zu tun?", "No to-do is in vineyard."),
        ("decisions in vineyard", "No decision is in vineyard."),
        ("which people are in vineyard?", "No person is in vineyard."),
        ("decisions in this project", "No decision is in harbour."),
    ],
)
async def test_of_a_list_with_nothing_on_it_that_is_said_and_nothing_beside_it_is_strong(
    agent: Agent, query: str, lacking: str
) -> None:
    await told(agent, *TO_DO)
    await agent.remember("Mira keeps the vineyard's certificates.", space="vineyard")
    await agent.remember("The vineyard's pump runs at night, when power is cheap.", space="vineyard")
    await agent.remember("The project's pump runs at night, when power is cheap.")
    answer = await agent.recall(query)
    assert lacking in answer["notices"]
    assert [hit["id"] for hit in answer["results"] if not hit["weak"]] == []
    assert len({hit.get("space") for hit in answer["results"]}) <= 1


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("decisions in vineyard", {"tags": ["wine"]}),
        ("decisions in vineyard", {"tiers": ["archival"]}),
        ("decisions in vineyard", {"created_after": "2026-11-01"}),
        ("decisions in vineyard in March 2026", {}),
        ("what's still to do in vineyard?", {"types": ["procedure"]}),
    ],
)
async def test_that_nothing_is_on_a_list_is_not_said_where_a_filter_or_a_time_takes_it_away(
    agent: Agent, query: str, given: dict[str, object]
) -> None:
    await put(agent, "We press the grapes by hand.", 30, type="decision", space="vineyard")
    await put(agent, "TODO: order new corks.", 30, space="vineyard")
    answer = await agent.recall(query, **given)
    assert not any("is in vineyard" in notice and notice.startswith("No ") for notice in answer["notices"])


async def test_what_stands_behind_another_on_a_list_stays_there_where_a_note_beside_it_is_newer_still(
    agent: Agent,
) -> None:
    await put(agent, "We use Redis 7 as the cache of the gateway.", 30, type="decision")
    new = await put(agent, "The cache of the gateway is Memcached now, no longer Redis 7.", 20, type="decision")
    last = await put(agent, "The cache of the gateway is Valkey 8 now, no longer Memcached.", 3, type="fact")
    answer = await agent.recall("recent decisions")
    assert answer.found == [new]
    assert f"newer: {last} says otherwise" in answer.text
    assert "earlier: We use Redis 7" in answer.text


@pytest.mark.parametrize(
    "query", ["any deadlines this month?", "what happens this month?", "what is planned this month?"]
)
async def test_a_day_of_this_month_that_was_put_off_says_so_on_a_list_of_what_comes(agent: Agent, query: str) -> None:
    agent.clock.set(ASKED.replace(day=2))
    old = await agent.remember(f"The tax return has to be filed by 28 {ASKED:%B}.")
    agent.clock.forward(days=5)
    new = await agent.remember("The deadline for the tax return was moved to 28 February.")
    answer = await agent.recall(query)
    assert answer.found == [old["id"]]
    assert f"newer: {new['id']} says otherwise" in answer.text


async def test_what_is_still_to_come_takes_no_decision_back(agent: Agent) -> None:
    old = await put(agent, "We use Redis 7 as the cache of the gateway.", 30, type="decision")
    await put(agent, "The cache of the gateway is Valkey 8 now, no longer Redis 7.", -60, type="fact")
    answer = await agent.recall("recent decisions")
    assert [(hit["id"], hit["why"]) for hit in answer["results"]] == [(old, "listed")]


async def test_a_decision_that_a_note_of_another_type_took_back_says_so_on_the_list(agent: Agent) -> None:
    old = await put(agent, "We use Redis 7 as the cache of the gateway.", 30, type="decision")
    await put(agent, "We write the exporter of the gateway in Go.", 28, type="decision")
    new = await put(agent, "The cache of the gateway is Valkey 8 now, no longer Redis 7.", 3, type="fact")
    answer = await agent.recall("recent decisions")
    assert [hit["why"] for hit in answer["results"]] == ["listed", f"listed; newer: {new} says otherwise"]
    assert f"{old} decision 2026-10-05 listed (newer: {new} says otherwise)" in answer.text


async def test_what_tells_in_other_words_of_what_is_not_on_a_list_is_found(agent: Agent) -> None:
    await agent.remember("Decisions in the vineyard are made by Mira alone.", space="vineyard")
    answer = await agent.recall("decisions in vineyard")
    assert "No decision is in vineyard." in answer["notices"]
    assert [hit["weak"] for hit in answer["results"]] == [False]


async def test_of_to_dos_the_filters_hold(agent: Agent) -> None:
    (here,) = await told(agent, "TODO: grease the winch.")
    there = str((await agent.remember("TODO: dust the loft.", space="loft"))["id"])
    assert (await agent.recall("my to-dos")).found == [here]
    assert (await agent.recall("my to-dos", spaces=["loft"])).found == [there]
    assert set((await agent.recall("open tasks in all projects")).found) == {here, there}
    assert (await agent.recall("what's still to do in loft?")).found == [there]
    assert "to-do" not in (await agent.recall("what's still to do in the cellar?")).text
    assert (await agent.recall("my to-dos", tags=["red"])).found == []


WISHES = (
    "I would rather have short answers.",
    "Please write without emojis.",
    "Always answer in German.",
    "Never use the passive voice in my texts.",
    "Bitte keine Anglizismen verwenden.",
    "Réponds toujours en français.",
    "Nunca uses emojis.",
)


@pytest.mark.parametrize("query", ["my preferences", "what do I prefer?", "was sind meine Vorlieben?"])
async def test_what_the_user_wishes_is_a_preference_of_theirs_whatever_its_type(agent: Agent, query: str) -> None:
    ids = await told(agent, *WISHES)
    await told(agent, "Please call the chandler before noon.", "Please use the side door.", "Never mind the rain.")
    await agent.remember("Never use the old key.", space="loft")
    await agent.remember("Always drain the pump first.", type="procedure")
    assert set((await agent.recall(query)).found) == set(ids)


async def test_what_the_user_wishes_is_nothing_about_who_they_are(agent: Agent) -> None:
    await told(agent, *WISHES)
    name = str((await agent.remember("The user is Max, a rigger.", about_self=True))["id"])
    assert (await agent.recall("who am I?")).found == [name]


DECIDED = (
    "Decision: the deck is built of oak.",
    "Decided: the shop closes at six.",
    "We decided to move the fair to May.",
    "Wir haben uns für blaue Farbe entschieden.",
    "Décision : on garde le camion.",
    "Decidimos vender la furgoneta.",
)


@pytest.mark.parametrize(
    "query", ["recent decisions", "which decisions did we take?", "decisions", "decisions of today"]
)
async def test_what_begins_as_a_decision_is_one_without_the_type(agent: Agent, query: str) -> None:
    ids = [*await told(agent, *DECIDED), str((await agent.remember("Bread on Tuesdays.", type="decision"))["id"])]
    await told(agent, "The decision was hard for Ida.", "Decision-making is slow.", "We have a decision to take.")
    answer = await agent.recall(query)
    assert answer.found == ids[::-1]
    assert not any(hit["weak"] for hit in answer["results"])
    assert (await agent.recall("decisions", types=["decision"])).found == ids[-1:]


@pytest.mark.parametrize(
    "question",
    [
        "What did I note last week?",
        "What did I tell you last week?",
        "Was wurde letzte Woche notiert?",
        "Was habe ich mir letzte Woche aufgeschrieben?",
        "¿Qué se anotó la semana pasada?",
        "¿Qué apunté la semana pasada?",
    ],
)
async def test_what_was_noted_at_a_time_is_of_all_types_in_every_language(agent: Agent, question: str) -> None:
    stored = []
    for day, text, kind in (
        ("2026-10-28", "The organ is tuned in May.", "fact"),
        ("2026-10-29", "Frau Kolb is the new treasurer.", "person"),
        ("2026-10-30", "I like short answers.", "preference"),
        ("2026-10-19", "The hall is dear.", "fact"),
    ):
        agent.clock.set(datetime.fromisoformat(f"{day}T09:00:00+00:00"))
        stored.append((await agent.remember(text, type=kind))["id"])
    agent.clock.set(datetime(2026, 11, 6, 12, tzinfo=UTC))
    assert (await agent.recall(question)).found == stored[2::-1]


# --- what broke -----------------------------------------------------------------------------------

BROKE = (
    "The walk-in at Marigold failed overnight; 400 euros of dairy thrown away.",
    "The build was red for six hours because a plugin removed a header.",
    "The licence server was down this morning, nobody could open Maya.",
    "Turbo pump on the electron microscope seized.",
    "Der Aufzug ist ausgefallen.",
    "La caldera se averió el lunes.",
    "La chaudière est tombée en panne.",
    "Postgres ran out of disk.",
    "Deploy 41 failed because of a missing migration.",
    "2026-10-23, 07:40: the API answered 503, db-a had no disk space left.",
    "Incident 12: the tug leaked, and its crew must wear vests until it is mended.",
    "A short outage took the radio down.",
)
NOTHING_BROKE = (
    "Theo lost his first tooth.",
    "Crash reports go to Sentry.",
    "Retry failed jobs three times.",
    "If the build failed, restart the agent.",
    "When Redis crashed, restart it.",
    "Failed deploys are rolled back automatically.",
    "The red build light stands in the kitchen.",
    "We never leave the pager offline.",
    "Partner keys are limited to 200 requests a minute, burst 40.",
    "Incident response: if the API is down, call Rosa.",
    "Since the outage we watch the uptime with two probes.",
    "After the outage we bought a second router.",
    "The outage map of the power company is at example.org.",
)


@pytest.mark.parametrize(
    "query",
    [
        "what broke?",
        "what went wrong?",
        "list all incidents",
        "incidents in harbour",
        "incidents in the harbour project",
        "all incidents of project harbour",
        "which outages did we have?",
        "how many incidents were there?",
        "what broke last week?",
        "Was ging letzte Woche kaputt?",
        "qu'est-ce qui est tombé en panne ?",
        "qué falló la semana pasada",
    ],
)
async def test_what_broke_is_known_by_what_the_notes_say_newest_first(agent: Agent, query: str) -> None:
    agent.clock.forward(days=-8)
    ids = await told(agent, *BROKE)
    await told(agent, *NOTHING_BROKE)
    agent.clock.forward(days=8)
    answer = await agent.recall(query, limit=20)
    assert answer.found == ids[::-1]
    assert answer.text.startswith("12 incidents")


async def test_what_broke_at_another_time_is_not_on_the_list(agent: Agent) -> None:
    agent.clock.forward(days=-40)
    await told(agent, BROKE[0])
    agent.clock.forward(days=34)
    ids = await told(agent, BROKE[2])
    agent.clock.forward(days=6)
    assert (await agent.recall("what broke last week?")).found == ids


@pytest.mark.parametrize("query", ["incidents about Redis", "who handles incidents?", "what failed in the pump test?"])
async def test_a_question_about_certain_incidents_is_no_list_of_all(agent: Agent, query: str) -> None:
    await told(agent, *BROKE)
    assert "incidents" not in (await agent.recall(query)).text.split("\n")[0]


# --- what is due, at no time in particular --------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "deadlines",
        "upcoming deadlines",
        "what are the next deadlines?",
        "what deadlines do I have?",
        "deadlines in harbour",
        "nächste Fristen",
        "prochaines échéances",
        "próximos plazos",
    ],
)
async def test_deadlines_without_a_time_are_all_that_texts_name_from_today_on(agent: Agent, query: str) -> None:
    late, soon = await told(
        agent, "The berth tender has to be handed in by 4 December, noon.", "Annual report: draft due 9 November."
    )
    weekday = (await told(agent, "The survey must be sent by Friday."))[0]
    await told(agent, "The old tender was due on 3 October.", "Paper bins are emptied every second week.")
    assert (await agent.recall(query)).found == [weekday, soon, late]


async def test_that_nothing_is_due_is_said(agent: Agent) -> None:
    await told(agent, "Annual report: draft due 9 November.", "The old tender was due on 3 October.")
    answer = await agent.recall("anything due today?")
    assert 'Nothing is due "today".' in answer["notices"]
    assert all(hit["weak"] for hit in answer["results"])


@pytest.mark.parametrize("query", ["what ends in June 2027?", "what expires in June 2027?", "was endet im Juni 2027?"])
async def test_what_ends_at_a_time_is_what_texts_name_it_for(agent: Agent, query: str) -> None:
    ids = await told(agent, "The lease of the dome runs until 30 June 2027.")
    await told(agent, "The insurance of the dome is paid in July.", "The crew sleeps on board.")
    assert (await agent.recall(query)).found == ids


async def test_where_something_was_is_searched_for_and_no_list_of_the_time(agent: Agent) -> None:
    agent.clock.forward(days=-20)
    ids = await told(agent, "In October we were in Dresden for a weekend.")
    await told(agent, "Dinner is at 18:30.", "Bought a new bike for Mia.")
    agent.clock.forward(days=20)
    answer = await agent.recall("Where did we go in October?")
    assert answer.found[0] == ids[0]
    assert "3 notes of October" not in answer.text


# --- without a project, and how many --------------------------------------------------------------


@pytest.mark.parametrize("query", ["latest notes", "what did we do this week?"])
async def test_who_asks_from_no_project_asks_of_all(tmp_path: Path, query: str) -> None:
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(ASKED), space="global") as agent:
        ids = await told(agent, "We painted the shed.")
        ids.append(str((await agent.remember("We pruned the vines.", space="vineyard"))["id"]))
        ids.append(str((await agent.remember("We swept the hall."))["id"]))
        answer = await agent.recall(query)
        assert answer.found == ids[::-1]
        assert "global and global" not in answer.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("how many decisions are there in tollgate?", "17 decisions in tollgate"),
        ("how many decisions did we make in October?", "decisions of October 2026"),
        ("wie viele Entscheidungen gibt es in tollgate?", "17 decisions in tollgate"),
    ],
)
async def test_how_many_there_are_is_told_by_the_list(agent: Agent, query: str, said: str) -> None:
    await seventeen(agent)
    assert said in (await agent.recall(query)).text.split("\n")[0]


# --- what was to be done, and was -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "done"),
    [
        ("TODO: order new menus for Anchor.", "Done: the new menus for Anchor are ordered."),
        ("TODO: grease the winch.", "We greased the winch on Sunday."),
        ("Reminder: pay the electricity bill", "Electricity bill paid."),
        ("To do: rotate the signing keys of Quayside", "Rotated the Quayside signing keys today."),
        ("TODO: buy a tent", "Bought the tent at Decathlon."),
    ],
)
async def test_a_to_do_that_a_later_note_says_is_done_says_so(agent: Agent, task: str, done: str) -> None:
    (old,) = await told(agent, task)
    agent.clock.forward(days=2)
    stored = await agent.remember(done)
    assert any(old in notice and "Replaces" in notice for notice in stored["notices"])
    answer = await agent.recall("to-dos")
    assert answer.found == [old]
    assert f"newer: {stored['id']} says otherwise" in answer.text


@pytest.mark.parametrize(
    ("task", "newer"),
    [
        ("TODO: rotate the signing keys", "The signing keys are not rotated yet."),
        ("TODO: rotate the signing keys", "Rotating the signing keys takes an hour."),
        ("TODO: order menus for Anchor", "We ordered menus for Kestrel."),
        ("TODO: rotate the signing keys", "The rotation of the signing keys is planned for Monday."),
        ("TODO: write tests for the parser", "The parser failed on nested quotes."),
        ("TODO: paint the shed", "The shed is painted red each spring."),
    ],
)
async def test_a_to_do_is_not_done_by_what_only_speaks_of_it(agent: Agent, task: str, newer: str) -> None:
    (old,) = await told(agent, task)
    agent.clock.forward(days=2)
    assert not any(old in notice for notice in (await agent.remember(newer))["notices"])
    assert "otherwise" not in (await agent.recall("to-dos")).text


# --- what is said by its weekday, in a longer time ------------------------------------------------

BY_WEEKDAY = (
    ("2026-11-16", "The photographer comes on Friday at 14:00."),
    ("2026-11-17", "The catalogue must be sent by Friday."),
    ("2026-11-17", "Der Mietvertrag muss bis \u00fcbermorgen unterschrieben sein."),
    ("2026-11-15", "La r\u00e9union avec le notaire est vendredi \u00e0 10 h."),
    ("2026-11-15", "Jeudi, visite du phare."),
    ("2026-10-02", "The old radio was switched off on Friday."),
)


@pytest.mark.parametrize(
    "query",
    [
        "what is due this month?",
        "what is due in November?",
        "what is due in the next 14 days?",
        "what is on this month?",
        "what is on in the next ten days?",
        "what is coming up?",
        "what is on this week?",
    ],
)
async def test_what_is_said_by_its_weekday_is_on_a_list_of_more_days_too(agent: Agent, query: str) -> None:
    ids = []
    for day, text in BY_WEEKDAY:
        agent.clock.set(datetime.fromisoformat(f"{day}T09:00:00+00:00"))
        ids.append((await agent.remember(text))["id"])
    agent.clock.set(datetime(2026, 11, 18, 10, tzinfo=UTC))
    assert set((await agent.recall(query)).found) == set(ids[:-1])


@pytest.mark.parametrize(
    "query", ["qu'est-ce qui est pr\u00e9vu vendredi ?", "qu'est-ce qu'il y a vendredi ?", "was ist am Freitag los?"]
)
async def test_a_french_weekday_is_a_time_without_a_word_before_it(agent: Agent, query: str) -> None:
    agent.clock.set(datetime(2026, 11, 15, 9, tzinfo=UTC))
    (meeting, _) = await told(agent, BY_WEEKDAY[3][1], "Le march\u00e9 couvert vend du poisson.")
    agent.clock.set(datetime(2026, 11, 18, 10, tzinfo=UTC))
    assert (await agent.recall(query)).found == [meeting]
