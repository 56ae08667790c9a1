"""Who is alive, for display and for "why is this not running?"; correctness never reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from treadle.domain.item import Claimant


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerInfo:
    """A worker as last seen."""

    claimed_by: str
    kinds: Collection[str]
    scopes: Collection[UUID] | None
    """None serves every scope."""
    running: Collection[UUID]
    started_at: datetime
    seen_at: datetime


class Presence(Protocol):
    """Workers write their own row; anybody reads."""

    async def appear(self, claimant: Claimant, running: Collection[UUID]) -> None:
        """Say that the claimant lives and what it runs; forget workers not seen for a day."""

    async def disappear(self, claimed_by: str) -> None:
        """Take the worker's row away at a graceful end."""

    async def workers(self) -> Sequence[WorkerInfo]:
        """All workers seen lately, newest first."""
