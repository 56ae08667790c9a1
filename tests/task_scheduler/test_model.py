"""Random clocks, handlers and restarts, held to a list of due times for each task and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.task_scheduler.fake_clock import NOON, PATIENCE, FakeClock
from treadle.task_scheduler import CronTask, PeriodicTask

MINUTE, HOUR, DAY = 60, 3600, 86400
WILDCARD, FIXED = MINUTE, 3 * HOUR
"""How long what has run is not repeated by a wall clock that goes back."""

MIDNIGHT = NOON.timestamp() - 12 * HOUR


@dataclass
class Expected:
    """The due times offset + k x period of a task, on the wall clock where there is an expression."""

    period: float
    expression: str = ""
    spared: float = math.inf
    offset: float = MIDNIGHT
    due: float = math.inf
    started: float = -math.inf
    runs: int = 0

    def plan(self, now: float) -> None:
        if self.started - now >= self.spared:
            self.started = -math.inf
        self.due = self.offset + ((max(now, self.started) - self.offset) // self.period + 1) * self.period


@dataclass
class Model:
    """What has to be true of each run, and each time the thread sleeps."""

    clock: FakeClock
    tasks: list[Expected] = field(default_factory=list)
    highest_wall: float = -math.inf
    running: Expected | None = None
    stall: float = 0

    def now(self, task: Expected) -> float:
        return self.clock.wall() if task.expression else self.clock.monotonic()

    def register(self, task: Expected) -> None:
        name = str(len(self.tasks))
        self.tasks.append(task)
        if self.clock.scheduler.running:
            self.begin(task)

        def handler() -> None:
            self.run(task)

        if task.expression:
            self.clock.scheduler.register(CronTask(name, handler, task.expression))
        else:
            self.clock.scheduler.register(PeriodicTask(name, handler, task.period))
        self.look()

    def begin(self, task: Expected) -> None:
        if not task.expression:
            task.offset = self.clock.monotonic()
        task.plan(self.now(task))

    def restart(self, pause: float) -> None:
        assert self.clock.scheduler.stop(PATIENCE)
        self.clock.spend(pause)
        self.highest_wall = self.clock.wall()
        for task in self.tasks:
            self.begin(task)
        self.clock.scheduler.start()
        self.look()

    def jump(self, seconds: float) -> None:
        self.clock.jump(seconds)
        if self.highest_wall - self.clock.wall() > 2:
            self.highest_wall = self.clock.wall()
            for task in self.tasks:
                if task.expression:
                    task.plan(self.clock.wall())
        self.look()

    def run(self, task: Expected) -> None:
        assert self.running is None, "two at a time"
        assert task.due <= self.now(task), "early, or a due time that has been served"
        self.running = task
        task.started = self.now(task)
        task.runs += 1
        self.clock.spend(0.25 + self.stall)
        self.stall = 0
        task.plan(self.now(task))
        self.running = None

    def look(self, seconds: float = 0, wake_every: float = math.inf) -> None:
        self.clock.advance(seconds, wake_every=wake_every)
        self.highest_wall = max(self.highest_wall, self.clock.wall())
        if not self.clock.scheduler.running:
            return
        for task, state in zip(self.tasks, self.clock.scheduler.states(), strict=True):
            assert task.due > self.now(task), "a due time that was forgotten"
            assert (state.runs, state.failures) == (task.runs, 0), state.last_error
            assert state.next_run_at is not None
            assert state.next_run_at.timestamp() - self.clock.wall() == task.due - self.now(task)


tasks = st.builds(Expected, st.sampled_from([7.5, 20, 61.25, 5000])) | st.sampled_from(
    [
        (MINUTE, "* * * * *", WILDCARD),
        (5 * MINUTE, "*/5 * * * *", WILDCARD),
        (HOUR, "0 * * * *", WILDCARD),
        (MINUTE, "0-59 0-23 * * *", FIXED),
        (20 * MINUTE, "*/20 0-23 * * *", WILDCARD),
        (20 * MINUTE, "0,20,40 0-23 * * *", FIXED),
        (DAY, "0 12 * * *", FIXED),
    ]
).map(lambda row: Expected(*row, offset=MIDNIGHT + (12 * HOUR if row[0] == DAY else 0)))

# In quarters of a second, which floats add without rounding.
back = st.sampled_from([-1, -1.75, -3, -30, -59, -61, -10 * MINUTE, -2 * HOUR, -5 * HOUR, -3650 * DAY])
forth = st.sampled_from([1, 30, 60, 10 * MINUTE, 2 * HOUR, 5 * HOUR, 36500 * DAY])
actions = st.one_of(
    st.tuples(st.just("register"), tasks),
    st.tuples(st.just("pass"), st.integers(0, 500).map(lambda quarters: quarters / 4)),
    st.tuples(st.just("wake early"), st.integers(0, 100).map(lambda quarters: quarters / 4)),
    st.tuples(st.just("jump"), back | forth),
    st.tuples(st.just("stall"), st.sampled_from([1, 12.5, 70, 400])),
    st.tuples(st.just("restart"), st.sampled_from([0, 0.25, 59.75, 3000])),
)


@settings(deadline=None, max_examples=25)
@given(st.lists(tasks, min_size=1, max_size=3), st.lists(actions, min_size=4, max_size=16))
def test_every_due_time_is_served_once_and_none_early(
    first: list[Expected], then: list[tuple[str, float | Expected]]
) -> None:
    model = Model(FakeClock())
    try:
        for task in first:
            model.register(task)
        model.restart(0)
        for action, value in then:
            if isinstance(value, Expected):
                model.register(value)
            elif action == "pass":
                model.look(value)
            elif action == "wake early":
                model.look(value, wake_every=0.75)
            elif action == "jump":
                model.jump(value)
            elif action == "stall":
                model.stall = value
            else:
                model.restart(value)
    finally:
        assert model.clock.scheduler.stop(PATIENCE)
