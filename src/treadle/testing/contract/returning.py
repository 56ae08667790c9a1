"""The contract of coming back: recovery, the stall limit, release, strays, and queued twins."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from treadle.domain.event import Exceptional
from treadle.domain.item import Lease, NewItem, Progress
from treadle.domain.outcome import Succeeded
from treadle.domain.status import Status
from treadle.ports.inspect import ItemFilter
from treadle.ports.lease import Released
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    INSTANT,
    LEASE,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    event_names,
    expire,
    look,
    only_event,
    put,
    request,
    started,
    take,
)


class RecoveryContract(Contract):
    """Leases run out by the store's clock, and what then becomes of their items."""

    async def test_a_lease_runs_out_exactly_when_its_time_is_over(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store, request(BETA), claimant(lease=timedelta(seconds=7)))
        clock.advance(timedelta(seconds=7) - INSTANT)
        assert await store.leases.recover(stall_limit=3) == []
        clock.advance(INSTANT * 2)
        assert await store.leases.recover(stall_limit=3) == [Released(lease.item_id, BETA, Status.QUEUED)]
        assert await store.leases.recover(stall_limit=3) == []

    async def test_a_recovered_item_waits_again_with_one_more_stall(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await expire(store, clock)
        item = await look(store, lease.item_id)
        assert (item.status, item.attempt, item.stalls) == (Status.QUEUED, 1, 1)
        assert (item.lease_until, item.finished_at, item.error) == (None, None, None)
        assert item.updated_at == clock.now
        event = await only_event(store, lease.item_id)
        assert (event.event, event.attempt, event.at) == (Exceptional.STALLED, 1, clock.now)
        again = await take(store)
        assert (again.item_id, again.attempt, again.stalls) == (lease.item_id, 2, 1)

    async def test_at_the_stall_limit_the_item_fails_and_says_so(
        self, store: Store, clock: FixedClock
    ) -> None:
        item_id = await put(store)
        for stalls in (1, 2):
            await take(store)
            await expire(store, clock, limit=3)
            assert (await look(store, item_id)).stalls == stalls
        await take(store)
        clock.advance(LEASE + INSTANT)
        assert await store.leases.recover(stall_limit=3) == [Released(item_id, ALPHA, Status.FAILED)]
        item = await look(store, item_id)
        assert (item.status, item.attempt, item.stalls) == (Status.FAILED, 3, 3)
        assert item.error == "stalled: its lease ran out 3 times"
        assert (item.result, item.finished_at) == (None, clock.now)
        assert await event_names(store, item_id) == [Exceptional.STALLED] * 3
        assert await store.leases.claim(claimant()) is None

    @pytest.mark.parametrize("limit", [1, 2, 5])
    async def test_the_stall_limit_is_the_callers(self, store: Store, clock: FixedClock, limit: int) -> None:
        item_id = await put(store)
        for _ in range(limit):
            assert (await look(store, item_id)).status is Status.QUEUED
            await take(store)
            await expire(store, clock, limit=limit)
        item = await look(store, item_id)
        assert (item.status, item.stalls) == (Status.FAILED, limit)

    async def test_a_sweep_recovers_every_expired_item_and_no_other(
        self, store: Store, clock: FixedClock
    ) -> None:
        short = [await started(store, request(key=f"k{n}" if n % 2 else None)) for n in range(7)]
        long = await started(store, None, claimant(lease=LEASE * 2))
        clock.advance(LEASE + INSTANT)
        recovered = await store.leases.recover(stall_limit=3)
        assert {returned.item_id for returned in recovered} == {lease.item_id for lease in short}
        assert {returned.status for returned in recovered} == {Status.QUEUED}
        assert (await look(store, long.item_id)).status is Status.RUNNING

    async def test_recoveries_at_the_same_time_count_one_stall(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        leases = [await started(store, request(key=key)) for key in ("a", "b", None, None)]
        clock.advance(LEASE + INSTANT)
        swept = await asyncio.gather(
            *(who.leases.recover(stall_limit=3) for who in (store, other, store, other))
        )
        assert sorted(one.item_id for sweep in swept for one in sweep) == sorted(
            one.item_id for one in leases
        )
        assert {(await look(store, lease.item_id)).stalls for lease in leases} == {1}

    async def test_a_pending_cancel_ends_an_expired_item(self, store: Store, clock: FixedClock) -> None:
        for key in ("k", None):
            lease = await started(store, request(key=key))
            await store.cancels.cancel(lease.item_id)
            clock.advance(LEASE + INSTANT)
            assert await store.leases.recover(stall_limit=3) == [
                Released(lease.item_id, ALPHA, Status.CANCELLED)
            ]
            item = await look(store, lease.item_id)
            assert (item.status, item.finished_at, item.error) == (Status.CANCELLED, clock.now, None)
            assert await store.leases.claim(claimant()) is None

    async def test_a_pending_cancel_wins_over_the_stall_limit(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        await store.cancels.cancel(lease.item_id)
        await expire(store, clock, limit=1)
        assert (await look(store, lease.item_id)).status is Status.CANCELLED


class ReleaseContract(Contract):
    """A hand-back is no stall."""

    async def test_a_released_item_waits_again_and_its_stalls_are_unchanged(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store, request(BETA))
        await expire(store, clock)
        second = await take(store)
        clock.advance(SECOND)
        assert await store.leases.release(second, NO_PROGRESS) == Released(lease.item_id, BETA, Status.QUEUED)
        item = await look(store, lease.item_id)
        assert (item.status, item.attempt, item.stalls, item.lease_until) == (Status.QUEUED, 2, 1, None)
        assert item.updated_at == clock.now
        event = (await store.inspector.events(lease.item_id))[-1]
        assert (event.event, event.attempt, event.at) == (Exceptional.RELEASED, 2, clock.now)

    async def test_any_number_of_releases_never_fails_an_item(self, store: Store) -> None:
        item_id = await put(store)
        for _ in range(5):
            released = await store.leases.release(await take(store), NO_PROGRESS)
            assert released == Released(item_id, ALPHA, Status.QUEUED)
        assert (await look(store, item_id)).stalls == 0

    async def test_a_release_keeps_the_progress_that_it_does_not_give(self, store: Store) -> None:
        lease = await started(store)
        await store.leases.heartbeat(lease, Progress(done=1, total=9, note="one"), LEASE)
        await store.leases.release(lease, Progress(done=2))
        item = await look(store, lease.item_id)
        assert (item.progress_done, item.progress_total, item.progress_note) == (2, 9, "one")

    async def test_a_release_counts_once(self, store: Store) -> None:
        lease = await started(store)
        assert await store.leases.release(lease, NO_PROGRESS) is not None
        assert await store.leases.release(lease, NO_PROGRESS) is None

    async def test_a_pending_cancel_ends_a_released_item(self, store: Store, clock: FixedClock) -> None:
        for key in ("k", None):
            lease = await started(store, request(key=key))
            await store.cancels.cancel(lease.item_id)
            released = await store.leases.release(lease, Progress(done=2, note="two"))
            assert released == Released(lease.item_id, ALPHA, Status.CANCELLED)
            item = await look(store, lease.item_id)
            assert (item.status, item.finished_at, item.stalls) == (Status.CANCELLED, clock.now, 0)
            assert (item.progress_done, item.progress_note, item.result) == (2, "two", None)

    async def test_strays_are_what_the_worker_was_given_and_does_not_hold(
        self, store: Store, clock: FixedClock
    ) -> None:
        held = await started(store)
        stray = await started(store, request(BETA))
        keyed = await started(store, request(key="k"))
        foreign = await started(store, None, claimant("two@test"))
        clock.advance(SECOND)
        released = await store.leases.release_strays("one@test", [held.item_id], older_than=timedelta(0))
        assert sorted(released, key=lambda one: one.kind + str(one.item_id)) == [
            Released(keyed.item_id, ALPHA, Status.QUEUED),
            Released(stray.item_id, BETA, Status.QUEUED),
        ]
        assert (await look(store, stray.item_id)).stalls == 0
        for other in (held, foreign):
            assert (await look(store, other.item_id)).status is Status.RUNNING
        assert await event_names(store, stray.item_id) == [Exceptional.RELEASED]

    async def test_a_claim_younger_than_asked_is_no_stray_yet(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        clock.advance(timedelta(seconds=5) - INSTANT)
        assert await store.leases.release_strays("one@test", [], older_than=timedelta(seconds=5)) == []
        clock.advance(INSTANT * 2)
        released = await store.leases.release_strays("one@test", [], older_than=timedelta(seconds=5))
        assert released == [Released(lease.item_id, ALPHA, Status.QUEUED)]

    async def test_a_strays_age_counts_from_its_claim_not_from_its_last_heartbeat(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        clock.advance(timedelta(seconds=6))
        await store.leases.heartbeat(lease, NO_PROGRESS, LEASE)
        released = await store.leases.release_strays("one@test", [], older_than=timedelta(seconds=5))
        assert [one.item_id for one in released] == [lease.item_id]

    async def test_a_stray_with_a_pending_cancel_ends_cancelled(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await store.cancels.cancel(lease.item_id)
        clock.advance(SECOND)
        released = await store.leases.release_strays("one@test", [], older_than=timedelta(0))
        assert released == [Released(lease.item_id, ALPHA, Status.CANCELLED)]


class TwinContract(Contract):
    """An item on its way back to the queue may meet a queued one with its dedup key."""

    async def test_an_expired_item_is_superseded_by_its_queued_twin(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease, twin = await _with_twin(store)
        clock.advance(LEASE + INSTANT)
        assert await store.leases.recover(stall_limit=3) == [
            Released(lease.item_id, ALPHA, Status.CANCELLED, twin)
        ]
        item = await look(store, lease.item_id)
        assert (item.status, item.superseded_by, item.finished_at) == (Status.CANCELLED, twin, clock.now)
        assert (item.error, item.result, item.partial) == (None, None, False)
        assert set(await event_names(store, lease.item_id)) == {Exceptional.STALLED, Exceptional.SUPERSEDED}
        assert ((await look(store, twin)).status, (await look(store, twin)).stalls) == (Status.QUEUED, 1)
        assert (await take(store)).item_id == twin

    async def test_a_released_item_is_superseded_by_its_queued_twin(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease, twin = await _with_twin(store)
        await store.leases.heartbeat(lease, Progress(done=1, total=9, note="one"), LEASE)
        released = await store.leases.release(lease, Progress(done=2))
        assert released == Released(lease.item_id, ALPHA, Status.CANCELLED, twin)
        item = await look(store, lease.item_id)
        assert (item.superseded_by, item.finished_at) == (twin, clock.now)
        assert (item.progress_done, item.progress_total, item.progress_note) == (2, 9, "one")
        assert set(await event_names(store, lease.item_id)) == {Exceptional.RELEASED, Exceptional.SUPERSEDED}
        assert (await look(store, twin)).stalls == 0

    async def test_a_stray_is_superseded_by_its_queued_twin(self, store: Store, clock: FixedClock) -> None:
        lease, twin = await _with_twin(store)
        clock.advance(SECOND)
        released = await store.leases.release_strays("one@test", [], older_than=timedelta(0))
        assert released == [Released(lease.item_id, ALPHA, Status.CANCELLED, twin)]

    async def test_the_twin_takes_over_the_greater_count_of_stalls(
        self, store: Store, clock: FixedClock
    ) -> None:
        item_id = await put(store, request(key="k"))
        for _ in range(2):
            await take(store)
            await expire(store, clock, limit=9)
        holder = await take(store)
        twin = await put(store, request(payload={"n": 2}, key="k"))
        await store.leases.release(holder, NO_PROGRESS)
        assert (await look(store, item_id)).superseded_by == twin
        assert (await look(store, twin)).stalls == 2

    async def test_a_twin_with_more_stalls_of_its_own_keeps_them(
        self, store: Store, clock: FixedClock
    ) -> None:
        await put(store, request(key="k"))
        for _ in range(2):
            await take(store)
            await expire(store, clock, limit=9)
        older = await take(store)
        newer = await started(store, request(payload={"n": 2}, key="k"), claimant(lease=LEASE * 9))
        assert (await store.leases.release(older, NO_PROGRESS)) is not None
        assert (await look(store, older.item_id)).status is Status.QUEUED
        assert await store.leases.release(newer, NO_PROGRESS) == Released(
            newer.item_id, ALPHA, Status.CANCELLED, older.item_id
        )
        assert (await look(store, older.item_id)).stalls == 2

    async def test_a_poison_item_cannot_dodge_the_limit_by_being_asked_for_again(
        self, store: Store, clock: FixedClock
    ) -> None:
        await put(store, request(payload={"n": 0}, key="k"))
        for number in (1, 2):
            await take(store)
            await put(store, request(payload={"n": number}, key="k"))
            await expire(store, clock, limit=3)
        await take(store)
        await expire(store, clock, limit=3)
        assert await store.leases.claim(claimant()) is None
        (failed,) = await store.inspector.items(ItemFilter(statuses=[Status.FAILED]))
        assert failed.stalls == 3

    async def test_the_stall_limit_fails_an_item_even_when_a_twin_waits(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease, twin = await _with_twin(store)
        await expire(store, clock, limit=1)
        item = await look(store, lease.item_id)
        assert (item.status, item.superseded_by) == (Status.FAILED, None)
        assert (await look(store, twin)).status is Status.QUEUED

    async def test_a_pending_cancel_wins_over_the_twin(self, store: Store, clock: FixedClock) -> None:
        lease, twin = await _with_twin(store)
        await store.cancels.cancel(lease.item_id)
        clock.advance(LEASE + INSTANT)
        assert await store.leases.recover(stall_limit=3) == [Released(lease.item_id, ALPHA, Status.CANCELLED)]
        assert (await look(store, twin)).stalls == 0

    async def test_two_expired_items_of_one_key_become_one_queued_item(
        self, store: Store, clock: FixedClock
    ) -> None:
        first = await started(store, request(key="k"))
        second = await started(store, request(payload={"n": 2}, key="k"))
        clock.advance(LEASE + INSTANT)
        recovered = await store.leases.recover(stall_limit=3)
        assert {one.item_id for one in recovered} == {first.item_id, second.item_id}
        assert sorted(one.status for one in recovered) == [Status.CANCELLED, Status.QUEUED]
        (queued,) = (one.item_id for one in recovered if one.status is Status.QUEUED)
        (merged,) = (one for one in recovered if one.status is Status.CANCELLED)
        assert merged.superseded_by == queued
        assert (await look(store, queued)).stalls == 1

    async def test_no_twin_and_no_dead_row_stops_the_rest_of_a_sweep(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        asked: list[NewItem] = []
        for number in range(3):
            asked += [request(key=f"a{number}"), request(), request(scope_id=scope, key=f"s{number}")]
        leases = [await started(store, item) for item in asked]
        for number in range(3):
            await put(store, request(payload={"again": number}, key=f"a{number}"))
        clock.advance(LEASE + INSTANT)
        recovered = await store.leases.recover(stall_limit=3)
        assert {one.item_id for one in recovered} == {lease.item_id for lease in leases}
        assert sorted(one.status for one in recovered) == [Status.CANCELLED] * 3 + [Status.QUEUED] * 6
        counts = await store.inspector.counts()
        assert counts.get(Status.RUNNING, 0) == 0

    async def test_a_running_twin_does_not_hinder_a_return(self, store: Store) -> None:
        first = await started(store, request(key="k"))
        second = await started(store, request(payload={"n": 2}, key="k"))
        assert await store.leases.release(first, NO_PROGRESS) == Released(first.item_id, ALPHA, Status.QUEUED)
        assert (await store.leases.finish(second, Succeeded(), NO_PROGRESS)).accepted


async def _with_twin(store: Store) -> tuple[Lease, UUID]:
    """A running item, and a queued one of the same key."""
    lease = await started(store, request(payload={"n": 1}, key="k"))
    return lease, await put(store, request(payload={"n": 2}, key="k"))
