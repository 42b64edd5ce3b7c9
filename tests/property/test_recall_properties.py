"""Whatever is asked of whatever is stored: relevance is a share, filters hold, order is stable, and nothing breaks."""

from __future__ import annotations

import json
import math
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counts import TOKENIZER
from holdfast.engine import runtime as engine_memory
from holdfast.engine.agent.recall import Recalled
from holdfast.engine.commit import LARGEST_QUERY
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.errors import HoldfastError
from holdfast.model.note import Note
from holdfast.model.ranking import relevance
from holdfast.tools import render
from worlds import WordBag, ask, living

WORDS = ("anchor", "buoy", "crane", "dock", "ferry", "gull", "harbour", "起重機", "кран", "café")
SPACES, TYPES, TIERS, TAGS = ("work", "sea", "global"), ("fact", "event", "goal"), ("core", "working"), ("red", "blue")
DAYS = ("2026-01-15", "2026-03-14", "2026-06-01", "2026-10-28")
EDGES = ("supports", "contradicts", "evolved_from", "related_to", "preceded_by")
NOTES = 40

TIMES = ("in March", "last week", "originally", "before the dock")
pieces = st.sampled_from((*WORDS, "a1 ", "\u0301", '"', "\u6e2f", "x" * 500 + " ", "in March "))
queries = st.one_of(
    st.lists(st.sampled_from((*WORDS, *TIMES, "Zorblax")), min_size=1).map(" ".join),
    st.text(min_size=1, max_size=60),
    st.text(alphabet="\"'*()^:{}-+~\\%_ aANDORTE\r\n\t\x01\x1b\x7f\u200b\u202e\u0301\u6e2f", min_size=1, max_size=40),
    st.sampled_from(("NEAR(crane dock, 3)", "crane AND", '"crane', "crane*", "title:crane", "'; DROP TABLE notes; --")),
    st.builds(lambda piece, count: (piece * count)[:LARGEST_QUERY], pieces, st.integers(1, 70_000)),
)
some = st.sampled_from
filters = st.fixed_dictionaries(
    {},
    optional={
        "spaces": st.lists(some(SPACES), min_size=1, max_size=2),
        "types": st.lists(some(TYPES), min_size=1, max_size=2),
        "tiers": st.lists(some(TIERS), min_size=1, max_size=1),
        "tags": st.lists(some(TAGS), min_size=1, max_size=1),
        "created_after": some(DAYS),
        "created_before": some(DAYS),
        "include_outdated": st.booleans(),
    },
)
limits = st.integers(1, 50)
examples = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=200)


@dataclass(frozen=True)
class World:
    """A memory that was filled once, and that is only asked from then on."""

    memory: Memory
    portal: BlockingPortal

    def ask(self, query: str, **given: Any) -> Recalled:
        return self.portal.call(lambda: ask(self.memory, query, **given))


def files() -> list[tuple[str, str]]:
    """Notes as files by place: all spaces, types, tiers, tags and days, chains, retired ones and every kind of edge."""
    draw = random.Random(4)  # noqa: S311 - the same notes every time
    ids = [f"mem_01{number:014}" for number in range(NOTES)]
    notes = []
    for number, note_id in enumerate(ids):
        space, day = draw.choice(SPACES), draw.choice(DAYS)
        front = {
            "id": note_id, "type": draw.choice(TYPES), "tier": draw.choice(TIERS), "space": space,
            "created": f"{day}T10:00:00Z", "confidence": draw.choice((1.0, 0.5)),
        }  # fmt: skip
        lines = [f'{key}: "{value}"' if isinstance(value, str) else f"{key}: {value}" for key, value in front.items()]
        lines.append(f'tags: ["{draw.choice(TAGS)}"]')
        lines.append(f'connections: [{{"to": "{draw.choice(ids)}", "type": "{draw.choice(EDGES)}"}}]')
        lines += draw.choice(
            (
                [f'superseded_by: "{draw.choice(ids)}"'], ["outdated: true"], ['valid_until: "2026-02-01"'],
                ['session: "talk"'], [f'event_time: "{draw.choice(DAYS)}"'], ['subject: "Anna"'], [], [], [],
            )
        )  # fmt: skip
        body = " ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 12)))
        notes.append((f"{space}/{number}.md", "---\n" + "\n".join(lines) + f"\n---\n{body}\n"))
    return notes


@contextmanager
def world(home: Path, notes: list[tuple[str, str]], encoder: WordBag | None) -> Iterator[World]:
    """A memory that met these files one by one, in this order."""
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        memory = stack.enter_context(portal.wrap_async_context_manager(living(home, encoder=encoder)))
        made = World(memory, portal)
        for place, text in notes:
            path = home / "memories" / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            made.ask("anything")
        portal.call(memory._drain)
        yield made


@pytest.fixture(scope="module", params=[False, True], ids=["words", "meaning"])
def worlds(request: pytest.FixtureRequest) -> Iterator[tuple[World, World]]:
    """The same notes stored in two orders, with an encoder or without."""
    patch = pytest.MonkeyPatch()
    patch.setattr(engine_memory, "START_SECONDS", 1e9)  # nothing happens in the background
    encoder = WordBag() if request.param else None
    notes = files()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        orders = (notes, random.Random(7).sample(notes, len(notes)))  # noqa: S311 - an order
        one, two = (
            stack.enter_context(world(Path(folder) / str(number), order, encoder))
            for number, order in enumerate(orders)
        )
        yield one, two
    patch.undo()


# --- numbers --------------------------------------------------------------------------------------

coverages = st.floats(0, 1)
deviations = st.one_of(st.none(), st.floats(-1e6, 1e6))
counts = st.integers(0, 10_000)


