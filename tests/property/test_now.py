"""The NOW file: what is written is read back, whatever it holds; what nobody asked to change stays as it stands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.model.now import EMPTY, Now, _with_fields, fit, lines_of, one_line, read_now, stamp, update_now

AT = datetime(2026, 11, 20, 10, 15, 0, 123000, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)

pieces = st.sampled_from(
    [
        "## Key Files", "# NOW", "## Notes", "### Current Task", "- [x] done", "- [ ] open", "- ", "* ", "`", "```",
        "~~~", "\n", "\r\n", "\r", "\u2028", "\x85", "\v", "\ufeff", "\\", "\\#", "#", " ", "    ", "\t", "None",
        "<!--", "-->", "---", "\u00e9", "\U0001f680", "\u4e2d", "[x]", "1. ", "**", "|", '"', "'", "&amp;", "word",
        "two words", "\x00",
    ]
)  # fmt: skip
texts = st.lists(pieces | st.text(max_size=8), max_size=8).map("".join)
items = texts.map(one_line).filter(bool)
item_lists = st.lists(items, max_size=5)
tasks = texts.map(lines_of)
known = st.sampled_from(["Current Task", "RECENT completions", "Pending Decisions (open)", "key files:"])
sections = st.builds(lambda rank, name, body: f"{'#' * rank} {name}\n{body}\n", st.integers(1, 4), known, texts)
files = st.lists(texts | sections, max_size=6).map("".join)


def written(now: Now) -> str:
    return update_now(
        read_now(""), AT, now.current_task, now.recent_completions, now.pending_decisions, now.key_files
    ).text


@given(tasks, item_lists, item_lists, item_lists)
@example("none", ["None"], ["none"], ["None", "`a` and `b`", "``", "` x"])
@example("\\# a\n```\n## Key Files\n- `x`", [], [], [])
def test_whatever_is_written_is_read_back(task: str, done: list[str], open_: list[str], paths: list[str]) -> None:
    now = Now(task, tuple(done), tuple(open_), tuple(paths))
    file = read_now(written(now))
    assert file.now == now
    assert file.written == AT
    headings = [line for line in file.text.split("\n") if line.startswith("#")]
    assert len(headings) == 1 + sum(map(bool, (task, done, open_, paths)))


@given(files)
def test_any_text_is_a_file_and_its_parts_make_it_up(text: str) -> None:
    file = read_now(text)
    assert file.text == text.removeprefix("\ufeff")
    assert file.now is not None
    assert file.written is None or file.written.tzinfo is UTC


@given(files, st.none() | tasks, item_lists, st.none() | item_lists, st.none() | item_lists)
def test_an_update_changes_what_it_is_given_and_keeps_all_else(
    text: str, task: str | None, done: list[str], open_: list[str] | None, paths: list[str] | None
) -> None:
    before = read_now(text)
    after = read_now(update_now(before, LATER, task, done, open_, paths).text)
    old = EMPTY if before.is_blank else before.now
    assert after.now == Now(
        old.current_task if task is None else task,
        (*old.recent_completions, *done),
        old.pending_decisions if open_ is None else tuple(open_),
        old.key_files if paths is None else tuple(paths),
    )
    assert after.written == LATER
    foreign = [part for part in before.parts if not part.field]
    headings = [part.heading.rstrip("\n") for part in foreign if part.heading]
    assert [part.heading.rstrip("\n") for part in after.parts if not part.field and part.heading] == headings
    for part in foreign:
        assert part.heading + part.body.rstrip("\n") in after.text


@given(files)
def test_an_update_without_fields_moves_the_time_and_nothing_else(text: str) -> None:
    before = read_now(text)
    if before.is_blank:
        return
    after = update_now(before, LATER)
    rest = [part for part in after.parts if part.field != "title"]
    assert rest == [part for part in before.parts if part.field != "title"]


@given(files, item_lists, st.integers(0, 60))
def test_what_does_not_fit_is_handed_out_oldest_first(text: str, done: list[str], most: int) -> None:
    file = update_now(read_now(text), AT, recent_completions=done)
    fitted, gone = fit(file, most)
    assert (*gone, *fitted.now.recent_completions) == file.now.recent_completions
    alone = len(_with_fields(file, {"recent_completions": ()}).text)
    too_long = alone > most * 4  # without any completion: these then have a quarter of the room
    assert len(fitted.text) <= (alone + most if too_long else most * 4) or fitted.now.recent_completions == ()
    if len(file.text) <= most * 4:
        assert gone == ()


HAND_WRITTEN = """my own words above

# Now \u2014 2026-11-20 10:15 (in a hurry)
some words below the title

##   current TASK (since Monday)

Repair the crane:
  1. the brake
  2. the lamp

## My notes
```sh
## Key Files
```
### Key files of my own
- keep me

## Recent completions ##
* [X] one
+ two
  which goes on
1) [ ] three
- [x]four

<!-- a remark -->
## Pending Decisions
None

