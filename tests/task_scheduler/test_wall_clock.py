"""What a wall clock that is set does: nothing to periodic tasks, and to cron tasks what it does to cron."""

from __future__ import annotations

import logging

import pytest

from tests.task_scheduler.fake_clock import PATIENCE, FakeClock, Runs
from treadle.task_scheduler import CronTask, PeriodicTask, TaskScheduler

MINUTE, HOUR, YEAR = 60, 3600, 365.2425 * 86400


@pytest.mark.parametrize("jump", [-10 * YEAR, 100 * YEAR, HOUR, -HOUR, -1])
def test_periodic_tasks_keep_their_cadence_whatever_becomes_of_the_wall_clock(
    clock: FakeClock, scheduler: TaskScheduler, jump: float
) -> None:
    runs = Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 7))
    scheduler.register(CronTask("report", print, "0 * * * *"))
    scheduler.start()
    clock.advance(20)
    clock.jump(jump)
    clock.advance(50)
    assert runs == [7, 14, 21, 28, 35, 42, 49, 56, 63, 70]


@pytest.mark.parametrize("jump", [-10 * YEAR, 100 * YEAR, HOUR])
def test_a_jump_costs_less_than_20_ms_of_the_thread(jump: float) -> None:
    used, looks = zip(*(cost_of(jump) for _ in range(5)), strict=True)
    # The thread's own time, which does not pass while others have the processor, and the least of five, as
    # the collector may have worked in the thread; it is 1 ms.
    assert min(used) < 0.02
    assert max(looks) <= 4


def cost_of(jump: float) -> tuple[float, int]:
    """The thread's CPU seconds and its looks at the clock, in the moment after the jump."""
    clock = FakeClock()
    for second in range(10):
        clock.scheduler.register(PeriodicTask(f"sweep {second}", print, 100 + second))
        clock.scheduler.register(CronTask(f"report {second}", str, f"{second} * * * *"))
    clock.scheduler.start()
    clock.advance(50)
    used, looks = clock.cpu_seconds, clock.looks
    clock.jump(jump)
    clock.advance(0.5)
    assert clock.scheduler.stop(PATIENCE)
    return clock.cpu_seconds - used, clock.looks - looks


@pytest.mark.parametrize("jump", [HOUR, 100 * YEAR])
def test_what_a_jump_forward_passed_over_runs_once(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture, jump: float
) -> None:
    minutely, hourly = Runs(clock), Runs(clock)
    scheduler.register(CronTask("minutely", minutely, "* * * * *"))
    scheduler.register(CronTask("hourly", hourly, "30 * * * *"))
    scheduler.start()
    clock.advance(10)
    clock.jump(jump)
    clock.advance(40)
    assert (len(minutely), len(hourly)) == (1, 1)
    assert sum("late" in message for message in caplog.messages) == 2


def test_a_jump_is_noticed_within_half_a_minute_though_the_next_run_is_far_off(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("yearly", runs, "@yearly"))
    scheduler.start()
    clock.advance(100)
    clock.jump(YEAR)  # or the machine slept for so long
    clock.advance(30)
    assert len(runs) == 1


def test_after_ten_years_back_cron_tasks_follow_the_clock_that_is_now(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    hourly, daily = Runs(clock), Runs(clock)
    scheduler.register(CronTask("hourly", hourly, "0 * * * *"))
    scheduler.register(CronTask("daily", daily, "30 12 * * *"))
    scheduler.start()  # at noon
    clock.advance(10 * MINUTE)
    clock.jump(-round(10 * YEAR / 86400) * 86400)  # to ten past noon of a day ten years ago
    clock.advance(2 * HOUR)
    assert hourly == pytest.approx([60 * MINUTE, 120 * MINUTE])
    assert daily == pytest.approx([30 * MINUTE])
    assert "the wall clock went back by 315532800 s" in caplog.text


@pytest.mark.parametrize("back", [1, 10, 59])
@pytest.mark.parametrize("expression", ["* * * * *", "0-59 0-23 * * *"])
def test_a_clock_that_goes_back_by_seconds_repeats_no_run(
    clock: FakeClock, scheduler: TaskScheduler, expression: str, back: float
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, expression))
    scheduler.start()
    clock.advance(120)
    clock.jump(-back)
    clock.advance(120)
    assert runs == pytest.approx([60, 120, 180 + back])


