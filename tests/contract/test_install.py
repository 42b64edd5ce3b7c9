"""install changes one entry of a client's file, shows it first, and can be taken back."""

from __future__ import annotations

import io
import json
import shutil
import stat
import sys
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from commands import Ran, ran
from holdfast.cli import install as entries
from holdfast.cli.files import read_file, write_file
from holdfast.cli.install import clients
from holdfast.cli.terminal import Screen
from processes import environment_in

CODEX = """\
# my own words
model = "gpt"   # the good one

[mcp_servers.other]
command = "other"
# the end of the other

[profiles.quick]
model = "small"
"""
CLAUDE = {"numStartups": 4, "mcpServers": {"other": {"command": "other"}}, "projects": {"/home/ä": {"history": []}}}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user without settings of Holdfast and without any client."""
    given = environment_in(tmp_path)
    foreign = ("HOLDFAST_", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME")
    return {name: value for name, value in given.items() if not name.startswith(foreign)}


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    file = tmp_path / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(CODEX, "utf-8")
    return file


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    file = tmp_path / ".claude.json"
    file.write_text(json.dumps(CLAUDE, indent=4, ensure_ascii=False), "utf-8")
    file.chmod(0o640)
    return file


def entry(file: Path, key: str = "mcpServers", name: str = "holdfast") -> dict[str, Any]:
    text = file.read_text("utf-8")
    return dict((tomllib.loads(text) if file.suffix == ".toml" else json.loads(text))[key][name])


def backups(file: Path) -> list[Path]:
    return sorted(file.parent.glob(f"{file.name}.holdfast-backup-*"))


def install(environment: Mapping[str, str], *arguments: str, code: int = 0) -> Ran:
    return ran(environment, "install", *arguments, code=code)


def test_codex_gets_an_entry_that_it_waits_for_and_every_other_line_stays(
    environment: dict[str, str], codex: Path
) -> None:
    said = install(environment, "codex").stdout
    assert codex.read_text("utf-8").startswith(CODEX)
    ours = entry(codex, "mcp_servers")
    assert Path(ours["command"]).is_absolute()
    assert (ours["required"], ours["default_tools_approval_mode"]) == (True, "approve")
    assert '+command = "' in said
    (backup,) = backups(codex)
    assert backup.read_text("utf-8") == CODEX
    assert backup.name in said


def test_a_json_client_gets_an_entry_and_everything_else_stays(environment: dict[str, str], claude: Path) -> None:
    before = claude.read_text("utf-8")
    install(environment, "claude-code")
    after = json.loads(claude.read_text("utf-8"))
    assert entry(claude)["type"] == "stdio"
    assert after["mcpServers"].pop("holdfast")
    assert after == CLAUDE
    assert stat.S_IMODE(claude.stat().st_mode) == 0o640
    assert "/home/ä" in claude.read_text("utf-8")
    ran(environment, "uninstall", "claude-code")
    assert claude.read_text("utf-8") == before


@pytest.mark.parametrize("client", sorted(clients({}, Path())))
def test_a_client_without_a_file_gets_one_that_is_only_the_users(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    install(environment, client)
    place = clients(environment, tmp_path)[client]
    assert Path(entry(place.user, place.key)["command"]).is_absolute()
    assert stat.S_IMODE(place.user.stat().st_mode) == 0o600
    assert not backups(place.user)


def test_uninstall_leaves_no_empty_file_where_install_made_it(environment: dict[str, str], tmp_path: Path) -> None:
    install(environment, "cursor")
    place = clients(environment, tmp_path)["cursor"].user
    assert "Removed" in ran(environment, "uninstall", "cursor").stdout
    assert not place.exists()


def test_uninstall_keeps_an_empty_file_that_was_there_before(environment: dict[str, str], tmp_path: Path) -> None:
    place = clients(environment, tmp_path)["cursor"].user
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("{}\n", "utf-8")
    install(environment, "cursor")
    ran(environment, "uninstall", "cursor")
    assert json.loads(place.read_text("utf-8")) == {}


def test_whoever_has_installed_is_told_what_is_left_to_do(environment: dict[str, str], codex: Path) -> None:
    assert "anew" not in install(environment, "codex", "--dry-run").stdout
    assert "Start the client anew" in install(environment, "codex").stdout
    assert "anew" not in install(environment, "codex").stdout


def test_once_more_changes_nothing_and_makes_no_backup(environment: dict[str, str], codex: Path, claude: Path) -> None:
    for client, file in (("codex", codex), ("claude-code", claude)):
        install(environment, client)
        once, made = file.read_bytes(), backups(file)
        assert "nothing to change" in install(environment, client).stdout
        assert (file.read_bytes(), backups(file)) == (once, made)


def test_a_dry_run_shows_the_change_and_makes_none(environment: dict[str, str], codex: Path, tmp_path: Path) -> None:
    said = install(environment, "codex", "--dry-run").stdout
    assert "+[mcp_servers.holdfast]" in said
    assert "Nothing was changed" in said
    assert codex.read_text("utf-8") == CODEX
    install(environment, "cursor", "--dry-run")
    assert not (tmp_path / ".cursor").exists()


def test_uninstall_takes_exactly_that_entry_out(environment: dict[str, str], codex: Path) -> None:
    install(environment, "codex")
    install(environment, "codex", "--name", "second", "--home", "elsewhere")
    ran(environment, "uninstall", "codex")
    assert set(tomllib.loads(codex.read_text("utf-8"))["mcp_servers"]) == {"other", "second"}
    ran(environment, "uninstall", "codex", "--name", "second")
    assert codex.read_text("utf-8") == CODEX
    assert "nothing to change" in ran(environment, "uninstall", "codex").stdout


def test_what_the_user_has_put_into_the_entry_stays(environment: dict[str, str], codex: Path) -> None:
    codex.write_text(
        CODEX + '\n[mcp_servers.holdfast]\ncommand = "old"\nenabled = true # mine\n\n'
        '[mcp_servers.holdfast.env]\nMINE = "1"\n\n[tui]\ntheme = "dark"\n',
        "utf-8",
    )
    install(environment, "codex", "--env", "HOLDFAST_ENCODER=none")
    ours = entry(codex, "mcp_servers")
    assert (ours["enabled"], ours["required"]) == (True, True)
    assert ours["command"] != "old"
    assert ours["env"] == {"MINE": "1", "HOLDFAST_ENCODER": "none"}
    assert "enabled = true # mine" in codex.read_text("utf-8")
    ran(environment, "uninstall", "codex")
    assert codex.read_text("utf-8") == CODEX + '\n[tui]\ntheme = "dark"\n'


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("cursor", '{"mcpServers": {} // mine\n}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '["a list"]'),
        ("cursor", '{"a": 1, "a": 2}'),
        ("codex", "[mcp_servers"),
        ("codex", 'mcp_servers = { other = { command = "x" } }\n'),
        ("cursor", b"\xff\xfe"),
    ],
)
def test_a_file_that_cannot_be_kept_as_it_is_is_not_touched(
    environment: dict[str, str], tmp_path: Path, client: str, text: str | bytes
) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    before = file.read_bytes()
    complained = install(environment, client, "--config", str(file), code=2).stderr
    assert "nothing was changed" in complained
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("config", "."))] == ["config"]


def test_a_link_stays_a_link_and_a_files_own_newlines_stay(environment: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(b'\xef\xbb\xbf{\r\n  "mcpServers": {}\r\n}\r\n')
    link = tmp_path / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    install(environment, "cursor")
    assert link.is_symlink()
    data = real.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf{\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert json.loads(data.decode("utf-8-sig"))["mcpServers"]["holdfast"]


def test_settings_of_this_shell_are_passed_on_but_for_secrets_and_the_space(
    environment: dict[str, str], codex: Path
) -> None:
    environment |= {"HOLDFAST_ENCODER": "none", "HOLDFAST_SPACE": "harbour", "HOLDFAST_ENCODER_KEY": "never-to-be-seen"}
    said = install(environment, "codex", "--home", "notes", "--env", "A=b=c").stdout
    assert entry(codex, "mcp_servers")["env"] == {
        "A": "b=c", "HOLDFAST_ENCODER": "none", "HOLDFAST_HOME": str(Path("notes").absolute()),
    }  # fmt: skip
    assert "HOLDFAST_ENCODER_KEY" in said
    assert "never-to-be-seen" not in said + codex.read_text("utf-8")


def test_settings_that_only_speak_of_secrets_and_tokens_are_passed_on(environment: dict[str, str], codex: Path) -> None:
    given = {"HOLDFAST_SECRETS": "refuse", "HOLDFAST_MAX_NOW_TOKENS": "500"}
    assert "may hold a secret" not in install(environment | given, "codex").stdout
    assert given.items() <= entry(codex, "mcp_servers")["env"].items()


def test_with_admin_the_client_asks_before_it_destroys(environment: dict[str, str], codex: Path) -> None:
    install(environment, "codex")
    install(environment, "codex", "--admin")
    ours = entry(codex, "mcp_servers")
    assert ours["args"][-1] == "--admin"
    assert ours["default_tools_approval_mode"] == "auto"


def test_a_project_has_a_file_of_its_own(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    install(environment, "claude-code", "--project")
    assert entry(tmp_path / "project" / ".mcp.json")
    assert "--project" in install(environment, "claude-desktop", "--project", code=2).stderr


@pytest.mark.parametrize(
    ("client", "placed"),
    [
        (
            "claude-code",
            {"agents/holdfast-maintain.md", "commands/holdfast-maintain.md", "skills/holdfast-memory/SKILL.md"},
        ),
        ("codex", {"skills/holdfast-maintain/SKILL.md", "skills/holdfast-memory/SKILL.md"}),
    ],
)
def test_agents_are_placed_and_taken_away_unless_they_were_changed(
    environment: dict[str, str], tmp_path: Path, client: str, placed: set[str]
) -> None:
    folder = tmp_path / f".{client.partition('-')[0]}"
    install(environment, client, "--agents", "--name", "mine")
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.md")}
    assert set(found) == placed
    for path in found.values():
        assert "mcp__mine__" in path.read_text("utf-8") or "run_maintenance" in path.read_text("utf-8")
        assert "mcp__holdfast__" not in path.read_text("utf-8")
    changed = found.pop(min(found))
    changed.write_text("My own words.", "utf-8")
    ran(environment, "uninstall", client, "--agents", "--name", "mine")
    assert list(folder.rglob("*.md")) == [changed]
    assert "--agents" in install(environment, "cursor", "--agents", code=2).stderr
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_plain_uninstall_takes_agents_away_that_are_as_they_were_placed_and_names_the_others(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    folder = tmp_path / f".{client.partition('-')[0]}"
    install(environment, client, "--agents")
    changed = min(folder.rglob("*.md")) if client == "claude-code" else None
    if changed:
        changed.write_text("My own words.", "utf-8")
    assert "Would be removed" in ran(environment, "uninstall", client, "--dry-run").stdout
    said = ran(environment, "uninstall", client).stdout
    assert list(folder.rglob("*.md")) == ([changed] if changed else [])
    assert not changed or f"{changed}: it was changed, and stays" in said
    assert not list(folder.rglob("holdfast-maintain"))


def test_the_prompt_that_an_earlier_version_placed_for_codex_goes(environment: dict[str, str], tmp_path: Path) -> None:
    prompt = tmp_path / ".codex" / "prompts" / "holdfast-maintain.md"
    earlier = (Path(__file__).parents[1] / "earlier" / "codex-prompt.md").read_text("utf-8")
    prompt.parent.mkdir(parents=True)
    for how in (("install", "codex", "--agents"), ("uninstall", "codex")):
        prompt.write_text(earlier, "utf-8")
        assert f"Removed: {prompt}" in ran(environment, *how).stdout
        assert not prompt.exists()
    prompt.write_text(earlier + "Mine.", "utf-8")
    assert f"{prompt}: it was changed, and stays" in ran(environment, "uninstall", "codex").stdout
    assert prompt.exists()


def test_a_skill_has_the_name_and_the_description_that_codex_asks_for() -> None:
    skill = (files("holdfast") / "clients/codex/skills/holdfast-maintain/SKILL.md").read_text("utf-8")
    head = skill.split("---\n")[1]
    assert {line.partition(":")[0] for line in head.splitlines()} == {"name", "description"}
    assert "name: holdfast-maintain\n" in head


@pytest.mark.parametrize("client", ["codex", "claude-code"])
def test_admin_stays_where_it_is_until_it_is_taken_out(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    place = clients(environment, tmp_path)[client]
    key = place.key
    install(environment, client, "--admin")
    once = place.user.read_bytes()
    said = install(environment, client).stdout
    assert "keeps it; --no-admin" in said
    assert place.user.read_bytes() == once
    install(environment, client, "--no-admin")
    assert "--admin" not in entry(place.user, key)["args"]
    assert "--admin" not in install(environment, client).stdout


@pytest.mark.parametrize("client", sorted(clients({}, Path())))
def test_what_is_printed_for_a_client_is_what_would_be_written(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    place = clients(environment, tmp_path)[client]
    printed = install(environment, client, "--print", "--admin").stdout
    assert not place.user.exists()
    install(environment, client, "--admin")
    assert printed == place.user.read_text("utf-8")


@pytest.mark.parametrize(("client", "text"), [("codex", "[mcp_servers"), ("vscode", "{"), ("cursor", "{")])
def test_an_error_points_to_the_entry_in_the_clients_own_form(
    environment: dict[str, str], tmp_path: Path, client: str, text: str
) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    assert f"`holdfast install {client} --print`" in install(environment, client, "--config", str(file), code=2).stderr


JSONC = [
    "{}",
    "// mine\n{\n}\n",
    '{\n  // servers\n  "servers": {\n    // none yet\n  }\n}\n',
    '{\n  "servers": {\n    "other": {"command": "x"}, // the other\n  }, // all\n}\n',
    '{\n  "servers": {\n    // about it\n    "other": {"command": "x"} // the other\n  }\n}\n',
    '{"servers": {"other": {"args": ["a", /* b */ "c",],},},}',
    '{\n\t"inputs": [], /* , */\n\t"servers": {\n\t\t"o": {\n\t\t\t"url": "http://localhost//y", // "\n\t\t},\n\t},\n}',
    '{\n  "servers": {"a": {}, "b": {"x": "/* no comment */"}} // end',
]


@pytest.mark.parametrize("text", [text + "\n}" * (text.count("{") > text.count("}")) for text in JSONC])
def test_comments_and_trailing_commas_stay_as_they_are(text: str) -> None:
    client = clients({}, Path())["vscode"]
    own = {"type": "stdio", "command": "/bin/holdfast", "args": [], "env": {"A": "// b"}}
    made = entries.with_entry(client, text, "holdfast", own)
    assert entries.entry_in(client, made, "holdfast") == own
    assert entries.with_entry(client, made, "holdfast", own) == made
    left = [letter for letter in text if not letter.isspace()]
    assert is_within(left, [letter for letter in made if not letter.isspace()])
    changed = entries.with_entry(client, made, "holdfast", own | {"command": "/opt/holdfast"})
    assert changed == made.replace("/bin/holdfast", "/opt/holdfast")
    taken = entries.without_entry(client, made, "holdfast")
    assert entries.entry_in(client, taken, "holdfast") is None
    assert "".join(taken.split()) == "".join(text.split())
    assert taken == text or "none yet" in text or '"servers"' not in text


def is_within(some: list[str], more: list[str]) -> bool:
    """Whether all of these stand in the other list, in their order."""
    rest = iter(more)
    return all(letter in rest for letter in some)


def test_an_entry_is_taken_out_from_between_comments() -> None:
    client = clients({}, Path())["vscode"]
    text = '{\n  "servers": {\n    "holdfast": {}, // ours\n    // about it\n    "other": {}\n  }\n}\n'
    taken = entries.without_entry(client, text, "holdfast")
    assert taken == '{\n  "servers": {\n    // ours\n    // about it\n    "other": {}\n  }\n}\n'


@pytest.mark.parametrize("arguments", [("--name", "two words"), ("--env", "novalue"), ("--env", "9=x")])
def test_a_wrong_name_or_variable_is_refused(environment: dict[str, str], arguments: tuple[str, ...]) -> None:
    assert arguments[0] in install(environment, "print", *arguments, code=2).stderr


def test_an_entry_can_be_printed_for_any_other_client(environment: dict[str, str]) -> None:
    printed = json.loads(install(environment, "print", "--admin").stdout)
    assert printed["mcpServers"]["holdfast"]["args"][-1] == "--admin"


def test_places_are_those_of_each_system() -> None:
    home = Path("/home/ada")
    desktop = "claude_desktop_config.json"
    assert clients({}, home, "linux")["claude-desktop"].user == home / ".config/Claude" / desktop
    assert clients({}, home, "darwin")["vscode"].user == home / "Library/Application Support/Code/User/mcp.json"
    windows = clients({"APPDATA": "/roaming"}, home, "win32")
    assert windows["claude-desktop"].user == Path("/roaming/Claude") / desktop
    assert clients({"CODEX_HOME": "/c"}, home, "linux")["codex"].user == Path("/c/config.toml")
    assert clients({"CLAUDE_CONFIG_DIR": "/d"}, home, "linux")["claude-code"].user == Path("/d/.claude.json")


def test_the_command_is_the_one_beside_this_interpreter(environment: dict[str, str], codex: Path) -> None:
    install(environment, "codex")
    ours = entry(codex, "mcp_servers")
    assert Path(ours["command"]).parent == Path(sys.executable).absolute().parent
    assert Path(ours["command"]).stem == "holdfast" or ours["args"] == ["-m", "holdfast"]


@pytest.mark.parametrize(
    "text",
    [
        "{}", '{"a": 1, "b": [1, 2]}', '{\n  "a": 1\n}', '{\n\t"a": {}\n}\n',
        '{\n  "x": ["a", "b"],\n  "mcpServers": {\n    "other": {"args": ["-y", "z"]}\n  }, "y": 1.10\n}\n',
        '{"mcpServers": {"other": {}}, "y": [1e400, NaN, -0.0, 123456789012345678901234567890]}',
        '{\n  "a": "\\ud800 \\u00e9 \u00e9 http:\\/\\/x",\n  "mcpServers": {\n    "other": {}}}',
        '  {\n   "mcpServers"  :  { "one": 1,\n"two": {}  }  }  \n\n',
    ],
)  # fmt: skip
def test_what_is_put_into_a_json_file_is_all_that_changes_in_it(text: str) -> None:
    client = clients({}, Path())["cursor"]
    own = {"command": "/bin/holdfast", "args": [], "env": {"A": "b"}}
    made = entries.with_entry(client, text, "holdfast", own)
    assert entries.entry_in(client, made, "holdfast") == own
    assert any(made.startswith(text[:place]) and made.endswith(text[place:]) for place in range(len(text) + 1))
    assert entries.with_entry(client, made, "holdfast", own) == made
    assert entries.without_entry(client, made, "holdfast") == text
    changed = entries.with_entry(client, made, "holdfast", own | {"command": "/opt/holdfast"})
    assert changed == made.replace("/bin/holdfast", "/opt/holdfast")


def test_an_entry_between_others_is_taken_out_from_between_them() -> None:
    client = clients({}, Path())["cursor"]
    text = (
        '{\n  "mcpServers": {\n    "holdfast": {\n      "command": "x"\n    },\n    "other": {"command": "y"}\n  }\n}\n'
    )
    assert entries.without_entry(client, text, "holdfast") == (
        '{\n  "mcpServers": {\n    "other": {"command": "y"}\n  }\n}\n'
    )


def test_keys_of_others_are_neither_shown_nor_left_open_on_the_way(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    key = "ghp_" + "a1B2" * 9
    file.write_text(json.dumps({"mcpServers": {"other": {"env": {"GITHUB_TOKEN": key}}}}, indent=2), "utf-8")
    file.chmod(0o600)
    environment |= {"HOLDFAST_ENCODER_URL": f"http://user:{key}@gpu.example/v1"}
    said = install(environment, "cursor").stdout
    assert key not in said
    assert "HOLDFAST_ENCODER_URL is set here and may hold a secret" in said
    assert file.read_text("utf-8").count(key) == 1
    (backup,) = backups(file)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_backup_is_nobody_elses_from_its_first_byte_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}', "utf-8")
    file.chmod(0o600)
    modes: list[int] = []
    copied = shutil.copystat

    def noting(source: Path, target: Path, **options: Any) -> None:
        modes.append(stat.S_IMODE(target.stat().st_mode))
        copied(source, target, **options)

    monkeypatch.setattr(shutil, "copystat", noting)
    write_file(Screen(io.StringIO(), colour=False, live=False), read_file(file), "{}", dry_run=False)
    assert modes == [0o600]
