"""A network that swallows what is sent, and one that loses an answer."""

import signal

import pytest

from tests.process.conftest import Start
from tests.process.harness import GRACE, LEASE, Observer
from tests.process.kinds import Await, Poll, Quick, Spin, Timed
from tests.process.proxy import Proxy

pytestmark = pytest.mark.process


@pytest.mark.parametrize(("manner", "lost"), [(Await, True), (Poll, True), (Await, False)])
def test_a_worker_that_is_cut_off_fences_itself_in_time_and_goes_on_once_the_network_is_back(
    db: Observer, dsn: str, start: Start, manner: type[Timed], *, lost: bool
) -> None:
    with Proxy(dsn) as network:
        worker = start(dsn=network.dsn)
        item = db.enqueue(manner(again=0.5))
        db.until_effect(item, "step")
        network.swallow()
        told = db.until_effect(item, "told StopReason.FENCED")
        lease_until = db.item(item)["lease_until"]
        assert told["at"] < lease_until
        db.until(f"select 1 where clock_timestamp() > %s + interval '{LEASE} s'", lease_until)
        assert db.item(item)["status"] == "running"  # nobody else was there to take it back
        network.heal(lost=lost)
        ended = db.until_item(item, "finished_at is not null")
        assert (ended["status"], ended["attempt"]) == ("succeeded", 2)
        # Heartbeats that arrive late find the item taken back already and are refused, or extend the lease
        # once more: then the worker hands back what it no longer holds.
        back, *later = db.events(item)
        assert back in ({"1 stalled"} if lost else {"1 stalled", "1 released"})
        assert set(later) <= (set() if lost else {"1 refused"})
        assert db.effects(item) == ["1 begin", "1 told StopReason.FENCED", "2 begin", "2 end"]
        assert worker.alive()


def test_an_idle_worker_that_is_cut_off_leaves_in_time(db: Observer, dsn: str, start: Start) -> None:
    with Proxy(dsn) as network:
        worker = start(dsn=network.dsn)
        db.until("select 1 from treadle.workers")
        network.swallow()
        worker.signal(signal.SIGTERM)
        worker.ended(within=GRACE + 1)


@pytest.mark.parametrize("manner", [Await, Poll, Spin])
def test_a_worker_that_is_cut_off_leaves_in_time_and_its_item_to_recovery(
    db: Observer, dsn: str, start: Start, manner: type[Timed]
) -> None:
    item = db.enqueue(manner())
    with Proxy(dsn) as network:
        worker = start(dsn=network.dsn)
        db.until_effect(item, "step")
        network.swallow()
        worker.signal(signal.SIGTERM)
        worker.ended(within=GRACE + 1)
    row = db.item(item)
    assert (row["status"], row["attempt"], row["stalls"]) == ("running", 1, 0)


def test_after_a_claim_whose_answer_was_lost_the_item_is_released_without_a_stall(
    db: Observer, dsn: str, start: Start
) -> None:
    item = db.enqueue(Quick())
    with Proxy(dsn) as network:
        lost = network.lose_reply_to(b"-- Claim the oldest")
        start(dsn=network.dsn)
        ended = db.until_item(item, "finished_at is not null")
        assert lost.is_set()
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 0)
    assert db.events(item) == ["1 released"]
    assert db.effects(item) == ["2 end"]


def test_after_a_finish_whose_answer_was_lost_nothing_is_lost_and_nothing_runs_twice(
    db: Observer, dsn: str, start: Start
) -> None:
    finished, claimed_along = db.enqueue(Poll(seconds=0.5)), db.enqueue(Quick())
    with Proxy(dsn) as network:
        lost = network.lose_reply_to(b"-- End one attempt and claim")
        start(dsn=network.dsn)
        ended = db.until_item(finished, "finished_at is not null")
        along = db.until_item(claimed_along, "finished_at is not null")
        assert lost.is_set()
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
    assert db.events(finished) == []
    assert db.effects(finished) == ["1 begin", "1 end"]
    assert (along["status"], along["attempt"], along["stalls"]) == ("succeeded", 2, 0)
    assert db.events(claimed_along) == ["1 released"]
    assert db.effects(claimed_along) == ["2 end"]
