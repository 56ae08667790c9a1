"""The store on PostgreSQL: all ports over two small pools."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from treadle.postgres.database import Clock, Database
from treadle.postgres.inspector import PostgresInspector
from treadle.postgres.leases import PostgresLeases
from treadle.postgres.live import PostgresLive
from treadle.postgres.presence import PostgresPresence
from treadle.postgres.queue import PostgresCancels, PostgresQueue
from treadle.postgres.retention import PostgresRetention
from treadle.postgres.schedules import PostgresSchedules

BEAT_CONNECTIONS: Final = 4


class PostgresStore:
    """Implements ``treadle.ports.store.Store``. Open it in the event loop it is used in.

    *statement_seconds* bounds every statement and must lie well below the shortest lease. *clock*
    replaces the database's time; for tests only.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        statement_seconds: float = 10.0,
        connections: int = 4,
        clock: Clock | None = None,
    ) -> None:
        self._database = Database(conninfo, seconds=statement_seconds, size=connections, clock=clock)
        self._beats = Database(conninfo, seconds=statement_seconds, size=BEAT_CONNECTIONS, clock=clock)
        self.queue = PostgresQueue(self._database)
        self.cancels = PostgresCancels(self._database)
        self.leases = PostgresLeases(self._database, self._beats, conninfo)
        self.schedules = PostgresSchedules(self._database)
        self.inspector = PostgresInspector(self._database)
        self.live = PostgresLive(self._database)
        self.retention = PostgresRetention(self._database)
        self.presence = PostgresPresence(self._database)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            for database in (self._database, self._beats):
                opened.push_async_callback(database.close)
                await database.open()
            opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._beats.close()
        await self._database.close()
