"""Removes what people deleted: the object from the store first, then the row."""

from __future__ import annotations

import logging
from typing import Final
from uuid import UUID

from loryth.chores.bound import Bound, Tally
from loryth.database import Database, statement
from loryth.failure import in_a_line
from loryth.storage import Storage, StorageError, StorageUnavailable

logger = logging.getLogger(__name__)

SQL: Final = "loryth.chores.sql"
BATCH: Final = 100


class DeletedFiles:
    """A chore. A run that is cut between object and row is completed by the next: the object may be gone already."""

    def __init__(self, database: Database, storage: Storage, bound: Bound) -> None:
        self._database = database
        self._storage = storage
        self._bound = bound

    def __call__(self) -> None:
        """Remove files until the budget is spent, or none is left.

        Raises ``StorageUnavailable`` and ``StoreUnavailable`` at once, ``ChoreFailed`` in the end when single
        files failed; those are put off, each for longer.
        """
        budget, tally = self._bound.begin(), Tally()
        while batch := self._batch(min(BATCH, budget.items)):
            for file_id, key in batch:
                if not budget.items:
                    break
                budget.spend()
                self._remove(file_id, key, tally)
        if tally.done:
            logger.info("removed %d deleted files", tally.done)
        tally.close("deleted files")

    def _batch(self, limit: int) -> list[tuple[UUID, str]]:
        if not limit:
            return []
        with self._database.transaction() as connection:
            return connection.execute(statement(SQL, "deleted_files"), {"limit": limit}).fetchall()

    def _remove(self, file_id: UUID, key: str, tally: Tally) -> None:
        try:
            self._storage.delete(key)
        except StorageUnavailable:
            raise
        except StorageError as error:
            tally.note_failure(key, in_a_line(error))
            put_off_cleanup(self._database, file_id, error)
        else:
            with self._database.transaction() as connection:
                connection.execute(statement(SQL, "forget_file"), {"id": file_id})
            tally.done += 1


def put_off_cleanup(database: Database, file_id: UUID, error: StorageError) -> None:
    """Note an error with a file, so that others come first."""
    with database.transaction() as connection:
        connection.execute(statement(SQL, "put_off_cleanup"), {"id": file_id, "error": in_a_line(error)})
