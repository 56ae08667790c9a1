"""The rows of `next.json` and `reject.json`, each with a source or an agreement of independent programs."""

import json
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class NextRow(NamedTuple):
    expression: str
    zone: str
    start: datetime
    runs: list[datetime]
    remark: str

    def __str__(self) -> str:
        return f"{self.expression} {self.zone} {self.start:%Y-%m-%d %H:%M}"


class RejectRow(NamedTuple):
    expression: str
    reason: str


NEXT = [
    NextRow(
        row["expr"],
        row["tz"],
        datetime.fromisoformat(row["start"]),
        [datetime.fromisoformat(run) for run in row["next"]],
        row["note"],
    )
    for row in json.loads((HERE / "next.json").read_text("utf-8"))
]
REJECT = [RejectRow(row["expr"], row["why"]) for row in json.loads((HERE / "reject.json").read_text("utf-8"))]
