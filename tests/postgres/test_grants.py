"""The two roles: what the API may do is ask, cancel and read; the Worker does the rest."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from secrets import token_hex
from typing import LiteralString, NamedTuple
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.errors import InsufficientPrivilege

from tests.postgres.stepping import HOST
from treadle.cli.grants import grants
from treadle.domain.item import Progress
from treadle.domain.outcome import Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import Status
from treadle.ports.cancel import Cancellation
from treadle.ports.inspect import ItemFilter
from treadle.postgres import PostgresStore
from treadle.task_scheduler import CronExpression
from treadle.testing.contract.harness import ALPHA, NO_PROGRESS, claimant, put, request, started, take


class Roles(NamedTuple):
    """Connection strings: of the owner, and of the two roles."""

    owner: str
    api: str
    worker: str


@pytest.fixture
def roles(dsn: str) -> Iterator[Roles]:
    names = {side: f"treadle_{side}_{token_hex(4)}" for side in ("api", "worker")}
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(HOST)
        for name in names.values():
            admin.execute(
                sql.SQL("create role {} login password {}").format(sql.Identifier(name), sql.Literal(name))
            )
        admin.execute(grants(api_role=names["api"], worker_role=names["worker"]).encode())
        yield Roles(dsn, *(make_conninfo(dsn, user=name, password=name) for name in names.values()))
        for name in names.values():
            admin.execute(sql.SQL("drop owned by {name}; drop role {name}").format(name=sql.Identifier(name)))


@pytest.fixture
async def api(roles: Roles) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(roles.api) as store:
        yield store


@pytest.fixture
async def worker(roles: Roles) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(roles.worker) as store:
        yield store


def scope_of(owner: str) -> UUID:
    scope = uuid4()
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("insert into public.scopes (id) values (%s)", [scope])
    return scope


async def test_the_api_role_reads_what_admins_see(api: PostgresStore, worker: PostgresStore) -> None:
    cursor = await api.live.cursor()
    item_id = await put(api)
    lease = await take(worker)
    (changed,) = (await api.live.changes(cursor)).changed
    assert (changed.id, changed.status) == (item_id, Status.RUNNING)
    assert (await api.inspector.tally()).counts[Status.RUNNING].count == 1
    for statuses in ([], *([status] for status in Status)):
        await api.inspector.page(ItemFilter(statuses=statuses))
    await worker.leases.finish(lease, Succeeded(), NO_PROGRESS)
    await worker.retention.purge(older_than=timedelta(0), periodic_kinds=[], limit=10)
    assert list((await api.live.changes(cursor)).gone) == [item_id]


async def test_the_api_role_asks_coalesces_cancels_and_reads(
    roles: Roles, api: PostgresStore, worker: PostgresStore
) -> None:
    scope = scope_of(roles.owner)
    first = await put(api, request(scope_id=scope, key="k"))
    again = await api.queue.enqueue(request(scope_id=scope, key="k"))
    assert (again.id, again.coalesced) == (first, True)
    running = await put(api)
    taken = {(await take(worker)).item_id for _ in range(2)}
    assert taken == {first, running}
    waiting = await put(api)
    assert (await api.cancels.cancel(waiting)).cancellation is Cancellation.CANCELLED
    assert (await api.cancels.cancel(waiting)).cancellation is Cancellation.FINISHED
    assert (await api.cancels.cancel(running)).cancellation is Cancellation.REQUESTED
    assert len(await api.inspector.items()) == 3
    assert (await api.inspector.counts())[Status.RUNNING] == 2
    assert await api.inspector.events(running) == []


async def test_the_api_role_holds_the_twin_until_its_commit(
    roles: Roles, api: PostgresStore, worker: PostgresStore
) -> None:
    await put(api, request(key="k"))
    async with await psycopg.AsyncConnection.connect(roles.api) as caller:
        await api.queue.enqueue(request(key="k"), connection=caller)
        assert await worker.leases.claim(claimant()) is None
    assert await worker.leases.claim(claimant()) is not None


REFUSED: dict[str, LiteralString] = {
    "enqueue as running": "insert into treadle.work_items (kind, status, lease_until) values ('a', 'running', now())",
    "enqueue back-dated": "insert into treadle.work_items (kind, requested_at) values ('a', '2000-01-01')",
    "enqueue with an id of its own": "insert into treadle.work_items (id, kind) values (gen_random_uuid(), 'a')",
    "schedule": "insert into treadle.work_items (kind, dedup_key, follows) values ('a', 'b', gen_random_uuid())",
    "queue for a slot": "insert into treadle.work_items (kind, dedup_key, slot) values ('a', 'b', now())",
    "make a key known": "insert into treadle.cron_keys (dedup_key) values ('k')",
    "see since when a key is known": "select from treadle.cron_keys",
    "overwrite the twin": "insert into treadle.work_items (kind, dedup_key) values ('a', 'k')"
    " on conflict (dedup_key) where status = 'queued' and dedup_key is not null do update set payload = '{}'",
    "lock an item for share": "select from treadle.work_items for key share",
    "claim": "select from treadle.work_items for update skip locked",
    "end an item": "update treadle.work_items set status = 'succeeded', finished_at = now()",
    "cancel past the function": "update treadle.work_items set status = 'cancelled', finished_at = now()",
    "ask for a cancel past the function": "update treadle.work_items set cancel_requested_at = now()",
    "bring an item back": "update treadle.work_items set status = 'queued', finished_at = null",
    "move the fence": "update treadle.work_items set attempt = 9",
    "change a payload": "update treadle.work_items set payload = '{}'",
    "delete": "delete from treadle.work_items",
    "truncate": "truncate treadle.work_items",
    "cancel at a time of its choice": "select treadle.cancel_work_item(gen_random_uuid(), now())",
    "write an event": "insert into treadle.item_events (item_id, attempt, event)"
    " values (gen_random_uuid(), 1, 'stalled')",
    "delete events": "delete from treadle.item_events",
    "pass for a worker": "insert into treadle.workers (claimed_by, kinds, running) values ('x', '{}', '{}')",
    "write a tombstone": "insert into treadle.tombstones (item_ids) values ('{}')",
    "change the schema": "alter table treadle.work_items add column mine text",
    "pass for a migration": "insert into treadle.migrations (version, name) values (99, 'mine')",
}


@pytest.mark.parametrize("attack", REFUSED)
async def test_the_api_role_is_refused(roles: Roles, api: PostgresStore, attack: str) -> None:
    await put(api, request(key="k"))
    with psycopg.connect(roles.api, autocommit=True) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute(REFUSED[attack])


async def test_the_worker_role_can_do_all_that_a_store_does(
    roles: Roles, api: PostgresStore, worker: PostgresStore
) -> None:
    scope = scope_of(roles.owner)
    who = claimant(scopes=[scope])
    await worker.presence.appear(who, [])
    due = Due(item=request(scope_id=scope, key="periodic", by=None), when=timedelta(hours=1))
    assert len(await worker.schedules.schedule([due])) == 1
    lease = await take(worker, who)
    assert await worker.leases.heartbeat(lease, Progress(done=1), timedelta(seconds=60)) is not None
    waiting = await put(worker, request(scope_id=scope))
    finished = await worker.leases.finish(lease, Succeeded({"n": 1}), NO_PROGRESS, who)
    assert finished.next is not None
    assert finished.next.item_id == waiting
    assert await worker.leases.outcome_of(lease) is Status.SUCCEEDED
    assert await worker.leases.release(finished.next, NO_PROGRESS) is not None
    assert (await worker.cancels.cancel(waiting)).cancellation is Cancellation.CANCELLED
    await expire_beside_a_twin(worker)
    assert len(await worker.leases.release_strays("one@test", [], older_than=timedelta(0))) == 1
    assert await worker.retention.purge(older_than=timedelta(0), periodic_kinds=[], limit=100) == 3
    assert await worker.leases.heartbeat(lease, NO_PROGRESS, timedelta(seconds=60)) is None
    assert len(await worker.inspector.workers()) == 1
    await worker.presence.disappear("one@test")


async def test_the_worker_role_schedules_by_the_clock(roles: Roles, worker: PostgresStore) -> None:
    due = Due(item=request(key="k", by=None), when=CronExpression("@yearly"))
    assert await worker.schedules.schedule([due]) == []  # seen for the first time
    with psycopg.connect(roles.owner, autocommit=True) as owner:
        owner.execute("update treadle.cron_keys set first_seen = 'infinity'")
        assert await worker.schedules.schedule([due]) == []  # corrected
        assert owner.execute("select first_seen <= now() from treadle.cron_keys").fetchone() == (True,)
        owner.execute("update treadle.cron_keys set first_seen = '2000-01-01'")
    by_hand = await put(worker, request(key="k"))
    assert await worker.schedules.schedule([due]) == []  # taken over
    lease = await take(worker)
    assert lease.item_id == by_hand
    assert lease.slot is not None
    with psycopg.connect(roles.owner, autocommit=True) as owner:
        owner.execute("truncate treadle.work_items")
    assert len(await worker.schedules.schedule([due])) == 1


async def expire_beside_a_twin(worker: PostgresStore) -> None:
    await started(worker, request(payload={"n": 1}, key="k"), claimant(lease=timedelta(0)))
    await put(worker, request(payload={"n": 2}, key="k"))
    (merged,) = await worker.leases.recover(stall_limit=3)
    assert (merged.kind, merged.status) == (ALPHA, Status.CANCELLED)
    assert (await take(worker)).item_id == merged.superseded_by


async def test_the_worker_role_cannot_change_the_schema(roles: Roles) -> None:
    with psycopg.connect(roles.worker, autocommit=True) as connection:
        for statement in (
            "drop table treadle.work_items",
            "alter table treadle.work_items add column mine text",
        ):
            with pytest.raises(InsufficientPrivilege):
                connection.execute(statement.encode())
