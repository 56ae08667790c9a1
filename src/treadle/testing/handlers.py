"""Running a handler without a database, and holding it to its contract."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from treadle.domain.handler import Handler
from treadle.domain.item import Progress
from treadle.domain.outcome import (
    Decision,
    Ending,
    HandedBack,
    Raised,
    Returned,
    StopReason,
    Unstorable,
    decide,
)
from treadle.domain.payload import Codec, P
from treadle.domain.run import Run
from treadle.worker.host import Host
from treadle.worker.runner import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerRun:
    """How one run of a handler went."""

    ending: Ending
    """How its code ended: ``Returned(value)`` or ``HandedBack(value)`` with the value as it is stored, JSON;
    ``Unstorable(reason)`` for a result that cannot be; ``Raised(error, traceback)``, both as text."""
    decision: Decision
    """What the worker would have written: ``Succeeded(result)``, ``Failed(error)``, ``Cancelled(partial)``,
    or ``GiveBack`` or ``Nothing``."""
    progress: Sequence[Progress]
    """Every snapshot reported, in order. A worker writes the latest one at each heartbeat."""
    was_told: bool
    """Whether the handler was told to stop before it ended."""


async def run_handler(
    handler: Handler[P],
    payload: P,
    *,
    item_id: UUID | None = None,
    attempt: int = 1,
    scope_id: UUID | None = None,
    slot: datetime | None = None,
    stop: StopReason = StopReason.CANCEL,
    stop_after: int | None = None,
) -> HandlerRun:
    """Run *handler*, async or plain, as a worker would: the payload takes the way through its JSON first.

    With *stop_after* the handler is told to stop, for the reason *stop*, at that progress report; 0 tells it
    before it begins. Never raises what the handler raises; see ``HandlerRun.ending``. Raises
    ``PayloadError`` for a payload that could not be queued.
    """
    codec = Codec(type(payload))
    stored = codec.encode(payload)
    run = _Observed(item_id or uuid4(), attempt, scope_id, slot, stop=stop, stop_after=stop_after)
    host = Host(asyncio.get_running_loop())
    execution = Execution(handler, lambda: codec.decode(stored), run, host)
    run.execution = execution
    if stop_after == 0:
        run.tell()
    execution.start()
    ending = await execution.ended
    return HandlerRun(
        ending=ending,
        decision=decide(ending, run.stop_reason),
        progress=tuple(run.reports),
        was_told=run.stopping,
    )


async def assert_converges(
    handler: Handler[P],
    payload: P,
    snapshot: Callable[[], object],
    *,
    reset: Callable[[], object] | None = None,
    stop: StopReason = StopReason.FENCED,
    stop_after: int | None = None,
) -> object:
    """Assert that *handler* may be run again, which at-least-once delivery does; returns the state reached.

    It runs to its end twice, and *snapshot*, plain or async, must give the same both times. With
    *stop_after* it is then cut at that progress report (after *reset*, plain or async, if given, from the
    initial state), runs once more, and must arrive at the same state again. Raises ``AssertionError``
    otherwise, and for a handler that fails.
    """
    await _run_to_its_end(handler, payload, attempt=1)
    expected = await _answer(snapshot)
    await _run_to_its_end(handler, payload, attempt=2)
    _compare(expected, await _answer(snapshot), "a second run")
    if stop_after is not None:
        if reset is not None:
            await _answer(reset)
        cut = await run_handler(handler, payload, attempt=3, stop=stop, stop_after=stop_after)
        if not cut.was_told:
            raise AssertionError(
                f"the handler was never cut: it ended after {len(cut.progress)} progress reports; "
                "lower stop_after, or have it report more often"
            )
        await _run_to_its_end(handler, payload, attempt=4)
        _compare(expected, await _answer(snapshot), "a run that was cut and one that followed it")
    return expected


class _Observed(Run):
    """A run that keeps every report, and tells the handler to stop at one of them."""

    def __init__(
        self,
        item_id: UUID,
        attempt: int,
        scope_id: UUID | None,
        slot: datetime | None,
        *,
        stop: StopReason,
        stop_after: int | None,
    ) -> None:
        super().__init__(item_id, attempt, scope_id, slot)
        self.reports: list[Progress] = []
        self.execution: Execution | None = None
        self._told_reason = stop
        self._stop_after = stop_after

    def progress(self, *, done: int | None = None, total: int | None = None, note: str | None = None) -> None:
        super().progress(done=done, total=total, note=note)
        self.reports.append(self.latest)
        if len(self.reports) == self._stop_after:
            self.tell()

    def tell(self) -> None:
        if self.stop(self._told_reason) and self.execution is not None:
            self.execution.cancel()


async def _run_to_its_end(handler: Handler[P], payload: P, *, attempt: int) -> None:
    went = await run_handler(handler, payload, attempt=attempt)
    match went.ending:
        case Raised(error, traceback):
            raise AssertionError(f"the handler failed: {error}\n{traceback}")
        case Unstorable(reason):
            raise AssertionError(f"the handler failed: {reason}")
        case HandedBack():
            raise AssertionError("the handler stopped early although nobody told it to")
        case Returned():
            pass


async def _answer(function: Callable[[], object]) -> object:
    value = function()
    return await value if inspect.isawaitable(value) else value


def _compare(expected: object, reached: object, what: str) -> None:
    if reached != expected:
        raise AssertionError(
            f"the handler does not converge: {what} led from {expected!r} to {reached!r}; "
            "each run has to start from scratch and arrive at the same state"
        )
