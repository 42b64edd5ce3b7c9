"""Every setting: its default, its bounds, its sentence, and what the user should know of an odd one.

Values come from the environment and from `config.yaml` (sections by dotted key, `${NAME}` for what stands in the
environment). Nothing else in the package reads either.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from holdfast.errors import SettingsError
from holdfast.model.access import (
    SHORTEST_TOKEN,
    Answers,
    StaticToken,
    folder_of_store,
    origin_of,
    read_beside,
    read_tokens,
    remarks_on,
)
from holdfast.model.note import space_name

_DEEPEST = 3  # an alias may lead back to where it stands
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class MissingVariableError(ValueError):
    """A value names an environment variable that is not set; the words name it."""


def read_config(path: Path, sections: Collection[str]) -> dict[str, Any]:
    """The values of a file by key; those of a section by `section.key`. Empty where there is no file.

    Args:
        path: the file.
        sections: top-level keys that hold further keys; a null there is an empty section.

    Raises:
        SettingsError: it cannot be read, or a section holds something else.
    """
    values: dict[str, Any] = {}
    for key, value in _loaded(path).items():
        if key not in sections:
            values[key] = value
        elif isinstance(value, dict):
            values |= {f"{key}.{name}": inner for name, inner in value.items()}
        elif value is not None:
            raise SettingsError(f"{key} in config.yaml is not a section of keys and values.", "Indent its keys below.")
    return values


def text_of(given: object, environ: Mapping[str, str]) -> str:
    """A value as it would stand in the environment, with every `${NAME}` replaced.

    Raises:
        MissingVariableError: such a variable is not set.
        ValueError: it is a section where one value belongs.
    """
    match given:
        case list():
            return json.dumps([_within(item, environ) for item in given])
        case bool():
            return str(given).lower()
        case dict():
            raise ValueError("give one value, not a section of keys")
        case _:
            return _interpolated(str(given), environ)


def _within(item: object, environ: Mapping[str, str], depth: int = 1) -> object:
    """What stands in a list: texts, and down to a depth keys with texts or lists."""
    match item:
        case dict() if depth <= _DEEPEST:
            return {str(key): _within(value, environ, depth + 1) for key, value in item.items()}
        case list() if depth <= _DEEPEST:
            return [_within(value, environ, depth + 1) for value in item]
        case None:
            return None
        case _:
            return _interpolated(str(item), environ)


def _interpolated(text: str, environ: Mapping[str, str]) -> str:
    missing = [name for name in _VARIABLE.findall(text) if name not in environ]
    if missing:
        raise MissingVariableError(f"the environment variable {missing[0]} is not set")
    return _VARIABLE.sub(lambda found: environ[found[1]], text)


def _loaded(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            return {}
    except OSError as error:
        raise SettingsError(f"HOLDFAST_HOME cannot be used: {error.strerror}.", "Name another folder.") from error
    import yaml  # noqa: PLC0415 - only where there is such a file

    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsError(f"config.yaml cannot be read: {error.strerror}.", "Check its permissions.") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SettingsError(f"config.yaml cannot be read as YAML{line}.", "Mend it or move it away.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError("config.yaml cannot be read as YAML.", "Mend it or move it away.") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise SettingsError("config.yaml is not a list of keys and values.", "Write `encoder: builtin`, say.")
    return {str(key): value for key, value in found.items()}


PREFIX = "HOLDFAST_"

EncoderName = Literal["auto", "builtin", "ollama", "nim", "openai", "none"]
SecretsMode = Literal["redact", "refuse", "allow"]
Tenancy = Literal["single", "user"]

_SWITCHES = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
SWITCH_SECONDS = 0.0002
_LONGEST_NUMBER = 12
_LONGEST_DAYS = 36_500
_KEYS = ("NIM_API_KEY", "OPENAI_API_KEY")
_CLIENT_FOLDERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key in `config.yaml`, its environment variable, its default and what it does.

    `omi` is the key that OMI's documents give it, as `section.key`, `nested` one of ours of that form. What is `late`
    may name an environment variable that is not set: whoever needs the value says so.
    """

    key: str
    default: str
    sentence: str
    read: Callable[[str], object] = str
    omi: str = ""
    late: bool = False
    nested: str = ""

    @property
    def variable(self) -> str:
        return PREFIX + self.key.upper()

    @property
    def dotted(self) -> tuple[str, ...]:
        """Its keys within sections."""
        return tuple(key for key in (self.nested, self.omi) if key)


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


