"""The contract of upkeep: periodic work that is due, and retention."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from treadle.domain.item import NewItem
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import Status
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    INSTANT,
    LEASE,
    NO_PROGRESS,
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

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
OUTCOMES: tuple[Outcome, ...] = (Succeeded(), Failed("no"), Cancelled())


class SchedulingContract(Contract):
    """Due-ness comes from the table and the store's clock, and is exact."""

    async def test_work_that_never_ran_is_due_at_once(self, store: Store, clock: FixedClock) -> None:
        (item_id,) = await store.schedules.schedule([due("k", payload={"n": 1})])
        item = await look(store, item_id)
        assert (item.status, item.kind, item.requested_by) == (Status.QUEUED, ALPHA, None)
        assert item.requested_at == clock.now
        lease = await take(store)
        assert (lease.item_id, lease.dedup_key, json.loads(lease.payload)) == (item_id, "k", {"n": 1})

    async def test_nothing_due_is_nothing_queued(self, store: Store) -> None:
        assert await store.schedules.schedule([]) == []

    async def test_work_that_waits_or_runs_is_not_due_however_long(
        self, store: Store, clock: FixedClock
    ) -> None:
        await store.schedules.schedule([due("k")])
        clock.advance(DAY)
        assert await store.schedules.schedule([due("k")]) == []
        lease = await take(store)
        clock.advance(DAY)
        assert await store.schedules.schedule([due("k")]) == []
        await store.leases.release(lease, NO_PROGRESS)
        assert await store.schedules.schedule([due("k")]) == []

    async def test_a_request_by_hand_counts_as_waiting(self, store: Store) -> None:
        await put(store, request(payload={"by": "hand"}, key="k"))
        assert await store.schedules.schedule([due("k")]) == []

    @pytest.mark.parametrize("outcome", OUTCOMES)
    async def test_the_interval_counts_from_the_last_finish_however_it_ended(
        self, store: Store, clock: FixedClock, outcome: Outcome
    ) -> None:
        await store.schedules.schedule([due("k", HOUR)])
        lease = await take(store, claimant(lease=DAY))
        clock.advance(HOUR * 2)
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        assert await store.schedules.schedule([due("k", HOUR)]) == []
        clock.advance(HOUR - INSTANT)
        assert await store.schedules.schedule([due("k", HOUR)]) == []
        clock.advance(INSTANT)
        assert len(await store.schedules.schedule([due("k", HOUR)])) == 1

    async def test_a_cancel_while_queued_and_a_stalled_failure_wait_their_interval_too(
        self, store: Store, clock: FixedClock
    ) -> None:
        (cancelled,) = await store.schedules.schedule([due("cancelled", HOUR)])
        await store.cancels.cancel(cancelled)
        await store.schedules.schedule([due("stalled", HOUR)])
        await take(store)
        await expire(store, clock, limit=1)
        both = [due("cancelled", HOUR), due("stalled", HOUR)]
        assert await store.schedules.schedule(both) == []
        clock.advance(HOUR)
        assert len(await store.schedules.schedule(both)) == 2

    async def test_the_newest_finish_of_many_counts(self, store: Store, clock: FixedClock) -> None:
        for _ in range(3):
            await finished(store, request(key="k"))
            clock.advance(HOUR)
        assert await store.schedules.schedule([due("k", HOUR + INSTANT)]) == []
        assert len(await store.schedules.schedule([due("k", HOUR)])) == 1

    async def test_overdue_work_is_queued_once_however_many_intervals_were_missed(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request(key="k"))
        clock.advance(HOUR * 100)
        assert len(await store.schedules.schedule([due("k", HOUR)])) == 1
        assert await store.schedules.schedule([due("k", HOUR)]) == []

    async def test_each_work_has_its_own_interval_and_key(self, store: Store, clock: FixedClock) -> None:
        for key in ("short", "long"):
            await finished(store, request(key=key))
        clock.advance(HOUR)
        (item_id,) = await store.schedules.schedule([due("long", HOUR * 2), due("short", HOUR)])
        assert (await take(store)).dedup_key == "short"
        assert (await look(store, item_id)).status is Status.RUNNING

    async def test_the_same_work_twice_in_one_call_is_queued_once(self, store: Store) -> None:
        assert len(await store.schedules.schedule([due("k"), due("k")])) == 1

    async def test_schedulers_at_the_same_time_make_one_item_of_each(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        dues = [due(f"k{number}", HOUR) for number in range(10)]
        for _ in range(3):
            found = await asyncio.gather(*(one.schedules.schedule(dues) for one in [store, other] * 4))
            assert sum(map(len, found)) == len(dues)
            while (lease := await store.leases.claim(claimant())) is not None:
                await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
            clock.advance(HOUR)

    async def test_finishes_from_a_time_when_the_clock_was_wrong_block_nothing(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request(key="k"))
        right = clock.now
        clock.now = right + DAY * 3650
        for _ in range(3):
            await _run_due(store)
            clock.advance(HOUR)
        clock.now = right + HOUR - INSTANT
        assert await store.schedules.schedule([due("k", HOUR)]) == []
        clock.now = right + HOUR
        for _ in range(3):  # time and again, and each time once
            await _run_due(store)
            assert await store.schedules.schedule([due("k", HOUR)]) == []
            clock.advance(HOUR)

    async def test_a_first_finish_at_a_time_when_the_clock_was_wrong_blocks_nothing(
        self, store: Store, clock: FixedClock
    ) -> None:
        right = clock.now
        clock.now = right + DAY * 3650
        await _run_due(store)
        clock.now = right
        for _ in range(3):
            await _run_due(store)
            clock.advance(HOUR)

    async def test_a_clock_that_went_back_during_a_run_delays_the_next_and_no_more(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request(key="k"))
        clock.advance(HOUR)
        (again,) = await store.schedules.schedule([due("k", HOUR)])
        lease = await take(store, claimant(lease=DAY))
        assert lease.item_id == again
        clock.now -= HOUR * 2  # to before the finish that it follows
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        assert await store.schedules.schedule([due("k", HOUR)]) == []
        clock.advance(HOUR * 2)
        for _ in range(3):
            await _run_due(store)
            clock.advance(HOUR)

    async def test_a_scope_that_is_gone_is_passed_over_and_the_rest_is_queued(
        self, harness: StoreHarness, store: Store
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        gone = due("gone", scope_id=uuid4())
        queued = await store.schedules.schedule([due("a"), gone, due("z", scope_id=scope)])
        assert len(queued) == 2
        assert {(await take(store)).dedup_key for _ in queued} == {"a", "z"}


async def _run_due(store: Store) -> None:
    """Queue what is due each hour, which it must be, and run it."""
    queued = await store.schedules.schedule([due("k", HOUR)])
    lease = await take(store)
    assert [lease.item_id] == queued
    await store.leases.finish(lease, Succeeded(), NO_PROGRESS)


class RetentionContract(Contract):
    """Purging takes what is old, and never what due-ness needs."""

    @pytest.mark.parametrize("outcome", OUTCOMES)
    async def test_items_go_once_they_have_been_finished_for_longer_than_asked(
        self, store: Store, clock: FixedClock, outcome: Outcome
    ) -> None:
        item_id = await finished(store, request(), outcome)
        clock.advance(DAY - INSTANT)
        assert await purge(store, older_than=DAY) == 0
        clock.advance(INSTANT * 2)
        assert await purge(store, older_than=DAY) == 1
        assert await store.inspector.item(item_id) is None

    async def test_queued_cancelled_stalled_and_superseded_items_go_as_well(
        self, store: Store, clock: FixedClock
    ) -> None:
        await store.cancels.cancel(await put(store))
        await started(store)
        await expire(store, clock, limit=1)
        returning = await started(store, request(key="k"))
        await put(store, request(payload={"twin": 1}, key="k"))
        await store.leases.release(returning, NO_PROGRESS)
        await store.leases.finish(await take(store), Succeeded(), NO_PROGRESS)
        clock.advance(DAY * 2)
        assert await purge(store, older_than=DAY) == 4
        assert await store.inspector.items() == []

    async def test_what_waits_or_runs_stays_however_old(self, store: Store, clock: FixedClock) -> None:
        running = (await started(store)).item_id
        waiting = await put(store)
        clock.advance(DAY * 365)
        assert await purge(store, older_than=DAY) == 0
        assert {item.id for item in await store.inspector.items()} == {running, waiting}

    async def test_of_old_and_young_items_a_purge_takes_the_old_ones(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request())
        clock.advance(HOUR)
        young = await finished(store, request())
        clock.advance(DAY)
        assert await purge(store, older_than=DAY) == 1
        assert [item.id for item in await store.inspector.items()] == [young]

    async def test_a_purge_takes_at_most_its_limit(self, store: Store, clock: FixedClock) -> None:
        for _ in range(5):
            await finished(store, request())
        clock.advance(DAY * 2)
        assert [await purge(store, older_than=DAY, limit=2) for _ in range(4)] == [2, 2, 1, 0]

    async def test_the_newest_finished_item_of_a_periodic_key_stays(
        self, store: Store, clock: FixedClock
    ) -> None:
        ids: dict[str, list[UUID]] = {"a": [], "b": []}
        for _ in range(3):
            for key, made in ids.items():
                made.append(await finished(store, request(key=key)))
            clock.advance(HOUR)
        clock.advance(DAY * 30)
        assert await purge(store, older_than=DAY, periodic=[ALPHA]) == 4
        assert {item.id for item in await store.inspector.items()} == {ids["a"][-1], ids["b"][-1]}
        assert await purge(store, older_than=DAY, periodic=[ALPHA]) == 0

    async def test_of_items_finished_at_the_same_time_one_stays(
        self, store: Store, clock: FixedClock
    ) -> None:
        for _ in range(4):
            await finished(store, request(key="k"))
        clock.advance(DAY * 2)
        assert await purge(store, older_than=DAY, periodic=[ALPHA]) == 3

    async def test_a_schedule_longer_than_the_retention_is_not_due_early(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request(key="k"))
        clock.advance(DAY * 40)
        await purge(store, older_than=DAY * 30, periodic=[ALPHA])
        assert await store.schedules.schedule([due("k", DAY * 90)]) == []

    async def test_a_finish_that_a_wrong_clock_wrote_does_not_release_the_newest_before_it(
        self, store: Store, clock: FixedClock
    ) -> None:
        kept = await finished(store, request(key="k"))
        right = clock.now
        clock.now = right + DAY * 3650
        await finished(store, request(key="k"))
        clock.now = right + DAY * 2
        assert await purge(store, older_than=DAY, periodic=[ALPHA]) == 0
        assert (await look(store, kept)).status is Status.SUCCEEDED
        assert await store.schedules.schedule([due("k", DAY * 3)]) == []

    async def test_a_newer_item_that_has_not_finished_does_not_release_the_newest_finished_one(
        self, store: Store, clock: FixedClock
    ) -> None:
        old = await finished(store, request(key="k"))
        clock.advance(DAY * 2)
        await put(store, request(key="k"))
        assert await purge(store, older_than=DAY, periodic=[ALPHA]) == 0
        assert (await look(store, old)).status is Status.SUCCEEDED

    async def test_an_old_newest_stays_for_its_key_only_for_periodic_kinds(
        self, store: Store, clock: FixedClock
    ) -> None:
        await finished(store, request(ALPHA, key="a"))
        beta = await finished(store, request(BETA, key="b"))
        await finished(store, request(BETA))
        clock.advance(DAY * 2)
        assert await purge(store, older_than=DAY, periodic=[BETA]) == 2
        assert [item.id for item in await store.inspector.items()] == [beta]

    async def test_the_events_of_a_purged_item_go_with_it(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        await expire(store, clock, limit=1)
        clock.advance(DAY * 2)
        await purge(store, older_than=DAY)
        assert await store.inspector.events(lease.item_id) == []


def due(
    key: str,
    interval: timedelta = HOUR,
    *,
    payload: dict[str, int] | None = None,
    scope_id: UUID | None = None,
) -> Due:
    return Due(item=request(payload=dict(payload or {}), key=key, scope_id=scope_id, by=None), when=interval)


async def finished(store: Store, item: NewItem, outcome: Outcome | None = None) -> UUID:
    """An item that was asked for, carried out and ended, all now."""
    lease = await started(store, item, claimant(lease=LEASE))
    assert (await store.leases.finish(lease, outcome or Succeeded(), NO_PROGRESS)).accepted
    return lease.item_id


async def purge(
    store: Store, *, older_than: timedelta, periodic: list[str] | None = None, limit: int = 100
) -> int:
    return await store.retention.purge(older_than=older_than, periodic_kinds=periodic or [], limit=limit)
