"""Everything at once on one queue; when the dust has settled, nothing is lost, doubled or wedged.

TREADLE_CHAOS_SECONDS and TREADLE_CHAOS_SEED make it longer, or other; `make chaos` sets them.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.chaos.actors import CAST, clear_up
from tests.chaos.world import INTERVAL, ONE_SHOT, STALL_LIMIT, World
from treadle.domain.status import FINISHED, TRANSITIONS, Status

SECONDS: Final = float(os.environ.get("TREADLE_CHAOS_SECONDS") or 8)
SEED: Final = int(os.environ.get("TREADLE_CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))

Row = dict[str, Any]


@pytest.mark.timeout(SECONDS + 120)
async def test_nothing_is_lost_doubled_or_wedged_when_everything_happens_at_once(
    dsn: str, record_property: Callable[[str, object], None]
) -> None:
    world = World(dsn, random.Random(SEED))
    world.prepare()
    actors = [
        asyncio.create_task(kind(world, f"{kind.__name__.lower()} {n}").run()) for n, kind in enumerate(CAST)
    ]
    await asyncio.sleep(SECONDS)
    world.over = True
    await asyncio.gather(*actors)
    await clear_up(world)
    summary = ", ".join(f"{what} {number}" for what, number in sorted(world.counted.items()))
    print(f"seed {SEED}, {SECONDS:g} s: {summary}")  # shown with -s, and when it fails
    record_property("chaos", summary)
    assert world.faults == []
    happened(world)
    rows = history(dsn)
    every_item_moves_as_it_may_and_ends_once(rows)
    no_item_stalls_beyond_the_limit(rows)
    nothing_is_scheduled_before_its_interval(rows)
    every_run_sees_what_it_was_asked_to_see(world, rows)


def history(dsn: str) -> list[Row]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return connection.execute("select * from public.history order by place").fetchall()


def by_item(rows: Iterable[Row]) -> dict[UUID, list[Row]]:
    items: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in rows:
        items[row["item_id"]].append(row)
    return items


def happened(world: World) -> None:
    """The run proves something only if all of this came to pass."""
    for what in ("queued", "coalesced", "finished", "vanished", "scheduled", "purged", "scope replaced"):
        assert world.counted[what], f"nothing was {what}: the run was too short, {world.counted}"
    assert any(what.startswith("recovered") for what in world.counted)
    assert any(what.startswith("released") for what in world.counted)


def every_item_moves_as_it_may_and_ends_once(rows: list[Row]) -> None:
    allowed = {(move.source, move.target) for move in TRANSITIONS}
    for item_id, life in by_item(rows).items():
        statuses = [None, *(Status(row["status"]) for row in life)]
        moves = list(pairwise(statuses))
        assert not (wrong := [move for move in moves if move not in allowed]), (item_id, wrong)
        attempts = [row["attempt"] for row in life]
        assert attempts == sorted(attempts)
        starts = [row["attempt"] for row in life if row["status"] == Status.RUNNING]
        assert starts == list(range(1, len(starts) + 1)), item_id
        ended = Status(life[-1]["status"]) in FINISHED
        assert ended or life[-1]["scope_id"] is not None, f"{item_id} neither ended nor went with its scope"


def no_item_stalls_beyond_the_limit(rows: list[Row]) -> None:
    assert max(row["stalls"] for row in rows) <= STALL_LIMIT
    for row in rows:
        if row["stalls"] >= STALL_LIMIT:
            assert row["status"] in {Status.FAILED, Status.CANCELLED}, row


def nothing_is_scheduled_before_its_interval(rows: list[Row]) -> None:
    keys: defaultdict[str, list[list[Row]]] = defaultdict(list)
    for life in by_item(rows).values():
        if life[0]["kind"] != ONE_SHOT:
            keys[life[0]["dedup_key"]].append(life)
    assert keys
    for key, lives in keys.items():
        lives.sort(key=lambda life: life[0]["requested_at"])
        for before, after in pairwise(lives):
            ended = before[-1]["finished_at"]
            assert ended is not None, f"{key}: two were active at once"
            assert after[0]["requested_at"] - ended >= INTERVAL, f"{key}: {after[0]} came too early"


def every_run_sees_what_it_was_asked_to_see(world: World, rows: list[Row]) -> None:
    ends = {item_id: life[-1] for item_id, life in by_item(rows).items()}
    seen = 0
    for asked in world.asked:
        end = ends[asked.item_id]
        while end["superseded_by"] is not None:
            end = ends[end["superseded_by"]]
        if end["status"] == Status.SUCCEEDED:
            assert end["result"]["seen"] >= asked.version, f"{asked} was not seen: {end}"
            seen += 1
        else:
            assert end["cancel_requested_at"] is not None or end["stalls"] >= STALL_LIMIT, (
                f"{asked} was lost: {end}"
            )
    assert seen
