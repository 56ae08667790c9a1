"""SIGTERM and SIGINT, as something that the main thread waits for."""

from __future__ import annotations

import select
import signal
import socket
from types import TracebackType
from typing import Final, Self

NUMBERS: Final = (signal.SIGTERM, signal.SIGINT)


class Signals:
    """While it is open, the two signals do nothing but end a wait: no code of ours runs in the middle of other code."""

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._previous = {number: signal.signal(number, lambda *_: None) for number in NUMBERS}
        self._previous_wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(self._previous_wakeup)
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def arrives(self, seconds: float | None = None) -> bool:
        """Wait for a signal, at most *seconds*; whether one came, be it before this call."""
        if not select.select([self._reader], [], [], seconds)[0]:
            return False
        self._reader.recv(1)
        return True
