"""What the contract asks of a store's tests, and the few words that its tests are written in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta
from typing import Final, Protocol
from uuid import UUID

import pytest
from pydantic import JsonValue

from treadle.domain.item import Claimant, Lease, NewItem, Progress, WorkItem
from treadle.ports.inspect import ItemEvent
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock

ALPHA: Final = "alpha"
BETA: Final = "beta"
LEASE: Final = timedelta(seconds=60)
INSTANT: Final = timedelta(microseconds=1)
"""The smallest step of a database's clock."""
SECOND: Final = timedelta(seconds=1)
NO_PROGRESS: Final = Progress()


class StoreHarness(Protocol):
    """One set of data, empty at first, that stores are opened on and whose clock a test holds."""

    @property
    def clock(self) -> FixedClock:
        """The time of every store of this harness."""

    def store(self) -> Store:
        """A store that nobody has opened yet, independent of the others, on the same data."""

    def add_scope(self, scope_id: UUID) -> None:
        """Insert the host's row that the scope stands for. Scopes without a row are unknown."""

    def delete_scope(self, scope_id: UUID) -> None:
        """Delete the host's row."""

    def clear(self) -> None:
        """Delete all items, events, workers, scopes and first sights of cron keys."""


class Contract:
    """Base of the contract's parts. A store's tests override ``harness``."""

    @pytest.fixture
    def harness(self) -> StoreHarness:
        raise NotImplementedError("override the harness fixture: it makes the stores that are tested")

    @pytest.fixture
    def clock(self, harness: StoreHarness) -> FixedClock:
        return harness.clock

    @pytest.fixture
    async def store(self, harness: StoreHarness) -> AsyncIterator[Store]:
        async with harness.store() as store:
            yield store

    @pytest.fixture
    async def other(self, harness: StoreHarness) -> AsyncIterator[Store]:
        """A second store on the same data, as another process has it."""
        async with harness.store() as store:
            yield store


def request(
    kind: str = ALPHA,
    payload: JsonValue = None,
    *,
    scope_id: UUID | None = None,
    key: str | None = None,
    by: str | None = "ada",
) -> NewItem:
    """A request for work; *payload* defaults to an empty object."""
    text = json.dumps({} if payload is None else payload)
    return NewItem(kind=kind, payload=text, scope_id=scope_id, dedup_key=key, requested_by=by)


def claimant(
    name: str = "one@test",
    *,
    kinds: Collection[str] = (ALPHA, BETA),
    scopes: Collection[UUID] | None = None,
    lease: timedelta = LEASE,
) -> Claimant:
    return Claimant(
        claimed_by=name,
        kinds=frozenset(kinds),
        scopes=None if scopes is None else frozenset(scopes),
        lease=lease,
    )


async def put(store: Store, item: NewItem | None = None) -> UUID:
    """Enqueue *item*, or a plain one, as a new item."""
    queued = await store.queue.enqueue(request() if item is None else item)
    assert not queued.coalesced
    return queued.id


async def take(store: Store, who: Claimant | None = None) -> Lease:
    """Claim the item that has to be there."""
    lease = await store.leases.claim(claimant() if who is None else who)
    assert lease is not None, "there should have been an item to claim"
    return lease


async def started(store: Store, item: NewItem | None = None, who: Claimant | None = None) -> Lease:
    """Enqueue *item* and claim it; nothing else may be waiting."""
    item_id = await put(store, item)
    lease = await take(store, who)
    assert lease.item_id == item_id
    return lease


async def expire(store: Store, clock: FixedClock, *, limit: int = 3, lease: timedelta = LEASE) -> None:
    """Let the lease run out and recover."""
    clock.advance(lease + INSTANT)
    await store.leases.recover(stall_limit=limit)


async def reclaimed(store: Store, clock: FixedClock, item: NewItem | None = None) -> tuple[Lease, Lease]:
    """The lease of a zombie, and that of its successor on the same item."""
    zombie = await started(store, item)
    await expire(store, clock)
    successor = await take(store, claimant("two@test"))
    assert successor.item_id == zombie.item_id
    return zombie, successor


async def look(store: Store, item_id: UUID) -> WorkItem:
    """The item, which has to exist."""
    item = await store.inspector.item(item_id)
    assert item is not None, "the item should have existed"
    return item


async def event_names(store: Store, item_id: UUID) -> Sequence[str]:
    return [event.event for event in await store.inspector.events(item_id)]


async def only_event(store: Store, item_id: UUID) -> ItemEvent:
    (event,) = await store.inspector.events(item_id)
    return event
