"""Coalescing in a caller's transaction: the run that does the work sees what the caller changed."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import AsyncConnection, IsolationLevel

from tests.postgres.stepping import Scene, Session
from treadle.domain.item import NewItem, Queued
from treadle.domain.payload import Payload
from treadle.domain.registry import Registry
from treadle.domain.status import Status
from treadle.ports.cancel import Cancellation
from treadle.postgres import PostgresStore, enqueue
from treadle.testing.contract.harness import ALPHA, NO_PROGRESS, claimant, put, request, started, take


class Kind(StrEnum):
    RESIZE = "resize"


class Resize(Payload, kind=Kind.RESIZE):
    def dedup_key(self, scope_id: UUID | None) -> str:
        return "resize"


REGISTRY = Registry(Kind, payloads=[Resize])
PHOTOS: LiteralString = "create table public.photos (name text)"
KEYED = request(key="k")


async def change_and_ask(caller: Session, store: PostgresStore) -> Queued:
    """What a host does in one transaction: change its data, and ask for work that has to see it."""
    await caller.run("insert into public.photos (name) values ('new')")
    return await store.queue.enqueue(KEYED, connection=caller.connection)


async def photos(scene: Scene) -> int:
    (row,) = await scene.query("select count(*) from public.photos")
    return int(row["count"])


async def test_the_waiting_item_starts_only_when_the_callers_change_is_visible(scene: Scene) -> None:
    await scene.query(PHOTOS)
    store = await scene.store("store")
    twin = await put(store, KEYED)
    caller = await scene.session("caller", autocommit=False)
    asked = await change_and_ask(caller, store)
    assert (asked.id, asked.coalesced) == (twin, True)
    assert await store.leases.claim(claimant()) is None
    assert await photos(scene) == 0
    await caller.connection.commit()
    assert ((await take(store)).item_id, await photos(scene)) == (twin, 1)


async def test_without_the_hold_the_waiting_item_runs_before_the_change_is_visible(scene: Scene) -> None:
    await scene.query(PHOTOS)
    store = await scene.store("store")
    twin = await put(store, KEYED)
    caller = await scene.session("caller", autocommit=False)
    await caller.run("insert into public.photos (name) values ('new')")
    await caller.product("enqueue", kind=ALPHA, payload="{}", scope_id=None, dedup_key="k", requested_by=None)
    (found,) = await caller.run(
        "select id from treadle.work_items where dedup_key = 'k' and status = 'queued'"
    )
    assert (found["id"], (await take(store)).item_id, await photos(scene)) == (twin, twin, 0)
    await caller.connection.commit()


async def test_the_waiting_item_of_a_plain_caller_starts_only_when_it_has_committed(scene: Scene) -> None:
    """The same from code that is not async."""
    await scene.query(PHOTOS)
    store = await scene.store("store")
    twin = await put(store, request(Kind.RESIZE, key="resize"))
    with psycopg.connect(scene.dsn("caller")) as connection:
        connection.execute("insert into public.photos (name) values ('new')")
        asked = await asyncio.to_thread(enqueue, connection, REGISTRY, Resize())
        assert (asked.id, asked.coalesced) == (twin, True)
        who = claimant(kinds=[Kind.RESIZE])
        assert await store.leases.claim(who) is None
    assert ((await take(store, who)).item_id, await photos(scene)) == (twin, 1)


async def test_a_caller_that_rolls_back_lets_the_waiting_item_go(scene: Scene) -> None:
    await scene.query(PHOTOS)
    store = await scene.store("store")
    twin = await put(store, KEYED)
    caller = await scene.session("caller", autocommit=False)
    await change_and_ask(caller, store)
    await caller.connection.rollback()
    assert ((await take(store)).item_id, await photos(scene)) == (twin, 0)


async def test_a_new_item_of_a_caller_does_not_exist_before_its_commit_or_after_its_rollback(
    scene: Scene,
) -> None:
    store = await scene.store("store")
    for end in ("rollback", "commit"):
        caller = await scene.session("caller", autocommit=False)
        asked = await store.queue.enqueue(KEYED, connection=caller.connection)
        assert await store.leases.claim(claimant()) is None
        await (caller.connection.commit() if end == "commit" else caller.connection.rollback())
        lease = await store.leases.claim(claimant())
        assert (lease.item_id if lease else None) == (asked.id if end == "commit" else None)


@pytest.mark.parametrize("end", ["commit", "rollback"])
async def test_a_second_caller_waits_for_the_first_and_is_never_left_without_an_item(
    scene: Scene, end: str
) -> None:
    store = await scene.store("store")
    caller = await scene.session("caller", autocommit=False)
    first = await store.queue.enqueue(KEYED, connection=caller.connection)
    asking = scene.start(store.queue.enqueue(KEYED))
    await scene.blocked("store", asking)
    await (caller.connection.commit() if end == "commit" else caller.connection.rollback())
    second = await asking
    assert second.coalesced is (end == "commit")
    assert (second.id == first.id) is (end == "commit")
    assert (await take(store)).item_id == second.id


@pytest.mark.parametrize("fate", ["claimed", "cancelled"])
async def test_a_twin_that_goes_before_it_can_be_held_makes_room_for_a_new_item(
    scene: Scene, fate: str
) -> None:
    store = await scene.store("store")
    twin = await put(store, KEYED)
    other = await scene.session("other", autocommit=False)
    if fate == "claimed":
        (row,) = await other.product(
            "claim_far", claimed_by="w", kinds=[ALPHA], scopes=None, lease=60.0, heads=8
        )
        assert row["id"] == twin
    else:
        await other.product("cancel", id=twin)
    asking = scene.start(store.queue.enqueue(KEYED))
    await scene.blocked("store", asking)
    await other.connection.commit()
    asked = await asking
    assert (asked.coalesced, asked.id == twin) == (False, False)


async def test_a_held_item_can_be_cancelled_merged_into_and_asked_for_by_others(scene: Scene) -> None:
    store = await scene.store("store", statement_seconds=3)
    lease = await started(store, request(payload={"n": 1}, key="k"))
    twin = await put(store, KEYED)
    caller = await scene.session("caller", autocommit=False)
    assert (await store.queue.enqueue(KEYED, connection=caller.connection)).id == twin
    other = await scene.session("other", autocommit=False)
    assert (await store.queue.enqueue(KEYED, connection=other.connection)).id == twin
    merged = await store.leases.release(lease, NO_PROGRESS)
    assert merged is not None
    assert (merged.status, merged.superseded_by) == (Status.CANCELLED, twin)
    assert (await store.cancels.cancel(twin)).cancellation is Cancellation.CANCELLED
    await caller.connection.commit()
    await other.connection.commit()


async def test_other_work_is_claimed_past_a_held_item(scene: Scene) -> None:
    store = await scene.store("store")
    await put(store, KEYED)
    free = await put(store)
    caller = await scene.session("caller", autocommit=False)
    await store.queue.enqueue(KEYED, connection=caller.connection)
    assert (await take(store)).item_id == free


async def test_a_repeatable_read_caller_is_told_of_a_twin_that_it_cannot_see(scene: Scene) -> None:
    store = await scene.store("store")
    connection: AsyncConnection[dict[str, object]] = (
        await scene.session("caller", autocommit=False)
    ).connection
    await connection.set_isolation_level(IsolationLevel.REPEATABLE_READ)
    await connection.execute("select 1")
    await put(store, KEYED)
    with pytest.raises(psycopg.errors.SerializationFailure):
        await store.queue.enqueue(KEYED, connection=connection)


async def test_callers_at_once_that_commit_or_roll_back_end_with_one_item_of_the_key(scene: Scene) -> None:
    store = await scene.store("store")
    callers = [await scene.session(f"caller{number}", autocommit=False) for number in range(12)]
    ids: set[UUID] = set()

    async def ask(number: int, caller: Session) -> None:
        asked = await store.queue.enqueue(
            NewItem(kind=ALPHA, payload="{}", dedup_key="k"), connection=caller.connection
        )
        if number % 3:
            await caller.connection.commit()
            ids.add(asked.id)
        else:
            await caller.connection.rollback()

    await asyncio.gather(*(ask(number, caller) for number, caller in enumerate(callers)))
    rows = await scene.query("select id from treadle.work_items")
    assert [row["id"] for row in rows] == list(ids)
