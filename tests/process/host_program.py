"""Real processes of a host's command line."""

import os
import signal
import socket
import subprocess
import sys
import threading
from typing import ClassVar


class HostProgram:
    """A command that runs, with its lines so far."""

    module: ClassVar[str]
    """What is run."""
    variables: ClassVar[tuple[str, ...]]
    """How the names of its settings begin."""

    def __init__(self, *arguments: object, **settings: object) -> None:
        """`settings` are the environment, which has no others of the host's."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(self.variables)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", self.module, *map(str, arguments)],
            env=kept | {name: str(value) for name, value in settings.items()} | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def line_with(self, text: str, *, seconds: float = 60) -> str:
        """The first line that has `text` in it, once there is one."""

        def found() -> str | None:
            return next((line.rstrip("\n") for line in self.lines if text in line), None)

        with self._changed:
            self._changed.wait_for(lambda: found() is not None or self._ended, seconds)
            line = found()
        assert line is not None, f"no line with {text!r} came:\n{self.output}"
        return line

    def stop(self, number: signal.Signals = signal.SIGTERM, *, seconds: float = 45) -> int:
        """Send a signal and wait for the end; the exit code."""
        self.process.send_signal(number)
        return self.end(seconds=seconds)

    def end(self, *, seconds: float = 45) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code

    def kill(self) -> None:
        """Make sure that it is gone, for the end of a test."""
        self.process.kill()
        self.process.wait()
        self._reader.join(10)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                with self._changed:
                    self.lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
