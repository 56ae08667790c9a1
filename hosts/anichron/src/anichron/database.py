"""Anichron's own connections to the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Final, LiteralString, Self

from psycopg import AsyncConnection
from psycopg.rows import TupleRow, tuple_row

from treadle.postgres.pool import Pool

Connection = AsyncConnection[TupleRow]

STATEMENT_SECONDS: Final = 10.0

_WAIT_SECONDS: Final = 5.0
_BOUND: Final = "select set_config('statement_timeout', %(milliseconds)s, true)"


class Database:
    """A pool of connections, opened in the event loop it is used in; it waits for no server to be there."""

    def __init__(self, conninfo: str, *, most: int = 4, seconds: float = STATEMENT_SECONDS) -> None:
        """*seconds* bound each transaction that asks for no other bound."""
        self._seconds = seconds
        self._pool: Pool[TupleRow] = Pool(
            conninfo,
            row_factory=tuple_row,
            seconds=seconds,
            wait=_WAIT_SECONDS,
            sizes=(0, most),
            name="anichron",
            configure=_prepare_nothing,
        )

    async def __aenter__(self) -> Self:
        await self._pool.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def connection(self, *, seconds: float | None = None) -> AsyncIterator[Connection]:
        """A connection with one transaction, committed at the end and over within *seconds*.

        Raises ``StoreUnavailable``, also when a statement takes longer than that.
        """
        seconds = seconds or self._seconds
        async with self._pool.connection(seconds=seconds) as connection, connection.transaction():
            # For this transaction only: behind a transaction pooler a setting of the session is another's.
            await connection.execute(_BOUND, {"milliseconds": str(round(seconds * 1000))})
            yield connection


async def _prepare_nothing(connection: Connection) -> None:
    # Behind a transaction pooler a prepared statement may be another session's.
    connection.prepare_threshold = None


@cache
def statement(package: str, name: str) -> LiteralString:
    """The text of the file ``<name>.sql`` in *package*: the program's own, so as fixed as a literal."""
    return files(package).joinpath(f"{name}.sql").read_text("utf-8")
