"""The oracle itself: it agrees with what is known by hand, and it catches the faults that libraries have."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from tests.task_scheduler.cron.oracle import Rule, changes, last_until, runs_after
from tests.task_scheduler.cron.rows import NEXT, NextRow


def first(expression: str, zone: str, start: str, count: int = 3) -> list[datetime]:
    runs = runs_after(Rule.parse(expression), ZoneInfo(zone), datetime.fromisoformat(start))
    return list(islice(runs, count))


@pytest.mark.parametrize("row", NEXT, ids=str)
def test_the_oracle_knows_every_row(row: NextRow) -> None:
    assert first(row.expression, row.zone, row.start.isoformat()) == row.runs


@pytest.mark.parametrize(
    ("expression", "zone", "start", "fault"),
    [
        ("30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00", "the repeated hour, twice"),
        ("0 0 1 * *", "America/Havana", "2026-10-31T23:10:00-04:00", "the repeated midnight, twice"),
        ("30 */2 * * *", "America/New_York", "2026-03-08T00:40:00-05:00", "a minute that is not named"),
        ("5-5 * * * *", "UTC", "2026-03-10T10:07:00+00:00", "an equal range read as all"),
    ],
)
def test_the_oracle_catches_croniter_with_a_zone(expression: str, zone: str, start: str, fault: str) -> None:
    begin = datetime.fromisoformat(start).astimezone(ZoneInfo(zone))
    library = croniter(expression, begin, implement_cron_bug=True)

    assert [library.get_next(datetime).astimezone(UTC) for _ in range(3)] != first(expression, zone, start), (
        fault
    )


def test_a_change_of_the_offset_is_found_to_the_minute() -> None:
    assert changes(ZoneInfo("Asia/Kathmandu")) == (datetime(1985, 12, 31, 18, 30, tzinfo=UTC),)
    assert datetime(2026, 10, 3, 15, 30, tzinfo=UTC) in changes(ZoneInfo("Australia/Lord_Howe"))
    assert changes(ZoneInfo("UTC")) == ()


def test_a_leap_over_quiet_time_finds_what_each_minute_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [
        ("*/7 1-3 8,9 3 *", "America/New_York", "2026-03-07T20:00:00-05:00"),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T20:00:00+11:00"),
        ("0 0 30 12 *", "Pacific/Apia", "2011-12-28T00:00:00-10:00"),
    ]
    span = timedelta(days=4)

    def answers() -> list[list[datetime]]:
        return [
            list(runs_after(Rule.parse(expression), ZoneInfo(zone), datetime.fromisoformat(start), span))
            for expression, zone, start in questions
        ]

    leaping = answers()
    monkeypatch.setattr("tests.task_scheduler.cron.oracle._nothing_to_do", lambda *_: None)

    assert leaping == answers()
    assert [len(found) for found in leaping] == [18 + 27, 4, 0]


def test_the_newest_run_before_an_instant_may_be_years_back() -> None:
    leap_day, new_york = Rule.parse("0 9 29 2 *"), ZoneInfo("America/New_York")

    assert last_until(leap_day, new_york, datetime(2027, 6, 1, tzinfo=UTC)) == datetime(
        2024, 2, 29, 14, tzinfo=UTC
    )
