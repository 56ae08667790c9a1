import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row

from anichron.database import Database
from anichron.library.asset import Asset, CapturedFrom, MediaFile, ProxyFile, Role
from anichron.library.library import StorageConfigGone
from anichron.library.postgres import PostgresLibrary
from anichron.media.exif import Exif
from anichron.media.fingerprint import Stamp
from anichron.media.picture import Picture, Variant
from treadle.errors import StoreUnavailable

NOON = datetime(2021, 4, 11, 12, tzinfo=UTC)
STAMP = Stamp(size=5, mtime_ns=1_600_000_000_123_456_789)
EXIF = Exif(
    orientation=270,
    mirrored=True,
    latitude=-33.86,
    longitude=151.21,
    make="Maker",
    model="Model",
    lens="Lens",
    captured_at=NOON,
    utc_offset=-330,
)
PICTURE = Picture(media_type="image/heic", width=3, height=4, exif=EXIF, blurhash="LEG8[%", renditions=())
PROXIES = (
    ProxyFile(Variant.THUMBNAIL, "t.jpg", 300, 200, 10),
    ProxyFile(Variant.PREVIEW, "p.jpg", 1920, 1280, 20),
)
ASSET = Asset("44bc2cf5ad770999", 5, PICTURE, NOON, CapturedFrom.EXIF, PROXIES)
BY_FILE = replace(ASSET, captured_from=CapturedFrom.FILE)


