"""Anichron's own connections to the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Final, LiteralString, Self

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from treadle.errors import StoreUnavailable

Connection = psycopg.AsyncConnection[TupleRow]

_WAIT_SECONDS: Final = 5.0


class Database:
    """A pool of connections, opened in the event loop it is used in; it waits for no server to be there."""

    def __init__(self, conninfo: str, *, most: int = 4) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            conninfo,
            # Behind a transaction pooler a prepared statement may be another session's.
            kwargs={"prepare_threshold": None, "connect_timeout": int(_WAIT_SECONDS)},
            check=AsyncConnectionPool.check_connection,
            min_size=0,
            max_size=most,
            timeout=_WAIT_SECONDS,
            open=False,
        )

    async def __aenter__(self) -> Self:
        await self._pool.open(wait=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.close(timeout=_WAIT_SECONDS)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection with one transaction, committed at the end. Raises ``StoreUnavailable``."""
        try:
            async with self._pool.connection() as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise StoreUnavailable(str(error).strip() or "the database did not answer") from error


@cache
def statement(package: str, name: str) -> LiteralString:
    """The text of the file ``<name>.sql`` in *package*: the program's own, so as fixed as a literal."""
    return files(package).joinpath(f"{name}.sql").read_text("utf-8")
