"""Run one PostgreSQL server for exactly as long as the process at the other end of standard input lives.

A script on its own, so that it starts fast: it imports the standard library only.
"""

import os
import signal
import subprocess
import sys
import threading

# How long each kind of shutdown may take before a harder one: fast, immediate, kill.
BOUNDS = {signal.SIGINT: 20.0, signal.SIGQUIT: 5.0, signal.SIGKILL: 5.0}


def main(lock: int, identity: str, command: list[str]) -> None:
    """`lock` is the descriptor that holds the folder; `identity` is "uid:gid:group,group" or empty."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A service manager signals the whole group; when to stop is the parent's decision alone.
        # A handler, not SIG_IGN: that would be passed on to the server.
        signal.signal(number, lambda *_: None)
    uid, gid, groups = _identity(identity)
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, cwd="/", user=uid, group=gid, extra_groups=groups
    )
    ended = threading.Thread(target=lambda: os._exit(abs(server.wait())))
    ended.start()
    word = os.read(0, 1)  # empty when the parent is gone, however it went
    os.write(lock, b" stopping")
    for number, bound in BOUNDS.items():
        if word == b"i" and number == signal.SIGINT:
            continue
        server.send_signal(number)
        ended.join(bound)


def _identity(text: str) -> tuple[int | None, int | None, list[int] | None]:
    if not text:
        return None, None, None
    uid, gid, groups = text.split(":")
    return int(uid), int(gid), [int(group) for group in groups.split(",") if group]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
