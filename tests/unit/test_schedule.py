import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

import pytest

from treadle import Cron, CronScope, Every, EveryScope, Payload
from treadle.domain.schedule import Occasion, is_due, is_slot_due
from treadle.domain.status import FINISHED, TRANSITIONS, Status, Verb
from treadle.task_scheduler import CronExpression

NOW = datetime(2026, 10, 18, 12, tzinfo=UTC)
FOUR_HOURS = timedelta(hours=4)


THREE = datetime(2026, 10, 18, 3, tzinfo=UTC)


class Kind(StrEnum):
    SWEEP = "sweep"


class Sweep(Payload, kind=Kind.SWEEP):
    pass


@pytest.mark.parametrize(
    ("active", "last_finished", "due"),
    [
        (False, None, True),
        (True, None, False),
        (True, NOW - timedelta(days=9), False),
        (False, NOW - timedelta(hours=3, minutes=59, seconds=59), False),
        (False, NOW - FOUR_HOURS, True),
        (False, NOW - timedelta(days=9), True),
        (False, NOW + timedelta(hours=1), False),
    ],
)
def test_work_is_due_when_nothing_is_active_and_the_last_finish_is_old(
    active: bool, last_finished: datetime | None, due: bool
) -> None:
    assert is_due(active=active, last_finished=last_finished, interval=FOUR_HOURS, now=NOW) is due


@pytest.mark.parametrize("interval", [timedelta(0), timedelta(seconds=-1)])
def test_an_interval_that_is_not_positive_is_refused(interval: timedelta) -> None:
    with pytest.raises(ValueError, match="interval must be positive"):
        Every(Sweep(), interval)
    with pytest.raises(ValueError, match="interval must be positive"):
        EveryScope(Sweep, lambda _: Sweep(), interval)


@pytest.mark.parametrize(
    ("slot", "first_seen", "newest", "due"),
    [
        (THREE, THREE - FOUR_HOURS, None, True),
        (THREE, None, None, False),
        (None, THREE, None, False),
        (THREE, THREE, None, False),
        (THREE, THREE - FOUR_HOURS, THREE - timedelta(days=1), True),
        (THREE, THREE - FOUR_HOURS, THREE, False),
        (THREE, THREE - FOUR_HOURS, THREE + FOUR_HOURS, False),
    ],
)
def test_a_slot_is_due_when_it_came_after_the_first_sight_and_is_newer_than_those_that_ran(
    slot: datetime | None, first_seen: datetime | None, newest: datetime | None, due: bool
) -> None:
    assert is_slot_due(slot, first_seen=first_seen, newest=newest) is due


def test_cron_schedules_have_one_occasion_or_one_for_each_scope() -> None:
    scopes = [UUID(int=1), UUID(int=2)]
    once = Cron(Sweep(), "0 3 * * *", timezone="Europe/Berlin")
    (occasion,) = once.occasions(scopes)
    assert occasion == Occasion(Sweep(), None, CronExpression("0 3 * * *", "Europe/Berlin"))
    each = CronScope(Sweep, lambda _: Sweep(), "@daily")
    assert each.payload_type is once.payload_type is Sweep
    assert [*each.occasions(scopes)] == [
        Occasion(Sweep(), scope, CronExpression("@daily")) for scope in scopes
    ]


@pytest.mark.parametrize(
    ("expression", "timezone", "fault"),
    [
        ("0 3 * *", "UTC", "4 fields"),
        ("0 24 * * *", "UTC", "24"),
        ("0 0 31 2 *", "UTC", "never"),
        ("0 3 * * *", "Europe/Atlantis", "Europe/Atlantis"),
    ],
)
def test_a_cron_schedule_that_makes_no_sense_is_refused_by_kind_and_expression(
    expression: str, timezone: str, fault: str
) -> None:
    told = rf"^kind 'sweep', cron expression '{re.escape(expression)}'.*{fault}"
    with pytest.raises(ValueError, match=told):
        Cron(Sweep(), expression, timezone=timezone)
    with pytest.raises(ValueError, match=told) as raised:
        CronScope(Sweep, lambda _: Sweep(), expression, timezone=timezone)
    assert str(raised.value).count(expression) == 1


def test_nothing_leaves_a_finished_status_and_every_other_status_can_be_left() -> None:
    assert frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}) == FINISHED
    for status in Status:
        leaves = any(move.source is status for move in TRANSITIONS)
        assert leaves != status.finished


def test_only_the_moves_of_the_specification_exist() -> None:
    reached = {verb: {move.target for move in TRANSITIONS if move.verb is verb} for verb in Verb}
    assert reached[Verb.ENQUEUE] == {Status.QUEUED}
    assert reached[Verb.CLAIM] == {Status.RUNNING}
    assert reached[Verb.FINISH] == FINISHED
    assert reached[Verb.RELEASE] == {Status.QUEUED, Status.CANCELLED}
    assert reached[Verb.RECOVER] == {Status.QUEUED, Status.CANCELLED, Status.FAILED}
    sources = {verb: {move.source for move in TRANSITIONS if move.verb is verb} for verb in Verb}
    assert sources[Verb.CLAIM] == {Status.QUEUED}
    assert sources[Verb.CANCEL] == {Status.QUEUED, Status.RUNNING}
    for verb in (Verb.HEARTBEAT, Verb.FINISH, Verb.RELEASE, Verb.RECOVER):
        assert sources[verb] == {Status.RUNNING}
