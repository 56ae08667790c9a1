"""The pool of decoder processes, seen from the process that needs them."""

import asyncio
import logging
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Protocol, Self, TypeVar, cast

from pydantic import ValidationError

from anichron.media.child import Limits, Reply, request
from anichron.media.errors import FileFailed, Reason
from anichron.media.fingerprint import Fingerprint, Stamp
from anichron.media.picture import Picture

logger = logging.getLogger(__name__)

REPLY_LIMIT = 64 << 20
REAP_SECONDS = 5.0

T = TypeVar("T")


class Decoder(Protocol):
    """Reads files. Every failure that is a file's own is a `FileFailed`; cancelling stops the work at once."""

    async def fingerprint(self, path: str) -> Fingerprint: ...

    async def develop(self, path: str, expected: Stamp) -> Picture:
        """Decode the file, which fails as changed unless its stamp is, and stays, the expected one."""
        ...


class ProcessDecoder:
    """A `Decoder` that works in up to `processes` child processes, started on demand and kept for the next file.

    A step that crashes, overruns its limits or is cancelled costs its process, which is killed, and nothing else.
    The processes end with this one, even when it is killed. Leaving the context kills them all.
    """

    def __init__(self, processes: int, limits: Limits | None = None) -> None:
        if processes < 1:
            raise ValueError(f"a decoder needs at least one process, not {processes}")
        self._limits = limits or Limits()
        self._slots = asyncio.Semaphore(processes)
        self._idle: list[Process] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._idle:
            await _end(self._idle.pop())

    async def fingerprint(self, path: str) -> Fingerprint:
        return await self._step(request(path, None), lambda reply: reply.fingerprint)

    async def develop(self, path: str, expected: Stamp) -> Picture:
        return await self._step(request(path, expected), lambda reply: reply.picture)

    async def _step(self, line: bytes, wanted: Callable[[Reply], T | None]) -> T:
        async with self._slots:
            reply = await self._ask(line)
        if reply.failure is not None:
            raise FileFailed(reply.failure.reason, reply.failure.detail)
        answer = wanted(reply)
        if answer is None:
            raise FileFailed(Reason.CRASHED, "the decoder answered something else")
        return answer

    async def _ask(self, line: bytes) -> Reply:
        child = await self._free()
        try:
            async with asyncio.timeout(self._limits.seconds):
                reply = await _exchange(child, line)
        except TimeoutError:
            await _end(child)
            raise FileFailed(Reason.TIMED_OUT, f"not done within {self._limits.seconds:g} s") from None
        except BaseException:
            await _end(child)
            raise
        self._idle.append(child)
        return reply

    async def _free(self) -> Process:
        while self._idle:
            child = self._idle.pop()
            if child.returncode is None:
                return child
            await _end(child)  # it died while it had nothing to do
        return await self._start()

    async def _start(self) -> Process:
        # -P: a file in the current folder must not pass for a module. A session of its own: Ctrl-C is not for it.
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-m", "anichron.media.child", self._limits.model_dump_json()),
            stdin=PIPE,
            stdout=PIPE,
            limit=REPLY_LIMIT,
            start_new_session=True,
        )


async def _exchange(child: Process, line: bytes) -> Reply:
    questions = cast("StreamWriter", child.stdin)  # both are pipes
    answers = cast("StreamReader", child.stdout)
    try:
        questions.write(line)
        await questions.drain()
        answer = await answers.readline()
        return Reply.model_validate_json(answer)
    except (ConnectionError, ValidationError, ValueError) as error:  # it died, or it babbles
        raise FileFailed(Reason.CRASHED, "the decoder died of it or answered nonsense") from error


async def _end(child: Process) -> None:
    """Kill a child and see it gone; one that the kernel does not let go (a dead network share) is left to it."""
    if child.returncode is None:
        child.kill()
    try:
        async with asyncio.timeout(REAP_SECONDS):
            await child.communicate()
    except TimeoutError:
        logger.warning("Decoder process %s does not end; it hangs in the system", child.pid)
