import asyncio
import logging
from collections import deque
from collections.abc import Callable

import pytest

from tests.worker.virtual_time import in_virtual_time, now
from treadle.errors import SchemaMismatch
from treadle.worker.loop import Loop, Service


class Passes:
    """Each pass does the next of *script*: raises it, or waits so many seconds; afterwards all go well."""

    name = "passes"
    busy = False

    def __init__(self, *script: BaseException, wait: float = 1.0) -> None:
        self.script = deque(script)
        self.wait = wait
        self.at: list[float] = []

    async def run_once(self) -> float:
        self.at.append(now())
        if self.script:
            raise self.script.popleft()
        return self.wait


def begin(
    service: Service,
    *,
    patience: float = 30,
    backoff_cap: float = 30,
    hopeless: Callable[[SchemaMismatch], object] = print,
) -> tuple[Loop, asyncio.Task[None]]:
    clock = asyncio.get_running_loop().time
    loop = Loop(service, clock=clock, patience=patience, backoff_cap=backoff_cap, hopeless=hopeless)
    return loop, asyncio.create_task(loop.run())


async def end(loop: Loop, task: asyncio.Task[None]) -> None:
    loop.stop()
    await task


@in_virtual_time
async def test_passes_follow_each_other_at_the_interval_with_some_jitter() -> None:
    service = Passes(wait=10)
    loop, task = begin(service)
    await asyncio.sleep(1000)
    await end(loop, task)
    waits = [later - earlier for earlier, later in zip(service.at, service.at[1:], strict=False)]
    assert 9 <= min(waits) <= max(waits) <= 11
    assert len({round(wait, 6) for wait in waits}) > 50


@in_virtual_time
@pytest.mark.parametrize(
    "error", [OSError("gone"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), MemoryError()]
)
async def test_no_exception_ends_a_loop_and_it_recovers_by_itself(error: BaseException) -> None:
    service = Passes(error, wait=1)
    loop, task = begin(service)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert loop.health().failures == 1
    assert loop.health().last_error == type(error).__name__
    await asyncio.sleep(5)
    assert loop.health().failures == 0
    assert len(service.at) > 3
    await end(loop, task)


@in_virtual_time
async def test_the_backoff_grows_to_its_cap_and_no_further() -> None:
    service = Passes(*[OSError("gone")] * 400)
    loop, task = begin(service, backoff_cap=8)
    await asyncio.sleep(1000)
    waits = [later - earlier for earlier, later in zip(service.at, service.at[1:], strict=False)]
    assert max(waits[:1]) <= 0.5
    assert max(waits[:3]) <= 2
    assert 4 < max(waits) <= 8
    assert min(waits[10:]) < 2, "full jitter: some waits are short"
    await end(loop, task)


@in_virtual_time
async def test_one_outage_is_logged_with_one_traceback(caplog: pytest.LogCaptureFixture) -> None:
    loop, task = begin(Passes(*[OSError("gone")] * 5))
    with caplog.at_level(logging.INFO):
        await asyncio.sleep(100)
    await end(loop, task)
    records = [record for record in caplog.records if record.name == "treadle.worker"]
    assert [record.__dict__["event"] for record in records] == [*["loop_failed"] * 5, "loop_recovered"]
    assert [bool(record.exc_info) for record in records] == [True, *[False] * 5]
    assert all("passes" in record.getMessage() for record in records)


@in_virtual_time
async def test_health_turns_bad_when_no_pass_has_succeeded_for_long() -> None:
    service = Passes()
    loop, task = begin(service, patience=30)
    assert not loop.health().well, "not before the first success"
    await asyncio.sleep(5)
    assert loop.health().well
    service.script.extend([OSError("gone")] * 1000)
    await asyncio.sleep(20)
    assert loop.health().well
    await asyncio.sleep(20)
    assert not loop.health().well
    service.script.clear()
    await asyncio.sleep(31)
    assert loop.health().well
    await end(loop, task)


@in_virtual_time
async def test_health_turns_bad_when_a_pass_hangs() -> None:
    class Hanging(Passes):
        async def run_once(self) -> float:
            await super().run_once()
            await asyncio.sleep(1000)
            return 1

    loop, task = begin(Hanging(), patience=30)
    await asyncio.sleep(100)
    assert not loop.health().well
    loop.stop()
    await task


@in_virtual_time
async def test_a_poke_ends_the_wait() -> None:
    service = Passes(wait=100)
    loop, task = begin(service)
    await asyncio.sleep(5)
    assert loop.poke()
    await asyncio.sleep(0.001)
    assert service.at == [0, 5]
    await end(loop, task)


@in_virtual_time
async def test_a_poke_during_a_pass_is_not_lost() -> None:
    class Slow(Passes):
        async def run_once(self) -> float:
            wait = await super().run_once()
            await asyncio.sleep(3)
            return wait

    service = Slow(wait=100)
    loop, task = begin(service)
    await asyncio.sleep(1)
    assert not loop.poke()
    await asyncio.sleep(3)
    assert service.at == [0, 3]
    loop.stop()
    await task


@in_virtual_time
async def test_a_stop_lets_the_pass_under_way_end_and_begins_no_other() -> None:
    ended: list[float] = []

    class Slow(Passes):
        async def run_once(self) -> float:
            await super().run_once()
            await asyncio.sleep(3)
            ended.append(now())
            return 0

    service = Slow()
    loop, task = begin(service)
    await asyncio.sleep(1)
    loop.stop()
    await task
    assert service.at == [0]
    assert ended == [3]


@in_virtual_time
async def test_a_loop_can_be_started_and_stopped_at_any_moment() -> None:
    for moment in range(200):
        service = Passes(OSError("gone"), wait=0.005 * (1 + moment % 3))
        loop, task = begin(service)
        await asyncio.sleep(moment * 0.001)
        loop.stop()
        await asyncio.wait_for(task, 1)
        count = len(service.at)
        await asyncio.sleep(1)
        assert len(service.at) == count


@in_virtual_time
async def test_cancelling_its_task_ends_a_loop() -> None:
    class Hanging(Passes):
        async def run_once(self) -> float:
            await asyncio.sleep(1000)
            return 1

    _, task = begin(Hanging())
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@in_virtual_time
async def test_a_schema_that_does_not_fit_is_told_and_is_no_reason_to_end_the_loop_by_itself() -> None:
    mismatch = SchemaMismatch("run `treadle migrate`")
    told: list[SchemaMismatch] = []
    loop, task = begin(Passes(mismatch), hopeless=told.append)
    await asyncio.sleep(5)
    assert told == [mismatch]
    assert not task.done()
    await end(loop, task)


@in_virtual_time
async def test_a_schema_that_does_not_fit_is_told_because_no_further_pass_can_mend_it() -> None:
    told: list[SchemaMismatch] = []
    mismatch = SchemaMismatch("newer")
    loop, task = begin(Passes(mismatch), hopeless=told.append)
    await asyncio.sleep(0)
    await end(loop, task)
    assert told == [mismatch]