@given(st.floats(allow_nan=False), st.one_of(st.none(), st.floats(allow_nan=False)), counts, counts, st.booleans())
def test_relevance_is_a_share_whatever_goes_in(
    coverage: float, z: float | None, terms: int, named: int, strange: bool
) -> None:
    assert 0.0 <= relevance(coverage, z, terms=terms, named=named, strange=strange) <= 1.0


@given(coverages, coverages, deviations, counts, counts, st.booleans())
def test_more_coverage_is_never_less_relevant(
    one: float, two: float, z: float | None, terms: int, named: int, strange: bool
) -> None:
    less, more = (relevance(each, z, terms=terms, named=named, strange=strange) for each in sorted((one, two)))
    assert less <= more


@given(coverages, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), counts, counts, st.booleans())
def test_more_likeness_is_never_less_relevant(
    coverage: float, one: float, two: float, terms: int, named: int, strange: bool
) -> None:
    less, more = (relevance(coverage, each, terms=terms, named=named, strange=strange) for each in sorted((one, two)))
    assert less <= more


# --- answers --------------------------------------------------------------------------------------


def allowed(note: Note, asked: dict[str, Any], *, retired: bool) -> bool:
    """What the filters say, worked out from the note alone."""
    return (
        note.space in asked.get("spaces", SPACES)
        and note.type in asked.get("types", (note.type,))
        and note.tier in asked.get("tiers", TIERS)
        and bool({*note.tags} & {*asked.get("tags", TAGS)})
        and note.happened[:10] >= asked.get("created_after", "")
        and note.happened[:10] <= asked.get("created_before", "9999")
        and (retired or not (note.is_outdated or note.valid_until))
    )


@examples
@given(query=queries, asked=filters, limit=limits, explain=st.booleans())
def test_any_question_is_answered_within_its_limit_and_its_filters(
    worlds: tuple[World, World], query: str, asked: dict[str, Any], limit: int, explain: bool
) -> None:
    try:
        answer = worlds[0].ask(query, limit=limit, explain=explain, **asked)
    except HoldfastError:
        assert not query.strip() or len(query.encode()) > LARGEST_QUERY
        return
    assert len(answer.hits) <= limit
    assert len(answer.related) <= limit
    notes = [*(hit.note for hit in answer.hits), *(item.note for item in answer.related)]
    assert len({note.id for note in notes}) == len(notes)
    past = any(words in query for words in TIMES)
    for note in notes:
        assert allowed(note, asked, retired=past or asked.get("include_outdated", False)), note
    scores = [hit.ranked.score for hit in answer.hits]
    assert all(math.isfinite(score) for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= hit.ranked.relevance <= 1.0 for hit in answer.hits)


@examples
@given(query=queries.filter(str.strip), asked=filters, limit=limits)
def test_the_same_question_has_the_same_answer_again_and_in_whatever_order_notes_were_stored(
    worlds: tuple[World, World], query: str, asked: dict[str, Any], limit: int
) -> None:
    try:
        one, again, other = (each.ask(query, limit=limit, **asked) for each in (worlds[0], worlds[0], worlds[1]))
    except HoldfastError:
        return
    told = [(hit.note.id, hit.ranked.relevance, hit.ranked.why) for hit in one.hits]
    assert [(hit.note.id, hit.ranked.relevance, hit.ranked.why) for hit in again.hits] == told
    assert [hit.note.id for hit in other.hits] == [note_id for note_id, *_ in told]
    assert [hit.ranked.relevance for hit in other.hits] == pytest.approx([worth for _, worth, _ in told], abs=0.001)
    assert one.related == again.related == other.related
    assert one.tensions == again.tensions == other.tensions


@examples
@given(query=st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join), budget=st.integers(1, 2_000), limit=limits)
def test_a_budget_holds_and_every_hit_is_shown_or_named(
    worlds: tuple[World, World], query: str, budget: int, limit: int
) -> None:
    found = worlds[0].ask(query, limit=limit, budget=budget)
    told = render.recalled(found, Caller("work", "here", "test"))
    frame = replace(found, hits=(), related=(), tensions=())
    empty = render.recalled(frame, Caller("work", "here", "test"))
    assert counted(told.text) <= max(1.05 * budget, counted(empty.text) + 30)
    assert counted(as_json(told)) <= max(1.05 * budget, counted(as_json(empty)) + 30)
    entries = told.structured["results"]
    assert [hit["id"] for hit in entries] == [hit.note.id for hit in found.hits][: len(entries)]
    omitted = told.structured["omitted"]
    assert omitted["count"] == len(found.hits) + len(found.related) - len(entries) - len(told.structured["related"])
    assert len(omitted["ids"]) <= omitted["count"]


def as_json(told: render.Rendered) -> str:
    return json.dumps(told.structured, ensure_ascii=False, separators=(",", ":"))


def counted(text: str) -> int:
    return TOKENIZER.count(text)


@pytest.mark.parametrize("query", ["crane\0dock", "\0crane"])
def test_a_nul_separates_words_like_a_space(worlds: tuple[World, World], query: str) -> None:
    told = worlds[0].ask(query.replace("\0", " "))
    assert [hit.note.id for hit in worlds[0].ask(query).hits] == [hit.note.id for hit in told.hits] != []


@pytest.mark.parametrize("query", ["x" * (LARGEST_QUERY + 1), "\ud800"])
def test_what_is_no_question_is_refused_by_name(worlds: tuple[World, World], query: str) -> None:
    with pytest.raises(HoldfastError):
        worlds[0].ask(query)
