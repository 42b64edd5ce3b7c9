"""A long text comes in pages that are cut between lines, else between words, and are together the text."""

from __future__ import annotations

import json
import random

import pytest

from holdfast.model.passages import page_at
from holdfast.model.tokens import most_tokens


def pages_of(text: str, most: int) -> list[str]:
    pages: list[str] = []
    while (page := page_at(text, len(pages) + 1, most)) is not None:
        pages.append(page.text)
        assert page.left == len(text) - sum(map(len, pages))
    return pages


def test_a_short_text_is_one_page_and_there_is_no_page_before_or_after_it() -> None:
    assert pages_of("The crane.", 100) == ["The crane."]
    assert pages_of("", 100) == [""]
    assert page_at("The crane.", 0, 100) is None


@pytest.mark.parametrize("end", ["\n", " "])
def test_a_page_ends_with_a_line_or_a_word(end: str) -> None:
    pages = pages_of(f"The crane lifts forty tonnes.{end}" * 2000, 3000)
    assert len(pages) > 2
    assert all(page.endswith(end) for page in pages)


def test_whatever_the_text_its_pages_fit_in_both_forms_and_are_together_the_text() -> None:
    chance = random.Random(5)  # noqa: S311 - the same texts each time
    pieces = ["crane ", "\n", "\x01", '"', "\\", "\t", "x" * 900, "起重機", "🏗", "\u2028"]
    for _ in range(20):
        text = "".join(chance.choices(pieces, k=chance.randint(1, 600)))
        pages = pages_of(text, 3000)
        assert "".join(pages) == text
        for page in pages:
            assert most_tokens(page) <= 3000
            assert most_tokens(json.dumps(page, ensure_ascii=False)) <= 3200
