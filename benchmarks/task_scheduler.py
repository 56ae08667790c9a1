"""Ten thousand tasks on one thread: what they cost idle, to register and to run, beside APScheduler 3.

Run it with ``python benchmarks/task_scheduler.py --tasks 10000 --seconds 31``. Each measurement has a process of its
own; the two sides take turns, and ratios are of the two measurements of one round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol, Self
from zoneinfo import ZoneInfo

from apscheduler.executors.pool import ThreadPoolExecutor  # type: ignore[import-untyped]  # has no types
from apscheduler.schedulers.background import BackgroundScheduler  # type: ignore[import-untyped]  # has no types
from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]  # has no types

from treadle.task_scheduler import CronExpression, PeriodicTask, TaskScheduler

FAR_OFF = 3600.0
"""Seconds until the idle tasks are due."""
CRON = "30 2 * * mon-fri"
ZONE = ZoneInfo("Europe/Berlin")
Work = Callable[[], None]


class Side(Protocol):
    """A scheduler with its own way of taking tasks; seconds are the task's interval and time to its first run."""

    def register(self, name: str, work: Work, seconds: float) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def cron_times(self, count: int) -> None: ...


class Treadle:
    def __init__(self) -> None:
        self.scheduler = TaskScheduler()

    def register(self, name: str, work: Work, seconds: float) -> None:
        self.scheduler.register(PeriodicTask(name, work, interval_seconds=seconds))

    def start(self) -> None:
        self.scheduler.start()

    def stop(self) -> None:
        self.scheduler.stop()

    def cron_times(self, count: int) -> None:
        expression, instant = CronExpression(CRON, ZONE), datetime.now(UTC)
        for _ in range(count):
            instant = expression.next_after(instant)


class APScheduler:
    """In memory, one worker thread, and told to run what is late, once, as the other side does."""

    def __init__(self) -> None:
        self.scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(1)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self.begun = datetime.now(UTC)

    def register(self, name: str, work: Work, seconds: float) -> None:
        # All are due at one instant, which spares it a wake-up for each.
        due = self.begun + timedelta(seconds=seconds)
        self.scheduler.add_job(work, "interval", seconds=seconds, id=name, next_run_time=due)

    def start(self) -> None:
        self.scheduler.start()

    def stop(self) -> None:
        self.scheduler.shutdown()

    def cron_times(self, count: int) -> None:
        trigger, instant = CronTrigger.from_crontab(CRON, timezone=ZONE), datetime.now(ZONE)
        for _ in range(count):
            instant = trigger.get_next_fire_time(instant, instant)


SIDES: dict[str, Callable[[], Side]] = {"treadle": Treadle, "apscheduler": APScheduler}


@dataclass
class Spent:
    """CPU seconds of the whole process within a block."""

    seconds: float = 0.0

    def __enter__(self) -> Self:
        self.seconds = -time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time()


def wake_ups() -> int:
    """How often the threads besides this one have slept and been woken, or have gone to sleep."""
    statuses = (
        Path(f"/proc/self/task/{thread.native_id}/status").read_text()
        for thread in threading.enumerate()
        if thread is not threading.current_thread()
    )
    return sum(int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for status in statuses)


def measure_idle(side: Side, *, tasks: int, seconds: float) -> dict[str, float]:
    """Tasks that are due far off: to register all and start, to rest, and to take in more while it runs."""
    with Spent() as registering:
        for number in range(tasks):
            side.register(f"task {number}", lambda: None, FAR_OFF + number)
        side.start()
    time.sleep(1)  # whatever the start has left to do is not idleness
    before = wake_ups()
    with Spent() as idle:
        time.sleep(seconds)
    woken = wake_ups() - before
    more = max(1, tasks // 10)
    with Spent() as adding:
        for number in range(more):
            side.register(f"late task {number}", lambda: None, FAR_OFF + number)
    side.stop()
    return {
        "register_us": 1e6 * registering.seconds / tasks,
        "register_running_us": 1e6 * adding.seconds / more,
        "idle_wake_ups_per_s": woken / seconds,
        "idle_cpu_ms_per_s": 1e3 * idle.seconds / seconds,
    }


def measure_runs(side: Side, *, tasks: int, lead: float) -> dict[str, float]:
    """All tasks due at once, *lead* seconds from now: what one run of an empty handler costs."""
    ran, all_ran = 0, threading.Event()

    def work() -> None:
        nonlocal ran
        ran += 1
        if ran == tasks:
            all_ran.set()

    for number in range(tasks):
        side.register(f"task {number}", work, lead)
    side.start()
    with Spent() as running:
        finished = all_ran.wait(lead + 60)
    side.stop()
    if not finished:
        raise SystemExit(f"only {ran} of {tasks} tasks have run")
    return {"run_us": 1e6 * running.seconds / tasks}


def measure_cron(side: Side, *, times: int) -> dict[str, float]:
    with Spent() as finding:
        side.cron_times(times)
    return {"cron_next_us": 1e6 * finding.seconds / times}


def measure_side(name: str, *, tasks: int, seconds: float, lead: float) -> dict[str, float]:
    """All figures of one side, by name, in this process."""
    make = SIDES[name]
    return {
        **measure_idle(make(), tasks=tasks, seconds=seconds),
        **measure_runs(make(), tasks=tasks, lead=lead),
        **measure_cron(make(), times=min(tasks, 2000)),
    }


def in_a_process(name: str, *, tasks: int, seconds: float, lead: float) -> dict[str, float]:
    command = [sys.executable, __file__, "--side", name, "--tasks", str(tasks)]
    command += ["--seconds", str(seconds), "--lead", str(lead)]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(answer.stdout)
    return figures


def compare(*, tasks: int, seconds: float, lead: float, rounds: int) -> dict[str, object]:
    """The medians of both sides, and of Treadle's part of APScheduler's figure in the same round."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SIDES}
    for number in range(rounds):
        order = list(SIDES) if number % 2 == 0 else list(reversed(SIDES))
        for name in order:
            found[name].append(in_a_process(name, tasks=tasks, seconds=seconds, lead=lead))
    ours, theirs = found["treadle"], found["apscheduler"]
    ratios = {
        figure: round(statistics.median(a[figure] / b[figure] for a, b in zip(ours, theirs, strict=True)), 2)
        for figure in ours[0]
        if figure.endswith("_us")  # both rest so well that a ratio of it would be noise
    }
    medians = {
        name: {figure: round(statistics.median(r[figure] for r in results), 3) for figure in results[0]}
        for name, results in found.items()
    }
    return {"tasks": tasks, "rounds": rounds, **medians, "ratio": ratios}


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=31.0, help="of idleness")
    parser.add_argument("--lead", type=float, default=10.0, help="seconds until all tasks are due at once")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=sorted(SIDES), help="measure this side only, in this process")
    given = parser.parse_args()
    sizes = {"tasks": given.tasks, "seconds": given.seconds, "lead": given.lead}
    if given.side:
        print(json.dumps(measure_side(given.side, **sizes)))
    else:
        print(json.dumps(compare(**sizes, rounds=given.rounds), indent=2))


if __name__ == "__main__":
    main()
