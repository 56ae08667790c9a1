"""Real `loryth` processes."""

import time
from collections.abc import Callable

from tests.process.host_program import HostProgram


class Program(HostProgram):
    """A `loryth` command."""

    module = "loryth"
    variables = ("WORKER__", "S3__", "DATABASE_URL", "AWS_")


def until(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    """Return once the condition holds; other threads or processes make it so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)
