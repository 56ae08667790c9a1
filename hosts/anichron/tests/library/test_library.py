from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest

from anichron.library.asset import Asset, CapturedFrom, MediaFile, ProxyFile, Role
from anichron.library.library import Library, StorageConfigGone
from anichron.media.exif import Exif
from anichron.media.fingerprint import Stamp
from anichron.media.picture import Picture, Variant

EARLY, LATE = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
STAMP, OTHER_STAMP = Stamp(size=5, mtime_ns=1_600_000_000_123_456_789), Stamp(size=6, mtime_ns=-1)
PROXIES = tuple(ProxyFile(variant, f"{variant}.jpg", 300, 200, 10) for variant in Variant)
PICTURE = Picture(
    media_type="image/jpeg", width=4000, height=3000, exif=Exif(make="Maker"), blurhash="L0000", renditions=()
)
ASSET = Asset("44bc2cf5ad770999", 5, PICTURE, LATE, CapturedFrom.FILE, PROXIES)


async def test_an_asset_is_found_by_its_content_in_its_own_config_only(
    library: Library, config: UUID, other_config: UUID
) -> None:
    added = await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    assert await library.find(config, ASSET.content_hash) == added
    assert await library.find(config, "ef46db3751d8e999") is None
    assert await library.find(other_config, ASSET.content_hash) is None


async def test_the_same_content_in_two_configs_is_two_assets(
    library: Library, config: UUID, other_config: UUID
) -> None:
    assert await library.add(config, ASSET, []) != await library.add(other_config, ASSET, [])


async def test_adding_the_same_again_changes_nothing(library: Library, config: UUID) -> None:
    files = [MediaFile("a.heic", STAMP), MediaFile("a.mov", OTHER_STAMP, Role.LIVE_VIDEO)]
    added = await library.add(config, ASSET, files)
    before = await library.known(config, ["a.heic", "a.mov"])
    assert await library.add(config, ASSET, files) == added
    assert await library.known(config, ["a.heic", "a.mov"]) == before


async def test_files_are_known_as_they_were_read(library: Library, config: UUID, other_config: UUID) -> None:
    added = await library.add(config, ASSET, [MediaFile("a.jpg", STAMP), MediaFile("b.jpg", OTHER_STAMP)])
    known = await library.known(config, ["a.jpg", "b.jpg", "c.jpg"])
    assert {path: (file.asset_id, file.stamp) for path, file in known.items()} == {
        "a.jpg": (added, STAMP),
        "b.jpg": (added, OTHER_STAMP),
    }
    assert await library.known(other_config, ["a.jpg"]) == {}
    assert await library.known(config, []) == {}


async def test_whether_a_config_has_files(library: Library, config: UUID, other_config: UUID) -> None:
    assert not await library.has_files(config)
    await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    assert await library.has_files(config)
    assert not await library.has_files(other_config)


@pytest.mark.parametrize(
    "path", ["caf\udce9/\udcff.jpg", r"back\slash\xff.jpg", "日本/😀.jpg", "d/" * 2000 + "a.jpg"]
)
async def test_any_path_is_kept(library: Library, config: UUID, path: str) -> None:
    await library.add(config, ASSET, [MediaFile(path, STAMP)])
    assert list(await library.known(config, [path])) == [path]


async def test_a_file_whose_content_has_changed_goes_to_the_other_asset(
    library: Library, config: UUID
) -> None:
    await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    edited = replace(ASSET, content_hash="ef46db3751d8e999")
    added = await library.add(config, edited, [MediaFile("a.jpg", OTHER_STAMP)])
    known = (await library.known(config, ["a.jpg"]))["a.jpg"]
    assert (known.asset_id, known.stamp) == (added, OTHER_STAMP)


async def test_an_asset_takes_further_files(library: Library, config: UUID) -> None:
    added = await library.add(config, ASSET, [MediaFile("a.jpg", STAMP)])
    await library.attach(config, added, [MediaFile("copy.jpg", OTHER_STAMP)], EARLY)
    known = await library.known(config, ["a.jpg", "copy.jpg"])
    assert {file.asset_id for file in known.values()} == {added}
    assert known["copy.jpg"].stamp == OTHER_STAMP


async def test_nothing_is_added_to_a_config_that_is_gone(library: Library) -> None:
    gone = UUID("018f0000-0000-7000-8000-00000000dead")
    with pytest.raises(StorageConfigGone, match=str(gone)):
        await library.add(gone, ASSET, [MediaFile("a.jpg", STAMP)])
    assert await library.find(gone, ASSET.content_hash) is None
