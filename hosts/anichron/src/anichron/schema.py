"""The database's schemas: the queue's, and Anichron's own on top of it."""

from __future__ import annotations

from typing import Final, LiteralString

import psycopg

from anichron.database import Connection
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


async def check(connection: Connection) -> None:
    """Raise ``SchemaMismatch`` unless both schemas are those that this version works with."""
    queue.refuse_other_version(await _version(connection, queue.CHECK))
    known = max(migration.version for migration in queue.migrations(PACKAGE))
    current = await _version(connection, "select max(version) from anichron.migrations") or 0
    if current < known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current} and {known} is needed; run `anichron migrate`"
        )
    if current > known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current}, newer than the {known} this program knows; "
            "upgrade the program"
        )


async def _version(connection: Connection, query: LiteralString) -> int | None:
    try:
        async with connection.transaction():
            row = await (await connection.execute(query)).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return None
    return row[0] if row else None
