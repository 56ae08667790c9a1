"""A worker process whose handlers will not stop; its last will writes down what it saw.

Arguments: the folder for what is written, the manner of the handler, the grace in seconds.
"""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from tests.worker.scripted import AsyncCopy, Copy, PlainCopy, registry
from treadle.domain.item import Lease
from treadle.domain.run import Run
from treadle.memory import MemoryStore
from treadle.memory.leases import MemoryLeases
from treadle.ports.lease import LastWill
from treadle.worker import Worker, WorkerSettings

FOLDER, MANNER, GRACE = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])

WILL = """
import os, sys, threading
folder, item = sys.argv[1:3]
with open(os.path.join(folder, "will"), "w") as out:
    out.write(f"{item} {os.getpid()} {threading.active_count()} {len(os.listdir('/proc/self/task'))}")
"""
STUCK_WILL = "import time; time.sleep(60)"


class WillingLeases(MemoryLeases):
    def last_will(self, leases: Sequence[Lease]) -> LastWill | None:
        program = STUCK_WILL if MANNER == "stuck-will" else WILL
        items = [str(lease.item_id) for lease in leases]
        return LastWill([sys.executable, "-c", program, str(FOLDER), *items], {})


def begin(item_id: UUID) -> None:
    child = subprocess.Popen(["sleep", "60"])
    (FOLDER / "begun.new").write_text(f"{item_id} {child.pid}")
    (FOLDER / "begun.new").rename(FOLDER / "begun")


async def block(payload: Copy, run: Run) -> None:
    begin(run.item_id)
    while True:
        time.sleep(60)  # noqa: ASYNC251 - to block the loop is the point


async def ignore(payload: Copy, run: Run) -> None:
    begin(run.item_id)
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            (FOLDER / "told").touch()


def spin(payload: Copy, run: Run) -> None:
    begin(run.item_id)
    while True:
        (FOLDER / "spinning").write_text(str(time.monotonic()))


def stuck_hook() -> None:
    (FOLDER / "hook").touch()
    if MANNER == "stuck-hook":
        threading.Event().wait()


HANDLERS = {"ignore": AsyncCopy(ignore), "spin": PlainCopy(spin)}


async def main() -> None:
    store = MemoryStore()
    store.leases = WillingLeases(store.table)
    kinds = registry(HANDLERS.get(MANNER, AsyncCopy(block)))
    await store.queue.enqueue(kinds.new_item(Copy()))
    settings = WorkerSettings(heartbeat=0.1, lease=2, poll=0.05, shutdown_grace=GRACE)
    await Worker(store, kinds, settings=settings, on_exit=[stuck_hook]).run()


asyncio.run(main())
