"""Queueing periodic work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from treadle.domain.schedule import Due


class Schedules(Protocol):
    """Used by every worker's scheduler; any number may run at once."""

    async def schedule(self, dues: Sequence[Due]) -> Sequence[UUID]:
        """Queue what is due (see ``is_due``, ``is_slot_due``) and return the new items' ids.

        However many schedulers see the same work due, one item results, even when it is claimed or
        finished in between: one per interval, or one per slot, and of missed slots the newest only. A
        scope that is gone, or a key held by an open transaction, is passed over; the rest is queued.
        """
