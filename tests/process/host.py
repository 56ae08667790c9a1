"""A worker process of the fault tests: ``python -m tests.process.host OPTIONS``, the options as JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from tests.process.effects import Effects
from tests.process.handlers import Leaving, all_handlers
from tests.process.kinds import PAYLOADS, Kind, Pulse, Visit
from treadle import Cron, Every, EveryScope, Payload, Registry, Run, Schedule, Worker, WorkerSettings
from treadle.errors import TreadleError
from treadle.postgres import PostgresStore

HEALTH_PERIOD: Final = 0.1


class Options(BaseModel):
    """Durations are seconds."""

    name: str
    dsn: str
    effects_dsn: str
    health: Path
    """File that the worker's health is written to all the time."""
    heartbeat: float = 0.5
    lease: float = 3.0
    poll: float = 0.2
    grace: float = 1.0
    concurrency: int = 1
    strays_after: float = 2.0
    scopes: list[UUID] | None = None
    every: float | None = None
    """Interval of the periodic kinds; without one nothing is periodic."""
    cron: str | None = None
    """Expression by which the pulse is scheduled as well."""
    old: bool = False
    """Be of an older version of the host that knows the quick kind only."""


class OldKind(StrEnum):
    QUICK = Kind.QUICK


class OldQuick(Payload, kind=OldKind.QUICK):
    pass


class OldQuickHandler(Leaving[OldQuick]):
    async def run(self, payload: OldQuick, run: Run) -> None:
        self._effects.leave(run, "end")


def registry(options: Options, effects: Effects) -> Registry:
    if options.old:
        return Registry(OldKind, payloads=[OldQuick], handlers=[OldQuickHandler(effects)])
    schedules: list[Schedule] = []
    if options.every is not None:
        interval = timedelta(seconds=options.every)
        schedules = [
            Every(Pulse(), interval),
            EveryScope(Visit, lambda scope: Visit(place=scope), interval),
        ]
    if options.cron is not None:
        schedules.append(Cron(Pulse(), options.cron))
    return Registry(Kind, payloads=PAYLOADS, handlers=all_handlers(effects), schedules=schedules)


async def work(options: Options) -> None:
    worker = Worker(
        # As hosts should: a statement must be over well before the lease is.
        PostgresStore(options.dsn, statement_seconds=options.lease / 3),
        registry(options, Effects(options.effects_dsn)),
        claimed_by=options.name,
        serves=None if options.scopes is None else frozenset(options.scopes),
        settings=WorkerSettings(
            heartbeat=options.heartbeat,
            lease=options.lease,
            poll=options.poll,
            concurrency=options.concurrency,
            shutdown_grace=options.grace,
            schedule_interval=options.poll,
            recovery_interval=options.poll,
            presence_interval=options.poll,
            strays_after=options.strays_after,
            backoff_cap=0.5,
        ),
    )
    reporting = asyncio.create_task(report(worker, options.health))
    await worker.run()
    reporting.cancel()


async def report(worker: Worker, path: Path) -> None:
    fresh = path.with_suffix(".new")
    while True:
        fresh.write_text(json.dumps(worker.health().as_json()))
        fresh.rename(path)
        await asyncio.sleep(HEALTH_PERIOD)


def main() -> int:
    options = Options.model_validate_json(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        asyncio.run(work(options))
    except TreadleError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
