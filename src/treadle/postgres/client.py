"""What the API side of a host has of PostgreSQL: it asks, cancels and reads, and can do nothing else."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from treadle.postgres.database import Clock, Database
from treadle.postgres.inspector import PostgresInspector
from treadle.postgres.live import PostgresLive
from treadle.postgres.queue import PostgresCancels, PostgresQueue


class PostgresClient:
    """The ports of an API process. Open it in the event loop it is used in."""

    def __init__(
        self,
        conninfo: str,
        *,
        statement_seconds: float = 10.0,
        connections: int = 4,
        clock: Clock | None = None,
    ) -> None:
        self._database = Database(conninfo, seconds=statement_seconds, size=connections, clock=clock)
        self.queue = PostgresQueue(self._database)
        self.cancels = PostgresCancels(self._database)
        self.inspector = PostgresInspector(self._database)
        self.live = PostgresLive(self._database)

    async def __aenter__(self) -> Self:
        """Connect. Raises ``SchemaMismatch``; a server that is away is tried again in use."""
        await self._database.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._database.close()
