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


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a list: that of the last item looked at."""

    requested_at: datetime
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of a list, and how far it was searched for."""

    items: Sequence[WorkItem]
    next: Position | None
    """Where the list goes on; None at its end. Set also when a bounded search ended before the page was full."""
    searched_to: datetime | None = None
    """Set when the page is not full though the list goes on: items asked for before were not looked at yet."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are."""

    count: int
    exact: bool
    """False for an estimate, of a number too large to be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many items are in each status."""

    counts: Mapping[Status, Count]
    as_of: datetime


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

    async def page(self, wanted: ItemFilter, *, below: Position | None = None, limit: int = 50) -> Page:
        """A page of items, newest first; *below* continues a list and neither repeats nor skips.

        Newest by id; a list of queued items alone is in the order in which they were asked for. A page
        looks at a bounded number of items, whatever is wanted and however many there are.
        """

    async def tally(self) -> Tally:
        """As ``counts``, at bounded cost: large numbers are estimates."""

    async def ahead(
        self, item: WorkItem, *, kinds: Collection[str], scopes: Collection[UUID] | None
    ) -> Count:
        """How many queued items of those *kinds* and *scopes* were asked for before *item*.

        Not exact, and then a lower bound, when too many stand in front of it. None is every scope; items
        without a scope count always.
        """

    async def kinds_of(self, item_ids: Collection[UUID]) -> Mapping[UUID, str]:
        """The kinds of those items that exist."""

    async def counts(self) -> Mapping[Status, int]:
        """How many items are in each status."""

    async def workers(self, *, seen_within: timedelta = ALIVE) -> Sequence[WorkerInfo]:
        """The workers that gave a sign of life within that time, the latest first."""
