"""Cancelling work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from treadle.domain.status import Status


class Cancellation(StrEnum):
    """What a cancel came to."""

    CANCELLED = "cancelled"
    """It was queued and has ended."""
    REQUESTED = "requested"
    """It is running; the next heartbeat takes the request to its worker."""
    FINISHED = "finished"
    """It had ended before; nothing changed."""
    UNKNOWN = "unknown"
    """There is no such item (any more)."""


@dataclass(frozen=True, slots=True)
class CancelAnswer:
    """The answer to a cancel, with the item's status after it (None when unknown)."""

    cancellation: Cancellation
    status: Status | None


class Cancel(Protocol):
    """The API's only write besides asking for work."""

    async def cancel(self, item_id: UUID) -> CancelAnswer:
        """End a queued item as cancelled, or ask the worker of a running one to stop."""
