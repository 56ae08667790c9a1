"""A server that restarts, ends connections or refuses statements under a worker that nobody restarts."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.process.conftest import Start, starter
from tests.process.harness import LEASE, Observer, WorkerProcess, eventually
from tests.process.kinds import Await, Poll, Quick
from treadle.embedded import EmbeddedPostgres
from treadle.embedded.server import Mode

pytestmark = pytest.mark.process

BACKENDS = (
    "from pg_stat_activity where datname = current_database() and application_name = 'treadle' "
    "and backend_type = 'client backend'"
)


@pytest.fixture
def harmed(own_server: EmbeddedPostgres, tmp_path: Path) -> Iterator[tuple[Observer, Start]]:
    observer = Observer(own_server.dsn)
    with ExitStack() as stack:
        yield observer, starter(own_server.dsn, tmp_path, stack)
    observer.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_in_mid_item_costs_nothing_if_it_is_back_within_the_lease(
    own_server: EmbeddedPostgres, harmed: tuple[Observer, Start], mode: Mode
) -> None:
    db, start = harmed
    items = [db.enqueue(Poll(seconds=3.0)), db.enqueue(Await(seconds=3.0))]
    worker = start(lease=20.0, heartbeat=1.0, concurrency=2)
    for item in items:
        db.until_effect(item, "step")
    own_server.restart(mode)
    db.until("select 1")
    items.append(db.enqueue(Quick()))
    for item in items:
        ended = db.until_item(item, "finished_at is not null", seconds=25)
        assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
        assert db.events(item) == []
    assert worker.alive()
    eventually(lambda: worker.health()["ready"], seconds=10, told="the worker is well again")


def test_a_server_that_is_away_for_longer_than_the_lease_costs_an_attempt_and_no_more(
    own_server: EmbeddedPostgres, harmed: tuple[Observer, Start]
) -> None:
    db, start = harmed
    item = db.enqueue(Poll(again=0.5))
    worker = start()
    db.until_effect(item, "step")
    own_server.stop()
    stopped = time.monotonic()
    worker.until_said("fenced off: the lease could not be extended in time")
    eventually(
        lambda: all(loop["failures"] for loop in worker.health()["loops"] if loop["name"] == "recovery"),
        seconds=15,
        told="health says that recovery does not work",
    )
    eventually(lambda: time.monotonic() > stopped + LEASE, seconds=LEASE, told="the lease is over")
    own_server.start()
    ended = db.until_item(item, "finished_at is not null", seconds=20)
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert worker.alive()


def test_connections_that_the_server_ends_are_made_again_while_running_and_while_idle(
    db: Observer, start: Start
) -> None:
    item = db.enqueue(Poll(seconds=4.0))
    worker = start(lease=6.0)
    db.until_effect(item, "step")
    for _ in range(3):
        # The worker may be between two connections; then there is nothing to end yet.
        ending = (
            f"select array_agg(pid) as pids, count(pg_terminate_backend(pid)) {BACKENDS} having count(*) > 0"
        )
        ended_backends = db.until(ending)["pids"]
        db.until(f"select 1 {BACKENDS} and pid <> all(%s) having count(*) > 0", ended_backends)
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
    db.run(f"select pg_terminate_backend(pid) {BACKENDS}")
    further = db.until_item(db.enqueue(Quick()), "finished_at is not null")
    assert (further["status"], further["attempt"]) == ("succeeded", 1)
    assert worker.alive()


def loop_of(worker: WorkerProcess, name: str) -> dict[str, Any]:
    loops = [loop for loop in worker.health()["loops"] if loop["name"] == name]
    return loops[0] if loops else {"failures": 0, "last_error": None}


@pytest.mark.parametrize(
    ("loop", "thing", "renamed"),
    [
        ("recovery", "table treadle.item_events rename to {}", ("item_events", "gone")),
        ("presence", "table treadle.workers rename to {}", ("workers", "gone")),
        ("scheduling", "table treadle.work_items rename column {} to {}", ("follows", "gone")),
        ("executor-1", "table treadle.work_items rename column {} to {}", ("requested_by", "gone")),
    ],
)
def test_a_loop_that_fails_says_so_and_works_again_when_the_cause_is_gone(
    db: Observer, start: Start, loop: str, thing: str, renamed: tuple[str, str]
) -> None:
    before, after = renamed
    worker = start(every=1.0)
    eventually(lambda: worker.health()["ready"], seconds=15, told="the worker is well")
    if "column" in thing:
        harm, mend = thing.format(before, after), thing.format(after, before)
    else:
        harm, mend = thing.format(after), thing.replace(before, after).format(before)
    db.run(f"alter {harm}")
    eventually(lambda: loop_of(worker, loop)["failures"] >= 2, seconds=10, told=f"health: {loop} fails")
    assert loop_of(worker, loop)["last_error"] in {"UndefinedTable", "UndefinedColumn"}
    assert worker.said(f"{loop} failed")
    db.run(f"alter {mend}")
    eventually(lambda: loop_of(worker, loop)["failures"] == 0, seconds=10, told=f"health: {loop} works")
    assert worker.said(f"{loop} works again")
    further = db.until_item(db.enqueue(Quick()), "finished_at is not null")
    assert further["status"] == "succeeded"
    db.until(
        "select 1 from treadle.work_items where kind = 'pulse' and requested_at > %s", further["finished_at"]
    )
