"""An in-process scheduler: one thread that runs interval and cron chores, without a database.

    scheduler = TaskScheduler()
    scheduler.register(PeriodicTask("sweep", sweep, interval_seconds=60))
    scheduler.register(CronTask("report", report, "0 6 * * mon-fri", timezone="Europe/Berlin"))
    scheduler.start()
    ...
    scheduler.stop()

Nothing is kept: what was due while the process was down is not made up, and every process runs its own
copy. Work that must not be lost belongs on the queue.
"""

from __future__ import annotations

import heapq
import inspect
import logging
import math
import os
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final
from weakref import WeakSet
from zoneinfo import ZoneInfo

from croniter import croniter
from croniter.croniter import CroniterBadDateError

__all__ = ["Clock", "CronExpression", "CronTask", "PeriodicTask", "TaskScheduler", "TaskState"]

logger = logging.getLogger(__name__)

LONGEST_WAIT_SECONDS: Final = 30.0
"""The thread looks at its clocks this often: a clock that was set, or a machine that slept, is noticed by then."""

CLOCK_CORRECTION: Final = timedelta(hours=3)
"""A wall clock that jumps further than this was wrong before; the bound is Vixie cron's."""

SETBACK_SECONDS: Final = 2.0
"""A wall clock that goes back by less is being disciplined, and what is planned stays as it is."""

LATE_SECONDS: Final = 1.0
"""A run that starts later than this is told in the log."""

INTERVAL_SECONDS: Final = (1e-6, 1e15)
"""The shortest and the longest interval: finer or farther than clocks can tell there is no grid."""


# --- cron expressions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    last: int
    """Where an open range (`5/15`) ends: Sunday is 0, and 7 only where it is written."""
    words: tuple[str, ...] = ()


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    _Field("minute", 0, 59, 59),
    _Field("hour", 0, 23, 23),
    _Field("day of month", 1, 31, 31),
    _Field("month", 1, 12, 12, _MONTHS),
    _Field("day of week", 0, 7, 6, _WEEKDAYS),
)
_ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_STAR: Final = re.compile(r"\*(?:/([0-9]{1,9}))?")
_ITEM: Final = re.compile(r"([0-9]{1,4}|[a-z]{3})(?:-([0-9]{1,4}|[a-z]{3}))?(?:/([0-9]{1,9}))?")
_OTHERS: Final = re.compile(r"[?#]|^[lrh]$|^l-?[0-9]|[0-9][lw]$")
"""What Quartz, Jenkins and croniter have, each in its own way."""


