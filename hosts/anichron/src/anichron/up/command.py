"""`anichron up`: from an empty folder to a system that crawls photos."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from anichron import schema
from anichron.api.process import listen
from anichron.settings import Settings
from anichron.up.system import System
from treadle.cli.exits import Refused
from treadle.cli.watch import view_for
from treadle.embedded import EmbeddedPostgres


def up(settings: Settings, *, photos: Path | None, port: int | None, data: Path) -> None:
    """Run everything until SIGINT or SIGTERM.

    Raises ``Refused`` for a folder of photos that is none and ``AddressTaken``, before anything is started;
    ``EmbeddedError``, ``ChildFailed``, and what a migration raises.
    """
    if photos is not None and not photos.is_dir():
        raise Refused(f"{photos} is no folder: --photos takes the folder with your photos")
    if port is not None:
        settings = settings.model_copy(update={"api": settings.api.model_copy(update={"port": port})})
    listen(settings.api).close()
    console = Console(highlight=False)

    def say(line: str) -> None:
        with suppress(OSError):  # a terminal that is gone must not keep the rest from being stopped in order
            console.print(Text(line), soft_wrap=True)

    data = data.absolute()
    with _interruptible(), _server(settings, data, say) as server:
        if server is not None:
            settings = settings.model_copy(update={"database_url": SecretStr(server.dsn)})
        for name in schema.migrate(settings.conninfo):
            say(f"migrated {name}")
        environment = {"WORKER__PROXY_PATH": str(data / "proxies"), **os.environ}
        environment |= {"DATABASE_URL": settings.conninfo, "API__PORT": str(settings.api.port)}
        system = System(
            settings=settings,
            data=data,
            photos=photos.absolute() if photos else None,
            environment=environment,
            server=server,
            say=say,
            view=view_for(console),
        )
        asyncio.run(system.run())
    say("stopped")


@contextmanager
def _server(settings: Settings, data: Path, say: Callable[[str], None]) -> Iterator[EmbeddedPostgres | None]:
    """A server in *data*, or None where the settings name one."""
    if settings.has_database:
        yield None
    else:
        with EmbeddedPostgres(data / "postgres", say=say) as server:
            yield server


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end a start as Ctrl-C does: by leaving every context in order."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
