"""`anichron up`, as a person runs it: from nothing to a crawled folder, again, and whatever goes wrong."""

import json
import os
import re
import signal
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from anichron.up.sample import make_sample
from hosts.anichron.tests.process.program import Program, await_gone, await_rows, descendants, rows
from tests.process.host_program import free_port

Start = Callable[..., Program]

SUCCEEDED = (
    "select kind, count(*) from treadle.work_items where status = 'succeeded' group by kind order by kind"
)
CRAWLS = (
    "select (result->>'imported')::int, (result->>'unchanged')::int, (result->>'failed')::int"
    " from treadle.work_items where kind = 'crawl' and status = 'succeeded' order by id"
)

pytestmark = pytest.mark.timeout(180)


def address(program: Program) -> str:
    return program.line_with("DATABASE_URL=").removeprefix("DATABASE_URL=")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_empty_folder_becomes_a_crawled_library_and_a_second_start_crawls_nothing_new(
    anichron: Start, folder: Path, six_photos: Path, number: signal.Signals
) -> None:
    port = free_port()
    arguments = ["up", "--photos", six_photos, "--port", port, "--data", folder / "the data"]
    first = anichron(*arguments)
    dsn = address(first)
    await_rows(dsn, SUCCEEDED, [("crawl", 1), ("token-cleanup", 1), ("work-item-retention", 1)])
    assert rows(dsn, CRAWLS) == [(6, 0, 0)]
    assert rows(dsn, "select count(*) from anichron.media_assets") == [(6,)]
    (path,) = rows(dsn, "select path from anichron.proxy_files limit 1")[0]
    assert (folder / "the data" / "proxies" / str(path)).is_file()
    password = re.fullmatch(r"admin: admin   password: (\S+)", first.line_with("admin: admin"))
    assert password is not None
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/healthz", timeout=30) as answer:
        assert json.load(answer)["status"] == "ok"
    family = descendants(first.process.pid)
    assert first.stop(number) == 0, first.output
    await_gone(family, seconds=1)
    assert first.lines[-1] == "stopped\n"

    second = anichron(*arguments, WORKER__CRAWL_INTERVAL_HOURS=0.0001, WORKER__POLL_SECONDS=0.2)
    assert address(second) == dsn
    await_rows(dsn, CRAWLS + " limit 2", [(6, 0, 0), (0, 6, 0)])
    assert rows(dsn, "select count(*) from anichron.media_assets") == [(6,)]
    assert rows(dsn, SUCCEEDED)[1:] == [("token-cleanup", 1), ("work-item-retention", 1)]
    kept = second.line_with("admin: admin")
    assert password[1] not in second.output
    assert Path(kept.split("kept in ")[1]).read_text().strip() == password[1]
    assert second.stop(number) == 0, second.output


def test_without_photos_a_sample_is_made_and_kept(anichron: Start, empty_dsn: str, tmp_path: Path) -> None:
    first = anichron("up", "--port", free_port(), "--data", tmp_path, DATABASE_URL=empty_dsn)
    await_rows_when_up(first, [(36, 0, 0)], empty_dsn)
    assert first.stop() == 0
    second = anichron("up", "--port", free_port(), "--data", tmp_path, DATABASE_URL=empty_dsn)
    address(second)
    assert "a sample was made" in first.output
    assert "a sample was made" not in second.output
    assert second.stop() == 0
    assert rows(empty_dsn, "select count(*) from anichron.storage_configs") == [(1,)]


def test_a_server_that_is_named_is_used_and_another_folder_is_crawled_too(
    anichron: Start, empty_dsn: str, tmp_path: Path, six_photos: Path
) -> None:
    arguments = ["up", "--port", free_port(), "--data", tmp_path / "data"]
    first = anichron(*arguments, "--photos", six_photos, DATABASE_URL=empty_dsn)
    await_rows_when_up(first, [(6, 0, 0)], empty_dsn)
    assert address(first) == empty_dsn
    assert not (tmp_path / "data" / "postgres").exists()
    assert first.stop() == 0
    others = make_sample(tmp_path / "others", count=2)
    second = anichron(*arguments, "--photos", others, DATABASE_URL=empty_dsn)
    await_rows_when_up(second, [(6, 0, 0), (2, 0, 0)], empty_dsn)
    assert second.stop() == 0


