"""Whether an Ollama runs on this machine that has a model for embeddings."""

from __future__ import annotations

import re
from typing import Final

import anyio

from holdfast.encode.ollama import OllamaEndpoint
from holdfast.encode.prefixes import is_embedding_model
from holdfast.errors import EncoderError
from holdfast.model.addresses import is_this_machine

LOOK_SECONDS: Final = 1.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:/-]{1,80}")


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
