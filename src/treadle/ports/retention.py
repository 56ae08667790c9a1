"""Deleting what has been finished for long."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Protocol


class Retention(Protocol):
    """Used by a host's retention kind."""

    async def purge(self, *, older_than: timedelta, periodic_kinds: Collection[str], limit: int) -> int:
        """Delete up to *limit* items finished longer than *older_than* ago; how many it were.

        The newest finished item of each dedup key of a periodic kind stays, or its work would be due
        again at once.
        """
