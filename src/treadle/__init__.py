"""Treadle: durable background work on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treadle.domain.handler import Handler
    from treadle.domain.outcome import Partial, StopReason
    from treadle.domain.payload import Payload, WorkPayload
    from treadle.domain.registry import Registry
    from treadle.domain.run import Run, Stopped
    from treadle.domain.schedule import Cron, CronScope, Every, EveryScope, Occasion, Schedule
    from treadle.domain.status import Status
    from treadle.work_queue import WorkQueue
    from treadle.worker import Health, Worker, WorkerSettings

# Loaded when they are asked for: who wants treadle.task_scheduler loads nothing of the queue.
_HOMES = {
    "Cron": "treadle.domain.schedule",
    "CronScope": "treadle.domain.schedule",
    "Every": "treadle.domain.schedule",
    "EveryScope": "treadle.domain.schedule",
    "Handler": "treadle.domain.handler",
    "Health": "treadle.worker",
    "Occasion": "treadle.domain.schedule",
    "Partial": "treadle.domain.outcome",
    "Payload": "treadle.domain.payload",
    "Registry": "treadle.domain.registry",
    "Run": "treadle.domain.run",
    "Schedule": "treadle.domain.schedule",
    "Status": "treadle.domain.status",
    "StopReason": "treadle.domain.outcome",
    "Stopped": "treadle.domain.run",
    "WorkPayload": "treadle.domain.payload",
    "WorkQueue": "treadle.work_queue",
    "Worker": "treadle.worker",
    "WorkerSettings": "treadle.worker",
}

__all__ = [
    "Cron",
    "CronScope",
    "Every",
    "EveryScope",
    "Handler",
    "Health",
    "Occasion",
    "Partial",
    "Payload",
    "Registry",
    "Run",
    "Schedule",
    "Status",
    "StopReason",
    "Stopped",
    "WorkPayload",
    "WorkQueue",
    "Worker",
    "WorkerSettings",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'treadle' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
