import dataclasses
import math
from datetime import timedelta

import pytest

from treadle.errors import SettingsError
from treadle.worker import WorkerSettings

DURATIONS = [field.name for field in dataclasses.fields(WorkerSettings) if field.type == "float"]
COUNTS = [field.name for field in dataclasses.fields(WorkerSettings) if field.type == "int"]


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = WorkerSettings()
    assert (settings.heartbeat, settings.lease, settings.stall_limit) == (2, 60, 3)
    assert (settings.poll, settings.concurrency, settings.shutdown_grace) == (2, 1, 8)


@pytest.mark.parametrize("name", DURATIONS)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf, True, "2", None, 1e12])
def test_a_duration_that_makes_no_sense_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be a number of seconds above 0"):
        WorkerSettings(**{name: value})  # type: ignore[arg-type]  # what the checker refuses is the point


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", None, 10**9])
def test_a_count_that_makes_no_sense_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"^{name} must be a whole number from 1 to"):
        WorkerSettings(**{name: value})  # type: ignore[arg-type]  # what the checker refuses is the point


def test_a_heartbeat_that_does_not_fit_its_lease_three_times_is_refused() -> None:
    with pytest.raises(
        SettingsError, match=r"heartbeat must fit into the lease .* can be 2 s at most, is 2.5 s"
    ):
        WorkerSettings(heartbeat=2.5, lease=6)
    assert WorkerSettings(heartbeat=2, lease=6).extension == timedelta(seconds=6)


def test_fractions_are_taken() -> None:
    assert WorkerSettings(heartbeat=0.05, lease=0.5).extension == timedelta(milliseconds=500)
