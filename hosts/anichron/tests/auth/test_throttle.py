"""How often a password may be tried, by whom."""

import asyncio

import pytest

from anichron.auth import throttle
from anichron.auth.throttle import Throttle, TooManyAttempts
from anichron.database import Database


async def refused(database: Database, name: str, address: str) -> bool:
    try:
        await Throttle(database).count(name, address)
    except TooManyAttempts:
        return True
    return False


async def tried(database: Database, name: str, address: str, *, times: int) -> None:
    for _ in range(times):
        assert not await refused(database, name, address)


async def test_a_name_is_tried_so_often_from_one_address_and_still_from_another(database: Database) -> None:
    await tried(database, "ada", "10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS)
    assert await refused(database, "ada", "10.0.0.1")
    assert await refused(database, "ADA", "10.0.0.1")
    assert not await refused(database, "ada", "10.0.0.2")
    assert not await refused(database, "bob", "10.0.0.1")


async def test_an_address_tries_so_many_names(database: Database) -> None:
    for number in range(throttle.PER_ADDRESS):
        assert not await refused(database, f"user{number}", "10.0.0.1")
    assert await refused(database, "ada", "10.0.0.1")
    assert not await refused(database, "ada", "10.0.0.2")


async def test_a_name_is_tried_so_often_from_everywhere(database: Database) -> None:
    for number in range(throttle.PER_NAME):
        assert not await refused(database, "ada", f"10.0.0.{number}")
    assert await refused(database, "ada", "10.1.0.1")
    assert not await refused(database, "bob", "10.1.0.1")


async def test_refused_attempts_of_one_address_lock_no_name_elsewhere(database: Database) -> None:
    await tried(database, "ada", "10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS)
    for _ in range(throttle.PER_NAME + 10):
        assert await refused(database, "ada", "10.0.0.1")
    assert not await refused(database, "ada", "10.0.0.2")
    assert not await refused(database, "bob", "10.0.0.1")


async def test_addresses_of_one_ipv6_network_count_as_one(database: Database) -> None:
    for number in range(throttle.PER_NAME_AND_ADDRESS):
        assert not await refused(database, "ada", f"2001:db8:1:2::{number:x}")
    assert await refused(database, "ada", "2001:db8:1:2:ffff::1")
    assert not await refused(database, "ada", "2001:db8:1:3::1")


async def test_an_ipv4_address_is_the_same_within_ipv6(database: Database) -> None:
    await tried(database, "ada", "::ffff:10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS)
    assert await refused(database, "ada", "10.0.0.1")
    assert not await refused(database, "ada", "::ffff:10.0.0.2")


async def test_attempts_at_the_same_time_are_all_counted(database: Database) -> None:
    answers = await asyncio.gather(*(refused(database, "ada", "10.0.0.1") for _ in range(25)))
    assert answers.count(False) == throttle.PER_NAME_AND_ADDRESS


async def test_what_succeeds_does_not_count_and_forgives_nothing(database: Database) -> None:
    for _ in range(throttle.PER_NAME + 5):
        assert not await refused(database, "ada", "10.0.0.1")
        await Throttle(database).take_back("ada", "10.0.0.1")
    await tried(database, "ada", "10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS - 1)
    assert not await refused(database, "ada", "10.0.0.1")
    await Throttle(database).take_back("ada", "10.0.0.1")
    assert not await refused(database, "ada", "10.0.0.1")
    assert await refused(database, "ada", "10.0.0.1")


async def test_the_count_starts_anew_after_the_window_which_refusals_do_not_lengthen(
    database: Database,
) -> None:
    await tried(database, "ada", "10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS)
    with pytest.raises(TooManyAttempts) as refusal:
        await Throttle(database).count("ada", "10.0.0.1")
    assert 800 < refusal.value.seconds <= throttle.WINDOW.total_seconds()
    await _pass(database, seconds=throttle.WINDOW.total_seconds() - 20)
    with pytest.raises(TooManyAttempts) as refusal:
        await Throttle(database).count("ada", "10.0.0.1")
    assert 1 <= refusal.value.seconds <= 20
    await _pass(database, seconds=21)
    await tried(database, "ada", "10.0.0.1", times=throttle.PER_NAME_AND_ADDRESS)
    assert await refused(database, "ada", "10.0.0.1")


async def test_counts_do_not_pile_up_and_hold_no_names(database: Database) -> None:
    for number in range(20):
        assert not await refused(database, f"hunter{number}", "10.0.0.1")
    await _pass(database, seconds=1_000)
    await refused(database, "ada", "10.0.0.2")
    async with database.connection() as connection:
        cursor = await connection.execute("select key, count from anichron.sign_in_attempts")
        rows = await cursor.fetchall()
    assert [count for _, count in rows] == [1, 1, 1]
    assert all(len(key) == 32 for key, _ in rows)


async def _pass(database: Database, *, seconds: float) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "update anichron.sign_in_attempts set until = until - make_interval(secs => %s)", [seconds]
        )
