"""What admins and upkeep do, in memory: read, cancel, purge, see workers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from treadle.domain.item import Claimant, WorkItem
from treadle.domain.status import Status, Verb
from treadle.memory.row import Row
from treadle.memory.table import Table
from treadle.ports.cancel import CancelAnswer, Cancellation
from treadle.ports.inspect import ALIVE, Count, ItemEvent, ItemFilter, Page, Position, Tally, WorkerInfo

FORGOTTEN_AFTER: Final = timedelta(days=1)


class MemoryInspector:
    """``ports.inspect.Inspect`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def items(
        self, wanted: ItemFilter | None = None, *, before: UUID | None = None, limit: int = 50
    ) -> Sequence[WorkItem]:
        with self._table.moment():
            rows = [
                row
                for row in self._table.rows.values()
                if _matches(row, wanted or ItemFilter()) and (before is None or row.id < before)
            ]
            return [row.view() for row in sorted(rows, key=lambda row: row.id, reverse=True)[:limit]]

    async def item(self, item_id: UUID) -> WorkItem | None:
        with self._table.moment():
            row = self._table.rows.get(item_id)
            return row.view() if row is not None else None

    async def events(self, item_id: UUID) -> Sequence[ItemEvent]:
        with self._table.moment():
            return [event for event in self._table.events if event.item_id == item_id]

    async def page(self, wanted: ItemFilter, *, below: Position | None = None, limit: int = 50) -> Page:
        by_time = set(wanted.statuses) == {Status.QUEUED}

        def place(at: datetime, id_: UUID) -> tuple[object, ...]:
            return (at, id_) if by_time else (id_,)

        with self._table.moment():
            rows = [
                row
                for row in self._table.rows.values()
                if _matches(row, wanted)
                and (below is None or place(row.requested_at, row.id) < place(below.requested_at, below.id))
            ]
            rows.sort(key=lambda row: place(row.requested_at, row.id), reverse=True)
            items = [row.view() for row in rows[:limit]]
        last = items[-1] if len(items) == limit else None
        return Page(items=items, next=Position(last.requested_at, last.id) if last else None)

    async def tally(self) -> Tally:
        with self._table.moment() as now:
            found = [row.status for row in self._table.rows.values()]
            counts = {status: Count(found.count(status), exact=True) for status in Status}
            return Tally(counts=counts, as_of=now)

    async def ahead(
        self, item: WorkItem, *, kinds: Collection[str], scopes: Collection[UUID] | None
    ) -> Count:
        with self._table.moment():
            before = [
                row
                for row in self._table.rows.values()
                if row.status is Status.QUEUED
                and (row.requested_at, row.id) < (item.requested_at, item.id)
                and row.request.kind in kinds
                and (row.request.scope_id is None or scopes is None or row.request.scope_id in scopes)
            ]
            return Count(len(before), exact=True)

    async def kinds_of(self, item_ids: Collection[UUID]) -> Mapping[UUID, str]:
        with self._table.moment():
            rows = self._table.rows
            return {id_: rows[id_].request.kind for id_ in item_ids if id_ in rows}

    async def counts(self) -> Mapping[Status, int]:
        with self._table.moment():
            found = [row.status for row in self._table.rows.values()]
            return {status: found.count(status) for status in Status}

    async def workers(self, *, seen_within: timedelta = ALIVE) -> Sequence[WorkerInfo]:
        with self._table.moment() as now:
            seen = [worker for worker in self._table.workers.values() if worker.seen_at > now - seen_within]
            by_name = sorted(seen, key=lambda worker: worker.claimed_by)
            return sorted(by_name, key=lambda worker: worker.seen_at, reverse=True)


class MemoryCancel:
    """``ports.cancel.Cancel`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def cancel(self, item_id: UUID) -> CancelAnswer:
        with self._table.moment() as now:
            row = self._table.rows.get(item_id)
            if row is None:
                return CancelAnswer(Cancellation.UNKNOWN, None)
            if row.status.finished:
                return CancelAnswer(Cancellation.FINISHED, row.status)
            row.cancel_requested_at = row.cancel_requested_at or now
            if row.status is Status.QUEUED:
                row.move(Status.CANCELLED, Verb.CANCEL, now)
                return CancelAnswer(Cancellation.CANCELLED, row.status)
            row.move(Status.RUNNING, Verb.CANCEL, now)
            return CancelAnswer(Cancellation.REQUESTED, row.status)


class MemoryRetention:
    """``ports.retention.Retention`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def purge(self, *, older_than: timedelta, periodic_kinds: Collection[str], limit: int) -> int:
        with self._table.moment() as now:
            rows = self._table.rows.values()
            finished = sorted((row.finished_at, row.id, row) for row in rows if row.finished_at is not None)
            slotted = sorted(
                (row.slot, row.id, row) for row in rows if row.slot is not None and row.slot <= now
            )
            # Of each key the last one counts.
            last = {
                row.dedup_key: row.id
                for finished_at, _, row in finished
                if finished_at <= now and row.request.kind in periodic_kinds
            }
            newest = {row.dedup_key: row.id for _, _, row in slotted if row.request.kind in periodic_kinds}
            kept = {id_ for by_key in (last, newest) for key, id_ in by_key.items() if key is not None}
            old = [
                id_ for finished_at, id_, _ in finished if finished_at < now - older_than and id_ not in kept
            ]
            self._table.delete(old[:limit])
            return len(old[:limit])


class MemoryPresence:
    """``ports.presence.Presence`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def appear(self, claimant: Claimant, running: Collection[UUID]) -> None:
        with self._table.moment() as now:
            workers = self._table.workers
            known = workers.get(claimant.claimed_by)
            workers[claimant.claimed_by] = WorkerInfo(
                claimed_by=claimant.claimed_by,
                kinds=claimant.kinds,
                scopes=claimant.scopes,
                running=frozenset(running),
                started_at=known.started_at if known else now,
                seen_at=now,
            )
            self._table.workers = {name: seen for name, seen in workers.items() if _remembered(seen, now)}

    async def disappear(self, claimed_by: str) -> None:
        with self._table.moment():
            self._table.workers.pop(claimed_by, None)


def _matches(row: Row, wanted: ItemFilter) -> bool:
    return (
        (not wanted.statuses or row.status in wanted.statuses)
        and (not wanted.kinds or row.request.kind in wanted.kinds)
        and (wanted.scope_id is None or row.request.scope_id == wanted.scope_id)
    )


def _remembered(worker: WorkerInfo, now: datetime) -> bool:
    return worker.seen_at >= now - FORGOTTEN_AFTER
