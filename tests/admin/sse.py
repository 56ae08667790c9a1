"""Reading an event stream as the standard says, and keeping a view by it as a page does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Event:
    """What a reader of the stream is dispatched."""

    name: str
    data: Any
    id: str | None


class Parser:
    """Feed it bytes; it gives the events that are complete (HTML standard, section 9.2.6)."""

    def __init__(self) -> None:
        self.comments: list[str] = []
        self.retry: int | None = None
        self._rest = ""
        self._fields: dict[str, str] = {}

    def feed(self, chunk: bytes) -> Iterator[Event]:
        *lines, self._rest = (self._rest + chunk.decode()).split("\n")
        for line in lines:
            if not line:
                if "data" in self._fields:
                    yield Event(
                        self._fields.get("event", "message"),
                        json.loads(self._fields["data"]),
                        self._fields.get("id"),
                    )
                self._fields = {}
            elif line.startswith(":"):
                self.comments.append(line[1:].strip())
            else:
                name, _, value = line.partition(":")
                if name == "retry":
                    self.retry = int(value)
                assert name not in self._fields, "this stream never splits a field"
                self._fields[name] = value.removeprefix(" ")


class View:
    """What a page shows that follows the stream from a cursor."""

    def __init__(self, cursor: str | None = None) -> None:
        self.cursor = cursor
        self.items: dict[UUID, dict[str, Any]] = {}
        self.gone: set[UUID] = set()
        self.events: list[Event] = []
        self.ended: str | None = None
        self.reloads: list[str] = []
        self.parser = Parser()
        self._news = asyncio.Event()

    def feed(self, chunk: bytes) -> None:
        for event in self.parser.feed(chunk):
            self.apply(event)
        self._news.set()

    async def until(self, condition: Callable[[View], bool]) -> None:
        """Wait until what was read makes *condition* true."""
        async with asyncio.timeout(20):
            while not condition(self):
                self._news.clear()
                await self._news.wait()

    def apply(self, event: Event) -> None:
        self.events.append(event)
        match event.name:
            case "item":
                self.items[UUID(event.data["id"])] = event.data
            case "gone":
                self.gone |= {UUID(id_) for id_ in event.data["ids"]}
                for id_ in self.gone:
                    self.items.pop(id_, None)
            case "reload":
                self.reloads.append(event.data["reason"])
            case "end":
                self.ended = event.data["reason"]
        if event.id is not None:
            self.cursor = event.id

    def names(self) -> list[str]:
        return [event.name for event in self.events]
