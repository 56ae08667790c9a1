"""A queue full of believable work for screenshots: rows of every sort, and workers that seem to move some of them."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import psycopg

_RANDOM: Final = random.Random(7)
SCOPES: Final = [UUID("019a3f00-0000-7000-8000-0000000a11ce"), UUID("019a3f00-0000-7000-8000-00000000b0b5")]
KINDS: Final = ["crawl", "thumbnail", "face-index", "purge-tokens", "retention", "export-album"]
LOFT, STUDY, SHED = "loft:4182:9f3c", "study:977:1b20", "shed:61:aa07"


class Demo:
    """Writes rows as they would stand in the table after a day's work."""

    def __init__(self, conninfo: str) -> None:
        self._db = psycopg.connect(conninfo, autocommit=True)
        self._now = datetime.now(UTC)
        self.named: dict[str, UUID] = {}

    def seed(self) -> None:
        """Fill the table."""
        for hours in range(30, 0, -1):
            for _ in range(40):
                self._finished(timedelta(hours=hours, minutes=_RANDOM.uniform(-30, 30)))
        self._noteworthy()
        self._workers()

    def move(self) -> None:
        """One heartbeat of each running item."""
        self._db.execute(
            "update treadle.work_items set updated_at = clock_timestamp(),"
            " lease_until = clock_timestamp() + interval '60 s',"
            " progress_done = least(coalesce(progress_total, 1000000), progress_done + 8 + floor(random() * 9)::int)"
            " where status = 'running' and finished_at is null and progress_done is not null"
        )
        self._db.execute(
            "update treadle.workers set seen_at = clock_timestamp() where claimed_by <> %s", [SHED]
        )

    def enqueue(self, count: int) -> None:
        """New requests."""
        for _ in range(count):
            self.item("thumbnail", timedelta(0), requested_by="ada")

    def item(self, kind: str, ago: timedelta, *, name: str | None = None, **columns: Any) -> UUID:
        """One row; *ago* is when it was requested."""
        requested = self._now - ago if ago else datetime.now(UTC)
        id_ = _id(requested)
        row = {"id": id_, "kind": kind, "requested_at": requested, "updated_at": requested, **columns}
        if "result" in row:
            row["result"] = json.dumps(row["result"])
        names = ", ".join(row)
        values = ", ".join(f"%({column})s" for column in row)
        self._db.execute(f"insert into treadle.work_items ({names}) values ({values})", row)
        if name:
            self.named[name] = id_
        return id_

    def event(self, id_: UUID, attempt: int, event: str, ago: timedelta, detail: str | None) -> None:
        self._db.execute(
            "insert into treadle.item_events (item_id, attempt, event, at, detail) values (%s, %s, %s, %s, %s)",
            [id_, attempt, event, self._now - ago, detail],
        )

    def _finished(self, ago: timedelta) -> None:
        kind, scope = _RANDOM.choice(KINDS), _RANDOM.choice([*SCOPES, None])
        took = timedelta(seconds=_RANDOM.expovariate(1 / 40))
        done = _RANDOM.randrange(10, 4000)
        columns: dict[str, Any] = {
            "scope_id": scope,
            "requested_by": None
            if kind in {"purge-tokens", "retention"}
            else _RANDOM.choice(["ada", "grace"]),
            "attempt": 1,
            "claimed_by": _RANDOM.choice([LOFT, STUDY]),
            "started_at": self._now - ago + timedelta(seconds=1.3),
            "finished_at": self._now - ago + timedelta(seconds=1.3) + took,
            "progress_done": done,
            "progress_total": done,
            "status": "succeeded",
            "result": {"processed": done, "skipped": _RANDOM.randrange(90), "failed": 0},
        }
        if _RANDOM.random() < 0.02:
            columns |= {
                "status": "failed",
                "result": None,
                "error": "the root of this storage config is not mounted here",
            }
            columns.pop("result")
        self.item(kind, ago, **columns)

    def _noteworthy(self) -> None:
        self._ended()
        self._running()
        self.item("retention", timedelta(seconds=50), name="soon")
        for n in range(4):
            self.item(
                "thumbnail",
                timedelta(seconds=46 - 9 * n),
                requested_by="ada",
                scope_id=SCOPES[0],
                name="queued",
            )
        self.item("transcode", timedelta(seconds=12), requested_by="grace", name="unknown")

    def _running(self) -> None:
        minute = timedelta(minutes=1)
        common = {"status": "running", "lease_until": self._now + minute, "attempt": 1}
        crawl = self.item(
            "crawl",
            9 * minute,
            name="crawl",
            requested_by="ada",
            scope_id=SCOPES[0],
            claimed_by=LOFT,
            started_at=self._now - 3 * minute,
            progress_done=2310,
            progress_total=8264,
            stalls=1,
            progress_note="8264 found, 3 failed",
            **{**common, "attempt": 2},
        )
        self.event(crawl, 1, "stalled", 3.5 * minute, SHED)
        self.event(crawl, 1, "refused", 2.4 * minute, SHED)
        self.item(
            "face-index",
            4 * minute,
            requested_by="grace",
            scope_id=SCOPES[1],
            claimed_by=STUDY,
            name="unknown total",
            started_at=self._now - 3.7 * minute,
            progress_done=1204,
            progress_note="walking; 1204 so far",
            **common,
        )
        export = self.item(
            "export-album",
            6 * minute,
            requested_by="ada",
            claimed_by=STUDY,
            started_at=self._now - 5.9 * minute,
            progress_done=412,
            progress_total=1900,
            cancel_requested_at=self._now - timedelta(seconds=9),
            name="cancelling",
            **common,
        )
        self.event(export, 1, "cancel_delivered", timedelta(seconds=7.6), STUDY)

    def _ended(self) -> None:
        minute = timedelta(minutes=1)
        self.item(
            "crawl",
            26 * minute,
            name="failed",
            requested_by="grace",
            scope_id=SCOPES[1],
            attempt=1,
            status="failed",
            claimed_by=SHED,
            started_at=self._now - 25.8 * minute,
            finished_at=self._now - 25 * minute,
            progress_done=118,
            progress_total=2044,
            progress_note="2044 found, 118 looked at",
            error="OSError: [Errno 5] Input/output error while reading asset 019a3f12-77aa; "
            "118 of 2044 files were looked at",
        )
        partial = self.item(
            "face-index",
            18 * minute,
            name="partial",
            requested_by="ada",
            scope_id=SCOPES[0],
            attempt=1,
            status="cancelled",
            claimed_by=LOFT,
            started_at=self._now - 17.9 * minute,
            finished_at=self._now - 12 * minute,
            cancel_requested_at=self._now - 12.2 * minute,
            progress_done=5210,
            progress_total=8264,
            result={
                "indexed": 5210,
                "faces": 12877,
                "last_hash": 17293822569102704641,
                "models": {"detector": "v4", "embedder": "v2"},
                "skipped": [{"reason": "too small", "count": 71}, {"reason": "no decoder", "count": 4}],
            },
        )
        self.event(partial, 1, "cancel_delivered", 12.17 * minute, LOFT)
        self.item(
            "thumbnail",
            11 * minute,
            requested_by="ada",
            status="cancelled",
            finished_at=self._now - 10 * minute,
            cancel_requested_at=self._now - 10 * minute,
            name="never ran",
        )

    def _workers(self) -> None:
        running = self._db.execute(
            "select claimed_by, array_agg(id) from treadle.work_items where status = 'running' group by claimed_by"
        ).fetchall()
        held: dict[str, list[UUID]] = dict(running)
        for name, seen, scopes in ((LOFT, 1, [SCOPES[0]]), (STUDY, 2, None), (SHED, 200, [SCOPES[1]])):
            self._db.execute(
                "insert into treadle.workers values (%s, %s, %s, %s, %s, %s)",
                [
                    name,
                    KINDS,
                    scopes,
                    held.get(name, []),
                    self._now - timedelta(hours=31),
                    self._now - timedelta(seconds=seen),
                ],
            )


def _id(moment: datetime) -> UUID:
    """A version 7 uuid of that moment."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(
        int=(milliseconds << 80)
        | (0x7 << 76)
        | (_RANDOM.getrandbits(12) << 64)
        | (0b10 << 62)
        | _RANDOM.getrandbits(62)
    )
