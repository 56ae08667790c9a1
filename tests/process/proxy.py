"""The network between a worker and its server, which can fail in the ways that networks do."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from types import TracebackType
from typing import Final, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

CHUNK: Final = 1 << 16


class Link:
    """One connection through the proxy."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.condemned = False
        """Whether the next answer is lost, and the connection with it."""

    def close(self) -> None:
        # shutdown as well: a thread may still sit in recv.
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Forwards TCP to the server of *dsn*; ``dsn`` is the way through it."""

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._target = (str(parts["host"]), int(parts["port"] or 5432))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=self._listener.getsockname()[1])
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._links: list[Link] = []
        self._open = threading.Event()
        self._open.set()
        self._cutting = threading.Event()
        self._stranding = threading.Event()
        self._stranded = threading.Event()
        self._holes: list[Link] = []
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._doomed: bytes | None = None
        self._lost = threading.Event()
        self.requests = 0
        """How often something has come from a client: each time is a round trip."""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def swallow(self) -> None:
        """Become a black hole: nothing arrives any more, in either direction, and nobody is told.

        Call ``heal`` to forward again.
        """
        self._open.clear()
        self._wake_writer.send(b"x")

    def heal(self, *, lost: bool) -> None:
        """Forward again: what was sent meanwhile arrives late, or is *lost* with its connections."""
        if lost:
            self._cutting.set()
        self._open.set()

    def strand(self) -> None:
        """Make a black hole of every connection there is, for good and with nobody told; new ones work."""
        self._stranded.clear()
        self._stranding.set()
        self._wake_writer.send(b"x")
        self._stranded.wait()

    def lose_reply_to(self, part: bytes) -> threading.Event:
        """Carry the next query that holds *part* to the server, then cut instead of carrying the answer.

        The event is set once the server has answered, so has done what it was asked.
        """
        with self._lock:
            self._doomed, self._lost = part, threading.Event()
            return self._lost

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._wake_reader, selectors.EVENT_READ, None)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._open.set()
        self._wake_writer.send(b"x")
        self._thread.join()
        for link in self._links + self._holes:
            link.close()
        for end in (self._listener, self._wake_reader, self._wake_writer):
            end.close()
        self._selector.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            for key, _ in self._selector.select():
                self._open.wait()
                if self._ending.is_set():
                    return
                if self._cutting.is_set():
                    self._cutting.clear()
                    for link in list(self._links):
                        self._drop(link)
                if self._stranding.is_set():
                    self._strand()
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._wake_reader:
                    self._wake_reader.recv(CHUNK)
                elif key.data in self._links:  # else closed in this same round
                    self._forward(key.data, from_client=key.fileobj is key.data.client)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        link = Link(client, server)
        self._links.append(link)
        for end in (client, server):
            self._selector.register(end, selectors.EVENT_READ, link)

    def _forward(self, link: Link, *, from_client: bool) -> None:
        source, target = (link.client, link.server) if from_client else (link.server, link.client)
        try:
            data = source.recv(CHUNK)
            if not data or (link.condemned and not from_client):
                if data:
                    self._lost.set()
                self._drop(link)
                return
            if from_client:
                self.requests += 1
                self._look_for_doomed(link, data)
            target.sendall(data)
        except OSError:
            self._drop(link)

    def _look_for_doomed(self, link: Link, data: bytes) -> None:
        with self._lock:
            if self._doomed is not None and self._doomed in data:
                self._doomed, link.condemned = None, True

    def _strand(self) -> None:
        self._stranding.clear()
        for link in list(self._links):
            self._let_go(link)
            self._holes.append(link)
        self._stranded.set()

    def _drop(self, link: Link) -> None:
        self._let_go(link)
        link.close()

    def _let_go(self, link: Link) -> None:
        self._links.remove(link)
        for end in (link.client, link.server):
            self._selector.unregister(end)
