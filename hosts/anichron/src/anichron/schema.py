"""The database's schemas: the queue's, and Anichron's own on top of it."""

from __future__ import annotations

from typing import Final

import psycopg

from anichron.database import Database
from treadle.errors import SchemaMismatch
from treadle.postgres import migrate as queue

PACKAGE: Final = "anichron.migrations"
SCHEMA: Final = "anichron"


def migrate(conninfo: str) -> list[str]:
    """Bring both schemas up to this version; what was applied now, as ``schema/name``.

    Raises ``SchemaMismatch`` for a newer database, ``StoreUnavailable``.
    """
    applied = [f"{queue.SCHEMA}/{name}" for name in queue.migrate(conninfo)]
    applied += [f"{SCHEMA}/{name}" for name in queue.migrate(conninfo, package=PACKAGE, schema=SCHEMA)]
    return applied


async def check(database: Database) -> None:
    """Raise ``SchemaMismatch`` unless Anichron's schema is the one that this version works with."""
    known = max(migration.version for migration in queue.migrations(PACKAGE))
    try:
        async with database.connection() as connection:
            cursor = await connection.execute("select coalesce(max(version), 0) from anichron.migrations")
            row = await cursor.fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        row = None
    current = int(row[0]) if row else 0
    if current < known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current} and {known} is needed; run `anichron migrate`"
        )
    if current > known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current}, newer than the {known} this program knows; "
            "upgrade the program"
        )
