"""Fixtures: a database, a way to look into it, and a way to start workers that leaves none behind."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.process.harness import Observer, WorkerProcess
from treadle.embedded import EmbeddedPostgres
from treadle.postgres.migrate import migrate


class Start(Protocol):
    """Start a worker; the options are those of the host."""

    def __call__(self, name: str = "w1", *, clock: str = "", **options: object) -> WorkerProcess: ...


@pytest.fixture
def db(dsn: str) -> Iterator[Observer]:
    observer = Observer(dsn)
    yield observer
    observer.close()


@pytest.fixture
def start(dsn: str, tmp_path: Path) -> Iterator[Start]:
    with ExitStack() as stack:
        yield starter(dsn, tmp_path, stack)


def starter(dsn: str, folder: Path, stack: ExitStack) -> Start:
    def start(name: str = "w1", *, clock: str = "", **options: object) -> WorkerProcess:
        given = {"name": name, "dsn": dsn, "effects_dsn": dsn} | options
        return stack.enter_context(WorkerProcess(folder, given, clock=clock))

    return start


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    """A migrated server that belongs to the test alone, which may do to it what it likes."""
    folder = Path(tempfile.mkdtemp(prefix="treadle-fault-"))
    folder.chmod(0o711)  # as root the server runs as another user, who has to pass through
    try:
        with EmbeddedPostgres(folder, fsync=False) as server:
            migrate(server.dsn)
            yield server
    finally:
        shutil.rmtree(folder)
