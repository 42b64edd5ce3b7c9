"""Which vectors may be compared with which."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Final

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
