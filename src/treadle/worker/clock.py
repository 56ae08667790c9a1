"""Time inside a process: monotonic seconds that also count while the machine is suspended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

Clock = Callable[[], float]

_BOOTTIME: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


def suspend_aware() -> float:
    """Seconds on a clock that never goes back and, where there is one, counts suspended time.

    A lease runs on in the database while this machine sleeps, which ``time.monotonic`` would miss.
    """
    return time.monotonic() if _BOOTTIME is None else time.clock_gettime(_BOOTTIME)
