"""Moving in from other memories and out again, through the admin gate and in both protocol eras."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp.utilities.tests import asgi_client

import processes
from holdfast.app import build_memory, build_server
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.imports import ImportFrom, import_memory
from holdfast.engine.ports import Caller
from holdfast.settings import load_settings
from moves import (
    Mover,
    files_of,
    memory_server_file,
    moving,
    obsidian_folder,
    omi_folder,
    ormah_folder,
    ormah_id,
    ormah_node,
    write,
)
from processes import HOLDFAST, stdio
from served import ERAS, SELF, Clock, kept_in, made_up_secret, page_of

pytestmark = pytest.mark.anyio

CALLER = Caller(None, "a test", "pytest")


@pytest.fixture
async def mover(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Mover]:
    async with moving(tmp_path / "home", era) as asking:
        yield asking


def reasons(items: list[dict[str, str]]) -> str:
    return "\n".join(f"{item['where']}: {item['reason']}" for item in items)


async def test_an_ormah_folder_comes_with_its_tiers_times_links_and_corrections(mover: Mover, tmp_path: Path) -> None:
    done = await mover.bring(ormah_folder(tmp_path / "ormah"))
    assert (done["kind"], done["notes"], done["refused_count"]) == ("ormah", 5, 1)
    assert "fact_broken_00000006.md" in reasons(done["refused"])
    assert "a connection leads to no memory of this folder" in reasons(done["unmapped"])
    assert "deleted/" in reasons(done["unmapped"])
    crane = await mover.node("crane lifts forty tonnes")
    assert (crane["type"], crane["space"], crane["tags"], crane["confidence"]) == (
        "decision",
        "harbour",
        ["crane"],
        0.9,
    )
    assert (crane["created"], crane["updated"]) == ("2026-03-01T09:01:00Z", "2026-03-02T09:00:00Z")
    assert crane["source"] == "agent:claude"
    [edge] = [edge for edge in crane["connections"] if edge["direction"] == "out"]
    assert (edge["type"], edge["weight"], edge["title"]) == ("supports", 0.8, "Title 2")
    ferry = await mover.node("ferry leaves at noon")
    assert ferry["outdated_reason"] == "it leaves at one"
    recalled = await mover.call("recall", query="ferry leaves at noon")
    assert not [hit for hit in recalled["results"] if hit["id"] == ferry["id"]]
    text = mover.text_of(crane)
    assert 'imported_from: "ormah:00000001-0000-4000-8000-000000000000"' in text
    assert "importance: 0.61" in text


async def test_what_ormah_superseded_or_deleted_does_not_come_back_as_current(mover: Mover, tmp_path: Path) -> None:
    deleted = "deleted_at: '2026-04-01T00:00:00Z'\n"
    nodes = {
        **ormah_node(1, "The harbour limit is 100 boats.", f"superseded_by: {ormah_id(2)}\n"),
        **ormah_node(2, "The harbour limit is 300 boats.", "superseded_by: '00000003'\n"),
        **ormah_node(3, "The harbour limit is 800 boats.", "space: 'null'\n"),
        **ormah_node(4, "The pier limit is 9 boats.", deleted, type="decision"),
        **ormah_node(5, "The lamp limit is 7 lamps.", f"superseded_by: {ormah_id(99)}\n"),
        **ormah_node(6, "The rope limit is 5 ropes.", f"superseded_by: {ormah_id(6)}\narchived: true\n"),
    }
    done = await mover.bring(write(tmp_path / "ormah", nodes))
    assert (done["notes"], done["refused_count"]) == (5, 0)
    assert "decision_title_00000004.md: it is deleted there" in reasons(done["unmapped"])
    assert "fact_title_00000005.md: what replaced it is no memory of this folder" in reasons(done["unmapped"])
    hits = (await mover.call("recall", query="harbour limit boats"))["results"]
    assert [hit["content"] for hit in hits] == ["The harbour limit is 800 boats."]
    assert hits[0]["space"] == "global"
    first = await mover.call("recall_node", node_id=note_with(mover, "is 100 boats"))
    second = await mover.call("recall_node", node_id=first["superseded_by"])
    assert (first["outdated"], second["content"]) == (True, "The harbour limit is 300 boats.")
    assert first["valid_until"] == "2026-03-02T09:00:00Z"
    assert (await mover.call("recall_node", node_id=second["superseded_by"]))["id"] == hits[0]["id"]
    assert not [text for text in mover.texts() if "pier limit" in text]
    lamp, rope = await mover.node("lamp limit lamps"), await mover.node("rope limit ropes")
    assert (lamp["outdated"], lamp["superseded_by"], rope["outdated"], rope["tier"]) == (True, None, True, "archival")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("valid_until: 2020-01-01", {"valid_until": "2020-01-01T00:00:00Z", "outdated": False}),
        ("outdated: true\noutdated_reason: it sank", {"outdated": True, "outdated_reason": "it sank"}),
        ("status: Superseded by ADR 7", {"outdated": True, "outdated_reason": "Superseded by ADR 7"}),
        ('superseded_by: "[[New]]"', {"outdated": True, "superseded": True}),
        ("superseded_by: [New.md]", {"outdated": True, "superseded": True}),
        ("superseded_by: somewhere else", {"outdated": True, "superseded": False}),
        ("archived: yes", {"tier": "archival", "outdated": False}),
        ("tier: core\nabout_self: true\nsession: talk", {"tier": "core", "session": "talk", "outdated": False}),
    ],
)
async def test_what_a_markdown_file_says_of_whether_it_holds_is_kept(
    mover: Mover, tmp_path: Path, keys: str, said: dict[str, Any]
) -> None:
    texts = {"Old.md": f"---\n{keys}\n---\nThe ferry leaves at noon.\n", "New.md": "The ferry leaves at one.\n"}
    await mover.bring(write(tmp_path / "vault", texts))
    node = await mover.call("recall_node", node_id=note_with(mover, "at noon"))
    new = note_with(mover, "at one")
    assert {key: node[key] for key in said if key != "superseded"} == {
        key: value for key, value in said.items() if key != "superseded"
    }
    assert node["superseded_by"] == (new if said.get("superseded") else None)
    hits = (await mover.call("recall", query="when does the ferry leave"))["results"]
    stale = said.get("outdated") or "valid_until" in said
    assert {hit["id"] for hit in hits} == ({new} if stale else {new, node["id"]})


def note_with(mover: Mover, words: str) -> str:
    (path,) = [path for path, data in mover.stored.notes().items() if words in data.decode()]
    return path.removesuffix(".md").rpartition(".")[2]


async def test_a_value_that_fits_no_field_of_ours_is_kept_as_it_was(mover: Mover, tmp_path: Path) -> None:
    head = (
        "source: [a logbook, a chart]\nsubject: {who: Anna}\ntier: gold\nconfidence: high\n"
        "outdated: perhaps\ncreated: long ago\ntags: [gull]\ntype: fact\nsession:\n"
    )
    await mover.bring(write(tmp_path / "notes", {"gulls.md": f"---\n{head}---\nThe gulls nest on the roof.\n"}))
    [text] = [text for data in files_of(mover.home).values() if "gulls nest" in (text := data.decode())]
    kept = json.loads(next(line for line in text.splitlines() if line.startswith("imported_keys: ")).partition(" ")[2])
    assert kept == {
        "source": ["a logbook", "a chart"],
        "subject": {"who": "Anna"},
        "tier": "gold",
        "confidence": "high",
        "outdated": "perhaps",
        "created": "long ago",
    }


async def test_what_omi_says_beside_the_documented_columns_is_not_dropped(mover: Mover, tmp_path: Path) -> None:
    source = omi_folder(tmp_path / "omi")
    with closing(sqlite3.connect(source / "palace.sqlite")) as palace:
        palace.execute("ALTER TABLE memories ADD COLUMN superseded_by TEXT")
        palace.execute("ALTER TABLE memories ADD COLUMN archived INTEGER")
        palace.execute("ALTER TABLE memories ADD COLUMN deleted_at TEXT")
        palace.execute("UPDATE memories SET superseded_by = 'e1', instance_ids = '[\"i1\"]' WHERE id = 'f1'")
        palace.execute("UPDATE memories SET archived = 1 WHERE id = 'e1'")
        palace.execute("UPDATE memories SET deleted_at = '2026-02-02T00:00:00' WHERE id = 'b1'")
        palace.commit()
    done = await mover.bring(source)
    assert done["notes"] == 2
    assert "memory b1: it is deleted there" in reasons(done["unmapped"])
    old = await mover.call("recall_node", node_id=note_with(mover, "on Monday"))
    new = await mover.call("recall_node", node_id=note_with(mover, "through the storm"))
    assert (old["outdated"], old["superseded_by"], new["tier"]) == (True, new["id"], "archival")
    assert 'instance_ids": "[\\"i1\\"]' in mover.text_of(old)


async def test_what_is_here_already_is_not_stored_again_by_an_import(mover: Mover, tmp_path: Path) -> None:
    here = await mover.call("remember", content="We use tabs.", space="global", tags=["style"])
    texts = {
        "Style.md": "---\ntags: [editor]\ncolour: red\n---\nwe use  TABS.\n\n",
        "Why.md": "Because of [[Style]].\n",
    }
    source = write(tmp_path / "vault", texts)
    done = await mover.bring(source)
    assert (done["notes"], done["same"], done["known"]) == (1, 1, 0)
    assert f"Style.md: it says what {here['id']} says" in reasons(done["unmapped"])
    node = await mover.call("recall_node", node_id=here["id"])
    assert (node["content"], node["tags"]) == ("We use tabs.", ["style", "editor"])
    assert "Why" in [edge["title"] for edge in node["connections"] if edge["direction"] == "in"]
    before = files_of(mover.home)
    again = await mover.bring(source)
    assert (again["notes"], again["same"]) == (0, 0)
    assert files_of(mover.home) == before


async def test_two_files_of_one_text_are_one_note_unless_they_have_two_names(mover: Mover, tmp_path: Path) -> None:
    texts = {
        "a/Tabs.md": "We use tabs.\n",
        "b/Tabs.md": "We use tabs.\n",
        "b/See.md": "[[b/Tabs]] it is.\n",
        "Anna.md": "Met at the fair.\n",
        "Ben.md": "Met at the fair.\n",
    }
    done = await mover.bring(write(tmp_path / "vault", texts))
    assert (done["notes"], done["same"]) == (4, 1)
    tabs = await mover.call("recall_node", node_id=note_with(mover, "We use tabs."))
    assert "See" in [edge["title"] for edge in tabs["connections"] if edge["direction"] == "in"]


async def test_an_export_joins_what_is_here_and_keeps_its_own_notes_as_many_as_they_are(
    tmp_path: Path, era: str
) -> None:
    async with moving(tmp_path / "one", era) as mover:
        for day in ("2026-05-03", "2026-05-04"):
            await mover.call("remember", content="Deployed.", type="event", event_time=day, space="global")
        shared = await mover.call("remember", content="We use tabs.", space="global", tags=["one"])
        made = await mover.call("admin_export")
    async with moving(tmp_path / "two", era) as mover:
        here = await mover.call("remember", content="we use tabs.", space="global", tags=["two"])
        done = await mover.bring(tmp_path / "one" / made["path"])
        assert done["same"] == 1
        node = await mover.call("recall_node", node_id=shared["id"])
        assert (node["id"], node["tags"]) == (here["id"], ["two", "one"])
        assert len([path for path in mover.stored.notes() if path.startswith("global/deployed")]) == 2


async def test_of_two_files_with_one_id_the_first_comes_and_the_other_is_named(mover: Mover, tmp_path: Path) -> None:
    head = '---\nid: "mem_01jd4x0k3v8q2m7z"\n---\n'
    texts = {"memories/a/a.md": f"{head}The anchor.\n", "memories/b/b.md": f"{head}The buoy.\n", "journal/x": ""}
    done = await mover.bring(write(tmp_path / "export", texts))
    assert (done["notes"], [item["where"] for item in done["refused"]]) == (1, ["memories/b/b.md"])
    node = await mover.call("recall_node", node_id="mem_01jd4x0k3v8q2m7z")
    assert node["content"].strip() == "The anchor."


def taken_away(file: Path) -> None:
    file.unlink()


def edited(file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace("holds fast", "drags"), "utf-8")
    os.utime(file, (1, 1))  # left alone for long


@pytest.mark.parametrize("others_do", [taken_away, edited])
async def test_a_text_comes_again_where_the_note_that_said_it_has_changed_during_the_import(
    tmp_path: Path, era: str, others_do: Callable[[Path], None]
) -> None:
    same, between = "The anchor holds fast.", range(2, 40)
    nodes = {**ormah_node(1, same, title="Anchor"), **ormah_node(99, same, title="Anchor")}
    for number in between:
        nodes |= ormah_node(number, f"Boat {number} has a berth.")
    source = ImportFrom(str(write(tmp_path / "ormah", nodes)), anywhere=True)
    done: list[int] = []

    async def progress(count: int, _: int) -> None:
        if not done:
            [file] = [file for file in memories.rglob("*.md") if same in file.read_text("utf-8")]
            others_do(file)
        done.append(count)

    async def no_progress(_: int, __: int) -> None:
        """Nobody is told of the dry run."""

    async with moving(tmp_path / "home", era) as mover:
        memories, tokens = mover.files / "memories", Confirmations()
        dry = await import_memory(mover.memory, CALLER, tokens, source, no_progress)
        await import_memory(mover.memory, CALLER, tokens, replace(source, confirm=dry.confirm), progress)
        assert len(done) > 1
        [text] = [text for file in memories.rglob("*.md") if same in (text := file.read_text("utf-8"))]
        assert ormah_id(99) in text


async def test_what_an_ormah_self_defines_is_about_the_user_here(mover: Mover, tmp_path: Path) -> None:
    await mover.bring(ormah_folder(tmp_path / "ormah"))
    tea = await mover.node("prefers tea to coffee")
    assert SELF in [edge["id"] for edge in tea["connections"] if edge["type"] == "defines"]
    master = await mover.node("harbour master")
    assert master["type"] == "person"
    assert master["id"] != SELF
    assert "The person this memory belongs to" in (await mover.call("recall_node", node_id=SELF))["content"]


async def test_the_reference_servers_entities_and_relations_come(mover: Mover, tmp_path: Path) -> None:
    done = await mover.bring(memory_server_file(tmp_path / "kg"), space="harbour")
    assert (done["kind"], done["notes"], done["links"]) == ("memory-server", 2, 2)
    assert "line 5: a relation names an entity that is not in the file" in reasons(done["refused"])
    assert "line 6: it is no JSON object" in reasons(done["refused"])
    anna = await mover.node("Anna lives in Kiel")
    assert (anna["type"], anna["space"], anna["title"]) == ("person", "harbour", "Anna")
    assert anna["content"] == "Anna\n\n- sails\n- lives in Kiel"
    edges = {(edge["direction"], edge["type"], edge["reason"]) for edge in anna["connections"]}
    assert edges == {("out", "related_to", "owns"), ("in", "depends_on", "")}
    assert (await mover.node("Seagull yawl"))["tags"] == ["vessel"]


async def test_an_obsidian_vault_comes_with_links_tags_and_foreign_keys(mover: Mover, tmp_path: Path) -> None:
    done = await mover.bring(obsidian_folder(tmp_path / "vault"))
    assert (done["kind"], done["notes"]) == ("markdown", 3)
    assert reasons(done["refused"]) == "logs/Twice.md: the key 'a' stands twice in its frontmatter"
    assert "Crane.md: a link leads to no file of this folder: Nowhere" in reasons(done["unmapped"])
    assert "1 other file there: no markdown and no text" in reasons(done["unmapped"])
    crane = await mover.node("lifts forty tonnes")
    assert (crane["title"], crane["tags"], crane["created"]) == ("Crane", ["lift", "port"], "2024-05-06T00:00:00Z")
    assert {edge["title"] for edge in crane["connections"] if edge["direction"] == "out"} == {"Ferry", "Day one"}
    assert 'aliases: ["Big Blue"]' in mover.text_of(crane)
    log = await mover.node("tug came in")
    assert (log["type"], log["space"]) == ("event", "pier")
    assert not (await mover.call("recall", query="workspace looked at", explain=False))["results"]


async def test_an_omi_folder_comes_with_beliefs_evidence_and_pages(mover: Mover, tmp_path: Path) -> None:
    source = omi_folder(tmp_path / "omi")
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    done = await mover.bring(source)
    assert (done["kind"], done["notes"], done["pages"]) == ("omi", 3, 3)
    assert "memory x1: it has no id or no text" in reasons(done["refused"])
    assert "memory f1: an edge leads to no memory of this database" in reasons(done["unmapped"])
    belief = await mover.node("crane is reliable")
    assert (belief["type"], belief["confidence"]) == ("belief", 0.65)
    [edge] = [edge for edge in belief["connections"] if edge["type"] == "supports"]
    assert (edge["direction"], edge["weight"]) == ("in", 0.9)
    assert "Mend the crane" in page_of(mover.home, "NOW.md")
    assert "Painted the crane." in page_of(mover.home, "daily/2026-02-01.md")
    assert page_of(mover.home, "MEMORY.md") == "Curated by hand.\n"
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file()} == before
    assert (await mover.call("integrity_check"))["overall_safe"] is True


async def test_an_omi_folder_that_is_one_projects_gives_it_its_now_file(tmp_path: Path, era: str) -> None:
    async with moving(tmp_path / "home", era, HOLDFAST_SPACE="harbour") as mover:
        await mover.bring(omi_folder(tmp_path / "omi"), space="Harbour")
        assert (await mover.call("now_read"))["current_task"] == "Mend the crane"
        assert (await mover.node("crane is reliable"))["space"] == "harbour"


async def test_nothing_is_imported_twice_and_nothing_here_is_overwritten(mover: Mover, tmp_path: Path) -> None:
    sources = [ormah_folder(tmp_path / "ormah"), omi_folder(tmp_path / "omi"), memory_server_file(tmp_path / "kg")]
    for source in sources:
        await mover.bring(source)
    ferry = await mover.node("ferry leaves at noon")
    await mover.call("admin_update_memory", node_id=ferry["id"], content="My ferry leaves at noon.")
    before = files_of(mover.home)
    done = [await mover.bring(source) for source in sources]
    assert [each["notes"] + each["pages"] for each in done] == [0, 0, 0]
    assert [each["known"] for each in done] == [5, 6, 2]
    assert [each["differing"] for each in done] == [1, 0, 0]
    assert files_of(mover.home) == before


async def test_what_was_removed_here_does_not_come_back_even_with_another_index(tmp_path: Path, era: str) -> None:
    source = memory_server_file(tmp_path / "kg")
    async with moving(tmp_path / "home", era) as mover:
        await mover.bring(source)
        node = await mover.node("Anna lives in Kiel")
        next(mover.files.glob(f"memories/*/*.{node['id']}.md")).unlink()
    for file in (tmp_path / "home/.holdfast").glob("index.db*"):
        file.unlink()
    async with moving(tmp_path / "home", era) as mover:
        done = await mover.bring(source)
        assert (done["notes"], done["known"], done["gone"]) == (0, 1, 1)


async def test_secrets_are_taken_out_of_whatever_field(mover: Mover, tmp_path: Path) -> None:
    secrets = [made_up_secret() for _ in range(4)]
    source = write(
        tmp_path / "vault",
        {
            "a.md": f"---\ntitle: {secrets[0]}\nkeys: [{secrets[1]}]\ntags: [{secrets[2]}]\n---\nToken {secrets[3]}.\n",
        },
    )
    done = await mover.bring(source)
    assert sum(done["secrets"].values()) == 4
    assert not mover.stored.holding(*secrets)


async def test_with_refusal_a_note_with_a_secret_is_left_out_and_the_others_come(tmp_path: Path, era: str) -> None:
    source = write(tmp_path / "vault", {"a.md": f"Token {made_up_secret()}.\n", "b.md": "The crane lifts.\n"})
    async with moving(tmp_path / "home", era, HOLDFAST_SECRETS="refuse") as mover:
        done = await mover.bring(source)
        assert (done["notes"], done["refused_count"]) == (1, 1)
        assert "a.md: SecretRefusedError" in reasons(done["refused"])


async def test_a_token_does_not_hold_for_a_source_that_has_changed(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "vault", {"a.md": "The crane lifts.\n"})
    dry = await mover.call("admin_import", path=str(source))
    write(source, {"b.md": "Slipped in between.\n"})
    said = await mover.refused("admin_import", path=str(source), confirm=dry["confirm"])
    assert said.startswith("InvalidArgumentError")
    assert files_of(mover.home) == {}


async def test_links_are_not_followed(mover: Mover, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "The safe is behind the picture.\n"})
    source = write(tmp_path / "vault", {"a.md": "The crane lifts.\n"})
    (source / "b.md").symlink_to(outside / "secret.md")
    (source / "c").symlink_to(outside)
    done = await mover.bring(source)
    assert done["notes"] == 1
    assert "b.md: it is a symbolic link" in reasons(done["unmapped"])
    (tmp_path / "link").symlink_to(source)
    assert "InvalidArgumentError" in await mover.refused("admin_import", path=str(tmp_path / "link"))


@pytest.mark.parametrize("path", ["../outside", "/etc", "outside.md", "", " ", "a/../../x", "nul\0"])
async def test_a_relative_path_stays_in_the_imports_folder(mover: Mover, tmp_path: Path, path: str) -> None:
    write(tmp_path / "outside", {"secret.md": "The safe is behind the picture.\n"})
    write(mover.home / "imports", {"vault/a.md": "The crane lifts.\n"})
    (mover.home / "imports" / "outside.md").symlink_to(tmp_path / "outside" / "secret.md")
    if path != "/etc":
        said = await mover.refused("admin_import", path=path)
        assert said.startswith(("InvalidArgumentError", "StorageError"))
    assert (await mover.call("admin_import", path="vault"))["notes"] == 1


async def test_over_http_only_the_imports_folder_is_read(anyio_backend: str, era: str, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "The safe is behind the picture.\n"})
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path / "home"), "HOLDFAST_ENCODER": "none"})
    write(tmp_path / "home" / "imports", {"vault/a.md": "The crane lifts.\n"})
    memory = build_memory(settings)
    async with memory.running(), asgi_client(build_server(settings, memory, admin=True), mode=era) as client:
        mover = Mover(client, tmp_path / "home", Clock(), memory)
        said = await mover.refused("admin_import", path=str(outside))
        assert said.startswith("InvalidArgumentError")
        assert (await mover.bring("vault"))["notes"] == 1


async def test_what_a_dead_process_left_of_an_export_is_taken_away_a_day_later(mover: Mover) -> None:
    old, young = (mover.home / "exports" / f".{name}.tmp" for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (1_700_000_000, 1_700_000_000))
    await mover.call("admin_export")
    assert (old.exists(), young.exists()) == (False, True)


async def test_an_import_tells_how_far_it_is_and_raises_no_alarm(mover: Mover, tmp_path: Path) -> None:
    texts = {f"n{number}.md": f"Note {number} of the harbour. [[n0]]\n" for number in range(80)}
    alone = {f"alone{number}.md": f"Alone {number}.\n" for number in range(20)}
    await mover.bring(write(tmp_path / "vault", texts | alone))
    assert mover.progress[-1] == (100.0, 100.0)
    assert len(mover.progress) >= 6
    assert sorted(mover.progress[: len(mover.progress) // 2]) == mover.progress[: len(mover.progress) // 2]
    assert (await mover.call("integrity_check"))["overall_safe"] is True


@pytest.mark.parametrize("name", ["out.tar.gz", "out"])
async def test_an_export_imported_elsewhere_gives_the_same_notes_byte_for_byte(
    tmp_path: Path, era: str, name: str
) -> None:
    async with moving(tmp_path / "home", era) as mover:
        await mover.bring(ormah_folder(tmp_path / "ormah"))
        await mover.bring(omi_folder(tmp_path / "omi"))
        await mover.call("remember", content="Stored by a tool.\r\nÜber zwei Zeilen.", tags=["a"], about_self=True)
        await mover.call("now_update", current_task="Move out", recent_completions=["Packed"])
        (mover.home / "config.yaml").write_text("encoder_key: geheim\n", "utf-8")
        made = await mover.call("admin_export", path=name)
        assert made["path"] == f"exports/{name}"
        before = files_of(mover.home)
    exported = tmp_path / "home" / made["path"]
    names = names_in(exported)
    assert "manifest.json" in names
    assert any(each.startswith("journal/") for each in names)
    assert not [each for each in names if each.startswith((".holdfast", "locks", "vault", "exports"))]
    async with moving(tmp_path / "other", era) as mover:
        done = await mover.bring(exported)
        assert (done["kind"], done["refused_count"]) == ("holdfast", 0)
        assert files_of(mover.home) == before
        again = await mover.bring(exported)
        assert (again["notes"], again["pages"], again["differing"]) == (0, 0, 0)
        assert "Self" in (await mover.call("recall_node", node_id=SELF))["title"]


def names_in(exported: Path) -> list[str]:
    if exported.is_dir():
        return [path.relative_to(exported).as_posix() for path in exported.rglob("*")]
    with tarfile.open(exported) as archive:
        return archive.getnames()


async def test_a_harmed_export_is_refused_or_its_harmed_file_left_out(mover: Mover, tmp_path: Path) -> None:
    await mover.call("remember", content="The crane lifts forty tonnes.")
    await mover.call("admin_export", path="a.tar.gz")
    await mover.call("admin_export", path="a")
    archive, folder = mover.home / "exports/a.tar.gz", mover.home / "exports/a"
    data = archive.read_bytes()
    archive.write_bytes(data[: len(data) // 2])
    assert "InvalidArgumentError" in await mover.refused("admin_import", path=str(archive))
    note = next(path for path in folder.rglob("*.md") if "crane" in path.name)
    note.write_text(note.read_text("utf-8").replace("forty", "fifty"), "utf-8")
    dry = await mover.call("admin_import", path=str(folder))
    assert "it is not as the manifest says" in reasons(dry["refused"])
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace("memories", "memorias"), "utf-8")
    assert "InvalidArgumentError" in await mover.refused("admin_import", path=str(folder))


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "x.zip", "", "taken"])
async def test_an_export_has_a_plain_and_free_name(mover: Mover, name: str) -> None:
    write(mover.home, {"exports/taken/kept": "x"})
    if name:
        assert (await mover.refused("admin_export", path=name)).startswith("InvalidArgumentError")
    assert (await mover.call("admin_export"))["path"].endswith(".tar.gz")
    assert (mover.home / "exports/taken/kept").read_text() == "x"
    assert [path.name for path in (mover.home / "exports").glob(".*")] == []


async def test_moves_are_journalled_with_their_principal(mover: Mover, tmp_path: Path) -> None:
    await mover.bring(memory_server_file(tmp_path / "kg"))
    await mover.call("admin_export")
    await mover.refused("admin_import", path=str(tmp_path / "nothing"))
    lines = mover.stored.journal()
    told = [(line["admin"], line.get("dry_run", False), line["outcome"]) for line in lines if "outcome" in line]
    assert told == [
        ("admin_import", True, "done"),
        ("admin_import", False, "done"),
        ("admin_export", False, "done"),
        ("admin_import", True, "InvalidArgumentError"),
    ]
    assert {line["by"] for line in lines if "admin" in line} == {"local"}
    assert [line["admin"] for line in lines if line.get("op") == "import"] == ["admin_import"]


# A server that stands still in the middle of a change of many notes, so that whoever kills it is never too late.
_NEVER_DONE = """
import sys, time
from holdfast.store.filesystem import FileSystem
from holdfast.__main__ import main
move, moved = FileSystem.move, []
def stalling(self, source, target):
    moved.append(target)
    time.sleep(600 if len(moved) > 100 else 0)
    move(self, source, target)
