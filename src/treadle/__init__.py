"""Treadle: durable background work on PostgreSQL."""

from treadle.domain.handler import Handler
from treadle.domain.outcome import Partial, StopReason
from treadle.domain.payload import Payload, WorkPayload
from treadle.domain.registry import Registry
from treadle.domain.run import Run, Stopped
from treadle.domain.schedule import Every, EveryScope, Occasion, Schedule
from treadle.domain.status import Status
from treadle.work_queue import WorkQueue
from treadle.worker import Health, Worker, WorkerSettings

__all__ = [
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
