"""Was it asked for? Assertions for tests of code that queues work."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from treadle.domain.item import NewItem
from treadle.domain.payload import Codec, WorkPayload
from treadle.errors import PayloadError
from treadle.memory import MemoryStore

ANYBODY: Final = "(anybody)"


def assert_queued(
    store: MemoryStore, payload: WorkPayload, *, scope: UUID | None = None, requested_by: str | None = ANYBODY
) -> NewItem:
    """The queued request of exactly *payload* in *scope*, by anybody unless told by whom.

    Raises ``AssertionError``, with a list of what is queued, when there is none or more than one.
    """
    codec = Codec(type(payload))
    waiting = store.waiting()
    found = [
        item
        for item in waiting
        if item.kind == payload.kind.value
        and item.scope_id == scope
        and requested_by in (ANYBODY, item.requested_by)
        and _decodes_to(codec, item, payload)
    ]
    if len(found) != 1:
        listed = "".join(f"\n  {_described(item)}" for item in waiting) or " nothing"
        raise AssertionError(f"{payload!r} is queued {len(found)} times in scope {scope}; queued is:{listed}")
    return found[0]


def assert_nothing_queued(store: MemoryStore) -> None:
    """Raises ``AssertionError`` that lists what is queued."""
    if waiting := store.waiting():
        raise AssertionError("queued is:" + "".join(f"\n  {_described(item)}" for item in waiting))


def _decodes_to(codec: Codec, item: NewItem, payload: WorkPayload) -> bool:
    try:
        return codec.decode(item.payload) == payload
    except PayloadError:
        return False


def _described(item: NewItem) -> str:
    return f"{item.kind} {item.payload}, scope {item.scope_id}, by {item.requested_by or 'the scheduler'}"
