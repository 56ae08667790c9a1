"""The contract of lists for admins: pages, tallies, and what stands in front of an item."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest

from treadle.domain.item import WorkItem
from treadle.domain.outcome import Cancelled, Failed, Outcome, Succeeded
from treadle.domain.status import Status
from treadle.ports.inspect import Count, ItemFilter
from treadle.ports.store import Store
from treadle.testing.clock import FixedClock
from treadle.testing.contract.harness import (
    ALPHA,
    BETA,
    NO_PROGRESS,
    SECOND,
    Contract,
    StoreHarness,
    look,
    put,
    request,
    started,
    take,
)

EVERY: list[list[Status]] = [
    [],
    *([status] for status in Status),
    [Status.QUEUED, Status.RUNNING],
    [Status.FAILED, Status.CANCELLED],
    list(Status),
]


class PagingContract(Contract):
    """Pages are bounded, and show every item once."""

    @pytest.mark.parametrize("statuses", EVERY, ids=lambda statuses: "+".join(statuses) or "any")
    @pytest.mark.parametrize("limit", [1, 2, 50])
    async def test_pages_show_each_item_of_a_status_once(
        self, store: Store, clock: FixedClock, statuses: list[Status], limit: int
    ) -> None:
        made = await _two_of_each_status(store, clock)
        # Ids of the same millisecond fall anyhow, so that the two orders differ now and then.
        made.sort(
            key=lambda item: (item.requested_at if statuses == [Status.QUEUED] else 0, item.id), reverse=True
        )
        wanted = [item.id for item in made if not statuses or item.status in statuses]
        for kind, expected in ((ALPHA, wanted), (BETA, [])):
            found = await _all(store, ItemFilter(statuses=statuses, kinds=[kind]), limit)
            assert [item.id for item in found] == expected
            assert found == [await look(store, item.id) for item in found]

    @pytest.mark.parametrize("statuses", EVERY, ids=lambda statuses: "+".join(statuses) or "any")
    async def test_pages_are_of_a_scope(
        self, harness: StoreHarness, store: Store, clock: FixedClock, statuses: list[Status]
    ) -> None:
        scope = uuid4()
        harness.add_scope(scope)
        made = await _two_of_each_status(store, clock, scope)
        for _ in range(3):
            await put(store)
        wanted = {item.id for item in made if not statuses or item.status in statuses}
        found = await _all(store, ItemFilter(statuses=statuses, scope_id=scope), 3)
        assert {item.id for item in found} == wanted

    async def test_nothing_is_repeated_or_skipped_while_items_move(
        self, store: Store, clock: FixedClock
    ) -> None:
        there = []
        for _ in range(9):
            there.append(await put(store))
            clock.advance(SECOND)
        seen = []
        page = await store.inspector.page(ItemFilter(), limit=2)
        for _ in itertools.count():
            seen += [item.id for item in page.items]
            if page.next is None:
                break
            await put(store)
            lease = await take(store)
            await store.leases.finish(lease, Succeeded(), NO_PROGRESS)
            page = await store.inspector.page(ItemFilter(), below=page.next, limit=2)
        assert seen == sorted(there, reverse=True)

    async def test_the_page_that_is_the_last_says_so(self, store: Store) -> None:
        assert (await store.inspector.page(ItemFilter())).next is None
        for _ in range(3):
            await put(store)
        page = await store.inspector.page(ItemFilter(), limit=4)
        assert (len(page.items), page.next, page.searched_to) == (3, None, None)

    async def test_the_tally_tells_each_status_exactly_while_there_are_few(
        self, store: Store, clock: FixedClock
    ) -> None:
        await _two_of_each_status(store, clock)
        await put(store)
        tally = await store.inspector.tally()
        assert dict(tally.counts) == {
            **dict.fromkeys(Status, Count(2, exact=True)),
            Status.QUEUED: Count(3, exact=True),
        }
        assert tally.as_of == clock.now

    async def test_the_tally_of_nothing_is_nothing(self, store: Store) -> None:
        assert dict((await store.inspector.tally()).counts) == dict.fromkeys(Status, Count(0, exact=True))

    async def test_what_stands_in_front_is_what_the_same_workers_take_first(
        self, harness: StoreHarness, store: Store, clock: FixedClock
    ) -> None:
        scope, other = uuid4(), uuid4()
        harness.add_scope(scope)
        harness.add_scope(other)
        for asked in (request(), request(BETA), request(scope_id=scope), request(scope_id=other), request()):
            await put(store, asked)
            clock.advance(SECOND)
        item = await look(store, await put(store))
        clock.advance(SECOND)
        await put(store)
        ahead = store.inspector.ahead
        assert await ahead(item, kinds=[ALPHA, BETA], scopes=None) == Count(5, exact=True)
        assert await ahead(item, kinds=[ALPHA], scopes=None) == Count(4, exact=True)
        assert await ahead(item, kinds=[ALPHA], scopes=[scope]) == Count(3, exact=True)
        assert await ahead(item, kinds=[ALPHA], scopes=[]) == Count(2, exact=True)
        await take(store)
        assert await ahead(item, kinds=[ALPHA], scopes=[]) == Count(1, exact=True)

    async def test_the_kinds_of_items_are_told_of_those_that_exist(self, store: Store) -> None:
        one, two = await put(store), await put(store, request(BETA))
        assert await store.inspector.kinds_of([one, two, uuid4()]) == {one: ALPHA, two: BETA}
        assert await store.inspector.kinds_of([]) == {}


async def _all(store: Store, wanted: ItemFilter, limit: int) -> Sequence[WorkItem]:
    found: list[WorkItem] = []
    page = await store.inspector.page(wanted, limit=limit)
    found += page.items
    while page.next is not None:
        page = await store.inspector.page(wanted, below=page.next, limit=limit)
        assert len(page.items) <= limit
        found += page.items
    return found


async def _two_of_each_status(store: Store, clock: FixedClock, scope: UUID | None = None) -> list[WorkItem]:
    """Of kind alpha; asked for a second apart."""
    made = []
    outcomes: list[Outcome] = [Succeeded({"n": 1}), Failed("no"), Cancelled()]
    for outcome in outcomes * 2:
        lease = await started(store, request(scope_id=scope))
        await store.leases.finish(lease, outcome, NO_PROGRESS)
        made.append(lease.item_id)
        clock.advance(SECOND)
    for _ in range(2):
        made.append((await started(store, request(scope_id=scope))).item_id)
        clock.advance(SECOND)
    for _ in range(2):
        made.append(await put(store, request(scope_id=scope)))
        clock.advance(SECOND)
    return [await look(store, item_id) for item_id in made]