def _share(text: str) -> object:
    try:
        share = float(text)
    except ValueError:
        share = math.nan  # as above
    if not 0 <= share <= 1:
        raise ValueError("use a number from 0 to 1")
    return share


def _dimensions(text: str) -> object:
    return _whole(1, 65536)(text) if text.strip() else None


def _vault(text: str) -> object:
    if text.lower() not in ("local", "r2"):
        raise ValueError("backups are kept in the folder vault/ and nowhere else; use local")
    return text.lower()


def _names(text: str) -> tuple[str, ...]:
    """A JSON list, or names with commas between."""
    items = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    return tuple(str(item).strip() for item in items if str(item).strip())


def _folders(text: str) -> object:
    """Folders of this machine, each named whole."""
    folders = tuple(Path(name).expanduser() for name in _names(text))
    if not all(folder.is_absolute() for folder in folders):
        raise ValueError("name each folder from the root of the disk on")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("the name of a folder is no text in UTF-8: rename it, or name one above it")
    return folders


def _origins(text: str) -> object:
    return tuple(map(origin_of, _names(text)))


def _space(text: str) -> object:
    return space_name(text) if text.strip() else None


def _time(text: str) -> object:
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("use an ISO-8601 time") from None  # the parser's own words repeat the value


def _store(text: str) -> object:
    if text and not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("use an address that begins with postgresql://")
    return text


def _metrics_token(text: str) -> object:
    if text and (len(text) < SHORTEST_TOKEN or not text.isascii() or not text.isprintable() or " " in text):
        raise ValueError(f"use {SHORTEST_TOKEN} or more random letters and digits")
    return text


def _web_address(text: str) -> object:
    """An http or https address, without a slash at its end; empty where there is none."""
    address = text.strip().rstrip("/")
    if address and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", address):
        raise ValueError("use an address that begins with https:// or http://")
    return address


def _algorithm(text: str) -> object:
    if text.strip() not in ALGORITHMS:
        raise ValueError(f"use one of {', '.join(ALGORITHMS)}")
    return text.strip()


