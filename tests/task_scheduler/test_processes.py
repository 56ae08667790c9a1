"""What becomes of the scheduler in processes: one that ends, one that is stopped by a signal, one that forks."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SECONDS = 30


def python(program: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


def test_five_lines_run_a_task_each_second_and_stop_at_once() -> None:
    program = """
import time; from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler = TaskScheduler()
scheduler.register(PeriodicTask("tick", lambda: print(time.monotonic(), flush=True), interval_seconds=1))
print(time.monotonic()); scheduler.start(); time.sleep(3.5)
began = time.monotonic(); print(scheduler.stop(), time.monotonic() - began)
"""
    with python(program) as process:
        began, *ticks, stopped = process.communicate(timeout=SECONDS)[0].splitlines()
    since = [float(tick) - float(began) for tick in ticks]
    assert len(since) == 3
    assert all(at >= second for second, at in enumerate(since, start=1))
    ended, took = stopped.split()
    assert ended == "True"
    assert float(took) < 0.1
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_handler_may_stop_it(number: signal.Signals) -> None:
    program = f"""
import signal, threading; from treadle.task_scheduler import PeriodicTask, TaskScheduler
scheduler, done = TaskScheduler(), threading.Event()
def stop(*_):
    print("stopped", scheduler.stop()); done.set()
signal.signal({number.value}, stop)
scheduler.register(PeriodicTask("tick", lambda: print("tick", flush=True), 0.05))
scheduler.start()
while not done.wait(0.01):
    scheduler.states()  # so that the signal may come while this thread holds the lock
"""
    with python(program) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "tick\n"
        process.send_signal(number)
        rest = process.communicate(timeout=SECONDS)[0]
    assert rest.splitlines()[-1] == "stopped True"
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


def test_a_handler_that_forks_leaves_no_second_scheduler_behind() -> None:
    program = (
        FORK
        + """
parent, forked = os.getpid(), threading.Event()
def fork():
    if not forked.is_set():
        forked.set()
        if (child := os.fork()):
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # the child ends by itself
def tick():
    if os.getpid() != parent:
        print("a second scheduler", flush=True)
scheduler.register(PeriodicTask("fork", fork, 0.02))
scheduler.register(PeriodicTask("told", tick, 0.01))
assert forked.wait(20)
print(scheduler.stop(20))
"""
    )
    with python(program) as process:
        assert process.communicate(timeout=SECONDS)[0] == "0\nTrue\n"
