"""Databases in each state of statistics, with as many rows as that state is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from treadle.postgres.migrate import migrate

ANALYSE: LiteralString = "vacuum analyze treadle.work_items"
QUIET: LiteralString = "alter table treadle.work_items set (autovacuum_enabled = off)"
INDEXES: LiteralString = """
select indexdef, format('drop index treadle.%I', indexname)
from pg_indexes where schemaname = 'treadle' and tablename = 'work_items' and indexname <> 'work_items_pkey'
"""

FINISHED: LiteralString = """
insert into treadle.work_items
    (id, kind, scope_id, dedup_key, status, attempt, claimed_by, started_at, finished_at, requested_at)
select lpad(to_hex(n), 32, '0')::uuid, 'p', case when n % 2 = 0 then {scope} end, 'done' || n % 1000,
       'succeeded', 1, 'w', clock_timestamp(), clock_timestamp() - make_interval(secs => n),
       clock_timestamp() - make_interval(secs => n)
from generate_series(1, {count}) n
"""
# Others' work stands at the head of the queue: each row belongs to one of a hundred scopes nobody here serves.
FOREIGN: LiteralString = """
insert into treadle.work_items (id, kind, scope_id, requested_at)
select lpad(to_hex(n), 32, '0')::uuid, 'p', ('ffffffff-0000-4000-8000-' || lpad((n % 100)::text, 12, '0'))::uuid,
       '2000-01-01'::timestamptz + make_interval(secs => n)
from generate_series(1, {count}) n
"""
BUSY: LiteralString = """
insert into treadle.work_items (kind, dedup_key, slot, status, attempt, finished_at)
select 'p', 'slotted' || n, '2020-01-01', 'succeeded', 1, clock_timestamp() from generate_series(0, 199) n;
insert into treadle.work_items (kind, scope_id, dedup_key)
select 'p', ('0a000000-0000-4000-8000-' || lpad((n % 200)::text, 12, '0'))::uuid, 'queued' || n
from generate_series(1, 20000) n;
insert into treadle.work_items (kind, dedup_key, status, attempt, claimed_by, started_at, lease_until)
select 'p', 'running' || n, 'running', 1, 'w', clock_timestamp(), clock_timestamp() + interval '1 hour'
from generate_series(1, 1000) n;
"""
BUSY_UNSCOPED: LiteralString = """
insert into treadle.work_items (kind) select 'p' from generate_series(1, 200)
"""


def _finished(count: int) -> str:
    return FINISHED.format(scope="'0a000000-0000-4000-8000-000000000001'::uuid", count=count)


CRON_KEYS: LiteralString = """
insert into treadle.cron_keys (dedup_key, first_seen)
select key || n, '2000-01-01' from generate_series(0, 199) n, unnest(array['slotted', 'queued']) key
"""

# What happens to an empty table, in order. None is analysed by itself: the state of the statistics is the point.
STATES: dict[str, list[str]] = {
    "empty": [],
    "analysed while idle, then busy": [_finished(20_000), ANALYSE, BUSY, BUSY_UNSCOPED],
    "analysed while empty, then busy": [ANALYSE, BUSY, BUSY_UNSCOPED],
    "never analysed": [BUSY, BUSY_UNSCOPED],
    "a million finished": [_finished(1_000_000), BUSY, BUSY_UNSCOPED, ANALYSE],
    "a million queued of other scopes": [FOREIGN.format(count=1_000_000), ANALYSE, BUSY, BUSY_UNSCOPED],
}


@pytest.fixture(scope="session", params=list(STATES))
def state(request: pytest.FixtureRequest, server: str) -> Iterator[tuple[str, str]]:
    """The name of a state, and the connection string of a database that is in it."""
    with database(server) as dsn:
        migrate(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(QUIET)
            connection.execute(CRON_KEYS)
            for step in STATES[request.param]:
                if "1000000" in step:
                    _in_bulk(connection, step)
                else:
                    connection.execute(step.encode())
        yield request.param, dsn


def _in_bulk(connection: psycopg.Connection[tuple[str, str]], step: str) -> None:
    """Carry out *step* with the indexes away meanwhile, which is many times faster."""
    indexes = connection.execute(INDEXES).fetchall()
    for _, drop in indexes:
        connection.execute(drop.encode())
    connection.execute(step.encode())
    for create, _ in indexes:
        connection.execute(create.encode())


@contextmanager
def database(server: str) -> Iterator[str]:
    name = f"treadle_plans_{token_hex(6)}"
    identifier = sql.Identifier(name)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(identifier))
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(identifier))
