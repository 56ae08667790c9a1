"""Deliveries: their order, their attempts, and what becomes of events that cannot be handled."""

import logging
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest

from hosts.loryth.tests.program import until
from loryth.database import Connection, Database
from loryth.events.consumer import Delivery, EventConsumer, EventHandler
from loryth.events.outbox import Event, events, publish, retry
from tests.process.proxy import Proxy

# Everything at once, so that a test waits for nothing but what it is about.
FAST = Delivery(poll=0.02, most_attempts=3, first_wait=0.01, handler_seconds=10)

Start = Callable[..., EventConsumer]


@pytest.fixture(autouse=True)
def effects(connection: Connection) -> None:
    """A table of what handlers did, in the order in which they did it."""
    connection.execute(
        "create table effects (place bigint generated always as identity, aggregate text, what text)"
    )


@pytest.fixture
def consume(loryth_dsn: str) -> Iterator[Start]:
    """Start a consumer that ends with the test."""
    started: list[EventConsumer] = []

    def start(dsn: str = loryth_dsn, *, delivery: Delivery = FAST, **handlers: EventHandler) -> EventConsumer:
        started.append(EventConsumer(Database(dsn), handlers or {"said": note}, delivery=delivery))
        started[-1].start()
        return started[-1]

    yield start
    ended = [consumer.stop(20) for consumer in started]
    assert all(ended)


def note(connection: Connection, event: Event) -> None:
    connection.execute(
        "insert into effects (aggregate, what) values (%s, %s)", [event.aggregate_id, str(event.payload)]
    )


def say(connection: Connection, aggregate: str, *words: str, event_type: str = "said") -> None:
    for word in words:
        publish(
            connection, aggregate_type="person", aggregate_id=aggregate, event_type=event_type, payload=word
        )


def noted(connection: Connection, aggregate: str | None = None) -> list[str]:
    rows = connection.execute(
        "select what from effects where coalesce(aggregate = %s, true) order by place", [aggregate]
    ).fetchall()
    return [what for (what,) in rows]


def test_events_of_an_aggregate_come_in_order_and_those_taken_back_never(
    connection: Connection, consume: Start
) -> None:
    with connection.transaction():
        say(connection, "ada", "a", "b", "c")
    with connection.transaction(force_rollback=True):
        say(connection, "ada", "never")
    say(connection, "ada", "d")
    consumer = consume()
    until(lambda: consumer.state.done == 4)
    assert noted(connection) == ["a", "b", "c", "d"]


def test_an_event_whose_transaction_commits_late_is_not_skipped(
    loryth_dsn: str, connection: Connection, consume: Start
) -> None:
    with psycopg.connect(loryth_dsn) as slow:
        say(slow, "ada", "early")
        say(connection, "bob", "late")
        consumer = consume()
        until(lambda: consumer.state.done == 1)
        assert noted(connection) == ["late"]
    until(lambda: consumer.state.done == 2)
    assert noted(connection) == ["late", "early"]


def test_publishers_of_an_aggregate_take_turns_so_that_positions_follow_commits(
    loryth_dsn: str, connection: Connection
) -> None:
    with psycopg.connect(loryth_dsn) as slow:
        say(slow, "ada", "first")
        connection.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            say(connection, "ada", "second")
        say(connection, "bob", "at once")
    say(connection, "ada", "second")
    rows = connection.execute(
        "select payload from loryth.outbox where aggregate_id = 'ada' order by position"
    )
    assert rows.fetchall() == [("first",), ("second",)]


