"""Which payload and which handler belong to each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from treadle.domain.encoding import storable_text
from treadle.domain.handler import Handler
from treadle.domain.item import NewItem
from treadle.domain.payload import Codec, WorkPayload, dedup_key
from treadle.domain.schedule import Due, Schedule
from treadle.errors import PayloadError, RegistryError


class Registry:
    """The kinds of a host, each bound to exactly one payload and, in a Worker, exactly one handler.

    The API side leaves *handlers* out. Raises ``RegistryError`` naming everything that is missing,
    double or unknown, so that a deploy fails and not an item.
    """

    def __init__(
        self,
        kinds: type[StrEnum],
        *,
        payloads: Sequence[type[WorkPayload]],
        handlers: Sequence[Handler[Any]] | None = None,
        schedules: Sequence[Schedule] = (),
    ) -> None:
        self.kinds = frozenset(kind.value for kind in kinds)
        faults = list(_payload_faults(kinds, payloads))
        if handlers is not None:
            faults += _handler_faults(kinds, payloads, handlers)
        faults += _schedule_faults(payloads, schedules)
        if faults:
            raise RegistryError(f"{kinds.__name__}: " + "; ".join(faults))
        self.schedules = tuple(schedules)
        self.has_handlers = handlers is not None
        self._codecs = {payload.kind.value: Codec(payload) for payload in payloads}
        self._types: Mapping[str, type[WorkPayload]] = {payload.kind.value: payload for payload in payloads}
        self._handlers = {_kind_of(handler): handler for handler in handlers or ()}

    @property
    def periodic_kinds(self) -> frozenset[str]:
        """The kinds that have a schedule."""
        return frozenset(schedule.payload_type.kind.value for schedule in self.schedules)

    def new_item(
        self, payload: WorkPayload, *, scope_id: UUID | None = None, requested_by: str | None = None
    ) -> NewItem:
        """The request that *payload* makes.

        Raises ``PayloadError`` when the payload cannot be stored or is not one of this registry's.
        """
        if type(payload) is not self._types.get(_kind_name(payload)):
            raise PayloadError(f"{type(payload).__name__} is not a payload of this registry's kinds")
        if requested_by is not None and storable_text(requested_by, len(requested_by)) != requested_by:
            raise PayloadError("requested_by holds a NUL character or a lone surrogate")
        return NewItem(
            kind=payload.kind.value,
            payload=self._codecs[payload.kind.value].encode(payload),
            scope_id=scope_id,
            dedup_key=dedup_key(payload, scope_id),
            requested_by=requested_by,
        )

    def decode(self, kind: str, text: str) -> WorkPayload:
        """The typed payload of an item. Raises ``PayloadError`` when it no longer decodes."""
        return self._codecs[kind].decode(text)

    def handler(self, kind: str) -> Handler[Any]:
        """The handler of *kind*. Raises ``KeyError`` for a kind without one."""
        return self._handlers[kind]

    def due(self, schedule: Schedule, scopes: Collection[UUID]) -> list[Due]:
        """A schedule's work for a worker that serves *scopes*, for the store to queue what is due."""
        return [
            Due(item=self._periodic(occasion.payload, occasion.scope_id), when=occasion.when)
            for occasion in schedule.occasions(scopes)
        ]

    def _periodic(self, payload: WorkPayload, scope_id: UUID | None) -> NewItem:
        item = self.new_item(payload, scope_id=scope_id)
        if item.dedup_key is None:
            raise PayloadError(f"payload of kind {item.kind}: periodic work needs a dedup key")
        return item


def _payload_faults(kinds: type[StrEnum], payloads: Sequence[type[WorkPayload]]) -> Iterable[str]:
    for payload in payloads:
        if not isinstance(getattr(payload, "kind", None), kinds):
            yield f"payload {payload.__name__} declares no kind of {kinds.__name__}"
    declared = Counter(
        payload.kind for payload in payloads if isinstance(getattr(payload, "kind", None), kinds)
    )
    yield from _counted(kinds, declared, "payload")


def _handler_faults(
    kinds: type[StrEnum], payloads: Sequence[type[WorkPayload]], handlers: Sequence[Handler[Any]]
) -> list[str]:
    known = set(payloads)
    faults = [
        f"handler {type(handler).__name__} is for no registered payload; declare it as Handler[ThePayload]"
        for handler in handlers
        if handler.payload_type not in known
    ]
    handled = Counter(kind for handler in handlers if (kind := getattr(handler.payload_type, "kind", None)))
    return faults + list(_counted(kinds, handled, "handler"))


def _counted(kinds: type[StrEnum], found: Counter[StrEnum], what: str) -> Iterable[str]:
    for kind in kinds:
        if found[kind] == 0:
            yield f"kind {kind.value!r} has no {what}"
        elif found[kind] > 1:
            yield f"kind {kind.value!r} has {found[kind]} {what}s"


def _schedule_faults(payloads: Sequence[type[WorkPayload]], schedules: Sequence[Schedule]) -> list[str]:
    known = set(payloads)
    return [
        f"schedule {type(schedule).__name__} is for {schedule.payload_type.__name__}, which is not registered"
        for schedule in schedules
        if schedule.payload_type not in known
    ]


def _kind_of(handler: Handler[Any]) -> str:
    # _handler_faults refused a handler without payload type
    return str(getattr(handler.payload_type, "kind", ""))


def _kind_name(payload: WorkPayload) -> str:
    kind = getattr(payload, "kind", None)
    return kind.value if isinstance(kind, StrEnum) else ""
