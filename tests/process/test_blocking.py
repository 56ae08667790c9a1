"""Handlers that block what they can for four lease lengths."""

import signal

import pytest

from tests.process import history
from tests.process.conftest import Start
from tests.process.harness import GRACE, LEASE, Observer
from tests.process.kinds import Block, Greedy, Quick, Sleep, Spin

pytestmark = pytest.mark.process

LONG = 4 * LEASE


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
