"""Holding work in memory: claim, heartbeat, finish, release, recover."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from treadle.domain.encoding import ERROR_LIMIT, NOTE_LIMIT, json_text, storable_text
from treadle.domain.event import Exceptional
from treadle.domain.item import Claimant, Lease, Progress
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.stall import stalled_error
from treadle.domain.status import Status, Verb
from treadle.memory.row import Row
from treadle.memory.table import Table
from treadle.ports.lease import Beat, Finished, LastWill, Released


class MemoryLeases:
    """``ports.lease.Leases`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def claim(self, claimant: Claimant) -> Lease | None:
        with self._table.moment() as now:
            return self._claim(claimant, now)

    async def heartbeat(self, lease: Lease, progress: Progress, extend: timedelta) -> Beat | None:
        with self._table.moment() as now:
            row = self._held(lease, now)
            if row is None:
                return None
            row.move(Status.RUNNING, Verb.HEARTBEAT, now)
            row.lease_until = now + extend
            row.progress = _storable(progress)
            if row.cancel_requested_at is not None:
                self._deliver_cancel(row, now)
            return Beat(cancel_requested=row.cancel_requested_at is not None)

    async def finish(
        self, lease: Lease, outcome: Outcome, progress: Progress, claimant: Claimant | None = None
    ) -> Finished:
        with self._table.moment() as now:
            row = self._held(lease, now)
            if row is None:
                return Finished(accepted=False)
            _end(row, outcome, now)
            row.progress = _storable(progress)
            return Finished(accepted=True, next=self._claim(claimant, now) if claimant else None)

    async def outcome_of(self, lease: Lease) -> Status | None:
        with self._table.moment():
            row = self._table.rows.get(lease.item_id)
            return row.status if row is not None and row.attempt == lease.attempt else None

    async def release(self, lease: Lease, progress: Progress) -> Released | None:
        with self._table.moment() as now:
            row = self._held(lease, now)
            if row is None:
                return None
            row.progress = _over(row.progress, _storable(progress))
            return self._release(row, now)

    async def recover(self, *, stall_limit: int) -> Sequence[Released]:
        with self._table.moment() as now:
            expired = [
                row for row in self._running() if row.lease_until is not None and row.lease_until < now
            ]
            return [self._stall(row, stall_limit, now) for row in expired]

    async def release_strays(
        self, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        with self._table.moment() as now:
            strays = [
                row
                for row in self._running()
                if row.claimed_by == claimed_by
                and row.id not in held
                and row.started_at is not None
                and row.started_at < now - older_than
            ]
            return [self._release(row, now) for row in strays]

    def last_will(self, leases: Sequence[Lease]) -> LastWill | None:
        """None: the data ends with the process."""
        return None

    def _claim(self, claimant: Claimant, now: datetime) -> Lease | None:
        served = (row for row in self._table.rows.values() if _serves(claimant, row))
        row = min(served, key=lambda row: (row.requested_at, row.id), default=None)
        if row is None:
            return None
        row.move(Status.RUNNING, Verb.CLAIM, now)
        row.attempt += 1
        row.claimed_by = claimant.claimed_by
        row.started_at = now
        row.lease_until = now + claimant.lease
        row.progress = Progress()
        return row.lease()

    def _held(self, lease: Lease, now: datetime) -> Row | None:
        """The row while *lease* is its own; a write of an earlier attempt is put on record."""
        row = self._table.rows.get(lease.item_id)
        if row is None:
            return None
        if row.attempt != lease.attempt:
            self._table.record(Exceptional.REFUSED, row, now, attempt=lease.attempt)
            return None
        return row if row.status is Status.RUNNING else None

    def _running(self) -> list[Row]:
        return [row for row in self._table.rows.values() if row.status is Status.RUNNING]

    def _deliver_cancel(self, row: Row, now: datetime) -> None:
        delivered = (row.id, row.attempt, Exceptional.CANCEL_DELIVERED)
        if all((event.item_id, event.attempt, event.event) != delivered for event in self._table.events):
            self._table.record(Exceptional.CANCEL_DELIVERED, row, now)

    def _release(self, row: Row, now: datetime) -> Released:
        self._table.record(Exceptional.RELEASED, row, now)
        return self._return(row, Verb.RELEASE, now)

    def _stall(self, row: Row, stall_limit: int, now: datetime) -> Released:
        self._table.record(Exceptional.STALLED, row, now)
        row.stalls += 1
        if row.stalls >= stall_limit and row.cancel_requested_at is None:
            row.move(Status.FAILED, Verb.RECOVER, now)
            row.error = stalled_error(row.stalls)
            return _released(row)
        return self._return(row, Verb.RECOVER, now)

    def _return(self, row: Row, verb: Verb, now: datetime) -> Released:
        """Back to the queue, unless a pending cancel or a queued twin ends the item."""
        twin = self._table.twin(row.dedup_key)
        if row.cancel_requested_at is not None:
            row.move(Status.CANCELLED, verb, now)
        elif twin is not None:
            row.move(Status.CANCELLED, verb, now)
            row.superseded_by = twin.id
            twin.stalls = max(twin.stalls, row.stalls)
            twin.updated_at = now
            self._table.record(Exceptional.SUPERSEDED, row, now, detail=str(twin.id))
        else:
            row.move(Status.QUEUED, verb, now)
        return _released(row)


def _serves(claimant: Claimant, row: Row) -> bool:
    scope = row.request.scope_id
    return (
        row.status is Status.QUEUED
        and row.request.kind in claimant.kinds
        and (scope is None or claimant.scopes is None or scope in claimant.scopes)
    )


def _end(row: Row, outcome: Outcome, now: datetime) -> None:
    match outcome:
        case Succeeded(result):
            row.result = json_text(result)
            row.move(Status.SUCCEEDED, Verb.FINISH, now)
        case Failed(error):
            row.error = storable_text(error, ERROR_LIMIT)
            row.move(Status.FAILED, Verb.FINISH, now)
        case Cancelled(partial):
            row.result = json_text(partial)
            row.move(Status.CANCELLED, Verb.FINISH, now)


def _storable(progress: Progress) -> Progress:
    note = None if progress.note is None else storable_text(progress.note, NOTE_LIMIT)
    return Progress(done=progress.done, total=progress.total, note=note)


def _over(last: Progress, given: Progress) -> Progress:
    """*given*, with what it leaves out as it was: a release may know nothing of the progress."""
    return Progress(
        done=last.done if given.done is None else given.done,
        total=last.total if given.total is None else given.total,
        note=last.note if given.note is None else given.note,
    )


def _released(row: Row) -> Released:
    return Released(row.id, row.request.kind, row.status, row.superseded_by)
