"""The work-item API over HTTP, on a store in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi.routing import APIRoute
from pydantic import JsonValue

from tests.admin.host import ADMIN, API, EXPIRED, SOMEBODY, application
from tests.admin.sse import Parser
from treadle.admin import admin_router
from treadle.domain.item import Claimant, Lease, NewItem, Progress
from treadle.domain.outcome import Cancelled, Failed, Succeeded
from treadle.errors import StoreUnavailable
from treadle.memory import MemoryStore
from treadle.testing import FixedClock

MINUTE = timedelta(minutes=1)
SCOPE = UUID(int=7)
ITEM_FIELDS = {
    *("id", "kind", "scope_id", "requested_by", "requested_at", "status", "attempt", "stalls", "claimed_by"),
    *("started_at", "lease_until", "finished_at", "updated_at", "cancel_requested_at", "progress_done"),
    *("progress_total", "progress_note", "result", "partial", "error", "superseded_by", "slot"),
}


def worker(
    name: str = "one@test", *, kinds: str = "alpha", scopes: frozenset[UUID] | None = None
) -> Claimant:
    return Claimant(claimed_by=name, kinds=frozenset(kinds.split()), scopes=scopes, lease=MINUTE)


async def put(store: MemoryStore, kind: str = "alpha", **more: Any) -> UUID:
    return (await store.queue.enqueue(NewItem(kind=kind, payload="{}", **more))).id


async def take(store: MemoryStore) -> Lease:
    lease = await store.leases.claim(worker())
    assert lease is not None
    return lease


def is_problem(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem.keys() <= {"type", "title", "status", "detail", "errors", "item_status"}
    assert (problem["type"], problem["status"]) == ("about:blank", status)
    assert problem["title"]
    assert problem["detail"]
    return problem


def every_route() -> Iterator[tuple[str, str]]:
    router = admin_router(MemoryStore(), require_admin=lambda: None)
    for route in router.routes:
        assert isinstance(route, APIRoute)
        for method in route.methods or ():
            yield method, route.path.replace("{item_id}", str(UUID(int=1)))


@pytest.mark.parametrize(("method", "path"), list(every_route()))
async def test_a_route_is_for_admins_only(client: httpx.AsyncClient, method: str, path: str) -> None:
    client.headers.pop("Authorization")
    unknown = await client.request(method, path)
    assert is_problem(unknown, 401)["detail"] == "Sign in first."
    assert unknown.headers["www-authenticate"] == "Bearer"
    is_problem(await client.request(method, path, headers=SOMEBODY), 403)


@pytest.mark.parametrize("path", ["", "/counts", "/workers", "/events"])
async def test_a_method_that_there_is_not_is_a_problem(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.delete(API + path)
    is_problem(answer, 405)
    assert "GET" in answer.headers["allow"]


async def test_the_list_shows_items_without_their_payloads_and_keys(
    client: httpx.AsyncClient, memory: MemoryStore
) -> None:
    queued = NewItem(
        kind="alpha", payload='{"secret": 1}', scope_id=SCOPE, dedup_key="key", requested_by="ada"
    )
    item_id = (await memory.queue.enqueue(queued)).id
    answer = await client.get(API)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    page = answer.json()
    assert page.keys() == {"items", "next", "searched_to", "cursor"}
    (item,) = page["items"]
    assert item.keys() == ITEM_FIELDS
    assert (item["id"], item["kind"], item["status"]) == (str(item_id), "alpha", "queued")
    assert (item["scope_id"], item["requested_by"], item["partial"]) == (str(SCOPE), "ada", False)
    assert item["requested_at"] == "2026-01-01T00:00:00Z"


async def test_the_list_is_filtered(client: httpx.AsyncClient, memory: MemoryStore) -> None:
    alpha, beta, gamma = [await put(memory, kind) for kind in ("alpha", "beta", "gamma")]
    scoped = await put(memory, "beta", scope_id=SCOPE)
    await memory.cancels.cancel(gamma)

    async def found(query: str) -> set[str]:
        return {item["id"] for item in (await client.get(f"{API}?{query}")).json()["items"]}

    assert await found("") == {str(alpha), str(beta), str(gamma), str(scoped)}
    assert await found("status=cancelled") == {str(gamma)}
    assert await found("status=queued&status=cancelled&kind=alpha&kind=gamma") == {str(alpha), str(gamma)}
    assert await found(f"scope_id={SCOPE}") == {str(scoped)}
    assert await found("kind=nobody%20knows") == set()


async def test_pages_follow_each_other_by_an_opaque_place(
    client: httpx.AsyncClient, memory: MemoryStore
) -> None:
    made = {str(await put(memory)) for _ in range(5)}
    seen: list[str] = []
    place: str | None = None
    for _ in range(3):
        page = (await client.get(API, params={"limit": 2} | ({"after": place} if place else {}))).json()
        seen += [item["id"] for item in page["items"]]
        place = page["next"]
    assert place is None
    assert seen == sorted(made, reverse=True)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("limit=0", "query.limit"),
        ("limit=201", "query.limit"),
        ("limit=many", "query.limit"),
        ("status=done", "query.status.0"),
        ("scope_id=7", "query.scope_id"),
        ("kind=", "query.kind.0"),
        ("kind=a%00b", "query.kind.0"),
    ],
)
async def test_a_query_that_makes_no_sense_is_refused_by_its_name(
    client: httpx.AsyncClient, query: str, where: str
) -> None:
    problem = is_problem(await client.get(f"{API}?{query}"), 422)
    assert [fault["where"] for fault in problem["errors"]] == [where]


@pytest.mark.parametrize("place", ["", "x", "AAAA", "é", "A" * 31, "A" * 33, "A" * 31 + "+"])
async def test_a_text_that_is_no_place_is_refused(client: httpx.AsyncClient, place: str) -> None:
    problem = is_problem(await client.get(API, params={"after": place}), 422)
    assert problem["errors"][0]["where"] == "query.after"


@pytest.mark.parametrize("place", ["A" * 32, "-" * 32, "_" * 32, "f" * 32])
async def test_a_place_that_no_page_named_is_only_a_place(client: httpx.AsyncClient, place: str) -> None:
    assert (await client.get(API, params={"after": place, "status": "queued"})).status_code == 200


async def test_numbers_that_a_browser_would_change_are_strings(
    client: httpx.AsyncClient, memory: MemoryStore
) -> None:
    item_id = await put(memory)
    edge = 2**53
    result: JsonValue = {
        "big": edge,
        "small": edge - 1,
        "negative": [-edge, -edge + 1],
        "true": True,
        "deep": {"n": 10**30},
    }
    progress = Progress(done=edge - 1, total=2**63 - 1)
    await memory.leases.finish(await take(memory), Succeeded(result), progress)
    item = (await client.get(f"{API}/{item_id}")).json()
    assert (item["progress_done"], item["progress_total"]) == (9007199254740991, "9223372036854775807")
    assert item["result"] == {
        "big": "9007199254740992",
        "small": 9007199254740991,
        "negative": ["-9007199254740992", -9007199254740991],
        "true": True,
        "deep": {"n": "1000000000000000000000000000000"},
    }


async def test_the_detail_tells_the_life_of_an_item(
    client: httpx.AsyncClient, memory: MemoryStore, clock: FixedClock
) -> None:
    item_id = await put(memory)
    lease = await take(memory)
    clock.advance(MINUTE * 2)
    await memory.leases.recover(stall_limit=3)
    again = await take(memory)
    await memory.leases.finish(lease, Succeeded(), Progress())
    await memory.cancels.cancel(item_id)
    await memory.leases.heartbeat(again, Progress(), MINUTE)
    await memory.leases.finish(again, Cancelled({"done": 3}), Progress(done=3))
    detail = (await client.get(f"{API}/{item_id}")).json()
    assert detail.keys() == ITEM_FIELDS | {"events", "waiting"}
    assert [(event["event"], event["attempt"]) for event in detail["events"]] == [
        ("stalled", 1), ("refused", 1), ("cancel_delivered", 2),
    ]  # fmt: skip
    assert detail["events"][0].keys() == {"attempt", "event", "at", "detail"}
    assert (detail["status"], detail["partial"], detail["result"]) == ("cancelled", True, {"done": 3})
    assert detail["waiting"] is None


async def test_an_unknown_item_is_a_problem(client: httpx.AsyncClient) -> None:
    is_problem(await client.get(f"{API}/{uuid4()}"), 404)
    is_problem(await client.post(f"{API}/{uuid4()}/cancel"), 404)
    is_problem(await client.get(f"{API}/not-an-id"), 422)


async def test_cancelling_ends_a_queued_item(client: httpx.AsyncClient, memory: MemoryStore) -> None:
    item_id = await put(memory)
    answer = await client.post(f"{API}/{item_id}/cancel")
    assert answer.status_code == 200
    assert answer.json()["cancellation"] == "cancelled"
    assert answer.json()["item"]["status"] == "cancelled"
    assert answer.json()["item"].keys() == ITEM_FIELDS


async def test_cancelling_asks_a_running_item_to_stop(client: httpx.AsyncClient, memory: MemoryStore) -> None:
    item_id = await put(memory)
    lease = await take(memory)
    for _ in range(2):
        answer = (await client.post(f"{API}/{item_id}/cancel")).json()
        assert (answer["cancellation"], answer["item"]["status"]) == ("requested", "running")
        assert answer["item"]["cancel_requested_at"] == "2026-01-01T00:00:00Z"
    beat = await memory.leases.heartbeat(lease, Progress(), MINUTE)
    assert beat is not None
    assert beat.cancel_requested


async def test_cancelling_what_has_ended_is_refused_with_the_reason(
    client: httpx.AsyncClient, memory: MemoryStore
) -> None:
    for outcome, status in ((Succeeded(), "succeeded"), (Failed("no"), "failed"), (Cancelled(), "cancelled")):
        item_id = await put(memory)
        await memory.leases.finish(await take(memory), outcome, Progress())
        problem = is_problem(await client.post(f"{API}/{item_id}/cancel"), 409)
        assert problem["item_status"] == status
        assert status in problem["detail"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/json; charset=utf-8"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 200),
    ],
)
async def test_a_form_of_another_site_cancels_nothing(
    client: httpx.AsyncClient, memory: MemoryStore, headers: dict[str, str], status: int
) -> None:
    item_id = await put(memory)
    answer = await client.post(f"{API}/{item_id}/cancel", headers=headers)
    assert answer.status_code == status
    item = await memory.inspector.item(item_id)
    assert item is not None
    assert item.status == ("queued" if status == 415 else "cancelled")


async def test_another_site_cannot_use_a_sign_in_that_the_browser_adds(memory: MemoryStore) -> None:
    from fastapi import FastAPI

    app = FastAPI()
    app.include_router(admin_router(memory, require_admin=lambda: None))
    item_id = await put(memory)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://host") as client:
        path = f"{API}/{item_id}/cancel"
        # What a browser sends for another site's page: to a plain http address not even Sec-Fetch-Site.
        for headers in ({}, {"Authorization": "Basic YWRhOnB3"}, {"Content-Type": "text/plain"}):
            is_problem(await client.post(path, headers=headers), 415)
        item = await memory.inspector.item(item_id)
        assert item is not None
        assert item.status == "queued"
        assert (await client.post(path, headers={"Content-Type": "application/json"})).status_code == 200


async def test_counts_and_workers_and_kinds_are_told(
    client: httpx.AsyncClient, memory: MemoryStore, clock: FixedClock
) -> None:
    await put(memory)
    item_id = await put(memory)
    await memory.presence.appear(worker("old@test", kinds="alpha beta", scopes=frozenset({SCOPE})), [item_id])
    clock.advance(timedelta(seconds=60))
    await memory.presence.appear(worker("new@test"), [])
    counts = (await client.get(f"{API}/counts")).json()
    assert counts == {
        "queued": {"count": 2, "exact": True},
        **{status: {"count": 0, "exact": True} for status in ("running", "succeeded", "failed", "cancelled")},
        "as_of": "2026-01-01T00:01:00Z",
    }
    assert (await client.get(f"{API}/workers")).json()["workers"] == [
        {
            "claimed_by": "new@test", "kinds": ["alpha"], "scopes": None, "running": [], "alive": True,
            "started_at": "2026-01-01T00:01:00Z", "seen_at": "2026-01-01T00:01:00Z",
        },
        {
            "claimed_by": "old@test", "kinds": ["alpha", "beta"], "scopes": [str(SCOPE)],
            "running": [str(item_id)], "alive": False,
            "started_at": "2026-01-01T00:00:00Z", "seen_at": "2026-01-01T00:00:00Z",
        },
    ]  # fmt: skip
    assert (await client.get(f"{API}/kinds")).json() == {"kinds": ["alpha", "own"]}


async def test_a_waiting_item_says_why(
    client: httpx.AsyncClient, memory: MemoryStore, clock: FixedClock
) -> None:
    for _ in range(2):
        await put(memory, scope_id=SCOPE)
        clock.advance(timedelta(seconds=1))
    item_id = await put(memory, scope_id=SCOPE)

    async def why() -> dict[str, Any]:
        waiting: dict[str, Any] = (await client.get(f"{API}/{item_id}")).json()["waiting"]
        return waiting

    assert (await why())["code"] == "no_worker"
    await memory.presence.appear(worker("beta@test", kinds="beta"), [])
    waiting = await why()
    assert (waiting["code"], waiting["workers"]) == ("unknown_kind", [])
    assert "alpha" in waiting["text"]
    await memory.presence.appear(worker("elsewhere@test", scopes=frozenset()), [])
    assert (await why())["code"] == "unserved_scope"

    lease = await take(memory)
    await memory.presence.appear(worker(scopes=frozenset({SCOPE})), [lease.item_id])
    waiting = await why()
    assert (waiting["code"], waiting["ahead"], waiting["ahead_exact"]) == ("workers_busy", 1, True)
    assert waiting["workers"] == [
        {"claimed_by": "one@test", "running": [{"id": str(lease.item_id), "kind": "alpha"}]}
    ]
    assert str(lease.item_id) in waiting["text"]
    await memory.presence.appear(worker(scopes=frozenset({SCOPE})), [])
    assert (await why())["code"] == "behind_others"
    await take(memory)
    assert (await why())["code"] == "about_to_start"
    await take(memory)
    assert await why() is None


async def test_a_database_that_is_away_is_a_problem(
    client: httpx.AsyncClient, memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("password of the database: canary")

    for port in (memory.inspector, memory.live, memory.cancels):
        for name in dir(type(port)):
            if not name.startswith("_"):
                monkeypatch.setattr(port, name, away)
    for method, path in every_route():
        if not path.endswith("/events"):
            answer = await client.request(method, path)
            assert "canary" not in json.dumps(is_problem(answer, 503))
            assert answer.headers["retry-after"]


async def test_the_stream_answers_as_event_streams_do(client: httpx.AsyncClient, memory: MemoryStore) -> None:
    cursor = (await client.get(API)).json()["cursor"]
    answer = await client.get(f"{API}/events", params={"since": cursor}, headers=EXPIRED)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert "content-length" not in answer.headers
    (end,) = Parser().feed(answer.content)
    assert (end.name, end.data, end.id) == ("end", {"reason": "expired"}, None)


async def test_counts_are_asked_for_once_per_interval(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    tally = memory.inspector.tally

    async def counted() -> Any:
        asked.append(1)
        return await tally()

    monkeypatch.setattr(memory.inspector, "tally", counted)
    transport = httpx.ASGITransport(application(memory, interval=60))
    async with httpx.AsyncClient(transport=transport, base_url="http://host", headers=ADMIN) as client:
        for _ in range(10):
            assert (await client.get(f"{API}/counts")).status_code == 200
    assert len(asked) == 1
