"""Removes events that were done long ago."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from loryth.chores.bound import Bound
from loryth.database import Database
from loryth.events.outbox import forget

logger = logging.getLogger(__name__)

BATCH: Final = 500


class DoneEvents:
    """A chore. Parked events stay: what they were about has not been done."""

    def __init__(self, database: Database, bound: Bound, *, keep: timedelta) -> None:
        self._database = database
        self._bound = bound
        self._keep = keep

    def __call__(self) -> None:
        """Remove events until the budget is spent, or none is left."""
        budget, removed = self._bound.begin(), 0
        while limit := min(BATCH, budget.items):
            with self._database.transaction() as connection:
                batch = forget(connection, keep_seconds=self._keep.total_seconds(), limit=limit)
            budget.spend(batch)
            removed += batch
            if batch < limit:
                break
        if removed:
            logger.info("removed %d events that were done %s ago", removed, self._keep)
