"""The schema `loryth`."""

import psycopg
import pytest

from loryth import schema
from loryth.database import Database
from treadle.errors import SchemaMismatch


def test_an_empty_database_gets_the_schema_and_then_nothing(empty_dsn: str) -> None:
    assert schema.migrate(empty_dsn) == ["loryth/platform", "loryth/outbox"]
    assert schema.migrate(empty_dsn) == []


def test_every_table_and_column_is_explained(loryth_dsn: str) -> None:
    with psycopg.connect(loryth_dsn) as connection:
        bare = connection.execute(
            "select c.relname, a.attname from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'loryth'"
            " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
            " where c.relkind = 'r' and c.relname <> 'migrations'"
            " and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)"
        ).fetchall()
    assert bare == []


def test_a_schema_of_another_version_is_refused_either_way(empty_dsn: str) -> None:
    with Database(empty_dsn) as database:
        with pytest.raises(SchemaMismatch, match="loryth migrate"):
            schema.check(database)
        schema.migrate(empty_dsn)
        schema.check(database)
        with database.transaction() as connection:
            connection.execute("insert into loryth.migrations (version, name) values (9999, 'later')")
        with pytest.raises(SchemaMismatch, match="upgrade the program"):
            schema.check(database)
