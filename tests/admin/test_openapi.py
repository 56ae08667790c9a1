"""OpenAPI tells the truth about the API: generated requests, valid and not, are answered as it says."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings

from tests.admin.host import EXPIRED, application
from treadle.domain.item import Claimant, NewItem, Progress
from treadle.domain.outcome import Failed
from treadle.memory import MemoryStore


def populated() -> MemoryStore:
    store = MemoryStore()

    async def fill() -> None:
        for number in range(3):
            await store.queue.enqueue(NewItem(kind="alpha", payload="{}", requested_by=f"user {number}"))
        who = Claimant(
            claimed_by="one@test", kinds=frozenset({"alpha"}), scopes=None, lease=timedelta(minutes=1)
        )
        lease = await store.leases.claim(who)
        assert lease is not None
        await store.leases.finish(lease, Failed("<script>alert(1)</script>"), Progress(done=2**60))
        await store.leases.claim(who)

    asyncio.run(fill())
    return store


schema = schemathesis.openapi.from_asgi("/openapi.json", application(populated()))


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_the_api_answers_as_its_description_says(case: schemathesis.Case[Any]) -> None:
    # With a token that has just expired the event stream ends at once instead of going on.
    case.call_and_validate(headers=EXPIRED)