FileSystem.move = stalling
sys.exit(main(["--admin"]))
"""


@pytest.mark.parametrize("era", ERAS[:1])
def test_over_stdio_a_killed_import_goes_on_and_ends_as_if_it_had_not_been(
    environment: dict[str, str], era: str, tmp_path: Path
) -> None:
    texts = {f"n{number:03}.md": f"Note {number} of the harbour.\n" for number in range(150)}
    source = write(tmp_path / "vault", texts)
    for path in source.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    notes = kept_in(Path(environment["HOLDFAST_HOME"])) / "memories" / "global"
    with stdio(environment, era, (sys.executable, "-c", _NEVER_DONE)) as server:
        server.begin()
        dry = server.tool("admin_import", path=str(source))["structuredContent"]
        server.send("tools/call", name="admin_import", arguments={"path": str(source), "confirm": dry["confirm"]})
        while not notes.is_dir() or len(list(notes.glob("n*.md"))) < 20:
            assert server.process.poll() is None
        server.process.kill()
        server.process.wait()
    half = len(list(notes.glob("n*.md")))
    assert 0 < half < 150
    assert brought(environment, era, source)["known"] >= half - 32
    other = tmp_path / "whole"
    whole = {**environment, "HOLDFAST_HOME": str(other), **processes.stored_at(other)}
    assert brought(whole, era, source)["notes"] == 150
    assert imported(environment) == imported(whole)


def brought(environment: dict[str, str], era: str, source: Path) -> dict[str, Any]:
    with stdio(environment, era, (*HOLDFAST, "--admin")) as server:
        server.begin()
        token = server.tool("admin_import", path=str(source))["structuredContent"]["confirm"]
        return dict(server.tool("admin_import", path=str(source), confirm=token)["structuredContent"])


def imported(environment: dict[str, str]) -> dict[str, bytes]:
    found = files_of(Path(environment["HOLDFAST_HOME"]))
    return {path: data for path, data in found.items() if SELF not in path}


@pytest.mark.parametrize("era", ERAS[:1])
async def test_thousands_of_notes_come_in_bounded_memory(
    environment: dict[str, str], era: str, tmp_path: Path, effort: Any
) -> None:
    count = effort.of(200, 5000)
    text = "The harbour has many cranes and ferries, and this is a line about them. " * 60
    source = write(tmp_path / "vault", {f"n{number}.md": f"{number} {text}\n" for number in range(count)})
    with stdio(environment, era, (*HOLDFAST, "--admin")) as server:
        server.begin()
        token = server.tool("admin_import", path=str(source))["structuredContent"]["confirm"]
        before = peak(server.process.pid)
        assert server.tool("admin_import", path=str(source), confirm=token)["structuredContent"]["notes"] == count
        assert peak(server.process.pid) - before < 64 * 1024 * 1024


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024
