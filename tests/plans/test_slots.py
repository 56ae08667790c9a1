"""A look at the slots of two hundred keys reads each key by its index, whatever the planner believes."""

from __future__ import annotations

from typing import Final

import psycopg
import pytest

from tests.plans.explain import Mode, explain

INDEXES: Final = {"work_items_pkey", "work_items_key", "work_items_cron"}
# Of each kind of key the slot that is asked for, and the pages that the look may touch.
CASES: Final = {
    "slotted": ("2020-01-01", 900),  # has its item: what every poll finds
    "queued": ("2024-01-01", 1900),  # due, while another request waits
    "new": ("2024-01-01", 1900),  # seen for the first time
}


@pytest.mark.timeout(300)  # a million rows have to be there first
def test_each_key_is_read_by_its_index_and_few_pages_are_touched(state: tuple[str, str]) -> None:
    name, dsn = state
    modes: list[Mode] = ["force_custom_plan", "force_generic_plan"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        for mode in modes:
            for key, (slot, buffers) in CASES.items():
                plan = explain(connection, "schedule_slots", mode, **asked(key, slot))
                if name == "empty":  # there is nothing to read, and each of them is due
                    continue
                assert "work_items" not in plan.scanned, plan.text
                assert {index for index in plan.indexes if index.startswith("work_items")} <= INDEXES, (
                    plan.text
                )
                assert plan.buffers <= buffers, plan.text


def asked(key: str, slot: str) -> dict[str, object]:
    return {
        "kinds": ["p"] * 200,
        "payloads": ["{}"] * 200,
        "scope_ids": [None] * 200,
        "dedup_keys": [f"{key}{number}" for number in range(200)],
        "slots": [slot] * 200,
    }
