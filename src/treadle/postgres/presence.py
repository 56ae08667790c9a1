"""Who is alive, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from treadle.domain.item import Claimant
from treadle.postgres.database import Database


class PostgresPresence:
    """The ``Presence`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def appear(self, claimant: Claimant, running: Collection[UUID]) -> None:
        await self._database.count(
            "appear",
            claimed_by=claimant.claimed_by,
            kinds=sorted(claimant.kinds),
            scopes=None if claimant.scopes is None else sorted(claimant.scopes),
            running=list(running),
        )

    async def disappear(self, claimed_by: str) -> None:
        await self._database.count("disappear", claimed_by=claimed_by)
