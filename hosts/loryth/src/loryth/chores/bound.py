"""How much one run of a chore may do."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event as Flag

from treadle.errors import TreadleError


class ChoreFailed(TreadleError):
    """A run came to its end, and some of its items failed; the others are done."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a run is measured by: *items* and *seconds* at most, and none after *stopping* is set."""

    items: int
    seconds: float
    stopping: Flag

    def begin(self) -> Budget:
        """A run's budget, from now on."""
        return Budget(self)


class Budget:
    """What is left of a run."""

    def __init__(self, bound: Bound) -> None:
        self._items = bound.items
        self._deadline = time.monotonic() + bound.seconds
        self._stopping = bound.stopping

    @property
    def items(self) -> int:
        """How many more items the run may take; 0 once its time is over, or the worker stops."""
        over = self._stopping.is_set() or time.monotonic() >= self._deadline
        return 0 if over else self._items

    @property
    def seconds(self) -> float:
        """How much time is left; none once the worker stops."""
        return 0.0 if self._stopping.is_set() else max(0.0, self._deadline - time.monotonic())

    def spend(self, items: int = 1) -> None:
        """Note that items were taken, whatever came of them."""
        self._items = max(0, self._items - items)


class Tally:
    """What came of a run's items."""

    def __init__(self) -> None:
        self.done = 0
        self._failed = 0
        self._first = ""

    def note_failure(self, what: object, error: str) -> None:
        """Count a failed item; the first is told in the end."""
        self._failed += 1
        self._first = self._first or f"{what}: {error}"

    def close(self, noun: str) -> None:
        """Raise ``ChoreFailed`` if an item failed."""
        if self._failed:
            raise ChoreFailed(
                f"{self._failed} {noun} failed, {self.done} are done; the first failure: {self._first}"
            )
