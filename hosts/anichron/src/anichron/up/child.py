"""One process of the system: started, restarted when it dies, its lines passed on, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from treadle.errors import TreadleError

_SHORT_LIFE_SECONDS: Final = 3.0
_SHORT_LIVES: Final = 3
_PAUSE_SECONDS: Final = 0.5


class ChildFailed(TreadleError):
    """A process does not start, or refuses to run."""


class Child:
    """A process that runs ``anichron`` with some arguments for as long as ours lives.

    It holds our end of its standard input, so that it ends when we are gone, and has a process group of its
    own, so that Ctrl-C reaches us alone and we stop it in order.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "anichron", *arguments, "--until-stdin-closes"]
        self._environment = dict(environment)
        self._say = say
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()
        self._gone = asyncio.Event()
        self._gone.set()

    async def run(self) -> None:
        """Keep the process running until ``stop``; killed or crashed, it is started again.

        Raises ``ChildFailed`` when it refuses to run, or dies within seconds of its start several times on end.
        """
        short_lives = 0
        while not self._stopping.is_set():
            born = time.monotonic()
            code = await self._live()
            if self._stopping.is_set():
                return
            short_lives = short_lives + 1 if time.monotonic() - born < _SHORT_LIFE_SECONDS else 0
            how = (
                f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            )
            if code in (1, 2) or short_lives >= _SHORT_LIVES:
                raise ChildFailed(
                    f"the {self.name} {how}; its own lines above say why. All of it was stopped"
                )
            self._say(f"the {self.name} {how}; it is started again")
            await asyncio.sleep(_PAUSE_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal, if it lives."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)

    async def stop(self, *, seconds: float) -> None:
        """Ask the process to end and wait for it; after *seconds* it is killed."""
        self._stopping.set()
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await self._gone.wait()
        except TimeoutError:
            self._say(f"the {self.name} did not end in {seconds:g} s and was killed")
            self.signal(signal.SIGKILL)
            await self._gone.wait()

    async def _live(self) -> int:
        self._gone.clear()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._environment | {"PYTHONUNBUFFERED": "1"},
                process_group=0,
            )
            if self._stopping.is_set():  # while it was being born
                self.signal(signal.SIGTERM)
            output = cast("asyncio.StreamReader", self._process.stdout)  # it is a pipe
            relay = asyncio.create_task(self._relay(output))
            code = await self._process.wait()
            # A process it left behind may hold the pipe open for ever.
            await asyncio.wait([relay], timeout=1)
            relay.cancel()
            return code
        finally:
            self._gone.set()

    async def _relay(self, output: asyncio.StreamReader) -> None:
        rest = b""
        while chunk := await output.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._say(f"{self.name} | {os.fsdecode(line).encode('utf-8', 'replace').decode()}")
