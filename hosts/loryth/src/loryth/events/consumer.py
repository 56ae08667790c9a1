"""The thread that delivers events to their handlers."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from psycopg.rows import dict_row

from loryth.database import Connection, Database, statement
from loryth.events.outbox import SQL, Event
from loryth.failure import in_a_line
from treadle.errors import StoreUnavailable

logger = logging.getLogger(__name__)

EventHandler = Callable[[Connection, Event], None]
"""Carries out one type of event. What it writes on the connection is kept exactly if the event is done.

An event may come again after its process was lost: what a handler does elsewhere must be safe to repeat.
"""

LONGEST_WAIT_SECONDS: Final = 3600.0
"""An event that keeps failing is tried at least this often, until it is parked."""

_LOOK_SECONDS: Final = 5.0
_LONGEST_BACKOFF_SECONDS: Final = 30.0
_AGGREGATES: Final = 100
_EVENTS_IN_A_ROW: Final = 100


@dataclass(frozen=True, slots=True)
class Delivery:
    """How events are delivered; times are seconds."""

    poll: float = 1.0
    """Between two looks at an outbox in which nothing was due."""
    most_attempts: int = 10
    """After which an event is parked."""
    first_wait: float = 5.0
    """Before the second attempt; each further wait is twice as long."""
    handler_seconds: float = 30.0
    """Bound on the transaction of a handler."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What was in the outbox at some time."""

    waiting: int
    oldest_seconds: float | None
    """Age of the event that has waited longest; None when none waits."""
    unknown_types: list[str]
    """Types of waiting events that nobody handles here; a newer worker may."""
    parked: int


@dataclass(frozen=True, slots=True)
class ConsumerState:
    """How the deliveries go, since the process began."""

    done: int = 0
    failures: int = 0
    handling: Event | None = None
    last_error: str | None = None
    """What the last failed attempt failed with."""
    unreachable: str | None = None
    """Why the database cannot be had; None while it can."""
    unreachable_since: float | None = None
    """On the monotonic clock."""
    backlog: Backlog | None = None
    backlog_at: datetime | None = None


