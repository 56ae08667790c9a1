"""The `anichron` command's sub-commands."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from anichron.settings import Settings, load
from treadle.cli.exits import Refused

app = typer.Typer(
    help="A self-hosted photo library. Every setting comes from the environment: see docs/settings.md.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

UntilStdinCloses = Annotated[
    bool, typer.Option("--until-stdin-closes", hidden=True, help="End when standard input does.")
]
UserName = Annotated[str, typer.Argument(help="The user's name or email.", show_default=False)]


@app.command()
def up(
    photos: Annotated[
        Path | None,
        typer.Option(help="Folder of photos to crawl; without one a sample is made.", show_default=False),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65_535, help="Port of the API; else API__PORT.", show_default=False),
    ] = None,
    data: Annotated[
        Path, typer.Option(help="Folder of the database, the proxies and the admin's password.")
    ] = Path("anichron-data"),
) -> None:
    """Run all of it here: a PostgreSQL server (none with DATABASE_URL), the API and an all-user Worker."""
    from anichron.up.command import up as run_up

    run_up(load(), photos=photos, port=port, data=data)


@app.command()
def migrate() -> None:
    """Bring the database's schemas up to this version; at the newest, change nothing."""
    from anichron import schema

    applied = schema.migrate(load().conninfo)
    typer.echo("\n".join(f"applied {name}" for name in applied) or "the schemas are up to date")


@app.command()
def api(until_stdin_closes: UntilStdinCloses = False) -> None:
    """Run an API process until SIGTERM or SIGINT."""
    from anichron.api.process import serve

    _run_process(partial(serve, say=typer.echo), until_stdin_closes=until_stdin_closes, grace=7)


@app.command()
def worker(until_stdin_closes: UntilStdinCloses = False) -> None:
    """Run a Worker process until SIGTERM or SIGINT: for WORKER__USER, or for everybody."""
    from anichron.worker import work

    grace = load().worker.shutdown_grace_seconds + 3
    _run_process(work, until_stdin_closes=until_stdin_closes, grace=grace)


@app.command()
def admin() -> None:
    """Make the first admin and print the password, as the API does when it starts; with an admin, make none."""
    from anichron.auth.first_admin import ensure_admin
    from anichron.database import Database
    from anichron.identity.users import Users

    async def ensure(settings: Settings) -> None:
        async with Database(settings.conninfo) as database:
            if there := await ensure_admin(Users(database), typer.echo):
                name = there.username
                typer.echo(
                    f"{name} is an admin; `anichron reset-password {name}` gives them another password"
                )

    asyncio.run(ensure(load()))


@app.command()
def reset_password(name: UserName) -> None:
    """Give a user another password, print it, and end all their sessions."""
    from anichron.database import Database
    from anichron.identity.passwords import made_up
    from anichron.identity.users import Users

    password = made_up()

    async def reset(settings: Settings) -> None:
        async with Database(settings.conninfo) as database:
            users = Users(database)
            user = await users.find(name)
            if user is None or not await users.set_password(user.id, password):
                raise Refused(f"there is no user {name!r}; `anichron add-user` makes one")

    asyncio.run(reset(load()))
    typer.echo(password)


@app.command()
def add_user(
    name: Annotated[
        str, typer.Argument(help="Name to sign in with, without @ or spaces.", show_default=False)
    ],
    email: Annotated[str | None, typer.Option(help="Email address.", show_default=False)] = None,
    admin: Annotated[
        bool, typer.Option("--admin", help="May see and cancel everybody's work items.")
    ] = False,
) -> None:
    """Add a user, and print the password that was made up for them."""
    from anichron.database import Database
    from anichron.identity.passwords import made_up
    from anichron.identity.users import Users

    password = made_up()

    async def add(settings: Settings) -> None:
        async with Database(settings.conninfo) as database:
            if await Users(database).add(name, password=password, email=email, is_admin=admin) is None:
                raise Refused(f"the name {name!r} or the email address is taken; nothing was added")

    asyncio.run(add(load()))
    typer.echo(password)


@app.command()
def add_folder(
    name: UserName,
    path: Annotated[Path, typer.Argument(help="The folder, as workers see it.", show_default=False)],
) -> None:
    """Give a user a folder of originals, and print its storage config's id; workers crawl it within seconds."""
    from anichron.database import Database
    from anichron.identity.configs import StorageConfigs
    from anichron.identity.users import Users

    async def add(settings: Settings) -> None:
        async with Database(settings.conninfo) as database:
            user = await Users(database).find(name)
            if user is None:
                raise Refused(f"there is no user {name!r}; `anichron add-user` makes one")
            typer.echo((await StorageConfigs(database).ensure(user.id, path)).id)

    asyncio.run(add(load()))


def _run_process(
    process: Callable[[Settings], Coroutine[Any, Any, None]], *, until_stdin_closes: bool, grace: float
) -> None:
    """Run one of the system's processes; it may outlive its parent by *grace* seconds."""
    from anichron.lifeline import hold_on

    settings = load()
    # `anichron up` shows what goes on itself, and wants to hear of trouble only.
    level = logging.WARNING if until_stdin_closes else logging.INFO
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of we say once, in our words
    if until_stdin_closes:
        hold_on(grace=grace)
    asyncio.run(process(settings))
