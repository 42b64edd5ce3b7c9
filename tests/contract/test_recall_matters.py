"""recall and versions of one fact that nobody tied: what is current comes first, the older behind it in a line."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from served import ERAS, Agent, Answer, Clock, serving

pytestmark = pytest.mark.anyio

NOVEMBER = datetime(2026, 11, 4, 15, 30, tzinfo=UTC)
OLD, NEW = "2026-03-10", "2026-07-03"


@pytest.fixture
async def agent(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """An agent of a fresh memory without an encoder: words alone tell what speaks of the same."""
    async with serving(tmp_path / "home", ERAS[-1], clock=Clock(NOVEMBER)) as asking:
        yield asking


@pytest.fixture
async def reader(anyio_backend: str, tmp_path: Path) -> AsyncIterator[Agent]:
    """The same with the built-in encoder."""
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as asking:
        yield asking


async def told(agent: Agent, *texts: tuple[str, str], **given: str) -> list[str]:
    """Notes as they were stored in the course of time; their ids."""
    return [str((await agent.remember(text, event_time=day, **given))["id"]) for day, text in texts]


async def chained(agent: Agent, *, superseding: bool) -> list[str]:
    """The notes of the chain, each put in the place of the one before, or only told after it; their ids."""
    ids: list[str] = []
    for day, text in CHAIN:
        older = {"supersedes": ids[-1:]} if superseding and ids else {}
        ids.append((await agent.remember(text, event_time=day, **older))["id"])
    return ids


def behind(answer: Answer) -> list[list[str]]:
    """What stands behind each hit."""
    return [hit.get("earlier", []) for hit in answer["results"]]


VERSIONS = {
    "a number": (
        "The partner gateway has a limit of 100 requests.",
        "The partner gateway has a limit of 300 requests.",
        "what is the limit of the partner gateway?",
    ),
    "a change that is told": (
        "Backups of the wiki are stored on the old NAS.",
        "Backups of the wiki were moved to Glacier.",
        "where are the backups of the wiki stored?",
    ),
    "who has a role": (
        "Marta leads the payments team.",
        "Dmitri leads the payments team.",
        "who leads the payments team?",
    ),
    "a day": (
        "Code freeze of the harbour release begins on Monday.",
        "Code freeze of the harbour release begins on Thursday.",
        "when does the code freeze of the harbour release begin?",
    ),
    "a refusal": (
        "Deployments of the shop on Fridays are fine.",
        "No deployments of the shop on Fridays.",
        "are deployments of the shop on Fridays fine?",
    ),
    "German": (
        "Die Kündigungsfrist beträgt vier Wochen.",
        "Die Kündigungsfrist beträgt jetzt drei Monate.",
        "Wie lange ist die Kündigungsfrist?",
    ),
}


@pytest.mark.parametrize("kind", VERSIONS)
async def test_the_newer_of_two_versions_stands_for_the_older_one(agent: Agent, kind: str) -> None:
    old, new, query = VERSIONS[kind]
    first, second = await told(agent, (OLD, old), (NEW, new))
    answer = await agent.recall(query)
    assert answer.found == [second]
    assert behind(answer) == [[f"{old.rstrip('.')} …, 115 days older ({first})"]]
    (line,) = [line for line in answer.text.splitlines() if first in line]
    assert line.endswith(f" earlier: {old.rstrip('.')} …, 115 days older ({first})")


async def test_a_copy_of_a_text_is_named_and_not_said_again(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.engine.sync.files.STILL_SECONDS", 3600)  # with their ids they are not alike
    (agent.files / "memories").mkdir(parents=True, exist_ok=True)
    for name in ("one", "two"):
        (agent.files / "memories" / f"{name}.md").write_text("The anchor of the tug is rusty.", "utf-8")
    answer = await agent.recall("what is wrong with the anchor of the tug?")
    ((copy,),) = behind(answer)
    assert re.fullmatch(r"the same text: mem_\w+", copy)
    assert answer.text.count("rusty") == 1


async def test_each_of_many_versions_is_named_and_the_newest_is_first(agent: Agent) -> None:
    versions = [(f"2026-0{month}-01", f"The gateway has a limit of {month}00 requests.") for month in range(1, 10)]
    ids = await told(agent, *versions)
    answer = await agent.recall("what is the limit of the gateway?", limit=20)
    assert answer.found[0] == ids[-1]
    assert all(note in str(answer.structured) for note in ids)
    for filters in ({"spaces": ["nowhere"]}, {"types": ["goal"]}):
        (notice,) = [
            each for each in (await agent.recall("limit of the gateway?", **filters))["notices"] if "left" in each
        ]
        assert ids[-1] in notice


BESIDE_THE_ANSWER = {
    "a number": (
        "The invoice worker retries a job 5 times.",
        "The invoice worker retries in the new queue now.",
        "how many times does the invoice worker retry a job?",
    ),
    "a place": (
        "The ladder of the harbour office is kept in the shed.",
        "The ladder of the harbour office was painted.",
        "where is the ladder of the harbour office kept?",
    ),
    "a time": (
        "The gate of the harbour office opens at 7.",
        "The gate of the harbour office has a new lock.",
        "when does the gate of the harbour office open?",
    ),
}


@pytest.mark.parametrize("kind", BESIDE_THE_ANSWER)
async def test_what_does_not_say_what_is_asked_for_goes_ahead_of_no_answer(agent: Agent, kind: str) -> None:
    answers, later, query = BESIDE_THE_ANSWER[kind]
    first, _ = await told(agent, (OLD, answers), (NEW, later))
    answer = await agent.recall(query)
    assert answer.found[0] == first
    assert behind(answer)[0] == []


SIBLINGS = {
    "two of a row": ("Buoy number 2 is green.", "Buoy number 5 is red."),
    "two incidents": ("INC4e1f33 was left open by the night shift.", "INC2bab70 was left open by the day shift."),
    "one subject": ("The harbour office is closed in August.", "The harbour office has a new crane and a gull."),
    "two environments": ("The staging database has 4 GB of memory.", "The production database has 8 GB of memory."),
    "two hosts": ("Host web-01 has 16 GB of memory.", "Host web-02 has 32 GB of memory."),
    "two people": ("Maria lives in a flat in Hamburg.", "Stefan lives in a flat in Graz."),
    "two customers": ("Customer Acme pays 400 euros a month.", "Customer Globex pays 650 euros a month."),
    "two kinds": ("Access logs are kept for 30 days.", "Audit logs are kept for 10 years."),
    "steps": ("Step 1 of the setup: install git.", "Step 2 of the setup: clone the dotfiles."),
    "a log": ("Nightly backup finished: 41 GB in 18 minutes.", "Nightly backup finished: 43 GB in 22 minutes."),
    "meetings": (
        "Weekly sync: we spoke about the roadmap of search.",
        "Weekly sync: we spoke about the budget of search.",
    ),
    "sprints": ("Sprint 31 closed with 24 points.", "Sprint 32 closed with 31 points."),
    "two with letters": ("Incubator A is set to 37 degrees.", "Incubator B is set to 34 degrees."),
    "lines of a log": ("12 May: ten laps, best lap 1:42.3.", "19 May: twelve laps, best lap 1:40.9."),
    "a grandmother and a grandfather": ("Grandpa takes 20 mg of statin.", "Grandma takes 40 mg of statin."),
    "an estimate and what came": ("Estimate for the crane: three weeks.", "The crane took seven weeks to mend."),
    "a goal and what is so": ("We aim for a coverage of 85 percent.", "The coverage so far is 71 percent."),
    "turns of a talk": ("Great, the limit of the gateway is 100!", "Oh, the limit of the gateway is 300!"),
}


@pytest.mark.parametrize("kind", SIBLINGS)
async def test_siblings_are_no_versions_of_each_other(agent: Agent, kind: str) -> None:
    one, other = SIBLINGS[kind]
    both = await told(agent, (OLD, one), (NEW, other))
    answer = await agent.recall(f"{one} {other}")
    assert sorted(answer.found) == sorted(both)
    assert behind(answer) == [[], []]


LIMIT = "The partner gateway has a limit of {} requests."
CHAIN = [("2026-03-10", LIMIT.format(100)), ("2026-07-03", LIMIT.format(300)), ("2026-10-05", LIMIT.format(800))]


async def test_of_many_versions_the_newest_stands_for_all(agent: Agent) -> None:
    first, second, third = await told(agent, *CHAIN)
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert answer.found == [third]
    assert [line[-21:-1] for line in behind(answer)[0]] == [second, first]


async def test_it_is_the_time_of_the_event_that_counts_and_not_that_of_the_writing(agent: Agent) -> None:
    newer, _ = await told(agent, *reversed(CHAIN[:2]))
    assert (await agent.recall("what is the limit of the partner gateway?")).found == [newer]


async def test_other_spaces_and_other_subjects_are_other_matters(agent: Agent) -> None:
    await told(agent, CHAIN[0], space="one")
    await told(agent, CHAIN[1], space="two")
    assert len((await agent.recall("what is the limit of the partner gateway?")).found) == 2
    await told(agent, (OLD, "The shoe size is 43, left."), space="wardrobe", subject="Ann")
    await told(agent, (NEW, "The shoe size is 39, left."), space="wardrobe", subject="Bob")
    assert len((await agent.recall("what is the shoe size, left?", spaces=["wardrobe"])).found) == 2


async def test_whoever_tied_two_notes_has_said_how_they_belong_together(agent: Agent) -> None:
    (first,) = await told(agent, CHAIN[0])
    link = {"to": first, "type": "part_of"}
    second = await agent.remember(CHAIN[1][1], event_time=NEW, links=[link])
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert sorted(answer.found) == sorted([first, second["id"]])


@pytest.mark.parametrize(("verdict", "folded"), [("contradicts", True), ("none", False)])
async def test_a_tension_leaves_the_newer_first_and_what_nothing_ties_stays_apart(
    agent: Agent, verdict: str, *, folded: bool
) -> None:
    old, new = await told(agent, CHAIN[0], CHAIN[1])
    item = {"node_a_id": old, "node_b_id": new, "edge_type": verdict, "reason": "I was told so"}
    ((outcome),) = (await agent.call("run_maintenance", results={"edges": [item]}))["outcomes"]
    assert outcome["status"] == "applied", outcome
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert [bool(each) for each in behind(answer)] == ([True] if folded else [False, False])
    assert folded <= (answer.found == [new])
    assert [{pair["a"], pair["b"]} for pair in answer["tensions"]] == [{old, new}] * folded
    page = agent.files / "memories" / "harbour"
    (file,) = page.glob(f"*{old}.md")
    file.write_text(file.read_text("utf-8").replace("100", "120"), "utf-8")  # of other words nothing was said
    again = await agent.recall("what is the limit of the partner gateway?")
    assert again.found == [new]


@pytest.mark.parametrize("minute", [0, 52], ids=["", "midnight between"])
async def test_what_is_stored_in_one_go_is_a_list_and_no_history(agent: Agent, minute: int) -> None:
    agent.clock.set(NOVEMBER.replace(hour=23, minute=minute))
    for number in (100, 300):
        agent.clock.forward(minutes=5)
        await agent.remember(LIMIT.format(number))
    assert len((await agent.recall("what is the limit of the partner gateway?")).found) == 2


@pytest.mark.parametrize("limit", [LIMIT.format(100), "The limit of the partner gateway is 100 requests per minute."])
async def test_a_new_note_about_something_else_is_not_lifted(agent: Agent, limit: str) -> None:
    fits, _ = await told(agent, (OLD, limit), (NEW, "The invoices of the partner are now sent on the 300th request."))
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert answer.found[0] == fits
    assert behind(answer)[0] == []


async def test_the_newer_version_is_found_where_only_the_older_one_would_have_been(agent: Agent) -> None:
    _, second = await told(agent, *CHAIN[:2])
    assert (await agent.recall("what is the limit of the partner gateway?", limit=1)).found == [second]


async def test_with_include_outdated_no_note_stands_behind_another(agent: Agent) -> None:
    first, second = await told(agent, *CHAIN[:2])
    answer = await agent.recall("what is the limit of the partner gateway?", include_outdated=True)
    assert answer.found == [second, first]


async def test_memory_recall_tells_both_the_newer_first(agent: Agent) -> None:
    first, second = await told(agent, *CHAIN[:2])
    found = await agent.omi("memory_recall", query="limit of the partner gateway 100 requests", min_relevance=0.1)
    assert [item["memory_id"] for item in found] == [second, first]


@pytest.mark.parametrize("superseding", [False, True])
@pytest.mark.parametrize(
    ("query", "first", "later"),
    [
        ("what was the limit of the partner gateway in June?", 0, [1, 2]),
        ("what was the limit of the partner gateway in September?", 1, [2]),
        ("limit of the partner gateway in June", 0, [1, 2]),
        ("what is the limit of the partner gateway?", 2, []),
        ("what is the limit of the partner gateway in January?", 2, []),
        ("limit of the partner gateway in January", 2, []),
        ("what will the limit of the partner gateway be in December?", 2, []),
        ("wie hoch ist das limit of the partner gateway im Februar?", 2, []),
    ],
)
async def test_what_was_valid_then_comes_first_and_what_came_later_is_marked(
    agent: Agent, query: str, first: int, later: list[int], *, superseding: bool
) -> None:
    ids = await chained(agent, superseding=superseding)
    answer = await agent.recall(query)
    assert answer.found[0] == ids[first]
    since = {hit["id"]: hit["later_since"][:10] for hit in answer["results"] if "later_since" in hit}
    assert since.keys() <= {ids[place] for place in later}
    assert all(f"(later: since {day})" in answer.text for day in since.values())
    if "was" in query:
        assert since == {ids[place]: CHAIN[place][0] for place in later}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what is the limit of the partner gateway in January?", 1),
        ("what was the limit of the partner gateway in January?", 0),
        ("what is the limit of the partner gateway in May?", 0),
    ],
)
async def test_in_the_present_the_next_january_is_meant_where_it_is_nearer(
    agent: Agent, query: str, first: int
) -> None:
    days = ("2025-03-02", "2026-06-03")
    ids = await told(agent, *((day, text) for day, (_, text) in zip(days, CHAIN, strict=False)))
    assert (await agent.recall(query)).found[0] == ids[first]


async def test_another_thing_is_no_later_state_of_what_was_asked_about(era: str, tmp_path: Path) -> None:
    async with serving(tmp_path / "home", era, encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        texts = ("The saddle of Stella hangs in the tack room.", "The saddle of Blitz is at the saddler's.")
        stella, blitz = await told(agent, (OLD, texts[0]), (NEW, texts[1]))
        for query in ("where was Stella's saddle in August?", "where is Stella's saddle?"):
            answer = await agent.recall(query)
            assert answer.found[0] == stella, query
            assert not any(behind(answer)), query
        assert (await agent.recall("where is the saddle of Blitz?")).found[0] == blitz


PAST_QUESTIONS = {
    "before we raised it": ("what was the limit of the partner gateway before we raised it?", 1),
    "before": ("what was the limit of the partner gateway before?", 1),
    "used to": ("what did the limit of the partner gateway use to be?", 1),
    "previously": ("what was the limit of the partner gateway previously?", 1),
    "the old": ("what was the old limit of the partner gateway?", 1),
    "originally": ("what was the limit of the partner gateway originally?", 0),
    "at first": ("what was the limit of the partner gateway at first?", 0),
    "German before": ("wie hoch war das limit of the partner gateway vorher?", 1),
    "German at first": ("wie hoch war das limit of the partner gateway ursprünglich?", 0),
    "Spanish": ("¿cuál era el limit of the partner gateway antes?", 1),
    "French": ("quel était le limit of the partner gateway auparavant ?", 1),
    "Chinese": ("partner gateway limit 以前是多少", 1),
}


@pytest.mark.parametrize("superseding", [False, True])
@pytest.mark.parametrize("kind", PAST_QUESTIONS)
async def test_a_past_without_a_date_is_what_was_replaced_last_or_was_so_at_first(
    agent: Agent, kind: str, *, superseding: bool
) -> None:
    query, expected = PAST_QUESTIONS[kind]
    ids = await chained(agent, superseding=superseding)
    answer = await agent.recall(query)
    assert answer.found[0] == ids[expected]
    since = {hit["id"] for hit in answer["results"] if "later_since" in hit}
    assert since == set(ids[expected + 1 :])


@pytest.mark.parametrize(
    "query",
    [
        "what is the limit of the partner gateway, before I call it?",
        "which limit must I know before using the partner gateway?",
        "what limit has the partner gateway, for the old console too?",
    ],
)
async def test_words_of_order_and_age_ask_for_no_past(agent: Agent, query: str) -> None:
    ids = await told(agent, *CHAIN)
    assert (await agent.recall(query)).found[0] == ids[-1]


# --- what remember says of it ---------------------------------------------------------------------


def hints(answer: Answer) -> list[str]:
    return [notice for notice in answer["notices"] if "mark_outdated" in notice]


async def test_remember_names_the_call_by_which_the_new_note_replaces_the_old_one(agent: Agent) -> None:
    (old,) = await told(agent, CHAIN[0])
    stored = await agent.remember(CHAIN[1][1], event_time=NEW)
    (hint,) = hints(stored)
    call = f'mark_outdated(node_id="{old}", superseded_by="{stored["id"]}")'
    assert hint.endswith(f"Replaces {old}? Only where both tell one fact: {call}")
    assert call in stored.text
    await agent.outdate(old, superseded_by=stored["id"])
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert (answer.found, behind(answer)) == ([stored["id"]], [[]])


async def test_what_is_less_likely_another_version_goes_behind_nothing_but_is_asked_about(agent: Agent) -> None:
    (old,) = await told(agent, (OLD, "Jam is kept in the cellar."))
    stored = await agent.remember("The jam has its shelf in the attic.", event_time=NEW)
    (hint,) = hints(stored)
    assert f"Replaces {old}?" in hint
    answer = await agent.recall("where is the jam?")
    assert (answer.found, behind(answer)) == ([stored["id"], old], [[], []])


async def test_remember_tells_which_part_differs(agent: Agent) -> None:
    await told(agent, CHAIN[0])
    (hint,) = hints(await agent.remember(CHAIN[1][1], event_time=NEW))
    assert ': "100" there, "300" here. ' in hint


async def test_the_call_that_remember_proposes_is_told_whole(agent: Agent) -> None:
    said = "Hrvoje's kickboxing practice is on Thursdays at 18:35 in gym 14B, €12.50 an evening"
    await told(agent, (OLD, f"{said}."))
    stored = await agent.remember(
        said.translate({0x34: "7", 0x35: "9"}).replace("Thurs", "Satur") + ".", event_time=NEW
    )
    (hint,) = hints(stored)
    assert hint.endswith(f'superseded_by="{stored["id"]}")')
    assert '" there, "' in hint


async def test_remember_proposes_nothing_where_the_values_are_the_same(agent: Agent) -> None:
    await told(agent, (OLD, "The harbour office opens on Tuesdays at 9."))
    stored = await agent.remember("The harbour office now opens on Tuesdays at 9, as before.", event_time=NEW)
    assert not [notice for notice in stored["notices"] if "Says something else" in notice]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Backups run every night at 03:00.", "Backups run each night at 3 am."),
        ("Swimming of the kids is on Tuesday at 17:30.", "Swimming of the kids is on Tuesday at 5:30 pm."),
        ("Anna is our contact at the bank.", "Our contact at the bank is Anna."),
    ],
)
async def test_remember_proposes_nothing_where_only_the_words_are_put_otherwise(
    agent: Agent, one: str, other: str
) -> None:
    await told(agent, (OLD, one))
    stored = await agent.remember(other, event_time=NEW)
    assert not [notice for notice in stored["notices"] if "Says something else" in notice]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The harbour office opens on Tuesdays at 09:00.", "The harbour office now opens on Tuesdays at 9 pm."),
        ("The key of the shed is with Anna.", "The key of the shed is not with Anna."),
    ],
)
async def test_remember_still_proposes_where_a_value_is_another_or_is_denied(
    agent: Agent, one: str, other: str
) -> None:
    await told(agent, (OLD, one))
    stored = await agent.remember(other, event_time=NEW)
    assert [notice for notice in stored["notices"] if "Says something else" in notice or "Contradicts" in notice]


async def test_a_note_that_says_more_is_not_proposed_to_be_replaced_as_a_whole(agent: Agent) -> None:
    (old,) = await told(agent, (OLD, "Backups of the harbour wiki run at 2 am and are kept for 30 days."))
    stored = await agent.remember("Backups of the harbour wiki now run at 4 am.", event_time=NEW)
    (notice,) = [each for each in stored["notices"] if "Says something else" in each]
    assert '"2" there, "4" here' in notice
    assert f"{old} says more than that" in notice
    assert f'supersedes=["{old}"]' in notice
    assert "mark_outdated" not in notice
    rest = await agent.remember("Backups of the harbour wiki are kept for 30 days.", supersedes=[old])
    answer = await agent.recall("when do the backups of the harbour wiki run, how long are they kept?")
    assert sorted(answer.found) == sorted([stored["id"], rest["id"]])


async def test_a_note_that_says_more_stays_a_hit_where_that_is_asked_for(agent: Agent) -> None:
    old, new = await told(
        agent,
        (OLD, "Backups of the harbour wiki run at 2 am and are kept for 30 days."),
        (NEW, "Backups of the harbour wiki now run at 4 am."),
    )
    assert (await agent.recall("how long are backups of the harbour wiki kept?")).found[0] == old
    answer = await agent.recall("when do the backups of the harbour wiki run?")
    assert (answer.found, [line[-21:-1] for line in behind(answer)[0]]) == ([new], [old])


async def test_an_older_note_that_is_stored_later_is_the_one_that_gives_way(agent: Agent) -> None:
    (new,) = await told(agent, CHAIN[1])
    stored = await agent.remember(CHAIN[0][1], event_time=OLD)
    (hint,) = hints(stored)
    assert f'mark_outdated(node_id="{stored["id"]}", superseded_by="{new}")' in hint


async def test_a_version_that_is_stored_at_once_is_told_of_and_is_a_tension(agent: Agent) -> None:
    old = await agent.remember(LIMIT.format(100))
    new = await agent.remember(LIMIT.format(300))
    assert len(hints(new)) == 1
    answer = await agent.recall("what is the limit of the partner gateway?")
    (pair,) = answer["tensions"]
    assert {pair["a"], pair["b"]} == {old["id"], new["id"]}
    assert pair["reason"] == "they say different things about the same matter"
    assert f"Contradiction: {pair['a']} and {pair['b']} ({pair['reason']})\n" in f"{answer.text}\n"


async def test_of_several_that_all_differ_as_many_contradictions_are_told_as_tie_them_together(agent: Agent) -> None:
    stored = [(await agent.remember(LIMIT.format(number)))["id"] for number in (100, 300, 500, 700)]
    answer = await agent.recall("what is the limit of the partner gateway?")
    assert len(answer["tensions"]) == 3, "not of every two: six"
    assert {pair[end] for pair in answer["tensions"] for end in ("a", "b")} == set(stored)


async def test_what_begins_with_the_number_of_one_of_many_is_no_version_of_another(agent: Agent) -> None:
    minutes = "第{}回の会議の議事録では次の会議は{}月5日の{}時から会議室で行い、予算は{}万円である。"
    for number in (3, 4, 5):
        stored = await agent.remember(minutes.format(number, number + 2, number + 8, number * 13))
        assert not hints(stored)
        agent.clock.forward(days=9)
    answer = await agent.recall("会議の議事録")
    assert (len(answer.found), answer["tensions"]) == (3, [])
    room = "次の会議は第{}会議室で行う。"  # the room is what changes
    await told(agent, (OLD, room.format(1)), (NEW, room.format(3)))
    assert any(behind(await agent.recall("次の会議は第何会議室")))


@pytest.mark.parametrize(
    ("text", "again"),
    [
        (
            "The first-aid box is on the wall beside the washroom.",
            "You find the first-aid kit on the wall next to the washroom.",
        ),
        ("Pepper kicks when his girth is tightened fast.", "If you do up Pepper's girth quickly he will kick."),
    ],
)
async def test_what_says_the_same_in_other_words_is_no_contradiction(
    era: str, tmp_path: Path, text: str, again: str
) -> None:
    async with serving(tmp_path / "home", era, encoder="builtin") as agent:
        await agent.remember(text)
        assert not hints(await agent.remember(again))
        assert (await agent.recall(text))["tensions"] == []


async def test_no_hint_where_the_new_note_replaces_the_old_one_or_speaks_of_something_else(agent: Agent) -> None:
    (old,) = await told(agent, CHAIN[0])
    assert hints(await agent.remember(CHAIN[1][1], event_time=NEW, supersedes=[old])) == []
    for one, other in SIBLINGS.values():
        await told(agent, (OLD, one), space="siblings")
        assert hints(await agent.remember(other, event_time=NEW, space="siblings")) == []


async def test_remember_tells_what_says_the_opposite_and_so_does_the_next_recall(agent: Agent) -> None:
    always, never = "Tests should always mock the database.", "Tests should never mock the database."
    (old,) = await told(agent, (OLD, always))
    stored = await agent.remember(never, event_time=NEW)
    assert len(hints(stored)) == 1
    answer = await agent.recall("should tests mock the database?")
    (pair,) = answer["tensions"]
    assert ({pair["a"], pair["b"]}, pair["reason"]) == ({old, stored["id"]}, "should always vs should never")


async def test_the_hint_names_the_pattern_of_opposites(agent: Agent) -> None:
    old = await agent.remember("The cache increases the memory use of the crane console.")
    stored = await agent.remember("The cache decreases the memory use of the crane console.")
    (hint,) = hints(stored)
    assert hint.startswith(f"Contradicts (increases vs decreases) {old['id']} ")


# --- beliefs, and what was consolidated -----------------------------------------------------------


async def believed(agent: Agent, *supports: bool) -> tuple[str, str]:
    """A belief with its evidence, and the note that is cited."""
    belief = (await agent.omi("memory_store", content="The old winch is safe.", memory_type="belief"))["memory_id"]
    cited = (await agent.remember("Inspection of the gantry took place."))["id"]
    for each in supports:
        given = {"belief_id": belief, "evidence_memory_id": cited, "supports": each, "strength": 1.0}
        await agent.omi("belief_update", **given)
    return belief, cited


@pytest.mark.parametrize(
    ("supports", "expected"),
    [
        ([True] * 3, "believed: .69"),
        ([False] * 8, "held no longer: .03 after 8 contradictions"),
        ([False], "held no longer: .35 after 1 contradiction"),
    ],
)
async def test_a_belief_shows_how_it_stands(agent: Agent, supports: list[bool], expected: str) -> None:
    belief, _ = await believed(agent, *supports)
    answer = await agent.recall("is the old winch safe?")
    assert [hit["belief"] for hit in answer["results"] if hit["id"] == belief] == [expected]
    (line,) = [line for line in answer.text.splitlines() if f" {belief} belief " in line]
    assert f"({expected})" in line


async def test_slight_evidence_against_a_belief_goes_ahead_of_it_no_more_than_any_note_does(reader: Agent) -> None:
    text = "The user prefers tabs over spaces in Go code."
    belief = (await reader.omi("memory_store", content=text, memory_type="belief"))["memory_id"]
    for filling in ("Lunch is at noon.", "The printer is in 2.03.", "Kay reviews the database migrations."):
        await reader.remember(filling)
    reader.clock.forward(days=3)
    cited = (await reader.remember("In the pairing session with Kay she set her editor to two blanks."))["id"]
    for supports, strength in ((True, 1.0), (True, 1.0), (False, 0.1)):
        given = {"belief_id": belief, "evidence_memory_id": cited, "supports": supports, "strength": strength}
        await reader.omi("belief_update", **given)
    assert (await reader.recall("what does the user prefer in Go code?")).found[0] == belief


async def test_memory_recall_never_tells_a_belief_that_is_held_no_longer_as_a_fact(agent: Agent) -> None:
    belief, _ = await believed(agent, *[False] * 8)
    found, notices = await agent.omi_told("memory_recall", query="is the old winch safe?", min_relevance=0.1)
    (content,) = [item["content"] for item in found if item["memory_id"] == belief]
    assert content == "(Held no longer: .03 after 8 contradictions.) The old winch is safe."
    assert any(belief in notice for notice in notices)


async def test_memory_recall_tells_the_confidence_of_a_belief_beside_it(agent: Agent) -> None:
    belief, _ = await believed(agent, *[True])
    found, notices = await agent.omi_told("memory_recall", query="is the old winch safe?", min_relevance=0.1)
    assert [item["content"] for item in found if item["memory_id"] == belief] == ["The old winch is safe."]
    assert f"{belief} is a belief, believed: .57." in notices


async def test_what_was_consolidated_stands_behind_the_whole_in_a_line_each(agent: Agent) -> None:
    texts = ("The crane's hook is red.", "The crane's boom is blue.", "The crane's cabin is green.")
    parts = await told(agent, *((OLD, text) for text in texts))
    item = {
        "node_ids": parts,
        "title": "Colours of the crane",
        "content": "The crane: hook red, boom blue, cabin green.",
    }
    batch = await agent.call("run_maintenance")
    done = await agent.call("run_maintenance", results={"consolidations": [item]})
    assert [each["status"] for each in done["outcomes"]] == ["applied"], (batch.text, done.text)
    answer = await agent.recall("which colour has the crane's hook, boom, cabin?")
    assert not set(parts) & set(answer.found)
    assert sorted(line[-21:-1] for line in behind(answer)[0]) == sorted(parts)
    assert not set(parts) & {item["id"] for item in answer["related"]}


@pytest.mark.parametrize("replaces", [False, True])
async def test_what_was_told_after_a_consolidation_goes_ahead_of_it_where_that_is_asked_for(
    agent: Agent, replaces: bool
) -> None:
    texts = ("The crane's load limit is 8 tonnes.", "The crane needs two drivers.", "The crane has the number K7.")
    parts = await told(agent, *((OLD, text) for text in texts))
    item = {"node_ids": parts, "title": "The crane", "content": "Load limit 8 tonnes, two drivers, number K7."}
    await agent.call("run_maintenance", results={"consolidations": [item]})
    whole = (await agent.recall("what number does the crane have?")).found[0]
    assert whole not in parts
    newer = {"content": "The crane's load limit is 12 tonnes.", "event_time": NEW}
    if replaces:
        newer["supersedes"] = parts[:1]
    later = str((await agent.remember(**newer))["id"])
    asked = await agent.recall("what is the crane's load limit?")
    assert asked.found[:2] == [later, whole], asked.text
    assert (await agent.recall("how many drivers does the crane need?")).found[0] == whole


async def test_by_meaning_too_it_goes_ahead_only_where_it_is_what_is_asked_for(era: str, tmp_path: Path) -> None:
    async with serving(tmp_path / "home", era, encoder="builtin") as agent:
        texts = ("The CI runner needs 8 GB of memory.", "It needs Docker 24.", "The CI runner has the label linux-big.")
        parts = await told(agent, *((OLD, text) for text in texts))
        item = {
            "node_ids": parts,
            "title": "CI runner",
            "content": "The CI runner needs 8 GB of memory and Docker 24 and has the label linux-big.",
        }
        await agent.call("run_maintenance", results={"consolidations": [item]})
        content = "The CI runner needs 16 GB of memory since the Bazel upgrade."
        later = str((await agent.remember(content, event_time=NEW))["id"])
        assert (await agent.recall("how much RAM must the build agent have?")).found[0] == later
        for query in ("how is the build machine tagged?", "which container engine version do builds require?"):
            assert (await agent.recall(query)).found[0] not in (later, *parts), query


async def test_a_neighbour_that_was_retired_says_so(agent: Agent) -> None:
    (stored,) = await told(agent, (OLD, "The crane hangs on hemp rope."))
    beside = (await agent.remember("Gulls nest there.", links=[stored]))["id"]
    await agent.outdate(beside)
    answer = await agent.recall("what does the crane hang on?", include_outdated=True)
    assert [item["outdated"] for item in answer["related"] if item["id"] == beside] == [True]


async def test_what_is_told_again_after_it_had_changed_says_what_was_told_since(agent: Agent) -> None:
    old = str((await agent.remember("The release day is Tuesday.", event_time=OLD))["id"])
    new = str((await agent.remember("The release day is Thursday.", event_time=NEW))["id"])
    again = await agent.remember("The release day is Tuesday.")
    assert again["id"] == old
    assert any(new in notice and f'supersedes=["{new}"]' in notice for notice in again["notices"])
    _, notices = await agent.omi_told("memory_store", content="The release day is Tuesday.", memory_type="fact")
    assert any("remember the same with" in notice and new in notice for notice in notices), "it cannot replace a note"
    await agent.remember("The release day is Tuesday.", supersedes=[new])
    assert (await agent.recall("which day is the release day?")).found == [old]
    quiet = await agent.remember("The release day is Tuesday.")
    assert not any("says something else" in notice for notice in quiet["notices"])


@pytest.mark.parametrize(
    ("text", "query", "place"),
    [
        ("The rent of the studio is {} euros.", "what was the first rent of the studio?", 0),
        ("The rent of the studio is {} euros.", "what was the second rent of the studio?", 1),
        ("The rent of the studio is {} euros.", "what is the rent of the studio?", 2),
        ("Die Miete des Ateliers ist {} Euro.", "was war die erste Miete des Ateliers?", 0),
        ("El alquiler del taller es de {} euros.", "¿cuál fue el segundo alquiler del taller?", 1),
    ],
)
async def test_the_first_of_values_that_were_told_one_after_another_is_the_earliest(
    agent: Agent, text: str, query: str, place: int
) -> None:
    days = zip(("2025-10-01", "2026-04-18", "2026-10-15"), (700, 760, 820), strict=True)
    ids = await told(agent, *((day, text.format(euros)) for day, euros in days))
    assert (await agent.recall(query)).found[0] == ids[place]


async def test_what_says_that_it_was_the_first_is_told_whenever_that_was_said(agent: Agent) -> None:
    _, _, said = await told(
        agent,
        (OLD, "The captain of the tug is Bo."),
        (NEW, "The captain of the tug is now Tom."),
        ("2026-10-15", "The first captain of the tug was Ida."),
    )
    assert (await agent.recall("who was the first captain of the tug?")).found[0] == said


# --- what a successor does not say ----------------------------------------------------------------

ROUTE = "Route 7 (driver Pavel, bus 31) leaves the depot at 5:40 and ends at the harbour."
ROUTE_NOW = "Route 7 leaves the depot at 5:55 now."
TENT, LEASE = "The spare tent is in the blue box.", "The lease of the boat ends in June."
UNTOLD = {
    "where it ends": (ROUTE, ROUTE_NOW, "Where does route 7 end?", "ends at the harbour"),
    "who drives it": (ROUTE, ROUTE_NOW, "Who drives route 7?", "driver Pavel"),
    "how many": (
        "Room Alder seats 12 and has a beamer.",
        "Room Alder can only be booked by email now.",
        "How many people does room Alder seat?",
        "Room Alder seats 12",
    ),
    "a wrong id": (TENT, LEASE, "Where is the spare tent?", "in the blue box"),
    "a wrong id, of no sort": (TENT, LEASE, "Is the spare tent any good?", "The spare tent is"),
    "German": (
        "Die Praxis von Dr. Brandt liegt in der Lindenallee 4 und nimmt Kassenpatienten.",
        "Dr. Brandt macht jetzt freitags frei.",
        "Wo ist die Praxis von Dr. Brandt?",
        "in der Lindenallee 4",
    ),
}


async def replaced(agent: Agent, old: str, new: str) -> tuple[str, str]:
    (first,) = await told(agent, (OLD, old))
    return first, str((await agent.remember(new, supersedes=[first]))["id"])


@pytest.mark.parametrize("kind", UNTOLD)
async def test_a_successor_that_does_not_say_what_is_asked_is_weak_with_the_old_note_behind_it(
    agent: Agent, kind: str
) -> None:
    old, new, query, said = UNTOLD[kind]
    first, second = await replaced(agent, old, new)
    answer = await agent.recall(query)
    (hit,) = answer["results"]
    assert (hit["id"], hit["weak"]) == (second, True)
    ((line,),) = behind(answer)
    assert re.fullmatch(rf"until \d{{4}}-\d\d-\d\d: .*{re.escape(said)}.* … \({first}\)", line)
    assert [each for each in answer.text.splitlines() if each.endswith(line)]


async def test_a_successor_that_is_found_by_itself_keeps_its_own_relevance_with_the_old_note_behind_it(
    agent: Agent,
) -> None:
    first, second = await replaced(
        agent,
        "The ferry to Ulvik, run by Fjordline with the boats Alma and Siri, leaves at 9:30 from pier 4.",
        "The ferry to Ulvik, run by Fjordline, leaves at 10:15 now.",
    )
    answer = await agent.recall("From which pier does the ferry to Ulvik leave?")
    assert answer.found == [second]
    ((line,),) = behind(answer)
    assert "leaves at 9:30 from pier 4" in line
    assert first in line


@pytest.mark.parametrize("kind", VERSIONS)
async def test_a_successor_that_says_it_anew_stands_alone(agent: Agent, kind: str) -> None:
    old, new, query = VERSIONS[kind]
    _, second = await replaced(agent, old, new)
    answer = await agent.recall(query)
    assert (answer.found, behind(answer)) == ([second], [[]])
    assert not answer["results"][0]["weak"]


async def test_what_is_retired_is_a_hit_of_its_own_where_that_is_asked_for(agent: Agent) -> None:
    first, second = await replaced(agent, TENT, LEASE)
    answer = await agent.recall("Where is the spare tent?", include_outdated=True)
    assert (answer.found, behind(answer)) == ([second, first], [[], []])


async def test_where_room_is_short_the_old_note_is_named_by_its_id(agent: Agent) -> None:
    first, second = await replaced(agent, ROUTE, ROUTE_NOW)
    texts = [(await agent.recall("Where does route 7 end?", budget=most)).text for most in (160, 400)]
    assert ["ends at the harbour" in text for text in texts] == [False, True]
    assert all(second in text and first in text for text in texts)


async def test_whatever_the_room_the_old_note_that_alone_says_it_is_named(agent: Agent) -> None:
    """What an id costs is up to its letters: a budget at which only some find room would lose the note by chance."""
    first, second = await replaced(agent, ROUTE, ROUTE_NOW)
    texts = [(await agent.recall("Where does route 7 end?", budget=most)).text for most in range(80, 320, 8)]
    assert [text for text in texts if first not in text or second not in text] == []


async def test_of_two_versions_what_names_the_time_that_is_asked_about_comes_first(agent: Agent) -> None:
    agent.clock.forward(days=-200)
    await agent.remember("The mirror was washed in April 2024.")
    agent.clock.forward(days=100)
    asked = (await agent.remember("The mirror was washed in March 2026."))["id"]
    agent.clock.forward(days=100)
    answer = await agent.recall("was the mirror washed in March 2026?")
    assert answer.found[0] == asked
    assert len(set(answer.found)) == len(answer.found)
    assert not any("from other times" in notice for notice in answer["notices"])


# --- what looks like a newer version and is none --------------------------------------------------

FILLING = ("We host the shop on Hetzner.", "Jan reviews the payments code.", "The logo is green.", "Lunch is at noon.")


@pytest.mark.parametrize(
    ("older", "newer", "query"),
    [
        (
            "The old minibus has to go for its inspection in September.",
            "The new minibus has to go for its inspection in May.",
            "when is the old minibus's inspection due?",
        ),
        (
            "The break on a late shift is 30 minutes.",
            "The break on a night shift is 45 minutes.",
            "how long is the break on a late shift?",
        ),
        (
            "The fuzzy match allows two edits for words longer than six letters.",
            "The prefix match needs at least three letters.",
            "how many edits does fuzzy matching allow?",
        ),
        (
            "The membership fee is 75 euros a year.",
            "The membership fee used to be 60 euros a year.",
            "what is the membership fee?",
        ),
        (
            "Der Mitgliedsbeitrag beträgt 75 Euro im Jahr.",
            "Früher betrug der Mitgliedsbeitrag 60 Euro im Jahr.",
            "Wie hoch ist der Mitgliedsbeitrag?",
        ),
    ],
)
async def test_what_is_told_later_of_another_or_of_once_goes_ahead_of_no_answer(
    tmp_path: Path, older: str, newer: str, query: str
) -> None:
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        await told(agent, *(("2026-02-01", text) for text in FILLING))
        first, _ = await told(agent, (OLD, older), (NEW, newer))
        answer = await agent.call("recall", query=query)
    assert answer.found[0] == first
    assert not answer["results"][0]["weak"]


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (("CI runs on Travis.", "CI runs on CircleCI.", "CI runs on GitHub Actions."), "what does CI run on?"),
        (
            ("Backups go to Backblaze.", "Backups go to Wasabi.", "Backups go to Amazon Glacier."),
            "where do the backups go?",
        ),
    ],
)
async def test_of_three_that_are_written_alike_the_last_is_current(
    tmp_path: Path, texts: tuple[str, str, str], query: str
) -> None:
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        await told(agent, *(("2026-02-01", text) for text in FILLING))
        first, second, third = await told(agent, *zip((OLD, "2026-05-03", NEW), texts, strict=True))
        answer = await agent.call("recall", query=query)
    assert answer.found == [third]
    assert [re.findall(r"mem_\w+", " ".join(each)) for each in behind(answer)] == [[second, first]]


@pytest.mark.parametrize(
    ("begin", "ends", "query"),
    [
        ("Ben plays", ("chess", "tennis", "the cello"), "what does Ben play?"),
        ("Tom is allergic to", ("nuts", "cats", "birch pollen"), "what is Tom allergic to?"),
        ("The shop sells", ("apples", "pears", "dried plums"), "what does the shop sell?"),
    ],
)
async def test_of_what_one_has_several_of_none_goes_behind_another(
    tmp_path: Path, begin: str, ends: tuple[str, ...], query: str
) -> None:
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        await told(agent, *(("2026-02-01", text) for text in FILLING))
        texts = (f"{begin} {end}." for end in ends)
        ids = await told(agent, *zip((OLD, "2026-05-03", NEW), texts, strict=True))
        answer = await agent.call("recall", query=query)
    assert set(ids) <= set(answer.found)
    assert not any(behind(answer))


async def test_of_two_that_were_told_in_one_go_neither_goes_behind_because_both_are_like_a_third(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        for text in (*FILLING, "CI runs on Travis."):
            await agent.remember(text)
        agent.clock.forward(days=9)
        told_now = {
            str((await agent.remember(f"CI runs on {where}."))["id"]) for where in ("CircleCI", "GitHub Actions")
        }
        answer = await agent.call("recall", query="what does CI run on?")
    assert told_now <= set(answer.found)


async def test_no_note_is_told_to_be_newer_than_itself_or_than_what_came_later(tmp_path: Path) -> None:
    async with serving(tmp_path / "home", ERAS[-1], encoder="builtin", clock=Clock(NOVEMBER)) as agent:
        await told(agent, *(("2026-02-01", text) for text in FILLING))
        await told(agent, (OLD, "CI runs on Travis."), ("2026-05-03", "CI was moved to CircleCI."))
        await told(agent, (NEW, "We switched CI to GitHub Actions because the credits ran out."))
        answer = await agent.call("recall", query="what did we use for CI before GitHub Actions?", explain=True)
    assert not any(f"newer than {hit['id']}" in hit["why"] for hit in answer["results"])
    assert "newer than" not in next(hit["why"] for hit in answer["results"] if "Travis" in hit["content"])


@pytest.mark.parametrize(
    ("holds", "case", "question"),
    [
        (
            "The town hall opens at 8:00.",
            "This week's opening of the town hall was at 10:00, as the lift was mended.",
            "when does the town hall open?",
        ),
        (
            "The choir's rehearsal is on Tuesdays at 19:00.",
            "The choir's rehearsal was on Friday at 18:00, as the hall was let.",
            "when is the choir's rehearsal?",
        ),
        (
            "The shop's accessibility score is 71.",
            "Goal for the autumn: an accessibility score of 90. Jonas leads it.",
            "what is our accessibility score?",
        ),
        (
            "There are 700 euros in the travel fund.",
            "By May we want to have 2,000 euros in the travel fund.",
            "how much is in the travel fund?",
        ),
        (
            "Leo swims 400 metres in 8 minutes.",
            "Leo told us that as a student he took 6 minutes for 400 metres.",
            "how fast does Leo swim 400 metres?",
        ),
        (
            "The tapes go to the Grantham vault on Friday afternoon.",
            "The van had broken down, so last Friday's tapes lay at the fire station, just that once.",
            "where do the tapes go?",
        ),
        (
            "On Thursdays I have lunch with Leif in the canteen.",
            "This Thursday the lunch is with Sunniva, as Leif is away.",
            "with whom do I have lunch on Thursdays?",
        ),
        (
            "Membership of the choir is 45 pounds a term.",
            "Thelma remembers paying 5 pounds a term for the choir in 1988.",
            "what is the membership of the choir?",
        ),
        (
            "Orders over 300 euros need Ada's approval.",
            "Exception for Norwood: their orders need no approval up to 900 euros.",
            "whose approval do orders over 300 euros need?",
        ),
    ],
)
async def test_one_case_an_aim_or_another_time_takes_no_place_of_what_holds(
    reader: Agent, holds: str, case: str, question: str
) -> None:
    first = (await reader.remember(holds))["id"]
    reader.clock.forward(days=20)
    await reader.remember(case)
    hits = (await reader.recall(question))["results"]
    assert (hits[0]["id"], hits[0]["weak"]) == (first, False)


async def test_a_likely_version_goes_ahead_of_a_note_that_says_more(reader: Agent) -> None:
    older = await reader.remember(
        "Frau Wolf teaches Nora the cello, lessons are on Mondays at 15:30 and cost 30 euros."
    )
    await reader.remember("The garden fence was painted green in spring.")
    reader.clock.forward(days=60)
    newer = await reader.remember(
        "Nora stopped with Frau Wolf and has her cello lessons with Herr Demir, on Thursdays."
    )
    hits = (await reader.recall("who teaches Nora the cello?"))["results"]
    assert [hit["id"] for hit in hits[:2]] == [newer["id"], older["id"]]


async def test_of_two_that_both_stay_hits_one_says_which_is_the_older(reader: Agent) -> None:
    older = await reader.remember("Frau Wolf teaches Nora the cello, lessons are on Mondays and cost 30 euros.")
    await reader.remember("The garden fence was painted green in spring.")
    reader.clock.forward(days=60)
    newer = await reader.remember(
        "Nora stopped with Frau Wolf and has her cello lessons with Herr Demir, on Thursdays."
    )
    for query in ("who teaches Nora the cello?", "does Herr Demir teach Nora the cello?"):
        hits = {hit["id"]: hit["why"] for hit in (await reader.recall(query))["results"]}
        told = (f"older than {newer['id']}" in hits[older["id"]], f"newer than {older['id']}" in hits[newer["id"]])
        assert sorted(told) == [False, True], query


async def test_two_newer_versions_of_what_tells_one_fact_are_versions_of_each_other(reader: Agent) -> None:
    texts = (
        "The lead of the ground station is Ingvar.",
        "Sorin is the new lead of the ground station, Ingvar went to Bergen.",
        "Since 1 September Halldora leads the ground station.",
    )
    ids = []
    for text in texts:
        ids.append((await reader.remember(text))["id"])
        reader.clock.forward(days=40)
    await reader.remember("The garden fence was painted green in spring.")
    (hit,) = [hit for hit in (await reader.recall("who leads the ground station?"))["results"] if not hit["weak"]]
    assert hit["id"] == ids[2]
    assert [line.rsplit("(", 1)[1].strip(")") for line in hit["earlier"]] == [ids[1], ids[0]]


async def test_what_tells_that_it_is_new_goes_ahead_of_a_note_that_says_more(reader: Agent) -> None:
    await reader.remember("The workshop is in Cooper's Yard, unit 6. Deliveries go through the blue gate.")
    await reader.remember("The garden fence was painted green in spring.")
    reader.clock.forward(days=60)
    newer = await reader.remember("We moved the workshop into the old dairy on Fennick Lane, and it is dry there.")
    assert (await reader.recall("where is the workshop?")).found[0] == newer["id"]


BREWERY = (
    "Drinks in the clubhouse fridge: people drop cash in the blue tin.",
    "The weekly build starts on Sunday.",
    "The lift is checked in May.",
    "Trainer bekommen 15 € pro Stunde als Übungsleiterpauschale, abgerechnet wird quartalsweise.",
    "Nele's birthday: 27 January, she turns six in 2027.",
    "For long routes I use the La Sportiva TC Pro, size 43, resoled in May.",
    "Board decision: the first month in the club is free of charge for newcomers.",
    "Die Halle der Lessingschule hat sechs Felder, aber einen ziemlich rutschigen Boden.",
    "House IPA, dry hopping: 6 g/l Citra on day 5.",
    "Four routes in a row and no bruises: the Black Diamond harness fits better than what I threw out in September.",
    "Eye doctor for Mara: Dr. Tietz, new lenses every spring.",
    "Profiled the webhook-gateway: pprof blames the TLS handshake for 60 % of CPU. Go makes such digging a pleasure.",
    "Number of the on-call phone: +49 341 555 0187.",
    "Our GP is Dr. Sahin on Zschochersche Straße, walk-in hours 8 to 10.",
    "fx-rates alerts are posted into #fx-alarms.",
    "Leo's best friend is Bennet from the fourth floor, they share a walkie-talkie set.",
    "refund-svc: local port 8084, metrics 9184.",
)


async def test_what_is_of_something_else_goes_ahead_of_no_note_that_answers(reader: Agent) -> None:
    for text in BREWERY:
        await reader.remember(text)
    first = (await reader.remember("Keg fridge is set to 6 \u00b0C."))["id"]
    await reader.remember("Cleaning kegs: rinse, 15 min hot PBW at 60 \u00b0C, rinse twice.")
    reader.clock.forward(days=60)
    await reader.remember("Fermentation fridge: keep it at 18 \u00b0C for ales, the probe goes into the thermowell.")
    assert (await reader.recall("At what temperature is the fridge with the kegs?")).found[0] == first


async def test_where_nothing_but_the_place_differs_the_place_has_changed(reader: Agent) -> None:
    old = (await reader.remember("Ann lives in Berlin."))["id"]
    reader.clock.forward(days=60)
    new = (await reader.remember("Ann lives in Hamburg."))["id"]
    answer = await reader.recall("does Ann live in Berlin?")
    assert answer.found == [new]
    assert old in behind(answer)[0][0]


@pytest.mark.parametrize(
    ("text", "other", "query"),
    [
        (
            "Owner of the sales dashboard: Selma.",
            "Churn dashboard is owned by Odile.",
            "who owns the sales dashboard?",
        ),
        (
            "SMS reminders leave 24 hours before the tasting.",
            "E-mail reminders go out five days ahead of the tasting.",
            "how long before the tasting do the SMS reminders go out?",
        ),
        (
            "Nele, cardiologist: Dr Abara, 14 January 09:15",
            "Nele, eye doctor: Dr Mertens, 3 March 10:20",
            "when does Nele see the cardiologist?",
        ),
    ],
)
async def test_what_is_told_of_its_like_goes_ahead_of_no_note_that_names_what_is_asked_about(
    reader: Agent, text: str, other: str, query: str
) -> None:
    for each in BREWERY:
        await reader.remember(each)
    first = (await reader.remember(text))["id"]
    reader.clock.forward(days=60)
    await reader.remember(other)
    assert (await reader.recall(query)).found[0] == first
