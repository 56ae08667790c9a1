"""Running a handler's code: on the host's loop, or in a thread of its own.

What it leaves, its value or its exception, is the host's code as well: serializers, ``__str__``, ``__del__``.
It is made into plain data and dropped where the handler ran. The control loop gets the plain data only.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from treadle.domain.encoding import describe_error, encode_result, format_traceback
from treadle.domain.handler import Handler
from treadle.domain.outcome import Ending, HandedBack, Partial, Raised, Returned, Unstorable
from treadle.domain.payload import WorkPayload
from treadle.domain.run import Run, Stopped
from treadle.errors import ResultError
from treadle.worker.host import Host


class Execution:
    """One handler under way. ``ended`` belongs to the control loop, on which the object is made."""

    def __init__(
        self, handler: Handler[Any], decode: Callable[[], WorkPayload], run: Run, host: Host
    ) -> None:
        """*decode* is the host's code, too (its validators), and runs where the handler does."""
        self._handler = handler
        self._decode = decode
        self._run = run
        self._host = host
        self._name = f"treadle-{run.item_id}-{run.attempt}"
        self._control = asyncio.get_running_loop()
        self._task: asyncio.Task[Ending] | None = None
        self.ended: asyncio.Future[Ending] = self._control.create_future()

    def start(self) -> None:
        """Begin. Raises ``RuntimeError`` when the host's loop is closed or no thread can be had."""
        if inspect.iscoroutinefunction(self._handler.run):
            self._host.call(lambda: self._begin(self._async_call))
        else:
            self._host.start_thread(self._plain_call, self._name)

    def cancel(self) -> None:
        """Cancel an async handler at its next await; a plain one polls its run, which has been told."""
        with contextlib.suppress(RuntimeError):  # the host's loop is closed: nothing runs there any more
            self._host.call(self._cancel_task)

    def _begin(self, call: Callable[[], Awaitable[object]]) -> None:
        self._task = asyncio.ensure_future(_guarded(call, self._run))
        self._task.set_name(self._name)
        self._task.add_done_callback(self._task_done)
        if self._run.stopping:
            self._task.cancel()

    def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._task = (
            None  # or its context, with the host's values in it, would be dropped on the control loop
        )
        # A task that is cancelled before its first step runs no line of its own.
        self._deliver(HandedBack() if task.cancelled() else task.result())

    async def _async_call(self) -> object:
        running: Any = self._handler.run(self._decode(), self._run)
        return await running

    def _plain_call(self) -> None:
        ending = self._plain_ending()
        if ending is not None:
            self._deliver(ending)

    def _plain_ending(self) -> Ending | None:
        """How it ended; None when it goes on as a task."""
        try:
            value = self._handler.run(self._decode(), self._run)
            if not inspect.isawaitable(value):
                return _returned(value)
            # A plain function around an async one, as decorators make it.
            self._host.call(lambda: self._begin(lambda: value))
        except BaseException as error:  # noqa: BLE001 - SystemExit in a handler fails the item only
            return _raised(error, self._run)
        return None

    def _deliver(self, ending: Ending) -> None:
        with contextlib.suppress(RuntimeError):  # the control loop is closed: nobody waits any more
            self._control.call_soon_threadsafe(self._set_ended, ending)

    def _set_ended(self, ending: Ending) -> None:
        if not self.ended.done():
            self.ended.set_result(ending)


async def _guarded(call: Callable[[], Awaitable[object]], run: Run) -> Ending:
    try:
        return _returned(await call())
    except BaseException as error:  # noqa: BLE001 - a SystemExit would end the host's loop
        return _raised(error, run)


def _returned(value: object) -> Ending:
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return Raised("TypeError: the handler's run() yields; it must return its result")
    try:
        if isinstance(value, Partial):
            return HandedBack(encode_result(value.value))
        return Returned(encode_result(value))
    except ResultError as error:
        return HandedBack() if isinstance(value, Partial) else Unstorable(str(error))


def _raised(error: BaseException, run: Run) -> Ending:
    match error:
        case Stopped() | asyncio.CancelledError() if run.stopping:
            return HandedBack()
        case asyncio.CancelledError():
            return Raised(
                "CancelledError: the handler's own code cancelled it, not the worker", format_traceback(error)
            )
        case _:
            return Raised(describe_error(error), format_traceback(error))
