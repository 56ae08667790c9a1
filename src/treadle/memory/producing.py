"""Queueing in memory: on request, and when periodic work is due."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from treadle.domain.item import NewItem, Queued
from treadle.domain.schedule import Due, is_due, is_slot_due
from treadle.errors import DedupConflict, UnknownScope
from treadle.memory.row import Row
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
                if isinstance(due.when, timedelta) and self._is_due(due.item, due.when, now):
                    queued += self._queue(due.item, None, now)
            for item, slot in self._open_slots(dues, now):
                twin = self._table.twin(item.dedup_key)
                if twin is not None and _same_request(twin.request, item):
                    twin.slot, twin.updated_at = slot, now
                elif all(row.finished_at is not None for row in self._of_key(item)):
                    queued += self._queue(item, slot, now)
        return queued

    def _open_slots(self, dues: Sequence[Due], now: datetime) -> list[tuple[NewItem, datetime]]:
        """What is due by the clock, of each key the newest slot; a key is first seen, and not due, here."""
        found: dict[str, tuple[NewItem, datetime]] = {}
        known = dict(self._table.first_seen)
        for due in dues:
            key = due.item.dedup_key
            if isinstance(due.when, timedelta) or key is None:
                continue
            slots = [row.slot for row in self._of_key(due.item) if row.slot is not None and row.slot <= now]
            slot = due.when.latest_until(now)
            if slot is not None and is_slot_due(
                slot, first_seen=known.get(key), newest=max(slots, default=None)
            ):
                found[key] = max(found.get(key, (due.item, slot)), (due.item, slot), key=lambda one: one[1])
            self._table.first_seen[key] = min(known.get(key, now), now)
        return list(found.values())

    def _is_due(self, item: NewItem, interval: timedelta, now: datetime) -> bool:
        rows = self._of_key(item)
        credible = [row.finished_at for row in rows if row.finished_at and row.finished_at <= now + interval]
        return is_due(
            active=any(row.finished_at is None for row in rows),
            last_finished=max(credible, default=None),
            interval=interval,
            now=now,
        )

    def _of_key(self, item: NewItem) -> list[Row]:
        return self._table.of_key(item.dedup_key) if item.dedup_key is not None else []

    def _queue(self, item: NewItem, slot: datetime | None, now: datetime) -> list[UUID]:
        with suppress(UnknownScope):
            row = self._table.insert(item, now)
            row.slot = slot
            return [row.id]
        return []


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
