"""What runs on the control loop: every loop of a worker, and the order in which they end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection
from typing import Any, Final

from treadle.domain.item import Claimant, Lease
from treadle.domain.outcome import StopReason
from treadle.domain.registry import Registry
from treadle.errors import SchemaMismatch
from treadle.ports.lease import LastWill
from treadle.ports.store import WorkerStore
from treadle.worker.clock import Clock
from treadle.worker.executor import Executor, Shop
from treadle.worker.health import Health
from treadle.worker.host import Host
from treadle.worker.journal import note
from treadle.worker.loop import Loop, Service
from treadle.worker.presence import Appearance
from treadle.worker.recovery import Recovery
from treadle.worker.scheduling import Scheduling
from treadle.worker.serving import Scopes, Serves, Serving
from treadle.worker.settings import WorkerSettings
from treadle.worker.shutdown import Departure

STEP: Final = 0.2
"""Seconds that an item's end may still take to be written once the grace is over."""
CLOSING: Final = 0.3
"""Seconds after the grace by which all is closed, or left; the interpreter takes its time after that."""
SHORTEST: Final = 0.02
"""Seconds that each step of closing has all the same."""
AFTER_GRACE: Final = 0.9
"""Seconds after the grace within which the process is gone."""
PATIENCE: Final = 30.0
"""Seconds without a success after which a loop is not well; five of its periods if that is longer."""


