"""The contract of claiming: order, routing, and never the same item twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

from treadle.domain.item import Claimant, Progress
from treadle.domain.status import Status
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    LEASE,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    look,
    put,
    request,
    started,
    take,
)


class ClaimingContract(Contract):
    """Which item a claimant gets, and what that makes of it."""

    async def test_nothing_to_claim_is_no_lease(self, store: Store) -> None:
        assert await store.leases.claim(claimant()) is None

    async def test_a_claim_sets_running_holder_start_and_lease(self, store: Store, clock: FixedClock) -> None:
        item_id = await put(store)
        clock.advance(SECOND)
        lease = await take(store, claimant("one@test", lease=timedelta(seconds=7)))
        item = await look(store, item_id)
        assert lease.item_id == item_id
        assert (item.status, item.attempt, item.claimed_by) == (Status.RUNNING, 1, "one@test")
        assert (item.started_at, item.updated_at) == (clock.now, clock.now)
        assert item.lease_until == clock.now + timedelta(seconds=7)

    async def test_the_oldest_request_comes_first(self, store: Store, clock: FixedClock) -> None:
        asked = []
        for _ in range(4):
            asked.append(await put(store))
            clock.advance(SECOND)
        assert [(await take(store)).item_id for _ in range(4)] == asked

    async def test_a_returned_item_keeps_its_place(self, store: Store, clock: FixedClock) -> None:
        first = await put(store)
        clock.advance(SECOND)
        second = await put(store)
        lease = await take(store)
        await store.leases.release(lease, NO_PROGRESS)
        assert [(await take(store)).item_id for _ in range(2)] == [first, second]

    async def test_a_running_item_is_not_claimed_again(self, store: Store, other: Store) -> None:
        await started(store)
        assert await other.leases.claim(claimant("two@test")) is None

    async def test_an_expired_lease_is_not_claimed_before_it_is_recovered(
        self, store: Store, clock: FixedClock
    ) -> None:
        await started(store)
        clock.advance(LEASE * 2)
        assert await store.leases.claim(claimant("two@test")) is None

    async def test_only_kinds_of_the_claimant_are_taken(self, store: Store, clock: FixedClock) -> None:
        alpha = await put(store, request(ALPHA))
        clock.advance(SECOND)
        beta = await put(store, request(BETA))
        assert (await take(store, claimant(kinds=[BETA]))).item_id == beta
        assert await store.leases.claim(claimant(kinds=[BETA])) is None
        assert (await look(store, alpha)).attempt == 0

    async def test_a_claimant_without_kinds_takes_nothing(self, store: Store) -> None:
        await put(store)
        assert await store.leases.claim(claimant(kinds=[])) is None

    async def test_items_of_own_scopes_and_unscoped_ones_are_taken_and_no_others(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        foreign, own, unscoped = await _one_of_each(harness, store, clock)
        who = claimant(scopes=[own[0]])
        assert [(await take(store, who)).item_id for _ in range(2)] == [own[1], unscoped]
        assert await store.leases.claim(who) is None
        assert (await look(store, foreign[1])).status is Status.QUEUED

    async def test_a_claimant_that_serves_no_scope_takes_unscoped_items_only(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        _, _, unscoped = await _one_of_each(harness, store, clock)
        who = claimant(scopes=[])
        assert (await take(store, who)).item_id == unscoped
        assert await store.leases.claim(who) is None

    async def test_a_claimant_that_serves_every_scope_takes_everything(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        foreign, own, unscoped = await _one_of_each(harness, store, clock)
        who = claimant(scopes=None)
        assert [(await take(store, who)).item_id for _ in range(3)] == [foreign[1], own[1], unscoped]

    async def test_an_own_item_behind_many_foreign_ones_is_found(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        own, foreign = uuid4(), uuid4()
        harness.add_scope(own)
        harness.add_scope(foreign)
        for _ in range(300):
            await put(store, request(scope_id=foreign))
        clock.advance(SECOND)
        mine = await put(store, request(scope_id=own))
        assert (await take(store, claimant(scopes=[own]))).item_id == mine

    async def test_an_unscoped_item_behind_many_of_unknown_kinds_is_found(
        self, store: Store, clock: FixedClock
    ) -> None:
        for _ in range(300):
            await put(store, request(ALPHA))
        clock.advance(SECOND)
        mine = await put(store, request(BETA))
        assert (await take(store, claimant(kinds=[BETA], scopes=[]))).item_id == mine

    async def test_an_item_asked_for_before_the_last_claimed_one_is_still_found(
        self, store: Store, clock: FixedClock
    ) -> None:
        late = await started(store)
        clock.advance(SECOND)
        await put(store)
        await take(store)
        await store.leases.release(late, NO_PROGRESS)
        assert (await take(store)).item_id == late.item_id

    async def test_concurrent_claimants_never_get_the_same_item(self, store: Store, other: Store) -> None:
        items = {await put(store) for _ in range(30)}

        async def drain(where: Store, who: Claimant) -> list[UUID]:
            taken = []
            while (lease := await where.leases.claim(who)) is not None:
                taken.append(lease.item_id)
            return taken

        taken = await asyncio.gather(
            *(drain(where, claimant(f"{number}@test")) for number, where in enumerate([store, other] * 3))
        )
        flat = [item_id for part in taken for item_id in part]
        assert len(flat) == len(items)
        assert set(flat) == items

    async def test_attempts_count_every_claim_and_never_go_back(self, store: Store) -> None:
        item_id = await put(store)
        for attempt in (1, 2, 3, 4, 5):
            lease = await take(store)
            assert (lease.item_id, lease.attempt) == (item_id, attempt)
            await store.leases.release(lease, NO_PROGRESS)
            assert (await look(store, item_id)).attempt == attempt

    async def test_a_claim_clears_the_progress_of_the_attempt_before(self, store: Store) -> None:
        lease = await started(store)
        await store.leases.release(lease, Progress(done=3, total=10, note="3 of 10"))
        await take(store)
        item = await look(store, lease.item_id)
        assert (item.progress_done, item.progress_total, item.progress_note) == (None, None, None)


async def _one_of_each(
    harness: StoreHarness, store: Store, clock: FixedClock
) -> tuple[tuple[UUID, UUID], tuple[UUID, UUID], UUID]:
    """A foreign, an own and an unscoped item, oldest first; scoped ones with their scope."""
    foreign, own = uuid4(), uuid4()
    harness.add_scope(foreign)
    harness.add_scope(own)
    first = await put(store, request(scope_id=foreign))
    clock.advance(SECOND)
    second = await put(store, request(scope_id=own))
    clock.advance(SECOND)
    return (foreign, first), (own, second), await put(store, request())
