"""A process that ends when the one that started it is gone, however that went."""

from __future__ import annotations

import os
import signal
import threading
import time


def hold_on(*, grace: float) -> None:
    """End this process as SIGTERM does once the other end of standard input closes; by force after *grace* seconds."""
    threading.Thread(target=_hold, args=(grace,), name="lifeline", daemon=True).start()


def _hold(grace: float) -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)
