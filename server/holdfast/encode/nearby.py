"""Whether an Ollama runs on this machine that has a model for embeddings."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import anyio

from holdfast.encode.ollama import THIS_MACHINE, OllamaEndpoint
from holdfast.encode.prefixes import is_embedding_model
from holdfast.errors import EncoderError

LOOK_SECONDS: Final = 1.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:/-]{1,80}")


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


async def local_model(host: str) -> str:
    """The name of a model for embeddings that an Ollama on this machine has; empty where there is none at once."""
    if not is_this_machine(host):
        return ""
    endpoint = OllamaEndpoint(host)
    try:
        with anyio.fail_after(LOOK_SECONDS):
            names = await endpoint.models()
    except (EncoderError, TimeoutError):
        return ""
    finally:
        with anyio.CancelScope(shield=True):
            await endpoint.aclose()
    return next((name for name in sorted(names) if is_embedding_model(name) and _is_better(name)), "")


def _is_better(name: str) -> bool:
    """Whether a model is another one than the built-in, and has a name that can be repeated."""
    return "minilm" not in name.lower() and _PLAIN.fullmatch(name) is not None
