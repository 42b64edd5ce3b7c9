"""What is a candidate, what a batch holds, what the journal tells again; and that a round comes to every note."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.engine.maintenance import candidates as finding
from holdfast.engine.maintenance.batches import Verdicts, find_work, judge
from holdfast.engine.maintenance.verdicts import EdgeVerdict
from holdfast.engine.ports import Caller
from holdfast.errors import BatchNotFoundError
from holdfast.index.journal import put_records
from holdfast.index.schema import make_tables
from holdfast.model import maintenance
from holdfast.model.maintenance import (
    KINDS,
    LEAST_TOLD,
    LINKS_EACH,
    SURELY_TOLD,
    Candidate,
    Kind,
    Near,
    Text,
    all_candidates,
    as_read,
    composite,
    cosine,
    is_in_another_language,
    shared_words,
    told,
    weight_of,
    within_budget,
)
from holdfast.model.note import Note, majority_space
from holdfast.model.opposition import LONG
from holdfast.model.passages import sentence_in
from holdfast.model.records import judgement
from holdfast.model.versions import ReadTogether
from holdfast.store.records import read_record
from worlds import CALLER, WordBag, keep, living

WHEN = "2026-10-01T00:00:00Z"


def text(number: int, content: str = "The crane lifts forty tonnes.", **given: Any) -> Text:
    note = Note(f"mem_{number:016d}", content, given.pop("title", "Crane"), WHEN, WHEN, **given)
    return Text(note, f"hash {number}")


def near(
    one: Text, likeness: float = 0.95, *, by_words: bool = False, likely: float | None = None, **given: Any
) -> Near:
    known = {"judged": frozenset[str](), "edges": frozenset[str](), "automatic": frozenset[str]()}
    sets = known | {key: frozenset(value) for key, value in given.items()}
    return Near(one, likeness, **sets, likely=likely, by_words=by_words)


def kinds_of(seed: Text, *others: Near) -> list[str]:
    return [kind for kind in KINDS if candidates(kind, seed, others)]


def candidates(kind: Kind, seed: Text, others: Sequence[Near]) -> list[Candidate]:
    """Those of one kind that nothing but their words made."""
    return [item for item in all_candidates(seed, others) if item.kind == kind and not item.doubtful]


APART = "Ferry tickets are sold at the kiosk."
PLANNED = "Skins are delivered within three weeks."


@pytest.mark.parametrize(
    ("content", "likeness", "kind"),
    [
        ("The crane lifts forty tonnes!", 0.95, "merges"),
        ("The crane lifts 50 tonnes.", 0.9, "conflicts"),
        ("The crane never lifts forty tonnes.", 0.9, "conflicts"),
        (APART, 0.75, "links"),
        (APART, 0.6, None),
        ("The crane lifts forty tonnes!", 0.1, None),
    ],
)
def test_a_pair_is_asked_about_in_the_one_way_that_fits(content: str, likeness: float, kind: str | None) -> None:
    other = text(2, content, title="Ferry" if content == APART else "Crane")
    assert kinds_of(text(1), near(other, likeness)) == ([kind] if kind else [])


def test_of_the_kinds_that_are_asked_for_the_one_that_fits_best_is_taken() -> None:
    opposed = [near(text(2, "The crane lifts 50 tonnes."), 0.9)]
    assert [item.kind for item in all_candidates(text(1), opposed, ["links", "merges"])] == ["merges"]
    assert [item.kind for item in all_candidates(text(1), opposed, ["links"])] == ["links"]


def test_what_was_judged_or_linked_is_left_out_and_what_linked_itself_is_not() -> None:
    seed, other, apart, opposed = text(1), text(2), text(3, APART, title="Ferry"), text(4, "The crane lifts 50 tonnes.")
    for verdict in ("none", "no_merge", "supports"):
        assert kinds_of(seed, near(other, judged={verdict})) == []
    assert kinds_of(seed, near(apart, edges={"supports"})) == []
    assert kinds_of(seed, near(apart, edges={"related_to"}, automatic={"related_to"})) == ["links"]
    assert kinds_of(seed, near(opposed, edges={"supports"})) == ["conflicts"]
    assert kinds_of(seed, near(opposed, edges={"contradicts"})) == []
    assert kinds_of(seed, near(other, edges={"contradicts"})) == ["merges"]
    assert kinds_of(seed, near(other, edges={"derived_from"})) == []


def test_types_spaces_and_tiers_are_respected() -> None:
    assert kinds_of(text(1), near(text(2, type="procedure"))) == ["links"]
    assert kinds_of(text(1), near(text(2, type="decision"))) == ["merges"]
    assert kinds_of(text(1), near(text(2, space="work"))) == ["links"]
    opposed = "The crane lifts 50 tonnes."
    assert kinds_of(text(1), near(text(2, opposed, space="work"))) == ["conflicts"]
    assert kinds_of(text(1, type="event"), near(text(2, opposed, type="event"))) == ["links"]
    assert kinds_of(text(1, tier="archival"), near(text(2, tier="archival"))) == []


def test_only_the_nearest_are_offered_as_links() -> None:
    apart = [near(text(number, APART, title=f"Ferry {number}"), 0.9 - number / 100) for number in range(2, 9)]
    found = [item.texts for item in candidates("links", text(1), apart)]
    assert [{each.note.id for each in pair} for pair in found] == [
        {text(1).note.id, text(number).note.id} for number in range(2, 2 + LINKS_EACH)
    ]


def test_a_cluster_has_three_to_five_working_notes_of_one_space_none_of_them_consolidated() -> None:
    like = [near(text(number)) for number in range(2, 9)]
    [found] = candidates("consolidations", text(1), like)
    assert len(found.texts) == 5
    assert found.texts[0] == text(1)
    assert candidates("consolidations", text(1), like[:1]) == []
    assert candidates("consolidations", text(1, tags=("consolidated",)), like) == []
    assert candidates("consolidations", text(1), [near(text(2)), near(text(3), judged={"no_consolidation"})]) == []
    assert candidates("consolidations", text(1), [near(text(2)), near(text(3), judged={"related_to"})]) != []


def looking(*found: Candidate, unread: tuple[Candidate, ...] = ()) -> finding.Look:
    """What one call of maintenance found, of which pairs are still to be read."""
    look = finding.Look("mem_" + "0" * 16, "", [], {}, is_whole=True, offered=frozenset())
    look.found, look.unread = list(enumerate(found)), frozenset(item.ids for item in unread)
    look.choose(8)
    return look


def test_a_group_waits_for_a_pair_in_it_and_for_what_is_to_be_read_of_it() -> None:
    one, other, third, fourth = (text(number) for number in range(1, 5))
    group = Candidate("consolidations", (one, other, third), 0.9, ("",) * 3)
    pair, rest = (Candidate("merges", texts, 0.9, ("",) * 2) for texts in ((one, other), (other, third)))
    assert looking(pair, group).items == {"merges": [pair]}
    doubtful = replace(rest, kind="conflicts", doubtful=True)
    assert looking(pair, doubtful, group).items == {"merges": [pair]}, "a pair that is none holds no group together"
    assert looking(doubtful, group, unread=(doubtful,)).items == {}
    assert not looking(doubtful, group, unread=(doubtful,)).shows_any, "more is to be read"
    assert looking(doubtful, group).items == {"consolidations": [group]}
    assert looking(pair, rest, group).items["consolidations"] == [group], "all of it is in pairs"
    taken = Candidate("consolidations", (one, other, fourth), 0.95, ("",) * 3)
    assert looking(taken, group).items == {"consolidations": [taken]}


DOUBTFUL = "The crane lifts bricks."
ANEW, AGAIN, TWO_THINGS = ReadTogether(4.0, -6.0), ReadTogether(-4.0, 4.0), ReadTogether(-6.0, -9.0)


@pytest.mark.parametrize(
    ("content", "likeness", "said", "kind"),
    [
        ("The crane lifts forty tonnes!", 0.95, ANEW, "conflicts"),
        ("The crane lifts forty tonnes!", 0.95, AGAIN, "merges"),
        ("The crane lifts 50 tonnes.", 0.9, AGAIN, "merges"),
        ("The crane lifts 50 tonnes.", 0.6, TWO_THINGS, None),
        (APART, 0.8, TWO_THINGS, "links"),
        (APART, 0.8, ANEW, "conflicts"),
        (DOUBTFUL, 0.4, ANEW, "conflicts"),
        (DOUBTFUL, 0.4, TWO_THINGS, None),
    ],
)
def test_reading_a_pair_tells_of_which_kind_it_is(
    content: str, likeness: float, said: ReadTogether, kind: str | None
) -> None:
    title = "Ferry" if content == APART else "Crane"
    [pair] = all_candidates(text(1), [near(text(2, content, title=title), likeness)])
    read = as_read(pair, said)
    assert (read.kind if read else None) == kind
    assert read is None or not read.doubtful


@pytest.mark.parametrize(("likely", "kind"), [(0.42, "conflicts"), (0.2, None), (None, None)])
@pytest.mark.parametrize("older", [PLANNED, "Tomasz Wilk supplies goat leather from Kraków."])
def test_what_remember_named_is_offered_whatever_reading_says_later(
    older: str, likely: float | None, kind: str | None
) -> None:
    """Offered once at least: whoever stored the later one may have passed over the notice."""
    found = read_of(older, "The goatskins come from a tannery in Porto now.", TWO_THINGS, 0.41, likely=likely)
    assert (found.kind if found else None) == kind
    assert found is None or not found.doubtful


def test_what_words_do_not_show_is_no_candidate_until_it_is_read() -> None:
    doubtful = [near(text(2, DOUBTFUL), 0.4)]
    assert [item.doubtful for item in all_candidates(text(1), doubtful)] == [True]
    assert kinds_of(text(1), *doubtful) == []


def test_a_pair_that_may_not_be_what_reading_tells_is_the_next_best() -> None:
    [events] = all_candidates(text(1, type="event"), [near(text(2, type="event"))])
    assert as_read(events, ANEW) is not None
    [elsewhere] = all_candidates(text(1), [near(text(2, space="work"))])
    read = as_read(elsewhere, AGAIN)
    assert read is not None
    assert read.kind == "conflicts"


def test_what_is_near_enough_for_a_link_is_one_thing_from_either_side() -> None:
    [link] = all_candidates(text(1), [near(text(2, APART, title="Ferry"), 0.78)])
    said = ReadTogether(1.0, -4.0)
    assert link.seen is not None
    assert LEAST_TOLD < sum(told(link.seen, said)) < SURELY_TOLD
    from_the_other_side = replace(link, kind="conflicts", doubtful=True)  # one that has nearer ones
    assert (as_read(link, said), as_read(from_the_other_side, said)) == (link, None)


def test_likelihoods_of_a_pair_are_of_three_that_make_one() -> None:
    [pair] = all_candidates(text(1), [near(text(2))])
    assert pair.seen is not None
    for said in (ANEW, AGAIN, TWO_THINGS, ReadTogether(90.0, 90.0)):
        anew, again = told(pair.seen, said)
        assert 0.0 <= anew + again <= 1.0
    assert told(pair.seen, ANEW)[0] > told(pair.seen, TWO_THINGS)[0]


def test_the_composite_is_between_nothing_and_the_same() -> None:
    one, other = text(1).note, text(2, "Ada prefers tea.", title="Tea").note
    assert composite(1.0, one, one) == pytest.approx(1.0)
    assert composite(0.0, one, other) < 0.2
    assert composite(0.7, one, replace(one, title="")) < composite(0.7, one, one)


def test_weights_are_real() -> None:
    assert [weight_of(likeness) for likeness in (0.0, 0.5, 0.777, 3.0)] == [0.5, 0.5, 0.78, 1.0]


def test_the_majority_has_the_space_and_of_equals_the_first() -> None:
    notes = [replace(text(1).note, space=space) for space in ("a", "b", "b")]
    assert majority_space(notes) == "b"
    assert majority_space(notes[:2]) == "a"


def test_of_a_long_text_the_sentence_that_matters_is_shown() -> None:
    assert sentence_in("short  and\nwhole", "whole", 100) == "short and whole"
    long = " ".join(f"Sentence number {number} is about nothing." for number in range(40))
    shown = sentence_in(long, "Sentence number 20 is about nothing.", 120)
    assert shown.startswith("… Sentence number 20 is")
    assert len(shown) <= 126
    assert shown.endswith(" …")
    assert sentence_in(long, "Sentence number 39 is about nothing.", 120) == "… Sentence number 39 is about nothing."
    assert sentence_in(f"{long} {'A long one ' * 20}", "A long one " * 20, 120).endswith("A long one")
    assert sentence_in(long, "", 120).startswith("Sentence number 0")


def test_a_budget_goes_to_conflicts_first_and_something_is_always_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Candidate("links", (text(at), text(at + 1)), 0.9, ("word " * 80,) * 2) for at in range(0, 60, 2)]
    first, second = within_budget([pairs[:3], pairs[3:]])
    assert first == 3
    assert 3 < second < 27
    assert within_budget([pairs, pairs])[1] == 0
    monkeypatch.setattr(maintenance, "BUDGET_TOKENS", 1)
    assert within_budget([pairs]) == [1]
    monkeypatch.setattr(maintenance, "BUDGET_TOKENS", 1_000_000)
    assert within_budget([pairs, []]) == [30, 0]


def test_cosines_of_stored_vectors_are_those_of_numpy() -> None:
    bag = WordBag()
    one, other = bag._vector("grey ship"), bag._vector("grey vessel")
    assert cosine(one, one) == pytest.approx(1.0, abs=1e-5)
    assert 0.1 < cosine(one, other) < 0.9


@pytest.mark.parametrize(
    "line",
    [
        {"op": "remember"},
        {"judged": "no list"},
        {"judged": [["a", "b", "c"], ["a", "b", "c", "d", "verdict of later times"]]},
        {"op": "maintenance_batch", "by": "x", "at": WHEN, "batch": {"id": 3}, "cursors": {"weather": ["a", "b"]}},
    ],
)
def test_lines_that_are_none_of_ours_tell_nothing(line: dict[str, Any]) -> None:
    record = read_record({**line, "seq": 1})
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        make_tables(connection)
        put_records(connection, [record], 1)
        for table in ("judged", "batches", "cursors"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608 - own names


def test_a_judgement_is_the_same_whichever_note_comes_first() -> None:
    assert judgement(("b", "2"), ("a", "1"), "none") == judgement(("a", "1"), ("b", "2"), "none")


async def pairs_in_a_row(memory: Any, calls: int) -> list[frozenset[str]]:
    """What calls one after the other offer, none of it ever judged."""
    found: list[frozenset[str]] = []
    for _ in range(calls):
        batch = await memory.attend(lambda ports: find_work(ports, CALLER, ["conflicts", "merges", "links"], 3))
        pairs = [item for kind, items in batch.items.items() if kind != "consolidations" for item in items]
        found += [frozenset(text.note.content for text in item.texts) for item in pairs]
    return found


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four notes are a slice."""
    monkeypatch.setattr(finding, "SEEDS", 4)
    monkeypatch.setattr(finding, "WHOLE", 4)