def test_a_poison_event_holds_up_no_other_aggregate_and_is_parked_in_the_end(
    connection: Connection, consume: Start, caplog: pytest.LogCaptureFixture
) -> None:
    # The test's own processes hand captured logs on as UTF-8, which has no lone surrogates.
    caplog.set_level(logging.CRITICAL + 1, "loryth.events.consumer")
    healed = threading.Event()

    def handle(conn: Connection, event: Event) -> None:
        note(conn, event)
        if event.payload == "poison" and not healed.is_set():
            raise SystemExit("not\0 this \ud800 one")

    with connection.transaction():
        say(connection, "ada", "before", "poison", "after")
        say(connection, "bob", "x", "y")
    consumer = consume(said=handle)
    until(lambda: consumer.state.done == 4)
    assert noted(connection) == ["before", "x", "y", "after"]
    (parked,) = events(connection, status="parked", limit=10)
    assert (parked.attempts, parked.last_error) == (3, "SystemExit: not this ? one")
    assert consumer.state.failures == 3
    healed.set()
    assert retry(connection, parked.id)
    assert not retry(connection, parked.id)
    until(lambda: consumer.state.done == 5)
    assert noted(connection, "ada") == ["before", "after", "poison"]


def test_attempts_wait_twice_as_long_each_time_by_the_database_s_clock(
    connection: Connection, consume: Start
) -> None:
    def fail(conn: Connection, event: Event) -> None:
        raise LookupError

    say(connection, "ada", "a")
    consume(said=fail, delivery=Delivery(poll=0.02, most_attempts=9, first_wait=60))
    waits = "select try_after > clock_timestamp() and last_error = 'LookupError' from loryth.outbox"
    wait = "select round(extract(epoch from try_after - clock_timestamp())) from loryth.outbox"
    for seconds in (60, 120, 240):
        until(lambda: connection.execute(waits).fetchone() == (True,))
        row = connection.execute(wait).fetchone()
        assert row is not None
        assert seconds - 20 < row[0] <= seconds
        connection.execute("update loryth.outbox set try_after = clock_timestamp(), last_error = null")


def test_an_event_nobody_handles_here_waits_and_is_told(connection: Connection, consume: Start) -> None:
    with connection.transaction():
        say(connection, "ada", "new", event_type="sung")
        say(connection, "ada", "behind it")
        say(connection, "bob", "other")
    old = consume()
    until(lambda: old.state.done == 1)
    assert noted(connection) == ["other"]
    assert old.state.backlog is not None
    assert old.state.backlog.unknown_types == ["sung"]
    assert (old.state.backlog.waiting, old.state.backlog.parked) == (3, 0)
    consume(said=note, sung=note)
    until(lambda: noted(connection, "ada") == ["new", "behind it"])


def test_an_event_whose_process_is_lost_each_time_is_parked_in_the_end(
    connection: Connection, consume: Start
) -> None:
    with connection.transaction():
        say(connection, "ada", "kills", "after")
    connection.execute("update loryth.outbox set attempts = 3 where payload = '\"kills\"'")
    consumer = consume()
    until(lambda: consumer.state.done == 1)
    assert noted(connection) == ["after"]
    (parked,) = events(connection, status="parked", limit=10)
    assert "before its handler did" in (parked.last_error or "")


def test_a_handler_that_waits_too_long_for_the_database_has_failed(
    connection: Connection, consume: Start
) -> None:
    def sleep(conn: Connection, event: Event) -> None:
        conn.execute("select pg_sleep(%s)", [60 if event.attempt == 1 else 0])
        note(conn, event)

    say(connection, "ada", "a")
    consumer = consume(said=sleep, delivery=Delivery(poll=0.02, first_wait=0.01, handler_seconds=0.3))
    until(lambda: consumer.state.done == 1)
    assert consumer.state.failures == 1
    assert "QueryCanceled" in str(consumer.state.last_error)
    assert noted(connection) == ["a"]


