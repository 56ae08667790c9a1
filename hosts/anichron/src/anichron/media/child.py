"""A process that decodes one file at a time, so that a file that breaks the decoder breaks nothing else.

`python -m anichron.media.child LIMITS` reads a JSON line for each step on its standard input and answers with one on
its standard output. Its input ends when its parent does, by whatever death, and it ends with it at once.
"""

import json
import os
import queue
import resource
import signal
import sys
import threading
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from anichron.media.errors import FileFailed, Reason
from anichron.media.fingerprint import Fingerprint, Stamp, fingerprint, steady
from anichron.media.picture import Picture, develop


class Limits(BaseModel):
    """What one step on one file may cost before the file fails."""

    model_config = ConfigDict(frozen=True)

    seconds: float = 120
    """Time on the clock. Processor time is limited to the same for each core, by the kernel."""
    memory_bytes: int = 2 << 30
    """Address space of one process, where the system enforces it (Linux does, macOS does not)."""
    pixels: int = 256_000_000


class Failure(BaseModel):
    model_config = ConfigDict(frozen=True)

    reason: Reason
    detail: str


class Reply(BaseModel):
    """The answer to a step: exactly one of the three."""

    model_config = ConfigDict(frozen=True)

    fingerprint: Fingerprint | None = None
    picture: Picture | None = None
    failure: Failure | None = None


def request(path: str, expected: Stamp | None) -> bytes:
    """The line that asks for a fingerprint, or, given the stamp it came with, for the picture."""
    # Plain json, because it carries the surrogates that stand for bytes which are no UTF-8.
    return json.dumps([path, expected and [expected.size, expected.mtime_ns]]).encode() + b"\n"


def main() -> None:
    limits = Limits.model_validate_json(sys.argv[1])
    # A signal to the whole process group, as Ctrl-C is, is the parent's to handle; it ends this one when it wants.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.nice(5)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not pass for an answer
    _limit(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":  # macOS has the limit, enforces nothing, and refuses some values
        _limit(resource.RLIMIT_AS, limits.memory_bytes)
    steps: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, steps), daemon=True).start()
    while True:
        path, expected = json.loads(steps.get())
        _limit_processor_time(limits.seconds)
        reply = answer(path, expected and Stamp(size=expected[0], mtime_ns=expected[1]), limits)
        output.write(reply.model_dump_json(exclude_none=True).encode() + b"\n")
        output.flush()


def _listen(source: BinaryIO, steps: "queue.SimpleQueue[bytes]") -> None:
    for line in source:
        steps.put(line)
    os._exit(0)  # in the middle of a step too: there is nobody left to want its outcome


def _limit_processor_time(seconds: float) -> None:
    """Have the kernel end this process if a step spins, even where it would hear nothing of its parent's death."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    allowed = usage.ru_utime + usage.ru_stime + seconds * (os.cpu_count() or 1)
    _limit(resource.RLIMIT_CPU, int(allowed) + 2)


def _limit(kind: int, amount: int) -> None:
    """Lower a limit of this process, or raise it again as far as the operator's own allows."""
    _, most = resource.getrlimit(kind)
    resource.setrlimit(kind, (amount if most == resource.RLIM_INFINITY else min(amount, most), most))


def answer(path: str, expected: Stamp | None, limits: Limits) -> Reply:
    """Take the step that `request` asks for; raises nothing that a file can cause."""
    try:
        with steady(path, expected) as (file, stamp):
            if expected is None:
                reply = Reply(fingerprint=fingerprint(file, stamp))
            else:
                reply = Reply(picture=develop(file, max_pixels=limits.pixels))
    except FileFailed as failed:
        return Reply(failure=Failure(reason=failed.reason, detail=failed.detail))
    except MemoryError:
        return Reply(failure=Failure(reason=Reason.OUT_OF_MEMORY, detail=f"over {limits.memory_bytes} bytes"))
    except Exception as error:  # noqa: BLE001 - decoders raise anything on damaged content, and that is its meaning
        return Reply(failure=Failure(reason=Reason.UNDECODABLE, detail=_described(error)))
    return reply


def _described(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    return text.encode("utf-8", "backslashreplace").decode()[:500]


if __name__ == "__main__":
    main()
