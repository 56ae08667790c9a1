"""The contract refuses stores that break one rule each: a suite that lets them pass would prove nothing."""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from treadle.domain.item import Claimant, Lease, NewItem, Progress
from treadle.domain.outcome import Outcome
from treadle.domain.schedule import Due, is_due
from treadle.domain.status import Status
from treadle.errors import DedupConflict
from treadle.memory import MemoryStore, Table, producing
from treadle.memory import leases as memory_leases
from treadle.memory.keeping import MemoryInspector, MemoryRetention
from treadle.memory.leases import MemoryLeases
from treadle.memory.live import MemoryLive
from treadle.memory.producing import MemorySchedules
from treadle.memory.row import Row
from treadle.ports.inspect import ItemFilter, Page, Position
from treadle.ports.lease import Beat, Finished, Released
from treadle.ports.live import Changes
from treadle.testing import contract
from treadle.testing.memory import MemoryHarness

Patch = Callable[[pytest.MonkeyPatch], None]

claim = MemoryLeases.claim
heartbeat = MemoryLeases.heartbeat
finish = MemoryLeases.finish
recover = MemoryLeases.recover
release_strays = MemoryLeases.release_strays
schedule = MemorySchedules.schedule
purge = MemoryRetention.purge
changes = MemoryLive.changes
page = MemoryInspector.page


def lease_ignored(patch: pytest.MonkeyPatch) -> None:
    async def always_a_minute(self: MemoryLeases, claimant: Claimant) -> Lease | None:
        return await claim(self, replace(claimant, lease=timedelta(minutes=1)))

    patch.setattr(MemoryLeases, "claim", always_a_minute)


def extension_ignored(patch: pytest.MonkeyPatch) -> None:
    async def always_a_minute(
        self: MemoryLeases, lease: Lease, progress: Progress, _: timedelta
    ) -> Beat | None:
        return await heartbeat(self, lease, progress, timedelta(minutes=1))

    patch.setattr(MemoryLeases, "heartbeat", always_a_minute)


def progress_ignored(patch: pytest.MonkeyPatch) -> None:
    async def none(self: MemoryLeases, lease: Lease, _: Progress, extend: timedelta) -> Beat | None:
        return await heartbeat(self, lease, Progress(), extend)

    patch.setattr(MemoryLeases, "heartbeat", none)


def cancel_not_delivered(patch: pytest.MonkeyPatch) -> None:
    async def silent(self: MemoryLeases, lease: Lease, progress: Progress, extend: timedelta) -> Beat | None:
        beat = await heartbeat(self, lease, progress, extend)
        return beat and Beat(cancel_requested=False)

    patch.setattr(MemoryLeases, "heartbeat", silent)


def stall_limit_ignored(patch: pytest.MonkeyPatch) -> None:
    async def always_three(self: MemoryLeases, *, stall_limit: int) -> Sequence[Released]:
        return await recover(self, stall_limit=3)

    patch.setattr(MemoryLeases, "recover", always_three)