@pytest.mark.anyio
@pytest.mark.usefixtures("slices")
async def test_a_round_comes_to_every_note_and_new_ones_do_not_wait_for_it(tmp_path: Path) -> None:
    words = ["anchor", "beacon", "cargo", "derrick", "engine", "ferry", "gull", "hawser", "island", "jetty"]
    pairs = [frozenset({f"{word} {word}s of old", f"{word} {word}s of late"}) for word in words]
    async with living(tmp_path, encoder=WordBag()) as memory:
        for content in random.Random(1).sample([content for pair in pairs for content in pair], 20):  # noqa: S311 - order
            await keep(memory, content)
        seen = await pairs_in_a_row(memory, 2)
        assert len(set(seen)) < 8
        await keep(memory, "kelp kelps of old")
        await keep(memory, "kelp kelps of late")
        assert frozenset({"kelp kelps of old", "kelp kelps of late"}) in await pairs_in_a_row(memory, 1)
        seen += await pairs_in_a_row(memory, 8)
        assert set(pairs) <= set(seen)


@pytest.mark.anyio
@pytest.mark.usefixtures("slices")
async def test_a_round_goes_on_where_a_slice_has_nothing(tmp_path: Path) -> None:
    async with living(tmp_path, encoder=WordBag()) as memory:
        await keep(memory, "kelp kelps of old")
        await keep(memory, "kelp kelps of late")
        for word in ("anchor", "beacon", "cargo", "derrick", "engine", "ferry", "gull", "hawser", "island"):
            await keep(memory, word)
        assert await pairs_in_a_row(memory, 2) == []
        assert len(await pairs_in_a_row(memory, 1)) == 1
        lines = len(await memory.ports.store.journal_since("", 1000) or ())
        await pairs_in_a_row(memory, 3)
        assert len(await memory.ports.store.journal_since("", 1000) or ()) == lines + 3


