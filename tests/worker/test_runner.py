import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.worker.scripted import AsyncCopy, Copy, PlainCopy
from treadle.domain.handler import Handler
from treadle.domain.outcome import Ending, HandedBack, Raised, Returned, StopReason
from treadle.domain.run import Run, Stopped
from treadle.worker.host import Host
from treadle.worker.runner import Execution


def begin(handler: Handler[Any], run: Run | None = None) -> tuple[Execution, Run]:
    run = run or Run(uuid4(), 1)
    execution = Execution(handler, Copy, run, Host(asyncio.get_running_loop()))
    execution.start()
    return execution, run


async def ending_of(handler: Handler[Any]) -> Ending:
    execution, _ = begin(handler)
    return await execution.ended


def stop(execution: Execution, run: Run) -> None:
    run.stop(StopReason.CANCEL)
    execution.cancel()


async def test_an_async_handler_runs_on_the_hosts_loop_and_a_plain_one_in_a_thread_of_its_own() -> None:
    seen: list[object] = []

    async def where(payload: Copy, run: Run) -> None:
        seen.extend([asyncio.get_running_loop(), threading.current_thread()])

    assert await ending_of(AsyncCopy(where)) == Returned(None)
    assert seen == [asyncio.get_running_loop(), threading.current_thread()]
    threads: list[threading.Thread] = []
    await ending_of(PlainCopy(lambda *_: threads.append(threading.current_thread())))
    (thread,) = threads
    assert thread is not threading.current_thread()
    assert thread.daemon


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("x"), "ValueError: x"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (MemoryError(), "MemoryError"),
    ],
)
async def test_whatever_a_handler_raises_is_its_ending_and_no_more(error: BaseException, said: str) -> None:
    async def fail(payload: Copy, run: Run) -> None:
        raise error

    def fail_plainly(payload: Copy, run: Run) -> None:
        raise error

    assert await ending_of(AsyncCopy(fail)) == Raised(said)
    assert await ending_of(PlainCopy(fail_plainly)) == Raised(said)


async def test_a_partial_result_is_handed_back() -> None:
    async def part(payload: Copy, run: Run) -> object:
        return run.partial(3)

    assert await ending_of(AsyncCopy(part)) == HandedBack(3)
    assert await ending_of(PlainCopy(lambda _, run: run.partial(3))) == HandedBack(3)


async def test_an_async_handler_told_to_stop_is_cancelled_at_its_await() -> None:
    async def wait(payload: Copy, run: Run) -> None:
        await asyncio.get_running_loop().create_future()

    execution, run = begin(AsyncCopy(wait))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stop(execution, run)
    assert await execution.ended == HandedBack(None)


async def test_an_async_handler_told_to_stop_before_its_first_step_never_starts() -> None:
    started: list[Copy] = []

    async def start(payload: Copy, run: Run) -> None:
        started.append(payload)

    execution, run = begin(AsyncCopy(start))
    stop(execution, run)
    assert await execution.ended == HandedBack(None)
    assert started == []


async def test_a_plain_handler_told_to_stop_leaves_by_its_check() -> None:
    begun = threading.Event()

    def work(payload: Copy, run: Run) -> None:
        begun.set()
        assert run.wait(30)
        run.check()

    execution, run = begin(PlainCopy(work))
    await asyncio.to_thread(begun.wait)
    stop(execution, run)
    assert await execution.ended == HandedBack(None)


async def test_a_cancellation_that_is_not_the_workers_fails_the_item_with_a_clear_error() -> None:
    async def cancels_itself(payload: Copy, run: Run) -> None:
        raise asyncio.CancelledError

    ending = await ending_of(AsyncCopy(cancels_itself))
    assert isinstance(ending, Raised)
    assert ending.error == "CancelledError: the handler's own code cancelled it, not the worker"
    assert "in cancels_itself" in ending.traceback


async def test_leaving_as_if_stopped_although_nobody_said_so_is_an_error() -> None:
    async def leaves(payload: Copy, run: Run) -> None:
        raise Stopped

    ending = await ending_of(AsyncCopy(leaves))
    assert isinstance(ending, Raised)


async def test_a_plain_function_around_an_async_one_works_as_the_async_one() -> None:
    def logged(
        function: Callable[..., Coroutine[Any, Any, object]],
    ) -> Callable[..., Coroutine[Any, Any, object]]:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Coroutine[Any, Any, object]:
            return function(*args)

        return wrapper

    loops: list[object] = []

    class Decorated(Handler[Copy]):
        @logged
        async def run(self, payload: Copy, run: Run) -> object:
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return "done"

    assert await ending_of(Decorated()) == Returned("done")
    assert loops == [asyncio.get_running_loop()]


async def test_a_handler_that_yields_is_refused_with_a_clear_error() -> None:
    class Yields(Handler[Copy]):
        def run(self, payload: Copy, run: Run) -> Iterator[int]:
            yield 1

    class YieldsAsync(Handler[Copy]):
        async def run(self, payload: Copy, run: Run) -> AsyncIterator[int]:
            yield 1

    for handler in (Yields(), YieldsAsync()):
        ending = await ending_of(handler)
        assert isinstance(ending, Raised)
        assert "must return its result" in ending.error


async def test_a_payload_is_decoded_where_the_handler_runs() -> None:
    threads: list[threading.Thread] = []

    def decode() -> Copy:
        threads.append(threading.current_thread())
        return Copy()

    run = Run(uuid4(), 1)
    execution = Execution(PlainCopy(lambda *_: None), decode, run, Host(asyncio.get_running_loop()))
    execution.start()
    await execution.ended
    assert threads != [threading.current_thread()]


async def test_a_thread_that_takes_its_time_to_go_is_waited_for_by_no_item_but_at_the_end() -> None:
    local = threading.local()
    may_go, gone = threading.Event(), threading.Event()

    class Connection:
        def __del__(self) -> None:
            may_go.wait()
            gone.set()

    def work(payload: Copy, run: Run) -> str:
        local.connection = Connection()
        return "done"

    host = Host(asyncio.get_running_loop())
    execution = Execution(PlainCopy(work), Copy, Run(uuid4(), 1), host)
    execution.start()
    assert await execution.ended == Returned("done")
    assert not gone.is_set()
    may_go.set()
    async with asyncio.timeout(30):
        await host.threads_ended()
        assert await asyncio.to_thread(gone.wait, 30)


async def test_a_closed_host_loop_is_said_at_the_start() -> None:
    closed = asyncio.new_event_loop()
    closed.close()

    async def work(payload: Copy, run: Run) -> None:
        pass

    execution = Execution(AsyncCopy(work), Copy, Run(uuid4(), 1), Host(closed))
    with pytest.raises(RuntimeError):
        execution.start()
    execution.cancel()
