"""Carrying work out: the loops of a worker, and the order in which they end."""

from treadle.worker.health import Health, LoopHealth, RunningItem
from treadle.worker.settings import WorkerSettings
from treadle.worker.worker import Worker

__all__ = ["Health", "LoopHealth", "RunningItem", "Worker", "WorkerSettings"]
