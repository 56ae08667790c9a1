"""The library's statements, bounded in time and read committed, also behind a transaction pooler."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import LiteralString

from psycopg import AsyncConnection, IsolationLevel, errors
from psycopg.abc import Buffer
from psycopg.rows import DictRow, dict_row
from psycopg.types.datetime import TimestamptzLoader

from treadle.errors import StoreUnavailable
from treadle.postgres.migrate import CHECK, refuse_other_version
from treadle.postgres.pool import Pool
from treadle.postgres.statements import statement

Connection = AsyncConnection[DictRow]
Clock = Callable[[], datetime | None]
"""The time that statements take for now; None, in production always, is the database's own."""


class Database:
    """The library's statements on a pool; the server is told their bound, too (``statement_timeout``)."""

    def __init__(self, conninfo: str, *, seconds: float, size: int, clock: Clock | None = None) -> None:
        self._seconds = seconds
        self._clock = clock
        self._checked = False
        self._pooler = False
        self._pool: Pool[DictRow] = Pool(
            conninfo,
            row_factory=dict_row,
            seconds=seconds,
            wait=seconds,
            sizes=(1, size),
            name="treadle",
            autocommit=True,
            configure=self._configure,
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
        await self._pool.close()

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
        async with self._pool.connection() as connection:
            if not self._checked:
                await self._check(connection)
            if lock_seconds is None and not self._pooler and connection.autocommit:
                yield connection
            else:
                async with connection.transaction():
                    await self._bound_locally(connection, lock_seconds)
                    yield connection

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


async def _scalar(connection: Connection, query: LiteralString) -> object:
    row = await (await connection.execute(query)).fetchone()
    return row["value"] if row else None
