"""A clock that stands until the test moves it: the scheduler's thread and the test take turns."""

from __future__ import annotations

import math
import threading
import time
from datetime import UTC, datetime

from treadle.task_scheduler import Clock, TaskScheduler

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENCE = 20.0
"""Real seconds after which a test that waits for the thread fails."""


class FakeClock(Clock):
    """Both clocks of a scheduler. Time passes in ``advance`` and ``spend``, and the wall clock may ``jump``.

    The thread wakes exactly when it asked to, or earlier where the test wants that; a test that has advanced
    the clock finds the thread asleep again, with everything done that was due.
    """

    def __init__(self) -> None:
        self.scheduler = TaskScheduler(clock=self)
        self.elapsed = 0.0
        """Seconds of both clocks since the test began."""
        self.looks = 0
        """How often the thread looked at the clock and fell asleep again."""
        self.cpu_seconds = 0.0
        """What the thread had used when it last fell asleep."""
        self._jumped = 0.0
        self._asked = 0.0
        self._asleep = threading.Event()
        self._condition = threading.Condition()

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.wall(), UTC)

    def wall(self) -> float:
        return NOON.timestamp() + self.elapsed + self._jumped

    def monotonic(self) -> float:
        return 5_000.0 + self.elapsed

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        assert 0 < seconds < math.inf
        self._condition, self._asked = condition, seconds
        self.looks += 1
        self.cpu_seconds = time.thread_time()
        self._asleep.set()
        condition.wait()  # for the test to move the clock, or for the scheduler's own notice
        self._asleep.clear()

    def jump(self, seconds: float) -> None:
        """Set the wall clock; or, forward, let the machine have slept, while monotonic clocks stood."""
        self._jumped += seconds

    def spend(self, seconds: float) -> None:
        """Let time pass without waking the thread: in a handler, or while there is no thread."""
        self.elapsed += seconds

    def advance(self, seconds: float, *, wake_every: float = math.inf) -> None:
        """Let time pass; the thread wakes when it asked to, and at the latest every *wake_every* seconds."""
        end = self.elapsed + seconds
        self.wake()
        self.settle()
        while self.elapsed < end and self.scheduler.running:
            self.spend(min(self._asked, wake_every, end - self.elapsed))
            self.wake()
            self.settle()

    def wake(self) -> None:
        """Let the thread look at the clock, without waiting until it has."""
        self.settle()
        with self._condition:
            self._asleep.clear()
            self._condition.notify_all()

    def settle(self) -> None:
        """Wait until the thread sleeps, or has ended."""
        until = time.monotonic() + PATIENCE
        while not self._asleep.wait(0.05):
            if not self.scheduler.running:
                return
            assert time.monotonic() < until, "the thread neither sleeps nor ends"


class Runs(list[float]):
    """A handler that takes its time, and when it began, in seconds of the test."""

    def __init__(self, clock: FakeClock, seconds: float = 0) -> None:
        self.clock = clock
        self.seconds = seconds

    def __call__(self) -> None:
        self.append(self.clock.elapsed)
        self.clock.spend(self.seconds)
