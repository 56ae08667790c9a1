"""What admins read touches a bounded number of rows, whatever is asked for and however many there are."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import psycopg
import pytest

from tests.plans.explain import Mode, explain
from treadle.postgres.inspector import COUNTED, WALK
from treadle.postgres.live import ITEMS, RESULT_BYTES, Cursor
from treadle.postgres.statements import statement

NONE: Final[dict[str, object]] = {
    "statuses": None,
    "kinds": None,
    "scope_id": None,
    "walk": WALK,
    "limit": 50,
}
FIRST: Final[dict[str, object]] = {**NONE, "below_at": None, "below_id": None}
DEEP: Final[dict[str, object]] = {**NONE, "below_at": "2020-01-01", "below_id": UUID(int=500_000)}
NOTHING: Final = {"kinds": ["unknown"]}

# In pages of 8 kB. A page holds about thirty rows, and an index page some hundreds of entries; a row that the
# planner reads by an index costs at most one page more, so a walk of 5,000 rows may cost 5,000 at the worst.
FEW: Final = 160
WALKED: Final = WALK + 400
SMALL: Final = 50_000
"""Up to so many rows it may cost less to read the whole table."""
CASES: Final[dict[str, tuple[str, dict[str, object], int]]] = {
    "first page": ("page", FIRST, FEW),
    "deep page": ("page", DEEP, FEW),
    "succeeded": ("page", {**FIRST, "statuses": ["succeeded"]}, WALKED),
    "two statuses": ("page", {**FIRST, "statuses": ["failed", "cancelled"]}, WALKED),
    "a kind that there is not": ("page", {**FIRST, **NOTHING}, WALKED),
    "a kind that there is not, deep": ("page", {**DEEP, **NOTHING}, WALKED),
    "a scope that there is not": ("page", {**FIRST, "scope_id": UUID(int=1)}, WALKED),
    "queued": ("page_queued", FIRST, FEW),
    "queued, deep": ("page_queued", {**DEEP, "below_at": "2000-01-05"}, FEW),
    "queued, a kind that there is not": ("page_queued", {**FIRST, **NOTHING}, WALKED),
    "running": ("page_running", FIRST, 1100),
    "failed": ("page_unsuccessful", {**FIRST, "status": "failed"}, FEW),
    "cancelled, a kind that there is not": ("page_unsuccessful", {**FIRST, **NOTHING, "status": "cancelled"}, WALKED),
    "tally": ("tally", {"cap": COUNTED}, 4 * COUNTED),
    "ahead": (
        "ahead",
        {"id": UUID(int=2**128 - 1), "requested_at": "infinity", "kinds": ["p"], "scopes": None, "walk": WALK},
        WALKED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
@pytest.mark.parametrize("case", CASES)
def test_a_read_is_bounded(state: tuple[str, str], case: str, mode: Mode) -> None:
    _, dsn = state
    name, values, buffers = CASES[case]
    with psycopg.connect(dsn, autocommit=True) as connection:
        small = _rows(connection) <= SMALL
        plan = explain(connection, name, mode, **values)
    if not small:
        assert not plan.scanned & {"work_items"}, plan.text
    assert plan.buffers <= (max(buffers, WALKED) if small else buffers), plan.text


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_a_look_for_changes_is_bounded(state: tuple[str, str], mode: Mode) -> None:
    _, dsn = state
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = _cursor(connection)
        connection.execute(
            "update treadle.work_items set stalls = 0, changed_xid = pg_current_xact_id()"
            " where id in (select id from treadle.work_items limit 20)"
        )
        values = {"epoch": cursor.epoch, "snapshot": cursor.snapshot, "limit": ITEMS, "bytes": RESULT_BYTES}
        running = connection.execute(
            "select count(*) from treadle.work_items where status = 'running'"
        ).fetchone()
        assert running is not None
        empty = _rows(connection) == 0
        plan = explain(connection, "changes", mode, **values)
    assert empty or not plan.scanned & {"work_items"}, plan.text
    assert plan.buffers <= FEW + running[0], plan.text


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_a_look_after_very_many_changes_is_bounded(state: tuple[str, str], mode: Mode) -> None:
    _, dsn = state
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = _cursor(connection)
        values = {"epoch": cursor.epoch, "snapshot": "3:3:", "limit": ITEMS, "bytes": RESULT_BYTES}
        small = _rows(connection) <= SMALL
        plan = explain(connection, "changes", mode, **values)
    if not small:
        assert not plan.scanned & {"work_items"}, plan.text
    assert plan.buffers <= 2 * ITEMS + 1200, plan.text


def _cursor(connection: psycopg.Connection[Any]) -> Cursor:
    row = connection.execute(statement("cursor"), {"now": None}).fetchone()
    assert row is not None
    return Cursor(epoch=row[1], snapshot=row[0], at=row[2])


def _rows(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("select count(*) from treadle.work_items").fetchone()
    assert row is not None
    return int(row[0])
