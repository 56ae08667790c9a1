"""Deleted files: first the object, then the row, whatever happens in between."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event as Flag
from uuid import UUID

import psycopg
import pytest

from hosts.loryth.tests.store import Store
from loryth.chores.bound import Bound, ChoreFailed
from loryth.chores.deleted_files import DeletedFiles
from loryth.database import Connection, Database
from loryth.storage import Storage, StorageUnavailable


@pytest.fixture
def space(connection: Connection) -> UUID:
    row = connection.execute("insert into loryth.spaces (name) values ('home') returning id").fetchone()
    assert row is not None
    return UUID(str(row[0]))


def add_file(
    connection: Connection, store: Store, space: UUID, *, status: str = "DELETED", stored: bool = True
) -> str:
    row = connection.execute(
        "insert into loryth.files (space_id, status) values (%s, %s) returning object_key", [space, status]
    ).fetchone()
    assert row is not None
    if stored:
        store.put(row[0])
    return str(row[0])


def rows(connection: Connection) -> set[str]:
    return {str(key) for (key,) in connection.execute("select object_key from loryth.files")}


def test_what_is_deleted_goes_from_the_store_and_the_table_and_nothing_else(
    connection: Connection, database: Database, store: Store, bound: Bound, space: UUID
) -> None:
    kept = add_file(connection, store, space, status="ACTIVE")
    for stored in (True, False, True):  # one is cut between object and row: its object is gone already
        add_file(connection, store, space, stored=stored)
    chore = DeletedFiles(database, Storage(store.settings), bound)
    chore()
    assert (rows(connection), store.keys()) == ({kept}, {kept})
    chore()
    assert store.count("DELETE") == 3


def test_a_file_that_cannot_be_removed_stops_no_other_and_is_put_off(
    connection: Connection, database: Database, store: Store, bound: Bound, space: UUID
) -> None:
    bad, *_ = [add_file(connection, store, space) for _ in range(4)]
    store.refused[bad] = (403, "AccessDenied")
    chore = DeletedFiles(database, Storage(store.settings), bound)
    with pytest.raises(ChoreFailed, match=r"1 deleted files failed, 3 are done.*AccessDenied"):
        chore()
    assert rows(connection) == store.keys() == {bad}
    chore()  # it is not its turn again so soon
    kept = connection.execute(
        "select cleanup_attempts, cleanup_error like '%AccessDenied%',"
        " cleanup_after > clock_timestamp() + interval '30 seconds' from loryth.files"
    ).fetchall()
    assert kept == [(1, True, True)]
    store.refused.clear()
    connection.execute("update loryth.files set cleanup_after = clock_timestamp()")
    chore()
    assert rows(connection) == store.keys() == set()


def test_a_store_that_is_down_costs_one_failed_run_and_nothing_else(
    connection: Connection, database: Database, store: Store, bound: Bound, space: UUID
) -> None:
    keys = {add_file(connection, store, space) for _ in range(3)}
    chore = DeletedFiles(database, Storage(store.settings), bound)
    store.refused.update(dict.fromkeys(keys, (503, "ServiceUnavailable")))
    store.requests.clear()
    with pytest.raises(StorageUnavailable):
        chore()
    assert store.count("DELETE") == 2  # one file, tried twice
    nowhere = store.settings.model_copy(update={"endpoint_url": "http://127.0.0.1:1"})
    with pytest.raises(StorageUnavailable, match="does not answer"):
        DeletedFiles(database, Storage(nowhere), bound)()
    assert rows(connection) == store.keys() == keys
    store.refused.clear()
    chore()
    assert rows(connection) == store.keys() == set()


def test_a_run_takes_as_much_as_it_may_and_the_next_one_the_rest(
    connection: Connection, database: Database, store: Store, space: UUID
) -> None:
    for _ in range(5):
        add_file(connection, store, space)
    chore = DeletedFiles(database, Storage(store.settings), Bound(items=3, seconds=60, stopping=Flag()))
    for left in (2, 0, 0):
        chore()
        assert (len(rows(connection)), len(store.keys())) == (left, left)


@pytest.mark.parametrize("why", ["stopped", "out of time"])
def test_a_run_ends_between_two_files(
    connection: Connection, database: Database, store: Store, space: UUID, why: str
) -> None:
    for _ in range(3):
        add_file(connection, store, space)
    stopping = Flag()

    class Slow(Storage):
        def delete(self, key: str) -> None:
            super().delete(key)
            if why == "stopped":
                stopping.set()
            else:
                Flag().wait(0.3)

    seconds = 60 if why == "stopped" else 0.2
    DeletedFiles(database, Slow(store.settings), Bound(items=9, seconds=seconds, stopping=stopping))()
    assert (len(rows(connection)), len(store.keys())) == (2, 2)


def test_two_workers_at_once_do_each_other_no_harm(
    connection: Connection, loryth_dsn: str, store: Store, bound: Bound, space: UUID
) -> None:
    kept = add_file(connection, store, space, status="ACTIVE")
    for _ in range(20):
        add_file(connection, store, space)
    databases = [Database(loryth_dsn) for _ in range(2)]
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(lambda own: DeletedFiles(own, Storage(store.settings), bound)(), databases))
    for own in databases:
        own.close()
    assert rows(connection) == store.keys() == {kept}


def test_deleted_is_for_good_and_a_closed_space_takes_no_files(
    connection: Connection, store: Store, space: UUID
) -> None:
    add_file(connection, store, space)
    with pytest.raises(psycopg.errors.CheckViolation, match="for good"):
        connection.execute("update loryth.files set status = 'ACTIVE'")
    connection.execute("update loryth.spaces set status = 'CLOSED', closed_at = clock_timestamp()")
    with pytest.raises(psycopg.errors.CheckViolation, match="does not take files"):
        add_file(connection, store, space)
