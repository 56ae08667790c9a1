"""Connections: pooled, bounded in time, and read committed, also behind a transaction pooler."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import LiteralString

import psycopg
from psycopg import AsyncConnection, IsolationLevel, errors
from psycopg.abc import Buffer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.types.datetime import TimestamptzLoader
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from treadle.errors import StoreUnavailable
from treadle.postgres.migrate import CHECK, refuse_other_version
from treadle.postgres.statements import statement

Connection = AsyncConnection[DictRow]
Clock = Callable[[], datetime | None]
"""The time that statements take for now; None, in production always, is the database's own."""


class Busy(StoreUnavailable):
    """A lock was not to be had in time; the statement took no effect."""


class Database:
    """A pool of connections on which every statement ends within a bounded time.

    The server is told the bound (``statement_timeout``). When it does not answer at all, because the
    network is gone, the socket is shut down under the driver shortly after.
    """

    def __init__(self, conninfo: str, *, seconds: float, size: int, clock: Clock | None = None) -> None:
        self._seconds = seconds
        self._clock = clock
        self._checked = False
        self._pooler = False
        self._pool = AsyncConnectionPool(
            _bounded(conninfo, seconds),
            kwargs={"autocommit": True, "row_factory": dict_row},
            connection_class=AsyncConnection[DictRow],
            min_size=1,
            max_size=size,
            timeout=seconds,
            reconnect_timeout=max(seconds, 5.0),
            configure=self._configure,
            check=_refuse_dead,
            open=False,
        )

    async def open(self) -> None:
        """Start connecting. Raises ``SchemaMismatch`` if the server answers and its schema does not fit."""
        try:
            await self._pool.open()
            async with self.connection():
                pass
        except StoreUnavailable:
            pass  # It is asked again before the first statement.
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close all connections, waiting for none."""
        await self._pool.close(timeout=min(self._seconds, 1.0))

    @property
    def now(self) -> datetime | None:
        """What statements take for now; None is the database's clock."""
        return self._clock() if self._clock else None

    async def rows(self, name: str, **values: object) -> list[DictRow]:
        """Run the statement called *name* by itself and return its rows."""
        async with self.connection() as connection:
            cursor = await connection.execute(statement(name), {"now": self.now, **values})
            return await cursor.fetchall() if cursor.description else []

    async def only_row(self, name: str, **values: object) -> DictRow:
        """Run the statement called *name*, which always returns one row, by itself."""
        (row,) = await self.rows(name, **values)
        return row

    async def row(self, name: str, **values: object) -> DictRow | None:
        """Run the statement called *name* by itself and return its first row."""
        rows = await self.rows(name, **values)
        return rows[0] if rows else None

    async def count(self, name: str, **values: object) -> int:
        """Run the statement called *name* by itself and return how many rows it touched."""
        async with self.connection() as connection:
            cursor = await connection.execute(statement(name), {"now": self.now, **values})
            return cursor.rowcount

    @asynccontextmanager
    async def connection(self, *, lock_seconds: float | None = None) -> AsyncIterator[Connection]:
        """A connection for one statement, or with *lock_seconds* for one short transaction.

        Raises ``Busy`` when a lock was not to be had in time, ``StoreUnavailable`` when the server
        does not answer, ``SchemaMismatch`` on first use. Other database errors pass unchanged.
        """
        try:
            async with (
                self._pool.connection(timeout=self._seconds) as connection,
                _deadline(connection, self._seconds + 1.0),
            ):
                if not self._checked:
                    await self._check(connection)
                if lock_seconds is None and not self._pooler and connection.autocommit:
                    yield connection
                else:
                    async with connection.transaction():
                        await self._bound_locally(connection, lock_seconds)
                        yield connection
        except (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected) as error:
            raise Busy(f"the database was busy: {error}") from error
        except errors.ProgramLimitExceeded:
            raise  # The driver counts it among the passing ones, but no further try helps.
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise StoreUnavailable(f"the database does not answer: {str(error).strip()}") from error

    async def _configure(self, connection: Connection) -> None:
        connection.adapters.register_loader("timestamptz", _UtcLoader)
        # Applies to transactions that are begun explicitly; autocommit needs the session's default below.
        await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
        pid = await _scalar(connection, "select pg_backend_pid() as value")
        if pid == connection.info.backend_pid:
            milliseconds = str(round(self._seconds * 1000))
            # Planning a claim anew costs more than running it, and its plan is right whatever the parameters are.
            await connection.execute(
                "select set_config('statement_timeout', %(ms)s, false),"
                " set_config('default_transaction_isolation', 'read committed', false),"
                " set_config('plan_cache_mode', 'force_generic_plan', false),"
                " set_config('datestyle', 'ISO', false)",
                {"ms": milliseconds},
            )
        else:
            # A transaction pooler gives each transaction any server connection: nothing may be set for
            # the session and nothing prepared in it.
            connection.prepare_threshold = None
            self._pooler = True

    async def _bound_locally(self, connection: Connection, lock_seconds: float | None) -> None:
        await connection.execute(
            "select set_config('statement_timeout', %(statement)s, true), set_config('lock_timeout', %(lock)s, true)",
            {
                "statement": str(round(self._seconds * 1000)),
                "lock": str(round((lock_seconds or self._seconds) * 1000)),
            },
        )

    async def _check(self, connection: Connection) -> None:
        try:
            version = await _scalar(connection, CHECK.replace("max(version)", "max(version) as value"))
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            version = None
        refuse_other_version(version if isinstance(version, int) else None)
        self._checked = True


class _UtcLoader(TimestamptzLoader):
    """Times in UTC, whatever the session's time zone; a pooler does not let us set that."""

    def load(self, data: Buffer) -> datetime:
        return super().load(data).astimezone(UTC)


async def _refuse_dead(connection: Connection) -> None:
    """Raise if the server has said goodbye on an idle connection; costs a round trip only when it said anything."""
    idle = select.poll()
    idle.register(connection.fileno(), select.POLLIN)
    if idle.poll(0):
        await connection.execute("select")


async def _scalar(connection: Connection, query: LiteralString) -> object:
    row = await (await connection.execute(query)).fetchone()
    return row["value"] if row else None


def _bounded(conninfo: str, seconds: float) -> str:
    """*conninfo* with bounds on connecting and on silence, where the caller has not set any."""
    whole = str(max(2, round(seconds)))
    bounds = {
        "connect_timeout": whole,
        "tcp_user_timeout": str(round(seconds * 1000)),
        "keepalives_idle": whole,
        "keepalives_interval": "2",
        "keepalives_count": "3",
        "application_name": "treadle",
    }
    given = conninfo_to_dict(conninfo)
    return make_conninfo(conninfo, **{name: value for name, value in bounds.items() if name not in given})


@asynccontextmanager
async def _deadline(connection: Connection, seconds: float) -> AsyncIterator[None]:
    # Cancelling a psycopg task waits for the server to confirm; a socket that was shut down does not.
    timer = asyncio.get_running_loop().call_later(seconds, _shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def _shut_down(connection: Connection) -> None:
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as twin:
            twin.shutdown(socket.SHUT_RDWR)
