"""What is no cron expression, or no zone, is refused when the task is made, in words that help."""

from typing import Any

import pytest

from tests.task_scheduler.cron.rows import REJECT, RejectRow
from treadle.task_scheduler import CronTask


def handler() -> None:
    """Do nothing: these tasks are never made."""


def refusal(cron: Any, zone: Any = "UTC") -> str:
    with pytest.raises(ValueError) as refused:
        CronTask("nightly report", handler, cron, zone)
    return str(refused.value)


@pytest.mark.parametrize("row", REJECT, ids=lambda row: f"{row.expression} ({row.reason})")
def test_a_row_is_refused_by_the_names_of_task_and_expression(row: RejectRow) -> None:
    message = refusal(row.expression)

    assert "'nightly report'" in message
    assert repr(row.expression) in message
    assert len(message) > len(f"task 'nightly report': cron expression {row.expression!r}: ")


REASONS = [
    ("0 0 12 * * *", "6 fields", "five"),
    ("0 0 1 1 * 2026", "6 fields", "years"),
    ("CRON_TZ=UTC 0 0 * * *", "fields", "timezone="),
    ("TZ=UTC 0 0 * * *", "fields", "timezone="),
    ("", "0 fields", "minute, hour, day of month, month and day of week"),
    ("0 0 31 2 *", "never fires", "no such day"),
    ("0 0 31 4,6,9,11 *", "never fires", "no such day"),
    ("30-10 * * * *", "minute", "backwards"),
    ("0 0 * * fri-sun", "day of week", "backwards; write 5-7"),
    ("0 22-2 * * *", "hour", "backwards; write 22-23,0-2"),
    ("0 0 * * 5-1", "day of week", "backwards; write 5-6,0-1"),
    ("0 0 * nov-feb *", "month", "backwards; write 11-12,1-2"),
    ("*/-5 * * * *", "minute '*/-5'", "makes no sense"),
    ("** * * * *", "minute", "makes no sense"),
    ("0 0 * foo *", "month", "'foo' is unknown; names are jan, feb"),
    ("jan * * * *", "minute", "'jan' is unknown; it takes numbers"),
    ("0 0 * * Monday", "day of week", "names such as mon"),
    ("0 9 13 * 5,*", "day of week", "stand alone, not in a list"),
    ("*,5 * * * *", "minute", "stand alone, not in a list"),
    ("* 24 * * *", "hour", "24 is not within 0 to 23"),
    ("* * 0 * *", "day of month", "0 is not within 1 to 31"),
    ("*/0 * * * *", "minute", "a step is 1 or more"),
    ("R R * * *", "minute 'R'", "H and R are not read"),
    ("H 0 * * *", "minute 'H'", "H and R are not read"),
    ("0 0 ? * MON", "day of month '?'", "H and R are not read"),
    ("0 0 L * *", "day of month 'L'", "H and R are not read"),
    ("0 0 15W * *", "day of month '15W'", "H and R are not read"),
    ("0 0 * * 5#2", "day of week '5#2'", "H and R are not read"),
    ("\u0665 * * * *", "minute '\u0665'", "numbers"),
    ("0 0 * *\n*", "4 fields", "five"),
    ("@reboot", "unknown alias", "what is to be done at the start, call there"),
    ("@often", "unknown alias", "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"),
    (None, "None", "no text"),
    (b"* * * * *", "b'", "no text"),
    (5, "expression 5", "no text"),
]


@pytest.mark.parametrize(("cron", "where", "why"), REASONS, ids=[repr(cron) for cron, *_ in REASONS])
def test_a_refusal_says_what_is_wrong_and_where(cron: object, where: str, why: str) -> None:
    message = refusal(cron)

    assert "'nightly report'" in message
    assert repr(cron) in message
    assert where in message
    assert why in message


@pytest.mark.parametrize("zone", ["Europe/Belrin", "", "../etc", "Europe", "/etc/localtime", None, 5, b"UTC"])
def test_an_unknown_zone_is_refused_by_the_names_of_task_and_zone(zone: object) -> None:
    message = refusal("0 6 * * *", zone)

    assert "'nightly report'" in message
    assert f"{zone!r} is no time zone" in message
    assert "IANA" in message
