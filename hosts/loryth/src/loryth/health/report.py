"""What the worker says of itself; it reads memory only, so that it answers whatever is away."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from loryth.events.consumer import ConsumerState, EventConsumer
from loryth.failure import LENGTH, without_user_info
from treadle.task_scheduler import TaskScheduler, TaskState


@dataclass(frozen=True, slots=True)
class Report:
    """*problems* says in sentences what is wrong with the worker itself; with none it is healthy."""

    problems: list[str]
    body: dict[str, Any]

    @property
    def healthy(self) -> bool:
        return not self.problems


class Health:
    """The report of a worker, from the start of its process on.

    A chore that failed is told, and leaves the worker healthy: starting it anew would not help.
    """

    def __init__(
        self, consumer: EventConsumer, scheduler: TaskScheduler, *, unhealthy_seconds: float
    ) -> None:
        """*unhealthy_seconds* is how long the database may be away."""
        self._consumer = consumer
        self._scheduler = scheduler
        self._unhealthy_seconds = unhealthy_seconds
        self._lock = Lock()
        self._phase = "starting"
        self._waits_for: str | None = None

    def note_waiting(self, reason: str) -> None:
        """The worker cannot start yet."""
        with self._lock:
            self._waits_for = reason

    def note_phase(self, phase: str) -> None:
        """The worker is `starting`, `working` or `stopping`."""
        with self._lock:
            self._phase, self._waits_for = phase, None

    def report(self) -> Report:
        """How it is now."""
        with self._lock:
            phase, waits_for = self._phase, self._waits_for
        state, running = self._consumer.state, self._consumer.running
        problems = []
        if phase != "working":
            problems.append(f"the worker is {phase}" + (f": {waits_for}" if waits_for else ""))
        else:
            if not running:
                problems.append("the thread that delivers events has ended")
            if not self._scheduler.running:
                problems.append("the thread that runs the chores has ended")
            away = _seconds_away(state)
            if away >= self._unhealthy_seconds:
                problems.append(f"no event could be looked for in {away:.0f} s: {state.unreachable}")
        body = {
            "status": "unhealthy" if problems else "healthy",
            "phase": phase,
            "problems": problems,
            "now": _text(datetime.now(UTC)),
            "events": _events(state, running=running),
            "chores": {
                "running": self._scheduler.running,
                "tasks": [_chore(task) for task in self._scheduler.states()],
            },
        }
        return Report(problems, body)


def _events(state: ConsumerState, *, running: bool) -> dict[str, Any]:
    backlog = state.backlog
    return {
        "running": running,
        "done": state.done,
        "failures": state.failures,
        "last_error": state.last_error,
        "handling": state.handling and {"id": str(state.handling.id), "type": state.handling.event_type},
        "unreachable": state.unreachable,
        "unreachable_seconds": round(_seconds_away(state), 1),
        "backlog": backlog and asdict(backlog) | {"seen_at": _text(state.backlog_at)},
    }


def _chore(task: TaskState) -> dict[str, Any]:
    took = None
    if task.running_since is None and task.last_started_at and task.last_finished_at:
        took = max(0.0, round((task.last_finished_at - task.last_started_at).total_seconds(), 3))
    return {
        "name": task.name,
        "runs": task.runs,
        "failures": task.failures,
        "running_since": _text(task.running_since),
        "last_started_at": _text(task.last_started_at),
        "last_finished_at": _text(task.last_finished_at),
        "last_took_seconds": took,
        "last_error": task.last_error and without_user_info(task.last_error)[:LENGTH],
        "next_run_at": _text(task.next_run_at),
    }


def _seconds_away(state: ConsumerState) -> float:
    since = state.unreachable_since
    return 0.0 if since is None else time.monotonic() - since


def _text(instant: datetime | None) -> str | None:
    return instant.isoformat(timespec="milliseconds") if instant else None
