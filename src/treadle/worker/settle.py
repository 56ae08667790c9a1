"""Writing how a run ended, once and for sure, or learning that it is not ours to write."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, assert_never

from treadle.domain.item import Claimant, Lease
from treadle.domain.outcome import (
    Cancelled,
    Ending,
    Failed,
    GiveBack,
    Nothing,
    Outcome,
    Raised,
    StopReason,
    Succeeded,
    decide,
)
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.ports.lease import Leases
from treadle.worker.clock import Clock
from treadle.worker.holding import Holding
from treadle.worker.journal import note
from treadle.worker.settings import WorkerSettings

FIRST_WAIT: Final = 0.1
FAULTS_BORNE: Final = 3
"""Errors other than an unreachable store after which the item is left to recovery."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease as it was given, and until when, by the worker's clock, it may be relied on."""

    lease: Lease
    until: float


class Settlement:
    """Ends one attempt in the store. A lost reply leads neither to a second run nor to a lost end.

    After ``StoreUnavailable`` nobody knows whether the write took effect. A heartbeat finds out:
    accepted, it shows that the item still runs, and keeps the lease for one more try; refused, the
    item's status tells whose end it has. This goes on until the lease is over. The heartbeat beside
    the handler has ended before, or it would take our own finish for a fence.
    """

    def __init__(
        self,
        leases: Leases,
        holding: Holding,
        *,
        settings: WorkerSettings,
        clock: Clock,
        claimant: Callable[[], Claimant | None],
    ) -> None:
        """*claimant*: who claims the next item along with the finish; None when nobody should."""
        self._leases = leases
        self._holding = holding
        self._settings = settings
        self._clock = clock
        self._claimant = claimant
        self._tries = 0

    async def settle(self, ending: Ending) -> Claimed | None:
        """Write what *ending* comes to; the item claimed along with it."""
        unsure = False
        faults = 0
        while not self._holding.fence_if_over():
            try:
                if unsure and not await self._still_ours(ending):
                    return None
                return await self._write(ending)
            except StoreUnavailable as error:
                unsure = True
                await self._after(error)
            except Exception as error:  # noqa: BLE001 - whatever the store makes of it, the item has to end
                faults += 1
                if faults > FAULTS_BORNE:
                    note("finish_failed", "left to recovery", lease=self._holding.lease, level=logging.ERROR)
                    return None
                if faults > 1:  # not the moment, but the value: the item ends without it
                    ending = Raised(f"ResultError: its end could not be stored ({type(error).__name__})")
                await self._after(error)
        return None

    async def _write(self, ending: Ending) -> Claimed | None:
        # Decided anew for every try: a cancel that was delivered meanwhile wins.
        lease, run = self._holding.lease, self._holding.run
        match decide(ending, run.stop_reason):
            case Nothing():
                return None
            case GiveBack():
                await self._release()
                return None
            case Succeeded() | Failed() | Cancelled() as outcome:
                sent = self._clock()
                finished = await self._leases.finish(lease, outcome, run.latest, self._claimant())
                if not finished.accepted:
                    self._holding.fence("the store refused its end")
                    return None
                self._ended(_status(outcome))
                until = sent + self._settings.trusted
                return None if finished.next is None else Claimed(finished.next, until)
            case other:
                assert_never(other)

    async def _release(self) -> None:
        released = await self._leases.release(self._holding.lease, self._holding.run.latest)
        if released is None:
            self._holding.fence("the store refused its release")
        else:
            note("released", f"handed back, now {released.status}", lease=self._holding.lease)

    async def _still_ours(self, ending: Ending) -> bool:
        """After a lost reply: whether the item still runs under this attempt. Extends the lease if so."""
        lease, run = self._holding.lease, self._holding.run
        sent = self._clock()
        beat = await self._leases.heartbeat(lease, run.latest, self._settings.extension)
        if beat is not None:
            self._holding.until = sent + self._settings.trusted
            if beat.cancel_requested:
                self._holding.stop(StopReason.CANCEL)
            return True
        status = await self._leases.outcome_of(lease)
        if status is not None and status in _expected(ending, run.stop_reason):
            self._ended(status)
        else:
            self._holding.fence("the item is no longer ours")
        return False

    def _ended(self, status: Status) -> None:
        note("ended", f"ended {status}", lease=self._holding.lease)

    async def _after(self, error: Exception) -> None:
        self._tries += 1
        message = f"its end could not be written ({type(error).__name__}: {error}); trying again"
        note("finish_retried", message, lease=self._holding.lease, level=logging.WARNING)
        ceiling = min(self._settings.heartbeat, FIRST_WAIT * 2 ** min(self._tries, 16))
        await asyncio.sleep(random.uniform(ceiling / 2, ceiling))  # noqa: S311 - no secret


def _status(outcome: Outcome) -> Status:
    match outcome:
        case Succeeded():
            return Status.SUCCEEDED
        case Failed():
            return Status.FAILED
        case Cancelled():
            return Status.CANCELLED


def _expected(ending: Ending, reason: StopReason | None) -> frozenset[Status]:
    match decide(ending, reason):
        case Nothing():
            return frozenset()
        case GiveBack():
            return frozenset({Status.QUEUED, Status.CANCELLED})
        case Succeeded() | Failed() | Cancelled() as outcome:
            return frozenset({_status(outcome)})
