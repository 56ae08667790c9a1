"""The API process from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import psycopg
import uvicorn
from fastapi import FastAPI

from anichron import schema
from anichron.api.health import health_router
from anichron.settings import ApiSection, Settings
from treadle.errors import TreadleError
from treadle.postgres.client import PostgresClient

_PREFIX: Final = "/api/v1"
_CONNECT_SECONDS: Final = 2
_OPEN_SECONDS: Final = 1.0


class AddressTaken(TreadleError):
    """The API cannot listen where it should."""

    def __init__(self, settings: ApiSection, error: OSError) -> None:
        why = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        super().__init__(
            f"cannot listen on {settings.host} port {settings.port}: {why}; set API__PORT or API__HOST"
        )


def create_app(conninfo: str) -> FastAPI:
    """The application; it connects when it starts and needs no database for that."""
    client = PostgresClient(conninfo)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Waited for only shortly: while the database is away the health has to say so.
        opening = asyncio.create_task(client.__aenter__())
        await asyncio.wait({opening}, timeout=_OPEN_SECONDS)
        yield
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await client.__aexit__(None, None, None)

    app = FastAPI(title="Anichron", lifespan=lifespan)
    app.include_router(health_router(client.inspector), prefix=_PREFIX)
    return app


async def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM.

    Raises ``SchemaMismatch`` for a database of another version and ``AddressTaken``. A database that is away
    is no reason not to start: the health says so.
    """
    config = uvicorn.Config(
        create_app(settings.conninfo), log_config=None, access_log=False, timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    for number in (signal.SIGINT, signal.SIGTERM):
        # Before and after the server's own handlers; it raises the signal again at its end, which would kill us.
        asyncio.get_running_loop().add_signal_handler(number, setattr, server, "should_exit", True)
    with suppress(psycopg.OperationalError):
        connection = await psycopg.AsyncConnection.connect(
            settings.conninfo, connect_timeout=_CONNECT_SECONDS
        )
        async with connection:
            await schema.check(connection)
    with listen(settings.api) as listener:
        await server.serve(sockets=[listener])


def listen(settings: ApiSection) -> socket.socket:
    """A socket that listens where the settings say. Raises ``AddressTaken``."""
    try:
        family, *_, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise AddressTaken(settings, error) from error