class EventConsumer:
    """Delivers the events of the outbox, one after another, on one daemon thread.

    - An event is delivered when all earlier ones of its aggregate are done or parked, however many consumers
      there are; and at least once. It is marked in its handler's transaction.
    - A handler that raises is logged. The event waits for its next attempt, and its aggregate with it, while
      others go on; after the last attempt it is parked, with its error, and its aggregate goes on.
    - An event of a type without handler waits, and its aggregate with it: a newer worker may know it.
    - A database that is away is waited for, with growing pauses.
    - Every method may be called from any thread and from handlers; a consumer that was stopped may be started.
    """

    def __init__(
        self, database: Database, handlers: Mapping[str, EventHandler], *, delivery: Delivery | None = None
    ) -> None:
        """*database* is for the consumer alone."""
        self._database = database
        self._handlers = dict(handlers)
        self._delivery = delivery or Delivery()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._state = ConsumerState()
        self._looked_at = -_LOOK_SECONDS

    @property
    def running(self) -> bool:
        """Whether the thread lives."""
        with self._changed:
            return self._thread is not None and self._thread.is_alive()

    @property
    def state(self) -> ConsumerState:
        """How it goes; reads nothing from the database."""
        with self._changed:
            return self._state

    def start(self) -> None:
        """Begin to deliver; harmless when it runs."""
        with self._changed:
            self._stopping = False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="EventConsumer", daemon=True)
                self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Begin no further delivery, and wait for the one that runs, at most *timeout* seconds.

        True when the thread has ended; False when its handler outlasts the wait, or is the caller: the thread
        then ends behind it. Harmless when nothing runs.
        """
        with self._changed:
            thread = self._thread
            if thread is None:
                return True
            self._stopping = True
            self._changed.notify_all()
            if thread is threading.current_thread():
                return False
            self._changed.wait_for(lambda: self._thread is not thread or not self._stopping, timeout)
            if self._thread is thread:
                return False
        thread.join()  # it has let go of everything, and returns
        return True

    # --- on the thread ---

    def _run(self) -> None:
        lost = 0
        try:
            while True:
                try:
                    pause = 0.0 if self._deliver_some() else self._delivery.poll
                    self._note(unreachable=None, unreachable_since=None)
                    lost = 0
                except Exception as error:  # noqa: BLE001 - whatever it is, the thread goes on
                    lost += 1
                    pause = _backoff(self._delivery.poll, lost)
                    self._note_loss(error, pause)
                if self._ended_in(pause):
                    return
        finally:
            with self._changed:
                self._end()

    def _ended_in(self, pause: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, pause)
            if self._stopping:
                self._end()  # under the lock that decided it, or a start() in between would be lost
                return True
            return False

    def _end(self) -> None:
        if self._thread is threading.current_thread():
            self._database.close()
            self._thread = None
            self._changed.notify_all()

    def _deliver_some(self) -> bool:
        """Handle events of the aggregates that are due now; whether there were any."""
        self._look()
        handled = False
        values = {"known": list(self._handlers), "limit": _AGGREGATES}
        with self._database.transaction() as connection:
            due = connection.execute(statement(SQL, "due"), values).fetchall()
        for aggregate_type, aggregate_id in due:
            for _ in range(_EVENTS_IN_A_ROW):  # then the others have their turn
                if self._stopping or not self._deliver_first(aggregate_type, aggregate_id):
                    break
                handled = True
        return handled

    def _deliver_first(self, aggregate_type: str, aggregate_id: str) -> bool:
        """Handle the first event of an aggregate; False when none is due any more, or it failed."""
        values = {
            "aggregate_type": aggregate_type,
            "aggregate_id": aggregate_id,
            "known": list(self._handlers),
            "most_attempts": self._delivery.most_attempts,
            "first_wait": self._delivery.first_wait,
            "longest_wait": LONGEST_WAIT_SECONDS,
        }
        with self._database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(statement(SQL, "begin"), values).fetchone()
        if row is None:
            return False
        parked, last_error = row.pop("parked"), row.pop("last_error")
        event = Event(**row)
        if parked:
            _log_parked(event, last_error)
            return True
        self._note(handling=event)
        try:
            return self._handle(event)
        finally:
            self._note(handling=None)

    def _handle(self, event: Event) -> bool:
        with self._database.transaction(seconds=self._delivery.handler_seconds) as connection:
            values = {"id": event.id, "attempt": event.attempt}
            if connection.execute(statement(SQL, "hold"), values).fetchone() is None:
                return False  # this process stood still for so long that another attempt was begun
            failure = _outcome(self._handlers[event.event_type], connection, event)
            if failure is None:
                connection.execute(statement(SQL, "done"), {"id": event.id})
                parked = False
            else:
                fate = {"id": event.id, "error": failure, "most_attempts": self._delivery.most_attempts}
                parked = connection.execute(statement(SQL, "failed"), fate).fetchone() == (True,)
        if failure is None:
            self._note(done=self._state.done + 1)
            return True
        self._note(failures=self._state.failures + 1, last_error=f"{event.event_type}: {failure}")
        if parked:
            _log_parked(event, failure)
        return parked

    def _look(self) -> None:
        """Take stock of the outbox, unless that was done a moment ago."""
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        with self._database.transaction() as connection, connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(statement(SQL, "backlog"), {"known": list(self._handlers)}).fetchone()
        self._looked_at = time.monotonic()
        if row is not None:
            self._note(backlog=Backlog(**row), backlog_at=datetime.now(UTC))

    def _note_loss(self, error: Exception, pause: float) -> None:
        if isinstance(error, StoreUnavailable):
            logger.warning("trying again in %.1f s: %s", pause, error)
        else:
            logger.error("trying again in %.1f s", pause, exc_info=error)
        since = self._state.unreachable_since
        self._note(
            unreachable=in_a_line(error),
            unreachable_since=time.monotonic() if since is None else since,
        )

    def _note(self, **changes: Any) -> None:
        with self._changed:
            self._state = replace(self._state, **changes)


def _outcome(handler: EventHandler, connection: Connection, event: Event) -> str | None:
    """Run the handler, undoing what it wrote when it fails: None, or its error in a line."""
    try:
        with connection.transaction():
            handler(connection, event)
    except BaseException as error:
        if connection.closed:
            raise  # no word of it can be kept
        logger.exception("event %s (%s) failed at attempt %d", event.id, event.event_type, event.attempt)
        return in_a_line(error)
    return None


def _log_parked(event: Event, error: str) -> None:
    logger.error(
        "event %s (%s) is parked after %d attempts; `loryth outbox retry %s` publishes it anew: %s",
        event.id,
        event.event_type,
        event.attempt,
        event.id,
        error,
    )


def _backoff(poll: float, times: int) -> float:
    longest = min(_LONGEST_BACKOFF_SECONDS, max(poll, 0.1) * 2.0 ** min(times, 16))
    return random.uniform(longest / 2, longest)  # noqa: S311 - so that workers do not come back all at once
