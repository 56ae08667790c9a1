import asyncio
import logging
from typing import Any

import pytest

from tests.worker.scripted import AsyncCopy, Copy, ScriptedStore, executor, lease, shop
from tests.worker.virtual_time import in_virtual_time, now
from treadle.domain.item import Lease
from treadle.domain.outcome import Cancelled, Failed, Outcome, StopReason, Succeeded
from treadle.domain.run import Run
from treadle.errors import StoreUnavailable
from treadle.ports.lease import Beat, Finished
from treadle.worker.executor import Executor


def outcomes(store: ScriptedStore) -> list[Outcome]:
    return [call.about[1] for call in store.asked("finish")]


async def at_once(payload: Copy, run: Run) -> object:
    return {"files": payload.files}


async def until_stopped(payload: Copy, run: Run) -> object:
    await asyncio.sleep(10_000)
    return None


@in_virtual_time
async def test_what_the_handler_returns_is_the_result_of_a_succeeded_item() -> None:
    store = ScriptedStore(lease(files=3))
    await executor(store, AsyncCopy(at_once)).run_once()
    assert outcomes(store) == [Succeeded({"files": 3})]


@in_virtual_time
async def test_the_handler_gets_the_typed_payload_and_its_item_and_attempt() -> None:
    seen: list[Any] = []

    async def look(payload: Copy, run: Run) -> None:
        seen.extend([payload, run.item_id, run.attempt])

    item = lease(files=3, attempt=4)
    await executor(ScriptedStore(item), AsyncCopy(look)).run_once()
    assert seen == [Copy(files=3), item.item_id, 4]


@in_virtual_time
async def test_an_exception_fails_the_item_with_its_error_and_is_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(payload: Copy, run: Run) -> None:
        run.progress(done=2, total=5)
        raise ValueError("no such album")

    item = lease()
    store = ScriptedStore(item)
    await executor(store, AsyncCopy(fail)).run_once()
    assert outcomes(store) == [Failed("ValueError: no such album")]
    (finish,) = store.asked("finish")
    assert finish.progress is not None
    assert (finish.progress.done, finish.progress.total) == (2, 5)
    (record,) = [record for record in caplog.records if record.__dict__["event"] == "handler_raised"]
    assert record.getMessage().count("Traceback (most recent call last):\n") == 1
    assert "in fail\n" in record.getMessage()
    assert record.levelno == logging.ERROR
    assert (record.__dict__["item"], record.__dict__["attempt"]) == (str(item.item_id), 1)


@in_virtual_time
async def test_a_payload_that_no_longer_decodes_fails_its_item_and_runs_nothing() -> None:
    ran: list[Copy] = []

    async def keep(payload: Copy, run: Run) -> None:
        ran.append(payload)

    store = ScriptedStore(lease(payload='{"files": "many", "secret": "s3"}'))
    await executor(store, AsyncCopy(keep)).run_once()
    (outcome,) = outcomes(store)
    assert isinstance(outcome, Failed)
    assert outcome.error.startswith("the payload no longer decodes: ")
    assert "s3" not in outcome.error
    assert ran == []


@in_virtual_time
@pytest.mark.parametrize("result", [float("nan"), "\x00", "\ud800", "x" * 1_000_001, object()])
async def test_a_result_that_cannot_be_stored_still_ends_the_item(result: object) -> None:
    async def give(payload: Copy, run: Run) -> object:
        return result

    store = ScriptedStore(lease())
    await executor(store, AsyncCopy(give)).run_once()
    (outcome,) = outcomes(store)
    assert isinstance(outcome, Failed)


@in_virtual_time
async def test_a_long_item_is_kept_by_heartbeats_that_end_before_its_finish() -> None:
    async def work(payload: Copy, run: Run) -> None:
        await asyncio.sleep(7)

    store = ScriptedStore(lease())
    await executor(store, AsyncCopy(work)).run_once()
    await asyncio.sleep(100)
    assert store.verbs() == ["claim", "heartbeat", "heartbeat", "heartbeat", "finish"]


@in_virtual_time
async def test_fenced_off_the_handler_is_cancelled_and_nothing_is_written() -> None:
    cancelled_at: list[float] = []

    async def work(payload: Copy, run: Run) -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            cancelled_at.append(now())
            raise

    store = ScriptedStore(lease())
    store.script["heartbeat"].append(None)
    await executor(store, AsyncCopy(work)).run_once()
    assert cancelled_at == [2]
    assert store.verbs() == ["claim", "heartbeat"]


@in_virtual_time
async def test_a_fenced_handler_keeps_its_executor_busy_until_it_has_ended() -> None:
    async def stubborn(payload: Copy, run: Run) -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            await asyncio.sleep(50)

    store = ScriptedStore(lease(), lease())
    store.script["heartbeat"].append(None)
    worker = executor(store, AsyncCopy(stubborn))
    run = asyncio.create_task(worker.run_once())
    await asyncio.sleep(40)
    assert worker.busy
    assert len(store.waiting) == 1
    await asyncio.sleep(15)
    await run
    assert store.verbs() == ["claim", "heartbeat"]


@in_virtual_time
async def test_a_cancel_request_cancels_the_handler_and_keeps_what_it_hands_back_as_partial() -> None:
    async def work(payload: Copy, run: Run) -> object:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            return run.partial({"copied": 7})
        return None

    store = ScriptedStore(lease())
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    await executor(store, AsyncCopy(work)).run_once()
    assert outcomes(store) == [Cancelled({"copied": 7})]
    assert now() == pytest.approx(2)


@in_virtual_time
async def test_a_cancelled_handler_that_hands_nothing_back_ends_cancelled_without_a_result() -> None:
    store = ScriptedStore(lease())
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    await executor(store, AsyncCopy(until_stopped)).run_once()
    assert outcomes(store) == [Cancelled(None)]


