"""The PostgreSQL store keeps the contract, on a real server."""

from typing import LiteralString
from uuid import UUID

import psycopg
import pytest

from treadle.postgres import PostgresStore
from treadle.testing import FixedClock
from treadle.testing.contract import StoreContract, StoreHarness

# A host's table, tied to the queue as a host's migration does it.
HOST = """
create table public.scopes (id uuid primary key);
alter table treadle.work_items
    add foreign key (scope_id) references public.scopes (id) on delete cascade;
"""


class PostgresHarness:
    def __init__(self, dsn: str) -> None:
        self.clock = FixedClock()
        self._dsn = dsn
        self._execute(HOST)

    def store(self) -> PostgresStore:
        return PostgresStore(self._dsn, clock=self.clock)

    def add_scope(self, scope_id: UUID) -> None:
        self._execute("insert into public.scopes (id) values (%s)", scope_id)

    def delete_scope(self, scope_id: UUID) -> None:
        self._execute("delete from public.scopes where id = %s", scope_id)

    def clear(self) -> None:
        self._execute(
            "truncate treadle.work_items, treadle.item_events, treadle.workers, treadle.cron_keys, public.scopes"
        )

    def _execute(self, statement: LiteralString, *values: UUID) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(statement, values or None)


class TestPostgresStore(StoreContract):
    examples = 10

    @pytest.fixture
    def harness(self, dsn: str) -> StoreHarness:
        return PostgresHarness(dsn)
