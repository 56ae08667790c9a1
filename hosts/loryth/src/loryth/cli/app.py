"""The `loryth` command's sub-commands."""

from __future__ import annotations

import json
import logging
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import typer

from loryth.settings import load
from treadle.cli.exits import Refused

app = typer.Typer(
    help="The worker of a small platform. Every setting comes from the environment: see docs/settings.md.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
outbox = typer.Typer(help="Look at the outbox's events.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(outbox, name="outbox")


class Status(StrEnum):
    """What has become of an event."""

    WAITING = "waiting"
    DONE = "done"
    PARKED = "parked"


@app.command()
def migrate() -> None:
    """Bring the database's schema up to this version; at the newest, change nothing."""
    from loryth import schema

    applied = schema.migrate(load().conninfo)
    typer.echo("\n".join(f"applied {name}" for name in applied) or "the schema is up to date")


@app.command()
def worker() -> None:
    """Deliver events and run the chores until SIGTERM or SIGINT."""
    from loryth.worker import work

    settings = load()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # each request would be a line
    work(settings)


@app.command()
def health() -> None:
    """Print how the worker on this machine is; exit code 1 when it is unhealthy, or says nothing."""
    import httpx

    section = load().worker
    if not section.health_port:
        raise Refused("WORKER__HEALTH_PORT is 0, so the worker serves no health")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(section.health_host, section.health_host)  # noqa: S104 - what all stands for
    address = f"http://{f'[{host}]' if ':' in host else host}:{section.health_port}/healthz"
    try:
        answer = httpx.get(address, timeout=5, trust_env=False)
        report = answer.json()
    except (httpx.HTTPError, json.JSONDecodeError) as error:
        raise Refused(f"no worker answers at {address}: {error}") from error
    typer.echo(json.dumps(report, indent=2))
    if not answer.is_success:
        raise typer.Exit(1)


@outbox.command("list")
def list_events(
    status: Annotated[Status, typer.Option(help="Which events.")] = Status.PARKED,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
) -> None:
    """List events, the first published first: the parked ones, or those of another status."""
    from loryth.database import Database
    from loryth.events.outbox import events

    with Database(load().conninfo) as database, database.transaction() as connection:
        found = events(connection, status=status, limit=limit)
    for event in found:
        published = event.published_at.isoformat(timespec="seconds")
        typer.echo(
            f"{event.id}  {published}  {event.event_type}  {event.aggregate_type} {event.aggregate_id}  "
            f"attempts: {event.attempts}" + (f"  {event.last_error}" if event.last_error else "")
        )


@outbox.command("retry")
def retry_event(event: Annotated[UUID, typer.Argument(help="The event's id.", show_default=False)]) -> None:
    """Publish a parked event anew, behind what its aggregate has published since."""
    from loryth.database import Database
    from loryth.events.outbox import retry

    with Database(load().conninfo) as database, database.transaction() as connection:
        if not retry(connection, event):
            raise Refused(f"no event {event} is parked; `loryth outbox list` shows those that are")
    typer.echo(f"event {event} waits again")
