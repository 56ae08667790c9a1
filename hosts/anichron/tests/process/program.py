"""Real `anichron` processes, and what a test waits for in the database."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import LiteralString

import psycopg

_OURS = ("WORKER__", "API__", "POSTGRES_CONNECTION__", "DATABASE_URL")


class Program:
    """An `anichron` command that runs, with its lines so far."""

    def __init__(self, *arguments: object, **settings: object) -> None:
        """`settings` are the environment, which has no others of Anichron's."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "anichron", *map(str, arguments)],
            env=kept | {name: str(value) for name, value in settings.items()} | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def line_with(self, text: str, *, seconds: float = 60) -> str:
        """The first line that has `text` in it, once there is one."""

        def found() -> str | None:
            return next((line.rstrip("\n") for line in self.lines if text in line), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None or self._ended, seconds)
            line = found()
        assert line is not None, f"no line with {text!r} came:\n{self.output}"
        return line

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.end()

    def end(self, *, seconds: float = 45) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code

    def kill(self) -> None:
        """Make sure that it is gone, for the end of a test."""
        self.process.kill()
        self.process.wait()
        self._reader.join(10)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                with self._changed:
                    self.lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
