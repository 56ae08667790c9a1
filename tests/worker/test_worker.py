"""The worker with its real threads, signals and time, on the store in memory."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.worker.scripted import AsyncCopy, Copy, PlainCopy, registry
from treadle.domain.handler import Handler
from treadle.domain.item import WorkItem
from treadle.domain.registry import Registry
from treadle.domain.run import Run
from treadle.domain.schedule import Cron
from treadle.domain.status import Status
from treadle.errors import RegistryError, SettingsError
from treadle.memory import MemoryStore
from treadle.testing import FixedClock
from treadle.worker import Worker, WorkerSettings

QUICK = WorkerSettings(heartbeat=0.1, lease=0.6, poll=0.05, recovery_interval=0.05, schedule_interval=0.05)


async def enqueue(store: MemoryStore, kinds: Registry, files: int = 0, scope: UUID | None = None) -> UUID:
    # Distinct scopes give the items distinct dedup keys.
    queued = await store.queue.enqueue(kinds.new_item(Copy(files=files), scope_id=scope or uuid4()))
    return queued.id


async def ended(store: MemoryStore, item_id: UUID) -> WorkItem:
    while True:
        item = await store.inspector.item(item_id)
        assert item is not None
        if item.status.finished:
            return item
        await asyncio.sleep(0.01)


async def ready(worker: Worker) -> None:
    while not worker.health().ready:  # noqa: ASYNC110 - health is asked, it does not tell
        await asyncio.sleep(0.01)


async def carried_out(handler: Handler[Any]) -> WorkItem:
    """One item, run beside a second worker that would take it over as soon as its lease ran out."""
    store, kinds = MemoryStore(), registry(handler)
    item_id = await enqueue(store, kinds)
    worker = Worker(store, kinds, settings=QUICK)
    rival = Worker(MemoryStore(table=store.table), registry(PlainCopy(lambda *_: "stolen")), settings=QUICK)

    def rival_thread() -> None:
        asyncio.run(rival.run())

    thread = threading.Thread(target=rival_thread)
    running = asyncio.create_task(worker.run())
    while (item := await store.inspector.item(item_id)) is None or item.status is Status.QUEUED:  # noqa: ASYNC110 - the item is asked, it does not tell
        await asyncio.sleep(0.001)
    thread.start()
    item = await ended(store, item_id)
    worker.stop()
    rival.stop()
    await running
    await asyncio.to_thread(thread.join)
    return item


async def test_a_handler_is_told_the_slot_that_a_cron_schedule_asks_for() -> None:
    told: list[datetime | None] = []

    async def tell(payload: Copy, run: Run) -> None:
        told.append(run.slot)

    clock = FixedClock(datetime(2026, 3, 28, 12, tzinfo=UTC))
    store = MemoryStore(clock=clock)
    nightly = Cron(Copy(), "30 2 * * *", timezone="Europe/Berlin")
    kinds = registry(AsyncCopy(tell), [nightly])
    assert await store.schedules.schedule(kinds.due(nightly, [])) == []
    clock.advance(timedelta(days=1))
    worker = Worker(store, kinds, settings=QUICK)
    running = asyncio.create_task(worker.run())
    while not (items := await store.inspector.items()):  # noqa: ASYNC110 - the store is asked, it does not tell
        await asyncio.sleep(0.01)
    item = await ended(store, items[0].id)
    await ended(store, await enqueue(store, kinds))
    worker.stop()
    await running
    three = datetime(2026, 3, 29, 1, tzinfo=UTC)  # when the skipped time is over
    assert (item.slot, told) == (three, [three, None])


async def test_a_handler_that_blocks_the_event_loop_keeps_its_lease() -> None:
    async def block(payload: Copy, run: Run) -> str:
        time.sleep(4 * QUICK.lease)  # noqa: ASYNC251 - to block the loop is the point
        return "mine"

    item = await carried_out(AsyncCopy(block))
    assert (item.result, item.attempt, item.stalls) == ("mine", 1, 0)


async def test_a_plain_handler_in_a_busy_loop_keeps_its_lease() -> None:
    def spin(payload: Copy, run: Run) -> str:
        end = time.monotonic() + 4 * QUICK.lease
        while time.monotonic() < end:
            pass
        return "mine"

    item = await carried_out(PlainCopy(spin))
    assert (item.result, item.attempt, item.stalls) == ("mine", 1, 0)


def once_begun(begun: threading.Event) -> Handler[Any]:
    async def wait(payload: Copy, run: Run) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    return AsyncCopy(wait)


@pytest.mark.parametrize("stop_signal", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_hands_running_items_back_and_the_old_handlers_return(
    stop_signal: signal.Signals,
) -> None:
    before = signal.getsignal(stop_signal)
    begun = threading.Event()
    store, kinds = MemoryStore(), registry(once_begun(begun))
    item_id = await enqueue(store, kinds)
    running = asyncio.create_task(Worker(store, kinds, settings=QUICK).run())
    await asyncio.to_thread(begun.wait)
    os.kill(os.getpid(), stop_signal)
    await running
    item = await store.inspector.item(item_id)
    assert item is not None
    assert (item.status, item.attempt, item.stalls) == (Status.QUEUED, 1, 0)
    assert signal.getsignal(stop_signal) is before


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("style", [PlainCopy, AsyncCopy])
async def test_a_child_that_a_handler_forks_has_its_signals_to_itself(
    style: type[PlainCopy | AsyncCopy],
) -> None:
    def fork(payload: Copy, run: Run) -> list[object]:
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        child.start()
        child.terminate()
        child.join(10)
        try:
            return [child.exitcode, run.stopping]
        finally:
            child.kill()

    async def fork_on_the_loop(payload: Copy, run: Run) -> list[object]:
        return fork(payload, run)

    store = MemoryStore()
    kinds = registry(PlainCopy(fork) if style is PlainCopy else AsyncCopy(fork_on_the_loop))
    worker = Worker(store, kinds, settings=QUICK)
    running = asyncio.create_task(worker.run())
    for _ in range(2):
        item = await ended(store, await enqueue(store, kinds))
        assert item.result == [-signal.SIGTERM, False]
    worker.stop()
    await running


async def test_other_signals_of_the_host_still_reach_its_loop() -> None:
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, heard.set)
    try:
        worker = Worker(MemoryStore(), registry(PlainCopy(lambda *_: None)), settings=QUICK)
        running = asyncio.create_task(worker.run())
        await ready(worker)
        os.kill(os.getpid(), signal.SIGUSR1)
        await heard.wait()
        worker.stop()
        await running
        heard.clear()
        os.kill(os.getpid(), signal.SIGUSR1)
        await heard.wait()
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)


async def test_a_loop_that_begins_to_hear_signals_beside_the_worker_does_not_make_it_deaf() -> None:
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    worker = Worker(MemoryStore(), registry(PlainCopy(lambda *_: None)), settings=QUICK)
    running = asyncio.create_task(worker.run())
    await ready(worker)
    loop.add_signal_handler(signal.SIGUSR1, heard.set)
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        await running
        os.kill(os.getpid(), signal.SIGUSR1)
        await heard.wait()
    finally:
        loop.remove_signal_handler(signal.SIGUSR1)


async def test_without_signal_handling_the_hosts_own_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    kinds = registry(PlainCopy(lambda *_: None))
    worker = Worker(MemoryStore(), kinds, settings=QUICK, handle_signals=False)
    running = asyncio.create_task(worker.run())
    await ready(worker)
    assert signal.getsignal(signal.SIGTERM) is before
    worker.stop()
    await running


async def test_cancelling_run_stops_gracefully_and_is_passed_on() -> None:
    begun = threading.Event()
    store, kinds = MemoryStore(), registry(once_begun(begun))
    item_id = await enqueue(store, kinds)
    running = asyncio.create_task(Worker(store, kinds, settings=QUICK).run())
    await asyncio.to_thread(begun.wait)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    item = await store.inspector.item(item_id)
    assert item is not None
    assert (item.status, item.stalls) == (Status.QUEUED, 0)


async def test_a_worker_that_was_stopped_before_it_ran_returns_at_once() -> None:
    worker = Worker(MemoryStore(), registry(PlainCopy(lambda *_: None)))
    worker.stop()
    await worker.run()
    assert worker.health().stopping


async def test_a_worker_runs_once() -> None:
    worker = Worker(MemoryStore(), registry(PlainCopy(lambda *_: None)))
    worker.stop()
    await worker.run()
    with pytest.raises(RuntimeError, match="make a new one"):
        await worker.run()


async def test_starting_and_stopping_at_any_moment_leaves_no_thread_and_loses_no_item() -> None:
    done: list[int] = []
    store, kinds = MemoryStore(), registry(PlainCopy(lambda payload, _: done.append(payload.files)))
    ids = [await enqueue(store, kinds, number) for number in range(200)]
    before = threading.active_count()
    for moment in range(40):
        worker = Worker(store, kinds, settings=QUICK)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(moment * 0.001)
        worker.stop()
        await running
        assert threading.active_count() == before
    items = [await store.inspector.item(item_id) for item_id in ids]
    assert {item.status for item in items if item} <= {Status.SUCCEEDED, Status.QUEUED}
    assert len(done) == len({item.id for item in items if item and item.status is Status.SUCCEEDED})


async def test_waking_an_idle_worker_spares_the_poll() -> None:
    store, kinds = MemoryStore(), registry(PlainCopy(lambda *_: "done"))
    worker = Worker(store, kinds, settings=WorkerSettings(poll=3600, recovery_interval=3600))
    running = asyncio.create_task(worker.run())
    await ready(worker)
    item_id = await enqueue(store, kinds)
    worker.wake()
    assert (await ended(store, item_id)).result == "done"
    worker.stop()
    await running


async def test_scopes_follow_what_the_host_says_and_the_host_is_asked_on_its_own_loop() -> None:
    mine, other = uuid4(), uuid4()
    served: frozenset[UUID] = frozenset({mine})
    loops: set[asyncio.AbstractEventLoop] = set()

    async def serves() -> frozenset[UUID]:
        loops.add(asyncio.get_running_loop())
        return served

    store, kinds = MemoryStore(), registry(PlainCopy(lambda *_: None))
    first = await enqueue(store, kinds, scope=mine)
    second = await enqueue(store, kinds, scope=other)
    worker = Worker(store, kinds, serves=serves, settings=QUICK)
    running = asyncio.create_task(worker.run())
    await ended(store, first)
    waiting = await store.inspector.item(second)
    assert waiting is not None
    assert waiting.status is Status.QUEUED
    served = frozenset({other})
    await ended(store, second)
    assert loops == {asyncio.get_running_loop()}
    worker.stop()
    await running


async def test_two_workers_of_one_name_are_told_apart() -> None:
    kinds = registry(PlainCopy(lambda *_: None))
    names = {Worker(MemoryStore(), kinds, claimed_by="ann@nas").claimed_by for _ in range(10)}
    assert len(names) == 10
    assert all(name.startswith("ann@nas#") for name in names)


def test_a_registry_without_handlers_or_scopes_of_another_type_are_refused() -> None:
    kinds = registry(PlainCopy(lambda *_: None))
    without = Registry(type(Copy.kind), payloads=[Copy])
    with pytest.raises(RegistryError, match="needs a registry with handlers"):
        Worker(MemoryStore(), without)
    refused: Any = [uuid4()]
    with pytest.raises(SettingsError, match="serves must be a frozenset"):
        Worker(MemoryStore(), kinds, serves=refused)
