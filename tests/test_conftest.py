"""The fixtures that every test stands on."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from treadle.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[1]


def has_work_items(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        return connection.execute("select to_regclass('treadle.work_items') is not null").fetchone() == (
            True,
        )


def test_a_database_comes_with_the_schema(dsn: str) -> None:
    assert has_work_items(dsn)


def test_an_empty_database_comes_with_nothing(empty_dsn: str) -> None:
    assert not has_work_items(empty_dsn)


INNER = """
import psycopg

def test_first(dsn):
    with psycopg.connect(dsn) as connection:
        connection.execute("create table treadle.left_behind ()")
    psycopg.connect(dsn)  # a connection that is still open does not keep the database

def test_second(dsn):
    with psycopg.connect(dsn) as connection:
        assert connection.execute("select to_regclass('treadle.left_behind')").fetchone() == (None,)
"""


def run(tests: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "-q",
        *arguments,
        str(tests),
    ]
    path = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "src")))}
    return subprocess.run(
        command,
        cwd=tests.parent,
        env=os.environ | path | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.timeout(180)  # four processes of Python at once
def test_every_test_has_its_own_database_on_a_given_server_and_none_is_left(
    folder: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "test_inner.py"
    inner.write_text(INNER)
    with EmbeddedPostgres(folder, fsync=False) as given:
        done = run(inner, "-n", "2", TREADLE_TEST_DSN=given.dsn)
        with psycopg.connect(given.dsn) as connection:
            left = connection.execute("select datname from pg_database order by 1").fetchall()
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert left == [("postgres",), ("template0",), ("template1",)]


@pytest.mark.timeout(180)
def test_a_skipped_test_fails_the_run_where_every_test_has_to_run(tmp_path: Path) -> None:
    inner = tmp_path / "test_inner.py"
    inner.write_text("import pytest\n\ndef test_passes(): pass\n\ndef test_needs(photos): pass\n")
    lenient = run(inner, TREADLE_NO_SKIPS="", TREADLE_PHOTOS="")
    assert lenient.returncode == pytest.ExitCode.OK
    assert "1 passed, 1 skipped" in lenient.stdout
    strict = run(inner, TREADLE_NO_SKIPS="1", TREADLE_PHOTOS="")
    assert strict.returncode == pytest.ExitCode.TESTS_FAILED
    assert "test_inner.py::test_needs" in strict.stdout
