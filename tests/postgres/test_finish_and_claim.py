"""Finish and claim in one statement: the claim depends on the finish, and neither waits holding the other's row."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from tests.postgres.stepping import Rows, Scene, Session
from treadle.domain.item import Lease
from treadle.domain.outcome import Succeeded
from treadle.domain.status import Status
from treadle.postgres import PostgresStore
from treadle.postgres.leases import HEADS
from treadle.testing.contract.harness import ALPHA, BETA, NO_PROGRESS, claimant, put, request, started, take

# The obvious statement: finish in a CTE that nothing refers to, and claim beside it.
NAIVE: LiteralString = """
with done as (
    update treadle.work_items
    set status = 'succeeded', finished_at = clock_timestamp(), lease_until = null
    where id = %(id)s and attempt = %(attempt)s and status = 'running'
    returning id
)
update treadle.work_items
set status = 'running', attempt = attempt + 1, claimed_by = 'w', started_at = clock_timestamp(),
    lease_until = clock_timestamp() + interval '1 minute'
where id = (
    select id from treadle.work_items where status = 'queued'
    order by requested_at, id limit 1 for update skip locked
)
returning id
"""
FROM_THE_HEAD = {"after_at": "-infinity", "after_id": UUID(int=0), "window": 256}
CLAIM = {"claimed_by": "one@test", "kinds": [ALPHA, BETA], "scopes": None, "lease": 60.0, **FROM_THE_HEAD}
END = {
    "status": "succeeded",
    "done": None,
    "total": None,
    "note": None,
    "result": None,
    "error": None,
    "stalls": 0,
}


async def finish_and_claim(session: Session, lease: Lease, *, attempt: int = 1, **other: object) -> Rows:
    values = {**CLAIM, **END, "id": lease.item_id, "attempt": attempt, **other}
    return await session.product("finish_and_claim", **values)


async def one_running(store: PostgresStore, waiting: int) -> tuple[Lease, list[UUID]]:
    lease = await started(store)
    return lease, [await put(store) for _ in range(waiting)]


async def in_order(scene: Scene, ids: list[UUID]) -> list[UUID]:
    """*ids* as a claim would take them: requests of one test may carry equal times."""
    rows = await scene.query(
        "select id from treadle.work_items where id = any(%(ids)s) order by requested_at, id", ids=ids
    )
    return [row["id"] for row in rows]


async def test_a_refused_finish_claims_nothing_where_the_obvious_statement_claims(scene: Scene) -> None:
    store = await scene.store("store")
    lease, (waiting,) = await one_running(store, 1)
    worker = await scene.session("worker")
    (answer,) = await finish_and_claim(worker, lease, attempt=9)
    assert (answer["accepted"], answer["id"], await scene.status(waiting)) == (False, None, "queued")
    (claimed,) = await worker.run(NAIVE, id=lease.item_id, attempt=9)
    assert claimed["id"] == waiting


async def test_an_accepted_finish_is_told_even_when_nothing_waits(scene: Scene) -> None:
    store = await scene.store("store")
    lease, _ = await one_running(store, 0)
    worker = await scene.session("worker")
    (answer,) = await finish_and_claim(worker, lease)
    assert (answer["accepted"], answer["id"], answer["seen"]) == (True, None, 0)


@pytest.mark.parametrize("fate", ["stalled", "claimed", "cancelled", "deleted"])
async def test_the_next_item_is_right_although_the_head_changed_after_the_snapshot(
    scene: Scene, fate: str
) -> None:
    store = await scene.store("store")
    lease, waiting = await one_running(store, 2)
    head, second = await in_order(scene, waiting)
    worker = await scene.session("worker")
    async with scene.gate("worker", "update:new.status = 'succeeded'"):
        finish = scene.start(finish_and_claim(worker, lease))
        await scene.blocked("worker", finish)
        match fate:
            case "stalled":
                await scene.query("update treadle.work_items set stalls = 1 where id = %(id)s", id=head)
            case "claimed":
                assert (await take(store, claimant("two@test"))).item_id == head
            case "cancelled":
                await store.cancels.cancel(head)
            case _:
                await scene.query("delete from treadle.work_items where id = %(id)s", id=head)
    (answer,) = await finish
    assert answer["accepted"]
    assert (answer["id"], answer["stalls"]) == ((head, 1) if fate == "stalled" else (second, 0))


async def test_a_finish_that_waits_holds_no_other_item_meanwhile(scene: Scene) -> None:
    store = await scene.store("store")
    lease, waiting = await one_running(store, 2)
    head, second = await in_order(scene, waiting)
    admin = await scene.session("admin", autocommit=False)
    await admin.product("cancel", id=lease.item_id)
    worker = await scene.session("worker")
    finish = scene.start(finish_and_claim(worker, lease))
    await scene.blocked("worker", finish)
    assert (await take(store, claimant("two@test"))).item_id == head
    # The admin goes on to the item that the finish would claim: no deadlock.
    (cancelled,) = await admin.product("cancel", id=second)
    await admin.connection.commit()
    (answer,) = await finish
    assert (cancelled["status"], answer["accepted"], answer["id"]) == ("cancelled", True, None)


async def test_the_obvious_statement_holds_the_next_item_while_its_finish_waits_and_deadlocks(
    scene: Scene,
) -> None:
    store = await scene.store("store")
    lease, waiting = await one_running(store, 2)
    head, second = await in_order(scene, waiting)
    admin = await scene.session("admin", autocommit=False)
    await admin.product("cancel", id=lease.item_id)
    worker = await scene.session("worker")
    finish = scene.start(worker.run(NAIVE, id=lease.item_id, attempt=1))
    await scene.blocked("worker", finish)
    assert (await take(store, claimant("two@test"))).item_id == second
    cancel = scene.start(admin.product("cancel", id=head))
    answers = await asyncio.gather(finish, cancel, return_exceptions=True)
    assert [type(answer) for answer in answers].count(psycopg.errors.DeadlockDetected) == 1


async def test_a_value_that_cannot_be_stored_undoes_the_claim_too(scene: Scene) -> None:
    store = await scene.store("store")
    lease, (waiting,) = await one_running(store, 1)
    worker = await scene.session("worker")
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        await finish_and_claim(worker, lease, result='{"a": "\\u0000"}')
    assert (await scene.status(lease.item_id), await scene.status(waiting)) == ("running", "queued")


async def test_after_a_lost_reply_the_item_is_read_back_and_what_came_with_it_is_released(
    scene: Scene,
) -> None:
    store = await scene.store("store")
    lease, (waiting,) = await one_running(store, 1)
    lost = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())
    assert lost.next is not None
    again = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())
    assert (again.accepted, again.next) == (False, None)
    assert await store.leases.outcome_of(lease) is Status.SUCCEEDED
    assert await store.inspector.events(lease.item_id) == []
    (released,) = await store.leases.release_strays("one@test", [], older_than=timedelta(0))
    assert (released.item_id, released.status) == (waiting, Status.QUEUED)


async def test_a_heartbeat_that_waited_for_its_own_finish_leaves_no_refusal_behind(scene: Scene) -> None:
    store = await scene.store("store")
    lease, _ = await one_running(store, 0)
    worker = await scene.session("worker", autocommit=False)
    await finish_and_claim(worker, lease)
    beat = scene.start(store.leases.heartbeat(lease, NO_PROGRESS, timedelta(seconds=60)))
    await scene.blocked("store", beat)
    await worker.connection.commit()
    assert await beat is None
    assert await store.inspector.events(lease.item_id) == []


async def crowd(scene: Scene, count: int, *, kind: str = ALPHA, scope: UUID | None = None) -> None:
    """*count* items at the head of the queue that the claimant of the test may not have."""
    await scene.query(
        "insert into treadle.work_items (kind, scope_id, requested_at)"
        " select %(kind)s, %(scope)s, '2000-01-01' from generate_series(1, %(count)s)",
        kind=kind,
        scope=scope,
        count=count,
    )


async def add_scope(scene: Scene) -> UUID:
    scope = uuid4()
    await scene.query("insert into public.scopes (id) values (%(id)s)", id=scope)
    return scope


async def test_a_finish_behind_a_long_foreign_head_claims_the_next_own_item(scene: Scene) -> None:
    store = await scene.store("store")
    foreign, own = await add_scope(scene), await add_scope(scene)
    who = claimant(scopes=[own])
    lease = await started(store, request(scope_id=own), who)
    await crowd(scene, 600, scope=foreign)
    mine = await put(store, request(scope_id=own))
    finished = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, who)
    assert finished.next is not None
    assert (finished.accepted, finished.next.item_id) == (True, mine)


async def test_behind_a_foreign_head_the_oldest_of_all_own_scopes_and_the_unscoped_comes_first(
    scene: Scene,
) -> None:
    store = await scene.store("store")
    scopes = [await add_scope(scene) for _ in range(3)]
    await crowd(scene, 300, scope=await add_scope(scene))
    asked = [
        await put(store, request(scope_id=scope, payload={"n": number}))
        for number in range(4)
        for scope in (*scopes, None)
    ]
    who = claimant(scopes=scopes)
    taken = [(await take(store, who)).item_id for _ in asked]
    assert taken == await in_order(scene, asked)
    assert await store.leases.claim(who) is None


async def test_a_claimant_of_no_scope_finds_unscoped_work_behind_others(scene: Scene) -> None:
    store = await scene.store("store")
    await crowd(scene, 300, scope=await add_scope(scene))
    mine = await put(store)
    assert (await take(store, claimant(scopes=[]))).item_id == mine


async def test_a_claimant_of_every_scope_finds_its_kind_behind_a_head_of_unknown_kinds(scene: Scene) -> None:
    store = await scene.store("store")
    scope = await add_scope(scene)
    await crowd(scene, 300, kind="of a newer version", scope=scope)
    mine = [await put(store, request(BETA, scope_id=scope)), await put(store, request(BETA))]
    taken = [(await take(store, claimant(kinds=[BETA]))).item_id for _ in range(2)]
    assert sorted(taken) == sorted(mine)


async def test_claimants_at_once_behind_a_foreign_head_share_the_items_and_miss_none(scene: Scene) -> None:
    store = await scene.store("store")
    own = await add_scope(scene)
    await crowd(scene, 300, scope=await add_scope(scene))
    mine = [await put(store, request(scope_id=own)) for _ in range(12)]
    # More than claim_far looks at in its first try, each in a transaction that is still open.
    holders = [await scene.session(f"holder{number}", autocommit=False) for number in range(HEADS + 1)]
    for holder in holders:
        (row,) = await holder.product("claim_far", **{**CLAIM, "scopes": [own], "heads": 16})
        mine.remove(row["id"])
    assert (await take(store, claimant(scopes=[own]))).item_id in mine
