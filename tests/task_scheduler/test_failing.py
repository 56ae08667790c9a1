"""Handlers and logs that fail: told, and of no consequence to anything else."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.task_scheduler.fake_clock import FakeClock, Runs
from treadle.task_scheduler import PeriodicTask, TaskScheduler


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even that")


class Rude(BaseException):
    pass


def raising(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (raising(ValueError("no photo")), "ValueError: no photo"),
        (lambda: sys.exit(3), "SystemExit: 3"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(GeneratorExit()), "GeneratorExit"),
        (raising(Rude("out")), "Rude: out"),
        (raising(Unspeakable()), "Unspeakable"),
    ],
)
def test_a_handler_that_raises_whatever_it_raises_runs_again_and_harms_no_other(
    clock: FakeClock,
    scheduler: TaskScheduler,
    caplog: pytest.LogCaptureFixture,
    handler: Callable[[], object],
    told: str,
) -> None:
    others = Runs(clock)
    scheduler.register(PeriodicTask("broken", handler, 10))
    scheduler.register(PeriodicTask("sweep", others, 10))
    scheduler.start()
    clock.advance(50)

    assert others == [10, 20, 30, 40, 50]
    broken, sweep = scheduler.states()
    assert (broken.runs, broken.failures, sweep.failures) == (5, 5, 0)
    assert told in str(broken.last_error)
    assert [record.getMessage() for record in caplog.records] == [
        "task broken failed; it runs again at its next time"
    ] * 5
    assert all(record.exc_info and record.exc_info[2] for record in caplog.records)


def test_a_success_after_a_failure_clears_the_error(clock: FakeClock, scheduler: TaskScheduler) -> None:
    outcomes = iter([ValueError("once"), None])

    def handler() -> None:
        if error := next(outcomes):
            raise error

    scheduler.register(PeriodicTask("sweep", handler, 10))
    scheduler.start()
    clock.advance(10)
    assert scheduler.states()[0].last_error == "ValueError: once"
    clock.advance(10)
    assert scheduler.states()[0].last_error is None
    assert scheduler.states()[0].failures == 1


class BrokenLog(logging.Handler):
    def handle(self, record: logging.LogRecord) -> bool:
        raise SystemExit("the disk is full")


class CuriousLog(logging.Handler):
    """Looks at the scheduler from another thread's point of view: by what needs its lock."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.seen = 0

    def handle(self, record: logging.LogRecord) -> bool:
        self.seen += len(self.scheduler.states())
        return True


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("treadle.task_scheduler")
    before = logger.handlers[:]
    yield logger
    logger.handlers[:] = before


def test_a_log_that_fails_does_not_end_the_thread(
    clock: FakeClock, scheduler: TaskScheduler, log: logging.Logger
) -> None:
    log.addHandler(BrokenLog())
    runs = Runs(clock, seconds=15)  # which is told, too
    scheduler.register(PeriodicTask("sweep", runs, 10))
    scheduler.register(PeriodicTask("broken", raising(ValueError()), 10))
    scheduler.start()
    clock.advance(60)
    assert len(runs) == 3
    assert scheduler.states()[1].failures == scheduler.states()[1].runs > 0


def test_a_log_may_look_at_the_scheduler(
    clock: FakeClock, scheduler: TaskScheduler, log: logging.Logger
) -> None:
    curious = CuriousLog(scheduler)
    log.addHandler(curious)
    scheduler.register(PeriodicTask("sweep", Runs(clock, seconds=15), 10))
    scheduler.start()
    clock.advance(30)
    assert curious.seen == scheduler.states()[0].runs > 0
