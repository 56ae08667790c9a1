"""Anichron's own schema, and what ties it to the queue's."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from anichron import schema
from treadle.errors import SchemaMismatch


def test_an_empty_database_gets_both_schemas_and_then_nothing(empty_dsn: str) -> None:
    applied = schema.migrate(empty_dsn)
    assert applied[0] == "treadle/work_items"
    assert "anichron/identity" in applied
    assert schema.migrate(empty_dsn) == []


def test_processes_that_start_together_migrate_once(empty_dsn: str) -> None:
    with ThreadPoolExecutor(4) as starters:
        applied = [name for names in starters.map(schema.migrate, [empty_dsn] * 4) for name in names]
    assert len(applied) == len(set(applied))
    assert {"treadle/work_items", "anichron/identity"} <= set(applied)


def test_every_table_and_column_is_explained(anichron_dsn: str) -> None:
    with psycopg.connect(anichron_dsn) as connection:
        bare = connection.execute(
            "select c.relname, a.attname from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'anichron'"
            " join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
            " where c.relkind = 'r' and c.relname <> 'migrations'"
            " and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)"
        ).fetchall()
    assert bare == []


def test_a_root_has_one_owner_and_its_items_go_with_it(anichron_dsn: str) -> None:
    with psycopg.connect(anichron_dsn, autocommit=True) as connection:
        people = connection.execute(
            "insert into anichron.users (username, password_hash) values ('ada', 'x'), ('bob', 'x') returning id"
        ).fetchall()
        insert = "insert into anichron.storage_configs (user_id, root_path) values (%s, %s) returning id"
        config = connection.execute(insert, [people[0][0], "/photos"]).fetchone()
        assert config is not None
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute(insert, [people[1][0], "/photos"])
        item = "insert into treadle.work_items (kind, scope_id) values ('crawl', %s)"
        connection.execute(item, [config[0]])
        connection.execute(item, [None])
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            connection.execute(item, [people[0][0]])
        connection.execute("delete from anichron.users where username = 'ada'")
        left = connection.execute("select scope_id from treadle.work_items").fetchall()
    assert left == [(None,)]


async def test_a_schema_of_another_version_is_refused_either_way(empty_dsn: str, anichron_dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_dsn) as connection:
        with pytest.raises(SchemaMismatch, match="treadle migrate"):
            await schema.check(connection)
    async with await psycopg.AsyncConnection.connect(anichron_dsn, autocommit=True) as connection:
        await schema.check(connection)
        await connection.execute("insert into anichron.migrations (version, name) values (9999, 'later')")
        with pytest.raises(SchemaMismatch, match="upgrade the program"):
            await schema.check(connection)
        await connection.execute("truncate anichron.migrations")
        with pytest.raises(SchemaMismatch, match="anichron migrate"):
            await schema.check(connection)