def test_consumers_and_publishers_together_keep_the_order_and_do_each_event_once(
    loryth_dsn: str, connection: Connection, consume: Start
) -> None:
    people = [f"person {number}" for number in range(6)]
    busy: dict[str, threading.Lock] = {person: threading.Lock() for person in people}

    def handle(conn: Connection, event: Event) -> None:
        assert busy[event.aggregate_id].acquire(blocking=False), "two events of an aggregate at once"
        try:
            note(conn, event)
            if event.attempt == 1 and event.payload % 5 == 0:
                raise LookupError
        finally:
            busy[event.aggregate_id].release()

    def publish_some(seed: int) -> None:
        draw = random.Random(seed)
        with psycopg.connect(loryth_dsn, autocommit=True) as own:
            for number in range(30):
                # In one order, as each locks its aggregate until the commit.
                chosen = sorted(draw.sample(people, draw.choice([1, 1, 2])))
                with own.transaction(force_rollback=draw.random() < 0.1):
                    for person in chosen:
                        publish(
                            own,
                            aggregate_type="person",
                            aggregate_id=person,
                            event_type="said",
                            payload=seed * 1000 + number,
                        )

    consumers = [consume(said=handle, delivery=FAST) for _ in range(3)]
    with ThreadPoolExecutor(3) as publishers:
        list(publishers.map(publish_some, range(3)))
    count = "select count(*) from loryth.outbox where status = 'waiting'"
    until(lambda: connection.execute(count).fetchone() == (0,))
    assert not any(consumer.state.unreachable for consumer in consumers)
    for person in people:
        rows = connection.execute(
            "select payload::text, status from loryth.outbox where aggregate_id = %s order by position",
            [person],
        ).fetchall()
        assert noted(connection, person) == [payload for payload, status in rows]
        assert {status for _, status in rows} == {"done"}


def test_a_sleeper_is_woken_by_stop_and_a_consumer_may_be_started_again(
    connection: Connection, consume: Start
) -> None:
    consumer = consume(delivery=Delivery(poll=3600))
    until(lambda: consumer.state.backlog is not None)
    assert consumer.stop(10)
    assert consumer.stop()
    assert not consumer.running
    say(connection, "ada", "a")
    consumer.start()
    consumer.start()
    until(lambda: consumer.state.done == 1)


def test_a_handler_may_stop_its_consumer(loryth_dsn: str, connection: Connection) -> None:
    answers: list[bool] = []

    def handle(conn: Connection, event: Event) -> None:
        note(conn, event)
        answers.append(consumer.stop())

    consumer = EventConsumer(Database(loryth_dsn), {"said": handle}, delivery=FAST)
    say(connection, "ada", "a", "b")
    consumer.start()
    until(lambda: bool(answers) and consumer.stop(10))
    assert (answers, noted(connection)) == ([False], ["a"])


def test_stop_waits_for_a_handler_no_longer_than_its_timeout(connection: Connection, consume: Start) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def handle(conn: Connection, event: Event) -> None:
        begun.set()
        assert go_on.wait(20)
        note(conn, event)

    say(connection, "ada", "a", "b")
    consumer = consume(said=handle)
    assert begun.wait(20)
    handling = consumer.state.handling
    assert handling is not None
    assert handling.payload == "a"
    assert not consumer.stop(0.01)
    go_on.set()
    assert consumer.stop(20)
    assert noted(connection) == ["a"]


def test_a_database_that_is_away_is_told_and_waited_for(
    loryth_dsn: str, connection: Connection, consume: Start
) -> None:
    with ExitStack() as stack:
        network = stack.enter_context(Proxy(loryth_dsn))
        consumer = consume(network.dsn)
        until(lambda: consumer.state.backlog is not None)
        network.swallow()
        network.heal(lost=True)  # every connection is cut
        say(connection, "ada", "a")
        until(lambda: consumer.state.done == 1)
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'loryth'"
        )
        say(connection, "ada", "b")
        until(lambda: consumer.state.done == 2)
        until(lambda: consumer.state.unreachable is None)
        connection.execute("alter table loryth.outbox rename to elsewhere")
        until(lambda: consumer.state.unreachable_since is not None)
        assert "UndefinedTable" in str(consumer.state.unreachable)
        connection.execute("alter table loryth.elsewhere rename to outbox")
        until(lambda: consumer.state.unreachable_since is None)
        assert consumer.stop(20)
