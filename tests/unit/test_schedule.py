from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest

from treadle import Every, EveryScope, Payload
from treadle.domain.schedule import is_due
from treadle.domain.status import FINISHED, TRANSITIONS, Status, Verb

NOW = datetime(2026, 10, 18, 12, tzinfo=UTC)
FOUR_HOURS = timedelta(hours=4)


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