@in_virtual_time
async def test_a_delivered_cancel_wins_over_a_handler_that_runs_to_its_end() -> None:
    async def deaf(payload: Copy, run: Run) -> object:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(1000)
        return "all of it"

    store = ScriptedStore(lease())
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    await executor(store, AsyncCopy(deaf)).run_once()
    assert outcomes(store) == [Cancelled("all of it")]


@in_virtual_time
async def test_after_a_cancel_request_the_executor_waits_for_the_handler_to_end() -> None:
    async def slow(payload: Copy, run: Run) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(30)

    store = ScriptedStore(lease(), lease())
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    task = asyncio.create_task(executor(store, AsyncCopy(slow)).run_once())
    await asyncio.sleep(31)
    assert "finish" not in store.verbs()
    assert len(store.asked("heartbeat")) == 15
    task.cancel()
    await asyncio.wait({task})


@in_virtual_time
async def test_a_shutdown_hands_the_item_back_and_does_not_fail_it() -> None:
    store = ScriptedStore(lease(), lease())
    common = shop(store, AsyncCopy(until_stopped))
    task = asyncio.create_task(Executor(1, common).run_once())
    await store.until("claim")
    await asyncio.sleep(1)
    common.stopping = True
    for holding in common.held.values():
        holding.stop(StopReason.SHUTDOWN)
    await task
    assert store.verbs() == ["claim", "release"]


@in_virtual_time
async def test_a_handler_that_ends_during_a_shutdown_has_succeeded_and_no_next_item_is_claimed() -> None:
    async def short(payload: Copy, run: Run) -> str:
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(1000)
        return "done"

    store = ScriptedStore(lease(), lease())
    common = shop(store, AsyncCopy(short))
    task = asyncio.create_task(Executor(1, common).run_once())
    await store.until("claim")
    await asyncio.sleep(1)
    common.stopping = True
    for holding in common.held.values():
        holding.stop(StopReason.SHUTDOWN)
    await task
    assert outcomes(store) == [Succeeded("done")]
    assert len(store.waiting) == 1


@in_virtual_time
async def test_an_item_claimed_while_the_stop_came_is_handed_back_unstarted() -> None:
    started: list[Copy] = []

    async def work(payload: Copy, run: Run) -> None:
        started.append(payload)

    class Slow(ScriptedStore):
        async def claim(self, *args: Any) -> Lease | None:
            answer = await super().claim(*args)
            await asyncio.sleep(1)
            return answer

    store = Slow(lease())
    common = shop(store, AsyncCopy(work))
    task = asyncio.create_task(Executor(1, common).run_once())
    await store.until("claim")
    common.stopping = True
    await task
    assert store.verbs() == ["claim", "release"]
    assert started == []


@in_virtual_time
async def test_items_run_one_at_a_time_and_the_next_is_claimed_with_the_finish() -> None:
    running = 0
    most = 0
    order: list[int] = []

    async def work(payload: Copy, run: Run) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        order.append(payload.files)
        await asyncio.sleep(1)
        running -= 1

    store = ScriptedStore(*(lease(files=number) for number in range(5)))
    await executor(store, AsyncCopy(work)).run_once()
    assert most == 1
    assert order == [0, 1, 2, 3, 4]
    assert store.verbs() == ["claim", *["finish"] * 5]


@in_virtual_time
async def test_a_refused_finish_is_logged_as_fenced_and_the_executor_carries_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = ScriptedStore(lease(), lease())
    store.script["finish"].append(Finished(accepted=False))
    worker = executor(store, AsyncCopy(at_once))
    with caplog.at_level(logging.INFO):
        await worker.run_once()
        await worker.run_once()
    assert store.verbs() == ["claim", "finish", "claim", "finish"]
    events = [record.__dict__["event"] for record in caplog.records]
    assert events == ["claimed", "fenced", "claimed", "ended"]


@in_virtual_time
async def test_an_empty_queue_is_asked_again_after_the_poll_interval() -> None:
    store = ScriptedStore()
    assert await executor(store, AsyncCopy(at_once), poll=3.0).run_once() == 3.0


@in_virtual_time
async def test_a_claim_names_the_kinds_of_the_registry_and_the_lease() -> None:
    store = ScriptedStore()
    await executor(store, AsyncCopy(at_once), lease=30.0).run_once()
    (claimant,) = store.claimants
    assert claimant.kinds == {"copy"}
    assert claimant.lease.total_seconds() == 30


@in_virtual_time
async def test_executors_of_one_worker_do_not_all_poll_an_empty_queue() -> None:
    store = ScriptedStore()
    common = shop(store, AsyncCopy(at_once))
    for number in range(10):
        await Executor(number, common).run_once()
    assert store.verbs() == ["claim"]


@in_virtual_time
async def test_a_lease_that_was_over_before_its_claim_was_read_is_not_started() -> None:
    store = ScriptedStore()

    class Suspended(ScriptedStore):
        async def claim(self, *args: Any) -> Lease | None:
            await asyncio.sleep(300)
            return lease()

    started: list[Copy] = []

    async def work(payload: Copy, run: Run) -> None:
        started.append(payload)

    store = Suspended()
    await executor(store, AsyncCopy(work)).run_once()
    assert started == []
    assert store.verbs() == []


@in_virtual_time
async def test_a_failed_claim_is_the_loops_to_repeat() -> None:
    store = ScriptedStore(lease())
    store.script["claim"].append(StoreUnavailable("gone"))
    worker = executor(store, AsyncCopy(at_once))
    with pytest.raises(StoreUnavailable):
        await worker.run_once()
    assert not worker.busy
    await worker.run_once()
    assert outcomes(store) == [Succeeded({"files": 0})]
