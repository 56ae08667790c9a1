"""On PostgreSQL the stream skips no change, however late it is committed and wherever the line breaks."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from tests.admin.sse import View
from tests.admin.watched import following
from treadle.admin.broadcaster import Broadcaster
from treadle.domain.item import NewItem
from treadle.postgres import PostgresStore

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
INTERVAL = 0.05
WRITING_SECONDS = 4.0
"""All writers at once, or a slow one's transaction would be the newest and not overtaken."""
INSERT: LiteralString = "insert into treadle.work_items (kind) values ('alpha') returning id"
TOUCH: LiteralString = """
update treadle.work_items
set stalls = stalls + 1, updated_at = clock_timestamp(), changed_xid = pg_current_xact_id() where id = %s
"""


@pytest.fixture
async def store(dsn: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(dsn) as store:
        yield store


@pytest.fixture
async def writer(dsn: str) -> AsyncIterator[Connection]:
    """Somebody whose transactions the test begins and ends."""
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        yield connection


async def inserted(connection: Connection) -> UUID:
    row = await (await connection.execute(INSERT)).fetchone()
    assert row is not None
    return UUID(str(row[0]))


async def put(store: PostgresStore) -> UUID:
    return (await store.queue.enqueue(NewItem(kind="alpha", payload="{}"))).id


def shows(item: UUID, view: View) -> bool:
    return item in view.items


async def test_a_change_committed_after_later_ones_were_streamed_is_seen(
    store: PostgresStore, writer: Connection
) -> None:
    broadcaster = Broadcaster(store.live, interval=INTERVAL)
    cursor = await store.live.cursor()
    held = await inserted(writer)
    async with following(broadcaster, cursor) as view:
        later = await put(store)
        await view.until(lambda view: later in view.items and view.cursor != cursor)
    assert held not in view.items
    await writer.commit()
    latest = await put(store)
    async with following(broadcaster, view.cursor) as again:
        await again.until(lambda view: latest in view.items)
    assert view.items.keys() | again.items.keys() == {held, later, latest}
    assert not view.reloads
    assert not again.reloads


async def test_a_change_held_back_reaches_a_line_that_stays_open(
    store: PostgresStore, writer: Connection
) -> None:
    held = await inserted(writer)
    async with following(Broadcaster(store.live, interval=INTERVAL), await store.live.cursor()) as view:
        for _ in range(3):
            item = await put(store)
            await view.until(partial(shows, item))
        await writer.commit()
        await view.until(lambda view: held in view.items)


async def test_what_was_rolled_back_is_not_told(store: PostgresStore, writer: Connection) -> None:
    async with following(Broadcaster(store.live, interval=INTERVAL), await store.live.cursor()) as view:
        never = await inserted(writer)
        await writer.rollback()
        item = await put(store)
        await view.until(lambda view: item in view.items)
        assert never not in view.items


async def test_changes_in_savepoints_are_told(store: PostgresStore, writer: Connection) -> None:
    cursor = await store.live.cursor()
    outer = await inserted(writer)
    async with writer.transaction():
        inner = await inserted(writer)
    async with writer.transaction(force_rollback=True):
        undone = await inserted(writer)
    between = await store.live.cursor()
    await writer.commit()
    for since in (cursor, between):
        changes = await store.live.changes(since)
        assert {item.id for item in changes.changed} == {outer, inner}
        assert undone not in {item.id for item in changes.changed}


async def test_deletions_by_retention_and_by_cascade_reach_open_views(
    store: PostgresStore, writer: Connection
) -> None:
    await writer.execute("create table public.scopes (id uuid primary key)")
    await writer.execute(
        "alter table treadle.work_items add foreign key (scope_id) references public.scopes on delete cascade"
    )
    scope = UUID(int=7)
    await writer.execute("insert into public.scopes values (%s)", [scope])
    await writer.commit()
    scoped = (await store.queue.enqueue(NewItem(kind="alpha", payload="{}", scope_id=scope))).id
    old = await put(store)
    await store.cancels.cancel(old)
    async with following(Broadcaster(store.live, interval=INTERVAL), await store.live.cursor()) as view:
        await view.until(lambda view: view.cursor is not None)
        await writer.execute("delete from public.scopes")
        await writer.commit()
        await view.until(lambda view: scoped in view.gone)
        await store.retention.purge(older_than=timedelta(0), periodic_kinds=[], limit=100)
        await view.until(lambda view: old in view.gone)


async def test_a_hail_of_transactions_is_seen_whole_over_a_line_that_keeps_breaking(
    store: PostgresStore, dsn: str
) -> None:
    ids = [await put(store) for _ in range(60)]
    broadcaster = Broadcaster(store.live, interval=INTERVAL)
    view = View(await store.live.cursor())
    writers = [asyncio.create_task(_write(dsn, ids, seed)) for seed in range(6)]
    dice = random.Random(0)
    while not all(writing.done() for writing in writers):
        async with following(broadcaster, view.cursor) as line:
            await asyncio.sleep(dice.random() * 0.3)
        _take_over(view, line)
    await asyncio.gather(*writers)
    last = await put(store)
    async with following(broadcaster, view.cursor) as line:
        await line.until(lambda view: last in view.items)
    _take_over(view, line)
    assert not view.reloads
    table = {item.id: item.stalls for item in await store.inspector.items(limit=5000)}
    changed = {id_: stalls for id_, stalls in table.items() if stalls or id_ not in ids}
    assert last in changed
    assert len(changed) > 100
    assert {id_: item["stalls"] for id_, item in view.items.items()} == changed


def _take_over(view: View, line: View) -> None:
    for event in line.events:
        view.apply(event)


async def _write(dsn: str, ids: list[UUID], seed: int) -> None:
    """Transactions with savepoints; some are long, some are rolled back."""
    dice = random.Random(seed)
    clock = asyncio.get_running_loop().time
    end = clock() + WRITING_SECONDS
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        while clock() < end:
            for id_ in sorted(dice.sample(ids, dice.choice([1, 1, 5]))):
                async with connection.transaction(force_rollback=dice.random() < 0.2):
                    await connection.execute(TOUCH, [id_])
                    await connection.execute(INSERT)
                await asyncio.sleep(dice.random() * (0.2 if seed == 0 else 0.01))
            await (connection.rollback() if dice.random() < 0.1 else connection.commit())
