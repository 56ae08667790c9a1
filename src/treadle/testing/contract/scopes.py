"""The contract of a scope that goes: its items go with it, also from under a running worker."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from treadle.domain.outcome import Succeeded
from treadle.domain.status import Status
from treadle.errors import UnknownScope
from treadle.ports.cancel import CancelAnswer, Cancellation
from treadle.ports.lease import Finished
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
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
)


class ScopeContract(Contract):
    """The scope's row owns its items."""

    async def test_items_of_a_deleted_scope_go_and_all_others_stay(
        self, harness: StoreHarness, store: Store
    ) -> None:
        gone, kept = _scope(harness), _scope(harness)
        lease = await started(store, request(scope_id=gone))
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        await started(store, request(scope_id=gone))
        await put(store, request(scope_id=gone))
        staying = {await put(store, request(scope_id=kept)), await put(store, request())}
        harness.delete_scope(gone)
        assert {item.id for item in await store.inspector.items()} == staying

    async def test_a_deleted_scope_takes_no_more_requests(self, harness: StoreHarness, store: Store) -> None:
        scope = _scope(harness)
        harness.delete_scope(scope)
        with pytest.raises(UnknownScope):
            await store.queue.enqueue(request(scope_id=scope, key="k"))

    async def test_the_holder_of_a_deleted_item_is_fenced_off(
        self, harness: StoreHarness, store: Store
    ) -> None:
        scope = _scope(harness)
        lease = await started(store, request(scope_id=scope))
        waiting = await put(store)
        harness.delete_scope(scope)
        assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) is None
        assert await store.leases.outcome_of(lease) is None
        assert await store.leases.release(lease, NO_PROGRESS) is None
        answer = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())
        assert answer == Finished(accepted=False)
        assert (await look(store, waiting)).status is Status.QUEUED

    async def test_an_item_that_is_gone_is_unknown_to_a_cancel(
        self, harness: StoreHarness, store: Store
    ) -> None:
        scope = _scope(harness)
        item_id = await put(store, request(scope_id=scope))
        harness.delete_scope(scope)
        assert await store.cancels.cancel(item_id) == CancelAnswer(Cancellation.UNKNOWN, None)

    async def test_the_events_of_a_deleted_item_go_with_it(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = _scope(harness)
        lease = await started(store, request(scope_id=scope))
        await expire(store, clock)
        assert len(await store.inspector.events(lease.item_id)) == 1
        harness.delete_scope(scope)
        assert await store.inspector.events(lease.item_id) == []

    async def test_a_sweep_recovers_the_rest_after_a_scope_went(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = _scope(harness)
        await started(store, request(scope_id=scope, key="k"))
        lease = await started(store)
        harness.delete_scope(scope)
        clock.advance(LEASE + INSTANT)
        assert [one.item_id for one in await store.leases.recover(stall_limit=3)] == [lease.item_id]


def _scope(harness: StoreHarness) -> UUID:
    scope = uuid4()
    harness.add_scope(scope)
    return scope
