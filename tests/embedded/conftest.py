"""Folders for servers, and other processes that start one."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.embedded.host import Host
from treadle.embedded import EmbeddedPostgres, place


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
