"""Queueing periodic work once per slot, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from treadle.domain.schedule import Due
from treadle.postgres.database import Database
from treadle.postgres.pool import Busy
from treadle.postgres.statements import statement

LOCK_SECONDS: Final = 0.3


class PostgresSchedules:
    """The ``Schedules`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def schedule(self, dues: Sequence[Due]) -> Sequence[UUID]:
        if not dues:
            return []
        try:
            return await self._queue(dues)
        except (ForeignKeyViolation, Busy):
            # One scope is gone, or one key is in somebody's open transaction: the others go one by one.
            return [] if len(dues) == 1 else [id_ for due in dues for id_ in await self.schedule([due])]

    async def _queue(self, dues: Sequence[Due]) -> list[UUID]:
        values = {
            "now": self._database.now,
            "kinds": [due.item.kind for due in dues],
            "payloads": [due.item.payload for due in dues],
            "scope_ids": [due.item.scope_id for due in dues],
            "dedup_keys": [due.item.dedup_key for due in dues],
            "intervals": [due.interval.total_seconds() for due in dues],
        }
        async with self._database.connection(lock_seconds=LOCK_SECONDS) as connection:
            cursor = await connection.execute(statement("schedule"), values)
            return [row["id"] for row in await cursor.fetchall()]
