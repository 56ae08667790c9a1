import asyncio

import pytest

from tests.worker.virtual_time import in_virtual_time, now


@in_virtual_time
async def test_a_wait_of_an_hour_takes_no_time_and_moves_the_clock_by_an_hour() -> None:
    await asyncio.sleep(3600)
    assert now() == pytest.approx(3600)


@in_virtual_time
async def test_timers_run_in_their_order() -> None:
    seen: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_later(5, seen.append, "late")
    loop.call_later(1, seen.append, "early")
    await asyncio.sleep(6)
    assert seen == ["early", "late"]


def test_a_wait_that_nothing_can_end_fails_instead_of_hanging() -> None:
    @in_virtual_time
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="nothing is left"):
        waits()
