"""Looking through a folder for photos, lazily and without following symbolic links."""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from anichron.media.fingerprint import Stamp

logger = logging.getLogger(__name__)

# By suffix a file is looked at or left; what it is its content decides.
HEIF_SUFFIXES = frozenset({".heic", ".heif", ".hif"})
PHOTO_SUFFIXES = HEIF_SUFFIXES | {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".tif", ".tiff", ".webp"}
VIDEO_SUFFIXES = frozenset({".mov", ".mp4"})
"""What the moving part of a Live Photo may have; videos by themselves are unsupported."""

# What systems and NAS boxes keep beside photos; like names with a leading dot, none of the user's.
SYSTEM_NAMES = frozenset(
    {
        "$recycle.bin",
        "#recycle",
        "@eadir",
        "desktop.ini",
        "lost+found",
        "system volume information",
        "thumbs.db",
    }
)


class NotMounted(Exception):
    """The root is not there to be crawled. The message names no path."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"not mounted here: {detail}")


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: str
    """Under the root; bytes that are no UTF-8 are surrogates."""
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class FoundPhoto:
    photo: FoundFile
    live_video: FoundFile | None = None

    @property
    def files(self) -> tuple[FoundFile, ...]:
        return (self.photo,) if self.live_video is None else (self.photo, self.live_video)


@dataclass(frozen=True, slots=True)
class Unsupported:
    path: str


@dataclass(frozen=True, slots=True)
class UnreadableFolder:
    path: str


Found: TypeAlias = FoundPhoto | Unsupported | UnreadableFolder


class Root:
    """A storage config's folder, which has to stay the same one for as long as it is crawled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity = self._identify()

    def check(self) -> None:
        """Raise `NotMounted` unless the root is still there and still the folder it was."""
        if self._identify() != self._identity:
            raise NotMounted("the root folder was replaced by another while it was crawled")

    def walk(self) -> Iterator[Found]:
        """Every photo under the root, and what stands in the way of others; folders and names in order.

        Holds the names of one folder at a time. Symbolic links, hidden and system files are passed over. Raises
        `NotMounted` when the root goes away.
        """
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                files, folders, others = self._list(folder)
            except OSError as error:
                self.check()
                if not folder:
                    raise NotMounted(f"the root folder cannot be read ({error.strerror})") from error
                logger.warning("Cannot read the folder %r: %s", folder, error.strerror)
                yield UnreadableFolder(folder)
                continue
            yield from _paired(files)
            yield from map(_unsupported, others)
            pending += reversed(folders)
        self.check()

    def _list(self, folder: str) -> tuple[list[FoundFile], list[str], list[str]]:
        """The folder's regular files, its folders, and what is neither: pipes, devices and sockets."""
        files, folders, others = [], [], []
        with os.scandir(self.path / folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.lower() in SYSTEM_NAMES or entry.is_symlink():
                    continue
                path = os.path.join(folder, entry.name)  # noqa: PTH118 - text, relative and under the root
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif stamp := _stamp(entry):
                    if entry.is_file(follow_symlinks=False):
                        files.append(FoundFile(path, stamp))
                    else:
                        others.append(path)
        return sorted(files, key=lambda file: file.path), sorted(folders), sorted(others)

    def _identify(self) -> tuple[int, int]:
        try:
            if not self.path.is_dir():
                raise NotMounted("the root folder does not exist or is no folder")
            status = self.path.stat()
        except OSError as error:
            raise NotMounted(f"the root folder cannot be read ({error.strerror})") from error
        return status.st_dev, status.st_ino


def _stamp(entry: "os.DirEntry[str]") -> Stamp | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # it went while its folder was listed, as if it had never been there
        return None
    return Stamp(size=status.st_size, mtime_ns=status.st_mtime_ns)


def _paired(files: list[FoundFile]) -> Iterator[Found]:
    """The files of one folder, where a video goes with the HEIF of the same stem: together a Live Photo."""
    videos = {_stem(file): file for file in files if _suffix(file) in VIDEO_SUFFIXES}
    partners = {
        _stem(file): file for file in files if _suffix(file) in HEIF_SUFFIXES and _stem(file) in videos
    }
    for file in files:
        stem = _stem(file)
        if _suffix(file) in PHOTO_SUFFIXES:
            yield FoundPhoto(file, videos[stem] if partners.get(stem) is file else None)
        elif stem not in partners or videos.get(stem) is not file:
            yield _unsupported(file.path)


def _unsupported(path: str) -> Unsupported:
    logger.warning("Not a photo of a supported format, skipped: %r", path)
    return Unsupported(path)


def _stem(file: FoundFile) -> str:
    return PurePosixPath(file.path).stem.lower()


def _suffix(file: FoundFile) -> str:
    return PurePosixPath(file.path).suffix.lower()
