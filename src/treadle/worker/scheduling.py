"""Queueing periodic work that is due, for the scopes this worker serves."""

from __future__ import annotations

from collections.abc import Callable

from treadle.domain.registry import Registry
from treadle.domain.schedule import Due
from treadle.ports.schedule import Schedules
from treadle.worker.journal import note
from treadle.worker.serving import Scopes


class Scheduling:
    """Asks the store, which alone knows what is due; keeps no state of its own."""

    name = "scheduling"
    busy = False

    def __init__(
        self,
        schedules: Schedules,
        registry: Registry,
        *,
        scopes: Callable[[], Scopes],
        interval: float,
        found: Callable[[], object],
    ) -> None:
        """*found*: called when something was queued."""
        self._schedules = schedules
        self._registry = registry
        self._scopes = scopes
        self._interval = interval
        self._found = found

    async def run_once(self) -> float:
        """Queue what is due now. A worker of every scope knows none by name and schedules unscoped work.

        A schedule that fails, for it is the host's code, costs no other its turn; its error is raised then.
        """
        scopes = self._scopes() or frozenset()
        dues: list[Due] = []
        errors: list[Exception] = []
        for schedule in self._registry.schedules:
            try:
                dues += self._registry.due(schedule, scopes)
            except Exception as error:  # noqa: BLE001 - raised below
                errors.append(error)
        if dues and (queued := await self._schedules.schedule(dues)):
            note("scheduled", f"queued {len(queued)} due items: {', '.join(map(str, queued))}")
            self._found()
        if errors:
            raise errors[0]
        return self._interval
