"""An application that is not Anichron mounts API and view in a few lines, and runs as a real process."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import LiteralString
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from tests.admin.host import API
from tests.admin.served import EXAMPLE, SIGNED_IN, Served, serving, streaming

# Ten items whose results, half a megabyte each, are more than a connection takes that nobody reads from.
LARGE: LiteralString = """
insert into treadle.work_items (kind, status, attempt, claimed_by, started_at, finished_at, result)
select 'greet', 'succeeded', 1, 'w', clock_timestamp(), clock_timestamp(),
       (select jsonb_agg(md5(n::text || m)) from generate_series(1, 14000) m)
from generate_series(1, 10) n returning id
"""

pytestmark = pytest.mark.process


@pytest.fixture
def served(dsn: str, tmp_path: Path) -> Iterator[Served]:
    with serving(dsn, tmp_path / "log") as served:
        yield served


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=served.url, headers=SIGNED_IN, timeout=30) as client:
        yield client


def test_it_is_small() -> None:
    assert len((EXAMPLE / "app.py").read_text("utf-8").splitlines()) < 60


async def test_its_own_sign_in_guards_the_api(client: httpx.AsyncClient) -> None:
    assert (await client.get(API)).status_code == 200
    for headers, status in (({"Authorization": ""}, 401), ({"Authorization": "Bearer guess"}, 403)):
        for path in (API, f"{API}/events"):
            answer = await client.get(path, headers=headers)
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"


async def test_the_view_is_served_with_its_policy(client: httpx.AsyncClient) -> None:
    answer = await client.get("/admin/", headers={"Authorization": ""})
    assert answer.status_code == 200
    assert "<title>Greetings" in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


async def test_work_is_asked_for_followed_and_cancelled(client: httpx.AsyncClient) -> None:
    cursor = (await client.get(API)).json()["cursor"]
    resume = cursor
    async with streaming(client, f"{API}/events", since=cursor) as events:
        item_id = (await client.post("/greetings", params={"name": "Ada"})).json()
        async for event in events:
            if event.name == "item":
                assert (event.data["id"], event.data["status"]) == (item_id, "queued")
            if event.id is not None and event.id != cursor:
                resume = event.id
                break
    assert (await client.post(f"{API}/{item_id}/cancel")).json()["cancellation"] == "cancelled"
    async with streaming(client, f"{API}/events", last_event_id=resume, since=cursor) as events:
        first = await anext(event async for event in events if event.name == "item")
        assert (first.data["id"], first.data["status"]) == (item_id, "cancelled")
    assert (await client.post(f"{API}/{item_id}/cancel")).status_code == 409


async def test_a_reader_that_stops_reading_holds_up_nobody(
    served: Served, client: httpx.AsyncClient, dsn: str
) -> None:
    address = urlsplit(served.url)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((address.hostname, address.port))
        authorization = f"Authorization: {SIGNED_IN['Authorization']}"
        deaf.sendall(f"GET {API}/events HTTP/1.1\r\nHost: host\r\n{authorization}\r\n\r\n".encode())
        assert deaf.recv(1)
        async with streaming(client, f"{API}/events") as events:
            assert (await anext(events)).name == "tick"
            with psycopg.connect(dsn, autocommit=True) as database:
                large = database.execute(LARGE).fetchall()
            seen: set[str] = set()
            async for event in events:
                seen |= {event.data["id"]} if event.name == "item" else set()
                if len(seen) == len(large):
                    break
        assert seen == {str(id_) for (id_,) in large}
        assert (await client.get(f"{API}/counts")).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_at_once_though_streams_are_open(
    served: Served, client: httpx.AsyncClient, number: signal.Signals
) -> None:
    async with streaming(client, f"{API}/events") as one, streaming(client, f"{API}/events") as other:
        assert (await anext(one)).name == (await anext(other)).name == "tick"
        served.process.send_signal(number)
        for events in (one, other):
            rest = [event async for event in events]
            assert [(event.name, event.data, event.id) for event in rest][-1:] == [
                ("end", {"reason": "shutdown"}, None)
            ]
    async with asyncio.timeout(10):
        await asyncio.to_thread(served.process.wait)
