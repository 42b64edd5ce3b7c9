"""Tokens of dry runs as rows: what one server gave, any server of the memory takes, once.

A token's row has hashes alone: who reads the table can confirm nothing, and learns of no note.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Final

from holdfast.store.rows.database import TenantRows, Transaction

MOST_OPEN: Final = 100  # of one principal; the oldest go


class RowTokens(TenantRows):
    """See `holdfast.engine.ports.Tokens`."""

    async def keep(self, token: str, about: tuple[str, ...], until: str) -> None:
        """Have a token taken for what `about` says (principal first), before an instant.

        Raises:
            StorageError: the database refused, or is not known to have taken it.
        """
        await self._database.run(self._tenant, partial(_keep, self._tenant, token, about, until))

    async def take(self, token: str, about: tuple[str, ...], now: str) -> bool:
        """Use a token up; whether it was one for this. That of another principal stays theirs.

        Where the connection is lost at COMMIT a second try finds nothing: the dry run is then asked for again.

        Raises:
            StorageError: the database refused, or is not known to have given it.
        """
        return await self._database.run(self._tenant, partial(_take, self._tenant, token, about, now))


def _hash(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()


def _keep(tenant: str, token: str, about: tuple[str, ...], until: str, transaction: Transaction) -> None:
    principal = _hash(about[0])
    transaction.ask(
        "DELETE FROM holdfast.tokens WHERE tenant = %s AND principal = %s AND token IN (SELECT token"
        " FROM holdfast.tokens WHERE tenant = %s AND principal = %s ORDER BY until DESC OFFSET %s)",
        tenant, principal, tenant, principal, MOST_OPEN - 1,
    )  # fmt: skip
    transaction.ask(
        "INSERT INTO holdfast.tokens (tenant, token, principal, about, until) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT (tenant, token) DO UPDATE SET until = excluded.until",
        tenant, _hash(token), principal, _hash(*about), until,
    )  # fmt: skip


def _take(tenant: str, token: str, about: tuple[str, ...], now: str, transaction: Transaction) -> bool:
    transaction.ask("DELETE FROM holdfast.tokens WHERE tenant = %s AND until <= %s", tenant, now)
    row = transaction.ask(
        "DELETE FROM holdfast.tokens WHERE tenant = %s AND token = %s AND principal = %s RETURNING about",
        tenant, _hash(token), _hash(about[0]),
    ).fetchone()  # fmt: skip
    return row is not None and row[0] == _hash(*about)
