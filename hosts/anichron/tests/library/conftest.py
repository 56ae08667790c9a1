from collections.abc import AsyncIterator
from uuid import UUID

import psycopg
import pytest

from anichron import schema
from anichron.database import Database
from anichron.library.library import Library
from anichron.library.memory import MemoryLibrary
from anichron.library.postgres import PostgresLibrary

CONFIGS = (UUID("018f0000-0000-7000-8000-000000000001"), UUID("018f0000-0000-7000-8000-000000000002"))


@pytest.fixture
def library_dsn(dsn: str) -> str:
    """Connection string of a database with Anichron's schema and two storage configs."""
    schema.migrate(dsn)
    with psycopg.connect(dsn) as connection:
        (user,) = connection.execute(
            "insert into anichron.users (username, password_hash) values ('somebody', 'x') returning id"
        ).fetchone() or (None,)
        for config in CONFIGS:
            connection.execute(
                "insert into anichron.storage_configs (id, user_id, root_path) values (%s, %s, %s)",
                [config, user, f"/{config}"],
            )
    return dsn


@pytest.fixture
async def database(library_dsn: str) -> AsyncIterator[Database]:
    async with Database(library_dsn) as database:
        yield database


@pytest.fixture(params=["memory", "postgres"])
def library(request: pytest.FixtureRequest) -> Library:
    """A library of the two configs, of each kind that there is."""
    if request.param == "memory":
        return MemoryLibrary(*CONFIGS)
    return PostgresLibrary(request.getfixturevalue("database"))


@pytest.fixture
def config() -> UUID:
    return CONFIGS[0]


@pytest.fixture
def other_config() -> UUID:
    return CONFIGS[1]
