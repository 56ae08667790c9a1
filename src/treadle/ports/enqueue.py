"""Asking for work."""

from __future__ import annotations

from typing import Protocol, TypeVar

from treadle.domain.item import NewItem, Queued

C_contra = TypeVar("C_contra", contravariant=True)


class Enqueue(Protocol):
    """The only way a work item comes into being on request."""

    async def enqueue(self, item: NewItem) -> Queued:
        """Queue *item*, or find the queued item of its dedup key.

        Raises ``DedupConflict`` when that one has another payload, ``UnknownScope`` when the scope's
        row is gone, ``StoreUnavailable``.
        """


class EnqueueIn(Protocol[C_contra]):
    """The same, also as part of a transaction of the caller's."""

    async def enqueue(self, item: NewItem, *, connection: C_contra | None = None) -> Queued:
        """As ``Enqueue.enqueue``; with *connection* in the caller's transaction there."""
