"""What tests of a host, of a handler and of a store need; nothing here is for production."""

from treadle.memory import MemoryStore
from treadle.testing.clock import FixedClock
from treadle.testing.queued import assert_nothing_queued, assert_queued

__all__ = ["FixedClock", "MemoryStore", "assert_nothing_queued", "assert_queued"]
