"""Who may ask over HTTP and for what: scopes, tokens, principals, addresses; and in which form a client is answered.

A server may send an answer twice: as text, which a model reads, and as structured content, which a program reads by its
schema. Some clients give their model the structured content as JSON and drop the text, and with it the fence around
what was stored. These get the text alone, and are shown no output schemas: a client that was shown a schema takes an
answer without structured content for an error.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from holdfast.model.note import space_name
from holdfast.model.words import regex

THIS_MACHINE: Final = "127.0.0.1"
_PORTS: Final = {"http": 80, "https": 443}
APPS: Final = "io.modelcontextprotocol/ui"  # the extension that a client declares which shows MCP Apps


def is_this_machine(host: str) -> bool:
    """Whether an address, as `OLLAMA_HOST` has it, is this machine's own; so is none at all."""
    try:
        name = urlsplit(host if "://" in host else f"//{host}").hostname or THIS_MACHINE
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def is_in_clear(url: str) -> bool:
    """Whether what goes to a URL can be read on its way: plain http to another machine."""
    return url.strip().lower().startswith("http://") and not is_this_machine(url.strip())


def origin_of(text: str) -> str:
    """An origin as browsers write it: lower case, without a slash or a port that goes without saying.

    Raises:
        ValueError: it is none, or stands for many.
    """
    parts = urlsplit(text.strip().rstrip("/").lower())
    if not parts.scheme or not parts.hostname or parts.path or parts.query or "@" in parts.netloc or "*" in text:
        raise ValueError("use origins like https://app.example, without a path or *")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


Answers = Literal["auto", "text", "structured"]

# By the name in `clientInfo`; each was seen to drop the text. What is not listed here gets both forms.
TEXT_CLIENTS: Final = frozenset({"claude-code", "codex-mcp-client", "mcporter"})


@dataclass(frozen=True, slots=True)
class Form:
    """What one kind of client gets.

    Attributes:
        structured: structured content beside the text, and output schemas in the list of tools.
    """

    structured: bool


BOTH: Final = Form(structured=True)
TEXT: Final = Form(structured=False)


def form_for(client: str, answers: Answers = "auto") -> Form:
    """The form for a client.

    Args:
        client: its name, as it gives it in either era of the protocol; empty where it gives none.
        answers: the setting: `auto` goes by the name, the others hold for every client.
    """
    if answers == "auto":
        return TEXT if client in TEXT_CLIENTS else BOTH
    return TEXT if answers == "text" else BOTH


READ: Final = "memory:read"
WRITE: Final = "memory:write"
ADMIN: Final = "memory:admin"
SCOPES: Final = (READ, WRITE, ADMIN)

LOCAL: Final = "local"  # who asks where nobody has to say who they are
SIGNED: Final = "sub_"  # how the names of those begin who come with a signed token
_KEYS = frozenset({"token", "token_sha256", "client_id", "scopes", "space"})
_DIGEST = regex(r"[0-9a-fA-F]{64}")
_LONGEST_NAME = 128
SHORTEST_TOKEN: Final = 32  # characters, for those that open the admin namespace; others are warned of


@dataclass(frozen=True, slots=True)
class StaticToken:
    """A token that the operator gave to a client; of the token itself only its SHA-256 is kept.

    `is_short` is known only of a token that was given itself: a hash tells nothing of its length.
    """

    client_id: str
    scopes: tuple[str, ...]
    digest: bytes = field(repr=False)
    space: str | None = None
    is_short: bool = field(default=False, compare=False)


def allows(granted: Collection[str], scope: str) -> bool:
    """Whether these scopes include one; who may administer a memory can read and change all of it anyway."""
    return scope in granted or ADMIN in granted