@pytest.mark.anyio
async def test_a_memory_that_is_seen_whole_and_has_nothing_is_looked_at_without_a_trace(tmp_path: Path) -> None:
    async with living(tmp_path) as memory:
        await keep(memory, "The crane lifts forty tonnes.")
        lines = len(await memory.ports.store.journal_since("", 1000) or ())
        assert await pairs_in_a_row(memory, 3) == []
        assert len(await memory.ports.store.journal_since("", 1000) or ()) == lines


@pytest.mark.anyio
async def test_a_batch_is_the_callers_own_and_open_in_every_process(tmp_path: Path) -> None:
    stranger = Caller("work", "a test", "pytest", "somebody else")
    async with living(tmp_path) as first, living(tmp_path) as second:
        ids = [(await keep(first, f"The crane lifts forty tonnes, {more}.")).note.id for more in ("always", "mostly")]
        batch = await first.attend(lambda ports: find_work(ports, CALLER))
        verdicts = Verdicts([EdgeVerdict(*ids, "supports")])
        with pytest.raises(BatchNotFoundError):
            await judge(second, stranger, verdicts, batch.id)
        [outcome] = (await judge(second, CALLER, verdicts, batch.id)).outcomes
        assert outcome.status == "applied"


KEY, KEPT = "Den Schlüssel zum Notenschrank hat Frau Wiesner.", "Der Schlüssel zum Notenschrank liegt jetzt bei Timo."
OTHERS = ("Das Klavier wird im September gestimmt.", "Jan zieht im Sommer nach Bremen.", "Der Bass sucht vier Sänger.")


