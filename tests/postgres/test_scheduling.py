"""Scheduling is exact: two schedulers that see the same work due make one item, whatever happens in between."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import LiteralString
from uuid import UUID, uuid4

import pytest
from psycopg.errors import UniqueViolation

from tests.postgres.stepping import Scene
from treadle.domain.item import NewItem
from treadle.domain.outcome import Succeeded
from treadle.domain.schedule import Due
from treadle.testing.contract.harness import ALPHA, NO_PROGRESS, claimant, take

HOUR = timedelta(hours=1)

# The obvious statement. The partial unique index alone takes care of two that are queued.
NAIVE: LiteralString = """
insert into treadle.work_items (kind, dedup_key)
select 'alpha', 'k'
where not exists (select from treadle.work_items where dedup_key = 'k' and status in ('queued', 'running'))
  and not exists (
      select from treadle.work_items where dedup_key = 'k' and finished_at > clock_timestamp() - interval '1 hour'
  )
on conflict do nothing
"""
ALSO_RUNNING: LiteralString = """
create unique index also_running on treadle.work_items (dedup_key) where status in ('queued', 'running')
"""


def due(key: str = "k", *, scope_id: UUID | None = None, interval: timedelta = HOUR) -> Due:
    return Due(item=NewItem(kind=ALPHA, payload="{}", scope_id=scope_id, dedup_key=key), when=interval)


async def bring(scene: Scene, upto: str) -> None:
    """A first scheduler queues the item, which then comes as far as *upto*."""
    first = await scene.store("first")
    assert len(await first.schedules.schedule([due()])) == 1
    if upto in {"running", "finished"}:
        lease = await take(first)
        if upto == "finished":
            await first.leases.finish(lease, Succeeded(), NO_PROGRESS)


@pytest.mark.parametrize("upto", ["queued", "running", "finished"])
async def test_a_scheduler_that_inserts_late_adds_nothing_however_far_the_first_ones_item_is(
    scene: Scene, upto: str
) -> None:
    late = await scene.store("late")
    async with scene.gate("late", "insert:true"):
        second = scene.start(late.schedules.schedule([due()]))
        await scene.blocked("late", second)
        await bring(scene, upto)
    assert await second == []
    assert len(await scene.statuses()) == 1


@pytest.mark.parametrize(
    ("upto", "index", "items"),
    [
        ("queued", "", 1),
        ("running", "", 2),
        ("finished", "", 2),
        ("running", ALSO_RUNNING, 1),
        ("finished", ALSO_RUNNING, 2),
    ],
)
async def test_the_obvious_statement_adds_a_second_item_under_the_same_steps(
    scene: Scene, upto: str, index: LiteralString, items: int
) -> None:
    if index:
        await scene.query(index)
    late = await scene.session("late")
    async with scene.gate("late", "insert:true"):
        second = scene.start(late.run(NAIVE))
        await scene.blocked("late", second)
        await bring(scene, upto)
    await second
    assert len(await scene.statuses()) == items


async def test_a_second_item_follows_only_after_the_interval(scene: Scene) -> None:
    store = await scene.store("store")
    await bring(scene, "finished")
    assert await store.schedules.schedule([due()]) == []
    assert len(await store.schedules.schedule([due(interval=timedelta(microseconds=1))])) == 1


async def test_a_key_in_a_callers_open_transaction_is_passed_over_and_the_others_are_queued(
    scene: Scene,
) -> None:
    caller = await scene.session("caller", autocommit=False)
    await caller.run("insert into treadle.work_items (kind, dedup_key) values ('alpha', 'held')")
    store = await scene.store("store")
    scheduling = scene.start(store.schedules.schedule([due("held"), due("a"), due("z")]))
    await scene.blocked("store", scheduling)
    assert len(await scheduling) == 2
    await caller.connection.commit()
    assert await store.schedules.schedule([due("held"), due("a"), due("z")]) == []
    assert await scene.statuses() == ["queued"] * 3


async def test_a_key_whose_caller_rolled_back_is_due_again(scene: Scene) -> None:
    caller = await scene.session("caller", autocommit=False)
    await caller.run("insert into treadle.work_items (kind, dedup_key) values ('alpha', 'k')")
    scheduler = await scene.session("scheduler")
    scheduling = scene.start(scheduler.product("schedule", **due_values(["k"])))
    await scene.blocked("scheduler", scheduling)
    await caller.connection.rollback()
    assert len(await scheduling) == 1


async def test_a_scope_deleted_while_it_is_scheduled_stops_no_other(scene: Scene) -> None:
    gone, stays = uuid4(), uuid4()
    for scope in (gone, stays):
        await scene.query("insert into public.scopes (id) values (%(id)s)", id=scope)
    host = await scene.session("host", autocommit=False)
    await host.run("delete from public.scopes where id = %(id)s", id=gone)
    scheduler = await scene.store("scheduler")
    dues = [due("crawl:gone", scope_id=gone), due("crawl:stays", scope_id=stays)]
    scheduling = scene.start(scheduler.schedules.schedule(dues))
    await scene.blocked("scheduler", scheduling)
    await host.connection.commit()
    (queued,) = await scheduling
    (item,) = await scheduler.inspector.items()
    assert (item.id, item.scope_id) == (queued, stays)


async def test_two_schedulers_with_their_keys_in_opposite_order_wait_for_each_other_one_way_only(
    scene: Scene,
) -> None:
    """Both insert in the order of the keys, so the second holds nothing that the first still needs."""
    one = await scene.session("one", autocommit=False)
    await one.run("insert into treadle.work_items (kind, dedup_key) values ('alpha', 'a')")
    other = await scene.session("other")
    scheduling = scene.start(other.product("schedule", **due_values(["b", "a"])))
    await scene.blocked("other", scheduling)
    await one.run("set local lock_timeout = '1ms'")
    await one.run("insert into treadle.work_items (kind, dedup_key) values ('alpha', 'b')")
    await one.connection.commit()
    assert await scheduling == []


async def test_eight_schedulers_of_an_overdue_database_queue_each_key_once(scene: Scene) -> None:
    keys = [f"key{number}" for number in range(25)]
    stores = [await scene.store(f"scheduler{number}") for number in range(8)]
    answers = await asyncio.gather(
        *(
            store.schedules.schedule([due(key) for key in (keys if number % 2 else reversed(keys))])
            for number, store in enumerate(stores)
        )
    )
    assert sum(map(len, answers)) == len(keys)
    rows = await scene.query("select dedup_key from treadle.work_items order by dedup_key")
    assert [row["dedup_key"] for row in rows] == sorted(keys)


async def test_one_slot_can_never_hold_two_items(scene: Scene) -> None:
    await bring(scene, "finished")
    with pytest.raises(UniqueViolation, match="work_items_slot"):
        await scene.query(
            "insert into treadle.work_items (kind, dedup_key, follows)"
            " select kind, dedup_key, follows from treadle.work_items"
        )


async def test_retention_with_no_age_at_all_makes_nothing_due_again(scene: Scene) -> None:
    store = await scene.store("store")
    await bring(scene, "finished")
    purged = await store.retention.purge(older_than=timedelta(0), periodic_kinds=[ALPHA], limit=100)
    assert (purged, await store.schedules.schedule([due()])) == (0, [])


async def test_a_claim_of_a_manual_request_within_the_schedulers_statement_may_leave_a_second_one_queued(
    scene: Scene,
) -> None:
    """The documented remainder: one run too many at most, never one too few."""
    late = await scene.store("late")
    worker = await scene.store("worker")
    async with scene.gate("late", "insert:true"):
        scheduling = scene.start(late.schedules.schedule([due()]))
        await scene.blocked("late", scheduling)
        await worker.queue.enqueue(NewItem(kind=ALPHA, payload="{}", dedup_key="k"))
        await take(worker, claimant())
    await scheduling
    assert await scene.statuses() in (["running"], ["running", "queued"], ["queued", "running"])


def due_values(keys: list[str]) -> dict[str, object]:
    """The parameters of schedule.sql for unscoped items of *keys*."""
    many = len(keys)
    return {
        "kinds": [ALPHA] * many,
        "payloads": ["{}"] * many,
        "scope_ids": [None] * many,
        "dedup_keys": keys,
        "intervals": [HOUR.total_seconds()] * many,
    }
