"""A cursor outlives no crash and no failover: it is told to reload rather than to miss what is new."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest

from tests.admin.standby import REPLICATION, standby_of
from tests.admin.test_commit_order import INTERVAL, inserted, put, shows
from tests.admin.watched import following
from treadle.admin.broadcaster import Broadcaster
from treadle.embedded import EmbeddedPostgres
from treadle.ports.inspect import ItemFilter
from treadle.ports.live import Lost
from treadle.postgres import PostgresStore
from treadle.postgres.migrate import migrate


@contextmanager
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="treadle-test-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def primary() -> Iterator[EmbeddedPostgres]:
    with place() as folder, EmbeddedPostgres(folder, fsync=False, settings=REPLICATION) as server:
        migrate(server.dsn)
        yield server


@pytest.fixture
def standby(primary: EmbeddedPostgres) -> Iterator[EmbeddedPostgres]:
    with place() as folder, standby_of(primary, folder) as server:
        yield server


async def scalar(dsn: str, query: LiteralString, *values: object) -> Any:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        row = await (await connection.execute(query, values or None)).fetchone()
        assert row is not None
        return row[0]


async def caught_up(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    reached = await scalar(primary.dsn, "select pg_current_wal_lsn()::text")
    async with asyncio.timeout(20):
        query: LiteralString = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
        while not await scalar(standby.dsn, query, reached):  # noqa: ASYNC110 - another process gets there
            await asyncio.sleep(0.02)


async def listed(store: PostgresStore) -> set[UUID]:
    return {item.id for item in (await store.inspector.page(ItemFilter(), limit=200)).items}


@pytest.mark.process
async def test_after_a_crash_of_the_server_the_view_reloads_and_misses_nothing(
    primary: EmbeddedPostgres,
) -> None:
    async with PostgresStore(primary.dsn, statement_seconds=2) as store:
        broadcaster = Broadcaster(store.live, interval=INTERVAL)
        cursor = await store.live.cursor()
        async with following(broadcaster, cursor) as view, following(broadcaster) as gone_early:
            first = await put(store)
            await view.until(lambda view: first in view.items)
            async with await psycopg.AsyncConnection.connect(primary.dsn, autocommit=True) as burner:
                # Numbers that are given out and lost: after the crash they are given out again.
                await burner.execute(
                    "do $$ begin for n in 1..300 loop perform pg_current_xact_id(); rollback; end loop; end $$"
                )
            last = await put(store)
            await view.until(lambda view: last in view.items)
            old = gone_early.cursor
            await asyncio.to_thread(primary.restart, "immediate")
            after = await put(store)
            await view.until(lambda view: "epoch" in view.reloads)
            shown = await listed(store)
            assert after in shown
            fresh = await put(store)
            await view.until(lambda view: fresh in view.items)
        assert (await store.live.changes(old)).lost is Lost.EPOCH
        async with following(broadcaster, cursor) as late:
            await late.until(lambda view: view.reloads == ["epoch"])


@pytest.mark.process
async def test_an_orderly_restart_needs_no_reload(primary: EmbeddedPostgres) -> None:
    async with PostgresStore(primary.dsn, statement_seconds=2) as store:
        async with following(Broadcaster(store.live, interval=INTERVAL), await store.live.cursor()) as view:
            await view.until(lambda view: view.cursor is not None)
            await asyncio.to_thread(primary.restart, "fast")
            item = await put(store)
            await view.until(lambda view: item in view.items)
        assert not view.reloads


@pytest.mark.process
async def test_a_transaction_prepared_before_and_committed_after_is_seen(primary: EmbeddedPostgres) -> None:
    async with (
        PostgresStore(primary.dsn) as store,
        await psycopg.AsyncConnection.connect(primary.dsn) as connection,
    ):
        xid = connection.xid(1, "treadle", "test")
        await connection.tpc_begin(xid)
        prepared = await inserted(connection)
        await connection.tpc_prepare()
        broadcaster = Broadcaster(store.live, interval=INTERVAL)
        async with following(broadcaster, await store.live.cursor()) as view:
            other = await put(store)
            await view.until(lambda view: other in view.items)
        await connection.tpc_commit()
        async with following(broadcaster, view.cursor) as again:
            await again.until(lambda view: prepared in view.items)


@pytest.mark.process
async def test_a_standby_tells_what_was_going_on_when_its_cursor_was_given(
    primary: EmbeddedPostgres, standby: EmbeddedPostgres
) -> None:
    async with (
        PostgresStore(primary.dsn) as writing,
        PostgresStore(standby.dsn) as reading,
        await psycopg.AsyncConnection.connect(primary.dsn) as connection,
    ):
        held = await inserted(connection)
        other = await put(writing)
        await caught_up(primary, standby)
        async with following(
            Broadcaster(reading.live, interval=INTERVAL), await reading.live.cursor()
        ) as view:
            another = await put(writing)
            await view.until(lambda view: another in view.items)
            assert held not in view.items
            # While the transaction is open a standby reads the same again at every look, and does not tell it.
            for _ in range(4):
                quiet = await put(writing)
                await view.until(partial(shows, quiet))
            told = [event.data["id"] for event in view.events if event.name == "item"]
            assert told.count(str(another)) <= 2
            await connection.commit()
            await view.until(lambda view: held in view.items)
        assert other in await listed(reading)


@pytest.mark.process
async def test_after_a_failover_the_view_reloads_and_misses_nothing(
    primary: EmbeddedPostgres, standby: EmbeddedPostgres
) -> None:
    async with PostgresStore(primary.dsn) as store:
        async with following(Broadcaster(store.live, interval=INTERVAL), await store.live.cursor()) as view:
            item = await put(store)
            await view.until(lambda view: item in view.items)
        await caught_up(primary, standby)
    async with PostgresStore(standby.dsn) as reading:
        on_standby = await reading.live.cursor()
    await asyncio.to_thread(primary.stop, "immediate")
    assert await scalar(standby.dsn, "select pg_promote()")
    async with PostgresStore(standby.dsn) as promoted:
        new = await put(promoted)
        assert (await promoted.live.changes(on_standby)).lost is Lost.EPOCH
        async with following(Broadcaster(promoted.live, interval=INTERVAL), view.cursor) as again:
            await again.until(lambda view: view.reloads == ["epoch"])
            assert await listed(promoted) == {item, new}
            fresh = await put(promoted)
            await again.until(lambda view: fresh in view.items)
