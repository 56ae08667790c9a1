"""Users and their folders of originals, in the database."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
import pytest_asyncio
from argon2 import PasswordHasher

from anichron.database import Database
from anichron.identity.configs import FolderTaken, StorageConfigs
from anichron.identity.users import User, Users


@pytest_asyncio.fixture
async def database(anichron_dsn: str) -> AsyncIterator[Database]:
    async with Database(anichron_dsn) as opened:
        yield opened


async def added(database: Database, name: str, email: str | None = None) -> User:
    user = await Users(database).add(name, password="pw", email=email)
    assert user is not None
    return user


async def test_a_user_is_found_by_name_or_by_email_in_any_case(database: Database) -> None:
    ada = await added(database, "ada", "Ada@Example.org")
    users = Users(database)
    assert await users.find("ada") == ada
    assert await users.find("ADA@example.org") == ada
    assert await users.find("bob") is None


async def test_a_taken_name_or_address_adds_nobody(database: Database) -> None:
    await added(database, "ada", "ada@example.org")
    assert await Users(database).add("ada", password="other") is None
    assert await Users(database).add("bob", password="other", email="ADA@example.org") is None
    assert await Users(database).find("bob") is None


@pytest.mark.parametrize("name", ["", "a b", "ada@example.org"])
async def test_a_name_that_could_be_an_address_is_refused(database: Database, name: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation):
        await Users(database).add(name, password="pw")


async def test_a_password_is_kept_as_a_hash_only(database: Database, anichron_dsn: str) -> None:
    await Users(database).add("ada", password="correct horse")
    async with await psycopg.AsyncConnection.connect(anichron_dsn) as connection:
        row = await (await connection.execute("select password_hash from anichron.users")).fetchone()
    assert row is not None
    assert "correct horse" not in row[0]
    assert PasswordHasher().verify(row[0], "correct horse")


async def test_a_folder_has_one_config_however_often_it_is_made_sure_of(database: Database) -> None:
    ada, configs = await added(database, "ada"), StorageConfigs(database)
    config = await configs.ensure(ada.id, Path("/photos/ada"))
    assert await configs.ensure(ada.id, Path("/photos/./ada/")) == config
    assert await configs.find(config.id) == config
    assert await configs.find(uuid4()) is None


async def test_a_folder_of_somebody_else_is_refused(database: Database) -> None:
    ada, bob, configs = await added(database, "ada"), await added(database, "bob"), StorageConfigs(database)
    config = await configs.ensure(ada.id, Path("/photos"))
    with pytest.raises(FolderTaken, match="/photos belongs to another user"):
        await configs.ensure(bob.id, Path("/photos"))
    assert await configs.find(config.id) == config


async def test_active_configs_are_a_user_s_own_or_everybody_s(database: Database, anichron_dsn: str) -> None:
    ada, bob, configs = await added(database, "ada"), await added(database, "bob"), StorageConfigs(database)
    hers = await configs.ensure(ada.id, Path("/photos/ada"))
    old = await configs.ensure(ada.id, Path("/photos/old"))
    his = await configs.ensure(bob.id, Path("/photos/bob"))
    async with await psycopg.AsyncConnection.connect(anichron_dsn) as connection:
        await connection.execute(
            "update anichron.storage_configs set is_active = false where id = %s", [old.id]
        )
    assert await configs.active(ada.id) == [hers]
    assert await configs.active() == [hers, his]
    assert not (await configs.ensure(ada.id, Path("/photos/old"))).is_active
