"""The health endpoint: what it tells, and that it always answers."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
import psycopg

from anichron.api.health import ANSWER_SECONDS
from anichron.api.process import create_app
from treadle.domain.item import Claimant, NewItem
from treadle.postgres import PostgresStore

PATH = "/api/v1/healthz"


@asynccontextmanager
async def api(dsn: str) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(dsn)
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api")
    async with app.router.lifespan_context(app), client:
        yield client


async def test_the_health_counts_the_queue_and_names_live_workers(anichron_dsn: str) -> None:
    claimant = Claimant(
        claimed_by="all@here#1", kinds=frozenset({"crawl"}), scopes=None, lease=timedelta(minutes=1)
    )
    async with PostgresStore(anichron_dsn) as store:
        for _ in range(3):
            await store.queue.enqueue(NewItem(kind="crawl", payload="{}"))
        lease = await store.leases.claim(claimant)
        assert lease is not None
        await store.presence.appear(claimant, [lease.item_id])
    async with await psycopg.AsyncConnection.connect(anichron_dsn) as connection:
        await connection.execute(
            "insert into treadle.workers (claimed_by, kinds, running, seen_at)"
            " values ('all@here#dead', '{}', '{}', clock_timestamp() - interval '1 minute')"
        )
    async with api(anichron_dsn) as client:
        answer = await client.get(PATH)
    assert answer.status_code == 200
    health = answer.json()
    assert (health["status"], health["database"]) == ("ok", True)
    assert health["queue"] == {"queued": 2, "running": 1, "succeeded": 0, "failed": 0, "cancelled": 0}
    assert [(worker["claimed_by"], worker["running"]) for worker in health["workers"]] == [("all@here#1", 1)]


async def test_a_database_that_refuses_is_a_503() -> None:
    async with api("postgresql://nobody:hidden@127.0.0.1:1/nothing") as client:
        answer = await client.get(PATH, timeout=30)
    assert answer.status_code == 503
    assert answer.json() == {"status": "unavailable", "database": False, "queue": {}, "workers": []}
    assert "hidden" not in answer.text


async def test_a_database_that_never_answers_is_a_503_within_the_bound() -> None:
    # The system completes connections to it, which nobody ever accepts.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with api(f"postgresql://nobody@127.0.0.1:{port}/nothing") as client:
            async with asyncio.timeout(ANSWER_SECONDS + 5):
                answer = await client.get(PATH, timeout=60)
    assert answer.status_code == 503


async def test_the_health_comes_back_with_the_database(anichron_dsn: str) -> None:
    async with api(anichron_dsn) as client:
        assert (await client.get(PATH)).status_code == 200
        async with await psycopg.AsyncConnection.connect(anichron_dsn, autocommit=True) as connection:
            await connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        async with asyncio.timeout(20):
            while (await client.get(PATH)).status_code != 200:
                pass  # each answer takes its own time
