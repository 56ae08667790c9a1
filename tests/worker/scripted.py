"""A store that does as a test says and keeps what it was asked, and the kinds it is asked about."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from types import TracebackType
from typing import Any, Self
from uuid import UUID, uuid4

from treadle.domain.handler import Handler
from treadle.domain.item import Claimant, Lease, Progress
from treadle.domain.outcome import Outcome
from treadle.domain.payload import Payload
from treadle.domain.registry import Registry
from treadle.domain.run import Run
from treadle.domain.schedule import Due, Schedule
from treadle.domain.status import Status
from treadle.ports.inspect import WorkerInfo
from treadle.ports.lease import Beat, Finished, LastWill, Released
from treadle.worker.executor import Executor, Shop
from treadle.worker.host import Host
from treadle.worker.settings import WorkerSettings


class Kind(StrEnum):
    COPY = "copy"


class Copy(Payload, kind=Kind.COPY):
    files: int = 0

    def dedup_key(self, scope_id: UUID | None) -> str | None:
        return f"copy:{scope_id}"


class AsyncCopy(Handler[Copy]):
    """Carries out *work* as an async handler."""

    def __init__(self, work: Callable[[Copy, Run], Awaitable[object]]) -> None:
        self._work = work

    async def run(self, payload: Copy, run: Run) -> object:
        return await self._work(payload, run)


class PlainCopy(Handler[Copy]):
    """Carries out *work* as a plain handler, in a thread."""

    def __init__(self, work: Callable[[Copy, Run], object]) -> None:
        self._work = work

    def run(self, payload: Copy, run: Run) -> object:
        return self._work(payload, run)


def registry(handler: Handler[Any], schedules: Sequence[Schedule] = ()) -> Registry:
    return Registry(Kind, payloads=[Copy], handlers=[handler], schedules=schedules)


def lease(
    *, attempt: int = 1, files: int = 0, payload: str | None = None, item_id: UUID | None = None
) -> Lease:
    return Lease(
        item_id=item_id or uuid4(),
        attempt=attempt,
        kind=Kind.COPY,
        payload=f'{{"files": {files}}}' if payload is None else payload,
        scope_id=None,
        dedup_key=None,
        requested_by=None,
        requested_at=datetime(2026, 10, 18, tzinfo=UTC),
        stalls=0,
    )


@dataclass(frozen=True)
class Call:
    """What the store was asked, and when by the loop's time."""

    verb: str
    at: float
    about: Any
    progress: Progress | None = None


NEVER = object()
"""An answer that does not come: a database that does not reply."""


class ScriptedStore:
    """All of ``WorkerStore``. By default every write is accepted and claims take from ``waiting``.

    ``script[verb]`` holds answers for the next calls: a value, an exception to raise, or ``NEVER``.
    """

    def __init__(self, *waiting: Lease) -> None:
        self.waiting = deque(waiting)
        self.calls: list[Call] = []
        self.script: defaultdict[str, deque[object]] = defaultdict(deque)
        self.claimants: list[Claimant] = []
        self.will: LastWill | None = None
        self.called = asyncio.Event()

    @property
    def leases(self) -> Self:
        return self

    @property
    def schedules(self) -> Self:
        return self

    @property
    def presence(self) -> Self:
        return self

    def verbs(self, *wanted: str) -> list[str]:
        """The verbs asked for, in order; of *wanted* only, if given."""
        return [call.verb for call in self.calls if not wanted or call.verb in wanted]

    def asked(self, verb: str) -> list[Call]:
        return [call for call in self.calls if call.verb == verb]

    async def until(self, verb: str, times: int = 1) -> None:
        """Wait until *verb* has been asked for so often."""
        while len(self.asked(verb)) < times:
            self.called.clear()
            await self.called.wait()

    async def _answer(
        self, verb: str, about: Any, default: Callable[[], Any], progress: Progress | None = None
    ) -> Any:
        self.calls.append(Call(verb, asyncio.get_running_loop().time(), about, progress))
        self.called.set()
        answer = self.script[verb].popleft() if self.script[verb] else default()
        if answer is NEVER:
            await asyncio.get_running_loop().create_future()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def __aenter__(self) -> Self:
        await self._answer("open", None, lambda: None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._answer("close", None, lambda: None)

    async def claim(self, claimant: Claimant) -> Lease | None:
        self.claimants.append(claimant)
        answer: Lease | None = await self._answer("claim", None, self._next)
        return answer

    async def heartbeat(self, lease: Lease, progress: Progress, extend: timedelta) -> Beat | None:
        accepted = Beat(cancel_requested=False)
        answer: Beat | None = await self._answer("heartbeat", extend, lambda: accepted, progress)
        return answer

    async def finish(
        self, lease: Lease, outcome: Outcome, progress: Progress, claimant: Claimant | None = None
    ) -> Finished:
        def accept() -> Finished:
            return Finished(accepted=True, next=self._next() if claimant else None)

        answer: Finished = await self._answer("finish", (lease, outcome), accept, progress)
        return answer

    async def outcome_of(self, lease: Lease) -> Status | None:
        answer: Status | None = await self._answer("outcome_of", lease, lambda: Status.RUNNING)
        return answer

    async def release(self, lease: Lease, progress: Progress) -> Released | None:
        back = Released(lease.item_id, lease.kind, Status.QUEUED)
        answer: Released | None = await self._answer("release", lease, lambda: back, progress)
        return answer

    async def recover(self, *, stall_limit: int) -> Sequence[Released]:
        answer: Sequence[Released] = await self._answer("recover", stall_limit, list)
        return answer

    async def release_strays(
        self, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        about = (claimed_by, set(held), older_than)
        answer: Sequence[Released] = await self._answer("release_strays", about, list)
        return answer

    def last_will(self, leases: Sequence[Lease]) -> LastWill | None:
        self.calls.append(Call("last_will", asyncio.get_running_loop().time(), list(leases)))
        return self.will

    async def schedule(self, dues: Sequence[Due]) -> Sequence[UUID]:
        answer: Sequence[UUID] = await self._answer("schedule", list(dues), list)
        return answer

    async def appear(self, claimant: Claimant, running: Collection[UUID]) -> None:
        await self._answer("appear", set(running), lambda: None)

    async def disappear(self, claimed_by: str) -> None:
        await self._answer("disappear", claimed_by, lambda: None)

    async def workers(self) -> Sequence[WorkerInfo]:
        return []

    def _next(self) -> Lease | None:
        return self.waiting.popleft() if self.waiting else None


def shop(store: ScriptedStore, handler: Handler[Any], **settings: Any) -> Shop:
    """What executors share, on the running loop, whose time is the clock."""
    loop = asyncio.get_running_loop()
    chosen = WorkerSettings(**settings)
    kinds = registry(handler)

    def claimant() -> Claimant:
        return Claimant(claimed_by="w1", kinds=kinds.kinds, scopes=None, lease=chosen.extension)

    return Shop(
        leases=store,
        registry=kinds,
        settings=chosen,
        host=Host(loop),
        clock=loop.time,
        claimant=claimant,
        found=lambda: None,
    )


def executor(store: ScriptedStore, handler: Handler[Any], **settings: Any) -> Executor:
    return Executor(1, shop(store, handler, **settings))
