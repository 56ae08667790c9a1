"""Random expressions and starts, most of them within hours of a change of the zone's offset."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from tests.task_scheduler.cron.oracle import ALIASES, MINUTE, NAMES, changes

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


# Made once, because making a strategy costs more than drawing from it.
VALUES = [st.integers(low, high) for low, high in LIMITS]
NEARBY = st.integers(-2, 2)
LENGTHS = st.integers(0, 4)
STEPS = st.integers(1, 9)
COUNTS = st.integers(1, 3)
CHANCES = st.integers(1, 100)
FORMS = st.sampled_from(["{a}", "{a}", "{a}-{b}", "{a}-{b}/{n}", "{a}/{n}"])
SPELLINGS = st.sampled_from([str.lower, str.title, str.upper])


def _item(draw: st.DrawFn, index: int, near: int) -> str:
    """A value, a range or a stepped range, most of them about *near*."""
    low, high = LIMITS[index]
    value = draw(VALUES[index]) if draw(CHANCES) > 70 else min(max(low, near + draw(NEARBY)), high)
    last = max(value, draw(VALUES[index])) if draw(CHANCES) > 70 else min(value + draw(LENGTHS), high)
    step = draw(STEPS) * (draw(STEPS) if draw(CHANCES) > 80 else 1)
    words = WRITTEN.get(index, {}) if draw(CHANCES) > 50 else {}
    spelling = draw(SPELLINGS) if words else str.lower
    a, b = (spelling(words.get(number, f"{number}")) for number in (value, last))
    return draw(FORMS).format(a=a, b=b, n=step)


def _field(draw: st.DrawFn, index: int, near: int, *, stars: int, steps: int) -> str:
    """A star in *stars* and a stepped one in *steps* of a hundred cases, or else a list."""
    chance = draw(CHANCES)
    if chance <= stars:
        return "*"
    if chance <= stars + steps:
        return f"*/{draw(STEPS) * (draw(STEPS) if draw(CHANCES) > 50 else 1)}"
    return ",".join(_item(draw, index, near) for _ in range(draw(COUNTS)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    name = draw(NAMED_ZONES)
    zone = ZONES[name]
    anchor = _anchor(draw, zone)
    start = _start(draw, zone, anchor)
    if draw(CHANCES) > 95:
        return Case(draw(NAMED_ALIASES), name, start)
    wall, behind = start.astimezone(zone), anchor.astimezone(zone)
    minute = _field(draw, 0, wall.minute, stars=10, steps=25)
    hour = _field(
        draw, 1, draw(st.sampled_from([wall.hour, behind.hour, behind.hour - 1])), stars=15, steps=15
    )
    if draw(CHANCES) <= 50:
        return Case(f"{minute} {hour} * * *", name, start)
    day = _field(draw, 2, wall.day, stars=40, steps=15)
    month = _field(draw, 3, wall.month, stars=70, steps=5)
    weekday = _field(draw, 4, wall.isoweekday() % 7, stars=40, steps=15)
    return Case(f"{minute} {hour} {day} {month} {weekday}", name, start)


NAMED_ZONES = st.sampled_from(sorted(ZONES))
NAMED_ALIASES = st.sampled_from(sorted(ALIASES))
MINUTES_OF_65_YEARS = st.integers(0, 65 * 366 * 1440)
NEAR_MINUTES, FAR_MINUTES = st.integers(-75, 75), st.integers(-27 * 60, 27 * 60)
MICROSECONDS = st.sampled_from([0, 0, 1, 999_999, 59_999_999]) | st.integers(0, 59_999_999)


@cache
def _by_shift(zone: ZoneInfo) -> list[list[datetime]]:
    """The zone's changes, by how far they moved the clock: a rare kind is drawn as often as a common one."""
    found: dict[timedelta, list[datetime]] = {}
    for change in changes(zone):
        before, after = ((change - ago).astimezone(zone).utcoffset() for ago in (MINUTE, timedelta(0)))
        assert before is not None
        assert after is not None
        if 1971 <= change.year <= 2045:
            found.setdefault(after - before, []).append(change)
    return list(found.values())


def _anchor(draw: st.DrawFn, zone: ZoneInfo) -> datetime:
    """A change of the zone's offset, or any instant."""
    number = draw(MINUTES_OF_65_YEARS)
    if not _by_shift(zone) or draw(CHANCES) > 90:
        return datetime(1971, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    alike = draw(st.sampled_from(_by_shift(zone)))
    return alike[number % len(alike)]


def _start(draw: st.DrawFn, zone: ZoneInfo, anchor: datetime) -> datetime:
    """An aware datetime, with seconds or without, written in one zone or another."""
    minutes = draw(NEAR_MINUTES if draw(CHANCES) <= 60 else FAR_MINUTES)
    start = anchor + timedelta(minutes=minutes, microseconds=draw(MICROSECONDS))
    return start.astimezone((UTC, zone, zone, ZONES["America/New_York"])[draw(CHANCES) % 4])
