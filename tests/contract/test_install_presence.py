"""install --presence: hooks, the skill and the subagent, put in and taken out again to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import ran
from holdfast.cli.hooks import has_hooks, hooks_for, with_hooks, without_hooks

PLACES = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json"}
SWITCH = "HOLDFAST_PRESENCE"
FOREIGN = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo 'ü'"}]}

TEXTS = (
    "",
    "{}",
    "{}\n",
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "hooks": {}\n}\n',
    '{"hooks": {"UserPromptSubmit": []}}',
    '{\n\t"hooks": {\n\t\t"UserPromptSubmit": [\n\t\t\t{"hooks": [{"command": "x"}]}\n\t\t]\n\t},\n\t"z": 1\n}',
    '{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"[]{}\\"]"}]}],"Stop":[]},"z":[1,2]}',
    '{\r\n    "permissions": {"allow": ["Bash"]}\r\n}\r\n',
)


def install(environment: dict[str, str], client: str, *more: str) -> str:
    return ran(environment, "install", client, *more).stdout


@pytest.mark.parametrize("client", PLACES)
def test_presence_writes_hooks_a_skill_a_subagent_and_a_switch(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    said = install(environment, client, "--presence", "--name", "mine")
    hooks = json.loads((tmp_path / PLACES[client]).read_text("utf-8"))["hooks"]
    assert hooks == hooks_for(client, "mine")
    calls = [call for groups in hooks.values() for group in groups for call in group["hooks"]]
    assert {(call["type"], call["server"], call["timeout"]) for call in calls} == {("mcp_tool", "mine", 10)}
    assert (tmp_path / PLACES[client]).parent.joinpath("skills/holdfast-memory/SKILL.md").exists()
    assert SWITCH in said
    assert ("Trust all" in said) == (client == "codex")
    assert "nothing to change" in install(environment, client, "--presence", "--name", "mine")


@pytest.mark.parametrize("client", PLACES)
@pytest.mark.parametrize("text", TEXTS)
def test_uninstall_leaves_every_byte_as_it_was(
    environment: dict[str, str], tmp_path: Path, client: str, text: str
) -> None:
    path = tmp_path / PLACES[client]
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    install(environment, client, "--presence")
    assert has_hooks(path.read_text("utf-8"), client, "holdfast")
    ran(environment, "uninstall", client)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("client", PLACES)
def test_a_file_that_was_not_there_is_not_there_afterwards(
    environment: dict[str, str], tmp_path: Path, client: str
) -> None:
    install(environment, client, "--presence")
    assert "Would be removed" in ran(environment, "uninstall", client, "--dry-run").stdout
    assert (tmp_path / PLACES[client]).exists()
    ran(environment, "uninstall", client)
    assert not (tmp_path / PLACES[client]).exists()
    assert not list((tmp_path / PLACES[client]).parent.rglob("SKILL.md"))


def test_what_was_added_by_others_meanwhile_stays(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / PLACES["claude-code"]
    install(environment, "claude-code", "--presence")
    data = json.loads(path.read_text("utf-8"))
    data["hooks"]["UserPromptSubmit"].append(FOREIGN)
    data["model"] = "opus"
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False), "utf-8")
    ran(environment, "uninstall", "claude-code")
    assert json.loads(path.read_text("utf-8")) == {"hooks": {"UserPromptSubmit": [FOREIGN]}, "model": "opus"}


def test_no_presence_takes_the_hooks_out_and_turns_it_off(environment: dict[str, str], tmp_path: Path) -> None:
    install(environment, "claude-code", "--presence")
    install(environment, "claude-code")
    assert has_hooks((tmp_path / PLACES["claude-code"]).read_text("utf-8"), "claude-code", "holdfast"), "it keeps them"
    install(environment, "claude-code", "--no-presence")
    assert not (tmp_path / PLACES["claude-code"]).exists()
    (entry,) = json.loads((tmp_path / ".claude.json").read_text("utf-8"))["mcpServers"].values()
    assert entry["env"][SWITCH] == "false"


def test_nothing_is_asked_and_nothing_installed_where_nobody_looks(environment: dict[str, str], tmp_path: Path) -> None:
    assert "[y/N]" not in install(environment, "claude-code")
    assert not (tmp_path / PLACES["claude-code"]).exists()


def test_a_project_has_hooks_of_its_own(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    install(environment, "claude-code", "--project", "--presence")
    assert (tmp_path / "project" / ".claude" / "settings.json").exists()
    assert not (tmp_path / PLACES["claude-code"]).exists()
    ran(environment, "uninstall", "claude-code", "--project")
    assert not (tmp_path / "project" / ".claude" / "settings.json").exists()


def test_a_client_without_such_hooks_is_refused(environment: dict[str, str], tmp_path: Path) -> None:
    assert "--presence" in ran(environment, "install", "cursor", "--presence", code=2).stderr
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]", "{broken", '{"a": 1} // c'])
def test_a_file_in_another_form_is_left_alone(environment: dict[str, str], tmp_path: Path, text: str) -> None:
    path = tmp_path / PLACES["claude-code"]
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    assert "nothing was changed" in ran(environment, "install", "claude-code", "--presence", code=2).stderr
    assert path.read_text("utf-8") == text


def presence_of(environment: dict[str, str]) -> list[tuple[str, str]]:
    told = json.loads(ran(environment, "doctor", "--json").stdout)
    return [(each["status"], each["said"]) for each in told["checks"] if each["what"] == "presence"]


def test_doctor_says_whether_hooks_are_there_and_trusted(environment: dict[str, str], tmp_path: Path) -> None:
    assert presence_of(environment) == []
    install(environment, "claude-code", "--presence")
    install(environment, "codex", "--presence")
    (claude, codex) = presence_of(environment)
    assert claude[0] == "ok"
    assert (codex[0], "trust" in codex[1]) == ("warn", True)
    hooks = tmp_path / PLACES["codex"]
    config = tmp_path / ".codex" / "config.toml"
    trusted = "".join(
        f'\n[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "sha256:0"\n'
        for event in ("user_prompt_submit", "stop", "pre_compact")
    )
    config.write_text(config.read_text("utf-8") + trusted, "utf-8")
    (tmp_path / PLACES["claude-code"]).unlink()
    (claude, codex) = presence_of(environment)
    assert (claude[0], "not in" in claude[1]) == ("warn", True)
    assert codex[0] == "ok"
    install(environment, "claude-code", "--presence")
    text = (tmp_path / ".claude.json").read_text("utf-8").replace('"HOLDFAST_PRESENCE": "true"', '"X": "y"')
    (tmp_path / ".claude.json").write_text(text, "utf-8")
    assert "does not turn it on" in presence_of(environment)[0][1]


GROUPS = st.lists(st.sampled_from([FOREIGN, {"hooks": []}, {"hooks": [{"type": "prompt"}]}]), min_size=1, max_size=3)
EVENTS = st.sampled_from(["UserPromptSubmit", "PreCompact", "Stop"])
FILES = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("opus"),
        "hooks": st.dictionaries(EVENTS, GROUPS, min_size=1, max_size=3),
        "z": st.lists(st.integers(), max_size=2),
    },
)
STYLES = st.sampled_from([{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}])


@given(FILES, STYLES)
def test_what_is_put_in_comes_out_again_to_the_byte(data: dict[str, Any], style: dict[str, Any]) -> None:
    text = json.dumps(data, ensure_ascii=False, **style)
    made = with_hooks(text, hooks_for("claude-code", "mine"), "mine")
    assert has_hooks(made, "claude-code", "mine")
    assert with_hooks(made, hooks_for("claude-code", "mine"), "mine") == made
    assert without_hooks(made, "mine") == text
