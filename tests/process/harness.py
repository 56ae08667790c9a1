"""What the fault tests have in common: a database to ask, and processes to harm."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import psycopg
from psycopg.rows import DictRow, dict_row

from tests.process.effects import TABLE
from tests.process.kinds import REGISTRY
from treadle.domain.payload import WorkPayload
from treadle.postgres.queue import enqueue

ROOT: Final = Path(__file__).parents[2]
LOOK: Final = 0.02
"""Seconds between two looks for something that nobody announces."""
LEASE: Final = 3.0
GRACE: Final = 1.0

T = TypeVar("T")


def eventually(question: Callable[[], T | None], *, seconds: float, told: str) -> T:
    """The first answer that is true; fails the test, which is *told* what was waited for, after *seconds*."""
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {told}"
        time.sleep(LOOK)
    return answer


class Observer:
    """Looks into the database on a connection of its own, which a restarted server does not take away for good."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[DictRow] | None = None
        self.run(TABLE)

    def rows(self, query: str, *values: object) -> list[DictRow]:
        """All rows of a query, read in a transaction of its own."""
        cursor = self._connected().execute(query.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def row(self, query: str, *values: object) -> DictRow:
        """The only row."""
        (row,) = self.rows(query, *values)
        return row

    def value(self, query: str, *values: object) -> Any:
        """The only value."""
        (value,) = self.row(query, *values).values()
        return value

    def run(self, query: str, *values: object) -> None:
        """Run and commit a statement."""
        self.rows(query, *values)

    def until(self, query: str, *values: object, seconds: float = 15.0) -> DictRow:
        """The first row of *query*, as soon as there is one. A server that is away is asked again."""

        def look() -> DictRow | None:
            try:
                return next(iter(self.rows(query, *values)), None)
            except psycopg.OperationalError:
                return None

        return eventually(look, seconds=seconds, told=f"{query} {values}")

    def enqueue(self, payload: WorkPayload, *, scope: UUID | None = None) -> UUID:
        """Ask for work as an API does."""
        return enqueue(self._connected(), REGISTRY, payload, scope_id=scope).id

    def item(self, item: UUID) -> DictRow:
        """The item's row, with what its effects say."""
        return self.row("select * from treadle.work_items where id = %s", item)

    def until_item(self, item: UUID, condition: str, *, seconds: float = 15.0) -> DictRow:
        """The item's row, as soon as *condition* holds of it."""
        query = f"select * from treadle.work_items where id = %s and ({condition})"
        return self.until(query, item, seconds=seconds)

    def until_effect(self, item: UUID, what: str, *, attempt: int = 1, seconds: float = 15.0) -> DictRow:
        """The first effect that reads like *what*."""
        query = "select * from effects where item_id = %s and what like %s and attempt = %s order by at"
        return self.until(query, item, what, attempt, seconds=seconds)

    def effects(self, item: UUID) -> list[str]:
        """What the item's handlers did, but for the steps: "1 begin", "1 end"."""
        query = "select attempt || ' ' || what from effects where item_id = %s and what <> 'step' order by at"
        return [str(*row.values()) for row in self.rows(query, item)]

    def events(self, item: UUID) -> list[str]:
        """The item's events with their attempts: "1 released"."""
        query = "select attempt || ' ' || event from treadle.item_events where item_id = %s order by id"
        return [str(*row.values()) for row in self.rows(query, item)]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _connected(self) -> psycopg.Connection[DictRow]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._dsn, autocommit=True, row_factory=dict_row)
        return self._connection


class WorkerProcess:
    """A worker of the test's host, in a process group of its own."""

    def __init__(self, folder: Path, options: dict[str, object], *, clock: str = "") -> None:
        name = options["name"]
        number = len(list(folder.glob("*.log")))
        self.log = folder / f"{number}-{name}.log"
        self._health = folder / f"{number}-{name}.json"
        module = "tests.process.wall_clock" if clock else "tests.process.host"
        text = json.dumps({"health": str(self._health), **options})
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, text, *([clock] if clock else [])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the process, not its group, and see it gone."""
        self.process.kill()
        self.process.wait()

    def ended(self, *, within: float) -> int:
        """The exit code. Fails when the process is still there after so many seconds."""
        return self.process.wait(within)

    def alive(self) -> bool:
        return self.process.poll() is None

    def health(self) -> dict[str, Any]:
        """What the worker last said of itself."""
        try:
            health: dict[str, Any] = json.loads(self._health.read_text())
        except FileNotFoundError:
            return {"ready": False, "loops": [], "running": []}
        return health

    def said(self, words: str) -> bool:
        return words in self.log.read_text(errors="replace")

    def until_said(self, words: str, *, seconds: float = 15.0) -> None:
        eventually(lambda: self.said(words), seconds=seconds, told=f"{words!r} in {self.log.name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # Shown when the test fails.
        print(
            f"--- {self.log.name}, exit code {self.process.returncode}\n{self.log.read_text(errors='replace')}"
        )


def is_gone(pid: int) -> bool:
    """Whether no such process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
