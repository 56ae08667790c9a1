"""Uploads never completed: those of files, those that only the store knows, and those that are still under way."""

from datetime import timedelta
from threading import Event as Flag

import pytest

from hosts.loryth.tests.store import Store
from loryth.chores.abandoned_uploads import AbandonedUploads
from loryth.chores.bound import Bound, ChoreFailed
from loryth.chores.deleted_files import DeletedFiles
from loryth.database import Connection, Database
from loryth.storage import Storage, StorageUnavailable

DAY = timedelta(hours=24)
OLD, YOUNG = timedelta(hours=25), timedelta(hours=23)


@pytest.fixture
def chore(database: Database, store: Store, bound: Bound) -> AbandonedUploads:
    return AbandonedUploads(database, Storage(store.settings), bound, age=DAY)


def add_uploading(connection: Connection, store: Store, *, age: timedelta, begun: bool = True) -> str:
    """A file that is being uploaded; the store's id of the upload."""
    row = connection.execute(
        "with space as (insert into loryth.spaces (name) values ('home') returning id) select id from space"
    ).fetchone()
    row = connection.execute(
        "insert into loryth.files (space_id, created_at) values (%s, clock_timestamp() - %s) returning object_key",
        [row and row[0], age],
    ).fetchone()
    assert row is not None
    upload_id = store.begin_upload(row[0], age=age) if begun else None
    connection.execute("update loryth.files set upload_id = %s where object_key = %s", [upload_id, row[0]])
    return str(upload_id)


def files(connection: Connection) -> list[tuple[str, bool]]:
    """Status of each file, and whether it has an upload."""
    return connection.execute(
        "select status, upload_id is not null from loryth.files order by created_at"
    ).fetchall()


def test_an_upload_that_took_too_long_is_aborted_and_its_file_goes(
    connection: Connection, database: Database, store: Store, bound: Bound, chore: AbandonedUploads
) -> None:
    add_uploading(connection, store, age=OLD)
    add_uploading(connection, store, age=OLD, begun=False)
    young = add_uploading(connection, store, age=YOUNG)
    chore()
    assert store.uploads() == {young}
    assert files(connection) == [("DELETED", False), ("DELETED", False), ("UPLOADING", True)]
    DeletedFiles(database, Storage(store.settings), bound)()
    assert files(connection) == [("UPLOADING", True)]
    chore()
    assert store.uploads() == {young}


def test_a_file_that_is_deleted_while_it_is_uploaded_keeps_its_row_until_the_upload_is_aborted(
    connection: Connection, database: Database, store: Store, bound: Bound, chore: AbandonedUploads
) -> None:
    add_uploading(connection, store, age=YOUNG)
    connection.execute("update loryth.files set status = 'DELETED'")
    DeletedFiles(database, Storage(store.settings), bound)()
    assert files(connection) == [("DELETED", True)]
    chore()
    assert (store.uploads(), files(connection)) == (set(), [("DELETED", False)])


def test_an_upload_that_the_store_no_longer_has_is_as_good_as_aborted(
    connection: Connection, store: Store, chore: AbandonedUploads
) -> None:
    upload_id = add_uploading(connection, store, age=OLD)
    key = connection.execute("select object_key from loryth.files").fetchone()
    store.client.abort_multipart_upload(Bucket="platform", Key=key and key[0], UploadId=upload_id)
    chore()
    assert files(connection) == [("DELETED", False)]


def test_orphans_are_found_on_every_page_and_those_under_way_and_of_others_are_left(
    connection: Connection, store: Store, chore: AbandonedUploads
) -> None:
    store.most_per_page = 3
    for number in range(5):
        store.begin_upload(f"files/{number}", age=OLD)
        store.begin_upload(f"files/{number}", age=OLD)
    left = {store.begin_upload(f"files/{number}", age=YOUNG) for number in range(5)}
    left.add(store.begin_upload("backups/1", age=OLD))
    chore()
    assert store.uploads() == left


@pytest.mark.parametrize("days", [-2, 2])
def test_the_age_of_an_upload_is_told_by_the_store_s_clock(
    store: Store, chore: AbandonedUploads, days: int
) -> None:
    store.clock_is_ahead = timedelta(days=days)
    under_way = store.begin_upload("files/1", age=YOUNG)
    store.begin_upload("files/2", age=OLD)
    chore()
    assert store.uploads() == {under_way}


def test_an_upload_that_cannot_be_aborted_stops_no_other(
    connection: Connection, store: Store, chore: AbandonedUploads
) -> None:
    bad = {store.begin_upload("files/0", age=OLD)}
    store.refused["files/0"] = (403, "AccessDenied")
    bad.add(add_uploading(connection, store, age=OLD))
    key = connection.execute("select object_key from loryth.files").fetchone()
    store.refused[str(key and key[0])] = (403, "AccessDenied")
    add_uploading(connection, store, age=OLD)
    store.begin_upload("files/9", age=OLD)
    with pytest.raises(ChoreFailed, match="2 abandoned uploads failed, 2 are done"):
        chore()
    assert store.uploads() == bad
    assert files(connection) == [("DELETED", True), ("DELETED", False)]


def test_a_bounded_run_goes_on_where_the_last_one_was_cut(database: Database, store: Store) -> None:
    bad = store.begin_upload("files/0", age=OLD)
    store.refused["files/0"] = (403, "AccessDenied")
    for number in range(1, 4):
        store.begin_upload(f"files/{number}", age=OLD)
    chore = AbandonedUploads(
        database, Storage(store.settings), Bound(items=2, seconds=60, stopping=Flag()), age=DAY
    )
    with pytest.raises(ChoreFailed):
        chore()
    chore()
    assert store.uploads() == {bad}


def test_a_store_that_is_down_leaves_what_was_decided_for_the_next_run(
    connection: Connection, store: Store, chore: AbandonedUploads
) -> None:
    add_uploading(connection, store, age=OLD)
    key = connection.execute("select object_key from loryth.files").fetchone()
    store.refused[str(key and key[0])] = (500, "InternalError")
    with pytest.raises(StorageUnavailable):
        chore()
    assert files(connection) == [("DELETED", True)]
    store.refused.clear()
    chore()
    assert (store.uploads(), files(connection)) == (set(), [("DELETED", False)])
