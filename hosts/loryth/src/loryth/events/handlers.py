"""What the platform does about its own events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from loryth.database import Connection, statement
from loryth.events.consumer import EventHandler
from loryth.events.outbox import SQL, Event, publish

BATCH: Final = 1_000
SPACE_DELETED: Final = "space.deleted"


def delete_files_of_space(connection: Connection, event: Event) -> None:
    """Mark the files of a deleted space as deleted; of a large one in several steps, each an event of its own."""
    values = {"space_id": UUID(event.aggregate_id), "limit": BATCH}
    marked = connection.execute(statement(SQL, "delete_files_of_space"), values).rowcount
    if marked == BATCH:
        publish(
            connection,
            aggregate_type=event.aggregate_type,
            aggregate_id=event.aggregate_id,
            event_type=SPACE_DELETED,
            payload=event.payload,
        )


HANDLERS: Final[Mapping[str, EventHandler]] = {SPACE_DELETED: delete_files_of_space}
