"""Frontmatter is read as people write it, changed key by key, and refused in one way only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from holdfast.store.codec import Document, MalformedError, parse

SERVER = Path(__file__).parents[2] / "server"

BY_HAND = """---
# what a person wrote
title: Tea, not coffee   # the short form
mood: calm
# who it is about
tags:
- tea
# the second matters most
- "green tea"
created: 2026-11-20
ratings: {taste: 5, price: 2}

notes: |
  # a heading, no comment
  two lines
type: preference
---
Body with --- inside.

---
not a second frontmatter
"""


def test_block_yaml_is_read_with_its_comments_dates_and_lists() -> None:
    values = parse(BY_HAND.encode()).values
    assert values["title"] == "Tea, not coffee"
    assert values["tags"] == ["tea", "green tea"]
    assert str(values["created"]) == "2026-11-20"
    assert values["notes"] == "# a heading, no comment\ntwo lines\n"


@pytest.mark.parametrize(
    "text", [BY_HAND, BY_HAND.replace("\n", "\r\n"), "\ufeff" + BY_HAND, "---\n{a: 1}\n---\n", "no frontmatter", ""]
)
def test_a_file_that_is_not_changed_is_rendered_byte_by_byte(text: str) -> None:
    assert parse(text.encode()).render() == text.encode()


def test_a_change_differs_in_the_lines_of_its_key_alone() -> None:
    changed = parse(BY_HAND.encode()).with_values({"title": "Green tea"}).render().decode()
    expected = BY_HAND.replace("title: Tea, not coffee   # the short form\n", 'title: "Green tea"\n')
    assert changed == expected


def test_a_comment_outlives_the_key_above_it_but_not_the_value_it_stands_in() -> None:
    document = parse(BY_HAND.encode())
    assert "# who it is about\ntags:" in document.with_values({"mood": "wild"}).render().decode()
    retagged = document.with_values({"tags": ["x"]}).render().decode()
    assert '# who it is about\ntags: ["x"]\ncreated: 2026-11-20\n' in retagged


def test_a_key_can_be_taken_out_and_a_new_one_goes_to_the_end() -> None:
    document = parse(BY_HAND.encode()).with_values({"tags": None, "tier": "core"})
    again = parse(document.render())
    assert "tags" not in again.values
    assert document.render().decode().partition("type: preference\n")[2].startswith('tier: "core"\n---\nBody')


def test_a_frontmatter_in_one_flow_mapping_is_written_anew_with_all_its_keys() -> None:
    document = parse(b"---\n{title: Tea, price: 1}\n---\nbody\n").with_values({"title": "Green tea"})
    assert parse(document.render()).values == {"title": "Green tea", "price": 1}


def test_a_body_can_follow_a_closing_line_that_ended_the_file() -> None:
    document = parse(b"---\ntitle: x\n---").with_body("text\n")
    assert parse(document.render()).body == "text\n"


@pytest.mark.parametrize("key", ["no", "On", "true", "null", "a b", "1"])
def test_a_key_that_yaml_would_take_for_something_else_is_quoted(key: str) -> None:
    data = Document().with_values({key: 1}).render()
    assert yaml.safe_load(data.decode().split("---\n")[1]) == parse(data).values == {key: 1}


@pytest.mark.parametrize("value", [1e-05, 1e22, -3e-7, 0.5, 1, "1e-05", 'a "1e5" b', "\u2028\u0085\x9f\ufeff", "😀"])
def test_what_is_written_reads_the_same_for_yaml_and_for_us(value: object) -> None:
    data = Document().with_values({"key": value}).render()
    assert yaml.safe_load(data.decode().split("---\n")[1]) == {"key": value}
    assert parse(data).values == {"key": value}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"---\ntitle: a\0b\n---\n", "NUL"),
        (b"---\ntitle: \xff\n---\n", "UTF-8 at byte 11"),
        (b"---\ntitle: x\n", "never closed"),
        (b"---\ntitle: x\ntitle: y\n---\n", "'title' stands twice"),
        (b"---\ntitle: [1\n---\n", "not valid YAML on line"),
        (b"---\n- a\n- b\n---\n", "keys and values"),
        (b"---\n[]\n---\n", "keys and values"),
        (b"---\nfalse\n---\n", "keys and values"),
        (b"---\na: &x [1]\nb: *x\n---\n", "aliases"),
        (b"---\na: !!python/object:os.system x\n---\n", "not valid YAML"),
        (b"---\na: !!bool maybe\n---\n", "cannot be read"),
        (b"---\na: !!int ''\n---\n", "cannot be read"),
        (b"---\na: !!timestamp soon\n---\n", "cannot be read"),
        (b"---\n{a: .nan}\n---\n", "written again"),
        (b"---\na: 2026-13-45\n---\n", "cannot be read"),
        (b'---\ntitle: "\\ud800"\n---\n', "not valid YAML"),
        (b"---\na: " + b"9" * 5000 + b"\n---\n", "cannot be read"),
    ],
)
def test_what_cannot_be_a_note_is_refused_with_a_reason(text: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        parse(text)


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(MalformedError, match="aliases"):
        parse(("---\n" + "\n".join(lines) + "\n---\n").encode())


@pytest.mark.parametrize("opened", ["[", '{"a": '])
def test_lists_and_maps_are_read_thirty_two_deep_whatever_python_could(opened: str) -> None:
    closed = "]" if opened == "[" else "}"

    def nested(times: int) -> bytes:
        inner = "1" if closed == "}" else ""
        return f"---\na: {opened * times}{inner}{closed * times}\n---\nText.".encode()

    assert parse(nested(31)).values["a"]
    with pytest.raises(MalformedError, match="nested too deeply"):
        parse(nested(32))


@pytest.mark.parametrize(
    "nest", ["'[' * 100000", "'- ' * 100000", "'{a: ' * 60000", "'? ' * 100000", "'a: ' + '[' * 370000"]
)
def test_deep_nesting_is_refused_and_neither_crashes_nor_hangs_the_process(nest: str) -> None:
    script = (
        "from holdfast.store.codec import MalformedError, parse\n"
        f"try: parse(('---\\n' + {nest} + '\\n---\\n').encode())\n"
        "except MalformedError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONPATH": str(SERVER)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "nested too deeply" in done.stdout or "not valid YAML" in done.stdout) == (0, True)


def test_a_frontmatter_of_many_keys_is_read() -> None:
    text = "---\n" + "".join(f"k{number}:\n" for number in range(40_000)) + "---\n"
    assert len(parse(text.encode()).values) == 40_000


def test_keys_that_yaml_takes_for_other_values_stay_the_words_that_they_are() -> None:
    document = parse(b"---\nyes: 1\noff: [a,\n  b]\nnull: y\n---\nA buoy.\n")
    assert document.values == {"yes": 1, "off": ["a", "b"], "null": "y"}
