"""A scope's row goes while its items run: heartbeats of others go on, and the holder is fenced off."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.postgres.stepping import Scene, Session
from treadle.domain.item import Lease
from treadle.domain.outcome import Succeeded
from treadle.errors import StoreUnavailable
from treadle.ports.lease import Beat, Finished
from treadle.postgres import PostgresStore
from treadle.testing.contract.harness import NO_PROGRESS, claimant, put, request, started, take

LEASE = timedelta(seconds=60)


async def one_of_a_scope_and_one_beside(scene: Scene, store: PostgresStore) -> tuple[UUID, Lease, Lease]:
    scope = uuid4()
    await scene.query("insert into public.scopes (id) values (%(id)s)", id=scope)
    return scope, await started(store, request(scope_id=scope)), await started(store)


async def delete(scene: Scene, scope: UUID) -> Session:
    host = await scene.session("host", autocommit=False)
    await host.run("delete from public.scopes where id = %(id)s", id=scope)
    return host


async def test_a_heartbeat_under_an_open_delete_is_bounded_and_other_items_keep_their_beat(
    scene: Scene,
) -> None:
    store = await scene.store("store", statement_seconds=1)
    scope, doomed, beside = await one_of_a_scope_and_one_beside(scene, store)
    await delete(scene, scope)
    beat = scene.start(store.leases.heartbeat(doomed, NO_PROGRESS, LEASE))
    await scene.blocked("store", beat)
    assert await store.leases.heartbeat(beside, NO_PROGRESS, LEASE) == Beat(cancel_requested=False)
    assert not beat.done()
    with pytest.raises(StoreUnavailable, match="busy"):
        await beat


async def test_a_committed_delete_fences_the_holder_off(scene: Scene) -> None:
    store = await scene.store("store")
    scope, doomed, _ = await one_of_a_scope_and_one_beside(scene, store)
    host = await delete(scene, scope)
    beat = scene.start(store.leases.heartbeat(doomed, NO_PROGRESS, LEASE))
    await scene.blocked("store", beat)
    await host.connection.commit()
    assert await beat is None
    assert await store.leases.finish(doomed, Succeeded(), NO_PROGRESS) == Finished(accepted=False)
    assert await store.leases.release(doomed, NO_PROGRESS) is None
    assert await store.inspector.item(doomed.item_id) is None


async def test_a_delete_that_is_rolled_back_leaves_the_lease_as_it_was(scene: Scene) -> None:
    store = await scene.store("store")
    scope, doomed, _ = await one_of_a_scope_and_one_beside(scene, store)
    host = await delete(scene, scope)
    beat = scene.start(store.leases.heartbeat(doomed, NO_PROGRESS, LEASE))
    await scene.blocked("store", beat)
    await host.connection.rollback()
    assert await beat == Beat(cancel_requested=False)
    assert (await store.leases.finish(doomed, Succeeded(), NO_PROGRESS)).accepted


async def test_a_claim_passes_over_items_under_an_open_delete(scene: Scene) -> None:
    store = await scene.store("store")
    scope = uuid4()
    await scene.query("insert into public.scopes (id) values (%(id)s)", id=scope)
    await put(store, request(scope_id=scope))
    free = await put(store)
    await delete(scene, scope)
    assert (await take(store)).item_id == free
    assert await store.leases.claim(claimant()) is None


async def test_a_sweep_is_not_stopped_by_an_open_delete(scene: Scene) -> None:
    store = await scene.store("store")
    scope = uuid4()
    await scene.query("insert into public.scopes (id) values (%(id)s)", id=scope)
    gone = claimant(lease=timedelta(0))
    for key in ("doomed", None):
        await started(store, request(scope_id=scope, key=key), gone)
    free = [await started(store, request(key=key), gone) for key in ("free", None)]
    host = await delete(scene, scope)
    recovered = await store.leases.recover(stall_limit=3)
    assert {one.item_id for one in recovered} == {lease.item_id for lease in free}
    await host.connection.commit()
    assert await store.leases.recover(stall_limit=3) == []


async def test_one_tombstone_names_all_items_that_went_with_their_scope(scene: Scene) -> None:
    store = await scene.store("store")
    scope, doomed, beside = await one_of_a_scope_and_one_beside(scene, store)
    waiting = await put(store, request(scope_id=scope))
    await store.leases.release(doomed, NO_PROGRESS)
    await scene.query("delete from public.scopes where id = %(id)s", id=scope)
    (tombstone,) = await scene.query("select item_ids from treadle.tombstones")
    assert sorted(tombstone["item_ids"]) == sorted([doomed.item_id, waiting])
    assert await store.inspector.events(doomed.item_id) == []
    assert await scene.status(beside.item_id) == "running"
