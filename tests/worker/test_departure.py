"""Leaving with a handler that will not stop, as a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRACE = 0.8

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a worker and wait until its handler runs."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(manner: str, grace: float = GRACE) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.worker.departing", str(tmp_path), manner, str(grace)]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        processes.append(process)
        until((tmp_path / "begun").exists)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
    if (tmp_path / "begun").exists():
        with suppress(ProcessLookupError):
            os.kill(child(tmp_path), signal.SIGKILL)


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def begun_item(folder: Path) -> str:
    return (folder / "begun").read_text().split()[0]


def child(folder: Path) -> int:
    return int((folder / "begun").read_text().split()[1])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("manner", ["block", "ignore", "spin"])
def test_the_process_becomes_its_last_will_and_nothing_else_of_it_is_left(
    start: Start, tmp_path: Path, manner: str
) -> None:
    process = start(manner)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    item, pid, threads, tasks = (tmp_path / "will").read_text().split()
    assert item == begun_item(tmp_path)
    assert int(pid) == process.pid
    assert (threads, tasks) == ("1", "1")
    assert not runs(child(tmp_path))
    assert (tmp_path / "hook").exists()
    assert (tmp_path / "told").exists() == (manner == "ignore")


def test_a_second_signal_waits_for_no_handler(start: Start, tmp_path: Path) -> None:
    process = start("ignore", grace=3600)
    process.send_signal(signal.SIGINT)
    until((tmp_path / "told").exists)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert (tmp_path / "will").exists()


@pytest.mark.parametrize("manner", ["stuck-hook", "stuck-will"])
def test_neither_a_hook_nor_a_last_will_that_hangs_keeps_the_process(
    start: Start, tmp_path: Path, manner: str
) -> None:
    process = start(manner)
    process.send_signal(signal.SIGTERM)
    code = process.wait(30)
    assert code == (-signal.SIGALRM if manner == "stuck-will" else 0)
    assert not runs(child(tmp_path))
