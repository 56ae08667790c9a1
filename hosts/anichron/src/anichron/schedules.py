"""How often each periodic kind is due."""

from __future__ import annotations

from datetime import timedelta

from anichron.kinds import Crawl, TokenCleanup, WorkItemRetention
from anichron.settings import WorkerSection
from treadle.domain.schedule import Every, EveryScope, Schedule


def schedules(settings: WorkerSection) -> list[Schedule]:
    """Every kind of Anichron is periodic; crawls are due for each storage config on its own."""
    return [
        Every(TokenCleanup(), timedelta(hours=settings.token_cleanup_interval_hours)),
        Every(WorkItemRetention(), timedelta(hours=settings.retention_interval_hours)),
        EveryScope(
            Crawl,
            lambda config_id: Crawl(config_id=config_id),
            timedelta(hours=settings.crawl_interval_hours),
        ),
    ]
