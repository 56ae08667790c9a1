"""Real `anichron` processes, and what a test waits for in the database."""

import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import LiteralString

import psycopg

from tests.process.host_program import HostProgram


class Program(HostProgram):
    """An `anichron` command."""

    module = "anichron"
    variables = ("WORKER__", "API__", "POSTGRES_CONNECTION__", "DATABASE_URL")


def rows(
    dsn: str, query: LiteralString, values: Mapping[str, object] | None = None
) -> Sequence[tuple[object, ...]]:
    """What the query answers now."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(query, values).fetchall()


def await_rows(
    dsn: str,
    query: LiteralString,
    expected: Sequence[tuple[object, ...]],
    values: Mapping[str, object] | None = None,
    *,
    seconds: float = 60,
) -> None:
    """Return once the query answers as expected; other processes make it so."""
    deadline = time.monotonic() + seconds
    while (found := rows(dsn, query, values)) != expected:
        assert time.monotonic() < deadline, f"{query} still answers {found}, not {expected}"
        time.sleep(0.1)


def descendants(pid: int) -> set[int]:
    """The processes that have come from this one."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    children: dict[int, list[int]] = {}
    for line in listing.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found: set[int] = set()
    pending = [pid]
    while pending:
        fresh = children.get(pending.pop(), [])
        found.update(fresh)
        pending += fresh
    return found


def await_gone(pids: set[int], *, seconds: float = 30) -> None:
    """Return once none of the processes is left."""
    deadline = time.monotonic() + seconds
    while left := {pid for pid in pids if _lives(pid)}:
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.1)


def _lives(pid: int) -> bool:
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")
