"""Reading `config.yaml`: its sections by dotted key, and `${NAME}` for what stands in the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import SettingsError

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
