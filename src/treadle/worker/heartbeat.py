"""Keeping a lease while its handler runs."""

from __future__ import annotations

import asyncio
import logging
import math

from treadle.domain.outcome import StopReason
from treadle.ports.lease import Beat, Leases
from treadle.worker.clock import Clock
from treadle.worker.holding import Holding
from treadle.worker.journal import note
from treadle.worker.settings import WorkerSettings


class Heartbeat:
    """Extends one lease at a fixed cadence, takes progress along, and brings back a cancel or a fence.

    It lives on the control loop, where no handler runs, so that a handler which blocks cannot cost
    the lease.
    """

    def __init__(self, leases: Leases, holding: Holding, settings: WorkerSettings, clock: Clock) -> None:
        self._leases = leases
        self._holding = holding
        self._settings = settings
        self._clock = clock
        self._stopped = asyncio.Event()
        self._failures = 0

    async def run(self) -> None:
        """Beat until ``stop`` or until the attempt is lost. No beat is in flight once it returns."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        period = self._settings.heartbeat
        due = start + period
        while await self._reach(due):
            accepted = await self._beat()
            if self._holding.fenced:
                return
            # Beats keep to the grid of the first one; what is overdue is left out, not made up for.
            elapsed = loop.time() - start
            on_grid = start + (math.floor(elapsed / period + 1e-9) + 1) * period
            due = on_grid if accepted else min(on_grid, loop.time() + period / 4)

    def stop(self) -> None:
        """Send no further beat. ``run`` returns when the one in flight is answered."""
        self._stopped.set()

    async def _reach(self, due: float) -> bool:
        """Wait for the next beat or the end of the lease, whichever is first; False when stopped."""
        loop = asyncio.get_running_loop()
        wait = min(due - loop.time(), self._holding.until - self._clock())
        try:
            async with asyncio.timeout(max(0.0, wait)):
                await self._stopped.wait()
        except TimeoutError:
            return True
        return False

    async def _beat(self) -> bool:
        """One beat; whether it was accepted."""
        holding = self._holding
        if holding.fence_if_over():
            return False
        sent = self._clock()
        # Not wait_for: the lease does not wait for a database that is slow in cancelling, too.
        beat = asyncio.create_task(
            self._leases.heartbeat(holding.lease, holding.run.latest, self._settings.extension)
        )
        try:
            await asyncio.wait({beat}, timeout=max(0.0, holding.until - sent))
        finally:
            if not beat.done():
                beat.cancel()
                beat.add_done_callback(_forget)
        if not beat.done():
            holding.fence_if_over()
            return False
        return self._answered(beat, sent)

    def _answered(self, beat: asyncio.Task[Beat | None], sent: float) -> bool:
        error = asyncio.CancelledError() if beat.cancelled() else beat.exception()
        if error is not None:
            self._failures += 1
            message = f"heartbeat failed ({type(error).__name__}: {error}); trying again"
            note("heartbeat_failed", message, lease=self._holding.lease, level=logging.WARNING)
            return False
        answer = beat.result()
        if answer is None:
            self._holding.fence("the item is no longer ours")
            return False
        if self._failures:
            note("heartbeat_recovered", "heartbeat works again", lease=self._holding.lease)
            self._failures = 0
        self._holding.until = sent + self._settings.trusted
        if answer.cancel_requested and self._holding.run.stop_reason is not StopReason.CANCEL:
            note("cancel_delivered", "an admin asked to cancel", lease=self._holding.lease)
            self._holding.stop(StopReason.CANCEL)
        return True


def _forget(beat: asyncio.Task[Beat | None]) -> None:
    """Take note of an answer that came too late, so that asyncio does not complain of it."""
    if not beat.cancelled():
        beat.exception()
