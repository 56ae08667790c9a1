"""When a periodic task is due: a pure function of an instant and of where its grid begins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.task_scheduler import PeriodicTask

# Three years of uptime, in seconds; an interval that floats tell apart there.
uptimes = st.floats(0, 1e8)
intervals = st.floats(1e-3, 1e15)


def task(interval: float) -> PeriodicTask:
    return PeriodicTask("task", print, interval)


@given(uptimes, intervals)
def test_the_grid_begins_one_interval_after_its_anchor(anchor: float, interval: float) -> None:
    assert task(interval).next_after(anchor, anchor=anchor) == anchor + interval


@given(uptimes, intervals, st.floats(0, 1e8))
def test_the_next_point_is_the_first_of_the_grid_after_the_instant(
    anchor: float, interval: float, later: float
) -> None:
    instant = anchor + later
    point = task(interval).next_after(instant, anchor=anchor)

    # In exact numbers, which the grid's own floats follow but for the rounding of a point.
    rounding = Fraction(math.ulp(point))
    periods = round((Fraction(point) - Fraction(anchor)) / Fraction(interval))
    assert point > instant
    assert periods >= 1
    assert abs(Fraction(anchor) + periods * Fraction(interval) - Fraction(point)) <= rounding
    assert (
        periods == 1 or Fraction(anchor) + (periods - 1) * Fraction(interval) <= Fraction(instant) + rounding
    )


@given(uptimes, intervals, st.integers(1, 10**6))
def test_what_follows_a_point_of_the_grid_is_the_next_point_and_not_its_neighbour_float(
    anchor: float, interval: float, periods: int
) -> None:
    point = anchor + periods * interval
    following = task(interval).next_after(point, anchor=anchor)
    assert following == pytest.approx(anchor + (periods + 1) * interval, rel=1e-15, abs=interval * 1e-3)


@pytest.mark.parametrize(("anchor", "interval"), [(1e15, 1e-6), (1e300, 1.0), (0.0, 1e-6)])
def test_a_grid_finer_than_floats_still_moves_on(anchor: float, interval: float) -> None:
    point = task(interval).next_after(anchor, anchor=anchor)
    assert point > anchor
    assert task(interval).next_after(point, anchor=anchor) > point


@pytest.mark.parametrize(
    "interval",
    [0, -1, math.nan, math.inf, -math.inf, True, "5", None, 1e-320, 1e16, 10**20, 5j, b"5"],
    ids=repr,
)
def test_an_interval_that_is_no_positive_number_is_refused(interval: Any) -> None:
    with pytest.raises(ValueError, match="task 'sweep': interval_seconds must be a positive number"):
        PeriodicTask("sweep", print, interval)


@pytest.mark.parametrize("name", ["", None, 5, b"sweep"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="name must be a text"):
        PeriodicTask(name, print, 5)


async def work() -> None: ...


class Work:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize("handler", [None, "work", work, Work()])
def test_a_handler_that_cannot_be_called_plainly_is_refused(handler: Any) -> None:
    with pytest.raises(ValueError, match="task 'sweep': the handler"):
        PeriodicTask("sweep", handler, 5)