def near_by_words(*contents: str) -> dict[int, dict[int, float]]:
    """How much notes share, by their places."""
    notes = [text(number, content).note for number, content in enumerate(contents)]
    return {
        int(note[4:]): {int(other[4:]): share for other, share in close.items()}
        for note, close in shared_words(notes).items()
    }


def test_notes_in_another_language_are_near_by_words_that_name_something() -> None:
    found = near_by_words(KEY, KEPT, *OTHERS, "The key to the cupboard is with Timo.")
    assert {note: list(close) for note, close in found.items()} == {0: [1], 1: [0], 2: [], 3: [], 4: []}
    assert found[0][1] == found[1][0]
    assert near_by_words("The key is with Timo.", "The key is with Mrs Wiesner.") == {}


def test_a_note_that_is_read_is_near_one_that_is_not_by_a_name_alone() -> None:
    assert near_by_words("Quedlinburg fahren wir an.", "The trip goes to Quedlinburg.") == {
        0: {1: pytest.approx(0.4, 0.1)}
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Der Glühwein brachte am Dienstag im März 50 Euro ein.",
            "Am Dienstag im März zahlen wir 50 Euro für die Miete.",
        ),
        ("Die Noten müssen jedes Jahr zurück.", "Die Bänke müssen jedes Jahr geölt werden."),
        ("Il faut toujours deux litres chaque soir.", "Chez nous il faut toujours fermer deux portes."),
    ],
)
def test_everyday_words_numbers_days_and_measures_bring_no_notes_near(one: str, other: str) -> None:
    assert near_by_words(one, other) == {0: {}, 1: {}}


