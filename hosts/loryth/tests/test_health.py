"""What the worker says of itself, over HTTP."""

import json
import threading
from collections.abc import Callable

import httpx
import pytest

from hosts.loryth.tests.program import until
from loryth.database import Database
from loryth.events.consumer import Delivery, EventConsumer
from loryth.failure import in_a_line
from loryth.health.report import Health
from loryth.health.server import HealthServer
from treadle.errors import TreadleError
from treadle.task_scheduler import CronTask, PeriodicTask, TaskScheduler


def fail() -> None:
    raise LookupError("nothing at s3://ada:hush@store/")


def test_it_tells_of_each_chore_and_of_the_events_and_who_has_died(loryth_dsn: str) -> None:
    consumer = EventConsumer(Database(loryth_dsn), {}, delivery=Delivery(poll=0.02))
    scheduler = TaskScheduler()
    ran = threading.Event()
    scheduler.register(PeriodicTask("good", ran.set, interval_seconds=0.02))
    scheduler.register(PeriodicTask("bad", fail, interval_seconds=0.02))
    scheduler.register(CronTask("yearly", fail, "@yearly"))
    health = Health(consumer, scheduler, unhealthy_seconds=60)
    health.note_waiting("the database is away")
    assert health.report().problems == ["the worker is starting: the database is away"]

    consumer.start()
    scheduler.start()
    health.note_phase("working")
    until(
        lambda: all(state.runs > 1 for state in scheduler.states()[:2]) and consumer.state.backlog is not None
    )
    report = health.report()
    assert report.healthy
    good, bad, yearly = report.body["chores"]["tasks"]
    assert good["runs"] >= 1
    assert good["last_error"] is None
    assert good["last_started_at"] <= good["last_finished_at"]
    assert bad["failures"] >= 1
    assert bad["last_error"] == "LookupError: nothing at s3://store/"
    assert (yearly["runs"], yearly["last_took_seconds"]) == (0, None)
    assert yearly["next_run_at"].endswith("-01-01T00:00:00.000+00:00")
    backlog = report.body["events"]["backlog"]
    assert (backlog["waiting"], backlog["oldest_seconds"], backlog["parked"]) == (0, None, 0)

    consumer.stop()
    scheduler.stop()
    assert health.report().problems == [
        "the thread that delivers events has ended",
        "the thread that runs the chores has ended",
    ]
    health.note_phase("stopping")
    assert health.report().problems == ["the worker is stopping"]


@pytest.mark.parametrize(("patience", "healthy"), [(3600, True), (0.01, False)])
def test_a_database_that_is_away_for_long_is_unhealthy(patience: float, healthy: bool) -> None:
    consumer = EventConsumer(
        Database("postgresql://ada:hush@127.0.0.1:1/d"), {}, delivery=Delivery(poll=0.02)
    )
    scheduler = TaskScheduler()
    health = Health(consumer, scheduler, unhealthy_seconds=patience)
    consumer.start()
    scheduler.start()
    health.note_phase("working")
    until(lambda: consumer.state.unreachable is not None)
    if not healthy:
        until(lambda: not health.report().healthy)
    report = health.report()
    assert report.healthy is healthy
    assert "does not answer" in report.body["events"]["unreachable"]
    assert "hush" not in json.dumps(report.body)
    assert consumer.stop(20)
    assert scheduler.stop(20)


@pytest.fixture
def serve(loryth_dsn: str) -> Callable[[int], HealthServer]:
    consumer = EventConsumer(Database(loryth_dsn), {})
    health = Health(consumer, TaskScheduler(), unhealthy_seconds=60)
    return lambda port: HealthServer(health, "127.0.0.1", port)


def test_the_status_code_says_it_too_and_there_is_nothing_else(serve: Callable[[int], HealthServer]) -> None:
    server = serve(0)
    server.start()
    try:
        answer = httpx.get(f"http://127.0.0.1:{server.port}/healthz")
        assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
        assert httpx.get(f"http://127.0.0.1:{server.port}/").status_code == 404
        with pytest.raises(TreadleError, match="set WORKER__HEALTH_PORT"):
            serve(server.port)
    finally:
        server.close()


def test_an_error_becomes_one_storable_line_without_secrets() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise LookupError

    assert in_a_line(LookupError()) == "LookupError"
    assert in_a_line(Silent()) == "Silent: (its text cannot be made)"
    assert in_a_line(ValueError("a\0b\n\n c \ud800")) == "ValueError: a b c ?"
    assert (
        in_a_line(ValueError("GET https://ada:hush@host/x failed")) == "ValueError: GET https://host/x failed"
    )
    assert len(in_a_line(ValueError("x" * 10_000))) == 500
