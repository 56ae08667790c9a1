"""The `treadle` command's sub-commands."""

from __future__ import annotations

from contextlib import aclosing
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Console

from treadle.cli import text
from treadle.cli.connection import Dsn, checked, with_store
from treadle.cli.exits import ExitCode, Refused
from treadle.cli.grants import grants as grants_sql
from treadle.cli.watch import JsonLines, Snapshot, snapshots, snapshots_of, view_for
from treadle.domain.item import WorkItem
from treadle.domain.status import Status
from treadle.ports.cancel import Cancellation
from treadle.ports.inspect import ItemEvent, ItemFilter
from treadle.postgres import PostgresStore
from treadle.postgres.migrate import migrate as migrate_schema

_PAGE = 200

app = typer.Typer(
    help="Look after a work queue in PostgreSQL.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
items = typer.Typer(help="See, follow and cancel work items.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(items, name="items")

Json = Annotated[bool, typer.Option("--json", help="One JSON object per line, for scripts.")]
Absolute = Annotated[bool, typer.Option("--absolute", help="Times in UTC instead of how long ago.")]
ItemId = Annotated[UUID, typer.Argument(help="The item's id.", show_default=False)]


@app.command()
def migrate(dsn: Dsn = "") -> None:
    """Bring the queue's schema in the database up to this version; at the newest, change nothing."""
    applied = migrate_schema(checked(dsn))
    typer.echo("\n".join(f"applied {name}" for name in applied) or "the schema is up to date")


@app.command()
def grants(
    api_role: Annotated[str, typer.Option(help="Role of the processes that ask for work and cancel it.")],
    worker_role: Annotated[str, typer.Option(help="Role of the Worker processes.")],
) -> None:
    """Print the SQL that gives two existing roles what each may do, and no more."""
    typer.echo(grants_sql(api_role=api_role, worker_role=worker_role), nl=False)


@items.command("list")
def list_(
    *,
    status: Annotated[list[Status] | None, typer.Option(help="Only these statuses; may be repeated.")] = None,
    kind: Annotated[list[str] | None, typer.Option(help="Only these kinds; may be repeated.")] = None,
    scope: Annotated[UUID | None, typer.Option(help="Only items of this scope.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest ones.")] = 50,
    absolute: Absolute = False,
    as_json: Json = False,
    dsn: Dsn = "",
) -> None:
    """List work items, newest first."""
    wanted = ItemFilter(statuses=tuple(status or ()), kinds=tuple(kind or ()), scope_id=scope)

    async def read(store: PostgresStore) -> list[WorkItem]:
        found: list[WorkItem] = []
        while len(found) < limit:
            size = min(_PAGE, limit - len(found))
            page = await store.inspector.items(wanted, before=found[-1].id if found else None, limit=size)
            found += page
            if len(page) < size:
                break
        return found

    found = with_store(dsn, read)
    if as_json:
        for item in found:
            typer.echo(text.as_json(item))
        return
    console = Console()
    console.print(text.table(found, absolute=absolute, width=console.width) if found else "no work items")


@items.command()
def show(item_id: ItemId, absolute: Absolute = False, as_json: Json = False, dsn: Dsn = "") -> None:
    """Show everything about one work item, what went wrong on its way included."""

    async def read(store: PostgresStore) -> tuple[WorkItem | None, list[ItemEvent]]:
        return await store.inspector.item(item_id), list(await store.inspector.events(item_id))

    item, events = with_store(dsn, read)
    if item is None:
        raise _no_item(item_id)
    if as_json:
        typer.echo(text.as_json(item, events))
    else:
        Console().print(text.details(item, events, absolute=absolute))


@items.command()
def cancel(item_id: ItemId, dsn: Dsn = "") -> None:
    """Cancel a work item: a queued one ends at once, a running one at its worker's next heartbeat."""
    answer = with_store(dsn, lambda store: store.cancels.cancel(item_id))
    match answer.cancellation:
        case Cancellation.CANCELLED:
            typer.echo("cancelled")
        case Cancellation.REQUESTED:
            typer.echo("cancel requested; its worker stops it at the next heartbeat")
        case Cancellation.FINISHED:
            raise Refused(f"work item {item_id} had ended before ({answer.status}); nothing was changed")
        case Cancellation.UNKNOWN:
            raise _no_item(item_id)


@items.command()
def watch(
    *,
    item_id: Annotated[
        UUID | None, typer.Argument(help="Watch this item until it has ended.", show_default=False)
    ] = None,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing waits or runs.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, max=3600, help="Seconds between two looks.")] = 1.0,
    as_json: Json = False,
    dsn: Dsn = "",
) -> int:
    """Follow work items as they go, with a progress bar for each that runs.

    With an item's id, end with it: exit code 0 when it succeeded, 1 when it failed or was cancelled.
    """
    console = Console()

    async def follow(store: PostgresStore) -> int:
        states = (
            snapshots(store.inspector, seconds=interval)
            if item_id is None
            else snapshots_of(store.inspector, item_id, seconds=interval)
        )
        with JsonLines(console) if as_json else view_for(console) as view:
            async with aclosing(states):
                async for state in states:
                    view.show(state)
                    if item_id is not None and state.idle:
                        return _outcome(state, item_id)
                    if until_idle and state.idle:
                        break
        return ExitCode.DONE

    return with_store(dsn, follow)


def _outcome(state: Snapshot, item_id: UUID) -> int:
    for item in state.ended:
        return ExitCode.DONE if item.status is Status.SUCCEEDED else ExitCode.REFUSED
    raise _no_item(item_id)


def _no_item(item_id: UUID) -> Refused:
    return Refused(f"there is no work item {item_id} (any more); see `treadle items list`")
