"""The folder of proxies, sharded by content."""

import os
import tempfile
from pathlib import Path, PurePosixPath
from uuid import UUID

from anichron.library.asset import ProxyFile
from anichron.media.picture import Rendition


class ProxyFolderUnwritable(Exception):
    """A proxy cannot be written, for a cause that is no photo's fault. The message names no path."""


class ProxyFolder:
    """Writes `<config id>/<aa>/<bb>/<content hash>-<variant>.jpg`, the shards being the hash's first digits.

    The config comes first, so that its proxies can go with it. Calls block, for disk syncs.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def write(
        self, config_id: UUID, content_hash: str, renditions: tuple[Rendition, ...]
    ) -> tuple[ProxyFile, ...]:
        """Write the renditions, each whole or not at all, even if the machine fails; replaces what is there.

        Raises `ProxyFolderUnwritable`.
        """
        shard = PurePosixPath(str(config_id), content_hash[:2], content_hash[2:4])
        folder = self._root / shard
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for left_behind in folder.glob(f".{content_hash}-*"):  # by a writer that was killed
                left_behind.unlink(missing_ok=True)
            proxies = tuple(_write(folder, shard, content_hash, rendition) for rendition in renditions)
            _sync(folder)
        except OSError as error:
            raise ProxyFolderUnwritable(f"the proxy folder cannot be written: {error.strerror}") from error
        return proxies


def _write(folder: Path, shard: PurePosixPath, content_hash: str, rendition: Rendition) -> ProxyFile:
    name = f"{content_hash}-{rendition.variant}.jpg"
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(rendition.data)
            os.fchmod(descriptor, 0o644)  # the API reads it, as another user perhaps
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(folder / name)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return ProxyFile(
        variant=rendition.variant,
        path=str(shard / name),
        width=rendition.width,
        height=rendition.height,
        byte_size=len(rendition.data),
    )


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
