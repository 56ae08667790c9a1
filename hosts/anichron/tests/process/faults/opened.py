"""Who opens files in a folder, as the kernel tells: every open and close, in their order."""

from __future__ import annotations

import ctypes
import os
import select
import struct
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_OPEN, _CLOSE, _IS_FOLDER, _OVERFLOW = 0x20, 0x08 | 0x10, 0x40000000, 0x4000
_HEAD: Final = struct.Struct("iIII")


class Opened:
    """Watches a folder and those in it. Linux only."""

    def __init__(self, root: Path) -> None:
        self._descriptor = _LIBC.inotify_init1(os.O_CLOEXEC)
        folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
        for folder in folders:
            if _LIBC.inotify_add_watch(self._descriptor, os.fsencode(folder), _OPEN | _CLOSE) < 0:
                raise OSError(ctypes.get_errno(), f"cannot watch {folder}")

    def since(self) -> tuple[int, list[int]]:
        """What has happened since the last question.

        How often anything was opened, and after each open and close of a file how many were open.
        """
        opens, files, history = 0, 0, []
        while select.select([self._descriptor], [], [], 0)[0]:
            data = os.read(self._descriptor, 1 << 20)
            while data:
                _, mask, _, length = _HEAD.unpack_from(data)
                data = data[_HEAD.size + length :]
                assert not mask & _OVERFLOW, "the kernel has dropped events"
                opens += bool(mask & _OPEN)
                if not mask & _IS_FOLDER:
                    files += 1 if mask & _OPEN else -1
                    history.append(files)
        return opens, history

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
