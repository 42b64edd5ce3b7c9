"""The one door to the environment and to `config.yaml`: every setting, its default, its bounds, its sentence."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from holdfast.config_file import MissingVariableError, read_config, text_of
from holdfast.errors import SettingsError
from holdfast.model.spaces import space_name

PREFIX = "HOLDFAST_"

EncoderName = Literal["auto", "builtin", "ollama", "nim", "openai", "none"]
SecretsMode = Literal["redact", "refuse", "allow"]

_SWITCHES = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
SWITCH_SECONDS = 0.0002
_LONGEST_NUMBER = 12
_LONGEST_DAYS = 36_500
_KEYS = ("NIM_API_KEY", "OPENAI_API_KEY")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key in `config.yaml`, its environment variable, its default and what it does.

    `omi` is the key that OMI's documents give it, as `section.key`. What is `late` may name an environment variable
    that is not set: whoever needs the value says so.
    """

    key: str
    default: str
    sentence: str
    read: Callable[[str], object] = str
    omi: str = ""
    late: bool = False

    @property
    def variable(self) -> str:
        return PREFIX + self.key.upper()


def _one_of(*allowed: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        if text.lower() not in allowed:
            raise ValueError(f"use one of {', '.join(allowed)}")
        return text.lower()

    return read


def _switch(text: str) -> object:
    """True or False, in the words that YAML and shells have for them."""
    word = text.strip().lower()
    if word not in _SWITCHES:
        raise ValueError("use true or false")
    return _SWITCHES[word]


def _whole(least: int, most: int) -> Callable[[str], object]:
    def read(text: str) -> object:
        number = int(text) if text.strip().isdecimal() and len(text) < _LONGEST_NUMBER else -1
        if not least <= number <= most:
            raise ValueError(f"use a whole number from {least} to {most}")
        return number

    return read


def _days(text: str) -> object:
    try:
        days = float(text)
    except ValueError:
        days = math.nan  # the parser's own words repeat the value
    if not 0 < days <= _LONGEST_DAYS:
        raise ValueError("use a number of days above 0")
    return days


def _dimensions(text: str) -> object:
    return _whole(1, 65536)(text) if text.strip() else None


def _local(text: str) -> object:
    if text.lower() != "local":
        raise ValueError("backups are kept in the folder vault/ and nowhere else; use local")
    return "local"


def _names(text: str) -> object:
    """A JSON list, or names with commas between."""
    items = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    return tuple(str(item).strip() for item in items if str(item).strip())


def _space(text: str) -> object:
    return space_name(text) if text.strip() else None


def _time(text: str) -> object:
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("use an ISO-8601 time") from None  # the parser's own words repeat the value


SETTINGS: tuple[Setting, ...] = (
    Setting("home", "", "The memory folder; by default the platform's folder for user data."),
    Setting("space", "", "The default space; by default the name of the git folder that the server runs in.", _space),
    Setting("encoder", "auto", "auto (which is builtin), builtin, ollama, nim, openai (and its like) or none.",
            _one_of("auto", "builtin", "ollama", "nim", "openai", "none"), "embedding.provider"),
    Setting("encoder_url", "", "Where the provider is; by default OLLAMA_HOST, or the provider's own URL."),
    Setting("encoder_model", "", "The model's name at a provider that has several.", omi="embedding.model"),
    Setting("encoder_dimensions", "", "How long that model's vectors are.", _dimensions, "embedding.dimensions"),
    Setting("encoder_key", "", "The provider's key, by default NIM_API_KEY or OPENAI_API_KEY; in config.yaml ${NAME}.",
            omi="embedding.api_key", late=True),
    Setting("builtin_model", "", "Another ONNX file for the built-in encoder."),
    Setting("builtin_model_sha256", "", "The SHA-256 of that file."),
    Setting("secrets", "redact", "redact, refuse or allow secrets in what is stored.",
            _one_of("redact", "refuse", "allow")),
    Setting("log_level", "warning", "debug, info, warning or error; logs go to stderr as JSON.",
            _one_of("debug", "info", "warning", "error")),
    Setting("allowed_hosts", "", "More Host names that HTTP requests may carry, as a list.", _names),
    Setting("allowed_origins", "", "Browser origins that may call over HTTP, as a list.", _names),
    Setting("max_now_tokens", "1000", "How long a NOW file may be, in tokens of four characters.",
            _whole(100, 100_000), "storage.max_now_tokens"),
    Setting("recency_half_life_days", "30", "memory_recall's days in exp(-age / days): a time constant.",
            _days, "storage.recency_half_life_days"),
    Setting("vault_enabled", "true", "Take a backup each day; admin_backup works either way.",
            _switch, "vault.enabled"),
    Setting("vault_provider", "local", "local: backups are kept in the folder vault/.", _local, "vault.provider"),
    Setting("vault_retention_days", "90", "How long a backup is kept; the newest always is.",
            _whole(1, _LONGEST_DAYS), "vault.retention_days"),
    Setting("integrity_check_on_start", "true", "Look for foreign changes of NOW, MEMORY.md and logs on start.",
            _switch, "security.integrity_check_on_start"),
    Setting("review", "false", "Merges, consolidations and retirements by maintenance wait for admin approval.",
            _switch),
    Setting("enable_consensus", "false", "Accepted for OMI's sake; does nothing.",
            _switch, "security.enable_consensus"),
    Setting("now", "", "The ISO-8601 time that questions are asked at, for tests and benches only.", _time),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Late:
    """A value that is asked for when it is needed, and only then has to be there. Its text is never shown."""

    variable: str
    text: str = field(default="", repr=False)
    problem: str = ""

    def get(self) -> str:
        """The text; empty where none was given.

        Raises:
            SettingsError: it names an environment variable that is not set.
        """
        if self.problem:
            raise SettingsError(f"{self.variable} cannot be used: {self.problem}.", "Set it, or change config.yaml.")
        return self.text


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, read and checked."""

    home: Path
    space: str | None
    encoder: EncoderName
    builtin_model: Path | None
    builtin_model_sha256: str
    secrets: SecretsMode
    log_level: str
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    now: datetime | None = None
    encoder_model: str = ""
    encoder_dimensions: int | None = None
    encoder_key: Late = Late("HOLDFAST_ENCODER_KEY")
    encoder_url: str = ""
    ollama_host: str = ""
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)  # of providers, by variable
    max_now_tokens: int = 1000
    recency_half_life_days: float = 30.0
    vault_enabled: bool = True
    vault_provider: str = "local"
    vault_retention_days: int = 90
    integrity_check_on_start: bool = True
    enable_consensus: bool = False
    review: bool = False
    unknown: tuple[str, ...] = ()  # keys of config.yaml that nobody reads
    remarks: tuple[str, ...] = ()  # what the user should know of values that are accepted and not followed


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Environment before `config.yaml`, there a key of ours before OMI's for the same, before defaults.

    Raises:
        SettingsError: a value cannot be used; the sentence names the setting, never the value.
    """
    home = _home(environ)
    file = read_config(home / "config.yaml", {setting.omi.partition(".")[0] for setting in SETTINGS if setting.omi})
    remarks: list[str] = []
    values: dict[str, Any] = {setting.key: _value(setting, environ, file) for setting in SETTINGS}
    model = values["builtin_model"]
    if bool(model) != bool(values["builtin_model_sha256"]):
        raise SettingsError("HOLDFAST_BUILTIN_MODEL and HOLDFAST_BUILTIN_MODEL_SHA256 go together.", "Set both.")
    values |= {"home": home, "builtin_model": _path("HOLDFAST_BUILTIN_MODEL", model) if model else None}
    values |= {"ollama_host": environ.get("OLLAMA_HOST", ""), "keys": {name: environ.get(name, "") for name in _KEYS}}
    _check_url(values["encoder"], values["encoder_url"])
    if values["enable_consensus"]:
        remarks.append("security.enable_consensus does nothing here.")
    known = {key for setting in SETTINGS for key in (setting.key, setting.omi)}
    return Settings(**values, unknown=tuple(sorted(set(file) - known)), remarks=tuple(remarks))


def _value(setting: Setting, environ: Mapping[str, str], file: Mapping[str, Any]) -> object:
    given: object = environ.get(setting.variable) or None
    places = [file[key] for key in (setting.key, setting.omi) if file.get(key) is not None]
    try:
        if given is not None:
            text = str(given)  # what the environment says is meant as it stands
        elif places:
            text = text_of(places[0], environ)
        else:
            text = setting.default
        read = setting.read(text or setting.default)
    except MissingVariableError as error:
        if setting.late:
            return Late(setting.variable, problem=str(error))
        raise SettingsError(f"{setting.variable} cannot be used: {error}.", "Set it, or change config.yaml.") from error
    except ValueError as error:
        raise SettingsError(f"{setting.variable} cannot be used: {error}.", setting.sentence) from error
    return Late(setting.variable, str(read)) if setting.late else read


def _check_url(encoder: str, url: str) -> None:
    if encoder in {"nim", "openai"} and url and not url.lower().startswith(("http://", "https://")):
        raise SettingsError("HOLDFAST_ENCODER_URL cannot be used: it is no URL.", "Begin it with http or https.")


def share_processor() -> None:
    """Let threads hand the interpreter over sooner than every 5 ms, Python's default.

    A request passes from the event loop to a database's thread and back: at each step it would wait that long for
    whatever else computes. With 64 clients this makes half as many answers again a second.
    """
    sys.setswitchinterval(SWITCH_SECONDS)


def spare_threads(environ: MutableMapping[str, str]) -> None:
    """Let numpy compute in the thread that asks: requests run side by side, and its own threads would only wait.

    It takes effect when numpy is imported after it. What the environment says already is left alone.
    """
    environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def quieten_framework(environ: MutableMapping[str, str]) -> None:
    """FastMCP's defaults are for developers: coloured logs, a banner, a look for updates. What is set stays."""
    for name, value in (
        ("FASTMCP_ENABLE_RICH_LOGGING", "false"),
        ("FASTMCP_ENABLE_RICH_TRACEBACKS", "false"),
        ("FASTMCP_LOG_LEVEL", "CRITICAL"),
        ("FASTMCP_SHOW_SERVER_BANNER", "false"),
        ("FASTMCP_CHECK_FOR_UPDATES", "off"),
    ):
        environ.setdefault(name, value)


def _home(environ: Mapping[str, str]) -> Path:
    given = environ.get(PREFIX + "HOME")
    if given:
        return _path(PREFIX + "HOME", given).absolute()
    import platformdirs  # noqa: PLC0415 - only where it is needed

    return Path(platformdirs.user_data_dir("holdfast", appauthor=False))


def _path(variable: str, given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{variable} begins with the home folder of nobody.", "Write the whole path.") from error


def work_space(environ_space: str | None, folder: Path, home: Path) -> tuple[str | None, str]:
    """The space that a server in `folder` works in, and how that is known.

    Args:
        environ_space: `HOLDFAST_SPACE`, already read.
        folder: the server's working directory.
        home: the user's home folder, which is no project.
    """
    if environ_space is not None:
        return environ_space, "HOLDFAST_SPACE"
    top = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), None)
    where, how = (top, "git folder") if top is not None and top != home else (folder, "working folder")
    if where in (home, Path(where.anchor)):
        return None, "none: not in a project"
    try:
        return space_name(where.name), how
    except ValueError:
        return None, "none: the folder's name cannot be a space"
