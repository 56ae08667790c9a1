import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import psycopg
import pytest

from anichron.crawl.crawl import crawl
from anichron.crawl.proxy_folder import ProxyFolder, ProxyFolderUnwritable
from anichron.crawl.summary import CrawlSummary
from anichron.crawl.walk import NotMounted
from anichron.library.asset import Asset, CapturedFrom, KnownFile, MediaFile, Role
from anichron.library.library import StorageConfigGone
from anichron.library.memory import MemoryLibrary
from anichron.media.decoder import Decoder, ProcessDecoder
from anichron.media.errors import FileFailed, Reason
from anichron.media.exif import Exif
from anichron.media.fingerprint import Fingerprint, Stamp
from anichron.media.picture import Picture

Run: TypeAlias = Callable[..., Awaitable[CrawlSummary]]
Paint: TypeAlias = Callable[..., Path]

PAINTED = datetime.fromtimestamp(1_600_000_000, UTC)
"""The modification time of what `paint` makes."""


def paths(library: MemoryLibrary) -> set[str]:
    return {path for _, path in library.files}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def state(library: MemoryLibrary) -> Any:
    """What the library holds, but for the ids it made."""
    hashes = {asset_id: content_hash for (_, content_hash), asset_id in library.assets.items()}
    files = {path: (hashes[file.asset_id], file.stamp) for (_, path), file in library.files.items()}
    return {hashes[asset_id]: asset for asset_id, asset in library.details.items()}, files, library.roles


class Unread:
    """A decoder that nothing may be read with."""

    async def fingerprint(self, path: str) -> Fingerprint:
        raise AssertionError(path)

    async def develop(self, path: str, expected: Stamp) -> Picture:
        raise AssertionError((path, expected))


class Blank:
    """A decoder that takes every file for another picture of nothing, when it may."""

    def __init__(self, *, at_once: int = 1) -> None:
        self.working = self.most = self.seen = 0
        self._gathered = asyncio.Barrier(at_once)

    async def fingerprint(self, path: str) -> Fingerprint:
        self.seen += 1
        unique = f"{self.seen:016x}"
        self.working += 1
        self.most = max(self.most, self.working)
        await self._gathered.wait()
        self.working -= 1
        return Fingerprint(content_hash=unique, stamp=Stamp(size=1, mtime_ns=1))

    async def develop(self, path: str, expected: Stamp) -> Picture:
        return Picture(media_type="image/png", width=1, height=1, exif=Exif(), blurhash="", renditions=())


async def test_a_folder_becomes_assets_with_proxies(
    run: Run, paint: Paint, library: MemoryLibrary, root: Path, proxy_root: Path
) -> None:
    paint("a.jpg", "red")
    paint("2021/b.png", "green")
    (root / "note.txt").write_text("no photo")
    summary = await run()
    assert summary == CrawlSummary(found=2, imported=2, unsupported=1, complete=True)
    assert paths(library) == {"a.jpg", "2021/b.png"}
    written = {proxy.path: proxy.byte_size for asset in library.details.values() for proxy in asset.proxies}
    assert len(written) == 4
    assert written == {path: len(data) for path, data in content(proxy_root).items()}


async def test_a_second_crawl_reads_nothing_and_changes_nothing(
    run: Run, paint: Paint, library: MemoryLibrary, proxy_root: Path
) -> None:
    for name, colour in (("a.jpg", "red"), ("copy.jpg", "red"), ("b.png", "green")):
        paint(name, colour)
    await run()
    before, proxies = state(library), content(proxy_root)
    assert await run(decoder=Unread()) == CrawlSummary(found=3, unchanged=3, complete=True)
    assert (state(library), content(proxy_root)) == (before, proxies)


