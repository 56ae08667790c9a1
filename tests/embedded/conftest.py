"""Folders for servers, and other processes that start one."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treadle.embedded import EmbeddedPostgres, place

# Starts a server, says its address, and then does what its standard input says.
HOST = """
import signal, sys
from treadle.embedded import EmbeddedError, EmbeddedPostgres

signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
server = EmbeddedPostgres(sys.argv[1], fsync=False)
try:
    server.start()
except EmbeddedError as error:
    sys.exit(str(error))
print(server.dsn, flush=True)
sys.stdin.read()
server.stop()
"""


class Host:
    """A process that has a server, as a host application does."""

    def __init__(self, folder: Path, before: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", HOST, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        """Its next line; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> tuple[int, str]:
        """Let it stop its server and end: its exit code and what it complained of."""
        _, complaint = self.process.communicate(timeout=40)
        return self.process.returncode, complaint


@pytest.fixture
def host() -> Iterator[Callable[..., Host]]:
    """Start a process with a server in a folder; `before` are words before its command, like setpriv."""
    hosts: list[Host] = []

    def start(folder: Path, *before: str) -> Host:
        hosts.append(Host(folder, before))
        return hosts[-1]

    yield start
    for started in hosts:
        if started.process.poll() is None:
            started.process.kill()
        started.process.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder that any user can enter; pytest's own are closed to the user a server runs as under root."""
    made = Path(tempfile.mkdtemp(prefix="treadle-embedded-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def common(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands in for /var/lib/treadle."""
    common = folder / "common"
    monkeypatch.setattr(place, "COMMON", common)
    return common


@pytest.fixture
def embedded(folder: Path) -> Iterator[EmbeddedPostgres]:
    """A server that is not started yet."""
    server = EmbeddedPostgres(folder / "server", fsync=False)
    yield server
    server.stop()


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root runs the server as another user")
