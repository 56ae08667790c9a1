"""OpenAPI tells the truth about the API: generated requests, valid and not, are answered as it says."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection

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


def stays_invalid(case: schemathesis.Case[Any]) -> bool:
    """Whether a request generated to be invalid is so when it is sent.

    The token that the generator may have left out is put back, and parameters that nobody knows are ignored.
    """
    known = {parameter["name"] for parameter in case.operation.definition.raw.get("parameters", [])}
    return "Authorization" in (case.headers or {}) and set(case.query or {}) <= known


@schema.parametrize()
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_the_api_answers_as_its_description_says(case: schemathesis.Case[Any]) -> None:
    # With a token that has just expired the event stream ends at once instead of going on.
    case.call_and_validate(
        headers=EXPIRED, excluded_checks=[] if stays_invalid(case) else [negative_data_rejection]
    )
