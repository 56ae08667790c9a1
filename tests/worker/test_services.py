import asyncio
import logging
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.worker.scripted import AsyncCopy, Copy, ScriptedStore, lease, registry
from tests.worker.virtual_time import in_virtual_time
from treadle.domain.item import Claimant
from treadle.domain.outcome import StopReason
from treadle.domain.run import Run
from treadle.domain.schedule import Every, EveryScope
from treadle.domain.status import Status
from treadle.ports.lease import Released
from treadle.worker.holding import Holding, Holdings
from treadle.worker.host import Host
from treadle.worker.presence import Appearance
from treadle.worker.recovery import Recovery
from treadle.worker.scheduling import Scheduling
from treadle.worker.serving import AskScopes, Scopes, Serving
from treadle.worker.settings import WorkerSettings

MINE, ALSO_MINE = UUID(int=1), UUID(int=2)
HOURLY = timedelta(hours=1)


async def nothing(payload: Copy, run: Run) -> None:
    pass


def held(*leases: Any) -> Holdings:
    holdings = [Holding(each, until=1e9, clock=asyncio.get_running_loop().time) for each in leases]
    return {holding.key: holding for holding in holdings}


# Scheduling


def scheduling(
    store: ScriptedStore, scopes: Scopes, *schedules: Any, found: Any = lambda: None
) -> Scheduling:
    kinds = registry(AsyncCopy(nothing), schedules)
    return Scheduling(store, kinds, scopes=lambda: scopes, interval=5.0, found=found)


def by_scope() -> EveryScope[Copy]:
    return EveryScope(Copy, lambda scope: Copy(files=scope.int), HOURLY)


@in_virtual_time
async def test_the_store_is_asked_for_the_work_of_the_scopes_served_and_of_no_other() -> None:
    store = ScriptedStore()
    assert await scheduling(store, frozenset({MINE, ALSO_MINE}), by_scope()).run_once() == 5
    (call,) = store.asked("schedule")
    assert {(due.item.scope_id, due.item.dedup_key, due.when) for due in call.about} == {
        (MINE, f"copy:{MINE}", HOURLY),
        (ALSO_MINE, f"copy:{ALSO_MINE}", HOURLY),
    }
    assert {due.item.requested_by for due in call.about} == {None}
    assert {due.item.payload for due in call.about} == {'{"files":1}', '{"files":2}'}


@in_virtual_time
async def test_a_schedule_that_fails_costs_no_other_its_turn_and_is_told() -> None:
    def broken(scope: UUID) -> Copy:
        raise LookupError(scope)

    store = ScriptedStore()
    service = scheduling(store, frozenset({MINE}), EveryScope(Copy, broken, HOURLY), by_scope())
    with pytest.raises(LookupError):
        await service.run_once()
    (call,) = store.asked("schedule")
    assert [due.item.scope_id for due in call.about] == [MINE]


@in_virtual_time
async def test_unscoped_work_is_scheduled_by_every_worker_and_scoped_work_only_by_its_own() -> None:
    for scopes in (None, frozenset[UUID]()):
        store = ScriptedStore()
        await scheduling(store, scopes, Every(Copy(files=9), HOURLY), by_scope()).run_once()
        (call,) = store.asked("schedule")
        assert [(due.item.scope_id, due.item.dedup_key) for due in call.about] == [(None, "copy:None")]


@in_virtual_time
async def test_due_ness_is_asked_of_the_store_anew_on_every_pass() -> None:
    store = ScriptedStore()
    service = scheduling(store, None, Every(Copy(), HOURLY))
    for _ in range(3):
        await service.run_once()
    first, *others = [call.about for call in store.asked("schedule")]
    assert others == [first, first]


@in_virtual_time
async def test_a_registry_without_schedules_costs_no_query() -> None:
    store = ScriptedStore()
    await scheduling(store, None).run_once()
    assert store.verbs() == []


@in_virtual_time
async def test_an_executor_is_woken_only_when_something_was_queued() -> None:
    woken: list[None] = []
    store = ScriptedStore()
    store.script["schedule"] += [[], [uuid4()]]
    service = scheduling(store, None, Every(Copy(), HOURLY), found=lambda: woken.append(None))
    await service.run_once()
    assert woken == []
    await service.run_once()
    assert woken == [None]


# Recovery


