"""The bounds of Anichron's own transactions."""

import asyncio
from contextlib import suppress

import pytest

from anichron.database import Database
from tests.process.proxy import Proxy
from treadle.errors import StoreUnavailable


async def test_a_transaction_has_its_bound_and_one_that_asks_for_another_has_that(dsn: str) -> None:
    async with Database(dsn, seconds=0.5, most=1) as database:
        async with asyncio.timeout(10):
            with pytest.raises(StoreUnavailable, match="busy"):
                async with database.connection() as connection:
                    await connection.execute("select pg_sleep(60)")
        async with database.connection(seconds=10) as connection:
            await connection.execute("select pg_sleep(2)")
        # On the same connection: the other bound went with its transaction.
        async with database.connection() as connection:
            row = await (await connection.execute("show statement_timeout")).fetchone()
    assert row == ("500ms",)


async def test_what_a_transaction_did_is_kept_at_its_end_and_taken_back_by_an_error(dsn: str) -> None:
    async with Database(dsn, most=1) as database:
        async with database.connection() as connection:
            await connection.execute("create table kept (n int)")
        with suppress(LookupError):
            async with database.connection() as connection:
                await connection.execute("insert into kept values (1)")
                raise LookupError
        async with database.connection() as connection:
            cursor = await connection.execute("select count(*) from kept")
            assert await cursor.fetchone() == (0,)


async def test_a_loss_of_the_network_is_told_within_the_bound_and_costs_no_second_wait(dsn: str) -> None:
    async def ask(database: Database) -> None:
        async with database.connection() as connection:
            await connection.execute("select")

    with Proxy(dsn) as network:
        async with Database(network.dsn, seconds=1) as database:
            async with database.connection(), database.connection():
                pass
            network.strand()
            async with asyncio.timeout(4):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await ask(database)
                await ask(database)
