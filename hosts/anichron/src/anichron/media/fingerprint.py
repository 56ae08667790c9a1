"""What tells one file's content from another's: XXH64 of all of it, and the stat that says it has not moved on."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import xxhash
from pydantic import BaseModel, ConfigDict

from anichron.media.errors import FileFailed, Reason

BLOCK = 1 << 20


class Stamp(BaseModel):
    """What a file's stat says about its content."""

    model_config = ConfigDict(frozen=True)

    size: int
    """Bytes."""
    mtime_ns: int
    """Nanoseconds since 1970, which may be negative."""


class Fingerprint(BaseModel):
    model_config = ConfigDict(frozen=True)

    content_hash: str
    """XXH64 with seed 0 as 16 hexadecimal digits, most significant first."""
    stamp: Stamp


def fingerprint(file: BinaryIO, stamp: Stamp) -> Fingerprint:
    digest = xxhash.xxh64()
    while block := file.read(BLOCK):
        digest.update(block)
    return Fingerprint(content_hash=digest.hexdigest(), stamp=stamp)


@contextmanager
def steady(path: str, expected: Stamp | None = None) -> Iterator[tuple[BinaryIO, Stamp]]:
    """Open a regular file that may not change until the block ends, nor have changed since `expected`.

    Symbolic links are refused and devices are never waited for, whatever stands at the path by now. Raises
    `FileFailed`, also for what the system says about the file inside the block.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            before = _stamp(descriptor)
            if expected is not None and before != expected:
                raise FileFailed(Reason.CHANGED, "it has changed since it was hashed")
            yield file, before
            if _stamp(descriptor) != before:
                raise FileFailed(Reason.CHANGED, "it was written to while it was read")
    except OSError as error:
        if error.errno is None:
            raise  # not the system's: a decoder's word about the content
        raise _unreadable(error) from error


def _stamp(descriptor: int) -> Stamp:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise FileFailed(Reason.UNREADABLE, "it is no regular file")
    return Stamp(size=status.st_size, mtime_ns=status.st_mtime_ns)


def _unreadable(error: OSError) -> FileFailed:
    gone = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ESTALE}
    return FileFailed(Reason.VANISHED if gone else Reason.UNREADABLE, error.strerror or type(error).__name__)
