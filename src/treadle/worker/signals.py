"""Hearing SIGTERM and SIGINT while a handler blocks the main thread."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

STOP_SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT})

_installed: set[Signals] = set()
_forking = threading.local()


class Signals:
    """A socket on which the control loop reads signals, and who is told of them.

    Python runs signal handlers in the main thread only, between two of its bytecodes, and asyncio's
    ``add_signal_handler`` needs a turn of the loop on top: both come too late when a handler blocks
    there. The wake-up descriptor is written to by the C-level handler, at once and in any thread.
    """

    def __init__(self, told: Callable[[], object]) -> None:
        """*told* is called once for every stop signal, on the loop that watches."""
        self._told = told
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.settimeout(0)
        self._others = -1

    def fileno(self) -> int:
        """For ``loop.add_reader``."""
        return self._reader.fileno()

    def read(self) -> None:
        """Handle what has arrived."""
        with contextlib.suppress(BlockingIOError):
            numbers = self._reader.recv(4096)
            for number in numbers:
                if number in STOP_SIGNALS:
                    self._told()
            if others := bytes(number for number in numbers if number not in STOP_SIGNALS):
                self._pass_on(others)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals here; afterwards as before. Must be entered in the main thread."""
        before = {number: signal.signal(number, self._heard) for number in STOP_SIGNALS}
        self._others = self._take_over()
        _installed.add(self)
        try:
            yield
        finally:
            _installed.discard(self)
            if (current := signal.set_wakeup_fd(self._others)) != self._writer.fileno():
                signal.set_wakeup_fd(current)  # somebody else's by now
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)
            self._reader.close()
            self._writer.close()

    def _pass_on(self, numbers: bytes) -> None:
        # The descriptor belonged to the host's event loop, which has signals of its own to hear.
        if self._others != -1:
            with contextlib.suppress(OSError):
                os.write(self._others, numbers)

    def _take_over(self) -> int:
        """Have the wake-up descriptor be ours; whose it was."""
        return signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        # The descriptor has done the work by now, unless the host's loop has taken it for its own signals.
        if (current := self._take_over()) != self._writer.fileno():
            self._others = current
            with contextlib.suppress(OSError):
                self._writer.send(bytes([number]))


def can_install() -> bool:
    """Whether this thread may handle signals."""
    return threading.current_thread() is threading.main_thread()


# A child that a handler forks has the C-level handlers and the descriptor, too: a signal meant for the child
# would be heard by the worker, and by nobody else. None may come before that is undone.


def _before_fork() -> None:
    if _installed:
        _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)


def _after_fork() -> None:
    if (mask := _forking.__dict__.pop("mask", None)) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _in_child() -> None:
    if _installed:
        _installed.clear()
        signal.set_wakeup_fd(-1)
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
    _after_fork()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