def age_of_strays_ignored(patch: pytest.MonkeyPatch) -> None:
    async def any_age(
        self: MemoryLeases, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        return await release_strays(self, claimed_by, held, older_than=timedelta(0))

    patch.setattr(MemoryLeases, "release_strays", any_age)


def held_items_ignored(patch: pytest.MonkeyPatch) -> None:
    async def all_of_them(
        self: MemoryLeases, claimed_by: str, held: Collection[UUID], *, older_than: timedelta
    ) -> Sequence[Released]:
        return await release_strays(self, claimed_by, [], older_than=older_than)

    patch.setattr(MemoryLeases, "release_strays", all_of_them)


def refused_finish_claims(patch: pytest.MonkeyPatch) -> None:
    async def greedy(
        self: MemoryLeases,
        lease: Lease,
        outcome: Outcome,
        progress: Progress,
        claimant: Claimant | None = None,
    ) -> Finished:
        answer = await finish(self, lease, outcome, progress, claimant)
        if not answer.accepted and claimant is not None:
            await claim(self, claimant)
        return answer

    patch.setattr(MemoryLeases, "finish", greedy)


def no_fence(patch: pytest.MonkeyPatch) -> None:
    def by_id(self: MemoryLeases, lease: Lease, _: datetime) -> Row | None:
        row = self._table.rows.get(lease.item_id)
        return row if row is not None and row.status is Status.RUNNING else None

    patch.setattr(MemoryLeases, "_held", by_id)


def kinds_ignored(patch: pytest.MonkeyPatch) -> None:
    serves = memory_leases._serves
    patch.setattr(
        memory_leases, "_serves", lambda who, row: serves(replace(who, kinds={row.request.kind}), row)
    )


def scopes_ignored(patch: pytest.MonkeyPatch) -> None:
    serves = memory_leases._serves
    patch.setattr(memory_leases, "_serves", lambda who, row: serves(replace(who, scopes=None), row))


def no_scopes_taken_for_every_scope(patch: pytest.MonkeyPatch) -> None:
    serves = memory_leases._serves
    patch.setattr(
        memory_leases, "_serves", lambda who, row: serves(replace(who, scopes=who.scopes or None), row)
    )


def twins_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    give_back = MemoryLeases._return

    def alone(self: MemoryLeases, row: Row, *rest: Any) -> Released:
        row.request = replace(row.request, dedup_key=None)
        return give_back(self, row, *rest)

    patch.setattr(MemoryLeases, "_return", alone)


def stalls_not_handed_over(patch: pytest.MonkeyPatch) -> None:
    give_back = MemoryLeases._return

    def forgetful(self: MemoryLeases, row: Row, *rest: Any) -> Released:
        twin = self._table.twin(row.dedup_key)
        stalls = twin.stalls if twin else 0
        released = give_back(self, row, *rest)
        if twin is not None:
            twin.stalls = stalls
        return released

    patch.setattr(MemoryLeases, "_return", forgetful)


def pending_cancel_forgotten(patch: pytest.MonkeyPatch) -> None:
    give_back = MemoryLeases._return

    def forgetful(self: MemoryLeases, row: Row, *rest: Any) -> Released:
        row.cancel_requested_at = None
        return give_back(self, row, *rest)

    patch.setattr(MemoryLeases, "_return", forgetful)


def payloads_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producing, "_same_request", lambda *_: True)


def conflict_on_any_twin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producing, "_same_request", lambda *_: False)


def interval_ignored(patch: pytest.MonkeyPatch) -> None:
    async def at_once(self: MemorySchedules, dues: Sequence[Due]) -> Sequence[UUID]:
        return await schedule(self, [replace(due, when=timedelta(0)) for due in dues])

    patch.setattr(MemorySchedules, "schedule", at_once)


def finishes_in_the_future_believed(patch: pytest.MonkeyPatch) -> None:
    def of_all(self: MemorySchedules, item: NewItem, interval: timedelta, now: datetime) -> bool:
        rows = self._of_key(item)
        return is_due(
            active=any(row.finished_at is None for row in rows),
            last_finished=max((row.finished_at for row in rows if row.finished_at), default=None),
            interval=interval,
            now=now,
        )

    patch.setattr(MemorySchedules, "_is_due", of_all)


def slots_not_remembered(patch: pytest.MonkeyPatch) -> None:
    async def forgetful(self: MemorySchedules, dues: Sequence[Due]) -> Sequence[UUID]:
        queued = await schedule(self, dues)
        for id_ in queued:
            self._table.rows[id_].slot = None
        return queued

    patch.setattr(MemorySchedules, "schedule", forgetful)


def new_keys_due_at_once(patch: pytest.MonkeyPatch) -> None:
    async def eager(self: MemorySchedules, dues: Sequence[Due]) -> Sequence[UUID]:
        for due in dues:
            self._table.first_seen.setdefault(str(due.item.dedup_key), datetime(2000, 1, 1, tzinfo=UTC))
        return await schedule(self, dues)

    patch.setattr(MemorySchedules, "schedule", eager)


