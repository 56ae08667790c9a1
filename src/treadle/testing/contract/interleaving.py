"""The contract under random interleavings: two workers, recovery, an admin and a clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from treadle.domain.item import Claimant, Lease, Progress, WorkItem
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import TRANSITIONS, Move, Status, Verb
from treadle.errors import DedupConflict
from treadle.ports.store import Store
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    INSTANT,
    LEASE,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    claimant,
    request,
)

T = TypeVar("T")

LIMIT: Final = 3
INTERVAL: Final = LEASE * 3
KEYS: Final = {"a": ALPHA, "b": BETA}
SCOPES: Final = (UUID(int=1), UUID(int=2))
WORKERS: Final = (claimant("one@test", scopes=[SCOPES[0]]), claimant("two@test", kinds=[ALPHA], scopes=None))
STEPS: Final = (INSTANT, SECOND, LEASE / 2, LEASE, LEASE + INSTANT, INTERVAL)
OUTCOMES: Final[tuple[Outcome, ...]] = (Succeeded("whole"), Failed("no"), Cancelled("part"))
ACTIVE: Final = frozenset({Status.QUEUED, Status.RUNNING})

workers = st.sampled_from([0, 1])
# Which lease or item, of those there are. Nothing that is drawn may depend on the store's answers: a
# store with real connections does not answer twice in exactly the same way.
numbers = st.integers(0, 99)


class Interleaving(RuleBasedStateMachine):
    """Each rule is one verb, and says from the last look at the table what its answer has to be.

    After each rule every item is looked at again: nothing but moves that the verb may make, attempts
    and stalls that only grow, and no item lost. At the end all work can still be brought to an end.
    """

    def __init__(self, harness: StoreHarness) -> None:
        super().__init__()
        harness.clear()
        for scope in SCOPES:
            harness.add_scope(scope)
        self._clock = harness.clock
        self._loop = asyncio.new_event_loop()
        self._stores = (harness.store(), harness.store())
        for store in self._stores:
            self._do(store.__aenter__())
        self._seen: dict[UUID, WorkItem] = {}
        self._keys: dict[UUID, str | None] = {}
        self._numbers: dict[UUID, int] = {}
        self._leases: list[Lease] = []
        self._settled: set[tuple[UUID, int]] = set()
        self._verbs: frozenset[Verb] = frozenset()

    @rule(kind=st.sampled_from([ALPHA, BETA]), scope=st.sampled_from([None, *SCOPES]), worker=workers)
    def enqueue(self, kind: str, scope: UUID | None, worker: int) -> None:
        self._begin(Verb.ENQUEUE)
        queued = self._do(self._stores[worker].queue.enqueue(request(kind, scope_id=scope)))
        assert not queued.coalesced
        self._keys[queued.id] = None

    @rule(key=st.sampled_from(sorted(KEYS)), number=st.integers(0, 1), worker=workers)
    def enqueue_keyed(self, key: str, number: int, worker: int) -> None:
        self._begin(Verb.ENQUEUE)
        twin = next((item for item in self._of_key(key) if item.status is Status.QUEUED), None)
        asking = self._stores[worker].queue.enqueue(request(KEYS[key], {"n": number}, key=key))
        if twin is not None and self._numbers[twin.id] != number:
            with pytest.raises(DedupConflict):
                self._do(asking)
            return
        queued = self._do(asking)
        assert queued.coalesced == (twin is not None)
        assert twin is None or queued.id == twin.id
        self._keys[queued.id] = key
        self._numbers[queued.id] = number

    @rule(key=st.sampled_from(sorted(KEYS)), worker=workers)
    def schedule(self, key: str, worker: int) -> None:
        self._begin(Verb.ENQUEUE)
        due = Due(item=request(KEYS[key], {"n": 0}, key=key, by=None), when=INTERVAL)
        made = self._do(self._stores[worker].schedules.schedule([due, due]))
        assert len(made) == (1 if self._is_due(key) else 0)
        self._keys.update(dict.fromkeys(made, key))
        self._numbers.update(dict.fromkeys(made, 0))

    @rule(worker=workers)
    def claim(self, worker: int) -> None:
        self._begin(Verb.CLAIM)
        self._check_claim(self._do(self._stores[worker].leases.claim(WORKERS[worker])), WORKERS[worker])

    @rule(number=numbers, worker=workers, done=st.integers(0, 9))
    def heartbeat(self, number: int, worker: int, done: int) -> None:
        self._begin(Verb.HEARTBEAT)
        if lease := _pick(self._leases, number):
            beat = self._do(self._stores[worker].leases.heartbeat(lease, Progress(done=done), LEASE))
            assert (beat is not None) == self._holds(lease)
            if beat is not None:
                assert beat.cancel_requested == (self._seen[lease.item_id].cancel_requested_at is not None)

    @rule(number=numbers, worker=workers, outcome=st.sampled_from(OUTCOMES), more=st.booleans())
    def finish(self, number: int, worker: int, outcome: Outcome, *, more: bool) -> None:
        self._begin(Verb.FINISH, *([Verb.CLAIM] if more else []))
        lease = _pick(self._leases, number)
        if lease is None:
            return
        who = WORKERS[worker] if more else None
        answer = self._do(self._stores[worker].leases.finish(lease, outcome, NO_PROGRESS, who))
        assert answer.accepted == self._holds(lease)
        if answer.accepted:
            attempt = (lease.item_id, lease.attempt)
            assert attempt not in self._settled, "an attempt settled twice"
            self._settled.add(attempt)
        if answer.accepted and who is not None:
            self._check_claim(answer.next, who)
        else:
            assert answer.next is None

    @rule(number=numbers, worker=workers)
    def release(self, number: int, worker: int) -> None:
        self._begin(Verb.RELEASE)
        if lease := _pick(self._leases, number):
            released = self._do(self._stores[worker].leases.release(lease, NO_PROGRESS))
            assert (released is not None) == self._holds(lease)

    @rule(wait=st.sampled_from([timedelta(0), LEASE]), worker=workers)
    def recover(self, wait: timedelta, worker: int) -> None:
        self._begin(Verb.RECOVER)
        self._clock.advance(wait)
        expired = {
            item.id
            for item in self._seen.values()
            if item.lease_until is not None and item.lease_until < self._clock.now
        }
        recovered = self._do(self._stores[worker].leases.recover(stall_limit=LIMIT))
        assert {one.item_id for one in recovered} == expired

    @rule(number=numbers, worker=workers)
    def cancel(self, number: int, worker: int) -> None:
        self._begin(Verb.CANCEL)
        if item_id := _pick(list(self._keys), number):
            status = self._seen[item_id].status
            answer = self._do(self._stores[worker].cancels.cancel(item_id))
            assert answer.status is (Status.CANCELLED if status is Status.QUEUED else status)

    @rule(step=st.sampled_from(STEPS))
    def wait(self, step: timedelta) -> None:
        self._begin()
        self._clock.advance(step)

    @invariant()
    def only_allowed_moves_happened_and_nothing_is_lost(self) -> None:
        now = {item.id: item for item in self._do(self._stores[0].inspector.items(limit=10_000))}
        assert now.keys() == self._keys.keys(), "items were lost, or came from nowhere"
        for item in now.values():
            self._check_change(self._seen.get(item.id), item)
            if item.superseded_by is not None and self._seen[item.id].superseded_by is None:
                heir = now[item.superseded_by]
                assert (self._keys[heir.id], heir.status) == (self._keys[item.id], Status.QUEUED)
                assert heir.stalls >= item.stalls, "stalls were not handed over"
        self._seen = now
        for key in KEYS:
            assert sum(item.status is Status.QUEUED for item in self._of_key(key)) <= 1

    def teardown(self) -> None:
        try:
            self._do(self._bring_to_an_end(self._stores[0]))
            items = self._do(self._stores[0].inspector.items(limit=10_000))
            assert {item.id for item in items} == self._keys.keys()
            assert not ACTIVE & {item.status for item in items}
        finally:
            for store in self._stores:
                self._do(store.__aexit__(None, None, None))
            self._loop.close()

    def _begin(self, *verbs: Verb) -> None:
        """Note what may happen now, at an instant of its own: ids are random, so ties would be settled by chance."""
        self._verbs = frozenset(verbs)
        self._clock.advance(INSTANT)

    async def _bring_to_an_end(self, store: Store) -> None:
        self._clock.advance(LEASE * 2)
        await store.leases.recover(stall_limit=LIMIT)
        lease = await store.leases.claim(claimant())
        while lease is not None:
            lease = (await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())).next

    def _check_change(self, old: WorkItem | None, new: WorkItem) -> None:
        """One rule is at most one move of an item, or the stalls that a queued twin hands over."""
        if old == new:
            return
        assert old is None or not old.status.finished, "a finished item changed"
        moves = {Move(old.status if old else None, new.status, verb) for verb in self._verbs}
        twin = old is not None and old.status is new.status is Status.QUEUED
        if twin:
            assert self._verbs & {Verb.RELEASE, Verb.RECOVER}, "a queued item changed in place"
        else:
            assert moves & TRANSITIONS, f"none of {moves} is an allowed move"
        before = old.attempt if old else 0
        claimed = new.status is Status.RUNNING and Verb.CLAIM in self._verbs
        assert new.attempt == before + claimed
        assert (old.stalls if old else 0) <= new.stalls <= LIMIT
        assert new.stalls < LIMIT or new.status in {Status.FAILED, Status.CANCELLED}

    def _check_claim(self, lease: Lease | None, who: Claimant) -> None:
        """It is the oldest that *who* may serve; one that came back may be overtaken for a moment."""
        servable = [
            item
            for item in self._seen.values()
            if item.status is Status.QUEUED
            and item.kind in who.kinds
            and (item.scope_id is None or who.scopes is None or item.scope_id in who.scopes)
        ]
        assert (lease is not None) == bool(servable)
        if lease is not None:
            assert lease.item_id in {item.id for item in servable}
            fresh = [item.requested_at for item in servable if item.attempt == 0]
            assert all(lease.requested_at <= requested_at for requested_at in fresh)
            assert lease.attempt == self._seen[lease.item_id].attempt + 1
            self._leases.append(lease)

    def _holds(self, lease: Lease) -> bool:
        item = self._seen[lease.item_id]
        return item.status is Status.RUNNING and item.attempt == lease.attempt

    def _of_key(self, key: str) -> list[WorkItem]:
        return [item for item in self._seen.values() if self._keys[item.id] == key]

    def _is_due(self, key: str) -> bool:
        ends = [item.finished_at for item in self._of_key(key)]
        return all(end is not None and end <= self._clock.now - INTERVAL for end in ends)

    def _do(self, step: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(step)


def _pick(some: Sequence[T], number: int) -> T | None:
    return some[number % len(some)] if some else None


class InterleavingContract(Contract):
    """Random interleavings; a store over a network sets a smaller number of *examples*."""

    examples: ClassVar[int] = 50

    def test_random_interleavings_make_only_allowed_moves_and_lose_nothing(
        self, harness: StoreHarness
    ) -> None:
        class OnHarness(Interleaving):
            def __init__(self) -> None:
                super().__init__(harness)

        run_state_machine_as_test(
            OnHarness,
            settings=settings(
                max_examples=self.examples,
                stateful_step_count=60,
                deadline=None,
                database=None,
                phases=[Phase.generate],  # shrinking takes minutes on a store that is not in memory
                report_multiple_bugs=False,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
