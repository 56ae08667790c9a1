"""A worker that is killed, and a handler that kills its worker."""

import pytest

from tests.process.conftest import Start
from tests.process.harness import Observer, eventually
from tests.process.kinds import Await, Die, Poll, Quick

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "successor", ["another worker", "one of the same name", "one whose record is deleted"]
)
def test_an_item_of_a_killed_worker_comes_back_after_its_lease(
    db: Observer, start: Start, successor: str
) -> None:
    item = db.enqueue(Poll(seconds=0.5))
    first = start("pod-0")
    db.until_effect(item, "begin")
    first.kill()
    lease_until = db.item(item)["lease_until"]
    if successor == "one whose record is deleted":
        db.run("delete from treadle.workers")
    start("pod-1" if successor == "another worker" else "pod-0")
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert ended["started_at"] > lease_until
    assert db.events(item) == ["1 stalled"]
    assert db.effects(item) == ["1 begin", "2 begin", "2 end"]


def test_an_item_that_kills_its_worker_three_times_has_failed_and_others_flow(
    db: Observer, start: Start
) -> None:
    deadly = [db.enqueue(Die()), db.enqueue(Die(killed=True))]
    others = [db.enqueue(Quick()) for _ in range(20)]
    worker = start()

    def supervise() -> bool:
        nonlocal worker
        if not worker.alive():
            worker = start()
        return not db.rows("select 1 from treadle.work_items where finished_at is null")

    eventually(supervise, seconds=45, told="all items have ended")
    for item in deadly:
        ended = db.item(item)
        assert (ended["status"], ended["attempt"], ended["stalls"]) == ("failed", 3, 3)
        assert ended["error"] == "stalled: its lease ran out 3 times"
        assert db.effects(item) == ["1 begin", "2 begin", "3 begin"]
    for item in others:
        ended = db.item(item)
        assert (ended["status"], ended["attempt"]) == ("succeeded", 1)
        # A poison item does not hold up what waits behind it until it has failed for good.
        assert ended["finished_at"] < db.item(deadly[0])["finished_at"]


def test_items_running_side_by_side_in_a_killed_worker_all_come_back(db: Observer, start: Start) -> None:
    items = [db.enqueue(Await(seconds=0.5)) for _ in range(5)]
    first = start("w1", concurrency=5)
    for item in items:
        db.until_effect(item, "begin")
    first.kill()
    start("w2", concurrency=5)
    for item in items:
        ended = db.until_item(item, "finished_at is not null")
        assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
