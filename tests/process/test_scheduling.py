"""Workers that find everything overdue at the same moment, and workers that die over it."""

from uuid import uuid4

import pytest

from tests.process.conftest import Start
from tests.process.harness import Observer
from tests.process.kinds import Poll

pytestmark = pytest.mark.process

WORKERS = 8
INTERVAL = 2.0
SCOPES = [uuid4() for _ in range(3)]


def test_eight_workers_on_an_overdue_database_queue_each_work_once_and_never_before_its_interval(
    db: Observer, start: Start
) -> None:
    for kind, scope in [("pulse", None), *(("visit", scope) for scope in SCOPES)]:
        key = kind if scope is None else f"visit:{scope}"
        db.run(
            # Held by nobody that will end, so that nothing is due until all workers are there.
            "insert into treadle.work_items (kind, scope_id, dedup_key, requested_at, status, attempt, claimed_by,"
            " started_at, lease_until) values (%s, %s, %s, clock_timestamp(), 'running', 1, 'nobody',"
            " clock_timestamp(), clock_timestamp() + interval '1 hour')",
            kind,
            scope,
            key,
        )
    for number in range(WORKERS):
        start(f"w{number}", every=INTERVAL, scopes=[str(scope) for scope in SCOPES])
    db.until("select 1 from treadle.workers having count(*) = %s", WORKERS, seconds=40)
    assert db.value("select count(*) from treadle.work_items") == 1 + len(SCOPES)

    db.run(
        "update treadle.work_items"
        " set status = 'succeeded', lease_until = null, finished_at = clock_timestamp() - interval '1 hour'"
    )
    ends = (
        "select from treadle.work_items where finished_at is not null group by dedup_key having count(*) >= 4"
    )
    db.until(f"select 1 from ({ends}) as key having count(*) = %s", 1 + len(SCOPES), seconds=30)

    gaps = """
        select dedup_key, requested_at - lag(finished_at) over (partition by dedup_key order by requested_at, id) as gap
        from treadle.work_items
    """
    early = f"select * from ({gaps}) as slot where gap < make_interval(secs => %s)"
    assert db.rows(early, INTERVAL) == []
    unfinished = "select dedup_key from treadle.work_items where finished_at is null"
    assert db.rows(f"{unfinished} group by dedup_key having count(*) > 1") == []
    assert (
        db.rows("select * from treadle.work_items where status in ('failed', 'cancelled') or stalls > 0")
        == []
    )
    assert db.rows("select item_id from effects group by item_id having count(*) > 1") == []


def test_a_slot_that_is_queued_by_a_worker_that_is_then_killed_still_runs_once(
    db: Observer, start: Start
) -> None:
    db.run("insert into treadle.cron_keys (dedup_key, first_seen) values ('pulse', '2000-01-01')")
    scheduled = "select * from treadle.work_items where slot = date_trunc('year', now(), 'UTC')"
    long = db.enqueue(Poll(seconds=60, again=0))
    first = start("first", cron="@yearly")
    queued = db.until(f"{scheduled} and status = 'queued'")
    db.until_item(long, "status = 'running'")
    first.kill()
    start("second", cron="@yearly", concurrency=2)
    ended = db.until(f"{scheduled} and status = 'succeeded'")
    assert (ended["id"], ended["attempt"]) == (queued["id"], 1)
    assert db.effects(queued["id"]) == ["1 end"]
    # The item that the first one ran comes back when its lease is over: the schedule was looked at many times by then.
    db.until_item(long, "status = 'succeeded'")
    assert db.value("select count(*) from treadle.work_items where kind = 'pulse'") == 1
