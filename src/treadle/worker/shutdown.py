"""Leaving the process when a handler will not stop: nothing of it may run on once its item is released."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from treadle.ports.lease import LastWill
from treadle.worker.journal import note

STEP_SECONDS: Final = 0.2
"""What hooks, buffers and the preparation of the will may take each, before it goes without them."""


class Departure:
    """The last act of a process."""

    def __init__(self, on_exit: Sequence[Callable[[], object]] = ()) -> None:
        """*on_exit*: hooks that end what the host has started and that is no child of this process."""
        self._on_exit = tuple(on_exit)

    def leave(self, will: LastWill | None, limit: float) -> NoReturn:
        """End the process within *limit* seconds, with all its threads and children.

        With a *will* the process becomes that program: at this moment every thread is gone, and only
        then are the items released. The exit code is then the program's, else 0.
        """
        until = time.monotonic() + limit
        # Blocked first: an impatient third signal must not cost the release. Masks outlive execve.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
        self._briefly(self._call_hooks)
        for pid in descendants():  # whatever became of the hooks
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        self._briefly(_flush)
        if will is None:
            os._exit(0)
        better: list[LastWill] = []
        if (prepare := will.prepare) is not None:
            self._briefly(lambda: better.append(prepare()))
        for last in (*better, will):
            # Counts on through execve and ends the new program when its database does not answer.
            signal.setitimer(signal.ITIMER_REAL, max(0.1, until - time.monotonic()))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
            try:
                os.execve(last.arguments[0], list(last.arguments), last.environment)  # noqa: S606 - no shell
            except OSError as error:
                self._briefly(functools.partial(_say_failed, error))
        os._exit(1)

    def _briefly(self, step: Callable[[], object]) -> None:
        # In a thread of its own: a hook may hang, and a handler may hold the log's lock for ever.
        thread = threading.Thread(target=_logged, args=(step,), daemon=True, name="treadle-departure")
        thread.start()
        thread.join(STEP_SECONDS)

    def _call_hooks(self) -> None:
        for hook in self._on_exit:
            try:
                hook()
            except BaseException as error:  # noqa: BLE001 - the process leaves all the same
                note("hook_failed", "an exit hook raised", level=logging.ERROR, error=error)


def _say_failed(error: OSError) -> None:
    note("last_will_failed", "could not become the last will", level=logging.ERROR, error=error)
    _flush()


def _flush() -> None:
    for handler in logging.getLogger().handlers + logging.getLogger("treadle").handlers:
        handler.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _logged(step: Callable[[], object]) -> None:
    try:
        step()
    except Exception as error:  # noqa: BLE001 - the process leaves all the same
        note("departure_failed", f"while leaving: {type(error).__name__}: {error}", level=logging.WARNING)


def descendants() -> list[int]:
    """Children of this process and theirs, where ``/proc`` tells; elsewhere hooks have to end them."""
    found = [os.getpid()]
    for pid in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    found += map(int, children.read_text().split())
    return found[1:]