@dataclass(frozen=True)
class CronExpression:
    """When a cron expression fires in a time zone: a pure function of an instant.

    Five fields (minute, hour, day of month, month, day of week) or one of @yearly, @annually, @monthly,
    @weekly, @daily, @midnight and @hourly. A field is `*`, `*/n`, or a list of `a`, `a-b`, `a-b/n` and
    `a/n`; months and weekdays have three-letter names, and Sunday is 0 or 7. With both day fields
    restricted, either may match; when one of them starts with `*`, both must.

    Daylight saving follows Vixie cron. Where the minute or hour field starts with `*`, the expression
    follows the wall clock: times that are skipped do not fire, times that are repeated fire again.
    Otherwise it names fixed times, each of which fires once: one that is skipped at the end of the gap
    (unless the gap is over three hours, as where a country changed sides of the date line), one that
    is repeated at its first occurrence.

    Raises ``ValueError`` saying what is wrong, also when the expression can never fire.
    """

    expression: str
    timezone: str | ZoneInfo = "UTC"
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)
    _normal: str = field(init=False, repr=False, compare=False)
    _latest: tuple[datetime, datetime] | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_zone", _zone(self.timezone))
        object.__setattr__(self, "_normal", _normal_form(self.expression))
        try:
            next(self._wall_times(datetime(2000, 1, 1)))  # noqa: DTZ001 - a wall time, of any zone
        except CroniterBadDateError:
            raise ValueError(
                f"cron expression {self.expression!r} never fires: there is no such day"
            ) from None

    @property
    def follows_wall_clock(self) -> bool:
        """Whether repeated wall times fire again; else every time is fixed and fires once."""
        minute, hour, *_ = self._normal.split()
        return minute.startswith("*") or hour.startswith("*")

    def next_after(self, instant: datetime) -> datetime:
        """The first time strictly after *instant*, in UTC.

        Raises ``ValueError`` when *instant* has no time zone.
        """
        after = _utc(instant)
        local = after.astimezone(self._zone)
        found = self._first(after, local.replace(tzinfo=None))
        if self.follows_wall_clock and (repeated := _still_to_be_repeated(local)):
            # The wall clock will go back: earlier wall times come once more, perhaps before the later ones.
            found = min(found, self._first(after, local.replace(tzinfo=None) - repeated))
        return found

    def latest_until(self, instant: datetime) -> datetime | None:
        """The newest time at or before *instant*, in UTC; None if there was none in 60 years.

        Asked again with a later instant it answers from what it knows, until the next time is reached.
        """
        until = _utc(instant)
        known = self._latest
        if known is None or not known[0] <= until < known[1]:
            known = self._search_back(until)
            object.__setattr__(self, "_latest", known)
        return known and known[0]

    def _search_back(self, until: datetime) -> tuple[datetime, datetime] | None:
        """The newest time at or before *until* and the one after it, found from ``next_after`` alone."""
        span = timedelta(minutes=1)
        while (latest := self.next_after(until - span)) > until:
            span *= 2
            if span > timedelta(days=60 * 366):
                return None
        beyond = until
        while (following := self.next_after(latest)) <= until:
            middle = latest + (beyond - latest) / 2
            found = self.next_after(middle)
            if found > until:
                beyond = middle
            latest = following if found > until else found
        return latest, following

    def _first(self, after: datetime, wall: datetime) -> datetime:
        """The first instant after *after* of the expression's wall times later than *wall*."""
        for time_ in self._wall_times(wall):
            instants = [instant for instant in self._instants(time_) if instant > after]
            if instants:
                return min(instants)
        raise AssertionError("cron's wall times do not end")

    def _wall_times(self, wall: datetime) -> Iterator[datetime]:
        """The wall times of the expression that are later than *wall*, of no zone."""
        # croniter gets zoneless times only: with a zone it fires twice or at invented times around changes.
        times = croniter(self._normal, wall.replace(second=0, microsecond=0), implement_cron_bug=True)
        while True:
            yield times.get_next(datetime)

    def _instants(self, wall: datetime) -> list[datetime]:
        """When a wall time fires: never, once, or at both its occurrences."""
        first = wall.replace(tzinfo=self._zone, fold=0)
        second = wall.replace(tzinfo=self._zone, fold=1)
        if (first.utcoffset() or _NONE) < (second.utcoffset() or _NONE):  # skipped by the wall clock
            return [] if self.follows_wall_clock else _end_of_gap(first, second)
        both = {first.astimezone(UTC), second.astimezone(UTC)}
        return sorted(both) if self.follows_wall_clock else [first.astimezone(UTC)]


_NONE: Final = timedelta(0)
_SECOND: Final = timedelta(seconds=1)


def _still_to_be_repeated(local: datetime) -> timedelta:
    """By how much the wall clock is about to go back over *local*; zero where that is over or never was."""
    if local.fold == 1:
        return _NONE
    return max(_NONE, (local.utcoffset() or _NONE) - (local.replace(fold=1).utcoffset() or _NONE))


def _end_of_gap(before: datetime, behind: datetime) -> list[datetime]:
    """The instant at which a skipped wall time is over; none if the clock was corrected rather than changed.

    *before* and *behind* are the wall time with the offset of before and of behind the gap (PEP 495).
    """
    late, early = before.astimezone(UTC), behind.astimezone(UTC)
    if late - early > CLOCK_CORRECTION:
        return []
    zone, old = before.tzinfo, before.utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == old:
            early = middle
        else:
            late = middle
    return [late]


def _utc(instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise ValueError(f"{instant} has no time zone; give an aware datetime, such as datetime.now(UTC)")
    return instant.astimezone(UTC)


def _zone(timezone: object) -> ZoneInfo:
    if isinstance(timezone, ZoneInfo):
        return timezone
    fault = f"{timezone!r} is no time zone; give a ZoneInfo or an IANA name, such as 'Europe/Berlin'"
    if not isinstance(timezone, str) or not timezone:
        raise ValueError(fault)
    try:
        return ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):  # unknown; not a relative name; a folder of zones
        raise ValueError(fault) from None


