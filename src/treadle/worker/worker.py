"""The worker: everything a host starts to have its items carried out."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from treadle.domain.registry import Registry
from treadle.errors import RegistryError, SettingsError
from treadle.ports.store import WorkerStore
from treadle.worker.clock import suspend_aware
from treadle.worker.health import Health
from treadle.worker.host import Host
from treadle.worker.serving import Serves, are_scopes
from treadle.worker.settings import WorkerSettings
from treadle.worker.shutdown import Departure
from treadle.worker.signals import Signals, can_install
from treadle.worker.supervisor import Supervisor

LAST_ROUND: Final = 0.1
"""Seconds for tasks of the control loop that were cancelled to end in."""


class Worker:
    """Claims items, runs their handlers, recovers and schedules, until stopped.

    Handlers and *serves* run where ``run`` is awaited (plain handlers in threads). The library's own
    I/O has a thread and an event loop of its own, so that a handler which blocks costs no lease.
    """

    def __init__(
        self,
        store: WorkerStore,
        registry: Registry,
        *,
        claimed_by: str | None = None,
        serves: Serves = None,
        settings: WorkerSettings | None = None,
        on_exit: Sequence[Callable[[], object]] = (),
        handle_signals: bool = True,
    ) -> None:
        """*store* is not yet opened; the worker does that where it is used.

        *claimed_by* is shown to admins, by default "all@" and the host's name; a suffix of its own makes
        each process distinct. *serves* is a set of scopes, None for every scope, or a plain or async
        function that answers so and is asked every poll; scheduling of scopes needs them by name.
        *on_exit* hooks are called, from another thread, only when the process has to leave with handlers
        still running: end there what is no child process of this one. *handle_signals*: stop on SIGTERM
        and SIGINT if ``run`` is awaited in the main thread; a second signal waits for no handler. A host
        with signal handling of its own turns it off and calls ``stop``.

        Raises ``RegistryError`` for a registry without handlers, ``SettingsError`` for other scopes.
        """
        if not registry.has_handlers:
            raise RegistryError("a worker needs a registry with handlers; this one was made without")
        if not callable(serves) and not are_scopes(serves):
            raise SettingsError(f"serves must be a frozenset of UUIDs, None or a function, is {serves!r}")
        self.claimed_by = f"{claimed_by or f'all@{socket.gethostname()}'}#{secrets.token_hex(4)}"
        self._store = store
        self._registry = registry
        self._serves = serves
        self._settings = settings or WorkerSettings()
        self._departure = Departure(on_exit)
        self._handle_signals = handle_signals
        self._started = False
        self._lock = threading.Lock()
        self._control: tuple[asyncio.AbstractEventLoop, Supervisor] | None = None
        self._stopping = False

    async def run(self) -> None:
        """Work until SIGTERM, SIGINT, ``stop`` or cancellation, then end gracefully; once per worker.

        Returns with every item finished or handed back and no thread left behind. When a handler does
        not stop within the grace period the process itself ends (exit code 0) and releases its item as
        the last act. Raises ``SchemaMismatch`` when the database does not fit.
        """
        if self._started:
            raise RuntimeError("this worker has run; make a new one")
        self._started = True
        host = asyncio.get_running_loop()
        ended: asyncio.Future[None] = host.create_future()
        signals = Signals(self._hurry) if self._handle_signals and can_install() else None
        with contextlib.nullcontext() if signals is None else signals.installed():
            thread = threading.Thread(
                target=self._run_control, args=(host, ended, signals), name="treadle-control", daemon=True
            )
            thread.start()
            cancelled = await self._outlast(ended)
            thread.join()
        ended.result()
        if cancelled:
            raise asyncio.CancelledError

    def stop(self) -> None:
        """Begin the graceful end, from any thread, before or while ``run`` runs."""
        self._on_control(Supervisor.stop)

    def wake(self) -> None:
        """Look into the queue now instead of at the next poll: a hint from any thread."""
        self._on_control(Supervisor.wake)

    def health(self) -> Health:
        """How the worker does. Any thread may ask."""
        with self._lock:
            control = self._control
        if control is None:
            return Health(claimed_by=self.claimed_by, ready=False, stopping=self._stopping)
        return control[1].health()

    def _hurry(self) -> None:
        self._on_control(Supervisor.hurry)

    def _on_control(self, action: Callable[[Supervisor], None]) -> None:
        with self._lock:
            self._stopping = self._stopping or action is not Supervisor.wake
            control = self._control
        if control is not None:
            loop, supervisor = control
            with contextlib.suppress(RuntimeError):  # its loop is closed: the worker has ended
                loop.call_soon_threadsafe(action, supervisor)

    async def _outlast(self, ended: asyncio.Future[None]) -> bool:
        """Wait for the control thread; whether we were cancelled meanwhile, which stops the worker."""
        cancelled = False
        while not ended.done():
            try:
                await asyncio.wait({ended})
            except asyncio.CancelledError:
                cancelled = True
                self._hurry()
        return cancelled

    def _run_control(
        self, host: asyncio.AbstractEventLoop, ended: asyncio.Future[None], signals: Signals | None
    ) -> None:
        error: BaseException | None = None
        try:
            _run_and_leave(self._supervise(Host(host), signals))
        except BaseException as caught:  # noqa: BLE001 - run() raises it where the host sees it
            error = caught
        with contextlib.suppress(RuntimeError):  # the host's loop is closed: nobody waits
            host.call_soon_threadsafe(_set, ended, error)

    async def _supervise(self, host: Host, signals: Signals | None) -> None:
        supervisor = Supervisor(
            self._store,
            self._registry,
            claimed_by=self.claimed_by,
            serves=self._serves,
            settings=self._settings,
            host=host,
            clock=suspend_aware,
            departure=self._departure,
        )
        loop = asyncio.get_running_loop()
        with self._lock:
            self._control = (loop, supervisor)
            if self._stopping:
                supervisor.stop()
        if signals is not None:
            loop.add_reader(signals.fileno(), signals.read)
        try:
            await supervisor.run()
        finally:
            if signals is not None:
                loop.remove_reader(signals.fileno())


def _run_and_leave(main: Coroutine[Any, Any, None]) -> None:
    """As ``asyncio.run``, but waits for no task that takes its cancellation badly and for no resolver thread."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(main)
    finally:
        if left := asyncio.all_tasks(loop):
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left, timeout=LAST_ROUND))
        loop.close()


def _set(ended: asyncio.Future[None], error: BaseException | None) -> None:
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)
