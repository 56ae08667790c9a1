"""Much at once, values that nobody can store, handlers that talk without end, and nothing to do at all."""

import time

import pytest

from tests.process import history
from tests.process.conftest import Start
from tests.process.harness import LEASE, Observer, eventually
from tests.process.kinds import Await, Chatty, Odd
from tests.process.proxy import Proxy

pytestmark = pytest.mark.process

HEARTBEAT = 0.5


def test_two_hundred_items_at_once_keep_their_leases(db: Observer, start: Start) -> None:
    items = [db.enqueue(Await(seconds=3 * LEASE, step=LEASE)) for _ in range(200)]
    start("w1", concurrency=200, heartbeat=1.0)
    db.until("select 1 from treadle.work_items where status = 'running' having count(*) = 200", seconds=25)
    start("w2", concurrency=200, heartbeat=1.0)  # would take what comes free
    db.until(
        "select 1 from treadle.work_items where finished_at is not null having count(*) = 200", seconds=30
    )
    once = "select count(*) from treadle.work_items where status = 'succeeded' and attempt = 1 and stalls = 0"
    assert db.value(once) == len(items)
    assert db.value("select count(*) from treadle.item_events") == 0
    assert db.value("select count(*) from effects where what = 'end'") == len(items)


ODD_ENDINGS = {
    "return nul": ("failed", "result"),
    "return surrogate": ("failed", "result"),
    "return nan": ("failed", "result"),
    "return huge": ("failed", "result"),
    "return object": ("failed", "result"),
    "raise nul": ("failed", "ValueError"),
    "raise surrogate": ("failed", "ValueError"),
    "raise nan": ("failed", "ValueError"),
    "raise huge": ("failed", "ValueError"),
    "raise unspeakable": ("failed", "Unspeakable"),
    "note nul": ("succeeded", None),
    "note surrogate": ("succeeded", None),
    "note huge": ("succeeded", None),
}


def test_values_that_cannot_be_stored_still_end_their_items(db: Observer, start: Start) -> None:
    items = {case: db.enqueue(Odd(case=case)) for case in ODD_ENDINGS}
    worker = start()
    for case, item in items.items():
        status, said = ODD_ENDINGS[case]
        ended = db.until_item(item, "finished_at is not null", seconds=30)
        assert (ended["status"], ended["attempt"], ended["stalls"]) == (status, 1, 0), case
        assert ended["result"] is None
        if said is not None:
            assert said in ended["error"], case
        assert len(ended["error"] or ended["progress_note"]) < 100_000, case
    assert worker.alive()


def test_a_handler_that_reports_all_the_time_writes_once_per_heartbeat_and_only_its_progress(
    db: Observer, start: Start
) -> None:
    db.run(history.SQL)
    item = db.enqueue(Chatty(seconds=5.0))
    start(heartbeat=HEARTBEAT)
    ended = db.until_item(item, "finished_at is not null")
    reports = int(db.until_effect(item, "reports %")["what"].split()[1])
    assert reports > 500  # or it would not have said enough to prove anything
    assert ended["progress_done"] == reports - 1
    beating = "from history where id = %s and was->>'status' = 'running' and became->>'status' = 'running'"
    took = (ended["finished_at"] - ended["started_at"]).total_seconds()
    assert 3 <= db.value(f"select count(*) {beating}", item) <= took / HEARTBEAT + 1
    changed = f"""
        select distinct part.key {beating.replace("from history", "from history, jsonb_each(became) as part")}
        and part.value is distinct from was->part.key
    """
    assert {row["key"] for row in db.rows(changed, item)} == {
        "lease_until",
        "progress_done",
        "progress_note",
        "updated_at",
    }
    done = db.rows(f"select (became->>'progress_done')::bigint as done {beating} order by n", item)
    assert [row["done"] for row in done] == sorted(row["done"] for row in done)


@pytest.mark.parametrize("concurrency", [1, 50])
def test_an_idle_worker_asks_little_however_many_items_it_could_run_and_wait_for_others(
    db: Observer, dsn: str, start: Start, concurrency: int
) -> None:
    period, window = 1.0, 5.0
    db.run(
        "insert into treadle.work_items (kind, scope_id)"
        " select 'quick', gen_random_uuid() from generate_series(1, 2000)"
    )
    with Proxy(dsn) as network:
        worker = start(dsn=network.dsn, poll=period, every=3600.0, concurrency=concurrency, scopes=[])
        eventually(lambda: worker.health()["ready"], seconds=15, told="the worker is ready")
        db.until("select 1 from treadle.work_items where kind = 'pulse' and finished_at is not null")
        before = network.requests
        time.sleep(window)  # the one thing to measure here is how much happens in a time
        rate = (network.requests - before) / window
    # Round trips per period: a claim and, past its window, two by scope; two looks of recovery and a transaction
    # of four; one of scheduling, one of presence. A tenth more is left to chance by the wait itself.
    assert 0 < rate <= 11 * 1.1 / period
