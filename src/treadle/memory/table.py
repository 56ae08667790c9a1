"""The data under a memory store, shared by every store that is opened on it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import UUID

from treadle.domain.event import Exceptional
from treadle.domain.item import NewItem, WorkItem
from treadle.domain.status import Status
from treadle.errors import UnknownScope
from treadle.memory.row import Row
from treadle.ports.inspect import ItemEvent, WorkerInfo

_RANDOM_BITS = 74
_MOMENTS = 1000


class Table:
    """Items, events, workers, scopes and cron keys, behind one lock: any thread may use the stores on it.

    Until the first ``add_scope`` every scope is accepted, as in a database whose ``scope_id`` has no
    foreign key. From then on only added scopes exist, and deleting one deletes its items.
    """

    def __init__(self, clock: Callable[[], datetime | None] | None = None) -> None:
        self.rows: dict[UUID, Row] = {}
        self.events: list[ItemEvent] = []
        self.workers: dict[str, WorkerInfo] = {}
        self.first_seen: dict[str, datetime] = {}
        """When each key of a cron schedule was."""
        self._scopes: set[UUID] | None = None
        self._clock = clock
        self._lock = threading.Lock()
        self._last_id = 0
        self._moments: dict[str, dict[UUID, WorkItem]] = {}

    @contextmanager
    def moment(self) -> Iterator[datetime]:
        """One step that nobody else sees halfway, with the one instant at which it happens."""
        with self._lock:
            override = self._clock() if self._clock else None
            yield (override or datetime.now(UTC)).astimezone(UTC)

    def add_scope(self, scope_id: UUID) -> None:
        with self._lock:
            self._scopes = (self._scopes or set()) | {scope_id}

    def delete_scope(self, scope_id: UUID) -> None:
        """Delete the scope and, as a foreign key with ``ON DELETE CASCADE`` does, its items."""
        with self._lock:
            self._scopes = (self._scopes or set()) - {scope_id}
            self.delete([id_ for id_, row in self.rows.items() if row.request.scope_id == scope_id])

    def insert(self, request: NewItem, now: datetime) -> Row:
        """A queued row for *request*. Raises ``UnknownScope``."""
        scope = request.scope_id
        if scope is not None and self._scopes is not None and scope not in self._scopes:
            raise UnknownScope(scope)
        row = Row(id=self._new_id(now), request=request, requested_at=now, updated_at=now)
        self.rows[row.id] = row
        return row

    def delete(self, ids: Collection[UUID]) -> None:
        """Take the rows away, and their events with them."""
        gone = frozenset(ids)
        self.rows = {id_: row for id_, row in self.rows.items() if id_ not in gone}
        self.events = [event for event in self.events if event.item_id not in gone]

    def twin(self, dedup_key: str | None) -> Row | None:
        """The queued row of *dedup_key*: at most one, and none for None."""
        if dedup_key is None:
            return None
        return next((row for row in self.of_key(dedup_key) if row.status is Status.QUEUED), None)

    def of_key(self, dedup_key: str) -> list[Row]:
        return [row for row in self.rows.values() if row.dedup_key == dedup_key]

    def record(
        self,
        event: Exceptional,
        row: Row,
        now: datetime,
        *,
        attempt: int | None = None,
        detail: str | None = None,
    ) -> None:
        """Add to the item's events; *attempt* is the row's unless given."""
        number = row.attempt if attempt is None else attempt
        self.events.append(ItemEvent(item_id=row.id, attempt=number, event=event, at=now, detail=detail))

    def remember(self) -> str:
        """A name for the table as it is now; the latest thousand are kept."""
        name = secrets.token_hex(8)
        self._moments[name] = {row.id: row.view() for row in self.rows.values()}
        while len(self._moments) > _MOMENTS:
            del self._moments[next(iter(self._moments))]
        return name

    def remembered(self, name: str) -> dict[UUID, WorkItem] | None:
        """The items as they were when the table was given that name."""
        return self._moments.get(name)

    def _new_id(self, now: datetime) -> UUID:
        """A version 7 UUID, above every earlier one even within a millisecond."""
        fresh = int(now.timestamp() * 1000) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        self._last_id = max(fresh, self._last_id + 1)
        time_and_a, b = divmod(self._last_id, 1 << 62)
        time, a = divmod(time_and_a, 1 << 12)
        return UUID(int=time << 80 | 7 << 76 | a << 64 | 2 << 62 | b)
