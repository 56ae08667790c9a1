"""What can be tuned in a worker."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from treadle.domain.stall import BEATS_PER_LEASE
from treadle.errors import SettingsError

LONGEST: Final = 7 * 86_400.0
"""Seconds that any duration may have."""
MOST: Final = 1_000
"""The largest count."""
TRUST: Final = 0.9
"""The part of a lease that its holder relies on; the rest is for a handler to stop in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Durations are seconds and take fractions. Raises ``SettingsError`` for what makes no sense."""

    heartbeat: float = 2.0
    """Between two extensions of a running item's lease; also how soon a cancel arrives."""
    lease: float = 60.0
    """How long an item stays with a worker that is not heard of."""
    poll: float = 2.0
    """Between two looks into an empty queue, and between two questions which scopes are served."""
    stall_limit: int = 3
    """How often an item may stall; then it has failed."""
    concurrency: int = 1
    """How many items run at a time."""
    shutdown_grace: float = 8.0
    """From the first signal until handlers still running are cut off and their items released."""
    schedule_interval: float = 2.0
    """Between two looks for periodic work that is due."""
    recovery_interval: float = 2.0
    """Between two sweeps for items whose lease ran out."""
    presence_interval: float = 5.0
    """Between two signs of life for those who watch."""
    strays_after: float = 30.0
    """After which an item claimed by us and held by none of us is released: the reply to its claim was
    lost. It must be longer than the store's statements may take."""
    backoff_cap: float = 30.0
    """The longest wait of a loop that keeps failing."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type == "int":
                _check_count(field.name, value)
            else:
                _check_duration(field.name, value)
        if self.lease < BEATS_PER_LEASE * self.heartbeat:
            raise SettingsError(
                f"heartbeat must fit into the lease at least {BEATS_PER_LEASE} times: with a lease of {self.lease:g} s "
                f"it can be {self.lease / BEATS_PER_LEASE:g} s at most, is {self.heartbeat:g} s"
            )

    @property
    def extension(self) -> timedelta:
        """What a claim and a heartbeat ask for."""
        return timedelta(seconds=self.lease)

    @property
    def trusted(self) -> float:
        """Seconds after sending a claim or heartbeat for which its holder relies on the lease."""
        return self.lease * TRUST


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise SettingsError(f"{name} must be a whole number from 1 to {MOST}, is {value!r}")


def _check_duration(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 < value <= LONGEST
    ):
        raise SettingsError(f"{name} must be a number of seconds above 0 and up to {LONGEST:g}, is {value!r}")
