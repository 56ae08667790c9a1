"""Deletes spaces for good once their time of grace is over: a delay kept by a status and a look now and then."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from loryth.chores.bound import Bound
from loryth.chores.deleted_files import SQL
from loryth.database import Database, statement
from loryth.events.handlers import SPACE_DELETED
from loryth.events.outbox import publish

logger = logging.getLogger(__name__)

BATCH: Final = 50


class ClosedSpaces:
    """A chore. Each space is deleted with the event that tells it, whose handler sees to the files."""

    def __init__(self, database: Database, bound: Bound, *, grace: timedelta) -> None:
        self._database = database
        self._bound = bound
        self._grace = grace

    def __call__(self) -> None:
        """Delete spaces until the budget is spent, or none is left."""
        budget = self._bound.begin()
        while (limit := min(BATCH, budget.items)) and (deleted := self._delete(limit)):
            budget.spend(deleted)
            logger.info("deleted %d spaces that were closed %s ago", deleted, self._grace)

    def _delete(self, limit: int) -> int:
        values = {"grace": self._grace.total_seconds(), "limit": limit}
        with self._database.transaction() as connection:
            spaces = connection.execute(statement(SQL, "delete_closed_spaces"), values).fetchall()
            # In one order everywhere: publishing locks the aggregate until the transaction ends.
            for (space_id,) in sorted(spaces):
                publish(
                    connection,
                    aggregate_type="space",
                    aggregate_id=space_id,
                    event_type=SPACE_DELETED,
                    payload={},
                )
        return len(spaces)