def rows(dsn: str, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(dsn, row_factory=dict_row) as connection:
        return connection.execute(query.encode()).fetchall()


def captured(dsn: str) -> list[Any]:
    return [row["captured_at"] for row in rows(dsn, "select captured_at from anichron.metadata")]


@pytest.fixture
def library(database: Database) -> PostgresLibrary:
    return PostgresLibrary(database)


async def test_every_column_is_written(library: PostgresLibrary, library_dsn: str, config: UUID) -> None:
    files = [MediaFile("a\udce9.heic", STAMP), MediaFile("a.mov", STAMP, Role.LIVE_VIDEO)]
    added = await library.add(config, ASSET, files)
    (asset,) = rows(library_dsn, "select * from anichron.media_assets")
    assert asset.pop("imported_at").tzinfo is not None
    assert asset == {
        "id": added,
        "storage_config_id": config,
        "content_hash": "44bc2cf5ad770999",
        "media_type": "image/heic",
        "byte_size": 5,
        "blurhash": "LEG8[%",
    }
    (metadata,) = rows(library_dsn, "select * from anichron.metadata")
    expected = {"asset_id": added, "width": 3, "height": 4, "captured_from": "exif"}
    assert metadata == expected | {
        "orientation": 270,
        "mirrored": True,
        "latitude": -33.86,
        "longitude": 151.21,
        "make": "Maker",
        "model": "Model",
        "lens": "Lens",
        "captured_at": NOON,
        "utc_offset": -330,
    }
    assert rows(library_dsn, "select * from anichron.proxy_files order by variant desc") == [
        {
            "asset_id": added,
            "variant": "thumbnail",
            "path": "t.jpg",
            "width": 300,
            "height": 200,
            "byte_size": 10,
        },
        {
            "asset_id": added,
            "variant": "preview",
            "path": "p.jpg",
            "width": 1920,
            "height": 1280,
            "byte_size": 20,
        },
    ]
    kept = rows(
        library_dsn, "select path, role, byte_size, mtime_ns from anichron.media_files order by role desc"
    )
    assert [tuple(row.values()) for row in kept] == [
        (r"a\xe9.heic", "photo", 5, 1_600_000_000_123_456_789),
        ("a.mov", "live-video", 5, 1_600_000_000_123_456_789),
    ]


async def test_adding_again_brings_what_is_known_up_to_date(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    await library.add(config, ASSET, [])
    exif = EXIF.model_copy(update={"make": "Other", "lens": None})
    await library.add(config, replace(ASSET, picture=PICTURE.model_copy(update={"exif": exif})), [])
    assert rows(library_dsn, "select make, lens from anichron.metadata") == [{"make": "Other", "lens": None}]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
async def test_of_several_files_times_the_oldest_stays_whichever_came_first(
    library: PostgresLibrary, library_dsn: str, config: UUID, order: tuple[int, ...]
) -> None:
    first, second, third = (NOON + timedelta(days=day) for day in order)
    added = await library.add(config, replace(BY_FILE, captured_at=first), [])
    await library.attach(config, added, [], second)
    await library.add(config, replace(BY_FILE, captured_at=third), [])
    assert captured(library_dsn) == [NOON + timedelta(days=1)]


async def test_a_capture_time_of_the_cameras_gives_way_to_no_file(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    added = await library.add(config, ASSET, [])
    await library.attach(config, added, [], NOON - timedelta(days=1))
    assert captured(library_dsn) == [NOON]


async def test_an_add_that_fails_leaves_nothing(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    impossible = replace(PROXIES[1], byte_size=0)
    with pytest.raises(psycopg.errors.CheckViolation):
        await library.add(
            config, replace(ASSET, proxies=(PROXIES[0], impossible)), [MediaFile("a.jpg", STAMP)]
        )
    for table in ("media_assets", "metadata", "proxy_files", "media_files"):
        assert rows(library_dsn, f"select * from anichron.{table}") == []


async def test_the_same_content_added_by_many_at_once_is_one_asset(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    added = await asyncio.gather(
        *[library.add(config, ASSET, [MediaFile(f"{number}.jpg", STAMP)]) for number in range(12)]
    )
    assert len(set(added)) == 1
    assert len(rows(library_dsn, "select * from anichron.media_files")) == 12
    assert len(rows(library_dsn, "select * from anichron.metadata")) == 1


async def test_what_a_config_has_goes_with_it(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    added = await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    with psycopg.connect(library_dsn) as connection:
        connection.execute("delete from anichron.storage_configs where id = %s", [config])
    for table in ("media_assets", "metadata", "proxy_files", "media_files"):
        assert rows(library_dsn, f"select * from anichron.{table}") == []
    with pytest.raises(StorageConfigGone):
        await library.attach(config, added, [MediaFile("b.jpg", STAMP)], NOON)


async def test_lost_connections_are_no_matter(
    library: PostgresLibrary, library_dsn: str, config: UUID
) -> None:
    await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    with psycopg.connect(library_dsn, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    assert await library.find(config, ASSET.content_hash) is not None


async def test_a_database_that_is_away_is_waited_for_and_then_given_up(
    library_dsn: str, config: UUID
) -> None:
    async with Database(f"{library_dsn} dbname=nowhere") as database:
        with pytest.raises(StoreUnavailable):
            await PostgresLibrary(database, patience=0).find(config, ASSET.content_hash)


async def test_a_connection_that_dies_under_a_write_does_it_once_more(
    database: Database, library_dsn: str, config: UUID
) -> None:
    library = PostgresLibrary(database)
    async with await psycopg.AsyncConnection.connect(library_dsn) as blocker:
        await blocker.execute("lock table anichron.media_files in exclusive mode")
        adding = asyncio.create_task(library.add(config, ASSET, [MediaFile("a.jpg", STAMP)]))
        async with await psycopg.AsyncConnection.connect(library_dsn, autocommit=True) as killer:
            killed = None
            while killed is None:  # until the write waits for the lock
                answer = await killer.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where datname = current_database() and wait_event_type = 'Lock' limit 1"
                )
                killed = await answer.fetchone()
    added = await adding
    assert (await library.known(config, ["a.jpg"]))["a.jpg"].asset_id == added
    assert len(rows(library_dsn, "select * from anichron.media_assets")) == 1


async def test_every_table_and_column_says_what_it_is(library_dsn: str) -> None:
    silent = rows(
        library_dsn,
        """
        select c.relname, a.attname
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped
        where c.oid in ('anichron.media_assets'::regclass, 'anichron.metadata'::regclass,
                        'anichron.proxy_files'::regclass, 'anichron.media_files'::regclass)
            and (col_description(c.oid, a.attnum) is null or obj_description(c.oid, 'pg_class') is null)
        """,
    )
    assert silent == []
