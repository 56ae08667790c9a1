"""The crawl's handler on a substituted crawl: whose folder, what is reported, and what a cancel keeps."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from anichron.crawl.handler import ConfigLeft, CrawlHandler
from anichron.crawl.summary import CrawlSummary
from anichron.identity.configs import StorageConfig
from anichron.kinds import Crawl
from treadle import Partial, Run

CONFIG = StorageConfig(id=UUID(int=1), user_id=UUID(int=2), root_path="/photos/ada", is_active=True)


class Configs:
    """One storage config, or none."""

    def __init__(self, config: StorageConfig | None) -> None:
        self.config = config

    async def find(self, config_id: UUID) -> StorageConfig | None:
        return self.config if self.config and self.config.id == config_id else None


class Folder:
    """A folder of so many photos, as its crawl sees it."""

    def __init__(self, photos: int) -> None:
        self.photos = photos
        self.library = 0
        self.crawled: list[tuple[UUID, Path]] = []
        self.stuck = asyncio.Event()

    async def crawl(
        self, config_id: UUID, root: Path, *, report: Callable[[CrawlSummary], None]
    ) -> CrawlSummary:
        self.crawled.append((config_id, root))
        report(CrawlSummary(found=self.photos, imported=1, failed=1))
        unchanged, self.library = self.library, self.photos
        summary = CrawlSummary(
            found=self.photos, imported=self.photos - unchanged, unchanged=unchanged, complete=True
        )
        report(summary)
        return summary

    async def crawl_for_ever(
        self, config_id: UUID, root: Path, *, report: Callable[[CrawlSummary], None]
    ) -> CrawlSummary:
        report(CrawlSummary(found=self.photos, imported=1, failed=1))
        self.stuck.set()
        await asyncio.Event().wait()
        raise AssertionError


def run() -> Run:
    return Run(UUID(int=9), 1, CONFIG.id)


async def test_the_config_s_own_root_is_crawled_and_its_counts_reported() -> None:
    folder, under_way = Folder(7), run()
    summary = await CrawlHandler(Configs(CONFIG), folder.crawl).run(Crawl(config_id=CONFIG.id), under_way)
    assert folder.crawled == [(CONFIG.id, Path("/photos/ada"))]
    assert summary == CrawlSummary(found=7, imported=7, complete=True)
    assert (under_way.latest.done, under_way.latest.total) == (7, 7)
    assert under_way.latest.note == "found 7, failed 0"


async def test_the_total_is_unknown_until_the_walk_has_ended() -> None:
    folder, under_way = Folder(7), run()
    handler = CrawlHandler(Configs(CONFIG), folder.crawl_for_ever)
    task = asyncio.create_task(handler.run(Crawl(config_id=CONFIG.id), under_way))
    await folder.stuck.wait()
    assert (under_way.latest.done, under_way.latest.total) == (2, None)
    task.cancel()
    assert await task == Partial(CrawlSummary(found=7, imported=1, failed=1))


async def test_a_second_run_converges() -> None:
    folder = Folder(7)
    handler = CrawlHandler(Configs(CONFIG), folder.crawl)
    await handler.run(Crawl(config_id=CONFIG.id), run())
    assert await handler.run(Crawl(config_id=CONFIG.id), run()) == CrawlSummary(
        found=7, unchanged=7, complete=True
    )


@pytest.mark.parametrize(
    "config",
    [None, StorageConfig(id=CONFIG.id, user_id=CONFIG.user_id, root_path="/photos/ada", is_active=False)],
    ids=["gone", "inactive"],
)
async def test_a_config_that_is_gone_or_inactive_is_not_crawled(config: StorageConfig | None) -> None:
    folder = Folder(7)
    with pytest.raises(ConfigLeft, match=str(CONFIG.id)):
        await CrawlHandler(Configs(config), folder.crawl).run(Crawl(config_id=CONFIG.id), run())
    assert folder.crawled == []
