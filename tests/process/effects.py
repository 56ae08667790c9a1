"""The trace that handlers leave, in a table of the test's own and on a connection that no fault is aimed at."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import psycopg

from treadle import Run

TABLE: Final = """
create table effects (
    item_id uuid not null,
    attempt integer not null,
    at timestamptz not null default clock_timestamp(),
    what text not null
)
"""
AWAY: Final = 0.05
"""Seconds between two tries while the server is away."""


class Effects:
    """Every effect is committed by itself when ``leave`` returns; any thread may call it."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    def leave(self, run: Run, what: str) -> None:
        """Write one row. A server that is away is waited for."""
        with self._lock:
            while not self._written(run, what):
                time.sleep(AWAY)

    def _written(self, run: Run, what: str) -> bool:
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._dsn, autocommit=True)
            self._connection.execute(
                "insert into effects (item_id, attempt, what) values (%s, %s, %s)",
                [run.item_id, run.attempt, what],
            )
        except psycopg.OperationalError:
            return False
        return True
