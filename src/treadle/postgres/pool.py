"""Pools of connections on which nothing takes longer than it may, also when the network says nothing any more."""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import AsyncRowFactory
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from treadle.errors import StoreUnavailable

Row = TypeVar("Row")


class Busy(StoreUnavailable):
    """A lock was not to be had in time; the statement took no effect."""


class Pool(Generic[Row]):
    """Connections that are lent for one statement or one short transaction, which ends in time.

    When the server does not answer at all, because the network is gone, the socket is shut down under the
    driver. With one connection lost the idle ones are dropped too: most likely they share its fate, and each
    would cost another wait.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        row_factory: AsyncRowFactory[Row],
        seconds: float,
        wait: float,
        sizes: tuple[int, int],
        name: str,
        autocommit: bool = False,
        configure: Callable[[AsyncConnection[Row]], Awaitable[None]] | None = None,
    ) -> None:
        """*seconds* bound silence and, unless a borrower says otherwise, its use; *wait* bounds getting a connection.

        *sizes* are the least and the most connections. *name* is how the server shows them. *configure* readies
        each new one.
        """
        self._seconds = seconds
        self._wait = wait
        self._configure_new = configure
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] = AsyncConnectionPool(
            _bounded(conninfo, seconds, name),
            kwargs={"autocommit": autocommit, "row_factory": row_factory},
            connection_class=AsyncConnection[Row],
            min_size=sizes[0],
            max_size=sizes[1],
            timeout=wait,
            reconnect_timeout=max(seconds, 5.0),
            configure=self._configure,
            check=_refuse_dead,
            open=False,
        )

    async def open(self) -> None:
        """Start connecting, waiting for nothing."""
        await self._pool.open()

    async def close(self) -> None:
        """Close all connections, waiting for none."""
        await self._pool.close(timeout=min(self._seconds, 1.0))

    @asynccontextmanager
    async def connection(self, *, seconds: float | None = None) -> AsyncIterator[AsyncConnection[Row]]:
        """A connection whose use is over, or cut off, one second after *seconds*.

        The second is for a server that was told the same bound and keeps it. Raises ``Busy`` when a lock was not
        to be had in time, ``StoreUnavailable`` when the server does not answer. Other database errors pass
        unchanged.
        """
        try:
            async with self._pool.connection() as connection:
                try:
                    async with _deadline(connection, (seconds or self._seconds) + 1.0):
                        yield connection
                finally:
                    if connection.closed:
                        await self._pool.drain()
        except (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected) as error:
            raise Busy(f"the database was busy: {error}") from error
        except errors.ProgramLimitExceeded:
            raise  # The driver counts it among the passing ones, but no further try helps.
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise StoreUnavailable(f"the database does not answer: {str(error).strip()}") from error

    async def _configure(self, connection: AsyncConnection[Row]) -> None:
        if self._configure_new is not None:
            async with _deadline(connection, self._seconds):
                await self._configure_new(connection)


async def _refuse_dead(connection: AsyncConnection[Any]) -> None:
    """Raise if the server has said goodbye on an idle connection; costs a round trip only when it said anything."""
    idle = select.poll()
    idle.register(connection.fileno(), select.POLLIN)
    if idle.poll(0):
        await connection.execute("select")


def _bounded(conninfo: str, seconds: float, name: str) -> str:
    """*conninfo* with bounds on connecting and on silence, where the caller has not set any."""
    whole = str(max(2, round(seconds)))
    bounds = {
        "connect_timeout": whole,
        "tcp_user_timeout": str(round(seconds * 1000)),
        "keepalives_idle": whole,
        "keepalives_interval": "2",
        "keepalives_count": "3",
        "application_name": name,
    }
    given = conninfo_to_dict(conninfo)
    return make_conninfo(conninfo, **{name: value for name, value in bounds.items() if name not in given})


@asynccontextmanager
async def _deadline(connection: AsyncConnection[Any], seconds: float) -> AsyncIterator[None]:
    # Cancelling a psycopg task waits for the server to confirm; a socket that was shut down does not.
    timer = asyncio.get_running_loop().call_later(seconds, _shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def _shut_down(connection: AsyncConnection[Any]) -> None:
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as twin:
            twin.shutdown(socket.SHUT_RDWR)
