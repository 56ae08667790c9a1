"""A worker that stands still past its lease and wakes up when its item is another's."""

import signal
from uuid import UUID

import pytest

from tests.process import history
from tests.process.conftest import Start
from tests.process.harness import GRACE, LEASE, Observer, WorkerProcess
from tests.process.kinds import Await, Poll, Quick, Timed

pytestmark = pytest.mark.process


def assert_lives_on(db: Observer, worker: WorkerProcess, other: WorkerProcess) -> None:
    """The worker, no longer helped by the other, takes further work."""
    other.signal(signal.SIGTERM)
    assert other.ended(within=GRACE + 1) == 0
    item = db.enqueue(Quick())
    ended = db.until_item(item, "finished_at is not null")
    assert ended["status"] == "succeeded"
    assert ended["claimed_by"].startswith("w1#")
    assert worker.alive()


def two_workers(
    db: Observer, start: Start, *, lease: float = LEASE, heartbeat: float = 0.5
) -> tuple[WorkerProcess, WorkerProcess]:
    """The first, with these options, is awake; the second is ready and stands still."""
    first, second = start("w1", lease=lease, heartbeat=heartbeat), start("w2")
    for name in ("w1", "w2"):
        db.until("select 1 from treadle.workers where claimed_by like %s", f"{name}#%")
    second.signal(signal.SIGSTOP)
    return first, second


@pytest.mark.parametrize("successor", ["has finished", "is half way"])
@pytest.mark.parametrize("manner", [Await, Poll])
def test_a_worker_that_thaws_past_its_lease_is_fenced_off_and_lives_on(
    db: Observer, start: Start, manner: type[Timed], successor: str
) -> None:
    db.run(history.SQL)
    first, second = two_workers(db, start)
    item = db.enqueue(manner(again=2.0))
    db.until_effect(item, "step")
    first.signal(signal.SIGSTOP)
    second.signal(signal.SIGCONT)
    db.until_effect(item, "step", attempt=2)
    if successor == "has finished":
        db.until_item(item, "finished_at is not null")
    first.signal(signal.SIGCONT)
    first.until_said("fenced off")
    db.until_effect(item, "told StopReason.FENCED")
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert ended["claimed_by"].startswith("w2#")
    assert_lives_on(db, first, second)
    changes = db.rows("select became from history where id = %s order by n", item)
    taken_over = [change["became"]["attempt"] for change in changes].index(2)
    later = [change["became"] for change in changes[taken_over:]]
    assert {state["attempt"] for state in later} == {2}
    done = [state["progress_done"] or 0 for state in later]
    assert done == sorted(done)


def taken_over_early(db: Observer, item: UUID, first: WorkerProcess, second: WorkerProcess) -> None:
    """The item goes to the second although by its own clock the first still has it: only the database can refuse."""
    db.until_effect(item, "step")
    first.signal(signal.SIGSTOP)
    db.run("update treadle.work_items set lease_until = clock_timestamp() where id = %s", item)
    second.signal(signal.SIGCONT)
    db.until_effect(item, "step", attempt=2)
    first.signal(signal.SIGCONT)


def test_heartbeat_and_progress_of_a_zombie_are_refused_by_the_database(db: Observer, start: Start) -> None:
    first, second = two_workers(db, start, lease=30.0, heartbeat=1.0)
    item = db.enqueue(Poll(again=3.0))
    taken_over_early(db, item, first, second)
    db.until_effect(item, "told StopReason.FENCED")
    first.until_said("fenced off: the item is no longer ours")
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert ended["claimed_by"].startswith("w2#")
    assert db.events(item) == ["1 stalled", "1 refused"]
    assert_lives_on(db, first, second)


def test_the_finish_of_a_zombie_is_refused_by_the_database(db: Observer, start: Start) -> None:
    first, second = two_workers(db, start, lease=90.0, heartbeat=30.0)
    item = db.enqueue(Poll(seconds=2.0, again=4.0))
    taken_over_early(db, item, first, second)
    db.until_effect(item, "end", attempt=1)
    first.until_said("fenced off: the store refused its end")
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert ended["claimed_by"].startswith("w2#")
    assert db.events(item) == ["1 stalled", "1 refused"]
    assert_lives_on(db, first, second)
