"""One work item as the memory store keeps it, and the moves it may make."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from treadle.domain.item import Lease, NewItem, Progress, WorkItem
from treadle.domain.status import TRANSITIONS, Move, Status, Verb


@dataclass(slots=True, kw_only=True)
class Row:
    """JSON is kept as text, so that no reader can change what another one reads."""

    id: UUID
    request: NewItem
    requested_at: datetime
    updated_at: datetime
    status: Status = Status.QUEUED
    attempt: int = 0
    stalls: int = 0
    claimed_by: str | None = None
    started_at: datetime | None = None
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    progress: Progress = field(default_factory=Progress)
    result: str = "null"
    error: str | None = None
    superseded_by: UUID | None = None
    slot: datetime | None = None

    @property
    def dedup_key(self) -> str | None:
        return self.request.dedup_key

    def move(self, target: Status, verb: Verb, now: datetime) -> None:
        """Change the status. Raises ``AssertionError`` for a move that the transition table does not have."""
        move = Move(self.status, target, verb)
        if move not in TRANSITIONS:
            raise AssertionError(f"{move} is no allowed transition")
        self.status = target
        self.updated_at = now
        if target is not Status.RUNNING:
            self.lease_until = None
        if target is Status.QUEUED:
            self.claimed_by = self.started_at = None
        if target.finished:
            self.finished_at = now

    def lease(self) -> Lease:
        """The right of the current attempt, as its holder gets it."""
        return Lease(
            item_id=self.id,
            attempt=self.attempt,
            kind=self.request.kind,
            payload=self.request.payload,
            scope_id=self.request.scope_id,
            dedup_key=self.request.dedup_key,
            requested_by=self.request.requested_by,
            requested_at=self.requested_at,
            stalls=self.stalls,
            slot=self.slot,
        )

    def view(self) -> WorkItem:
        """The item as readers see it."""
        return WorkItem(
            id=self.id,
            kind=self.request.kind,
            scope_id=self.request.scope_id,
            requested_by=self.request.requested_by,
            requested_at=self.requested_at,
            status=self.status,
            attempt=self.attempt,
            stalls=self.stalls,
            claimed_by=self.claimed_by,
            started_at=self.started_at,
            lease_until=self.lease_until,
            finished_at=self.finished_at,
            updated_at=self.updated_at,
            cancel_requested_at=self.cancel_requested_at,
            progress_done=self.progress.done,
            progress_total=self.progress.total,
            progress_note=self.progress.note,
            result=json.loads(self.result),
            error=self.error,
            superseded_by=self.superseded_by,
            slot=self.slot,
        )
