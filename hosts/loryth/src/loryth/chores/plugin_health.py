"""Asks plugins how they are, over HTTP, and writes down what they say."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import httpx
from psycopg.rows import class_row

from loryth.chores.bound import Bound, Budget
from loryth.chores.deleted_files import SQL
from loryth.database import Database, statement
from loryth.failure import in_a_line

logger = logging.getLogger(__name__)

AT_ONCE: Final = 20

_STOP_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Plugin:
    """Whom to ask, and where."""

    id: UUID
    name: str
    health_url: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; *error* is None for a plugin that is well."""

    plugin: Plugin
    http_status: int | None
    took_seconds: float
    error: str | None


class PluginHealth:
    """A chore. Plugins are asked side by side, each within its own time, and nothing of their bodies is read."""

    def __init__(self, database: Database, bound: Bound, *, plugin_seconds: float) -> None:
        """*plugin_seconds* bound each check, from looking up the name to the answer's headers."""
        self._database = database
        self._bound = bound
        self._plugin_seconds = plugin_seconds

    def __call__(self) -> None:
        """Check the plugins whose last check is the longest ago, as many as the budget allows."""
        budget = self._bound.begin()
        with (
            self._database.transaction() as connection,
            connection.cursor(row_factory=class_row(Plugin)) as cursor,
        ):
            plugins = cursor.execute(statement(SQL, "plugins_to_check"), {"limit": budget.items}).fetchall()
        if not plugins:
            return
        findings = asyncio.run(self._check_all(plugins, budget))
        self._save(findings)
        ill = [finding for finding in findings if finding.error]
        for finding in ill:
            logger.warning("plugin %s is not well: %s", finding.plugin.name, finding.error)
        logger.info("checked %d plugins, %d are not well", len(findings), len(ill))

    async def _check_all(self, plugins: list[Plugin], budget: Budget) -> list[Finding]:
        """What was found until the budget's time was over, or the worker stopped."""
        turns = asyncio.Semaphore(AT_ONCE)
        # Redirects are not followed: they lead where nobody has asked to go.
        async with httpx.AsyncClient(follow_redirects=False, timeout=None, trust_env=False) as client:  # noqa: S113 - the whole check has one

            async def take_turn(plugin: Plugin) -> Finding:
                async with turns:
                    return await self._check(client, plugin)

            tasks = [asyncio.create_task(take_turn(plugin)) for plugin in plugins]
            pending = set(tasks)
            while pending and budget.seconds:
                _, pending = await asyncio.wait(pending, timeout=min(_STOP_SECONDS, budget.seconds))
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
        return [task.result() for task in tasks if not task.cancelled()]

    async def _check(self, client: httpx.AsyncClient, plugin: Plugin) -> Finding:
        begun = time.monotonic()
        status: int | None = None
        try:
            async with (
                asyncio.timeout(self._plugin_seconds),
                client.stream("GET", plugin.health_url) as answer,
            ):
                status = answer.status_code
            error = None if answer.is_success else f"it answered {status} {answer.reason_phrase}".strip()
            if answer.is_redirect:
                error = f"{error}; redirects are not followed, so give it the address where it is"
        except TimeoutError:
            error = f"it did not answer within {self._plugin_seconds:g} s"
        except Exception as problem:  # noqa: BLE001 - whatever one plugin does, the others are checked
            error = in_a_line(problem)
        return Finding(plugin, status, time.monotonic() - begun, error and error[:500].replace("\0", " "))

    def _save(self, findings: list[Finding]) -> None:
        with self._database.transaction() as connection, connection.cursor() as cursor:
            cursor.executemany(
                statement(SQL, "save_check"),
                [
                    {
                        "id": finding.plugin.id,
                        "health_url": finding.plugin.health_url,
                        "is_healthy": finding.error is None,
                        "http_status": finding.http_status,
                        "took_seconds": finding.took_seconds,
                        "error": finding.error,
                    }
                    for finding in sorted(findings, key=lambda finding: finding.plugin.id)
                ],
            )
