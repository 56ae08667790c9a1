"""A database with Anichron's schema, and processes that end with their test."""

from collections.abc import Callable, Iterator

import pytest

from anichron import schema
from hosts.anichron.tests.process.program import Program


@pytest.fixture
def anichron_dsn(dsn: str) -> str:
    """Connection string of a database of the test's own, with both schemas."""
    schema.migrate(dsn)
    return dsn


@pytest.fixture
def anichron() -> Iterator[Callable[..., Program]]:
    """Start an `anichron` command; keywords are its settings."""
    started: list[Program] = []

    def start(*arguments: object, **settings: object) -> Program:
        started.append(Program(*arguments, **settings))
        return started[-1]

    yield start
    for program in started:
        program.kill()
