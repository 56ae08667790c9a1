"""Following work as it goes, as snapshots and as what is drawn of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.text import Text

from treadle.cli import text
from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.errors import StoreUnavailable
from treadle.ports.inspect import Inspect, ItemFilter

_ACTIVE = ItemFilter(statuses=(Status.QUEUED, Status.RUNNING))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What goes on, and what has ended since the last snapshot."""

    queued: Sequence[WorkItem]
    running: Sequence[WorkItem]
    ended: Sequence[WorkItem]

    @property
    def idle(self) -> bool:
        return not self.queued and not self.running


async def snapshots(inspector: Inspect, *, seconds: float) -> AsyncGenerator[Snapshot, None]:
    """A snapshot every *seconds*, for ever; at most the newest 200 items that have not ended.

    Raises ``StoreUnavailable`` only before the first: later ones wait until the store is back.
    """
    seen: set[UUID] | None = None
    active: set[UUID] = set()

    async def look() -> Snapshot:
        nonlocal seen, active
        now_active = await inspector.items(_ACTIVE, limit=200)
        newest = await inspector.items(limit=50)
        gone = active - {item.id for item in now_active}
        ended = [item for id_ in gone if (item := await inspector.item(id_)) and item.status.finished]
        if seen is not None:  # short work begins and ends between two looks
            ended += [item for item in newest if item.status.finished and item.id not in seen | active]
        active = {item.id for item in now_active}
        seen = {item.id for item in newest} | active
        return _snapshot([*now_active, *sorted(ended, key=lambda item: item.updated_at)])

    async for snapshot in _repeated(look, seconds):
        yield snapshot


async def snapshots_of(
    inspector: Inspect, item_id: UUID, *, seconds: float
) -> AsyncGenerator[Snapshot, None]:
    """A snapshot of one item every *seconds*, until it has ended or is gone (then an empty one)."""

    async def look() -> Snapshot:
        item = await inspector.item(item_id)
        return _snapshot([item] if item else [])

    async for snapshot in _repeated(look, seconds):
        yield snapshot
        if snapshot.idle:
            break


async def _repeated(
    look: Callable[[], Awaitable[Snapshot]], seconds: float
) -> AsyncGenerator[Snapshot, None]:
    answered = False
    while True:
        try:
            snapshot = await look()
        except StoreUnavailable:
            if not answered:
                raise
        else:
            answered = True
            yield snapshot
        await asyncio.sleep(seconds)


def _snapshot(items: Sequence[WorkItem]) -> Snapshot:
    return Snapshot(
        queued=[item for item in items if item.status is Status.QUEUED],
        running=[item for item in items if item.status is Status.RUNNING],
        ended=[item for item in items if item.status.finished],
    )


class View(Protocol):
    """What snapshots are shown on."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def show(self, snapshot: Snapshot) -> None: ...


class Bars:
    """One bar for each running item, below the lines of those that ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tasks: dict[UUID, TaskID] = {}
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[count]}", markup=False),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, snapshot: Snapshot) -> None:
        for item in snapshot.ended:
            self._console.print(_ended(item), soft_wrap=True)
        running = {item.id: item for item in snapshot.running}
        for item_id in self._tasks.keys() - running.keys():
            self._progress.remove_task(self._tasks.pop(item_id))
        for item in running.values():
            self._draw(item)

    def _draw(self, item: WorkItem) -> None:
        if item.id not in self._tasks:
            self._tasks[item.id] = self._progress.add_task(item.kind, total=None, count="", note="")
        self._progress.update(
            self._tasks[item.id],
            # None, an unknown total, makes the bar pulse; a total of 0 would never fill it.
            total=item.progress_total or None,
            completed=item.progress_done or 0,
            count=text.progress(item),
            note="cancelling" if item.cancel_requested_at else item.progress_note or "",
        )


class Lines:
    """A line for each change, where nothing can be drawn over."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: dict[UUID, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        lines = {item.id: _running(item) for item in snapshot.running}
        for item in snapshot.ended:
            self._console.print(_ended(item), soft_wrap=True)
        for item_id, line in lines.items():
            if self._last.get(item_id) != line:
                self._console.print(Text(line), soft_wrap=True)
        self._last = lines


class JsonLines:
    """A JSON object for each item that changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: dict[UUID, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, snapshot: Snapshot) -> None:
        items = [*snapshot.ended, *snapshot.running, *snapshot.queued]
        lines = {item.id: text.as_json(item) for item in items}
        for item_id, line in lines.items():
            if self._last.get(item_id) != line:
                self._console.out(line, highlight=False)
        self._last = lines


def view_for(console: Console) -> View:
    """Bars on a terminal, lines elsewhere."""
    return Bars(console) if console.is_terminal and not console.is_dumb_terminal else Lines(console)


def _running(item: WorkItem) -> str:
    parts = [item.kind, str(item.id), "running", text.progress(item), item.progress_note or ""]
    return " ".join(part for part in parts if part)


def _ended(item: WorkItem) -> Text:
    line = Text(f"{item.kind} {item.id} ").append(item.status, style=text.STYLES[item.status])
    detail = item.error or (json.dumps(item.result, ensure_ascii=False) if item.result is not None else "")
    return line.append(f" {detail}" if detail else "")
