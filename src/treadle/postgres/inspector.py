"""Reading items, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from psycopg.rows import DictRow

from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.inspect import ALIVE, ItemEvent, ItemFilter, WorkerInfo
from treadle.postgres.database import Database


class PostgresInspector:
    """The ``Inspect`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def items(
        self, wanted: ItemFilter | None = None, *, before: UUID | None = None, limit: int = 50
    ) -> Sequence[WorkItem]:
        wanted = wanted or ItemFilter()
        rows = await self._database.rows(
            "items",
            statuses=_some(wanted.statuses),
            kinds=_some(wanted.kinds),
            scope_id=wanted.scope_id,
            before=before,
            limit=limit,
        )
        return [_item(row) for row in rows]

    async def item(self, item_id: UUID) -> WorkItem | None:
        row = await self._database.row("item", id=item_id)
        return _item(row) if row else None

    async def events(self, item_id: UUID) -> Sequence[ItemEvent]:
        return [ItemEvent(**row) for row in await self._database.rows("item_events", item_id=item_id)]

    async def counts(self) -> Mapping[Status, int]:
        found = {row["status"]: row["count"] for row in await self._database.rows("counts")}
        return {status: found.get(status, 0) for status in Status}

    async def workers(self, *, seen_within: timedelta = ALIVE) -> Sequence[WorkerInfo]:
        rows = await self._database.rows("workers", seen_within=seen_within.total_seconds())
        return [WorkerInfo(**row) for row in rows]


def _some(values: Collection[str]) -> list[str] | None:
    return [str(value) for value in values] or None


def _item(row: DictRow) -> WorkItem:
    return WorkItem(**{**row, "status": Status(row["status"])})