def test_a_word_that_many_notes_have_brings_them_not_near() -> None:
    hall = [
        f"Im Gemeindesaal steht {what}." for what in ("Obst", "Holz", "Mehl", "Wein", "Salz", "Laub", "Heu", "Zinn")
    ]
    assert near_by_words(*hall[:2])[0]
    assert not any(near_by_words(*hall).values())


def test_of_a_long_note_in_another_language_each_sentence_counts_by_itself() -> None:
    rooms = ("Keller", "Dachboden", "Hof", "Saal", "Foyer", "Garten", "Anbau", "Turm", "Archiv")
    many = " ".join(f"Im {room} wird das {room}fenster jedes Jahr geputzt." for room in rooms)
    assert len(many) > LONG
    asked = "Keller, Hof, Turm und Archiv: Schlüssel fehlen."
    [close] = near_by_words(f"{many} {KEY}", KEPT)[1].values()
    [told_all_over] = near_by_words(f"{many} {KEY}", asked)[1].values()
    assert told_all_over < 0.5 < close


def test_another_space_is_out_of_reach_also_for_words() -> None:
    notes = [text(1, KEY, space="choir").note, text(2, KEPT, space="farm").note, text(3, KEPT, space="global").note]
    assert list(shared_words(notes)[notes[0].id]) == [notes[2].id]


