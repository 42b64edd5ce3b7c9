"""config.yaml as it may lie in a backup that is carried elsewhere: without keys, tokens and passwords."""

from __future__ import annotations

import re
from typing import Any

from holdfast.model.secrets import redact

_SECRET = re.compile(r"(?:.*[_.-])?(?:key|token|secret|password|passphrase)", re.IGNORECASE)
_REFERENCE = re.compile(r"\s*\$\{[A-Za-z_][A-Za-z0-9_]*\}\s*")
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
        return {key: MASK if _is_secret(key, inner) else _clean(inner) for key, inner in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list) else value


def _is_secret(key: object, value: object) -> bool:
    if _SECRET.fullmatch(str(key)) is None or not isinstance(value, str) or not value:
        return False
    return _REFERENCE.fullmatch(value) is None
