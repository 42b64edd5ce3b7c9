"""Settings: environment, `config.yaml` with our keys and OMI's, `${NAME}`, and what nobody reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import SettingsError
from holdfast.settings import SETTINGS, Settings, load_settings
from processes import stdio

OMI = """
embedding:
  provider: nim  # or 'ollama'
  model: baai/bge-m3  # or 'nomic-embed-text' for ollama
  dimensions: 1024  # or 768 for ollama
  api_key: ${NIM_API_KEY}

storage:
  max_now_tokens: 1000
  recency_half_life_days: 30

vault:
  enabled: true
  provider: local  # or 'r2'
  retention_days: 90

security:
  enable_consensus: false
  integrity_check_on_start: true
"""


def loaded(home: Path, text: str, **environment: str) -> Settings:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text, "utf-8")
    return load_settings({"HOLDFAST_HOME": str(home), **environment})


def test_omis_documented_configuration_is_taken_as_it_is(tmp_path: Path) -> None:
    settings = loaded(tmp_path, OMI, NIM_API_KEY="a key")
    assert settings.unknown == ()
    assert (settings.encoder_model, settings.encoder_dimensions, settings.encoder_key.get()) == (
        "baai/bge-m3", 1024, "a key",
    )  # fmt: skip
    assert (settings.max_now_tokens, settings.recency_half_life_days) == (1000, 30.0)
    assert (settings.vault_enabled, settings.vault_provider, settings.vault_retention_days) == (True, "local", 90)
    assert (settings.enable_consensus, settings.integrity_check_on_start) == (False, True)


@pytest.mark.parametrize("provider", ["r2", "R2"])
def test_omis_other_vault_is_taken_and_said_to_be_local(tmp_path: Path, provider: str) -> None:
    settings = loaded(tmp_path, f"vault: {{provider: {provider}}}")
    assert (settings.vault_enabled, settings.vault_provider) == (True, "r2")
    [remark] = settings.remarks
    assert "backups stay" in remark
    assert loaded(tmp_path, "vault: {provider: local}").remarks == ()


def test_its_defaults_are_the_documented_ones(tmp_path: Path) -> None:
    documented, plain = loaded(tmp_path, OMI), loaded(tmp_path, "")
    for name in ("max_now_tokens", "recency_half_life_days", "vault_enabled", "vault_provider", "vault_retention_days",
                 "enable_consensus", "integrity_check_on_start"):  # fmt: skip
        assert getattr(plain, name) == getattr(documented, name)


@pytest.mark.parametrize("provider", ["nim", "ollama", "NIM"])
def test_omis_name_for_a_provider_is_taken(tmp_path: Path, provider: str) -> None:
    settings = loaded(tmp_path, f"embedding: {{provider: {provider}}}")
    assert settings.encoder == provider.lower()


def test_keys_come_from_the_environment_and_are_not_shown(tmp_path: Path) -> None:
    settings = loaded(tmp_path, OMI, NIM_API_KEY="sesame-open", OPENAI_API_KEY="open-sesame")
    assert settings.encoder_key.get() == settings.keys["NIM_API_KEY"] == "sesame-open"
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize("url", ["example.org/v1", "ftp://example.org", "file:///etc/passwd"])
def test_a_provider_that_is_spoken_to_over_http_has_a_url_of_that_kind(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="HOLDFAST_ENCODER_URL") as error:
        loaded(tmp_path, "encoder: openai", HOLDFAST_ENCODER_URL=url)
    assert url not in error.value.public


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("vault: {enabled: false}", "vault_enabled", False),
        ("vault_enabled: no", "vault_enabled", False),
        ("vault: {enabled: 'off'}", "vault_enabled", False),
        ("vault: {retention_days: 7}", "vault_retention_days", 7),
        ("vault_retention_days: 7\nvault: {retention_days: 8}", "vault_retention_days", 7),
        ("storage: {max_now_tokens: 2000}", "max_now_tokens", 2000),
        ("storage: {recency_half_life_days: 14.5}", "recency_half_life_days", 14.5),
        ("security: {integrity_check_on_start: false}", "integrity_check_on_start", False),
        ("security: {enable_consensus: true}", "enable_consensus", True),
        ("embedding: {provider: none}", "encoder", "none"),
        ("vault:\nstorage:", "vault_enabled", True),
        ("space: ${PROJECT}", "space", "harbour"),
        ("allowed_hosts: [a, '${PROJECT}.example']", "allowed_hosts", ("a", "harbour.example")),
    ],
)
def test_a_value_of_the_file_is_read(tmp_path: Path, text: str, name: str, value: object) -> None:
    settings = loaded(tmp_path, text, PROJECT="harbour")
    assert getattr(settings, name) == value
    assert settings.unknown == ()


@pytest.mark.parametrize("name", ["vault_retention_days", "max_now_tokens"])
def test_the_environment_wins_over_both_spellings_in_the_file(tmp_path: Path, name: str) -> None:
    text = "vault: {retention_days: 7}\nstorage: {max_now_tokens: 700}\nvault_retention_days: 8\nmax_now_tokens: 800\n"
    settings = loaded(tmp_path, text, **{f"HOLDFAST_{name.upper()}": "900"})
    assert getattr(settings, name) == 900


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("vault: {provider: zanzibar}", "HOLDFAST_VAULT_PROVIDER"),
        ("vault: {enabled: zanzibar}", "HOLDFAST_VAULT_ENABLED"),
        ("vault: {retention_days: 0}", "HOLDFAST_VAULT_RETENTION_DAYS"),
        ("vault: {retention_days: 1.5}", "HOLDFAST_VAULT_RETENTION_DAYS"),
        ("storage: {max_now_tokens: -1}", "HOLDFAST_MAX_NOW_TOKENS"),
        ("storage: {recency_half_life_days: zanzibar}", "HOLDFAST_RECENCY_HALF_LIFE_DAYS"),
        ("storage: {recency_half_life_days: .nan}", "HOLDFAST_RECENCY_HALF_LIFE_DAYS"),
        ("storage: {recency_half_life_days: 0}", "HOLDFAST_RECENCY_HALF_LIFE_DAYS"),
        ("embedding: {dimensions: zanzibar}", "HOLDFAST_ENCODER_DIMENSIONS"),
        ("embedding: {provider: zanzibar}", "HOLDFAST_ENCODER"),
        ("embedding: {provider: {zanzibar: 1}}", "HOLDFAST_ENCODER"),
        ("security: {enable_consensus: [zanzibar]}", "HOLDFAST_ENABLE_CONSENSUS"),
        ("space: ${ZANZIBAR_SPACE}", "ZANZIBAR_SPACE"),
        ("encoder: zanzibar", "encoder in config.yaml"),
        ("vault: {enabled: zanzibar}", "vault.enabled in config.yaml"),
        ("encoder: none\nspace: [zanzibar\n", "line 3"),
        ("vault: zanzibar", "vault in config.yaml"),
        ("storage: [zanzibar]", "storage in config.yaml"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_not_repeated(tmp_path: Path, text: str, variable: str) -> None:
    with pytest.raises(SettingsError) as told:
        loaded(tmp_path, text)
    assert variable in str(told.value)
    assert "zanzibar" not in str(told.value)


def test_a_missing_key_is_an_error_only_where_the_key_is_needed(tmp_path: Path) -> None:
    settings = loaded(tmp_path, OMI)
    with pytest.raises(SettingsError, match=r"HOLDFAST_ENCODER_KEY.*NIM_API_KEY"):
        settings.encoder_key.get()


def test_a_missing_variable_in_a_value_that_the_environment_overrides_is_no_error(tmp_path: Path) -> None:
    assert loaded(tmp_path, "space: ${NOWHERE}", HOLDFAST_SPACE="quay").space == "quay"


def test_a_key_is_not_shown_with_the_settings(tmp_path: Path) -> None:
    assert "hidden" not in repr(loaded(tmp_path, OMI, NIM_API_KEY="hidden"))


def test_unknown_keys_are_told_with_their_sections(tmp_path: Path) -> None:
    text = "vault: {retention: 7, enabled: true}\nembeding: {provider: nim}\nsecurity: {1: 2}\n"
    assert loaded(tmp_path, text).unknown == ("embeding", "security.1", "vault.retention")


def test_a_variable_that_is_called_like_ours_and_read_by_nobody_is_told(tmp_path: Path) -> None:
    assert loaded(tmp_path, "", HOLDFAST_ENCODR="none", HOLDFAST_ENCODER="none").unknown == ("HOLDFAST_ENCODR",)


def test_what_is_wrong_in_the_environment_is_not_said_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as told:
        loaded(tmp_path, "encoder: none", HOLDFAST_ENCODER="zanzibar")
    assert "config.yaml" not in str(told.value)


def test_every_omi_key_is_some_settings(tmp_path: Path) -> None:
    keys = {setting.omi for setting in SETTINGS if setting.omi}
    assert len(keys) == 11
    assert loaded(tmp_path, OMI).unknown == ()


def test_a_server_with_omis_configuration_starts_and_says_what_it_does_not_follow(
    environment: dict[str, str],
) -> None:
    home = Path(environment["HOLDFAST_HOME"])
    home.mkdir()
    (home / "config.yaml").write_text(OMI + "  enable_consensos: 1\n", "utf-8")
    with stdio(environment) as server:
        server.begin()
        stored: dict[str, Any] = server.tool("remember", content="The lock gate opens at noon.")
        assert not stored.get("isError")
        assert "security.enable_consensos" in server.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"OPENAI_API_KEY": "k", "HOLDFAST_ENCODER_URL": "http://models.example/v1"}, "HOLDFAST_ENCODER_URL"),
        ({"HOLDFAST_ENCODER_KEY": "k", "HOLDFAST_ENCODER_URL": "http://gpu.example/v1"}, "HOLDFAST_ENCODER_URL"),
        ({"HOLDFAST_ENCODER_URL": "http://gpu.example/v1"}, ""),
        ({"NIM_API_KEY": "k", "HOLDFAST_ENCODER_URL": "http://gpu.example/v1"}, ""),
        ({"OPENAI_API_KEY": "k", "HOLDFAST_ENCODER_URL": "http://127.0.0.1:8000/v1"}, ""),
        ({"OPENAI_API_KEY": "k", "HOLDFAST_ENCODER_URL": "https://models.example/v1"}, ""),
        ({"OPENAI_API_KEY": "k"}, ""),
        ({"HOLDFAST_AUTH_JWKS_URL": "http://issuer.example/keys"}, "HOLDFAST_AUTH_JWKS_URL"),
        ({"HOLDFAST_AUTH_JWKS_URL": "https://issuer.example/keys"}, ""),
        ({"HOLDFAST_AUTH_JWKS_URL": "http://localhost/keys"}, ""),
    ],
)
def test_what_is_not_safe_is_named(tmp_path: Path, given: dict[str, str], said: str) -> None:
    signed = {"HOLDFAST_AUTH_ISSUER": "i", "HOLDFAST_AUTH_AUDIENCE": "a"} if "HOLDFAST_AUTH_JWKS_URL" in given else {}
    remarks = loaded(tmp_path, "encoder: openai", **given, **signed).remarks
    assert [remark.partition(" ")[0] for remark in remarks] == ([said] if said else [])
    assert not [remark for remark in remarks if "example" in remark]


@pytest.mark.parametrize("variable", ["HOLDFAST_WATCH", "HOLDFAST_TRANSCRIPT_ROOTS"])
def test_a_folder_whose_name_is_no_utf_8_is_refused_in_words(tmp_path: Path, variable: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable} cannot be used: .* UTF-8"):
        load_settings({"HOLDFAST_HOME": str(tmp_path), variable: "/srv/caf\udce9"})
