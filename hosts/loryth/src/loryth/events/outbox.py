"""The outbox: where events are published, looked at, and published anew."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from loryth.database import Connection, statement

SQL: Final = "loryth.events.sql"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to an aggregate, as its handler sees it."""

    id: UUID
    aggregate_type: str
    aggregate_id: str
    event_type: str
    payload: Any
    published_at: datetime
    attempt: int
    """1 for the first; more after a failure, or after a process that was lost in the middle."""


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event in the outbox, as an operator sees it."""

    id: UUID
    aggregate_type: str
    aggregate_id: str
    event_type: str
    published_at: datetime
    attempts: int
    last_error: str | None


def publish(
    connection: psycopg.Connection[Any],
    *,
    aggregate_type: str,
    aggregate_id: str | UUID,
    event_type: str,
    payload: object,
) -> UUID:
    """Publish an event as part of the transaction on *connection*; its id.

    It is delivered if that transaction commits, and after all events of its aggregate that were published by
    transactions that committed before. To make that so, a second transaction that publishes about the same
    aggregate waits here for the first to end.
    """
    values = {
        "aggregate_type": aggregate_type,
        "aggregate_id": str(aggregate_id),
        "event_type": event_type,
        "payload": Jsonb(payload),
    }
    with connection.cursor(row_factory=class_row(_Id)) as cursor:
        return _only(cursor.execute(statement(SQL, "publish"), values).fetchall()).id


def events(connection: Connection, *, status: str, limit: int) -> list[KeptEvent]:
    """Up to *limit* events that are `waiting`, `done` or `parked`, in the order of their publication."""
    with connection.cursor(row_factory=class_row(KeptEvent)) as cursor:
        return cursor.execute(statement(SQL, "events"), {"status": status, "limit": limit}).fetchall()


def retry(connection: Connection, event_id: UUID) -> bool:
    """Publish a parked event anew, behind what its aggregate has published since; False when none is parked so."""
    return connection.execute(statement(SQL, "retry"), {"id": event_id}).fetchone() is not None


def forget(connection: Connection, *, keep_seconds: float, limit: int) -> int:
    """Remove up to *limit* events that were done at least *keep_seconds* ago; how many it were."""
    return connection.execute(statement(SQL, "forget"), {"keep": keep_seconds, "limit": limit}).rowcount


@dataclass(frozen=True, slots=True)
class _Id:
    id: UUID


def _only(rows: list[_Id]) -> _Id:
    (row,) = rows
    return row
