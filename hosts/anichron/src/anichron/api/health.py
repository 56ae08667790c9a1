"""Whether the system works, for people and for whatever restarts containers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol

from fastapi import APIRouter, Response
from psycopg.rows import class_row
from pydantic import BaseModel, Field

from anichron.database import Database, statement
from treadle import Status, WorkerSettings
from treadle.errors import TreadleError

ANSWER_SECONDS: Final = 3.0
"""The health is told within this time, whatever the database does."""


class LiveWorker(BaseModel):
    """A Worker that has been seen lately."""

    claimed_by: str
    running: int
    """How many items it runs."""
    seen_at: datetime


class Health(BaseModel):
    """The answer of the health endpoint."""

    status: Literal["ok", "unavailable"]
    database: bool
    """Whether the database answers."""
    queue: Mapping[Status, int] = Field(default_factory=dict)
    """How many work items are in each status."""
    workers: Sequence[LiveWorker] = ()


class Counts(Protocol):
    """What the health endpoint needs of the queue."""

    async def counts(self) -> Mapping[Status, int]: ...


class Workers(Protocol):
    """What the health endpoint needs of the workers."""

    async def live(self) -> Sequence[LiveWorker]: ...


class LiveWorkers:
    """Workers that have given a sign of life within three of its intervals, by the database's clock."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def live(self) -> Sequence[LiveWorker]:
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(LiveWorker))
            seconds = 3 * WorkerSettings().presence_interval
            await cursor.execute(statement("anichron.api.sql", "live_workers"), {"seconds": seconds})
            return await cursor.fetchall()


async def health_of(queue: Counts, workers: Workers, *, seconds: float = ANSWER_SECONDS) -> Health:
    """The system's health; a database that does not answer within *seconds* is away."""
    try:
        async with asyncio.timeout(seconds):
            return Health(
                status="ok", database=True, queue=await queue.counts(), workers=await workers.live()
            )
    except (TreadleError, TimeoutError):
        return Health(status="unavailable", database=False)


def health_router(queue: Counts, workers: Workers) -> APIRouter:
    """``GET /healthz``: 200 when all is well, 503 when the database is away."""
    router = APIRouter()

    @router.get("/healthz", responses={503: {"model": Health}})
    async def healthz(response: Response) -> Health:
        health = await health_of(queue, workers)
        response.status_code = 200 if health.database else 503
        response.headers["Cache-Control"] = "no-store"
        return health

    return router
