"""Following work as it changes: what a live view is told from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from treadle.domain.item import WorkItem


class Lost(StrEnum):
    """Why the changes since a cursor cannot be told; whoever holds it has to read anew."""

    UNKNOWN = "unknown"
    """It is no cursor, or none that this store can have given."""
    EPOCH = "epoch"
    """The server has crashed, was restored, or another one has taken over since."""
    OLD = "old"
    """Deletions may have been forgotten since."""
    MANY = "many"
    """More has changed since than is worth telling one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What one look at the store showed: a single moment of it."""

    cursor: str
    """Opaque: everything committed up to this moment, and nothing else, is known to who holds it."""
    changed: Sequence[WorkItem] = ()
    """Items that changed since, as they are now; progress alone is no change."""
    gone: Sequence[UUID] = ()
    """Items that were deleted since."""
    running: Sequence[WorkItem] = ()
    """All that run now, with their progress; the longest running ones when ``running_cut``."""
    running_cut: bool = False
    """Whether more run than are told."""
    lost: Lost | None = None
    """Set when the changes since cannot be told; ``changed`` and ``gone`` are then empty."""


class Live(Protocol):
    """Reads for live views. Raises ``StoreUnavailable``."""

    async def cursor(self) -> str:
        """The cursor of this moment: taken before a list is read, it misses nothing of the list's changes."""

    async def changes(self, since: str | None) -> Changes:
        """What changed since the cursor *since*, in the order of commits: no change is ever skipped.

        A change that was not committed when the cursor was given counts as since, however early it began.
        None asks for no changes, only for where to begin.
        """
