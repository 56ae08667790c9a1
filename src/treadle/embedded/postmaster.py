"""What a data folder's `postmaster.pid` says, and whether it is still true."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treadle.embedded.errors import EmbeddedError


@dataclass(frozen=True)
class Postmaster:
    """The server that wrote the file; a crash or a power cut leaves the file behind."""

    pid: int
    started: str
    status: str

    @classmethod
    def of(cls, data: Path) -> Self | None:
        try:
            lines = (data / "postmaster.pid").read_text().splitlines() + [
                ""
            ] * 8  # it is written line by line
            return cls(int(lines[0]), lines[2], lines[7].strip())
        except (FileNotFoundError, ValueError):
            return None

    def serves(self, data: Path) -> bool:
        """Whether the process of that number is a server of `data`, and not one that got the number since."""
        if Path("/proc/self/cwd").exists():
            try:
                return Path(f"/proc/{self.pid}/cwd").samefile(data)
            except OSError:
                return False
        command = ["ps", "-o", "command=", "-p", str(self.pid)]
        return str(data) in subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def stop(self, data: Path, seconds: float = 20.0) -> None:
        """Shut a server down whose keeper is gone, or raise EmbeddedError when that takes longer than `seconds`."""
        os.kill(self.pid, signal.SIGINT)
        deadline = time.monotonic() + seconds
        while self.serves(data):
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"a server left behind, process {self.pid}, does not stop: end it by hand"
                )
            time.sleep(0.02)
