"""The host's event loop, as the control loop reaches it: the one place where the two meet."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")
LOOK: Final = 0.002
"""Seconds between two looks whether a thread has ended."""


class Host:
    """Runs the host's own code where its pools and clients live. All calls may come from another loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads: set[threading.Thread] = set()

    def call(self, function: Callable[[], object]) -> None:
        """Have *function* called soon. Raises ``RuntimeError`` when the loop is closed."""
        self._loop.call_soon_threadsafe(function)

    def start_thread(self, target: Callable[[], object], name: str) -> None:
        """Have *target* called in a thread of its own. Raises ``RuntimeError`` when none can be had."""
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads = {other for other in self._threads if other.is_alive()} | {thread}

    async def threads_ended(self) -> None:
        """Wait until no thread is left. Never joined: what is local to one may take its time to end with it."""
        while any(thread.is_alive() for thread in self._threads):  # noqa: ASYNC110 - a thread does not tell
            await asyncio.sleep(LOOK)

    async def ask(self, function: Callable[[], T | Awaitable[T]]) -> T:
        """What a plain or async *function* answers. Raises what it raises, as an ``Exception``."""
        question = _asked(function)
        try:
            answer = asyncio.run_coroutine_threadsafe(question, self._loop)
        except RuntimeError:
            question.close()
            raise
        return await asyncio.wrap_future(answer)


async def _asked(function: Callable[[], T | Awaitable[T]]) -> T:
    try:
        value = function()
        return await value if inspect.isawaitable(value) else value
    except (SystemExit, KeyboardInterrupt) as error:
        # asyncio would end the host's loop with it.
        raise RuntimeError(f"the host's code raised {type(error).__name__}") from error
