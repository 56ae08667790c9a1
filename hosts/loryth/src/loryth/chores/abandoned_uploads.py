"""Ends uploads that were begun long ago and never completed, those of files and those that only the store knows."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final
from uuid import UUID

from loryth.chores.bound import Bound, Budget, Tally
from loryth.chores.deleted_files import SQL, put_off_cleanup
from loryth.database import Database, statement
from loryth.failure import in_a_line
from loryth.storage import Place, Storage, StorageError, StorageUnavailable, Upload

logger = logging.getLogger(__name__)

PREFIX: Final = "files/"
PAGE: Final = 200


class AbandonedUploads:
    """A chore. The file of such an upload is DELETED first, so that no client can complete it any more; its upload
    is aborted then, and its row goes with the deleted files.
    """

    def __init__(self, database: Database, storage: Storage, bound: Bound, *, age: timedelta) -> None:
        """*age* is how long ago an upload must have begun: by the database's clock, or the store's."""
        self._database = database
        self._storage = storage
        self._bound = bound
        self._age = age
        self._place: Place | None = None
        """Where the last run's listing was cut, so that what it has seen does not hide the rest for ever."""

    def __call__(self) -> None:
        """End uploads until the budget is spent, or none is left.

        Raises ``StorageUnavailable`` and ``StoreUnavailable`` at once, ``ChoreFailed`` in the end when single
        uploads failed.
        """
        budget, tally = self._bound.begin(), Tally()
        self._give_up(budget.items)
        while batch := self._deleted(min(PAGE, budget.items)):
            for file_id, key, upload_id in batch:
                if not budget.items:
                    break
                budget.spend()
                self._abort(file_id, key, upload_id, tally)
        self._abort_orphans(budget, tally)
        if tally.done:
            logger.info("aborted %d uploads that were never completed", tally.done)
        tally.close("abandoned uploads")

    def _give_up(self, limit: int) -> None:
        with self._database.transaction() as connection:
            values = {"age": self._age.total_seconds(), "limit": limit}
            connection.execute(statement(SQL, "give_up_uploads"), values)

    def _deleted(self, limit: int) -> list[tuple[UUID, str, str]]:
        if not limit:
            return []
        with self._database.transaction() as connection:
            return connection.execute(statement(SQL, "uploads_to_abort"), {"limit": limit}).fetchall()

    def _abort(self, file_id: UUID, key: str, upload_id: str, tally: Tally) -> None:
        try:
            self._storage.abort(key, upload_id)
        except StorageUnavailable:
            raise
        except StorageError as error:
            tally.note_failure(key, in_a_line(error))
            put_off_cleanup(self._database, file_id, error)
        else:
            with self._database.transaction() as connection:
                values = {"id": file_id, "upload_id": upload_id}
                connection.execute(statement(SQL, "upload_aborted"), values)
            tally.done += 1

    def _abort_orphans(self, budget: Budget, tally: Tally) -> None:
        while limit := min(PAGE, budget.items):
            page = self._storage.uploads(prefix=PREFIX, after=self._place, limit=limit)
            for upload in self._orphans(page.uploads):
                if not budget.items:
                    return
                budget.spend()
                self._abort_orphan(upload, tally)
                self._place = upload.place
            self._place = page.after
            if page.after is None:
                return

    def _orphans(self, uploads: list[Upload]) -> list[Upload]:
        """Those that are old, and of no file."""
        old = [upload for upload in uploads if upload.age >= self._age]
        if not old:
            return []
        with self._database.transaction() as connection:
            values = {"upload_ids": [upload.upload_id for upload in old]}
            known = {
                upload_id for (upload_id,) in connection.execute(statement(SQL, "known_uploads"), values)
            }
        return [upload for upload in old if upload.upload_id not in known]

    def _abort_orphan(self, upload: Upload, tally: Tally) -> None:
        try:
            self._storage.abort(upload.key, upload.upload_id)
        except StorageUnavailable:
            raise
        except StorageError as error:
            tally.note_failure(upload.key, in_a_line(error))
        else:
            tally.done += 1
