"""Every time that is given to a statement matters, and is in the unit that it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.postgres.stepping import Scene
from tests.postgres.test_finish_and_claim import CLAIM, END
from treadle.domain.schedule import Due
from treadle.postgres import PostgresStore
from treadle.testing.contract.harness import NO_PROGRESS, claimant, put, request, started, take

LEASES = [timedelta(milliseconds=1500), timedelta(minutes=7)]


async def lease_of(scene: Scene, item_id: UUID) -> timedelta:
    """How long the lease was made for, by the database's own times of that statement."""
    (row,) = await scene.query(
        "select lease_until - updated_at as lease from treadle.work_items where id = %(id)s", id=item_id
    )
    lease: timedelta = row["lease"]
    return lease


def about(expected: timedelta) -> Any:
    """Two readings of the clock in one statement lie a moment apart."""
    return pytest.approx(expected, abs=timedelta(milliseconds=100))


@pytest.mark.parametrize("lease", LEASES)
async def test_a_claims_lease_is_as_long_as_asked(scene: Scene, lease: timedelta) -> None:
    store = await scene.store("store")
    await put(store)
    taken = await take(store, claimant(lease=lease))
    assert await lease_of(scene, taken.item_id) == about(lease)


@pytest.mark.parametrize("lease", LEASES)
async def test_a_far_claims_lease_is_as_long_as_asked(scene: Scene, lease: timedelta) -> None:
    store = await scene.store("store")
    item = await put(store)
    session = await scene.session("session")
    await session.product("claim_far", **{**CLAIM, "lease": lease.total_seconds(), "heads": 8})
    assert await lease_of(scene, item) == about(lease)


@pytest.mark.parametrize("lease", LEASES)
async def test_the_lease_that_comes_with_a_finish_is_as_long_as_asked(scene: Scene, lease: timedelta) -> None:
    store = await scene.store("store")
    held = await started(store)
    item = await put(store)
    session = await scene.session("session")
    values = {**CLAIM, **END, "id": held.item_id, "attempt": 1, "lease": lease.total_seconds()}
    await session.product("finish_and_claim", **values)
    assert await lease_of(scene, item) == about(lease)


@pytest.mark.parametrize("lease", LEASES)
async def test_a_heartbeat_extends_by_as_much_as_asked_counted_from_now(
    scene: Scene, lease: timedelta
) -> None:
    store = await scene.store("store")
    held = await started(store, None, claimant(lease=timedelta(hours=1)))
    await store.leases.heartbeat(held, NO_PROGRESS, lease)
    assert await lease_of(scene, held.item_id) == about(lease)


async def age(scene: Scene, column: str, by: timedelta) -> None:
    """Move a time of every item into the past."""
    assert column in {"started_at", "finished_at", "lease_until"}
    await scene.query(f"update treadle.work_items set {column} = {column} - %(by)s", by=by)


@pytest.mark.parametrize(("older_than", "released"), [(timedelta(minutes=4), 1), (timedelta(minutes=6), 0)])
async def test_strays_are_as_old_as_asked(scene: Scene, older_than: timedelta, released: int) -> None:
    store = await scene.store("store")
    await started(store)
    await age(scene, "started_at", timedelta(minutes=5))
    assert len(await store.leases.release_strays("one@test", [], older_than=older_than)) == released


async def finish_long_ago(scene: Scene, store: PostgresStore, ago: timedelta) -> None:
    lease = await started(store, request(key="k"))
    session = await scene.session("session")
    await session.product("finish", id=lease.item_id, attempt=1, claimed_by=None, **END)
    await age(scene, "finished_at", ago)


@pytest.mark.parametrize(("older_than", "purged"), [(timedelta(days=29), 1), (timedelta(days=31), 0)])
async def test_items_are_purged_when_they_are_as_old_as_asked(
    scene: Scene, older_than: timedelta, purged: int
) -> None:
    store = await scene.store("store")
    await finish_long_ago(scene, store, timedelta(days=30))
    assert await store.retention.purge(older_than=older_than, periodic_kinds=[], limit=10) == purged


@pytest.mark.parametrize(
    ("age_of_tombstone", "left"), [(timedelta(seconds=3700), 1), (timedelta(seconds=3500), 2)]
)
async def test_tombstones_stay_for_an_hour(scene: Scene, age_of_tombstone: timedelta, left: int) -> None:
    store = await scene.store("store")
    await scene.query(
        "insert into treadle.tombstones (item_ids, deleted_at)"
        " values ('{}', clock_timestamp() - %(age)s), ('{}', clock_timestamp())",
        age=age_of_tombstone,
    )
    await store.retention.purge(older_than=timedelta(days=1), periodic_kinds=[], limit=10)
    assert (await scene.query("select count(*) from treadle.tombstones"))[0]["count"] == left


@pytest.mark.parametrize(("interval", "queued"), [(timedelta(minutes=59), 1), (timedelta(minutes=61), 0)])
async def test_work_is_due_after_the_interval_that_was_given(
    scene: Scene, interval: timedelta, queued: int
) -> None:
    store = await scene.store("store")
    await finish_long_ago(scene, store, timedelta(hours=1))
    due = Due(item=request(key="k", by=None), when=interval)
    assert len(await store.schedules.schedule([due])) == queued


async def test_a_lease_expires_by_the_databases_clock(scene: Scene) -> None:
    store = await scene.store("store")
    await started(store, None, claimant(lease=timedelta(minutes=5)))
    await age(scene, "lease_until", timedelta(minutes=4))
    assert await store.leases.recover(stall_limit=3) == []
    await age(scene, "lease_until", timedelta(minutes=2))
    assert len(await store.leases.recover(stall_limit=3)) == 1


async def test_times_are_the_databases_and_not_this_machines(scene: Scene) -> None:
    store = await scene.store("store")
    (before,) = await scene.query("select clock_timestamp() as at")
    lease = await started(store)
    (after,) = await scene.query("select clock_timestamp() as at")
    item = await store.inspector.item(lease.item_id)
    assert item is not None
    for moment in (item.requested_at, item.started_at, item.updated_at):
        assert isinstance(moment, datetime)
        assert before["at"] <= moment <= after["at"]
        assert moment.tzinfo is UTC
