"""Two versions of one fact: hardly any pair that is one is ruled out, and most pairs that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.versions import UNLIKELY, judged, likelihood

DATA = Path(__file__).parents[2] / "bench" / "data"
LIKENESSES = (None, 0.0, 0.6, 0.9, 1.0)
WORDS = """the Release train leaves on Friday no longer now Postgres 16 17 we use for because Anna leads billing: port
8080 8443 staging production never decided timeout of thirty seconds checkout service was raised to hey thanks meeting
moved Lisbon Hamburg nightly backup runs at noon 40 GB instead 备份 现在 改为 会议 배포""".split()  # noqa: SIM905

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)


def versions() -> Iterator[tuple[str, str]]:
    """The pairs of the bench that are two versions of one fact."""
    return (tuple(row[-2:]) for row in json.loads((DATA / "currency.json").read_text("utf-8"))["pairs"])


def facts() -> list[str]:
    """Texts of the bench that speak of few projects, so that many of them share words."""
    read = (json.loads((DATA / name).read_text("utf-8")) for name in ("presence.json", "presence_held_out.json"))
    return [text for data in read for episode in data["episodes"] for text in (*episode["facts"], episode["decoy"])]


def test_hardly_a_pair_of_versions_is_ruled_out() -> None:
    known = list(versions())
    for likeness in (None, 0.6):
        assert sum(judged(*pair, likeness) == UNLIKELY for pair in known) <= 0.05 * len(known)


def test_most_pairs_of_other_notes_are_no_versions() -> None:
    pairs = list(permutations(facts()[:120], 2))
    assert sum(judged(*pair, None) != UNLIKELY for pair in pairs) < len(pairs) / 4
    assert sum(likelihood(*pair, 0.6) > 0.0 for pair in pairs) < len(pairs) / 4


@given(texts, texts)
def test_a_likelihood_is_one_and_grows_with_the_likeness_of_the_vectors(older: str, newer: str) -> None:
    found = [likelihood(older, newer, likeness) for likeness in LIKENESSES]
    assert all(0.0 <= each <= 1.0 for each in found)
    assert found[1:] == sorted(found[1:])


@given(texts)
def test_what_says_the_same_in_the_same_words_changes_nothing(text: str) -> None:
    assert likelihood(text, text, 1.0) == likelihood(f"{text} ", text, 1.0)
