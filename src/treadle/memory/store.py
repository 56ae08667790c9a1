"""The store of a unit test: every port, no database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self
from uuid import UUID

from treadle.domain.item import NewItem
from treadle.domain.status import Status
from treadle.memory.keeping import MemoryCancel, MemoryInspector, MemoryPresence, MemoryRetention
from treadle.memory.leases import MemoryLeases
from treadle.memory.live import MemoryLive
from treadle.memory.producing import MemoryQueue, MemorySchedules
from treadle.memory.table import Table


class MemoryStore:
    """``ports.store.Store`` in memory, for tests of handlers, endpoints and workers.

    Any thread and any event loop may use it. *clock* overrides the time, as the PostgreSQL store's
    does. Stores made on one *table* see the same items, as two processes on one database do; *clock*
    is then the table's. Every scope is accepted until ``add_scope`` names the first one.
    """

    def __init__(
        self, *, clock: Callable[[], datetime | None] | None = None, table: Table | None = None
    ) -> None:
        if table is not None and clock is not None:
            raise ValueError("give a clock or a table, not both: the table has its own clock")
        self.table = table or Table(clock)
        self.queue = MemoryQueue(self.table)
        self.leases = MemoryLeases(self.table)
        self.schedules = MemorySchedules(self.table)
        self.presence = MemoryPresence(self.table)
        self.cancels = MemoryCancel(self.table)
        self.inspector = MemoryInspector(self.table)
        self.live = MemoryLive(self.table)
        self.retention = MemoryRetention(self.table)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close: the table may be opened again."""

    def add_scope(self, scope_id: UUID) -> None:
        """Make *scope_id* exist; from the first one on, other scopes raise ``UnknownScope``."""
        self.table.add_scope(scope_id)

    def delete_scope(self, scope_id: UUID) -> None:
        """Delete the scope with all its items, as the host's foreign key does."""
        self.table.delete_scope(scope_id)

    def waiting(self) -> Sequence[NewItem]:
        """The requests of all queued items, oldest first, with their payloads."""
        with self.table.moment():
            rows = [row for row in self.table.rows.values() if row.status is Status.QUEUED]
            return [row.request for row in sorted(rows, key=lambda row: (row.requested_at, row.id))]
