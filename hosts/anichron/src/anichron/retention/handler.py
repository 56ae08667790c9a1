"""Carries out the retention of finished work items."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import timedelta
from typing import Final

from pydantic import BaseModel

from anichron.kinds import WorkItemRetention
from treadle import Handler, Partial, Run
from treadle.ports.retention import Retention

BATCH: Final = 1_000


class RetentionSummary(BaseModel):
    """How many finished work items were removed."""

    deleted: int


class WorkItemRetentionHandler(Handler[WorkItemRetention]):
    """Removes work items finished longer than *keep* ago, in batches; *periodic_kinds* keep their newest."""

    def __init__(self, retention: Retention, *, keep: timedelta, periodic_kinds: Collection[str]) -> None:
        self._retention = retention
        self._keep = keep
        self._periodic_kinds = periodic_kinds

    async def run(
        self,
        payload: WorkItemRetention,
        run: Run,
    ) -> RetentionSummary | Partial[RetentionSummary]:
        deleted = 0
        try:
            while batch := await self._retention.purge(
                older_than=self._keep, periodic_kinds=self._periodic_kinds, limit=BATCH
            ):
                deleted += batch
                run.progress(done=deleted, note=f"{deleted} finished items removed")
        except asyncio.CancelledError:
            return run.partial(RetentionSummary(deleted=deleted))
        return RetentionSummary(deleted=deleted)
