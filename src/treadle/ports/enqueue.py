"""Asking for work."""

from __future__ import annotations

from typing import Protocol

from treadle.domain.item import NewItem, Queued


class Enqueue(Protocol):
    """The only way a work item comes into being on request."""

    async def enqueue(self, item: NewItem) -> Queued:
        """Queue *item*, or find the queued item of its dedup key.

        Raises ``DedupConflict`` when that one has another payload, ``UnknownScope`` when the scope's
        row is gone, ``StoreUnavailable``.
        """
