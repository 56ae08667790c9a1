"""What a worker becomes (``exec``) when a handler would not stop: a program that only releases its items.

Every thread of the old program has ended at that moment, so nothing of the handler runs on after the
release. It is run by its path and imports as little as possible: it must be done within a second.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import tuple_row

TRIES = 4
MILLISECONDS = "400"


def main() -> int:
    """Release what the environment names; 1 when something could not be released."""
    will = json.loads(os.environ.pop("TREADLE_LAST_WILL"))
    with psycopg.connect(will["conninfo"], autocommit=True, connect_timeout=2, row_factory=tuple_row) as connection:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # whatever the server's default is
        return 0 if all([_release(connection, held) for held in will["held"]]) else 1


def _release(connection: psycopg.Connection[Any], held: dict[str, object]) -> bool:
    values = {**held, "now": None, "expired": False, "stall": 0}
    for _ in range(TRIES):
        try:
            _run(connection, "release", values)
        except psycopg.errors.UniqueViolation:
            if _run(connection, "merge_into_twin", values) is None:
                continue
        except psycopg.Error as error:
            print(f"item {held['id']} was not released: {error}", file=sys.stderr)  # noqa: T201 - no logging set up here
            return False
        return True
    return False


def _run(connection: psycopg.Connection[Any], name: str, values: dict[str, object]) -> object:
    text = (Path(__file__).parent / "sql" / f"{name}.sql").read_text("utf-8")
    with connection.transaction():
        connection.execute("select set_config('lock_timeout', %s, true)", [MILLISECONDS])
        return connection.execute(text, values).fetchone()


if __name__ == "__main__":
    sys.exit(main())
