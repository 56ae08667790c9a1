"""The work-item API, to be mounted in any FastAPI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from treadle.admin.broadcaster import Broadcaster
from treadle.admin.position import PATTERN, read_position, write_position
from treadle.admin.problem import ProblemError, ProblemRoute, responses
from treadle.admin.shapes import (
    Cancelled,
    Counts,
    CountShape,
    Detail,
    ItemPage,
    Kinds,
    Workers,
    WorkerShape,
    detail_shape,
    item_shape,
)
from treadle.admin.store import AdminStore
from treadle.admin.stream import EVENT_SCHEMA, EventStream, events
from treadle.admin.waiting import why_waiting
from treadle.domain.status import Status
from treadle.ports.cancel import Cancellation
from treadle.ports.inspect import ItemFilter, Tally

PREFIX: Final = "/api/v1/admin/work-items"
_REMEMBERED: Final = timedelta(days=1)
"""How long a worker that gives no sign of life is still listed."""
_Name = Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class AdminRouter(APIRouter):
    """List, detail, counts, workers, live events and cancel. Make it with ``admin_router``."""

    def __init__(
        self,
        store: AdminStore,
        *,
        require_admin: Callable[..., Any],
        kinds: Collection[str],
        live_interval: float,
        prefix: str,
    ) -> None:
        super().__init__(
            prefix=prefix,
            route_class=ProblemRoute,
            tags=["work items"],
            dependencies=[Depends(require_admin), Depends(_never_store)],
        )
        self._store = store
        self._kinds = frozenset(kinds)
        self._broadcaster = Broadcaster(store.live, interval=live_interval)
        self._counted = _Counted(store, seconds=live_interval)
        self._get("", self._list, ItemPage)
        self._get("/counts", self._count, Counts)
        self._get("/workers", self._workers, Workers)
        self._get("/kinds", self._all_kinds, Kinds)
        self.add_api_route(
            "/events",
            self._events(require_admin),
            response_class=EventStream,
            responses={200: {"content": {EventStream.media_type: {"schema": EVENT_SCHEMA}}}, **responses()},
            summary="Follow",
        )
        self._get("/{item_id}", self._detail, Detail, 404)
        self.add_api_route(
            "/{item_id}/cancel",
            self._cancel,
            methods=["POST"],
            response_model=Cancelled,
            responses=responses(404, 409, 415),
            summary="Cancel",
        )

    def end_streams(self) -> None:
        """End all event streams, for a server that does not stop while responses are open.

        Under uvicorn nothing has to be done: the streams notice by themselves that it is told to stop.
        """
        self._broadcaster.stop()

    def _get(self, path: str, endpoint: Callable[..., Any], model: type[Any], *problems: int) -> None:
        name = (endpoint.__doc__ or "").partition(".")[0]
        self.add_api_route(path, endpoint, response_model=model, responses=responses(*problems), summary=name)

    async def _list(
        self,
        status: Annotated[list[Status], Query(default_factory=list)],
        kind: Annotated[list[_Name], Query(default_factory=list, max_length=50)],
        scope_id: UUID | None = None,
        after: Annotated[
            str | None, Query(pattern=PATTERN, description="What `next` of a page said.")
        ] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> ItemPage:
        """List. Items newest first; nothing is repeated or skipped while items change."""
        below = read_position(after) if after is not None else None
        # Before the page is read: a change in between is told twice rather than never.
        cursor = await self._store.live.cursor()
        wanted = ItemFilter(statuses=status, kinds=kind, scope_id=scope_id)
        page = await self._store.inspector.page(wanted, below=below, limit=limit)
        return ItemPage(
            items=[item_shape(item) for item in page.items],
            next=write_position(page.next) if page.next else None,
            searched_to=page.searched_to,
            cursor=cursor,
        )

    async def _count(self) -> Counts:
        """Count. How many items are in each status; large numbers are estimates and say so."""
        tally = await self._counted.tally()
        counts = {status.value: CountShape.model_validate(count) for status, count in tally.counts.items()}
        return Counts.model_validate({**counts, "as_of": tally.as_of})

    async def _workers(self) -> Workers:
        """Workers. Those seen in the last day, the latest first."""
        alive = {worker.claimed_by for worker in await self._store.inspector.workers()}
        seen = await self._store.inspector.workers(seen_within=_REMEMBERED)
        return Workers(workers=[WorkerShape.of(worker, alive=worker.claimed_by in alive) for worker in seen])

    async def _all_kinds(self) -> Kinds:
        """Kinds. The application's own, and those of live workers."""
        workers = await self._store.inspector.workers()
        return Kinds(kinds=sorted(self._kinds.union(*(worker.kinds for worker in workers))))

    async def _detail(self, item_id: UUID) -> Detail:
        """Show. One item with the exceptional in its life, and why it waits."""
        item = await self._store.inspector.item(item_id)
        if item is None:
            raise _unknown(item_id)
        exceptional = await self._store.inspector.events(item_id)
        return detail_shape(item, exceptional, await why_waiting(self._store.inspector, item))

    async def _cancel(self, item_id: UUID, request: Request) -> Cancelled:
        """End a queued item, or ask the worker of a running one to stop."""
        _refuse_forms(request)
        answer = await self._store.cancels.cancel(item_id)
        if answer.cancellation is Cancellation.FINISHED and answer.status is not None:
            raise ProblemError(
                409,
                f"It has already ended: {answer.status}. There is nothing left to cancel.",
                item_status=answer.status,
            )
        item = await self._store.inspector.item(item_id)
        if item is None or answer.cancellation is Cancellation.UNKNOWN:
            raise _unknown(item_id)
        return Cancelled.model_validate({"cancellation": answer.cancellation.value, "item": item_shape(item)})

    def _events(self, require_admin: Callable[..., Any]) -> Callable[..., Any]:
        async def follow(
            since: Annotated[
                str | None, Query(description="A cursor; what changed since then comes first.")
            ] = None,
            last_event_id: Annotated[str | None, Header(description="The same, and it wins.")] = None,
            admin: object = Depends(require_admin),
        ) -> EventStream:
            """Changes as they are committed: `item`, `gone`, `tick` (with an id), `reload`, `status`, `end`."""
            expires_at = getattr(admin, "expires_at", None)
            frames = events(self._broadcaster, since=last_event_id or since, expires_at=expires_at)
            return EventStream(frames)

        return follow


