"""A live port under a test's eyes: it counts the looks, and fails when told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime

from tests.admin.sse import View
from tests.worker.virtual_time import now
from treadle.admin.broadcaster import Broadcaster
from treadle.admin.stream import events
from treadle.errors import StoreUnavailable
from treadle.memory import MemoryStore
from treadle.ports.live import Changes, Lost


class WatchedLive:
    """The live port of a memory store."""

    def __init__(self, store: MemoryStore) -> None:
        self._live = store.live
        self.looks: list[tuple[float, str | None]] = []
        """When was asked, and since which cursor."""
        self.away = False
        self.lose: Lost | None = None
        """What the next look since a cursor says."""

    async def cursor(self) -> str:
        return await self._live.cursor()

    async def changes(self, since: str | None) -> Changes:
        self.looks.append((now(), since))
        if self.away:
            raise StoreUnavailable("away")
        changes = await self._live.changes(since)
        if self.lose and since is not None:
            lost, self.lose = self.lose, None
            return replace(changes, changed=(), gone=(), lost=lost)
        return changes


@asynccontextmanager
async def following(
    broadcaster: Broadcaster, cursor: str | None = None, *, expires_at: datetime | None = None
) -> AsyncIterator[View]:
    """A view that reads all that comes, until it is left, which is a lost connection."""
    view = View(cursor)

    async def read() -> None:
        async for chunk in events(broadcaster, since=cursor, expires_at=expires_at):
            view.feed(chunk)

    reading = asyncio.create_task(read())
    try:
        yield view
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
