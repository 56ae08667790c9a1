"""The contract of asking for work: enqueue, coalescing, conflicts, unknown scopes."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta, timezone
from uuid import UUID, uuid4

import pytest
from pydantic import JsonValue

from treadle.domain.item import NewItem
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.status import Status
from treadle.errors import DedupConflict, UnknownScope
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    expire,
    look,
    put,
    request,
    started,
    take,
)

BIG = 10**30


class AskingContract(Contract):
    """How requests become items."""

    async def test_a_request_becomes_a_queued_item_that_says_who_asked_and_when(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        queued = await store.queue.enqueue(request(ALPHA, {"n": 1}, scope_id=scope, key="k", by="ada"))
        item = await look(store, queued.id)
        assert queued.coalesced is False
        assert (item.status, item.kind, item.scope_id, item.requested_by) == (
            Status.QUEUED,
            ALPHA,
            scope,
            "ada",
        )
        assert (item.requested_at, item.updated_at) == (clock.now, clock.now)
        assert (item.attempt, item.stalls) == (0, 0)
        assert (item.claimed_by, item.started_at, item.lease_until, item.finished_at) == (
            None,
            None,
            None,
            None,
        )
        assert (item.cancel_requested_at, item.superseded_by) == (None, None)
        assert (item.progress_done, item.progress_total, item.progress_note) == (None, None, None)
        assert (item.result, item.error, item.partial) == (None, None, False)

    async def test_ids_are_uuids_of_version_7(self, store: Store) -> None:
        assert (await put(store)).version == 7

    async def test_a_scheduled_request_has_no_requester(self, store: Store) -> None:
        item_id = await put(store, request(by=None))
        assert (await look(store, item_id)).requested_by is None

    @pytest.mark.parametrize(
        "payload",
        [
            {},
            {"text": "Grüße, 世界 \U0001f5bc", "quote": "\"'\\ %s %(x)s {} ; --", "lines": "a\r\n\tb"},
            {"integers": [0, -1, 2**31, 2**53 + 1, 2**63, BIG, -BIG]},
            {"float": 0.1, "true": True, "null": None, "nested": [{"a": [[]]}, {}]},
        ],
        ids=["empty", "texts", "big integers", "others"],
    )
    async def test_a_payload_comes_to_the_worker_as_it_was_asked(
        self, store: Store, payload: dict[str, JsonValue]
    ) -> None:
        lease = await started(store, request(payload=payload))
        assert json.loads(lease.payload) == payload

    async def test_requests_without_a_key_never_coalesce(self, store: Store) -> None:
        assert await put(store, request(payload={"n": 1})) != await put(store, request(payload={"n": 1}))

    async def test_a_second_request_of_a_queued_key_returns_the_first_ones_id(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        first = await put(store, request(payload={"n": 1}, key="k"))
        clock.advance(SECOND)
        second = await other.queue.enqueue(request(payload={"n": 1}, key="k", by="grace"))
        assert (second.id, second.coalesced) == (first, True)
        item = await look(store, first)
        assert (item.requested_by, item.requested_at) == ("ada", clock.now - SECOND)
        assert len(await store.inspector.items()) == 1

    async def test_different_keys_do_not_coalesce(self, store: Store) -> None:
        assert await put(store, request(key="k")) != await put(store, request(key="K"))

    async def test_payloads_are_equal_when_their_json_is_whatever_the_order_of_keys(
        self, store: Store
    ) -> None:
        first = await store.queue.enqueue(_keyed('{"a": 1, "b": {"x": [1, 2], "y": null}}'))
        second = await store.queue.enqueue(_keyed('{"b":{"y":null,"x":[1,2]},"a":1}'))
        assert (second.id, second.coalesced) == (first.id, True)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ('{"a": 1}', '{"a": 2}'),
            ('{"a": 1}', '{"a": "1"}'),
            ('{"a": 1}', '{"a": true}'),
            ('{"a": null}', "{}"),
            ('{"a": [1, 2]}', '{"a": [2, 1]}'),
            (f'{{"a": {2**63}}}', f'{{"a": {2**63 + 1}}}'),
            ('{"a": 9007199254740992.0}', '{"a": 9007199254740993.0}'),
        ],
    )
    async def test_a_queued_key_with_another_payload_is_a_conflict_and_nothing_is_queued(
        self, store: Store, first: str, second: str
    ) -> None:
        waiting = await store.queue.enqueue(_keyed(first))
        with pytest.raises(DedupConflict) as conflict:
            await store.queue.enqueue(_keyed(second))
        assert (conflict.value.item_id, conflict.value.dedup_key) == (waiting.id, "k")
        assert [item.id for item in await store.inspector.items()] == [waiting.id]

    async def test_a_queued_key_of_another_kind_is_a_conflict(self, store: Store) -> None:
        waiting = await put(store, request(ALPHA, key="k"))
        with pytest.raises(DedupConflict) as conflict:
            await store.queue.enqueue(request(BETA, key="k"))
        assert conflict.value.item_id == waiting

    async def test_a_queued_key_of_another_scope_is_a_conflict(
        self, harness: StoreHarness, store: Store
    ) -> None:
        here, there = uuid4(), uuid4()
        harness.add_scope(here)
        harness.add_scope(there)
        waiting = await put(store, request(scope_id=here, key="k"))
        with pytest.raises(DedupConflict) as conflict:
            await store.queue.enqueue(request(scope_id=there, key="k"))
        assert conflict.value.item_id == waiting

    async def test_a_running_key_does_not_coalesce_so_its_work_runs_once_more_afterwards(
        self, store: Store
    ) -> None:
        running = await started(store, request(payload={"n": 1}, key="k"))
        assert await put(store, request(payload={"n": 2}, key="k")) != running.item_id
        assert (await look(store, running.item_id)).status is Status.RUNNING

    async def test_a_key_that_came_back_to_the_queue_coalesces_again(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store, request(key="k"))
        await expire(store, clock)
        again = await store.queue.enqueue(request(key="k"))
        assert (again.id, again.coalesced) == (lease.item_id, True)

    @pytest.mark.parametrize("outcome", [Succeeded(), Failed("no"), Cancelled()])
    async def test_a_finished_key_does_not_coalesce(self, store: Store, outcome: Outcome) -> None:
        lease = await started(store, request(key="k"))
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        assert await put(store, request(payload={"n": 2}, key="k")) != lease.item_id

    async def test_a_key_that_was_cancelled_while_queued_does_not_coalesce(self, store: Store) -> None:
        first = await put(store, request(key="k"))
        await store.cancels.cancel(first)
        assert await put(store, request(key="k")) != first

    async def test_many_at_once_of_one_key_make_one_item_and_everybody_gets_its_id(
        self, store: Store, other: Store
    ) -> None:
        answers = await asyncio.gather(
            *(asker.queue.enqueue(request(key="k")) for asker in [store, other] * 10)
        )
        assert len({answer.id for answer in answers}) == 1
        assert [answer.coalesced for answer in answers].count(False) == 1

    async def test_an_unknown_scope_is_refused_and_nothing_is_queued(
        self, harness: StoreHarness, store: Store
    ) -> None:
        harness.add_scope(uuid4())
        unknown = UUID(int=1)
        with pytest.raises(UnknownScope) as refusal:
            await store.queue.enqueue(request(scope_id=unknown))
        assert refusal.value.scope_id == unknown
        assert await store.inspector.items() == []

    async def test_times_are_aware_and_utc_whatever_zone_the_clock_has(
        self, store: Store, clock: FixedClock
    ) -> None:
        clock.now = clock.now.astimezone(timezone(timedelta(hours=5, minutes=30)))
        lease = await started(store)
        await store.cancels.cancel(lease.item_id)
        item = await look(store, lease.item_id)
        times = [
            lease.requested_at,
            item.requested_at,
            item.started_at,
            item.lease_until,
            item.updated_at,
            item.cancel_requested_at,
        ]
        assert all(time is not None and time.utcoffset() == timedelta(0) for time in times)

    async def test_work_is_claimed_with_all_that_was_asked(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        asked_at = clock.now
        item_id = await put(store, request(BETA, {"n": 1}, scope_id=scope, key="k", by="ada"))
        clock.advance(SECOND)
        lease = await take(store, claimant())
        assert (lease.item_id, lease.attempt, lease.kind, json.loads(lease.payload)) == (
            item_id,
            1,
            BETA,
            {"n": 1},
        )
        assert (lease.scope_id, lease.dedup_key, lease.requested_by) == (scope, "k", "ada")
        assert (lease.requested_at, lease.stalls) == (asked_at, 0)


def _keyed(payload: str) -> NewItem:
    return NewItem(kind=ALPHA, payload=payload, dedup_key="k")
