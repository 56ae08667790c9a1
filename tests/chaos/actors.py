"""Those who act on the queue at once; each as careless as its real counterpart may be."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import scalar_row

from tests.chaos.world import INTERVAL, KEYS, LEASE, ONE_SHOT, PERIODIC, STALL_LIMIT, Asked, World
from treadle.domain.item import Claimant, Lease, NewItem, Progress
from treadle.domain.outcome import Cancelled, Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.postgres import PostgresStore

PAUSE: Final = 0.02


class Actor(ABC):
    """Acts again and again until the world is over, on a store and a connection of its own."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name

    async def run(self) -> None:
        async with (
            self.world.store() as self.store,
            await AsyncConnection.connect(
                self.world.dsn, autocommit=True, row_factory=scalar_row
            ) as self.connection,
        ):
            while not self.world.over:
                try:
                    await self.act()
                except StoreUnavailable:
                    self.count("told that the store is busy")
                except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                    self.world.faults.append(f"{self.name}: {error!r}")
                await asyncio.sleep(self.world.dice.random() * PAUSE)

    store: PostgresStore
    connection: AsyncConnection[Any]

    @abstractmethod
    async def act(self) -> None: ...

    def count(self, what: str) -> None:
        self.world.counted[what] += 1


class Caller(Actor):
    """Changes data and asks for work that has to see the change, in one transaction that may take its time."""

    async def act(self) -> None:
        key = self.world.dice.choice(KEYS)
        rolled_back = self.world.chance(0.1)
        async with self.connection.transaction(force_rollback=rolled_back):
            cursor = await self.connection.execute(
                "update public.data set version = version + 1 where key = %s returning version", [key]
            )
            version: int = await cursor.fetchone() or 0
            queued = await self.store.queue.enqueue(
                NewItem(kind=ONE_SHOT, payload="{}", dedup_key=key, requested_by=self.name),
                connection=self.connection,
            )
            if self.world.chance(0.3):
                await asyncio.sleep(self.world.dice.random() * 0.08)
        if not rolled_back:
            self.world.asked.append(Asked(key, version, queued.id))
            self.count("coalesced" if queued.coalesced else "queued")


class Worker(Actor):
    """Claims, works, and may vanish, freeze past its lease or release; else finishes and claims the next."""

    lease: Lease | None = None

    async def act(self) -> None:
        who = Claimant(claimed_by=self.name, kinds=frozenset({ONE_SHOT, PERIODIC}), scopes=None, lease=LEASE)
        lease, self.lease = self.lease or await self.store.leases.claim(who), None
        if lease is None:
            return
        seen = await start(self.connection, lease)
        fate = self.world.dice.random()
        if fate < 0.08:
            self.count("vanished")
            return
        if fate < 0.12:
            await asyncio.sleep(LEASE.total_seconds() * 1.5)
        cancel = False
        if fate < 0.4:
            beat = await self.store.leases.heartbeat(lease, Progress(done=1, total=2), LEASE)
            self.count("beat" if beat else "beat fenced off")
            cancel = beat is not None and beat.cancel_requested
        if fate > 0.85:
            released = await self.store.leases.release(lease, Progress())
            self.count(f"released: {released.status}" if released else "release fenced off")
            return
        outcome = Cancelled({"seen": seen}) if cancel else Succeeded({"seen": seen})
        finished = await self.store.leases.finish(lease, outcome, Progress(done=2, total=2), who)
        self.count("finished" if finished.accepted else "finish fenced off")
        self.lease = finished.next


async def start(connection: AsyncConnection[Any], lease: Lease) -> int | None:
    """Begin a run: record it, and read what there is to see."""
    await connection.execute("insert into public.starts values (%s, %s)", [lease.item_id, lease.attempt])
    cursor = await connection.execute("select version from public.data where key = %s", [lease.dedup_key])
    version: int | None = await cursor.fetchone()
    return version


class Recoverer(Actor):
    """Sweeps expired leases."""

    async def act(self) -> None:
        for back in await self.store.leases.recover(stall_limit=STALL_LIMIT):
            merged = ", merged" if back.superseded_by else ""
            self.count(f"recovered: {back.status}{merged}")


class Scheduler(Actor):
    """Queues one item for each scope and interval."""

    async def act(self) -> None:
        cursor = await self.connection.execute("select id from public.scopes")
        dues = [
            Due(
                item=NewItem(kind=PERIODIC, payload="{}", scope_id=scope, dedup_key=f"scope:{scope}"),
                when=INTERVAL,
            )
            for scope in await cursor.fetchall()
        ]
        self.world.counted["scheduled"] += len(await self.store.schedules.schedule(dues))


class Admin(Actor):
    """Cancels whatever is there."""

    async def act(self) -> None:
        cursor = await self.connection.execute(
            "select id from treadle.work_items where finished_at is null order by random() limit 1"
        )
        item_id: UUID | None = await cursor.fetchone()
        if item_id is not None:
            self.count(f"cancel: {(await self.store.cancels.cancel(item_id)).cancellation}")
        await asyncio.sleep(0.15)


class Host(Actor):
    """Deletes a scope, taking its time over it, and adds another."""

    async def act(self) -> None:
        async with self.connection.transaction():
            await self.connection.execute(
                "delete from public.scopes where id = (select id from public.scopes order by random() limit 1)"
            )
            await asyncio.sleep(self.world.dice.random() * 0.1)
        await self.connection.execute("insert into public.scopes values (gen_random_uuid())")
        self.count("scope replaced")
        await asyncio.sleep(0.5)


class Retention(Actor):
    """Deletes what has just finished, but for what schedules go by."""

    async def act(self) -> None:
        self.world.counted["purged"] += await self.store.retention.purge(
            older_than=timedelta(milliseconds=300), periodic_kinds=[PERIODIC], limit=500
        )
        await asyncio.sleep(0.1)


CAST: Final[list[type[Actor]]] = [
    *[Caller] * 4, *[Worker] * 4, *[Recoverer] * 2, *[Scheduler] * 3, Admin, Host, Retention,
]  # fmt: skip


async def clear_up(world: World) -> None:
    """Carry out all that is left, as a worker would that nothing disturbs."""
    who = Claimant(
        claimed_by="last", kinds=frozenset({ONE_SHOT, PERIODIC}), scopes=None, lease=timedelta(minutes=1)
    )
    async with (
        world.store() as store,
        await AsyncConnection.connect(world.dsn, autocommit=True, row_factory=scalar_row) as connection,
        asyncio.timeout(30),
    ):
        while True:
            await store.leases.recover(stall_limit=STALL_LIMIT)
            while lease := await store.leases.claim(who):
                seen = await start(connection, lease)
                await store.leases.finish(lease, Succeeded({"seen": seen}), Progress())
            counts = await store.inspector.counts()
            if counts[Status.QUEUED] == counts[Status.RUNNING] == 0:
                return
