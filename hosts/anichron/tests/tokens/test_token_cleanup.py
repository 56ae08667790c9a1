"""The token cleanup: its handler on substituted tokens, and its statement on real ones."""

import asyncio
from uuid import UUID

import psycopg
import pytest

from anichron.database import Database
from anichron.kinds import TokenCleanup
from anichron.tokens.handler import BATCH, TokenCleanupHandler, TokenCleanupSummary
from anichron.tokens.repository import RefreshTokens
from treadle import Partial, Run


class Tokens:
    """So many expired tokens."""

    def __init__(self, expired: int) -> None:
        self.expired = expired
        self.sticks_at: int | None = None
        self.stuck = asyncio.Event()

    async def delete_expired(self, *, limit: int) -> int:
        if self.expired == self.sticks_at:
            self.stuck.set()
            await asyncio.Event().wait()
        deleted = min(limit, self.expired)
        self.expired -= deleted
        return deleted


def run() -> Run:
    return Run(UUID(int=1), 1)


async def test_all_expired_tokens_go_in_batches_with_progress() -> None:
    tokens, under_way = Tokens(2 * BATCH + 1), run()
    summary = await TokenCleanupHandler(tokens).run(TokenCleanup(), under_way)
    assert summary == TokenCleanupSummary(deleted=2 * BATCH + 1)
    assert tokens.expired == 0
    assert under_way.latest.done == 2 * BATCH + 1


async def test_a_second_run_converges() -> None:
    tokens = Tokens(3)
    await TokenCleanupHandler(tokens).run(TokenCleanup(), run())
    assert await TokenCleanupHandler(tokens).run(TokenCleanup(), run()) == TokenCleanupSummary(deleted=0)


async def test_a_cancelled_run_hands_back_what_it_did_and_the_next_completes_it() -> None:
    tokens = Tokens(2 * BATCH)
    tokens.sticks_at = BATCH
    task = asyncio.create_task(TokenCleanupHandler(tokens).run(TokenCleanup(), run()))
    await tokens.stuck.wait()
    task.cancel()
    assert await task == Partial(TokenCleanupSummary(deleted=BATCH))
    tokens.sticks_at = None
    assert await TokenCleanupHandler(tokens).run(TokenCleanup(), run()) == TokenCleanupSummary(deleted=BATCH)


@pytest.mark.parametrize("limit", [1, 10])
async def test_expired_tokens_go_and_valid_and_revoked_ones_stay(anichron_dsn: str, limit: int) -> None:
    async with await psycopg.AsyncConnection.connect(anichron_dsn, autocommit=True) as connection:
        await connection.execute("insert into anichron.users (username, password_hash) values ('ada', 'x')")
        await connection.execute(
            "insert into anichron.refresh_tokens (user_id, token_hash, family_id, expires_at, revoked_at)"
            " select u.id, t.name::bytea, gen_random_uuid(), clock_timestamp() + t.until, t.revoked"
            " from anichron.users u, (values"
            " ('valid', interval '1 hour', null::timestamptz),"
            " ('revoked, not expired', interval '1 hour', clock_timestamp()),"
            " ('expired', interval '-1 second', null),"
            " ('revoked and expired', interval '-1 day', clock_timestamp())) t (name, until, revoked)"
        )
        async with Database(anichron_dsn) as database:
            deleted = [await RefreshTokens(database).delete_expired(limit=limit) for _ in range(3)]
        rows = await (await connection.execute("select token_hash from anichron.refresh_tokens")).fetchall()
    assert sum(deleted) == 2
    assert max(deleted) == min(limit, 2)
    assert {bytes(row[0]).decode() for row in rows} == {"valid", "revoked, not expired"}