def _normal_form(expression: object) -> str:
    """The expression in the dialect that all cron libraries read alike: stars and lists of numbers."""
    if not isinstance(expression, str):
        raise ValueError(f"cron expression {expression!r} is no text")  # noqa: TRY004 - all refusals are one error
    text = expression.strip()
    if text.startswith("@"):
        if text.lower() not in _ALIASES:
            raise ValueError(
                f"cron expression {expression!r}: unknown alias; there are {', '.join(_ALIASES)}"
                + ("; what is to be done at the start, call there" if text.lower() == "@reboot" else "")
            )
        text = _ALIASES[text.lower()]
    parts = re.split(r"[ \t]+", text) if text else []
    if len(parts) != len(_FIELDS):
        raise ValueError(
            f"cron expression {expression!r} has {len(parts)} fields; it takes five: minute, hour, "
            "day of month, month and day of week (no seconds and no years; a zone goes into timezone=)"
        )
    try:
        return " ".join(_normal_field(field, part) for field, part in zip(_FIELDS, parts, strict=True))
    except ValueError as error:
        raise ValueError(f"cron expression {expression!r}: {error}") from None


def _normal_field(field: _Field, part: str) -> str:
    if star := _STAR.fullmatch(part):
        _step(field, part, star[1])
        return part
    values: set[int] = set()
    for item in part.split(","):
        values.update(_values(field, part, item))
    return ",".join(map(str, sorted(values)))


def _values(field: _Field, part: str, item: str) -> range:
    if _STAR.match(item) and item != part:
        raise ValueError(f"{field.name} {part!r}: * and */n stand alone, not in a list")
    match = _ITEM.fullmatch(item.lower())
    if match is None:
        raise ValueError(
            f"{field.name} {part!r} makes no sense; a field is *, */n or a list of a, a-b, a-b/n and a/n, of "
            "numbers"
            + (f" and names such as {field.words[1]}" if field.words else "")
            + (
                "; L, W, #, ?, H and R are not read, programs differ in them"
                if _OTHERS.search(item.lower())
                else ""
            )
        )
    low = _number(field, part, match[1])
    open_end = max(low, field.last) if match[3] else low
    high = _number(field, part, match[2]) if match[2] else open_end
    if low > high:
        # Sunday, which is 0, is also 7, where a week may end.
        instead = (
            f"{low}-7" if field.words is _WEEKDAYS and high == 0 else f"{low}-{field.last},{field.low}-{high}"
        )
        raise ValueError(f"{field.name} {part!r}: the range {item!r} runs backwards; write {instead}")
    return range(low, high + 1, _step(field, part, match[3]))


def _number(field: _Field, part: str, text: str) -> int:
    if not text.isdigit():
        if text not in field.words:
            known = f"names are {', '.join(field.words)}" if field.words else "it takes numbers"
            raise ValueError(f"{field.name} {part!r}: {text!r} is unknown; {known}")
        return field.words.index(text) + field.low
    number = int(text)
    if not field.low <= number <= field.high:
        raise ValueError(f"{field.name} {part!r}: {number} is not within {field.low} to {field.high}")
    return number


def _step(field: _Field, part: str, text: str | None) -> int:
    step = 1 if text is None else int(text)
    if step < 1:
        raise ValueError(f"{field.name} {part!r}: a step is 1 or more")
    return step


# --- tasks -----------------------------------------------------------------------------------------------

Handler = Callable[[], object]


@dataclass(frozen=True)
class PeriodicTask:
    """*handler* every *interval_seconds*, the first time one interval after the scheduler's start.

    Runs keep to the grid start + k x interval, whatever a run takes and whatever becomes of the wall
    clock. Raises ``ValueError`` naming the task when the interval is no number from 1e-6 to 1e15.
    """

    name: str
    handler: Handler
    interval_seconds: float

    def __post_init__(self) -> None:
        _refuse_faulty(self.name, self.handler)
        interval: object = self.interval_seconds
        shortest, longest = INTERVAL_SECONDS
        is_number = isinstance(interval, int | float) and not isinstance(interval, bool)
        if not is_number or not shortest <= self.interval_seconds <= longest:
            raise ValueError(
                f"task {self.name!r}: interval_seconds must be a positive number, "
                f"from {shortest} to {longest}, is {interval!r}"
            )

    def next_after(self, instant: float, *, anchor: float) -> float:
        """The first point of the grid strictly after *instant*; both in seconds of the same clock.

        The grid begins one interval after *anchor*.
        """
        periods = max(1, math.floor((instant - anchor) / self.interval_seconds))
        for more in range(3):  # the division may have been rounded down
            point = anchor + (periods + more) * self.interval_seconds
            if point > instant:
                return point
        return math.nextafter(instant, math.inf)  # the grid is finer than floats are here


