"""Hot statements use the index they are meant to, whatever the planner believes about the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import psycopg
import pytest

from tests.plans.explain import Mode, Plan, explain

PKEY: Final = "work_items_pkey"
NOBODY: Final = UUID("00000000-0000-7000-8000-000000000001")
OWN: Final = [UUID(f"0a000000-0000-4000-8000-{number:012}") for number in range(200)]
EMPTY_SCOPES: Final = [UUID(f"0e000000-0000-4000-8000-{number:012}") for number in range(200)]
HELD: Final[dict[str, object]] = {
    "id": NOBODY,
    "attempt": 1,
    "stalls": 0,
    "dedup_key": "running7",
    "claimed_by": "w",
}
PROGRESS: Final[dict[str, object]] = {"done": 1, "total": 2, "note": "n"}
END: Final[dict[str, object]] = {"status": "succeeded", "result": "{}", "error": None}
CLAIMANT: Final[dict[str, object]] = {"claimed_by": "w", "kinds": ["p"], "scopes": None, "lease": 60.0}
HEAD: Final[dict[str, object]] = {"after_at": "-infinity", "after_id": UUID(int=0), "window": 256}
NEW: Final[dict[str, object]] = {
    "kind": "p", "payload": "{}", "scope_id": None, "dedup_key": "queued7", "requested_by": None,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A statement, the indexes of work_items that it may read, and the pages it may touch."""

    name: str
    values: dict[str, object]
    indexes: set[str]
    buffers: int
    running: bool = False
    """Whether its ``id`` is to be that of a running item."""


CASES = {
    "heartbeat": Case("heartbeat", {**HELD, **PROGRESS, "lease": 60.0}, {PKEY}, 70, running=True),
    "heartbeat, fenced": Case("heartbeat", {**HELD, **PROGRESS, "lease": 60.0}, {PKEY}, 12),
    "finish": Case("finish", {**HELD, **PROGRESS, **END}, {PKEY}, 70, running=True),
    "release": Case("release", {**HELD, **PROGRESS}, {PKEY}, 80, running=True),
    "recover": Case("recover", {**HELD, "stall_limit": 3}, {PKEY}, 20, running=True),
    "merge": Case(
        "merge_into_twin", {**HELD, **PROGRESS, "expired": False, "stall": 0, "dedup_key": "queued7"},
        {PKEY, "work_items_key"}, 120, running=True,
    ),
    "hold the twin": Case("hold_twin", NEW, set(), 20),
    "status": Case("status_of", HELD, {PKEY}, 8),
    "outcome": Case("outcome_of", HELD, {PKEY}, 8),
    "item": Case("item", HELD, {PKEY}, 8),
    "enqueue": Case("enqueue", NEW, set(), 60),
    "claim": Case("claim", {**CLAIMANT, **HEAD}, {"work_items_claim", PKEY}, 120),
    "claim, own scopes": Case("claim", {**CLAIMANT, **HEAD, "scopes": OWN[:3]}, {"work_items_claim", PKEY}, 320),
    "claim, unknown kind": Case("claim", {**CLAIMANT, **HEAD, "kinds": ["x"]}, {"work_items_claim", PKEY}, 320),
    "finish and claim": Case(
        "finish_and_claim", {**HELD, **PROGRESS, **END, **CLAIMANT, **HEAD}, {PKEY, "work_items_claim"}, 180,
        running=True,
    ),
    "far, own scopes": Case(
        "claim_far", {**CLAIMANT, "scopes": OWN, "heads": 8},
        {PKEY, "work_items_scope", "work_items_unscoped"}, 3500,
    ),
    "far, empty scopes": Case(
        "claim_far", {**CLAIMANT, "scopes": EMPTY_SCOPES, "heads": 8},
        {PKEY, "work_items_scope", "work_items_unscoped"}, 1100,
    ),
    "far, no scope": Case(
        "claim_far", {**CLAIMANT, "scopes": [], "heads": 8},
        {PKEY, "work_items_scope", "work_items_unscoped"}, 120,
    ),
    "far, every scope": Case("claim_far", {**CLAIMANT, "heads": 8}, {PKEY, "work_items_claim"}, 120),
    "expired": Case(
        "find_expired", {"after_at": "-infinity", "after_id": UUID(int=0), "limit": 500}, {"work_items_running"}, 150
    ),
    "expired, unkeyed": Case(
        "recover_unkeyed", {"stall_limit": 3, "limit": 500}, {"work_items_running", PKEY}, 200
    ),
    "strays": Case(
        "find_strays", {"claimed_by": "nobody", "held": [], "older_than": 5.0}, {"work_items_running"}, 150
    ),
    "schedule": Case(
        "schedule",
        {
            "kinds": ["p"] * 200, "payloads": ["{}"] * 200, "scope_ids": [None] * 200,
            "dedup_keys": [f"queued{number}" for number in range(1, 201)], "intervals": [3600.0] * 200,
        },
        {"work_items_key"}, 1600,
    ),
    "purge, nothing old": Case(
        "purge", {"older_than": 1e9, "periodic_kinds": ["p"], "limit": 500},
        {PKEY, "work_items_finished", "work_items_key", "work_items_cron"}, 30,
    ),
    "list": Case(
        "items", {"statuses": None, "kinds": None, "scope_id": None, "before": None, "limit": 50}, {PKEY}, 70
    ),
}  # fmt: skip


@pytest.mark.timeout(300)  # a million rows have to be there first
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_hot_statements_use_their_index_and_touch_a_bounded_number_of_pages(
    state: tuple[str, str], mode: Mode
) -> None:
    name, dsn = state
    faults = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        for title, case in CASES.items():
            plan = _carry_out(connection, case, mode)
            if faulty := _faults(case, plan, small=name == "empty"):
                faults.append(f"{title}: {faulty}\n{plan.text}")
    assert not faults, f"{name}, {mode}\n" + "\n".join(faults)


def _carry_out(connection: psycopg.Connection[tuple[object, ...]], case: Case, mode: Mode) -> Plan:
    values = dict(case.values)
    if case.running:
        row = connection.execute("select id from treadle.work_items where dedup_key = 'running7'").fetchone()
        values["id"] = row[0] if row else NOBODY
    return explain(connection, case.name, mode, **values)


def _faults(case: Case, plan: Plan, *, small: bool) -> str:
    faults = []
    if "work_items" in plan.scanned and not (small and case.name == "purge"):
        faults.append("reads the whole table")
    own = {index for index in plan.indexes if index.startswith("work_items")}
    if others := own - case.indexes:
        faults.append(f"reads {sorted(others)}")
    if plan.buffers > case.buffers and not small:
        faults.append(f"touches {plan.buffers} pages, not {case.buffers}")
    if plan.sorts > 2000:
        faults.append(f"sorts {plan.sorts} rows")
    return "; ".join(faults)
