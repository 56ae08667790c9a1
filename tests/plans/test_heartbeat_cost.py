"""A heartbeat writes its row and nothing else: no index is touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest

from tests.plans.test_indexes import PROGRESS
from treadle.postgres.statements import statement

BEATS: Final = 400

Connection = psycopg.Connection[Any]


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "insert into treadle.work_items (kind, dedup_key, status, attempt, claimed_by, started_at, lease_until)"
            " values ('p', 'k', 'running', 1, 'w', now(), now() + interval '1 hour')"
        )
        yield connection


def beat(connection: Connection, times: int) -> None:
    row = connection.execute("select id from treadle.work_items").fetchone()
    assert row is not None
    values = {"now": None, "id": row[0], "attempt": 1, "stalls": 0, "lease": 60.0, "claimed_by": None}
    for number in range(times):
        assert connection.execute(statement("heartbeat"), {**values, **PROGRESS, "done": number}).fetchone()


def updates(connection: Connection) -> tuple[int, int]:
    """All updates of the table, and those that touched no index."""
    connection.execute("select pg_stat_force_next_flush()")
    row = connection.execute(
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'work_items'"
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def test_every_heartbeat_is_heap_only(connection: Connection) -> None:
    before = updates(connection)
    beat(connection, BEATS)
    after = updates(connection)
    assert (after[0] - before[0], after[1] - before[1]) == (BEATS, BEATS)


@pytest.mark.parametrize("column", ["lease_until", "updated_at"])
def test_an_index_on_what_a_heartbeat_writes_would_end_that(connection: Connection, column: str) -> None:
    connection.execute(f"create index mistaken on treadle.work_items ({column})".encode())
    before = updates(connection)
    beat(connection, BEATS)
    after = updates(connection)
    assert (after[0] - before[0], after[1] - before[1]) == (BEATS, 0)
