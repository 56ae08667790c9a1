"""Serves the worker's health over HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from loryth.health.report import Health
from treadle.errors import TreadleError

PATH: Final = "/healthz"

_POLL_SECONDS: Final = 0.2
"""How long closing it may take."""


class HealthServer:
    """Answers `GET /healthz`: 200 when the worker is healthy, 503 when not, and the report as JSON."""

    def __init__(self, health: Health, host: str, port: int) -> None:
        """Listen. Raises ``TreadleError`` when the address is not to be had."""

        class Handler(_Handler):
            pass

        Handler.health = health
        try:
            self._server = _Server((host, port), Handler)
        except OSError as error:
            raise TreadleError(
                f"the health cannot be served on {host}:{port}: {error}; set WORKER__HEALTH_PORT to another port, "
                "or to 0 for none"
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="health", daemon=True
        )

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    health: Health
    timeout = 5
    server_version = "loryth"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the report."""
        if self.path.partition("?")[0] != PATH:
            self._answer(404, {"error": f"there is only {PATH}"})
            return
        report = self.health.report()
        self._answer(200 if report.healthy else 503, report.body)

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body, indent=2).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
        """Log nothing: health is asked for all the time."""
