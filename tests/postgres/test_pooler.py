"""Behind PgBouncer in transaction mode: the whole contract holds, and nothing is left on its connections."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.contract.test_postgres import PostgresHarness
from treadle.postgres import PostgresStore
from treadle.postgres.pool import Busy
from treadle.testing.contract import StoreContract, StoreHarness
from treadle.testing.contract.harness import put, request

PROGRAM: Final = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
CONNECTIONS: Final = 3

CONFIGURATION = """
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 300
ignore_startup_parameters = extra_float_digits
"""


class Pooler:
    """PgBouncer in front of the tests' server."""

    def __init__(self, server: str, folder: Path) -> None:
        assert PROGRAM is not None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        parts = conninfo_to_dict(server)
        file = folder / "pgbouncer.ini"
        file.write_text(
            CONFIGURATION.format(
                host=parts["host"], port=parts.get("port", 5432), user=parts["user"],
                password=parts.get("password", ""), listen=self.port, connections=CONNECTIONS,
            )
        )  # fmt: skip
        file.chmod(0o644)
        other_user = ["-u", "nobody"] if os.geteuid() == 0 else []  # it refuses to run as root
        self.process = subprocess.Popen(
            [PROGRAM, "-q", *other_user, str(file)], stderr=subprocess.PIPE, text=True
        )

    def dsn(self, dsn: str) -> str:
        """The way to the database of *dsn* through the pooler."""
        return make_conninfo(dsn, host="127.0.0.1", port=self.port)

    def wait(self, server: str) -> None:
        """Return once it answers."""
        while self.process.poll() is None:
            with suppress(psycopg.OperationalError), psycopg.connect(self.dsn(server), connect_timeout=5):
                return
        assert self.process.stderr is not None
        pytest.fail(f"PgBouncer ended: {self.process.stderr.read()}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=20)


@pytest.fixture(scope="module")
def pooler(server: str) -> Iterator[Pooler]:
    if PROGRAM is None:
        pytest.skip("PgBouncer is not installed (on Debian: apt install pgbouncer)")
    folder = Path(tempfile.mkdtemp(prefix="treadle-pooler-"))
    folder.chmod(0o711)
    pooler = Pooler(server, folder)
    try:
        pooler.wait(server)
        yield pooler
    finally:
        pooler.stop()
        shutil.rmtree(folder)


class PooledHarness(PostgresHarness):
    def __init__(self, dsn: str, pooled: str) -> None:
        super().__init__(dsn)
        self._pooled = pooled

    def store(self) -> PostgresStore:
        return PostgresStore(self._pooled, clock=self.clock)


@pytest.mark.timeout(300)  # each statement is four round trips here, and one test makes thousands
class TestThroughPooler(StoreContract):
    @pytest.fixture
    def harness(self, dsn: str, pooler: Pooler) -> StoreHarness:
        return PooledHarness(dsn, pooler.dsn(dsn))


SETTINGS = (
    "lock_timeout",
    "statement_timeout",
    "default_transaction_isolation",
    "plan_cache_mode",
    "datestyle",
)


def settings(connection: psycopg.Connection[tuple[object, ...]]) -> list[object]:
    return [connection.execute("select current_setting(%s)", [name]).fetchone() for name in SETTINGS]


async def test_nothing_is_left_on_the_poolers_connections(dsn: str, pooler: Pooler) -> None:
    async with PostgresStore(pooler.dsn(dsn)) as one, PostgresStore(pooler.dsn(dsn)) as two:
        for number in range(20):
            await asyncio.gather(
                *(store.queue.enqueue(request(key=f"k{number}")) for store in (one, two) * 3)
            )
            await asyncio.gather(*(store.leases.recover(stall_limit=3) for store in (one, two) * 3))
        with psycopg.connect(dsn, autocommit=True) as direct:
            untouched = settings(direct)
            locks = direct.execute("select count(*) from pg_locks where locktype = 'advisory'").fetchone()
        assert locks == (0,)
        # One open transaction on each of the pooler's connections, so that every one is looked at.
        callers = [psycopg.connect(pooler.dsn(dsn), prepare_threshold=None) for _ in range(CONNECTIONS)]
        try:
            pids = {caller.execute("select pg_backend_pid()").fetchone() for caller in callers}
            assert len(pids) == CONNECTIONS
            for caller in callers:
                assert settings(caller) == untouched
                assert caller.execute("select count(*) from pg_prepared_statements").fetchone() == (0,)
        finally:
            for caller in callers:
                caller.close()


async def test_statements_behind_the_pooler_are_bounded_too(dsn: str, pooler: Pooler) -> None:
    async with PostgresStore(pooler.dsn(dsn), statement_seconds=0.5) as store:
        item = await put(store)
        with psycopg.connect(dsn) as holder:
            holder.execute("select from treadle.work_items where id = %s for update", [item])
            with pytest.raises(Busy):
                await store.cancels.cancel(item)