@dataclass(frozen=True)
class CronTask:
    """*handler* whenever *cron* fires in *timezone*: see ``CronExpression`` for what it may be and mean.

    Raises ``ValueError`` naming the task, the expression and what is wrong with it, also when it can
    never fire.
    """

    name: str
    handler: Handler
    cron: str
    timezone: str | ZoneInfo = "UTC"
    expression: CronExpression = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _refuse_faulty(self.name, self.handler)
        try:
            object.__setattr__(self, "expression", CronExpression(self.cron, self.timezone))
        except ValueError as error:
            raise ValueError(f"task {self.name!r}: {error}") from None

    def next_after(self, instant: datetime) -> datetime:
        """The first run strictly after *instant*, in UTC. Raises ``ValueError`` when that has no time zone."""
        return self.expression.next_after(instant)


def _refuse_faulty(name: object, handler: object) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"a task's name must be a text that is not empty, is {name!r}")
    if not callable(handler):
        raise ValueError(f"task {name!r}: the handler must be callable, is {handler!r}")  # noqa: TRY004 - as above
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__):
        raise ValueError(
            f"task {name!r}: the handler is async, and the scheduler calls plain functions; "
            "wrap it, such as lambda: asyncio.run(work())"
        )


@dataclass(frozen=True, slots=True)
class TaskState:
    """What is known of a task; times are the wall clock's, in UTC."""

    name: str
    runs: int = 0
    """How often it was started, since the process began."""
    failures: int = 0
    """How many of these runs raised."""
    running_since: datetime | None = None
    last_started_at: datetime | None = None
    last_finished_at: datetime | None = None
    last_error: str | None = None
    """Of the last finished run: the exception's type and text; None when it succeeded."""
    next_run_at: datetime | None = None
    """None while it runs, and while the scheduler does not."""


# --- the scheduler ---------------------------------------------------------------------------------------


class Clock:
    """Where the scheduler gets its time, and how it waits; another one may be given to it, for tests."""

    def wall(self) -> float:
        """Seconds since 1970, as people and cron count them: may jump."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since whenever: never jumps, and stands still while the machine sleeps."""
        return time.monotonic()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        """Wait until *condition*, which is held, is notified, at most *seconds*; early is fine."""
        condition.wait(seconds)


class _Entry:
    """A registered task and what the scheduler knows of it."""

    def __init__(self, task: PeriodicTask | CronTask, order: int) -> None:
        self.task = task
        self.order = order
        self.state = TaskState(task.name)
        self.anchor = 0.0
        """Where a periodic task's grid begins, in monotonic seconds."""
        self.due = math.inf
        """Of the next run, or of the one that runs: in monotonic seconds, for a cron task in wall seconds."""
        self.started = -math.inf
        """When the last run began, in the same seconds: it stands for every due time until then."""

    def __lt__(self, other: _Entry) -> bool:
        return (self.due, self.order) < (other.due, other.order)


@dataclass(frozen=True, slots=True)
class _Now:
    """One look at both clocks."""

    wall: float
    monotonic: float

    @property
    def utc(self) -> datetime:
        try:
            return datetime.fromtimestamp(self.wall, UTC)
        except (ValueError, OverflowError, OSError):  # a clock beyond the calendar's end
            return datetime.max.replace(tzinfo=UTC)

    def on_clock_of(self, entry: _Entry) -> float:
        return self.wall if isinstance(entry.task, CronTask) else self.monotonic