def test_a_killed_worker_is_started_again(
    anichron: Start, empty_dsn: str, tmp_path: Path, six_photos: Path
) -> None:
    arguments = ["up", "--port", free_port(), "--data", tmp_path / "data", "--photos", six_photos]
    settings = {"WORKER__POLL_SECONDS": 0.2, "WORKER__LEASE_SECONDS": 3, "WORKER__HEARTBEAT_SECONDS": 0.5}
    system = anichron(*arguments, DATABASE_URL=empty_dsn, **settings)
    await_rows_when_up(system, [(6, 0, 0)], empty_dsn)
    before = {worker for (worker,) in rows(empty_dsn, "select claimed_by from treadle.workers")}
    for pid in descendants(system.process.pid):
        command = Path(f"/proc/{pid}/cmdline")
        if command.exists() and b"\0worker\0" in command.read_bytes():
            os.kill(pid, signal.SIGKILL)
    system.line_with("the worker was killed by SIGKILL; it is started again")
    query = "select count(*) from treadle.workers where claimed_by <> all(%(before)s)"
    await_rows(empty_dsn, query, [(1,)], {"before": list(before)})
    assert system.stop() == 0


def test_a_killed_up_leaves_no_process_behind(anichron: Start, folder: Path, six_photos: Path) -> None:
    arguments = ["up", "--photos", six_photos, "--port", free_port(), "--data", folder / "data"]
    system = anichron(*arguments, WORKER__SHUTDOWN_GRACE_SECONDS=2)
    dsn = address(system)
    await_rows(dsn, "select count(*) from treadle.workers", [(1,)])
    family = descendants(system.process.pid)
    assert len(family) > 3
    system.kill()
    await_gone(family)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn, connect_timeout=2)


def test_a_worker_that_refuses_to_run_ends_all_with_its_reason(
    anichron: Start, empty_dsn: str, tmp_path: Path, six_photos: Path
) -> None:
    arguments = ["up", "--port", free_port(), "--data", tmp_path / "data", "--photos", six_photos]
    system = anichron(*arguments, DATABASE_URL=empty_dsn, WORKER__USER="nobody")
    assert system.end() == 1
    assert "there is no such user" in system.line_with("worker | anichron:")
    assert "the worker ended with exit code 1" in system.lines[-1]
    assert "Traceback" not in system.output


@pytest.mark.parametrize("line", ["migrated anichron/library", "admin: admin"])
def test_a_start_can_be_stopped_at_any_point(
    anichron: Start, folder: Path, six_photos: Path, line: str
) -> None:
    arguments = ["up", "--photos", six_photos, "--port", free_port(), "--data", folder / "data"]
    system = anichron(*arguments)
    system.line_with(line)
    family = descendants(system.process.pid)
    assert system.stop() == 0, system.output
    assert system.lines[-1] == "stopped\n"
    await_gone(family, seconds=1)


def test_photos_that_are_no_folder_are_refused_before_anything_starts(
    anichron: Start, tmp_path: Path
) -> None:
    refused = anichron("up", "--photos", tmp_path / "nowhere", "--data", tmp_path / "data")
    assert refused.end() == 1
    assert len(refused.lines) == 1
    assert "--photos" in refused.output
    assert not (tmp_path / "data").exists()


def test_a_taken_port_is_refused_before_anything_starts(
    anichron: Start, tmp_path: Path, six_photos: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = anichron("up", "--photos", six_photos, "--port", port, "--data", tmp_path / "data")
        assert refused.end() == 1
    assert len(refused.lines) == 1
    assert f"port {port}" in refused.output
    assert not (tmp_path / "data").exists()


def test_a_setting_that_makes_no_sense_is_exit_code_2(anichron: Start, tmp_path: Path) -> None:
    refused = anichron("up", "--data", tmp_path / "data", WORKER__HEARTBEAT_SECONDS=50)
    assert refused.end() == 2
    assert len(refused.lines) == 1
    assert "WORKER__HEARTBEAT_SECONDS" in refused.output


def await_rows_when_up(program: Program, crawls: list[tuple[object, ...]], dsn: str) -> None:
    address(program)
    await_rows(dsn, CRAWLS, crawls)
