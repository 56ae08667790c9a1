"""Claim, heartbeat, finish, release and recover, on PostgreSQL."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import psycopg
from psycopg.errors import UniqueViolation
from psycopg.rows import DictRow
from pydantic import JsonValue

from treadle.domain.encoding import ERROR_LIMIT, NOTE_LIMIT, json_text, storable_text
from treadle.domain.item import Claimant, Lease, Progress
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.status import Status
from treadle.ports.lease import Beat, Finished, LastWill, Released
from treadle.postgres.bound import Bound
from treadle.postgres.database import Database
from treadle.postgres.pool import Busy
from treadle.postgres.statements import statement
from treadle.postgres.written_will import WrittenWill

logger = logging.getLogger("treadle.postgres")

WINDOW: Final = 256
"""Rows at the head of the queue that a claim looks at before it goes scope by scope."""
HEADS: Final = 8
"""Rows of each scope that are looked at then."""
BATCH: Final = 500
LOCK_SECONDS: Final = 0.3
MERGE_TRIES: Final = 4


class PostgresLeases:
    """The ``Leases`` port. Heartbeats have connections of their own: nothing may make them wait."""

    def __init__(self, database: Database, beats: Database, conninfo: str) -> None:
        self._database = database
        self._beats = beats
        self._conninfo = conninfo
        self._bound = Bound()

    async def claim(self, claimant: Claimant) -> Lease | None:
        row = await self._database.only_row(
            "claim", **_claimant(claimant), **self._bound.lower(), window=WINDOW
        )
        return await self._claimed(row, claimant)

    async def finish(
        self, lease: Lease, outcome: Outcome, progress: Progress, claimant: Claimant | None = None
    ) -> Finished:
        values = {**_held(lease), **_progress(progress), **_ending(outcome)}
        if claimant is None:
            return Finished(await self._database.row("finish", **values, claimed_by=None) is not None)
        row = await self._database.only_row(
            "finish_and_claim", **values, **_claimant(claimant), **self._bound.lower(), window=WINDOW
        )
        if not row["accepted"]:
            return Finished(accepted=False)
        return Finished(accepted=True, next=await self._claimed(row, claimant))

    async def _claimed(self, row: DictRow, claimant: Claimant) -> Lease | None:
        if row["id"] is None and self._bound.drop():
            # What came back to the queue or was committed late lies below the bound.
            row = (
                await self._database.only_row(
                    "claim", **_claimant(claimant), **self._bound.lower(), window=WINDOW
                )
                or row
            )
        if row["id"] is None and row["seen"] == WINDOW:
            row = await self._claim_far(claimant)
        if row["id"] is None:
            return None
        lease = _lease(row)
        self._bound.raise_to(lease.requested_at, lease.item_id)
        return lease

    async def _claim_far(self, claimant: Claimant) -> DictRow:
        """The whole window is others' work, or held: look further, scope by scope."""
        row = await self._database.only_row("claim_far", **_claimant(claimant), heads=HEADS)
        if row["id"] is None and row["seen"]:
            # All of these are held by somebody at this moment; there may be free ones behind them.
            row = await self._database.only_row("claim_far", **_claimant(claimant), heads=WINDOW)
        return row

    async def heartbeat(self, lease: Lease, progress: Progress, extend: timedelta) -> Beat | None:
        row = await self._beats.row(
            "heartbeat", **_held(lease), **_progress(progress), lease=extend.total_seconds(), claimed_by=None
        )
        return Beat(cancel_requested=row["cancel_requested"]) if row else None

    async def outcome_of(self, lease: Lease) -> Status | None:
        row = await self._database.row("outcome_of", id=lease.item_id, attempt=lease.attempt)
        return Status(row["status"]) if row else None

    async def release(self, lease: Lease, progress: Progress) -> Released | None:
        return await self._give_back("release", {**_held(lease), **_progress(progress), "claimed_by": None})

    async def recover(self, *, stall_limit: int) -> Sequence[Released]:
        released = await self._recover_unkeyed(stall_limit)
        after: tuple[datetime | str, UUID] = ("-infinity", UUID(int=0))
        while rows := await self._database.rows(
            "find_expired", after_at=after[0], after_id=after[1], limit=BATCH
        ):
            released += await self._recover_singly(rows, stall_limit)
            after = (rows[-1]["started_at"], rows[-1]["id"])
        return released

    async def _recover_unkeyed(self, stall_limit: int) -> list[Released]:
        released: list[Released] = []
        try:
            while rows := await self._database.rows("recover_unkeyed", stall_limit=stall_limit, limit=BATCH):
                released += map(_released, rows)
        except (Busy, psycopg.Error) as error:
            # Whatever row it was, the sweep goes on one by one.
            logger.warning("recovering a batch failed, going on singly: %s", error)
        return released

    async def _recover_singly(self, rows: Sequence[DictRow], stall_limit: int) -> list[Released]:
        released = []
        held: set[str] = set()
        for row in rows:
            key = row["dedup_key"]
            if key in held:
                continue  # Waiting for it once per sweep is enough.
            values = {**_identity(row), "dedup_key": key, "stall_limit": stall_limit}
            try:
                back = await self._give_back("recover", values)
            except Busy:
                if key is not None:
                    held.add(key)
                continue
            except psycopg.Error as error:
                logger.warning("item %s cannot be taken back, left to the next sweep: %s", row["id"], error)
                continue
            if back is not None:
                released.append(back)
        return released

    async def release_strays(
        self, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        rows = await self._database.rows(
            "find_strays", claimed_by=claimed_by, held=list(held), older_than=older_than.total_seconds()
        )
        released = []
        for row in rows:
            values = {
                **_identity(row),
                **_progress(Progress()),
                "dedup_key": row["dedup_key"],
                "claimed_by": claimed_by,
            }
            if back := await self._give_back("release", values):
                released.append(back)
        return released

    async def _give_back(self, verb: str, values: dict[str, object]) -> Released | None:
        """Return an item to the queue in a short transaction of its own, or merge it into its queued twin."""
        expired = verb == "recover"
        twin = {"expired": expired, "stall": int(expired)}
        for _ in range(MERGE_TRIES):
            try:
                row = await self._in_short_transaction(verb, values)
            except UniqueViolation:
                row = await self._in_short_transaction(
                    "merge_into_twin", {**_progress(Progress()), **values, **twin}
                )
                if row is None:
                    continue  # The twin was claimed or cancelled meanwhile: the way back may be free now.
            return _released(row) if row else None
        raise Busy(f"item {values['id']} met a queued twin that kept changing")

    async def _in_short_transaction(self, name: str, values: dict[str, object]) -> DictRow | None:
        async with self._database.connection(lock_seconds=LOCK_SECONDS) as connection:
            cursor = await connection.execute(statement(name), {"now": self._database.now, **values})
            return await cursor.fetchone()

    def last_will(self, leases: Sequence[Lease]) -> LastWill:
        return WrittenWill(self._conninfo, leases).will()


def _claimant(claimant: Claimant) -> dict[str, object]:
    return {
        "claimed_by": claimant.claimed_by,
        "kinds": list(claimant.kinds),
        "scopes": None if claimant.scopes is None else list(claimant.scopes),
        "lease": claimant.lease.total_seconds(),
    }


def _held(lease: Lease) -> dict[str, object]:
    return {
        "id": lease.item_id,
        "attempt": lease.attempt,
        "stalls": lease.stalls,
        "dedup_key": lease.dedup_key,
    }


def _identity(row: DictRow) -> dict[str, object]:
    return {"id": row["id"], "attempt": row["attempt"], "stalls": row["stalls"]}


def _progress(progress: Progress) -> dict[str, object]:
    note = None if progress.note is None else storable_text(progress.note, NOTE_LIMIT)
    return {"done": progress.done, "total": progress.total, "note": note}


def _ending(outcome: Outcome) -> dict[str, object]:
    match outcome:
        case Succeeded(result):
            return {"status": Status.SUCCEEDED, "result": _result(result), "error": None}
        case Cancelled(partial):
            return {"status": Status.CANCELLED, "result": _result(partial), "error": None}
        case Failed(error):
            return {"status": Status.FAILED, "result": None, "error": storable_text(error, ERROR_LIMIT)}


def _result(value: JsonValue) -> str | None:
    return None if value is None else json_text(value)


def _lease(row: DictRow) -> Lease:
    return Lease(
        item_id=row["id"],
        attempt=row["attempt"],
        kind=row["kind"],
        payload=row["payload"],
        scope_id=row["scope_id"],
        dedup_key=row["dedup_key"],
        requested_by=row["requested_by"],
        requested_at=row["requested_at"],
        stalls=row["stalls"],
        slot=row["slot"],
    )


def _released(row: DictRow) -> Released:
    return Released(row["id"], row["kind"], Status(row["status"]), row["superseded_by"])
