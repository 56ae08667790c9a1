"""The whole system: database, API and Worker, started, watched and stopped in order."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from anichron.database import Database
from anichron.identity.configs import StorageConfigs
from anichron.identity.users import Users
from anichron.settings import Settings
from anichron.up.admin import first_admin
from anichron.up.child import Child, ChildFailed
from anichron.up.sample import make_sample
from treadle.cli.watch import View, snapshots
from treadle.embedded import EmbeddedError, EmbeddedPostgres
from treadle.postgres.client import PostgresClient

_LOOK_SECONDS: Final = 0.25
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class System:
    """What is run, and where it says what goes on."""

    settings: Settings
    data: Path
    photos: Path | None
    environment: Mapping[str, str]
    """Of the API and the Worker; it names the database."""
    server: EmbeddedPostgres | None
    say: Callable[[str], None]
    view: View

    async def run(self) -> None:
        """Run until SIGINT, SIGTERM or SIGHUP; then stop the Worker, then the API.

        Raises ``ChildFailed`` when one of them cannot be kept running, ``FolderTaken``.
        """
        asked = asyncio.Event()
        worker = Child("worker", ["worker"], self.environment, self.say)
        api = Child("api", ["api"], self.environment, self.say)

        def stop() -> None:
            if asked.is_set():
                worker.signal(signal.SIGTERM)  # a second one shortens its grace
            asked.set()

        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, stop)
        await self._furnish()
        if not asked.is_set():
            await self._operate(asked, worker, api)

    async def _operate(self, asked: asyncio.Event, worker: Child, api: Child) -> None:
        jobs: set[asyncio.Task[Any]] = {
            asyncio.create_task(job, name=name)
            for name, job in {
                "asked": asked.wait(),
                "api": api.run(),
                "worker": worker.run(),
                "server": self._keep_server(),
                "progress": self._show_progress(),
                "address": self._say_address(),
            }.items()
        }
        try:
            await _first_of_note(jobs)
        finally:
            self.say("stopping")
            await worker.stop(seconds=self.settings.worker.shutdown_grace_seconds + 3)
            await api.stop(seconds=7)
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    async def _furnish(self) -> None:
        """Make sure of an admin, and of folders for the Worker to crawl."""
        async with Database(self.settings.conninfo) as database:
            admin = await first_admin(Users(database), self.data / "admin-password", self.say)
            configs = StorageConfigs(database)
            photos = self.photos
            if photos is None and not await configs.active(admin.id):
                photos = await asyncio.to_thread(make_sample, self.data / "sample-photos")
                self.say(f"no folder of photos is named, so a sample was made: {photos}")
            if photos is not None:
                config = await configs.ensure(admin.id, photos)
                if not config.is_active:
                    self.say(f"the folder {photos} is inactive and will not be crawled")

    async def _say_address(self) -> None:
        api = self.settings.api
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(api.host, api.port)
                writer.close()
                break
            await asyncio.sleep(_LOOK_SECONDS)
        self.say(f"Anichron is up: {api.address}/admin/")
        self.say(f"DATABASE_URL={self.settings.conninfo}")
        self.say("Ctrl-C stops everything; the next start continues where this one ends")

    async def _show_progress(self) -> None:
        client = PostgresClient(self.settings.conninfo, connections=1)
        try:
            await client.__aenter__()
            states = snapshots(client.inspector, seconds=_LOOK_SECONDS)
            with self.view as view:
                async with aclosing(states):
                    async for state in states:
                        view.show(state)
        finally:
            # Also when it was stopped while it connected: the pool would go on trying for ever.
            await client.__aexit__(None, None, None)

    async def _keep_server(self) -> None:
        while self.server is not None:
            await asyncio.sleep(_LOOK_SECONDS)
            if not self.server.running:
                self.say("the database server ended; it is started again")
                try:
                    await asyncio.to_thread(self.server.start)
                except EmbeddedError as error:
                    raise ChildFailed(f"the database server cannot be started again: {error}") from error


async def _first_of_note(jobs: set[asyncio.Task[Any]]) -> None:
    """Wait until somebody asked to stop or a job failed; raise what it failed with."""
    left = jobs
    while left:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        for job in done:
            job.result()
            if job.get_name() == "asked":
                return
