"""Taking back what others, or lost replies, left behind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from treadle.domain.status import Status
from treadle.ports.lease import Leases, Released
from treadle.worker.holding import Holdings
from treadle.worker.journal import note
from treadle.worker.settings import WorkerSettings


class Recovery:
    """Sweeps for items whose lease ran out, whoever held them, and for our own strays."""

    name = "recovery"
    busy = False

    def __init__(
        self,
        leases: Leases,
        held: Holdings,
        *,
        claimed_by: str,
        settings: WorkerSettings,
        found: Callable[[], object],
    ) -> None:
        """*found*: called when something is queued again."""
        self._leases = leases
        self._held = held
        self._claimed_by = claimed_by
        self._settings = settings
        self._found = found

    async def run_once(self) -> float:
        """One sweep."""
        self._tell("recovered", await self._leases.recover(stall_limit=self._settings.stall_limit))
        # A zombie's item counts as held: it comes back as a stall, once its lease is over, not now.
        held = {item_id for item_id, _ in self._held}
        older_than = timedelta(seconds=self._settings.strays_after)
        self._tell(
            "stray_released", await self._leases.release_strays(self._claimed_by, held, older_than=older_than)
        )
        return self._settings.recovery_interval

    def _tell(self, event: str, released: Sequence[Released]) -> None:
        for item in released:
            message = f"{event}: item {item.item_id} ({item.kind}) is {item.status} now"
            note(event, message, level=logging.WARNING)
        if any(item.status is Status.QUEUED for item in released):
            self._found()
