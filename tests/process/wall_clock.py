"""The host with a wall clock that is wrong: ``python -m tests.process.wall_clock OPTIONS SECONDS...``."""

from __future__ import annotations

import datetime as dt
import itertools
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final, Self

from tests.process.host import main

CHANGE: Final = 0.3
"""Seconds between two jumps of the clock."""


def falsify(offsets: Sequence[float]) -> None:
    """Make ``time.time`` and ``datetime.now`` wrong by these seconds in turn. Monotonic clocks stay right.

    The class ``datetime`` cannot be changed, and drivers in C want it as it is: so it is replaced where the
    code under test and the drivers in Python have imported it.
    """
    wrong = [offsets[0]]
    true_time = time.time

    class WrongDatetime(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Self:
            return cls.fromtimestamp(time.time(), tz)

    def jump() -> None:
        for offset in itertools.cycle(offsets):
            wrong[0] = offset
            time.sleep(CHANGE)

    time.time = lambda: true_time() + wrong[0]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in {"treadle", "psycopg", "psycopg_pool"}:
            for key, value in list(vars(module).items()):
                if value is dt.datetime:
                    setattr(module, key, WrongDatetime)
                elif value is true_time:
                    setattr(module, key, time.time)
    threading.Thread(target=jump, daemon=True).start()


if __name__ == "__main__":
    falsify([float(part) for part in sys.argv.pop(2).split(",")])
    sys.exit(main())
