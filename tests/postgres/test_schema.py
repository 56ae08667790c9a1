"""docs/schema.sql shows the schema that the migrations lead to."""

from __future__ import annotations

import psycopg

from docs.schema import PAGE, dump


def test_the_schema_page_is_current(dsn: str) -> None:
    assert PAGE.read_text("utf-8") == dump(dsn), "docs/schema.sql is out of date: run `make schema`"


def test_every_column_and_function_says_what_it_is(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        silent = connection.execute(
            """
            select attrelid::regclass || '.' || attname from pg_attribute
            where attrelid in ('treadle.work_items'::regclass, 'treadle.item_events'::regclass,
                               'treadle.workers'::regclass, 'treadle.tombstones'::regclass,
                               'treadle.cron_keys'::regclass)
              and attnum > 0 and not attisdropped and col_description(attrelid, attnum) is null
            union all
            select oid::regprocedure::text from pg_proc
            where pronamespace = 'treadle'::regnamespace and obj_description(oid, 'pg_proc') is null
            """
        ).fetchall()
    assert silent == []
