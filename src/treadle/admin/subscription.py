"""One reader's place in the stream."""

from __future__ import annotations

import asyncio

from treadle.admin.tick import Tick, said


class Subscription:
    """What a reader was not given yet: a slow one gets the latest of each item, or is told to read anew."""

    def __init__(self, since: str | None) -> None:
        self.since = since
        self.admitted = False
        """Whether it has all that it missed, so that it can be given what comes."""
        self._waiting: list[Tick] = []
        self._notices: dict[str, bytes] = {}
        self._end: bytes | None = None
        self._something = asyncio.Event()

    def put(self, tick: Tick) -> None:
        """Give a tick. It is shared by all readers, so a reader that keeps up costs nothing but its place."""
        self._waiting.append(tick)
        if len(self._waiting) > 2:
            first, *rest = self._waiting
            for later in rest:
                first = first.then(later)
            self._waiting = [first]
        self._something.set()

    def tell_status(self, database: str) -> None:
        """Say how the database is; only the latest such word counts."""
        self._notices["status"] = said("status", database=database)
        self._something.set()

    def end(self, reason: str) -> None:
        """Have the stream end, at once: what was not given yet is had by resuming."""
        self._end = self._end or said("end", reason=reason)
        self._something.set()

    @property
    def ended(self) -> bool:
        return self._end is not None

    async def next(self, seconds: float) -> bytes:
        """What there is to write, as soon as there is any; nothing after *seconds*."""
        try:
            async with asyncio.timeout(seconds):
                await self._something.wait()
        except TimeoutError:
            if not self._something.is_set():
                return b""
        self._something.clear()
        if self._end is not None:
            return self._end
        notices, self._notices = self._notices, {}
        waiting, self._waiting = self._waiting, []
        return b"".join([*notices.values(), *(tick.body for tick in waiting)])
