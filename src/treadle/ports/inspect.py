"""Reading work: what admins and operators see. Never payloads or dedup keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from treadle.domain.item import WorkItem
from treadle.domain.status import Status

ALIVE: Final = timedelta(seconds=15)
"""How long a worker counts as alive after a sign of life: three of its usual intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which items to list; what is left out does not restrict."""

    statuses: Collection[Status] = ()
    kinds: Collection[str] = ()
    scope_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEvent:
    """Something exceptional in an item's life: stall, release, refused write, cancel, superseded."""

    item_id: UUID
    attempt: int
    event: str
    at: datetime
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker as last seen."""

    claimed_by: str
    kinds: Collection[str]
    scopes: Collection[UUID] | None
    """None serves every scope."""
    running: Collection[UUID]
    started_at: datetime
    seen_at: datetime


class Inspect(Protocol):
    """Reads for lists, details and operators."""

    async def items(
        self, wanted: ItemFilter | None = None, *, before: UUID | None = None, limit: int = 50
    ) -> Sequence[WorkItem]:
        """Items, newest first by id; *before* continues a list below the last id seen."""

    async def item(self, item_id: UUID) -> WorkItem | None:
        """One item, None when there is none (any more)."""

    async def events(self, item_id: UUID) -> Sequence[ItemEvent]:
        """The exceptional in one item's life, oldest first."""

    async def counts(self) -> Mapping[Status, int]:
        """How many items are in each status."""

    async def workers(self, *, seen_within: timedelta = ALIVE) -> Sequence[WorkerInfo]:
        """The workers that gave a sign of life within that time, the latest first."""
