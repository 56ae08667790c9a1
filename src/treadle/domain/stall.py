"""When an item stalls, and what it says of itself then."""

from __future__ import annotations

from typing import Final

BEATS_PER_LEASE: Final = 3
"""How many heartbeats a lease must have room for, so that one lost beat costs nothing."""


def stalled_error(stalls: int) -> str:
    """The error of an item that reached the stall limit. The PostgreSQL store writes the same text in SQL."""
    return f"stalled: its lease ran out {stalls} times"
