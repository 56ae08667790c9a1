"""The small example application as a real process, and a browser-like reader of its stream."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.admin.sse import Event, Parser

EXAMPLE = Path(__file__).parents[2] / "examples" / "mini_host"
TOKEN = "a-fixed-token"
SIGNED_IN = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True)
class Served:
    """A process that serves at *url*."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def serving(dsn: str, log: Path) -> Iterator[Served]:
    """Serve the example on *dsn*. The socket is made here, so that nothing has to be waited for but an answer."""
    environment = {**os.environ, "DATABASE_URL": dsn, "ADMIN_TOKEN": TOKEN}
    with socket.create_server(("127.0.0.1", 0)) as listener, log.open("wb") as output:
        number = listener.fileno()
        command = [sys.executable, "-m", "uvicorn", "app:app", "--app-dir", str(EXAMPLE), "--fd", str(number)]
        process = subprocess.Popen(
            command, env=environment, pass_fds=[number], stdout=output, stderr=subprocess.STDOUT
        )
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield Served(url, process)
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def streaming(
    client: httpx.AsyncClient, path: str, *, last_event_id: str | None = None, since: str | None = None
) -> AsyncIterator[AsyncIterator[Event]]:
    """The events of a stream, as a page reads them."""
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    params = {"since": since} if since else {}
    async with client.stream("GET", path, headers=headers, params=params, timeout=60) as answer:
        assert answer.status_code == 200
        parser = Parser()

        async def read() -> AsyncIterator[Event]:
            async for chunk in answer.aiter_bytes():
                for event in parser.feed(chunk):
                    yield event

        yield read()
