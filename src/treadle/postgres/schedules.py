"""Queueing periodic work, on PostgreSQL: once per interval, or once per slot of a cron expression."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from psycopg.errors import ForeignKeyViolation

from treadle.domain.item import NewItem
from treadle.domain.schedule import Due
from treadle.postgres.database import Connection, Database
from treadle.postgres.pool import Busy
from treadle.postgres.statements import statement
from treadle.task_scheduler import CronExpression

LOCK_SECONDS: Final = 0.3

When = TypeVar("When", timedelta, CronExpression)


class PostgresSchedules:
    """The ``Schedules`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def schedule(self, dues: Sequence[Due]) -> Sequence[UUID]:
        after = [(due.item, due.when) for due in dues if isinstance(due.when, timedelta)]
        at = [(due.item, due.when) for due in dues if isinstance(due.when, CronExpression)]
        return [*await self._queue(self._by_interval, after), *await self._queue(self._by_slot, at)]

    async def _queue(
        self,
        queueing: Callable[[Connection, Sequence[tuple[NewItem, When]]], Coroutine[Any, Any, list[UUID]]],
        dues: Sequence[tuple[NewItem, When]],
    ) -> list[UUID]:
        """Those of *dues* that are due and can be queued, in one transaction where possible."""
        if not dues:
            return []
        try:
            async with self._database.connection(lock_seconds=LOCK_SECONDS) as connection:
                return await queueing(connection, dues)
        except (ForeignKeyViolation, Busy):
            # One scope is gone, or one key is in somebody's open transaction: the others go one by one.
            return (
                [] if len(dues) == 1 else [id_ for due in dues for id_ in await self._queue(queueing, [due])]
            )

    async def _by_interval(
        self, connection: Connection, dues: Sequence[tuple[NewItem, timedelta]]
    ) -> list[UUID]:
        intervals = [interval.total_seconds() for _, interval in dues]
        values = {**_columns([item for item, _ in dues]), "now": self._database.now, "intervals": intervals}
        cursor = await connection.execute(statement("schedule"), values)
        return [row["id"] for row in await cursor.fetchall()]

    async def _by_slot(
        self, connection: Connection, dues: Sequence[tuple[NewItem, CronExpression]]
    ) -> list[UUID]:
        # Slots are cron's arithmetic, which SQL has not, at the database's time, which Python has not.
        cursor = await connection.execute(statement("moment"), {"now": self._database.now})
        (moment,) = await cursor.fetchall()
        slots = [cron.latest_until(moment["now"]) for _, cron in dues]
        values = {**_columns([item for item, _ in dues]), "now": self._database.now, "slots": slots}
        cursor = await connection.execute(statement("schedule_slots"), values)
        return [row["id"] for row in await cursor.fetchall()]


def _columns(items: Sequence[NewItem]) -> Mapping[str, object]:
    return {
        "kinds": [item.kind for item in items],
        "payloads": [item.payload for item in items],
        "scope_ids": [item.scope_id for item in items],
        "dedup_keys": [item.dedup_key for item in items],
    }