@pytest.mark.parametrize(
    ("content", "is_other"),
    [
        (KEY, True),
        ("La machine à traire a été achetée d'occasion à Valence.", True),
        ("El alquiler es de 820 euros.", True),
        ("Zoë moved to Köln in May.", False),
        ("Rösterei Kranz offers a decaf that nobody has asked for yet.", False),
        ("Unit tests take four minutes on CI.", False),
    ],
)
def test_which_notes_are_in_a_language_that_was_not_learned(content: str, *, is_other: bool) -> None:
    assert is_in_another_language(content) is is_other


@pytest.mark.parametrize(
    ("content", "likeness", "kind"),
    [
        (KEPT, 0.5, "conflicts"),  # it says so of itself
        ("Den Schlüssel zum Notenschrank hat Frau Tönnies.", 0.5, "conflicts"),  # likely a version by its words
        ("Frau Wiesner ist gegen Nüsse allergisch.", 0.5, "links"),  # names are no difference
        ("Frau Wiesner hat den Schlüssel zum Notenschrank.", 0.9, "merges"),
        (KEPT, 0.3, None),
    ],
)
def test_what_is_near_by_words_is_of_the_kind_that_words_tell(content: str, likeness: float, kind: str | None) -> None:
    found = all_candidates(text(1, KEY, title=""), [near(text(2, content, title=""), likeness, by_words=True)])
    assert [item.kind for item in found] == ([kind] if kind else [])
    assert all(item.seen is None for item in found), "it is not read together"


def test_entries_of_a_series_are_not_offered_however_they_read_together() -> None:
    one, other = (text(number, f"The meter in {month}: 2{number}2 kWh.") for number, month in ((1, "May"), (2, "June")))
    pair = next(item for item in all_candidates(one, [near(other)]) if item.kind == "conflicts")
    assert as_read(pair, ReadTogether(6.0, -6.0)) is None


def test_entries_of_a_series_are_in_no_cluster() -> None:
    months = ("May", "June", "July", "August")
    one, *others = (text(number, f"The meter in {month}: 2{number}2 kWh.") for number, month in enumerate(months))
    assert candidates("consolidations", one, [near(other) for other in others]) == []


def read_of(older: str, newer: str, said: ReadTogether, likeness: float = 0.95, **given: Any) -> Candidate | None:
    """What a pair of notes is once it was read."""
    pairs = all_candidates(text(1, older, title=""), [near(text(2, newer, title=""), likeness, **given)])
    return as_read(pairs[0], said) if pairs else None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The tyre pressure of the car is 2.4 bar.", "The tyre pressure of the cargo bike is 4.5 bar."),
        ("The detector in the hall has a battery from 2024.", "The detector in the attic has a battery from 2026."),
        ("Emil's shoe size is 35.", "Lotte's shoe size is 32 now."),
        ("Lotte's class teacher is Mr. Thiessen.", "Emil's class teacher is Mrs. Lind."),
    ],
)
def test_what_is_told_of_two_things_of_one_kind_is_not_offered_however_it_reads(older: str, newer: str) -> None:
    pair = read_of(older, newer, ReadTogether(6.0, -6.0))
    assert pair is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The tyre pressure of the car is 2.4 bar.", "The pressure of the car's tyres is 2.6 bar."),
        ("Lotte's class teacher is Mr. Thiessen.", "Lotte's class teacher is Mrs. Lind."),
        ("The treasurer of the choir is Wim.", "Ottilie is the treasurer of the choir."),
    ],
)
def test_another_value_of_one_thing_is_offered_as_a_conflict(older: str, newer: str) -> None:
    pair = read_of(older, newer, ReadTogether(6.0, -6.0))
    assert pair is not None
    assert pair.kind == "conflicts"


