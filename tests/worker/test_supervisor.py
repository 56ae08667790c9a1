import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import pytest

from tests.worker.scripted import NEVER, AsyncCopy, Copy, ScriptedStore, lease, registry
from tests.worker.virtual_time import in_virtual_time, now
from treadle.domain.handler import Handler
from treadle.domain.run import Run
from treadle.errors import SchemaMismatch, StoreUnavailable
from treadle.ports.lease import Beat, LastWill
from treadle.worker.host import Host
from treadle.worker.settings import WorkerSettings
from treadle.worker.shutdown import Departure
from treadle.worker.supervisor import Supervisor


class Departed(BaseException):
    """Stands for the end of the process."""


class Recorded(Departure):
    def __init__(self) -> None:
        super().__init__()
        self.will: LastWill | None = None
        self.at = self.limit = 0.0

    def leave(self, will: LastWill | None, limit: float) -> NoReturn:
        self.will, self.at, self.limit = will, now(), limit
        raise Departed


async def at_once(payload: Copy, run: Run) -> None:
    pass


async def until_told(payload: Copy, run: Run) -> None:
    await asyncio.sleep(100_000)


async def stubborn(payload: Copy, run: Run) -> None:
    while now() < 50_000:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(100_000)


def supervise(
    store: ScriptedStore,
    work: Callable[[Copy, Run], Awaitable[object]] | Handler[Any],
    *,
    departure: Departure | None = None,
    serves: Any = None,
    **settings: Any,
) -> tuple[Supervisor, asyncio.Task[None]]:
    loop = asyncio.get_running_loop()
    supervisor = Supervisor(
        store,
        registry(work if isinstance(work, Handler) else AsyncCopy(work)),
        claimed_by="w1",
        serves=serves,
        settings=WorkerSettings(**settings),
        host=Host(loop),
        clock=loop.time,
        departure=departure or Recorded(),
    )
    return supervisor, asyncio.create_task(supervisor.run())


@in_virtual_time
async def test_an_idle_worker_polls_recovers_and_shows_itself_and_is_ready() -> None:
    store = ScriptedStore()
    supervisor, task = supervise(store, at_once)
    assert not supervisor.health().ready
    await asyncio.sleep(20)
    assert supervisor.health().ready
    assert 8 <= len(store.asked("claim")) <= 12
    assert {"open", "claim", "recover", "release_strays", "appear"} == set(store.verbs())
    supervisor.stop()
    await task
    assert store.verbs()[-2:] == ["disappear", "close"]
    assert not supervisor.health().ready


@in_virtual_time
async def test_a_stop_while_idle_needs_no_grace() -> None:
    supervisor, task = supervise(ScriptedStore(), at_once)
    await asyncio.sleep(5)
    supervisor.stop()
    await task
    assert now() == pytest.approx(5)


@in_virtual_time
async def test_on_a_stop_handlers_are_told_items_released_and_nothing_else_is_claimed() -> None:
    store = ScriptedStore(lease(), lease(), lease())
    supervisor, task = supervise(store, until_told, concurrency=2)
    await store.until("heartbeat", 2)
    assert len(supervisor.health().running) == 2
    supervisor.stop()
    await task
    assert store.verbs("claim", "release", "finish") == ["claim", "claim", "release", "release"]
    assert len(store.waiting) == 1


@in_virtual_time
@pytest.mark.parametrize("concurrency", [1, 3, 7])
async def test_as_many_items_run_at_a_time_as_the_setting_says_and_never_more(concurrency: int) -> None:
    running = most = 0

    async def work(payload: Copy, run: Run) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1 + payload.files % 3)
        running -= 1

    store = ScriptedStore(*(lease(files=number) for number in range(40)))
    supervisor, task = supervise(store, work, concurrency=concurrency)
    await store.until("finish", 40)
    assert most == concurrency
    supervisor.stop()
    await task


