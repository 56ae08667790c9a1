"""The store on PostgreSQL."""

from treadle.postgres.queue import enqueue
from treadle.postgres.store import PostgresStore

__all__ = ["PostgresStore", "enqueue"]
