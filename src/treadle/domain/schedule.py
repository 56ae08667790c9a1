"""When periodic work should be queued: derived from the table, never from memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeAlias
from uuid import UUID
from zoneinfo import ZoneInfo

from treadle.domain.item import NewItem
from treadle.domain.payload import P, WorkPayload
from treadle.task_scheduler import CronExpression

When: TypeAlias = timedelta | CronExpression
"""So long after the last one finished, or at the slots of a cron expression."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Work that should be done once in every interval, or once for every slot of a cron expression.

    Keep the ``CronExpression`` from one occasion to the next: it remembers its slot, so that asking is cheap.
    """

    payload: WorkPayload
    scope_id: UUID | None
    when: When


class Schedule(Protocol):
    """A periodic kind's schedule: ``Every``, ``EveryScope``, ``Cron``, ``CronScope``, or one that it brings."""

    @property
    def payload_type(self) -> type[WorkPayload]:
        """The payload type of the kind it schedules."""

    def occasions(self, scopes: Collection[UUID]) -> Iterable[Occasion]:
        """What there is to do, for a worker that serves *scopes*. Payloads need a dedup key."""


@dataclass(frozen=True, slots=True)
class Every(Generic[P]):
    """One unscoped item per interval."""

    payload: P
    interval: timedelta

    def __post_init__(self) -> None:
        _refuse_no_interval(self.interval)

    @property
    def payload_type(self) -> type[P]:
        return type(self.payload)

    def occasions(self, scopes: Collection[UUID]) -> Iterable[Occasion]:
        yield Occasion(self.payload, None, self.interval)


@dataclass(frozen=True, slots=True)
class EveryScope(Generic[P]):
    """One item per interval and scope; *payload* makes the payload of a scope."""

    payload_type: type[P]
    payload: Callable[[UUID], P]
    interval: timedelta

    def __post_init__(self) -> None:
        _refuse_no_interval(self.interval)

    def occasions(self, scopes: Collection[UUID]) -> Iterable[Occasion]:
        for scope in scopes:
            yield Occasion(self.payload(scope), scope, self.interval)


@dataclass(frozen=True, slots=True)
class Cron(Generic[P]):
    """One unscoped item per slot of a cron expression, in *timezone*: see ``CronExpression`` for both.

    Raises ``ValueError`` naming the kind and the expression when one of them makes no sense.
    """

    payload: P
    expression: str
    timezone: str | ZoneInfo = "UTC"
    when: CronExpression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _cron(self.payload_type, self.expression, self.timezone))

    @property
    def payload_type(self) -> type[P]:
        return type(self.payload)

    def occasions(self, scopes: Collection[UUID]) -> Iterable[Occasion]:
        yield Occasion(self.payload, None, self.when)


@dataclass(frozen=True, slots=True)
class CronScope(Generic[P]):
    """One item per slot and scope; *payload* makes the payload of a scope. Raises as ``Cron`` does."""

    payload_type: type[P]
    payload: Callable[[UUID], P]
    expression: str
    timezone: str | ZoneInfo = "UTC"
    when: CronExpression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", _cron(self.payload_type, self.expression, self.timezone))

    def occasions(self, scopes: Collection[UUID]) -> Iterable[Occasion]:
        for scope in scopes:
            yield Occasion(self.payload(scope), scope, self.when)


def _refuse_no_interval(interval: timedelta) -> None:
    if interval <= timedelta(0):
        raise ValueError(f"a schedule's interval must be positive, is {interval}")


def _cron(payload: type[WorkPayload], expression: str, timezone: str | ZoneInfo) -> CronExpression:
    try:
        return CronExpression(expression, timezone)
    except ValueError as error:
        fault = str(error).removeprefix(f"cron expression {expression!r}").lstrip(": ")
        raise ValueError(f"kind {payload.kind.value!r}, cron expression {expression!r}: {fault}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A request that is to be queued if *when* says that it is time; see ``is_due`` and ``is_slot_due``."""

    item: NewItem
    when: When


def is_due(*, active: bool, last_finished: datetime | None, interval: timedelta, now: datetime) -> bool:
    """The rule of due-ness: nothing queued or running, and the last finish, however it ended, is old.

    A key that never finished is due at once. *last_finished* leaves out what finished further ahead than an
    interval, for a wrong clock wrote that. The PostgreSQL store states the same rule in SQL.
    """
    return not active and (last_finished is None or last_finished <= now - interval)


def is_slot_due(slot: datetime | None, *, first_seen: datetime | None, newest: datetime | None) -> bool:
    """The rule of due-ness by the clock: the newest slot came after the key was first seen and has no item.

    *slot* is the newest one up to now, *newest* that of the key's items, whatever became of them; items of
    slots in the future were queued by a wrong clock and do not count. A key that is seen for the first time
    is not due. When the slot is due and a twin, an item of the same request, waits in the queue, the twin
    takes the slot over; while anything else of the key waits or runs, the slot waits, too. The PostgreSQL
    store states the same rule in SQL.
    """
    if slot is None or first_seen is None:
        return False
    return slot > first_seen and (newest is None or slot > newest)
