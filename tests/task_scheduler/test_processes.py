"""What becomes of the scheduler in processes: one that ends, one that is stopped by a signal, one that forks."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SECONDS = 30


def python(program: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        program,
    ]  # forks beside threads are the point
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_five_lines_run_a_task_each_second_and_stop_at_once() -> None:
    program = """
import sys, time; from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler = TaskScheduler()
scheduler.register(PeriodicTask("tick", lambda: print(time.monotonic(), flush=True), interval_seconds=1))
print(time.monotonic(), flush=True); scheduler.start()
for line in sys.stdin:
    time.sleep(0.3)  # into the wait between two ticks
    began = time.monotonic(); print(scheduler.stop(), time.monotonic() - began, flush=True); scheduler.start()
"""
    with python(program) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        began, *ticks = [float(process.stdout.readline()) for _ in range(4)]
        took: list[float] = []
        for _ in range(3):  # each right after a tick, with a second to the next one
            process.stdin.write("stop\n")
            process.stdin.flush()
            stopped, seconds = process.stdout.readline().split()
            assert stopped == "True"
            took.append(float(seconds))
            float(process.stdout.readline())
        process.communicate(timeout=SECONDS)
    assert all(tick - began >= second for second, tick in enumerate(ticks, start=1))
    assert sorted(took)[1] < 0.1  # one may have waited for the machine
    assert process.returncode == 0


def test_a_process_that_ends_is_not_held_by_the_thread() -> None:
    program = """
from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler = TaskScheduler()
scheduler.register(PeriodicTask("hourly", print, 3600))
scheduler.start()
print(scheduler.running)
"""
    with python(program) as process:
        assert process.communicate(timeout=SECONDS)[0] == "True\n"
    assert process.returncode == 0


def test_a_signal_handler_may_stop_it_while_it_interrupts_who_holds_the_lock() -> None:
    program = """
import signal, threading; from treadle.task_scheduler import Clock, PeriodicTask, TaskScheduler
class Interrupting(Clock):
    def wall(self):
        if ran.is_set() and threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGTERM)
        return super().wall()
signal.signal(signal.SIGTERM, lambda *_: print("stopped", ran.clear() or scheduler.stop()))
ran, scheduler = threading.Event(), TaskScheduler(clock=Interrupting())
scheduler.register(PeriodicTask("tick", ran.set, 0.01))
scheduler.start()
ran.wait()
scheduler.states()  # reads the clock
print(scheduler.running)
"""
    with python(program) as process:
        assert process.communicate(timeout=SECONDS)[0] == "stopped True\nFalse\n"
    assert process.returncode == 0


FORK = """
import os, sys, threading, time; from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler, ran = TaskScheduler(), threading.Event()
scheduler.register(PeriodicTask("tick", ran.set, 0.02))
scheduler.start()
assert ran.wait(20)
"""


def test_the_child_of_a_fork_has_no_running_scheduler_and_may_start_it() -> None:
    program = (
        FORK
        + """
scheduler._changed.acquire()  # as if the fork came while another thread had the lock
child = os.fork()
if child == 0:
    answer = [scheduler.running, scheduler.states()[0].next_run_at, scheduler.stop()]
    ran.clear(); scheduler.start()
    answer += [ran.wait(20), scheduler.running, scheduler.stop()]
    print(answer, flush=True)
    os._exit(0)
scheduler._changed.release()
_, status = os.waitpid(child, 0)
ran.clear()
print(os.waitstatus_to_exitcode(status), ran.wait(20), scheduler.running)
"""
    )
    with python(program) as process:
        child, parent = process.communicate(timeout=SECONDS)[0].splitlines()
    assert child == "[False, None, True, True, True, True]"
    assert parent == "0 True True"


def test_the_child_that_a_handler_forks_ends_behind_it_whoever_held_the_lock() -> None:
    program = """
import os, threading; from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler, begun, held, forked = TaskScheduler(), *(threading.Event() for _ in range(3))
def fork():
    begun.set(); held.wait()
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        forked.set()
    else:
        print(scheduler.running, scheduler.states()[0].running_since, flush=True)
scheduler.register(PeriodicTask("fork", fork, 0.01))
scheduler.start()
begun.wait()
with scheduler._changed:
    held.set(); forked.wait()
print(scheduler.stop(20))
"""
    with python(program) as process:
        assert process.communicate(timeout=SECONDS)[0].splitlines()[:2] == ["False None", "0"]
    assert process.returncode == 0


def test_the_many_threads_of_a_child_agree_on_its_lock() -> None:
    program = (
        FORK
        + """
scheduler._changed.acquire()
if (child := os.fork()) == 0:
    threads = [threading.Thread(target=scheduler.start) for _ in range(20)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sum(thread.name == "TaskScheduler" for thread in threading.enumerate()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    )
    with python(program) as process:
        assert process.communicate(timeout=SECONDS)[0] == "1\n"
