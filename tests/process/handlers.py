"""How the kinds are carried out. Long ones leave an effect with every step, so that what runs when can be seen."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass
from typing import Any, Final

from pydantic import BaseModel, model_serializer

from tests.process.effects import Effects
from tests.process.kinds import (
    Await,
    Block,
    Chatty,
    Die,
    Greedy,
    Odd,
    Parent,
    Poll,
    Pulse,
    Quick,
    Remains,
    Sleep,
    Spin,
    Timed,
    Visit,
)
from treadle import Handler, Run
from treadle.domain.payload import P

C_CALL: Final = ctypes.PyDLL(None).usleep
"""Of the C library, called in a way that keeps the interpreter's lock."""


class Leaving(Handler[P]):
    """A handler that leaves effects."""

    def __init__(self, effects: Effects) -> None:
        self._effects = effects

    def _steps(self, payload: Timed, run: Run) -> Iterator[None]:
        """One turn per step; leaves an effect at the begin, at every step and at the end.

        Steps count, not the time: a process that was frozen goes on where it was.
        """
        self._effects.leave(run, "begin")
        seconds = payload.seconds if run.attempt == 1 or payload.again is None else payload.again
        for number in range(1, round(seconds / payload.step) + 1):
            run.progress(done=number)
            self._effects.leave(run, "step")
            yield
        self._effects.leave(run, "end")


class QuickHandler(Leaving[Quick]):
    async def run(self, payload: Quick, run: Run) -> None:
        self._effects.leave(run, "end")


class AwaitHandler(Leaving[Await]):
    async def run(self, payload: Await, run: Run) -> None:
        try:
            for _ in self._steps(payload, run):
                await asyncio.sleep(payload.step)
        except asyncio.CancelledError:
            self._effects.leave(run, f"told {run.stop_reason}")
            raise


class PollHandler(Leaving[Poll]):
    def run(self, payload: Poll, run: Run) -> object:
        for _ in self._steps(payload, run):
            if run.wait(payload.step):
                self._effects.leave(run, f"told {run.stop_reason}")
                return run.partial("so far")
        return None


class SpinHandler(Leaving[Spin]):
    def run(self, payload: Spin, run: Run) -> None:
        for _ in self._steps(payload, run):
            turn_over = time.monotonic() + payload.step
            while time.monotonic() < turn_over:
                pass


class BlockHandler(Leaving[Block]):
    async def run(self, payload: Block, run: Run) -> None:
        for _ in self._steps(payload, run):
            time.sleep(payload.step)  # noqa: ASYNC251 - what it is for


class SleepHandler(Leaving[Sleep]):
    def run(self, payload: Sleep, run: Run) -> None:
        for _ in self._steps(payload, run):
            time.sleep(payload.step)


class GreedyHandler(Leaving[Greedy]):
    def run(self, payload: Greedy, run: Run) -> None:
        self._effects.leave(run, "begin")
        if run.attempt == 1:
            C_CALL(int(payload.seconds * 1_000_000))
        self._effects.leave(run, "end")


class DieHandler(Leaving[Die]):
    def run(self, payload: Die, run: Run) -> None:
        self._effects.leave(run, "begin")
        if payload.killed:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(3)


class ParentHandler(Leaving[Parent]):
    def run(self, payload: Parent, run: Run) -> None:
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(command, start_new_session=True)
        self._effects.leave(run, f"child {child.pid}")
        for _ in self._steps(payload, run):
            time.sleep(payload.step)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class OddHandler(Leaving[Odd]):
    def run(self, payload: Odd, run: Run) -> object:
        match payload.case.split():
            case ["return", what]:
                return VALUES[what]
            case ["raise", "unspeakable"]:
                raise Unspeakable
            case ["raise", what]:
                raise ValueError(VALUES[what])
            case ["note", what]:
                run.progress(note=str(VALUES[what]))
                return None
        raise AssertionError(payload.case)


class SlowWords(Exception):
    def __init__(self, slow: Callable[[], None]) -> None:
        self._slow = slow

    def __str__(self) -> str:
        self._slow()
        return "slow words"


class SlowToSerialize(BaseModel):
    _slow: Callable[[], None]

    @model_serializer
    def serialize(self) -> str:
        self._slow()
        return "serialized"


@dataclass
class SlowToGo:
    slow: InitVar[Callable[[], None]]

    def __post_init__(self, slow: Callable[[], None]) -> None:
        self._slow = slow

    def __del__(self) -> None:
        self._slow()


class RemainsHandler(Leaving[Remains]):
    def run(self, payload: Remains, run: Run) -> object:
        until = time.monotonic() + payload.seconds

        def slow() -> None:
            self._effects.leave(run, "asked")
            time.sleep(max(0.0, until - time.monotonic()))

        match payload.case:
            case "words":
                raise SlowWords(slow)
            case "serializer":
                value = SlowToSerialize()
                value._slow = slow
                return value
            case "destructor":
                return SlowToGo(slow)
            case "numbers":
                return [number / 7 for number in range(4_000_000)]
        raise AssertionError(payload.case)


VALUES: Final[dict[str, Any]] = {
    "nul": "a\x00b",
    "surrogate": "a\ud800b",
    "nan": float("nan"),
    "huge": "x" * 50_000_000,
    "object": object(),
}


class ChattyHandler(Leaving[Chatty]):
    def run(self, payload: Chatty, run: Run) -> None:
        until = time.monotonic() + payload.seconds
        for number in itertools.count(1):
            if time.monotonic() >= until:
                break
            run.progress(done=number, note=f"report {number}")
            time.sleep(0.001)
        self._effects.leave(run, f"reports {number}")


class PulseHandler(Leaving[Pulse]):
    async def run(self, payload: Pulse, run: Run) -> None:
        self._effects.leave(run, "end")


class VisitHandler(Leaving[Visit]):
    async def run(self, payload: Visit, run: Run) -> None:
        self._effects.leave(run, "end")


def all_handlers(effects: Effects) -> list[Handler[Any]]:
    """One for each kind."""
    types: list[type[Leaving[Any]]] = [
        QuickHandler,
        AwaitHandler,
        PollHandler,
        SpinHandler,
        BlockHandler,
        SleepHandler,
        GreedyHandler,
        DieHandler,
        ParentHandler,
        OddHandler,
        RemainsHandler,
        ChattyHandler,
        PulseHandler,
        VisitHandler,
    ]
    return [handler(effects) for handler in types]
