"""Whether the system works, for people and for whatever restarts containers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from treadle.domain.status import Status
from treadle.errors import TreadleError
from treadle.ports.inspect import Inspect, Tally, WorkerInfo

ANSWER_SECONDS: Final = 3.0
"""The health is told within this time, whatever the database does."""


SIGN_OF_LIFE_SECONDS: Final = 15.0
"""A worker gives a sign of life every 5 s; one that missed three is not counted as live."""


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
    """How many work items are in each status; large numbers are estimates."""
    workers: Sequence[LiveWorker] = ()


async def health_of(inspector: Inspect, *, seconds: float = ANSWER_SECONDS) -> Health:
    """The system's health; a database that does not answer within *seconds* is away."""
    try:
        async with asyncio.timeout(seconds):
            tally = await inspector.tally()
            workers = await inspector.workers()
    except (TreadleError, TimeoutError):
        return Health(status="unavailable", database=False)
    return Health(
        status="ok", database=True, queue=_counts(tally), workers=[_live(worker) for worker in workers]
    )


def _counts(tally: Tally) -> dict[Status, int]:
    return {status: count.count for status, count in tally.counts.items()}


def _live(worker: WorkerInfo) -> LiveWorker:
    return LiveWorker(claimed_by=worker.claimed_by, running=len(worker.running), seen_at=worker.seen_at)


def health_router(inspector: Inspect) -> APIRouter:
    """``GET /healthz``: 200 when all is well, 503 when the database is away."""
    router = APIRouter()

    @router.get("/healthz", responses={503: {"model": Health}})
    async def healthz(response: Response) -> Health:
        health = await health_of(inspector)
        response.status_code = 200 if health.database else 503
        response.headers["Cache-Control"] = "no-store"
        return health

    return router
