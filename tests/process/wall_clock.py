"""The host with a wall clock that is wrong: ``python -m tests.process.wall_clock OPTIONS SECONDS...``."""

from __future__ import annotations

import datetime
import itertools
import runpy
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final, Self

CHANGE: Final = 0.3
"""Seconds between two jumps of the clock."""


def falsify(offsets: Sequence[float]) -> None:
    """Make ``time.time`` and ``datetime.now`` wrong by these seconds in turn. Monotonic clocks stay right."""
    wrong = [offsets[0]]
    true_time = time.time

    class WrongDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(time.time(), tz)

    def jump() -> None:
        for offset in itertools.cycle(offsets):
            wrong[0] = offset
            time.sleep(CHANGE)

    time.time = lambda: true_time() + wrong[0]
    datetime.datetime = WrongDatetime  # type: ignore[misc] # what this module is for
    threading.Thread(target=jump, daemon=True).start()


if __name__ == "__main__":
    falsify([float(part) for part in sys.argv.pop(2).split(",")])
    # Only now is the code under test imported, which may keep references of its own.
    runpy.run_module("tests.process.host", run_name="__main__")
