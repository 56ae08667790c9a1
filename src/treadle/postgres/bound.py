"""A lower bound for the claim's walk along the queue."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Final
from uuid import UUID

SECONDS: Final = 0.5
"""How long a bound lives. An item that committed late, below the bound, waits no longer than this."""


class Bound:
    """Where the last claim found its item: the rows before it are gone, but dead entries remain.

    While an old snapshot is open nothing is vacuumed, and each claim would walk all of them. The bound
    is only a hint: it is dropped when a claim finds nothing, and by time, for a busy loop never does.
    """

    def __init__(self) -> None:
        self._key: tuple[datetime, UUID] | None = None
        self._set_at = 0.0

    def lower(self) -> dict[str, object]:
        """The parameters ``after_at`` and ``after_id`` of the next claim."""
        if self._key is None or time.monotonic() - self._set_at > SECONDS:
            self.drop()
            return {"after_at": "-infinity", "after_id": UUID(int=0)}
        return {"after_at": self._key[0], "after_id": self._key[1]}

    def raise_to(self, requested_at: datetime, item_id: UUID) -> None:
        """Remember where an item was found."""
        if self._key is None:
            self._set_at = time.monotonic()
        self._key = (requested_at, item_id)

    def drop(self) -> bool:
        """Forget: the next claim starts at the head. Whether there was anything to forget."""
        known, self._key = self._key is not None, None
        return known
