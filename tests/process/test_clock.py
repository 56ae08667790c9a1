"""Workers whose wall clocks are wrong."""

import pytest

from tests.process.conftest import Start
from tests.process.harness import Observer
from tests.process.kinds import Poll, Quick

pytestmark = pytest.mark.process

INTERVAL = 2.0
CLOCKS = ["600", "-600", "600,-600,0"]


def test_wrong_wall_clocks_steal_no_lease_and_bring_no_schedule_forward(db: Observer, start: Start) -> None:
    held = db.enqueue(Poll(seconds=7.0))
    start("right")
    db.until_effect(held, "step")
    for number, clock in enumerate(CLOCKS):
        worker = start(f"wrong{number}", clock=clock, every=INTERVAL)
        db.until("select 1 from treadle.workers where claimed_by like %s", f"wrong{number}#%")
        assert worker.alive()
    ended = db.until_item(held, "finished_at is not null", seconds=20)
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
    assert ended["claimed_by"].startswith("right#")
    rounds = """
        select requested_at - lag(finished_at) over (order by requested_at) as gap
        from treadle.work_items where kind = 'pulse' and finished_at is not null
    """
    db.until(f"select 1 from ({rounds}) as round having count(gap) >= 2")
    early = f"select gap from ({rounds}) as round where gap < make_interval(secs => %s)"
    assert db.rows(early, INTERVAL) == []
    further = db.until_item(db.enqueue(Quick()), "finished_at is not null")
    assert (further["status"], further["attempt"]) == ("succeeded", 1)
    assert db.value(
        "select max(abs(extract(epoch from finished_at - clock_timestamp()))) < 120 from treadle.work_items"
    )
