"""The contract of reading: lists, pages, details, events, counts, and who is alive."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from treadle.domain.event import Exceptional
from treadle.domain.outcome import Cancelled, Failed, Succeeded
from treadle.domain.status import Status
from treadle.ports.inspect import ItemFilter
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    expire,
    look,
    put,
    request,
    started,
    take,
)


class ReadingContract(Contract):
    """What admins and operators see."""

    async def test_an_empty_queue_reads_as_empty(self, store: Store) -> None:
        assert await store.inspector.items() == []
        assert await store.inspector.item(uuid4()) is None
        assert await store.inspector.events(uuid4()) == []
        assert sum((await store.inspector.counts()).values()) == 0

    async def test_a_list_is_newest_first_by_id_and_shows_what_the_detail_shows(self, store: Store) -> None:
        made = {await put(store, request(kind)) for kind in (ALPHA, BETA, ALPHA)}
        await take(store)
        items = await store.inspector.items()
        assert [item.id for item in items] == sorted(made, reverse=True)
        assert [await look(store, item.id) for item in items] == items

    @pytest.mark.parametrize(
        ("statuses", "kinds", "expected"),
        [
            ([], [], {"queued", "running", "succeeded", "failed", "cancelled", "beta"}),
            ([Status.QUEUED], [], {"queued", "beta"}),
            ([Status.RUNNING], [], {"running"}),
            ([Status.SUCCEEDED, Status.FAILED], [], {"succeeded", "failed"}),
            ([Status.CANCELLED], [BETA], set()),
            ([], [BETA], {"beta"}),
            ([], ["nobody knows"], set()),
            ([Status.QUEUED], [ALPHA, BETA], {"queued", "beta"}),
        ],
    )
    async def test_a_list_is_filtered_by_status_and_kind(
        self, store: Store, statuses: list[Status], kinds: list[str], expected: set[str]
    ) -> None:
        names = await _one_of_each_status(store)
        found = await store.inspector.items(ItemFilter(statuses=statuses, kinds=kinds))
        assert {names[item.id] for item in found} == expected

    async def test_a_list_is_filtered_by_scope(self, harness: StoreHarness, store: Store) -> None:
        scope, other = uuid4(), uuid4()
        harness.add_scope(scope)
        harness.add_scope(other)
        wanted = await put(store, request(scope_id=scope))
        await put(store, request(BETA, scope_id=scope))
        await put(store, request(scope_id=other))
        await put(store)
        found = await store.inspector.items(ItemFilter(kinds=[ALPHA], scope_id=scope))
        assert [item.id for item in found] == [wanted]

    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
    async def test_pages_show_every_item_once_while_new_ones_arrive(self, store: Store, limit: int) -> None:
        there = {await put(store) for _ in range(7)}
        seen: list[UUID] = []
        page = await store.inspector.items(limit=limit)
        while page:
            assert len(page) <= limit
            seen += [item.id for item in page]
            await put(store, request(BETA))
            page = await store.inspector.items(ItemFilter(kinds=[ALPHA]), before=seen[-1], limit=limit)
        assert seen == sorted(there, reverse=True)

    async def test_pages_go_on_below_an_item_that_is_gone(self, harness: StoreHarness, store: Store) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        ids = sorted([await put(store, request(scope_id=scope)) for _ in range(3)])
        below = UUID(int=ids[0].int - 1)
        harness.delete_scope(scope)
        item = await put(store)
        assert [one.id for one in await store.inspector.items(before=UUID(int=2**128 - 1))] == [item]
        assert await store.inspector.items(before=below) == []

    async def test_counts_tell_each_status(self, store: Store) -> None:
        await _one_of_each_status(store)
        counts = await store.inspector.counts()
        assert {status: counts.get(status, 0) for status in Status} == {
            Status.QUEUED: 2,
            Status.RUNNING: 1,
            Status.SUCCEEDED: 1,
            Status.FAILED: 1,
            Status.CANCELLED: 1,
        }

    async def test_events_are_oldest_first_and_of_one_item(self, store: Store, clock: FixedClock) -> None:
        other = await started(store)
        await store.leases.release(other, NO_PROGRESS)
        await store.leases.finish(await take(store), Succeeded(), NO_PROGRESS)
        lease = await started(store)
        begun = clock.now
        await store.leases.release(lease, NO_PROGRESS)
        await take(store)
        await expire(store, clock)
        await store.leases.heartbeat(await take(store), NO_PROGRESS, SECOND)
        await store.leases.heartbeat(lease, NO_PROGRESS, SECOND)
        events = await store.inspector.events(lease.item_id)
        assert [(event.event, event.attempt) for event in events] == [
            (Exceptional.RELEASED, 1),
            (Exceptional.STALLED, 2),
            (Exceptional.REFUSED, 1),
        ]
        assert [event.at for event in events] == [begun, clock.now, clock.now]
        assert {event.item_id for event in events} == {lease.item_id}
        assert {event.at.utcoffset() for event in events} == {timedelta(0)}

    async def test_an_ordinary_life_leaves_no_events(self, store: Store) -> None:
        lease = await started(store)
        await store.leases.heartbeat(lease, NO_PROGRESS, SECOND)
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        assert await store.inspector.events(lease.item_id) == []


class PresenceContract(Contract):
    """Who is alive, for display."""

    async def test_a_worker_is_shown_as_it_last_said(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        scope, item = uuid4(), uuid4()
        begun = clock.now
        await store.presence.appear(claimant(kinds=[ALPHA], scopes=[scope]), [])
        clock.advance(SECOND)
        await store.presence.appear(claimant(kinds=[ALPHA, BETA], scopes=[scope]), [item])
        (worker,) = await other.inspector.workers()
        assert worker.claimed_by == "one@test"
        assert (set(worker.kinds), set(worker.scopes or ()), set(worker.running)) == (
            {ALPHA, BETA},
            {scope},
            {item},
        )
        assert (worker.started_at, worker.seen_at) == (begun, clock.now)

    async def test_serving_every_scope_differs_from_serving_none(self, store: Store) -> None:
        await store.presence.appear(claimant("every@test", scopes=None), [])
        await store.presence.appear(claimant("none@test", scopes=[]), [])
        scopes = {worker.claimed_by: worker.scopes for worker in await store.inspector.workers()}
        assert scopes["every@test"] is None
        assert scopes["none@test"] is not None
        assert len(scopes["none@test"]) == 0

    async def test_workers_are_listed_newest_first(self, store: Store, clock: FixedClock) -> None:
        for name in ("first@test", "second@test", "third@test"):
            await store.presence.appear(claimant(name), [])
            clock.advance(SECOND)
        listed = [worker.claimed_by for worker in await store.inspector.workers()]
        assert listed == ["third@test", "second@test", "first@test"]

    async def test_a_worker_that_leaves_is_gone_and_others_stay(self, store: Store) -> None:
        for name in ("one@test", "two@test"):
            await store.presence.appear(claimant(name), [])
        await store.presence.disappear("one@test")
        await store.presence.disappear("never@test")
        assert [worker.claimed_by for worker in await store.inspector.workers()] == ["two@test"]

    async def test_a_worker_unseen_for_a_day_is_forgotten_when_another_appears(
        self, store: Store, clock: FixedClock
    ) -> None:
        await store.presence.appear(claimant("old@test"), [])
        clock.advance(timedelta(hours=23))
        await store.presence.appear(claimant("new@test"), [])
        month = timedelta(days=31)
        assert len(await store.inspector.workers(seen_within=month)) == 2
        clock.advance(timedelta(hours=2))
        await store.presence.appear(claimant("new@test"), [])
        known = await store.inspector.workers(seen_within=month)
        assert [worker.claimed_by for worker in known] == ["new@test"]

    async def test_only_workers_seen_lately_are_listed(self, store: Store, clock: FixedClock) -> None:
        await store.presence.appear(claimant("one@test"), [])
        clock.advance(timedelta(seconds=14))
        await store.presence.appear(claimant("two@test"), [])
        assert len(await store.inspector.workers()) == 2
        clock.advance(timedelta(seconds=1))
        assert [worker.claimed_by for worker in await store.inspector.workers()] == ["two@test"]
        assert len(await store.inspector.workers(seen_within=timedelta(seconds=16))) == 2


async def _one_of_each_status(store: Store) -> dict[UUID, str]:
    """One item of kind alpha in each status, named so, and a queued one of kind beta."""
    names = {}
    for outcome in (Succeeded(), Failed("no"), Cancelled()):
        lease = await started(store)
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        names[lease.item_id] = type(outcome).__name__.lower()
    names[(await started(store)).item_id] = "running"
    names[await put(store)] = "queued"
    names[await put(store, request(BETA))] = "beta"
    return names
