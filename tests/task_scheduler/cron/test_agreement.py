"""`CronTask` against the simulated daemon: the same runs, from any start, for any expression."""

import os
from datetime import UTC, timedelta
from itertools import islice

import pytest
from hypothesis import given, note, settings

from tests.task_scheduler.cron.cases import ZONES, Case, cases
from tests.task_scheduler.cron.oracle import HORIZON, Rule, last_until, runs_after
from treadle.task_scheduler import CronExpression, CronTask

LONG = int(os.environ.get("TREADLE_CRON_EXAMPLES", "0"))
"""So many random cases, other ones each time; by default a few hundred, always the same."""
searched = settings(max_examples=LONG or 300, derandomize=not LONG, deadline=None, database=None)


def nothing() -> None:
    """The handler of tasks that never run."""


def refused_because_it_never_fires(case: Case, rule: Rule) -> bool:
    if rule.fires():
        return False
    with pytest.raises(ValueError, match="never"):
        CronTask("never", nothing, case.expression, case.zone)
    return True


@searched
@given(cases())
def test_the_next_runs_are_those_that_cron_would_start(case: Case) -> None:
    rule, zone = Rule.parse(case.expression), ZONES[case.zone]
    if refused_because_it_never_fires(case, rule):
        return
    task = CronTask("job", nothing, case.expression, case.zone)

    instant, expected = case.start, list(islice(runs_after(rule, zone, case.start), 3))
    for run in expected:
        found = task.next_after(instant)
        note(f"after {instant}: {found.astimezone(zone)}, and cron: {run.astimezone(zone)}")
        assert found == run
        assert found.tzinfo is UTC
        instant = found
    if not expected:
        assert task.next_after(instant) > instant + HORIZON


@searched
@given(cases())
def test_the_latest_run_is_the_newest_that_cron_has_started(case: Case) -> None:
    rule, zone = Rule.parse(case.expression), ZONES[case.zone]
    if refused_because_it_never_fires(case, rule):
        return
    expression = CronExpression(case.expression, zone)

    expected = last_until(rule, zone, case.start)
    found = expression.latest_until(case.start)

    if expected is None:
        assert found is None or found < case.start - HORIZON
    else:
        assert found == expected
        following = expression.next_after(expected)
        assert expression.latest_until(following - timedelta(microseconds=1)) == expected
        assert expression.latest_until(following) == following
        assert expression.latest_until(expected) == expected
