"""An event loop whose time jumps to the next timer whenever there is nothing else to do."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

P = ParamSpec("P")


class _Impatient(selectors.DefaultSelector):
    """Never waits: what asyncio would have waited for is added to the loop's time."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the test waits for something that nothing is left to bring about")
        if not ready and timeout is not None:
            self.loop.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at 0 s. For code without threads: they would be given no time to run."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Impatient()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test on a ``VirtualLoop``."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def now() -> float:
    """The running loop's time."""
    return asyncio.get_running_loop().time()
