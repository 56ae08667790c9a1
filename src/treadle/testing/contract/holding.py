"""The contract of holding work: heartbeats, progress, and the fence against zombies."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from treadle.domain.event import Exceptional
from treadle.domain.item import Progress
from treadle.domain.outcome import Cancelled, Failed, Succeeded
from treadle.domain.status import Status
from treadle.ports.lease import Beat, Finished
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    INSTANT,
    LEASE,
    NO_PROGRESS,
    SECOND,
    Contract,
    event_names,
    expire,
    look,
    put,
    reclaimed,
    started,
    take,
)

FULL = Progress(done=2**63 - 1, total=2**63 - 1, note="all")


class HoldingContract(Contract):
    """What the holder of a lease may write, and nobody else."""

    async def test_a_heartbeat_extends_the_lease_from_now(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        clock.advance(SECOND)
        beat = await store.leases.heartbeat(lease, NO_PROGRESS, timedelta(seconds=7))
        item = await look(store, lease.item_id)
        assert beat == Beat(cancel_requested=False)
        assert (item.lease_until, item.updated_at) == (clock.now + timedelta(seconds=7), clock.now)
        assert (item.status, item.attempt, item.started_at) == (Status.RUNNING, 1, clock.now - SECOND)

    async def test_a_lease_that_is_extended_in_time_never_runs_out(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        for _ in range(10):
            clock.advance(LEASE - SECOND)
            assert await store.leases.recover(stall_limit=3) == []
            assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) is not None
        item = await look(store, lease.item_id)
        assert (item.status, item.attempt, item.stalls) == (Status.RUNNING, 1, 0)

    async def test_a_late_heartbeat_keeps_the_item_that_nobody_took_back(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        clock.advance(LEASE * 2)
        assert await store.leases.heartbeat(lease, NO_PROGRESS, LEASE) is not None
        assert await store.leases.recover(stall_limit=3) == []

    async def test_each_heartbeat_overwrites_the_progress(self, store: Store) -> None:
        lease = await started(store)
        for progress in (FULL, Progress(done=1, note="one"), Progress(total=4), NO_PROGRESS):
            await store.leases.heartbeat(lease, progress, LEASE)
            assert await _progress(store, lease.item_id) == progress

    async def test_a_finished_item_shows_its_last_progress(self, store: Store) -> None:
        for outcome in (Succeeded({"n": 1}), Failed("no"), Cancelled({"n": 1})):
            lease = await started(store)
            await store.leases.heartbeat(lease, Progress(done=1), LEASE)
            await store.leases.finish(lease, outcome, Progress(done=2, total=9, note="two"))
            assert await _progress(store, lease.item_id) == Progress(done=2, total=9, note="two")

    async def test_an_item_failed_by_stalls_keeps_the_last_progress_that_was_written(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await store.leases.heartbeat(lease, Progress(done=1, total=9, note="one"), LEASE)
        await expire(store, clock, limit=1)
        assert (await look(store, lease.item_id)).status is Status.FAILED
        assert await _progress(store, lease.item_id) == Progress(done=1, total=9, note="one")

    async def test_notes_that_cannot_be_stored_are_cleaned_and_cut(self, store: Store) -> None:
        lease = await started(store)
        await store.leases.heartbeat(lease, Progress(note="a\x00b\ud800c" + "x" * 10_000), LEASE)
        beaten = await look(store, lease.item_id)
        await store.leases.finish(lease, Succeeded(), Progress(note="\x00" + "x" * 10_000))
        finished = await look(store, lease.item_id)
        for note in (beaten.progress_note, finished.progress_note):
            assert note is not None
            assert "\x00" not in note
            assert 0 < len(note) <= 500
        assert beaten.progress_note is not None
        assert beaten.progress_note.startswith("a\ufffdb")

    async def test_a_zombies_heartbeat_is_refused_and_changes_nothing(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, successor = await reclaimed(store, clock)
        await store.leases.heartbeat(successor, Progress(done=5, note="half"), LEASE)
        before = await look(store, zombie.item_id)
        clock.advance(SECOND)
        assert await store.leases.heartbeat(zombie, Progress(done=1, note="old"), LEASE) is None
        assert await look(store, zombie.item_id) == before

    async def test_a_zombies_finish_is_refused_and_the_final_status_is_its_successors(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, successor = await reclaimed(store, clock)
        before = await look(store, zombie.item_id)
        for outcome in (Succeeded({"by": "zombie"}), Failed("zombie"), Cancelled()):
            assert await store.leases.finish(zombie, outcome, FULL) == Finished(accepted=False)
        assert await look(store, zombie.item_id) == before
        assert (await store.leases.finish(successor, Failed("successor"), NO_PROGRESS)).accepted
        assert await store.leases.finish(zombie, Succeeded(), FULL) == Finished(accepted=False)
        item = await look(store, zombie.item_id)
        assert (item.status, item.error, item.result, item.attempt) == (Status.FAILED, "successor", None, 2)

    async def test_a_zombies_release_is_refused_and_changes_nothing(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, _ = await reclaimed(store, clock)
        before = await look(store, zombie.item_id)
        assert await store.leases.release(zombie, FULL) is None
        assert await look(store, zombie.item_id) == before

    async def test_each_refused_write_of_a_zombie_is_on_record_with_its_attempt(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, successor = await reclaimed(store, clock)
        await store.leases.heartbeat(zombie, NO_PROGRESS, LEASE)
        await store.leases.release(zombie, NO_PROGRESS)
        await store.leases.finish(zombie, Succeeded(), NO_PROGRESS)
        await store.leases.finish(successor, Succeeded(), NO_PROGRESS)
        refused = [
            event
            for event in await store.inspector.events(zombie.item_id)
            if event.event == Exceptional.REFUSED
        ]
        assert [event.attempt for event in refused] == [1, 1, 1]
        assert {event.at for event in refused} == {clock.now}

    async def test_a_holder_whose_item_was_taken_back_is_refused_before_anybody_claims_it(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await expire(store, clock)
        before = await look(store, lease.item_id)
        assert await store.leases.heartbeat(lease, FULL, LEASE) is None
        assert await store.leases.finish(lease, Succeeded(), FULL) == Finished(accepted=False)
        assert await store.leases.release(lease, FULL) is None
        assert await look(store, lease.item_id) == before

    async def test_a_holder_whose_item_failed_by_stalls_is_refused(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await expire(store, clock, limit=1)
        before = await look(store, lease.item_id)
        assert await store.leases.heartbeat(lease, FULL, LEASE) is None
        assert await store.leases.finish(lease, Succeeded(), FULL) == Finished(accepted=False)
        assert await store.leases.release(lease, FULL) is None
        assert await look(store, lease.item_id) == before

    async def test_a_heartbeat_after_the_own_finish_writes_nothing_and_is_no_refusal_on_record(
        self, store: Store, clock: FixedClock
    ) -> None:
        lease = await started(store)
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        before = await look(store, lease.item_id)
        clock.advance(SECOND)
        assert await store.leases.heartbeat(lease, FULL, LEASE) is None
        assert await look(store, lease.item_id) == before
        assert await event_names(store, lease.item_id) == []

    async def test_a_zombies_claim_of_another_item_leaves_its_old_one_alone(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, successor = await reclaimed(store, clock)
        await put(store)
        own = await take(store)
        assert (await store.leases.finish(own, Succeeded(), NO_PROGRESS)).accepted
        assert await store.leases.heartbeat(zombie, NO_PROGRESS, LEASE) is None
        assert await store.leases.heartbeat(successor, NO_PROGRESS, LEASE) is not None

    async def test_outcome_of_tells_what_became_of_an_attempt_while_it_is_the_latest(
        self, store: Store, clock: FixedClock
    ) -> None:
        zombie, successor = await reclaimed(store, clock)
        assert await store.leases.outcome_of(zombie) is None
        assert await store.leases.outcome_of(successor) is Status.RUNNING
        await store.leases.finish(successor, Cancelled(), NO_PROGRESS)
        assert await store.leases.outcome_of(zombie) is None
        assert await store.leases.outcome_of(successor) is Status.CANCELLED

    async def test_a_beat_that_extends_by_little_leaves_little(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store)
        await store.leases.heartbeat(lease, NO_PROGRESS, SECOND)
        clock.advance(SECOND + INSTANT)
        assert [returned.item_id for returned in await store.leases.recover(stall_limit=3)] == [lease.item_id]


async def _progress(store: Store, item_id: UUID) -> Progress:
    item = await look(store, item_id)
    return Progress(done=item.progress_done, total=item.progress_total, note=item.progress_note)
