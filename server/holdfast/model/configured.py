"""What settings mean together: what a user should know of them, and where what they lead to is kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast.model.access import SHORTEST_TOKEN, is_in_clear

_KEYED: Final = {"nim": "NIM_API_KEY", "openai": "OPENAI_API_KEY"}  # providers that a key is sent to


def remarks_on(values: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each of the values that is not followed, or not safe; none repeats a value."""
    if values["enable_consensus"]:
        yield "security.enable_consensus does nothing here."
    if values["vault_provider"] != "local":
        yield "vault.provider r2 is not there: backups stay in the folder vault/ on this machine; copy them elsewhere."
    variable = _KEYED.get(values["encoder"])
    if variable and (values["encoder_key"].text or values["keys"][variable]) and is_in_clear(values["encoder_url"]):
        yield (
            "HOLDFAST_ENCODER_URL is plain http to another machine: the key is not sent there, so nothing is encoded. "
            "Use https or a tunnel to this machine; where no key is needed, give none."
        )
    if values["store"]:
        yield "HOLDFAST_STORE: edits by hand, the vault, admin_import, admin_export, HOLDFAST_WATCH are not there."
    if short := [str(number) for number, token in enumerate(values["auth_tokens"], 1) if token.is_short]:
        yield (
            f"HOLDFAST_AUTH_TOKENS has tokens of fewer than {SHORTEST_TOKEN} characters, which can be guessed: entry "
            f"{', '.join(short)}. Use long random ones."
        )
    if is_in_clear(values["auth_jwks_url"]):
        yield (
            "HOLDFAST_AUTH_JWKS_URL is plain http to another machine: whoever sits on the way can sign tokens. "
            "Use https, unless you trust every machine of that network."
        )


def read_beside(text: str) -> str:
    """Which encoder stands beside that of the settings: `off`, `e5`, `ollama`, or `ollama:` and a model's name."""
    name, _, model = text.strip().partition(":")
    if name.lower() not in ("off", "e5", "ollama") or (":" in text and not (name.lower() == "ollama" and model)):
        raise ValueError("use off, e5, ollama or ollama:MODEL")
    return f"{name.lower()}:{model}" if model else name.lower()


def folder_of_store(url: str, tenant: str) -> str:
    """The name of the folder in which a server keeps what it derives from one memory of one database.

    The same whoever logs in, so that a new password makes nothing anew. Two memories never share an index.
    """
    return hashlib.sha256(f"{re.sub('//[^/@]*@', '//', url)}\0{tenant}".encode()).hexdigest()[:16]
