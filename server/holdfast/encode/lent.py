"""One provider for several memories: its model is in the memory of the process once."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.encode.cache import Provider
from holdfast.encode.vectorset import VectorSet


class Lent:
    """A provider that others use too: whoever closes this one leaves the provider open for them."""

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
        """Nothing of its own to close."""
