"""The exceptional moments in an item's life that are worth a record of their own."""

from __future__ import annotations

from enum import StrEnum


class Exceptional(StrEnum):
    """What ``treadle.item_events`` records. Ordinary moves leave no event: the item's row shows them."""

    STALLED = "stalled"
    """The lease of this attempt ran out."""
    RELEASED = "released"
    """The worker handed the item back, or its release was made up for."""
    REFUSED = "refused"
    """A write of this attempt came when the item had already gone on to a later one."""
    CANCEL_DELIVERED = "cancel_delivered"
    """A heartbeat of this attempt brought the cancel request to the worker; recorded once."""
    SUPERSEDED = "superseded"
    """On its way back to the queue the item met a queued one with its dedup key, and ended."""
