"""One look at the store per interval, for any number of readers."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final
from uuid import UUID

from treadle.admin.server import server_is_stopping
from treadle.admin.shapes import item_shape
from treadle.admin.subscription import Subscription
from treadle.admin.tick import Tick, frame
from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.ports.live import Changes, Live

_log = logging.getLogger(__name__)

REMEMBERED: Final = 150
"""How many ticks a reader may have missed and still be served from memory: five minutes' worth."""
REMEMBERED_BYTES: Final = 16_000_000
_STOP_LOOK: Final = 0.25


class Broadcaster:
    """Looks every *interval* seconds while there are readers, and gives each what changed.

    A reader that resumes is served from memory, or from a look of its own when its cursor is older.
    While the database is away the readers stay, and get all of it when it is back.
    """

    def __init__(self, live: Live, *, interval: float) -> None:
        self._live = live
        self._interval = interval
        self._readers: set[Subscription] = set()
        self._ring: deque[Tick] = deque()
        self._known: dict[UUID, WorkItem] = {}
        self._buried: frozenset[UUID] = frozenset()
        self._away = False
        self._arrival = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = False

    @property
    def cursor(self) -> str | None:
        """Up to where every admitted reader was given all; None before the first look."""
        return self._ring[-1].cursor if self._ring else None

    @asynccontextmanager
    async def subscribe(self, since: str | None) -> AsyncIterator[Subscription]:
        """A reader's subscription, to what has changed since the cursor *since* or else from now on."""
        reader = Subscription(since)
        if self._stopped or server_is_stopping():
            reader.end("shutdown")
        if self._away:
            reader.tell_status("away")
        self._readers.add(reader)
        if not self._tasks:
            self._arrival = asyncio.Event()
            self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._watch_server())]
        self._arrival.set()
        try:
            yield reader
        finally:
            self._readers.discard(reader)
            if not self._readers:
                self._rest()

    def stop(self) -> None:
        """End every stream, and those that are still opened, so that the server can stop."""
        self._stopped = True
        self._end_all()

    def _end_all(self) -> None:
        for reader in self._readers:
            reader.end("shutdown")

    def _rest(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        # What is remembered grows stale without looks, and costs memory.
        self._ring.clear()
        self._known.clear()
        self._away = False

    async def _run(self) -> None:
        clock = asyncio.get_running_loop().time
        due = clock()
        while True:
            self._arrival.clear()
            try:
                if clock() >= due:
                    due = clock() + self._interval
                    await self._look()
                if not self._away:
                    await self._admit()
            except StoreUnavailable as error:
                self._set_away(str(error))
            except Exception:  # noqa: BLE001 - whatever it was, another try serves the readers better than silence
                _log.exception("a look for the live view failed")
                self._set_away("see the traceback above")
            with suppress(TimeoutError):
                async with asyncio.timeout(max(due - clock(), 0)):
                    await self._arrival.wait()

    async def _watch_server(self) -> None:
        while not server_is_stopping():  # noqa: ASYNC110 - it is a flag of somebody else's
            await asyncio.sleep(_STOP_LOOK)
        self._end_all()

    async def _look(self) -> None:
        changes = await self._live.changes(self.cursor)
        tick = self._tick(changes)
        if changes.lost:
            self._ring.clear()
        if self._away:
            self._set_back()
        self._remember(tick)
        if not tick.empty:
            for reader in self._readers:
                if reader.admitted:
                    reader.put(tick)

    def _tick(self, changes: Changes) -> Tick:
        """What is new to those who were given all ticks so far."""
        running = {item.id: item for item in changes.running}
        now = running | {item.id: item for item in changes.changed}
        new = [item for item in now.values() if self._known.get(item.id) != item]
        gone = set(changes.gone) - self._buried
        if not changes.running_cut:
            gone |= {id_ for id_, item in self._known.items() if item.status is Status.RUNNING}
        # Those that run, for their progress; those that changed, because a standby tells them again and again.
        self._known, self._buried = now, frozenset(changes.gone)
        if changes.lost:
            return Tick(changes.cursor, reload=changes.lost)
        return Tick(changes.cursor, _frames(new), gone - now.keys())

    def _remember(self, tick: Tick) -> None:
        self._ring.append(tick)
        while len(self._ring) > 1 and (
            len(self._ring) > REMEMBERED or sum(tick.weight for tick in self._ring) > REMEMBERED_BYTES
        ):
            self._ring.popleft()

    async def _admit(self) -> None:
        """Give each new reader what it missed; from then on it is given every tick."""
        arrived = [reader for reader in self._readers if not reader.admitted]
        for since in {reader.since for reader in arrived}:
            missed = await self._missed(since)
            for reader in arrived:
                if reader.since == since:
                    reader.put(missed)
                    reader.admitted = True

    async def _missed(self, since: str | None) -> Tick:
        cursor = self.cursor
        if cursor is None:
            raise StoreUnavailable("there was no look yet")
        if since is None:
            return Tick(cursor)
        if (missed := self._remembered(since)) is not None:
            return missed
        changes = await self._live.changes(since)
        if changes.lost:
            return Tick(changes.cursor, reload=changes.lost)
        return Tick(changes.cursor, _frames([*changes.running, *changes.changed]), frozenset(changes.gone))

    def _remembered(self, since: str) -> Tick | None:
        missed: list[Tick] = []
        for tick in reversed(self._ring):
            if tick.cursor == since:
                whole = Tick(since)
                for later in reversed(missed):
                    whole = whole.then(later)
                return whole
            missed.append(tick)
        return None

    def _set_away(self, why: str) -> None:
        if not self._away:
            _log.warning("the live view waits for the database: %s", why)
            self._away = True
            for reader in self._readers:
                reader.tell_status("away")

    def _set_back(self) -> None:
        _log.info("the live view has the database again")
        self._away = False
        for reader in self._readers:
            reader.tell_status("back")


def _frames(items: Iterable[WorkItem]) -> dict[UUID, bytes]:
    return {item.id: frame("item", item_shape(item).model_dump_json()) for item in items}
