"""What runs when: on the grid, one at a time, never early, never twice."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

import pytest

from tests.task_scheduler.fake_clock import NOON, FakeClock, Runs
from treadle.task_scheduler import CronTask, PeriodicTask, TaskScheduler, TaskState


def test_a_task_first_runs_one_interval_after_the_start(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs = Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 60))
    clock.spend(1000)
    scheduler.start()
    clock.advance(59.999)
    assert runs == []
    clock.advance(0.001)
    assert runs == pytest.approx([1060])


def test_a_task_registered_while_others_sleep_runs_in_its_time(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    scheduler.register(PeriodicTask("hourly", Runs(clock), 3600))
    scheduler.start()
    clock.advance(100)
    runs = Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 0.05))
    clock.advance(0.12)
    assert runs == pytest.approx([100.05, 100.1])


def test_a_thousand_runs_do_not_drift(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs = Runs(clock, seconds=0.03)
    scheduler.register(PeriodicTask("sweep", runs, 0.1))
    scheduler.start()
    clock.advance(100.05)
    assert runs == pytest.approx([k * 0.1 for k in range(1, 1001)], abs=1e-9)


def test_an_overrun_skips_to_the_next_point_of_the_grid(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(clock, seconds=2.5)
    scheduler.register(PeriodicTask("sweep", runs, 1))
    scheduler.start()
    clock.advance(10)
    assert runs == [1, 4, 7, 10]
    assert scheduler.states()[0].runs == 4
    assert caplog.messages == ["task sweep skips the due times that passed until its run ended"] * 4


def test_a_run_that_ends_as_the_next_is_due_skips_it(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs = Runs(clock, seconds=1)
    scheduler.register(PeriodicTask("sweep", runs, 1))
    scheduler.start()
    clock.advance(6)
    assert runs == [1, 3, 5]


@pytest.mark.parametrize("cron", [True, False])
def test_a_run_within_its_interval_skips_nothing(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture, cron: bool
) -> None:
    runs = Runs(clock, seconds=59)
    scheduler.register(CronTask("sweep", runs, "* * * * *") if cron else PeriodicTask("sweep", runs, 60))
    scheduler.start()
    clock.advance(600)
    assert runs == pytest.approx(range(60, 601, 60))
    assert caplog.messages == []


def test_due_times_that_pass_while_another_task_runs_make_one_late_run(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(clock)
    scheduler.register(PeriodicTask("slow", Runs(clock, seconds=35), 100))
    scheduler.register(PeriodicTask("sweep", runs, 10))
    scheduler.start()
    clock.advance(160)
    assert runs == [*range(10, 100, 10), 135, 140, 150, 160]
    assert caplog.messages == [
        "task sweep starts 35.0 s late",
        "task sweep skips the due times that passed until its run ended",
    ]


def test_the_most_overdue_runs_first_so_that_none_starves(clock: FakeClock, scheduler: TaskScheduler) -> None:
    rare: list[float] = []

    def run() -> None:
        rare.append(clock.elapsed)
        if len(rare) == 10:
            scheduler.stop()

    scheduler.register(PeriodicTask("greedy", Runs(clock, seconds=1.5), 1))
    scheduler.register(PeriodicTask("greedier", Runs(clock, seconds=1.5), 1))
    scheduler.register(PeriodicTask("rare", run, 10))
    scheduler.start()
    clock.advance(10)  # from here on one or the other is always due, until the last run of the rare one
    assert len(rare) == 10
    assert [at - at % 10 for at in rare] == [10 * k for k in range(1, 11)]


def test_equal_due_times_run_in_the_order_of_registration(clock: FakeClock, scheduler: TaskScheduler) -> None:
    order: list[str] = []
    for name in ("c", "a", "d", "b"):
        scheduler.register(PeriodicTask(name, partial(order.append, name), 5))
    for name in ("z", "y"):
        scheduler.register(CronTask(name, partial(order.append, name), "* * * * *"))
    scheduler.start()
    clock.advance(60)
    assert order[-6:] == ["c", "a", "d", "b", "z", "y"]
    assert order[:-2] == ["c", "a", "d", "b"] * 12


def test_a_thread_that_wakes_early_runs_nothing_early_and_nothing_twice(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs, minutes = Runs(clock), Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 60))
    scheduler.register(CronTask("report", minutes, "* * * * *"))
    scheduler.start()
    clock.spend(7)
    clock.advance(353, wake_every=0.9)
    assert runs == pytest.approx([60, 120, 180, 240, 300, 360])
    assert minutes == pytest.approx([60, 120, 180, 240, 300, 360])


def test_a_cron_task_runs_at_its_minutes_and_strictly_after_the_start(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, "0,1,30 12-13 * * *"))
    scheduler.start()  # at noon itself
    clock.advance(7200)
    assert runs == pytest.approx([60, 1800, 3600, 3660, 5400])


def test_no_minute_is_lost_to_a_run_that_ends_within_the_clocks_rounding_of_it(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    starts: list[float] = []

    def run() -> None:
        starts.append(clock.elapsed)
        if len(starts) == 1:
            clock.spend(59.9999996)
            assert clock.now == NOON + timedelta(seconds=120) > NOON + timedelta(seconds=119.99)
            assert clock.wall() < (NOON + timedelta(seconds=120)).timestamp()

    scheduler.register(CronTask("report", run, "* * * * *"))
    scheduler.start()
    clock.advance(185)
    assert starts == pytest.approx([60, 120, 180])


def test_a_handler_registers_tasks(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs = Runs(clock)

    def spawn() -> None:
        if len(scheduler.states()) == 1:
            scheduler.register(PeriodicTask("spawned", runs, 2))

    scheduler.register(PeriodicTask("spawner", spawn, 5))
    scheduler.start()
    clock.advance(12)
    assert runs == [7, 9, 11]


def test_a_name_is_taken_once(clock: FakeClock, scheduler: TaskScheduler) -> None:
    runs, others = Runs(clock), Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 5))
    with pytest.raises(ValueError, match="task 'sweep' is registered already"):
        scheduler.register(PeriodicTask("sweep", others, 5))
    scheduler.start()
    with pytest.raises(ValueError, match="task 'sweep' is registered already"):
        scheduler.register(CronTask("sweep", others, "* * * * *"))
    clock.advance(60)
    assert (len(runs), len(others)) == (12, 0)


def test_states_tell_before_during_and_after_a_run(clock: FakeClock, scheduler: TaskScheduler) -> None:
    seen: list[TaskState] = []

    def run() -> None:
        clock.spend(3)
        seen.extend(scheduler.states())
        if len(seen) > 2:
            raise LookupError("no such\nphoto")

    def at(seconds: float) -> object:
        return NOON + timedelta(seconds=seconds)

    scheduler.register(PeriodicTask("sweep", run, 10))
    scheduler.register(CronTask("report", print, "5 * * * *"))
    assert scheduler.states() == [TaskState("sweep"), TaskState("report")]

    scheduler.start()
    clock.advance(4)
    report = TaskState("report", next_run_at=NOON + timedelta(minutes=5))
    assert scheduler.states() == [TaskState("sweep", next_run_at=NOON + timedelta(seconds=10)), report]

    clock.advance(16)
    once = {"last_started_at": at(10), "running_since": at(10)}
    twice = {"last_started_at": at(20), "last_finished_at": at(13), "running_since": at(20)}
    assert seen[0].__class__ is TaskState
    assert [as_dict(state) for state in seen[::2]] == [
        as_dict(TaskState("sweep", runs=1)) | once,
        as_dict(TaskState("sweep", runs=2)) | twice,
    ]
    assert seen[1::2] == [report, report]

    assert as_dict(scheduler.states()[0]) == as_dict(
        TaskState("sweep", runs=2, failures=1, last_error="LookupError: no such\nphoto")
    ) | {"last_started_at": at(20), "last_finished_at": at(23), "next_run_at": at(30)}

    scheduler.stop()
    assert [state.next_run_at for state in scheduler.states()] == [None, None]


def as_dict(state: TaskState) -> dict[str, object]:
    return {name: getattr(state, name) for name in TaskState.__slots__}


def test_a_task_that_is_due_in_many_thousand_years_does_not_disturb(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(PeriodicTask("never", print, 1e12))
    scheduler.register(PeriodicTask("nevermore", print, 1e15))
    scheduler.register(PeriodicTask("sweep", runs, 10))
    scheduler.start()
    clock.advance(25)
    assert runs == [10, 20]
    assert [state.next_run_at for state in scheduler.states()] == [None, None, NOON + timedelta(seconds=30)]


def test_an_idle_thread_looks_at_the_clock_twice_a_minute(clock: FakeClock, scheduler: TaskScheduler) -> None:
    scheduler.register(PeriodicTask("daily", print, 86400))
    scheduler.register(CronTask("yearly", print, "@yearly"))
    scheduler.start()
    clock.advance(3600)
    assert clock.looks <= 122  # and the two that the test's own advance() asks for


def test_a_task_that_cannot_be_planned_is_told_and_the_others_go_on(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(clock)
    clock.jump(7973 * 365.2425 * 86400)  # to the end of the calendar, in 9999
    clock.jump(-86400 * 29)
    scheduler.register(CronTask("yearly", print, "@yearly"))
    scheduler.register(PeriodicTask("sweep", runs, 10))
    with caplog.at_level(logging.ERROR):
        scheduler.start()
        clock.advance(10)
    assert clock.now.year == 9999
    assert runs == [10]
    assert caplog.messages == ["task yearly cannot be planned"]
