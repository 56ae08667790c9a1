"""A database with Loryth's schema, a store, and processes that end with their test."""

from collections.abc import Callable, Iterator
from threading import Event as Flag

import psycopg
import pytest

from hosts.loryth.tests.program import Program
from hosts.loryth.tests.store import Store
from loryth import schema
from loryth.chores.bound import Bound
from loryth.database import Connection, Database


@pytest.fixture
def loryth_dsn(empty_dsn: str) -> str:
    """Connection string of a database of the test's own, with the schema."""
    schema.migrate(empty_dsn)
    return empty_dsn


@pytest.fixture
def database(loryth_dsn: str) -> Iterator[Database]:
    with Database(loryth_dsn) as made:
        yield made


@pytest.fixture
def connection(loryth_dsn: str) -> Iterator[Connection]:
    """A connection of the test's own, on which each statement is a transaction."""
    with psycopg.connect(loryth_dsn, autocommit=True) as made:
        yield made


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as made:
        yield made


@pytest.fixture
def bound() -> Bound:
    """A bound that no run of a test meets."""
    return Bound(items=1_000, seconds=60, stopping=Flag())


@pytest.fixture
def loryth() -> Iterator[Callable[..., Program]]:
    """Start a `loryth` command; keywords are its settings."""
    started: list[Program] = []

    def start(*arguments: object, **settings: object) -> Program:
        started.append(Program(*arguments, **settings))
        return started[-1]

    yield start
    for program in started:
        program.kill()
