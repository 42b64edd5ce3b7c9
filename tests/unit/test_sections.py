"""A long markdown text in its sections: what is a heading and what only looks like one."""

from __future__ import annotations

import random

import pytest

from holdfast.model.passages import MOST_SECTIONS, outline

FILLER = "The crane was greased, turned and looked over before the tide. " * 8


def titles(text: str) -> list[str]:
    found = outline(text)
    return [section.title for section in found.sections] if found else []


def long(*headings: str) -> str:
    return "\n\n".join(f"{heading}\n\n{FILLER}" for heading in headings)


def test_a_text_without_two_headings_stays_whole() -> None:
    assert outline("") is None
    assert outline(FILLER * 40) is None
    assert outline(f"# One\n\n{FILLER * 40}") is None
    assert outline(f"{FILLER}\n\n## One\n\n{FILLER * 40}") is None
    assert outline("# One\n\n## Two") is None
    assert outline(long("# Title", "## One") * 8) is not None


def test_a_title_and_one_heading_are_two() -> None:
    found = outline(f"# Harbour\n\nRead it once.\n\n## Cranes\n\n{FILLER * 8}")
    assert found is not None
    assert (found.title, found.opening) == ("Harbour", "# Harbour\n\nRead it once.")
    assert [section.title for section in found.sections] == ["Cranes"]


def test_headings_nest_and_a_section_ends_at_the_next_of_any_level() -> None:
    text = long("# Harbour", "## Cranes", "### Old", "### New", "## Ferries", "#### Deep", "## Cranes")
    found = outline(text + "\n" + FILLER * 4)
    assert found is not None
    assert found.title == "Harbour"
    assert found.opening.startswith("# Harbour")
    told = [(section.above, section.title, section.part_of, section.key) for section in found.sections]
    assert told == [
        ((), "Cranes", None, "cranes"),
        (("Cranes",), "Old", 0, "cranes/old"),
        (("Cranes",), "New", 0, "cranes/new"),
        ((), "Ferries", None, "ferries"),
        (("Ferries",), "Deep", 3, "ferries/deep"),
        ((), "Cranes", None, "cranes~2"),
    ]
    lines = text.splitlines()
    assert all(lines[section.line - 1].lstrip("# ") == section.title for section in found.sections)


def test_nothing_of_the_text_is_lost() -> None:
    text = long("Before all", "# One", "## Two", "# Three") * 4
    found = outline(text)
    assert found is not None
    rest = "".join([found.opening, *(section.text for section in found.sections)])
    assert "".join(rest.split()) == "".join(text.split())


def test_a_heading_without_text_is_told_by_those_below_it() -> None:
    found = outline(f"# A\n\n## B\n\n### C\n\n{FILLER * 8}\n\n### D\n\n{FILLER}\n\n# E\n\n## F\n\n{FILLER}")
    assert found is not None
    told = [(*section.above, section.title, section.part_of) for section in found.sections]
    assert told == [("A", "B", "C", None), ("A", "B", "D", None), ("E", "F", None)]


@pytest.mark.parametrize(
    "code",
    [
        "```\n# no heading\n```",
        "```python\n# no heading\n## neither\n```",
        "~~~~ sh\n# no heading\n~~~\n# nor this\n~~~~",
        "````\n```\n# no heading\n```\n````",
        "- item\n\n    ```sh\n    # no heading\n# nor this\n    ```",
        "> ```\n> # no heading\n> ```",
        "    # no heading, for it is indented",
        "<!--\n# no heading\n-->",
        "<pre>\n# no heading\n</pre>",
        "#hashtag is none\n#!/bin/sh is none\n####### seven are none",
        "a | b\n--- | ---\n1 | 2",
        "- a list\n---",
        "some text\n\n---\n\nmore text",
        "two lines\nof a paragraph\n---",
        "\\# escaped",
        "```\r\n# no heading\r\n```\r",
        "<div>\n# no heading\n</div>",
        "<details>\r\n<summary>more</summary>\r\n# no heading\r\n</details>\r",
        "<table>\n<tr><td>\nneither this\n---\n</td></tr>\n</table>",
        'text\n<section class="a">\n# no heading\n</section>',
        '<p align="center"\nid="top">\n# no heading\n</p>',
        "<my-card>\n# no heading\n</my-card>",
        "<?php\n# no heading\n\n# nor this\n?>",
        "<![CDATA[\n# no heading\n\n# nor this\n]]>",
    ],
)
def test_what_only_looks_like_a_heading_is_none(code: str) -> None:
    assert titles(f"# One\n\ntext\n\n{code}\n\n# Two\n\ntext") == ["One", "Two"]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Plain", "Plain"),
        ("   ## Three blanks", "Three blanks"),
        ("## Closed ##", "Closed"),
        ("## C# and F#", "C# and F#"),
        ("## A [link](there.md#a) and `code`", "A link and code"),
        ("## **Bold** {#anchor}", "Bold"),
        ("##\tA tab", "A tab"),
        ("Underlined\n==========", "Underlined"),
        ("Underlined\n---", "Underlined"),
        ("## 見出し", "見出し"),
        ("## Windows\r", "Windows"),
        ("<details>\n<summary>more</summary>\n\n## Below a blank line\n\n</details>", "Below a blank line"),
        ('<a name="x"></a>\n## Below an anchor', "Below an anchor"),
        ("text\n<span>\n## Below a paragraph", "Below a paragraph"),
        ("<https://example.org>\n## Below an address", "Below an address"),
        ("<?php echo 1 ?>\n## Below an instruction", "Below an instruction"),
    ],
)
def test_headings_of_every_kind_are_found_by_their_words(line: str, title: str) -> None:
    assert titles(f"# One\n\ntext\n\n{line}\n\ntext\n\n# Last\n\ntext") == ["One", title, "Last"]


def test_a_fence_that_is_never_closed_hides_the_rest() -> None:
    assert titles("# One\n\ntext\n\n# Two\n\ntext\n\n```\n# no heading\n") == ["One", "Two"]


def test_a_text_of_very_many_headings_is_cut_at_the_higher_ones() -> None:
    text = "\n".join(f"# {day}\n\ntext\n\n## {day} a\n\ntext\n\n## {day} b\n\ntext" for day in range(MOST_SECTIONS - 1))
    found = outline(text)
    assert found is not None
    assert len(found.sections) == MOST_SECTIONS - 1
    assert "## 7 b" in found.sections[7].text


def test_keys_are_each_there_once() -> None:
    drawn = random.Random(4)  # noqa: S311 - no secret
    for _ in range(50):
        marks = [f"{'#' * drawn.randrange(1, 5)} {drawn.choice(('A', 'B', 'a', 'B~2'))}" for _ in range(30)]
        found = outline(long(*marks))
        assert found is not None
        keys = [section.key for section in found.sections]
        assert len(keys) == len(set(keys))
