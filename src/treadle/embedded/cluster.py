"""The making of a server's data, with initdb."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from treadle.embedded.account import Account
from treadle.embedded.binaries import Binaries
from treadle.embedded.errors import EmbeddedError

SUPERUSER = "postgres"


def environment() -> dict[str, str]:
    """The environment for a server's programs: none of the caller's PG variables, messages in English."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")} | {"LC_ALL": "C"}


def make_cluster(
    folder: Path, binaries: Binaries, account: Account | None, *, password: str, fsync: bool, lock: int
) -> None:
    """Fill the empty `folder`: UTF-8, code point order, `password` for every connection.

    `lock` is handed on, so that an initdb which outlives us still holds it. Raises EmbeddedError with initdb's reason.
    """
    with tempfile.TemporaryFile() as file:
        file.write(password.encode())
        file.seek(0)
        if account is not None:
            os.fchown(file.fileno(), account.uid, account.gid)
        made = subprocess.run(
            [
                binaries.program("initdb"),
                *(
                    f"--pgdata={folder}",
                    f"--username={SUPERUSER}",
                    "--encoding=UTF8",
                    *_locale(binaries.major),
                ),
                *("--auth=scram-sha-256", f"--pwfile=/dev/fd/{file.fileno()}"),
                *(() if fsync else ("--no-sync",)),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            pass_fds=[file.fileno(), lock],
            cwd="/",
            env=environment(),
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=account.groups if account else None,
        )
    if made.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        reasons = [line for line in made.stderr.splitlines() if "error:" in line or "FATAL:" in line]
        reason = reasons[0] if reasons else f"initdb ended with {made.returncode}"
        raise EmbeddedError(f"PostgreSQL cannot make its data in {folder}: {reason}")


def _locale(major: int) -> list[str]:
    if major >= 17:  # has a Unicode locale of its own, whatever the machine's
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=C"]