class Supervisor:
    """Starts the loops, waits for the stop, ends them in order. It belongs to the control loop."""

    def __init__(
        self,
        store: WorkerStore,
        registry: Registry,
        *,
        claimed_by: str,
        serves: Serves,
        settings: WorkerSettings,
        host: Host,
        clock: Clock,
        departure: Departure,
    ) -> None:
        self._store = store
        self._registry = registry
        self._claimed_by = claimed_by
        self._settings = settings
        self._clock = clock
        self._departure = departure
        self._open = False
        self._mismatch: SchemaMismatch | None = None
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._deadline = 0.0
        self._serving: Serving | None = None
        self._fixed_scopes: Scopes = None
        if callable(serves):
            self._serving = Serving(serves, host, interval=settings.poll, changed=self._poke_all)
        else:
            self._fixed_scopes = serves
        self._shop = Shop(
            leases=store.leases,
            registry=registry,
            settings=settings,
            host=host,
            clock=clock,
            claimant=self._claimant,
            found=self.wake,
        )
        executors = [Executor(number, self._shop) for number in range(1, settings.concurrency + 1)]
        self._executors = [self._loop(executor, settings.poll) for executor in executors]
        self._services = self._make_services()

    def stop(self) -> None:
        """Go down; handlers get the grace period, which begins now."""
        if not self._stopping.is_set():
            self._deadline = asyncio.get_running_loop().time() + self._settings.shutdown_grace
            self._shop.stopping = True
            for holding in list(self._shop.held.values()):
                holding.stop(StopReason.SHUTDOWN)
            self._stopping.set()

    def hurry(self) -> None:
        """Go down, or if that is under way wait for no handler any more."""
        if not self._stopping.is_set():
            self.stop()
        elif not self._hurry.is_set():
            self._deadline = min(self._deadline, asyncio.get_running_loop().time())
            self._hurry.set()

    def wake(self) -> None:
        """Have one idle executor look into the queue now."""
        self._shop.empty_until = 0.0
        any(loop.poke() for loop in self._executors)

    def health(self) -> Health:
        """How the worker does. Any thread may ask."""
        loops = [loop.health() for loop in (*self._executors, *self._services)]
        stopping = self._stopping.is_set()
        return Health(
            claimed_by=self._claimed_by,
            ready=self._open and not stopping and all(loop.well for loop in loops),
            stopping=stopping,
            loops=loops,
            running=[holding.describe() for holding in list(self._shop.held.values())],
        )

    async def run(self) -> None:
        """Work until stopped. Raises ``SchemaMismatch`` when the store does not fit this library."""
        if not await self._opened():
            return
        executors = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._executors]
        services = [asyncio.create_task(loop.run(), name=loop.name) for loop in self._services]
        note("started", f"{self._claimed_by} works on {', '.join(sorted(self._registry.kinds))}")
        try:
            await self._stopping.wait()
            await self._go_down(executors, services)
        finally:
            self._deadline = self._deadline or asyncio.get_running_loop().time()
            for task in (*executors, *services):
                task.cancel()
            await asyncio.wait((*executors, *services), timeout=self._left_to_close())
            await self._within(self._store.presence.disappear(self._claimed_by))
            await self._within(self._store.__aexit__(None, None, None))
            await self._within(self._shop.host.threads_ended())
            note("stopped", f"{self._claimed_by} has stopped")
        if self._mismatch is not None:
            raise self._mismatch

    # Going down.

    async def _go_down(
        self, executors: Collection[asyncio.Task[None]], services: Collection[asyncio.Task[None]]
    ) -> None:
        note("stopping", f"{self._claimed_by} stops; {len(self._shop.held)} items in hand")
        for task in services:
            task.cancel()
        for loop in self._executors:
            loop.stop()
        await self._wait_for(executors)
        if any(holding.execution is not None for holding in self._shop.held.values()):
            await self._depart()
        # Every handler has ended; what is left waits for a database that does not answer.
        unfinished = [task for task in executors if not task.done()]
        if unfinished:
            await asyncio.wait(unfinished, timeout=STEP)

    async def _wait_for(self, executors: Collection[asyncio.Task[None]]) -> None:
        """Until all have ended, the grace is over, or somebody hurries."""
        hurry = asyncio.create_task(self._hurry.wait())
        waiting = {task for task in executors if not task.done()}
        while waiting and not hurry.done() and self._left() > 0:
            await asyncio.wait({*waiting, hurry}, timeout=self._left(), return_when=asyncio.FIRST_COMPLETED)
            waiting = {task for task in waiting if not task.done()}
        hurry.cancel()

    async def _depart(self) -> None:
        """Handlers run that will not stop: leave with the whole process, the release as the last act."""
        holdings = [holding for holding in self._shop.held.values() if not holding.fence_if_over()]
        for holding in holdings:
            message = "cut off: its handler did not stop in time; handing it back"
            note("cut_off", message, lease=holding.lease, level=logging.WARNING)
        will = self._last_will([holding.lease for holding in holdings])
        if will is None:
            for holding in holdings:
                release = self._store.leases.release(holding.lease, holding.run.latest)
                await self._within(release, STEP / len(holdings))
        self._departure.leave(will, self._left() + AFTER_GRACE)

    def _last_will(self, leases: Collection[Lease]) -> LastWill | None:
        try:
            return self._store.leases.last_will(list(leases)) if leases else None
        except Exception as error:  # noqa: BLE001 - leaving matters more
            note("last_will_failed", "no last will", level=logging.ERROR, error=error)
            return None

    def _left(self) -> float:
        return self._deadline - asyncio.get_running_loop().time()

    def _left_to_close(self) -> float:
        return max(SHORTEST, self._left() + CLOSING)

    async def _within(self, step: Awaitable[object], seconds: float = 0.0) -> None:
        """Let *step* try, for *seconds* or what is left of the time to close; errors are logged."""
        task = asyncio.ensure_future(step)
        await asyncio.wait({task}, timeout=seconds or self._left_to_close())
        if not task.done():
            task.cancel()
        elif not task.cancelled() and (error := task.exception()) is not None:
            note("stopping_failed", f"while stopping: {type(error).__name__}: {error}", level=logging.WARNING)

    # Starting.

    async def _opened(self) -> bool:
        """Open the store; False when the stop came first."""
        opening: asyncio.Task[Any] = asyncio.ensure_future(self._store.__aenter__())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not opening.done():
            opening.cancel()
            await asyncio.wait({opening}, timeout=STEP)
            return False
        opening.result()
        self._open = True
        return True

    def _make_services(self) -> list[Loop]:
        settings, shop, store = self._settings, self._shop, self._store
        services: list[tuple[Service, float]] = [
            (
                Recovery(
                    store.leases, shop.held, claimed_by=self._claimed_by, settings=settings, found=self.wake
                ),
                settings.recovery_interval,
            ),
            (
                Scheduling(
                    store.schedules,
                    self._registry,
                    scopes=self._scopes,
                    interval=settings.schedule_interval,
                    found=self.wake,
                ),
                settings.schedule_interval,
            ),
            (
                Appearance(
                    store.presence, shop.held, claimant=self._claimant, interval=settings.presence_interval
                ),
                settings.presence_interval,
            ),
        ]
        if self._serving is not None:
            services.append((self._serving, settings.poll))
        return [self._loop(service, period) for service, period in services]

    def _loop(self, service: Service, period: float) -> Loop:
        patience = max(PATIENCE, 5 * period)
        return Loop(
            service,
            clock=self._clock,
            patience=patience,
            backoff_cap=self._settings.backoff_cap,
            hopeless=self._give_up,
        )

    def _give_up(self, mismatch: SchemaMismatch) -> None:
        """Go down because the store, which was away when it was opened, turned out not to fit."""
        self._mismatch = mismatch
        self.stop()

    def _claimant(self) -> Claimant:
        return Claimant(
            claimed_by=self._claimed_by,
            kinds=self._registry.kinds,
            scopes=self._scopes(),
            lease=self._settings.extension,
        )

    def _scopes(self) -> Scopes:
        return self._fixed_scopes if self._serving is None else self._serving.scopes()

    def _poke_all(self) -> None:
        self._shop.empty_until = 0.0
        for loop in (*self._executors, *self._services):
            loop.poke()
