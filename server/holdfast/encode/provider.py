"""What encodes, and what stands before another encoder: a cache of its own, or a loan to several memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.encode.vectorset import VectorSet


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


class Standing:
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


class Lent(Standing):
    """A provider that others use too: whoever closes this one leaves the provider open for them."""

    async def aclose(self) -> None:
        """Nothing of its own to close."""
