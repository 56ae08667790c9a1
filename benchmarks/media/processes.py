"""Compare ways of decoding in child processes: throughput, what a crash and a cancel cost, and what outlives a kill.

Run it where Anichron and pebble are installed: `python benchmarks/media/processes.py PHOTOS`.
"""

import asyncio
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

import pebble

from anichron.media.child import Limits, Reply, answer
from anichron.media.decoder import ProcessDecoder
from anichron.media.errors import FileFailed

PROCESSES = 2
SPAWN = multiprocessing.get_context("spawn")


def take_in(path: str) -> Reply:
    read = answer(path, None, Limits())
    return answer(path, read.fingerprint.stamp, Limits()) if read.fingerprint else read


def die(_: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(_: str) -> None:
    signal.pause()


def warm(pool: ProcessPoolExecutor | pebble.ProcessPool, path: str) -> None:
    for future in [submit(pool, take_in, path) for _ in range(2 * PROCESSES)]:
        future.result()


def submit(pool: ProcessPoolExecutor | pebble.ProcessPool, function: object, path: str) -> "Future[object]":
    if isinstance(pool, ProcessPoolExecutor):
        return pool.submit(function, path)
    return pool.schedule(function, args=(path,))


def measure_pool(pool: ProcessPoolExecutor | pebble.ProcessPool, paths: list[str]) -> None:
    warm(pool, paths[0])
    start = time.perf_counter()
    for future in [submit(pool, take_in, path) for path in paths]:
        future.result()
    print(f"  {len(paths)} photos in {time.perf_counter() - start:.2f} s")
    hanging = submit(pool, hang, "")
    while not hanging.running():
        time.sleep(0.01)
    start, before = time.perf_counter(), children(os.getpid())
    cancelled = hanging.cancel()
    if cancelled:
        while before <= children(os.getpid()):
            time.sleep(0.001)
    print(
        f"  cancel of a running step: {f'{time.perf_counter() - start:.3f} s' if cancelled else 'impossible'}"
    )
    beside = [submit(pool, take_in, path) for path in paths[:10]]
    submit(pool, die, paths[0])
    beside += [submit(pool, take_in, path) for path in paths[10:20]]
    lost = sum(1 for future in beside if failed(future))
    print(f"  a crash costs, of 20 files beside it: {lost}")


def failed(future: "Future[object]") -> bool:
    try:
        return future.exception(timeout=30) is not None
    except FutureTimeout:
        return True


async def measure_own(paths: list[str]) -> None:
    async with ProcessDecoder(PROCESSES) as decoder:

        async def take(path: str) -> object:
            return await decoder.develop(path, (await decoder.fingerprint(path)).stamp)

        await asyncio.gather(*[take(paths[0]) for _ in range(2 * PROCESSES)])
        start = time.perf_counter()
        await asyncio.gather(*[take(path) for path in paths])
        print(f"  {len(paths)} photos in {time.perf_counter() - start:.2f} s")
        hanging = asyncio.create_task(take("/dev/shm/endless"))
        await asyncio.sleep(0.5)
        start = time.perf_counter()
        hanging.cancel()
        await asyncio.wait([hanging])
        print(f"  cancel of a running step: {time.perf_counter() - start:.3f} s")
        doomed = asyncio.create_task(take("/dev/shm/endless"))
        await asyncio.sleep(1)
        before = children(os.getpid())
        beside = asyncio.gather(*[take(path) for path in paths[:20]], return_exceptions=True)
        for pid in before:
            if reads_endless(pid):
                os.kill(pid, signal.SIGSEGV)
        await asyncio.wait([doomed])
        assert doomed.exception() is not None
        lost = sum(isinstance(outcome, FileFailed) for outcome in await beside)
        print(f"  a crash costs, of 20 files beside it: {lost}")


def reads_endless(pid: int) -> bool:
    return any(str(link.readlink()).endswith("endless") for link in Path(f"/proc/{pid}/fd").iterdir())


def children(pid: int) -> set[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return {int(child) for task in tasks for child in (task / "children").read_text().split()}
    except FileNotFoundError:
        return set()


def survivors(kind: str) -> int:
    """How many processes still live 3 s after their parent was killed in the middle of a step."""
    parent = subprocess.Popen([sys.executable, __file__, "parent", kind], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    parent.stdout.readline()
    time.sleep(5)
    below = children(parent.pid) | {grand for child in children(parent.pid) for grand in children(child)}
    handles = [os.pidfd_open(pid) for pid in below]
    parent.kill()
    parent.wait()
    print(f"    ({len(handles)} processes below it)")
    deadline = time.monotonic() + 3
    left = [h for h in handles if not select.select([h], [], [], max(0, deadline - time.monotonic()))[0]]
    for handle in left:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    return len(left)


def parent(kind: str) -> None:
    if kind == "own":
        asyncio.run(own_parent())
        return
    pool = ProcessPoolExecutor(1, SPAWN) if kind == "futures" else pebble.ProcessPool(1, context=SPAWN)
    future = submit(pool, hang, "")
    print("started", flush=True)
    future.result()


async def own_parent() -> None:
    async with ProcessDecoder(1) as decoder:
        print("started", flush=True)
        await decoder.fingerprint("/dev/shm/endless")


def main() -> None:
    if sys.argv[1] == "parent":
        parent(sys.argv[2])
        return
    paths = sorted(str(path) for path in Path(sys.argv[1]).rglob("*") if path.is_file())
    with Path("/dev/shm/endless").open("wb") as endless:
        endless.truncate(1 << 43)
    try:
        print("concurrent.futures, spawn")
        with ProcessPoolExecutor(PROCESSES, SPAWN) as pool:
            measure_pool(pool, paths)
            for process in list((pool._processes or {}).values()):  # noqa: SLF001 - it has no other way
                process.kill()
        print(f"  outlive a killed parent: {survivors('futures')}")
        print("pebble, spawn")
        with pebble.ProcessPool(PROCESSES, context=SPAWN) as pool:
            measure_pool(pool, paths)
            pool.stop()
        print(f"  outlive a killed parent: {survivors('pebble')}")
        print("anichron.media.decoder")
        asyncio.run(measure_own(paths))
        print(f"  outlive a killed parent: {survivors('own')}")
    finally:
        Path("/dev/shm/endless").unlink()


if __name__ == "__main__":
    main()
