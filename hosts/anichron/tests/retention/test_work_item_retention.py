"""The retention of finished work items: its handler on a substituted store, and on the real one."""

import asyncio
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

import psycopg

from anichron.kinds import WorkItemRetention
from anichron.retention.handler import BATCH, RetentionSummary, WorkItemRetentionHandler
from treadle import Partial, Run
from treadle.postgres import PostgresStore

MONTH = timedelta(days=30)


class Finished:
    """So many items that finished long ago."""

    def __init__(self, old: int) -> None:
        self.old = old
        self.asked: list[tuple[timedelta, Collection[str]]] = []
        self.sticks_at: int | None = None
        self.stuck = asyncio.Event()

    async def purge(self, *, older_than: timedelta, periodic_kinds: Collection[str], limit: int) -> int:
        self.asked.append((older_than, periodic_kinds))
        if self.old == self.sticks_at:
            self.stuck.set()
            await asyncio.Event().wait()
        purged = min(limit, self.old)
        self.old -= purged
        return purged


def handler(finished: Finished) -> WorkItemRetentionHandler:
    return WorkItemRetentionHandler(finished, keep=MONTH, periodic_kinds=["crawl"])


def run() -> Run:
    return Run(UUID(int=1), 1)


async def test_old_items_go_in_batches_and_the_store_is_told_what_to_keep() -> None:
    finished, under_way = Finished(BATCH + 5), run()
    assert await handler(finished).run(WorkItemRetention(), under_way) == RetentionSummary(deleted=BATCH + 5)
    assert finished.asked[0] == (MONTH, ["crawl"])
    assert under_way.latest.done == BATCH + 5


async def test_a_second_run_converges() -> None:
    finished = Finished(5)
    await handler(finished).run(WorkItemRetention(), run())
    assert await handler(finished).run(WorkItemRetention(), run()) == RetentionSummary(deleted=0)


async def test_a_cancelled_run_hands_back_what_it_did() -> None:
    finished = Finished(2 * BATCH)
    finished.sticks_at = BATCH
    task = asyncio.create_task(handler(finished).run(WorkItemRetention(), run()))
    await finished.stuck.wait()
    task.cancel()
    assert await task == Partial(RetentionSummary(deleted=BATCH))


async def test_on_the_real_store_the_newest_of_a_periodic_kind_stays(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(
            "insert into treadle.work_items"
            " (kind, dedup_key, status, attempt, claimed_by, started_at, finished_at)"
            " select kind, key, 'succeeded', 1, 'w', clock_timestamp() - age, clock_timestamp() - age"
            " from (values ('crawl', 'crawl:1', interval '90 days'), ('crawl', 'crawl:1', interval '60 days'),"
            " ('resize', null, interval '31 days'), ('resize', null, interval '29 days')) t (kind, key, age)"
        )
        async with PostgresStore(dsn) as store:
            retention = WorkItemRetentionHandler(store.retention, keep=MONTH, periodic_kinds=["crawl"])
            assert await retention.run(WorkItemRetention(), run()) == RetentionSummary(deleted=2)
        query = "select kind, extract(day from clock_timestamp() - finished_at) from treadle.work_items order by 1"
        rows = await (await connection.execute(query)).fetchall()
    assert [(kind, int(days)) for kind, days in rows] == [("crawl", 60), ("resize", 29)]
