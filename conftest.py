"""The fixtures of every test in the repository: a server, a fresh database for each test, and real photos."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from treadle.embedded import EmbeddedPostgres

FAST = {"synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Connection string of a server that tests may make databases on.

    It is the one `TREADLE_TEST_DSN` names, or else an embedded server of this test process's own.
    """
    if given := os.environ.get("TREADLE_TEST_DSN"):
        yield given
        return
    with _open_folder() as place, EmbeddedPostgres(place, fsync=False, settings=FAST) as embedded:
        yield embedded.dsn


@pytest.fixture(scope="session")
def migrated(server: str) -> Iterator[str]:
    """Name of a database with the library's schema, which is only ever copied from."""
    from treadle.postgres.migrate import migrate

    with _database(server) as dsn:
        migrate(dsn)
        yield str(conninfo_to_dict(dsn)["dbname"])


@pytest.fixture
def dsn(server: str, migrated: str) -> Iterator[str]:
    """Connection string of a database of the test's own, with the library's schema."""
    with _database(server, template=migrated) as fresh:
        yield fresh


@pytest.fixture
def empty_dsn(server: str) -> Iterator[str]:
    """Connection string of a database of the test's own, with nothing in it."""
    with _database(server) as fresh:
        yield fresh


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder for a server; pytest's own are closed to the user that a server runs as under root."""
    with _open_folder() as made:
        yield made


@pytest.fixture(scope="session")
def photos() -> Path:
    """The folder of real photos, or the test is skipped."""
    folder = os.environ.get("TREADLE_PHOTOS")
    if not folder:
        pytest.skip("TREADLE_PHOTOS names no folder of real photos")
    if not Path(folder).is_dir():
        pytest.fail(f"TREADLE_PHOTOS is {folder}, which is no folder")
    return Path(folder)


@contextmanager
def _open_folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="treadle-test-"))
    made.chmod(0o711)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@contextmanager
def _database(server: str, *, template: str = "template0") -> Iterator[str]:
    name = f"treadle_test_{token_hex(6)}"
    identifiers = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("create database {name} template {template} encoding 'UTF8' strategy file_copy").format(
                **identifiers
            )
        )
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            admin.execute(sql.SQL("drop database {name} with (force)").format(**identifiers))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if skipped := _forbidden_skips(terminalreporter):
        terminalreporter.section("skipped, which TREADLE_NO_SKIPS makes a failure", red=True)
        for report in skipped:
            terminalreporter.line(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session that skipped a test where every test has to run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _forbidden_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _forbidden_skips(reporter: pytest.TerminalReporter) -> list[pytest.TestReport]:
    return reporter.stats.get("skipped", []) if os.environ.get("TREADLE_NO_SKIPS") == "1" else []
