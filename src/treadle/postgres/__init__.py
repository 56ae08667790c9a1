"""The store on PostgreSQL."""

from treadle.postgres.client import PostgresClient
from treadle.postgres.queue import enqueue
from treadle.postgres.store import PostgresStore

__all__ = ["PostgresClient", "PostgresStore", "enqueue"]