def test_two_things_of_one_kind_are_no_pair_by_words_either() -> None:
    of = [text(1, "Lotte's class teacher is Mr. Thiessen."), text(2, "Emil's class teacher is Mrs. Lind.")]
    assert all_candidates(of[0], [near(of[1], 0.6, by_words=True)]) == []


@pytest.mark.parametrize(
    ("one", "other", "said", "kind"),
    [
        ("The rent is 900 euros and is paid by Ines.", "The rent is 950 euros.", (-5.0, -5.0), "conflicts"),
        ("The rehearsal is on Mondays; bring a stand.", "The rehearsal is on Tuesdays.", (-3.6, -4.1), "conflicts"),
        ("Invoices go to Elbe GmbH by post, in two copies.", "Invoices go to Elbe GmbH by email.",
         (-3.0, -4.0), "conflicts"),
        ("The gate is locked at night; Tim has the key.", "The gate is not locked at night.",
         (-4.4, -5.4), "conflicts"),
        ("Rye comes from the Mühlbach mill.", "Rye is brought by Hofer now, no longer by the Mühlbach mill.",
         (-0.2, 0.3), "conflicts"),
        ("The lift takes at most 6 people.", "The lift takes at least 6 people.", (2.0, -2.0), "conflicts"),
        ("The cottage has no internet.", "There is no internet connection in the cottage.", (4.3, 1.0), "merges"),
        ("Emil can't stand mushrooms.", "Mushrooms are something that Emil hates to eat.", (1.9, -2.9), "merges"),
        ("Owners pay by card or cash.", "Owners pay by card or cash; invoices are due within 14 days.",
         (-4.6, -9.6), "merges"),
        ("Records carry the chip number.", "Records carry the chip number, which has 15 digits.",
         (0.0, -8.0), "merges"),
        ("The cottage is cold.", "The cottage by the lake is cold.", (6.0, -6.0), "conflicts"),
    ],
)  # fmt: skip
def test_words_tell_of_which_kind_a_pair_is_from_either_side_unless_reading_surely_does(
    one: str, other: str, said: tuple[float, float], kind: str
) -> None:
    for older, newer in ((one, other), (other, one)):
        read = read_of(older, newer, ReadTogether(*said), 0.97)
        assert read is not None
        assert read.kind == kind


def test_what_is_hardly_likely_is_offered_only_where_words_tell_of_it() -> None:
    said = ReadTogether(-1.0, -5.0)
    topic = read_of("A visit costs 0.72 euros per kilometre.", "The clinic pays 215 euros a month.", said, 0.68)
    assert topic is None
    changed = read_of("Our database is PostgreSQL 14.", "The database was upgraded to PostgreSQL 16.", said, 0.68)
    assert changed is not None
    part = read_of(
        "Traces go to Tempo. Logs go to Loki and are kept for 30 days.",
        "Logs in Loki are kept for 90 days.",
        said,
        0.68,
    )
    assert part is not None


def test_of_a_group_that_was_declined_a_pair_comes_only_if_it_is_likely() -> None:
    declined = {"judged": frozenset({"no_consolidation"})}
    texts = "The drain of the yard is cleaned.", "The gutter of the yard is cleaned."
    for said, is_one in ((ReadTogether(-3.5, -6.0), False), (ReadTogether(3.0, -2.0), True)):
        assert read_of(*texts, said) is not None
        assert (read_of(*texts, said, **declined) is not None) is is_one


def test_a_group_waits_until_a_conflict_in_it_is_judged() -> None:
    one, two, three = (text(number, f"The fee is {number}0 euros.") for number in (1, 2, 3))
    pairs = [Candidate("conflicts", pair, 0.9, ("", ""), sure=1.0) for pair in ((one, two), (two, three))]
    group = Candidate("consolidations", (one, two, three), 0.9, ("", "", ""))
    by_words, read = looking(*pairs, group), looking(*(replace(pair, contradicts=True) for pair in pairs), group)
    assert "consolidations" in by_words.items
    assert "consolidations" not in read.items
