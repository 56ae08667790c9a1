"""The schema `loryth`: how it comes to be, and that it fits the program."""

from __future__ import annotations

from typing import Final

import psycopg

from loryth.database import Database
from treadle.errors import SchemaMismatch
from treadle.postgres import migrate as numbered

PACKAGE: Final = "loryth.migrations"
SCHEMA: Final = "loryth"


def migrate(conninfo: str) -> list[str]:
    """Bring the schema up to this version; what was applied now, as ``schema/name``.

    Raises ``SchemaMismatch`` for a newer database, ``StoreUnavailable``.
    """
    return [f"{SCHEMA}/{name}" for name in numbered.migrate(conninfo, package=PACKAGE, schema=SCHEMA)]


def check(database: Database) -> None:
    """Raise ``SchemaMismatch`` unless the schema is the one that this version works with."""
    known = max(migration.version for migration in numbered.migrations(PACKAGE))
    current = _version(database)
    if current < known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current} and {known} is needed; run `loryth migrate`"
        )
    if current > known:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {current}, newer than the {known} this program knows; "
            "upgrade the program"
        )


def _version(database: Database) -> int:
    try:
        with database.transaction() as connection:
            row = connection.execute("select max(version) from loryth.migrations").fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return 0
    return (row and row[0]) or 0
