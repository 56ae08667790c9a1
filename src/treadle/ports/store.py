"""A store: all the ports over one connection to the data, opened and closed as one."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from treadle.ports.cancel import Cancel
from treadle.ports.enqueue import Enqueue
from treadle.ports.inspect import Inspect
from treadle.ports.lease import Leases
from treadle.ports.live import Live
from treadle.ports.presence import Presence
from treadle.ports.retention import Retention
from treadle.ports.schedule import Schedules


class WorkerStore(Protocol):
    """What a worker needs. It is opened in the event loop it is used in."""

    @property
    def leases(self) -> Leases: ...
    @property
    def schedules(self) -> Schedules: ...
    @property
    def presence(self) -> Presence: ...

    async def __aenter__(self) -> Self:
        """Connect. Raises ``SchemaMismatch``; waits for no server: unreachable ones are retried in use."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Store(WorkerStore, Protocol):
    """Everything; what the contract suite is run on."""

    @property
    def queue(self) -> Enqueue: ...
    @property
    def cancels(self) -> Cancel: ...
    @property
    def inspector(self) -> Inspect: ...
    @property
    def live(self) -> Live: ...
    @property
    def retention(self) -> Retention: ...
