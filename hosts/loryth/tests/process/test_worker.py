"""The worker command: both of its halves at work, and its end under signals and in the worst of moments."""

import signal
import time
from collections.abc import Callable
from threading import Event as Flag
from uuid import UUID

import httpx
import psycopg
import pytest

from hosts.loryth.tests.program import Program, until
from hosts.loryth.tests.store import Store
from loryth.chores.bound import Bound
from loryth.chores.deleted_files import DeletedFiles
from loryth.database import Connection, Database
from loryth.events.consumer import Delivery, EventConsumer
from loryth.events.handlers import HANDLERS
from loryth.events.outbox import publish
from loryth.storage import Storage
from tests.process.host_program import free_port
from tests.process.proxy import Proxy

Start = Callable[..., Program]

GRACE = 1.0
BUSY = 3.0
"""The worker itself needs less than a second more; the machine of the tests is a busy one."""

# Every chore all the time, and little patience.
OFTEN = {
    "WORKER__POLL_SECONDS": 0.1,
    "WORKER__DELETED_FILES_SCHEDULE": 0.25,
    "WORKER__ABANDONED_UPLOADS_SCHEDULE": 0.25,
    "WORKER__PLUGIN_HEALTH_SCHEDULE": 0.25,
    "WORKER__CLOSED_SPACES_SCHEDULE": 0.25,
    "WORKER__EVENT_RETENTION_SCHEDULE": 0.25,
    "WORKER__EVENT_RETRY_SECONDS": 0.05,
    "WORKER__SHUTDOWN_GRACE_SECONDS": GRACE,
    "WORKER__HEALTH_PORT": 0,
}

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


@pytest.fixture
def run(loryth: Start, loryth_dsn: str, store: Store) -> Start:
    """Start a worker on the test's own database and store; keywords are further settings."""

    def start(**others: object) -> Program:
        return loryth("worker", **{"DATABASE_URL": loryth_dsn, **store.environment, **OFTEN, **others})

    return start


def add_space(connection: Connection) -> UUID:
    row = connection.execute("insert into loryth.spaces (name) values ('home') returning id").fetchone()
    assert row is not None
    return UUID(str(row[0]))


def add_file(connection: Connection, store: Store, space: UUID, status: str) -> None:
    row = connection.execute(
        "insert into loryth.files (space_id, status) values (%s, %s) returning object_key", [space, status]
    ).fetchone()
    assert row is not None
    store.put(str(row[0]))


def add_deleted(connection: Connection, store: Store, files: int) -> None:
    space = add_space(connection)
    for _ in range(files):
        add_file(connection, store, space, "DELETED")


def count(connection: Connection, condition: str = "true", table: str = "files") -> int:
    row = connection.execute(f"select count(*) from loryth.{table} where {condition}").fetchone()
    assert row is not None
    return int(row[0])


def close(connection: Connection, *spaces: UUID) -> None:
    connection.execute(
        "update loryth.spaces set status = 'CLOSED', closed_at = now() - interval '31 days' where id = any(%s)",
        [list(spaces)],
    )


def test_events_and_chores_work_together_and_the_health_tells_of_both(
    run: Start, connection: Connection, store: Store
) -> None:
    port = free_port()
    space = add_space(connection)
    for _ in range(3):
        add_file(connection, store, space, "ACTIVE")
    worker = run(WORKER__HEALTH_PORT=port)
    worker.line_with("delivers space.deleted and runs 5 chores")
    close(connection, space)
    # A chore deletes the space, the event's handler its files, and another chore their objects.
    until(lambda: count(connection) == 0)
    assert store.keys() == set()
    answer = httpx.get(f"http://127.0.0.1:{port}/healthz")
    report = answer.json()
    assert {task["name"] for task in report["chores"]["tasks"] if task["runs"]} == {
        "abandoned-uploads", "closed-spaces", "deleted-files", "done-events", "plugin-health"
    }  # fmt: skip
    assert (answer.status_code, report["status"], report["events"]["done"]) == (200, "healthy", 1)
    assert worker.stop() == 0
    assert "hush" not in answer.text + worker.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_chore_ends_it_between_two_files(
    run: Start, connection: Connection, store: Store, number: signal.Signals
) -> None:
    add_deleted(connection, store, 40)
    store.seconds_each = 0.05
    worker = run(WORKER__SHUTDOWN_GRACE_SECONDS=20)
    until(lambda: count(connection) < 40)
    assert worker.stop(number) == 0
    assert "cut off" not in worker.output
    left = {str(key) for (key,) in connection.execute("select object_key from loryth.files")}
    assert 0 < len(left) < 40
    assert store.keys() == left