## Key Files
- `src/crane.py` (the brake)
- lamp.toml
* `a b.py`
"""


def test_what_a_person_wrote_is_read_leniently() -> None:
    file = read_now(HAND_WRITTEN)
    assert file.now == Now(
        "Repair the crane:\n  1. the brake\n  2. the lamp",
        ("one", "two which goes on", "three", "[x]four"),
        (),
        ("src/crane.py (the brake)", "lamp.toml", "a b.py"),
    )
    assert file.written == datetime(2026, 11, 20, 10, 15, tzinfo=UTC)
    assert not file.is_blank


def test_what_a_person_wrote_stays_letter_by_letter_where_nothing_else_was_asked_for() -> None:
    after = update_now(read_now(HAND_WRITTEN), LATER, key_files=["new.py"], recent_completions=["five"]).text
    expected = (
        HAND_WRITTEN.replace("# Now \u2014 2026-11-20 10:15 (in a hurry)", f"# NOW - {stamp(LATER)}")
        .replace("- [x]four\n\n<!-- a remark -->\n", "- [x]four\n\n<!-- a remark -->\n- [x] five\n\n")
        .replace("- `src/crane.py` (the brake)\n- lamp.toml\n* `a b.py`\n", "- `new.py`\n\n")
    )
    assert after == expected


@pytest.mark.parametrize(
    ("section", "pending", "decided"),
    [
        ("- [x] Which cable?\n- [ ] Which port?\n", ["Which port?"], ["Which cable?"]),
        ("* [X] Which cable?\n1. [ ] Which port?\nWhich lamp?\n", ["Which port? Which lamp?"], ["Which cable?"]),
        ("- [x] Which cable?\n  the thick one\n\n- Which port?\n", ["Which port?"], ["Which cable? the thick one"]),
        ("- [x] Which cable?\n  - the thick one\n- Which port?\n", ["Which port?"], ["Which cable?", "the thick one"]),
        ("- [x] Which cable?\n  - [ ] how long?\n", ["how long?"], ["Which cable?"]),
        ("- [ ] Which cable?\n  - [x] how long?\n  - how thick?\n", ["Which cable?", "how thick?"], ["how long?"]),
        ("- [x]Which cable?\n- x Which port?\n", ["[x]Which cable?", "x Which port?"], []),
        ("- [ ] [x] is what?\n", ["[x] is what?"], []),
    ],
)
def test_a_decision_that_a_person_ticked_is_pending_no_longer_and_stays(
    section: str, pending: list[str], decided: list[str]
) -> None:
    text = f"# NOW\n\n## Current Task\nt\n\n## Pending Decisions\n{section}\n## Recent Completions\n- [x] one\n"
    file = read_now(text)
    assert (list(file.now.pending_decisions), file.decided) == (pending, decided)
    assert file.now.recent_completions == ("one",)
    assert file.says_more == bool(decided)
    assert f"## Pending Decisions\n{section}" in update_now(file, LATER, "u", ["two"]).text
    for given_ in (["Who?", "Which cable?"], ["Who?"], []):
        after = read_now(update_now(file, LATER, pending_decisions=given_).text)
        left = [item for item in decided if item not in given_]
        assert (list(after.now.pending_decisions), after.decided) == (given_, left)


OMI_DEFAULT = """# NOW

## Current Task
No active task (just started)

## Recent Completions
- Session initialized

## Pending Decisions
- None

## Key Files
- SOUL.md (identity)
- MEMORY.md (curated)
"""
OMI_INIT = """# NOW - 2026-02-11T09:12:13.141516

## Current Task
Initializing OMI memory infrastructure.

## Recent Completions
- [x] Directory structure created
- [x] Configuration file initialized
- [x] SQLite database initialized
- [x] NOW.md template created

## Pending Decisions
- [ ] Configure embedding provider (NIM vs Ollama)
- [ ] Enable vault backup (optional)
- [ ] Set required consensus instances

## Key Files
- `~/.openclaw/omi/config.yaml`
- `~/.openclaw/omi/palace.sqlite`
- `~/.openclaw/omi/NOW.md`
"""


@pytest.mark.parametrize(
    "text",
    ["", "\n \n", "# NOW - 2026-11-20T10:15:00\n", "## Current Task\n\n## Key Files\n- None\n", OMI_DEFAULT, OMI_INIT],
    ids=["nothing", "blank", "a title", "headings", "OMI's default", "OMI's init"],
)
def test_a_file_that_nobody_has_written_into_is_blank_and_begins_anew(text: str) -> None:
    file = read_now(text)
    assert file.is_blank
    assert read_now(update_now(file, AT, recent_completions=["one"]).text).now == Now("", ("one",))
    assert not read_now(update_now(file, AT, current_task="a task").text).is_blank


def test_what_is_written_is_what_omi_reads() -> None:
    now = Now("a task", ("one",), ("which?",), ("a.py",))
    assert written(now) == (
        "# NOW - 2026-11-20T10:15:00.123+00:00\n\n## Current Task\na task\n\n## Recent Completions\n- [x] one\n\n"
        "## Pending Decisions\n- [ ] which?\n\n## Key Files\n- `a.py`\n\n"
    )


def test_sections_that_are_new_stand_in_their_order() -> None:
    file = update_now(read_now("## Key Files\n- a\n\n## Mine\nx\n\n## Current Task\nt\n"), AT, pending_decisions=["p"])
    assert [part.heading.strip() for part in file.parts][1:] == [
        "## Key Files",
        "## Mine",
        "## Current Task",
        "## Pending Decisions",
    ]


@pytest.mark.parametrize("time", ["yesterday", "2026-13-40", "0001-01-01T00:00:00+23:59", ""])
def test_a_title_without_a_time_that_can_be_read_says_none(time: str) -> None:
    assert read_now(f"# NOW - {time}\n\n## Current Task\nx\n").written is None


def test_a_hundred_thousand_fences_are_read_in_a_moment() -> None:
    assert read_now("```x\n" * 100_000 + "## Current Task\nx\n").now.current_task == "x"
