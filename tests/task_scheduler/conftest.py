"""A scheduler on a clock that the test moves."""

from collections.abc import Iterator

import pytest

from tests.task_scheduler.fake_clock import PATIENCE, FakeClock
from treadle.task_scheduler import TaskScheduler


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    clock = FakeClock()
    yield clock
    assert clock.scheduler.stop(PATIENCE)


@pytest.fixture
def scheduler(clock: FakeClock) -> TaskScheduler:
    """The scheduler of that clock, not started."""
    return clock.scheduler