def recovery(
    store: ScriptedStore, holdings: Holdings, found: Any = lambda: None, **settings: Any
) -> Recovery:
    return Recovery(store, holdings, claimed_by="w1", settings=WorkerSettings(**settings), found=found)


@in_virtual_time
async def test_a_sweep_recovers_with_the_stall_limit_and_releases_what_we_were_given_and_do_not_hold() -> (
    None
):
    store = ScriptedStore()
    mine = lease()
    await recovery(store, held(mine), stall_limit=4, strays_after=20.0).run_once()
    assert [(call.verb, call.about) for call in store.calls] == [
        ("recover", 4),
        ("release_strays", ("w1", {mine.item_id}, timedelta(seconds=20))),
    ]


@in_virtual_time
async def test_what_a_sweep_brings_back_is_logged_and_wakes_an_executor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    woken: list[None] = []
    store = ScriptedStore()
    back, over = Released(uuid4(), "copy", Status.QUEUED), Released(uuid4(), "copy", Status.FAILED)
    store.script["recover"] += [[over], [back]]
    service = recovery(store, {}, found=lambda: woken.append(None))
    with caplog.at_level(logging.INFO):
        await service.run_once()
        assert woken == []
        await service.run_once()
    assert woken == [None]
    assert [record.__dict__["event"] for record in caplog.records] == ["recovered", "recovered"]
    assert str(over.item_id) in caplog.records[0].getMessage()


# Presence


@in_virtual_time
async def test_a_sign_of_life_names_what_is_running_without_zombies() -> None:
    store = ScriptedStore()
    running, zombie = lease(), lease()
    holdings = held(running, zombie)
    holdings[zombie.item_id, 1].stop(StopReason.FENCED)
    claimant = Claimant(claimed_by="w1", kinds=frozenset(), scopes=None, lease=timedelta(60))
    await Appearance(store, holdings, claimant=lambda: claimant, interval=5.0).run_once()
    assert [call.about for call in store.asked("appear")] == [{running.item_id}]


# Serving


def serving(ask: AskScopes, changed: Any = lambda: None, *, seconds: float = 30.0) -> Serving:
    host = Host(asyncio.get_running_loop())
    return Serving(ask, host, interval=2.0, changed=changed, seconds=seconds)


async def test_no_scope_is_served_before_the_host_has_answered() -> None:
    assert serving(lambda: None).scopes() == frozenset()


async def test_the_host_may_answer_from_a_plain_or_an_async_function() -> None:
    async def ask() -> Scopes:
        await asyncio.sleep(0)
        return frozenset({MINE})

    functions: list[AskScopes] = [ask, lambda: frozenset({MINE})]
    for function in functions:
        service = serving(function)
        await service.run_once()
        assert service.scopes() == frozenset({MINE})


async def test_the_last_answer_stays_in_force_while_the_host_fails() -> None:
    answers: list[Any] = [frozenset({MINE}), OSError("no database"), SystemExit(1), [MINE], {"x"}]

    def ask() -> Scopes | Awaitable[Scopes]:
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        scopes: Scopes = answer
        return scopes

    service = serving(ask)
    await service.run_once()
    for expected in (OSError, RuntimeError, TypeError, TypeError):
        with pytest.raises(expected):
            await service.run_once()
        assert service.scopes() == frozenset({MINE})


async def test_a_host_that_does_not_answer_is_cancelled_and_asked_again_at_the_next_pass() -> None:
    cancelled = asyncio.Event()
    first = True

    async def ask() -> Scopes:
        nonlocal first
        if first:
            first = False
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
        return frozenset({MINE})

    service = serving(ask, seconds=0.05)
    async with asyncio.timeout(10):
        with pytest.raises(TimeoutError, match=r"within 0\.05 s"):
            await service.run_once()
        await cancelled.wait()
        assert service.scopes() == frozenset()
        await service.run_once()
    assert service.scopes() == frozenset({MINE})


async def test_a_timeout_of_the_host_s_own_is_passed_on_as_it_is() -> None:
    def ask() -> Scopes:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await serving(ask).run_once()


async def test_a_change_of_scopes_is_told_once() -> None:
    changes: list[Scopes] = []
    answers: list[Scopes] = [frozenset({MINE}), frozenset({MINE}), None, None, frozenset()]
    service: Serving

    def changed() -> None:
        changes.append(service.scopes())

    service = serving(lambda: answers.pop(0), changed=changed)
    for _ in range(5):
        await service.run_once()
    assert changes == [frozenset({MINE}), None, frozenset()]
