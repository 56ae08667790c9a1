"""Deleting old items, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from treadle.postgres.database import Database
from treadle.postgres.live import TOMBSTONES


class PostgresRetention:
    """The ``Retention`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def purge(self, *, older_than: timedelta, periodic_kinds: Collection[str], limit: int) -> int:
        await self._database.count("purge_tombstones", older_than=TOMBSTONES.total_seconds())
        return await self._database.count(
            "purge", older_than=older_than.total_seconds(), periodic_kinds=list(periodic_kinds), limit=limit
        )
