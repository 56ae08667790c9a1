"""Reading items, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Final
from uuid import UUID

from psycopg.rows import DictRow

from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.inspect import ALIVE, Count, ItemEvent, ItemFilter, Page, Position, Tally, WorkerInfo
from treadle.postgres.database import Database

WALK: Final = 5000
"""How many items one page, or a look at what stands in front of one, looks at."""
COUNTED: Final = 10_000
"""Up to how many are counted exactly."""


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
        return [work_item(row) for row in rows]

    async def item(self, item_id: UUID) -> WorkItem | None:
        row = await self._database.row("item", id=item_id)
        return work_item(row) if row else None

    async def events(self, item_id: UUID) -> Sequence[ItemEvent]:
        return [ItemEvent(**row) for row in await self._database.rows("item_events", item_id=item_id)]

    async def page(self, wanted: ItemFilter, *, below: Position | None = None, limit: int = 50) -> Page:
        statuses = set(wanted.statuses)
        values = {
            "statuses": _some(statuses),
            "kinds": _some(wanted.kinds),
            "scope_id": wanted.scope_id,
            "below_at": below.requested_at if below else None,
            "below_id": below.id if below else None,
            "walk": WALK,
            "limit": limit,
        }
        # Each status has an index of its own but succeeded, which most items are.
        if statuses == {Status.QUEUED}:
            rows = await self._database.rows("page_queued", **values)
        elif statuses == {Status.RUNNING}:
            rows = await self._database.rows("page_running", **values)
        elif len(statuses) == 1 and statuses <= {Status.FAILED, Status.CANCELLED}:
            rows = await self._database.rows("page_unsuccessful", status=str(*statuses), **values)
        else:
            rows = await self._database.rows("page", **values)
        return _page(rows, limit)

    async def tally(self) -> Tally:
        rows = await self._database.rows("tally", cap=COUNTED)
        found = {row["status"]: Count(row["count"], row["exact"]) for row in rows}
        return Tally(
            counts={status: found.get(status, Count(0, exact=True)) for status in Status},
            as_of=rows[0]["as_of"],
        )

    async def ahead(
        self, item: WorkItem, *, kinds: Collection[str], scopes: Collection[UUID] | None
    ) -> Count:
        row = await self._database.only_row(
            "ahead",
            id=item.id,
            requested_at=item.requested_at,
            kinds=list(kinds),
            scopes=None if scopes is None else list(scopes),
            walk=WALK,
        )
        return Count(row["count"], row["exact"])

    async def kinds_of(self, item_ids: Collection[UUID]) -> Mapping[UUID, str]:
        return {row["id"]: row["kind"] for row in await self._database.rows("kinds_of", ids=list(item_ids))}

    async def counts(self) -> Mapping[Status, int]:
        found = {row["status"]: row["count"] for row in await self._database.rows("counts")}
        return {status: found.get(status, 0) for status in Status}

    async def workers(self, *, seen_within: timedelta = ALIVE) -> Sequence[WorkerInfo]:
        rows = await self._database.rows("workers", seen_within=seen_within.total_seconds())
        return [WorkerInfo(**row) for row in rows]


def _some(values: Collection[str]) -> list[str] | None:
    return [str(value) for value in values] or None


def _page(rows: list[DictRow], limit: int) -> Page:
    items = [work_item(row) for row in rows if row["id"] is not None]
    if len(items) == limit:
        return Page(items=items, next=Position(items[-1].requested_at, items[-1].id))
    if rows and rows[0]["stop_id"] is not None:
        stop = Position(rows[0]["stop_at"], rows[0]["stop_id"])
        return Page(items=items, next=stop, searched_to=stop.requested_at)
    return Page(items=items, next=None)


_COLUMNS: Final = tuple(field.name for field in fields(WorkItem))


def work_item(row: DictRow) -> WorkItem:
    """The item in a row that may hold more."""
    return WorkItem(**{name: row[name] for name in _COLUMNS} | {"status": Status(row["status"])})
