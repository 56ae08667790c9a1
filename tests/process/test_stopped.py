"""A worker that is told to stop, with handlers of every manner in hand."""

import signal
from uuid import UUID

import pytest

from tests.process.conftest import Start
from tests.process.harness import GRACE, Observer, eventually, is_gone
from tests.process.kinds import Await, Block, Parent, Poll, Remains, Sleep, Spin, Timed

pytestmark = pytest.mark.process

LIMIT = 1.0
"""Seconds after the grace within which a process is gone, whatever it does."""


def assert_released(db: Observer, item: UUID) -> None:
    row = db.item(item)
    assert (row["status"], row["attempt"], row["stalls"], row["claimed_by"]) == ("queued", 1, 0, None)
    assert db.events(item) == ["1 released"]
    released = db.value("select at from treadle.item_events where item_id = %s", item)
    assert db.value("select max(at) from effects where item_id = %s", item) < released


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("manner", [Await, Poll, Spin, Block])
def test_a_stopped_worker_hands_its_item_back_at_once_and_leaves(
    db: Observer, start: Start, manner: type[Timed], number: signal.Signals
) -> None:
    item = db.enqueue(manner())
    worker = start()
    db.until_effect(item, "step")
    worker.signal(number)
    assert worker.ended(within=GRACE + LIMIT) == 0
    assert_released(db, item)
    told = [f"1 told {reason}" for reason in ["StopReason.SHUTDOWN"] if manner in {Await, Poll}]
    assert db.effects(item) == ["1 begin", *told]


@pytest.mark.parametrize("case", ["words", "serializer", "destructor"])
def test_what_a_handler_leaves_and_never_lets_go_of_does_not_keep_the_process(
    db: Observer, start: Start, case: str
) -> None:
    item = db.enqueue(Remains(case=case, seconds=600))
    worker = start()
    db.until_effect(item, "asked")
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=GRACE + LIMIT) == 0
    assert_released(db, item)


def test_five_items_of_all_manners_are_handed_back_together_and_taken_again(
    db: Observer, start: Start
) -> None:
    items = [db.enqueue(manner()) for manner in (Await, Poll, Spin, Sleep, Await)]
    worker = start("w1", concurrency=5)
    for item in items:
        db.until_effect(item, "step")
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=GRACE + LIMIT) == 0
    for item in items:
        assert_released(db, item)
    start("w2", concurrency=5)
    for item in items:
        db.until_effect(item, "begin", attempt=2)
        row = db.item(item)
        assert (row["status"], row["attempt"], row["stalls"]) == ("running", 2, 0)


def test_hundreds_of_items_are_handed_back_together(db: Observer, start: Start) -> None:
    count = 200
    items = [db.enqueue(Sleep(seconds=600, step=600)) for _ in range(count)]
    worker = start(concurrency=count)
    begun = "select 1 from effects where what = 'step' having count(*) = %s"
    db.until(begun, count, seconds=60)
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=GRACE + LIMIT) == 0
    for item in items:
        assert_released(db, item)


def test_a_second_signal_cuts_the_grace_short(db: Observer, start: Start) -> None:
    item = db.enqueue(Spin())
    worker = start(grace=40.0)
    db.until_effect(item, "step")
    worker.signal(signal.SIGTERM)
    eventually(lambda: worker.health().get("stopping"), seconds=5, told="the worker stops")
    assert worker.health()["running"][0]["stop_reason"] == "shutdown"
    assert worker.alive()
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=LIMIT) == 0
    assert_released(db, item)


def test_a_handler_that_ends_within_the_grace_has_succeeded(db: Observer, start: Start) -> None:
    item = db.enqueue(Sleep(seconds=1.0))
    worker = start(grace=20.0)
    db.until_effect(item, "step")
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=20) == 0
    ended = db.item(item)
    assert (ended["status"], ended["attempt"]) == ("succeeded", 1)


def test_an_idle_worker_leaves_without_waiting_for_the_grace(db: Observer, start: Start) -> None:
    worker = start(grace=40.0)
    db.until("select 1 from treadle.workers")
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=LIMIT) == 0
    assert db.rows("select 1 from treadle.workers") == []


def test_no_child_of_a_handler_outlives_a_stopped_worker(db: Observer, start: Start) -> None:
    item = db.enqueue(Parent())
    worker = start()
    child = int(db.until_effect(item, "child %")["what"].split()[1])
    db.until_effect(item, "step")
    assert not is_gone(child)
    worker.signal(signal.SIGTERM)
    assert worker.ended(within=GRACE + LIMIT) == 0
    eventually(lambda: is_gone(child), seconds=2, told="the child is gone")
    assert_released(db, item)
