"""What a worker becomes (``exec``) when a handler would not stop: a program that only releases its items.

Every thread of the old program has ended at that moment, so nothing of the handler runs on after the
release. It has to be done within a second, on a slow machine too: it is run by its path, imports next
to nothing and speaks on the connection that it inherits. Importing a driver alone can take that second.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator

VARIABLE = "TREADLE_LAST_WILL"
"""Names the descriptor of a file that says what to do: a variable holds no more than 128 KiB itself."""
SOCKET_VARIABLE = "TREADLE_LAST_WILL_SOCKET"
TRIES = 4
UNIQUE_VIOLATION = "23505"

Answer = tuple[bool, str]
"""Whether a row came, and the error's SQLSTATE, empty without one."""
Ask = Callable[[str], Answer]


def main() -> int:
    """Release what the file says; 1 when something could not be released."""
    with open(int(os.environ.pop(VARIABLE)), encoding="utf-8") as file:  # noqa: PTH123 - a descriptor has no path
        will = json.load(file)
    descriptor = os.environ.pop(SOCKET_VARIABLE, None)
    ask = _on_driver(will["conninfo"]) if descriptor is None else _on_socket(int(descriptor))
    done = [_release(ask, **act) for act in will["acts"]]
    return 0 if all(done) else 1


def _release(ask: Ask, item: str, release: str, merge: str) -> bool:
    state = ""
    for _ in range(TRIES):
        _, state = ask(release)
        if state == UNIQUE_VIOLATION:
            found, state = ask(merge)
            if not found and not state:
                continue  # The twin was claimed or cancelled meanwhile: the way back may be free now.
        break
    if state:
        print(f"item {item} was not released: error {state}", file=sys.stderr)  # noqa: T201 - no logging set up here
    return not state


def _on_socket(descriptor: int) -> Ask:
    """Queries of PostgreSQL's simple protocol, on a connection that is signed in and idle."""
    os.set_blocking(descriptor, True)

    def ask(text: str) -> Answer:
        body = text.encode() + b"\0"
        data = b"Q" + (len(body) + 4).to_bytes(4, "big") + body
        while data:
            data = data[os.write(descriptor, data) :]
        found, state = False, ""
        for kind, message in _messages(descriptor):
            match kind:
                case b"D":
                    found = True
                case b"E":
                    fields = message.split(b"\0")
                    state = next(field[1:].decode() for field in fields if field[:1] == b"C")
                case b"Z":
                    break
        return found, state

    return ask


def _messages(descriptor: int) -> Iterator[tuple[bytes, bytes]]:
    while True:
        head = _exactly(descriptor, 5)
        yield head[:1], _exactly(descriptor, int.from_bytes(head[1:], "big") - 4)


def _exactly(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            raise ConnectionError("the server closed the connection")
        data += part
    return data


def _on_driver(conninfo: str) -> Ask:
    """The same on a connection of its own, for one that cannot be inherited because it is encrypted."""
    import psycopg
    from psycopg.pq import DiagnosticField

    connection = psycopg.connect(conninfo, autocommit=True, connect_timeout=2)

    def ask(text: str) -> Answer:
        connection.pgconn.send_query(text.encode())
        found, state = False, b""
        while (result := connection.pgconn.get_result()) is not None:
            found = found or result.ntuples > 0
            state = result.error_field(DiagnosticField.SQLSTATE) or state
        return found, state.decode()

    return ask


if __name__ == "__main__":
    sys.exit(main())
