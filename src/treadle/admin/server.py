"""Whether the server that runs the application is about to stop."""

from __future__ import annotations

import signal


def server_is_stopping() -> bool:
    """Whether uvicorn was told to stop.

    It waits for all open responses before it tells the application, so a stream has to look by itself:
    the signals' handler is a method of the server.
    """
    owners = (
        getattr(signal.getsignal(number), "__self__", None) for number in (signal.SIGTERM, signal.SIGINT)
    )
    return any(getattr(owner, "should_exit", False) is True for owner in owners)
