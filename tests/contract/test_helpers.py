"""The helpers for users' tests, and what the memory store promises beyond the contract."""

import asyncio
import re
import threading
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID, uuid4

import pytest

from treadle import Payload, Registry, WorkQueue
from treadle.domain.item import Claimant, NewItem, Progress
from treadle.domain.outcome import Succeeded
from treadle.memory import Table
from treadle.testing import FixedClock, MemoryStore, assert_nothing_queued, assert_queued


class Kind(StrEnum):
    RESIZE = "resize"
    MOVE = "move"


class Resize(Payload, kind=Kind.RESIZE):
    photo: int


class Move(Payload, kind=Kind.MOVE):
    photo: int


REGISTRY = Registry(Kind, payloads=[Resize, Move])


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


async def test_a_queued_payload_is_found_with_its_request(store: MemoryStore) -> None:
    scope = uuid4()
    queue = WorkQueue(REGISTRY, store.queue)
    await queue.enqueue(Resize(photo=7), scope=scope, requested_by="ada")
    found = assert_queued(store, Resize(photo=7), scope=scope)
    assert (found.kind, found.scope_id, found.requested_by) == ("resize", scope, "ada")
    assert assert_queued(store, Resize(photo=7), scope=scope, requested_by="ada") == found


@pytest.mark.parametrize(
    ("payload", "scope", "requested_by"),
    [
        (Resize(photo=8), None, "ada"),
        (Move(photo=7), None, "ada"),
        (Resize(photo=7), UUID(int=1), "ada"),
        (Resize(photo=7), None, "grace"),
        (Resize(photo=7), None, None),
    ],
    ids=["another payload", "another kind", "another scope", "another requester", "the scheduler"],
)
async def test_a_payload_that_was_not_asked_for_like_that_is_missed_with_a_list_of_what_is_queued(
    store: MemoryStore, payload: Resize | Move, scope: UUID | None, requested_by: str | None
) -> None:
    await WorkQueue(REGISTRY, store.queue).enqueue(Resize(photo=7), requested_by="ada")
    listed = re.escape('queued is:\n  resize {"photo":7}, scope None, by ada')
    with pytest.raises(AssertionError, match=listed):
        assert_queued(store, payload, scope=scope, requested_by=requested_by)


async def test_a_payload_that_was_asked_for_twice_is_not_queued_once(store: MemoryStore) -> None:
    queue = WorkQueue(REGISTRY, store.queue)
    for _ in range(2):
        await queue.enqueue(Resize(photo=7))
    with pytest.raises(AssertionError, match="queued 2 times"):
        assert_queued(store, Resize(photo=7))


async def test_a_payload_that_no_longer_decodes_is_no_match(store: MemoryStore) -> None:
    await store.queue.enqueue(NewItem(kind="resize", payload='{"foto": 7}'))
    with pytest.raises(AssertionError, match="queued 0 times"):
        assert_queued(store, Resize(photo=7))


async def test_nothing_queued_is_told_from_something(store: MemoryStore) -> None:
    assert_nothing_queued(store)
    await WorkQueue(REGISTRY, store.queue).enqueue(Resize(photo=7))
    with pytest.raises(AssertionError, match="by the scheduler"):
        assert_nothing_queued(store)


async def test_without_a_clock_times_are_now(store: MemoryStore) -> None:
    before = datetime.now(UTC)
    await WorkQueue(REGISTRY, store.queue).enqueue(Resize(photo=7))
    (item,) = await store.inspector.items()
    assert before <= item.requested_at <= datetime.now(UTC)


async def test_ids_follow_the_order_of_the_requests_even_at_one_instant() -> None:
    store = MemoryStore(clock=FixedClock())
    queue = WorkQueue(REGISTRY, store.queue)
    ids = [(await queue.enqueue(Resize(photo=number))).id for number in range(100)]
    assert ids == sorted(ids)
    assert {(item_id.version, item_id.variant) for item_id in ids} == {(7, "specified in RFC 4122")}


async def test_what_a_reader_does_to_a_result_changes_no_other_readers(store: MemoryStore) -> None:
    await WorkQueue(REGISTRY, store.queue).enqueue(Resize(photo=7))
    lease = await store.leases.claim(_claimant("one"))
    assert lease is not None
    await store.leases.finish(lease, Succeeded({"list": [1]}), Progress())
    (item,) = await store.inspector.items()
    assert isinstance(item.result, dict)
    item.result.clear()
    (again,) = await store.inspector.items()
    assert again.result == {"list": [1]}


def test_threads_with_loops_of_their_own_share_a_table_and_take_each_item_once() -> None:
    table = Table()
    taken: list[list[UUID]] = [[] for _ in range(4)]
    start = threading.Barrier(4)

    async def work(mine: list[UUID]) -> None:
        store = MemoryStore(table=table)
        start.wait()
        for number in range(50):
            await store.queue.enqueue(NewItem(kind="resize", payload=f'{{"photo": {number}}}'))
            if (lease := await store.leases.claim(_claimant("one"))) is not None:
                mine.append(lease.item_id)

    threads = [threading.Thread(target=asyncio.run, args=[work(mine)]) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    flat = [item_id for mine in taken for item_id in mine]
    assert len(flat) == len(set(flat)) == 200


def test_a_table_has_its_own_clock() -> None:
    with pytest.raises(ValueError, match="not both"):
        MemoryStore(clock=FixedClock(), table=Table())


def test_a_clock_stands_still_until_it_is_moved_and_never_goes_back() -> None:
    clock = FixedClock(datetime(2026, 3, 1, tzinfo=UTC))
    assert clock() == clock() == datetime(2026, 3, 1, tzinfo=UTC)
    assert clock.advance(timedelta(hours=1)) == clock() == datetime(2026, 3, 1, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(timedelta(seconds=-1))
    with pytest.raises(ValueError, match="aware"):
        FixedClock(datetime(2026, 3, 1))  # noqa: DTZ001 - a naive one is what is refused


def _claimant(name: str) -> Claimant:
    return Claimant(claimed_by=name, kinds=frozenset({"resize"}), scopes=None, lease=timedelta(seconds=60))