class TaskScheduler:
    """Runs registered tasks one after another on one daemon thread.

    - A task never runs early, never twice for one due time, and never beside itself or another. A long
      handler delays all others: bound what one run does.
    - Due times that pass while other handlers run, or while the machine sleeps, make one late run. Those that
      pass during a task's own run are skipped, and the log says so. Equal due times run in the order of
      registration.
    - A handler that raises, whatever it raises, is logged with its traceback and runs again at its next
      time. There is no retry.
    - Setting the wall clock leaves periodic tasks as they are. Forward, what a cron task missed runs once.
      Back, it is planned anew, and what comes again runs again, except for fixed times that are less than
      three hours old and anything that is less than a minute old.
    - Every method may be called from any thread and from handlers; ``stop``, ``states`` and ``running`` from
      signal handlers, too, where a stop that interrupts a start comes before it. Threads do not survive
      ``os.fork``: in the child the scheduler is not running, and may be started.
    """

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._entries: dict[str, _Entry] = {}
        self._forget_thread()
        _schedulers.add(self)

    def _forget_thread(self) -> None:
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._current: _Entry | None = None
        # Heaps, each on the clock of its tasks.
        self._periodic: list[_Entry] = []
        self._cron: list[_Entry] = []
        self._latest_wall = -math.inf
        self._news: deque[Callable[[], None]] = deque()

    @property
    def running(self) -> bool:
        """Whether the thread lives."""
        with self._changed:
            return self._alive()

    def states(self) -> list[TaskState]:
        """What is known of each task, in the order of registration."""
        with self._changed:
            now = self._now()
            return [self._state(entry, now) for entry in self._entries.values()]

    def register(self, task: PeriodicTask | CronTask) -> None:
        """Add a task, at any time. Raises ``ValueError`` when its name is taken."""
        if not isinstance(task, PeriodicTask | CronTask):
            raise TypeError(f"a PeriodicTask or a CronTask is registered, not {task!r}")
        with self._changed:
            if task.name in self._entries:
                raise ValueError(f"task {task.name!r} is registered already; names are unique")
            entry = self._entries[task.name] = _Entry(task, len(self._entries))
            if self._alive():
                self._begin(entry, self._now())
                heap = self._heap(entry)
                heapq.heappush(heap, entry)
                if heap[0] is entry:
                    self._changed.notify_all()

    def start(self) -> None:
        """Begin, as if all tasks were registered now; harmless when it runs."""
        with self._changed:
            if self._alive() and not self._stopping:
                return
            self._stopping = False
            self._begin_all()
            if self._alive():  # in the handler that was to be its last: it carries on behind it
                self._changed.notify_all()
            else:
                self._thread = threading.Thread(target=self._run, name="TaskScheduler", daemon=True)
                self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Start no further run, and wait for the one that runs, at most *timeout* seconds.

        True when the thread has ended; False when its handler outlasts the wait, or is the caller: the
        thread then ends behind it. Harmless when nothing runs.
        """
        if timeout is not None and timeout >= threading.TIMEOUT_MAX:
            timeout = None
        with self._changed:
            thread = self._thread
            if thread is None or not thread.is_alive():
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

    # --- with the lock held ---

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _now(self) -> _Now:
        now = _Now(self._clock.wall(), self._clock.monotonic())
        self._latest_wall = max(self._latest_wall, now.wall)
        return now

    def _heap(self, entry: _Entry) -> list[_Entry]:
        return self._cron if isinstance(entry.task, CronTask) else self._periodic

    def _begin_all(self) -> None:
        now = self._now()
        self._latest_wall = now.wall
        self._periodic.clear()
        self._cron.clear()
        for entry in self._entries.values():
            self._begin(entry, now)
            if entry is not self._current:  # that one is planned when its run ends
                self._heap(entry).append(entry)
        heapq.heapify(self._periodic)
        heapq.heapify(self._cron)

    def _begin(self, entry: _Entry, now: _Now) -> None:
        entry.anchor = now.monotonic
        self._plan(entry, now)

    def _plan(self, entry: _Entry, now: _Now) -> None:
        """Find the next due time after *now*."""
        if isinstance(entry.task, CronTask):
            # As in Vixie cron, minutes that come again run what follows the wall clock, and no fixed times.
            spared = 60.0 if entry.task.expression.follows_wall_clock else CLOCK_CORRECTION.total_seconds()
            if entry.started - now.wall >= spared:
                entry.started = -math.inf
        entry.due = self._due_after(entry, max(now.on_clock_of(entry), entry.started))

    def _due_after(self, entry: _Entry, seconds: float) -> float:
        """The first due time after *seconds*, both on the clock of the task."""
        try:
            if isinstance(entry.task, CronTask):
                # Cron's times are whole seconds, and a datetime would round up to the next.
                return entry.task.next_after(datetime.fromtimestamp(math.floor(seconds), UTC)).timestamp()
            return entry.task.next_after(seconds, anchor=entry.anchor)
        except Exception as error:  # noqa: BLE001 - beyond the calendar's end, say; the others go on
            self._note(logging.ERROR, "task %s cannot be planned", entry.task.name, error=error)
            return math.inf

    def _state(self, entry: _Entry, now: _Now) -> TaskState:
        if entry is self._current:
            return replace(entry.state, running_since=entry.state.last_started_at)
        if not self._alive():
            return entry.state
        wall = entry.due if isinstance(entry.task, CronTask) else now.wall + entry.due - now.monotonic
        try:
            return replace(entry.state, next_run_at=datetime.fromtimestamp(wall, UTC))
        except (ValueError, OverflowError, OSError):  # an interval of many thousand years
            return entry.state

    def _replan_after_setback(self, now: _Now) -> None:
        setback = self._latest_wall - now.wall
        if setback > SETBACK_SECONDS:
            self._note(logging.WARNING, "the wall clock went back by %.0f s", setback)
            self._latest_wall = now.wall
            for entry in self._cron:
                self._plan(entry, now)
            heapq.heapify(self._cron)

    def _take_due(self, now: _Now) -> tuple[_Entry | None, float]:
        """The task that is most overdue, or None and how long none will be."""
        heads = [heap[0] for heap in (self._periodic, self._cron) if heap]
        if not heads:
            return None, math.inf
        wait, _, entry = min((head.due - now.on_clock_of(head), head.order, head) for head in heads)
        if wait > 0:
            return None, wait
        heapq.heappop(self._heap(entry))
        if -wait > LATE_SECONDS:
            self._note(logging.WARNING, "task %s starts %.1f s late", entry.task.name, -wait)
        return entry, 0.0

    def _note_start(self, entry: _Entry, now: _Now) -> None:
        self._current = entry
        entry.started = now.on_clock_of(entry)
        entry.state = replace(entry.state, runs=entry.state.runs + 1, last_started_at=now.utc)

    def _note_end(self, entry: _Entry, failure: str | None) -> None:
        now = self._now()
        self._current = None
        entry.state = replace(
            entry.state,
            failures=entry.state.failures + (failure is not None),
            last_finished_at=now.utc,
            last_error=failure,
        )
        if self._stopping:
            return
        if self._due_after(entry, entry.due) <= now.on_clock_of(entry):
            text = "task %s skips the due times that passed until its run ended"
            self._note(logging.WARNING, text, entry.task.name)
        self._plan(entry, now)
        heapq.heappush(self._heap(entry), entry)

    def _note(self, level: int, text: str, *values: object, error: BaseException | None = None) -> None:
        self._news.append(partial(_log, level, text, *values, error=error))

    def _end(self) -> None:
        self._thread = self._current = None
        self._changed.notify_all()

    # --- on the thread, without the lock ---

    def _run(self) -> None:
        try:
            while (entry := self._await_due()) is not None:
                self._tell()
                failure = _outcome(entry.task)
                with self._changed:
                    if self._thread is not threading.current_thread():
                        return  # the handler forked, and this is its child
                    self._note_end(entry, failure)
        except BaseException:
            with self._changed:
                self._end()
            raise

    def _await_due(self) -> _Entry | None:
        """The next task to run, when it is due; None at the end."""
        while True:
            self._tell()
            with self._changed:
                if self._stopping:
                    self._end()  # under the lock that decided it, or a start() in between would be lost
                    return None
                now = self._now()
                self._replan_after_setback(now)
                entry, wait = self._take_due(now)
                if entry is not None:
                    self._note_start(entry, now)
                    return entry
                if not self._news:
                    self._clock.wait(self._changed, min(wait, LONGEST_WAIT_SECONDS))

    def _tell(self) -> None:
        """Log what was noted: without the lock, as a log may be slow, or look at the scheduler."""
        while self._news:
            self._news.popleft()()


_schedulers: Final[WeakSet[TaskScheduler]] = WeakSet()


def _forget_threads() -> None:
    """In the child of a fork, neither the parent's threads nor who held the locks are there."""
    for scheduler in _schedulers:
        scheduler._forget_thread()  # noqa: SLF001 - one module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _outcome(task: PeriodicTask | CronTask) -> str | None:
    """Run the handler: None, or its error in a line."""
    try:
        result = task.handler()
        if inspect.iscoroutine(result):  # of a lambda, say, which does not look async
            result.close()
            raise TypeError("the handler returned a coroutine, which nobody awaits")
    except BaseException as error:  # noqa: BLE001 - a handler that calls sys.exit() must not end the others
        _log(logging.ERROR, "task %s failed; it runs again at its next time", task.name, error=error)
        with suppress(BaseException):
            return "".join(traceback.format_exception_only(error)).strip()
        return type(error).__name__  # what it has to tell cannot be told
    return None


def _log(level: int, text: str, *values: object, error: BaseException | None = None) -> None:
    with suppress(BaseException):  # a log that fails must not end the thread
        logger.log(level, text, *values, exc_info=error)