async def test_a_file_that_is_only_touched_is_read_and_found_to_be_there(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    path = paint("a.jpg")
    await run()
    os.utime(path, ns=(0, 1_600_000_000_000_000_001))
    assert await run() == CrawlSummary(found=1, duplicates=1, complete=True)
    assert len(library.assets) == 1
    assert await run(decoder=Unread()) == CrawlSummary(found=1, unchanged=1, complete=True)


async def test_a_file_whose_content_changes_becomes_another_asset(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    paint("a.jpg", "red")
    await run()
    os.utime(paint("a.jpg", "blue"), ns=(0, 7))
    assert (await run()).imported == 1
    assert len(library.assets) == 2
    assert len(library.files) == 1


async def test_files_of_the_same_content_are_one_asset_and_the_oldest_dates_it(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    for number in range(6):
        os.utime(paint(f"{number}.png"), ns=(0, (10 - number) * 1_000_000_000))
    summary = await run()
    assert (summary.imported, summary.duplicates) == (1, 5)
    (asset,) = library.details.values()
    assert asset.captured_at == datetime.fromtimestamp(5, UTC)
    assert asset.captured_from is CapturedFrom.FILE
    assert len(library.files) == 6


async def test_the_capture_time_is_the_cameras_or_else_the_files(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    paint("a.png", "red")
    exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x69\x87\x04\0\x01\0\0\0\x1a\0\0\0\0\0\0\0"
    exif += b"\x01\0\x03\x90\x02\0\x14\0\0\0\x2c\0\0\0\0\0\0\0" + b"2021:04:11 15:47:53\0"
    paint("b.jpg", "green", exif=exif)
    await run()
    times = {(asset.captured_from.value, asset.captured_at) for asset in library.details.values()}
    assert times == {("file", PAINTED), ("exif", datetime(2021, 4, 11, 15, 47, 53, tzinfo=UTC))}


async def test_a_heif_and_its_video_are_one_asset_with_both_files(
    run: Run, paint: Paint, library: MemoryLibrary, root: Path
) -> None:
    paint("IMG_1.HEIC")
    (root / "IMG_1.MOV").write_bytes(b"moving")
    assert await run() == CrawlSummary(found=1, imported=1, live_photos=1, complete=True)
    assert len(library.assets) == 1
    assert {path: role for (_, path), role in library.roles.items()} == {
        "IMG_1.HEIC": Role.PHOTO,
        "IMG_1.MOV": Role.LIVE_VIDEO,
    }
    assert (await run(decoder=Unread())).unchanged == 1


async def test_a_video_that_comes_later_joins_its_photo(
    run: Run, paint: Paint, library: MemoryLibrary, root: Path
) -> None:
    paint("1.heic")
    await run()
    (root / "1.mov").write_bytes(b"moving")
    assert await run() == CrawlSummary(found=1, duplicates=1, live_photos=1, complete=True)
    assert len({file.asset_id for file in library.files.values()}) == 1
    assert (await run(decoder=Unread())).unchanged == 1


async def test_bad_files_fail_themselves_are_counted_and_named_in_the_log_only(
    run: Run, paint: Paint, library: MemoryLibrary, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = paint("good.jpg").read_bytes()
    (root / "truncated.jpg").write_bytes(whole[: len(whole) * 2 // 3])
    (root / "text.jpg").write_bytes(b"no photo")
    (root / "empty.heic").touch()
    summary = await run()
    assert summary == CrawlSummary(
        found=4, imported=1, failed=3, failures={Reason.UNDECODABLE: 3}, complete=True
    )
    assert (summary.done, summary.total, summary.note) == (4, 4, "found 4, failed 3")
    assert paths(library) == {"good.jpg"}
    logged = caplog.text
    for name in ("truncated.jpg", "text.jpg", "empty.heic"):
        assert name in logged
        assert name not in summary.model_dump_json()
    assert (await run()).failed == 3  # each crawl tries again


async def test_names_that_are_no_utf8_are_crawled_like_others(
    run: Run, paint: Paint, library: MemoryLibrary, root: Path
) -> None:
    paint("a.png").rename(root / os.fsdecode(b"caf\xe9.png"))
    assert (await run()).imported == 1
    assert {os.fsencode(path) for path in paths(library)} == {b"caf\xe9.png"}
    assert (await run(decoder=Unread())).unchanged == 1


class Meddling:
    """A decoder that does something to each file between hashing and developing it."""

    def __init__(self, decoder: Decoder, meddle: Callable[[Path], None]) -> None:
        self._decoder, self._meddle = decoder, meddle

    async def fingerprint(self, path: str) -> Fingerprint:
        return await self._decoder.fingerprint(path)

    async def develop(self, path: str, expected: Stamp) -> Picture:
        self._meddle(Path(path))
        return await self._decoder.develop(path, expected)


@pytest.mark.parametrize(
    ("meddle", "reason"),
    [
        (Path.unlink, Reason.VANISHED),
        (lambda path: path.write_bytes(b"more"), Reason.CHANGED),
        (lambda path: (path.unlink(), path.symlink_to("elsewhere")), Reason.UNREADABLE),
    ],
)
async def test_a_file_that_moves_while_it_is_read_fails_this_time(
    *, run: Run, paint: Paint, library: MemoryLibrary, decoder: Decoder, meddle: Any, reason: Reason
) -> None:
    paint("a.png")
    assert (await run(decoder=Meddling(decoder, meddle))).failures == {reason: 1}
    assert library.files == {}
    paint("b.png")
    assert (await run()).imported == 1


@pytest.mark.parametrize("limit", [1, 3, 8])
async def test_the_files_worked_on_at_once_reach_their_limit_and_never_pass_it(
    run: Run, root: Path, limit: int
) -> None:
    for number in range(limit * 5):
        (root / f"{number}.png").touch()
    decoder = Blank(at_once=limit)
    summary = await run(decoder=decoder, max_concurrent_files=limit)
    assert summary.imported == limit * 5
    assert decoder.most == limit


async def test_progress_only_grows_and_knows_its_total_once_the_walk_has_ended(
    run: Run, paint: Paint, root: Path
) -> None:
    for number, colour in enumerate(("red", "green", "blue", "red")):
        paint(f"{number}.png", colour)
    (root / "bad.png").touch()
    reported: list[CrawlSummary] = []
    final = await run(report=reported.append)
    assert reported[-1] == final
    done = [summary.done for summary in reported]
    assert done == sorted(done)
    assert done[-1] == final.total == 5
    assert {summary.total for summary in reported} == {None, 5}
    assert [summary.complete for summary in reported] == sorted(summary.complete for summary in reported)


def unmount(root: Path) -> None:
    root.rename(root.with_name("away"))


def remount(root: Path) -> None:
    root.with_name("away").rename(root)


async def test_a_root_that_is_not_there_is_no_empty_crawl(run: Run, root: Path) -> None:
    unmount(root)
    with pytest.raises(NotMounted, match="not mounted here"):
        await run()
    remount(root)
    assert await run() == CrawlSummary(complete=True)


async def test_an_empty_root_is_an_empty_crawl_unless_the_library_knows_better(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    assert await run() == CrawlSummary(complete=True)
    path = paint("a.png")
    await run()
    path.unlink()
    before = state(library)
    with pytest.raises(NotMounted, match="empty"):
        await run()
    assert state(library) == before


async def test_a_root_that_goes_away_in_the_middle_is_not_mounted_and_nothing_is_forgotten(
    run: Run, paint: Paint, library: MemoryLibrary, decoder: Decoder, root: Path
) -> None:
    for number, colour in enumerate(("red", "green", "blue", "white")):
        paint(f"{number}.png", colour)

    def meanwhile(path: Path) -> None:
        if path.name == "2.png":
            unmount(root)

    with pytest.raises(NotMounted):
        await run(decoder=Meddling(decoder, meanwhile), max_concurrent_files=1)
    assert paths(library) == {"0.png", "1.png"}
    remount(root)
    assert await run() == CrawlSummary(found=4, imported=2, unchanged=2, complete=True)


async def test_files_that_vanish_from_a_root_that_stays_are_counted_only(
    run: Run, paint: Paint, decoder: Decoder, root: Path
) -> None:
    for number, colour in enumerate(("red", "green")):
        paint(f"folder/{number}.png", colour)
    decoder_ = Meddling(decoder, lambda path: shutil.rmtree(path.parent, ignore_errors=True))
    assert (await run(decoder=decoder_, max_concurrent_files=1)).failures == {Reason.VANISHED: 2}


class Broken(MemoryLibrary):
    """A library that breaks at one of its writes."""

    def __init__(self, config_id: UUID, error: BaseException, *, after: int) -> None:
        super().__init__(config_id)
        self._error, self._left = error, after

    async def add(self, config_id: UUID, asset: Asset, files: Sequence[MediaFile]) -> UUID:
        self._left -= 1
        if self._left < 0:
            raise self._error
        return await super().add(config_id, asset, files)


@pytest.mark.parametrize("after", range(5))
async def test_a_crawl_that_breaks_off_anywhere_ends_as_if_it_had_not(
    run: Run, paint: Paint, library: MemoryLibrary, proxy_root: Path, after: int
) -> None:
    for number, colour in enumerate(("red", "green", "blue", "white", "red")):
        os.utime(paint(f"{number}.png", colour), ns=(0, number))
    await run()
    undisturbed, proxies = state(library), content(proxy_root)
    shutil.rmtree(proxy_root)
    (config,) = library.config_ids
    broken = Broken(config, psycopg.InterfaceError("lost"), after=after)
    if after < 4:  # there are four contents
        with pytest.raises(psycopg.InterfaceError):
            await run(library=broken)
    broken._left = 99
    await run(library=broken)
    assert (state(broken), content(proxy_root)) == (undisturbed, proxies)


async def test_a_config_that_is_gone_ends_the_crawl(run: Run, paint: Paint) -> None:
    paint("a.png")
    with pytest.raises(StorageConfigGone):
        await run(library=MemoryLibrary())


async def test_proxies_that_cannot_be_written_end_the_crawl_and_are_no_photos_fault(
    run: Run, paint: Paint, library: MemoryLibrary
) -> None:
    no_folder = paint("a.png")
    with pytest.raises(ProxyFolderUnwritable):
        await run(proxies=ProxyFolder(no_folder))
    assert library.assets == {}


class Waiting(MemoryLibrary):
    """A library whose writes wait for ever, and tell when they do."""

    def __init__(self, config_id: UUID) -> None:
        super().__init__(config_id)
        self.reached = asyncio.Event()

    async def add(self, config_id: UUID, asset: Asset, files: Sequence[MediaFile]) -> UUID:
        if len(self.assets) == 2:
            self.reached.set()
            await asyncio.Event().wait()
        return await super().add(config_id, asset, files)


async def test_a_cancelled_crawl_stops_with_its_counts_reported_and_converges_later(
    run: Run, paint: Paint, library: MemoryLibrary, proxy_root: Path
) -> None:
    for number, colour in enumerate(("red", "green", "blue", "white")):
        paint(f"{number}.png", colour)
    (config,) = library.config_ids
    waiting, reported = Waiting(config), list[CrawlSummary]()
    task = asyncio.ensure_future(run(library=waiting, report=reported.append))
    await waiting.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reported[-1].imported == len(waiting.assets) == 2
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await run(library=library)
    assert len(library.assets) == 4
    assert len(content(proxy_root)) == 8


async def test_a_write_in_progress_has_ended_when_a_cancelled_crawl_has(
    run: Run, paint: Paint, proxy_root: Path
) -> None:
    paint("a.png")
    loop, started, done = asyncio.get_running_loop(), asyncio.Event(), list[bool]()

    class Slow(ProxyFolder):
        def write(self, *arguments: Any) -> Any:
            loop.call_soon_threadsafe(started.set)
            cancelled.result()
            written = super().write(*arguments)
            done.append(True)
            return written

    task = asyncio.ensure_future(run(proxies=Slow(proxy_root)))
    cancelled = asyncio.run_coroutine_threadsafe(_cancel(task, started), loop)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]


async def _cancel(task: "asyncio.Future[CrawlSummary]", started: asyncio.Event) -> None:
    await started.wait()
    task.cancel()


class Counting(MemoryLibrary):
    """A library that notes how many paths it is asked about at once."""

    def __init__(self, config_id: UUID) -> None:
        super().__init__(config_id)
        self.asked: list[int] = []

    async def known(self, config_id: UUID, paths: Sequence[str]) -> Mapping[str, KnownFile]:
        self.asked.append(len(paths))
        return await super().known(config_id, paths)


async def test_the_library_is_asked_about_many_files_at_once(
    run: Run, root: Path, library: MemoryLibrary
) -> None:
    for number in range(600):
        (root / f"{number}.png").touch()
    counting = Counting(*library.config_ids)
    await run(library=counting, decoder=Blank(), max_concurrent_files=1)
    assert counting.asked == [256, 256, 88]


async def test_every_real_photo_is_an_asset(photos: Path, library: MemoryLibrary, proxy_root: Path) -> None:
    (config,) = library.config_ids
    folder = ProxyFolder(proxy_root)
    async with ProcessDecoder(2) as decoder:
        summary = await crawl(
            config, photos, library=library, decoder=decoder, proxies=folder, max_concurrent_files=2
        )
    assert summary == CrawlSummary(found=72, imported=72, complete=True)
    assert len(content(proxy_root)) == 144
    again = await crawl(
        config, photos, library=library, decoder=Unread(), proxies=folder, max_concurrent_files=2
    )
    assert again == CrawlSummary(found=72, unchanged=72, complete=True)


def test_a_failed_file_is_told_of_without_its_name() -> None:
    assert str(FileFailed(Reason.TOO_LARGE, "60000 x 60000 pixels")) == "too large: 60000 x 60000 pixels"
