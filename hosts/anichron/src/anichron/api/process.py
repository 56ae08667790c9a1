"""The API process from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final

import psycopg
import uvicorn
from fastapi import FastAPI

from anichron import schema
from anichron.api.auth import auth_router
from anichron.api.folders import folders_router
from anichron.api.guard import require_admin, require_user
from anichron.api.health import health_router
from anichron.api.problems import answer_with_problems
from anichron.api.users import users_router
from anichron.auth.access import AccessTokens
from anichron.auth.first_admin import ensure_admin
from anichron.auth.sessions import Sessions
from anichron.auth.sign_in import SignIn
from anichron.auth.throttle import Throttle
from anichron.database import Database
from anichron.identity.configs import StorageConfigs
from anichron.identity.passwords import Passwords
from anichron.identity.users import Users
from anichron.kinds import Kind
from anichron.settings import ApiSection, Settings
from treadle.admin import admin_router
from treadle.admin.view import admin_view
from treadle.errors import TreadleError
from treadle.postgres.client import PostgresClient

_log = logging.getLogger(__name__)

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


def create_app(conninfo: str, settings: ApiSection | None = None) -> FastAPI:
    """The application; it connects when it starts and needs no database for that."""
    settings = settings or ApiSection()
    client = PostgresClient(conninfo)
    database = Database(conninfo)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Waited for only shortly: while the database is away the health has to say so.
        opening = asyncio.create_task(client.__aenter__())
        async with database:
            await asyncio.wait({opening}, timeout=_OPEN_SECONDS)
            yield
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        await client.__aexit__(None, None, None)

    # Without the pages of documentation: they run scripts of other sites where the view keeps its tokens.
    app = FastAPI(
        title="Anichron",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{_PREFIX}/openapi.json",
    )
    answer_with_problems(app)
    passwords = Passwords()
    users = Users(database, passwords)
    sign_in = _sign_in(settings, database, users, passwords)
    user = require_user(sign_in)
    admin = require_admin(user)
    app.include_router(health_router(client.inspector), prefix=_PREFIX)
    app.include_router(auth_router(sign_in, user), prefix=_PREFIX)
    app.include_router(users_router(users, admin), prefix=_PREFIX)
    app.include_router(folders_router(StorageConfigs(database), admin), prefix=_PREFIX)
    app.include_router(
        admin_router(
            client, require_admin=admin, kinds=list(Kind), live_interval=settings.live_interval_seconds
        )
    )
    app.mount("/admin", admin_view(title="Anichron"))
    return app


def _sign_in(settings: ApiSection, database: Database, users: Users, passwords: Passwords) -> SignIn:
    return SignIn(
        users,
        passwords,
        Sessions(database, life=timedelta(days=settings.refresh_token_days)),
        AccessTokens(
            database,
            key=settings.secret_key.get_secret_value(),
            life=timedelta(minutes=settings.access_token_minutes),
        ),
        Throttle(database),
    )


async def serve(settings: Settings, *, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; *say* is told the password of a first admin, this once.

    Raises ``SchemaMismatch`` for a database of another version and ``AddressTaken``. A database that is away
    is no reason not to start: the health says so.
    """
    config = uvicorn.Config(
        create_app(settings.conninfo, settings.api),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
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
        async with Database(settings.conninfo) as database:
            await _make_first_admin(database, say)
    with listen(settings.api) as listener:
        await server.serve(sockets=[listener])


async def _make_first_admin(database: Database, say: Callable[[str], None]) -> None:
    try:
        await ensure_admin(Users(database), say)
    except TreadleError as error:
        _log.warning("%s", error)


def listen(settings: ApiSection) -> socket.socket:
    """A socket that listens where the settings say. Raises ``AddressTaken``."""
    try:
        family, *_, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise AddressTaken(settings, error) from error
