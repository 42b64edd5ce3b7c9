"""Settings that are numbers and switches, from the environment and from config.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import SettingsError
from holdfast.settings import load_settings


@pytest.mark.parametrize(("written", "read"), [("false", False), ("off", False), ("true", True), ("0", False)])
def test_a_switch_in_the_file_is_what_it_says(written: str, read: bool, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"integrity_check_on_start: {written}\nmax_now_tokens: 250\n", "utf-8")
    settings = load_settings({"HOLDFAST_HOME": str(tmp_path)})
    assert settings.integrity_check_on_start is read
    assert settings.max_now_tokens == 250


def test_the_environment_wins_and_the_defaults_are_omis(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    assert (load_settings(environ).max_now_tokens, load_settings(environ).integrity_check_on_start) == (1000, True)
    (tmp_path / "config.yaml").write_text("integrity_check_on_start: true\n", "utf-8")
    assert not load_settings(environ | {"HOLDFAST_INTEGRITY_CHECK_ON_START": "No"}).integrity_check_on_start


@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_NOW_TOKENS", "99"), ("MAX_NOW_TOKENS", "many"), ("MAX_NOW_TOKENS", "-5"), ("MAX_NOW_TOKENS", "1e3"),
     ("INTEGRITY_CHECK_ON_START", "perhaps")],
)  # fmt: skip
def test_what_is_neither_is_refused_by_its_name_and_its_value_is_not_repeated(
    name: str, value: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=f"HOLDFAST_{name}") as refused:
        load_settings({"HOLDFAST_HOME": str(tmp_path), f"HOLDFAST_{name}": value})
    assert value not in str(refused.value).replace("100,000", "")
