"""The store on servers that restart, hang, vanish or are set up in odd ways."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, timedelta
from pathlib import Path
from typing import LiteralString, TypeVar

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.postgres.stepping import Scene, opened
from tests.process.proxy import Proxy
from treadle.domain.outcome import Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import Status
from treadle.embedded import EmbeddedPostgres
from treadle.errors import SchemaMismatch, StoreUnavailable
from treadle.ports.lease import Beat
from treadle.postgres import PostgresStore
from treadle.postgres.migrate import migrate
from treadle.postgres.pool import Busy
from treadle.testing.contract.harness import NO_PROGRESS, claimant, look, put, request, started, take

LEASE = timedelta(seconds=60)
T = TypeVar("T")


async def sooner_or_later(attempt: Callable[[], Awaitable[T]]) -> T:
    """The answer of the first attempt that is not told that the store is away; each attempt is bounded itself."""
    async with asyncio.timeout(30):
        while True:
            try:
                return await attempt()
            except StoreUnavailable:
                continue


async def test_a_black_hole_is_told_within_the_bound_and_the_pool_recovers_after_it(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        async with PostgresStore(proxy.dsn, statement_seconds=1) as store:
            lease = await started(store)
            proxy.swallow()
            for _ in range(3):
                async with asyncio.timeout(8):
                    with pytest.raises(StoreUnavailable):
                        await put(store)
                    with pytest.raises(StoreUnavailable):
                        await store.leases.heartbeat(lease, NO_PROGRESS, LEASE)
            proxy.heal(lost=True)
            assert await sooner_or_later(lambda: store.leases.heartbeat(lease, NO_PROGRESS, LEASE)) == Beat(
                cancel_requested=False
            )
            assert await sooner_or_later(lambda: put(store)) is not None


async def test_a_finish_whose_reply_was_lost_is_known_by_reading_back(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        async with PostgresStore(proxy.dsn, statement_seconds=5) as store:
            lease = await started(store)
            proxy.lose_reply_to(b"succeeded")
            with pytest.raises(StoreUnavailable):
                await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
            assert await store.leases.outcome_of(lease) is Status.SUCCEEDED


async def test_idle_connections_that_the_server_ended_are_replaced_before_they_are_used(scene: Scene) -> None:
    store = await scene.store("store")
    await asyncio.gather(*(put(store) for _ in range(8)))
    ended = await scene.query(
        "select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity where application_name = 'store'"
    )
    assert [row["ended"] for row in ended] == [True] * len(ended)
    assert ended
    for _ in range(8):
        await put(store)


async def test_a_statement_whose_backend_is_terminated_says_so_and_the_next_one_works(scene: Scene) -> None:
    store = await scene.store("store")
    item = await put(store)
    holder = await scene.session("holder", autocommit=False)
    await holder.run("select from treadle.work_items where id = %(id)s for update", id=item)
    cancel = scene.start(store.cancels.cancel(item))
    await scene.blocked("store", cancel)
    await scene.query(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where application_name = 'store' and wait_event_type = 'Lock'"
    )
    with pytest.raises(StoreUnavailable):
        await cancel
    await holder.connection.rollback()
    assert (await store.cancels.cancel(item)).status is Status.CANCELLED


async def test_a_statement_is_bounded_while_somebody_holds_its_row(scene: Scene) -> None:
    store = await scene.store("store", statement_seconds=0.5)
    item = await put(store)
    holder = await scene.session("holder", autocommit=False)
    await holder.run("select from treadle.work_items where id = %(id)s for update", id=item)
    with pytest.raises(Busy, match="busy"):
        await store.cancels.cancel(item)
    await holder.connection.rollback()
    assert (await store.cancels.cancel(item)).status is Status.CANCELLED


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_a_store_outlives_a_restart_of_its_server(mode: str) -> None:
    folder = Path(tempfile.mkdtemp(prefix="treadle-restart-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder, settings={"max_connections": "20"}) as server:
            migrate(server.dsn)
            async with PostgresStore(server.dsn, statement_seconds=5) as store:
                lease = await started(store)
                await asyncio.to_thread(server.restart, "immediate" if mode == "immediate" else "fast")
                assert (
                    await sooner_or_later(lambda: store.leases.heartbeat(lease, NO_PROGRESS, LEASE))
                    is not None
                )
                finished = await sooner_or_later(lambda: store.leases.finish(lease, Succeeded(), NO_PROGRESS))
                assert finished.accepted
    finally:
        shutil.rmtree(folder)


async def test_a_server_that_is_away_at_the_start_is_asked_again(dsn: str) -> None:
    with Proxy(dsn) as proxy:
        proxy.swallow()
        async with PostgresStore(proxy.dsn, statement_seconds=1) as store:
            proxy.heal(lost=True)
            assert await sooner_or_later(lambda: put(store)) is not None


@pytest.mark.timeout(20)
def test_an_opening_that_is_cancelled_leaves_nothing_that_goes_on() -> None:
    async def cut_short(conninfo: str) -> None:
        store = PostgresStore(conninfo, statement_seconds=600)
        opening = asyncio.create_task(store.__aenter__())
        await asyncio.wait({opening}, timeout=0.2)
        opening.cancel()
        await asyncio.wait({opening})

    # The system completes connections to it, which nobody ever accepts.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # A pool that was left open would keep on connecting, and this would never return.
        asyncio.run(cut_short(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/nothing"))


async def test_two_databases_do_not_know_of_each_other(dsn: str, empty_dsn: str) -> None:
    migrate(empty_dsn)
    async with PostgresStore(dsn) as here, PostgresStore(empty_dsn) as there:
        item = await put(here, request(key="k"))
        assert await there.leases.claim(claimant()) is None
        assert await put(there, request(key="k")) != item
        assert (await take(here)).item_id == item


async def test_a_database_without_the_schema_says_what_to_do(empty_dsn: str) -> None:
    with pytest.raises(SchemaMismatch, match="treadle migrate"):
        async with PostgresStore(empty_dsn):
            pass


def configure(dsn: str, setting: LiteralString, value: str) -> None:
    """Set a default of the whole database, as an operator may have."""
    database = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("alter database {} set {} = {}").format(database, sql.SQL(setting), value))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
async def test_a_default_isolation_of_the_server_changes_nothing(dsn: str, level: str) -> None:
    configure(dsn, "default_transaction_isolation", level)
    async with opened(dsn) as scene:
        store = await scene.store("store")
        assert (await scene.query("show transaction_isolation"))[0]["transaction_isolation"] == level
        await finish_waits_for_a_heartbeat(scene, store)
        await returns_beside_a_twin(store)
        await schedules_once(scene, store)


async def finish_waits_for_a_heartbeat(scene: Scene, store: PostgresStore) -> None:
    lease = await started(store)
    beat = await scene.session("beat", autocommit=False)
    values = {"id": lease.item_id, "attempt": 1, "stalls": 0, "done": 1, "total": 2, "note": None}
    await beat.product("heartbeat", **values, lease=60.0, claimed_by=None)
    finish = scene.start(store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant()))
    await scene.blocked("store", finish)
    await beat.connection.commit()
    assert (await finish).accepted


async def returns_beside_a_twin(store: PostgresStore) -> None:
    lease = await started(store, request(payload={"n": 1}, key="k"), claimant(lease=timedelta(0)))
    twin = await put(store, request(payload={"n": 2}, key="k"))
    (merged,) = await store.leases.recover(stall_limit=3)
    assert (merged.item_id, merged.superseded_by) == (lease.item_id, twin)


async def schedules_once(scene: Scene, store: PostgresStore) -> None:
    due = [Due(item=request(key="periodic", by=None), when=timedelta(hours=1))]
    late = await scene.store("late")
    async with scene.gate("late", "insert:true"):
        second = scene.start(late.schedules.schedule(due))
        await scene.blocked("late", second)
        assert len(await store.schedules.schedule(due)) == 1
    assert await second == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("timezone", "Asia/Kathmandu"),
        ("datestyle", "German"),
        ("intervalstyle", "sql_standard"),
        ("search_path", ""),
    ],
)
async def test_times_are_utc_and_right_whatever_the_server_is_set_to(
    dsn: str, setting: LiteralString, value: str
) -> None:
    configure(dsn, setting, value)
    async with PostgresStore(dsn) as store:
        lease = await started(store)
        item = await look(store, lease.item_id)
        assert item.started_at is not None
        assert item.lease_until is not None
        assert (item.requested_at.tzinfo, item.lease_until.utcoffset()) == (UTC, timedelta(0))
        assert timedelta(seconds=59) < item.lease_until - item.started_at <= LEASE + timedelta(seconds=1)
        with psycopg.connect(dsn) as plain:
            row = plain.execute(
                "select extract(epoch from started_at) from treadle.work_items where id = %s", [item.id]
            ).fetchone()
        assert row is not None
        assert abs(item.started_at.timestamp() - float(row[0])) < 0.001
