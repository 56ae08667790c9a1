"""What cron would run: its daemon, simulated minute by minute of real time, by rules read in Vixie cron's own loop.

Nothing here is shared with the code under test, which searches wall-clock times and then resolves them; the daemon
never searches. It wakes up each minute, looks at the wall clock, and compares it with the last wall-clock minute that
it has dealt with.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
CORRECTION = 180
"""Minutes: a larger change of the wall clock is no daylight saving, and cron takes the new time as it is."""
WARM_UP = 4 * HOUR
"""After this the daemon's state does not depend on when it was started: no zone repeats more than three hours."""
HORIZON = 12 * 366 * DAY
"""How far ahead is looked: past every leap day, and short of a leap day that has to be a Monday as well."""

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
NAMES = {
    3: {name: number for number, name in enumerate(MONTHS, start=1)},
    4: {name: number for number, name in enumerate(WEEKDAYS)},
}
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
LONGEST_MONTH = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


@dataclass(frozen=True)
class Rule:
    """A valid expression, as the minutes of the wall clock that it names."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    wildcard: bool
    either_day: bool

    @classmethod
    def parse(cls, expression: str) -> Rule:
        texts = ALIASES.get(expression.strip().lower(), expression).lower().split()
        minutes, hours, days, months, weekdays = (_field(index, text) for index, text in enumerate(texts))
        return cls(
            minutes,
            hours,
            days,
            months,
            frozenset(day % 7 for day in weekdays),
            wildcard=texts[0].startswith("*") or texts[1].startswith("*"),
            either_day=not (texts[2].startswith("*") or texts[4].startswith("*")),
        )

    def fires(self) -> bool:
        """Whether any calendar has a day for it; weekdays need no look, for every date falls on each in time."""
        return self.either_day or any(min(self.days) <= LONGEST_MONTH.get(month, 31) for month in self.months)

    def names_date(self, wall: date) -> bool:
        by_day, by_weekday = wall.day in self.days, wall.isoweekday() % 7 in self.weekdays
        either = by_day or by_weekday if self.either_day else by_day and by_weekday
        return wall.month in self.months and either

    def names_hour(self, wall: datetime) -> bool:
        return wall.hour in self.hours and self.names_date(wall)

    def names(self, wall: datetime) -> bool:
        return wall.minute in self.minutes and self.names_hour(wall)


def _field(index: int, text: str) -> frozenset[int]:
    low, high = BOUNDS[index]
    named: set[int] = set()
    for item in text.split(","):
        first, last, step = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\d+))?", item).groups()  # type: ignore[union-attr] # valid
        if first == "*":
            begin, end = low, high
        else:
            begin = _value(index, first)
            end = _value(index, last) if last else high if step else begin
        # A step from Sunday written as 7 starts past the last weekday: Sunday alone.
        named.update(range(begin, max(begin, end) + 1, int(step or 1)))
    return frozenset(named)


def _value(index: int, text: str) -> int:
    return int(text) if text.isdigit() else NAMES[index][text]


def runs(rule: Rule, zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The instants from *begin* to before *end*, in UTC, at which a daemon on a machine in *zone* starts the job."""
    now = begin.astimezone(UTC).replace(second=0, microsecond=0)
    done = _wall(now, zone) - MINUTE  # the daemon's "virtual time": the last wall-clock minute dealt with
    while now < end:
        if leap := _nothing_to_do(rule, zone, now):
            done = max(done, _wall(now + leap - MINUTE, zone))
        else:
            wall = _wall(now, zone)
            change = (wall - done) // MINUTE - 1
            if change == 0 or abs(change) > CORRECTION:
                starts, done = rule.names(wall), wall
            elif change < 0:  # set back: only wildcard jobs, until the clock has caught up
                starts = rule.wildcard and rule.names(wall)
            else:  # set forward: wildcard jobs by the clock, the others for what was missed, however often, once
                missed = (wall - ahead * MINUTE for ahead in range(change + 1))
                starts = rule.names(wall) if rule.wildcard else any(map(rule.names, missed))
                done = wall
            if starts and now >= begin:
                yield now
        now += leap or MINUTE


def _nothing_to_do(rule: Rule, zone: ZoneInfo, now: datetime) -> timedelta | None:
    """A day or an hour that can be leapt over: the offset stays as it was, and the rule names nothing within it."""
    if now.minute:
        return None
    wall = _wall(now, zone)
    if _steady(zone, now, DAY) and not rule.names_date(wall) and not rule.names_date(wall + DAY):
        return DAY
    if _steady(zone, now, HOUR) and not rule.names_hour(wall) and not rule.names_hour(wall + HOUR):
        return HOUR
    return None


def _steady(zone: ZoneInfo, now: datetime, span: timedelta) -> bool:
    every = changes(zone)
    return bisect_left(every, now) == bisect_left(every, now + span)


def _wall(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


@cache
def changes(zone: ZoneInfo) -> tuple[datetime, ...]:
    """The first minutes under a new offset, in UTC, from 1970 to 2060; found by looking at the offset once a day."""
    found, day = [], datetime(1970, 1, 1, tzinfo=UTC)
    while day.year < 2060:
        before = day.astimezone(zone).utcoffset()
        if (day + DAY).astimezone(zone).utcoffset() != before:
            minutes = range(1, 1 + DAY // MINUTE)
            first = bisect_left(
                minutes, 1, key=lambda m: (day + m * MINUTE).astimezone(zone).utcoffset() != before
            )
            found.append(day + minutes[first] * MINUTE)
        day += DAY
    return tuple(found)


def runs_after(
    rule: Rule, zone: ZoneInfo, instant: datetime, within: timedelta = HORIZON
) -> Iterator[datetime]:
    """The runs strictly after *instant*."""
    after = instant.astimezone(UTC)  # arithmetic in a zone would be with the wall clock
    return (run for run in runs(rule, zone, after - WARM_UP, after + within) if run > after)


def last_until(rule: Rule, zone: ZoneInfo, instant: datetime) -> datetime | None:
    """The newest run at or before *instant*, or None if the years before it had none."""
    until = instant.astimezone(UTC)
    for back in (HOUR, DAY, 32 * DAY, 366 * DAY, HORIZON):
        walk = runs(rule, zone, until - back - WARM_UP, until + MINUTE)
        if found := [run for run in walk if until - back <= run <= until]:
            return found[-1]
    return None
