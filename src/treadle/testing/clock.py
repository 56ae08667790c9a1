"""Time that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class FixedClock:
    """A store's clock in the hands of a test: ``MemoryStore(clock=FixedClock())``.

    Leases, intervals and retention then follow ``advance``; nothing has to be waited for.
    """

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise ValueError("the clock needs an aware datetime, such as one with tzinfo=UTC")
        self.now = start

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> datetime:
        """Move on and return the new time. Raises ``ValueError`` for a step back."""
        if by < timedelta(0):
            raise ValueError(f"time does not run backwards, asked for {by}")
        self.now += by
        return self.now
