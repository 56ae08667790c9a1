"""A Worker whose connections the network has lost without a word, while new ones work."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from anichron.up.sample import make_sample
from hosts.anichron.tests.process.faults.crawling import CONFIG, add_config, await_crawl, settings, until
from hosts.anichron.tests.process.program import Program
from tests.process.proxy import Proxy

Start = Callable[..., Program]

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]

LEASE = 6
STATEMENT = LEASE / 3
"""Seconds that the Worker gives a statement; what was lost is cut off one second later."""
LATER = UUID("00000000-0000-7000-8000-00000000000b")


def test_an_idle_worker_goes_on_following_the_storage_configs_after_a_silent_loss(
    anichron: Start, anichron_dsn: str, tmp_path: Path
) -> None:
    add_config(anichron_dsn, make_sample(tmp_path / "first", count=1), config=CONFIG, user="ada")
    second = make_sample(tmp_path / "second", count=1)
    with Proxy(anichron_dsn) as network:
        worker = anichron(
            "worker", **settings(network.dsn, tmp_path / "proxies", WORKER__LEASE_SECONDS=LEASE)
        )
        await_crawl(anichron_dsn, "finished_at is not null")
        network.strand()
        add_config(anichron_dsn, second, config=LATER, user="bob")
        worker.line_with("serves failed", seconds=STATEMENT + 3)
        crawled = "select 1 from treadle.work_items where scope_id = %s and status = 'succeeded'"
        until(anichron_dsn, crawled, LATER, seconds=10)
        worker.line_with("serves works again", seconds=5)
        assert worker.stop() == 0
