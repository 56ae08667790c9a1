"""One crawl: bring the library up to date with one storage config's folder."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID
from weakref import WeakValueDictionary

from anichron.crawl.proxy_folder import ProxyFolder
from anichron.crawl.summary import CrawlSummary
from anichron.crawl.threads import in_thread
from anichron.crawl.walk import Found, FoundPhoto, NotMounted, Root, Unsupported
from anichron.library.asset import Asset, CapturedFrom, KnownFile, MediaFile, Role
from anichron.library.library import Library
from anichron.media.decoder import Decoder
from anichron.media.errors import FileFailed, Reason
from anichron.media.fingerprint import Stamp

logger = logging.getLogger(__name__)

BATCH = 256
"""Finds that are taken from the walk, and looked up in the library, at once."""
AHEAD = 10_000
"""Photos that may wait to be read: so many are found before any is done, and no more are held in memory."""


async def crawl(
    config_id: UUID,
    root: Path,
    *,
    library: Library,
    decoder: Decoder,
    proxies: ProxyFolder,
    max_concurrent_files: int,
    report: Callable[[CrawlSummary], None] = lambda _: None,
) -> CrawlSummary:
    """Take every photo under the root into the library, with its proxies; what is there already stays as it is.

    Each run starts from scratch and converges: broken off anywhere and run again, it ends with the rows and proxies
    of an undisturbed one. Nothing is ever removed. `report` gets the counts after each change, on the event loop;
    the last one reported is what a cancelled crawl has done. To cancel it, cancel the task: the file steps in
    progress are stopped, and when the task has ended nothing of it goes on.

    A file's failure is counted and logged. Raises `NotMounted` for a root that is not there, goes away, or is empty
    where the library knows better; `ProxyFolderUnwritable`, `StorageConfigGone`, and what the library raises.
    """
    here = await in_thread(lambda: Root(root))
    run = _Crawl(config_id, here, library=library, decoder=decoder, proxies=proxies, report=report)
    return await run.with_readers(max_concurrent_files)


class _Crawl:
    def __init__(
        self,
        config_id: UUID,
        root: Root,
        *,
        library: Library,
        decoder: Decoder,
        proxies: ProxyFolder,
        report: Callable[[CrawlSummary], None],
    ) -> None:
        self._config_id = config_id
        self._root = root
        self._library = library
        self._decoder = decoder
        self._proxies = proxies
        self._report = report
        self._summary = CrawlSummary()
        self._waiting: asyncio.Queue[FoundPhoto | None] = asyncio.Queue(AHEAD)
        self._contents: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def with_readers(self, readers: int) -> CrawlSummary:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._scout(readers))
                for _ in range(readers):
                    tasks.create_task(self._settle_waiting())
        except ExceptionGroup as group:
            raise group.exceptions[0] from None  # the first cancelled the others
        empty = self._summary.found == 0 and self._summary.unsupported == 0
        if empty and await self._library.has_files(self._config_id):
            raise NotMounted("the root folder is empty, but the library knows files in it")
        return self._summary

    async def _scout(self, readers: int) -> None:
        finds = self._root.walk()
        while batch := await in_thread(lambda: list(islice(finds, BATCH))):
            photos = self._counted(batch)
            known = await self._library.known(
                self._config_id, [file.path for find in photos for file in find.files]
            )
            changed = [find for find in photos if not _unchanged(find, known)]
            self._add(unchanged=len(photos) - len(changed))
            for find in changed:
                await self._waiting.put(find)
        self._add(complete=True)
        for _ in range(readers):
            await self._waiting.put(None)

    def _counted(self, batch: Sequence[Found]) -> list[FoundPhoto]:
        photos = [find for find in batch if isinstance(find, FoundPhoto)]
        unsupported = sum(isinstance(find, Unsupported) for find in batch)
        self._add(
            found=len(photos),
            live_photos=sum(find.live_video is not None for find in photos),
            unsupported=unsupported,
            unreadable_folders=len(batch) - len(photos) - unsupported,
        )
        return photos

    async def _settle_waiting(self) -> None:
        while find := await self._waiting.get():
            try:
                await self._settle(find)
            except FileFailed as failed:
                if failed.reason in {Reason.VANISHED, Reason.UNREADABLE}:
                    await in_thread(self._root.check)
                logger.warning("Failed: %r: %s", find.photo.path, failed)
                failures = self._summary.failures
                self._add(failed=1, failures={**failures, failed.reason: failures.get(failed.reason, 0) + 1})

    async def _settle(self, find: FoundPhoto) -> None:
        path = os.path.join(self._root.path, find.photo.path)  # noqa: PTH118 - may hold bytes that are no UTF-8
        read = await self._decoder.fingerprint(path)
        # Of files with the same content the first is developed while the others wait for what it makes.
        async with self._contents.setdefault(read.content_hash, asyncio.Lock()):
            files, file_time = _files(find, read.stamp), _time(read.stamp)
            asset_id = await self._library.find(self._config_id, read.content_hash)
            if asset_id is not None:
                await self._library.attach(self._config_id, asset_id, files, file_time)
                self._add(duplicates=1)
                return
            picture = await self._decoder.develop(path, read.stamp)
            written = await in_thread(
                lambda: self._proxies.write(self._config_id, read.content_hash, picture.renditions)
            )
            asset = Asset(
                content_hash=read.content_hash,
                byte_size=read.stamp.size,
                picture=picture,
                captured_at=picture.exif.captured_at or file_time,
                captured_from=CapturedFrom.EXIF if picture.exif.captured_at else CapturedFrom.FILE,
                proxies=written,
            )
            await self._library.add(self._config_id, asset, files)
            self._add(imported=1)

    def _add(self, **changes: object) -> None:
        """Change the summary, numbers by so much and anything else to it, and report it."""
        update = {
            name: getattr(self._summary, name) + value if type(value) is int else value
            for name, value in changes.items()
        }
        self._summary = self._summary.model_copy(update=update)
        self._report(self._summary)


def _unchanged(find: FoundPhoto, known: Mapping[str, KnownFile]) -> bool:
    """Whether all of the find's files are known as they are, and as belonging together."""
    entries = [known.get(file.path) for file in find.files]
    as_found = all(
        entry and entry.stamp == file.stamp for entry, file in zip(entries, find.files, strict=True)
    )
    return as_found and len({entry.asset_id for entry in entries if entry}) == 1


def _files(find: FoundPhoto, stamp: Stamp) -> list[MediaFile]:
    files = [MediaFile(find.photo.path, stamp)]
    if find.live_video is not None:
        files.append(MediaFile(find.live_video.path, find.live_video.stamp, Role.LIVE_VIDEO))
    return files


def _time(stamp: Stamp) -> datetime:
    """The modification time, to the microsecond; one beyond the calendar is its last moment."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=stamp.mtime_ns // 1000)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
