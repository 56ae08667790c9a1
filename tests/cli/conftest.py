"""A queue with an item in each state, and the command run in this process."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from treadle.cli.app import app
from treadle.cli.exits import run
from treadle.domain.item import Claimant, Lease, NewItem, Progress
from treadle.domain.outcome import Cancelled, Failed, Succeeded
from treadle.postgres import PostgresStore


@pytest.fixture
def treadle(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., CompletedProcess[str]]:
    """The `treadle` command, on the test's own database and 80 columns."""
    monkeypatch.setenv("DATABASE_URL", dsn)
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: object) -> CompletedProcess[str]:
        words = [str(argument) for argument in arguments]
        code = run(app, "treadle", words)
        captured = capsys.readouterr()
        return CompletedProcess(words, code, captured.out, captured.err)

    return command


@pytest.fixture
def items(dsn: str) -> dict[str, UUID]:
    """The ids of an item in each status, asked for in this order: succeeded, failed, cancelled, running, queued."""
    return asyncio.run(_fill(dsn))


async def _fill(dsn: str) -> dict[str, UUID]:
    claimant = Claimant(
        claimed_by="all@somewhere#1",
        kinds=frozenset({"crawl", "work-item-retention"}),
        scopes=None,
        lease=timedelta(hours=1),
    )
    async with PostgresStore(dsn) as store:

        async def started(kind: str) -> Lease:
            await store.queue.enqueue(NewItem(kind=kind, payload="{}", requested_by="somebody"))
            lease = await store.leases.claim(claimant)
            assert lease is not None
            return lease

        succeeded = await started("work-item-retention")
        await store.leases.finish(succeeded, Succeeded({"deleted": 17}), Progress(done=17))
        failed = await started("crawl")
        await store.leases.finish(failed, Failed("NotMounted: not mounted here"), Progress())
        cancelled = await started("crawl")
        await store.leases.finish(cancelled, Cancelled({"found": 5}), Progress())
        running = await started("crawl")
        progress = Progress(done=3, note="found 7, failed 0")
        await store.leases.heartbeat(running, progress, timedelta(hours=1))
        queued = await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
    return {
        "succeeded": succeeded.item_id,
        "failed": failed.item_id,
        "cancelled": cancelled.item_id,
        "running": running.item_id,
        "queued": queued.id,
    }
