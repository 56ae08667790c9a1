"""Claiming items and carrying them out, one at a time per executor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from treadle.domain.item import Claimant
from treadle.domain.outcome import Ending, HandedBack, Raised, StopReason
from treadle.domain.registry import Registry
from treadle.ports.lease import Leases
from treadle.worker.clock import Clock
from treadle.worker.heartbeat import Heartbeat
from treadle.worker.holding import Holding, Holdings
from treadle.worker.host import Host
from treadle.worker.journal import note
from treadle.worker.runner import Execution
from treadle.worker.settings import WorkerSettings
from treadle.worker.settle import Claimed, Settlement


@dataclass(kw_only=True)
class Shop:
    """What all executors of a worker share."""

    leases: Leases
    registry: Registry
    settings: WorkerSettings
    host: Host
    clock: Clock
    claimant: Callable[[], Claimant]
    found: Callable[[], object]
    """Called after an item was claimed: there may be more for an idle executor."""
    held: Holdings = field(default_factory=dict)
    stopping: bool = False
    claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One at a time: hundreds of claims at once would stand in line for the connections until they fail."""
    empty_until: float = 0.0
    """Until then the queue, just seen empty, is not asked again by the next idle executor."""


class Executor:
    """One at a time, oldest first. The handler is waited for, whatever happens to its item."""

    def __init__(self, number: int, shop: Shop) -> None:
        self.name = f"executor-{number}"
        self._shop = shop
        self._holding: Holding | None = None

    @property
    def busy(self) -> bool:
        """Whether an item is in hand."""
        return self._holding is not None

    async def run_once(self) -> float:
        """Carry out items until none is left to claim."""
        claimed = await self._claim()
        while claimed is not None:
            claimed = await self._carry_out(claimed)
        return self._shop.settings.poll

    async def _claim(self) -> Claimed | None:
        shop = self._shop
        async with shop.claiming:
            sent = shop.clock()
            if shop.stopping or sent < shop.empty_until:
                return None
            lease = await shop.leases.claim(shop.claimant())
            if lease is None:
                shop.empty_until = shop.clock() + shop.settings.poll / 2
                return None
        shop.empty_until = 0.0
        shop.found()
        return Claimed(lease, sent + shop.settings.trusted)

    async def _carry_out(self, claimed: Claimed) -> Claimed | None:
        holding = Holding(claimed.lease, until=claimed.until, clock=self._shop.clock)
        self._holding = self._shop.held[holding.key] = holding
        try:
            if self._shop.stopping:  # claimed while the stop came
                holding.stop(StopReason.SHUTDOWN)
                return await self._settle(holding, HandedBack())
            if holding.fence_if_over():  # the process was suspended before it could read the claim's reply
                return None
            note("claimed", "claimed", lease=holding.lease)
            return await self._settle(holding, await self._run_handler(holding))
        finally:
            self._holding = None
            del self._shop.held[holding.key]

    async def _run_handler(self, holding: Holding) -> Ending:
        shop, lease, run = self._shop, holding.lease, holding.run
        handler = shop.registry.handler(lease.kind)
        execution = Execution(
            handler, lambda: shop.registry.decode(lease.kind, lease.payload), run, shop.host
        )
        heartbeat = Heartbeat(shop.leases, holding, shop.settings, shop.clock)
        try:
            execution.start()
        except RuntimeError:
            # The host's loop is closed, or there is no thread to be had: the worker's fault, not the item's.
            holding.stop(StopReason.SHUTDOWN)
            await self._settle(holding, HandedBack())
            raise
        holding.execution = execution
        beating = asyncio.create_task(heartbeat.run(), name=f"heartbeat-{lease.item_id}")
        try:
            ending = await execution.ended
            holding.execution = None
            heartbeat.stop()
            await beating
        finally:
            beating.cancel()
        if isinstance(ending, Raised):
            level = logging.ERROR if run.stop_reason is None else logging.WARNING
            note("handler_raised", "the handler raised", lease=lease, level=level, details=ending.traceback)
        return ending

    async def _settle(self, holding: Holding, ending: Ending) -> Claimed | None:
        shop = self._shop
        settlement = Settlement(
            shop.leases,
            holding,
            settings=shop.settings,
            clock=shop.clock,
            claimant=lambda: None if shop.stopping else shop.claimant(),
        )
        claimed = await settlement.settle(ending)
        if claimed is not None:
            shop.found()
        return claimed
