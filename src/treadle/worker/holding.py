"""An item in the worker's hands."""

from __future__ import annotations

import logging
from typing import Protocol
from uuid import UUID

from treadle.domain.item import Lease
from treadle.domain.outcome import StopReason
from treadle.domain.run import Run
from treadle.worker.clock import Clock
from treadle.worker.health import RunningItem
from treadle.worker.journal import note


class Cancellable(Protocol):
    """The handler's code under way."""

    def cancel(self) -> None:
        """Interrupt it at its next await, if it has one. Called once per reason to stop."""


class Holding:
    """One attempt at one item, from its claim until its end is written, or is no longer ours to write."""

    def __init__(self, lease: Lease, *, until: float, clock: Clock) -> None:
        """*until*: when, by *clock*, the lease can no longer be relied on."""
        self.lease = lease
        self.until = until
        self.run = Run(lease.item_id, lease.attempt, lease.scope_id, lease.slot)
        self.execution: Cancellable | None = None
        """The handler while it runs, else None."""
        self._clock = clock
        self._since = clock()

    @property
    def key(self) -> tuple[UUID, int]:
        """What tells it from every other: the same item can be here twice, once as a zombie."""
        return (self.lease.item_id, self.lease.attempt)

    @property
    def fenced(self) -> bool:
        """Whether the attempt is no longer ours: then nothing is written for it."""
        return self.run.stop_reason is StopReason.FENCED

    def stop(self, reason: StopReason) -> None:
        """Tell the handler to stop, unless it was told for as good a reason before."""
        if self.run.stop(reason) and self.execution is not None:
            self.execution.cancel()

    def fence(self, why: str) -> None:
        """Give the attempt up: cancel the handler and write nothing more."""
        if not self.fenced:
            note("fenced", f"fenced off: {why}", lease=self.lease, level=logging.WARNING)
            self.stop(StopReason.FENCED)

    def fence_if_over(self) -> bool:
        """Fence ourselves when the lease can no longer be relied on; whether the attempt is lost."""
        if not self.fenced and self._clock() >= self.until:
            self.fence("the lease could not be extended in time")
        return self.fenced

    def describe(self) -> RunningItem:
        """For the worker's health."""
        reason = self.run.stop_reason
        return RunningItem(
            item_id=self.lease.item_id,
            kind=self.lease.kind,
            attempt=self.lease.attempt,
            seconds=self._clock() - self._since,
            stop_reason=None if reason is None else reason.name.lower(),
        )


Holdings = dict[tuple[UUID, int], Holding]
"""Everything in the worker's hands, by ``Holding.key``."""
