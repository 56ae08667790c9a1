"""Which database a command talks to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, TypeVar

import psycopg
import typer
from psycopg.conninfo import conninfo_to_dict

from treadle.errors import SettingsError
from treadle.postgres import PostgresStore

T = TypeVar("T")

_CONNECT_SECONDS: Final = 5

Dsn = Annotated[
    str,
    typer.Option(
        "--dsn",
        envvar="DATABASE_URL",
        show_default=False,
        help="The database, as postgresql://user:password@host:5432/name.",
    ),
]


def checked(dsn: str) -> str:
    """*dsn*, or ``SettingsError`` when there is none or it cannot be read; never repeats it."""
    if not dsn:
        raise SettingsError("no database is named: set DATABASE_URL or give --dsn")
    try:
        conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise SettingsError(
            "DATABASE_URL (or --dsn) cannot be read: give postgresql://user:password@host:5432/name"
        ) from None
    return dsn


def with_store(dsn: str, work: Callable[[PostgresStore], Coroutine[Any, Any, T]]) -> T:
    """What *work* answers, given an open store on *dsn*."""
    # A store waits for a server that is away; a person wants to know at once, and why.
    with psycopg.connect(checked(dsn), connect_timeout=_CONNECT_SECONDS):
        pass
    logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

    async def opened() -> T:
        async with PostgresStore(dsn) as store:
            return await work(store)

    return asyncio.run(opened())
