"""The memory store under the contract."""

from __future__ import annotations

from uuid import UUID

from treadle.memory import MemoryStore, Table
from treadle.testing.clock import FixedClock


class MemoryHarness:
    """``testing.contract.StoreHarness`` for ``MemoryStore``."""

    def __init__(self) -> None:
        self.clock = FixedClock()
        self.clear()

    def store(self) -> MemoryStore:
        return MemoryStore(table=self._table)

    def add_scope(self, scope_id: UUID) -> None:
        self._table.add_scope(scope_id)

    def delete_scope(self, scope_id: UUID) -> None:
        self._table.delete_scope(scope_id)

    def clear(self) -> None:
        self._table = Table(self.clock)
