"""Work items as people and scripts read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import TypeAdapter
from rich.table import Table
from rich.text import Text

from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.inspect import ItemEvent

STYLES = {
    Status.QUEUED: "",
    Status.RUNNING: "cyan",
    Status.SUCCEEDED: "green",
    Status.FAILED: "bold red",
    Status.CANCELLED: "yellow",
}

_WIDE = 130
"""Columns of a terminal from which the list also says where an item ran and for which scope."""

_item = TypeAdapter(WorkItem)
_event = TypeAdapter(ItemEvent)

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def as_json(item: WorkItem, events: Sequence[ItemEvent] | None = None) -> str:
    """*item* on one line, in the shape the admin API has."""
    fields: dict[str, Any] = _item.dump_python(item, mode="json") | {"partial": item.partial}
    if events is not None:
        fields["events"] = [_event.dump_python(event, mode="json") for event in events]
    return json.dumps(fields, ensure_ascii=False)


def duration(span: timedelta) -> str:
    """*span* in its largest whole unit: ``4 min``."""
    seconds = max(0, int(span.total_seconds()))
    name, size = next(((name, size) for name, size in _UNITS if seconds >= size), _UNITS[-1])
    return f"{seconds // size} {name}"


def moment(at: datetime | None, *, absolute: bool, now: datetime | None = None) -> str:
    """When *at* is: relative to now, or in UTC to the second."""
    if at is None:
        return "-"
    if absolute:
        return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    span = (now or datetime.now(UTC)) - at
    return f"in {duration(-span)}" if span < timedelta(seconds=-1) else f"{duration(span)} ago"


def progress(item: WorkItem) -> str:
    """How far the item is: ``3/10``, ``3/?`` while the total is unknown, or nothing."""
    if item.progress_done is None:
        return ""
    total = "?" if item.progress_total is None else str(item.progress_total)
    return f"{item.progress_done}/{total}"


def table(items: Iterable[WorkItem], *, absolute: bool, width: int) -> Table:
    """The list: what fits 80 columns, and more where there is room."""
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    grid.add_column("ID", no_wrap=True, min_width=36)
    grid.add_column("STATUS", no_wrap=True, min_width=9)
    grid.add_column("KIND", no_wrap=True, overflow="ellipsis")
    grid.add_column("DONE", no_wrap=True, justify="right", overflow="ellipsis")
    grid.add_column("CHANGED", no_wrap=not absolute, justify="right", min_width=7)
    if width >= _WIDE:
        grid.add_column("WORKER", no_wrap=True, overflow="ellipsis")
        grid.add_column("SCOPE", no_wrap=True, overflow="ellipsis")
    now = datetime.now(UTC)
    for item in items:
        cells = [
            Text(str(item.id)),
            Text(item.status, style=STYLES[item.status]),
            Text(item.kind),
            Text(progress(item)),
            Text(moment(item.updated_at, absolute=absolute, now=now).removesuffix(" ago")),
        ]
        if width >= _WIDE:
            cells += [Text(item.claimed_by or "-"), Text(str(item.scope_id or "-"))]
        grid.add_row(*cells)
    return grid


def details(item: WorkItem, events: Sequence[ItemEvent], *, absolute: bool) -> Table:
    """Everything there is to know of one item, a line each."""

    def when(at: datetime | None) -> str:
        return moment(at, absolute=absolute)

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    result = "-" if item.result is None else json.dumps(item.result, ensure_ascii=False, indent=2)
    rows: list[tuple[str, object]] = [
        ("id", item.id),
        ("kind", item.kind),
        ("scope", item.scope_id or "-"),
        ("requested by", item.requested_by or "scheduled"),
        ("requested", when(item.requested_at)),
        ("status", item.status),
        ("attempt", item.attempt),
        ("stalls", item.stalls),
        ("worker", item.claimed_by or "-"),
        ("started", when(item.started_at)),
        ("lease until", when(item.lease_until)),
        ("finished", when(item.finished_at)),
        ("cancel requested", when(item.cancel_requested_at)),
        ("progress", progress(item) or "-"),
        ("note", item.progress_note or "-"),
        ("partial result" if item.partial else "result", result),
        ("error", item.error or "-"),
    ]
    if item.slot is not None:
        rows.insert(5, ("scheduled for", when(item.slot)))
    if item.superseded_by is not None:
        rows.append(("superseded by", item.superseded_by))
    for name, value in rows:
        grid.add_row(name, Text(str(value)))
    for event in events:
        what = f"{event.event}, attempt {event.attempt}" + (f": {event.detail}" if event.detail else "")
        grid.add_row("event", Text(f"{when(event.at)}: {what}"))
    return grid
