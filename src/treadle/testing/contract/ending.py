"""The contract of the end: outcomes, finish-and-claim-next, and cancelling."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest
from pydantic import JsonValue

from treadle.domain.event import Exceptional
from treadle.domain.item import Progress
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.status import Status
from treadle.ports.cancel import CancelAnswer, Cancellation
from treadle.ports.lease import Beat, Finished
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    LEASE,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    event_names,
    look,
    only_event,
    put,
    reclaimed,
    request,
    started,
    take,
)

SUMMARY: Final[JsonValue] = {"count": 10**30, "text": "Grüße", "parts": [1, None, True, {"deep": []}]}


class FinishingContract(Contract):
    """How an attempt ends, and how the next one begins in the same step."""

    async def test_a_succeeded_item_has_its_whole_result(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        clock.advance(SECOND)
        answer = await store.leases.finish(lease, Succeeded(SUMMARY), NO_PROGRESS)
        item = await look(store, lease.item_id)
        assert answer == Finished(accepted=True)
        assert (item.status, item.result, item.error, item.partial) == (
            Status.SUCCEEDED,
            SUMMARY,
            None,
            False,
        )
        assert (item.finished_at, item.updated_at, item.lease_until) == (clock.now, clock.now, None)
        assert (item.attempt, item.claimed_by, item.started_at) == (1, "one@test", clock.now - SECOND)

    async def test_a_failed_item_has_its_error_and_no_result(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        assert (await store.leases.finish(lease, Failed("it broke"), NO_PROGRESS)).accepted
        item = await look(store, lease.item_id)
        assert (item.status, item.error, item.result, item.partial) == (
            Status.FAILED,
            "it broke",
            None,
            False,
        )
        assert (item.finished_at, item.claimed_by) == (clock.now, "one@test")

    async def test_a_cancelled_items_result_is_partial(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        assert (await store.leases.finish(lease, Cancelled(SUMMARY), NO_PROGRESS)).accepted
        item = await look(store, lease.item_id)
        assert (item.status, item.result, item.error, item.partial) == (Status.CANCELLED, SUMMARY, None, True)
        assert (item.finished_at, item.claimed_by) == (clock.now, "one@test")

    async def test_a_cancelled_item_without_result_is_not_partial(self, store: Store) -> None:
        lease = await started(store)
        await store.leases.finish(lease, Cancelled(), NO_PROGRESS)
        item = await look(store, lease.item_id)
        assert (item.status, item.result, item.partial) == (Status.CANCELLED, None, False)

    @pytest.mark.parametrize("result", [None, 0, "", [], {}, False, 2**63, -0.5, "null"])
    async def test_any_json_is_a_result(self, store: Store, result: str | float | None) -> None:
        lease = await started(store)
        await store.leases.finish(lease, Succeeded(result), NO_PROGRESS)
        stored = (await look(store, lease.item_id)).result
        assert (stored, type(stored)) == (result, type(result))

    async def test_errors_that_cannot_be_stored_are_cleaned_and_cut_and_end_the_item(
        self, store: Store
    ) -> None:
        lease = await started(store)
        error = "a\x00b\ud800c" + "x" * 1_000_000
        assert (await store.leases.finish(lease, Failed(error), NO_PROGRESS)).accepted
        item = await look(store, lease.item_id)
        assert item.status is Status.FAILED
        assert item.error is not None
        assert item.error.startswith("a\ufffdb")
        assert "\x00" not in item.error
        assert len(item.error) <= 10_000

    @pytest.mark.parametrize("outcome", [Succeeded(), Failed("no"), Cancelled()])
    async def test_an_attempt_ends_once(self, store: Store, clock: FixedClock, outcome: Outcome) -> None:
        lease = await started(store)
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        before = await look(store, lease.item_id)
        clock.advance(SECOND)
        assert await store.leases.finish(lease, Succeeded("again"), Progress(done=1)) == Finished(
            accepted=False
        )
        assert await store.leases.release(lease, Progress(done=1)) is None
        assert await look(store, lease.item_id) == before

    async def test_a_finished_item_is_never_claimed_or_recovered(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await store.leases.finish(lease, Failed("no"), NO_PROGRESS)
        clock.advance(LEASE * 2)
        assert await store.leases.claim(claimant()) is None
        assert await store.leases.recover(stall_limit=3) == []

    async def test_a_finish_of_two_at_once_is_accepted_once(self, store: Store, other: Store) -> None:
        lease = await started(store)
        answers = await asyncio.gather(
            store.leases.finish(lease, Succeeded(), NO_PROGRESS),
            other.leases.finish(lease, Failed("no"), NO_PROGRESS),
        )
        assert sorted(answer.accepted for answer in answers) == [False, True]

    async def test_a_finish_can_claim_the_next_item_in_the_same_step(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        waiting = await put(store)
        who = claimant("one@test", lease=timedelta(seconds=7))
        answer = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, who)
        assert answer.accepted
        assert answer.next is not None
        assert (answer.next.item_id, answer.next.attempt, json.loads(answer.next.payload)) == (waiting, 1, {})
        item = await look(store, waiting)
        assert (item.status, item.claimed_by, item.started_at) == (Status.RUNNING, "one@test", clock.now)
        assert item.lease_until == clock.now + timedelta(seconds=7)
        assert (await look(store, lease.item_id)).status is Status.SUCCEEDED
        assert (await store.leases.finish(answer.next, Succeeded(), NO_PROGRESS)).accepted

    async def test_a_finish_that_finds_nothing_to_claim_is_still_accepted(self, store: Store) -> None:
        lease = await started(store)
        assert await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant()) == Finished(
            accepted=True
        )
        assert (await look(store, lease.item_id)).status is Status.SUCCEEDED

    async def test_a_finish_without_claimant_claims_nothing(self, store: Store) -> None:
        lease = await started(store)
        waiting = await put(store)
        assert await store.leases.finish(lease, Succeeded(), NO_PROGRESS) == Finished(accepted=True)
        assert (await look(store, waiting)).status is Status.QUEUED

    async def test_a_refused_finish_claims_nothing(self, store: Store, clock: FixedClock) -> None:
        zombie, _ = await reclaimed(store, clock)
        waiting = await put(store)
        assert await store.leases.finish(zombie, Succeeded(), NO_PROGRESS, claimant()) == Finished(
            accepted=False
        )
        item = await look(store, waiting)
        assert (item.status, item.attempt) == (Status.QUEUED, 0)

    async def test_a_finish_claims_by_the_claimants_kinds_and_scopes_oldest_first(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        own, foreign = uuid4(), uuid4()
        harness.add_scope(own)
        harness.add_scope(foreign)
        lease = await started(store)
        for item in (request(BETA), request(ALPHA, scope_id=foreign)):
            await put(store, item)
            clock.advance(SECOND)
        first = await put(store, request(ALPHA, scope_id=own))
        clock.advance(SECOND)
        second = await put(store, request(ALPHA))
        who = claimant(kinds=[ALPHA], scopes=[own])
        taken = []
        holding: Finished = await store.leases.finish(lease, Succeeded(), NO_PROGRESS, who)
        while holding.next is not None:
            taken.append(holding.next.item_id)
            holding = await store.leases.finish(holding.next, Succeeded(), NO_PROGRESS, who)
        assert taken == [first, second]


class CancellingContract(Contract):
    """Cancelling is guarded by the status that the item has at that moment."""

    async def test_a_queued_item_ends_cancelled_at_once(self, store: Store, clock: FixedClock) -> None:
        item_id = await put(store)
        clock.advance(SECOND)
        assert await store.cancels.cancel(item_id) == CancelAnswer(Cancellation.CANCELLED, Status.CANCELLED)
        item = await look(store, item_id)
        assert (item.status, item.finished_at, item.updated_at) == (Status.CANCELLED, clock.now, clock.now)
        assert (item.attempt, item.result, item.error) == (0, None, None)
        assert await store.leases.claim(claimant()) is None

    async def test_a_running_item_goes_on_and_carries_the_request(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        clock.advance(SECOND)
        assert await store.cancels.cancel(lease.item_id) == CancelAnswer(
            Cancellation.REQUESTED, Status.RUNNING
        )
        item = await look(store, lease.item_id)
        assert (item.status, item.cancel_requested_at, item.finished_at) == (Status.RUNNING, clock.now, None)
        assert item.lease_until == clock.now - SECOND + LEASE

    async def test_the_next_heartbeat_brings_the_request_to_the_worker(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) == Beat(cancel_requested=False)
        await other.cancels.cancel(lease.item_id)
        assert await event_names(store, lease.item_id) == []
        assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) == Beat(cancel_requested=True)
        assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) == Beat(cancel_requested=True)
        event = await only_event(store, lease.item_id)
        assert (event.event, event.attempt, event.at) == (Exceptional.CANCEL_DELIVERED, 1, clock.now)
        assert (await store.leases.finish(lease, Cancelled({"n": 1}), NO_PROGRESS)).accepted
        assert (await look(store, lease.item_id)).partial

    async def test_a_handler_that_ends_before_the_request_reached_it_has_succeeded(
        self, store: Store
    ) -> None:
        lease = await started(store)
        await store.cancels.cancel(lease.item_id)
        assert (await store.leases.finish(lease, Succeeded(), NO_PROGRESS)).accepted
        assert (await look(store, lease.item_id)).status is Status.SUCCEEDED

    async def test_a_second_cancel_of_a_running_item_keeps_the_first_requests_time(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await store.cancels.cancel(lease.item_id)
        asked_at = clock.now
        clock.advance(SECOND)
        assert await store.cancels.cancel(lease.item_id) == CancelAnswer(
            Cancellation.REQUESTED, Status.RUNNING
        )
        assert (await look(store, lease.item_id)).cancel_requested_at == asked_at

    async def test_a_second_cancel_of_a_queued_item_finds_it_finished(
        self, store: Store, clock: FixedClock
    ) -> None:
        item_id = await put(store)
        await store.cancels.cancel(item_id)
        before = await look(store, item_id)
        clock.advance(SECOND)
        assert await store.cancels.cancel(item_id) == CancelAnswer(Cancellation.FINISHED, Status.CANCELLED)
        assert await look(store, item_id) == before

    @pytest.mark.parametrize("outcome", [Succeeded(), Failed("no"), Cancelled()])
    async def test_a_finished_item_does_not_change(
        self, store: Store, clock: FixedClock, outcome: Outcome
    ) -> None:
        lease = await started(store)
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        before = await look(store, lease.item_id)
        clock.advance(SECOND)
        assert await store.cancels.cancel(lease.item_id) == CancelAnswer(Cancellation.FINISHED, before.status)
        assert await look(store, lease.item_id) == before

    async def test_an_unknown_item_is_unknown(self, store: Store) -> None:
        assert await store.cancels.cancel(uuid4()) == CancelAnswer(Cancellation.UNKNOWN, None)

    async def test_a_cancel_beside_a_claim_either_ends_the_item_or_asks_its_worker(
        self, store: Store, other: Store
    ) -> None:
        for _ in range(10):
            item_id = await put(store)
            answer, lease = await asyncio.gather(
                other.cancels.cancel(item_id), store.leases.claim(claimant())
            )
            if lease is None:
                assert answer.cancellation is Cancellation.CANCELLED
            else:
                assert answer.cancellation is Cancellation.REQUESTED
                assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) == Beat(cancel_requested=True)
                await store.leases.finish(lease, Cancelled(), NO_PROGRESS)
            assert (await look(store, item_id)).status is Status.CANCELLED

    async def test_a_cancelled_item_does_not_hold_up_the_one_behind_it(
        self, store: Store, clock: FixedClock
    ) -> None:
        first = await put(store)
        clock.advance(SECOND)
        second = await put(store)
        await store.cancels.cancel(first)
        assert (await take(store)).item_id == second
