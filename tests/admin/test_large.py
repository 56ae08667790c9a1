"""With more items than one may look at or count, lists go on without a gap and counts are estimates."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import LiteralString
from uuid import UUID

import psycopg
import pytest

from treadle.domain.status import Status
from treadle.ports.inspect import Count, ItemFilter, Position
from treadle.ports.live import Lost
from treadle.postgres import PostgresStore, inspector, live

SUCCEEDED: LiteralString = """
insert into treadle.work_items (kind, status, attempt, claimed_by, started_at, finished_at)
select 'alpha', 'succeeded', 1, 'w', clock_timestamp(), clock_timestamp() from generate_series(1, %s)
"""
QUEUED: LiteralString = "insert into treadle.work_items (kind) select 'alpha' from generate_series(1, %s)"
FAILED: LiteralString = """
insert into treadle.work_items (kind, status, attempt, claimed_by, started_at, finished_at, error)
select 'alpha', 'failed', 1, 'w', clock_timestamp(), clock_timestamp(), 'no' from generate_series(1, %s)
"""


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(dsn) as store:
        yield store


@pytest.mark.parametrize("statuses", [[], [Status.QUEUED], [Status.FAILED], [Status.QUEUED, Status.FAILED]])
async def test_a_search_that_stops_early_says_where_and_goes_on_without_a_gap(
    store: PostgresStore, dsn: str, monkeypatch: pytest.MonkeyPatch, statuses: list[Status]
) -> None:
    monkeypatch.setattr(inspector, "WALK", 10)
    with psycopg.connect(dsn, autocommit=True) as database:
        for statement in (QUEUED, FAILED, SUCCEEDED):
            database.execute(statement, [35])
        rare = {
            row[0]: row[1]
            for row in database.execute(
                "update treadle.work_items set kind = 'rare' where id in ("
                "select id from (select id, row_number() over (order by id) as n from treadle.work_items) numbered"
                " where n % 17 = 3) returning id, status"
            )
        }
    wanted = {id_ for id_, status in rare.items() if not statuses or status in statuses}
    found: list[UUID] = []
    below: Position | None = None
    for _ in range(30):
        page = await store.inspector.page(ItemFilter(statuses=statuses, kinds=["rare"]), below=below, limit=3)
        found += [item.id for item in page.items]
        if page.next is None:
            break
        assert (page.searched_to is None) == (len(page.items) == 3)
        if page.searched_to is not None:
            assert page.searched_to == page.next.requested_at
        below = page.next
    else:
        pytest.fail("the list has no end")
    assert wanted
    assert sorted(found) == sorted(wanted)


async def test_large_counts_are_estimates_and_small_ones_beside_them_exact(
    store: PostgresStore, dsn: str
) -> None:
    with psycopg.connect(dsn, autocommit=True) as database:
        database.execute(SUCCEEDED, [30_000])
        database.execute(QUEUED, [12_000])
        database.execute(FAILED, [7])
        database.execute("analyze treadle.work_items")
    counts = (await store.inspector.tally()).counts
    assert counts[Status.FAILED] == Count(7, exact=True)
    assert counts[Status.RUNNING] == counts[Status.CANCELLED] == Count(0, exact=True)
    assert not counts[Status.QUEUED].exact
    assert 10_800 <= counts[Status.QUEUED].count <= 13_200
    assert not counts[Status.SUCCEEDED].exact
    assert 27_000 <= counts[Status.SUCCEEDED].count <= 33_000


async def test_a_table_without_statistics_is_estimated_as_well(store: PostgresStore, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as database:
        database.execute("alter table treadle.work_items set (autovacuum_enabled = off)")
        database.execute(SUCCEEDED, [15_000])
    succeeded = (await store.inspector.tally()).counts[Status.SUCCEEDED]
    assert not succeeded.exact
    assert succeeded.count > 1_000


async def test_more_changes_than_are_worth_telling_are_lost(
    store: PostgresStore, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "ITEMS", 50)
    cursor = await store.live.cursor()
    with psycopg.connect(dsn, autocommit=True) as database:
        database.execute(QUEUED, [50])
        assert len((await store.live.changes(cursor)).changed) == 50
        database.execute(QUEUED, [1])
        assert (await store.live.changes(cursor)).lost is Lost.MANY
        cursor = await store.live.cursor()
        database.execute("delete from treadle.work_items")
        assert (await store.live.changes(cursor)).lost is Lost.MANY


async def test_results_too_heavy_to_tell_are_lost_and_not_read(
    store: PostgresStore, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "RESULT_BYTES", 1_000)
    with psycopg.connect(dsn, autocommit=True) as database:
        cursor = await store.live.cursor()
        database.execute(SUCCEEDED, [1])
        database.execute(
            "update treadle.work_items set changed_xid = pg_current_xact_id(), result = to_jsonb(array("
            "select gen_random_uuid() from generate_series(1, 1000)))"
        )
        assert (await store.live.changes(cursor)).lost is Lost.MANY


async def test_a_cursor_older_than_deletions_are_known_is_lost(store: PostgresStore) -> None:
    cursor = live.Cursor.read(await store.live.cursor())
    assert cursor is not None
    young = cursor._replace(at=cursor.at - live.KEPT * 0.99)
    old = cursor._replace(at=cursor.at - live.KEPT * 1.01)
    assert (await store.live.changes(str(young))).lost is None
    assert (await store.live.changes(str(old))).lost is Lost.OLD
