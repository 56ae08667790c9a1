"""A work item, as its readers, its asker and its holder see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import JsonValue

from treadle.domain.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The latest snapshot of a run: overwritten, without history."""

    done: int | None = None
    total: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    """A request for work, ready to be inserted. Build it with ``Registry.new_item``."""

    kind: str
    payload: str
    """A JSON object, as text."""
    scope_id: UUID | None = None
    dedup_key: str | None = None
    requested_by: str | None = None
    """None when the scheduler asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The answer to an enqueue: which item will do the work, and whether it was already waiting."""

    id: UUID
    coalesced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One row of ``treadle.work_items`` as readers see it: all but payload and dedup key."""

    id: UUID
    kind: str
    scope_id: UUID | None
    requested_by: str | None
    requested_at: datetime
    status: Status
    attempt: int
    stalls: int
    claimed_by: str | None
    started_at: datetime | None
    lease_until: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    cancel_requested_at: datetime | None
    progress_done: int | None
    progress_total: int | None
    progress_note: str | None
    result: JsonValue
    error: str | None
    superseded_by: UUID | None
    slot: datetime | None = None
    """The time a cron schedule queued it for; None for all other items."""

    @property
    def partial(self) -> bool:
        """Whether the result is only what a cancelled run had done so far."""
        return self.status is Status.CANCELLED and self.result is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """Who claims, what it can do, and for how long it takes an item."""

    claimed_by: str
    """Unique to the process: after a lost reply it is how the process finds what it was given."""
    kinds: frozenset[str]
    scopes: frozenset[UUID] | None
    """None serves every scope. Unscoped items are served always."""
    lease: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """One attempt at one item: the right to write its progress and its end until it runs out."""

    item_id: UUID
    attempt: int
    kind: str
    payload: str
    """JSON text. It is read where it is decoded: one that cannot be read fails its item, and no claim."""
    scope_id: UUID | None
    dedup_key: str | None
    requested_by: str | None
    requested_at: datetime
    stalls: int
    slot: datetime | None = None
