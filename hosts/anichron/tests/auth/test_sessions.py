"""Sessions: what continues them, and all that ends them."""

import asyncio
from datetime import timedelta

import psycopg
import pytest

from anichron.auth.sessions import Session, Sessions
from anichron.database import Database
from anichron.identity.users import Account, LastAdmin, Users

DAY = timedelta(days=1)


async def opened(database: Database, account: Account, *, life: timedelta = DAY) -> tuple[Session, str]:
    session = await Sessions(database, life=life).open(account.id, password_hash=account.password_hash)
    assert session is not None
    return session


async def lives(database: Database, session: Session) -> bool:
    return await Sessions(database, life=DAY).visitor(session) is not None


async def test_a_session_has_its_user_as_they_are_now(database: Database, ada: Account) -> None:
    session, _ = await opened(database, ada)
    sessions = Sessions(database, life=DAY)
    visitor = await sessions.visitor(session)
    assert visitor is not None
    assert (visitor.id, visitor.username, visitor.is_admin) == (ada.id, "ada", False)
    async with database.connection() as connection:
        await connection.execute("update anichron.users set is_admin = true")
    visitor = await sessions.visitor(session)
    assert visitor is not None
    assert visitor.is_admin


async def test_only_the_hash_of_a_token_is_stored(database: Database, ada: Account) -> None:
    _, token = await opened(database, ada)
    async with database.connection() as connection:
        cursor = await connection.execute(
            "select token_hash = sha256(%(token)s::bytea), refresh_tokens::text from anichron.refresh_tokens",
            {"token": token.encode()},
        )
        ((is_hash, text),) = await cursor.fetchall()
    assert is_hash
    assert token not in text
    assert token.encode().hex() not in text


async def test_a_token_continues_its_session_once(database: Database, ada: Account) -> None:
    sessions = Sessions(database, life=DAY)
    session, first = await opened(database, ada)
    refreshed = await sessions.refresh(first)
    assert refreshed is not None
    assert refreshed[0] == session
    assert refreshed[1] != first
    again = await sessions.refresh(refreshed[1])
    assert again is not None
    assert await lives(database, session)


async def test_a_token_that_comes_twice_ends_its_session_and_no_other(
    database: Database, ada: Account
) -> None:
    sessions = Sessions(database, life=DAY)
    session, first = await opened(database, ada)
    other, _ = await opened(database, ada)
    refreshed = await sessions.refresh(first)
    assert refreshed is not None
    assert await sessions.refresh(first) is None
    assert await sessions.refresh(refreshed[1]) is None
    assert not await lives(database, session)
    assert await lives(database, other)


async def test_of_refreshes_at_the_same_time_one_wins_and_its_session_ends(
    database: Database, ada: Account
) -> None:
    sessions = Sessions(database, life=DAY)
    for _ in range(5):
        session, token = await opened(database, ada)
        answers = await asyncio.gather(*(sessions.refresh(token) for _ in range(4)))
        won = [answer for answer in answers if answer is not None]
        assert len(won) == 1
        assert not await lives(database, session)
        assert await sessions.refresh(won[0][1]) is None


async def test_an_old_token_ends_a_session_that_is_being_continued(
    database: Database, ada: Account, anichron_dsn: str
) -> None:
    """The next token is not committed yet when the old one comes, and must not outlive it."""
    sessions = Sessions(database, life=DAY)
    session, first = await opened(database, ada)
    second = await sessions.refresh(first)
    assert second is not None
    async with await psycopg.AsyncConnection.connect(anichron_dsn) as continuing:
        await continuing.execute("select from anichron.users for no key update")
        await continuing.execute(
            "update anichron.refresh_tokens set revoked_at = clock_timestamp() where revoked_at is null"
        )
        await continuing.execute(
            "insert into anichron.refresh_tokens (user_id, token_hash, family_id, expires_at)"
            " values (%s, 'third', %s, clock_timestamp() + interval '1 day')",
            [session.user_id, session.family_id],
        )
        reuse = asyncio.create_task(sessions.refresh(first))
        await _blocked(anichron_dsn)
        await continuing.commit()
    assert await reuse is None
    assert not await lives(database, session)


async def test_the_end_of_a_session_ends_all_its_tokens(database: Database, ada: Account) -> None:
    sessions = Sessions(database, life=DAY)
    session, token = await opened(database, ada)
    other, _ = await opened(database, ada)
    await sessions.end(token)
    assert not await lives(database, session)
    assert await sessions.refresh(token) is None
    assert await lives(database, other)
    await sessions.end(token)
    await sessions.end("nobody's")


async def test_a_session_ends_when_it_was_not_continued_for_its_life(
    database: Database, ada: Account
) -> None:
    session, token = await opened(database, ada, life=timedelta(0))
    assert not await lives(database, session)
    assert await Sessions(database, life=DAY).refresh(token) is None


async def test_the_life_counts_from_the_last_refresh(database: Database, ada: Account) -> None:
    _, token = await opened(database, ada, life=timedelta(hours=1))
    await Sessions(database, life=timedelta(days=3)).refresh(token)
    async with database.connection() as connection:
        cursor = await connection.execute(
            "select round(extract(epoch from expires_at - created_at) / 3600)::int"
            " from anichron.refresh_tokens order by id"
        )
        assert await cursor.fetchall() == [(1,), (72,)]


async def test_another_password_ends_all_sessions_of_its_user(
    database: Database, ada: Account, bob: Account
) -> None:
    (hers, token), (his, _) = await opened(database, ada), await opened(database, bob)
    assert await Users(database).set_password(ada.id, "another")
    assert not await lives(database, hers)
    assert await Sessions(database, life=DAY).refresh(token) is None
    assert await lives(database, his)


async def test_a_disabled_user_has_no_session_and_gets_none(
    database: Database, ada: Account, bob: Account
) -> None:
    users, sessions = Users(database), Sessions(database, life=DAY)
    session, token = await opened(database, ada)
    assert await users.disable(ada.id)
    assert not await lives(database, session)
    assert await sessions.refresh(token) is None
    assert await sessions.open(ada.id, password_hash=ada.password_hash) is None
    assert await users.account("ada") is None
    assert await users.enable(ada.id)
    assert not await lives(database, session), "what was ended stays so"
    await opened(database, ada)


async def test_a_password_changed_while_it_was_verified_opens_no_session(
    database: Database, ada: Account
) -> None:
    await Users(database).set_password(ada.id, "another")
    assert await Sessions(database, life=DAY).open(ada.id, password_hash=ada.password_hash) is None


async def test_two_admins_cannot_disable_each_other(database: Database, ada: Account, bob: Account) -> None:
    users = Users(database)
    async with database.connection() as connection:
        await connection.execute("update anichron.users set is_admin = true")
    for _ in range(3):
        answers = await asyncio.gather(users.disable(ada.id), users.disable(bob.id), return_exceptions=True)
        assert {type(answer) for answer in answers} == {bool, LastAdmin}
        await users.enable(ada.id)
        await users.enable(bob.id)


async def _blocked(dsn: str) -> None:
    query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    async with asyncio.timeout(10), await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        while (await (await connection.execute(query)).fetchone()) == (0,):
            await connection.execute("select pg_sleep(0.02)")


@pytest.mark.parametrize("token", ["", "x", "\x00", "\ud800"])
async def test_what_is_no_token_continues_nothing(database: Database, token: str) -> None:
    assert await Sessions(database, life=DAY).refresh(token) is None
