"""Plugins' health: what is found, and that no plugin keeps the others waiting."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as Flag

import pytest

from hosts.loryth.tests.program import until
from loryth.chores.bound import Bound
from loryth.chores.plugin_health import PluginHealth
from loryth.database import Connection, Database
from tests.process.host_program import free_port


class Plugins(ThreadingHTTPServer):
    """Plugins of every sort, by path."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Plugin)
        self.ended = Flag()
        self.asked: list[str] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class _Plugin(BaseHTTPRequestHandler):
    server: Plugins

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        match self.path:
            case "/hangs":
                self.server.ended.wait()
            case "/drips":
                while not self.server.ended.wait(0.02):
                    self.wfile.write(b"H")
            case "/moved":
                self.send_response(302)
                self.send_header("Location", "/well")
                self.end_headers()
            case "/huge":
                self.send_response(200)
                self.end_headers()
                while not self.server.ended.is_set():
                    self.wfile.write(b"x" * 65536)
            case path:
                self.send_response(204 if path == "/well" else 500)
                self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):  # the worker has seen enough
            super().handle()


@pytest.fixture
def plugins() -> Iterator[Plugins]:
    with Plugins() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.ended.set()
        server.shutdown()
        thread.join()


def add(connection: Connection, name: str, url: str, *, enabled: bool = True) -> None:
    connection.execute(
        "insert into loryth.plugins (name, health_url, is_enabled) values (%s, %s, %s)", [name, url, enabled]
    )


def test_each_plugin_is_found_as_it_is_whatever_the_others_do(
    connection: Connection, database: Database, bound: Bound, plugins: Plugins
) -> None:
    for name in ("well", "huge", "ill", "moved", "hangs", "drips"):
        add(connection, name, plugins.url(f"/{name}"))
    add(connection, "dead", f"http://127.0.0.1:{free_port()}/")
    add(connection, "off", plugins.url("/off"), enabled=False)
    PluginHealth(database, bound, plugin_seconds=0.5)()
    found = {
        name: (is_healthy, status, error or "")
        for name, is_healthy, status, error in connection.execute(
            "select name, is_healthy, http_status, error from loryth.plugins"
            " where checked_at is not null and took_seconds > 0"
        )
    }
    assert found.pop("well") == (True, 204, "")
    assert found.pop("huge") == (True, 200, "")
    told = {
        "ill": (500, "it answered 500 Internal Server Error"),
        "moved": (302, "it answered 302 Found; redirects are not followed"),
        "hangs": (None, "it did not answer within 0.5 s"),
        "drips": (None, "it did not answer within 0.5 s"),
        "dead": (None, "ConnectError: "),
    }
    assert set(found) == set(told)
    for name, (status, text) in told.items():
        assert found[name][:2] == (False, status)
        assert found[name][2].startswith(text)


def test_a_bounded_run_checks_those_that_waited_longest(
    connection: Connection, database: Database, plugins: Plugins
) -> None:
    for name in ("a", "b", "c"):
        add(connection, name, plugins.url(f"/{name}"))
    chore = PluginHealth(database, Bound(items=2, seconds=60, stopping=Flag()), plugin_seconds=10)
    chore()
    assert len(set(plugins.asked)) == 2
    chore()
    assert set(plugins.asked) == {"/a", "/b", "/c"}


def test_a_stop_cuts_the_checks_that_still_run_and_keeps_the_others(
    connection: Connection, database: Database, plugins: Plugins
) -> None:
    add(connection, "well", plugins.url("/well"))
    add(connection, "hangs", plugins.url("/hangs"))
    stopping = Flag()
    chore = PluginHealth(database, Bound(items=9, seconds=600, stopping=stopping), plugin_seconds=600)
    run = threading.Thread(target=chore)
    run.start()
    until(lambda: set(plugins.asked) == {"/well", "/hangs"})
    stopping.set()
    run.join(20)
    assert not run.is_alive()
    checked = connection.execute("select name from loryth.plugins where checked_at is not null").fetchall()
    assert checked in ([("well",)], [])


def test_a_plugin_that_moved_meanwhile_is_not_judged_by_its_old_address(
    connection: Connection, database: Database, bound: Bound, plugins: Plugins
) -> None:
    add(connection, "hangs", plugins.url("/hangs"))
    run = threading.Thread(target=PluginHealth(database, bound, plugin_seconds=1))
    run.start()
    until(lambda: plugins.asked == ["/hangs"])
    connection.execute("update loryth.plugins set health_url = 'http://elsewhere/'")
    run.join(20)
    assert connection.execute("select checked_at from loryth.plugins").fetchall() == [(None,)]
