"""Starting, stopping and registering from any thread: real threads, which wait for each other by events."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.task_scheduler.fake_clock import PATIENCE, FakeClock, Runs
from treadle.task_scheduler import Clock, CronTask, PeriodicTask, TaskScheduler

SOON = 0.001


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "TaskScheduler"]


@pytest.fixture
def real() -> Iterator[TaskScheduler]:
    scheduler = TaskScheduler()
    yield scheduler
    assert scheduler.stop(PATIENCE)
    assert threads() == []


class Held:
    """A handler that runs until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.runs = 0

    def __call__(self) -> None:
        self.runs += 1
        self.begun.set()
        assert self.let_go.wait(PATIENCE)

    def wait(self) -> None:
        assert self.begun.wait(PATIENCE)


class Sleeping(Clock):
    """Tells when the thread is about to wait: who gets the lock after that finds it asleep."""

    def __init__(self) -> None:
        self.asleep = threading.Event()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        self.asleep.set()
        super().wait(condition, seconds)


@pytest.mark.timeout(20)
def test_stop_wakes_a_sleeper_that_has_an_hour_to_go() -> None:
    clock = Sleeping()
    scheduler = TaskScheduler(clock=clock)
    scheduler.register(PeriodicTask("hourly", print, 3600))
    took: list[float] = []
    for _ in range(5):
        clock.asleep.clear()
        scheduler.start()
        assert clock.asleep.wait(PATIENCE)
        began = time.perf_counter()
        assert scheduler.stop()
        took.append(time.perf_counter() - began)
        assert threads() == []
    assert min(took) < 0.1  # the others may have waited for the machine


@pytest.mark.parametrize("timeout", [math.inf, 1e12, None])
def test_stop_may_wait_for_ever(real: TaskScheduler, timeout: float | None) -> None:
    real.start()
    assert real.stop(timeout) is True


def test_stop_waits_for_the_handler_that_runs_and_no_longer_than_it_may(real: TaskScheduler) -> None:
    held, other = Held(), Held()
    real.register(PeriodicTask("held", held, SOON))
    real.register(PeriodicTask("other", other, 3600))
    real.start()
    held.wait()
    assert real.stop(0.05) is False
    assert real.running
    assert real.stop(0) is False
    held.let_go.set()
    assert real.stop(PATIENCE) is True
    assert threads() == []
    assert (held.runs, other.runs) == (1, 0)


def test_a_handler_may_stop_its_scheduler(real: TaskScheduler) -> None:
    answers: list[bool] = []
    ended = threading.Event()

    def handler() -> None:
        answers.append(real.stop())
        ended.set()

    real.register(PeriodicTask("last", handler, SOON))
    real.start()
    assert ended.wait(PATIENCE)
    assert real.stop(PATIENCE) is True
    assert answers == [False]


def test_start_and_stop_may_be_called_twice_and_in_any_order(real: TaskScheduler) -> None:
    assert real.stop() is True
    real.start()
    (thread,) = threads()
    real.start()
    assert threads() == [thread]
    assert real.stop() is True
    assert real.stop() is True
    assert threads() == []


def test_a_scheduler_that_is_started_during_its_last_run_goes_on_in_the_same_thread(
    real: TaskScheduler,
) -> None:
    held, again = Held(), threading.Event()
    real.register(PeriodicTask("held", held, SOON))
    real.start()
    held.wait()
    before = threads()
    assert real.stop(0) is False
    real.register(PeriodicTask("new", again.set, SOON))
    real.start()
    held.let_go.set()
    assert again.wait(PATIENCE)
    assert threads() == before


def test_a_handler_may_stop_and_start_its_scheduler(real: TaskScheduler) -> None:
    seen: list[threading.Thread] = []
    thrice = threading.Event()

    def handler() -> None:
        seen.append(threading.current_thread())
        real.stop()
        real.start()
        if len(seen) == 3:
            thrice.set()

    real.register(PeriodicTask("restless", handler, SOON))
    real.start()
    assert thrice.wait(PATIENCE)
    assert real.stop(PATIENCE)
    assert len(set(seen)) == 1


def test_who_waits_for_the_end_is_not_kept_when_another_starts_it_again(real: TaskScheduler) -> None:
    held = Held()
    real.register(PeriodicTask("held", held, SOON))
    real.start()
    held.wait()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(real.stop)
        while not real._stopping:
            threading.Event().wait(SOON)
        real.start()
        assert answer.result(PATIENCE) is False
        held.let_go.set()


def test_a_restart_begins_anew_without_a_burst(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs, minutes = Runs(clock), Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 10))
    scheduler.register(CronTask("report", minutes, "* * * * *"))
    scheduler.start()
    clock.advance(15)
    scheduler.stop()
    clock.spend(1000)  # to 55 s past a minute
    scheduler.start()
    clock.advance(9)
    assert runs == [10]
    assert minutes == pytest.approx([1020])
    clock.advance(1)
    assert runs == [10, 1025]


def test_tasks_may_be_registered_by_many_threads_while_it_runs(real: TaskScheduler) -> None:
    ran: set[str] = set()
    all_ran = threading.Event()

    def handler(name: str) -> None:
        ran.add(name)
        if len(ran) == 800:
            all_ran.set()

    def register(thread: int) -> None:
        for number in range(100):
            name = f"{thread}/{number}"
            real.register(PeriodicTask(name, lambda name=name: handler(name), 0.01))  # type: ignore[misc]  # a lambda's default

    real.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(register, range(8)))
    assert all_ran.wait(PATIENCE)
    assert len(real.states()) == 800
