"""The TCP port a server listens on."""

import secrets
import socket

# Below what Linux and macOS give to outgoing connections, so that none takes the port while the server restarts.
LOWEST, COUNT = 20_000, 12_000


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as PostgreSQL itself does
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    while not is_free(port := LOWEST + secrets.randbelow(COUNT)):
        pass
    return port
