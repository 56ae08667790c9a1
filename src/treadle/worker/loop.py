"""The one shape of every background loop: it survives each fault, and says so while one lasts."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Final, Protocol

from treadle.errors import SchemaMismatch
from treadle.worker.clock import Clock
from treadle.worker.health import LoopHealth
from treadle.worker.journal import note

FIRST_BACKOFF: Final = 0.5
SHORTEST_BACKOFF: Final = 0.05
SPREAD: Final = 0.1
"""The part of a wait that is left to chance, so that workers started together do not poll together."""


class Service(Protocol):
    """Something to be done again and again."""

    @property
    def name(self) -> str: ...

    @property
    def busy(self) -> bool:
        """Whether the pass under way may take as long as it likes."""

    async def run_once(self) -> float:
        """Make one pass; return the seconds to wait before the next, 0 for at once."""


class Loop:
    """Runs a service until it is stopped. Everything but ``health`` belongs to one event loop."""

    def __init__(
        self,
        service: Service,
        *,
        clock: Clock,
        patience: float,
        backoff_cap: float,
        hopeless: Callable[[SchemaMismatch], object],
    ) -> None:
        """*patience*: seconds without a successful pass after which the loop does not count as well.

        *hopeless* is told of the one fault that no further pass can mend.
        """
        self.name = service.name
        self._service = service
        self._clock = clock
        self._patience = patience
        self._backoff_cap = backoff_cap
        self._hopeless = hopeless
        self._poked = asyncio.Event()
        self._waiting = False
        self._stopping = False
        self._last_success: float | None = None
        self._failures = 0
        self._last_error: str | None = None

    async def run(self) -> None:
        """Pass after pass until ``stop``; a pass under way is ended first."""
        while not self._stopping:
            await self._pause(await self._pass())

    def poke(self) -> bool:
        """End the wait for the next pass. False when nothing waits; then the next wait is left out."""
        was_waiting = self._waiting and not self._poked.is_set()
        self._poked.set()
        return was_waiting

    def stop(self) -> None:
        """Begin no further pass."""
        self._stopping = True
        self._poked.set()

    def health(self) -> LoopHealth:
        """How the loop does. Any thread may ask."""
        last = self._last_success
        age = None if last is None else self._clock() - last
        return LoopHealth(
            name=self.name,
            well=self._service.busy or (age is not None and age <= self._patience),
            last_success_age=age,
            failures=self._failures,
            last_error=self._last_error,
        )

    async def _pass(self) -> float:
        try:
            delay = await self._service.run_once()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return self._failed(error)  # somebody else's cancellation must not end the loop
        except SchemaMismatch as error:
            self._hopeless(error)
            return self._failed(error)
        except BaseException as error:  # noqa: BLE001 - whatever ends a pass must not end the loop
            return self._failed(error)
        if self._failures:
            note("loop_recovered", f"{self.name} works again after {self._failures} failures")
        self._failures = 0
        self._last_success = self._clock()
        return delay * random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311 - no secret

    def _failed(self, error: BaseException) -> float:
        self._failures += 1
        self._last_error = type(error).__name__
        ceiling = min(self._backoff_cap, FIRST_BACKOFF * 2 ** min(self._failures - 1, 16))
        delay = max(SHORTEST_BACKOFF, random.uniform(0, ceiling))  # noqa: S311 - no secret
        # One traceback per outage is enough.
        first = self._failures == 1
        note(
            "loop_failed",
            f"{self.name} failed ({type(error).__name__}: {error}); next try in {delay:.1f} s",
            level=logging.ERROR if first else logging.WARNING,
            error=error if first else None,
        )
        return delay

    async def _pause(self, delay: float) -> None:
        if delay <= 0:
            await asyncio.sleep(0)
            return
        self._waiting = True
        try:
            async with asyncio.timeout(delay):
                await self._poked.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting = False
        self._poked.clear()
