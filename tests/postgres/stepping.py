"""Concurrent sessions, driven step by step: a statement that waits for a lock is seen to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, LiteralString, TypeVar
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from treadle.postgres import PostgresStore
from treadle.postgres.statements import statement

T = TypeVar("T")
Rows = list[dict[str, Any]]

GATE = 7
"""The advisory lock that a gate is made of."""

HOST = """
create table public.scopes (id uuid primary key);
alter table treadle.work_items
    add foreign key (scope_id) references public.scopes (id) on delete cascade;
"""

# Pauses a session's write between its snapshot and the change; the wait is the test's, so no timeout ends it.
GATE_FUNCTION = """
create function public.wait_at_gate() returns trigger language plpgsql set lock_timeout = 0 as $$
begin
    perform pg_advisory_xact_lock_shared(7);
    return new;
end $$
"""


class Session:
    """One connection with a name, by which it is observed."""

    def __init__(self, name: str, connection: AsyncConnection[dict[str, Any]]) -> None:
        self.name = name
        self.connection = connection

    async def run(self, query: LiteralString, **values: object) -> Rows:
        """Run *query* and return its rows."""
        cursor = await self.connection.execute(query, values or None)
        return await cursor.fetchall() if cursor.description else []

    async def product(self, name: str, **values: object) -> Rows:
        """Run the library's own statement called *name*, at the database's time."""
        return await self.run(statement(name), now=None, **values)


class Scene:
    """A database and everybody who acts on it; all connections end with the scene."""

    def __init__(self, dsn: str, watcher: AsyncConnection[dict[str, Any]]) -> None:
        self._dsn = dsn
        self._watcher = watcher
        self._connections: list[AsyncConnection[dict[str, Any]]] = []
        self._stores: list[PostgresStore] = []
        self._tasks: list[asyncio.Task[Any]] = []

    def dsn(self, name: str) -> str:
        """Where a session called *name* connects."""
        return make_conninfo(self._dsn, application_name=name)

    async def store(self, name: str, *, statement_seconds: float = 10.0) -> PostgresStore:
        """A store whose sessions are called *name*."""
        store = PostgresStore(self.dsn(name), statement_seconds=statement_seconds)
        await store.__aenter__()
        self._stores.append(store)
        return store

    async def session(self, name: str, *, autocommit: bool = True) -> Session:
        """A session of its own; without *autocommit* its transaction stays open until told otherwise."""
        connection = await AsyncConnection.connect(
            self.dsn(name), autocommit=autocommit, row_factory=dict_row, prepare_threshold=None
        )
        self._connections.append(connection)
        return Session(name, connection)

    async def query(self, query: LiteralString, **values: object) -> Rows:
        """What the database holds, seen by a bystander."""
        cursor = await self._watcher.execute(query, values or None)
        return await cursor.fetchall() if cursor.description else []

    async def statuses(self) -> list[str]:
        """The status of every item, in the order of the requests."""
        return [
            row["status"]
            for row in await self.query("select status from treadle.work_items order by requested_at, id")
        ]

    async def status(self, item_id: UUID) -> str:
        """The status of one item."""
        (row,) = await self.query("select status from treadle.work_items where id = %(id)s", id=item_id)
        return str(row["status"])

    def start(self, step: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin a step that may have to wait."""
        task = asyncio.create_task(step)
        self._tasks.append(task)
        return task

    async def blocked(self, name: str, step: asyncio.Task[Any], *, times: int = 1) -> None:
        """Return once a session called *name* waits for a lock; fail if *step* ends instead."""
        async with asyncio.timeout(10):
            while not step.done():
                if len(await self._waiting(name)) >= times:
                    return
        raise AssertionError(f"{name} should have waited for a lock, and ended: {step}")

    async def _waiting(self, name: str) -> Rows:
        return await self.query(
            "select pid from pg_stat_activity where application_name = %(name)s"
            " and state = 'active' and wait_event_type = 'Lock'",
            name=name,
        )

    @asynccontextmanager
    async def gate(self, name: str, when: LiteralString) -> AsyncIterator[None]:
        """Within, writes of the session called *name* that match *when* wait before they touch the row.

        *when* begins with ``insert:`` or ``update:`` and goes on with a condition on ``new`` and ``old``.
        """
        event, _, condition = when.partition(":")
        keeper = await self.session("gate")
        await keeper.run("select pg_advisory_lock(7)")
        await keeper.run(GATE_FUNCTION)
        trigger: LiteralString = (
            f"create trigger gate before {event} on treadle.work_items for each row"
            f" when (current_setting('application_name') = '{name}' and ({condition}))"
            " execute function public.wait_at_gate()"
        )
        await keeper.run(trigger)
        try:
            yield
        finally:
            await keeper.run("select pg_advisory_unlock(7)")

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._connections:
            await connection.close()
        for store in self._stores:
            await store.__aexit__(None, None, None)


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[Scene]:
    """A scene on the database at *dsn*, with a host's table of scopes."""
    async with await AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row) as watcher:
        await watcher.execute(HOST)
        scene = Scene(dsn, watcher)
        try:
            yield scene
        finally:
            await scene.close()
