"""doctor finds what is wrong, one line each, and says what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import postgres
from commands import ran
from holdfast.index import database
from processes import environment_in
from storages import FOLDER


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    given = environment_in(tmp_path)
    return {name: value for name, value in given.items() if name not in ("CODEX_HOME", "CLAUDE_CONFIG_DIR")}


@pytest.fixture
def home(environment: dict[str, str]) -> Path:
    """A memory with one note."""
    ran(environment, "remember", "The tide table hangs in the kitchen.")
    return Path(environment["HOLDFAST_HOME"])


def checks(environment: dict[str, str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """The last finding of each thing, by what it is about."""
    told = json.loads(ran(environment, "doctor", "--json", *arguments, code=code).stdout)
    assert told["ok"] == (code == 0)
    for found in told["checks"]:
        assert set(found) == {"what", "status", "said", "remedy"}
    return {found["what"]: found for found in told["checks"]}


@pytest.mark.files("beside a database it looks at other things, and says so")
def test_a_healthy_memory_is_told_in_one_line_for_each_check(environment: dict[str, str], home: Path) -> None:
    lines = ran(environment, "doctor").stdout.splitlines()
    assert lines
    assert all(re.fullmatch(r"(ok  |warn)  [a-z -]+: .+", line) for line in lines)
    found = checks(environment)
    for what in ("holdfast", "sqlite", "vectors", "settings", "folder", "notes", "pages", "quarantine", "journal"):
        assert found[what]["status"] == "ok", found[what]
    assert str(home) in found["folder"]["said"]
    assert "none to count" in found["vectors in memory"]["said"]


def test_the_vectors_that_come_into_memory_are_counted_against_the_index(environment: dict[str, str]) -> None:
    encoding = environment | {"HOLDFAST_ENCODER": "builtin"}
    ran(encoding, "remember", "The tide table hangs in the kitchen.")
    found = checks(encoding)["vectors in memory"]
    assert (found["status"], found["said"][:32]) == ("ok", "all 2 in the index were read; a ")


@pytest.mark.files("it is about the folder")
def test_a_folder_that_is_not_there_yet_is_not_made(environment: dict[str, str], tmp_path: Path) -> None:
    assert checks(environment)["folder"]["status"] == "warn"
    assert not Path(environment["HOLDFAST_HOME"]).exists()
    (tmp_path / "memory").write_text("a file", "utf-8")
    (tmp_path / "memory").rename(tmp_path / "file")
    assert checks(environment | {"HOLDFAST_HOME": str(tmp_path / "file")}, code=2 - 1)["folder"]["status"] == "fail"


@pytest.mark.files("it is about the folder")
def test_a_folder_that_cannot_be_made_is_told_before_the_first_note(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a file", "utf-8")
    found = checks(environment | {"HOLDFAST_HOME": str(tmp_path / "file" / "memory")}, code=1)["folder"]
    assert (found["status"], str(tmp_path / "file") in found["said"]) == ("fail", True)
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)  # for root everything is allowed
    assert checks(environment, code=1)["folder"]["status"] == "fail"


@pytest.mark.files("it is about the folder")
def test_a_folder_that_others_may_look_into_is_told(environment: dict[str, str], home: Path) -> None:
    home.chmod(0o755)
    found = checks(environment)["permissions"]
    assert (found["status"], found["remedy"]) == ("warn", f"chmod 700 {home}")


@pytest.mark.files("it is about the folder")
def test_files_that_are_no_notes_and_texts_that_lost_a_race_are_named(environment: dict[str, str], home: Path) -> None:
    (home / "memories" / "broken.md").write_text("---\nid: [\n---\nx", "utf-8")
    (home / "trash" / "conflicts" / "lost.md").write_text("x", "utf-8")
    found = checks(environment)
    assert "memories/broken.md" in found["quarantine"]["said"]
    assert "1 text that lost a race" in found["conflicts"]["said"]


@pytest.mark.files("a note is put there by hand")
@pytest.mark.parametrize(
    ("strength", "what", "status", "told"),
    [
        ("0.8", "beliefs", "warn", "its confidence was edited by hand: 0.90, its evidence comes to 0.56"),
        ('"much"', "integrity", "fail", "entry 1 of its evidence is not whole"),
    ],
)
def test_a_confidence_that_a_person_set_is_named_and_evidence_that_cannot_be_read_fails(
    environment: dict[str, str], home: Path, strength: str, what: str, status: str, told: str
) -> None:
    note_id = "mem_0100000000000001"
    entry = f'"memory_id": "{note_id}", "supports": true, "strength": {strength}, "timestamp": "2026-03-01T00:00:00Z"'
    evidence = f'[{{{entry}, "old_confidence": 0.5, "new_confidence": 0.56}}]'
    (home / "memories" / "belief.md").write_text(
        f'---\nid: "{note_id}"\ntype: "belief"\nconfidence: 0.9\nevidence: {evidence}\n---\nBuoys are safe.\n', "utf-8"
    )
    found = checks(environment, code=int(status == "fail"))
    assert {"beliefs", "integrity"} & found.keys() == {what}
    assert (found[what]["status"], note_id in found[what]["said"], told in found[what]["said"]) == (status, True, True)


@pytest.mark.files("it is about the folder")
def test_a_foreign_change_of_a_page_is_told_until_it_is_accepted(environment: dict[str, str], home: Path) -> None:
    (home / "MEMORY.md").write_text("Mine.", "utf-8")
    checks(environment)
    (home / "MEMORY.md").write_text("Mine, and longer.", "utf-8")
    found = checks(environment)["pages"]
    assert (found["status"], "MEMORY.md" in found["said"]) == ("warn", True)
    assert "--accept" in found["remedy"]
    checks(environment, "--accept")
    assert checks(environment)["pages"]["status"] == "ok"


@pytest.mark.files("beside a database it looks at other things, and says so")
def test_keys_that_nobody_reads_and_values_that_cannot_be_used_are_told(
    environment: dict[str, str], home: Path
) -> None:
    (home / "config.yaml").write_text("encodr: none\n", "utf-8")
    found = checks(environment)["settings"]
    assert (found["status"], "encodr" in found["said"]) == ("warn", True)
    assert "HOLDFAST_ENCODR" in checks(environment | {"HOLDFAST_ENCODR": "none"})["settings"]["said"]
    found = checks(environment | {"HOLDFAST_ENCODER": "magic"}, code=1)["settings"]
    assert (found["status"], "HOLDFAST_ENCODER" in found["said"]) == ("fail", True)


def test_a_provider_that_cannot_be_reached_fails_and_the_embedded_encoder_encodes(
    environment: dict[str, str], home: Path
) -> None:
    down = {"HOLDFAST_ENCODER": "ollama", "OLLAMA_HOST": "http://127.0.0.1:9"}
    assert checks(environment | down, code=1)["encoder"]["status"] == "fail"
    assert "384 dimensions" in checks(environment | {"HOLDFAST_ENCODER": "builtin"})["encoder"]["said"]
    elsewhere = {"HOLDFAST_ENCODER": "builtin", "HOLDFAST_BUILTIN_MODEL": str(home / "config.yaml")}
    elsewhere |= {"HOLDFAST_BUILTIN_MODEL_SHA256": "0" * 64}
    assert checks(environment | elsewhere, code=1)["encoder"]["status"] == "fail"


def test_a_clients_entry_that_starts_nothing_fails_and_install_mends_it(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    assert checks(environment)["clients"]["status"] == "warn"
    entry = {"mcpServers": {"holdfast": {"command": str(tmp_path / "gone")}}}
    (tmp_path / ".claude.json").write_text(json.dumps(entry), "utf-8")
    assert checks(environment, code=1)["claude-code"]["status"] == "fail"
    ran(environment, "install", "claude-code")
    assert checks(environment)["claude-code"]["status"] == "ok"
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers.holdfast]\ncommand = "/bin/sh"\n', "utf-8")
    assert "install codex" in checks(environment)["codex"]["remedy"]
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text("{", "utf-8")
    assert checks(environment)["cursor"]["status"] == "warn"


def test_an_entry_whose_command_is_there_and_does_not_start_fails(
    environment: dict[str, str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "old" / "holdfast"
    command.parent.mkdir()
    ran_it = tmp_path / "ran"
    entry = json.dumps({"mcpServers": {"holdfast": {"command": str(command), "args": []}}})
    (tmp_path / ".claude.json").write_text(entry, "utf-8")
    for script in (f"#!{tmp_path}/gone/python\n", f"#!/bin/sh\ntouch {ran_it}\nexit 3\n"):
        command.write_text(script, "utf-8")
        command.chmod(0o755)
        found = checks(environment, code=1)["claude-code"]
        assert (found["status"], "does not start" in found["said"]) == ("fail", True)
    ran_it.unlink()
    (tmp_path / ".claude.json").unlink()
    (tmp_path / "cloned").mkdir()
    (tmp_path / "cloned" / ".mcp.json").write_text(entry, "utf-8")
    monkeypatch.chdir(tmp_path / "cloned")
    assert checks(environment)["claude-code"]["status"] == "ok"
    assert not ran_it.exists()  # what a folder from somebody else names is never started


def test_without_the_vector_extension_it_says_what_that_costs(
    environment: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.doctor.vector_extension", lambda: "")
    assert checks(environment)["vectors"]["status"] == "warn"
    assert database.vector_extension  # the real one is only left aside


@pytest.mark.files("it is about the folder")
def test_a_damaged_line_of_the_journal_is_told_with_its_place_and_never_its_text(
    environment: dict[str, str], home: Path
) -> None:
    ran(environment, "remember", "The tide table hangs in the kitchen.")
    assert checks(environment)["journal lines"]["status"] == "ok"
    [month] = (home / "journal").iterdir()
    lines = month.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"seq":1', b'"seq":7')
    month.write_bytes(b"".join(lines))
    found = checks(environment)["journal lines"]
    assert found["status"] == "warn"
    assert found["said"] == f"1 cannot be read: journal/{month.name} line 1"
    assert "backup" in found["remedy"]


@pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)
def test_doctor_looks_at_the_database_and_not_for_what_only_a_folder_has(
    environment: dict[str, str], tmp_path: Path
) -> None:
    with postgres.postgres() as pg:
        given = environment | {"HOLDFAST_STORE": pg.url, "HOLDFAST_TENANT": str(tmp_path)}
        seen = checks(given)
        assert seen["database"]["status"] == "ok"
        assert seen["durability"]["status"] == "warn"  # the tests' server flushes nothing
        ran(given, "remember", "The doctor came by boat.")
        seen = checks(given)
        assert seen["notes"]["said"].startswith("2 notes ")  # Self is one
        assert "journal" not in seen
        assert seen["backup"]["status"] == "warn"  # no server has been there long enough to make one
        above = checks(given | {"HOLDFAST_STORE": pg.owner}, code=1)["database"]
        assert (above["status"], "row-level security" in above["said"]) == ("fail", True)
        pg.stop()
        away = checks(given, code=1)
        assert (away["database"]["status"], "notes" in away) == ("fail", False)
        assert pg.url not in json.dumps(away)


def test_a_watched_folder_that_is_not_there_is_told(
    environment: dict[str, str], home: Path, tmp_path: Path, storage: str
) -> None:
    assert "watched folders" not in checks(environment)
    there, gone = tmp_path / "vault", tmp_path / "gone"
    there.mkdir()
    found, whole = (
        checks(environment | {"HOLDFAST_WATCH": json.dumps([str(folder) for folder in folders])})["watched folders"]
        for folders in ((there, gone), (there,))
    )
    if storage == FOLDER:
        assert (found["status"], whole["status"]) == ("warn", "ok")
        assert f"{gone} is not there" in found["said"]
    else:
        assert found == whole
        assert (found["status"], "in a database" in found["said"]) == ("warn", True)
        assert "holdfast ingest takes them in, and what has changed each time" in found["remedy"]
