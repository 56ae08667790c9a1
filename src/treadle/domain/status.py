"""The five statuses and the moves between them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """Where a work item is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        """Whether no move leaves this status."""
        return self in FINISHED


FINISHED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})


class Verb(StrEnum):
    """What moves an item. Statements, store methods and ports carry the same words."""

    ENQUEUE = "enqueue"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    FINISH = "finish"
    RELEASE = "release"
    RECOVER = "recover"
    CANCEL = "cancel"


class Move(NamedTuple):
    """One allowed change of status."""

    source: Status | None
    target: Status
    verb: Verb


TRANSITIONS = frozenset(
    {
        Move(None, Status.QUEUED, Verb.ENQUEUE),
        Move(Status.QUEUED, Status.RUNNING, Verb.CLAIM),
        Move(Status.RUNNING, Status.RUNNING, Verb.HEARTBEAT),
        Move(Status.RUNNING, Status.SUCCEEDED, Verb.FINISH),
        Move(Status.RUNNING, Status.FAILED, Verb.FINISH),
        Move(Status.RUNNING, Status.CANCELLED, Verb.FINISH),
        Move(Status.RUNNING, Status.QUEUED, Verb.RELEASE),
        # A pending cancel request, or a queued twin, ends an item on its way back to the queue.
        Move(Status.RUNNING, Status.CANCELLED, Verb.RELEASE),
        Move(Status.RUNNING, Status.QUEUED, Verb.RECOVER),
        Move(Status.RUNNING, Status.CANCELLED, Verb.RECOVER),
        Move(Status.RUNNING, Status.FAILED, Verb.RECOVER),
        Move(Status.QUEUED, Status.CANCELLED, Verb.CANCEL),
        # A running item stays running and carries the request.
        Move(Status.RUNNING, Status.RUNNING, Verb.CANCEL),
    }
)