def keys_seen_anew_by_every_store(patch: pytest.MonkeyPatch) -> None:
    opened = MemoryStore.__aenter__

    async def forgetful(self: MemoryStore) -> MemoryStore:
        self.table.first_seen.clear()
        return await opened(self)

    patch.setattr(MemoryStore, "__aenter__", forgetful)


def a_late_item_keeps_its_slot(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producing, "_same_request", lambda *_: False)


def slots_taken_over_by_any_twin(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(producing, "_same_request", lambda *_: True)


def first_sight_in_the_future_kept(patch: pytest.MonkeyPatch) -> None:
    async def stubborn(self: MemorySchedules, dues: Sequence[Due]) -> Sequence[UUID]:
        seen = dict(self._table.first_seen)
        queued = await schedule(self, dues)
        self._table.first_seen.update(seen)
        return queued

    patch.setattr(MemorySchedules, "schedule", stubborn)


def newest_slot_purged(patch: pytest.MonkeyPatch) -> None:
    async def slotless(self: MemoryRetention, **rest: Any) -> int:
        for row in self._table.rows.values():
            row.slot = None
        return await purge(self, **rest)

    patch.setattr(MemoryRetention, "purge", slotless)


def retention_age_ignored(patch: pytest.MonkeyPatch) -> None:
    async def any_age(self: MemoryRetention, *, older_than: timedelta, **rest: Any) -> int:
        return await purge(self, older_than=timedelta(0), **rest)

    patch.setattr(MemoryRetention, "purge", any_age)


def retention_limit_ignored(patch: pytest.MonkeyPatch) -> None:
    async def all_at_once(self: MemoryRetention, *, limit: int, **rest: Any) -> int:
        return await purge(self, limit=10_000, **rest)

    patch.setattr(MemoryRetention, "purge", all_at_once)


def newest_of_a_periodic_key_purged(patch: pytest.MonkeyPatch) -> None:
    async def everything(self: MemoryRetention, *, periodic_kinds: Collection[str], **rest: Any) -> int:
        return await purge(self, periodic_kinds=[], **rest)

    patch.setattr(MemoryRetention, "purge", everything)


def scope_deleted_without_its_items(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Table, "delete", lambda *_: None)


def moves_after_the_first_untold(patch: pytest.MonkeyPatch) -> None:
    async def only_queued(self: MemoryLive, since: str | None) -> Changes:
        told = await changes(self, since)
        return replace(told, changed=[item for item in told.changed if item.status is Status.QUEUED])

    patch.setattr(MemoryLive, "changes", only_queued)


def deletions_untold(patch: pytest.MonkeyPatch) -> None:
    async def nothing_gone(self: MemoryLive, since: str | None) -> Changes:
        return replace(await changes(self, since), gone=())

    patch.setattr(MemoryLive, "changes", nothing_gone)


def lost_cursors_taken_for_now(patch: pytest.MonkeyPatch) -> None:
    async def never_lost(self: MemoryLive, since: str | None) -> Changes:
        return replace(await changes(self, since), lost=None)

    patch.setattr(MemoryLive, "changes", never_lost)


def pages_overlap(patch: pytest.MonkeyPatch) -> None:
    async def from_one_above(
        self: MemoryInspector, wanted: ItemFilter, *, below: Position | None = None, limit: int = 50
    ) -> Page:
        above = below and Position(below.requested_at, UUID(int=below.id.int + 1))
        return await page(self, wanted, below=above, limit=limit + 1)

    patch.setattr(MemoryInspector, "page", from_one_above)


BROKEN: dict[Patch, str] = {
    moves_after_the_first_untold: "test_each_move_of_an_item_is_told_as_the_item_is_now",
    deletions_untold: "test_deleted_items_are_told",
    lost_cursors_taken_for_now: "test_a_text_that_is_no_cursor_tells_nothing",
    pages_overlap: "test_nothing_is_repeated_or_skipped_while_items_move",
    lease_ignored: "test_a_lease_runs_out_exactly_when_its_time_is_over",
    extension_ignored: "test_a_heartbeat_extends_the_lease_from_now",
    progress_ignored: "test_each_heartbeat_overwrites_the_progress",
    cancel_not_delivered: "test_the_next_heartbeat_brings_the_request_to_the_worker",
    stall_limit_ignored: "test_the_stall_limit_fails_an_item_even_when_a_twin_waits",
    age_of_strays_ignored: "test_a_claim_younger_than_asked_is_no_stray_yet",
    held_items_ignored: "test_strays_are_what_the_worker_was_given_and_does_not_hold",
    refused_finish_claims: "test_a_refused_finish_claims_nothing",
    no_fence: "test_a_zombies_heartbeat_is_refused_and_changes_nothing",
    kinds_ignored: "test_only_kinds_of_the_claimant_are_taken",
    scopes_ignored: "test_items_of_own_scopes_and_unscoped_ones_are_taken_and_no_others",
    no_scopes_taken_for_every_scope: "test_a_claimant_that_serves_no_scope_takes_unscoped_items_only",
    twins_not_looked_for: "test_an_expired_item_is_superseded_by_its_queued_twin",
    stalls_not_handed_over: "test_a_poison_item_cannot_dodge_the_limit_by_being_asked_for_again",
    pending_cancel_forgotten: "test_a_pending_cancel_ends_an_expired_item",
    payloads_not_compared: "test_a_queued_key_of_another_kind_is_a_conflict",
    conflict_on_any_twin: "test_payloads_are_equal_when_their_json_is_whatever_the_order_of_keys",
    interval_ignored: "test_the_newest_finish_of_many_counts",
    finishes_in_the_future_believed: "test_finishes_from_a_time_when_the_clock_was_wrong_block_nothing",
    slots_not_remembered: "test_of_sixty_missed_slots_the_newest_runs_once",
    new_keys_due_at_once: "test_work_that_is_new_waits_for_the_first_slot_after_it_was_first_seen",
    keys_seen_anew_by_every_store: "test_a_weekly_schedule_runs_although_the_worker_starts_anew_every_day",
    a_late_item_keeps_its_slot: "test_a_queue_that_is_late_runs_once_for_the_newest_slot",
    slots_taken_over_by_any_twin: "test_a_waiting_request_by_hand_takes_the_slot_and_another_payload_lets_it_wait",
    first_sight_in_the_future_kept: "test_slots_from_a_time_when_the_clock_was_wrong_block_nothing",
    newest_slot_purged: "test_retention_keeps_the_newest_slot_although_a_run_by_hand_finished_later",
    retention_age_ignored: "test_of_old_and_young_items_a_purge_takes_the_old_ones",
    retention_limit_ignored: "test_a_purge_takes_at_most_its_limit",
    newest_of_a_periodic_key_purged: "test_the_newest_finished_item_of_a_periodic_key_stays",
    scope_deleted_without_its_items: "test_items_of_a_deleted_scope_go_and_all_others_stay",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda patch: patch.__name__)
async def test_a_store_that_breaks_a_rule_does_not_keep_the_contract(
    broken: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _run(BROKEN[broken])  # on the store as it is, it passes
    broken(monkeypatch)
    with pytest.raises((AssertionError, DedupConflict, pytest.fail.Exception)):
        await _run(BROKEN[broken])


@pytest.mark.parametrize("broken", [no_fence, twins_not_looked_for], ids=lambda p: p.__name__)
def test_random_interleavings_find_what_is_broken(broken: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    suite = contract.StoreContract()
    monkeypatch.setattr(suite, "examples", 500)
    with pytest.raises(AssertionError):
        suite.test_random_interleavings_make_only_allowed_moves_and_lose_nothing(MemoryHarness())


async def _run(name: str) -> None:
    harness = MemoryHarness()
    stores: dict[str, MemoryStore] = {"store": harness.store(), "other": harness.store()}
    fixtures = {"harness": harness, "clock": harness.clock, **stores}
    test = getattr(contract.StoreContract(), name)
    await test(**{argument: fixtures[argument] for argument in inspect.signature(test).parameters})
