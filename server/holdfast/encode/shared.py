"""Vectors that several servers of a memory share: what any of them has encoded, the others take over.

They stand behind the cache that each server has beside its index, and are asked for what that does not know. Where they
cannot be asked the provider encodes: they only spare work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from holdfast.encode.provider import Provider, VectorSet, WrappedProvider, is_whole
from holdfast.errors import EncoderError


class SharedVectors(Protocol):
    """Chunks of vectors by the set and the hash of their text; see `holdfast.store.rows.vectors.RowVectors`."""

    async def known(self, vector_set: str, contents: Sequence[str]) -> dict[str, list[bytes]]: ...
    async def keep(self, vector_set: str, made: Mapping[str, Sequence[bytes]]) -> None: ...
    async def drop(self, vector_set: str) -> None: ...
    async def forget(self, texts: Sequence[str]) -> None: ...


class SharedEncoder(WrappedProvider):
    """An encoder that asks what others have made before it encodes a document.

    Args:
        provider: what encodes.
        vectors: what is shared.
    """

    def __init__(self, provider: Provider, vectors: SharedVectors) -> None:
        super().__init__(provider)
        self._vectors = vectors

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Chunks of each text, made by another server or now.

        Raises:
            EncoderError: the provider failed, or its model changed while it encoded.
        """
        made_with = await self._identified()
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        found = await self._vectors.known(made_with.key, keys)
        known = {
            key: chunks for key, chunks in found.items() if is_whole(list(enumerate(chunks)), made_with.dimension * 4)
        }
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, await self._provider.encode_documents(list(missing.values())), strict=True))
            if self.vector_set.key != made_with.key:
                raise EncoderError("The embedding model changed while it encoded.")
            await self._vectors.keep(made_with.key, fresh)
            known |= fresh
        return [known[key] for key in keys]

    async def forget(self) -> None:
        """Make anew what is asked for from now on."""
        await self._vectors.drop((await self._identified()).key)

    async def _identified(self) -> VectorSet:
        """The set; the provider is asked where it has not been reached yet."""
        try:
            return self._provider.vector_set
        except EncoderError:
            return await self._provider.identify()
