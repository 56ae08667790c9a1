"""Handlers and logs that fail: told, and of no consequence to anything else."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.task_scheduler.fake_clock import PATIENCE, FakeClock, Runs
from treadle.task_scheduler import PeriodicTask, TaskScheduler


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit("not even that")


class Rude(BaseException):
    pass


UNPRINTABLE: Any = ("file", 1, 1, 5)  # 5 for a text: no traceback prints it


async def nothing() -> None:
    """A coroutine, when it is called."""


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
        (lambda: nothing(), "TypeError: the handler returned a coroutine, which nobody awaits"),  # noqa: PLW0108 - not seen to be async
        (raising(SyntaxError("odd", UNPRINTABLE)), "SyntaxError"),
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
    """Waits for another thread that looks at the scheduler, as one does that logs and has the log's lock."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.told: list[str] = []

    def handle(self, record: logging.LogRecord) -> bool:
        other = threading.Thread(target=self.scheduler.states, daemon=True)
        other.start()
        other.join(PATIENCE / 4)
        if not other.is_alive():
            self.told.append(record.getMessage())
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


def test_the_scheduler_logs_without_its_lock(
    clock: FakeClock, scheduler: TaskScheduler, log: logging.Logger
) -> None:
    curious = CuriousLog(scheduler)
    log.addHandler(curious)
    scheduler.register(PeriodicTask("sweep", Runs(clock, seconds=15), 10))
    scheduler.register(PeriodicTask("other", str, 12))
    scheduler.start()
    clock.advance(10)
    clock.jump(-60)
    clock.advance(0)
    assert curious.told == [
        "task sweep skips the due times that passed until its run ended",
        "task other starts 13.0 s late",
        "task other skips the due times that passed until its run ended",
        "the wall clock went back by 60 s",
    ]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_clock_that_fails_ends_the_thread_which_can_be_told_and_started_again(
    clock: FakeClock, scheduler: TaskScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(clock)

    def broken() -> float:
        raise OSError("no clock")

    def handler() -> None:
        runs()
        monkeypatch.setattr(clock, "monotonic", broken)  # the end of the run cannot be noted

    scheduler.register(PeriodicTask("sweep", handler, 10))
    scheduler.start()
    clock.advance(10)
    monkeypatch.undo()
    assert scheduler.stop() is True
    assert not scheduler.running
    assert scheduler.states()[0].running_since is None

    scheduler.start()
    clock.advance(10)
    monkeypatch.undo()
    assert runs == [10, 20]


def test_a_thread_that_cannot_be_had_is_told_and_may_be_had_later(
    clock: FakeClock, scheduler: TaskScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    runs = Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 10))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            scheduler.start()
    assert not scheduler.running
    assert scheduler.stop() is True  # and waits for no thread that never was
    scheduler.start()
    clock.advance(10)
    assert runs == [10]
