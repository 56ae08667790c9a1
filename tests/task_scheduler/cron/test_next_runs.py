"""When cron tasks run next: agreed rows, and cases from public bug reports about other schedulers."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from tests.task_scheduler.cron.rows import NEXT, NextRow
from treadle.task_scheduler import CronExpression, CronTask


def handler() -> None:
    """Do nothing: these tasks are only asked when they would run."""


def chain(expression: str, zone: str, start: datetime, count: int) -> list[datetime]:
    """The next runs, each looked for from the one before."""
    task, runs = CronTask("t", handler, expression, zone), [start]
    for _ in range(count):
        runs.append(task.next_after(runs[-1]))
    return runs[1:]


@pytest.mark.parametrize("row", NEXT, ids=str)
def test_a_row_gives_its_runs_one_after_another(row: NextRow) -> None:
    found = chain(row.expression, row.zone, row.start, len(row.runs))

    assert found == row.runs, row.remark
    assert {run.tzinfo for run in found} == {UTC}


REPORTS = """
croniter 191      | 10 3 * * 0          | Europe/Prague       | 2025-10-19T12:00+02:00 | 2025-10-26T03:10+01:00
croniter 25       | 00 20 * * *         | Europe/Paris        | 2022-10-30T00:00+02:00 | 2022-10-30T20:00+01:00 2022-10-31T20:00+01:00 2022-11-01T20:00+01:00
croniter 147      | 0 1 * * *           | Europe/Berlin       | 2020-10-24T00:00+02:00 | 2020-10-24T01:00+02:00 2020-10-25T01:00+02:00 2020-10-26T01:00+01:00
croniter 56       | */5 * * * *         | Europe/Zurich       | 2023-10-29T02:55+02:00 | 2023-10-29T02:00+01:00 2023-10-29T02:05+01:00
croniter 56       | */5 * * * *         | Europe/Zurich       | 2023-10-29T02:30+01:00 | 2023-10-29T02:35+01:00
croniter 266      | 0 * * * *           | Australia/Lord_Howe | 2026-10-04T01:03+10:30 | 2026-10-04T03:00+11:00
cron (Go) 541     | 0 2 * * *           | America/Los_Angeles | 2025-03-09T00:00-08:00 | 2025-03-09T03:00-07:00 2025-03-10T02:00-07:00
apscheduler 1021  | 30 * * * *          | Europe/Helsinki     | 2017-10-29T03:45+02:00 | 2017-10-29T04:30+02:00
apscheduler 980   | 0 */2 * * *         | Europe/London       | 2024-10-27T00:30+01:00 | 2024-10-27T02:00+00:00 2024-10-27T04:00+00:00
apscheduler 606   | 0 0 * * *           | US/Pacific          | 2022-03-13T00:00-08:00 | 2022-03-14T00:00-07:00
celery 10107      | 0 * * * *           | US/Pacific          | 2026-11-01T08:00+00:00 | 2026-11-01T09:00+00:00 2026-11-01T10:00+00:00
airflow 30088     | 20 */4 * * *        | US/Pacific          | 2023-03-12T00:00-08:00 | 2023-03-12T00:20-08:00 2023-03-12T04:20-07:00 2023-03-12T08:20-07:00
db-scheduler 662  | 30 1 * * *          | Europe/London       | 2025-03-30T00:00+00:00 | 2025-03-30T02:00+01:00 2025-03-31T01:30+01:00
cronie 124        | 30 01 * * *         | UTC                 | 2022-10-30T02:10+01:00 | 2022-10-30T01:30+00:00 2022-10-31T01:30+00:00
croniter 243      | 0 0 31 2 0          | UTC                 | 2026-01-01T00:00+00:00 | 2026-02-01T00:00+00:00 2026-02-08T00:00+00:00
croniter 55       | 0 9 29 2 *          | UTC                 | 2016-02-29T09:00+00:00 | 2020-02-29T09:00+00:00
croniter 246      | * 23/6 * * *        | UTC                 | 2026-03-10T22:58+00:00 | 2026-03-10T23:00+00:00 2026-03-10T23:01+00:00
croniter 257      | 5-5 * * * *         | UTC                 | 2026-03-10T10:07+00:00 | 2026-03-10T11:05+00:00
croniter 257      | 0 9 * jan-jan *     | UTC                 | 2026-01-31T09:00+00:00 | 2027-01-01T09:00+00:00
croniter 41       | 0 0 */2 * 1         | UTC                 | 2026-03-10T00:00+00:00 | 2026-03-23T00:00+00:00 2026-04-13T00:00+00:00 2026-04-27T00:00+00:00
the dialect       | 0 0 * * 1/2         | UTC                 | 2026-03-10T00:00+00:00 | 2026-03-11T00:00+00:00 2026-03-13T00:00+00:00 2026-03-16T00:00+00:00
the dialect       | 0 0 * * 7/2         | UTC                 | 2026-03-10T00:00+00:00 | 2026-03-15T00:00+00:00 2026-03-22T00:00+00:00
the dialect       | 0 0 * * 5-7         | UTC                 | 2026-03-09T00:00+00:00 | 2026-03-13T00:00+00:00 2026-03-14T00:00+00:00 2026-03-15T00:00+00:00
the dialect       | */99 * * * *        | UTC                 | 2026-03-10T10:07+00:00 | 2026-03-10T11:00+00:00 2026-03-10T12:00+00:00
the dialect       |   @Hourly           | UTC                 | 2026-03-10T10:07+00:00 | 2026-03-10T11:00+00:00
gap over 3 hours  | 30 12 30 12 *       | Pacific/Apia        | 2011-12-29T09:00-10:00 | 2012-12-30T12:30+14:00
gap over 3 hours  | 0 9 * * *           | Pacific/Apia        | 2011-12-29T08:00-10:00 | 2011-12-29T09:00-10:00 2011-12-31T09:00+14:00
no more changes   | 30 1 * * *          | America/New_York    | 2090-11-05T00:00-04:00 | 2090-11-05T01:30-04:00 2090-11-06T01:30-05:00
"""  # noqa: E501 - a table


@pytest.mark.parametrize("line", REPORTS.strip().splitlines(), ids=lambda line: line.split("|")[0].strip())
def test_what_others_reported_as_wrong_is_right(line: str) -> None:
    _, expression, zone, start, runs = line.split("|")
    expected = [datetime.fromisoformat(run) for run in runs.split()]

    found = chain(expression.rstrip(), zone.strip(), datetime.fromisoformat(start.strip()), len(expected))

    assert found == expected


def test_a_job_of_every_minute_runs_each_real_minute_of_an_autumn_night() -> None:
    runs = chain("* * * * *", "Europe/Berlin", datetime(2026, 10, 24, 23, 30, tzinfo=UTC), 180)

    assert {later - earlier for earlier, later in pairwise(runs)} == {timedelta(minutes=1)}


def test_the_latest_run_keeps_its_wall_time_over_a_change() -> None:
    weekly = CronExpression("10 3 * * 0", ZoneInfo("Europe/Prague"))

    assert weekly.latest_until(datetime.fromisoformat("2025-10-26T03:09+01:00")) == datetime.fromisoformat(
        "2025-10-19T03:10+02:00"
    )


@pytest.mark.parametrize(
    "instant",
    ["2026-11-01T01:10:00.000001-05:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:00:00-05:00"],
)
def test_a_start_within_the_repeated_hour_goes_forward(instant: str) -> None:
    start = datetime.fromisoformat(instant).astimezone(ZoneInfo("America/New_York"))

    assert chain("30 1 * * *", "America/New_York", start, 1) == [datetime(2026, 11, 2, 6, 30, tzinfo=UTC)]


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        CronTask("t", handler, "* * * * *").next_after(datetime(2026, 1, 1))  # noqa: DTZ001 - the point
