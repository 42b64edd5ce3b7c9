"""The one door to the environment and to `config.yaml`: every setting, its default, its bounds, its sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast

from holdfast.errors import SettingsError
from holdfast.model.spaces import space_name

PREFIX = "HOLDFAST_"
_ON, _OFF = {"true", "on", "yes", "1"}, {"false", "off", "no", "0"}

EncoderName = Literal["auto", "builtin", "none"]
SecretsMode = Literal["redact", "refuse", "allow"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key in `config.yaml`, its environment variable, its default and what it does."""

    key: str
    default: str
    sentence: str
    read: Callable[[str], object] = str

    @property
    def variable(self) -> str:
        return PREFIX + self.key.upper()


def _one_of(*allowed: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        if text.lower() not in allowed:
            raise ValueError(f"use one of {', '.join(allowed)}")
        return text.lower()

    return read


def _names(text: str) -> object:
    """A JSON list, or names with commas between."""
    items = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    return tuple(str(item).strip() for item in items if str(item).strip())


def _space(text: str) -> object:
    return space_name(text) if text.strip() else None


def _number(least: int, most: int) -> Callable[[str], object]:
    def read(text: str) -> object:
        if not text.strip().isascii() or not text.strip().isdigit() or not least <= int(text) <= most:
            raise ValueError(f"use a whole number from {least:,} to {most:,}")
        return int(text)

    return read


def _switch(text: str) -> object:
    word = text.strip().lower()
    if word not in _ON | _OFF:
        raise ValueError("use true or false")
    return word in _ON


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
    Setting("encoder", "auto", "auto, builtin or none.", _one_of("auto", "builtin", "none")),
    Setting("builtin_model", "", "Another ONNX file for the built-in encoder."),
    Setting("builtin_model_sha256", "", "The SHA-256 of that file."),
    Setting("secrets", "redact", "redact, refuse or allow secrets in what is stored.",
            _one_of("redact", "refuse", "allow")),
    Setting("log_level", "warning", "debug, info, warning or error; logs go to stderr as JSON.",
            _one_of("debug", "info", "warning", "error")),
    Setting("allowed_hosts", "", "More Host names that HTTP requests may carry, as a list.", _names),
    Setting("allowed_origins", "", "Browser origins that may call over HTTP, as a list.", _names),
    Setting("max_now_tokens", "1000", "How long a NOW file may become, in tokens of four characters.",
            _number(100, 100_000)),
    Setting("integrity_check_on_start", "true", "Look for foreign changes when the server starts, and log them.",
            _switch),
    Setting("now", "", "The ISO-8601 time that questions are asked at, for tests and benches only.", _time),
)  # fmt: skip


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
    unknown: tuple[str, ...] = ()  # keys of config.yaml that nobody reads
    max_now_tokens: int = 1000
    integrity_check_on_start: bool = True


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Environment before `config.yaml` before defaults.

    Raises:
        SettingsError: a value cannot be used; the sentence names the setting, never the value.
    """
    home = _home(environ)
    file = _config_file(home / "config.yaml")
    known = {setting.key for setting in SETTINGS}
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        found = file.get(setting.key)
        given = environ.get(setting.variable) or (setting.default if found in (None, "", []) else found)
        try:
            values[setting.key] = setting.read(_text_of(given))
        except ValueError as error:
            raise SettingsError(f"{setting.variable} cannot be used: {error}.", setting.sentence) from error
    model = values["builtin_model"]
    if bool(model) != bool(values["builtin_model_sha256"]):
        raise SettingsError("HOLDFAST_BUILTIN_MODEL and HOLDFAST_BUILTIN_MODEL_SHA256 go together.", "Set both.")
    values |= {"home": home, "builtin_model": _path("HOLDFAST_BUILTIN_MODEL", model) if model else None}
    return Settings(**values, unknown=tuple(sorted(set(file) - known)))


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


def _text_of(given: object) -> str:
    """A value of `config.yaml` as it would stand in the environment."""
    match given:
        case list():
            return json.dumps([str(item) for item in given])
        case bool():
            return str(given).lower()
        case _:
            return str(given)


def _path(variable: str, given: str) -> Path:
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"{variable} begins with the home folder of nobody.", "Write the whole path.") from error


def _config_file(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            return {}
    except OSError as error:
        raise SettingsError(f"HOLDFAST_HOME cannot be used: {error.strerror}.", "Name another folder.") from error
    import yaml  # noqa: PLC0415 - only where there is such a file

    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
        raise SettingsError("config.yaml cannot be read.", "Mend it or move it away.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError("config.yaml is not a list of keys and values.", "Write `encoder: builtin`, say.")
    return cast("dict[str, Any]", {str(key): value for key, value in found.items()})


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
