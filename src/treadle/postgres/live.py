"""Following work by snapshots, on PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, Self

from psycopg.errors import DataError
from psycopg.rows import DictRow

from treadle.ports.live import Changes, Lost
from treadle.postgres.database import Database
from treadle.postgres.inspector import work_item

TOMBSTONES: Final = timedelta(hours=1)
"""How long tombstones are kept."""
KEPT: Final = TOMBSTONES / 2
"""How old a cursor may be: by half the time that tombstones are kept, all deletions since are known."""
ITEMS: Final = 5000
"""How many items, and deletions, are told one by one."""
RESULT_BYTES: Final = 16_000_000
"""How much their results may weigh in the table, where they may be compressed."""


class Cursor(NamedTuple):
    """Where a reader is: a whole snapshot, for neither time nor any counter is in the order of commits."""

    epoch: str
    snapshot: str
    at: datetime

    def __str__(self) -> str:
        return f"{self.epoch}/{round(self.at.timestamp() * 1000):x}/{self.snapshot}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The cursor that *text* is, or None."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            return None
        return cls(
            match["epoch"], match["snapshot"], datetime.fromtimestamp(int(match["at"], 16) / 1000, UTC)
        )


_CURSOR: Final = re.compile(
    r"(?P<epoch>[0-9]{1,20}-[0-9A-Za-z]{1,8}-[0-9]{1,18})/(?P<at>[0-9a-f]{1,11})"
    r"/(?P<snapshot>[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19}){0,5000})?)",
    re.ASCII,
)


class PostgresLive:
    """The ``Live`` port."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def cursor(self) -> str:
        row = await self._database.only_row("cursor")
        return str(Cursor(row["epoch"], row["snapshot"], row["at"]))

    async def changes(self, since: str | None) -> Changes:
        given = Cursor.read(since) if since is not None else None
        try:
            rows = await self._look(given)
        except DataError:  # it has the form of a cursor and cannot be a snapshot
            given, rows = None, await self._look(None)
        lost = None if since is None else _lost(given, rows)
        running = [work_item(row) for row in rows if row["what"] == "running"]
        return Changes(
            cursor=str(Cursor(rows[0]["epoch"], rows[0]["snapshot"], rows[0]["at"])),
            changed=() if lost else [work_item(row) for row in rows if row["what"] == "changed"],
            gone=() if lost else rows[0]["gone"],
            running=running[:ITEMS],
            running_cut=len(running) > ITEMS,
            lost=lost,
        )

    async def _look(self, since: Cursor | None) -> list[DictRow]:
        return await self._database.rows(
            "changes",
            epoch=since.epoch if since else None,
            snapshot=since.snapshot if since else None,
            limit=ITEMS,
            bytes=RESULT_BYTES,
        )


def _lost(since: Cursor | None, rows: list[DictRow]) -> Lost | None:
    now = rows[0]
    if since is None:
        return Lost.UNKNOWN
    if since.epoch != now["epoch"]:
        return Lost.EPOCH
    if not now["known"]:
        return Lost.UNKNOWN
    if now["at"] - since.at > KEPT:
        return Lost.OLD
    changed = sum(row["what"] == "changed" for row in rows)
    if now["heavy"] or max(changed, len(now["gone"])) > ITEMS:
        return Lost.MANY
    return None
