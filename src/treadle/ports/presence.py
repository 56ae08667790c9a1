"""Saying who is alive: for display and for "why is this not running?"; correctness never reads it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

from treadle.domain.item import Claimant


class Presence(Protocol):
    """Workers write their own row; ``Inspect.workers`` reads."""

    async def appear(self, claimant: Claimant, running: Collection[UUID]) -> None:
        """Say that the claimant lives and what it runs; forget workers not seen for a day."""

    async def disappear(self, claimed_by: str) -> None:
        """Take the worker's row away at a graceful end."""
