"""Migrations: on empty and older databases, by many processes at once, for hosts, and never half."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from treadle.errors import SchemaMismatch, StoreUnavailable
from treadle.postgres.migrate import migrate, migrations

NAMES = [migration.name for migration in migrations()]


def versions(dsn: str, schema: str = "treadle") -> list[int]:
    with psycopg.connect(dsn) as connection:
        query = f"select version from {schema}.migrations order by version"
        return [row[0] for row in connection.execute(query.encode()).fetchall()]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package ``hosted`` with no migrations yet."""
    package = tmp_path / "hosted"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hosted", raising=False)
    return package


def hosted(dsn: str) -> list[str]:
    return migrate(dsn, package="hosted", schema="hosted")


def test_versions_are_numbered_without_a_gap() -> None:
    assert [migration.version for migration in migrations()] == list(range(1, len(NAMES) + 1))


def test_an_empty_database_gets_all_and_a_second_run_nothing(empty_dsn: str) -> None:
    assert migrate(empty_dsn) == NAMES
    assert migrate(empty_dsn) == []
    assert versions(empty_dsn) == list(range(1, len(NAMES) + 1))


@pytest.mark.parametrize("older", range(1, len(NAMES)))
def test_an_older_database_gets_what_is_missing_and_keeps_its_items(empty_dsn: str, older: int) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as connection:
        connection.execute("create schema treadle")
        connection.execute(
            "create table treadle.migrations (version integer primary key, name text not null,"
            " applied_at timestamptz not null default clock_timestamp())"
        )
        for migration in migrations()[:older]:
            connection.execute(migration.text)
            connection.execute(
                "insert into treadle.migrations (version, name) values (%s, %s)",
                [migration.version, migration.name],
            )
        connection.execute("insert into treadle.work_items (kind) values ('kept')")

    assert migrate(empty_dsn) == NAMES[older:]

    with psycopg.connect(empty_dsn) as connection:
        assert connection.execute("select kind from treadle.work_items").fetchall() == [("kept",)]


def test_processes_that_start_at_once_apply_each_migration_once(empty_dsn: str) -> None:
    code = "import sys; from treadle.postgres.migrate import migrate; print(*migrate(sys.argv[1]))"
    starters = [
        subprocess.Popen([sys.executable, "-c", code, empty_dsn], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    printed = [starter.communicate(timeout=50)[0].split() for starter in starters]

    assert [starter.returncode for starter in starters] == [0, 0, 0, 0]
    assert sorted(printed) == [[], [], [], NAMES]


def test_a_newer_database_is_refused_and_left_alone(empty_dsn: str) -> None:
    migrate(empty_dsn)
    with psycopg.connect(empty_dsn) as connection:
        connection.execute("insert into treadle.migrations (version, name) values (999, 'future')")

    with pytest.raises(SchemaMismatch, match=r"version 999.*upgrade the program"):
        migrate(empty_dsn)


def test_a_database_that_is_away_is_told_in_one_line() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        migrate("postgresql://nobody@127.0.0.1:1/nothing")


def test_a_host_brings_its_own_in_the_order_of_their_numbers(host: Path, dsn: str) -> None:
    (host / "0010_second.sql").write_text("alter table hosted.things add colour text;")
    (host / "0002_first.sql").write_text("create table hosted.things (id uuid primary key);")
    (host / "notes.sql").write_text("this is no migration")

    assert hosted(dsn) == ["first", "second"]
    assert versions(dsn, "hosted") == [2, 10]


def test_a_migration_that_fails_takes_those_before_it_along(host: Path, dsn: str) -> None:
    (host / "0001_good.sql").write_text("create table hosted.things (id uuid primary key);")
    (host / "0002_bad.sql").write_text("alter table hosted.nothing add colour text;")

    with pytest.raises(psycopg.errors.UndefinedTable):
        hosted(dsn)

    (host / "0002_bad.sql").unlink()
    assert hosted(dsn) == ["good"]


@pytest.mark.parametrize(
    "settings", [["-c", "default_transaction_isolation=serializable"], ["-c", "search_path=pg_catalog"]]
)
def test_settings_of_the_session_change_nothing(empty_dsn: str, settings: Sequence[str]) -> None:
    assert migrate(psycopg.conninfo.make_conninfo(empty_dsn, options=" ".join(settings))) == NAMES
