"""A crawl whose worker is killed, stopped or frozen, or whose server restarts, in the middle."""

import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from anichron import schema
from hosts.anichron.tests.process.faults.crawling import (
    GRACE,
    Library,
    add_config,
    await_crawl,
    await_middle,
    events,
    settings,
)
from hosts.anichron.tests.process.program import Program, await_gone, descendants
from treadle.embedded import EmbeddedPostgres
from treadle.embedded.server import Mode

Start = Callable[..., Program]

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


def test_after_a_kill_the_next_run_ends_with_what_an_undisturbed_crawl_makes(
    anichron: Start, anichron_dsn: str, originals: Path, undisturbed: Library, tmp_path: Path
) -> None:
    add_config(anichron_dsn, originals)
    proxies = tmp_path / "proxies"
    first = anichron("worker", **settings(anichron_dsn, proxies))
    await_middle(anichron_dsn)
    decoders = descendants(first.process.pid)
    assert decoders
    first.kill()
    await_gone(decoders)
    lease_until = await_crawl(anichron_dsn, "true")["lease_until"]
    anichron("worker", **settings(anichron_dsn, proxies))
    ended = await_crawl(anichron_dsn, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert ended["started_at"] > lease_until
    assert events(anichron_dsn, ended["id"]) == ["1 stalled"]
    assert Library.of(anichron_dsn, proxies) == undisturbed


def test_a_stopped_worker_hands_its_crawl_back_at_once(
    anichron: Start, anichron_dsn: str, originals: Path, undisturbed: Library, tmp_path: Path
) -> None:
    add_config(anichron_dsn, originals)
    proxies = tmp_path / "proxies"
    first = anichron("worker", **settings(anichron_dsn, proxies))
    await_middle(anichron_dsn)
    decoders = descendants(first.process.pid)
    assert decoders
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(GRACE + 1) == 0
    await_gone(decoders)
    row = await_crawl(anichron_dsn, "true")
    assert (row["status"], row["attempt"], row["stalls"]) == ("queued", 1, 0)
    assert events(anichron_dsn, row["id"]) == ["1 released"]
    anichron("worker", **settings(anichron_dsn, proxies))
    ended = await_crawl(anichron_dsn, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 0)
    assert Library.of(anichron_dsn, proxies) == undisturbed


def test_a_frozen_worker_loses_its_crawl_to_another_and_lives_on(
    anichron: Start, anichron_dsn: str, originals: Path, undisturbed: Library, tmp_path: Path
) -> None:
    add_config(anichron_dsn, originals)
    proxies = tmp_path / "proxies"
    first = anichron("worker", **settings(anichron_dsn, proxies))
    await_middle(anichron_dsn)
    first.process.send_signal(signal.SIGSTOP)
    second = anichron("worker", **settings(anichron_dsn, proxies))
    await_crawl(anichron_dsn, "status = 'running' and attempt = 2")
    first.process.send_signal(signal.SIGCONT)
    first.line_with("fenced off")
    ended = await_crawl(anichron_dsn, "finished_at is not null")
    assert (ended["status"], ended["attempt"], ended["stalls"]) == ("succeeded", 2, 1)
    assert Library.of(anichron_dsn, proxies) == undisturbed
    assert second.stop() == 0
    with psycopg.connect(anichron_dsn) as connection:
        connection.execute("delete from treadle.work_items where kind = 'crawl'")
    again = await_crawl(anichron_dsn, "finished_at is not null")
    assert again["status"] == "succeeded"
    assert first.process.poll() is None


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="anichron-fault-"))
    folder.chmod(0o711)  # as root the server runs as another user, who has to pass through
    try:
        with EmbeddedPostgres(folder, fsync=False) as server:
            schema.migrate(server.dsn)
            yield server
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_crawl_ends_although_the_server_restarts_under_it(
    anichron: Start,
    own_server: EmbeddedPostgres,
    originals: Path,
    undisturbed: Library,
    tmp_path: Path,
    *,
    mode: Mode,
) -> None:
    add_config(own_server.dsn, originals)
    proxies = tmp_path / "proxies"
    worker = anichron("worker", **settings(own_server.dsn, proxies, WORKER__LEASE_SECONDS=20))
    await_middle(own_server.dsn)
    own_server.restart(mode)
    ended = await_crawl(own_server.dsn, "finished_at is not null")
    assert (ended["status"], ended["stalls"]) == ("succeeded", 0), ended["error"]
    assert worker.process.poll() is None
    assert Library.of(own_server.dsn, proxies) == undisturbed
