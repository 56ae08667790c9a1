"""Going back to the queue: no twin, open transaction or broken row stops a sweep, and no work is lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import LiteralString
from uuid import UUID

import pytest
from psycopg.errors import UniqueViolation

from tests.postgres.stepping import Scene, Session
from treadle.domain.item import Lease
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.ports.cancel import Cancellation
from treadle.postgres import PostgresStore
from treadle.testing.contract.harness import NO_PROGRESS, claimant, put, request, started, take

# The obvious sweep: one statement for all, which looks whether a twin waits.
NAIVE: LiteralString = """
update treadle.work_items item
set status = case when twin.found then 'cancelled' else 'queued' end,
    finished_at = case when twin.found then clock_timestamp() end,
    claimed_by = null, started_at = null, lease_until = null, stalls = item.stalls + 1
from treadle.work_items old, lateral (
    select exists (
        select from treadle.work_items other where other.dedup_key = old.dedup_key and other.status = 'queued'
    ) as found
) twin
where item.id = old.id and item.status = 'running' and item.lease_until < clock_timestamp()
"""


async def expired(store: PostgresStore, key: str | None, number: int = 0) -> Lease:
    """A running item whose lease ran out; a claimant with an expired lease by birth."""
    return await started(store, request(payload={"n": number}, key=key), claimant(lease=timedelta(0)))


async def hold_twin_open(scene: Scene, key: str = "k") -> Session:
    caller = await scene.session("caller", autocommit=False)
    await caller.run("insert into treadle.work_items (kind, dedup_key) values ('alpha', %(key)s)", key=key)
    return caller


async def test_the_obvious_sweep_recovers_nobody_when_two_expired_items_have_one_key(scene: Scene) -> None:
    store = await scene.store("store")
    for key in ("k", "k", None):
        await expired(store, key)
    sweep = await scene.session("sweep")
    for _ in range(2):
        with pytest.raises(UniqueViolation):
            await sweep.run(NAIVE)
    assert await scene.statuses() == ["running"] * 3
    assert len(await store.leases.recover(stall_limit=3)) == 3
    assert sorted(await scene.statuses()) == ["cancelled", "queued", "queued"]


async def test_a_twin_in_an_open_transaction_delays_its_own_key_only(scene: Scene) -> None:
    store = await scene.store("store")
    held = await expired(store, "k")
    also_held = await expired(store, "k", 1)
    free = [await expired(store, key) for key in ("other", None, "third")]
    caller = await hold_twin_open(scene)
    sweep = scene.start(store.leases.recover(stall_limit=3))
    await scene.blocked("store", sweep)
    assert {one.item_id for one in await sweep} == {lease.item_id for lease in free}
    assert [await scene.status(lease.item_id) for lease in (held, also_held)] == ["running"] * 2
    await caller.connection.commit()
    recovered = await store.leases.recover(stall_limit=3)
    assert {(one.item_id, one.status) for one in recovered} == {
        (held.item_id, Status.CANCELLED),
        (also_held.item_id, Status.CANCELLED),
    }


async def test_the_obvious_sweep_hangs_on_a_twin_in_an_open_transaction_and_then_fails(scene: Scene) -> None:
    store = await scene.store("store")
    await expired(store, "k")
    await expired(store, None)
    caller = await hold_twin_open(scene)
    sweep = await scene.session("sweep")
    sweeping = scene.start(sweep.run(NAIVE))
    await scene.blocked("sweep", sweeping)
    await caller.connection.commit()
    with pytest.raises(UniqueViolation):
        await sweeping
    assert (await scene.statuses()).count("running") == 2


async def test_a_twin_whose_caller_rolls_back_makes_no_difference(scene: Scene) -> None:
    store = await scene.store("store")
    lease = await expired(store, "k")
    caller = await hold_twin_open(scene)
    sweep = scene.start(store.leases.recover(stall_limit=3))
    await scene.blocked("store", sweep)
    await caller.connection.rollback()
    await sweep
    await store.leases.recover(stall_limit=3)
    assert await scene.status(lease.item_id) == "queued"


async def with_twin(store: PostgresStore) -> tuple[Lease, UUID]:
    lease = await started(store, request(payload={"n": 1}, key="k"), claimant(lease=timedelta(0)))
    return lease, await put(store, request(payload={"n": 2}, key="k"))


async def test_work_is_not_lost_when_the_twin_is_cancelled_while_an_item_returns(scene: Scene) -> None:
    store = await scene.store("store")
    lease, twin = await with_twin(store)
    admin = await scene.session("admin", autocommit=False)
    await admin.product("cancel", id=twin)
    sweep = scene.start(store.leases.recover(stall_limit=3))
    await scene.blocked("store", sweep)
    await admin.connection.commit()
    await sweep
    await store.leases.recover(stall_limit=3)
    assert (await scene.status(twin), await scene.status(lease.item_id)) == ("cancelled", "queued")


async def test_the_obvious_sweep_loses_the_work_when_the_twin_is_cancelled_meanwhile(scene: Scene) -> None:
    store = await scene.store("store")
    lease, twin = await with_twin(store)
    sweep = await scene.session("sweep")
    async with scene.gate("sweep", "update:new.finished_at is not null"):
        sweeping = scene.start(sweep.run(NAIVE))
        await scene.blocked("sweep", sweeping)
        assert (await store.cancels.cancel(twin)).cancellation is Cancellation.CANCELLED
    await sweeping
    assert (await scene.status(twin), await scene.status(lease.item_id)) == ("cancelled", "cancelled")


@pytest.mark.parametrize("fate", ["claimed", "cancelled", "deleted"])
async def test_a_twin_that_goes_between_the_violation_and_the_merge_leaves_the_way_back_free(
    scene: Scene, fate: str
) -> None:
    """The steps of the sweep by hand: the way back is taken, then the merge, then the way back again."""
    store = await scene.store("store")
    lease, twin = await with_twin(store)
    sweep = await scene.session("sweep")
    values = {"id": lease.item_id, "attempt": 1, "stalls": 0, "dedup_key": "k", "stall_limit": 3}
    with pytest.raises(UniqueViolation):
        await sweep.product("recover", **values)
    match fate:
        case "claimed":
            assert (await take(store)).item_id == twin
        case "cancelled":
            await store.cancels.cancel(twin)
        case _:
            await scene.query("delete from treadle.work_items where id = %(id)s", id=twin)
    merge = {**values, "expired": True, "stall": 1, "done": None, "total": None, "note": None}
    assert await sweep.product("merge_into_twin", **merge) == []
    (back,) = await sweep.product("recover", **values)
    assert (back["status"], await scene.status(lease.item_id)) == ("queued", "queued")


@pytest.mark.parametrize("ours", ["caller", "sweep"])
async def test_a_merge_skips_rows_that_somebody_holds_and_changes_nothing(scene: Scene, ours: str) -> None:
    store = await scene.store("store")
    lease, twin = await with_twin(store)
    holder = await scene.session("holder", autocommit=False)
    held = twin if ours == "caller" else lease.item_id
    await holder.run("select from treadle.work_items where id = %(id)s for no key update", id=held)
    sweep = await scene.session("sweep")
    merge = {"id": lease.item_id, "attempt": 1, "dedup_key": "k", "expired": True, "stall": 1}
    assert await sweep.product("merge_into_twin", **merge, done=None, total=None, note=None) == []
    assert (await scene.status(lease.item_id), await scene.status(twin)) == ("running", "queued")


async def test_a_caller_that_queues_a_twin_and_cancels_the_running_item_is_not_deadlocked_by_its_release(
    scene: Scene,
) -> None:
    store = await scene.store("store")
    lease = await started(store, request(payload={"n": 1}, key="k"))
    caller = await hold_twin_open(scene)
    release = scene.start(store.leases.release(lease, NO_PROGRESS))
    await scene.blocked("store", release)
    (answer,) = await caller.product("cancel", id=lease.item_id)
    await caller.connection.commit()
    assert answer["status"] == "running"
    with pytest.raises(StoreUnavailable):
        await release
    again = await store.leases.release(lease, NO_PROGRESS)
    assert again is not None
    assert again.status is Status.CANCELLED


async def test_a_late_heartbeat_saves_its_item_from_a_recovery_that_waited_for_it(scene: Scene) -> None:
    store = await scene.store("store")
    keyed = await expired(store, "k")
    unkeyed = await expired(store, None)
    beats = []
    for lease in (keyed, unkeyed):
        beat = await scene.session("beat", autocommit=False)
        values = {"id": lease.item_id, "attempt": 1, "stalls": 0, "done": None, "total": None, "note": None}
        assert await beat.product("heartbeat", **values, lease=60.0, claimed_by=None)
        beats.append(beat)
    recovery = scene.start(store.leases.recover(stall_limit=3))
    await scene.blocked("store", recovery)
    for beat in beats:
        await beat.connection.commit()
    assert await recovery == []
    assert await scene.statuses() == ["running"] * 2


async def test_a_heartbeat_that_waited_for_a_recovery_is_fenced_off(scene: Scene) -> None:
    store = await scene.store("store")
    lease = await expired(store, "k")
    sweep = await scene.session("sweep", autocommit=False)
    values = {"id": lease.item_id, "attempt": 1, "stall_limit": 3}
    assert await sweep.product("recover", **values)
    beat = scene.start(store.leases.heartbeat(lease, NO_PROGRESS, timedelta(seconds=60)))
    await scene.blocked("store", beat)
    await sweep.connection.commit()
    assert await beat is None


@pytest.mark.parametrize("key", ["broken", None])
async def test_a_row_that_a_hosts_trigger_refuses_does_not_stop_the_sweep(
    scene: Scene, key: str | None
) -> None:
    store = await scene.store("store")
    broken = await expired(store, key)
    others = [await expired(store, other) for other in ("a", None, "z", None)]
    await scene.query(
        "create function public.refuse() returns trigger language plpgsql as"
        " $$ begin raise exception 'the host says no'; end $$"
    )
    await scene.query("alter table treadle.work_items add column host_flag boolean")
    await scene.query("update treadle.work_items set host_flag = true where id = %(id)s", id=broken.item_id)
    await scene.query(
        "create trigger refuse before update on treadle.work_items for each row when (old.host_flag)"
        " execute function public.refuse()"
    )
    recovered = await store.leases.recover(stall_limit=3)
    assert {one.item_id for one in recovered} == {lease.item_id for lease in others}
    assert await scene.status(broken.item_id) == "running"
    await scene.query("drop trigger refuse on treadle.work_items")
    assert [one.item_id for one in await store.leases.recover(stall_limit=3)] == [broken.item_id]


async def test_sweeps_at_once_over_the_same_keys_settle_every_item_once(scene: Scene) -> None:
    store = await scene.store("store")
    leases = [await expired(store, f"k{number % 3}", number) for number in range(12)]
    stores = [await scene.store(f"sweep{number}") for number in range(3)]
    swept = await asyncio.gather(*(one.leases.recover(stall_limit=9) for one in stores))
    swept.append(await store.leases.recover(stall_limit=9))
    assert sorted(one.item_id for sweep in swept for one in sweep) == sorted(
        lease.item_id for lease in leases
    )
    assert sorted(await scene.statuses()) == ["cancelled"] * 9 + ["queued"] * 3
