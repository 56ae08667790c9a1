"""The contract of schedules by the clock: one run per slot, of missed slots the newest, none from before."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID, uuid4

from pydantic import JsonValue

from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.schedule import Due
from treadle.domain.status import Status
from treadle.ports.store import Store
from treadle.task_scheduler import CronExpression
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    INSTANT,
    NO_PROGRESS,
    Contract,
    StoreHarness,
    claimant,
    expire,
    look,
    put,
    request,
    take,
)

HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
HOURLY: Final = "0 * * * *"
OUTCOMES: Final[tuple[Outcome, ...]] = (Succeeded(), Failed("no"), Cancelled())


def at(hour: int, minute: int = 0, *, day: int = 5, month: int = 1) -> datetime:
    """A time in 2026, in UTC; 5 January is a Monday."""
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def cron(
    expression: str = HOURLY,
    zone: str = "UTC",
    *,
    key: str = "k",
    payload: JsonValue = None,
    scope_id: UUID | None = None,
) -> Due:
    """Work at the slots of *expression*; nothing is remembered from one to the next."""
    return Due(
        item=request(payload=payload, key=key, scope_id=scope_id, by=None),
        when=CronExpression(expression, zone),
    )


async def known(
    store: Store, clock: FixedClock, due: Due | None = None, since: datetime | None = None
) -> Due:
    """The schedule, first seen at *since*, or half past midnight."""
    clock.now = since or at(0, 30)
    due = due or cron()
    assert await store.schedules.schedule([due]) == []
    return due


async def queue(store: Store, *dues: Due) -> UUID:
    """Queue what has to be due, once."""
    (item_id,) = await store.schedules.schedule(dues)
    return item_id


async def run(store: Store, outcome: Outcome | None = None) -> datetime | None:
    """Carry out the item that has to be there; the slot that its handler is told."""
    lease = await take(store)
    assert (await store.leases.finish(lease, outcome or Succeeded(), NO_PROGRESS)).accepted
    return lease.slot


class SlotContract(Contract):
    """Due-ness by the clock comes from the slots in the table, too, and from when a key was first seen."""

    async def test_work_that_is_new_waits_for_the_first_slot_after_it_was_first_seen(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock, since=at(9))  # a slot itself
        clock.now = at(10) - INSTANT
        assert await store.schedules.schedule([due]) == []
        clock.now = at(10)
        item_id = await queue(store, due)
        item = await look(store, item_id)
        assert (item.status, item.kind, item.requested_by) == (Status.QUEUED, ALPHA, None)
        assert (item.slot, item.requested_at) == (at(10), at(10))
        assert await run(store) == at(10)
        assert (await look(store, item_id)).slot == at(10)

    async def test_work_on_request_and_by_interval_has_no_slot(self, store: Store) -> None:
        requested = await put(store, request(by="ada"))
        by_interval = await queue(store, Due(item=request(key="k", by=None), when=HOUR))
        assert [(await look(store, id_)).slot for id_ in (requested, by_interval)] == [None, None]
        assert [await run(store), await run(store)] == [None, None]

    async def test_a_slot_has_one_run_however_that_ends_and_the_next_one_another(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        for hour, outcome in enumerate(OUTCOMES, start=1):
            clock.now = at(hour, 20)
            await queue(store, due)
            assert await run(store, outcome) == at(hour)
            assert await store.schedules.schedule([due]) == []
            clock.now = at(hour + 1) - INSTANT
            assert await store.schedules.schedule([due]) == []

    async def test_a_cancel_while_queued_and_a_stalled_failure_wait_for_the_next_slot_too(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        clock.now = at(1)
        await store.cancels.cancel(await queue(store, due))
        assert await store.schedules.schedule([due]) == []
        clock.now = at(2)
        stalled = await queue(store, due)
        await take(store)
        await expire(store, clock, limit=1)
        assert (await look(store, stalled)).status is Status.FAILED
        assert await store.schedules.schedule([due]) == []

    async def test_of_sixty_missed_slots_the_newest_runs_once(self, store: Store, clock: FixedClock) -> None:
        due = await known(store, clock, cron("* * * * *"))
        clock.now = at(1, 30) + timedelta(seconds=20)
        await queue(store, due)
        assert await run(store) == at(1, 30)
        assert await store.schedules.schedule([due]) == []

    async def test_a_weekly_schedule_runs_although_the_worker_starts_anew_every_day(
        self, harness: StoreHarness, clock: FixedClock
    ) -> None:
        slots = []
        for day in range(8):
            clock.now = at(12, day=6) + day * DAY  # from Tuesday noon on
            async with harness.store() as store:
                if await store.schedules.schedule([cron("0 3 * * mon")]):
                    slots.append(await run(store))
        assert slots == [at(3, day=12)]

    async def test_a_slot_waits_while_the_run_before_it_goes_on(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        clock.now = at(1)
        await queue(store, due)
        lease = await take(store, claimant(lease=DAY))
        for hour in (2, 3):
            clock.now = at(hour)
            assert await store.schedules.schedule([due]) == []
        await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
        await queue(store, due)
        assert await run(store) == at(3)

    async def test_a_queue_that_is_late_runs_once_for_the_newest_slot(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        clock.now = at(1)
        item_id = await queue(store, due)
        clock.now = at(3, 10)
        cursor = await store.live.cursor()
        assert await store.schedules.schedule([due]) == []
        item = await look(store, item_id)
        assert list((await store.live.changes(cursor)).changed) == [item]
        assert (item.slot, item.requested_at, item.updated_at) == (at(3), at(1), at(3, 10))
        assert await run(store) == at(3)
        assert await store.schedules.schedule([due]) == []

    async def test_an_item_that_came_back_to_the_queue_runs_for_the_newest_slot(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        clock.now = at(1)
        item_id = await queue(store, due)
        lease = await take(store)
        await expire(store, clock)
        assert (await look(store, item_id)).slot == at(1)
        assert await store.schedules.schedule([due]) == []
        clock.now = at(2)
        assert await store.schedules.schedule([due]) == []
        again = await take(store)
        assert (again.item_id, again.attempt, again.slot) == (item_id, lease.attempt + 1, at(2))

    async def test_a_waiting_request_by_hand_takes_the_slot_and_another_payload_lets_it_wait(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        due = await known(store, clock, cron(payload={"n": 1, "m": 2}))
        by_hand = await put(store, request(payload={"m": 2, "n": 1}, key="k"))
        clock.now = at(1)
        assert await store.schedules.schedule([due]) == []
        item = await look(store, by_hand)
        assert (item.slot, item.requested_by) == (at(1), "ada")
        assert await run(store) == at(1)
        payload: JsonValue = {"n": 1, "m": 2}
        for other in (
            request(payload={"n": 2}, key="k"),
            request(BETA, payload, key="k"),
            request(payload=payload, key="k", scope_id=scope),
        ):
            clock.advance(HOUR)
            by_hand = await put(store, other)
            assert await store.schedules.schedule([due]) == []
            assert await run(store) is None
            await queue(store, due)
            assert await run(store) == clock.now

    async def test_a_run_by_hand_does_not_shift_the_schedule(self, store: Store, clock: FixedClock) -> None:
        due = await known(store, clock, cron("0 1 * * *"))
        clock.now = at(1)
        await queue(store, due)
        await run(store)
        clock.now = at(11, 30)
        await put(store, request(key="k"))
        await run(store)
        clock.now = at(1, day=6) - INSTANT
        assert await store.schedules.schedule([due]) == []
        clock.now = at(1, day=6)
        await queue(store, due)
        assert await run(store) == at(1, day=6)

    async def test_slots_from_a_time_when_the_clock_was_wrong_block_nothing(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock)
        clock.now = at(1) + DAY * 3650
        await queue(store, due)
        await run(store)
        late = await known(store, clock, cron(key="seen then"), since=clock.now)
        clock.now = at(1, 10)
        await queue(store, due)
        assert await run(store) == at(1)
        assert await store.schedules.schedule([due, late]) == []
        clock.now = at(2)
        assert len(await store.schedules.schedule([due, late])) == 2
        assert {await run(store), await run(store)} == {at(2)}

    async def test_a_changed_expression_or_zone_counts_from_the_newest_slot_that_ran(
        self, store: Store, clock: FixedClock
    ) -> None:
        await known(store, clock)
        clock.now = at(3)
        await queue(store, cron())
        await run(store)
        assert await store.schedules.schedule([cron("59 2 * * *"), cron("0 3 * * *", "Asia/Kathmandu")]) == []
        clock.now = at(4)
        await queue(store, cron("30 3 * * *"))
        assert await run(store) == at(3, 30)

    async def test_of_two_schedules_of_one_key_the_newer_slot_counts(
        self, store: Store, clock: FixedClock
    ) -> None:
        both = [cron("0 3 * * *"), cron("0 15 * * *")]
        assert await store.schedules.schedule(both) == []
        clock.now = at(16)
        await queue(store, *both)
        assert await run(store) == at(15)
        assert await store.schedules.schedule(both) == []
        clock.now = at(4, day=6)
        await queue(store, *both)
        assert await run(store) == at(3, day=6)

    async def test_times_that_the_wall_clock_skips_or_repeats_have_one_run(
        self, store: Store, clock: FixedClock
    ) -> None:
        """Half past two in Berlin: skipped on 29 March, so at three; twice on 25 October, so the first time."""
        due = cron("30 2 * * *", "Europe/Berlin")
        days = {
            at(12, day=28, month=3): [at(1, day=29, month=3), at(0, 30, day=30, month=3)],
            at(12, day=24, month=10): [at(0, 30, day=25, month=10), at(1, 30, day=26, month=10)],
        }
        await known(store, clock, due)
        for noon, expected in days.items():
            clock.now = noon
            await queue(store, due)
            slots = [await run(store)]
            for _ in range(2 * 8):
                clock.advance(HOUR * 3)
                if await store.schedules.schedule([due]):
                    slots.append(await run(store))
            assert slots[1:] == expected

    async def test_schedulers_at_the_same_time_make_one_item_of_each_slot(
        self, store: Store, other: Store, clock: FixedClock
    ) -> None:
        dues = [cron(key=f"k{number}") for number in range(10)]
        clock.now = at(0, 30)
        both = [store, other] * 4
        assert sum(map(len, await asyncio.gather(*(one.schedules.schedule(dues) for one in both)))) == 0
        for hour in (1, 2):
            clock.now = at(hour)
            found = await asyncio.gather(*(one.schedules.schedule(dues) for one in both))
            assert sum(map(len, found)) == len(dues)
            for _ in dues:
                assert await run(store) == at(hour)
            assert await store.leases.claim(claimant()) is None

    async def test_a_scope_that_is_gone_is_passed_over_and_other_slots_are_queued(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        clock.now = at(0, 30)
        dues = [
            cron(key="a"), cron(key="gone", scope_id=uuid4()), cron(key="z", scope_id=scope),
            Due(item=request(key="by interval", by=None), when=HOUR),
        ]  # fmt: skip
        assert len(await store.schedules.schedule(dues)) == 1
        clock.now = at(1)
        assert len(await store.schedules.schedule(dues)) == 2
        assert [(await take(store)).dedup_key for _ in range(3)] == ["by interval", "a", "z"]

    async def test_retention_keeps_the_newest_slot_although_a_run_by_hand_finished_later(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock, cron("0 3 * * mon"))
        weekly = []
        for day in (5, 12):
            clock.now = at(3, day=day)
            weekly.append(await queue(store, due))
            await run(store)
        clock.now = at(9, day=12)
        by_hand = await put(store, request(key="k"))
        await run(store)
        clock.now = at(12, day=16)
        assert await store.retention.purge(older_than=DAY * 3, periodic_kinds=[ALPHA], limit=100) == 1
        assert {item.id for item in await store.inspector.items()} == {weekly[-1], by_hand}
        assert await store.schedules.schedule([due]) == []
        clock.now = at(3, day=19)
        await queue(store, due)
        await run(store)
        clock.advance(DAY * 4)
        assert await store.retention.purge(older_than=DAY * 3, periodic_kinds=[ALPHA], limit=100) == 2

    async def test_retention_takes_what_a_wrong_clock_wrote_and_keeps_the_newest_slot_before_it(
        self, store: Store, clock: FixedClock
    ) -> None:
        due = await known(store, clock, cron("0 1 * * mon"))
        clock.now = at(1) + DAY * 3650
        await queue(store, due)
        clock.now = at(0, 40)
        await run(store)
        clock.now = at(1)
        weekly = await queue(store, due)
        await run(store)
        by_hand = await put(store, request(key="k"))
        await run(store)
        clock.now = at(12, day=9)
        assert await store.retention.purge(older_than=DAY * 3, periodic_kinds=[ALPHA], limit=100) == 1
        assert {item.id for item in await store.inspector.items()} == {weekly, by_hand}
