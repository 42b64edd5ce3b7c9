"""config.yaml as it may lie in a backup that is carried elsewhere: without keys, tokens and passwords."""

from __future__ import annotations

import re
from typing import Any

from holdfast.model.secrets import redact

_SECRET = re.compile(r"(?:.*[_.-])?(?:key|token|secret|password|passphrase)(s?)", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*\$\{[A-Za-z_][A-Za-z0-9_]*\}\s*")
_ENTRY = {"token", "token_sha256", "client_id"}  # of an entry that has its secret at a key of its own
MASK = "***"


def masked(data: bytes) -> bytes:
    """The same bytes where they hold no secret; else the values without theirs; empty where they cannot be read."""
    import yaml  # noqa: PLC0415 - only where there is such a file

    try:
        text = data.decode()
        found = yaml.safe_load(text)
        clean = _clean(found)
        if clean == found and not redact(text).labels:
            return data
        return redact(yaml.safe_dump(clean, sort_keys=False, allow_unicode=True)).text.encode()
    except (yaml.YAMLError, ValueError, RecursionError):
        return b""


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _clean_at(key, inner) for key, inner in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _clean_at(key: object, value: Any) -> Any:
    """What stands at a key. `tokens` may hold them, as a list or as its JSON, or be how many there may be."""
    named = _SECRET.fullmatch(str(key))
    if named and isinstance(value, list):
        return [_clean_at(key, item) for item in value]
    if named and not named[1] and isinstance(value, int | float) and not isinstance(value, bool):
        return MASK
    if named and isinstance(value, str) and value and _REFERENCE.fullmatch(value) is None:
        return value if named[1] and value.isdecimal() else MASK
    if named and named[1] and isinstance(value, dict) and not value.keys() & _ENTRY:
        return {name: _clean_at(key, inner) for name, inner in value.items()}
    return _clean(value)
