"""What a stalled item says of itself."""

from __future__ import annotations


def stalled_error(stalls: int) -> str:
    """The error of an item that reached the stall limit. The PostgreSQL store writes the same text in SQL."""
    return f"stalled: its lease ran out {stalls} times"