SETTINGS: tuple[Setting, ...] = (
    Setting("home", "", "The memory folder; by default the platform's folder for user data."),
    Setting("store", "", "A database in place of the folder: postgresql://; see docs/fleet.md.", _store, late=True),
    Setting("tenant", "default", "Which memory of that database this is, by any name, where tenancy is single."),
    Setting("space", "", "The default space; by default the name of the git folder that the server runs in.", _space),
    Setting("encoder", "auto", "auto (which is builtin), builtin, ollama, nim, openai (and its like) or none.",
            _one_of("auto", "builtin", "ollama", "nim", "openai", "none"), "embedding.provider"),
    Setting("encoder_url", "", "Where the provider is; by default OLLAMA_HOST, or the provider's own URL."),
    Setting("encoder_model", "", "The model's name at a provider that has several.", omi="embedding.model"),
    Setting("encoder_dimensions", "", "How long that model's vectors are.", _dimensions, "embedding.dimensions"),
    Setting("encoder_key", "", "The provider's key, by default NIM_API_KEY or OPENAI_API_KEY; in config.yaml ${NAME}.",
            omi="embedding.api_key", late=True),
    Setting("multilingual", "off", "A second encoder beside it for other languages: e5, ollama, ollama:MODEL or off.",
            read_beside),
    Setting("builtin_model", "", "Another ONNX file for the built-in encoder."),
    Setting("builtin_model_sha256", "", "The SHA-256 of that file."),
    Setting("secrets", "redact", "redact, refuse or allow secrets in what is stored.",
            _one_of("redact", "refuse", "allow")),
    Setting("log_level", "warning", "debug, info, warning or error; logs go to stderr as JSON.",
            _one_of("debug", "info", "warning", "error")),
    Setting("answers", "auto", "auto: text alone for clients known to keep it from their model, else structured too; "
            "text or structured for all.", _one_of("auto", "text", "structured")),
    Setting("view", "auto", "auto: clients that say they show MCP Apps are offered the View; always or never for all.",
            _one_of("auto", "always", "never")),
    Setting("allowed_hosts", "", "More Host names that HTTP requests may carry, as a list.", _names),
    Setting("allowed_origins", "", "Origins whose pages may call over HTTP, as a list.", _origins),
    Setting("auth_tokens", "", "Who may call over HTTP: a list of {token or token_sha256, client_id, scopes, space}.",
            read_tokens, nested="auth.tokens"),
    Setting("auth_jwks_url", "", "Where the keys are that sign tokens (JWT); needs issuer and audience.", _web_address,
            nested="auth.jwks_url"),
    Setting("auth_issuer", "", "Who must have issued such a token.", nested="auth.issuer"),
    Setting("auth_audience", "", "For whom such a token must have been issued.", nested="auth.audience"),
    Setting("auth_algorithm", "RS256", "How such a token must be signed.", _algorithm, nested="auth.algorithm"),
    Setting("public_url", "", "The address that clients know an HTTP server by: https://memory.example, say.",
            _web_address),
    Setting("trusted_proxies", "", "Addresses or networks whose X-Forwarded-For and -Proto are believed, as a list.",
            _names),
    Setting("rate_limit", "1000", "HTTP requests per second of one client; 0 for no limit.", _whole(0, 1_000_000)),
    Setting("max_requests", "256", "HTTP requests that are worked on at once.", _whole(1, 100_000)),
    Setting("max_connections", "2000", "HTTP connections that are open at once.", _whole(1, 1_000_000)),
    Setting("request_seconds", "20", "How long the head and the body of an HTTP request may take to arrive.",
            _whole(1, 3600)),
    Setting("stateless", "false", "Keep no HTTP sessions, so that any of several servers may answer any request.",
            _switch),
    Setting("drain_seconds", "0", "How long a server told to end still takes requests; /ready says no meanwhile.",
            _whole(0, 3600)),
    Setting("metrics_token", "", "What a request for /metrics must bring as its bearer token; empty for no /metrics.",
            _metrics_token, nested="metrics.token"),
    Setting("max_now_tokens", "1000", "How long a NOW file may be, in tokens of four characters.",
            _whole(100, 100_000), "storage.max_now_tokens"),
    Setting("recency_half_life_days", "30", "memory_recall's days in exp(-age / days): a time constant.",
            _days, "storage.recency_half_life_days"),
    Setting("vault_enabled", "true", "Take a backup each day; admin_backup works either way.",
            _switch, "vault.enabled"),
    Setting("vault_provider", "local", "Backups are kept in the folder vault/; OMI's r2 is taken with a notice.",
            _vault, "vault.provider"),
    Setting("vault_retention_days", "90", "How long a backup is kept; the newest always is.",
            _whole(1, _LONGEST_DAYS), "vault.retention_days"),
    Setting("integrity_check_on_start", "true", "Look for foreign changes of NOW, MEMORY.md and logs on start.",
            _switch, "security.integrity_check_on_start"),
    Setting("jobs", "true", "Tend the notes once a day: importance, tiers, spaces, old logs.", _switch),
    Setting("forgetting", "false", "Let archival notes that nobody used for 90 days go to the trash, for 30 more.",
            _switch),
    Setting("transcript_roots", "", "More folders in which clients keep transcripts, as a list.", _folders),
    Setting("transcript_days", "30", "How many days what was said waits to be distilled.", _whole(1, 365)),
    Setting("transcript_mib", "16", "How many MiB of it may wait; the oldest goes first.", _whole(1, 1024)),
    Setting("sessions", "false", "Look for sessions of Claude Code and Codex and let them wait to be distilled.",
            _switch),
    Setting("session_turns", "5", "How often the user must have spoken in a session that is looked for.",
            _whole(1, 1000)),
    Setting("session_hours", "72", "How many hours back sessions are looked for; 0 for all.", _whole(0, 1_000_000)),
    Setting("watch", "", "Folders of markdown whose files are kept in step as notes, as a list.", _folders),
    Setting("watch_ignore", "", "Patterns of names or paths in them that are passed over, as a list.", _names),
    Setting("watch_kib", "1024", "How many KiB a file may have that is taken from them.", _whole(1, 4096)),
    Setting("raw_turns", "false", "Keep what nobody distilled in time as archival notes, as it was said.", _switch),
    Setting("review", "false", "Merges, consolidations and retirements by maintenance wait for admin approval.",
            _switch),
    Setting("enable_consensus", "false", "Accepted for OMI's sake; does nothing.",
            _switch, "security.enable_consensus"),
    Setting("tenancy", "single", "single, or user: over HTTP with authentication, a folder for each principal.",
            _one_of("single", "user")),
    Setting("tenants_open", "64", "How many principals' memories are open at a time.", _whole(1, 10_000)),
    Setting("tenant_idle_seconds", "300", "After how long without a request a principal's memory is closed.",
            _whole(1, 86_400)),
    Setting("local_gib", "20", "How many GiB indexes of memories in databases may take here; the least used go.",
            _whole(1, 1_000_000)),
    Setting("max_notes", "0", "How many notes a memory may hold, each principal's by itself; 0 for no limit.",
            _whole(0, 10_000_000)),
    Setting("max_notes_mib", "0", "How many MiB the notes of a memory may take; 0 for no limit.",
            _whole(0, 1_000_000)),
    Setting("presence", "false", "Serve the tools that clients' hooks call: see docs/presence.md.", _switch),
    Setting("presence_tokens", "600", "How long that may be which a hook adds to a session's first prompt, in tokens.",
            _whole(200, 2000)),
    Setting("presence_line", "0.8", "How relevant a note must be, 0 to 1, to be added to a later prompt.", _share),
    Setting("now", "", "The ISO-8601 time that questions are asked at, for tests and benches only.", _time),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Late:
    """A value that is asked for when it is needed, and only then has to be there. Its text is never shown."""

    variable: str
    text: str = field(default="", repr=False)
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.problem)

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

    home: Path  # of a memory in a database: where this server keeps what it derives from it
    space: str | None
    encoder: EncoderName
    builtin_model: Path | None
    builtin_model_sha256: str
    secrets: SecretsMode
    log_level: str
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    store: Late = Late("HOLDFAST_STORE")
    tenant: str = "default"
    now: datetime | None = None
    answers: Answers = "auto"
    view: str = "auto"
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
    jobs: bool = True
    forgetting: bool = False
    enable_consensus: bool = False
    auth_tokens: tuple[StaticToken, ...] = ()
    auth_jwks_url: str = ""
    auth_issuer: str = ""
    auth_audience: str = ""
    auth_algorithm: str = "RS256"
    public_url: str = ""
    trusted_proxies: tuple[str, ...] = ()
    rate_limit: int = 1000
    max_requests: int = 256
    max_connections: int = 2000
    request_seconds: int = 20
    stateless: bool = False
    drain_seconds: int = 0
    metrics_token: str = field(default="", repr=False)
    tenancy: Tenancy = "single"
    tenants_open: int = 64
    tenant_idle_seconds: int = 300
    local_gib: int = 20
    max_notes: int = 0
    max_notes_mib: int = 0
    review: bool = False
    presence: bool = False
    presence_tokens: int = 600
    presence_line: float = 0.8
    transcript_roots: tuple[Path, ...] = ()
    transcript_days: int = 30
    transcript_mib: int = 16
    watch: tuple[Path, ...] = ()
    watch_ignore: tuple[str, ...] = ()
    watch_kib: int = 1024
    multilingual: str = "off"
    raw_turns: bool = False
    sessions: bool = False
    session_turns: int = 5
    session_hours: int = 72
    client_folders: Mapping[str, str] = field(default_factory=dict)  # where clients keep their own, by variable
    unknown: tuple[str, ...] = ()  # keys of config.yaml, and variables called like ours, that nobody reads
    remarks: tuple[str, ...] = ()  # what the user should know of values that are not followed, or not safe

    @property
    def authenticates(self) -> bool:
        """Whether who calls over HTTP has to say who they are."""
        return bool(self.auth_tokens or self.auth_jwks_url)


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Environment before `config.yaml`, there a key of ours before OMI's for the same, before defaults.

    Raises:
        SettingsError: a value cannot be used; the sentence names the setting, never the value.
    """
    home = _home(environ)
    dotted = {key for setting in SETTINGS for key in setting.dotted}
    file = read_config(home / "config.yaml", {key.partition(".")[0] for key in dotted})
    values: dict[str, Any] = {setting.key: _value(setting, environ, file) for setting in SETTINGS}
    model = values["builtin_model"]
    if bool(model) != bool(values["builtin_model_sha256"]):
        raise SettingsError("HOLDFAST_BUILTIN_MODEL and HOLDFAST_BUILTIN_MODEL_SHA256 go together.", "Set both.")
    if values["store"]:
        home = folder_of_store(home, values["store"].text, values["tenant"])
    values |= {"home": home, "builtin_model": _path("HOLDFAST_BUILTIN_MODEL", model) if model else None}
    values |= {"ollama_host": environ.get("OLLAMA_HOST", ""), "keys": {name: environ.get(name, "") for name in _KEYS}}
    values["client_folders"] = {name: environ[name] for name in _CLIENT_FOLDERS if environ.get(name)}
    _check_url(values["encoder"], values["encoder_url"])
    _check_signed(values)
    known = {name for setting in SETTINGS for name in (setting.key, setting.variable)} | dotted
    unknown = {*file, *(name for name in environ if name.startswith(PREFIX))} - known
    return Settings(**values, unknown=tuple(sorted(unknown)), remarks=tuple(remarks_on(values)))


def _value(setting: Setting, environ: Mapping[str, str], file: Mapping[str, Any]) -> object:
    given: object = environ.get(setting.variable) or None
    places = [key for key in (setting.key, *setting.dotted) if file.get(key) is not None]
    named = f"{places[0]} in config.yaml ({setting.variable})" if places and given is None else setting.variable
    try:
        text = setting.default if given is None else str(given)  # what the environment says is meant as it stands
        if given is None and places:
            text = text_of(file[places[0]], environ)
        read = setting.read(text or setting.default)
    except MissingVariableError as error:
        if setting.late:
            return Late(setting.variable, problem=str(error))
        raise SettingsError(f"{named} cannot be used: {error}.", "Set it, or change config.yaml.") from error
    except ValueError as error:
        raise SettingsError(f"{named} cannot be used: {error}.", setting.sentence) from error
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


def _check_signed(values: Mapping[str, Any]) -> None:
    """A signature says nothing as long as it is open who signed for whom."""
    given = [bool(values[key]) for key in ("auth_jwks_url", "auth_issuer", "auth_audience")]
    if any(given) and not all(given):
        raise SettingsError(
            "HOLDFAST_AUTH_JWKS_URL, HOLDFAST_AUTH_ISSUER and HOLDFAST_AUTH_AUDIENCE go together.", "Set all three."
        )


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
    places = (folder, *folder.parents)  # `Path.exists` fails, depending on Python, where a folder cannot be looked at
    top = next((place for place in places if os.path.exists(place / ".git")), None)  # noqa: PTH110 - as said above
    where, how = (top, "git folder") if top is not None and top != home else (folder, "working folder")
    if where in (home, Path(where.anchor)):
        return None, "none: not in a project"
    try:
        return space_name(where.name), how
    except ValueError:
        return None, "none: the folder's name cannot be a space"