@pytest.mark.parametrize("signals", [1, 2])
def test_a_store_that_hangs_does_not_keep_the_worker_beyond_its_grace(
    run: Start, connection: Connection, database: Database, store: Store, signals: int
) -> None:
    add_deleted(connection, store, 3)
    store.hanging.set()
    grace = GRACE if signals == 1 else 60  # which the second one shortens
    worker = run(WORKER__SHUTDOWN_GRACE_SECONDS=grace, S3__TIMEOUT_SECONDS=60)
    assert store.reached.wait(30)
    begun = time.monotonic()
    for _ in range(signals - 1):
        worker.process.send_signal(signal.SIGTERM)
        worker.line_with("stopping")
    assert worker.stop() == 0
    assert time.monotonic() - begun < GRACE + BUSY
    assert "what still ran is cut off" in worker.output
    assert count(connection) == 3
    store.hanging.clear()
    DeletedFiles(database, Storage(store.settings), Bound(items=9, seconds=60, stopping=Flag()))()
    assert (count(connection), store.keys()) == (0, set())


def test_a_database_that_hangs_does_not_keep_the_worker_beyond_its_grace(run: Start, loryth_dsn: str) -> None:
    with Proxy(loryth_dsn) as network:
        worker = run(DATABASE_URL=network.dsn)
        worker.line_with("delivers")
        network.swallow()
        begun = time.monotonic()
        assert worker.stop() == 0
        assert time.monotonic() - begun < GRACE + BUSY


def test_a_worker_that_starts_waits_for_its_database_says_so_and_can_be_stopped(run: Start) -> None:
    port = free_port()
    worker = run(DATABASE_URL="postgresql://u:hush@127.0.0.1:1/d", WORKER__HEALTH_PORT=port)
    worker.line_with("trying again: the database does not answer")
    answer = httpx.get(f"http://127.0.0.1:{port}/healthz")
    assert answer.status_code == 503
    assert "the worker is starting: the database does not answer" in answer.text
    assert worker.stop() == 0
    assert "hush" not in worker.output + answer.text


def test_an_event_whose_worker_was_killed_in_the_middle_is_delivered_again(
    run: Start, loryth_dsn: str, connection: Connection, store: Store
) -> None:
    space = add_space(connection)
    add_file(connection, store, space, "ACTIVE")
    publish(connection, aggregate_type="space", aggregate_id=space, event_type="space.deleted", payload={})
    with psycopg.connect(loryth_dsn) as holder:
        holder.execute("select from loryth.files for update")  # so the handler waits
        killed = run()
        waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        until(lambda: connection.execute(waits).fetchone() == (1,))
        killed.process.kill()
        killed.end()
    assert connection.execute("select attempts, status from loryth.outbox").fetchall() == [(1, "waiting")]
    assert count(connection, "status = 'ACTIVE'") == 1
    consumer = EventConsumer(Database(loryth_dsn), HANDLERS, delivery=Delivery(poll=0.02))
    consumer.start()
    until(lambda: consumer.state.done == 1)
    assert consumer.stop(20)
    assert connection.execute("select attempts, status from loryth.outbox").fetchall() == [(2, "done")]
    assert count(connection, "status = 'DELETED'") == 1


def test_two_workers_at_once_share_the_work(run: Start, connection: Connection, store: Store) -> None:
    spaces = [add_space(connection) for _ in range(10)]
    for number, space in enumerate(spaces):
        add_file(connection, store, space, "DELETED")
        add_file(connection, store, space, "ACTIVE")
        store.begin_upload(f"files/{number}")
    workers = [run() for _ in range(2)]
    for worker in workers:
        worker.line_with("delivers")
    close(connection, *spaces)
    until(lambda: count(connection, "status = 'done'", "outbox") == 10 and count(connection) == 0)
    assert (store.keys(), len(store.uploads())) == (set(), 10)
    assert [worker.stop() for worker in workers] == [0, 0]
    assert not [line for worker in workers for line in worker.lines if line.startswith("ERROR")]
    assert count(connection, table="outbox") == 10
