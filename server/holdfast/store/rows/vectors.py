"""Vectors by content as rows: what one server of a memory encoded, no other needs to encode.

They are kept for each tenant apart: what is stored for one tells nothing to another, and a purge takes all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Final

import structlog

from holdfast.errors import StorageError
from holdfast.store.rows.database import Question, TenantRows, Transaction, hurried

_INSERT: Final = (
    "INSERT INTO holdfast.encodings (tenant, vector_set, content, chunk, vector) VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (tenant, vector_set, content, chunk) DO NOTHING"
)

log = structlog.get_logger()


class RowVectors(TenantRows):
    """See `holdfast.encode.shared.SharedVectors`."""

    async def known(self, vector_set: str, contents: Sequence[str]) -> dict[str, list[bytes]]:
        """The chunks of those of these contents that anybody encoded; none where the database is away."""
        question = Question(
            "SELECT content, chunk, vector FROM holdfast.encodings"
            " WHERE tenant = %s AND vector_set = %s AND content = ANY(%s) ORDER BY content, chunk",
            (self._tenant, vector_set, list(contents)),
        )
        try:
            with hurried():
                [rows] = await self._database.read(self._tenant, question)
        except StorageError as error:  # they only spare work
            log.info("shared_vectors_not_read", reason=str(error))
            return {}
        found: dict[str, list[bytes]] = {}
        for content, chunk, vector in rows:
            if chunk == len(found.setdefault(content, [])):
                found[content].append(bytes(vector))
        return found

    async def keep(self, vector_set: str, made: Mapping[str, Sequence[bytes]]) -> None:
        """Keep what was made, as far as nobody did, and unless the database is away."""
        rows = [
            (self._tenant, vector_set, content, number, chunk)
            for content, chunks in sorted(made.items())
            for number, chunk in enumerate(chunks)
        ]
        try:
            with hurried():
                await self._database.run(self._tenant, lambda tx: tx.each(_INSERT, rows), flush=False)
        except StorageError as error:  # as above
            log.info("shared_vectors_not_kept", reason=str(error))

    async def drop(self, vector_set: str) -> None:
        """Take away all of a set, whose model made them wrongly.

        Raises:
            StorageError: the database refused.
        """
        await self._database.run(
            self._tenant,
            lambda tx: tx.ask(
                "DELETE FROM holdfast.encodings WHERE tenant = %s AND vector_set = %s", self._tenant, vector_set
            ),
        )

    async def forget(self, texts: Sequence[str]) -> None:
        """Take away the vectors of these texts, in every set.

        Raises:
            StorageError: the database refused.
        """
        contents = [sha256(text.encode()).hexdigest() for text in texts]
        await self._database.run(self._tenant, partial(_forget, self._tenant, contents))


def _forget(tenant: str, contents: Sequence[str], transaction: Transaction) -> None:
    transaction.ask("DELETE FROM holdfast.encodings WHERE tenant = %s AND content = ANY(%s)", tenant, list(contents))
