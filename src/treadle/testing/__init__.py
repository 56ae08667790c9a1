"""What tests of a host, of a handler and of a store need; nothing here is for production."""

from treadle.memory import MemoryStore
from treadle.testing.clock import FixedClock
from treadle.testing.handlers import HandlerRun, assert_converges, run_handler
from treadle.testing.queued import assert_nothing_queued, assert_queued

__all__ = [
    "FixedClock",
    "HandlerRun",
    "MemoryStore",
    "assert_converges",
    "assert_nothing_queued",
    "assert_queued",
    "run_handler",
]
