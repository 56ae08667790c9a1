"""The JSON of the work-item API."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer

from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.inspect import ItemEvent, WorkerInfo

EXACT: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exact (RFC 8259, section 6)."""


def exact(value: JsonValue) -> JsonValue:
    """*value* with each number that a browser would change as its decimal digits in a string."""
    match value:
        case bool():
            return value
        case int() if abs(value) > EXACT:
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return [exact(part) for part in value]
        case dict():
            return {key: exact(part) for key, part in value.items()}
        case _:
            return value


def _exact_integer(value: int) -> int | str:
    return value if abs(value) <= EXACT else str(value)


BigInteger = Annotated[int, PlainSerializer(_exact_integer, return_type=int | str)]
ExactJson = Annotated[JsonValue, PlainSerializer(exact, return_type=Any)]


class Shape(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(from_attributes=True, frozen=True)


class Item(Shape):
    """A work item: all but its payload and dedup key. Integers beyond 2^53 - 1 are strings of digits."""

    id: UUID
    kind: str
    scope_id: UUID | None
    requested_by: str | None = Field(description="Null: the scheduler.")
    requested_at: datetime
    status: Status
    attempt: int
    stalls: int
    claimed_by: str | None
    started_at: datetime | None
    lease_until: datetime | None
    finished_at: datetime | None
    updated_at: datetime = Field(
        description="Grows with each change of an item: of two states the later one is newer."
    )
    cancel_requested_at: datetime | None
    progress_done: BigInteger | None
    progress_total: BigInteger | None = Field(description="Null: not known yet.")
    progress_note: str | None
    result: ExactJson
    partial: bool = Field(description="Whether the result is only what a cancelled run had done so far.")
    error: str | None
    superseded_by: UUID | None
    slot: datetime | None = Field(
        description="The time a cron schedule queued it for; null for all other items."
    )


class ItemPage(Shape):
    """A part of a list."""

    items: Sequence[Item]
    next: str | None = Field(
        description="Give it back as `after` for the next page. It may be set though this page is not full."
    )
    searched_to: datetime | None = Field(
        description="Set when a bounded search ended before the page was full: older items were not looked at yet."
    )
    cursor: str = Field(description="Give it back as `since` to follow all changes of this state.")


class CountShape(Shape):
    """How many there are."""

    count: int
    exact: bool = Field(description="False for an estimate.")


class Counts(Shape):
    """How many items are in each status."""

    queued: CountShape
    running: CountShape
    succeeded: CountShape
    failed: CountShape
    cancelled: CountShape
    as_of: datetime


class EventShape(Shape):
    """Something exceptional in an item's life."""

    attempt: int
    event: str
    at: datetime
    detail: str | None


class RunningItem(Shape):
    """What keeps a worker busy."""

    id: UUID
    kind: str | None = Field(description="Null when the item has ended meanwhile and is gone.")


class AbleWorker(Shape):
    """A live worker that could run an item."""

    claimed_by: str
    running: Sequence[RunningItem]


class Waiting(Shape):
    """Why a queued item is not running."""

    code: Literal[
        "no_worker", "unknown_kind", "unserved_scope", "workers_busy", "behind_others", "about_to_start"
    ]
    text: str
    ahead: int = Field(description="How many queued items the same workers take first.")
    ahead_exact: bool = Field(description="False when there are more.")
    workers: Sequence[AbleWorker]


class Detail(Item):
    """A work item, the exceptional in its life, and why it waits."""

    events: Sequence[EventShape] = Field(description="Oldest first.")
    waiting: Waiting | None


class WorkerShape(Shape):
    """A worker as last seen."""

    claimed_by: str
    kinds: Sequence[str]
    scopes: Sequence[UUID] | None = Field(description="Null: every scope.")
    running: Sequence[UUID]
    started_at: datetime
    seen_at: datetime
    alive: bool

    @classmethod
    def of(cls, worker: WorkerInfo, *, alive: bool) -> Self:
        return cls(
            claimed_by=worker.claimed_by,
            kinds=sorted(worker.kinds),
            scopes=None if worker.scopes is None else sorted(worker.scopes),
            running=sorted(worker.running),
            started_at=worker.started_at,
            seen_at=worker.seen_at,
            alive=alive,
        )


class Workers(Shape):
    """The workers seen lately, the latest first."""

    workers: Sequence[WorkerShape]


class Kinds(Shape):
    """Kinds to filter by: the application's own and those that live workers have handlers for."""

    kinds: Sequence[str]


class Cancelled(Shape):
    """What a cancel came to, and the item after it."""

    cancellation: Literal["cancelled", "requested"]
    item: Item


def item_shape(item: WorkItem) -> Item:
    return Item.model_validate(item)


def detail_shape(item: WorkItem, events: Sequence[ItemEvent], waiting: Waiting | None) -> Detail:
    shown: Mapping[str, Any] = {name: getattr(item, name) for name in Item.model_fields}
    return Detail(**shown, events=[EventShape.model_validate(event) for event in events], waiting=waiting)