@in_virtual_time
async def test_a_burst_reaches_all_idle_executors_without_waiting_for_their_polls() -> None:
    store = ScriptedStore()
    supervisor, task = supervise(store, until_told, concurrency=10, poll=60.0, recovery_interval=60.0)
    await asyncio.sleep(5)
    store.waiting.extend(lease() for _ in range(10))
    supervisor.wake()
    await asyncio.sleep(0.1)
    assert len(supervisor.health().running) == 10
    supervisor.stop()
    await task


@in_virtual_time
async def test_a_handler_that_does_not_stop_is_cut_off_when_the_grace_is_over() -> None:
    store = ScriptedStore(lease())
    store.will = LastWill(["/bin/true"], {})
    departure = Recorded()
    supervisor, task = supervise(store, stubborn, departure=departure, shutdown_grace=8.0)
    await asyncio.sleep(3)
    supervisor.stop()
    with pytest.raises(Departed):
        await task
    assert departure.at == pytest.approx(3 + 8)
    assert departure.at + departure.limit < 3 + 8 + 1
    assert departure.will is store.will
    assert store.verbs("release", "finish") == []


@in_virtual_time
async def test_while_the_grace_lasts_the_lease_is_kept() -> None:
    store = ScriptedStore(lease())
    store.will = LastWill(["/bin/true"], {})
    supervisor, task = supervise(store, stubborn, shutdown_grace=8.0)
    await asyncio.sleep(3)
    supervisor.stop()
    with pytest.raises(Departed):
        await task
    assert [round(call.at) for call in store.asked("heartbeat")] == [2, 4, 6, 8, 10]


@in_virtual_time
async def test_hurrying_shortens_the_wait_to_nothing() -> None:
    store = ScriptedStore(lease())
    store.will = LastWill(["/bin/true"], {})
    departure = Recorded()
    supervisor, task = supervise(store, stubborn, departure=departure)
    await asyncio.sleep(3)
    supervisor.hurry()
    await asyncio.sleep(1)
    assert not task.done(), "the first signal leaves the handlers their grace"
    supervisor.hurry()
    with pytest.raises(Departed):
        await task
    assert departure.at == pytest.approx(4)


@in_virtual_time
async def test_without_a_last_will_the_items_are_released_before_leaving() -> None:
    item = lease()
    store = ScriptedStore(item)
    departure = Recorded()
    supervisor, task = supervise(store, stubborn, departure=departure)
    await store.until("claim")
    await asyncio.sleep(1)
    supervisor.stop()
    with pytest.raises(Departed):
        await task
    assert [call.about for call in store.asked("release")] == [item]
    assert departure.will is None


@in_virtual_time
async def test_a_release_without_an_answer_does_not_keep_the_process_past_the_grace_and_a_second() -> None:
    store = ScriptedStore(lease(), lease())
    store.script["release"] += [NEVER, NEVER]
    departure = Recorded()
    supervisor, task = supervise(store, stubborn, departure=departure, concurrency=2, shutdown_grace=2.0)
    await asyncio.sleep(1)
    supervisor.stop()
    with pytest.raises(Departed):
        await task
    assert departure.at + departure.limit < 1 + 2 + 1


@in_virtual_time
async def test_a_zombie_that_does_not_end_is_left_behind_and_its_item_is_not_touched() -> None:
    store = ScriptedStore(lease())
    store.script["heartbeat"].append(None)
    store.will = LastWill(["/bin/true"], {})
    departure = Recorded()
    supervisor, task = supervise(store, stubborn, departure=departure)
    await asyncio.sleep(3)
    assert [item.stop_reason for item in supervisor.health().fenced] == ["fenced"]
    supervisor.stop()
    with pytest.raises(Departed):
        await task
    assert departure.will is None
    assert store.verbs("release", "finish", "last_will") == []


@in_virtual_time
async def test_other_executors_go_on_beside_a_zombie() -> None:
    async def work(payload: Copy, run: Run) -> None:
        await (stubborn(payload, run) if payload.files == 666 else asyncio.sleep(1))

    store = ScriptedStore(lease(files=666), *(lease() for _ in range(5)))
    store.script["heartbeat"].append(None)
    supervisor, task = supervise(store, work, concurrency=2)
    await store.until("finish", 5)
    assert len(supervisor.health().fenced) == 1
    supervisor.hurry()
    supervisor.hurry()
    with pytest.raises(Departed):
        await task


