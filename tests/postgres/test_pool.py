"""A pool whose connections the network has lost without a word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from psycopg.rows import TupleRow, tuple_row

from tests.process.proxy import Proxy
from treadle.errors import StoreUnavailable
from treadle.postgres.pool import Pool

SECONDS = 1.0
MOST = 4


@asynccontextmanager
async def pool_with_idle_connections(conninfo: str) -> AsyncIterator[Pool[TupleRow]]:
    """A pool that has as many connections as it may, and none of them in use."""
    pool = Pool(
        conninfo,
        row_factory=tuple_row,
        seconds=SECONDS,
        wait=SECONDS,
        sizes=(0, MOST),
        name="lost",
        autocommit=True,
    )
    await pool.open()
    try:
        async with AsyncExitStack() as borrowed:
            for _ in range(MOST):
                await borrowed.enter_async_context(pool.connection())
        yield pool
    finally:
        await pool.close()


async def backend(pool: Pool[TupleRow]) -> int:
    async with pool.connection() as connection:
        row = await (await connection.execute("select pg_backend_pid()")).fetchone()
    assert row is not None
    return int(row[0])


async def test_one_loss_of_the_network_costs_one_wait_however_many_connections_were_idle(dsn: str) -> None:
    with Proxy(dsn) as network:
        async with pool_with_idle_connections(network.dsn) as pool:
            network.strand()
            async with asyncio.timeout(2 * SECONDS + 3):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await backend(pool)
                backends = {await backend(pool) for _ in range(2 * MOST)}
            assert backends


async def test_all_that_wait_when_the_network_is_lost_are_told_within_the_same_bound(dsn: str) -> None:
    with Proxy(dsn) as network:
        async with pool_with_idle_connections(network.dsn) as pool:
            network.strand()
            async with asyncio.timeout(2 * SECONDS + 3):
                told = await asyncio.gather(*(backend(pool) for _ in range(MOST)), return_exceptions=True)
                assert [type(error) for error in told] == [StoreUnavailable] * MOST
                assert await backend(pool)


async def test_a_borrower_may_have_a_bound_of_its_own(dsn: str) -> None:
    with Proxy(dsn) as network:
        async with pool_with_idle_connections(network.dsn) as pool:
            async with pool.connection(seconds=4 * SECONDS) as connection:
                await connection.execute("select pg_sleep(%s)", [SECONDS + 1.5])
            network.strand()
            async with asyncio.timeout(SECONDS + 1.5):
                with pytest.raises(StoreUnavailable):
                    await backend(pool)
