import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.worker.scripted import NEVER, ScriptedStore, lease
from tests.worker.virtual_time import in_virtual_time, now
from treadle.domain.item import Claimant
from treadle.domain.outcome import (
    Cancelled,
    Ending,
    Failed,
    HandedBack,
    Raised,
    Returned,
    StopReason,
    Succeeded,
)
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.ports.lease import Beat
from treadle.worker.holding import Holding
from treadle.worker.settings import WorkerSettings
from treadle.worker.settle import Settlement

GONE = StoreUnavailable("gone")


async def settle(store: ScriptedStore, ending: Ending, reason: StopReason | None = None) -> Holding:
    settings = WorkerSettings()
    clock = asyncio.get_running_loop().time
    holding = Holding(lease(), until=clock() + settings.trusted, clock=clock)
    if reason is not None:
        holding.stop(reason)

    def claimant() -> Claimant | None:
        return None

    await Settlement(store, holding, settings=settings, clock=clock, claimant=claimant).settle(ending)
    return holding


def script(store: ScriptedStore, **answers: Sequence[Any]) -> None:
    for verb, given in answers.items():
        store.script[verb].extend(given)


@in_virtual_time
async def test_a_finish_whose_reply_was_lost_but_which_took_effect_is_not_repeated() -> None:
    store = ScriptedStore()
    script(store, finish=[GONE], heartbeat=[None], outcome_of=[Status.SUCCEEDED])
    holding = await settle(store, Returned(1))
    assert store.verbs() == ["finish", "heartbeat", "outcome_of"]
    assert not holding.fenced


@in_virtual_time
async def test_a_finish_that_never_arrived_is_sent_again_once_a_beat_shows_the_item_is_ours() -> None:
    store = ScriptedStore()
    script(store, finish=[GONE])
    await settle(store, Returned(1))
    assert store.verbs() == ["finish", "heartbeat", "finish"]
    assert [call.about[1] for call in store.asked("finish")] == [Succeeded(1), Succeeded(1)]


@in_virtual_time
async def test_while_the_store_does_not_answer_the_end_is_tried_until_it_does() -> None:
    store = ScriptedStore()
    script(store, finish=[GONE], heartbeat=[GONE] * 10)
    await settle(store, Returned(1))
    assert store.verbs() == ["finish", *["heartbeat"] * 11, "finish"]


@in_virtual_time
async def test_when_the_lease_is_over_before_the_store_answers_nothing_more_is_written() -> None:
    store = ScriptedStore()
    script(store, finish=[GONE], heartbeat=[GONE] * 10_000)
    holding = await settle(store, Returned(1))
    assert 50 < now() < 60
    assert holding.fenced
    assert store.verbs("finish") == ["finish"]


@in_virtual_time
@pytest.mark.parametrize("status", [Status.FAILED, Status.QUEUED, None])
async def test_an_end_that_somebody_else_gave_the_item_fences_us_off(status: Status | None) -> None:
    store = ScriptedStore()
    script(store, finish=[GONE], heartbeat=[None], outcome_of=[status])
    holding = await settle(store, Returned(1))
    assert holding.fenced
    assert store.verbs("finish") == ["finish"]


@in_virtual_time
async def test_a_cancel_delivered_while_the_end_is_being_written_wins() -> None:
    store = ScriptedStore()
    script(store, finish=[GONE], heartbeat=[Beat(cancel_requested=True)])
    await settle(store, Returned("all"))
    assert [call.about[1] for call in store.asked("finish")] == [Succeeded("all"), Cancelled("all")]


@in_virtual_time
async def test_a_release_whose_reply_was_lost_but_which_took_effect_is_not_repeated() -> None:
    store = ScriptedStore()
    script(store, release=[GONE], heartbeat=[None], outcome_of=[Status.QUEUED])
    holding = await settle(store, HandedBack(), StopReason.SHUTDOWN)
    assert store.verbs() == ["release", "heartbeat", "outcome_of"]
    assert not holding.fenced


@in_virtual_time
async def test_a_refused_release_fences_us_off() -> None:
    store = ScriptedStore()
    script(store, release=[None])
    holding = await settle(store, HandedBack(), StopReason.SHUTDOWN)
    assert holding.fenced


@in_virtual_time
async def test_a_fenced_attempt_writes_nothing() -> None:
    store = ScriptedStore()
    await settle(store, Returned(1), StopReason.FENCED)
    assert store.verbs() == []


@in_virtual_time
async def test_a_fault_of_the_moment_does_not_cost_the_result() -> None:
    store = ScriptedStore()
    script(store, finish=[ValueError("once")])
    await settle(store, Returned(1))
    assert [call.about[1] for call in store.asked("finish")] == [Succeeded(1), Succeeded(1)]


@in_virtual_time
async def test_an_end_the_store_cannot_take_fails_the_item_instead_of_keeping_it() -> None:
    store = ScriptedStore()
    script(store, finish=[ValueError("bad"), ValueError("bad")])
    await settle(store, Returned(1))
    *_, last = [call.about[1] for call in store.asked("finish")]
    assert last == Failed("ResultError: its end could not be stored (ValueError)")


@in_virtual_time
async def test_an_item_that_cannot_be_ended_at_all_is_left_to_recovery_and_not_kept_alive() -> None:
    store = ScriptedStore()
    script(store, finish=[ValueError("bad")] * 100)
    await settle(store, Raised("KeyError: 'x'"))
    assert now() < 30
    assert store.verbs() == ["finish"] * 4


@in_virtual_time
async def test_an_unanswered_finish_can_be_cut_off() -> None:
    store = ScriptedStore()
    script(store, finish=[NEVER])
    task = asyncio.create_task(settle(store, Returned(1)))
    await store.until("finish")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
