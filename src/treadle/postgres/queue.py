"""Asking for and cancelling work, on PostgreSQL; also in the caller's own transaction, async or not."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection
from psycopg.errors import ForeignKeyViolation
from psycopg.rows import dict_row

from treadle.domain.item import NewItem, Queued
from treadle.domain.payload import WorkPayload
from treadle.domain.registry import Registry
from treadle.domain.status import Status
from treadle.errors import DedupConflict, UnknownScope
from treadle.ports.cancel import CancelAnswer, Cancellation
from treadle.postgres.database import Database
from treadle.postgres.statements import statement

Row = dict[str, Any] | None


class PostgresQueue:
    """The ``Enqueue`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enqueue(self, item: NewItem, *, connection: AsyncConnection[Any] | None = None) -> Queued:
        """As the port says; with *connection* as part of the caller's transaction there.

        A queued item that the request coalesces into is then held until that transaction ends: its run
        sees what the caller changed. Such a caller should commit soon.
        """
        if connection is not None:
            return await _ask(item, connection, self._database.now)
        async with self._database.connection() as own:
            return await _ask(item, own, self._database.now)


async def _ask(item: NewItem, connection: AsyncConnection[Any], now: datetime | None) -> Queued:
    asking = _asking(item, "enqueue" if now is None else "enqueue_at")
    try:
        name = next(asking)
        async with connection.cursor(row_factory=dict_row) as cursor:
            while True:
                await cursor.execute(statement(name), {**_values(item), "now": now})
                name = asking.send(await cursor.fetchone())
    except StopIteration as answer:
        queued: Queued = answer.value
        return queued
    except ForeignKeyViolation as error:
        raise UnknownScope(item.scope_id) from error


def enqueue(
    connection: psycopg.Connection[Any],
    registry: Registry,
    payload: WorkPayload,
    *,
    scope_id: UUID | None = None,
    requested_by: str | None = None,
) -> Queued:
    """Ask for work from plain (not async) code, as part of the caller's transaction on *connection*.

    Raises ``PayloadError``, ``DedupConflict`` and ``UnknownScope``; ``psycopg`` errors pass unchanged.
    """
    item = registry.new_item(payload, scope_id=scope_id, requested_by=requested_by)
    asking = _asking(item)
    try:
        name = next(asking)
        with connection.cursor(row_factory=dict_row) as cursor:
            while True:
                cursor.execute(statement(name), _values(item))
                name = asking.send(cursor.fetchone())
    except StopIteration as answer:
        queued: Queued = answer.value
        return queued
    except ForeignKeyViolation as error:
        raise UnknownScope(scope_id) from error


def _asking(item: NewItem, insert: str = "enqueue") -> Generator[str, Row, Queued]:
    """Which statements to run; each is sent its first row. One logic for both kinds of connection."""
    while True:
        row = yield insert
        if row is not None:
            return Queued(id=row["id"], coalesced=False)
        twin = yield "hold_twin"
        if twin is not None and item.dedup_key is not None:
            if not twin["same"]:
                raise DedupConflict(item.dedup_key, twin["id"])
            return Queued(id=twin["id"], coalesced=True)
        # The twin was claimed or cancelled in between: the key is free again.


def _values(item: NewItem) -> dict[str, object]:
    return {
        "kind": item.kind,
        "payload": item.payload,
        "scope_id": item.scope_id,
        "dedup_key": item.dedup_key,
        "requested_by": item.requested_by,
    }


class PostgresCancels:
    """The ``Cancel`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cancel(self, item_id: UUID) -> CancelAnswer:
        while True:
            match await self._ask(item_id):
                case "cancelled":
                    return CancelAnswer(Cancellation.CANCELLED, Status.CANCELLED)
                case "running":
                    return CancelAnswer(Cancellation.REQUESTED, Status.RUNNING)
            # A statement of its own sees what the one before had to wait for.
            found = await self._database.row("status_of", id=item_id)
            if found is None:
                return CancelAnswer(Cancellation.UNKNOWN, None)
            if (status := Status(found["status"])).finished:
                return CancelAnswer(Cancellation.FINISHED, status)

    async def _ask(self, item_id: UUID) -> str | None:
        name = "cancel" if self._database.now is None else "cancel_at"
        row = await self._database.row(name, id=item_id)
        return row["status"] if row else None
