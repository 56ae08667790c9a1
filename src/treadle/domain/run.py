"""What a handler may know of its run: progress, being told to stop, item and attempt."""

from __future__ import annotations

import operator
import threading
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from treadle.domain.encoding import NOTE_LIMIT, storable_text
from treadle.domain.item import Progress
from treadle.domain.outcome import Partial, StopReason

T = TypeVar("T")

_BIGINT = 2**63


class Stopped(Exception):
    """Raised by ``Run.check`` once the handler has been told to stop. Let it pass."""


def _count(name: str, number: int | None) -> int | None:
    # Refused here, where the handler hears it; a heartbeat that cannot be sent would cost it the lease.
    if number is None:
        return None
    whole = operator.index(number)
    if not 0 <= whole < _BIGINT:
        raise ValueError(f"progress {name} must be from 0 to 2^63-1, is {whole}")
    return whole


class Run:
    """One run of a handler. Every method may be called from any thread, as often as wanted.

    Result rows of a kind's own are written with ``item_id`` and ``attempt``; readers show only the
    rows of the attempt that finished.
    """

    def __init__(
        self, item_id: UUID, attempt: int, scope_id: UUID | None = None, slot: datetime | None = None
    ) -> None:
        self.item_id = item_id
        self.attempt = attempt
        self.scope_id = scope_id
        self.slot = slot
        """The time, in UTC, that a cron schedule asked for this run at; None for all other runs."""
        self._progress = Progress()
        self._reason: StopReason | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def progress(self, *, done: int | None = None, total: int | None = None, note: str | None = None) -> None:
        """Report how far the run is. What is left out keeps its last value; no total means unknown.

        Costs no I/O: the next heartbeat carries the latest snapshot. Notes reach the admin: put ids
        and counts in them, no names of files or people. Raises ``ValueError`` for a number that is
        negative or too large, ``TypeError`` for one that is not whole.
        """
        done, total = _count("done", done), _count("total", total)
        with self._lock:
            last = self._progress
            self._progress = Progress(
                done=last.done if done is None else done,
                total=last.total if total is None else total,
                note=last.note if note is None else storable_text(note, NOTE_LIMIT),
            )

    @property
    def latest(self) -> Progress:
        """The snapshot that the next heartbeat will carry."""
        return self._progress

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the handler has been told to stop; None while it has not."""
        return self._reason

    @property
    def stopping(self) -> bool:
        """Whether the handler has been told to stop. Plain handlers poll this."""
        return self._stopping.is_set()

    def check(self) -> None:
        """Raise ``Stopped`` once the handler has been told to stop."""
        if self._stopping.is_set():
            raise Stopped

    def wait(self, seconds: float) -> bool:
        """Sleep, for plain handlers: up to *seconds*, less when told to stop. True when told to stop."""
        return self._stopping.wait(seconds)

    def partial(self, value: T) -> Partial[T]:
        """Mark *value* as what was done so far: ``return run.partial(summary)`` when told to stop."""
        return Partial(value)

    def stop(self, reason: StopReason) -> bool:
        """Tell the handler to stop; False when it was told for as good a reason. The worker calls this."""
        with self._lock:
            told = self._reason is None or reason.value > self._reason.value
            if told:
                self._reason = reason
        self._stopping.set()
        return told
