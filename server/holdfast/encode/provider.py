"""What encodes, which of its vectors may be compared with which, and encoders that stand before another one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

_HARM: Final = 1e-3  # the square of a unit vector's length is further from 1 only where a bit has flipped
UNREAD: Final = "The embedded model does not read this script."
REMOTE: Final = frozenset({"ollama", "openai", "nim"})


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The identity of a set of comparable vectors, and what to expect of them before any are stored.

    Attributes:
        provider: who encodes: `builtin`, `ollama`, `openai`.
        model: the provider's name of the model.
        digest: the exact weights, as far as the provider tells them; may be empty.
        dimension: how many float32 numbers a vector has.
        prefixes: what is written before a document and before a query.
        background_mean: the cosine that two unrelated texts have on average with this model.
        background_deviation: the standard deviation of that cosine.
    """

    provider: str
    model: str
    digest: str
    dimension: int
    prefixes: tuple[str, str]
    background_mean: float
    background_deviation: float

    @property
    def key(self) -> str:
        """16 hexadecimal digits, the same on every machine; the background is a prior and not part of it."""
        identity = [self.provider, self.model, self.digest, self.dimension, list(self.prefixes)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    @property
    def is_remote(self) -> bool:
        """Whether encoding is a call over the network, be it to this machine."""
        return self.provider in REMOTE

    @property
    def described(self) -> str:
        """All of it as JSON, for `read_set`."""
        return json.dumps(asdict(self))


def read_set(described: str) -> VectorSet | None:
    """A set as it described itself; None where the text is none of ours."""
    try:
        fields = json.loads(described)
        return VectorSet(**fields | {"prefixes": tuple(fields["prefixes"])})
    except (ValueError, TypeError, KeyError):
        return None


class Provider(Protocol):
    """An encoder without a cache."""

    @property
    def vector_set(self) -> VectorSet: ...
    async def identify(self) -> VectorSet: ...
    @property
    def backlog(self) -> int: ...
    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]: ...
    async def encode_query(self, text: str) -> bytes: ...
    async def aclose(self) -> None: ...


class WrappedProvider:
    """An encoder that stands before a provider, and leaves to it whatever it does not do itself."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def vector_set(self) -> VectorSet:
        return self._provider.vector_set

    @property
    def backlog(self) -> int:
        return self._provider.backlog

    async def identify(self) -> VectorSet:
        return await self._provider.identify()

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return await self._provider.encode_documents(texts)

    async def encode_query(self, text: str) -> bytes:
        return await self._provider.encode_query(text)

    async def aclose(self) -> None:
        await self._provider.aclose()


class Lent(WrappedProvider):
    """A provider that others use too: whoever closes this one leaves the provider open for them."""

    async def aclose(self) -> None:
        """Nothing of its own to close."""


class KeptEncoders:
    """One encoder for each set that this process can still encode for.

    Args:
        make: an encoder for a set, or None where the settings or the machine have none.
    """

    def __init__(self, make: Callable[[VectorSet], Provider | None]) -> None:
        self._make = make
        self._made: dict[str, Provider | None] = {}

    def of(self, vector_set: VectorSet) -> Provider | None:
        """The encoder that may make vectors of this set; whether it does is seen when it has made one."""
        if vector_set.key not in self._made:
            self._made[vector_set.key] = self._make(vector_set)
        return self._made[vector_set.key]

    async def aclose(self) -> None:
        made, self._made = self._made, {}
        for encoder in made.values():
            if encoder is not None:
                await encoder.aclose()


def is_whole(rows: Sequence[tuple[int, bytes]], width: int) -> bool:
    """Whether these are all chunks of a text, as they were made: the oldest rows are dropped one by one."""
    if not rows or any(chunk != place or len(vector) != width for place, (chunk, vector) in enumerate(rows)):
        return False
    import numpy as np  # noqa: PLC0415 - start-up stays light

    vectors = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(rows), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((abs(np.einsum("vd,vd->v", vectors, vectors) - 1.0) < _HARM).all())
