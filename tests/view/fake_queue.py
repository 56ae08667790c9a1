"""The work-item API on items in a dictionary: what the page is told, and when, is the test's to decide."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from treadle.admin.view import PasswordSignIn, SignIn, admin_view

Item = dict[str, Any]
START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STATUSES = ("queued", "running", "succeeded", "failed", "cancelled")
EMPTY = (
    "claimed_by",
    "started_at",
    "lease_until",
    "finished_at",
    "cancel_requested_at",
    "progress_done",
    "progress_total",
    "progress_note",
    "result",
    "error",
    "superseded_by",
    "slot",
)
API = "/api/v1/admin/work-items"


def item_id(number: int) -> str:
    """Ids that grow with *number*, as those of version 7 do with time."""
    return str(UUID(int=(0x019A << 112) | (number << 80) | (7 << 76) | (2 << 62) | number))


class FakeQueue:
    """State and knobs; ``address`` is where the view is served."""

    def __init__(self) -> None:
        self.address = ""
        self.sign_in: SignIn = PasswordSignIn()
        self.items: dict[str, Item] = {}
        self.events: dict[str, list[Item]] = {}
        self.waiting: dict[str, Item] = {}
        self.workers: list[Item] = []
        self.counts: dict[str, Item] = {}
        self.now = START
        self.valid = {"access-1"}
        self.issued = 1
        self.renewing = asyncio.Event()
        """Cleared, it keeps refreshes waiting for their answer."""
        self.renewing.set()
        self.refused = 0
        self.ended = False
        """Whether new tokens are refused, too."""
        self.admin = True
        self.expires_in = 900
        self.refused_cancel: str | None = None
        self.down = False
        self.seen_ids: list[str | None] = []
        self.seen_since: list[str | None] = []
        self.requests: list[str] = []
        self._streams: set[asyncio.Queue[str | None]] = set()
        self._connected = asyncio.Condition()

    # Items ------------------------------------------------------------------------------------------------

    def add(self, number: int, **columns: Any) -> Item:
        """An item, queued unless told otherwise; its times follow from its status."""
        item: Item = {
            "id": item_id(number),
            "kind": "resize",
            "scope_id": None,
            "requested_by": "ada",
            "requested_at": self._at(-60),
            "status": "queued",
            "attempt": 0,
            "stalls": 0,
            "updated_at": self._at(-60),
        }
        for name in EMPTY:
            item[name] = None
        item["partial"] = False
        self.items[item["id"]] = item
        return self.change(item["id"], **columns)

    def change(self, id_: str, **columns: Any) -> Item:
        """Change an item, as a worker or admin would; nothing is told by that."""
        item = self.items[id_]
        self.now += timedelta(seconds=1)
        status = columns.get("status", item["status"])
        if status == "running" and item["status"] != "running":
            item |= {"attempt": item["attempt"] + 1, "claimed_by": "loft:1:a", "started_at": self._at(-10)}
            item["lease_until"] = self._at(60)
        if status in STATUSES[2:] and item["finished_at"] is None:
            item |= {"finished_at": self._at(0), "lease_until": None}
        item |= {"updated_at": self._at(0)} | columns
        item["partial"] = item["status"] == "cancelled" and item["result"] is not None
        return item

    def _at(self, seconds: float) -> str:
        return (self.now + timedelta(seconds=seconds)).isoformat()

    # Frames -----------------------------------------------------------------------------------------------

    def tell(self, *items: Item, cursor: str | None = None) -> None:
        """Send items, and the cursor that completes the tick."""
        frames = "".join(f"event: item\ndata: {json.dumps(item)}\n\n" for item in items)
        self.raw(frames + (f"event: tick\nid: {cursor}\ndata: {{}}\n\n" if cursor else ""))

    def say(self, event: str, **data: Any) -> None:
        self.raw(f"event: {event}\ndata: {json.dumps(data)}\n\n")

    def raw(self, text: str) -> None:
        for stream in self._streams:
            stream.put_nowait(text)

    def cut(self) -> None:
        """End every stream without a word."""
        for stream in self._streams:
            stream.put_nowait(None)

    async def connected(self, times: int = 1) -> None:
        """Wait until the stream was opened so many times, and is open."""
        async with self._connected:
            await asyncio.wait_for(
                self._connected.wait_for(lambda: len(self.seen_ids) >= times and self._streams), 15
            )

    # HTTP -------------------------------------------------------------------------------------------------

    def app(self) -> Starlette:
        routes = [
            Route("/api/v1/auth/login", self._login, methods=["POST"]),
            Route("/api/v1/auth/refresh", self._refresh, methods=["POST"]),
            Route("/api/v1/auth/logout", self._logout, methods=["POST"]),
            Route(API, self._guarded(self._list)),
            Route(f"{API}/counts", self._guarded(self._count)),
            Route(f"{API}/workers", self._guarded(self._workers)),
            Route(f"{API}/kinds", self._guarded(self._kinds)),
            Route(f"{API}/events", self._guarded(self._events)),
            Route(f"{API}/{{id}}", self._guarded(self._detail)),
            Route(f"{API}/{{id}}/cancel", self._guarded(self._cancel), methods=["POST"]),
            Mount("/admin", admin_view(title="Test work", sign_in=self.sign_in)),
        ]
        return Starlette(routes=routes)

    def _guarded(self, endpoint: Any) -> Any:
        async def guarded(request: Request) -> Response:
            self.requests.append(f"{request.method} {request.url.path}?{request.url.query}")
            if self.down:
                return problem(503, "the database is away")
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            if token not in self.valid and self.sign_in.way != "proxy":
                self.refused += 1
                return problem(401, "the token is not valid")
            if not self.admin:
                return problem(403, "only admins see work items")
            response: Response = await endpoint(request)
            return response

        return guarded

    async def _login(self, request: Request) -> Response:
        body = await request.json()
        if body != {"username": "admin", "password": "correct horse"}:
            return problem(401, "Name or password is wrong.")
        return self._tokens()

    async def _refresh(self, request: Request) -> Response:
        refresh = (await request.json())["refresh_token"]
        await self.renewing.wait()
        if refresh != f"refresh-{self.issued}":
            # As Anichron does: a token that was used before has been stolen, and ends the session.
            self.valid, self.ended = set(), True
            return problem(401, "the refresh token is used up")
        self.issued += 1
        self.valid = set() if self.ended else {f"access-{self.issued}"}
        return self._tokens()

    async def _logout(self, request: Request) -> Response:
        self.requests.append(f"logout {(await request.json())['refresh_token']}")
        self.valid = set()
        return Response(status_code=204)

    def _tokens(self) -> Response:
        return JSONResponse(
            {
                "access_token": f"access-{self.issued}",
                "refresh_token": f"refresh-{self.issued}",
                "token_type": "bearer",
                "expires_in": self.expires_in,
            }
        )

    async def _list(self, request: Request) -> Response:
        query = request.query_params
        statuses, kinds = query.getlist("status"), query.getlist("kind")
        after, limit = query.get("after"), int(query.get("limit", "50"))
        found = [
            item
            for item in sorted(self.items.values(), key=lambda item: item["id"], reverse=True)
            if (not statuses or item["status"] in statuses)
            and (not kinds or item["kind"] in kinds)
            and query.get("scope_id") in (None, item["scope_id"])
            and (after is None or item["id"] < after)
        ]
        page = found[:limit]
        more = page[-1]["id"] if len(found) > limit else None
        return answer({"items": page, "next": more, "searched_to": None, "cursor": "list-cursor"})

    async def _count(self, _: Request) -> Response:
        items = self.items.values()
        counts = {
            status: {"count": sum(item["status"] == status for item in items), "exact": True}
            for status in STATUSES
        }
        return answer({**counts, **self.counts, "as_of": self._at(0)})

    async def _workers(self, _: Request) -> Response:
        return answer({"workers": self.workers})

    async def _kinds(self, _: Request) -> Response:
        return answer({"kinds": ["crawl", "resize"]})

    async def _detail(self, request: Request) -> Response:
        item = self.items.get(request.path_params["id"])
        if item is None:
            return problem(404, "There is no such work item; it may have been deleted.")
        return answer(
            {**item, "events": self.events.get(item["id"], []), "waiting": self.waiting.get(item["id"])}
        )

    async def _cancel(self, request: Request) -> Response:
        item = self.items[request.path_params["id"]]
        if item["finished_at"] is not None:
            return problem(409, f"It has already ended: {item['status']}. There is nothing left to cancel.")
        queued = item["status"] == "queued"
        self.change(
            item["id"], cancel_requested_at=self._at(0), **({"status": "cancelled"} if queued else {})
        )
        return answer({"cancellation": "cancelled" if queued else "requested", "item": item})

    async def _events(self, request: Request) -> Response:
        self.seen_ids.append(request.headers.get("last-event-id"))
        self.seen_since.append(request.query_params.get("since"))
        stream: asyncio.Queue[str | None] = asyncio.Queue()
        self._streams.add(stream)

        async def frames() -> AsyncIterator[str]:
            try:
                yield ": changes of work items\nretry: 100\n\n"
                while (text := await _next(stream)) is not None:
                    yield text
            finally:
                self._streams.discard(stream)

        async with self._connected:
            self._connected.notify_all()
        return StreamingResponse(frames(), media_type="text/event-stream")


async def _next(stream: asyncio.Queue[str | None]) -> str | None:
    """What comes next, or a sign of life when nothing does."""
    try:
        return await asyncio.wait_for(stream.get(), 5)
    except TimeoutError:
        return ": still here\n\n"


def answer(value: Any) -> Response:
    return JSONResponse(value, headers={"Cache-Control": "no-store"})


def problem(status: int, detail: str) -> Response:
    body = {"type": "about:blank", "title": "Problem", "status": status, "detail": detail}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Any:
        """Signals stay pytest's."""
        yield


@asynccontextmanager
async def served(queue: FakeQueue) -> AsyncIterator[None]:
    """Serve the queue's API and view at its address."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await apps.setdefault(queue.sign_in, queue.app())(scope, receive, send)

    apps: dict[SignIn, Starlette] = {}
    listener = socket.create_server(("127.0.0.1", 0))
    queue.address = f"http://127.0.0.1:{listener.getsockname()[1]}/admin/"
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        queue.cut()
        server.should_exit = True
        await running
