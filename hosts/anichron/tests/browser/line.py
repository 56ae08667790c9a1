"""The network between the browser and the API, which can be cut."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Line:
    """Forwards connections to a port of this machine; while it is cut there are none."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._whole = True
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def cut(self) -> None:
        """End every connection, and refuse new ones until ``restore``."""
        with self._lock:
            self._whole = False
            for end in self._ends:
                _close(end)
            self._ends.clear()

    def restore(self) -> None:
        self._whole = True

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _close(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                _close(client)
                continue
            with self._lock:
                if not self._whole:
                    _close(client)
                    _close(server)
                    continue
                self._ends |= {client, server}
            for source, sink in ((client, server), (server, client)):
                self._threads.append(threading.Thread(target=self._forward, args=(source, sink), daemon=True))
                self._threads[-1].start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with self._lock:
            self._ends -= {source, sink}
        _close(source)
        _close(sink)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
