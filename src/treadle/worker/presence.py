"""Signs of life, for those who watch."""

from __future__ import annotations

from collections.abc import Callable

from treadle.domain.item import Claimant
from treadle.ports.presence import Presence
from treadle.worker.holding import Holdings


class Appearance:
    """Says that the worker lives and what it runs."""

    name = "presence"
    busy = False

    def __init__(
        self, presence: Presence, held: Holdings, *, claimant: Callable[[], Claimant], interval: float
    ) -> None:
        self._presence = presence
        self._held = held
        self._claimant = claimant
        self._interval = interval

    async def run_once(self) -> float:
        """One sign of life."""
        running = [holding.lease.item_id for holding in self._held.values() if not holding.fenced]
        await self._presence.appear(self._claimant(), running)
        return self._interval
