"""Many readers of the live events on one API process: what they cost, and whether each sees every change in time.

Run it with ``python benchmarks/live_clients.py --clients 500 --seconds 30``; it starts a server, the example
application and the readers by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from treadle.embedded import EmbeddedPostgres
from treadle.postgres.migrate import migrate

EXAMPLE = Path(__file__).parents[1] / "examples" / "mini_host"
API = "/api/v1/admin/work-items"
TOKEN = "benchmark"
INTERVAL = 2.0
"""The example's interval, in seconds."""
TICK_HZ = os.sysconf("SC_CLK_TCK")


@dataclass
class Reader:
    """One open stream: when it was told of each item."""

    seen: dict[str, float] = field(default_factory=dict)

    async def read(self, host: str, port: int, ready: asyncio.Event) -> None:
        source, sink = await asyncio.open_connection(host, port)
        sink.write(
            f"GET {API}/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        try:
            async for line in source:
                if line.startswith(b"event: tick"):
                    ready.set()
                elif line.startswith(b'data: {"id":"'):
                    self.seen.setdefault(line[13:49].decode(), time.monotonic())
        finally:
            sink.close()


@contextlib.contextmanager
def serving(dsn: str) -> Iterator[tuple[int, str, int]]:
    """The example application: its process number, host and port."""
    environment = {**os.environ, "DATABASE_URL": dsn, "ADMIN_TOKEN": TOKEN}
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        command = [sys.executable, "-m", "uvicorn", "app:app", "--app-dir", str(EXAMPLE)]
        quiet = ["--fd", str(listener.fileno()), "--log-level", "warning"]
        process = subprocess.Popen([*command, *quiet], env=environment, pass_fds=[listener.fileno()])
        host, port = listener.getsockname()
    try:
        yield process.pid, host, port
    finally:
        process.terminate()
        process.wait(20)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK_HZ


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def write(dsn: str, *, seconds: float, changes: int) -> dict[str, float]:
    """Insert *changes* items per second; when each was committed."""
    committed: dict[str, float] = {}
    end = time.monotonic() + seconds
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        while time.monotonic() < end:
            row = await (
                await connection.execute("insert into treadle.work_items (kind) values ('n') returning id")
            ).fetchone()
            assert row is not None
            committed[str(row[0])] = time.monotonic()
            await asyncio.sleep(1 / changes)
    return committed


async def measure(dsn: str, *, clients: int, seconds: float, changes: int) -> dict[str, float]:
    """Figures by name."""
    with serving(dsn) as (pid, host, port):
        readers = [Reader() for _ in range(clients)]
        await _first(host, port)
        idle = resident_mb(pid)
        gates = [asyncio.Event() for _ in readers]
        reading = [
            asyncio.create_task(reader.read(host, port, gate))
            for reader, gate in zip(readers, gates, strict=True)
        ]
        async with asyncio.timeout(60):
            await asyncio.gather(*(gate.wait() for gate in gates))
        spent, begun = cpu_seconds(pid), time.monotonic()
        committed = await write(dsn, seconds=seconds, changes=changes)
        last = set(committed)
        deadline = time.monotonic() + 3 * INTERVAL
        while time.monotonic() < deadline and any(last - reader.seen.keys() for reader in readers):  # noqa: ASYNC110 - of many
            await asyncio.sleep(0.1)
        cpu = (cpu_seconds(pid) - spent) / (time.monotonic() - begun)
        busy = resident_mb(pid)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    delays = sorted(
        reader.seen[id_] - at for reader in readers for id_, at in committed.items() if id_ in reader.seen
    )
    return {
        "clients": clients,
        "changes": len(committed),
        "missed": clients * len(committed) - len(delays),
        "delay_p50_s": round(delays[len(delays) // 2], 2),
        "delay_max_s": round(delays[-1], 2),
        "cpu_percent": round(100 * cpu, 1),
        "memory_mb": round(busy, 1),
        "kb_per_client": round((busy - idle) * 1000 / clients, 1),
    }


async def _first(host: str, port: int) -> None:
    """Wait until the application answers; the socket is open from the beginning."""
    source, sink = await asyncio.open_connection(host, port)
    sink.write(f"GET {API} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    await source.read()
    sink.close()


def main() -> int:
    """Print the figures as JSON; the status is 1 if a reader missed a change or saw one too late."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--changes", type=int, default=10, help="per second")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="treadle-bench-") as folder:
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder), say=lambda _: None) as server:
            migrate(server.dsn)
            found = asyncio.run(
                measure(server.dsn, clients=given.clients, seconds=given.seconds, changes=given.changes)
            )
    print(json.dumps(found, indent=2))
    return int(found["missed"] > 0 or found["delay_max_s"] > 2 * INTERVAL)


if __name__ == "__main__":
    sys.exit(main())
