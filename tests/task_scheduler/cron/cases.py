"""Random expressions and starts, most of them within hours of a change of the zone's offset."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.task_scheduler.cron.oracle import ALIASES, NAMES, changes

ZONES = {
    name: ZoneInfo(name)
    for name in (
        "America/Havana",  # changes at midnight
        "America/New_York",
        "America/Santiago",  # changes at midnight, on dates that law moved about
        "Antarctica/Troll",  # changes by two hours
        "Asia/Kathmandu",  # changed once, by 15 minutes, in 1986
        "Australia/Lord_Howe",  # changes by half an hour
        "Europe/Dublin",  # its winter time is the exception, in the database
        "Pacific/Apia",  # left out 30 December 2011
        "UTC",
    )
}
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
WRITTEN = {index: {value: name for name, value in names.items()} for index, names in NAMES.items()}


class Case(NamedTuple):
    expression: str
    zone: str
    start: datetime


def _often(*weighted: tuple[int, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    return st.sampled_from([strategy for weight, strategy in weighted for _ in range(weight)]).flatmap(
        lambda s: s
    )


@st.composite
def _item(draw: st.DrawFn, index: int, near: int) -> str:
    """A value, a range or a stepped range, most of them about *near*."""
    low, high = LIMITS[index]
    about = st.integers(max(low, near - 2), min(high, near + 2))
    value = draw(about | st.integers(low, high))
    last = draw(st.integers(value, min(high, value + 4)) | st.integers(value, high))
    form = draw(st.sampled_from(["{a}", "{a}", "{a}-{b}", "{a}-{b}/{n}", "{a}/{n}"]))
    step = draw(st.integers(1, 9) | st.integers(1, high + 9))
    names = WRITTEN.get(index, {}) if draw(st.booleans()) else {}
    a, b = (
        draw(st.sampled_from([n, n.title(), n.upper()])) if (n := names.get(v)) else f"{v}"
        for v in (value, last)
    )
    return form.format(a=a, b=b, n=step)


def _field(index: int, near: int, *, stars: int, steps: int) -> st.SearchStrategy[str]:
    high = LIMITS[index][1]
    return _often(
        (stars, st.just("*")),
        (steps, st.integers(1, high + 9).map(lambda step: f"*/{step}")),
        (6, st.lists(_item(index, near), min_size=1, max_size=3).map(",".join)),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    name = draw(st.sampled_from(sorted(ZONES)))
    zone = ZONES[name]
    start = draw(_starts(zone))
    wall = start.astimezone(zone)
    weekday = wall.isoweekday() % 7
    fields = (
        draw(_field(0, wall.minute, stars=1, steps=3)),
        draw(_field(1, wall.hour, stars=2, steps=2)),
        draw(_field(2, wall.day, stars=12, steps=2)),
        draw(_field(3, wall.month, stars=18, steps=1)),
        draw(_field(4, weekday, stars=12, steps=1)),
    )
    alias = draw(st.none() | st.none() | st.none() | st.sampled_from(sorted(ALIASES)))
    return Case(alias or " ".join(fields), name, start)


@st.composite
def _starts(draw: st.DrawFn, zone: ZoneInfo) -> datetime:
    """An aware datetime, with seconds or without, written in one zone or another."""
    somewhen = st.integers(0, 65 * 366 * 1440).map(
        lambda m: datetime(1971, 1, 1, tzinfo=UTC) + timedelta(minutes=m)
    )
    every = [change for change in changes(zone) if 1971 <= change.year <= 2036]
    anchor = draw(somewhen | st.sampled_from(every) | st.sampled_from(every) if every else somewhen)
    minutes = draw(st.integers(-90, 90) | st.integers(-27 * 60, 27 * 60))
    rest = draw(st.just(0) | st.sampled_from([1, 999_999, 59_999_999]) | st.integers(0, 59_999_999))
    start = anchor + timedelta(minutes=minutes, microseconds=rest)
    return start.astimezone(draw(st.sampled_from([UTC, zone, zone, ZONES["America/New_York"]])))
