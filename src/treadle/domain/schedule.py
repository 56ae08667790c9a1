"""When periodic work should be queued: derived from the table, never from memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol
from uuid import UUID

from treadle.domain.item import NewItem
from treadle.domain.payload import P, WorkPayload


@dataclass(frozen=True, slots=True)
class Occasion:
    """Work that should be finished once in every interval."""

    payload: WorkPayload
    scope_id: UUID | None
    interval: timedelta


class Schedule(Protocol):
    """A periodic kind's schedule. ``Every`` and ``EveryScope`` fit; a kind may bring its own."""

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


def _refuse_no_interval(interval: timedelta) -> None:
    if interval <= timedelta(0):
        raise ValueError(f"a schedule's interval must be positive, is {interval}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A request that is to be queued if nothing of its dedup key is waiting, running or too fresh."""

    item: NewItem
    interval: timedelta


def is_due(*, active: bool, last_finished: datetime | None, interval: timedelta, now: datetime) -> bool:
    """The rule of due-ness: nothing queued or running, and the last finish, however it ended, is old.

    A key that never finished is due at once. The PostgreSQL store states the same rule in SQL.
    """
    return not active and (last_finished is None or last_finished <= now - interval)
