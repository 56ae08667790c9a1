"""An application that is not Anichron mounts API and view in a few lines, and runs as a real process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.admin.host import API
from tests.admin.served import EXAMPLE, SIGNED_IN, Served, serving, streaming

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
