"""Anichron's processes on a database, and what a test does to them behind the browser's back."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString
from uuid import UUID

import httpx
import psycopg
from argon2 import PasswordHasher

from hosts.anichron.tests.process.program import Program, rows
from tests.process.host_program import free_port

PASSWORD = "correct horse"
FAST = {
    "API__LIVE_INTERVAL_SECONDS": 0.2,
    "WORKER__HEARTBEAT_SECONDS": 0.2,
    "WORKER__POLL_SECONDS": 0.2,
    "WORKER__MAX_CONCURRENT_FILES": 1,
    "WORKER__SHUTDOWN_GRACE_SECONDS": 2,
}


@dataclass
class System:
    """An installation with the admin `root` and the user `ada`, whose password is `PASSWORD`."""

    dsn: str
    proxies: Path
    start: Callable[..., Program]
    port: int = field(default_factory=free_port)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def api(self, **settings: object) -> Program:
        """An API process that answers."""
        program = self._start("api", API__PORT=self.port, **settings)
        deadline = time.monotonic() + 30
        while True:
            assert program.process.poll() is None, program.output
            try:
                with urllib.request.urlopen(f"{self.address}/api/v1/healthz", timeout=10) as answer:
                    answer.read()
            except OSError:
                assert time.monotonic() < deadline, program.output
                time.sleep(0.05)
            else:
                return program

    def worker(self, **settings: object) -> Program:
        """An all-user Worker."""
        return self._start("worker", WORKER__PROXY_PATH=self.proxies, **settings)

    def add_people(self) -> None:
        hashed = PasswordHasher().hash(PASSWORD)
        with psycopg.connect(self.dsn) as connection:
            for name in ("root", "ada"):
                connection.execute(
                    "insert into anichron.users (username, password_hash, is_admin) values (%s, %s, %s)",
                    [name, hashed, name == "root"],
                )

    def add_folder(self, root: Path) -> UUID:
        """A folder of ada's; its storage config's id."""
        return self.one(
            "insert into anichron.storage_configs (user_id, root_path)"
            " select id, %(root)s from anichron.users where username = 'ada' returning id",
            {"root": str(root)},
        )

    def queue(self, kind: str = "crawl", *, scope: UUID | None = None) -> UUID:
        """A queued item."""
        return self.one(
            "insert into treadle.work_items (kind, payload, scope_id)"
            " values (%(kind)s, jsonb_build_object('config_id', %(scope)s::uuid), %(scope)s) returning id",
            {"kind": kind, "scope": scope},
        )

    def one(self, query: LiteralString, values: Mapping[str, object] | None = None) -> UUID:
        """The id that a statement answers with."""
        ((found,),) = rows(self.dsn, query, values)
        assert isinstance(found, UUID)
        return found

    def await_true(self, query: LiteralString, *, seconds: float = 60) -> None:
        """Return once the query answers true."""
        deadline = time.monotonic() + seconds
        while rows(self.dsn, query) != [(True,)]:
            assert time.monotonic() < deadline, f"{query} is not true yet"
            time.sleep(0.1)

    def _start(self, command: str, **settings: object) -> Program:
        return self.start(command, DATABASE_URL=self.dsn, **{**FAST, **settings})


def bearer(system: System) -> dict[str, str]:
    """The headers of an admin's requests."""
    login = {"username": "root", "password": PASSWORD}
    answer = httpx.post(f"{system.address}/api/v1/auth/login", json=login, timeout=30)
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}
