"""The program that a worker becomes when a handler would not stop."""

import os
import subprocess
from collections.abc import Callable, Iterable
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from treadle.domain.item import Claimant, Lease
from treadle.ports.lease import LastWill
from treadle.postgres import PostgresStore
from treadle.postgres.last_will import SOCKET_VARIABLE, VARIABLE
from treadle.postgres.written_will import WrittenWill

Carry = Callable[[WrittenWill], int]


def carried_out(will: LastWill, variables: Iterable[str]) -> int:
    descriptors = [int(will.environment[name]) for name in variables]
    try:
        return subprocess.run(
            will.arguments, env=will.environment, check=False, pass_fds=descriptors
        ).returncode
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def by_driver(written: WrittenWill) -> int:
    """As it is carried out where the connection is encrypted."""
    return carried_out(written.will(), [VARIABLE])


def by_socket(written: WrittenWill) -> int:
    """As it is carried out elsewhere, without the driver."""
    prepare = written.will().prepare
    assert prepare is not None
    will = prepare()
    assert "-S" in will.arguments
    try:
        return carried_out(will, [VARIABLE, SOCKET_VARIABLE])
    finally:
        assert written._connection is not None
        written._connection.close()


@pytest.fixture(params=[by_driver, by_socket])
def carry(request: pytest.FixtureRequest) -> Carry:
    way: Carry = request.param
    return way


async def claimed(dsn: str) -> Lease:
    (lease,) = await all_claimed(dsn, 1)
    return lease


async def all_claimed(dsn: str, count: int) -> list[Lease]:
    claimant = Claimant(claimed_by="w#1", kinds=frozenset({"copy"}), scopes=None, lease=timedelta(seconds=60))
    async with PostgresStore(dsn) as store:
        leases = [await store.leases.claim(claimant) for _ in range(count)]
    return [lease for lease in leases if lease is not None]


def ask(dsn: str, key: str | None = None) -> UUID:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "insert into treadle.work_items (kind, dedup_key) values ('copy', %s) returning id", [key]
        ).fetchone()
    assert row is not None
    item: UUID = row[0]
    return item


def state(dsn: str, item: UUID) -> tuple[object, ...]:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select status, attempt, stalls, superseded_by from treadle.work_items where id = %s", [item]
        ).fetchone()
    assert row is not None
    return row


async def test_every_item_is_released_without_a_stall(dsn: str, carry: Carry) -> None:
    items = [ask(dsn, key) for key in (None, "it's 100% \\ sure", "ß")]
    leases = [await claimed(dsn) for _ in items]
    written = WrittenWill(dsn, leases)
    assert carry(written) == 0
    assert [state(dsn, item) for item in items] == [("queued", 1, 0, None)] * 3


async def test_hundreds_of_items_are_not_too_many(dsn: str, carry: Carry) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "insert into treadle.work_items (kind, dedup_key)"
            " select 'copy', repeat('k', 400) || n from generate_series(1, 200) as n"
        )
    leases = await all_claimed(dsn, 200)
    assert len(leases) == 200
    assert carry(WrittenWill(dsn, leases)) == 0
    with psycopg.connect(dsn) as connection:
        states = connection.execute(
            "select status, stalls, count(*) from treadle.work_items group by 1, 2"
        ).fetchall()
    assert states == [("queued", 0, 200)]


async def test_an_item_whose_twin_waits_is_merged_into_it_and_the_next_is_released(
    dsn: str, carry: Carry
) -> None:
    first, other = ask(dsn, "key"), ask(dsn)
    leases = [await claimed(dsn) for _ in range(2)]
    twin = ask(dsn, "key")
    written = WrittenWill(dsn, leases)
    assert carry(written) == 0
    assert state(dsn, first) == ("cancelled", 1, 0, twin)
    assert state(dsn, other) == ("queued", 1, 0, None)


async def test_an_item_that_is_another_s_by_now_is_left_alone(dsn: str, carry: Carry) -> None:
    item = ask(dsn)
    lease = await claimed(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("update treadle.work_items set attempt = 2")
    written = WrittenWill(dsn, [lease])
    assert carry(written) == 0
    assert state(dsn, item) == ("running", 2, 0, None)


async def test_an_item_that_is_locked_is_given_up_after_a_moment_and_the_next_released(
    dsn: str, carry: Carry, capfd: pytest.CaptureFixture[str]
) -> None:
    locked, other = ask(dsn), ask(dsn)
    leases = [await claimed(dsn) for _ in range(2)]
    written = WrittenWill(dsn, leases)
    with psycopg.connect(dsn) as connection:
        connection.execute("select from treadle.work_items where id = %s for update", [locked])
        assert carry(written) == 1
    assert state(dsn, locked) == ("running", 1, 0, None)
    assert state(dsn, other) == ("queued", 1, 0, None)
    assert f"item {locked} was not released: error 55P03" in capfd.readouterr().err
