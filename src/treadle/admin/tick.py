"""What one look at the store brought, as frames of an event stream."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Self
from uuid import UUID

ITEMS: Final = 5000
"""More than this is not told one by one: a reader does better to read anew."""


def frame(event: str, data: str, *, id_: str | None = None) -> bytes:
    """One event. *data* is JSON, which has no line breaks; only what completes a tick has an id."""
    name = f"id: {id_}\n" if id_ is not None else ""
    return f"event: {event}\n{name}data: {data}\n\n".encode()


def said(event: str, **values: str) -> bytes:
    """An event about the stream itself; it has no id, or a reader would resume from it."""
    return frame(event, json.dumps(values))


@dataclass(frozen=True)
class Tick:
    """All that changed up to a cursor; readers who were given it resume from there."""

    cursor: str
    items: Mapping[UUID, bytes] = field(default_factory=dict)
    """The frame of each item, as it is now."""
    gone: Collection[UUID] = frozenset()
    reload: str | None = None
    """Why the changes are not told; then there are none here."""

    @property
    def empty(self) -> bool:
        return not self.items and not self.gone and self.reload is None

    @cached_property
    def weight(self) -> int:
        """About how many bytes it keeps."""
        return sum(map(len, self.items.values())) + 40 * len(self.gone)

    @cached_property
    def body(self) -> bytes:
        """The frames, made once for all readers."""
        if self.reload is not None:
            return said("reload", reason=self.reload)
        gone = [frame("gone", json.dumps({"ids": [str(id_) for id_ in self.gone]}))] if self.gone else []
        return b"".join([*self.items.values(), *gone, frame("tick", "{}", id_=self.cursor)])

    def then(self, later: Self) -> Tick:
        """This and the *later* tick as one, with only the latest of each item."""
        if reload := later.reload or self.reload:
            return Tick(later.cursor, reload=reload)
        items = {id_: text for id_, text in self.items.items() if id_ not in later.gone} | dict(later.items)
        if len(items) > ITEMS:
            return Tick(later.cursor, reload="many")
        return Tick(later.cursor, items, {*self.gone, *later.gone} - items.keys())
