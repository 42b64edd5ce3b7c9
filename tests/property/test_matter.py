"""Two versions of one fact: what rules a pair out at a glance rules out none that a closer look would find."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, permutations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.matter import may_be_versions, sameness, signs
from holdfast.model.statement import statement

DATA = Path(__file__).parents[2] / "bench" / "data"
LIKENESSES = (None, 0.0, 0.6, 0.9, 1.0)
WORDS = """the Release train leaves on Friday no longer now Postgres 16 17 we use for because Anna leads billing: port
8080 8443 staging production never decided timeout of thirty seconds checkout service was raised to hey thanks meeting
moved Lisbon Hamburg nightly backup runs at noon 40 GB instead""".split()  # noqa: SIM905 - a list of words reads better as one text

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)


def is_kept(older: str, newer: str) -> bool:
    """Whether the pair is looked at closely, or a close look finds nothing however near its vectors are."""
    one, other = statement(older), statement(newer)
    return may_be_versions(one, other) or not any(sameness(signs(one, other, likeness)) for likeness in LIKENESSES)


def versions() -> Iterator[tuple[str, str]]:
    """The pairs of the bench that are two versions of one fact."""
    return (tuple(row[-2:]) for row in json.loads((DATA / "currency.json").read_text("utf-8"))["pairs"])


def facts() -> list[str]:
    """Texts of the bench that speak of few projects, so that many of them share words."""
    read = (json.loads((DATA / name).read_text("utf-8")) for name in ("presence.json", "presence_held_out.json"))
    return [text for data in read for episode in data["episodes"] for text in (*episode["facts"], episode["decoy"])]


def test_no_pair_of_the_bench_is_ruled_out_that_may_be_two_versions() -> None:
    known = chain(versions(), permutations(facts()[:120], 2))
    assert [pair for pair in known if not is_kept(*pair)] == []


def long_texts() -> list[str]:
    """Sentences of more words than are compared one by one."""
    return [
        f"{one.rstrip('.')} and {other.rstrip('.')} as well."
        for one, other in zip(facts()[::2], facts()[1::2], strict=False)
    ]


def test_most_pairs_of_long_texts_are_ruled_out_at_a_glance() -> None:
    pairs = list(permutations(long_texts(), 2))
    looked_at = sum(may_be_versions(statement(one), statement(other)) for one, other in pairs)
    assert looked_at < len(pairs) / 2


@given(texts, texts)
def test_no_pair_of_texts_is_ruled_out_that_may_be_two_versions(older: str, newer: str) -> None:
    assert is_kept(older, newer)


@given(st.sampled_from(long_texts()), st.integers(0, 40), st.lists(st.sampled_from(WORDS), max_size=4))
def test_nor_is_a_long_text_with_a_few_other_words_in_one_place(older: str, place: int, others: list[str]) -> None:
    words = older.split()
    place = min(place, len(words) - 1)
    assert is_kept(older, " ".join([*words[:place], *others, *words[place + 1 :]]))
