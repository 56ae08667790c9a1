"""How an application asks for work."""

from __future__ import annotations

from typing import Generic, TypeVar
from uuid import UUID

from treadle.domain.item import Queued
from treadle.domain.payload import WorkPayload
from treadle.domain.registry import Registry
from treadle.ports.enqueue import EnqueueIn

C = TypeVar("C")


class WorkQueue(Generic[C]):
    """Queues typed payloads: ``await queue.enqueue(Resize(photo_id=...), requested_by="ada")``.

    *store* is the ``queue`` of a store or client; *C* is the type of its connections.
    """

    def __init__(self, registry: Registry, store: EnqueueIn[C]) -> None:
        self._registry = registry
        self._store = store

    async def enqueue(
        self,
        payload: WorkPayload,
        *,
        scope: UUID | None = None,
        requested_by: str | None = None,
        connection: C | None = None,
    ) -> Queued:
        """Ask for the work of *payload*; says which item will do it and whether that was waiting already.

        With *connection* the request is part of the caller's transaction there: nothing is queued
        unless it commits. A waiting item that the request coalesces into is then held until the
        transaction ends, so that its run sees what the caller changed.

        Raises ``PayloadError``, ``DedupConflict``, ``UnknownScope`` and ``StoreUnavailable``.
        """
        item = self._registry.new_item(payload, scope_id=scope, requested_by=requested_by)
        return await self._store.enqueue(item, connection=connection)
