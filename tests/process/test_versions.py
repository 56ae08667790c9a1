"""Old and new workers side by side, and workers on a schema that is not theirs."""

import pytest

from tests.process.conftest import Start
from tests.process.harness import Observer
from tests.process.kinds import Poll, Quick

pytestmark = pytest.mark.process


def test_an_old_worker_leaves_kinds_it_does_not_know_to_a_new_one(db: Observer, start: Start) -> None:
    unknown = [db.enqueue(Poll(seconds=0.1)) for _ in range(10)]
    start("old", old=True)
    known = db.until_item(db.enqueue(Quick()), "finished_at is not null")
    assert known["claimed_by"].startswith("old#")
    # Several further rounds in which nothing but the unknown waits.
    seen = db.value("select seen_at from treadle.workers")
    db.until("select 1 from treadle.workers where seen_at > %s + interval '1 s'", seen)
    for item in unknown:
        row = db.item(item)
        assert (row["status"], row["attempt"], row["claimed_by"]) == ("queued", 0, None)
        assert db.events(item) == []
    start("new", concurrency=5)
    for item in unknown:
        ended = db.until_item(item, "finished_at is not null")
        assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 1, 0)
        assert ended["claimed_by"].startswith("new#")


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (
            "insert into treadle.migrations (version, name) values (9999, 'of_the_future')",
            "upgrade the program",
        ),
        ("delete from treadle.migrations", "run `treadle migrate`"),
    ],
)
def test_a_worker_refuses_a_schema_that_is_not_its_own_in_one_line(
    db: Observer, start: Start, change: str, advice: str
) -> None:
    db.run(change)
    item = db.enqueue(Quick())
    worker = start()
    assert worker.ended(within=20) == 1
    (line,) = worker.log.read_text().splitlines()
    assert advice in line
    assert db.item(item)["attempt"] == 0
