"""Handlers that block what they can for four lease lengths."""

import signal
from uuid import UUID

import pytest
from psycopg.rows import DictRow

from tests.process import history
from tests.process.conftest import Start
from tests.process.harness import GRACE, LEASE, Observer
from tests.process.kinds import Block, Greedy, Quick, Remains, Sleep, Spin

pytestmark = pytest.mark.process

LONG = 4 * LEASE


def assert_undisturbed(db: Observer, item: UUID) -> DictRow:
    """The item's row at its end, which its first run gave it."""
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["attempt"], ended["stalls"]) == (1, 0)
    assert db.events(item) == []
    return ended


def test_handlers_that_block_loop_and_threads_keep_their_leases(db: Observer, start: Start) -> None:
    db.run(history.SQL)
    items = [db.enqueue(manner(seconds=LONG)) for manner in (Block, Spin, Sleep)]
    start("w1", concurrency=3)
    for item in items:
        db.until_effect(item, "step")
    start("w2")  # would take what comes free
    for item in items:
        ended = db.until_item(item, "finished_at is not null", seconds=LONG + 15)
        assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
        assert db.events(item) == []
        assert db.effects(item) == ["1 begin", "1 end"]
        leases = "select count(distinct became->>'lease_until') from history where id = %s"
        assert db.value(leases, item) >= LONG / LEASE


@pytest.mark.parametrize(
    ("case", "end"),
    [
        ("words", ("failed", None, "SlowWords: slow words")),
        ("serializer", ("succeeded", "serialized", None)),
        ("destructor", ("succeeded", {}, None)),
    ],
)
def test_what_a_handler_leaves_may_take_its_time_and_costs_no_lease(
    db: Observer, start: Start, case: str, end: tuple[object, ...]
) -> None:
    neighbour = db.enqueue(Sleep(seconds=2 * LEASE))
    item = db.enqueue(Remains(case=case, seconds=2 * LEASE))
    start("w1", concurrency=2)
    db.until_effect(neighbour, "step")
    db.until_effect(item, "asked")
    start("w2")  # would take what comes free
    assert_undisturbed(db, neighbour)
    ended = assert_undisturbed(db, item)
    assert (ended["status"], ended["result"], ended["error"]) == end


def test_a_result_of_millions_of_numbers_is_refused_and_costs_no_lease(db: Observer, start: Start) -> None:
    neighbour = db.enqueue(Sleep(seconds=2 * LEASE))
    start("w1", concurrency=2, lease=2.0, heartbeat=0.2)
    db.until_effect(neighbour, "step")
    start("w2", lease=2.0, heartbeat=0.2)  # would take what comes free
    item = db.enqueue(Remains(case="numbers"))
    assert "more than 1000000 bytes" in assert_undisturbed(db, item)["error"]
    assert_undisturbed(db, neighbour)


def test_a_call_that_keeps_the_interpreters_lock_may_lose_its_lease_but_decides_nothing(
    db: Observer, start: Start
) -> None:
    item = db.enqueue(Greedy(seconds=LONG))
    first = start("w1")
    db.until_effect(item, "begin")
    second = start("w2")
    ended = db.until_item(item, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    db.until_effect(item, "end", attempt=1, seconds=LONG + 10)
    first.until_said("fenced off")
    assert db.item(item) == ended
    second.signal(signal.SIGTERM)
    assert second.ended(within=GRACE + 1) == 0
    further = db.until_item(db.enqueue(Quick()), "finished_at is not null")
    assert further["claimed_by"].startswith("w1#")
