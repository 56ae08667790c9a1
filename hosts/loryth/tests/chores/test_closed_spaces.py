"""Closed spaces, whose time of grace is kept by a status and a periodic look; and what is left of events."""

from datetime import timedelta

import pytest

from hosts.loryth.tests.program import until
from loryth.chores.bound import Bound
from loryth.chores.closed_spaces import ClosedSpaces
from loryth.chores.done_events import DoneEvents
from loryth.database import Connection, Database
from loryth.events import handlers
from loryth.events.consumer import Delivery, EventConsumer

GRACE = timedelta(days=30)


def add_space(connection: Connection, name: str, *, closed_days: int | None, files: int = 0) -> None:
    row = connection.execute("insert into loryth.spaces (name) values (%s) returning id", [name]).fetchone()
    for _ in range(files):
        connection.execute("insert into loryth.files (space_id, status) values (%s, 'ACTIVE')", row)
    if closed_days is not None:
        connection.execute(
            "update loryth.spaces set status = 'CLOSED', closed_at = clock_timestamp() - %s where name = %s",
            [timedelta(days=closed_days), name],
        )


def test_a_space_closed_for_long_enough_goes_with_all_its_files_and_no_other_does(
    connection: Connection, loryth_dsn: str, database: Database, bound: Bound, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "BATCH", 2)
    add_space(connection, "open", closed_days=None, files=1)
    add_space(connection, "closed lately", closed_days=29, files=1)
    add_space(connection, "closed long ago", closed_days=31, files=5)
    chore = ClosedSpaces(database, bound, grace=GRACE)
    chore()
    chore()
    consumer = EventConsumer(Database(loryth_dsn), handlers.HANDLERS, delivery=Delivery(poll=0.02))
    consumer.start()
    until(lambda: consumer.state.done == 3)  # two files, two, one
    assert consumer.stop(20)
    found = connection.execute(
        "select name, spaces.status, files.status, count(*)"
        " from loryth.spaces join loryth.files on space_id = spaces.id group by 1, 2, 3 order by 1"
    ).fetchall()
    assert found == [
        ("closed lately", "CLOSED", "ACTIVE", 1),
        ("closed long ago", "DELETED", "DELETED", 5),
        ("open", "ACTIVE", "ACTIVE", 1),
    ]
    assert connection.execute("select count(*) from loryth.outbox where status <> 'done'").fetchone() == (0,)


def test_only_events_that_were_done_long_ago_are_removed(
    connection: Connection, database: Database, bound: Bound
) -> None:
    for status, days in (("waiting", None), ("parked", 9), ("done", 6), ("done", 8), ("done", 9)):
        connection.execute(
            "insert into loryth.outbox (aggregate_type, aggregate_id, event_type, payload, status, finished_at)"
            " values ('a', 'b', 'c', '{}', %s, clock_timestamp() - %s::interval)",
            [status, None if days is None else timedelta(days=days)],
        )
    chore = DoneEvents(database, bound, keep=timedelta(days=7))
    chore()
    chore()
    left = connection.execute("select status from loryth.outbox order by position").fetchall()
    assert left == [("waiting",), ("parked",), ("done",)]
