"""The worker's log: one record per event, with stable keys to search by."""

from __future__ import annotations

import logging
from typing import Final

from treadle.domain.item import Lease

logger: Final = logging.getLogger("treadle.worker")


def note(
    event: str,
    message: str,
    *,
    lease: Lease | None = None,
    level: int = logging.INFO,
    error: BaseException | None = None,
    details: str = "",
) -> None:
    """Log *message* with ``event`` and, for a lease, ``item``, ``kind`` and ``attempt`` as extra keys.

    *error* is logged with its traceback, *details* on lines of their own below the message. This is the
    place for what admins must not see: file names and values stay in the log.
    """
    if not logger.isEnabledFor(level):
        return
    extra: dict[str, object] = {"event": event}
    if lease is not None:
        extra |= {"item": str(lease.item_id), "kind": lease.kind, "attempt": lease.attempt}
        message = f"{message} (item {lease.item_id}, {lease.kind}, attempt {lease.attempt})"
    if details:
        message = f"{message}\n{details}"
    # The message is no format: a percent sign in an error must not be read as one.
    logger.log(level, "%s", message, extra=extra, exc_info=error)
