"""Sources that were not made by who they seem to be: one thing is refused, the others come, and nothing breaks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from holdfast.importers.markdown import LinkTargets
from holdfast.model.moving import edge_type, imported_id
from moves import moving, ormah_node, write

pytestmark = pytest.mark.anyio

IN_TIME = 15.0  # seconds, of which a fraction is needed
BAD = {
    "nul.md": b"The crane\0 lifts.",
    "latin.md": "Der Kran hebt vierzig Tonnen, sagt Jörg.".encode("latin-1"),
    "open.md": b"---\ntitle: never closed\n",
    "bomb.md": b"---\na: &a [x, x]\nb: [*a, *a]\n---\nbomb",
    "deep.md": b"---\na: " + b"[" * 500 + b"]" * 500 + b"\n---\ndeep",
    "blank.md": b"---\ntitle: x\n---\n\n",
    "long.md": b"word " * 100_000,
    "bytes.md": b"---\nkey: !!binary aGk=\n---\nbytes",
    "half.md": b'---\ntitle: "\\ud800"\n---\nhalf a pair',
}
LINES = [
    b'{"type": "entity", "name": "Half \\ud800", "entityType": "x", "observations": []}',
    b'{"type": "entity", "name": "", "entityType": "x", "observations": []}',
    b'{"type": "entity", "name": "No list", "entityType": "x", "observations": "text"}',
    b'{"type": "entity", "name": "Good", "entityType": "x", "observations": ["again"]}',
    b'{"type": "relation", "from": 1, "to": [], "relationType": {}}',
    b'{"type": "relation", "from": "Good", "to": "Good", "relationType": "is"}',
    b'{"type": "other"}',
    b"[" * 100_000,
    b'"text"',
    b"\xff\xfe",
    b'{"type": "entity", "name": "Long", "entityType": "x", "observations": ["' + b"x" * 500_000 + b'"]}',
]


async def test_bad_files_in_a_vault_hold_up_no_good_one(tmp_path: Path) -> None:
    source = write(tmp_path / "vault", {"good.md": "The crane lifts.\n", "x" * 200 + ".md": "A long name.\n"})
    for name, data in BAD.items():
        (source / name).write_bytes(data)
    async with moving(tmp_path / "home") as mover:
        done = await mover.bring(source)
        assert done["notes"] == 2
        assert {item["where"] for item in done["refused"]} == set(BAD)


@pytest.mark.parametrize("text", ["](" + "a.md#" * 70_000, '](a.md "' * 40_000, "[[a#" * 90_000, "``" * 180_000])
async def test_links_that_never_end_take_no_time(tmp_path: Path, text: str) -> None:
    """Each of these took minutes, in which nobody else was answered, or might come to."""
    source = write(tmp_path / "vault", {"good.md": "The [crane](bad.md#top) lifts.\n", "bad.md": text[:250_000]})
    async with moving(tmp_path / "home") as mover:
        with anyio.fail_after(IN_TIME):
            done = await mover.bring(source)
        assert done["notes"] == 2
        assert done["links"] >= 1


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            """CREATE VIEW Memories AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)
            SELECT id, 'x' AS content, '2026-01-01' AS created_at FROM n""",
            "has views",
        ),
        (
            """CREATE TABLE memories (id TEXT, created_at TEXT, content TEXT AS (hex(zeroblob(400000000))));
            INSERT INTO memories VALUES ('a', '2026-01-01')""",
            "its rest cannot be read",
        ),
    ],
)
async def test_a_database_that_never_ends_or_fills_the_memory_is_left(tmp_path: Path, made: str, said: str) -> None:
    source = tmp_path / "omi"
    source.mkdir()
    with closing(sqlite3.connect(source / "palace.sqlite")) as palace:
        palace.executescript(f"CREATE TABLE edges (source_id, target_id, relation); {made};")
    async with moving(tmp_path / "home") as mover:
        with anyio.fail_after(IN_TIME):
            told = await mover.client.call_tool_mcp("admin_import", {"path": str(source)})
        assert said in str(told.content) + str(told.structured_content)


async def test_marks_that_never_end_take_no_time(tmp_path: Path) -> None:
    until = "valid_until: '2026-03-03T09:00:00+00:00'\n"
    nodes = {**ormah_node(1, "[Outdated: " * 20_000, until), **ormah_node(2, "Old. [Outdated: a [new] one]\n", until)}
    async with moving(tmp_path / "home") as mover:
        with anyio.fail_after(IN_TIME):
            done = await mover.bring(write(tmp_path / "ormah", nodes))
        assert done["notes"] == 2
        assert (await mover.node("old"))["outdated_reason"] == "a [new] one"


async def test_bad_lines_hold_up_no_good_one(tmp_path: Path) -> None:
    good = json.dumps({"type": "entity", "name": "Good", "entityType": "x", "observations": ["crane", {"a": 1}]})
    file = tmp_path / "memory.jsonl"
    file.write_bytes(b"\n".join([good.encode(), *LINES]))
    async with moving(tmp_path / "home") as mover:
        done = await mover.bring(file)
        assert done["notes"] == 1
        assert done["refused_count"] + done["unmapped_count"] == len(LINES)
        assert (await mover.node("crane"))["content"] == 'Good\n\n- crane\n- {"a": 1}'


async def test_bad_values_of_ormah_files_are_told(tmp_path: Path) -> None:
    nodes = {
        **ormah_node(1, "Two files have my id."),
        **ormah_node(2, "Odd values.", "tags: 7\nspace: ..\nvalid_until: never\n", confidence=7, tier="hot"),
        **ormah_node(3, "No date.", created="yesterday"),
        **ormah_node(4, "Odd connections.", "connections:\n- 5\n- {}\n- {target: [1], edge: {}, weight: x}\n"),
    }
    nodes["nodes/fact_twin_0000000a.md"] = nodes["nodes/fact_title_00000001.md"]
    async with moving(tmp_path / "home") as mover:
        done = await mover.bring(write(tmp_path / "ormah", nodes))
        assert (done["notes"], done["refused_count"]) == (3, 2)
        odd = await mover.node("odd values")
        assert (odd["confidence"], odd["tier"], odd["space"]) == (1.0, "working", "global")


async def test_tags_and_titles_beyond_the_limits_are_cut_and_kept(tmp_path: Path) -> None:
    tags = [f"tag{number}" for number in range(40)]
    source = write(tmp_path / "vault", {"a.md": f"---\ntitle: {'word ' * 300}\ntags: {json.dumps(tags)}\n---\nText.\n"})
    async with moving(tmp_path / "home") as mover:
        await mover.bring(source)
        note = await mover.node("Text")
        assert len(note["tags"]) == 32
        assert '"tag39"' in mover.text_of(note)
        assert len(note["title"]) <= 500


@pytest.mark.parametrize("name", ["palace.sqlite", "memory.jsonl", "x.tar.gz"])
async def test_what_only_has_the_name_of_a_source_is_refused_as_a_whole(tmp_path: Path, name: str) -> None:
    source = write(tmp_path / "source", {name: "This is none.\n"})
    async with moving(tmp_path / "home") as mover:
        path = source if name == "palace.sqlite" else source / name
        assert (await mover.refused("admin_import", path=str(path))).startswith("InvalidArgumentError")


def test_a_link_is_looked_for_beside_it_then_from_the_top_then_by_name() -> None:
    names = LinkTargets(["a/Note.md", "b/Note.md", "b/c/Other.md", "Top.md"])
    assert names.find("Note", "a/x.md") == "a/Note.md"
    assert names.find("note", "b/x.md") == "b/Note.md"
    assert names.find("b/Note", "a/x.md") == "b/Note.md"
    assert names.find("other", "a/x.md") == "b/c/Other.md"
    assert names.find("../Top.md", "a/x.md") == "Top.md"
    assert names.find("../../Top", "a/x.md") is None
    assert names.find("Nothing", "a/x.md") is None


def test_names_of_relations_are_understood_and_keys_have_ids_of_their_own() -> None:
    named = ("depends on", "DEPENDS_ON", "is part of", "owns", "")
    assert [edge_type(name) for name in named] == ["depends_on", "depends_on", "part_of", "", ""]
    assert len({imported_id(f"ormah:{number}") for number in range(20_000)}) == 20_000