@in_virtual_time
async def test_with_a_store_that_does_not_answer_the_worker_ends_within_the_grace_and_a_second() -> None:
    store = ScriptedStore(lease())
    for verb in ("finish", "release", "disappear", "close", "recover", "appear"):
        store.script[verb].append(NEVER)
    supervisor, task = supervise(store, until_told, shutdown_grace=4.0)
    await store.until("heartbeat")
    start = now()
    supervisor.stop()
    await task
    assert now() - start <= 5


@in_virtual_time
async def test_a_stop_while_the_store_is_not_reachable_yet_ends_the_worker() -> None:
    store = ScriptedStore()
    store.script["open"].append(NEVER)
    supervisor, task = supervise(store, at_once)
    await asyncio.sleep(5)
    assert not supervisor.health().ready
    supervisor.stop()
    await task
    assert now() < 6
    assert store.verbs() == ["open"]


@in_virtual_time
async def test_a_schema_that_does_not_fit_is_raised_at_the_start() -> None:
    store = ScriptedStore()
    store.script["open"].append(SchemaMismatch("newer"))
    _, task = supervise(store, at_once)
    with pytest.raises(SchemaMismatch):
        await task


@in_virtual_time
async def test_a_schema_that_turns_out_not_to_fit_stops_the_worker_with_that_error() -> None:
    store = ScriptedStore()
    _, task = supervise(store, at_once)
    await asyncio.sleep(10)
    store.script["claim"].append(SchemaMismatch("newer"))
    with pytest.raises(SchemaMismatch):
        await task
    assert store.verbs()[-1] == "close"


@in_virtual_time
async def test_each_loop_fails_by_itself_health_says_so_and_it_recovers() -> None:
    for verb, name in [
        ("claim", "executor-1"),
        ("recover", "recovery"),
        ("release_strays", "recovery"),
        ("appear", "presence"),
    ]:
        store = ScriptedStore()
        supervisor, task = supervise(store, at_once, backoff_cap=4.0)
        await asyncio.sleep(10)
        store.script[verb].extend([StoreUnavailable("gone")] * 50)
        await asyncio.sleep(60)
        assert [loop.name for loop in supervisor.health().loops if loop.failures] == [name]
        assert not supervisor.health().ready
        store.script[verb].clear()
        await asyncio.sleep(10)
        assert supervisor.health().ready
        supervisor.stop()
        await task


@in_virtual_time
async def test_a_long_item_does_not_make_a_worker_unready() -> None:
    store = ScriptedStore(lease())
    supervisor, task = supervise(store, until_told)
    await asyncio.sleep(1_000)
    assert supervisor.health().ready
    supervisor.stop()
    await task


@in_virtual_time
async def test_health_is_json() -> None:
    item = lease()
    store = ScriptedStore(item)
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    supervisor, task = supervise(store, stubborn)
    await asyncio.sleep(3)
    health = supervisor.health().as_json()
    assert isinstance(health, dict)
    assert health["claimed_by"] == "w1"
    assert health["running"] == [
        {
            "item_id": str(item.item_id),
            "kind": "copy",
            "attempt": 1,
            "seconds": pytest.approx(3),
            "stop_reason": "cancel",
        }
    ]
    supervisor.hurry()
    supervisor.hurry()
    with pytest.raises(Departed):
        await task


@in_virtual_time
async def test_a_worker_can_be_stopped_at_any_moment_and_loses_nothing() -> None:
    async def work(payload: Copy, run: Run) -> None:
        await asyncio.sleep(0.01 * payload.files)

    for moment in range(100):
        store = ScriptedStore(*(lease(files=number) for number in range(6)))
        supervisor, task = supervise(store, work, concurrency=3, poll=0.05)
        await asyncio.sleep(moment * 0.001)
        supervisor.stop()
        await task
        ended = [call.about[0] for call in store.asked("finish")] + [
            call.about for call in store.asked("release")
        ]
        assert len(ended) == len({each.item_id for each in ended}) == 6 - len(store.waiting)
