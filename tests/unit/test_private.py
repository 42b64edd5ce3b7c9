"""What is marked as private is taken out of a text, too much rather than too little."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.passages import without_private


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("nothing of the kind", "nothing of the kind"),
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE>b</Private> c <private>\nd\n</private>", "a [private] c [private]"),
        ("a < private >b< / private > c", "a [private] c"),
        ("a <private>never closed", "a [private]"),
        ("a <private>b <private>c</private> d</private> e", "a [private] e"),
        ("a </private> b", "a </private> b"),
        ("<private></private>", "[private]"),
        ("a <privateer> b", "a <privateer> b"),
    ],
)
def test_what_stands_between_the_marks_is_left_out(text: str, left: str) -> None:
    assert without_private(text) == left


@given(st.lists(st.sampled_from(["<private>", "</private>", "x", " ", "SECRET"]), max_size=12))
def test_nothing_is_left_of_what_is_inside(parts: list[str]) -> None:
    depth = 0
    kept = []
    for part in parts:
        depth = depth + 1 if part == "<private>" else max(0, depth - 1) if part == "</private>" else depth
        kept += [part] if part == "SECRET" and not depth else []
    assert without_private("".join(parts)).count("SECRET") == len(kept)
