"""A cancel that had to wait answers by what it waited for."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

import pytest

from tests.postgres.stepping import Scene
from tests.postgres.test_finish_and_claim import CLAIM, END
from treadle.domain.status import Status
from treadle.ports.cancel import CancelAnswer, Cancellation
from treadle.testing.contract.harness import put, started

# The obvious statement: change, and say in the same breath what the item is if nothing was changed.
NAIVE: LiteralString = """
with changed as (
    update treadle.work_items
    set status = case when status = 'queued' then 'cancelled' else status end,
        finished_at = case when status = 'queued' then clock_timestamp() end,
        cancel_requested_at = clock_timestamp()
    where id = %(id)s and finished_at is null
    returning status
)
select coalesce((select status from changed), (select status from treadle.work_items where id = %(id)s)) as status
"""


async def test_a_cancel_that_waited_for_a_claim_becomes_a_request(scene: Scene) -> None:
    store = await scene.store("store")
    item = await put(store)
    worker = await scene.session("worker", autocommit=False)
    await worker.product("claim", **CLAIM)
    cancel = scene.start(store.cancels.cancel(item))
    await scene.blocked("store", cancel)
    await worker.connection.commit()
    assert await cancel == CancelAnswer(Cancellation.REQUESTED, Status.RUNNING)


@pytest.mark.parametrize("end", ["succeeded", "cancelled"])
async def test_a_cancel_that_waited_for_a_finish_is_told_how_it_ended(scene: Scene, end: str) -> None:
    store = await scene.store("store")
    lease = await started(store)
    worker = await scene.session("worker", autocommit=False)
    await worker.product("finish", id=lease.item_id, attempt=1, claimed_by=None, **{**END, "status": end})
    cancel = scene.start(store.cancels.cancel(lease.item_id))
    await scene.blocked("store", cancel)
    await worker.connection.commit()
    assert await cancel == CancelAnswer(Cancellation.FINISHED, Status(end))


async def test_the_obvious_statement_says_running_of_an_item_that_has_ended(scene: Scene) -> None:
    store = await scene.store("store")
    lease = await started(store)
    worker = await scene.session("worker", autocommit=False)
    await worker.product("finish", id=lease.item_id, attempt=1, claimed_by=None, **END)
    admin = await scene.session("admin")
    cancel = scene.start(admin.run(NAIVE, id=lease.item_id))
    await scene.blocked("admin", cancel)
    await worker.connection.commit()
    (answer,) = await cancel
    assert (answer["status"], await scene.status(lease.item_id)) == ("running", "succeeded")


async def test_a_cancel_that_waited_for_a_delete_finds_nothing(scene: Scene) -> None:
    store = await scene.store("store")
    item = await put(store)
    host = await scene.session("host", autocommit=False)
    await host.run("delete from treadle.work_items where id = %(id)s", id=item)
    cancel = scene.start(store.cancels.cancel(item))
    await scene.blocked("store", cancel)
    await host.connection.commit()
    assert await cancel == CancelAnswer(Cancellation.UNKNOWN, None)


async def test_an_item_nobody_knows_is_unknown(scene: Scene) -> None:
    store = await scene.store("store")
    assert await store.cancels.cancel(UUID(int=1)) == CancelAnswer(Cancellation.UNKNOWN, None)
