"""Queueing in memory: on request, and when periodic work is due."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from treadle.domain.item import NewItem, Queued
from treadle.domain.schedule import Due, is_due
from treadle.errors import DedupConflict, UnknownScope
from treadle.memory.table import Table


class MemoryQueue:
    """``ports.enqueue.EnqueueIn`` in memory, for callers with connections of any type."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def enqueue(self, item: NewItem, *, connection: object = None) -> Queued:
        """As the port says, but at once: memory knows nothing of the transaction on *connection*."""
        with self._table.moment() as now:
            twin = self._table.twin(item.dedup_key)
            if twin is None:
                return Queued(id=self._table.insert(item, now).id, coalesced=False)
            if not _same_request(twin.request, item):
                raise DedupConflict(str(item.dedup_key), twin.id)
            return Queued(id=twin.id, coalesced=True)


class MemorySchedules:
    """``ports.schedule.Schedules`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def schedule(self, dues: Sequence[Due]) -> Sequence[UUID]:
        queued: list[UUID] = []
        with self._table.moment() as now:
            for due in dues:
                if self._is_due(due, now):
                    with suppress(UnknownScope):
                        queued.append(self._table.insert(due.item, now).id)
        return queued

    def _is_due(self, due: Due, now: datetime) -> bool:
        rows = self._table.of_key(due.item.dedup_key) if due.item.dedup_key is not None else []
        return is_due(
            active=any(row.finished_at is None for row in rows),
            last_finished=max((row.finished_at for row in rows if row.finished_at), default=None),
            interval=due.interval,
            now=now,
        )


def _same_request(one: NewItem, other: NewItem) -> bool:
    same_place = (one.kind, one.scope_id) == (other.kind, other.scope_id)
    return same_place and _comparable(one.payload) == _comparable(other.payload)


def _comparable(payload: str) -> object:
    """JSON as PostgreSQL compares it: keys in any order, exact numbers, and true is not 1."""
    return _tagged(json.loads(payload, parse_float=Decimal, parse_int=Decimal))


def _tagged(value: object) -> object:
    match value:
        case dict():
            return {key: _tagged(part) for key, part in value.items()}
        case list():
            return [_tagged(part) for part in value]
        case bool():
            return ("boolean", value)
        case _:
            return value
