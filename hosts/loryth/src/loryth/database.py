"""One connection to the database, for one thread, on which no transaction lasts longer than it may."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from types import TracebackType
from typing import Final, LiteralString, Self

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from treadle.errors import StoreUnavailable

Connection = psycopg.Connection[TupleRow]

STATEMENT_SECONDS: Final = 10.0

# The second bound ends the transaction of a process that was frozen in the middle of it.
_BOUNDS: Final = (
    "select set_config('statement_timeout', %(milliseconds)s, true),"
    " set_config('idle_in_transaction_session_timeout', %(milliseconds)s, true)"
)


class Database:
    """Connects when it is needed, and anew when the connection is lost; it waits for no server to be there."""

    def __init__(self, conninfo: str, *, seconds: float = STATEMENT_SECONDS) -> None:
        """*seconds* bound each transaction that asks for no other bound."""
        self._conninfo = _bounded(conninfo, seconds)
        self._seconds = seconds
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self, *, seconds: float | None = None) -> Iterator[Connection]:
        """A connection with one transaction, committed at the end; cut off a second after *seconds* if not over.

        Raises ``StoreUnavailable`` when the database does not answer, or not in time.
        """
        seconds = seconds or self._seconds
        try:
            connection = self._connected()
            with _deadline(connection, seconds + 1), connection.transaction():
                # For this transaction only: behind a transaction pooler a setting of the session is another's.
                connection.execute(_BOUNDS, {"milliseconds": str(round(seconds * 1000))})
                yield connection
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"the database does not answer: {' '.join(str(error).split())}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> Connection:
        if self._connection is not None and (self._connection.closed or _has_news(self._connection)):
            self.close()
        if self._connection is None:
            # Nothing prepared: behind a transaction pooler a prepared statement may be another session's.
            self._connection = psycopg.connect(self._conninfo, autocommit=True, prepare_threshold=None)
            self._connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        return self._connection


@cache
def statement(package: str, name: str) -> LiteralString:
    """The text of the file ``<name>.sql`` in *package*: the program's own, so as fixed as a literal."""
    return files(package).joinpath(f"{name}.sql").read_text("utf-8")


def _bounded(conninfo: str, seconds: float) -> str:
    """*conninfo* with bounds on connecting and on silence, where the caller has not set any."""
    bounds: dict[str, str | int] = {
        "connect_timeout": round(min(max(seconds, 2), 5)),
        "tcp_user_timeout": 10_000,
        "keepalives_idle": 10,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "application_name": "loryth",
    }
    given = conninfo_to_dict(conninfo)
    return make_conninfo(conninfo, **{name: value for name, value in bounds.items() if name not in given})


def _has_news(connection: Connection) -> bool:
    """Whether the server said anything on an idle connection: it is goodbye."""
    idle = select.poll()
    idle.register(connection.fileno(), select.POLLIN)
    return bool(idle.poll(0))


@contextmanager
def _deadline(connection: Connection, seconds: float) -> Iterator[None]:
    # The driver waits for ever on a network that says nothing any more; a socket that was shut down ends that.
    timer = threading.Timer(seconds, _shut_down, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut_down(connection: Connection) -> None:
    if not connection.closed:
        with socket.socket(fileno=os.dup(connection.fileno())) as twin:
            twin.shutdown(socket.SHUT_RDWR)
