"""A long markdown file comes as a note for each section, tied to those around it, and can come again and again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from commands import ran
from moves import Mover, files_of, moving, write
from served import made_up_secret

pytestmark = pytest.mark.anyio

FILLER = "It was greased, turned and looked over before the tide came in again. " * 6
OTHERS = {
    "Ferries": "The ferry leaves at noon from the third pier.",
    "Pilots": "The pilot boat is called Albatross and needs two hands.",
    "Lamps": "Lamp oil is kept in the red shed behind the customs house.",
}


def document(**texts: str) -> str:
    """A file of nine sections; what is given replaces texts by the heading."""
    said = OTHERS | {"Old crane": "It lifts forty tonnes.", "New crane": "It lifts ninety tonnes."} | texts
    cranes = f"## Cranes\n\nBoth stand on the north quay. {FILLER}\n\n```sh\n# no heading\n```\n"
    nested = "".join(
        f"\n### {name}\n\n{said.pop(name)} {FILLER}\n" for name in ("Old crane", "New crane") if said[name]
    )
    rest = "".join(f"\n## {name}\n\n{text} {FILLER}\n" for name, text in said.items() if text)
    quiet = "".join(f"\n## Rule {number}\n\nKeep the pier clear. {FILLER}\n" for number in range(3))
    head = "---\ntags: [port]\nowner: Anna\ntype: procedure\n---\n# Harbour handbook\n\nRead it once.\n\n"
    return f"{head}{cranes}{nested}{rest}{quiet}"


@pytest.fixture
async def mover(anyio_backend: str, era: str, tmp_path: Path) -> AsyncIterator[Mover]:
    async with moving(tmp_path / "home", era) as moving_in:
        yield moving_in


async def titled(mover: Mover, title: str) -> dict[str, Any]:
    """The one note of this title, whole."""
    wanted = f"\ntitle: {json.dumps(title)}\n"
    found = [path for path, data in mover.stored.notes().items() if wanted in data.decode()]
    assert len(found) == 1, (title, found)
    return await mover.call("recall_node", node_id=found[0].split(".")[-2])


async def test_each_section_is_a_note_that_knows_what_it_is_part_of_and_what_comes_before(
    mover: Mover, tmp_path: Path
) -> None:
    done = await mover.bring(write(tmp_path / "docs", {"handbook.md": document()}), space="harbour")
    assert (done["kind"], done["notes"], len(done["changes"])) == ("markdown", 10, 1)
    whole, cranes, new = [await titled(mover, name) for name in ("Harbour handbook", "Cranes", "New crane")]
    assert "Read it once." in whole["content"]
    assert "- Cranes\n- Ferries\n- Pilots" in whole["content"]
    assert "ninety" not in whole["content"]
    assert 'owner: "Anna"' in mover.text_of(whole)
    assert new["content"].startswith("Harbour handbook / Cranes\n\n### New crane\n\nIt lifts ninety tonnes.")
    assert "# no heading" in cranes["content"]
    assert "forty" not in cranes["content"]
    for note in (whole, cranes, new):
        assert (note["type"], note["space"], note["tags"]) == ("procedure", "harbour", ["port"])
    out = {(edge["type"], edge["title"]) for edge in new["connections"] if edge["direction"] == "out"}
    assert out == {("part_of", "Cranes"), ("preceded_by", "Old crane")}
    out = {(edge["type"], edge["title"]) for edge in cranes["connections"] if edge["direction"] == "out"}
    assert out == {("part_of", "Harbour handbook")}
    assert (await mover.call("integrity_check"))["overall_safe"] is True


async def test_recall_finds_the_section_and_those_around_it(mover: Mover, tmp_path: Path) -> None:
    await mover.bring(write(tmp_path / "docs", {"handbook.md": document()}))
    found = await mover.call("recall", query="how much does the new crane lift?")
    assert found["results"][0]["title"] == "New crane"
    around = {item["title"] for item in (*found["related"], *found["results"])}
    assert "Cranes" in around
    found = await mover.call("recall", query="what is the pilot boat called?")
    assert found["results"][0]["title"] == "Pilots"


async def test_the_same_file_again_changes_nothing(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()})
    await mover.bring(source)
    before = files_of(mover.home)
    again = await mover.bring(source)
    assert (again["notes"], again["updated"], again["known"], again["differing"]) == (0, 0, 10, 0)
    assert again["changes"] == []
    assert files_of(mover.home) == before


async def test_a_section_that_changed_takes_its_text_over_and_keeps_its_id(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()})
    await mover.bring(source)
    before, files = await titled(mover, "Pilots"), files_of(mover.home)
    write(source, {"handbook.md": document(Pilots="The pilot boat is called Petrel.")})
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["known"]) == (0, 1, 9)
    after = await titled(mover, "Pilots")
    assert (after["id"], "Petrel" in after["content"], "Albatross" in after["content"]) == (before["id"], True, False)
    assert {path for path, data in files_of(mover.home).items() if files[path] != data} == {
        path for path in files if after["id"] in path
    }
    assert (await mover.bring(source))["changes"] == []
    await mover.call("admin_undo", change_id=done["changes"][0])
    assert files_of(mover.home) == files


async def test_a_new_section_takes_its_place_and_one_that_went_is_told_once(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()})
    await mover.bring(source)
    gone = [await titled(mover, name) for name in ("Ferries", "New crane")]
    ferries = {"Ferries": "", "New crane": "", "Tugs": "The tugs are leased until May."}
    write(source, {"handbook.md": document(**ferries)})
    done = await mover.bring(source)
    assert done["notes"] == 1
    told = [item["reason"] for item in done["unmapped"]]
    assert all(any(note["id"] in reason for reason in told) for note in gone)
    assert (await titled(mover, "Ferries"))["outdated"] is False
    tugs, rule = await titled(mover, "Tugs"), await titled(mover, "Rule 0")
    assert ("preceded_by", "Lamps") in {(edge["type"], edge["title"]) for edge in tugs["connections"]}
    before = {
        edge["title"] for edge in rule["connections"] if (edge["type"], edge["direction"]) == ("preceded_by", "out")
    }
    assert before == {"Tugs"}
    again = await mover.bring(source)
    assert (again["notes"], again["updated"], again["unmapped"]) == (0, 0, [])


async def test_what_somebody_edited_here_stays_and_is_counted(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()})
    await mover.bring(source)
    note = await titled(mover, "Pilots")
    await mover.call("admin_update_memory", node_id=note["id"], content="The pilot boat is sunk.")
    await mover.call("mark_outdated", node_id=(await titled(mover, "Lamps"))["id"], reason="sold")
    link = await titled(mover, "Ferries")
    await mover.call("admin_connect_memories", source_id=link["id"], target_id=note["id"], edge="supports")
    write(source, {"handbook.md": document(Pilots="Petrel.", Lamps="Gas.", Ferries="They leave at one.")})
    done = await mover.bring(source)
    assert (done["updated"], done["differing"]) == (1, 2)
    assert (await titled(mover, "Pilots"))["content"] == "The pilot boat is sunk."
    assert "leave at one" in (after := await titled(mover, "Ferries"))["content"]
    assert ("supports", "Pilots") in {(edge["type"], edge["title"]) for edge in after["connections"]}


async def test_all_of_a_file_is_undone_as_one_and_does_not_come_back_by_itself(mover: Mover, tmp_path: Path) -> None:
    await mover.call("remember", content="Here before.")
    before = files_of(mover.home)
    source = write(tmp_path / "docs", {"handbook.md": document()})
    [change] = (await mover.bring(source))["changes"]
    undone = await mover.call("admin_undo", change_id=change)
    assert len(undone["notes"]) == 10
    assert files_of(mover.home) == before
    assert (await mover.bring(source))["gone"] == 10


async def test_a_file_that_came_whole_before_gives_its_note_to_the_whole(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()[:3000]})
    assert (await mover.bring(source))["notes"] == 1
    (note,) = mover.files.glob("memories/*/handbook.*.md")
    text = document()
    whole = text.split("---\n", 2)[2].strip("\n")
    note.write_text(
        note.read_text("utf-8").split("---\n", 2)[0]
        + "---\n"
        + note.read_text("utf-8").split("---\n", 2)[1]
        + "---\n"
        + whole
        + "\n",
        "utf-8",
    )  # fmt: skip - as an earlier version stored it
    write(source, {"handbook.md": text})
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["differing"]) == (9, 1, 0)
    assert "ninety" not in note.read_text("utf-8")


async def test_a_short_file_that_changed_takes_its_note_along_and_that_is_undone(mover: Mover, tmp_path: Path) -> None:
    texts = {"pond.md": "The pond is 140 cm deep.", "well.txt": "The well is 9 m deep.", "a/b.md": "[[pond]]"}
    source = write(tmp_path / "docs", texts)
    await mover.bring(source)
    await mover.call("admin_update_memory", node_id=(await titled(mover, "pond"))["id"], tags=["water"])
    before = files_of(mover.home)
    write(source, {"pond.md": "The pond is 155 cm deep.", "well.txt": "The well is 11 m deep."})
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["known"], done["differing"]) == (0, 2, 1, 0)
    found = await mover.call("recall", query="how deep is the pond?")
    assert (found["results"][0]["content"], (await titled(mover, "pond"))["tags"]) == (
        "The pond is 155 cm deep.",
        ["water"],
    )
    assert (await titled(mover, "well"))["content"] == "The well is 11 m deep."
    assert (await mover.bring(source))["changes"] == []
    for change in reversed(done["changes"]):
        await mover.call("admin_undo", change_id=change)
    assert files_of(mover.home) == before


async def test_a_file_that_changed_there_and_here_is_named_and_left(mover: Mover, tmp_path: Path) -> None:
    source = write(
        tmp_path / "docs", {f"{name}.md": f"The {name} is 140 cm deep." for name in ("pond", "well", "moat")}
    )
    await mover.bring(source)
    pond, well = [await titled(mover, name) for name in ("pond", "well")]
    await mover.call("admin_update_memory", node_id=pond["id"], content="The pond is 200 cm deep.")
    await mover.call("mark_outdated", node_id=well["id"], reason="filled in")
    assert reasons_of(done := await mover.bring(source)) == []
    assert (done["known"], done["differing"]) == (3, 1)
    write(source, {"pond.md": "The pond is 155 cm deep.", "well.md": "The well is 155 cm deep."})
    done = await mover.bring(source)
    assert (done["updated"], done["known"], done["differing"]) == (0, 3, 2)
    assert all(any(note["id"] in reason for reason in reasons_of(done)) for note in (pond, well))
    assert (await titled(mover, "pond"))["content"] == "The pond is 200 cm deep."
    write(source, {"pond.md": document(Ponds="The pond is 155 cm deep.")})
    done = await mover.bring(source)
    assert (done["notes"], done["differing"]) == (10, 2)
    assert any(pond["id"] in reason for reason in reasons_of(done))


@pytest.mark.parametrize("is_edited", [False, True])
async def test_what_an_earlier_build_imported_follows_its_file_unless_it_was_edited_here(
    mover: Mover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_edited: bool
) -> None:
    source = write(tmp_path / "docs", {"pond.md": "The pond is 140 cm deep.", "well.md": "The well is 9 m deep."})
    with monkeypatch.context() as earlier:
        earlier.setattr("holdfast.engine.admin.arrivals.digest", lambda _: None)  # no note kept the text that came
        await mover.bring(source)
    assert not any("imported_text" in text for text in mover.texts())
    pond = await titled(mover, "pond")
    changed = {"content": "The pond is 200 cm deep."} if is_edited else {"tags": ["water"]}
    await mover.call("admin_update_memory", node_id=pond["id"], **changed)
    assert reasons_of(done := await mover.bring(source)) == []
    assert (done["updated"], done["differing"]) == (0, int(is_edited))
    write(source, {"pond.md": "The pond is 155 cm deep.", "well.md": "The well is 11 m deep."})
    done = await mover.bring(source)
    assert (done["updated"], done["differing"]) == (2 - is_edited, int(is_edited))
    assert ["155" in (await titled(mover, "pond"))["content"], len(reasons_of(done))] == [not is_edited, is_edited]


async def test_of_a_note_from_earlier_whose_first_text_is_not_known_nothing_is_claimed(
    mover: Mover, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "docs", {"pond.md": "The pond is 140 cm deep."})
    with monkeypatch.context() as earlier:
        earlier.setattr("holdfast.engine.admin.arrivals.digest", lambda _: None)
        await mover.bring(source)
    monkeypatch.setattr("holdfast.engine.admin.arrivals.MOST_IMPORTS", 0)  # the journal knows nothing of it any more
    write(source, {"pond.md": "The pond is 155 cm deep."})
    done = await mover.bring(source)
    assert (done["updated"], done["differing"], reasons_of(done)) == (0, 1, [])


async def test_what_was_taken_back_stays_away_until_the_file_changes_again(mover: Mover, tmp_path: Path) -> None:
    source, changes = tmp_path / "docs", []
    for when in ("at night", "at noon", "at dusk"):
        done = await mover.bring(write(source, {"pump.md": f"The pump runs {when}."}))
        changes += done["changes"]
    for change in (changes[2], changes[1]):
        await mover.call("admin_undo", change_id=change)
    before = files_of(mover.home)
    for when in ("at noon", "at dusk", "at night"):
        done = await mover.bring(write(source, {"pump.md": f"The pump runs {when}."}))
        assert (done["updated"], done["differing"], reasons_of(done)) == (0, int(when != "at night"), [])
        assert files_of(mover.home) == before
    for when in ("at dawn", "at noon"):
        assert (await mover.bring(write(source, {"pump.md": f"The pump runs {when}."})))["updated"] == 1
        assert when in (await titled(mover, "pump"))["content"]


async def test_sections_that_were_taken_back_stay_away(mover: Mover, tmp_path: Path) -> None:
    source = write(tmp_path / "docs", {"handbook.md": document()})
    await mover.bring(source)
    before = files_of(mover.home)
    changed = {"Pilots": "The pilot boat is called Petrel.", "Tugs": "The tugs are leased until May."}
    write(source, {"handbook.md": document(**changed)})
    (change,) = (await mover.bring(source))["changes"]
    await mover.call("admin_undo", change_id=change)
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["gone"], done["differing"]) == (0, 0, 1, 2)
    assert files_of(mover.home) == before
    write(source, {"handbook.md": document(**changed, Lamps="Lamps burn gas.")})
    assert (await mover.bring(source))["updated"] == 1
    assert "Albatross" in (await titled(mover, "Pilots"))["content"]


def reasons_of(done: dict[str, Any]) -> list[str]:
    return [item["reason"] for item in done["unmapped"]]


async def test_a_file_that_grew_gives_its_note_to_the_whole_and_keeps_nothing_of_the_old_text(
    mover: Mover, tmp_path: Path
) -> None:
    source = write(tmp_path / "docs", {"handbook.md": "# Harbour handbook\n\nThe pilot boat is called Gannet.\n"})
    await mover.bring(source)
    write(source, {"handbook.md": document()})
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["differing"], len(done["changes"])) == (9, 1, 0, 1)
    assert not any("Gannet" in text for text in mover.texts())


@pytest.mark.parametrize("changed", ["x/README.md", "y/README.md"])
async def test_files_that_said_the_same_become_two_notes_when_one_of_them_changes(
    mover: Mover, tmp_path: Path, changed: str
) -> None:
    source = write(tmp_path / "docs", dict.fromkeys(("x/README.md", "y/README.md"), "To be told of the pond."))
    done = await mover.bring(source)
    assert (done["notes"], done["same"]) == (1, 1)
    write(source, {changed: "The pond is 155 cm deep."})
    done = await mover.bring(source)
    assert (done["notes"], done["gone"], done["differing"]) == (1, 0, 0)
    told = [text for text in mover.texts() if "pond" in text]
    assert sorted("155" in text for text in told) == [False, True]
    assert (await mover.bring(source))["changes"] == []


@pytest.mark.parametrize(("holder", "other"), [("x", "y"), ("y", "x")])
@pytest.mark.parametrize("between", [0, 100])
async def test_a_text_that_was_joined_stays_when_the_file_that_holds_it_changes(
    mover: Mover, tmp_path: Path, holder: str, other: str, between: int
) -> None:
    source = write(tmp_path / "docs", {f"{holder}/kettle.md": "The kettle holds 2 l."})
    await mover.bring(source)
    write(source, {f"x/{number}.md": f"Cup {number} is blue." for number in range(between)})
    assert (await mover.bring(write(source, {f"{other}/kettle.md": "The kettle holds 2 l."})))["same"] == 1
    write(source, {f"{holder}/kettle.md": "The kettle holds 3 l."})
    done = await mover.bring(source)
    assert (done["notes"], done["updated"], done["gone"], done["known"]) == (1, 1, 0, between)
    held = [text for text in mover.texts() if "kettle holds" in text]
    assert sorted("holds 3 l." in text for text in held) == [False, True]
    assert (await mover.bring(source))["changes"] == []


async def test_a_text_that_was_joined_to_an_agents_note_and_changed_is_named(mover: Mover, tmp_path: Path) -> None:
    await mover.call("remember", content="The pond is 140 cm deep.", space="docs")
    source = write(tmp_path / "docs", {"pond.md": "The pond is 140 cm deep."})
    assert (await mover.bring(source, space="docs"))["same"] == 1
    assert reasons_of(await mover.bring(source, space="docs")) == []
    write(source, {"pond.md": "The pond is 155 cm deep."})
    done = await mover.bring(source, space="docs")
    assert (done["notes"], done["differing"], len(reasons_of(done))) == (0, 1, 1)


async def test_short_files_and_long_ones_without_headings_stay_one_note(mover: Mover, tmp_path: Path) -> None:
    texts = {
        "short.md": "# One\n\ntext\n\n# Two\n\ntext\n",
        "flat.md": FILLER * 30,
        "plain.txt": document().split("---\n", 2)[2],
    }
    assert (await mover.bring(write(tmp_path / "docs", texts)))["notes"] == 3


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("---\n\nThe pond is deep.\n\n---\n\nSo is the well.\n", "---\n\nThe pond is deep.\n\n---\n\nSo is the well."),
        ("---\nThe pond is deep.\n", "---\nThe pond is deep."),
        ("---\n# Ponds\n\nDepth: 140 cm\n", "---\n# Ponds\n\nDepth: 140 cm"),
        ("---\n- pond: deep\n- well\n---\nBoth.\n", "---\n- pond: deep\n- well\n---\nBoth."),
        ("---\n\ntags: [water]\n---\nThe pond.\n", "The pond."),
        ("---\n# none yet\n---\nThe pond.\n", "The pond."),
        ("---\n---\nThe pond.\n", "The pond."),
    ],
)
async def test_a_rule_on_the_first_line_begins_a_text_and_no_frontmatter(
    mover: Mover, tmp_path: Path, text: str, content: str
) -> None:
    done = await mover.bring(write(tmp_path / "docs", {"pond.md": text}))
    assert (done["notes"], done["refused"]) == (1, [])
    assert (await titled(mover, "pond"))["content"] == content


async def test_a_file_longer_than_a_note_may_be_comes_whole(mover: Mover, tmp_path: Path) -> None:
    text = "\n\n".join(f"# Day {day}\n\nOn day {day} the gauge said {day * 7}. {FILLER * 4}" for day in range(300))
    assert len(text) > 256 * 1024
    done = await mover.bring(write(tmp_path / "docs", {"log.md": text}))
    assert (done["notes"], done["refused"]) == (301, [])
    assert "gauge said 1687." in (await titled(mover, "Day 241"))["content"]


async def test_links_and_secrets_of_a_section_are_treated_as_those_of_any_note(mover: Mover, tmp_path: Path) -> None:
    secret = made_up_secret()
    texts = {
        "handbook.md": document(Pilots=f"See [the tide](tide.md#spring). The token is {secret}."),
        "tide.md": "Tides are told at noon. See [[handbook]].",
    }
    done = await mover.bring(write(tmp_path / "docs", texts))
    assert sum(done["secrets"].values()) == 1
    pilots = await titled(mover, "Pilots")
    assert ("related_to", "tide") in {(edge["type"], edge["title"]) for edge in pilots["connections"]}
    tide = await titled(mover, "tide")
    assert "Harbour handbook" in {edge["title"] for edge in tide["connections"] if edge["direction"] == "out"}
    assert not mover.stored.holding(secret)
    assert (await mover.bring(tmp_path / "docs"))["changes"] == []


def test_the_command_says_what_is_different_here_and_there(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "pond.md"
    file.write_text("The pond is 140 cm deep.", "utf-8")
    ran(environment, "ingest", str(file))
    file.write_text("The pond is 155 cm deep.", "utf-8")
    assert "1 brought up to date" in ran(environment, "ingest", str(file)).stdout
    (note,) = json.loads(ran(environment, "recall", "how deep is the pond?", "--json").stdout)["results"]
    ran(environment, "outdated", note["id"], "--reason", "filled in")
    file.write_text("The pond is 160 cm deep.", "utf-8")
    said = ran(environment, "ingest", str(file)).stdout
    assert "1 note different here and there" in said
    assert note["id"] in said


def test_the_command_says_how_it_is_undone_and_that_works(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "handbook.md"
    file.write_text(document(), "utf-8")
    (tried,) = json.loads(ran(environment, "ingest", str(file), "--dry-run", "--json").stdout)
    assert (tried["notes"], tried["changes"]) == (10, [])
    said = ran(environment, "ingest", str(file)).stdout
    change = said.partition("holdfast outdated --undo ")[2].split()[0]
    assert "10 notes stored" in said
    undone = ran(environment, "outdated", "--undo", change).stdout
    assert undone.count("moved to the trash") == 10
    assert "0 notes" in ran(environment, "stats").stdout or "1 note" in ran(environment, "stats").stdout


async def test_what_claude_code_and_codex_remember_by_themselves_comes_as_notes_each_once(
    mover: Mover, tmp_path: Path
) -> None:
    folder = tmp_path / "projects" / "-srv-harbour" / "memory"
    ada = "---\nname: ada\ndescription: answers\ntype: feedback\n---\n\nAda likes short answers.\n"
    write(folder, {"MEMORY.md": "# Memory\n\n- [Ada](ada.md): likes short answers\n", "ada.md": ada})
    write(tmp_path, {"CLAUDE.md": "# Harbour\n\nRun `make tide` before the tests.\n"})
    write(tmp_path.joinpath("memories"), {"memory_summary.md": "# Summary\n\nThe pilot boat is called Albatross.\n"})
    brought = [folder, tmp_path / "CLAUDE.md", tmp_path.joinpath("memories")]
    assert [(await mover.bring(path, space="harbour"))["notes"] for path in brought] == [2, 1, 1]
    assert [(await mover.bring(path, space="harbour"))["notes"] for path in brought] == [0, 0, 0]
    note = await titled(mover, "ada")
    assert (note["type"], note["space"]) == ("preference", "harbour")
    assert mover.progress
