"""Carries out the crawl of one storage config."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol
from uuid import UUID

from anichron.crawl.summary import CrawlSummary
from anichron.identity.configs import StorageConfig
from anichron.kinds import Crawl
from treadle import Handler, Partial, Run


class ConfigLeft(Exception):
    """The storage config was deleted or made inactive after its crawl was queued."""

    def __init__(self, config_id: UUID) -> None:
        super().__init__(f"storage config {config_id} is gone or inactive; nothing was crawled")


class Configs(Protocol):
    """What the handler needs of the storage configs."""

    async def find(self, config_id: UUID) -> StorageConfig | None: ...


class CrawlFolder(Protocol):
    """The crawl itself: see ``anichron.crawl.crawl.crawl``, whose other arguments are bound."""

    def __call__(
        self, config_id: UUID, root: Path, *, report: Callable[[CrawlSummary], None]
    ) -> Awaitable[CrawlSummary]: ...


class CrawlHandler(Handler[Crawl]):
    """Crawls the config's own folder; progress and result are counts, never names of files."""

    def __init__(self, configs: Configs, crawl: CrawlFolder) -> None:
        self._configs = configs
        self._crawl = crawl

    async def run(self, payload: Crawl, run: Run) -> CrawlSummary | Partial[CrawlSummary]:
        config = await self._configs.find(payload.config_id)
        if config is None or not config.is_active:
            raise ConfigLeft(payload.config_id)
        so_far = CrawlSummary()

        def report(summary: CrawlSummary) -> None:
            nonlocal so_far
            so_far = summary
            run.progress(done=summary.done, total=summary.total, note=summary.note)

        try:
            return await self._crawl(config.id, Path(config.root_path), report=report)
        except asyncio.CancelledError:
            return run.partial(so_far)