def digest_of(token: str) -> bytes:
    """SHA-256 of a token, 32 bytes."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def signed_principal(issuer: str, subject: str) -> str:
    """The stable name of a subject of an issuer: `sub_` and 32 hexadecimal digits of a hash of both."""
    both = json.dumps([issuer, subject]).encode()
    return SIGNED + hashlib.sha256(both).hexdigest()[:32]


def read_tokens(text: str) -> tuple[StaticToken, ...]:
    """Tokens as settings give them: a JSON list of `{"token" or "token_sha256", "client_id", "scopes", "space"}`.

    Raises:
        ValueError: it is something else; the words repeat nothing of it.
    """
    if not text.strip():
        return ()
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("give a JSON list of tokens") from None  # the parser's own words repeat the text
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise ValueError("give a list of tokens, each with its keys")
    tokens = tuple(_token(number, entry) for number, entry in enumerate(given, 1))
    if len({token.digest for token in tokens}) < len(tokens):
        raise ValueError("two entries have the same token")
    return tokens


def _token(number: int, entry: Mapping[str, Any]) -> StaticToken:
    where = f"entry {number}"
    if set(entry) - _KEYS:
        raise ValueError(f"{where} may have {', '.join(sorted(_KEYS))} and no more")
    digest, scopes = _digest(where, entry), _scopes(where, entry)
    is_short = len(str(entry.get("token") or "").strip()) < SHORTEST_TOKEN and entry.get("token") is not None
    if is_short and ADMIN in scopes:
        raise ValueError(f"{where} opens the admin namespace and needs a token of {SHORTEST_TOKEN} characters or more")
    return StaticToken(_client(where, entry), scopes, digest, _space(where, entry), is_short)


def _client(where: str, entry: Mapping[str, Any]) -> str:
    name = entry.get("client_id")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ValueError(f"{where} needs a client_id of up to {_LONGEST_NAME} printable characters")
    if name == LOCAL or name.startswith(SIGNED):
        raise ValueError(f"{where} has a client_id that is reserved: {LOCAL}, and what begins with {SIGNED}")
    return name


def _scopes(where: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    scopes = entry.get("scopes")
    if not isinstance(scopes, list) or not scopes or any(scope not in SCOPES for scope in scopes):
        raise ValueError(f"{where} needs scopes, a list of some of {', '.join(SCOPES)}")
    return tuple(scopes)


def _digest(where: str, entry: Mapping[str, Any]) -> bytes:
    token, digest = entry.get("token"), entry.get("token_sha256")
    if isinstance(token, str) and token.strip() and digest is None:
        return digest_of(token)
    if isinstance(digest, str) and _DIGEST.fullmatch(digest) and token is None:
        return bytes.fromhex(digest)
    raise ValueError(f"{where} needs either token or token_sha256, which is 64 hexadecimal digits")


def _space(where: str, entry: Mapping[str, Any]) -> str | None:
    space = entry.get("space")
    try:
        return None if space is None else space_name(str(space))
    except ValueError as error:
        raise ValueError(f"{where} has a space that cannot be one: {error}") from None


_KEYED: Final = {"nim": "NIM_API_KEY", "openai": "OPENAI_API_KEY"}  # providers that a key is sent to


def remarks_on(values: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each of the values that is not followed, or not safe; none repeats a value."""
    if values["enable_consensus"]:
        yield "security.enable_consensus does nothing here."
    if values["vault_provider"] != "local":
        yield "vault.provider r2 is not there: backups stay in the memory's own vault; copy them elsewhere."
    variable = _KEYED.get(values["encoder"])
    if variable and (values["encoder_key"].text or values["keys"][variable]) and is_in_clear(values["encoder_url"]):
        yield (
            "HOLDFAST_ENCODER_URL is plain http to another machine: the key is not sent there, so nothing is encoded. "
            "Use https or a tunnel to this machine; where no key is needed, give none."
        )
    if values["store"]:
        yield "HOLDFAST_STORE: edits by hand and HOLDFAST_WATCH are not there."
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


def tenant_key(name: str) -> str:
    """What stands in a database, and as the name of a folder, for a memory of any name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


_STORES: Final = "stores"  # below HOLDFAST_HOME, with a folder for each memory of a database


def users_home(home: Path) -> Path:
    """HOLDFAST_HOME of a folder that lies below its `stores/`; of another that folder itself."""
    return next((above.parent for above in home.parents if above.name == _STORES), home)


def folder_of_store(home: Path, url: str, tenant: str) -> Path:
    """The folder below HOLDFAST_HOME in which a server keeps what it derives from one memory of one database.

    The same whoever logs in, so that a new password makes nothing anew. Two memories never share an index.
    """
    name = hashlib.sha256(f"{re.sub('//[^/@]*@', '//', url)}\0{tenant}".encode()).hexdigest()[:16]
    return home / _STORES / name