@pytest.mark.parametrize(
    ("expression", "back", "again"),
    [
        ("*/5 * * * *", 10 * MINUTE, [5, 10, 15, 20, 25, 30]),  # minutes that come again run again
        ("0-59/5 0-23 * * *", 10 * MINUTE, [5, 10, 25, 30]),  # fixed times do not
        ("0-59/5 0-23 * * *", 4 * HOUR, [5, 10, 15, 20, 25, 30]),  # but where the clock was plainly wrong
    ],
)
def test_a_clock_that_goes_back_by_minutes_repeats_what_follows_the_wall_clock(
    clock: FakeClock, scheduler: TaskScheduler, expression: str, back: float, again: list[float]
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, expression))
    scheduler.start()
    clock.advance(10 * MINUTE)
    clock.jump(-back)
    clock.advance(20 * MINUTE)
    assert runs == pytest.approx([MINUTE * minute for minute in again])


def test_a_clock_that_is_set_back_during_a_run_leaves_nothing_in_the_far_future(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    starts: list[float] = []

    def run() -> None:
        starts.append(clock.elapsed)
        if len(starts) == 1:
            clock.jump(-7 * 86400)

    scheduler.register(CronTask("report", run, "*/5 * * * *"))
    scheduler.start()
    clock.advance(10 * MINUTE)
    assert starts == pytest.approx([5 * MINUTE, 10 * MINUTE])


def test_a_clock_that_is_disciplined_by_moments_moves_the_runs_along_and_is_not_told(
    clock: FakeClock, scheduler: TaskScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, "* * * * *"))
    scheduler.start()
    with caplog.at_level(logging.INFO):
        for _ in range(10):
            clock.jump(-0.3)
            clock.advance(60)
    assert runs == pytest.approx([60 * k + 0.3 * (k + 1) for k in range(1, 10)])
    assert caplog.messages == []


def test_a_late_run_stands_for_all_it_made_up_for_when_the_clock_goes_back_a_little(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, "0 * * * *"))
    scheduler.start()  # at noon
    clock.advance(10)
    clock.jump(3 * HOUR)  # asleep until ten seconds past three
    clock.advance(1)
    assert runs == [10]
    clock.jump(-20)
    clock.advance(MINUTE)  # past three once more
    assert runs == [10]


def test_after_a_correction_of_hours_a_small_one_loses_no_fixed_time(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, "30 12 * * *"))
    scheduler.start()  # at noon
    clock.advance(31 * MINUTE)
    clock.jump(-4 * HOUR)
    clock.advance(90 * MINUTE)  # to one minute past ten, less than three hours before it is due again
    clock.jump(-10)
    clock.advance(150 * MINUTE)
    assert runs == pytest.approx([30 * MINUTE, 270 * MINUTE + 10])


def test_a_task_registered_while_the_clock_was_wrong_is_not_left_in_the_far_future(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("first", print, "* * * * *"))
    scheduler.start()
    clock.advance(10)
    clock.jump(100 * YEAR)
    scheduler.register(
        CronTask("report", runs, "* * * * *")
    )  # not the first of those due: the thread sleeps on
    clock.jump(-100 * YEAR)
    clock.advance(120)
    assert runs == pytest.approx([60, 120])


def test_a_restart_after_the_clock_went_back_repeats_no_fixed_time(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(CronTask("report", runs, "30 12 * * *"))
    scheduler.start()
    clock.advance(HOUR)
    scheduler.stop()
    clock.jump(-HOUR)
    scheduler.start()
    clock.advance(HOUR)
    assert runs == pytest.approx([30 * MINUTE])


def test_periodic_tasks_go_on_under_a_clock_beyond_the_calendars_end(
    clock: FakeClock, scheduler: TaskScheduler
) -> None:
    runs = Runs(clock)
    scheduler.register(PeriodicTask("sweep", runs, 10))
    scheduler.start()
    clock.jump(1e12)
    clock.advance(20)
    assert runs == [10, 20]
    assert scheduler.states()[0].runs == 2
