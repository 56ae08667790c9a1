"""A response that goes on: events until the reader leaves, its token expires or the server stops."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from treadle.admin.broadcaster import Broadcaster
from treadle.admin.tick import frame

_log = logging.getLogger(__name__)

HEARTBEAT_SECONDS: Final = 15.0
"""How long a stream is silent at most, so that proxies keep it open."""
WRITE_SECONDS: Final = 30.0
"""How long one write may take; a reader that takes nothing for so long is dropped."""
EVENT_SCHEMA: Final = {
    "type": "object",
    "description": "One event. `item` is an item as in the list, `gone` names ids that were deleted, `tick` ends what "
    "was committed together and has the id to resume from, `reload` says why the list has to be read anew, `status` "
    "how the database is, `end` why the stream ends.",
    "properties": {
        "event": {"type": "string", "enum": ["item", "gone", "tick", "reload", "status", "end"]},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}
_RETRY_MILLISECONDS: Final = (1000, 4000)
"""When readers come back after a lost connection: not all at once."""


async def events(
    broadcaster: Broadcaster, *, since: str | None, expires_at: datetime | None
) -> AsyncGenerator[bytes, None]:
    """The frames for one reader."""
    clock = asyncio.get_running_loop().time
    over = clock() + (expires_at - datetime.now(UTC)).total_seconds() if expires_at else float("inf")
    low, high = _RETRY_MILLISECONDS
    yield f": changes of work items\nretry: {low + secrets.randbelow(high - low)}\n\n".encode()
    async with broadcaster.subscribe(since) as reader:
        while True:
            if clock() >= over:
                reader.end("expired")
            chunk = await reader.next(min(HEARTBEAT_SECONDS, max(over - clock(), 0)))
            if chunk:
                yield chunk
            elif clock() < over:
                yield _heartbeat(broadcaster.cursor if reader.admitted else None)
            if reader.ended:
                return


def _heartbeat(cursor: str | None) -> bytes:
    # With the cursor, lest a reader to whom nothing happens comes back with one that is too old.
    return b": still here\n\n" + (frame("tick", "{}", id_=cursor) if cursor else b"")


class EventStream(Response):
    """An event stream, written with a deadline for each write."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes, None], status_code: int = 200) -> None:
        super().__init__(
            status_code=status_code, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        )
        del self.headers["content-length"]
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writing = asyncio.create_task(self._write(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({writing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writing.cancel()
            leaving.cancel()
            (fault, _) = await asyncio.gather(writing, leaving, return_exceptions=True)
        if isinstance(fault, TimeoutError):
            _log.info("a reader of the live view took nothing for %g s and was dropped", WRITE_SECONDS)
        elif isinstance(fault, Exception) and not isinstance(fault, OSError):
            raise fault

    async def _write(self, send: Send) -> None:
        async with aclosing(self._frames) as frames:
            head: Message = {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
            await _within_deadline(send, head)
            async for chunk in frames:
                await _within_deadline(send, {"type": "http.response.body", "body": chunk, "more_body": True})
            await _within_deadline(send, {"type": "http.response.body", "body": b"", "more_body": False})


async def _within_deadline(send: Send, message: Message) -> None:
    async with asyncio.timeout(WRITE_SECONDS):
        await send(message)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
