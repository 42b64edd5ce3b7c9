"""Which of many memories have changed: one question for all of which somebody wants to know.

Each memory is asked for in its own tenant's scope, so that row-level security holds here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from holdfast.store.rows.database import Database, Question, hurried

TOGETHER: Final = 100  # memories in one message
_NUMBER: Final = "SELECT tenant, seq FROM holdfast.tenants WHERE tenant = %s"


class RowFeed:
    """See `holdfast.engine.ports.Feed`.

    Args:
        database: where the memories are.
        key: the tenant of a principal.
    """

    def __init__(self, database: Database, key: Callable[[str], str]) -> None:
        self._database = database
        self._key = key

    async def numbers(self, principals: Sequence[str]) -> Mapping[str, int]:
        """The number of the last change of each principal's memory; 0 where nothing was ever written.

        Raises:
            StorageError: the database does not answer.
        """
        keys = {principal: self._key(principal) for principal in principals}
        tenants = sorted(set(keys.values()))
        found: dict[str, int] = {}
        for start in range(0, len(tenants), TOGETHER):
            part = {tenant: Question(_NUMBER, (tenant,)) for tenant in tenants[start : start + TOGETHER]}
            with hurried():
                rows = await self._database.glances(part)
            found |= {tenant: int(seq) for tenant, seq in rows}
        return {principal: found.get(tenant, 0) for principal, tenant in keys.items()}
