import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.scripted import NEVER, ScriptedStore, lease
from tests.worker.virtual_time import in_virtual_time, now
from treadle.domain.item import Progress
from treadle.domain.outcome import StopReason
from treadle.errors import StoreUnavailable
from treadle.ports.lease import Beat
from treadle.worker.heartbeat import Heartbeat
from treadle.worker.holding import Holding
from treadle.worker.settings import WorkerSettings


def begin(store: ScriptedStore, **settings: Any) -> tuple[Heartbeat, Holding, asyncio.Task[None]]:
    chosen = WorkerSettings(**settings)
    clock = asyncio.get_running_loop().time
    holding = Holding(lease(), until=clock() + chosen.trusted, clock=clock)
    heartbeat = Heartbeat(store, holding, chosen, clock)
    return heartbeat, holding, asyncio.create_task(heartbeat.run())


def beats(store: ScriptedStore) -> list[float]:
    return [round(call.at, 3) for call in store.asked("heartbeat")]


@in_virtual_time
async def test_beats_every_two_seconds_for_sixty_more() -> None:
    store = ScriptedStore()
    heartbeat, _, beating = begin(store)
    await asyncio.sleep(9)
    heartbeat.stop()
    await beating
    assert beats(store) == [2, 4, 6, 8]
    assert {call.about for call in store.asked("heartbeat")} == {timedelta(seconds=60)}


@in_virtual_time
async def test_a_slow_answer_does_not_shift_the_beats_after_it() -> None:
    class Slow(ScriptedStore):
        async def heartbeat(self, *args: Any, **kwargs: Any) -> Beat | None:
            answer = await super().heartbeat(*args, **kwargs)
            await asyncio.sleep(0.7)
            return answer

    store = Slow()
    heartbeat, _, beating = begin(store)
    await asyncio.sleep(7)
    heartbeat.stop()
    await beating
    assert beats(store) == [2, 4, 6]


@in_virtual_time
async def test_each_beat_carries_the_latest_progress_only() -> None:
    store = ScriptedStore()
    heartbeat, holding, beating = begin(store)
    for done in range(5):
        holding.run.progress(done=done, total=10, note=f"{done} of 10")
    await asyncio.sleep(3)
    holding.run.progress(done=9)
    await asyncio.sleep(2)
    heartbeat.stop()
    await beating
    assert [call.progress for call in store.asked("heartbeat")] == [
        Progress(done=4, total=10, note="4 of 10"),
        Progress(done=9, total=10, note="4 of 10"),
    ]


@in_virtual_time
async def test_a_refused_beat_fences_the_run_and_is_the_last() -> None:
    store = ScriptedStore()
    store.script["heartbeat"].append(None)
    _, holding, beating = begin(store)
    await beating
    assert holding.run.stop_reason is StopReason.FENCED
    await asyncio.sleep(100)
    assert beats(store) == [2]


@in_virtual_time
async def test_a_cancel_request_reaches_the_run_and_beats_go_on_until_the_handler_has_ended() -> None:
    store = ScriptedStore()
    store.script["heartbeat"].append(Beat(cancel_requested=True))
    heartbeat, holding, beating = begin(store)
    await asyncio.sleep(2.1)
    assert holding.run.stop_reason is StopReason.CANCEL
    await asyncio.sleep(4)
    heartbeat.stop()
    await beating
    assert beats(store) == [2, 4, 6]


@in_virtual_time
async def test_a_failed_beat_is_repeated_sooner_and_then_the_cadence_is_kept() -> None:
    store = ScriptedStore()
    store.script["heartbeat"] += [StoreUnavailable("gone"), ValueError("a bug")]
    heartbeat, holding, beating = begin(store)
    await asyncio.sleep(6.5)
    heartbeat.stop()
    await beating
    assert beats(store) == [2, 2.5, 3, 4, 6]
    assert holding.run.stop_reason is None


@in_virtual_time
async def test_without_an_accepted_beat_the_worker_fences_itself_before_the_lease_is_over() -> None:
    store = ScriptedStore()
    store.script["heartbeat"] += [Beat(cancel_requested=False), *[StoreUnavailable("gone")] * 500]
    _, holding, beating = begin(store)
    await beating
    # The last accepted beat was sent at 2 s; in the database its lease ends at 62 s or later.
    assert 50 < now() < 62
    assert holding.run.stop_reason is StopReason.FENCED
    asked = len(beats(store))
    await asyncio.sleep(100)
    assert len(beats(store)) == asked


@in_virtual_time
async def test_a_beat_that_is_never_answered_does_not_keep_the_worker_from_fencing_itself() -> None:
    store = ScriptedStore()
    store.script["heartbeat"].append(NEVER)
    _, holding, beating = begin(store, lease=6.0)
    await beating
    assert now() < 6
    assert holding.run.stop_reason is StopReason.FENCED


@in_virtual_time
async def test_an_answer_counts_from_when_its_beat_was_sent() -> None:
    class Late(ScriptedStore):
        async def heartbeat(self, *args: Any, **kwargs: Any) -> Beat | None:
            answer = await super().heartbeat(*args, **kwargs)
            await asyncio.sleep(3)
            return answer

    store = Late()
    heartbeat, holding, beating = begin(store, lease=10.0)
    await asyncio.sleep(5.5)
    assert holding.until < 2 + 10
    heartbeat.stop()
    await beating


@in_virtual_time
async def test_after_a_suspension_past_the_lease_nothing_is_written_any_more() -> None:
    suspended = 0.0
    store = ScriptedStore()
    settings = WorkerSettings()
    loop = asyncio.get_running_loop()

    def clock() -> float:
        return loop.time() + suspended

    holding = Holding(lease(), until=settings.trusted, clock=clock)
    beating = asyncio.create_task(Heartbeat(store, holding, settings, clock).run())
    await asyncio.sleep(3)
    suspended = 120.0
    await beating
    assert beats(store) == [2]
    assert holding.run.stop_reason is StopReason.FENCED
    assert loop.time() == pytest.approx(4)


@in_virtual_time
async def test_stopping_waits_for_the_beat_in_flight() -> None:
    class Slow(ScriptedStore):
        async def heartbeat(self, *args: Any, **kwargs: Any) -> Beat | None:
            answer = await super().heartbeat(*args, **kwargs)
            await asyncio.sleep(1)
            self.calls.append(self.calls[-1].__class__("answered", now(), None))
            return answer

    store = Slow()
    heartbeat, _, beating = begin(store)
    await asyncio.sleep(2.5)
    heartbeat.stop()
    await beating
    assert store.verbs() == ["heartbeat", "answered"]
    assert now() == pytest.approx(3)
