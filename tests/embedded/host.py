"""Another process that has a server, as a host application does."""

import subprocess
import sys
from pathlib import Path

# Starts a server, says its address, and then does what its standard input says.
HOST = """
import signal, sys
from treadle.embedded import EmbeddedError, EmbeddedPostgres

signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
server = EmbeddedPostgres(sys.argv[1], fsync=False)
try:
    server.start()
except EmbeddedError as error:
    sys.exit(str(error))
print(server.dsn, flush=True)
sys.stdin.read()
server.stop()
"""


class Host:
    """A process that has a server, as a host application does."""

    def __init__(self, folder: Path, before: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", HOST, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        """Its next line; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def end(self) -> tuple[int, str]:
        """Let it stop its server and end: its exit code and what it complained of."""
        _, complaint = self.process.communicate(timeout=40)
        return self.process.returncode, complaint
