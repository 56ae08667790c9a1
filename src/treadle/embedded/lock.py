"""The hold of one process on a server's folder, which the operating system ends with the process."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from treadle.embedded.errors import EmbeddedError

NOTICE_SECONDS = 1.0  # within which a keeper whose parent has died says that it is stopping
STOP_SECONDS = 30.0  # within which a keeper has stopped its server, by its own bounds


@contextmanager
def held(folder: Path) -> Iterator[int]:
    """The descriptor that holds `folder`; whoever inherits it goes on holding.

    Waits for a server that is being stopped. Raises EmbeddedError when another process keeps the folder in use.
    """
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait_for(lock, folder)
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        os.lseek(lock, 0, os.SEEK_END)
        yield lock
    finally:
        os.close(lock)


def _wait_for(lock: int, folder: Path) -> None:
    begun = time.monotonic()
    while not _taken(lock):
        holder, *stopping = os.pread(lock, 100, 0).decode().split() or ["unknown"]
        if time.monotonic() - begun > (STOP_SECONDS if stopping else NOTICE_SECONDS):
            raise EmbeddedError(
                f"the database in {folder} is in use by process {holder}: stop that first, or take another data folder"
            )
        time.sleep(0.02)


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
