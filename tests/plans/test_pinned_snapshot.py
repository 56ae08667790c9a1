"""While an old snapshot keeps dead rows, a claim with its lower bound touches no more pages than without one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from statistics import median
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.plans.explain import explain
from tests.plans.test_indexes import CLAIMANT, END, HEAD, PROGRESS
from treadle.postgres.statements import statement

ITEMS: Final = 20_000
CHUNK: Final = 500
"""Items that are carried out in one transaction, to have the test done soon."""

Row = dict[str, Any]
Connection = psycopg.Connection[Row]


@pytest.fixture
def busy(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("alter table treadle.work_items set (autovacuum_enabled = off)")
        connection.execute("set plan_cache_mode = force_generic_plan")
        connection.execute(
            "insert into treadle.work_items (kind) select 'p' from generate_series(1, %s)", [ITEMS + 100]
        )
        connection.execute("vacuum analyze treadle.work_items")
        yield connection


def carry_out(connection: Connection, count: int) -> tuple[datetime, UUID]:
    """Claim and finish *count* items as one busy worker does, in order; where the last one stood."""
    bound: dict[str, object] = {"after_at": HEAD["after_at"], "after_id": HEAD["after_id"]}
    text = statement("finish_and_claim")
    row = connection.execute(statement("claim"), {"now": None, **CLAIMANT, **HEAD}).fetchone()
    for _ in range(count // CHUNK):
        with connection.transaction():
            for _ in range(CHUNK):
                assert row is not None
                bound = {"after_at": row["requested_at"], "after_id": row["id"]}
                held = {"id": row["id"], "attempt": row["attempt"], "stalls": 0}
                values = {"now": None, **held, **PROGRESS, **END, **CLAIMANT, **bound, "window": 256}
                row = connection.execute(text, values, prepare=True).fetchone()
    assert row is not None
    return row["requested_at"], row["id"]


def pages(dsn: str, **bound: object) -> float:
    with psycopg.connect(dsn, autocommit=True) as connection:
        values = {**CLAIMANT, **HEAD, **bound}
        return median(explain(connection, "claim", "force_generic_plan", **values).buffers for _ in range(5))


@pytest.mark.timeout(300)
def test_a_pinned_snapshot_costs_a_bounded_claim_nothing_and_an_unbounded_one_much(
    dsn: str, busy: Connection
) -> None:
    with psycopg.connect(dsn) as pin:
        pin.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        pin.execute("select count(*) from treadle.work_items")
        at, item = carry_out(busy, ITEMS)
        busy.execute("vacuum analyze treadle.work_items")
        pinned = pages(dsn, after_at=at, after_id=item)
        unbounded = pages(dsn)
        pin.rollback()
    busy.execute("vacuum analyze treadle.work_items")
    free = pages(dsn, after_at=at, after_id=item)
    assert unbounded > 3 * free, f"{unbounded} and {free}: the dead rows were no burden, so nothing is shown"
    assert pinned <= 1.3 * free, f"{pinned} pages with a pinned snapshot and {free} without"
