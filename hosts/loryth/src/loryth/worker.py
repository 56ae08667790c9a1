"""The worker process from its start to its end: events and chores, side by side."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import ExitStack
from typing import Final

from loryth import schema
from loryth.chores.all import chores
from loryth.database import Database
from loryth.events.consumer import Delivery, EventConsumer
from loryth.events.handlers import HANDLERS
from loryth.health.report import Health
from loryth.health.server import HealthServer
from loryth.settings import Settings, WorkerSection
from loryth.signals import Signals
from loryth.storage import Storage
from treadle.errors import StoreUnavailable
from treadle.task_scheduler import TaskScheduler

logger = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 1.0


def work(settings: Settings) -> None:
    """Work until SIGTERM or SIGINT; a database that is away is waited for.

    A chore or an event that does not come to an end in the time of grace ends with the process: its transaction
    is taken back, and what it did elsewhere is safe to repeat. Raises ``SchemaMismatch``, ``SettingsError``.
    """
    section = settings.worker
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        stopping = threading.Event()
        storage = Storage(settings.store)
        consumer = EventConsumer(Database(settings.conninfo), HANDLERS, delivery=_delivery(section))
        scheduler = TaskScheduler()
        for chore in chores(section, Database(settings.conninfo), storage, stopping):
            scheduler.register(chore)
        health = Health(consumer, scheduler, unhealthy_seconds=section.unhealthy_seconds)
        if section.health_port:
            server = HealthServer(health, section.health_host, section.health_port)
            server.start()
            stack.callback(server.close)
        if not _database_is_there(settings, signals, health):
            return
        consumer.start()
        scheduler.start()
        health.note_phase("working")
        logger.info("the worker delivers %s and runs %d chores", ", ".join(HANDLERS), len(scheduler.states()))
        signals.arrives()
        logger.info("stopping")
        health.note_phase("stopping")
        stopping.set()
        ended = _stop(consumer, scheduler, signals, section.shutdown_grace_seconds)
    if ended:
        storage.close()
        return
    logger.warning("what still ran is cut off; it is done again later")
    logging.shutdown()
    os._exit(0)  # past threads that wait for a network


def _delivery(section: WorkerSection) -> Delivery:
    return Delivery(
        poll=section.poll_seconds,
        most_attempts=section.event_attempts,
        first_wait=section.event_retry_seconds,
        handler_seconds=section.event_seconds,
    )


def _database_is_there(settings: Settings, signals: Signals, health: Health) -> bool:
    """Wait for the database, and see that its schema is ours; False when a signal came first."""
    seconds = min(5.0, settings.worker.shutdown_grace_seconds)
    with Database(settings.conninfo, seconds=seconds) as database:
        while True:
            try:
                schema.check(database)
            except StoreUnavailable as error:
                logger.warning("trying again: %s", error)
                health.note_waiting(str(error))
            else:
                return not signals.arrives(0)
            if signals.arrives(_RETRY_SECONDS):
                return False


def _stop(consumer: EventConsumer, scheduler: TaskScheduler, signals: Signals, grace: float) -> bool:
    """Wait for both to end, at most *grace* seconds and until a further signal; whether they did."""
    deadline = time.monotonic() + grace
    ended = [consumer.stop(0), scheduler.stop(0)]
    while not all(ended):
        if time.monotonic() >= deadline or signals.arrives(0):
            return False
        ended = [consumer.stop(0.05), scheduler.stop(0.05)]
    return True