def admin_router(
    store: AdminStore,
    *,
    require_admin: Callable[..., Any],
    kinds: Collection[str] = (),
    live_interval: float = 2.0,
    prefix: str = PREFIX,
) -> AdminRouter:
    """The work-item API on *store*, which whoever made it opens and closes.

    *require_admin* is a FastAPI dependency that raises ``HTTPException`` 401 or 403. If what it returns has
    an ``expires_at`` (an aware datetime), an event stream ends then. *kinds* are those to filter by; others
    are shown as well. *live_interval* is in seconds.
    """
    return AdminRouter(
        store, require_admin=require_admin, kinds=kinds, live_interval=live_interval, prefix=prefix
    )


class _Counted:
    """Counts for all who ask within some seconds, at the cost of one."""

    def __init__(self, store: AdminStore, *, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        self._lock = asyncio.Lock()
        self._tally: Tally | None = None
        self._until = 0.0

    async def tally(self) -> Tally:
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if self._tally is None or now >= self._until:
                self._tally = await self._store.inspector.tally()
                self._until = now + self._seconds
            return self._tally


def _never_store(response: Response) -> None:
    response.headers["Cache-Control"] = "no-store"


def _unknown(item_id: UUID) -> ProblemError:
    return ProblemError(404, f"There is no work item {item_id}; it may have been deleted.")


def _refuse_forms(request: Request) -> None:
    """Refuse what a page of another site can have a browser send without asking us first."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # No page of another site can send either without being asked for it; browsers add other credentials by themselves.
    bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
    if media_type != "application/json" and (media_type or not bearer):
        raise ProblemError(415, "Send application/json, or no body and a bearer token.")
