"""Doubt: what is like a question and does not answer it is no strong hit, and both families of tools say so alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.ranking import WEAK, Found, Question, RankCandidate, Ranked, careful, identifiers_of, rank
from served import Agent

LIKELY = st.floats(0.0, 1.0)


def candidate(*, coverage: float, z: float | None, held: tuple[str, ...] = ()) -> RankCandidate:
    return RankCandidate(
        rowid=1,
        id="mem_1",
        space="global",
        session=None,
        subject=None,
        tier="working",
        confidence=1.0,
        outdated=False,
        superseded_by=None,
        created="2026-11-01T00:00:00Z",
        happened="2026-11-01T00:00:00Z",
        coverage=coverage,
        z=z,
        session_z=z,
        held=held,
    )


def ranked(question: Question, unknown: set[str], *held: str) -> Ranked:
    """A note that is very near by meaning, in a store that knows all words of the question but the unknown ones."""
    near = candidate(coverage=0.6, z=4.5, held=held)
    (only,) = rank(Found((near,), frozenset(unknown), dict.fromkeys(held, 1), 200), question)
    return only


def test_a_note_about_another_ticket_is_no_strong_hit() -> None:
    asked = Question("what is ticket HELP-5521 about?")
    assert ranked(asked, {"5521"}).weak
    assert not ranked(asked, set(), *identifiers_of(asked.text)).weak


def test_a_name_that_nobody_knows_is_not_made_up_for_by_a_rare_word() -> None:
    asked = Question("is Ingeborg allergic to nuts?", extraordinary=frozenset({"ingeborg", "allergic"}))
    assert ranked(asked, {"ingeborg"}, "allergic").weak
    assert not ranked(asked, set(), "ingeborg", "allergic").weak


def test_meaning_alone_makes_nothing_strong_in_a_language_that_the_encoder_does_not_read() -> None:
    spanish = "¿Cuándo caduca mi pasaporte?"
    words = {"cuando", "caduca", "mi", "pasaporte"}
    assert ranked(Question(spanish, one_language=True), words).weak
    assert not ranked(Question(spanish), words).weak, "another encoder may read it"
    assert not ranked(Question("when does my passport expire?", one_language=True), {"passport", "expire"}).weak


@given(one=LIKELY, other=LIKELY)
def test_the_scale_keeps_the_order_and_its_line_is_seven_tenths(one: float, other: float) -> None:
    low, high = (careful(each) for each in sorted((one, other)))
    assert 0.0 <= low <= high <= 1.0
    assert careful(0.55) == pytest.approx(WEAK) == pytest.approx(0.7)


async def test_both_families_of_tools_show_the_same_relevance(agent: Agent) -> None:
    await agent.remember("The harbour crane lifts forty tonnes of steel.")
    await agent.remember("The crane is painted red every spring.")
    await agent.remember("Gulls nest on the roof of the warehouse.")
    for question in ("how much steel does the harbour crane lift?", "crane painted", "gulls on the warehouse roof"):
        hits = {hit["id"]: hit for hit in (await agent.recall(question))["results"]}
        told = {item["memory_id"]: item for item in await agent.omi("memory_recall", query=question, min_relevance=0.0)}
        assert hits
        assert {end: told[end]["relevance"] for end in hits} == {
            end: pytest.approx(hit["relevance"], abs=0.001) for end, hit in hits.items()
        }
        default = await agent.omi("memory_recall", query=question)
        assert {item["memory_id"] for item in default} == {end for end, hit in hits.items() if not hit["weak"]}


async def test_memory_recall_names_the_nearest_where_nothing_reaches_its_line(agent: Agent) -> None:
    near = (await agent.remember("The harbour crane lifts forty tonnes of steel."))["id"]
    question = "how many tonnes of steel does the ferry to the island carry?"
    found, notices = await agent.omi_told("memory_recall", query=question, min_relevance=0.99)
    assert found == []
    (told,) = [notice for notice in notices if "nearest" in notice]
    assert near in told
    line = told.partition("min_relevance=")[2].split()[0]
    assert [item["memory_id"] for item in await agent.omi("memory_recall", query=question, min_relevance=line)] == [
        near
    ]


async def test_what_is_due_in_a_month_is_looked_for_in_the_one_that_comes(agent: Agent) -> None:
    day = datetime.now(UTC) + timedelta(days=45)
    month = f"{day:%B}"
    for text in ("The crane is painted red.", "Gulls nest on the roof.", "The ferry leaves at nine."):
        await agent.remember(text)
    await agent.remember(f"The audit report was due in {month}.", event_time=f"{day - timedelta(days=365):%Y-%m-%d}")
    due = (await agent.remember("The tax return is due.", event_time=f"{day:%Y-%m-%d}"))["id"]
    named = (await agent.remember(f"The insurance has to be paid by 20 {month}."))["id"]
    answer = await agent.recall(f"what is due in {month}?")
    assert answer["results"][0]["id"] == due
    assert {due, named} <= {hit["id"] for hit in answer["results"]}
    assert answer["read_as"]["after"] == f"{day:%Y-%m}-01T00:00:00Z"
