"""A database with two users."""

from collections.abc import AsyncIterator
from uuid import UUID

import pytest_asyncio

from anichron.database import Database
from anichron.identity.users import Account, Users


@pytest_asyncio.fixture
async def database(anichron_dsn: str) -> AsyncIterator[Database]:
    async with Database(anichron_dsn) as opened:
        yield opened


@pytest_asyncio.fixture
async def ada(database: Database) -> Account:
    """A user with the password `pw`."""
    return await _added(database, "ada")


@pytest_asyncio.fixture
async def bob(database: Database) -> Account:
    """An admin with the password `pw`."""
    return await _added(database, "bob", is_admin=True)


async def _added(database: Database, name: str, *, is_admin: bool = False) -> Account:
    users = Users(database)
    await users.add(name, password="pw", is_admin=is_admin)
    account = await users.account(name)
    assert account is not None
    assert isinstance(account.id, UUID)
    return account
