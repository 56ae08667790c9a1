"""The contract of following work: every change is told, once known what was known before."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID, uuid4

from treadle.domain.item import Progress, WorkItem
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.status import Status
from treadle.ports.live import Changes, Lost
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    LEASE,
    NO_PROGRESS,
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


class FollowingContract(Contract):
    """What a live view is told."""

    async def test_nothing_has_changed_since_now(self, store: Store) -> None:
        await put(store)
        changes = await store.live.changes(await store.live.cursor())
        assert (changes.changed, changes.gone, changes.lost) == ([], [], None)

    async def test_a_look_without_a_cursor_tells_only_what_runs(self, store: Store) -> None:
        running = await started(store)
        await put(store)
        changes = await store.live.changes(None)
        assert changes.lost is None
        assert not changes.changed
        assert ids(changes.running) == {running.item_id}

    async def test_each_move_of_an_item_is_told_as_the_item_is_now(
        self, store: Store, clock: FixedClock
    ) -> None:
        follower = Follower(store, await store.live.cursor())
        item = await put(store)
        await follower.sees(item, Status.QUEUED)
        lease = await take(store)
        await follower.sees(item, Status.RUNNING)
        await store.leases.release(lease, NO_PROGRESS)
        await follower.sees(item, Status.QUEUED)
        await take(store)
        await follower.sees(item, Status.RUNNING)
        await expire(store, clock)
        await follower.sees(item, Status.QUEUED)
        await take(store)
        await store.cancels.cancel(item)
        await follower.sees(item, Status.RUNNING)
        await expire(store, clock)
        await follower.sees(item, Status.CANCELLED)

    async def test_each_end_is_told(self, store: Store) -> None:
        ends: list[Outcome] = [Succeeded({"n": 1}), Failed("no"), Cancelled({"n": 1})]
        for outcome in ends:
            lease = await started(store)
            cursor = await store.live.cursor()
            await store.leases.finish(lease, outcome, NO_PROGRESS)
            changes = await store.live.changes(cursor)
            assert changes.changed == [await look(store, lease.item_id)]
            assert not changes.running

    async def test_finish_and_claim_next_tells_both(self, store: Store) -> None:
        lease = await started(store)
        following = await put(store)
        cursor = await store.live.cursor()
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS, claimant())
        assert ids((await store.live.changes(cursor)).changed) == {lease.item_id, following}

    async def test_a_twin_that_takes_over_is_told(self, store: Store, clock: FixedClock) -> None:
        lease = await started(store, request(key="k"))
        twin = await put(store, request(key="k"))
        cursor = await store.live.cursor()
        await expire(store, clock)
        assert ids((await store.live.changes(cursor)).changed) == {lease.item_id, twin}

    async def test_what_runs_is_told_with_its_progress_every_time(self, store: Store) -> None:
        lease = await started(store)
        cursor = await store.live.cursor()
        await store.leases.heartbeat(lease, Progress(done=1, total=2, note="one"), LEASE)
        changes = await store.live.changes(cursor)
        assert changes.running == [await look(store, lease.item_id)]
        assert changes.running[0].progress_note == "one"
        assert not changes.running_cut

    async def test_a_cursor_can_be_used_again(self, store: Store, other: Store) -> None:
        cursor = await store.live.cursor()
        item = await put(store)
        for reader in (store, other, store):
            assert ids((await reader.live.changes(cursor)).changed) == {item}

    async def test_cursors_follow_each_other_without_a_gap_or_a_repetition(self, store: Store) -> None:
        changes = await store.live.changes(None)
        for _ in range(5):
            item = await put(store)
            changes = await store.live.changes(changes.cursor)
            assert ids(changes.changed) == {item}

    async def test_deleted_items_are_told(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        waiting = await put(store, request(scope_id=scope))
        lease = await started(store, request("beta"), claimant(kinds=["beta"]))
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        clock.advance(timedelta(days=1))
        cursor = await store.live.cursor()
        harness.delete_scope(scope)
        assert await store.retention.purge(older_than=timedelta(hours=1), periodic_kinds=[], limit=10) == 1
        changes = await store.live.changes(cursor)
        assert set(changes.gone) == {waiting, lease.item_id}
        assert await store.inspector.items() == []

    async def test_a_text_that_is_no_cursor_tells_nothing(self, store: Store) -> None:
        await put(store)
        for text in ("", "x", "1:1:", "0-0-0/0/1:1:", "\x00", "é", "9" * 5000):
            changes = await store.live.changes(text)
            assert changes.lost in (Lost.UNKNOWN, Lost.EPOCH)
            assert not changes.changed
            again = await store.live.changes(changes.cursor)
            assert again.lost is None


class Follower:
    """Somebody who goes from cursor to cursor."""

    def __init__(self, store: Store, cursor: str) -> None:
        self._store = store
        self._cursor = cursor

    async def sees(self, item_id: UUID, status: Status) -> None:
        """One item has changed since the last time, and is now so."""
        changes: Changes = await self._store.live.changes(self._cursor)
        self._cursor = changes.cursor
        assert [(item.id, item.status) for item in changes.changed] == [(item_id, status)]
        assert changes.changed == [await look(self._store, item_id)]


def ids(items: Collection[WorkItem]) -> set[UUID]:
    return {item.id for item in items}
