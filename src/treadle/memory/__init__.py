"""The ports in memory: a store for unit tests, held to the same contract as the PostgreSQL one."""

from treadle.memory.store import MemoryStore
from treadle.memory.table import Table

__all__ = ["MemoryStore", "Table"]
