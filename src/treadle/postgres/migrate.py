"""Numbered SQL files, applied once each and in order; hosts bring their own the same way."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import LiteralString

import psycopg
from psycopg import sql

from treadle.errors import SchemaMismatch, StoreUnavailable

PACKAGE = "treadle.postgres.migrations"
SCHEMA = "treadle"


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: ``0001_work_items.sql``."""

    version: int
    name: str
    text: LiteralString


def migrations(package: str = PACKAGE) -> list[Migration]:
    """The migrations that *package* holds, in order."""
    found = []
    for file in files(package).iterdir():
        number, _, rest = file.name.partition("_")
        if file.name.endswith(".sql") and number.isdigit():
            found.append(Migration(int(number), rest.removesuffix(".sql"), file.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def migrate(conninfo: str, *, package: str = PACKAGE, schema: str = SCHEMA) -> list[str]:
    """Bring *schema* up to the newest migration of *package*; the names of those applied now.

    All or nothing, and safe when several processes start at once: the others wait, then find nothing
    to do. Raises ``SchemaMismatch`` when the database is newer, ``StoreUnavailable`` when it is away.
    """
    try:
        connection = psycopg.connect(conninfo, prepare_threshold=None)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"the database cannot be reached: {str(error).strip()}") from error
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    with connection:
        connection.execute(
            "select pg_advisory_xact_lock(hashtext('treadle.migrate'), hashtext(%s))", [schema]
        )
        _prepare(connection, schema)
        current = _version(connection, schema)
        known = migrations(package)
        _refuse_newer(current, known, schema)
        applied = [migration for migration in known if migration.version > current]
        for migration in applied:
            connection.execute(migration.text)
            connection.execute(
                sql.SQL("insert into {}.migrations (version, name) values (%s, %s)").format(
                    sql.Identifier(schema)
                ),
                [migration.version, migration.name],
            )
    return [migration.name for migration in applied]


CHECK = "select max(version) from treadle.migrations"


def refuse_other_version(version: int | None) -> None:
    """Raise ``SchemaMismatch`` unless *version* is the newest that this library knows."""
    known = migrations()
    _refuse_newer(version or 0, known, SCHEMA)
    if (version or 0) < known[-1].version:
        raise SchemaMismatch(
            f"the database's schema {SCHEMA} is at version {version or 0} and {known[-1].version} is needed; "
            "run `treadle migrate`"
        )


def _prepare(connection: psycopg.Connection, schema: str) -> None:
    names = {"schema": sql.Identifier(schema)}
    connection.execute(sql.SQL("create schema if not exists {schema}").format(**names))
    connection.execute(
        sql.SQL(
            "create table if not exists {schema}.migrations ("
            "version integer primary key, name text not null,"
            " applied_at timestamptz not null default clock_timestamp())"
        ).format(**names)
    )
    connection.execute(
        sql.SQL(
            "comment on table {schema}.migrations is 'The numbered migrations applied to this schema.'"
        ).format(**names)
    )


def _version(connection: psycopg.Connection, schema: str) -> int:
    query = sql.SQL("select coalesce(max(version), 0) from {}.migrations").format(sql.Identifier(schema))
    row: tuple[int] | None = connection.execute(query).fetchone()
    return row[0] if row else 0


def _refuse_newer(current: int, known: list[Migration], schema: str) -> None:
    newest = known[-1].version if known else 0
    if current > newest:
        raise SchemaMismatch(
            f"the database's schema {schema} is at version {current}, newer than the {newest} this program knows; "
            "upgrade the program"
        )
