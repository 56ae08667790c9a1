"""The claim's lower bound is a hint: late commits and returned items below it are found."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from uuid import UUID

import pytest

from tests.postgres.stepping import Scene
from treadle.domain.item import Lease, Queued
from treadle.domain.outcome import Succeeded
from treadle.postgres import PostgresStore, bound
from treadle.testing.contract.harness import NO_PROGRESS, claimant, put, request, take


async def next_item(store: PostgresStore, lease: Lease) -> Lease:
    """What a busy worker does all the time."""
    finished = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())
    assert finished.accepted
    assert finished.next is not None
    return finished.next


async def late_commit(scene: Scene, store: PostgresStore) -> tuple[Lease, Queued]:
    """An item asked for first and committed after the claim has gone past it: what was claimed, and the item."""
    caller = await scene.session("caller", autocommit=False)
    late = await store.queue.enqueue(request(), connection=caller.connection)
    for _ in range(3):
        await put(store)
    lease = await take(store)
    await caller.connection.commit()
    lease = await next_item(store, lease)
    return lease, late


async def test_a_busy_worker_takes_a_late_commit_as_soon_as_the_bounds_time_is_over(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", math.inf)
    store = await scene.store("store")
    lease, late = await late_commit(scene, store)
    assert lease.item_id != late.id
    monkeypatch.setattr(bound, "SECONDS", 0)
    assert (await next_item(store, lease)).item_id == late.id


async def test_a_bound_without_a_time_would_take_a_late_commit_last(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", math.inf)
    store = await scene.store("store")
    lease, late = await late_commit(scene, store)
    lease = await next_item(store, lease)
    assert lease.item_id != late.id
    assert (await next_item(store, lease)).item_id == late.id


async def test_a_claim_that_finds_nothing_above_the_bound_looks_below_it_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", math.inf)
    store = await scene.store("store")
    asked = [await put(store) for _ in range(2)]
    first, second = await take(store), await take(store)
    await store.leases.release(first, NO_PROGRESS)
    assert (await next_item(store, second)).item_id == first.item_id
    assert {first.item_id, second.item_id} == set(asked)


async def test_items_of_one_instant_are_all_claimed_above_a_bound_among_them(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bound, "SECONDS", math.inf)
    await scene.query(
        "insert into treadle.work_items (kind, requested_at) select 'alpha', '2026-01-01' from generate_series(1, 300)"
    )
    store = await scene.store("store")
    lease = await take(store)
    seen = {lease.item_id}
    for _ in range(299):
        lease = await next_item(store, lease)
        seen.add(lease.item_id)
    assert len(seen) == 300


def test_a_bound_that_is_raised_again_and_again_still_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claim raises it; its time counts from when it was first set."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    now = [0.0]
    monkeypatch.setattr(bound, "time", FakeTime(now))
    hint = bound.Bound()
    for now[0] in (0.0, 0.2, 0.4):
        hint.raise_to(moment, UUID(int=5))
        assert hint.lower() == {"after_at": moment, "after_id": UUID(int=5)}
    now[0] = 0.6
    assert hint.lower() == {"after_at": "-infinity", "after_id": UUID(int=0)}


class FakeTime:
    def __init__(self, now: list[float]) -> None:
        self._now = now

    def monotonic(self) -> float:
        return self._now[0]
