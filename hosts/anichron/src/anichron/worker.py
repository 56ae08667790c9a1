"""The Worker process from its start to its end, and everything that it is made of."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

from anichron import schema
from anichron.crawl.crawl import crawl
from anichron.crawl.handler import CrawlHandler
from anichron.crawl.proxy_folder import ProxyFolder
from anichron.database import STATEMENT_SECONDS, Database
from anichron.identity.configs import StorageConfigs
from anichron.identity.users import User, Users
from anichron.kinds import PAYLOADS, Kind
from anichron.library.postgres import PostgresLibrary
from anichron.media.decoder import ProcessDecoder
from anichron.retention.handler import WorkItemRetentionHandler
from anichron.schedules import schedules
from anichron.settings import Settings, WorkerSection
from anichron.tokens.handler import TokenCleanupHandler
from anichron.tokens.repository import RefreshTokens
from treadle import Registry, Worker, WorkerSettings
from treadle.errors import StoreUnavailable, TreadleError
from treadle.postgres import PostgresStore

T = TypeVar("T")

logger = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 1.0


class UnknownUser(TreadleError):
    """``WORKER__USER`` names nobody."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"WORKER__USER is {name!r}, and there is no such user (yet): make the user first, or leave it empty "
            "to serve everybody"
        )


async def work(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; a database that is away is waited for.

    Raises ``SchemaMismatch``, ``UnknownUser``, and ``FolderTaken`` when the root is somebody else's.
    """
    async with AsyncExitStack() as stack:
        try:
            worker = await _stoppable(_assembled(settings, stack))
        except asyncio.CancelledError:
            return
        await worker.run()


async def _stoppable(step: Coroutine[Any, Any, T]) -> T:
    """What *step* answers. SIGTERM and SIGINT cancel it: a container's first process has no default for them."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(step)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    return await task


async def _assembled(settings: Settings, stack: AsyncExitStack) -> Worker:
    """A worker that can start; *stack* closes what it is made of."""
    section = settings.worker
    database = await stack.enter_async_context(
        Database(
            settings.conninfo, most=section.max_concurrent_files + 2, seconds=_statement_seconds(section)
        )
    )
    configs = StorageConfigs(database)
    user = await _resident(section, database, configs)
    queue = _store(settings)
    stack.push_async_exit(queue)  # before it is opened, which SIGTERM may interrupt
    await queue.__aenter__()
    decoder = await stack.enter_async_context(ProcessDecoder(section.max_concurrent_files))
    return Worker(
        _store(settings),  # the worker opens it on the thread where it uses it, which is not ours
        _registry(section, database=database, configs=configs, queue=queue, decoder=decoder),
        claimed_by=f"{section.user or 'all'}@{socket.gethostname()}",
        serves=partial(_active, configs, user),
        settings=worker_settings(section),
    )


def worker_settings(section: WorkerSection) -> WorkerSettings:
    """The library's settings; recovery and scheduling go with the poll."""
    return WorkerSettings(
        heartbeat=section.heartbeat_seconds,
        lease=section.lease_seconds,
        poll=section.poll_seconds,
        stall_limit=section.stall_limit,
        concurrency=section.concurrency,
        shutdown_grace=section.shutdown_grace_seconds,
        schedule_interval=section.poll_seconds,
        recovery_interval=section.poll_seconds,
    )


def _store(settings: Settings) -> PostgresStore:
    return PostgresStore(settings.conninfo, statement_seconds=_statement_seconds(settings.worker))


def _statement_seconds(settings: WorkerSection) -> float:
    # A statement must be over well before the lease is, which it may be extending.
    return min(STATEMENT_SECONDS, settings.lease_seconds / 3)


def _registry(
    settings: WorkerSection,
    *,
    database: Database,
    configs: StorageConfigs,
    queue: PostgresStore,
    decoder: ProcessDecoder,
) -> Registry:
    crawl_folder = partial(
        crawl,
        library=PostgresLibrary(database),
        decoder=decoder,
        proxies=ProxyFolder(settings.proxy_path),
        max_concurrent_files=settings.max_concurrent_files,
    )
    retention = WorkItemRetentionHandler(
        queue.retention,
        keep=timedelta(days=settings.retention_days),
        periodic_kinds=[schedule.payload_type.kind for schedule in schedules(settings)],
    )
    return Registry(
        Kind,
        payloads=PAYLOADS,
        handlers=[
            TokenCleanupHandler(RefreshTokens(database)),
            retention,
            CrawlHandler(configs, crawl_folder),
        ],
        schedules=schedules(settings),
    )


async def _active(configs: StorageConfigs, user: User | None) -> frozenset[UUID]:
    """The scopes to serve now: active configs of the worker's user, or of everybody."""
    found = await configs.active(user.id if user else None)
    return frozenset(config.id for config in found)


async def _resident(settings: WorkerSection, database: Database, configs: StorageConfigs) -> User | None:
    """The worker's user, who has a storage config for the root now; None for the all-user worker."""
    while True:
        try:
            async with database.connection() as connection:
                await schema.check(connection)
            if not settings.user:
                return None
            user = await Users(database).find(settings.user)
            if user is None:
                raise UnknownUser(settings.user)
            await configs.ensure(user.id, settings.root_path)
        except StoreUnavailable as error:
            logger.warning("trying again: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            return user
