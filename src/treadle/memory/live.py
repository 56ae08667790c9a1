"""Following work in memory: a cursor stands for the whole table as it was."""

from __future__ import annotations

from treadle.domain.status import Status
from treadle.memory.table import Table
from treadle.ports.live import Changes, Lost


class MemoryLive:
    """``ports.live.Live`` in memory."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def cursor(self) -> str:
        with self._table.moment():
            return self._table.remember()

    async def changes(self, since: str | None) -> Changes:
        with self._table.moment():
            now = {row.id: row.view() for row in self._table.rows.values()}
            cursor = self._table.remember()
            running = [item for item in now.values() if item.status is Status.RUNNING]
            if since is None:
                return Changes(cursor=cursor, running=running)
            then = self._table.remembered(since)
            if then is None:
                return Changes(cursor=cursor, running=running, lost=Lost.UNKNOWN)
            return Changes(
                cursor=cursor,
                changed=[item for item in now.values() if then.get(item.id) != item],
                gone=[id_ for id_ in then if id_ not in now],
                running=running,
            )
