"""By the clock, each slot has one item, whatever happens between a scheduler's look and its insert."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final, LiteralString

import pytest

from tests.postgres.stepping import Scene, Session
from treadle.domain.item import NewItem
from treadle.domain.outcome import Succeeded
from treadle.domain.schedule import Due
from treadle.task_scheduler import CronExpression
from treadle.testing.contract.harness import ALPHA, NO_PROGRESS, claimant, put, request, take

YEARLY: Final = CronExpression("@yearly")
SLOT: Final = datetime(datetime.now(UTC).year, 1, 1, tzinfo=UTC)
LONG_AGO: LiteralString = "insert into treadle.cron_keys (dedup_key, first_seen) values ('k', '2000-01-01')"
# A row that is only locked shows it, too.
VERSIONS: LiteralString = """
select ctid::text, xmin::text, xmax::text from treadle.work_items
union all
select ctid::text, xmin::text, xmax::text from treadle.cron_keys
"""


def due(key: str = "k", payload: str = "{}") -> Due:
    """Work of the first of January: overdue, once the key is known for long, and not again for a long time."""
    return Due(item=NewItem(kind=ALPHA, payload=payload, dedup_key=key), when=YEARLY)


async def look(session: Session, payload: str = "{}") -> bool:
    """Whether the statements of a scheduler's look at the key write anything."""
    await session.product("moment")
    await session.product(
        "schedule_slots", kinds=[ALPHA], payloads=[payload], scope_ids=[None], dedup_keys=["k"], slots=[SLOT]
    )
    (row,) = await session.run("select pg_current_xact_id_if_assigned() is not null as written")
    await session.connection.commit()
    return bool(row["written"])


async def bring(scene: Scene, upto: str) -> None:
    """A first scheduler queues the slot's item, which then comes as far as *upto*."""
    first = await scene.store("first")
    assert len(await first.schedules.schedule([due()])) == 1
    if upto in {"running", "finished"}:
        lease = await take(first)
        if upto == "finished":
            await first.leases.finish(lease, Succeeded(), NO_PROGRESS)


async def race(scene: Scene, upto: str) -> int:
    """How many items there are after a second scheduler has looked before the first one queued, and inserts late."""
    await scene.query(LONG_AGO)
    late = await scene.store("late")
    async with scene.gate("late", "insert:true"):
        second = scene.start(late.schedules.schedule([due()]))
        await scene.blocked("late", second)
        await bring(scene, upto)
    await second
    return len(await scene.statuses())


@pytest.mark.parametrize("upto", ["queued", "running", "finished"])
async def test_a_scheduler_that_inserts_late_adds_nothing_however_far_the_slots_item_is(
    scene: Scene, upto: str
) -> None:
    assert await race(scene, upto) == 1


@pytest.mark.parametrize("upto", ["running", "finished"])
async def test_without_its_index_a_slot_would_get_a_second_item_under_the_same_steps(
    scene: Scene, upto: str
) -> None:
    await scene.query("drop index treadle.work_items_cron")
    assert await race(scene, upto) == 2


async def test_sixteen_schedulers_queue_each_slot_once(scene: Scene) -> None:
    keys = [f"key{number}" for number in range(10)]
    await scene.query(
        "insert into treadle.cron_keys (dedup_key, first_seen) select unnest(%(keys)s::text[]), '2000-01-01'",
        keys=keys,
    )
    stores = [await scene.store(f"scheduler{number}") for number in range(16)]
    answers = await asyncio.gather(
        *(
            store.schedules.schedule([due(key) for key in (keys if number % 2 else reversed(keys))])
            for number, store in enumerate(stores)
        )
    )
    assert sum(map(len, answers)) == len(keys)
    rows = await scene.query("select dedup_key, slot from treadle.work_items order by dedup_key")
    assert [(row["dedup_key"], row["slot"]) for row in rows] == [(key, SLOT) for key in sorted(keys)]


async def test_keys_that_many_see_for_the_first_time_are_noted_once(scene: Scene) -> None:
    stores = [await scene.store(f"scheduler{number}") for number in range(4)]
    dues = [due(f"key{number}") for number in range(10)]
    assert sum(map(len, await asyncio.gather(*(store.schedules.schedule(dues) for store in stores)))) == 0
    (row,) = await scene.query("select count(*) from treadle.cron_keys where first_seen <= clock_timestamp()")
    assert row["count"] == len(dues)


async def test_a_look_that_finds_nothing_due_writes_nothing(scene: Scene) -> None:
    session = await scene.session("session", autocommit=False)
    store = await scene.store("store")
    assert await look(session), "a key that is new has to be noted, or this test sees nothing"
    assert not await look(session)
    await scene.query("update treadle.cron_keys set first_seen = '2000-01-01'")
    by_hand = await put(store, request(payload={"n": 1}, key="k"))
    assert not await look(session), "another request waits, and the slot with it"
    assert await look(session, '{"n": 1}'), "a twin takes the slot over"
    assert not await look(session, '{"n": 1}')
    lease = await take(store)
    assert (lease.item_id, lease.slot) == (by_hand, SLOT)
    assert not await look(session)
    await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
    before = await scene.query(VERSIONS)
    for _ in range(3):
        assert await store.schedules.schedule([due()]) == []
    assert await scene.query(VERSIONS) == before


async def test_a_look_does_not_wait_for_a_claim_of_the_twin(scene: Scene) -> None:
    await scene.query(LONG_AGO)
    store = await scene.store("store")
    await put(store, request(key="k"))
    claiming = await scene.session("claiming", autocommit=False)
    await claiming.run("select from treadle.work_items where dedup_key = 'k' for update")
    scheduler = await scene.session("scheduler", autocommit=False)
    await scheduler.run("set local lock_timeout = '1ms'")
    assert not await look(scheduler)
    await claiming.connection.rollback()
    assert await look(scheduler)
    assert (await take(store)).slot == SLOT


async def test_a_claim_passes_an_item_by_while_it_takes_a_slot_over(scene: Scene) -> None:
    await scene.query(LONG_AGO)
    store = await scene.store("store")
    by_hand = await put(store, request(key="k"))
    scheduler = await scene.store("scheduler")
    async with scene.gate("scheduler", "update:true"):
        taking_over = scene.start(scheduler.schedules.schedule([due()]))
        await scene.blocked("scheduler", taking_over)
        assert await store.leases.claim(claimant()) is None
    assert await taking_over == []
    lease = await take(store)
    assert (lease.item_id, lease.slot) == (by_hand, SLOT)


async def test_an_emptied_table_makes_the_newest_slot_due_once_and_forgotten_keys_none(scene: Scene) -> None:
    await scene.query(LONG_AGO)
    store = await scene.store("store")
    await bring(scene, "finished")
    await scene.query("truncate treadle.work_items")
    await bring(scene, "finished")
    assert await store.schedules.schedule([due()]) == []
    await scene.query("truncate treadle.work_items, treadle.cron_keys")
    for _ in range(2):
        assert await store.schedules.schedule([due()]) == []
