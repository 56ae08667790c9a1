"""A server's life: made once, started again and again, one address, one process at a time."""

import os
import select
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from tests.embedded.host import Host
from treadle.embedded import EmbeddedError, EmbeddedPostgres
from treadle.embedded.binaries import find_binaries
from treadle.embedded.postmaster import Postmaster


def fetch(dsn: str, query: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def write(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create table kept (value text)")
        connection.execute("insert into kept values ('Grüße')")


def await_end(pid: int) -> None:
    """Wait until a process that is no child of ours has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    poll = select.poll()
    poll.register(descriptor)
    assert poll.poll(30_000), f"process {pid} did not end"
    os.close(descriptor)


def keeper_of(server: EmbeddedPostgres) -> int:
    assert server._keeper is not None
    return server._keeper.pid


def crash(server: EmbeddedPostgres) -> None:
    """End the server and its keeper as a power cut does."""
    pid = server.pid
    os.kill(keeper_of(server), signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    await_end(pid)
    server.stop()


def test_psql_takes_the_address(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    psql = find_binaries(None, None).program("psql")
    answer = subprocess.run(
        [psql, embedded.dsn, "-Atc", "select 6 * 7"], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "42\n"


def test_text_is_unicode_in_code_point_order(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    assert fetch(embedded.dsn, "show server_encoding") == "UTF8"
    assert (
        fetch(embedded.dsn, "select string_agg(x, '' order by x) from unnest(array['ä','b','B','a','€']) x")
        == "Babä€"
    )
    assert fetch(embedded.dsn, "select upper('grüße')").startswith("GRÜ")


def test_a_second_start_continues_with_the_data_at_the_same_address(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    write(embedded.dsn)
    embedded.stop()
    assert not embedded.running
    with EmbeddedPostgres(embedded.folder, fsync=False) as again:
        assert again.dsn == embedded.dsn
        assert fetch(again.dsn, "select value from kept") == "Grüße"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_ends_connections_and_keeps_data_and_address(embedded: EmbeddedPostgres, mode: str) -> None:
    embedded.start()
    write(embedded.dsn)
    before, pid = embedded.dsn, embedded.pid
    with psycopg.connect(before) as connection:
        connection.execute("update kept set value = 'lost'")
        embedded.restart("immediate" if mode == "immediate" else "fast")
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    assert embedded.dsn == before
    assert embedded.pid != pid
    assert fetch(before, "select value from kept") == "Grüße"


@pytest.mark.parametrize(
    "name", ["a path with spaces", "Fotös 写真 'quoted\" $HOME", "/".join(["long" * 15] * 8)]
)
def test_any_path_will_do(folder: Path, name: str) -> None:
    with EmbeddedPostgres(folder / name, fsync=False) as server:
        assert Path(fetch(server.dsn, "show data_directory")) == folder / name / "data"


def test_only_this_machine_and_only_with_the_password(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    assert fetch(embedded.dsn, "show listen_addresses") == "127.0.0.1"
    assert fetch(embedded.dsn, "show unix_socket_directories") == ""
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(embedded.dsn, password="guess")
    for name in ("password", "log"):
        assert stat.S_IMODE((embedded.folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((embedded.folder / "data").stat().st_mode) == 0o700


def test_settings_reach_the_server_and_data_is_safe_unless_told_otherwise(folder: Path) -> None:
    with EmbeddedPostgres(folder, settings={"max_connections": "17", "application_name": "it's"}) as server:
        assert fetch(server.dsn, "show max_connections") == "17"
        assert fetch(server.dsn, "show application_name") == "it's"
        assert fetch(server.dsn, "show fsync") == "on"
    with EmbeddedPostgres(folder, fsync=False) as server:
        assert fetch(server.dsn, "show fsync") == "off"


def test_settings_of_the_callers_environment_do_not_leak_in(
    embedded: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c nonsense=1")
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("LC_ALL", "xx_YY.nonsense")
    embedded.start()
    monkeypatch.delenv("PGOPTIONS")
    assert fetch(embedded.dsn, "select 1") == "1"


def test_a_given_port_is_used_and_a_taken_one_is_refused_in_one_line(folder: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EmbeddedError, match=f"^port {port} is taken .*$"):
            EmbeddedPostgres(folder, port=port, fsync=False).start()
    with EmbeddedPostgres(folder, port=port, fsync=False) as server:
        assert fetch(server.dsn, "show port") == str(port)


def test_a_kept_port_that_is_taken_meanwhile_is_replaced(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    port = int(fetch(embedded.dsn, "show port"))
    embedded.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        with EmbeddedPostgres(embedded.folder, fsync=False) as server:
            assert int(fetch(server.dsn, "show port")) != port


def test_a_start_that_fails_says_the_servers_reason_and_leaves_nothing_behind(folder: Path) -> None:
    server = EmbeddedPostgres(folder, fsync=False, settings={"shared_buffers": "plenty"})
    with pytest.raises(EmbeddedError, match=r"^PostgreSQL in .* ended at once: .*shared_buffers.*$"):
        server.start()
    assert not server.running
    with EmbeddedPostgres(folder, fsync=False) as mended:
        assert fetch(mended.dsn, "select 1") == "1"


def test_a_making_that_was_cut_short_is_begun_again(embedded: EmbeddedPostgres) -> None:
    left = embedded.folder / "data.new"
    left.mkdir(parents=True)
    (left / "PG_VERSION").write_text("18\n")
    embedded.start()
    assert fetch(embedded.dsn, "select 1") == "1"
    assert not left.exists()


def test_a_lost_password_is_said_in_one_line(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    embedded.stop()
    (embedded.folder / "password").unlink()
    with pytest.raises(EmbeddedError, match=r"^.*/password is missing, .*$"):
        EmbeddedPostgres(embedded.folder).start()


def test_a_folder_that_cannot_be_made_is_said_in_one_line(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(EmbeddedError, match=r"^PostgreSQL cannot be started in .*/file/server: .*$"):
        EmbeddedPostgres(folder / "file" / "server").start()


def test_the_address_is_not_told_before_there_is_one(embedded: EmbeddedPostgres) -> None:
    with pytest.raises(EmbeddedError, match=r"call start\(\)"):
        _ = embedded.dsn


def test_another_process_is_told_that_the_folder_is_in_use(
    embedded: EmbeddedPostgres, host: Callable[..., Host]
) -> None:
    embedded.start()
    code, complaint = host(embedded.folder).end()
    assert code == 1
    assert complaint == (
        f"the database in {embedded.folder} is in use by process {os.getpid()}: "
        "stop that first, or take another data folder\n"
    )
    assert fetch(embedded.dsn, "select 1") == "1"


def test_a_killed_process_takes_its_server_along_and_the_next_one_waits_for_that(
    embedded: EmbeddedPostgres, host: Callable[..., Host]
) -> None:
    first = host(embedded.folder)
    dsn = first.line()
    write(dsn)
    pid = embedded.pid
    with psycopg.connect(dsn, autocommit=True) as connection:
        first.process.kill()
        with pytest.raises(
            psycopg.OperationalError, match="terminating connection due to administrator command"
        ):
            connection.execute("select pg_sleep(50)")
    embedded.start()
    assert not Path(f"/proc/{pid}").exists()
    assert fetch(embedded.dsn, "select value from kept") == "Grüße"


def test_ctrl_c_is_for_the_process_alone(folder: Path, host: Callable[..., Host]) -> None:
    process = host(folder)
    dsn = process.line()
    with psycopg.connect(dsn) as connection:
        os.killpg(process.process.pid, signal.SIGINT)
        assert process.line() == "interrupted"
        assert connection.execute("select 1").fetchone() == (1,)
    assert process.end() == (0, "")


def test_a_signal_to_the_keeper_does_not_stop_the_server(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(keeper_of(embedded), number)
    assert fetch(embedded.dsn, "select 1") == "1"
    assert embedded.running


def test_a_server_starts_again_after_a_power_cut(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    write(embedded.dsn)
    crash(embedded)
    assert (embedded.folder / "data" / "postmaster.pid").exists()
    embedded.start()
    assert fetch(embedded.dsn, "select value from kept") == "Grüße"


def test_a_process_that_has_got_the_number_of_a_crashed_server_is_no_obstacle(
    embedded: EmbeddedPostgres,
) -> None:
    embedded.start()
    write(embedded.dsn)
    crash(embedded)
    file = embedded.folder / "data" / "postmaster.pid"
    _, *rest = file.read_text().splitlines(keepends=True)
    owner = (
        file.stat().st_uid if os.geteuid() == 0 else None
    )  # PostgreSQL ignores other users' processes anyway
    with subprocess.Popen(["sleep", "1000"], user=owner, cwd="/") as bystander:
        try:
            file.write_text("".join([f"{bystander.pid}\n", *rest]))
            embedded.start()
            assert fetch(embedded.dsn, "select value from kept") == "Grüße"
            assert bystander.poll() is None
        finally:
            bystander.kill()


def test_a_server_whose_keeper_was_killed_is_stopped_by_the_next_start(embedded: EmbeddedPostgres) -> None:
    lines: list[str] = []
    embedded.start()
    write(embedded.dsn)
    orphan = embedded.pid
    os.kill(keeper_of(embedded), signal.SIGKILL)
    embedded.stop()
    assert Postmaster.of(embedded.folder / "data") is not None
    with EmbeddedPostgres(embedded.folder, fsync=False, say=lines.append) as next_one:
        assert fetch(next_one.dsn, "select value from kept") == "Grüße"
        assert next_one.pid != orphan
    assert lines == [f"a server left behind in {embedded.folder}, process {orphan}, is stopped first"]


def test_a_server_that_was_killed_is_seen_not_to_run_and_starts_again(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    write(embedded.dsn)
    with psycopg.connect(embedded.dsn):
        os.kill(embedded.pid, signal.SIGKILL)
        assert embedded._keeper is not None
        embedded._keeper.wait(20)
        assert not embedded.running
        embedded.restart()
    assert fetch(embedded.dsn, "select value from kept") == "Grüße"


def test_a_stop_does_not_wait_for_a_client_in_a_transaction(embedded: EmbeddedPostgres) -> None:
    embedded.start()
    with psycopg.connect(embedded.dsn) as connection:
        connection.execute("select 1")
        embedded.stop()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
