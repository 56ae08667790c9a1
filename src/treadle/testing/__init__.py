"""What tests of a host, of a handler and of a store need; nothing here is for production."""

from treadle.testing.clock import FixedClock

__all__ = ["FixedClock"]
