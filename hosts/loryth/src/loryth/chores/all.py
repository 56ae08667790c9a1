"""The worker's chores, each with its schedule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event as Flag

from loryth.chores.abandoned_uploads import AbandonedUploads
from loryth.chores.bound import Bound
from loryth.chores.closed_spaces import ClosedSpaces
from loryth.chores.deleted_files import DeletedFiles
from loryth.chores.done_events import DoneEvents
from loryth.chores.plugin_health import PluginHealth
from loryth.database import Database
from loryth.settings import WorkerSection, task
from loryth.storage import Storage
from treadle.task_scheduler import CronTask, PeriodicTask


def chores(
    settings: WorkerSection, database: Database, storage: Storage, stopping: Flag
) -> list[PeriodicTask | CronTask]:
    """Every chore; all of them use *database*, one after another, and end soon once *stopping* is set."""
    bound = Bound(settings.chore_items, settings.chore_seconds, stopping)
    every: dict[str, tuple[Callable[[], None], str]] = {
        "deleted-files": (DeletedFiles(database, storage, bound), settings.deleted_files_schedule),
        "abandoned-uploads": (
            AbandonedUploads(database, storage, bound, age=timedelta(hours=settings.upload_hours)),
            settings.abandoned_uploads_schedule,
        ),
        "plugin-health": (
            PluginHealth(database, bound, plugin_seconds=settings.plugin_seconds),
            settings.plugin_health_schedule,
        ),
        "closed-spaces": (
            ClosedSpaces(database, bound, grace=timedelta(days=settings.space_grace_days)),
            settings.closed_spaces_schedule,
        ),
        "done-events": (
            DoneEvents(database, bound, keep=timedelta(days=settings.event_retention_days)),
            settings.event_retention_schedule,
        ),
    }
    return [
        task(name, chore, schedule, timezone=settings.timezone) for name, (chore, schedule) in every.items()
    ]
